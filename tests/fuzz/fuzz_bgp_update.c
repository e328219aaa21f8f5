/* The body of an UPDATE, on each kind of session: the first byte's low bits say which (1: inside, 2: 2-byte AS
 * numbers, 4: IPv6 negotiated, 8: IPv6 next hops for IPv4, 16: between link-local addresses, 32 and 64: path identifiers
 * in IPv4, IPv6). Whatever set comes out must go out to every kind of session and come back as what is to be expected
 * there; prefixes must go round through the packer.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bgp/attr_private.h"
#include "bgp/message.h"
#include "bgp/update.h"
#include "src/base/live.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PEER_AS = 64496, LOCAL_AS = 70000, PATH_NUMBERS = 33000, PACK_MAX = 65536 };

static struct bgp_attr_table table;

static void require(bool ok)
{
	if (!ok)
		abort();
}

/* --- sets */

/* The path as numbers, after own (0: nothing), without what is within a confederation. */
static size_t flatten(const struct bgp_attrs *a, uint32_t own, uint32_t out[PATH_NUMBERS])
{
	struct cursor c = cursor_of(a->wire + a->as_path_at, a->as_path_len);
	size_t n = 0;
	if (own)
		out[n++] = own;
	while (cursor_left(&c)) {
		uint8_t type = cursor_u8(&c);
		unsigned count = cursor_u8(&c);
		require(count > 0 && (type == BGP_SEG_SEQUENCE || type == BGP_SEG_CONFED_SEQUENCE));
		for (; count; count--) {
			require(n < PATH_NUMBERS);
			out[n] = cursor_u32(&c);
			require(out[n] != 0 && cursor_ok(&c));
			n += type == BGP_SEG_SEQUENCE;
		}
	}
	return n;
}

static bool find(const struct bgp_attrs *a, uint8_t code, struct bgp_attr_item *out)
{
	struct cursor block = cursor_of(a->wire, a->wire_len);
	while (bgp_attr_next(&block, out))
		if (out->code == code)
			return true;
	return false;
}

static bool allowed(const struct bgp_attr_item *item, unsigned context)
{
	switch (item->code) {
	case BGP_ATTR_MP_REACH:
	case BGP_ATTR_MP_UNREACH:
	case BGP_ATTR_AS4_PATH:
	case BGP_ATTR_AS4_AGGREGATOR:
	case BGP_ATTR_LINK_STATE:
		return false;
	case BGP_ATTR_LOCAL_PREF:
	case BGP_ATTR_ORIGINATOR_ID:
	case BGP_ATTR_CLUSTER_LIST:
	case BGP_ATTR_AIGP:
	case BGP_ATTR_PREFIX_SID:
		return context & BGP_ATTR_IBGP;
	default:
		return true;
	}
}

/* A path from outside that announces its end is the last choice, RFC 8326. */
static uint32_t default_local_pref(const struct bgp_attrs *a, bool ibgp)
{
	return a->graceful_shutdown && !ibgp ? 0 : BGP_DEFAULT_LOCAL_PREF;
}

/* What holds of every set, wherever it came from. */
static void check_set(const struct bgp_attrs *a, unsigned context)
{
	static uint32_t path[PATH_NUMBERS];
	char text[300];
	struct cursor block = cursor_of(a->wire, a->wire_len);
	struct bgp_attr_item item;
	bool seen[256] = {false};
	while (bgp_attr_next(&block, &item)) {
		require(!seen[item.code] && allowed(&item, context));
		require(!(item.flags & 0x0f) && !!(item.flags & BGP_FLAG_EXTENDED) == (cursor_left(&item.value) > 255));
		seen[item.code] = true;
	}
	require(cursor_ok(&block) && !cursor_left(&block));
	require(seen[BGP_ATTR_ORIGIN] && seen[BGP_ATTR_AS_PATH] && a->origin <= BGP_ORIGIN_INCOMPLETE);
	require(a->has_med == seen[BGP_ATTR_MED] && a->has_originator == seen[BGP_ATTR_ORIGINATOR_ID]);
	require(seen[BGP_ATTR_LOCAL_PREF] || a->local_pref == default_local_pref(a, context & BGP_ATTR_IBGP));
	struct addr next_hop = bgp_attrs_next_hop(a);
	require(addr_is_unicast(&next_hop));
	size_t n = flatten(a, 0, path);
	require(n == a->as_count && a->first_as == (n ? path[0] : 0));
	require(!n || bgp_attrs_count_as(a, path[0]) >= 1);
	require(strlen(bgp_attrs_path_text(a, text, sizeof text)) < sizeof text);
	require(n == 0 || text[0]);
}

