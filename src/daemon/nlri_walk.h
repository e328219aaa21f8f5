/* The prefixes of an UPDATE one after the other, read some ahead so that the table can have their memory fetched:
 * rib_expect(). Everything is borrowed.
 */
#pragma once
#include "bgp/update.h"
#include "rib/table.h"

struct nlri_walk {
	const struct rib *rib;
	struct bgp_nlri nlri;
	struct prefix ahead[RIB_EXPECT_MAX];
	uint32_t path_ids[RIB_EXPECT_MAX];
	size_t count, done;
	unsigned skipped; /* prefixes that may not be routed */
};

static inline void nlri_walk_init(struct nlri_walk *w, const struct rib *rib, struct bgp_nlri nlri)
{
	w->rib = rib;
	w->nlri = nlri;
	w->count = w->done = w->skipped = 0;
}

/* The next one, which stands until the call after this; NULL: it was the last. */
static inline const struct prefix *nlri_walk_next(struct nlri_walk *w, uint32_t *path_id)
{
	if (w->done == w->count) {
		w->done = w->count = 0;
		while (w->count < RIB_EXPECT_MAX && bgp_nlri_next(&w->nlri, &w->ahead[w->count], &w->skipped))
			w->path_ids[w->count++] = w->nlri.path_id;
		rib_expect(w->rib, w->ahead, w->count);
	}
	if (w->done == w->count)
		return NULL;
	*path_id = w->path_ids[w->done];
	return &w->ahead[w->done++];
}
