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

/* The first that is not less; prefix_count: none. */
static size_t lower_bound(const struct rib_rule *r, const struct prefix *p)
{
	size_t low = 0, high = r->prefix_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (prefix_cmp(&r->prefixes[middle].prefix, p) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* IPv4 lies inside ::/0 as addresses are kept, but not as anybody means it. */
static bool same_family(const struct prefix *range, const struct addr *a)
{
	return prefix_is_v4(range) == addr_is_v4(a);
}

/* What covers the prefix is its first bits: one search for each length that the list has. */
static bool match_prefix(const struct rib_rule *r, const struct view *v)
{
	const struct prefix *p = v->subject->prefix;
	for (size_t k = 0; k < r->prefix_len_count && r->prefix_lens[k] <= p->len; k++) {
		struct prefix cover = prefix_make(&p->addr, r->prefix_lens[k]);
		for (size_t i = lower_bound(r, &cover); i < r->prefix_count && prefix_eq(&r->prefixes[i].prefix, &cover); i++)
			if (p->len >= r->prefixes[i].min && p->len <= r->prefixes[i].max && same_family(&cover, &p->addr))
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
	const struct addr next_hop = r->next_hop_count ? bgp_attrs_next_hop(v->attrs) : (struct addr){{0}};
	for (size_t i = 0; i < r->next_hop_count && !addr_is_zero(&next_hop); i++)
		if (same_family(&r->next_hops[i], &next_hop) && prefix_has_addr(&r->next_hops[i], &next_hop))
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

/* What the sets have made so far; two drafts take turns. */
struct making {
	const struct bgp_attrs *now;      /* NULL: a set could not be made */
	const struct bgp_draft *last;     /* NULL: nothing was changed yet */
	struct bgp_draft drafts[2];
};

static void make_sets(struct making *m, const struct rib_rule *r, const struct rib_policy_subject *s,
		      struct rib_policy_trace *trace)
{
	struct bgp_draft *next = m->last == m->drafts ? &m->drafts[1] : m->drafts;
	struct bgp_attr_edit edit = r->edit;
	if (!r->has_edit)
		return;
	edit.has_next_hop = has_next_hop_for(r, s);
	bgp_draft_edit(next, m->now, &edit);
	m->now = bgp_draft_set(next);
	m->last = next;
	trace->med_set |= edit.has_med;
	trace->next_hop_set |= edit.has_next_hop;
}

/* Replaces the caller's reference by one to what was made. */
static enum rib_verdict accept(const struct making *m, struct bgp_attrs **attrs)
{
	struct bgp_attrs *made = m->last ? bgp_draft_intern(m->last) : bgp_attrs_ref(*attrs);
	if (!made)
		return RIB_REJECT;
	bgp_attrs_unref(*attrs);
	*attrs = made;
	return RIB_ACCEPT;
}

enum rib_verdict rib_policy_run(const struct rib_policy *p, const struct rib_policy_subject *s, struct bgp_attrs **attrs,
				struct rib_policy_trace *trace)
{
	struct making m; /* the drafts are large, and nothing in them is to be cleared */
	m.now = *attrs;
	m.last = NULL;
	*trace = (struct rib_policy_trace){0};
	for (; trace->rule < p->rule_count; trace->rule++) {
		const struct rib_rule *r = &p->rules[trace->rule];
		if (!applies(r, &(struct view){s, m.now}))
			continue;
		if (r->action == RIB_ACTION_REJECT)
			return RIB_REJECT;
		make_sets(&m, r, s, trace);
		if (!m.now)
			return RIB_REJECT;
		if (r->action == RIB_ACTION_ACCEPT)
			return accept(&m, attrs);
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

static int by_prefix(const void *va, const void *vb)
{
	const struct rib_prefix_range *a = va, *b = vb;
	return prefix_cmp(&a->prefix, &b->prefix);
}

static void sort_prefixes(struct rib_rule *r)
{
	bool seen[sizeof r->prefix_lens] = {false};
	if (r->prefix_count)
		qsort(r->prefixes, r->prefix_count, sizeof *r->prefixes, by_prefix);
	for (size_t i = 0; i < r->prefix_count; i++)
		seen[r->prefixes[i].prefix.len] = true;
	r->prefix_len_count = 0;
	for (unsigned len = 0; len < sizeof seen; len++)
		if (seen[len])
			r->prefix_lens[r->prefix_len_count++] = (uint8_t)len;
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
		sort_prefixes(r);
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
