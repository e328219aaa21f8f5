#include "rib/refresh.h"

static enum bgp_family family_of(const struct prefix *p)
{
	return prefix_is_v4(p) ? BGP_IPV4_UNICAST : BGP_IPV6_UNICAST;
}

void rib_refresh_begin(struct rib_source *s, enum bgp_family f)
{
	struct rib_refresh *x = &s->refresh[f];
	if (x->older == RIB_REFRESH_ROUNDS - 1)
		return;
	x->round = (uint8_t)((x->round + 1u) % RIB_REFRESH_ROUNDS);
	x->older++;
	x->keep = (uint8_t)(x->keep + (x->at != 0)); /* what a sweep that is under way takes for current stays so */
}

void rib_refresh_end(struct rib_source *s, enum bgp_family f)
{
	s->refresh[f].at = 1;
	s->refresh[f].keep = 0;
}

/* How many rounds ago the path was said. */
static unsigned age(const struct rib_refresh *x, const struct rib_path *p)
{
	return (x->round + RIB_REFRESH_ROUNDS - (unsigned)(p->flags >> RIB_PATH_ROUND_SHIFT)) % RIB_REFRESH_ROUNDS;
}

static struct rib_path *find_old(const struct rib *r, const struct rib_refresh *x, const struct rib_source *s, struct rib_entry *e)
{
	for (struct rib_path *p = rib_path_first(e); p; p = rib_path_next(r, p))
		if (rib_path_source(p) == s && age(x, p) > x->keep)
			return p;
	return NULL;
}

/* Returns what it cost. */
static unsigned sweep_entry(struct rib *r, struct rib_source *s, const struct rib_refresh *x, enum bgp_family f, uint32_t at)
{
	enum { LOOK_COST = 1, WITHDRAW_COST = 10 };
	unsigned cost = LOOK_COST;
	struct rib_entry *e = rib_entry_at(r, at);
	struct rib_path *p;
	struct prefix prefix = e ? rib_entry_prefix(e) : (struct prefix){{{0}}, 0};
	while (e && family_of(&prefix) == f && (p = find_old(r, x, s, e)) != NULL) {
		rib_withdraw_path(r, s, &prefix, p->path_id);
		cost += WITHDRAW_COST;
		e = rib_entry_at(r, at);
	}
	return cost;
}

bool rib_refresh_sweep(struct rib *r, struct rib_source *s, unsigned budget)
{
	for (unsigned f = 0; f < BGP_FAMILIES; f++) {
		struct rib_refresh *x = &s->refresh[f];
		while (x->at && x->at <= rib_entry_limit(r)) {
			unsigned cost = sweep_entry(r, s, x, (enum bgp_family)f, x->at++);
			if (cost >= budget)
				return false;
			budget -= cost;
		}
		if (!x->at)
			continue;
		x->at = 0;
		x->older = x->keep;
	}
	return true;
}
