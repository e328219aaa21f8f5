/* From the wire to a set. One row an attribute says its name, its flags, what to do when it is wrong,
 * and how to read it; bgp_attrs_decode() walks the block, looks each one up and lets the row judge.
 */
#include <string.h>

#include "bgp/attr.h"
#include "bgp/attr_private.h"
#include "bgp/attr_tlv.h"
#include "bgp/message.h"

enum { CANONICAL_MAX = BGP_EXTENDED_MAX }; /* a set's lengths are of 16 bits, and 2-byte paths double */

struct decoder {
	unsigned context;
	struct bgp_attr_block *out;
	uint8_t seen[32];
	bool has_origin, has_as_path, has_next_hop, has_aggregator;
	uint8_t aggregator_flags;
	enum bgp_reaction wrong;      /* of the attribute at hand; its reader may ask for more than its row says */
	struct cursor as4_path, as4_aggregator; /* kept for the merge at the end, RFC 6793 section 4.2.3 */
	struct cursor as_path, aggregator;      /* their 2-byte forms */
	struct writer canonical;
	uint8_t bytes[CANONICAL_MAX];
	struct bgp_attrs set; /* the fields found so far; its wire is bytes */
};

enum {
	DROP = 1,   /* no part of the canonical form */
	GENTLE = 2, /* wrong flags do not withdraw either: its own RFC says that it is never more than discarded */
	INSIDE = 4, /* from external peers not wrong but out of place: dropped whatever it holds */
};

struct row {
	const char *name;
	uint8_t flags;                /* optional and transitive bits as they must be */
	enum bgp_reaction wrong;      /* for wrong length or value */
	uint8_t how;
	uint8_t subcode;
	bool (*read)(struct decoder *, struct cursor *value); /* false: wrong */
};

static bool read_origin(struct decoder *d, struct cursor *v)
{
	uint8_t origin = cursor_u8(v);
	d->set.origin = origin & 3u;
	d->has_origin = true;
	return cursor_ok(v) && !cursor_left(v) && origin <= BGP_ORIGIN_INCOMPLETE;
}

/* Well-formed segments of AS numbers of width bytes: no empty segment, no AS 0 (RFC 7607), no set (RFC 9774). We are no
 * member of a confederation ourselves, so a path that shows one from within comes from inside our AS, if at all (RFC 5065
 * section 5). */
static bool path_is_good(struct cursor path, unsigned width, bool inside)
{
	while (cursor_left(&path)) {
		uint8_t type = cursor_u8(&path), count = cursor_u8(&path);
		bool known = type == BGP_SEG_SEQUENCE || (type == BGP_SEG_CONFED_SEQUENCE && inside);
		if (!known || count == 0)
			return false;
		for (unsigned i = 0; i < count; i++)
			if ((width == 4 ? cursor_u32(&path) : cursor_u16(&path)) == 0)
				return false; /* also where the bytes are not there */
	}
	return cursor_ok(&path);
}

static bool read_as_path(struct decoder *d, struct cursor *v)
{
	unsigned width = d->context & BGP_ATTR_AS2 ? 2 : 4;
	d->has_as_path = true;
	d->as_path = *v;
	return path_is_good(*v, width, d->context & BGP_ATTR_IBGP);
}

static bool read_next_hop(struct decoder *d, struct cursor *v)
{
	const uint8_t *b = cursor_bytes(v, 4);
	if (!b || cursor_left(v))
		return false;
	const struct addr next_hop = addr_from_v4_bytes(b);
	d->has_next_hop = true;
	return addr_is_unicast(&next_hop);
}

static bool read_med(struct decoder *d, struct cursor *v)
{
	d->set.med = cursor_u32(v);
	d->set.has_med = true;
	return cursor_ok(v) && !cursor_left(v);
}

static bool read_local_pref(struct decoder *d, struct cursor *v)
{
	d->set.local_pref = cursor_u32(v);
	return cursor_ok(v) && !cursor_left(v);
}

static bool read_empty(struct decoder *d, struct cursor *v)
{
	(void)d;
	return cursor_left(v) == 0;
}