static bool stays_inside(uint8_t code)
{
	return code == BGP_ATTR_MED || code == BGP_ATTR_LOCAL_PREF || code == BGP_ATTR_ORIGINATOR_ID ||
	       code == BGP_ATTR_CLUSTER_LIST || code == BGP_ATTR_PREFIX_SID ||
	       code == BGP_ATTR_EXT_COMMUNITIES; /* some of them */
}

static bool written_anew(uint8_t code)
{
	return code == BGP_ATTR_AS_PATH || code == BGP_ATTR_NEXT_HOP || code == BGP_ATTR_LOCAL_PREF ||
	       code == BGP_ATTR_AIGP; /* goes with the next hop */
}

/* All of a's attributes that b must have unchanged. */
static unsigned compare_rest(const struct bgp_attrs *a, const struct bgp_attrs *b, bool ibgp)
{
	struct cursor block = cursor_of(a->wire, a->wire_len);
	struct bgp_attr_item item, other;
	unsigned n = 0;
	while (bgp_attr_next(&block, &item)) {
		if (written_anew(item.code) || (!ibgp && stays_inside(item.code)))
			continue;
		require(find(b, item.code, &other));
		require(item.flags == other.flags && cursor_left(&item.value) == cursor_left(&other.value));
		require(!cursor_left(&item.value) || memcmp(item.value.p, other.value.p, cursor_left(&item.value)) == 0);
		n++;
	}
	return n;
}

static void compare(const struct bgp_attrs *a, const struct bgp_attrs *b, const struct bgp_export *e)
{
	static uint32_t before[PATH_NUMBERS + 1], after[PATH_NUMBERS + 1];
	size_t n = flatten(a, e->ibgp ? 0 : e->local_asn, before);
	require(n == flatten(b, 0, after) && memcmp(before, after, n * sizeof *before) == 0);
	require(a->origin == b->origin && a->no_export == b->no_export && a->no_advertise == b->no_advertise);
	require(b->local_pref == (e->ibgp ? a->local_pref : default_local_pref(b, false)));
	require(a->graceful_shutdown == b->graceful_shutdown);
	require(b->has_med == (e->ibgp && a->has_med) && (!b->has_med || a->med == b->med));
	require(compare_rest(a, b, e->ibgp) == compare_rest(b, a, e->ibgp));
}

/* --- prefixes */

struct collected {
	struct prefix prefixes[PACK_MAX];
	uint32_t path_ids[PACK_MAX];
};

static size_t collect(struct bgp_nlri n, struct collected *out)
{
	size_t count = 0;
	unsigned skipped = 0;
	while (count < PACK_MAX && bgp_nlri_next(&n, &out->prefixes[count], &skipped)) {
		require(n.add_path || !n.path_id);
		out->path_ids[count] = n.path_id;
		const struct prefix *p = &out->prefixes[count++], masked = prefix_make(&p->addr, p->len);
		require(prefix_eq(p, &masked) && prefix_is_v4(p) == (n.family == BGP_IPV4_UNICAST));
	}
	require(count == PACK_MAX || !cursor_left(&n.bytes));
	return count;
}

/* Is what n holds the first of these routes? */
static bool same_routes(struct bgp_nlri n, const struct bgp_routes *r, size_t first)
{
	static struct collected back;
	return collect(n, &back) == first && memcmp(back.prefixes, r->prefixes, first * sizeof *r->prefixes) == 0 &&
	       (!r->path_ids || memcmp(back.path_ids, r->path_ids, first * sizeof *r->path_ids) == 0);
}

static void pack(struct bgp_routes left, size_t cap)
{
	uint8_t msg[BGP_MESSAGE_MAX];
	for (size_t used = 0; left.count; left = bgp_routes_after(&left, used)) {
		struct bgp_update_context ctx = {.attrs = &table, .as4 = true, .families = {true, true}};
		ctx.add_path[left.family] = left.path_ids;
		struct bgp_frame f;
		struct bgp_fault fault = {0};
		struct bgp_update u;
		size_t len = bgp_update_encode_withdraw(msg, cap, &left, &used);
		require(len && len <= cap && used);
		require(bgp_frame_next(msg, len, BGP_MESSAGE_MAX, &f, &fault) == 1 && f.len == len);
		bgp_update_decode(&ctx, f.body, f.body_len, &u);
		require(u.fault.reaction == BGP_FINE && !u.end_of_rib);
		require(same_routes(u.part[left.family == BGP_IPV4_UNICAST ? 0 : 1].withdrawn, &left, used));
	}
}

