#include "rib/rules.h"

#include <stdlib.h>
#include <string.h>

/* What a match looks at. */
struct view {
	const struct rib_policy_subject *subject;
	const struct bgp_attrs *attrs;
};

static enum bgp_family family_of(const struct prefix *p)
{
	return prefix_is_v4(p) ? BGP_IPV4_UNICAST : BGP_IPV6_UNICAST;
}

static bool match_prefix(const struct rib_rule *r, const struct view *v)
{
	const struct prefix *p = v->subject->prefix;
	for (size_t i = 0; i < r->prefix_count; i++) {
		const struct rib_prefix_range *m = &r->prefixes[i];
		if (p->len >= m->min && p->len <= m->max && prefix_covers(&m->prefix, p))
			return true;
	}
	return r->prefix_count == 0;
}

static bool match_family(const struct rib_rule *r, const struct view *v)
{
	return !r->has_family || r->family == family_of(v->subject->prefix);
}

static bool match_source(const struct rib_rule *r, const struct view *v)
{
	return !r->has_source || r->source == v->subject->source;
}

static bool match_peer(const struct rib_rule *r, const struct view *v)
{
	for (size_t i = 0; i < r->peer_count; i++)
		if (v->subject->peer && strcmp(r->peers[i], v->subject->peer) == 0)
			return true;
	return r->peer_count == 0;
}

static bool within(const struct rib_bounds *b, uint32_t n)
{
	return !b->given || (n >= b->min && n <= b->max);
}

static bool match_path_length(const struct rib_rule *r, const struct view *v)
{
	return within(&r->path_length, v->attrs->as_count);
}

static bool match_local_pref(const struct rib_rule *r, const struct view *v)
{
	return within(&r->local_pref, v->attrs->local_pref);
}

/* None counts as 0, as in the decision. */
static bool match_med(const struct rib_rule *r, const struct view *v)
{
	return within(&r->med, v->attrs->has_med ? v->attrs->med : 0);
}

static bool match_as_path(const struct rib_rule *r, const struct view *v)
{
	for (size_t i = 0; i < r->as_path_count; i++)
		if (bgp_attrs_path_matches(v->attrs, r->as_paths[i]))
			return true;
	return r->as_path_count == 0;
}

/* Our own routes have no origin AS yet. */
static bool match_origin_as(const struct rib_rule *r, const struct view *v)
{
	uint32_t asn = r->origin_as_count ? bgp_attrs_origin_as(v->attrs) : 0;
	for (size_t i = 0; i < r->origin_as_count; i++)
		if (r->origin_as[i] == asn)
			return true;
	return r->origin_as_count == 0;
}

static bool match_next_hop(const struct rib_rule *r, const struct view *v)
{
	for (size_t i = 0; i < r->next_hop_count; i++)
		if (!addr_is_zero(&v->attrs->next_hop) && prefix_has_addr(&r->next_hops[i], &v->attrs->next_hop))
			return true;
	return r->next_hop_count == 0;
}

static bool match_any_community(const struct rib_rule *r, const struct view *v)
{
	return r->any.count == 0 || bgp_attrs_has_community(v->attrs, r->any.at, r->any.count);
}

static bool match_all_communities(const struct rib_rule *r, const struct view *v)
{
	for (size_t i = 0; i < r->all.count; i++)
		if (!bgp_attrs_has_community(v->attrs, &r->all.at[i], 1))
			return false;
	return true;
}

static bool match_no_community(const struct rib_rule *r, const struct view *v)
{
	return r->none.count == 0 || !bgp_attrs_has_community(v->attrs, r->none.at, r->none.count);
}

/* The cheap ones first. */
static bool (*const matches[])(const struct rib_rule *, const struct view *) = {
	match_family,   match_source,    match_path_length,   match_local_pref,      match_med,          match_prefix,
	match_peer,     match_next_hop,  match_origin_as,     match_any_community,   match_all_communities,
	match_no_community, match_as_path,
};

static bool applies(const struct rib_rule *r, const struct view *v)
{
	for (size_t i = 0; i < sizeof matches / sizeof *matches; i++)
		if (!matches[i](r, v))
			return false;
	return true;
}

static bool has_next_hop_for(const struct rib_rule *r, const struct rib_policy_subject *s)
{
	const struct addr *nh = &r->edit.next_hop;
	return r->edit.has_next_hop && (addr_is_zero(nh) || addr_is_v4(nh) == prefix_is_v4(s->prefix));
}

