/* The paths of an entry in the order of the decision: the best one, the one that would be best without it, and so on,
 * which does not depend on their order of arrival. For sessions that are told several (RFC 7911). Pure.
 *
 * A ranking is worked out as far as it is asked for. It keeps its memory between entries and owns nothing else; it must
 * not outlive a change of the entry.
 */
#pragma once
#include <stddef.h>

#include "rib/table.h"

struct rib_ranked;

struct rib_ranking {
	const struct rib_path *best; /* not given out yet */
	struct rib_ranked *all;      /* the others, and in what order they are */
	struct rib_path **order;
	size_t cap, count, done;
};

void rib_ranking_start(struct rib_ranking *k, const struct rib *r, struct rib_entry *e);
/* NULL at the end: paths that cannot be used have no place. */
const struct rib_path *rib_ranking_next(struct rib_ranking *k);
void rib_ranking_fini(struct rib_ranking *k);
