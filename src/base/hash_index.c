#include "src/base/hash_index.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BUCKETS = 256, AHEAD = 8 };

void hash_index_init(struct hash_index *x, const void *owner, uint64_t (*hash)(const void *, uint32_t),
		     uint32_t *(*link)(const void *, uint32_t))
{
	*x = (struct hash_index){
		.mask = FIRST_BUCKETS - 1, .cap = FIRST_BUCKETS, .hash = hash, .link = link, .owner = owner};
	x->buckets = calloc(x->cap, sizeof *x->buckets);
	if (!x->buckets)
		abort(); /* not one bucket: out of memory at start */
}

void hash_index_fini(struct hash_index *x)
{
	free(x->buckets);
	memset(x, 0, sizeof *x);
}

/* A round of parting doubles the table; the memory for it comes at the beginning, and is touched as it is needed. */
static bool begin_round(struct hash_index *x)
{
	if (x->cap > UINT32_MAX / 2)
		return false;
	uint32_t *buckets = realloc(x->buckets, (size_t)x->cap * 2 * sizeof *buckets);
	if (!buckets)
		return false;
	x->buckets = buckets;
	x->cap *= 2;
	return true;
}

static uint32_t *first_link(const struct hash_index *x, uint32_t bucket)
{
	return bucket <= x->mask && x->buckets[bucket] ? x->link(x->owner, x->buckets[bucket]) : NULL;
}

/* Most items are in no cache: ask for them some turns before they are needed, for the second of a chain when the first is there. */
static void fetch_soon(const struct hash_index *x, uint32_t bucket)
{
	const uint32_t *near = first_link(x, bucket + AHEAD), *far = first_link(x, bucket + 2 * AHEAD);
	if (far)
		__builtin_prefetch(far);
	if (near && *near)
		__builtin_prefetch(x->link(x->owner, *near));
}

/* The next bucket's items go to it and to its new half. */
static void part(struct hash_index *x)
{
	uint32_t low = x->parted, half = x->mask + 1, next;
	uint32_t at = x->buckets[low];
	fetch_soon(x, low);
	if (x->cap == half && !begin_round(x))
		return;
	x->buckets[low] = x->buckets[low + half] = 0;
	for (; at; at = next) {
		uint32_t *link = x->link(x->owner, at), *to = &x->buckets[low + ((uint32_t)x->hash(x->owner, at) & half)];
		next = *link;
		*link = *to;
		*to = at;
	}
	if (++x->parted == half) {
		x->mask = half * 2 - 1;
		x->parted = 0;
	}
}

void hash_index_insert(struct hash_index *x, uint32_t at, uint64_t hash)
{
	if (++x->count > x->mask + x->parted)
		part(x);
	uint32_t *chain = hash_index_chain(x, hash);
	*x->link(x->owner, at) = *chain;
	*chain = at;
}

void hash_index_remove(struct hash_index *x, uint32_t at)
{
	uint32_t *p = hash_index_chain(x, x->hash(x->owner, at));
	while (*p != at)
		p = x->link(x->owner, *p);
	*p = *x->link(x->owner, at);
	x->count--;
}
