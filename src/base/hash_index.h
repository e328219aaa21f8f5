/* A hash table of positions (src/base/pool.h): 4 bytes a bucket and 4 in each item, which holds the position of the next one in
 * its chain. It grows by a bucket for each item that comes (linear hashing): the bucket whose turn it is is parted in two. So
 * nothing is ever rebuilt in one go, and growing needs no second table.
 *
 * The table owns the buckets alone, and asks the user for an item's hash and link. Growing fails silently to longer chains.
 */
#pragma once
#include <stdint.h>

struct hash_index {
	uint32_t *buckets;      /* positions, 0: none */
	uint32_t mask, parted;  /* of mask + 1 buckets so many are parted: the other half is behind the mask + 1 */
	uint32_t cap, count;
	uint64_t (*hash)(const void *owner, uint32_t at);
	uint32_t *(*link)(const void *owner, uint32_t at);
	const void *owner;
};

/* The functions get owner, which is borrowed. */
void hash_index_init(struct hash_index *x, const void *owner, uint64_t (*hash)(const void *, uint32_t),
		     uint32_t *(*link)(const void *, uint32_t));
void hash_index_fini(struct hash_index *x);
/* Where the chain begins in which an item with this hash is, if it is there. */
static inline uint32_t *hash_index_chain(const struct hash_index *x, uint64_t hash)
{
	uint32_t bucket = (uint32_t)hash & x->mask;
	return &x->buckets[bucket < x->parted ? (uint32_t)hash & (x->mask * 2 + 1) : bucket];
}
void hash_index_insert(struct hash_index *x, uint32_t at, uint64_t hash);
void hash_index_remove(struct hash_index *x, uint32_t at); /* it must be there */
