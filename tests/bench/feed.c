#include "tests/bench/feed.h"

#include <stdlib.h>
#include <string.h>

#include "bgp/message.h"
#include "bgp/update.h"
#include "src/base/cursor.h"
#include "src/base/random.h"

enum { FIRST_V4 = 0x14000000, BLOCK_MAX = 512, SPARE = 65536 };

const struct feed_mix feed_mixes[FEED_MIXES] = {
	{"full", 5, 6, 4, true},
	{"pods", 2, 2, 1, false},
};

const struct feed_mix *feed_mix_find(const char *name)
{
	for (size_t i = 0; i < FEED_MIXES; i++)
		if (strcmp(feed_mixes[i].name, name) == 0)
			return &feed_mixes[i];
	return NULL;
}

struct prefix feed_prefix(enum bgp_family family, uint32_t number)
{
	struct addr a = {{0x20, 0x01, [2] = (uint8_t)(number >> 24), (uint8_t)(number >> 16), (uint8_t)(number >> 8),
			  (uint8_t)number}};
	if (family == BGP_IPV6_UNICAST)
		return prefix_make(&a, 48);
	a = addr_from_v4(FIRST_V4 + (number << 8));
	return prefix_make(&a, 96 + 24);
}

uint32_t feed_number(const struct prefix *p)
{
	const uint8_t *b = p->addr.b;
	if (!prefix_is_v4(p))
		return (uint32_t)b[2] << 24 | (uint32_t)b[3] << 16 | (uint32_t)b[4] << 8 | b[5];
	return (((uint32_t)b[12] << 24 | (uint32_t)b[13] << 16 | (uint32_t)b[14] << 8) - FIRST_V4) >> 8;
}

static void put_attr(struct writer *w, uint8_t flags, uint8_t code, const void *value, size_t len)
{
	writer_u8(w, flags);
	writer_u8(w, code);
	writer_u8(w, (uint8_t)len);
	writer_bytes(w, value, len);
}

static void put_path(struct writer *w, const struct feed_params *p, uint32_t last, struct random *r)
{
	uint8_t value[64];
	struct writer v = writer_of(value, sizeof value);
	unsigned most = p->mix->path_max, count = most > 2 ? 2 + (unsigned)(random_next(r) % (most - 1)) : 2;
	writer_u8(&v, 2);
	writer_u8(&v, (uint8_t)count);
	writer_u32(&v, p->asn);
	for (unsigned i = 2; i < count; i++)
		writer_u32(&v, 1 + random_next(r) % 60000);
	writer_u32(&v, last);
	put_attr(w, 0x40, 2, value, writer_len(&v));
}

static void put_communities(struct writer *w, const struct feed_params *p, struct random *r)
{
	uint8_t value[64];
	struct writer v = writer_of(value, sizeof value);
	for (unsigned n = 1 + random_next(r) % p->mix->communities_max; n; n--)
		writer_u32(&v, (p->asn & 0xffff) << 16 | random_next(r) % 1000);
	put_attr(w, 0xc0, 8, value, writer_len(&v));
}

/* The set's last AS makes it different from all others. */
static void put_words(struct writer *w, const struct feed_params *p, uint32_t last, struct random *r)
{
	put_attr(w, 0x40, 1, "", 1);
	put_path(w, p, last, r);
	if (p->family == BGP_IPV4_UNICAST)
		put_attr(w, 0x40, 3, p->next_hop.b + 12, 4);
	if (p->mix->med)
		put_attr(w, 0x80, 4, p->next_hop.b + 12, 4);
	put_communities(w, p, r);
}

static size_t announce(uint8_t *out, size_t cap, const struct feed_params *p, const struct prefix *at, size_t n, uint32_t last,
		       struct random *r)
{
	uint8_t block[BLOCK_MAX];
	struct writer w = writer_of(block, sizeof block);
	size_t used;
	put_words(&w, p, last, r);
	struct bgp_words words = {.block = block, .len = writer_len(&w), .next_hop = p->next_hop};
	return bgp_update_encode_announce(out, cap, &words, &(struct bgp_routes){p->family, n, at, NULL}, &used);
}

struct feed feed_make(const struct feed_params *p)
{
	size_t cap = p->prefixes / p->mix->prefixes_a_set * 256 + SPARE;
	struct feed f = {.bytes = malloc(cap)};
	struct prefix at[FEED_PREFIXES_A_SET_MAX];
	struct random r = {.state = p->seed};
	while (f.bytes && f.prefixes < p->prefixes) {
		size_t n = 0;
		for (; n < p->mix->prefixes_a_set && f.prefixes + n < p->prefixes; n++)
			at[n] = feed_prefix(p->family, (uint32_t)(f.prefixes + n));
		f.len += announce(f.bytes + f.len, cap - f.len, p, at, n, 100000 + (uint32_t)f.updates, &r);
		f.prefixes += n;
		f.updates++;
	}
	return f;
}

struct feed feed_make_withdrawals(const struct feed_params *p)
{
	enum { AT_ONCE = 500 };
	size_t cap = p->prefixes * 8 + SPARE, used;
	struct feed f = {.bytes = malloc(cap)};
	struct prefix at[AT_ONCE];
	while (f.bytes && f.prefixes < p->prefixes) {
		size_t n = 0;
		for (; n < AT_ONCE && f.prefixes + n < p->prefixes; n++)
			at[n] = feed_prefix(p->family, (uint32_t)(f.prefixes + n));
		f.len += bgp_update_encode_withdraw(f.bytes + f.len, BGP_MESSAGE_MAX,
						    &(struct bgp_routes){p->family, n, at, NULL}, &used);
		f.prefixes += used;
		f.updates++;
	}
	return f;
}

size_t feed_make_one(const struct feed_params *p, uint32_t number, uint32_t version, uint8_t *out, size_t cap)
{
	struct prefix prefix = feed_prefix(p->family, number);
	struct random r = {.state = number};
	return announce(out, cap, p, &prefix, 1, 100000 + version, &r);
}
