/* What a session may bring in and what it is told: the built-in policies (all, none, pods, and the default
 * import, which takes only prefixes of the cluster), and what holds for those that the operator wrote (rib/rules.h).
 * Own CIDRs and the default route are never accepted by a built-in policy, and by a written one only where the rule
 * that accepts names exactly that prefix. RFC 8212.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "rib/rules.h"
#include "rib/table.h"

enum rib_import { RIB_IMPORT_CLUSTER, RIB_IMPORT_ALL, RIB_IMPORT_NONE, RIB_IMPORT_WRITTEN };
enum rib_export { RIB_EXPORT_PODS, RIB_EXPORT_ALL, RIB_EXPORT_NONE, RIB_EXPORT_WRITTEN };

struct rib_import_context {
	const struct prefix *own, *cluster; /* borrowed */
	size_t own_count, cluster_count;
};

bool rib_import_accepts(enum rib_import policy, const struct rib_import_context *ctx, const struct prefix *p);
/* The same for a written policy, which may change the attributes: *out is borrowed from the cache. */
bool rib_import_run(const struct rib_policy *policy, struct rib_policy_cache *cache, const struct rib_import_context *ctx,
		    const struct rib_policy_subject *s, struct bgp_attrs *in, struct bgp_attrs **out);
/* Of what this import accepted in another context: does it stay? */
bool rib_import_keeps(enum rib_import policy, const struct rib_policy *written, const struct rib_import_context *ctx,
		      const struct prefix *p);
/* May a peer that is trusted with it have packets to this prefix discarded (RFC 7999)? One address of the cluster, and none
 * of ours. */
bool rib_import_may_discard(const struct rib_import_context *ctx, const struct prefix *p);

/* Whom a session is with: someone outside, inside, or a client of ours as a route reflector. */
enum rib_audience { RIB_TO_EXTERNAL, RIB_TO_INTERNAL, RIB_TO_CLIENT };
/* May the path (NULL: there is none) be told to such a session? RIB_EXPORT_WRITTEN: may a written policy be asked at
 * all? */
bool rib_export_accepts(enum rib_export policy, enum rib_audience to, const struct rib_path *p);
/* Why not, in a few words; NULL where it may. */
const char *rib_export_refusal(enum rib_export policy, enum rib_audience to, const struct rib_path *p);
const char *rib_import_name(enum rib_import policy);
const char *rib_export_name(enum rib_export policy);
