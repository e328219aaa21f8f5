/* Policies that the operator wrote: rules in order. A rule applies where all its matches hold; then its sets are made
 * and its action decides: accept, reject, or go on with the next rule and what the sets have made. Behind the last rule
 * is a reject. What a rule does not mention matches everything.
 *
 * Ownership: a policy owns its rules and everything in them (all from malloc; rib_policy_free() takes them). Sessions
 * and update groups borrow it. Pure.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bgp/attr.h"
#include "rib/table.h"

enum rib_verdict { RIB_REJECT, RIB_ACCEPT };
enum rib_action { RIB_ACTION_REJECT, RIB_ACTION_ACCEPT, RIB_ACTION_NEXT };

/* Prefixes inside prefix whose length is in min..max (counted like prefix.len). */
struct rib_prefix_range {
	struct prefix prefix;
	uint8_t min, max;
};

/* One of min..max; not asked for where it is not given. */
struct rib_bounds {
	bool given;
	uint32_t min, max;
};

struct rib_communities {
	struct community_match *at;
	size_t count;
};

struct rib_rule {
	struct rib_prefix_range *prefixes;       /* any of them; the same for the other lists */
	struct rib_communities any, all, none;   /* any, all or none of these */
	struct as_regex **as_paths;
	uint32_t *origin_as;
	struct prefix *next_hops;
	char **peers;                            /* names of the peer that it was learned from */
	uint8_t prefix_lens[129];                /* those of prefixes, each once; filled in by rib_policy_finish() */
	size_t prefix_len_count, prefix_count, as_path_count, origin_as_count, next_hop_count, peer_count;
	bool has_family, has_source;
	enum bgp_family family;
	enum rib_source_kind source;
	struct rib_bounds path_length, local_pref, med;
	bool has_edit;
	struct bgp_attr_edit edit;               /* a next hop goes to routes of its own family only */
	uint32_t *prepend;                       /* what edit borrows */
	struct community *add;
	struct community_match *remove;
	enum rib_action action;
};

struct rib_policy {
	char *name;
	struct rib_rule *rules;
	size_t rule_count;
	bool looks_at_prefix; /* else routes of one family with the same attributes have the same fate */
};

/* A route on its way through a policy. */
struct rib_policy_subject {
	const struct prefix *prefix;
	enum rib_source_kind source;
	const char *peer;     /* that it was learned from; NULL: it is ours */
};

/* With room for rules, which match everything and reject until they are filled in. */
struct rib_policy *rib_policy_new(const char *name, size_t rule_count);
/* To be called once the rules are complete; sorts their prefixes. */
void rib_policy_finish(struct rib_policy *p);
void rib_policy_free(struct rib_policy *p); /* NULL is fine */

/* How it came about. */
struct rib_policy_trace {
	size_t rule;              /* index of the one that decided; rule_count: none did */
	bool med_set, next_hop_set;
};
/* *attrs is a reference of the caller's before and after; after, it is to what the sets made of it where the route is
 * accepted. A set that cannot be made rejects. */
enum rib_verdict rib_policy_run(const struct rib_policy *p, const struct rib_policy_subject *s, struct bgp_attrs **attrs,
				struct rib_policy_trace *trace);
/* Does the rule name exactly this prefix? */
bool rib_rule_names(const struct rib_policy *p, size_t rule, const struct prefix *prefix);
/* Does any rule that accepts? */
bool rib_policy_names(const struct rib_policy *p, const struct prefix *prefix);

/* The last answer, for runs of routes that differ in nothing that the policy looks at. Starts as all zero, and needs
 * rib_policy_cache_fini() before the policy or the attribute table goes. */
struct rib_policy_cache {
	struct bgp_attrs *in, *out; /* references */
	enum bgp_family family;
	enum rib_source_kind source;
	const char *peer;
	enum rib_verdict verdict;
	struct rib_policy_trace trace;
};
/* As rib_policy_run(), but in is borrowed, and *out is borrowed from the cache until its next use. */
enum rib_verdict rib_policy_run_cached(const struct rib_policy *p, struct rib_policy_cache *c,
				       const struct rib_policy_subject *s, struct bgp_attrs *in, struct bgp_attrs **out,
				       struct rib_policy_trace *trace);
void rib_policy_cache_fini(struct rib_policy_cache *c);