static bool read_aggregator(struct decoder *d, struct cursor *v)
{
	d->aggregator = *v;
	d->has_aggregator = true;
	bool as2 = d->context & BGP_ATTR_AS2;
	uint32_t asn = as2 ? cursor_u16(v) : cursor_u32(v);
	cursor_u32(v);
	bool good = cursor_ok(v) && !cursor_left(v) && asn != 0;
	if (!good)
		d->has_aggregator = false;
	return good;
}

static bool read_communities(struct decoder *d, struct cursor *v)
{
	enum { GRACEFUL_SHUTDOWN = 0xffff0000, NO_EXPORT = 0xffffff01, NO_ADVERTISE = 0xffffff02, NO_EXPORT_SUBCONFED = 0xffffff03 };
	if (cursor_left(v) == 0 || cursor_left(v) % 4)
		return false;
	while (cursor_left(v)) {
		uint32_t c = cursor_u32(v);
		d->set.no_export |= c == NO_EXPORT || c == NO_EXPORT_SUBCONFED;
		d->set.no_advertise |= c == NO_ADVERTISE;
		d->set.graceful_shutdown |= c == GRACEFUL_SHUTDOWN;
	}
	return true;
}

static bool read_ext_communities(struct decoder *d, struct cursor *v)
{
	d->set.has_link_bandwidth = bgp_link_bandwidth(*v) != 0;
	return cursor_left(v) && cursor_left(v) % BGP_EXT_COMMUNITY_SIZE == 0;
}

static bool read_times_12(struct decoder *d, struct cursor *v)
{
	(void)d;
	return cursor_left(v) && cursor_left(v) % 12 == 0;
}

static bool read_times_20(struct decoder *d, struct cursor *v)
{
	(void)d;
	return cursor_left(v) && cursor_left(v) % 20 == 0;
}

static bool read_otc(struct decoder *d, struct cursor *v)
{
	d->set.has_otc = cursor_u32(v) != 0;
	return cursor_ok(v) && !cursor_left(v) && d->set.has_otc;
}

static bool read_originator(struct decoder *d, struct cursor *v)
{
	cursor_u32(v);
	d->set.has_originator = true;
	return cursor_ok(v) && !cursor_left(v);
}

static bool read_cluster_list(struct decoder *d, struct cursor *v)
{
	if (cursor_left(v) == 0 || cursor_left(v) % 4)
		return false;
	d->set.has_clusters = true;
	return true;
}

static bool read_as4_path(struct decoder *d, struct cursor *v)
{
	if (!(d->context & BGP_ATTR_AS2) || !path_is_good(*v, 4, true))
		return false; /* discarded: RFC 6793 section 4.1 and 6 */
	d->as4_path = *v;
	return true;
}

static bool read_as4_aggregator(struct decoder *d, struct cursor *v)
{
	struct cursor whole = *v;
	if (!(d->context & BGP_ATTR_AS2) || cursor_left(v) != 8 || cursor_u32(v) == 0)
		return false;
	d->as4_aggregator = whole;
	return true;
}

static bool read_aigp(struct decoder *d, struct cursor *v)
{
	(void)d;
	return bgp_tlv_aigp_is_good(*v);
}

static bool read_prefix_sid(struct decoder *d, struct cursor *v)
{
	enum bgp_reaction r = bgp_tlv_judge_prefix_sid(*v);
	if (r > d->wrong)
		d->wrong = r;
	return r == BGP_FINE;
}

static bool read_tunnels(struct decoder *d, struct cursor *v)
{
	(void)d;
	return bgp_tlv_tunnels_are_good(*v);
}

static bool read_link_state(struct decoder *d, struct cursor *v)
{
	(void)d;
	return bgp_tlv_link_state_is_good(*v);
}

/* An address of 16 bytes, or a global and a link-local one, of which either may be missing: zero, or the other once more
 * (RFC 2545, and what speakers without a global address make of it). */
static struct addr choose_v6_next_hop(unsigned context, const uint8_t *b, size_t len)
{
	struct addr first, second;
	memcpy(first.b, b, 16);
	if (len == 16)
		return first;
	memcpy(second.b, b + 16, 16);
	bool prefer_second = context & BGP_ATTR_ON_LINK && addr_is_link_local(&second);
	return addr_is_zero(&first) || prefer_second ? second : first;
}

