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

enum route_type { ROUTE_UNICAST, ROUTE_BLACKHOLE };

struct route_nexthop {
	struct addr gateway; /* zero: none, the interface is the next hop; of either family (RFC 8950) */
	uint32_t ifindex;    /* 0: the kernel finds it from the gateway, which it cannot where that is link-local */
	uint16_t weight;     /* 1..ROUTE_WEIGHT_MAX: the share of the traffic among the route's next hops */
	bool down;           /* on decode: its link has no carrier */
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
	uint8_t scope;          /* rtnetlink scope, on decode and for pod routes */
};
