#include "src/base/pool.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	SLOTS = 1 << POOL_SLOT_BITS,
	CHUNK_BYTES = 65536 - 32,    /* what malloc() adds still fits whole pages */
	IDLE_MAX = 4 * 1024 * 1024,  /* empty chunks are kept up to here */
	CHUNKS_MAX = 1 << (32 - POOL_SLOT_BITS),
};

static uint32_t *class_of(struct pool *p, const struct pool_chunk *c)
{
	return &p->roomy[c->size <= POOL_SHARED_MAX ? c->size / POOL_ALIGN : 0]; /* 0: of large ones, which never have room */
}

static void link_roomy(struct pool *p, uint32_t number)
{
	struct pool_chunk *c = &p->chunks[number];
	uint32_t *first = class_of(p, c);
	c->roomy_next = *first;
	c->roomy_before = 0;
	if (*first)
		p->chunks[*first - 1].roomy_before = number + 1;
	*first = number + 1;
}

static void unlink_roomy(struct pool *p, uint32_t number)
{
	struct pool_chunk *c = &p->chunks[number];
	if (c->roomy_next)
		p->chunks[c->roomy_next - 1].roomy_before = c->roomy_before;
	*(c->roomy_before ? &p->chunks[c->roomy_before - 1].roomy_next : class_of(p, c)) = c->roomy_next;
}

/* 1 + a number for a new chunk; 0: there is no memory, or there are too many. */
static uint32_t new_number(struct pool *p)
{
	uint32_t number = p->free_numbers;
	if (number) {
		p->free_numbers = p->chunks[number - 1].roomy_next;
		return number;
	}
	if (p->chunk_count == p->chunk_cap) {
		uint32_t cap = p->chunk_cap ? p->chunk_cap * 2 : 16;
		struct pool_chunk *chunks = cap <= CHUNKS_MAX ? realloc(p->chunks, cap * sizeof *chunks) : NULL;
		if (!chunks)
			return 0;
		p->chunks = chunks;
		p->chunk_cap = cap;
	}
	p->chunks[p->chunk_count] = (struct pool_chunk){0};
	return ++p->chunk_count;
}

static void free_number(struct pool *p, uint32_t number)
{
	p->chunks[number] = (struct pool_chunk){.roomy_next = p->free_numbers};
	p->free_numbers = number + 1;
}

static bool add_chunk(struct pool *p, size_t size)
{
	size_t slots = size > POOL_SHARED_MAX ? 1 : CHUNK_BYTES / size < SLOTS ? CHUNK_BYTES / size : SLOTS;
	uint32_t number = new_number(p);
	bool first = number == 1;
	if (!number--)
		return false;
	uint8_t *items = malloc(slots * size);
	if (!items) {
		free_number(p, number);
		return false;
	}
	if (first)
		memset(items, 0, size);
	/* the first chunk is never empty, as position 0 is nobody's */
	p->chunks[number] = (struct pool_chunk){
		.items = items, .size = (uint32_t)size, .slots = (uint16_t)slots, .used = first, .fresh = first};
	p->idle_bytes += first ? 0 : slots * size;
	link_roomy(p, number);
	return true;
}

static void drop_chunk(struct pool *p, uint32_t number)
{
	free(p->chunks[number].items);
	free_number(p, number);
}

uint32_t pool_take(struct pool *p, size_t size)
{
	size = (size + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN;
	if (!p->chunk_count && size > POOL_SHARED_MAX && !add_chunk(p, POOL_ALIGN))
		return 0; /* the first chunk stays, so it is not to be a large one's */
	uint32_t *roomy = &p->roomy[size <= POOL_SHARED_MAX ? size / POOL_ALIGN : 0];
	if (!*roomy && !add_chunk(p, size))
		return 0;
	uint32_t number = *roomy - 1, slot;
	struct pool_chunk *c = &p->chunks[number];
	if (c->free) {
		slot = c->free - 1u;
		memcpy(&c->free, c->items + slot * c->size, sizeof c->free);
	} else {
		slot = c->fresh++;
	}
	if (c->used++ == 0)
		p->idle_bytes -= (size_t)c->slots * c->size;
	if (c->used == c->slots)
		unlink_roomy(p, number);
	return number << POOL_SLOT_BITS | slot;
}

void pool_give(struct pool *p, uint32_t at)
{
	uint32_t number = at >> POOL_SLOT_BITS, slot = at & (SLOTS - 1);
	struct pool_chunk *c = &p->chunks[number];
	size_t bytes = (size_t)c->slots * c->size;
	bool was_full = c->used-- == c->slots, keep = c->slots > 1 && p->idle_bytes + bytes <= IDLE_MAX;
	memcpy(c->items + slot * c->size, &c->free, sizeof c->free);
	c->free = (uint16_t)(slot + 1);
	if (c->used == 0 && !keep) {
		if (!was_full)
			unlink_roomy(p, number);
		drop_chunk(p, number);
		return;
	}
	if (was_full)
		link_roomy(p, number);
	if (c->used == 0)
		p->idle_bytes += bytes;
}

void pool_fini(struct pool *p)
{
	for (uint32_t i = 0; i < p->chunk_count; i++)
		free(p->chunks[i].items);
	free(p->chunks);
	memset(p, 0, sizeof *p);
}

void *pool_look(const struct pool *p, uint32_t at)
{
	uint32_t number = at >> POOL_SLOT_BITS;
	bool made = number < p->chunk_count && p->chunks[number].items && (at & (SLOTS - 1)) < p->chunks[number].fresh;
	return made ? pool_at(p, at) : NULL;
}

uint32_t pool_next(const struct pool *p, uint32_t at)
{
	uint32_t number = at >> POOL_SLOT_BITS;
	bool inside = number < p->chunk_count && (at & (SLOTS - 1)) + 1 < p->chunks[number].fresh;
	return inside ? at + 1 : (number + 1) << POOL_SLOT_BITS;
}

uint32_t pool_limit(const struct pool *p)
{
	return p->chunk_count << POOL_SLOT_BITS;
}
