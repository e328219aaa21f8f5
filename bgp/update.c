#include "bgp/update.h"

#include <string.h>

#include "bgp/attr_private.h"
#include "bgp/message.h"
#include "src/base/cursor.h"

static unsigned family_start(enum bgp_family f)
{
	return f == BGP_IPV4_UNICAST ? ADDR_V4_BITS : 0;
}

/* One prefix: a length in bits and as many bytes as it needs. NULL: it is too long, or not all there. */
static const uint8_t *pass_prefix(struct cursor *c, enum bgp_family family, unsigned *len)
{
	*len = cursor_u8(c);
	return cursor_ok(c) && *len <= 128 - family_start(family) ? cursor_bytes(c, (*len + 7) / 8) : NULL;
}

static bool read_prefix(struct cursor *c, enum bgp_family family, struct prefix *out)
{
	unsigned start = family_start(family), len;
	const uint8_t *b = pass_prefix(c, family, &len);
	if (!b)
		return false;
	size_t bytes = (len + 7) / 8;
	uint8_t *to = out->addr.b + start / 8;
	out->addr = (struct addr){{0}};
	if (start)
		out->addr.b[10] = out->addr.b[11] = 0xff; /* IPv4-mapped */
	for (size_t i = 0; i < bytes; i++)
		to[i] = b[i];
	if (len % 8)
		to[bytes - 1] &= (uint8_t)(0xff00u >> len % 8);
	out->len = (uint8_t)(start + len);
	return true;
}

static bool may_be_routed(const struct prefix *p, enum bgp_family family)
{
	if (prefix_is_v4(p) != (family == BGP_IPV4_UNICAST))
		return false; /* an IPv4-mapped IPv6 prefix */
	if (prefix_is_default(p))
		return true;
	if (family == BGP_IPV4_UNICAST)
		return (p->addr.b[12] != 0 || prefix_plen(p) < 8) && p->addr.b[12] != 127 && p->addr.b[12] < 224;
	return p->addr.b[0] != 0xff && !addr_is_link_local(&p->addr);
}

bool bgp_nlri_next(struct bgp_nlri *n, struct prefix *out, unsigned *skipped)
{
	while (cursor_left(&n->bytes)) {
		n->path_id = n->add_path ? cursor_u32(&n->bytes) : 0;
		if (!read_prefix(&n->bytes, n->family, out))
			return false;
		if (may_be_routed(out, n->family))
			return true;
		if (skipped)
			++*skipped;
	}
	return false;
}

static bool nlri_is_good(struct bgp_nlri n)
{
	unsigned len;
	while (cursor_left(&n.bytes)) {
		if (n.add_path)
			cursor_u32(&n.bytes);
		if (!pass_prefix(&n.bytes, n.family, &len))
			return false;
	}
	return true;
}

static void reset(struct bgp_update *u, uint8_t subcode, const char *text)
{
	bgp_fault_raise(&u->fault, BGP_RESET, BGP_ERR_UPDATE, subcode, text, NULL, 0);
}

static struct bgp_nlri nlri_of(const struct bgp_update_context *ctx, struct cursor bytes, enum bgp_family family)
{
	return (struct bgp_nlri){.bytes = bytes, .family = family, .add_path = ctx->add_path[family]};
}

static void put_classic(const struct bgp_update_context *ctx, struct bgp_update *u, struct cursor withdrawn,
			struct cursor announced)
{
	u->part[0].withdrawn = nlri_of(ctx, withdrawn, BGP_IPV4_UNICAST);
	u->part[0].announced = nlri_of(ctx, announced, BGP_IPV4_UNICAST);
	if (!nlri_is_good(u->part[0].withdrawn) || !nlri_is_good(u->part[0].announced))
		reset(u, BGP_UPDATE_NETWORK, "a prefix is longer than 32 bits or than its field");
}

/* A family we did not agree on is passed over, with its bytes unread (RFC 4760 section 7). */
static struct bgp_nlri take_mp(const struct bgp_update_context *ctx, struct bgp_update *u, bool present, bool known,
			       enum bgp_family family, struct cursor bytes)
{
	struct bgp_nlri none = {.bytes = cursor_of(NULL, 0), .family = BGP_IPV4_UNICAST};
	if (!present)
		return none;
	if (!known || !ctx->families[family]) {
		u->foreign_family = true;
		return none;
	}
	struct bgp_nlri n = nlri_of(ctx, bytes, family);
	if (!nlri_is_good(n)) {
		reset(u, BGP_UPDATE_OPTIONAL, "a prefix in an MP attribute is longer than its family or its field");
		return none;
	}
	return n;
}

static bool announces(const struct bgp_update *u)
{
	return cursor_left(&u->part[0].announced.bytes) || cursor_left(&u->part[1].announced.bytes);
}

static bool withdraws(const struct bgp_update *u)
{
	return cursor_left(&u->part[0].withdrawn.bytes) || cursor_left(&u->part[1].withdrawn.bytes);
}

