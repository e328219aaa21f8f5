/* struct nexthop_object to and from RTM_NEWNEXTHOP, RTM_DELNEXTHOP and RTM_GETNEXTHOP: next hops that stand in the kernel by a
 * number of their own, and groups of them, which routes refer to (RTA_NH_ID). Pure: bytes in, bytes out. What
 * struct nexthop_object cannot carry (bridge entries, encapsulation, more members than ROUTE_NEXTHOPS_MAX) is
 * ERR_UNSUPPORTED with the id and the protocol filled in, since also what is not understood takes up its number.
 * The kernel's include/uapi/linux/nexthop.h.
 */
#pragma once
#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rib/route.h"

enum netlink_nexthop_op {
	NETLINK_NEXTHOP_ADD,     /* -EEXIST where the id is taken, whoever has it */
	NETLINK_NEXTHOP_REPLACE, /* what the id stands for, for all routes that refer to it; -ENOENT where there is none */
	NETLINK_NEXTHOP_DELETE,  /* by its id; the kernel takes the routes that refer to it along */
};

enum { NETLINK_NEXTHOP_MESSAGE_MAX = 128 + ROUTE_NEXTHOPS_MAX * 8 };

/* Bytes written; 0 where they do not fit, or where o says nothing that a kernel would take: a next hop without a device, a
 * group without members, the id 0. */
size_t netlink_nexthop_encode(void *buf, size_t cap, enum netlink_nexthop_op op, uint32_t seq, const struct nexthop_object *o);
/* *deleted: an RTM_DELNEXTHOP. ERR_CORRUPT, ERR_UNSUPPORTED, or 0. */
int netlink_nexthop_decode(const struct nlmsghdr *h, struct nexthop_object *out, bool *deleted);
/* All objects (strict checking: there is nothing to filter by protocol or number). */
size_t netlink_nexthop_dump_request(void *buf, size_t cap, uint32_t seq);
/* The one with this number: -ENOENT where there is none. */
size_t netlink_nexthop_get_request(void *buf, size_t cap, uint32_t seq, uint32_t id);
