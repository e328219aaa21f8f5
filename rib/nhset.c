#include "rib/nhset.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/live.h"

void nhset_table_init(struct nhset_table *t)
{
	hash_table_init(&t->sets);
}

void nhset_table_fini(struct nhset_table *t)
{
	hash_table_fini(&t->sets);
}

static int by_gateway(const void *a, const void *b)
{
	const struct route_nexthop *x = a, *y = b;
	int c = addr_cmp(&x->gateway, &y->gateway);
	return c ? c : x->ifindex < y->ifindex ? -1 : x->ifindex > y->ifindex;
}

static uint64_t hash_of(const struct route_nexthop *at, unsigned count)
{
	uint64_t h = count;
	for (unsigned i = 0; i < count; i++) {
		h = hash_bytes(&at[i].gateway, sizeof at[i].gateway, h);
		h = hash_mix(h, (uint64_t)at[i].ifindex << 17 | (uint64_t)at[i].weight << 1 | at[i].onlink);
	}
	return h;
}

static bool equal(const struct nhset *s, const struct route_nexthop *at, unsigned count)
{
	if (s->count != count)
		return false;
	for (unsigned i = 0; i < count; i++)
		if (by_gateway(&s->at[i], &at[i]) || s->at[i].weight != at[i].weight || s->at[i].onlink != at[i].onlink)
			return false;
	return true;
}

static struct nhset *intern(struct nhset_table *t, const struct route_nexthop *at, unsigned count)
{
	uint64_t hash = hash_of(at, count);
	for (struct hash_node *n = hash_first(&t->sets, hash); n; n = hash_next(n)) {
		struct nhset *s = container_of(n, struct nhset, node);
		if (equal(s, at, count))
			return nhset_ref(s);
	}
	struct nhset *s = malloc(sizeof *s + count * sizeof *at);
	if (!s)
		abort();
	s->table = t;
	s->refs = 1;
	s->count = count;
	s->way = s->plain = NULL;
	s->refused = false;
	if (count)
		memcpy(s->at, at, count * sizeof *at);
	hash_table_insert(&t->sets, &s->node, hash);
	live_add(LIVE_NHSET);
	return s;
}

/* Sorted, and each next hop there once: with the largest of its weights, since that is the link it stands for. */
static unsigned join(struct route_nexthop *at, unsigned count)
{
	unsigned n = 0;
	qsort(at, count, sizeof *at, by_gateway);
	for (unsigned i = 0; i < count; i++) {
		if (n == 0 || by_gateway(&at[n - 1], &at[i]))
			at[n++] = at[i];
		else if (at[n - 1].weight < at[i].weight)
			at[n - 1].weight = at[i].weight;
	}
	return n;
}

static unsigned common_divisor(unsigned a, unsigned b)
{
	return b ? common_divisor(b, a % b) : a;
}

/* 2:4 is 1:2, and a next hop alone has all there is: what is forwarded the same way is the same set. */
static void reduce_weights(struct route_nexthop *at, unsigned count)
{
	unsigned divisor = 0;
	for (unsigned i = 0; i < count; i++)
		divisor = common_divisor(at[i].weight, divisor);
	for (unsigned i = 0; divisor && i < count; i++)
		at[i].weight = (uint16_t)(at[i].weight / divisor);
}

struct nhset *nhset_of(struct nhset_table *t, const struct route_nexthop *at, unsigned count)
{
	struct route_nexthop sorted[ROUTE_NEXTHOPS_MAX];
	if (count > ROUTE_NEXTHOPS_MAX)
		count = ROUTE_NEXTHOPS_MAX;
	if (count)
		memcpy(sorted, at, count * sizeof *at);
	count = join(sorted, count);
	reduce_weights(sorted, count);
	return intern(t, sorted, count);
}

/* One on a link of ours is a gateway itself; to any other lead the kernel's. */
unsigned nhset_hops(const struct nexthop *nh, struct route_nexthop *at, unsigned room)
{
	unsigned n = 0;
	if (nh->state == NEXTHOP_DIRECT || !nh->via) {
		bool found = nh->via && nh->via->count && !addr_is_link_local(&nh->addr);
		at[0] = (struct route_nexthop){.gateway = nh->addr, .ifindex = found ? nh->via->at[0].ifindex : nh->ifindex};
		return 1;
	}
	for (; n < nh->via->count && n < room; n++) {
		at[n] = nh->via->at[n];
		if (addr_is_zero(&at[n].gateway))
			at[n].gateway = nh->addr;
	}
	return n;
}

