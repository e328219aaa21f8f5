#include "rib/policy.h"

/* Ours, or the default route. */
static bool is_guarded(const struct rib_import_context *ctx, const struct prefix *p)
{
	return prefix_is_default(p) || prefix_in_any(p, ctx->own, ctx->own_count);
}

bool rib_import_accepts(enum rib_import policy, const struct rib_import_context *ctx, const struct prefix *p)
{
	if (policy == RIB_IMPORT_NONE || is_guarded(ctx, p))
		return false;
	return policy == RIB_IMPORT_ALL || prefix_in_any(p, ctx->cluster, ctx->cluster_count);
}

bool rib_import_run(const struct rib_policy *policy, struct rib_policy_cache *cache, const struct rib_import_context *ctx,
		    const struct rib_policy_subject *s, struct bgp_attrs *in, struct bgp_attrs **out)
{
	struct rib_policy_trace trace;
	if (rib_policy_run_cached(policy, cache, s, in, out, &trace) == RIB_REJECT)
		return false;
	return !is_guarded(ctx, s->prefix) || rib_rule_names(policy, trace.rule, s->prefix);
}

bool rib_import_keeps(enum rib_import policy, const struct rib_policy *written, const struct rib_import_context *ctx,
		      const struct prefix *p)
{
	if (policy == RIB_IMPORT_WRITTEN)
		return !is_guarded(ctx, p) || rib_policy_names(written, p);
	return rib_import_accepts(policy, ctx, p);
}

bool rib_import_may_discard(const struct rib_import_context *ctx, const struct prefix *p)
{
	return p->len == 128 && prefix_in_any(p, ctx->cluster, ctx->cluster_count) && !is_guarded(ctx, p);
}

const char *rib_export_refusal(enum rib_export policy, enum rib_audience to, const struct rib_path *p)
{
	if (policy == RIB_EXPORT_NONE)
		return "export is none";
	if (!p)
		return "there is no path to tell";
	/* what is said here for the first time may well carry no-export: it is meant for those that are told */
	if (rib_path_source(p)->kind != RIB_SOURCE_BGP)
		return NULL;
	if (policy == RIB_EXPORT_PODS)
		return "export is pods: our own pod CIDRs and external routes only";
	if (rib_path_attrs(p)->no_advertise)
		return "the route says no-advertise";
	if (to == RIB_TO_EXTERNAL) /* RFC 1997: NO_EXPORT stays inside */
		return rib_path_attrs(p)->no_export ? "the route says no-export, and the peer is external" : NULL;
	/* RFC 4271 section 9.2: what came from inside is not told inside, but to and from clients: RFC 4456 section 6 */
	if (!rib_path_source(p)->ibgp || rib_path_source(p)->client || to == RIB_TO_CLIENT)
		return NULL;
	return "an internal route, and the peer is internal: that takes a route reflector";
}

bool rib_export_accepts(enum rib_export policy, enum rib_audience to, const struct rib_path *p)
{
	return !rib_export_refusal(policy, to, p);
}

const char *rib_import_name(enum rib_import policy)
{
	static const char *const names[] = {
		[RIB_IMPORT_CLUSTER] = "cluster",
		[RIB_IMPORT_ALL] = "all",
		[RIB_IMPORT_NONE] = "none",
		[RIB_IMPORT_WRITTEN] = "written"};
	return names[policy];
}

const char *rib_export_name(enum rib_export policy)
{
	static const char *const names[] = {
		[RIB_EXPORT_PODS] = "pods",
		[RIB_EXPORT_ALL] = "all",
		[RIB_EXPORT_NONE] = "none",
		[RIB_EXPORT_WRITTEN] = "written"};
	return names[policy];
}
