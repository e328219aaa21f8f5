#include "src/base/hash.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t odd[2] = {0x9e3779b97f4a7c15u, 0xd6e8feb86659fd93u};
uint64_t hash_secret[2] = {0x9e3779b97f4a7c15u, 0xd6e8feb86659fd93u};

void hash_set_secret(uint64_t seed)
{
	hash_secret[0] = odd[0] ^ seed;
	hash_secret[1] = odd[1] ^ seed * odd[0];
}

uint64_t hash_bytes(const void *data, size_t len, uint64_t seed)
{
	const uint8_t *p = data;
	uint64_t h = seed ^ len;
	for (; len >= 16; p += 16, len -= 16) {
		uint64_t a, b;
		memcpy(&a, p, 8);
		memcpy(&b, p + 8, 8);
		h = hash_mix(a ^ h, b);
	}
	uint64_t a = 0, b = 0;
	if (len > 8) {
		memcpy(&a, p, 8);
		memcpy(&b, p + 8, len - 8);
	} else if (len) {
		memcpy(&a, p, len);
	}
	return hash_mix(a ^ h, b ^ (h >> 32));
}

void hash_table_init(struct hash_table *t)
{
	memset(t, 0, sizeof *t);
}

void hash_table_fini(struct hash_table *t)
{
	free(t->buckets);
	hash_table_init(t);
}

static void grow(struct hash_table *t)
{
	size_t size = t->buckets ? (t->mask + 1) * 2 : 16;
	struct hash_node **fresh = calloc(size, sizeof(*fresh));
	if (!fresh)
		return;
	for (size_t i = 0; t->buckets && i <= t->mask; i++) {
		struct hash_node *n = t->buckets[i], *next;
		for (; n; n = next) {
			next = n->next;
			n->next = fresh[n->hash & (size - 1)];
			fresh[n->hash & (size - 1)] = n;
		}
	}
	free(t->buckets);
	t->buckets = fresh;
	t->mask = size - 1;
}

void hash_table_insert(struct hash_table *t, struct hash_node *n, uint64_t hash)
{
	if (!t->buckets || t->count > t->mask)
		grow(t);
	if (!t->buckets)
		abort(); /* not one bucket: out of memory at start */
	n->hash = hash;
	n->next = t->buckets[hash & t->mask];
	t->buckets[hash & t->mask] = n;
	t->count++;
}

void hash_table_remove(struct hash_table *t, struct hash_node *n)
{
	struct hash_node **p = &t->buckets[n->hash & t->mask];
	while (*p != n)
		p = &(*p)->next;
	*p = n->next;
	t->count--;
}

static struct hash_node *match(struct hash_node *n, uint64_t hash)
{
	while (n && n->hash != hash)
		n = n->next;
	return n;
}

struct hash_node *hash_first(const struct hash_table *t, uint64_t hash)
{
	return t->buckets ? match(t->buckets[hash & t->mask], hash) : NULL;
}

struct hash_node *hash_next(const struct hash_node *n)
{
	return match(n->next, n->hash);
}

struct hash_node *hash_table_each(const struct hash_table *t, const struct hash_node *n)
{
	if (n && n->next)
		return n->next;
	for (size_t i = n ? (n->hash & t->mask) + 1 : 0; t->buckets && i <= t->mask; i++)
		if (t->buckets[i])
			return t->buckets[i];
	return NULL;
}
