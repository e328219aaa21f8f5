#include "bgp/attr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bgp/attr_private.h"
#include "src/base/hash.h"
#include "src/base/live.h"

_Static_assert(offsetof(struct bgp_attrs, wire) <= 44, "there are hundreds of thousands of sets");

struct pool bgp_attr_store;
static struct bgp_attr_table *tables[BGP_ATTR_TABLES_MAX];

struct bgp_attr_table *bgp_attrs_table(const struct bgp_attrs *a)
{
	return tables[a->table];
}

/* The next hop of MP_REACH_NLRI is no part of the wire form, so it joins the key. Where NEXT_HOP is part of the
 * wire form, the key has none. */
static uint32_t key_hash(uint32_t seed, const struct addr *mp_next_hop, const uint8_t *wire, size_t len)
{
	return (uint32_t)hash_bytes(wire, len, mp_next_hop ? hash_bytes(mp_next_hop, sizeof *mp_next_hop, seed) : seed);
}

/* What of the key is in no bytes. */
static uint32_t key_seed(uint8_t context, uint16_t weight)
{
	return context | (uint32_t)weight << 8;
}

/* NULL: its next hop does not come from MP_REACH_NLRI. */
static const struct addr *mp_next_hop_of(const struct bgp_attrs *a)
{
	return a->context & BGP_ATTR_MP_NEXT_HOP ? (const struct addr *)(a->wire + a->wire_len) : NULL;
}

static uint64_t hash_of(const void *owner, uint32_t at)
{
	(void)owner;
	return bgp_attrs_at(at)->hash;
}

static uint32_t *link_of(const void *owner, uint32_t at)
{
	(void)owner;
	return &bgp_attrs_at(at)->hash_next;
}

void bgp_attr_table_init(struct bgp_attr_table *t)
{
	uint8_t n = 0;
	while (n < BGP_ATTR_TABLES_MAX && tables[n] && tables[n] != t)
		n++;
	if (n == BGP_ATTR_TABLES_MAX)
		abort(); /* a program has one, a test a few */
	tables[n] = t;
	t->number = n;
	hash_index_init(&t->sets, NULL, hash_of, link_of);
}

void bgp_attr_table_fini(struct bgp_attr_table *t)
{
	bool last = true;
	hash_index_fini(&t->sets);
	tables[t->number] = NULL;
	for (size_t i = 0; i < BGP_ATTR_TABLES_MAX; i++)
		last &= !tables[i];
	if (last)
		pool_fini(&bgp_attr_store);
}

static struct bgp_attrs *lookup(struct bgp_attr_table *t, uint32_t hash, uint32_t seed, const struct addr *mp_next_hop,
				const uint8_t *wire, size_t len)
{
	struct bgp_attrs *a;
	for (uint32_t at = *hash_index_chain(&t->sets, hash); at; at = a->hash_next) {
		a = bgp_attrs_at(at);
		if (a->hash == hash && key_seed(a->context, a->weight) == seed && a->wire_len == len &&
		    memcmp(a->wire, wire, len) == 0 && (!mp_next_hop || addr_eq(mp_next_hop, mp_next_hop_of(a))))
			return bgp_attrs_ref(a);
	}
	return NULL;
}

struct bgp_attrs *bgp_attrs_lookup(struct bgp_attr_table *t, uint8_t context, const struct addr *mp_next_hop,
				   const uint8_t *wire, size_t len)
{
	if (mp_next_hop)
		context |= BGP_ATTR_MP_NEXT_HOP;
	uint32_t seed = key_seed(context, 0);
	return lookup(t, key_hash(seed, mp_next_hop, wire, len), seed, mp_next_hop, wire, len);
}

struct bgp_attrs *bgp_attrs_intern(struct bgp_attr_table *t, const struct bgp_attrs *like, const struct addr *mp_next_hop,
				   const uint8_t *wire, size_t len)
{
	uint32_t seed = key_seed(like->context, like->weight);
	uint32_t hash = key_hash(seed, mp_next_hop, wire, len);
	struct bgp_attrs *a = lookup(t, hash, seed, mp_next_hop, wire, len);
	if (a)
		return a;
	size_t header = offsetof(struct bgp_attrs, wire);
	uint32_t at = pool_take(&bgp_attr_store, header + len + (mp_next_hop ? sizeof *mp_next_hop : 0));
	if (!at)
		return NULL;
	a = bgp_attrs_at(at);
	memcpy(a, like, header);
	a->at = at;
	a->hash = hash;
	a->table = t->number;
	a->refs = 1;
	a->wire_len = (uint16_t)len;
	memcpy(a->wire, wire, len);
	if (mp_next_hop)
		memcpy(a->wire + len, mp_next_hop, sizeof *mp_next_hop);
	hash_index_insert(&t->sets, at, hash);
	live_add(LIVE_ATTRS);
	return a;
}

