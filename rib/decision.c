#include "rib/decision.h"

#include <stdbool.h>
#include <stdlib.h>

/* A rule either gives each path a number, and the lowest stay, or says of two paths whether one rules the other
 * out. */
struct rule {
	const char *name;
	uint64_t (*key)(const struct rib_path *);
	bool (*beats)(const struct rib_path *, const struct rib_path *);
	bool tie_break; /* the paths that are left before the first of these are equally good for forwarding */
};

static uint64_t not_local(const struct rib_path *p)
{
	return p->source->kind != RIB_SOURCE_LOCAL;
}

static uint64_t low_weight(const struct rib_path *p)
{
	return UINT16_MAX - p->attrs->weight;
}

static uint64_t low_preference(const struct rib_path *p)
{
	return UINT32_MAX - p->attrs->local_pref;
}

static uint64_t path_length(const struct rib_path *p)
{
	return p->attrs->as_count;
}

static uint64_t origin(const struct rib_path *p)
{
	return p->attrs->origin;
}

/* Only among paths through the same neighbouring AS; that is why it cannot be a number. */
static bool lower_med(const struct rib_path *a, const struct rib_path *b)
{
	return a->attrs->first_as == b->attrs->first_as && a->attrs->med < b->attrs->med;
}

static uint64_t internal(const struct rib_path *p)
{
	return p->source->ibgp;
}

static uint64_t next_hop_metric(const struct rib_path *p)
{
	return p->metric;
}

/* RFC 5004: of external paths the one that has been there longest, so that a peer that comes back does not take the
 * traffic over. In seconds of the path's own time, not in the order of arrival. */
static uint64_t youth(const struct rib_path *p)
{
	return p->source->ibgp ? 0 : p->since_s;
}

static uint64_t originator(const struct rib_path *p)
{
	return p->attrs->has_originator ? p->attrs->originator_id : p->source->router_id;
}

static uint64_t cluster_length(const struct rib_path *p)
{
	return p->attrs->cluster_count;
}

static bool lower_address(const struct rib_path *a, const struct rib_path *b)
{
	return addr_cmp(&a->source->addr, &b->source->addr) < 0;
}

/* A session that came back may stand beside what is left of its former life. */
static uint64_t former_life(const struct rib_path *p)
{
	return UINT32_MAX - p->source->id;
}

/* Of several paths from one session, RFC 7911. */
static uint64_t path_id(const struct rib_path *p)
{
	return p->path_id;
}

enum { UNREACHABLE = 1, FIRST_RULE };

static const struct rule rules[] = {
	{"", NULL, NULL, false},
	[UNREACHABLE] = {"next hop unreachable", NULL, NULL, false}, /* not a comparison: see drop_unreachable() */
	{"own route", not_local, NULL, false},
	{"weight", low_weight, NULL, false},
	{"local preference", low_preference, NULL, false},
	{"AS path length", path_length, NULL, false},
	{"origin", origin, NULL, false},
	{"MED", NULL, lower_med, false},
	{"external over internal", internal, NULL, false},
	{"next-hop metric", next_hop_metric, NULL, false},
	{"oldest path", youth, NULL, true},
	{"router ID", originator, NULL, true},
	{"cluster list length", cluster_length, NULL, true},
	{"peer address", NULL, lower_address, true},
	{"newer session wins", former_life, NULL, true},
	{"path ID", path_id, NULL, true},
};

enum { RULE_COUNT = sizeof rules / sizeof *rules };

const char *rib_decision_rule(unsigned lost_by)
{
	return lost_by < RULE_COUNT ? rules[lost_by].name : "";
}

static bool ruled_out(const struct rule *rule, uint64_t lowest, struct rib_path *const *at, size_t n, size_t i)
{
	if (rule->key)
		return rule->key(at[i]) != lowest;
	for (size_t j = 0; j < n; j++)
		if (rule->beats(at[j], at[i]))
			return true;
	return false;
}

/* Moves those with lost_by set behind the n' others; returns n'. */
static size_t part(struct rib_path **at, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		struct rib_path *p = at[i];
		if (p->lost_by)
			continue;
		at[i] = at[kept];
		at[kept++] = p;
	}
	return kept;
}

/* Returns how many stay, in front. The judgement is over all n, so losers move only after every one was judged. */
static size_t apply(unsigned index, struct rib_path **at, size_t n)
{
	const struct rule *rule = &rules[index];
	uint64_t lowest = UINT64_MAX;
	for (size_t i = 0; rule->key && i < n; i++)
		if (rule->key(at[i]) < lowest)
			lowest = rule->key(at[i]);
	for (size_t i = 0; i < n; i++)
		at[i]->lost_by = ruled_out(rule, lowest, at, n, i) ? (uint8_t)index : 0;
	return part(at, n);
}

static size_t drop_unreachable(struct rib_path **at, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		at[i]->flags &= (uint8_t)~(RIB_PATH_BEST | RIB_PATH_USED);
		at[i]->lost_by = at[i]->metric == NEXTHOP_METRIC_UNREACHABLE ? UNREACHABLE : 0;
	}
	return part(at, n);
}

/* The tie-breaks as one order, for when more paths are equal than may be used. */
static int by_tie_breaks(const void *x, const void *y)
{
	const struct rib_path *a = *(struct rib_path *const *)x, *b = *(struct rib_path *const *)y;
	for (unsigned i = FIRST_RULE; i < RULE_COUNT; i++) {
		if (!rules[i].tie_break)
			continue;
		if (rules[i].key && rules[i].key(a) != rules[i].key(b))
			return rules[i].key(a) < rules[i].key(b) ? -1 : 1;
		if (rules[i].beats && (rules[i].beats(a, b) || rules[i].beats(b, a)))
			return rules[i].beats(a, b) ? -1 : 1;
	}
	return 0;
}

static void mark_used(struct rib_path **at, size_t n, unsigned multipath)
{
	if (n > multipath)
		qsort(at, n, sizeof *at, by_tie_breaks);
	for (size_t i = 0; i < n && i < multipath; i++)
		at[i]->flags |= RIB_PATH_USED;
}

struct rib_path *rib_decide(struct rib_path **at, size_t n, unsigned multipath)
{
	size_t left = drop_unreachable(at, n);
	if (left == 0)
		return NULL;
	for (unsigned rule = FIRST_RULE; rule < RULE_COUNT; rule++) {
		if (rules[rule].tie_break && !rules[rule - 1].tie_break)
			mark_used(at, left, multipath);
		if (left > 1)
			left = apply(rule, at, left);
	}
	at[0]->flags |= RIB_PATH_BEST;
	return at[0];
}
