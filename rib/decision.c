#include "rib/decision.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { VALUE_MAX = 64 };

/* A rule either gives each path a number, and the lowest stay, or says of two paths whether one rules the other
 * out. */
struct rule {
	const char *name;
	uint64_t (*key)(const struct rib_path *);
	bool (*beats)(const struct rib_path *, const struct rib_path *);
	bool tie_break; /* the paths that are left before the first of these are equally good for forwarding */
	const char *than;                                      /* between the loser's value and the winner's */
	void (*value)(const struct rib_path *, char[VALUE_MAX]); /* for people; NULL: the key */
};

/* Ours before what others on this host have us tell, and both before what was learned: the kinds stand in this order. */
static uint64_t distance(const struct rib_path *p)
{
	return rib_path_source(p)->kind;
}

static uint64_t low_weight(const struct rib_path *p)
{
	return UINT16_MAX - rib_path_attrs(p)->weight;
}

static uint64_t low_preference(const struct rib_path *p)
{
	return UINT32_MAX - rib_path_attrs(p)->local_pref;
}

static uint64_t path_length(const struct rib_path *p)
{
	return rib_path_attrs(p)->as_count;
}

static uint64_t origin(const struct rib_path *p)
{
	return rib_path_attrs(p)->origin;
}

/* Only among paths through the same neighbouring AS; that is why it cannot be a number. */
static bool lower_med(const struct rib_path *a, const struct rib_path *b)
{
	return rib_path_attrs(a)->first_as == rib_path_attrs(b)->first_as && rib_path_attrs(a)->med < rib_path_attrs(b)->med;
}

static uint64_t internal(const struct rib_path *p)
{
	return rib_path_source(p)->ibgp;
}

static uint64_t next_hop_metric(const struct rib_path *p)
{
	return p->metric;
}

/* RFC 5004: of external paths the one that has been there longest, so that a peer that comes back does not take the
 * traffic over. In seconds of the path's own time, not in the order of arrival. */
static uint64_t youth(const struct rib_path *p)
{
	return rib_path_source(p)->ibgp ? 0 : p->since_s;
}

static uint64_t originator(const struct rib_path *p)
{
	return rib_path_attrs(p)->has_originator ? bgp_attrs_originator_id(rib_path_attrs(p)) : rib_path_source(p)->router_id;
}

static uint64_t cluster_length(const struct rib_path *p)
{
	return bgp_attrs_cluster_count(rib_path_attrs(p));
}

static bool lower_address(const struct rib_path *a, const struct rib_path *b)
{
	return addr_cmp(&rib_path_source(a)->addr, &rib_path_source(b)->addr) < 0;
}

/* A session that came back may stand beside what is left of its former life. */
static uint64_t former_life(const struct rib_path *p)
{
	return UINT32_MAX - rib_path_source(p)->id;
}

/* Of several paths from one session, RFC 7911. */
static uint64_t path_id(const struct rib_path *p)
{
	return p->path_id;
}

/* --- what people read */

static void number(uint64_t n, char buf[VALUE_MAX])
{
	snprintf(buf, VALUE_MAX, "%llu", (unsigned long long)n);
}

static void say_own(const struct rib_path *p, char buf[VALUE_MAX])
{
	static const char *const names[] = {
		[RIB_SOURCE_LOCAL] = "own", [RIB_SOURCE_EXTERNAL] = "external", [RIB_SOURCE_BGP] = "learned"};
	snprintf(buf, VALUE_MAX, "%s", names[rib_path_source(p)->kind]);
}

static void say_weight(const struct rib_path *p, char buf[VALUE_MAX])
{
	number(rib_path_attrs(p)->weight, buf);
}

static void say_preference(const struct rib_path *p, char buf[VALUE_MAX])
{
	number(rib_path_attrs(p)->local_pref, buf);
}

static void say_origin(const struct rib_path *p, char buf[VALUE_MAX])
{
	static const char *const names[] = {
		[BGP_ORIGIN_IGP] = "IGP", [BGP_ORIGIN_EGP] = "EGP", [BGP_ORIGIN_INCOMPLETE] = "incomplete"};
	snprintf(buf, VALUE_MAX, "%s", names[rib_path_attrs(p)->origin]);
}

static void say_med(const struct rib_path *p, char buf[VALUE_MAX])
{
	number(rib_path_attrs(p)->med, buf);
}

static void say_internal(const struct rib_path *p, char buf[VALUE_MAX])
{
	snprintf(buf, VALUE_MAX, "%s", internal(p) ? "internal" : "external");
}

