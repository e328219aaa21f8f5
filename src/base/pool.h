/* Items in chunks of 64 KB, each known by a position of 32 bits: half a pointer, nothing in front of an item, and it never
 * moves while it lives. What there are millions of lives here: RIB entries, their further paths, attribute sets. The items of
 * one size share chunks, so a pool may hold a few sizes; large ones have a chunk each.
 *
 * A chunk that has become empty is given back, but for a few: what goes and comes again costs no allocation. Position 0 is
 * nobody's, zeroed memory that its user may keep something in once the first item was taken. The pool owns the memory; an
 * item is not initialized. Out of memory: pool_take() is 0.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { POOL_SLOT_BITS = 12, POOL_SHARED_MAX = 1024, POOL_ALIGN = 4, POOL_CLASSES = POOL_SHARED_MAX / POOL_ALIGN + 1 };

struct pool_chunk {
	uint8_t *items;        /* NULL: the number is free, and follows in roomy_next */
	uint32_t size;         /* of an item */
	uint16_t slots, used;
	uint16_t fresh;        /* slots from here on have never been used */
	uint16_t free;         /* 1 + the first of the others that are free, chained through their first bytes; 0: none */
	uint32_t roomy_next, roomy_before; /* 1 + number of the next chunk of this size with room; 0: none */
};

struct pool {
	struct pool_chunk *chunks;
	uint32_t chunk_count, chunk_cap, free_numbers; /* free_numbers: 1 + the first */
	uint32_t roomy[POOL_CLASSES];  /* 1 + the first chunk with room for items of this size / POOL_ALIGN */
	size_t idle_bytes;             /* in chunks without an item */
};

uint32_t pool_take(struct pool *p, size_t size);
void pool_give(struct pool *p, uint32_t at);
void pool_fini(struct pool *p); /* all items are gone then; it may be used anew */

static inline void *pool_at(const struct pool *p, uint32_t at)
{
	const struct pool_chunk *c = &p->chunks[at >> POOL_SLOT_BITS];
	return c->items + (size_t)(at & ((1u << POOL_SLOT_BITS) - 1)) * c->size;
}

/* For walks over all positions: NULL where there has never been an item since the chunk was made; what was given back is
 * still as its user left it, but for its first 4 bytes. */
void *pool_look(const struct pool *p, uint32_t at);
/* The next position behind at where there may be an item; positions from pool_limit() on have none. */
uint32_t pool_next(const struct pool *p, uint32_t at);
uint32_t pool_limit(const struct pool *p);
