/* What waits to be written to a connection: a queue of references to blocks of bytes. A block is encoded
 * once and may wait in the queues of many peers (an update group's members); it goes with its last reader.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct block {
	uint32_t refs, len, cap;
	uint8_t data[];
};

struct block *block_new(uint32_t cap); /* owned reference; empty */
void block_unref(struct block *b);     /* NULL is fine */
/* Gives back what it will not fill: many small ones may wait for long. The caller's must be the only reference; the block
 * may move. */
struct block *block_fit(struct block *b);

/* A block, or what of it this queue's reader gets. */
struct outq_part {
	struct block *block;
	uint32_t from, to;
};

struct outq {
	struct outq_part *ring;
	uint32_t head, count, cap; /* cap is a power of two */
	size_t pending;            /* bytes waiting */
};

void outq_push(struct outq *q, struct block *b, uint32_t from, uint32_t to); /* takes a reference of its own */
void outq_push_copy(struct outq *q, const void *data, size_t len);
void outq_clear(struct outq *q);
/* Fills iov with what comes first; returns how many were filled. */
int outq_peek(const struct outq *q, struct iovec *iov, int max);
void outq_written(struct outq *q, size_t n);
