/* Written policies: from configuration to the rules that rib/rules.h runs. */
#include <stdlib.h>
#include <string.h>

#include "src/daemon/apply_policy.h"
#include "src/daemon/daemon.h"

static void *grab(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size);
	if (!p)
		abort();
	return p;
}

static void *copy(const void *at, size_t count, size_t size)
{
	void *p = grab(count, size);
	if (count)
		memcpy(p, at, count * size);
	return p;
}

static struct rib_prefix_range *ranges_of(const struct conf_ranges *c)
{
	struct rib_prefix_range *out = grab(c->count, sizeof *out);
	for (size_t i = 0; i < c->count; i++)
		out[i] = (struct rib_prefix_range){c->at[i].prefix, c->at[i].min, c->at[i].max};
	return out;
}

static struct rib_communities communities_of(const struct conf_communities *c)
{
	return (struct rib_communities){copy(c->at, c->count, sizeof *c->at), c->count};
}

/* They compiled when the configuration was read. */
static struct as_regex **as_paths_of(const struct conf_names *c)
{
	struct as_regex **out = grab(c->count, sizeof *out);
	struct as_regex_error error;
	for (size_t i = 0; i < c->count; i++)
		if (!(out[i] = as_regex_compile(c->at[i], &error)))
			abort();
	return out;
}

static struct rib_bounds bounds_of(const struct conf_bounds *c)
{
	return (struct rib_bounds){c->given, c->min, c->max};
}

static char **names_of(const struct conf_names *c)
{
	char **out = grab(c->count, sizeof *out);
	for (size_t i = 0; i < c->count; i++)
		out[i] = copy(c->at[i], strlen(c->at[i]) + 1, 1);
	return out;
}

static void compile_match(const struct conf_rule *c, struct rib_rule *r)
{
	static const enum rib_source_kind sources[] = {[CONF_SOURCE_LOCAL] = RIB_SOURCE_LOCAL,
						       [CONF_SOURCE_BGP] = RIB_SOURCE_BGP,
						       [CONF_SOURCE_EXTERNAL] = RIB_SOURCE_EXTERNAL};
	r->prefixes = ranges_of(&c->match.prefixes);
	r->prefix_count = c->match.prefixes.count;
	r->any = communities_of(&c->match.any);
	r->all = communities_of(&c->match.all);
	r->none = communities_of(&c->match.none);
	r->as_paths = as_paths_of(&c->match.as_path);
	r->as_path_count = c->match.as_path.count;
	r->origin_as = copy(c->match.origin_as.at, c->match.origin_as.count, sizeof *r->origin_as);
	r->origin_as_count = c->match.origin_as.count;
	r->next_hops = copy(c->match.next_hop.at, c->match.next_hop.count, sizeof *r->next_hops);
	r->next_hop_count = c->match.next_hop.count;
	r->peers = names_of(&c->match.peer);
	r->peer_count = c->match.peer.count;
	r->has_family = c->match.family != CONF_FAMILY_ANY;
	r->family = c->match.family == CONF_FAMILY_IPV6 ? BGP_IPV6_UNICAST : BGP_IPV4_UNICAST;
	r->has_source = c->match.source != CONF_SOURCE_ANY;
	r->source = sources[c->match.source];
	r->path_length = bounds_of(&c->match.path_length);
	r->local_pref = bounds_of(&c->match.local_pref);
	r->med = bounds_of(&c->match.med);
}

static void compile_prepend(const struct conf_rule *c, uint32_t own_asn, struct rib_rule *r)
{
	r->edit.prepend_count = c->set.prepend_own ? c->set.prepend_own : c->set.prepend.count;
	r->prepend = grab(r->edit.prepend_count, sizeof *r->prepend);
	for (size_t i = 0; i < r->edit.prepend_count; i++)
		r->prepend[i] = c->set.prepend_own ? own_asn : c->set.prepend.at[i];
}