static bool read_mp_next_hop(struct decoder *d, struct cursor *nh)
{
	struct bgp_mp_reach *r = &d->out->reach;
	size_t len = cursor_left(nh);
	const uint8_t *b = cursor_bytes(nh, len);
	bool v4 = r->family == BGP_IPV4_UNICAST, v6 = !v4 || d->context & BGP_ATTR_V6_NEXT_HOP;
	if (!r->known)
		return true;
	if (v4 && len == 4)
		r->next_hop = addr_from_v4_bytes(b);
	else if (v6 && (len == 16 || len == 32))
		r->next_hop = choose_v6_next_hop(d->context, b, len);
	else
		return false;
	return true;
}

static bool read_mp_reach(struct decoder *d, struct cursor *v)
{
	struct bgp_mp_reach *r = &d->out->reach;
	uint16_t afi = cursor_u16(v);
	uint8_t safi = cursor_u8(v);
	struct cursor nh = cursor_sub(v, cursor_u8(v));
	cursor_u8(v); /* reserved: whatever it says, RFC 4760 section 3 */
	if (!cursor_ok(v))
		return false;
	r->known = bgp_family_of(afi, safi, &r->family);
	if (!read_mp_next_hop(d, &nh))
		return false;
	r->present = true;
	r->nlri = *v;
	return true;
}

static bool read_mp_unreach(struct decoder *d, struct cursor *v)
{
	struct bgp_mp_unreach *u = &d->out->unreach;
	uint16_t afi = cursor_u16(v);
	uint8_t safi = cursor_u8(v);
	if (!cursor_ok(v))
		return false;
	u->known = bgp_family_of(afi, safi, &u->family);
	u->present = true;
	u->nlri = *v;
	return true;
}

enum {
	WELL_KNOWN = BGP_FLAG_TRANSITIVE,
	OPTIONAL = BGP_FLAG_OPTIONAL,
	OPTIONAL_TRANSITIVE = BGP_FLAG_OPTIONAL | BGP_FLAG_TRANSITIVE,
};

