/* Single questions to the kernel that are answered at once: which device is that, and which way does a packet go? s is a socket
 * for such questions only (netlink/socket_io.h).
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "netlink/link_msg.h"
#include "netlink/socket_io.h"
#include "rib/route.h"
#include "src/base/addr.h"

/* False, and *out zeroed, where there is no such device, or no answer. */
bool kernel_ask_link_named(struct netlink_socket *s, const char *name, struct netlink_link *out);
bool kernel_ask_link(struct netlink_socket *s, uint32_t ifindex, struct netlink_link *out);
/* The interface towards dst (vrf: in this VRF, by its index; 0: in none); 0 where there is no way, or dst is our own. */
uint32_t kernel_ask_link_towards(struct netlink_socket *s, const struct addr *dst, uint32_t vrf);
/* The next hops of a route that names its next-hop object and nothing else, as a kernel tells it where net.ipv4.nexthop_compat_mode
 * is 0. Where the object has gone meanwhile, or says what we do not know, there are none. */
void kernel_ask_next_hops(struct netlink_socket *s, struct route *r);
