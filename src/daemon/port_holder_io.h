/* Who listens on a TCP port: /proc/net/tcp{,6} gives the socket, the descriptors under /proc/PID/fd the process. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "bird (pid 812)" into buf. False where it cannot be found out. */
bool port_holder(uint16_t port, char *buf, size_t cap);
