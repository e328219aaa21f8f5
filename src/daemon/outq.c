#include "src/daemon/outq.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/live.h"

struct block *block_new(uint32_t cap)
{
	struct block *b = malloc(sizeof *b + cap);
	if (!b)
		abort();
	b->refs = 1;
	b->len = 0;
	b->cap = cap;
	live_add(LIVE_BLOCK);
	return b;
}

struct block *block_fit(struct block *b)
{
	if (b->len > b->cap / 2)
		return b; /* not worth a copy */
	struct block *fit = realloc(b, sizeof *b + b->len);
	if (!fit)
		return b;
	fit->cap = fit->len;
	return fit;
}

void block_unref(struct block *b)
{
	if (!b || --b->refs)
		return;
	free(b);
	live_drop(LIVE_BLOCK);
}

enum { RING_KEPT = 16 }; /* an empty queue's ring may stay so large */

static void grow(struct outq *q)
{
	uint32_t cap = q->cap ? q->cap * 2 : 4;
	struct outq_part *ring = malloc(cap * sizeof *ring);
	if (!ring)
		abort();
	for (uint32_t i = 0; i < q->count; i++)
		ring[i] = q->ring[(q->head + i) & (q->cap - 1)];
	free(q->ring);
	q->ring = ring;
	q->cap = cap;
	q->head = 0;
}

void outq_push(struct outq *q, struct block *b, uint32_t from, uint32_t to)
{
	if (from == to)
		return;
	if (q->count == q->cap)
		grow(q);
	b->refs++;
	q->ring[(q->head + q->count++) & (q->cap - 1)] = (struct outq_part){b, from, to};
	q->pending += to - from;
}

void outq_push_copy(struct outq *q, const void *data, size_t len)
{
	struct block *b = block_new((uint32_t)len);
	memcpy(b->data, data, len);
	b->len = (uint32_t)len;
	outq_push(q, b, 0, b->len);
	block_unref(b);
}

static void pop(struct outq *q)
{
	block_unref(q->ring[q->head].block);
	q->head = (q->head + 1) & (q->cap - 1);
	q->count--;
}

void outq_clear(struct outq *q)
{
	while (q->count)
		pop(q);
	free(q->ring);
	memset(q, 0, sizeof *q);
}

int outq_peek(const struct outq *q, struct iovec *iov, int max)
{
	int n = 0;
	for (uint32_t i = 0; i < q->count && n < max; i++) {
		const struct outq_part *part = &q->ring[(q->head + i) & (q->cap - 1)];
		iov[n++] = (struct iovec){part->block->data + part->from, part->to - part->from};
	}
	return n;
}

void outq_written(struct outq *q, size_t n)
{
	q->pending -= n;
	while (n) {
		struct outq_part *first = &q->ring[q->head];
		size_t left = first->to - first->from;
		if (n < left) {
			first->from += (uint32_t)n;
			return;
		}
		n -= left;
		pop(q);
	}
	if (!q->count && q->cap > RING_KEPT)
		outq_clear(q);
}