struct bgp_attrs *bgp_attrs_local(struct bgp_attr_table *t)
{
	uint8_t wire[16];
	struct writer w = writer_of(wire, sizeof wire);
	uint8_t origin = BGP_ORIGIN_IGP;
	struct bgp_attrs like = {.local_pref = BGP_DEFAULT_LOCAL_PREF, .origin = BGP_ORIGIN_IGP};
	bgp_attr_put(&w, BGP_FLAG_TRANSITIVE, BGP_ATTR_ORIGIN, &origin, 1);
	bgp_attr_put(&w, BGP_FLAG_TRANSITIVE, BGP_ATTR_AS_PATH, NULL, 0);
	like.as_path_at = (uint16_t)writer_len(&w);
	return bgp_attrs_intern(t, &like, NULL, wire, writer_len(&w));
}

struct bgp_attrs *bgp_attrs_ref(struct bgp_attrs *a)
{
	a->refs++;
	return a;
}

void bgp_attrs_unref(struct bgp_attrs *a)
{
	if (!a || --a->refs)
		return;
	hash_index_remove(&bgp_attrs_table(a)->sets, a->at);
	pool_give(&bgp_attr_store, a->at);
	live_drop(LIVE_ATTRS);
}

bool bgp_attr_next(struct cursor *block, struct bgp_attr_item *out)
{
	if (!cursor_left(block) || !cursor_ok(block))
		return false;
	out->flags = cursor_u8(block);
	out->code = cursor_u8(block);
	size_t len = out->flags & BGP_FLAG_EXTENDED ? cursor_u16(block) : cursor_u8(block);
	out->value = cursor_sub(block, len);
	return cursor_ok(block);
}

void bgp_attr_put(struct writer *w, uint8_t flags, uint8_t code, const void *value, size_t len)
{
	flags &= (uint8_t)~BGP_FLAG_EXTENDED;
	writer_u8(w, len > 255 ? flags | BGP_FLAG_EXTENDED : flags);
	writer_u8(w, code);
	if (len > 255)
		writer_u16(w, (uint16_t)len);
	else
		writer_u8(w, (uint8_t)len);
	writer_bytes(w, value, len);
}

struct addr bgp_attrs_next_hop(const struct bgp_attrs *a)
{
	if (a->context & BGP_ATTR_MP_NEXT_HOP)
		return *mp_next_hop_of(a);
	return a->next_hop_at ? addr_from_v4_bytes(a->wire + a->next_hop_at) : (struct addr){{0}};
}

bool bgp_attrs_has_next_hop(const struct bgp_attrs *a)
{
	return a->context & BGP_ATTR_MP_NEXT_HOP || a->next_hop_at;
}

/* The number that is the value of an attribute which the set has where there says so, or 0. */
static uint32_t number_in(const struct bgp_attrs *a, bool there, uint8_t code)
{
	struct cursor value = there ? bgp_attrs_value(a, code) : cursor_of(NULL, 0);
	return cursor_u32(&value);
}

uint32_t bgp_attrs_otc(const struct bgp_attrs *a)
{
	return number_in(a, a->has_otc, BGP_ATTR_OTC);
}

uint32_t bgp_attrs_originator_id(const struct bgp_attrs *a)
{
	return number_in(a, a->has_originator, BGP_ATTR_ORIGINATOR_ID);
}

static struct cursor clusters(const struct bgp_attrs *a)
{
	return a->has_clusters ? bgp_attrs_value(a, BGP_ATTR_CLUSTER_LIST) : cursor_of(NULL, 0);
}

unsigned bgp_attrs_cluster_count(const struct bgp_attrs *a)
{
	struct cursor all = clusters(a);
	return (unsigned)cursor_left(&all) / 4;
}

uint64_t bgp_attrs_link_bandwidth(const struct bgp_attrs *a)
{
	return a->has_link_bandwidth ? bgp_link_bandwidth(bgp_attrs_value(a, BGP_ATTR_EXT_COMMUNITIES)) : 0;
}

unsigned bgp_attrs_count_as(const struct bgp_attrs *a, uint32_t asn)
{
	struct cursor c = cursor_of(a->wire + a->as_path_at, a->as_path_len);
	unsigned n = 0;
	while (cursor_left(&c) && cursor_ok(&c)) {
		cursor_u8(&c);
		for (unsigned left = cursor_u8(&c); left; left--)
			n += cursor_u32(&c) == asn;
	}
	return n;
}

bool bgp_attrs_in_cluster(const struct bgp_attrs *a, uint32_t cluster_id)
{
	struct cursor c = clusters(a);
	while (cursor_left(&c) >= 4)
		if (cursor_u32(&c) == cluster_id)
			return true;
	return false;
}