static const struct row rows[256] = {
	[BGP_ATTR_ORIGIN] = {"ORIGIN", WELL_KNOWN, BGP_WITHDRAW, 0, BGP_UPDATE_ORIGIN, read_origin},
	[BGP_ATTR_AS_PATH] = {"AS_PATH", WELL_KNOWN, BGP_WITHDRAW, 0, BGP_UPDATE_AS_PATH, read_as_path},
	[BGP_ATTR_NEXT_HOP] = {"NEXT_HOP", WELL_KNOWN, BGP_WITHDRAW, 0, BGP_UPDATE_NEXT_HOP, read_next_hop},
	[BGP_ATTR_MED] = {"MULTI_EXIT_DISC", OPTIONAL, BGP_WITHDRAW, 0, BGP_UPDATE_LENGTH, read_med},
	[BGP_ATTR_LOCAL_PREF] = {"LOCAL_PREF", WELL_KNOWN, BGP_WITHDRAW, INSIDE, BGP_UPDATE_LENGTH, read_local_pref},
	[BGP_ATTR_ATOMIC_AGGREGATE] = {"ATOMIC_AGGREGATE", WELL_KNOWN, BGP_DISCARD, 0, BGP_UPDATE_LENGTH, read_empty},
	[BGP_ATTR_AGGREGATOR] = {"AGGREGATOR", OPTIONAL_TRANSITIVE, BGP_DISCARD, 0, BGP_UPDATE_OPTIONAL,
				 read_aggregator},
	[BGP_ATTR_COMMUNITIES] = {"COMMUNITIES", OPTIONAL_TRANSITIVE, BGP_WITHDRAW, 0, BGP_UPDATE_OPTIONAL,
				  read_communities},
	[BGP_ATTR_ORIGINATOR_ID] = {"ORIGINATOR_ID", OPTIONAL, BGP_WITHDRAW, INSIDE, BGP_UPDATE_LENGTH, read_originator},
	[BGP_ATTR_CLUSTER_LIST] = {"CLUSTER_LIST", OPTIONAL, BGP_WITHDRAW, INSIDE, BGP_UPDATE_LENGTH, read_cluster_list},
	[BGP_ATTR_MP_REACH] = {"MP_REACH_NLRI", OPTIONAL, BGP_RESET, DROP, BGP_UPDATE_OPTIONAL, read_mp_reach},
	[BGP_ATTR_MP_UNREACH] = {"MP_UNREACH_NLRI", OPTIONAL, BGP_RESET, DROP, BGP_UPDATE_OPTIONAL, read_mp_unreach},
	[BGP_ATTR_EXT_COMMUNITIES] = {"EXTENDED_COMMUNITIES", OPTIONAL_TRANSITIVE, BGP_WITHDRAW, 0,
				      BGP_UPDATE_OPTIONAL, read_ext_communities},
	[BGP_ATTR_AS4_PATH] = {"AS4_PATH", OPTIONAL_TRANSITIVE, BGP_DISCARD, DROP | GENTLE, BGP_UPDATE_OPTIONAL,
			       read_as4_path},
	[BGP_ATTR_AS4_AGGREGATOR] = {"AS4_AGGREGATOR", OPTIONAL_TRANSITIVE, BGP_DISCARD, DROP | GENTLE, BGP_UPDATE_OPTIONAL,
				     read_as4_aggregator},
	[BGP_ATTR_TUNNEL_ENCAP] = {"TUNNEL_ENCAP", OPTIONAL_TRANSITIVE, BGP_WITHDRAW, 0, BGP_UPDATE_OPTIONAL, read_tunnels},
	[BGP_ATTR_IPV6_EXT_COMMUNITIES] = {"IPV6_EXTENDED_COMMUNITIES", OPTIONAL_TRANSITIVE, BGP_WITHDRAW, 0,
					   BGP_UPDATE_OPTIONAL, read_times_20},
	[BGP_ATTR_AIGP] = {"AIGP", OPTIONAL, BGP_DISCARD, GENTLE | INSIDE, BGP_UPDATE_OPTIONAL, read_aigp},
	[BGP_ATTR_LINK_STATE] = {"BGP-LS", OPTIONAL, BGP_DISCARD, DROP | GENTLE, BGP_UPDATE_OPTIONAL, read_link_state},
	[BGP_ATTR_LARGE_COMMUNITIES] = {"LARGE_COMMUNITY", OPTIONAL_TRANSITIVE, BGP_WITHDRAW, 0, BGP_UPDATE_OPTIONAL,
					read_times_12},
	[BGP_ATTR_OTC] = {"ONLY_TO_CUSTOMER", OPTIONAL_TRANSITIVE, BGP_WITHDRAW, 0, BGP_UPDATE_OPTIONAL, read_otc},
	[BGP_ATTR_PREFIX_SID] = {"PREFIX_SID", OPTIONAL_TRANSITIVE, BGP_DISCARD, INSIDE, BGP_UPDATE_OPTIONAL, read_prefix_sid},
};

/* RFC 7606 section 7.5, 7.9, 7.10; RFC 7311 section 3.3: AIGP is off on external sessions; RFC 8669 section 3: an external
 * peer is outside our SR domain. */
static bool out_of_place(const struct decoder *d, uint8_t code)
{
	return !(d->context & BGP_ATTR_IBGP) && rows[code].how & INSIDE;
}

static void raise(struct decoder *d, enum bgp_reaction reaction, uint8_t subcode, const struct bgp_attr_item *item,
		  const char *text)
{
	uint8_t data[BGP_FAULT_DATA_MAX];
	struct writer w = writer_of(data, sizeof data);
	size_t len = cursor_left(&item->value);
	if (reaction <= d->out->fault.reaction)
		return;
	bgp_attr_put(&w, item->flags, item->code, item->value.p, len < 48 ? len : 48);
	bgp_fault_raise(&d->out->fault, reaction, BGP_ERR_UPDATE, subcode, text, data, writer_len(&w));
	d->out->fault.attr = item->code;
}

