#include "rib/rank.h"

#include <stdlib.h>

#include "rib/decision.h"

/* The decision marks what it judges, so it gets copies. */
struct rib_ranked {
	struct rib_path copy;
	const struct rib_path *of;
};

static void make_room(struct rib_ranking *k, size_t n)
{
	if (n <= k->cap)
		return;
	k->cap = n * 2;
	k->all = realloc(k->all, k->cap * sizeof *k->all);
	k->order = realloc(k->order, k->cap * sizeof(*k->order));
	if (!k->all || !k->order)
		abort();
}

void rib_ranking_start(struct rib_ranking *k, const struct rib *r, struct rib_entry *e)
{
	k->best = rib_best(e);
	k->count = k->done = 0;
	if (!k->best || e->path_count < 2)
		return;
	make_room(k, e->path_count);
	for (const struct rib_path *p = rib_path_next(r, &e->path); p; p = rib_path_next(r, p)) {
		struct rib_ranked *one = &k->all[k->count];
		*one = (struct rib_ranked){*p, p};
		k->order[k->count++] = &one->copy;
	}
}

const struct rib_path *rib_ranking_next(struct rib_ranking *k)
{
	const struct rib_path *p = k->best;
	k->best = NULL;
	if (p || k->done == k->count)
		return p;
	struct rib_path *next = rib_decide(k->order + k->done, k->count - k->done, 1);
	k->done = next ? k->done + 1 : k->count; /* it was put first */
	if (!next)
		return NULL;
	return container_of(next, struct rib_ranked, copy)->of;
}

void rib_ranking_fini(struct rib_ranking *k)
{
	free(k->all);
	free(k->order);
	*k = (struct rib_ranking){0};
}
