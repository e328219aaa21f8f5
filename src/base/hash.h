/* Hashing: a mixer, a hash over bytes, and an intrusive chained table. The table owns no node:
 * a node is embedded in the user's object, which carries its own hash. The table grows by
 * doubling when it is full (one node a bucket); growing fails silently to a longer chain.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* From now on all hashes are others, which nobody outside can foresee: whoever fills our tables must not be able to fill one
 * chain. Before the first hash that is kept. */
void hash_set_secret(uint64_t seed);
extern uint64_t hash_secret[2]; /* for hash_mix(), which is inline as every look-up takes it */
static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
	/* 128-bit multiply folded: every input bit reaches every output bit, unless one factor is 0 */
	unsigned __int128 m = (unsigned __int128)(a ^ hash_secret[0]) * (b ^ hash_secret[1]);
	return (uint64_t)m ^ (uint64_t)(m >> 64);
}
uint64_t hash_bytes(const void *data, size_t len, uint64_t seed);

struct hash_node {
	struct hash_node *next;
	uint64_t hash;
};

struct hash_table {
	struct hash_node **buckets;
	size_t mask, count;
};

void hash_table_init(struct hash_table *t);
void hash_table_fini(struct hash_table *t); /* the nodes stay the caller's */
void hash_table_insert(struct hash_table *t, struct hash_node *n, uint64_t hash);
void hash_table_remove(struct hash_table *t, struct hash_node *n);
/* The chain to search for hash; follow with hash_next(). NULL where there is none. */
struct hash_node *hash_first(const struct hash_table *t, uint64_t hash);
struct hash_node *hash_next(const struct hash_node *n); /* next with the same hash */
/* Every node once: start with n = NULL. The node last returned may be removed and freed only
 * after the following one was asked for. */
struct hash_node *hash_table_each(const struct hash_table *t, const struct hash_node *n);
