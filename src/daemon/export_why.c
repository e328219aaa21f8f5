#include "src/daemon/export_why.h"

#include <stdio.h>

#include "bgp/update.h"
#include "rib/rank.h"
#include "src/daemon/daemon.h"
#include "src/daemon/export.h"
#include "src/daemon/peer_io.h"

static const char *why_family_not(const struct peer *p, const struct rib_entry *e)
{
	const struct prefix prefix = rib_entry_prefix(e);
	enum bgp_family f = bgp_family_of_prefix(&prefix);
	if (p->group->families[f])
		return NULL;
	return p->families[f] ? "we have no address of its family to offer as next hop there"
			      : "its family was not agreed on in this session";
}

static const char *why_rules_not(const struct peer *p, const struct rib_entry *e, const struct rib_path *path, char *buf,
				 size_t cap)
{
	const struct rib_source *source = rib_path_source(path);
	const struct peer *from = source->owner;
	const struct prefix prefix = rib_entry_prefix(e);
	const struct rib_policy_subject s = {&prefix, source->kind, from ? peer_policy_name(from) : NULL};
	const struct rib_policy *rules = p->group->rules;
	struct bgp_attrs *attrs = bgp_attrs_ref(rib_path_attrs(path));
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

/* path NULL: none can be used */
static const char *why_path_not(const struct peer *p, const struct rib_entry *e, const struct rib_path *path, char *buf, size_t cap)
{
	const struct group *g = p->group;
	if (path && rib_path_source(path)->owner == p)
		return "the route is from there";
	const char *why = rib_export_refusal(g->policy, g->to, path);
	if (!why && g->keeps_back && bgp_attrs_otc(rib_path_attrs(path)))
		why = "the route is for customers only";
	if (!why && g->policy == RIB_EXPORT_WRITTEN)
		why = why_rules_not(p, e, path, buf, cap);
	return why;
}

/* Who gets several paths is told where any of them may be. */
static bool gets_another(const struct peer *p, struct rib_entry *e)
{
	struct rib_ranking k = {0};
	const struct rib_path *path = NULL;
	char waste[256];
	rib_ranking_start(&k, p->daemon->rib, e);
	while ((path = rib_ranking_next(&k)) != NULL && why_path_not(p, e, path, waste, sizeof waste))
		;
	rib_ranking_fini(&k);
	return path != NULL;
}

const char *export_why_not(const struct peer *p, struct rib_entry *e, char *buf, size_t cap)
{
	const char *why = p->group ? why_family_not(p, e) : "there is no session";
	if (why)
		return why;
	why = why_path_not(p, e, rib_best(e), buf, cap);
	const struct prefix prefix = rib_entry_prefix(e);
	return why && p->group->paths[bgp_family_of_prefix(&prefix)] && gets_another(p, e) ? NULL : why;
}