/* Those in the list; an empty one empties all. */
static uint8_t replaced_kinds(const struct conf_communities *by)
{
	unsigned kinds = by->count ? 0 : (1u << COMMUNITY_KINDS) - 1;
	for (size_t i = 0; i < by->count; i++)
		kinds |= 1u << by->at[i].value.kind;
	return (uint8_t)kinds;
}

static void compile_communities(const struct conf_rule *c, struct rib_rule *r)
{
	const struct conf_communities *add = c->set.replace.given ? &c->set.replace : &c->set.add;
	if (c->set.replace.given)
		r->edit.replace = replaced_kinds(add);
	r->edit.add_count = add->count;
	r->add = grab(add->count, sizeof *r->add);
	for (size_t i = 0; i < add->count; i++)
		r->add[i] = add->at[i].value;
	r->remove = communities_of(&c->set.remove).at;
	r->edit.remove_count = c->set.remove.count;
}

static enum rib_action action_of(enum conf_action a)
{
	switch (a) {
	case CONF_ACTION_ACCEPT:
		return RIB_ACTION_ACCEPT;
	case CONF_ACTION_NEXT:
		return RIB_ACTION_NEXT;
	case CONF_ACTION_REJECT:
	case CONF_ACTION_MISSING:
		break;
	}
	return RIB_ACTION_REJECT;
}

static void compile_sets(const struct conf_rule *c, uint32_t own_asn, struct rib_rule *r)
{
	r->edit.has_local_pref = c->set.local_pref.given;
	r->edit.local_pref = c->set.local_pref.value;
	r->edit.has_weight = c->set.weight.given;
	r->edit.weight = (uint16_t)c->set.weight.value;
	r->edit.has_med = c->set.med.given;
	r->edit.med = c->set.med.value;
	r->edit.has_next_hop = c->set.next_hop_kind != CONF_NEXT_HOP_KEPT;
	r->edit.next_hop = c->set.next_hop; /* self: zero */
	compile_prepend(c, own_asn, r);
	compile_communities(c, r);
	r->action = action_of(c->action);
}

struct rib_policy *policy_compile(const struct conf_rules *c, uint32_t own_asn)
{
	struct rib_policy *p = rib_policy_new(c->name, c->rule_count);
	for (size_t i = 0; i < c->rule_count; i++) {
		compile_match(&c->rules[i], &p->rules[i]);
		compile_sets(&c->rules[i], own_asn, &p->rules[i]);
	}
	rib_policy_finish(p);
	return p;
}

struct rib_policy *policies_find(const struct policies *p, const char *name)
{
	for (size_t i = 0; name && i < p->count; i++)
		if (strcmp(p->at[i]->name, name) == 0)
			return p->at[i];
	return NULL;
}

/* The one that runs, where it says the same. */
static struct rib_policy *unchanged(const struct daemon *d, const struct conf *next, const struct conf_rules *c)
{
	const struct conf_rules *was = d->conf ? conf_policy_find(d->conf, c->name) : NULL;
	bool same = was && d->conf->node.asn == next->node.asn && strcmp(was->text, c->text) == 0;
	return same ? policies_find(&d->policies, c->name) : NULL;
}

struct policies policies_make(const struct daemon *d, const struct conf *next)
{
	struct policies p = {grab(next->policy_count, sizeof *p.at), next->policy_count};
	for (size_t i = 0; i < p.count; i++) {
		struct rib_policy *kept = unchanged(d, next, &next->policies[i]);
		p.at[i] = kept ? kept : policy_compile(&next->policies[i], next->node.asn);
	}
	return p;
}

void policies_free(struct policies *old, const struct policies *kept)
{
	for (size_t i = 0; i < old->count; i++)
		if (!kept || policies_find(kept, old->at[i]->name) != old->at[i])
			rib_policy_free(old->at[i]);
	free(old->at);
	*old = (struct policies){NULL, 0};
}