static void say_metric(const struct rib_path *p, char buf[VALUE_MAX])
{
	snprintf(buf, VALUE_MAX, "%s", nexthop_state_text((enum nexthop_state)p->metric));
}

static void say_router_id(const struct rib_path *p, char buf[VALUE_MAX])
{
	struct addr id = addr_from_v4((uint32_t)originator(p));
	addr_format(&id, buf);
}

static void say_address(const struct rib_path *p, char buf[VALUE_MAX])
{
	addr_format(&rib_path_source(p)->addr, buf);
}

static void say_life(const struct rib_path *p, char buf[VALUE_MAX])
{
	number(rib_path_source(p)->id, buf);
}

/* --- the rules */

enum { UNREACHABLE = 1, FIRST_RULE };

static const struct rule rules[] = {
	{"", NULL, NULL, false, NULL, NULL},
	/* not a comparison: see drop_unreachable() */
	[UNREACHABLE] = {"next hop unreachable", NULL, NULL, false, NULL, NULL},
	{"own route", distance, NULL, false, ", not ", say_own},
	{"weight", low_weight, NULL, false, " < ", say_weight},
	{"local preference", low_preference, NULL, false, " < ", say_preference},
	{"AS path length", path_length, NULL, false, " > ", NULL},
	{"origin", origin, NULL, false, ", not ", say_origin},
	{"MED", NULL, lower_med, false, " > ", say_med},
	{"external over internal", internal, NULL, false, ", not ", say_internal},
	{"next-hop metric", next_hop_metric, NULL, false, ", not ", say_metric},
	{"oldest path", youth, NULL, true, NULL, NULL},
	{"router ID", originator, NULL, true, " > ", say_router_id},
	{"cluster list length", cluster_length, NULL, true, " > ", NULL},
	{"peer address", NULL, lower_address, true, " > ", say_address},
	{"newer session wins", former_life, NULL, true, " < ", say_life},
	{"path ID", path_id, NULL, true, " > ", NULL},
};

enum { RULE_COUNT = sizeof rules / sizeof *rules, LOST_BY_MAX = 31 };
_Static_assert(RULE_COUNT <= LOST_BY_MAX + 1, "lost_by has 5 bits");

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
		at[i]->lost_by = ruled_out(rule, lowest, at, n, i) ? index & LOST_BY_MAX : 0;
	return part(at, n);
}

static size_t drop_unreachable(struct rib_path **at, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		at[i]->flags &= RIB_PATH_ROUND;
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
	if (left == 1) { /* nothing to compare, as it mostly is */
		at[0]->flags |= RIB_PATH_USED | RIB_PATH_BEST;
		return at[0];
	}
	for (unsigned rule = FIRST_RULE; rule < RULE_COUNT; rule++) {
		if (rules[rule].tie_break && !rules[rule - 1].tie_break)
			mark_used(at, left, multipath);
		if (left > 1)
			left = apply(rule, at, left);
	}
	at[0]->flags |= RIB_PATH_BEST;
	return at[0];
}

/* --- explaining */

const struct rib_path *rib_decision_winner(const struct rib *r, struct rib_entry *e, const struct rib_path *loser)
{
	const struct rule *rule = &rules[loser->lost_by < RULE_COUNT ? loser->lost_by : 0];
	for (const struct rib_path *p = rib_path_first(e); p; p = rib_path_next(r, p)) {
		bool survived = p != loser && (!p->lost_by || p->lost_by > loser->lost_by);
		if (survived && (rule->beats ? rule->beats(p, loser) : rule->key != NULL))
			return p;
	}
	return NULL;
}

static void say(const struct rule *rule, const struct rib_path *p, char buf[VALUE_MAX])
{
	if (rule->value)
		rule->value(p, buf);
	else
		number(rule->key(p), buf);
}

const char *rib_decision_compared(const struct rib_path *loser, const struct rib_path *winner,
				  char buf[RIB_DECISION_TEXT_MAX])
{
	const struct rule *rule = &rules[loser->lost_by];
	char lost[VALUE_MAX], won[VALUE_MAX];
	if (rule->than) {
		say(rule, loser, lost);
		say(rule, winner, won);
		snprintf(buf, RIB_DECISION_TEXT_MAX, "%s%s%s", lost, rule->than, won);
	} else {
		snprintf(buf, RIB_DECISION_TEXT_MAX, "younger by %u s", loser->since_s - winner->since_s);
	}
	return buf;
}
