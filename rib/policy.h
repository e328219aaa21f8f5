/* What a session may bring in and what it is told: the built-in policies (all, none, pods, and the default
 * import, which takes only prefixes of the cluster). Rules written by the operator come with `policies:`.
 * Own CIDRs and the default route are never accepted by a built-in policy. RFC 8212.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "rib/table.h"

enum rib_import { RIB_IMPORT_CLUSTER, RIB_IMPORT_ALL, RIB_IMPORT_NONE };
enum rib_export { RIB_EXPORT_PODS, RIB_EXPORT_ALL, RIB_EXPORT_NONE };

struct rib_import_context {
	const struct prefix *own, *cluster; /* borrowed */
	size_t own_count, cluster_count;
};

bool rib_import_accepts(enum rib_import policy, const struct rib_import_context *ctx, const struct prefix *p);
/* May the best path of e be told to a session that is internal or not? */
bool rib_export_accepts(enum rib_export policy, bool to_ibgp, const struct rib_entry *e);
const char *rib_import_name(enum rib_import policy);
const char *rib_export_name(enum rib_export policy);
