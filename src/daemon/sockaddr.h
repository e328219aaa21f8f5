/* Between struct addr and the sockets' own address types. */
#pragma once
#include <stdint.h>
#include <sys/socket.h>

#include "src/base/addr.h"

socklen_t sockaddr_make(struct sockaddr_storage *ss, const struct addr *a, uint16_t port);
/* The interface of a link-local address; nothing for others. */
void sockaddr_set_scope(struct sockaddr_storage *ss, uint32_t ifindex);
uint32_t sockaddr_scope(const struct sockaddr_storage *ss); /* 0: none */
/* IPv4-mapped IPv6 comes out as IPv4. port may be NULL. */
void sockaddr_read(const struct sockaddr_storage *ss, struct addr *a, uint16_t *port);
