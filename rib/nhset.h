/* Next-hop sets: immutable, sorted, interned, shared with ref/unref. Two routes that are forwarded the same way
 * have the same pointer. The empty set is the blackhole.
 */
#pragma once
#include "rib/route.h"
#include "rib/table.h"
#include "src/base/hash.h"

struct object_way;

struct nhset {
	struct hash_node node;
	struct nhset_table *table;
	uint32_t refs;
	unsigned count; /* 0: blackhole */
	struct object_way *way, *plain; /* what routes with this set refer to, with and without an object: rib/objects.h */
	bool refused;   /* the kernel took no object for it */
	struct route_nexthop at[];
};

struct nhset_table {
	struct hash_table sets;
};

void nhset_table_init(struct nhset_table *t);
void nhset_table_fini(struct nhset_table *t); /* no set may be left */
/* The set of these next hops, in any order, duplicates joined, weights in lowest terms. Owned reference. */
struct nhset *nhset_of(struct nhset_table *t, const struct route_nexthop *at, unsigned count);
/* Whole weights of 1..ROUTE_WEIGHT_MAX in the ratio of the bandwidths: the smallest that are within 1 % of it, or the
 * closest. All 1 where one has no bandwidth. */
void nhset_share_out(const uint64_t *bandwidth, unsigned n, uint16_t *weights);
/* How the used paths of e are forwarded, with weights by their link bandwidths. Owned reference; NULL where no path is used. */
struct nhset *nhset_choose(struct nhset_table *t, const struct rib *r, struct rib_entry *e);
/* The kernel's next hops on the way to a next hop that can be reached: how many of at, which has room for that many. */
unsigned nhset_hops(const struct nexthop *nh, struct route_nexthop *at, unsigned room);
struct nhset *nhset_ref(struct nhset *s);
void nhset_unref(struct nhset *s); /* NULL is fine */