static const char seg_open[] = {[BGP_SEG_SET] = '{', [BGP_SEG_CONFED_SEQUENCE] = '(', [BGP_SEG_CONFED_SET] = '['};
static const char seg_close[] = {[BGP_SEG_SET] = '}', [BGP_SEG_CONFED_SEQUENCE] = ')', [BGP_SEG_CONFED_SET] = ']'};

const char *bgp_attrs_path_text(const struct bgp_attrs *a, char *buf, size_t cap)
{
	struct cursor c = cursor_of(a->wire + a->as_path_at, a->as_path_len);
	size_t n = 0;
	buf[0] = '\0';
	while (cursor_left(&c) && cursor_ok(&c)) {
		uint8_t type = cursor_u8(&c), count = cursor_u8(&c);
		for (unsigned i = 0; i < count; i++) {
			char open[2] = {i == 0 && type <= BGP_SEG_CONFED_SET ? seg_open[type] : '\0', '\0'};
			char close[2] = {i + 1u == count && type <= BGP_SEG_CONFED_SET ? seg_close[type] : '\0', '\0'};
			int k = snprintf(buf + n, cap - n, "%s%s%u%s", n ? " " : "", open, cursor_u32(&c), close);
			if (k < 0 || (size_t)k >= cap - n) {
				snprintf(cap > 4 ? buf + (n > cap - 4 ? cap - 4 : n) : buf, cap > 4 ? 4 : cap, "...");
				return buf;
			}
			n += (size_t)k;
		}
	}
	return buf;
}

uint32_t bgp_attrs_origin_as(const struct bgp_attrs *a)
{
	size_t n = a->as_count ? 4 : 0; /* a path within a confederation is our own AS's */
	struct cursor last = cursor_of(a->wire + a->as_path_at + a->as_path_len - n, n);
	return cursor_u32(&last); /* 0 where nothing is there */
}

struct cursor bgp_attrs_value(const struct bgp_attrs *a, uint8_t code)
{
	struct cursor block = cursor_of(a->wire, a->wire_len);
	struct bgp_attr_item item;
	while (bgp_attr_next(&block, &item))
		if (item.code == code)
			return item.value;
	return cursor_of(NULL, 0);
}

bool bgp_attrs_path_matches(const struct bgp_attrs *a, const struct as_regex *r)
{
	struct cursor c = cursor_of(a->wire + a->as_path_at, a->as_path_len);
	struct as_regex_run run;
	as_regex_begin(&run, r);
	while (cursor_left(&c) && cursor_ok(&c)) {
		cursor_u8(&c);
		for (unsigned left = cursor_u8(&c); left; left--)
			as_regex_next(&run, cursor_u32(&c));
	}
	return as_regex_end(&run);
}

uint8_t bgp_attr_of_community(enum community_kind kind)
{
	static const uint8_t codes[COMMUNITY_KINDS] = {BGP_ATTR_COMMUNITIES, BGP_ATTR_EXT_COMMUNITIES, BGP_ATTR_LARGE_COMMUNITIES};
	return codes[kind];
}

static bool any_of_kind(enum community_kind kind, const struct community_match *any, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (any[i].value.kind == kind)
			return true;
	return false;
}

static bool any_matches(const struct community *c, const struct community_match *any, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (community_matches(&any[i], c))
			return true;
	return false;
}

bool bgp_attrs_has_community(const struct bgp_attrs *a, const struct community_match *any, size_t n)
{
	for (enum community_kind kind = 0; kind < COMMUNITY_KINDS; kind++) {
		if (!any_of_kind(kind, any, n))
			continue;
		struct cursor c = bgp_attrs_value(a, bgp_attr_of_community(kind));
		while (cursor_left(&c) >= community_size(kind)) {
			struct community one = community_read(kind, &c);
			if (any_matches(&one, any, n))
				return true;
		}
	}
	return false;
}

const char *bgp_attrs_communities_text(const struct bgp_attrs *a, char *buf, size_t cap)
{
	char one[COMMUNITY_TEXT_MAX];
	size_t n = 0;
	buf[0] = '\0';
	for (enum community_kind kind = 0; kind < COMMUNITY_KINDS; kind++) {
		struct cursor c = bgp_attrs_value(a, bgp_attr_of_community(kind));
		while (cursor_left(&c) >= community_size(kind)) {
			struct community next = community_read(kind, &c);
			int k = snprintf(buf + n, cap - n, "%s%s", n ? " " : "", community_format(&next, one));
			if (k < 0 || (size_t)k >= cap - n) {
				snprintf(cap > 4 ? buf + (n > cap - 4 ? cap - 4 : n) : buf, cap > 4 ? 4 : cap, "...");
				return buf;
			}
			n += (size_t)k;
		}
	}
	return buf;
}