static void check_nlri(struct bgp_nlri n)
{
	static struct collected all;
	struct bgp_routes routes = {n.family, collect(n, &all), all.prefixes, n.add_path ? all.path_ids : NULL};
	pack(routes, BGP_MESSAGE_MAX);
	pack(routes, 80);
}

/* --- the way out and back */

/* What an internal peer hears as the next hop of a family's route: see bgp_attrs_export(). */
static struct addr next_hop_after(const struct bgp_attrs *a, const struct bgp_export *e, enum bgp_family family)
{
	struct addr own = bgp_attrs_next_hop(a);
	bool fits = family != BGP_IPV4_UNICAST || addr_is_v4(&own) || e->v6_next_hop;
	return e->ibgp && fits && !addr_is_link_local(&own) ? own : e->next_hop_self[family];
}

static struct bgp_export export_to(unsigned context)
{
	struct addr v6 = {{0xfd, [15] = 9}}, link_local = {{0xfe, 0x80, [15] = 9}};
	return (struct bgp_export){
		.ibgp = context & BGP_ATTR_IBGP, .as4 = !(context & BGP_ATTR_AS2), .local_asn = LOCAL_AS,
		.v6_next_hop = context & BGP_ATTR_V6_NEXT_HOP,
		.next_hop_self = {context & BGP_ATTR_V6_NEXT_HOP ? v6 : addr_from_v4(0x0a000002), v6},
		.link_local_self = link_local,
	};
}

static void receive(const struct bgp_attrs *a, const struct bgp_export *e, const uint8_t *msg, size_t len,
		    const struct bgp_routes *routes, size_t sent)
{
	enum bgp_family family = routes->family;
	struct bgp_update_context ctx = {.attrs = &table, .ibgp = e->ibgp, .as4 = e->as4, .peer_asn = LOCAL_AS,
					 .v6_next_hop = e->v6_next_hop, .families = {true, true}};
	ctx.add_path[family] = routes->path_ids;
	struct addr expected = next_hop_after(a, e, family), got;
	unsigned part = family == BGP_IPV4_UNICAST && addr_is_v4(&expected) ? 0 : 1;
	struct bgp_frame f;
	struct bgp_fault fault = {0};
	struct bgp_update u;
	require(bgp_frame_next(msg, len, BGP_MESSAGE_MAX, &f, &fault) == 1 && f.len == len);
	bgp_update_decode(&ctx, f.body, f.body_len, &u);
	require(u.fault.reaction == BGP_FINE && u.part[part].attrs && !u.part[!part].attrs && !u.foreign_family);
	check_set(u.part[part].attrs, e->ibgp ? BGP_ATTR_IBGP : 0);
	compare(a, u.part[part].attrs, e);
	got = bgp_attrs_next_hop(u.part[part].attrs);
	require(addr_eq(&got, &expected));
	require(same_routes(u.part[part].announced, routes, sent));
	bgp_update_fini(&u);
}

static void send_to(const struct bgp_attrs *a, unsigned context, const struct bgp_routes *routes)
{
	struct bgp_export e = export_to(context);
	struct bgp_words words;
	uint8_t block[BGP_MESSAGE_MAX], msg[BGP_MESSAGE_MAX];
	size_t used, len = 0;
	if (bgp_attrs_export(a, &e, routes->family, block, sizeof block, &words))
		len = bgp_update_encode_announce(msg, sizeof msg, &words, routes, &used);
	if (len) {
		receive(a, &e, msg, len, routes, used);
		return;
	}
	/* too long: our AS, our next hops, and a 2-byte path comes with its long form where it has a long number */
	require(a->wire_len + 2u * a->as_path_len + 200u > BGP_MESSAGE_MAX);
}