static void take_unknown(struct decoder *d, const struct bgp_attr_item *item)
{
	if (!(item->flags & BGP_FLAG_OPTIONAL))
		raise(d, BGP_RESET, BGP_UPDATE_WELL_KNOWN, item, "an unknown attribute that claims to be well-known");
	else if (item->flags & BGP_FLAG_TRANSITIVE)
		bgp_attr_put(&d->canonical, (item->flags & 0xf0) | BGP_FLAG_PARTIAL, item->code, item->value.p,
			     cursor_left(&item->value));
}

/* AS_PATH, AGGREGATOR change their width; on a 2-byte session they wait for AS4_PATH. */
static bool waits_for_merge(const struct decoder *d, uint8_t code)
{
	return (d->context & BGP_ATTR_AS2) && (code == BGP_ATTR_AS_PATH || code == BGP_ATTR_AGGREGATOR);
}

static const char *wrong_flags(const struct row *row, uint8_t flags)
{
	if ((flags & (BGP_FLAG_OPTIONAL | BGP_FLAG_TRANSITIVE)) != row->flags)
		return "attribute flags do not fit its type";
	if (row->flags != OPTIONAL_TRANSITIVE && flags & BGP_FLAG_PARTIAL)
		return "Partial on an attribute that is not optional transitive";
	return NULL;
}

/* RFC 7606 section 3 (c), whatever a wrong value does */
static enum bgp_reaction wrong_flags_reaction(const struct row *row)
{
	return row->how & GENTLE ? BGP_DISCARD : BGP_WITHDRAW;
}

static void take_known(struct decoder *d, const struct row *row, const struct bgp_attr_item *item)
{
	struct cursor value = item->value;
	const char *text = wrong_flags(row, item->flags);
	if (text)
		raise(d, wrong_flags_reaction(row), BGP_UPDATE_FLAGS, item, text);
	if (text && row->wrong != BGP_RESET) /* an MP attribute still says which routes are withdrawn */
		return;
	d->wrong = row->wrong;
	if (!row->read(d, &value)) {
		raise(d, d->wrong, row->subcode, item, row->name);
		return;
	}
	if (item->code == BGP_ATTR_AGGREGATOR)
		d->aggregator_flags = item->flags & 0xf0;
	if (row->how & DROP || waits_for_merge(d, item->code))
		return;
	bgp_attr_put(&d->canonical, item->flags & 0xf0, item->code, item->value.p, cursor_left(&item->value));
	if (item->code == BGP_ATTR_AS_PATH) {
		d->set.as_path_len = (uint16_t)cursor_left(&item->value);
		d->set.as_path_at = (uint16_t)(writer_len(&d->canonical) - d->set.as_path_len);
	}
	if (item->code == BGP_ATTR_NEXT_HOP)
		d->set.next_hop_at = (uint16_t)(writer_len(&d->canonical) - 4);
}

static void take(struct decoder *d, const struct bgp_attr_item *item)
{
	uint8_t bit = (uint8_t)(1u << item->code % 8);
	if (d->seen[item->code / 8] & bit) {
		/* RFC 7606 section 3 (g): the first stays, unless it is an MP attribute */
		if (item->code == BGP_ATTR_MP_REACH || item->code == BGP_ATTR_MP_UNREACH)
			raise(d, BGP_RESET, BGP_UPDATE_ATTR_LIST, item, "a second MP_REACH_NLRI or MP_UNREACH_NLRI");
		return;
	}
	d->seen[item->code / 8] |= bit;
	if (out_of_place(d, item->code))
		return;
	if (rows[item->code].read)
		take_known(d, &rows[item->code], item);
	else
		take_unknown(d, item);
}

/* Copies width-2 segments as width 4, only the first keep AS numbers of them. What is within a confederation counts for
 * nothing and goes along while it is next to what is kept (RFC 6793 section 4.2.3). */
static void widen(struct writer *w, struct cursor path, unsigned keep)
{
	struct bgp_segment s;
	while (bgp_segment_next(&path, 2, &s)) {
		bool confed = bgp_segment_is_confed(&s);
		unsigned n = confed || s.count < keep ? s.count : keep;
		if (n == 0)
			return;
		writer_u8(w, s.type);
		writer_u8(w, (uint8_t)n);
		for (unsigned i = 0; i < n; i++)
			writer_u32(w, cursor_u16(&s.numbers));
		if (n < s.count)
			return;
		keep -= confed ? 0 : n;
	}
}

