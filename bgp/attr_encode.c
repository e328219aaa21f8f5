/* From a set to the attribute block that a session wants. */
#include <string.h>

#include "bgp/attr.h"
#include "bgp/attr_private.h"
#include "bgp/message.h"

static void put_as_path(struct writer *w, const struct bgp_attrs *a, const struct bgp_export *e, enum bgp_path_form form,
			bool *wide)
{
	uint8_t bytes[BGP_EXTENDED_MAX];
	struct writer p = writer_of(bytes, sizeof bytes);
	bgp_path_put(&p, cursor_of(a->wire + a->as_path_at, a->as_path_len), e, form, wide);
	w->failed |= !writer_ok(&p);
	if (form == BGP_PATH_PLAIN)
		bgp_attr_put(w, BGP_FLAG_TRANSITIVE, BGP_ATTR_AS_PATH, bytes, writer_len(&p));
	else
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
	bgp_put_as_number(&p, asn, false);
	writer_bytes(&p, value.p, 4);
	bgp_attr_put(w, flags, BGP_ATTR_AGGREGATOR, b, sizeof b);
	if (asn > 0xffff)
		bgp_attr_put(w, flags, BGP_ATTR_AS4_AGGREGATOR, whole.p, 8);
}

/* NEXT_HOP, LOCAL_PREF, the path and what a reflector adds are written by hand before the rest. */
static bool copied(const struct bgp_attr_item *item, const struct bgp_export *e, bool own_next_hop)
{
	switch (item->code) {
	case BGP_ATTR_COMMUNITIES:
		return !e->draining;
	case BGP_ATTR_ORIGIN:
	case BGP_ATTR_AS_PATH:
	case BGP_ATTR_NEXT_HOP:
	case BGP_ATTR_LOCAL_PREF:
		return false;
	case BGP_ATTR_MED: /* not to be passed on to another AS, unless it is meant for it: RFC 4271 section 5.1.4 */
		return e->ibgp || e->keep_med;
	case BGP_ATTR_ORIGINATOR_ID:
	case BGP_ATTR_CLUSTER_LIST:
		return e->ibgp && !e->originator;
	case BGP_ATTR_PREFIX_SID: /* outside is another SR domain: RFC 8669 section 3 */
		return e->ibgp;
	case BGP_ATTR_AIGP: /* off on external sessions; and it tells the cost to the next hop as learned: RFC 7311 section 3.4 */
		return e->ibgp && !own_next_hop;
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

/* Ours to external peers, to internal ones where that is wanted, and for our own routes; otherwise the next hop as learned.
 * True: it is ours. */
static bool choose_next_hop(const struct bgp_attrs *a, const struct bgp_export *e, enum bgp_family family,
			    struct bgp_words *words)
{
	bool ours = !e->keep_next_hop && (!e->ibgp || e->own_next_hop);
	const struct addr learned = bgp_attrs_next_hop(a);
	bool self = ours || !can_be_told(&learned, e, family);
	words->next_hop = self ? e->next_hop_self[family] : learned;
	words->link_local = self ? e->link_local_self : (struct addr){{0}};
	return self;
}

/* The communities with GRACEFUL_SHUTDOWN in front. */
static void put_draining(struct writer *w, const struct bgp_attrs *a)
{
	enum { GRACEFUL_SHUTDOWN = 0xffff0000 };
	uint8_t bytes[BGP_EXTENDED_MAX];
	struct writer list = writer_of(bytes, sizeof bytes);
	struct cursor was = bgp_attrs_value(a, BGP_ATTR_COMMUNITIES);
	if (!a->graceful_shutdown)
		writer_u32(&list, GRACEFUL_SHUTDOWN);
	writer_bytes(&list, was.p, cursor_left(&was));
	w->failed |= !writer_ok(&list);
	bgp_attr_put(w, BGP_FLAG_OPTIONAL | BGP_FLAG_TRANSITIVE, BGP_ATTR_COMMUNITIES, bytes, writer_len(&list));
}

/* What a reflector adds, RFC 4456 section 8: who brought the route into the AS, and that it came by us. */
static void put_reflected(struct writer *w, const struct bgp_attrs *a, const struct bgp_export *e)
{
	uint8_t bytes[BGP_EXTENDED_MAX];
	struct writer list = writer_of(bytes, sizeof bytes);
	struct cursor was = bgp_attrs_value(a, BGP_ATTR_CLUSTER_LIST);
	writer_u32(&list, e->cluster_id);
	writer_bytes(&list, was.p, cursor_left(&was));
	w->failed |= !writer_ok(&list);
	put_u32(w, BGP_FLAG_OPTIONAL, BGP_ATTR_ORIGINATOR_ID, a->has_originator ? bgp_attrs_originator_id(a) : e->originator);
	bgp_attr_put(w, BGP_FLAG_OPTIONAL, BGP_ATTR_CLUSTER_LIST, bytes, writer_len(&list));
}

/* Everything that is not written by hand. */
static void put_others(struct writer *w, const struct bgp_attrs *a, const struct bgp_export *e, bool own_next_hop)
{
	struct cursor block = cursor_of(a->wire, a->wire_len);
	struct bgp_attr_item item;
	while (bgp_attr_next(&block, &item)) {
		if (!copied(&item, e, own_next_hop))
			continue;
		if (item.code == BGP_ATTR_AGGREGATOR && !e->as4)
			put_aggregator_as2(w, item.flags, item.value);
		else if (item.code == BGP_ATTR_EXT_COMMUNITIES && !e->ibgp)
			bgp_put_transitive_ext(w, &item);
		else
			bgp_attr_put(w, item.flags, item.code, item.value.p, cursor_left(&item.value));
	}
}

bool bgp_attrs_export(const struct bgp_attrs *a, const struct bgp_export *e, enum bgp_family family, uint8_t *out,
		      size_t cap, struct bgp_words *words)
{
	struct writer w = writer_of(out, cap);
	uint8_t origin = a->origin;
	bool wide, own_next_hop = choose_next_hop(a, e, family, words);
	bgp_attr_put(&w, BGP_FLAG_TRANSITIVE, BGP_ATTR_ORIGIN, &origin, 1);
	put_as_path(&w, a, e, BGP_PATH_PLAIN, &wide);
	if (family == BGP_IPV4_UNICAST && addr_is_v4(&words->next_hop))
		bgp_attr_put(&w, BGP_FLAG_TRANSITIVE, BGP_ATTR_NEXT_HOP, words->next_hop.b + 12, 4);
	if (e->ibgp)
		put_u32(&w, BGP_FLAG_TRANSITIVE, BGP_ATTR_LOCAL_PREF, e->draining ? 0 : a->local_pref);
	if (e->draining)
		put_draining(&w, a);
	if (e->ibgp && e->originator)
		put_reflected(&w, a, e);
	put_others(&w, a, e, own_next_hop);
	if (wide && !e->as4)
		put_as_path(&w, a, e, BGP_PATH_AS4, &wide);
	if (e->otc && !a->has_otc)
		put_u32(&w, BGP_FLAG_OPTIONAL | BGP_FLAG_TRANSITIVE, BGP_ATTR_OTC, e->otc);
	words->block = out;
	words->len = writer_len(&w);
	return writer_ok(&w);
}
