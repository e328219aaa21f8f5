/* From a set to the attribute block that a session wants. */
#include <string.h>

#include "bgp/attr.h"
#include "bgp/attr_private.h"
#include "bgp/message.h"

static void put_as_number(struct writer *w, uint32_t asn, bool as4)
{
	if (as4)
		writer_u32(w, asn);
	else
		writer_u16(w, asn > 0xffff ? BGP_AS_TRANS : (uint16_t)asn);
}

/* The segments of path after prepending own (0: nothing), in the width of the session. *wide tells whether
 * a number did not fit two bytes. */
static void put_path(struct writer *w, struct cursor path, uint32_t own, bool as4, bool *wide)
{
	bool joined = own == 0;
	*wide = own > 0xffff;
	while (cursor_left(&path) || !joined) {
		bool fresh = !cursor_left(&path); /* empty path: a segment of our own */
		uint8_t type = fresh ? BGP_SEG_SEQUENCE : cursor_u8(&path);
		unsigned count = fresh ? 0 : cursor_u8(&path);
		bool join = !joined && type == BGP_SEG_SEQUENCE && count < 255;
		if (!joined && !join) {
			writer_u8(w, BGP_SEG_SEQUENCE);
			writer_u8(w, 1);
			put_as_number(w, own, as4);
		}
		writer_u8(w, type);
		writer_u8(w, (uint8_t)(count + join));
		if (join)
			put_as_number(w, own, as4);
		joined = true;
		for (; count; count--) {
			uint32_t asn = cursor_u32(&path);
			*wide |= asn > 0xffff;
			put_as_number(w, asn, as4);
		}
	}
}

static void put_as_path(struct writer *w, const struct bgp_attrs *a, const struct bgp_export *e, bool *wide)
{
	uint8_t bytes[BGP_EXTENDED_MAX];
	struct writer p = writer_of(bytes, sizeof bytes);
	put_path(&p, cursor_of(a->wire + a->as_path_at, a->as_path_len), e->ibgp ? 0 : e->local_asn, e->as4, wide);
	w->failed |= !writer_ok(&p);
	bgp_attr_put(w, BGP_FLAG_TRANSITIVE, BGP_ATTR_AS_PATH, bytes, writer_len(&p));
}

static void put_as4_path(struct writer *w, const struct bgp_attrs *a, const struct bgp_export *e)
{
	uint8_t bytes[BGP_EXTENDED_MAX];
	struct writer p = writer_of(bytes, sizeof bytes);
	bool wide;
	put_path(&p, cursor_of(a->wire + a->as_path_at, a->as_path_len), e->ibgp ? 0 : e->local_asn, true, &wide);
	w->failed |= !writer_ok(&p);
	bgp_attr_put(w, BGP_FLAG_OPTIONAL | BGP_FLAG_TRANSITIVE, BGP_ATTR_AS4_PATH, bytes, writer_len(&p));
}

static void put_u32(struct writer *w, uint8_t flags, uint8_t code, uint32_t v)
{
	uint8_t b[4] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};
	bgp_attr_put(w, flags, code, b, sizeof b);
}

static void put_aggregator_as2(struct writer *w, uint8_t flags, struct cursor value)
{
	uint8_t b[6];
	struct writer p = writer_of(b, sizeof b);
	struct cursor whole = value;
	uint32_t asn = cursor_u32(&value);
	put_as_number(&p, asn, false);
	writer_bytes(&p, value.p, 4);
	bgp_attr_put(w, flags, BGP_ATTR_AGGREGATOR, b, sizeof b);
	if (asn > 0xffff)
		bgp_attr_put(w, flags, BGP_ATTR_AS4_AGGREGATOR, whole.p, 8);
}

/* NEXT_HOP, LOCAL_PREF and the path are written by hand before the rest. */
static bool copied(const struct bgp_attr_item *item, const struct bgp_export *e)
{
	switch (item->code) {
	case BGP_ATTR_ORIGIN:
	case BGP_ATTR_AS_PATH:
	case BGP_ATTR_NEXT_HOP:
	case BGP_ATTR_LOCAL_PREF:
		return false;
	case BGP_ATTR_MED: /* not to be passed on to another AS, unless it is meant for it: RFC 4271 section 5.1.4 */
		return e->ibgp || e->keep_med;
	case BGP_ATTR_ORIGINATOR_ID:
	case BGP_ATTR_CLUSTER_LIST:
		return e->ibgp;
	default:
		return true;
	}
}

/* Is the set's next hop one that such a session can be told? Not one on a link that the peer may not share, and not an
 * IPv6 one with IPv4 routes unless it said that it understands that. */
static bool can_be_told(const struct addr *next_hop, const struct bgp_export *e, enum bgp_family family)
{
	return !addr_is_zero(next_hop) && !addr_is_link_local(next_hop) &&
	       (family != BGP_IPV4_UNICAST || addr_is_v4(next_hop) || e->v6_next_hop);
}

/* Ours to external peers and for our own routes; an internal peer gets otherwise the next hop as learned. */
static void choose_next_hop(const struct bgp_attrs *a, const struct bgp_export *e, enum bgp_family family,
			    struct bgp_words *words)
{
	bool self = !(e->ibgp || e->keep_next_hop) || !can_be_told(&a->next_hop, e, family);
	words->next_hop = self ? e->next_hop_self[family] : a->next_hop;
	words->link_local = self ? e->link_local_self : (struct addr){{0}};
}

bool bgp_attrs_export(const struct bgp_attrs *a, const struct bgp_export *e, enum bgp_family family, uint8_t *out,
		      size_t cap, struct bgp_words *words)
{
	struct writer w = writer_of(out, cap);
	struct cursor block = cursor_of(a->wire, a->wire_len);
	struct bgp_attr_item item;
	bool wide;
	choose_next_hop(a, e, family, words);
	bgp_attr_put(&w, BGP_FLAG_TRANSITIVE, BGP_ATTR_ORIGIN, &a->origin, 1);
	put_as_path(&w, a, e, &wide);
	if (family == BGP_IPV4_UNICAST && addr_is_v4(&words->next_hop))
		bgp_attr_put(&w, BGP_FLAG_TRANSITIVE, BGP_ATTR_NEXT_HOP, words->next_hop.b + 12, 4);
	if (e->ibgp)
		put_u32(&w, BGP_FLAG_TRANSITIVE, BGP_ATTR_LOCAL_PREF, a->local_pref);
	while (bgp_attr_next(&block, &item)) {
		if (!copied(&item, e))
			continue;
		if (item.code == BGP_ATTR_AGGREGATOR && !e->as4)
			put_aggregator_as2(&w, item.flags, item.value);
		else
			bgp_attr_put(&w, item.flags, item.code, item.value.p, cursor_left(&item.value));
	}
	if (wide && !e->as4)
		put_as4_path(&w, a, e);
	if (e->otc && !a->otc)
		put_u32(&w, BGP_FLAG_OPTIONAL | BGP_FLAG_TRANSITIVE, BGP_ATTR_OTC, e->otc);
	words->block = out;
	words->len = writer_len(&w);
	return writer_ok(&w);
}
