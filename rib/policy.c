#include "rib/policy.h"

static bool inside(const struct prefix *p, const struct prefix *set, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (prefix_covers(&set[i], p))
			return true;
	return false;
}

bool rib_import_accepts(enum rib_import policy, const struct rib_import_context *ctx, const struct prefix *p)
{
	if (policy == RIB_IMPORT_NONE || prefix_is_default(p) || inside(p, ctx->own, ctx->own_count))
		return false;
	return policy == RIB_IMPORT_ALL || inside(p, ctx->cluster, ctx->cluster_count);
}

bool rib_export_accepts(enum rib_export policy, bool to_ibgp, const struct rib_entry *e)
{
	if (policy == RIB_EXPORT_NONE || e->path_count == 0)
		return false;
	const struct rib_path *best = &e->path;
	if (best->source->kind == RIB_SOURCE_LOCAL)
		return true;
	if (policy == RIB_EXPORT_PODS || best->attrs->no_advertise)
		return false;
	/* RFC 1997: NO_EXPORT stays inside; RFC 4271 section 9.2: what came from inside is not told inside */
	return to_ibgp ? !best->source->ibgp : !best->attrs->no_export;
}

const char *rib_import_name(enum rib_import policy)
{
	static const char *const names[] = {
		[RIB_IMPORT_CLUSTER] = "cluster", [RIB_IMPORT_ALL] = "all", [RIB_IMPORT_NONE] = "none"};
	return names[policy];
}

const char *rib_export_name(enum rib_export policy)
{
	static const char *const names[] = {
		[RIB_EXPORT_PODS] = "pods", [RIB_EXPORT_ALL] = "all", [RIB_EXPORT_NONE] = "none"};
	return names[policy];
}