static unsigned add_path(struct route_nexthop *at, unsigned n, const struct rib *r, const struct rib_path *p, uint16_t weight)
{
	const struct nexthop *nh = rib_next_hop(r, p);
	const struct addr next_hop = bgp_attrs_next_hop(rib_path_attrs(p));
	unsigned count = nh ? nhset_hops(nh, at + n, ROUTE_NEXTHOPS_MAX - n) : 1;
	if (!nh) /* nothing is tracked */
		at[n] = (struct route_nexthop){
			.gateway = next_hop, .ifindex = addr_is_link_local(&next_hop) ? rib_path_source(p)->ifindex : 0};
	for (unsigned i = 0; i < count; i++)
		at[n + i].weight = weight;
	return n + count;
}

static unsigned share_of(uint64_t bandwidth, uint64_t most, unsigned scale)
{
	unsigned share = (unsigned)((double)bandwidth * scale / (double)most + 0.5);
	return share ? share : 1;
}

/* How far the worst share is from the truth, as a part of it. */
static double worst_error(const uint64_t *bandwidth, unsigned n, uint64_t most, unsigned scale)
{
	double worst = 0;
	for (unsigned i = 0; i < n; i++) {
		double truth = (double)bandwidth[i] * scale / (double)most;
		double error = (share_of(bandwidth[i], most, scale) - truth) / truth;
		error = error < 0 ? -error : error;
		worst = error > worst ? error : worst;
	}
	return worst;
}

void nhset_share_out(const uint64_t *bandwidth, unsigned n, uint16_t *weights)
{
	static const double close_enough = 0.01;
	uint64_t most = 0;
	bool known = true;
	for (unsigned i = 0; i < n; i++) {
		known &= bandwidth[i] != 0;
		most = bandwidth[i] > most ? bandwidth[i] : most;
	}
	unsigned best = 1;
	double error = known ? worst_error(bandwidth, n, most, 1) : 0;
	for (unsigned scale = 2; scale <= ROUTE_WEIGHT_MAX && error > close_enough; scale++) {
		double e = worst_error(bandwidth, n, most, scale);
		best = e < error ? scale : best;
		error = e < error ? e : error;
	}
	for (unsigned i = 0; i < n; i++)
		weights[i] = known ? (uint16_t)share_of(bandwidth[i], most, best) : 1;
}

struct nhset *nhset_choose(struct nhset_table *t, const struct rib *r, struct rib_entry *e)
{
	struct route_nexthop at[ROUTE_NEXTHOPS_MAX];
	const struct rib_path *used[ROUTE_NEXTHOPS_MAX], *best = rib_best(e);
	uint64_t bandwidth[ROUTE_NEXTHOPS_MAX];
	uint16_t weights[ROUTE_NEXTHOPS_MAX];
	unsigned paths = 0, n = 0;
	if (!best || rib_path_source(best)->kind == RIB_SOURCE_EXTERNAL)
		return NULL;
	if (!bgp_attrs_has_next_hop(rib_path_attrs(best))) /* our own, or to be discarded */
		return intern(t, NULL, 0);
	for (const struct rib_path *p = best; p && paths < ROUTE_NEXTHOPS_MAX; p = rib_path_next(r, p)) {
		if (!(p->flags & RIB_PATH_USED) || !bgp_attrs_has_next_hop(rib_path_attrs(p)))
			continue;
		used[paths] = p;
		bandwidth[paths++] = bgp_attrs_link_bandwidth(rib_path_attrs(p));
	}
	nhset_share_out(bandwidth, paths, weights);
	for (unsigned i = 0; i < paths && n < ROUTE_NEXTHOPS_MAX; i++)
		n = add_path(at, n, r, used[i], weights[i]);
	return nhset_of(t, at, n);
}

struct nhset *nhset_ref(struct nhset *s)
{
	s->refs++;
	return s;
}

void nhset_unref(struct nhset *s)
{
	if (!s || --s->refs)
		return;
	hash_table_remove(&s->table->sets, &s->node);
	free(s);
	live_drop(LIVE_NHSET);
}