/* AS4_PATH without what may not be in it (RFC 6793 section 6). */
static void put_as4_path(struct writer *w, struct cursor path)
{
	struct bgp_segment s;
	while (bgp_segment_next(&path, 4, &s)) {
		if (bgp_segment_is_confed(&s))
			continue;
		writer_u8(w, s.type);
		writer_u8(w, (uint8_t)s.count);
		writer_bytes(w, s.numbers.p, cursor_left(&s.numbers));
	}
}

static void merge_as_path(struct decoder *d)
{
	uint8_t bytes[BGP_EXTENDED_MAX];
	struct writer w = writer_of(bytes, sizeof bytes);
	unsigned old = bgp_path_count(d->as_path, 2), fresh = bgp_path_count(d->as4_path, 4);
	struct cursor agg = d->aggregator;
	/* both aggregators, but the old one with a real AS: an old speaker has aggregated since, RFC 6793 section 4.2.3 */
	bool stale = d->has_aggregator && cursor_left(&d->as4_aggregator) && cursor_u16(&agg) != BGP_AS_TRANS;
	bool use_new = fresh && fresh <= old && !stale;
	widen(&w, d->as_path, use_new ? old - fresh : old);
	if (use_new)
		put_as4_path(&w, d->as4_path);
	d->canonical.failed |= !writer_ok(&w);
	bgp_attr_put(&d->canonical, BGP_FLAG_TRANSITIVE, BGP_ATTR_AS_PATH, bytes, writer_len(&w));
	if (!writer_ok(&d->canonical))
		return; /* the set is too long; it has no path to read */
	d->set.as_path_len = (uint16_t)writer_len(&w);
	d->set.as_path_at = (uint16_t)(writer_len(&d->canonical) - writer_len(&w));
}

static void merge_aggregator(struct decoder *d)
{
	uint8_t wide[8];
	struct writer w = writer_of(wide, sizeof wide);
	struct cursor agg = d->aggregator;
	uint16_t asn = cursor_u16(&agg);
	if (asn == BGP_AS_TRANS && cursor_left(&d->as4_aggregator)) {
		writer_bytes(&w, d->as4_aggregator.p, 8);
	} else {
		writer_u32(&w, asn);
		writer_bytes(&w, agg.p, 4);
	}
	bgp_attr_put(&d->canonical, d->aggregator_flags, BGP_ATTR_AGGREGATOR, wide, sizeof wide);
}

static void finish(struct decoder *d)
{
	/* RFC 8326: the path is about to go; anything else is better, and inside everybody must think so */
	if (d->set.graceful_shutdown && !(d->context & BGP_ATTR_IBGP))
		d->set.local_pref = 0;
	if ((d->context & BGP_ATTR_AS2) && d->has_as_path && d->out->fault.reaction < BGP_WITHDRAW)
		merge_as_path(d);
	if ((d->context & BGP_ATTR_AS2) && d->has_aggregator)
		merge_aggregator(d);
	struct cursor path = cursor_of(d->bytes + d->set.as_path_at, d->set.as_path_len);
	d->set.as_count = (uint16_t)bgp_path_count(path, 4);
	d->set.first_as = bgp_path_first_as(path);
}

static void check_mandatory(struct decoder *d, bool classic)
{
	uint8_t missing = 0;
	if (classic && !d->has_next_hop)
		missing = BGP_ATTR_NEXT_HOP;
	if (!d->has_as_path)
		missing = BGP_ATTR_AS_PATH;
	if (!d->has_origin)
		missing = BGP_ATTR_ORIGIN;
	if (missing && d->out->fault.reaction < BGP_WITHDRAW) {
		bgp_fault_raise(&d->out->fault, BGP_WITHDRAW, BGP_ERR_UPDATE, BGP_UPDATE_MISSING,
				"a mandatory attribute is missing", &missing, 1);
		d->out->fault.attr = missing;
	}
}