/* False: the set could not be made. */
static bool make_sets(const struct rib_rule *r, const struct rib_policy_subject *s, struct bgp_attrs **attrs,
		      struct rib_policy_trace *trace)
{
	struct bgp_attr_edit edit = r->edit;
	if (!r->has_edit)
		return true;
	edit.has_next_hop = has_next_hop_for(r, s);
	struct bgp_attrs *made = bgp_attrs_edit(*attrs, &edit);
	if (!made)
		return false;
	bgp_attrs_unref(*attrs);
	*attrs = made;
	trace->med_set |= edit.has_med;
	trace->next_hop_set |= edit.has_next_hop;
	return true;
}

enum rib_verdict rib_policy_run(const struct rib_policy *p, const struct rib_policy_subject *s, struct bgp_attrs **attrs,
				struct rib_policy_trace *trace)
{
	*trace = (struct rib_policy_trace){0};
	for (; trace->rule < p->rule_count; trace->rule++) {
		const struct rib_rule *r = &p->rules[trace->rule];
		if (!applies(r, &(struct view){s, *attrs}))
			continue;
		if (r->action == RIB_ACTION_REJECT || !make_sets(r, s, attrs, trace))
			return RIB_REJECT;
		if (r->action == RIB_ACTION_ACCEPT)
			return RIB_ACCEPT;
	}
	return RIB_REJECT;
}

bool rib_rule_names(const struct rib_policy *p, size_t rule, const struct prefix *prefix)
{
	if (rule >= p->rule_count)
		return false;
	const struct rib_rule *r = &p->rules[rule];
	for (size_t i = 0; i < r->prefix_count; i++)
		if (prefix_eq(&r->prefixes[i].prefix, prefix) && r->prefixes[i].min == prefix->len)
			return true;
	return false;
}

bool rib_policy_names(const struct rib_policy *p, const struct prefix *prefix)
{
	for (size_t i = 0; i < p->rule_count; i++)
		if (p->rules[i].action == RIB_ACTION_ACCEPT && rib_rule_names(p, i, prefix))
			return true;
	return false;
}

/* --- the last answer */

static bool answers(const struct rib_policy_cache *c, const struct rib_policy_subject *s, const struct bgp_attrs *in)
{
	return c->in == in && c->family == family_of(s->prefix) && c->source == s->source && c->peer == s->peer;
}

enum rib_verdict rib_policy_run_cached(const struct rib_policy *p, struct rib_policy_cache *c,
				       const struct rib_policy_subject *s, struct bgp_attrs *in, struct bgp_attrs **out,
				       struct rib_policy_trace *trace)
{
	if (p->looks_at_prefix || !answers(c, s, in)) {
		struct bgp_attrs *made = bgp_attrs_ref(in);
		enum rib_verdict verdict = rib_policy_run(p, s, &made, trace);
		bgp_attrs_ref(in);
		rib_policy_cache_fini(c);
		*c = (struct rib_policy_cache){in, made, family_of(s->prefix), s->source, s->peer, verdict, *trace};
	}
	*trace = c->trace;
	*out = c->out;
	return c->verdict;
}

void rib_policy_cache_fini(struct rib_policy_cache *c)
{
	bgp_attrs_unref(c->in);
	bgp_attrs_unref(c->out);
	*c = (struct rib_policy_cache){0};
}

/* --- making one */

static void *grab(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size);
	if (!p)
		abort();
	return p;
}

struct rib_policy *rib_policy_new(const char *name, size_t rule_count)
{
	struct rib_policy *p = grab(1, sizeof *p);
	size_t len = strlen(name) + 1;
	p->name = memcpy(grab(len, 1), name, len);
	p->rules = grab(rule_count, sizeof *p->rules);
	p->rule_count = rule_count;
	return p;
}

void rib_policy_finish(struct rib_policy *p)
{
	for (size_t i = 0; i < p->rule_count; i++) {
		struct rib_rule *r = &p->rules[i];
		struct bgp_attr_edit *e = &r->edit;
		e->prepend = r->prepend;
		e->add = r->add;
		e->remove = r->remove;
		r->has_edit = e->has_local_pref || e->has_med || e->has_next_hop || e->has_weight || e->replace ||
			      e->prepend_count || e->add_count || e->remove_count;
		p->looks_at_prefix |= r->prefix_count > 0;
	}
}

static void rule_fini(struct rib_rule *r)
{
	for (size_t i = 0; i < r->peer_count; i++)
		free(r->peers[i]);
	for (size_t i = 0; i < r->as_path_count; i++)
		as_regex_free(r->as_paths[i]);
	free(r->as_paths);
	free(r->peers);
	free(r->prefixes);
	free(r->any.at);
	free(r->all.at);
	free(r->none.at);
	free(r->origin_as);
	free(r->next_hops);
	free(r->prepend);
	free(r->add);
	free(r->remove);
}

void rib_policy_free(struct rib_policy *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->rule_count; i++)
		rule_fini(&p->rules[i]);
	free(p->rules);
	free(p->name);
	free(p);
}
