/* One question to the kernel, answered at once: which way does a packet go? */
#pragma once
#include <stdint.h>

#include "netlink/socket_io.h"
#include "src/base/addr.h"

/* The interface towards dst (vrf: in this VRF, by its index; 0: in none); 0 where there is no way, or dst is our own address. s is
 * for such questions only (netlink/socket_io.h). */
uint32_t route_link_towards(struct netlink_socket *s, const struct addr *dst, uint32_t vrf);