/* Nothing at all, or MP_UNREACH_NLRI alone and empty: RFC 4724 section 2. */
static void find_end_of_rib(struct bgp_update *u, const struct bgp_attr_block *block)
{
	if (u->fault.reaction != BGP_FINE || announces(u) || withdraws(u) || u->foreign_family)
		return;
	u->end_of_rib = block->empty && !block->reach.present;
	u->end_of_rib_family = block->unreach.present ? block->unreach.family : BGP_IPV4_UNICAST;
}

/* Without a route to withdraw, treat-as-withdraw would hide the fault (RFC 7606 section 5.2); and where the
 * framing broke, MP_REACH_NLRI may be among what could not be read. */
static void harden(struct bgp_update *u)
{
	if (u->fault.reaction == BGP_WITHDRAW && !announces(u) && !u->foreign_family)
		u->fault.reaction = BGP_RESET;
}

static void check_first_as(const struct bgp_update_context *ctx, struct bgp_update *u)
{
	for (unsigned i = 0; i < BGP_UPDATE_PARTS; i++) {
		const struct bgp_attrs *a = u->part[i].attrs;
		bool fits = !a || ctx->ibgp || a->first_as == ctx->peer_asn || (ctx->route_server && a->first_as);
		if (!fits)
			bgp_fault_raise(&u->fault, BGP_WITHDRAW, BGP_ERR_UPDATE, BGP_UPDATE_AS_PATH,
					"the AS path does not begin with the peer's AS", NULL, 0);
	}
}

static void drop_attrs(struct bgp_update *u, bool needed)
{
	for (unsigned i = 0; i < BGP_UPDATE_PARTS; i++) {
		if (needed && cursor_left(&u->part[i].announced.bytes))
			continue;
		bgp_attrs_unref(u->part[i].attrs);
		u->part[i].attrs = NULL;
	}
}

void bgp_update_decode(const struct bgp_update_context *ctx, const uint8_t *body, size_t len, struct bgp_update *out)
{
	struct cursor c = cursor_of(body, len);
	struct bgp_attr_block block;
	memset(out, 0, sizeof *out);
	struct cursor withdrawn = cursor_sub(&c, cursor_u16(&c));
	struct cursor attrs = cursor_sub(&c, cursor_u16(&c));
	if (!cursor_ok(&c)) {
		reset(out, BGP_UPDATE_ATTR_LIST, "the withdrawn routes or the attributes run past the message");
		return;
	}
	put_classic(ctx, out, withdrawn, c);
	if (out->fault.reaction == BGP_RESET)
		return;
	unsigned context = (ctx->ibgp ? BGP_ATTR_IBGP : 0u) | (ctx->as4 ? 0u : BGP_ATTR_AS2) |
			   (ctx->v6_next_hop ? BGP_ATTR_V6_NEXT_HOP : 0u) | (ctx->on_link ? BGP_ATTR_ON_LINK : 0u);
	bgp_attrs_decode(ctx->attrs, context, attrs, cursor_left(&c) != 0, &block, &out->part[0].attrs,
			 &out->part[1].attrs);
	out->fault = block.fault;
	out->part[1].withdrawn = take_mp(ctx, out, block.unreach.present, block.unreach.known, block.unreach.family,
					 block.unreach.nlri);
	out->part[1].announced = take_mp(ctx, out, block.reach.present, block.reach.known, block.reach.family,
					 block.reach.nlri);
	harden(out);
	drop_attrs(out, true); /* those of a family that is passed over */
	check_first_as(ctx, out);
	find_end_of_rib(out, &block);
	drop_attrs(out, out->fault.reaction < BGP_WITHDRAW);
}

void bgp_update_fini(struct bgp_update *u)
{
	drop_attrs(u, false);
}

struct bgp_routes bgp_routes_after(const struct bgp_routes *r, size_t used)
{
	return (struct bgp_routes){.family = r->family,
				   .count = r->count - used,
				   .prefixes = r->prefixes + used,
				   .path_ids = r->path_ids ? r->path_ids + used : NULL};
}

static size_t put_prefixes(struct writer *w, const struct bgp_routes *r)
{
	unsigned start = family_start(r->family), id_bytes = r->path_ids ? 4 : 0;
	size_t i;
	for (i = 0; writer_ok(w) && i < r->count; i++) {
		unsigned len = r->prefixes[i].len - start, bytes = (len + 7) / 8;
		if (writer_left(w) < id_bytes + 1 + bytes)
			break;
		if (r->path_ids)
			writer_u32(w, r->path_ids[i]);
		writer_u8(w, (uint8_t)len);
		writer_bytes(w, r->prefixes[i].addr.b + start / 8, bytes);
	}
	return i;
}