/* Of a family whose addresses we know. A zero one would pass as our own. */
static void check_mp_next_hop(struct decoder *d)
{
	const struct bgp_mp_reach *r = &d->out->reach;
	if (!r->known || addr_is_unicast(&r->next_hop) || d->out->fault.reaction >= BGP_WITHDRAW)
		return;
	bgp_fault_raise(&d->out->fault, BGP_WITHDRAW, BGP_ERR_UPDATE, BGP_UPDATE_NEXT_HOP,
			"the next hop in MP_REACH_NLRI is no unicast address", r->next_hop.b, sizeof r->next_hop.b);
	d->out->fault.attr = BGP_ATTR_MP_REACH;
}

static struct bgp_attrs *intern(struct decoder *d, struct bgp_attr_table *t, const struct addr *mp_next_hop)
{
	struct bgp_attrs like = d->set;
	like.context = (uint8_t)(d->context & BGP_ATTR_IBGP);
	if (mp_next_hop)
		like.context |= BGP_ATTR_MP_NEXT_HOP;
	struct bgp_attrs *a = bgp_attrs_intern(t, &like, mp_next_hop, d->bytes, writer_len(&d->canonical));
	if (!a)
		bgp_fault_raise(&d->out->fault, BGP_WITHDRAW, BGP_ERR_CEASE, 8, "out of memory", NULL, 0);
	return a;
}

/* The fast way: a block whose bytes are a set's canonical form needs no reading. MP attributes are no part
 * of that form, so such a block has none. */
static bool known_already(struct bgp_attr_table *t, unsigned context, const struct cursor *block, bool classic,
			  struct bgp_attr_block *out, struct bgp_attrs **classic_out)
{
	if (!classic || context & BGP_ATTR_AS2)
		return false;
	*classic_out = bgp_attrs_lookup(t, (uint8_t)(context & BGP_ATTR_IBGP), NULL, block->p, cursor_left(block));
	if (*classic_out && !bgp_attrs_has_next_hop(*classic_out)) { /* no NEXT_HOP: not good enough for classic */
		bgp_attrs_unref(*classic_out);
		*classic_out = NULL;
	}
	out->complete = *classic_out != NULL;
	return out->complete;
}

void bgp_attrs_decode(struct bgp_attr_table *t, unsigned context, struct cursor block, bool classic,
		      struct bgp_attr_block *out, struct bgp_attrs **classic_out, struct bgp_attrs **mp_out)
{
	struct decoder d;
	struct bgp_attr_item item;
	memset(out, 0, sizeof *out);
	*classic_out = *mp_out = NULL;
	if (known_already(t, context, &block, classic, out, classic_out))
		return;
	memset(&d, 0, offsetof(struct decoder, bytes)); /* not the bytes: that would cost more than the decoding */
	memset(&d.set, 0, sizeof d.set);
	d.context = context;
	d.out = out;
	d.set.local_pref = BGP_DEFAULT_LOCAL_PREF;
	d.canonical = writer_of(d.bytes, sizeof d.bytes);
	out->empty = true;
	while (bgp_attr_next(&block, &item)) {
		take(&d, &item);
		out->empty &= item.code == BGP_ATTR_MP_REACH || item.code == BGP_ATTR_MP_UNREACH;
	}
	out->complete = cursor_ok(&block);
	if (!out->complete)
		bgp_fault_raise(&out->fault, BGP_WITHDRAW, BGP_ERR_UPDATE, BGP_UPDATE_ATTR_LIST,
				"an attribute runs past the attribute list", NULL, 0);
	bool mp = out->reach.present && cursor_left(&out->reach.nlri);
	if (classic || mp)
		check_mandatory(&d, classic);
	if (mp)
		check_mp_next_hop(&d);
	finish(&d);
	if (!writer_ok(&d.canonical))
		bgp_fault_raise(&out->fault, BGP_WITHDRAW, BGP_ERR_UPDATE, BGP_UPDATE_LENGTH, "attributes too long to keep",
				NULL, 0);
	if (out->fault.reaction >= BGP_WITHDRAW)
		return;
	if (classic)
		*classic_out = intern(&d, t, NULL);
	if (mp && out->reach.known)
		*mp_out = intern(&d, t, &out->reach.next_hop);
}
