#include "src/daemon/export_why.h"

#include <stdio.h>

#include "bgp/update.h"
#include "src/daemon/daemon.h"
#include "src/daemon/export.h"
#include "src/daemon/peer_io.h"

static const char *why_family_not(const struct peer *p, const struct rib_entry *e)
{
	enum bgp_family f = bgp_family_of_prefix(&e->prefix);
	if (p->group->families[f])
		return NULL;
	return p->families[f] ? "we have no address of its family to offer as next hop there"
			      : "its family was not agreed on in this session";
}

static const char *why_rules_not(const struct peer *p, const struct rib_entry *e, const struct rib_path *best, char *buf,
				 size_t cap)
{
	const struct peer *from = best->source->owner;
	const struct rib_policy_subject s = {&e->prefix, best->source->kind, from ? from->name : NULL};
	const struct rib_policy *rules = p->group->rules;
	struct bgp_attrs *attrs = bgp_attrs_ref(best->attrs);
	struct rib_policy_trace trace;
	enum rib_verdict verdict = rib_policy_run(rules, &s, &attrs, &trace);
	bgp_attrs_unref(attrs);
	if (verdict == RIB_ACCEPT)
		return NULL;
	if (trace.rule == rules->rule_count)
		snprintf(buf, cap, "no rule of its export policy %.64s accepts it", rules->name);
	else
		snprintf(buf, cap, "rule %zu of its export policy %.64s rejects it", trace.rule + 1, rules->name);
	return buf;
}

const char *export_why_not(const struct peer *p, const struct rib_entry *e, char *buf, size_t cap)
{
	const struct rib_path *best = rib_best(e);
	const struct group *g = p->group;
	const char *why = g ? why_family_not(p, e) : "there is no session";
	if (why)
		return why;
	if (best && best->source->owner == p)
		return "the route is from there";
	why = rib_export_refusal(g->policy, g->to, best);
	if (!why && g->keeps_back && best->attrs->otc)
		why = "the route is for customers only";
	if (!why && g->policy == RIB_EXPORT_WRITTEN)
		why = why_rules_not(p, e, best, buf, cap);
	return why;
}