static void put_mp_head(struct writer *w, uint8_t code, enum bgp_family family)
{
	writer_u8(w, BGP_FLAG_OPTIONAL | BGP_FLAG_EXTENDED);
	writer_u8(w, code);
	writer_u16(w, 0); /* patched */
	writer_u16(w, bgp_family_afi(family));
	writer_u8(w, 1);
}

enum bgp_family bgp_family_of_prefix(const struct prefix *p)
{
	return prefix_is_v4(p) ? BGP_IPV4_UNICAST : BGP_IPV6_UNICAST;
}

/* RFC 4760 section 3, RFC 2545, RFC 8950: a next hop of ours may bring its link-local address along; where there is no
 * other, it stands in both places, which is what most speakers send and every one of them reads. An IPv4-mapped
 * address is one of 16 bytes where the family is IPv6. */
static void put_mp_next_hop(struct writer *w, enum bgp_family family, const struct bgp_words *words)
{
	bool both = !addr_is_zero(&words->link_local);
	if (family == BGP_IPV4_UNICAST && addr_is_v4(&words->next_hop)) {
		writer_u8(w, 4);
		writer_bytes(w, words->next_hop.b + 12, 4);
	} else {
		writer_u8(w, both ? 32 : 16);
		writer_bytes(w, words->next_hop.b, 16);
		if (both)
			writer_bytes(w, words->link_local.b, 16);
	}
	writer_u8(w, 0); /* reserved */
}

/* MP_REACH_NLRI goes first in the list (RFC 7606 section 5.1), so that a fault behind it costs no prefix. */
static size_t put_mp_reach(struct writer *w, const struct bgp_words *words, const struct bgp_routes *routes)
{
	size_t attrs_at = writer_len(w), used;
	writer_u16(w, 0);
	size_t reach_at = writer_len(w);
	put_mp_head(w, BGP_ATTR_MP_REACH, routes->family);
	put_mp_next_hop(w, routes->family, words);
	if (!writer_ok(w) || writer_left(w) < words->len)
		return 0;
	w->end -= words->len;
	used = put_prefixes(w, routes);
	w->end += words->len;
	writer_patch_u16(w, reach_at + 2, (uint16_t)(writer_len(w) - reach_at - 4));
	writer_bytes(w, words->block, words->len);
	writer_patch_u16(w, attrs_at, (uint16_t)(writer_len(w) - attrs_at - 2));
	return used;
}

size_t bgp_update_encode_announce(uint8_t *out, size_t cap, const struct bgp_words *words, const struct bgp_routes *routes,
				  size_t *used)
{
	struct writer w = writer_of(out, cap < BGP_EXTENDED_MAX ? cap : BGP_EXTENDED_MAX);
	*used = 0;
	bgp_message_begin(&w, BGP_UPDATE);
	writer_u16(&w, 0);
	if (routes->family != BGP_IPV4_UNICAST || !addr_is_v4(&words->next_hop)) {
		*used = put_mp_reach(&w, words, routes);
	} else {
		writer_u16(&w, (uint16_t)words->len);
		writer_bytes(&w, words->block, words->len);
		if (writer_ok(&w))
			*used = put_prefixes(&w, routes);
	}
	return *used ? bgp_message_end(&w) : 0;
}

size_t bgp_update_encode_withdraw(uint8_t *out, size_t cap, const struct bgp_routes *routes, size_t *used)
{
	enum { ATTR_LEN_FIELD = 2 };
	struct writer w = writer_of(out, cap < BGP_EXTENDED_MAX ? cap : BGP_EXTENDED_MAX);
	*used = 0;
	bgp_message_begin(&w, BGP_UPDATE);
	size_t length_at = writer_len(&w);
	writer_u16(&w, 0);
	if (routes->family == BGP_IPV4_UNICAST) {
		if (writer_left(&w) < ATTR_LEN_FIELD)
			return 0;
		w.end -= ATTR_LEN_FIELD;
		*used = put_prefixes(&w, routes);
		w.end += ATTR_LEN_FIELD;
		writer_patch_u16(&w, length_at, (uint16_t)(writer_len(&w) - length_at - 2));
		writer_u16(&w, 0);
	} else {
		size_t attrs_at = writer_len(&w);
		writer_u16(&w, 0);
		put_mp_head(&w, BGP_ATTR_MP_UNREACH, routes->family);
		*used = put_prefixes(&w, routes);
		writer_patch_u16(&w, attrs_at, (uint16_t)(writer_len(&w) - attrs_at - 2));
		writer_patch_u16(&w, attrs_at + 4, (uint16_t)(writer_len(&w) - attrs_at - 6));
	}
	return *used || routes->count == 0 ? bgp_message_end(&w) : 0;
}

size_t bgp_update_encode_end_of_rib(uint8_t *out, size_t cap, enum bgp_family family)
{
	size_t used;
	return bgp_update_encode_withdraw(out, cap, &(struct bgp_routes){.family = family}, &used);
}