/* With everything that a session may ask for: whatever is said then is understood at the other end. */
static void send_rewritten(const struct bgp_attrs *a, unsigned context, enum bgp_family family)
{
	struct bgp_export e = export_to(context);
	struct bgp_words words;
	struct bgp_attr_block out;
	struct bgp_attrs *classic, *mp;
	uint8_t block[BGP_MESSAGE_MAX];
	e.own_next_hop = e.as_override = e.remove_private = e.draining = true;
	e.peer_asn = PEER_AS;
	e.originator = e.cluster_id = 7;
	if (!bgp_attrs_export(a, &e, family, block, sizeof block, &words))
		return;
	bgp_attrs_decode(&table, context, cursor_of(block, words.len), family == BGP_IPV4_UNICAST, &out, &classic, &mp);
	require(out.fault.reaction == BGP_FINE && out.complete && !out.reach.present);
	if (classic)
		check_set(classic, context & BGP_ATTR_IBGP);
	require(!classic || (classic->graceful_shutdown && classic->local_pref == 0));
	bgp_attrs_unref(classic);
	bgp_attrs_unref(mp);
}

static void send_everywhere(const struct bgp_attrs *a, struct bgp_nlri n)
{
	static struct collected all;
	struct bgp_routes routes = {n.family, collect(n, &all), all.prefixes, n.add_path ? all.path_ids : NULL};
	for (unsigned context = 0; routes.count && context < 16; context++)
		if (!(context & BGP_ATTR_EDITED))
			send_to(a, context, &routes);
	for (unsigned context = 0; routes.count && context < BGP_ATTR_EDITED; context++)
		send_rewritten(a, context, n.family);
}

/* --- UPDATEs */

static void check_update(const struct bgp_update_context *ctx, const struct bgp_update *u)
{
	bool announces = false;
	for (unsigned i = 0; i < BGP_UPDATE_PARTS; i++) {
		bool part = cursor_left(&u->part[i].announced.bytes);
		const struct bgp_attrs *a = u->part[i].attrs;
		announces |= part;
		check_nlri(u->part[i].announced);
		check_nlri(u->part[i].withdrawn);
		require(ctx->families[u->part[i].announced.family] || !part);
		require((a != NULL) == (part && u->fault.reaction < BGP_WITHDRAW));
		if (!a)
			continue;
		require(ctx->ibgp || a->first_as == ctx->peer_asn);
		check_set(a, ctx->ibgp ? BGP_ATTR_IBGP : 0);
		send_everywhere(a, u->part[i].announced);
	}
	require(u->fault.reaction != BGP_WITHDRAW || announces || u->foreign_family);
	require(!u->end_of_rib || (!announces && u->fault.reaction == BGP_FINE && ctx->families[u->end_of_rib_family]));
}

static void try_update(const struct bgp_update_context *ctx, const uint8_t *body, size_t len)
{
	struct bgp_update u, again;
	bgp_update_decode(ctx, body, len, &u);
	require(u.fault.reaction == BGP_FINE || (u.fault.text && u.fault.data_len <= BGP_FAULT_DATA_MAX));
	if (u.fault.reaction == BGP_RESET) {
		require(!u.part[0].attrs && !u.part[1].attrs && !u.end_of_rib);
	} else {
		check_update(ctx, &u);
		/* the same once more, now that its sets are known */
		bgp_update_decode(ctx, body, len, &again);
		require(again.fault.reaction == u.fault.reaction && again.end_of_rib == u.end_of_rib);
		for (unsigned i = 0; i < BGP_UPDATE_PARTS; i++)
			require(again.part[i].attrs == u.part[i].attrs);
		bgp_update_fini(&again);
	}
	bgp_update_fini(&u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size || size > BGP_EXTENDED_MAX - BGP_HEADER_LEN + 1)
		return 0;
	bgp_attr_table_init(&table);
	struct bgp_update_context ctx = {.attrs = &table, .ibgp = data[0] & 1, .as4 = !(data[0] & 2), .peer_asn = PEER_AS,
					 .v6_next_hop = data[0] & 8, .on_link = data[0] & 16,
					 .families = {[BGP_IPV4_UNICAST] = true, [BGP_IPV6_UNICAST] = data[0] & 4},
					 .add_path = {[BGP_IPV4_UNICAST] = data[0] & 32, [BGP_IPV6_UNICAST] = data[0] & 64}};
	struct bgp_attrs *local = bgp_attrs_local(&table);
	try_update(&ctx, data + 1, size - 1);
	bgp_attrs_unref(local);
	require(table.sets.count == 0 && live_count(LIVE_ATTRS) == 0);
	bgp_attr_table_fini(&table);
	return 0;
}
