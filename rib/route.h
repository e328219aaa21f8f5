/* A kernel route as the RIB wants it and as netlink carries it: what the two rooms share. A next-hop
 * set is an immutable value, sorted and interned (struct nhset), so that comparing two sets is
 * comparing two pointers and prefixes that share next hops share the set.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/addr.h"

enum { ROUTE_NEXTHOPS_MAX = 64, ROUTE_WEIGHT_MAX = 256 };

enum route_type { ROUTE_UNICAST, ROUTE_BLACKHOLE, ROUTE_OTHER }; /* OTHER, on decode: unreachable, prohibit, throw */

struct route_nexthop {
	struct addr gateway; /* zero: none, the interface is the next hop; of either family (RFC 8950) */
	uint32_t ifindex;    /* 0: the kernel finds it from the gateway, which it cannot where that is link-local */
	uint16_t weight;     /* 1..ROUTE_WEIGHT_MAX: the share of the traffic among the route's next hops */
	bool down;           /* on decode: its link has no carrier */
	bool onlink;         /* the gateway is on the link though no subnet there covers it */
};

/* A next hop, or a group of them, that stands in the kernel by a number of its own: routes refer to it. */
enum nexthop_object_kind { NEXTHOP_OBJECT_HOP, NEXTHOP_OBJECT_GROUP, NEXTHOP_OBJECT_BLACKHOLE };

struct nexthop_object {
	uint32_t id;
	uint8_t protocol;
	enum nexthop_object_kind kind;
	struct route_nexthop hop; /* not of a group; its weight says nothing. Of a blackhole: the zero address of its family */
	struct {
		uint32_t id;
		uint16_t weight;
	} members[ROUTE_NEXTHOPS_MAX];
	unsigned member_count;
};

/* What identifies our routes in a kernel: all of them carry this. */
struct route_mark {
	uint32_t table, metric;
	uint8_t protocol;
};

struct route {
	struct prefix prefix;
	enum route_type type;
	struct route_mark mark;
	struct route_nexthop nexthops[ROUTE_NEXTHOPS_MAX];
	unsigned nexthop_count; /* 0 for a blackhole */
	uint32_t nexthop_id;    /* the object that stands for the next hops; 0: they are said in the route */
	uint8_t scope;          /* rtnetlink scope, on decode and for pod routes */
};
