/* Addresses and prefixes. One 16-byte type serves both families: IPv4 is kept IPv4-mapped
 * (::ffff:a.b.c.d), and the length of an IPv4 prefix counts from the mapped start, so that
 * 10.0.0.0/8 has len 104. Nothing here allocates. RFC 4291, RFC 4632.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "src/base/hash.h"

enum { ADDR_V4_BITS = 96, ADDR_TEXT_MAX = 46, PREFIX_TEXT_MAX = 50 };

struct addr {
	uint8_t b[16];
};

struct prefix {
	struct addr addr; /* host bits are zero */
	uint8_t len;      /* bits, 0..128; IPv4: 96..128 */
};

/* These four are asked several times for each route, so they are inline. */
static inline bool addr_is_v4(const struct addr *a)
{
	static const uint8_t start[12] = {[10] = 0xff, [11] = 0xff};
	return memcmp(a->b, start, 8) == 0 && memcmp(a->b + 8, start + 8, 4) == 0; /* in parts that are words to the compiler */
}
static inline bool addr_eq(const struct addr *a, const struct addr *b)
{
	return memcmp(a->b, b->b, sizeof a->b) == 0;
}
static inline bool prefix_is_v4(const struct prefix *p)
{
	return p->len >= ADDR_V4_BITS && addr_is_v4(&p->addr);
}
static inline bool prefix_eq(const struct prefix *a, const struct prefix *b)
{
	return a->len == b->len && addr_eq(&a->addr, &b->addr);
}

struct addr addr_from_v4(uint32_t host_order);
struct addr addr_from_v4_bytes(const uint8_t b[4]);
uint32_t addr_to_v4(const struct addr *a); /* host order; only where addr_is_v4() */
bool addr_is_zero(const struct addr *a); /* 0.0.0.0 or :: */
/* May a unicast packet be sent to it: not zero, loopback, multicast or class E. */
bool addr_is_unicast(const struct addr *a);
bool addr_is_link_local(const struct addr *a);
int addr_cmp(const struct addr *a, const struct addr *b);
/* False where text is not one address; *out is then untouched. */
bool addr_parse(const char *text, struct addr *out);
/* Writes the canonical text into buf and returns buf. */
const char *addr_format(const struct addr *a, char buf[ADDR_TEXT_MAX]);
/* The address offset places after a (carries through all 16 bytes). */
struct addr addr_add(const struct addr *a, uint64_t offset);

enum prefix_parse {
	PREFIX_OK,
	PREFIX_BAD_TEXT,  /* not ADDRESS/LENGTH */
	PREFIX_HOST_BITS, /* well formed, but bits beyond the length are set; *out is masked */
};
/* Without "/LENGTH" a single address is a host prefix. */
enum prefix_parse prefix_parse(const char *text, struct prefix *out);
const char *prefix_format(const struct prefix *p, char buf[PREFIX_TEXT_MAX]);
struct prefix prefix_make(const struct addr *a, unsigned len); /* masks host bits; len as above */
struct prefix prefix_make_v4(uint32_t host_order, unsigned plen);
bool prefix_is_default(const struct prefix *p); /* 0.0.0.0/0 or ::/0 */
unsigned prefix_plen(const struct prefix *p);   /* as written: 0..32 or 0..128 */
int prefix_cmp(const struct prefix *a, const struct prefix *b); /* by address, then shorter first */
bool prefix_has_addr(const struct prefix *p, const struct addr *a);
bool prefix_covers(const struct prefix *outer, const struct prefix *inner);
bool prefix_in_any(const struct prefix *p, const struct prefix *set, size_t n); /* one of set covers p */
bool prefix_overlaps(const struct prefix *a, const struct prefix *b);
static inline uint64_t prefix_hash(const struct prefix *p)
{
	uint64_t hi, lo;
	memcpy(&hi, p->addr.b, 8);
	memcpy(&lo, p->addr.b + 8, 8);
	return hash_mix(hi ^ p->len, lo);
}
