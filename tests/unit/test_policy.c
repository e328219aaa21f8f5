/* Written policies: rules against subjects (verdict, deciding rule, attributes), the editing of attribute sets, and
 * what a set that was edited looks like to a peer.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bgp/update.h"
#include "rib/policy.h"
#include "src/base/live.h"
#include "src/base/random.h"
#include "tests/unit/run_suite.h"

/* the tables of cases leave out what is zero */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

static struct bgp_attr_table attrs;

static uint32_t random_below(struct random *r, uint32_t n)
{
	return random_next(r) % n;
}

static void setup(void)
{
	bgp_attr_table_init(&attrs);
}

static void teardown(void)
{
	bgp_attr_table_fini(&attrs);
	for (unsigned k = 0; k < LIVE_KINDS; k++)
		ck_assert_msg(live_count((enum live_kind)k) == 0, "%zu %s left", live_count((enum live_kind)k),
			      live_name((enum live_kind)k));
}

enum { LIST = 6 };

/* A received route, as a table of cases likes it; zero ends a list. */
struct how {
	uint32_t path[LIST], communities[LIST];
	const char *next_hop; /* NULL: 10.0.0.2; with ':' it comes in MP_REACH_NLRI */
	uint32_t med, local_pref;
	bool ibgp, unknown;   /* unknown: with attributes that we do not know */
};

static size_t length(const uint32_t *list)
{
	size_t n = 0;
	while (n < LIST && list[n])
		n++;
	return n;
}

static void put_list(struct writer *w, const uint32_t *list)
{
	for (size_t i = 0; i < length(list); i++)
		writer_u32(w, list[i]);
}

static struct addr address(const char *text)
{
	struct addr a;
	ck_assert(addr_parse(text, &a));
	return a;
}

static struct prefix prefix(const char *text)
{
	struct prefix p;
	ck_assert_int_eq(prefix_parse(text, &p), PREFIX_OK);
	return p;
}

static void put_mp_reach(struct writer *w, const struct addr *nh)
{
	writer_bytes(w, (const uint8_t[]){0x80, 14, 16 + 5 + 9, 0, 2, 1, 16}, 7);
	writer_bytes(w, nh->b, 16);
	writer_bytes(w, (const uint8_t[]){0, 64, 0xfd, 1, 2, 3, 4, 5, 6, 7}, 10);
}

static size_t write_block(const struct how *h, uint8_t *wire, size_t cap)
{
	struct writer w = writer_of(wire, cap);
	uint8_t n = (uint8_t)length(h->path), c = (uint8_t)length(h->communities);
	struct addr nh = address(h->next_hop ? h->next_hop : "10.0.0.2");
	writer_bytes(&w, (const uint8_t[]){0x40, 1, 1, 0, 0x40, 2, (uint8_t)(n ? 2 + 4 * n : 0)}, 7);
	if (n)
		writer_bytes(&w, (const uint8_t[]){2, n}, 2);
	put_list(&w, h->path);
	if (addr_is_v4(&nh)) {
		writer_bytes(&w, (const uint8_t[]){0x40, 3, 4}, 3);
		writer_bytes(&w, nh.b + 12, 4);
	}
	if (h->med) {
		writer_bytes(&w, (const uint8_t[]){0x80, 4, 4}, 3);
		writer_u32(&w, h->med);
	}
	if (h->local_pref) {
		writer_bytes(&w, (const uint8_t[]){0x40, 5, 4}, 3);
		writer_u32(&w, h->local_pref);
	}
	if (c) {
		writer_bytes(&w, (const uint8_t[]){0xc0, 8, (uint8_t)(4 * c)}, 3);
		put_list(&w, h->communities);
	}
	if (h->unknown)
		writer_bytes(&w, (const uint8_t[]){0xe0, 99, 3, 1, 2, 3}, 6);
	if (!addr_is_v4(&nh))
		put_mp_reach(&w, &nh);
	ck_assert(writer_ok(&w));
	return writer_len(&w);
}

static struct bgp_attrs *make(const struct how *h)
{
	uint8_t wire[512];
	size_t len = write_block(h, wire, sizeof wire);
	struct bgp_attrs *a, *mp;
	struct bgp_attr_block block;
	bgp_attrs_decode(&attrs, h->ibgp ? BGP_ATTR_IBGP : 0, cursor_of(wire, len), !h->next_hop || !strchr(h->next_hop, ':'),
			 &block, &a, &mp);
	ck_assert_msg(a || mp, "%s", block.fault.text);
	return a ? a : mp;
}

/* --- editing sets */

#define C(high, low) ((uint32_t)(high) << 16 | (low))

struct edit_case {
	const char *what;
	struct how from;
	struct {
		uint32_t local_pref, med; /* 0: not */
		const char *next_hop;     /* NULL: not */
		uint32_t prepend[LIST], add[LIST], remove[LIST];
		bool replace, wildcard;   /* wildcard: remove is of the upper halves */
	} edit;
	struct how to; /* as the peer would have said it; equal as a pointer where .same is set */
	bool same;     /* one that could have been received */
};

static const struct edit_case edit_cases[] = {
	{"nothing", {{64512}, {C(64512, 100)}}, {0}, {{64512}, {C(64512, 100)}}, true},
	{"prepend", {{64512}}, {.prepend = {7, 8}}, {{7, 8, 64512}}, true},
	{"prepend to nothing", {.ibgp = true}, {.prepend = {7, 8}}, {{7, 8}, .ibgp = true}, true},
	{"add", {{64512}}, {.add = {C(2, 2), C(1, 1)}}, {{64512}, {C(1, 1), C(2, 2)}}, true},
	{"add what is there", {{64512}, {C(2, 2), C(1, 1)}}, {.add = {C(1, 1)}}, {{64512}, {C(2, 2), C(1, 1)}}, true},
	{"add twice", {{64512}, {C(2, 2)}}, {.add = {C(1, 1), C(1, 1)}}, {{64512}, {C(1, 1), C(2, 2)}}, true},
	{"duplicates go with a change", {{64512}, {C(2, 2), C(2, 2)}}, {.add = {C(1, 1)}}, {{64512}, {C(1, 1), C(2, 2)}}, true},
	{"remove", {{64512}, {C(3, 3), C(2, 2), C(1, 1)}}, {.remove = {C(2, 2)}}, {{64512}, {C(1, 1), C(3, 3)}}, true},
	{"remove the last", {{64512}, {C(2, 2)}}, {.remove = {C(2, 2)}}, {{64512}}, true},
	{"remove by wildcard", {{64512}, {C(2, 1), C(3, 1), C(2, 9)}}, {.remove = {C(2, 0)}, .wildcard = true},
	 {{64512}, {C(3, 1)}}, true},
	{"remove, then add", {{64512}, {C(2, 2)}}, {.remove = {C(2, 2)}, .add = {C(2, 2)}}, {{64512}, {C(2, 2)}}, true},
	{"replace", {{64512}, {C(2, 2), C(1, 1)}}, {.replace = true, .add = {C(9, 9)}}, {{64512}, {C(9, 9)}}, true},
	{"replace by nothing", {{64512}, {C(2, 2)}}, {.replace = true}, {{64512}}, true},
	{"med", {{64512}, .med = 5}, {.med = 7}, {{64512}, .med = 7}, true},
	{"med where none was", {{64512}, {C(2, 2)}}, {.med = 7}, {{64512}, {C(2, 2)}, .med = 7}, true},
	{"local-pref inside", {{64512}, .ibgp = true, .local_pref = 50}, {.local_pref = 70},
	 {{64512}, .ibgp = true, .local_pref = 70}, true},
	{"local-pref outside is the default", {{64512}}, {.local_pref = 100}, {{64512}}, true},
	{"local-pref outside", {{64512}}, {.local_pref = 70}, {{64512}, .local_pref = 70}, false},
	{"next hop", {{64512}}, {.next_hop = "10.0.0.9"}, {{64512}, .next_hop = "10.0.0.9"}, true},
	{"next hop over MP", {{64512}, .next_hop = "fd00::2"}, {.next_hop = "fd00::9"}, {{64512}, .next_hop = "fd00::9"}, true},
	{"unknown ones stay", {{64512}, .unknown = true}, {.add = {C(1, 1)}, .med = 3, .next_hop = "10.0.0.9"},
	 {{64512}, {C(1, 1)}, .med = 3, .next_hop = "10.0.0.9", .unknown = true}, true},
};

static struct community standard(uint32_t value)
{
	return (struct community){COMMUNITY_STANDARD, {value}};
}

static struct community_match pattern(uint32_t value, uint32_t mask)
{
	return (struct community_match){standard(value), {mask, UINT32_MAX, UINT32_MAX}};
}

static size_t to_matches(const struct edit_case *c, struct community_match out[LIST])
{
	size_t n = length(c->edit.remove);
	for (size_t i = 0; i < n; i++)
		out[i] = pattern(c->edit.remove[i], c->edit.wildcard ? 0xffff0000 : 0xffffffff);
	return n;
}

static struct bgp_attrs *run_edit(const struct edit_case *c, struct bgp_attrs *from)
{
	struct community_match remove[LIST];
	struct community add[LIST];
	for (size_t i = 0; i < LIST; i++)
		add[i] = standard(c->edit.add[i]);
	struct bgp_attr_edit e = {.has_local_pref = c->edit.local_pref,
				  .local_pref = c->edit.local_pref,
				  .has_med = c->edit.med,
				  .med = c->edit.med,
				  .has_next_hop = c->edit.next_hop,
				  .replace = c->edit.replace,
				  .prepend = c->edit.prepend,
				  .prepend_count = length(c->edit.prepend),
				  .add = add,
				  .add_count = length(c->edit.add),
				  .remove = remove,
				  .remove_count = to_matches(c, remove)};
	if (c->edit.next_hop)
		e.next_hop = address(c->edit.next_hop);
	return bgp_attrs_edit(from, &e);
}

static void same_fields(const char *what, const struct bgp_attrs *a, const struct bgp_attrs *b)
{
	char ta[256], tb[256];
	ck_assert_str_eq(bgp_attrs_path_text(a, ta, sizeof ta), bgp_attrs_path_text(b, tb, sizeof tb));
	ck_assert_str_eq(bgp_attrs_communities_text(a, ta, sizeof ta), bgp_attrs_communities_text(b, tb, sizeof tb));
	ck_assert_msg(a->as_count == b->as_count && a->first_as == b->first_as && a->med == b->med &&
		      a->has_med == b->has_med && a->no_export == b->no_export && a->no_advertise == b->no_advertise &&
		      addr_eq((struct addr[]){bgp_attrs_next_hop(a)}, (struct addr[]){bgp_attrs_next_hop(b)}), "%s", what);
}

START_TEST(edits)
{
	const struct edit_case *c = &edit_cases[_i];
	struct bgp_attrs *from = make(&c->from), *want = make(&c->to), *got = run_edit(c, from), *again = run_edit(c, from);
	ck_assert_ptr_nonnull(got);
	same_fields(c->what, got, want);
	ck_assert_ptr_eq(got, again);
	ck_assert_msg((got == want) == c->same, "%s", c->what);
	if (c->edit.local_pref)
		ck_assert_uint_eq(got->local_pref, c->edit.local_pref);
	bgp_attrs_unref(from);
	bgp_attrs_unref(want);
	bgp_attrs_unref(got);
	bgp_attrs_unref(again);
}
END_TEST

/* What a policy preferred must not be what an external peer can say by itself: RFC 7606 section 7.5. */
START_TEST(a_peer_cannot_say_what_a_policy_set)
{
	static const struct edit_case c = {.from = {{64512}}, .edit = {.local_pref = 700}};
	static const struct how said = {{64512}, .local_pref = 700};
	struct bgp_attrs *from = make(&c.from), *edited = run_edit(&c, from), *received = make(&said);
	ck_assert_uint_eq(edited->local_pref, 700);
	ck_assert_uint_eq(received->local_pref, BGP_DEFAULT_LOCAL_PREF);
	ck_assert_ptr_eq(received, from);
	bgp_attrs_unref(from);
	bgp_attrs_unref(edited);
	bgp_attrs_unref(received);
}
END_TEST

START_TEST(well_known_communities_are_noticed)
{
	static const struct edit_case add = {.from = {{64512}}, .edit = {.add = {0xffffff01, 0xffffff02}}};
	static const struct edit_case drop = {.edit = {.remove = {0xffffff01}}};
	struct bgp_attrs *from = make(&add.from), *with = run_edit(&add, from), *less = run_edit(&drop, with);
	ck_assert(!from->no_export && with->no_export && with->no_advertise);
	ck_assert(!less->no_export && less->no_advertise);
	bgp_attrs_unref(from);
	bgp_attrs_unref(with);
	bgp_attrs_unref(less);
}
END_TEST

/* Segments hold 255 at most. */
START_TEST(prepending_fills_segments)
{
	static const size_t rounds[] = {1, 64, 64, 64, 64, 64, 64, 64};
	uint32_t asn[64];
	struct bgp_attrs *a = make(&(struct how){{64512}});
	size_t total = 1;
	for (size_t i = 0; i < sizeof asn / sizeof *asn; i++)
		asn[i] = (uint32_t)(1000 + i);
	for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
		struct bgp_attr_edit e = {.prepend = asn, .prepend_count = rounds[i]};
		struct bgp_attrs *b = bgp_attrs_edit(a, &e);
		ck_assert_ptr_nonnull(b);
		bgp_attrs_unref(a);
		a = b;
		total += rounds[i];
		ck_assert_uint_eq(a->as_count, total);
		ck_assert_uint_eq(a->first_as, 1000);
		ck_assert_uint_eq(bgp_attrs_origin_as(a), 64512);
		ck_assert_uint_eq(bgp_attrs_count_as(a, 1000), i + 1);
	}
	ck_assert_uint_eq(a->as_path_len, 4 * total + 2 * ((total + 254) / 255));
	bgp_attrs_unref(a);
}
END_TEST

START_TEST(too_long_to_keep)
{
	uint32_t asn[64] = {1};
	struct bgp_attr_edit e = {.prepend = asn, .prepend_count = 64};
	struct bgp_attrs *a = make(&(struct how){{64512}}), *b;
	size_t rounds = 0;
	for (size_t i = 0; i < 64; i++)
		asn[i] = 5;
	for (; (b = bgp_attrs_edit(a, &e)); a = b, rounds++)
		bgp_attrs_unref(a);
	ck_assert_uint_gt(rounds, 10);
	bgp_attrs_unref(a);
}
END_TEST

/* Any edit of any set: what comes out is what a decoder would have made of the same bytes. */
START_TEST(edits_at_random)
{
	struct random r = {(uint64_t)_i + 1};
	struct edit_case c = {0};
	for (unsigned i = 0; i < LIST - 1; i++) {
		c.from.path[i] = i == 0 || random_below(&r, 2) ? 1 + (uint32_t)random_below(&r, 4) : 0;
		c.from.communities[i] = (uint32_t)random_below(&r, 4) << 16;
		c.edit.add[i] = (uint32_t)random_below(&r, 4) << 16;
		c.edit.remove[i] = (uint32_t)random_below(&r, 5) << 16;
		c.edit.prepend[i] = (uint32_t)random_below(&r, 3);
	}
	c.from.med = (uint32_t)random_below(&r, 2);
	c.from.unknown = random_below(&r, 2);
	c.edit.med = (uint32_t)random_below(&r, 3);
	c.edit.replace = random_below(&r, 4) == 0;
	struct bgp_attrs *from = make(&c.from), *got = run_edit(&c, from), *classic, *mp;
	struct bgp_attr_block block;
	ck_assert_ptr_nonnull(got);
	uint8_t wire[1024];
	memcpy(wire, got->wire, got->wire_len);
	struct bgp_attr_table other;
	bgp_attr_table_init(&other);
	bgp_attrs_decode(&other, 0, cursor_of(wire, got->wire_len), true, &block, &classic, &mp);
	ck_assert_int_eq(block.fault.reaction, BGP_FINE);
	same_fields("random", got, classic);
	ck_assert_uint_eq(classic->wire_len, got->wire_len);
	ck_assert_mem_eq(classic->wire, got->wire, got->wire_len);
	bgp_attrs_unref(classic);
	bgp_attrs_unref(from);
	bgp_attrs_unref(got);
	bgp_attr_table_fini(&other);
}
END_TEST

/* --- what a peer is told */

static bool block_has(const struct bgp_words *w, uint8_t code)
{
	struct cursor c = cursor_of(w->block, w->len);
	while (cursor_left(&c) && cursor_ok(&c)) {
		uint8_t flags = cursor_u8(&c), at = cursor_u8(&c);
		size_t len = flags & 0x10 ? cursor_u16(&c) : cursor_u8(&c);
		cursor_sub(&c, len);
		if (at == code)
			return true;
	}
	return false;
}

START_TEST(med_and_next_hop_go_out_where_a_policy_set_them)
{
	static const struct edit_case c = {.from = {{64512}}, .edit = {.med = 5, .next_hop = "10.0.0.9"}};
	struct bgp_export e = {.as4 = true, .local_asn = 64701};
	struct bgp_words w;
	uint8_t out[512];
	struct bgp_attrs *from = make(&c.from), *got = run_edit(&c, from);
	struct addr self = address("10.0.0.1"), given = address("10.0.0.9");
	e.next_hop_self[BGP_IPV4_UNICAST] = self;
	ck_assert(bgp_attrs_export(got, &e, BGP_IPV4_UNICAST, out, sizeof out, &w));
	ck_assert(!block_has(&w, 4) && addr_eq(&w.next_hop, &self));
	e.keep_med = e.keep_next_hop = true;
	ck_assert(bgp_attrs_export(got, &e, BGP_IPV4_UNICAST, out, sizeof out, &w));
	ck_assert(block_has(&w, 4) && !block_has(&w, 5) && addr_eq(&w.next_hop, &given));
	bgp_attrs_unref(from);
	bgp_attrs_unref(got);
}
END_TEST

/* --- rules */

enum { RULES = 4 };

struct rule_text {
	const char *prefixes[3]; /* "PREFIX MIN MAX" as lengths; PREFIX alone: exactly */
	struct { uint32_t value, mask; } communities[2];
	uint32_t origin_as;
	uint16_t path_min, path_max;
	const char *next_hop, *peer;
	int family, source;      /* 1 more than the value; 0: any */
	uint32_t local_pref, med, prepend, add;
	const char *set_next_hop;
	enum rib_action action;
};

struct rule_case {
	const char *what;
	struct rule_text rules[RULES];
	const char *prefix, *peer; /* NULL: 10.244.3.0/24, tor */
	enum rib_source_kind source;
	struct how route;
	enum rib_verdict verdict;
	size_t rule;
	uint32_t local_pref;
	const char *path, *communities;
};

#define ALL {.action = RIB_ACTION_ACCEPT}
#define ANY_OF_64512 {{C(64512, 0), 0xffff0000}}

static const struct rule_case rule_cases[] = {
	{"no rule: rejected", {{.prefixes = {"1.0.0.0/8"}}}, .verdict = RIB_REJECT, .rule = 1},
	{"everything", {ALL}, .verdict = RIB_ACCEPT},
	{"the first that applies decides", {{.action = RIB_ACTION_REJECT}, ALL}, .verdict = RIB_REJECT, .rule = 0},
	{"an exact prefix", {{.prefixes = {"10.244.3.0/24"}, .action = RIB_ACTION_ACCEPT}}, .verdict = RIB_ACCEPT},
	{"an exact prefix is no cover", {{.prefixes = {"10.244.0.0/16"}, .action = RIB_ACTION_ACCEPT}}, .verdict = RIB_REJECT, .rule = 1},
	{"le", {{.prefixes = {"9.0.0.0/8", "10.244.0.0/16 16 24"}, .action = RIB_ACTION_ACCEPT}}, .verdict = RIB_ACCEPT},
	{"le, one too long", {{.prefixes = {"10.244.0.0/16 16 23"}, .action = RIB_ACTION_ACCEPT}}, .verdict = RIB_REJECT, .rule = 1},
	{"ge", {{.prefixes = {"10.244.0.0/16 24 32"}, .action = RIB_ACTION_ACCEPT}}, .verdict = RIB_ACCEPT},
	{"ge, one too short", {{.prefixes = {"10.244.0.0/16 25 32"}, .action = RIB_ACTION_ACCEPT}}, .verdict = RIB_REJECT, .rule = 1},
	{"IPv6 ranges", {{.prefixes = {"fd10::/16 48 64"}, .action = RIB_ACTION_ACCEPT}}, "fd10:244:3::/64", .verdict = RIB_ACCEPT},
	{"0.0.0.0/0 is not ::/0", {{.prefixes = {"0.0.0.0/0 0 32"}, .action = RIB_ACTION_ACCEPT}}, "fd10:244:3::/64",
	 .verdict = RIB_REJECT, .rule = 1},
	{"::/0 is not 0.0.0.0/0", {{.prefixes = {"::/0 0 128"}, .action = RIB_ACTION_ACCEPT}}, .verdict = RIB_REJECT, .rule = 1},
	{"next hop ::/0 is not IPv4", {{.next_hop = "::/0", .action = RIB_ACTION_ACCEPT}}, .verdict = RIB_REJECT, .rule = 1},
	{"a community", {{.communities = {{C(64512, 100), UINT32_MAX}}, .action = RIB_ACTION_ACCEPT}},
	 .route = {{64512}, {C(1, 1), C(64512, 100)}}, .verdict = RIB_ACCEPT},
	{"another community", {{.communities = {{C(64512, 100), UINT32_MAX}}, .action = RIB_ACTION_ACCEPT}},
	 .route = {{64512}, {C(64512, 101)}}, .verdict = RIB_REJECT, .rule = 1},
	{"any community of an AS", {{.communities = ANY_OF_64512, .action = RIB_ACTION_ACCEPT}},
	 .route = {{64512}, {C(64512, 101)}}, .verdict = RIB_ACCEPT},
	{"no community at all", {{.communities = ANY_OF_64512, .action = RIB_ACTION_ACCEPT}}, .verdict = RIB_REJECT, .rule = 1},
	{"origin AS", {{.origin_as = 64600, .action = RIB_ACTION_ACCEPT}}, .route = {{64512, 64600}}, .verdict = RIB_ACCEPT},
	{"not the neighbour's AS", {{.origin_as = 64512, .action = RIB_ACTION_ACCEPT}}, .route = {{64512, 64600}},
	 .verdict = RIB_REJECT, .rule = 1},
	{"path length", {{.path_min = 2, .path_max = 3, .action = RIB_ACTION_ACCEPT}}, .route = {{1, 2}}, .verdict = RIB_ACCEPT},
	{"path too long", {{.path_min = 1, .path_max = 1, .action = RIB_ACTION_ACCEPT}}, .route = {{1, 2}}, .verdict = RIB_REJECT, .rule = 1},
	{"path too short", {{.path_min = 3, .path_max = 9, .action = RIB_ACTION_ACCEPT}}, .route = {{1, 2}}, .verdict = RIB_REJECT, .rule = 1},
	{"next hop", {{.next_hop = "10.0.0.0/30", .action = RIB_ACTION_ACCEPT}}, .verdict = RIB_ACCEPT},
	{"next hop elsewhere", {{.next_hop = "10.0.1.0/30", .action = RIB_ACTION_ACCEPT}}, .verdict = RIB_REJECT, .rule = 1},
	{"peer", {{.peer = "tor", .action = RIB_ACTION_ACCEPT}}, .verdict = RIB_ACCEPT},
	{"another peer", {{.peer = "tor-b", .action = RIB_ACTION_ACCEPT}}, .verdict = RIB_REJECT, .rule = 1},
	{"family", {{.family = 1 + BGP_IPV6_UNICAST, .action = RIB_ACTION_ACCEPT}, {.family = 1 + BGP_IPV4_UNICAST, .action = RIB_ACTION_ACCEPT}},
	 .verdict = RIB_ACCEPT, .rule = 1},
	{"source", {{.source = 1 + RIB_SOURCE_LOCAL, .action = RIB_ACTION_ACCEPT}}, .source = RIB_SOURCE_BGP, .verdict = RIB_REJECT, .rule = 1},
	{"all matches must hold", {{.communities = ANY_OF_64512, .prefixes = {"10.244.3.0/24"}, .action = RIB_ACTION_ACCEPT}},
	 .verdict = RIB_REJECT, .rule = 1},
	{"sets", {{.local_pref = 200, .prepend = 9, .add = C(7, 7), .action = RIB_ACTION_ACCEPT}}, .verdict = RIB_ACCEPT,
	 .local_pref = 200, .path = "9 64512", .communities = "7:7"},
	{"next goes on with what was set",
	 {{.local_pref = 200, .add = C(7, 7), .action = RIB_ACTION_NEXT},
	  {.communities = {{C(8, 8), UINT32_MAX}}},
	  {.communities = {{C(7, 7), UINT32_MAX}}, .prepend = 9, .action = RIB_ACTION_ACCEPT}},
	 .verdict = RIB_ACCEPT, .rule = 2, .local_pref = 200, .path = "9 64512", .communities = "7:7"},
	{"next to the end is a reject", {{.local_pref = 200, .action = RIB_ACTION_NEXT}}, .verdict = RIB_REJECT, .rule = 1},
	{"well-known names in texts", {{.add = 0xffffff01, .action = RIB_ACTION_ACCEPT}}, .verdict = RIB_ACCEPT,
	 .communities = "no-export"},
};

static size_t rule_count(const struct rule_case *c)
{
	static const struct rule_text none;
	size_t n = RULES;
	while (n > 1 && memcmp(&c->rules[n - 1], &none, sizeof none) == 0)
		n--;
	return n;
}

/* One value in memory of its own, as a rule wants it. */
static void *own(const void *value, size_t size)
{
	void *p = malloc(size);
	ck_assert_ptr_nonnull(p);
	return memcpy(p, value, size);
}

static struct rib_prefix_range range(const char *text)
{
	char p[64];
	unsigned min, max;
	struct rib_prefix_range r;
	int n = sscanf(text, "%63s %u %u", p, &min, &max);
	r.prefix = prefix(p);
	unsigned base = prefix_is_v4(&r.prefix) ? ADDR_V4_BITS : 0;
	r.min = (uint8_t)(n == 3 ? base + min : r.prefix.len);
	r.max = (uint8_t)(n == 3 ? base + max : r.prefix.len);
	return r;
}

static void compile_match(const struct rule_text *t, struct rib_rule *r)
{
	r->prefixes = calloc(3, sizeof *r->prefixes);
	for (; r->prefix_count < 3 && t->prefixes[r->prefix_count]; r->prefix_count++)
		r->prefixes[r->prefix_count] = range(t->prefixes[r->prefix_count]);
	r->any.at = calloc(2, sizeof *r->any.at);
	for (; r->any.count < 2 && t->communities[r->any.count].mask; r->any.count++)
		r->any.at[r->any.count] = pattern(t->communities[r->any.count].value, t->communities[r->any.count].mask);
	r->origin_as = own(&t->origin_as, sizeof t->origin_as);
	r->origin_as_count = t->origin_as != 0;
	struct prefix nh = prefix(t->next_hop ? t->next_hop : "10.0.0.0/8");
	r->next_hops = own(&nh, sizeof nh);
	r->next_hop_count = t->next_hop != NULL;
	char *name = t->peer ? strdup(t->peer) : NULL;
	r->peers = own(&name, sizeof name);
	r->peer_count = t->peer != NULL;
	r->has_family = t->family;
	r->family = (enum bgp_family)(t->family ? t->family - 1 : 0);
	r->has_source = t->source;
	r->source = (enum rib_source_kind)(t->source ? t->source - 1 : 0);
	r->path_length = (struct rib_bounds){t->path_max, t->path_min, t->path_max};
}

static void compile_sets(const struct rule_text *t, struct rib_rule *r)
{
	r->edit.has_local_pref = t->local_pref;
	r->edit.local_pref = t->local_pref;
	r->edit.has_med = t->med;
	r->edit.med = t->med;
	r->prepend = own(&t->prepend, sizeof t->prepend);
	r->edit.prepend_count = t->prepend != 0;
	struct community add = standard(t->add);
	r->add = own(&add, sizeof add);
	r->edit.add_count = t->add != 0;
	r->edit.has_next_hop = t->set_next_hop;
	if (t->set_next_hop)
		r->edit.next_hop = address(t->set_next_hop);
	r->action = t->action;
}

static struct rib_policy *compile(const struct rule_text *rules, size_t n)
{
	struct rib_policy *p = rib_policy_new("test", n);
	for (size_t i = 0; i < n; i++) {
		compile_match(&rules[i], &p->rules[i]);
		compile_sets(&rules[i], &p->rules[i]);
	}
	rib_policy_finish(p);
	return p;
}

START_TEST(rules_decide)
{
	const struct rule_case *c = &rule_cases[_i];
	struct how how = c->route;
	char text[256];
	if (!how.path[0])
		how.path[0] = 64512;
	struct prefix at = prefix(c->prefix ? c->prefix : "10.244.3.0/24");
	struct rib_policy *p = compile(c->rules, rule_count(c));
	struct rib_policy_subject s = {&at, c->source, c->peer ? c->peer : "tor"};
	struct bgp_attrs *before = make(&how), *a = bgp_attrs_ref(before);
	struct rib_policy_trace trace;
	ck_assert_msg(rib_policy_run(p, &s, &a, &trace) == c->verdict, "%s", c->what);
	ck_assert_msg(trace.rule == c->rule, "%s: rule %zu", c->what, trace.rule);
	if (c->local_pref)
		ck_assert_uint_eq(a->local_pref, c->local_pref);
	if (c->path)
		ck_assert_str_eq(bgp_attrs_path_text(a, text, sizeof text), c->path);
	if (c->communities)
		ck_assert_str_eq(bgp_attrs_communities_text(a, text, sizeof text), c->communities);
	if (c->verdict == RIB_ACCEPT && !c->local_pref && !c->path && !c->communities)
		ck_assert_ptr_eq(a, before);
	bgp_attrs_unref(a);
	bgp_attrs_unref(before);
	rib_policy_free(p);
}
END_TEST

/* A next hop is for its own family, and the trace tells what a peer must be told. */
START_TEST(next_hop_of_one_family)
{
	static const struct rule_text rule = {.set_next_hop = "10.0.0.9", .med = 5, .action = RIB_ACTION_ACCEPT};
	struct rib_policy *p = compile(&rule, 1);
	struct prefix v4 = prefix("10.1.0.0/16"), v6 = prefix("fd00::/16");
	struct addr nine = address("10.0.0.9"), two = address("fd00::2");
	struct rib_policy_trace trace;
	struct bgp_attrs *a = make(&(struct how){{1}}), *b = make(&(struct how){{1}, .next_hop = "fd00::2"});
	ck_assert_int_eq(rib_policy_run(p, &(struct rib_policy_subject){.prefix = &v4}, &a, &trace), RIB_ACCEPT);
	ck_assert(addr_eq((struct addr[]){bgp_attrs_next_hop(a)}, &nine) && trace.next_hop_set && trace.med_set);
	ck_assert_int_eq(rib_policy_run(p, &(struct rib_policy_subject){.prefix = &v6}, &b, &trace), RIB_ACCEPT);
	ck_assert(addr_eq((struct addr[]){bgp_attrs_next_hop(b)}, &two) && !trace.next_hop_set && trace.med_set);
	bgp_attrs_unref(a);
	bgp_attrs_unref(b);
	rib_policy_free(p);
}
END_TEST

/* Own CIDRs and the default route: only the rule that names exactly them. */
START_TEST(guarded_prefixes)
{
	static const struct {
		const char *rule, *prefix;
		bool accepted;
	} cases[] = {
		{"0.0.0.0/0 0 32", "10.9.0.0/16", true},     {"10.0.0.0/8 8 32", "10.244.1.0/24", false},
		{"10.0.0.0/8 8 32", "10.244.1.7/32", false}, {"10.244.1.0/24", "10.244.1.0/24", true},
		{"10.244.1.7/32", "10.244.1.7/32", true},    {"10.244.1.0/24 24 32", "10.244.1.7/32", false},
		{"0.0.0.0/0", "0.0.0.0/0", true},            {"0.0.0.0/0 0 32", "0.0.0.0/0", true},
		{"::/0", "::/0", true},                      {"::/0 0 128", "fd00::/16", true},
		{NULL, "0.0.0.0/0", false},                  {NULL, "10.244.1.0/24", false},
		{NULL, "10.9.0.0/16", true},
	};
	struct prefix own_cidr = prefix("10.244.1.0/24");
	struct rib_import_context ctx = {.own = &own_cidr, .own_count = 1};
	struct bgp_attrs *a = make(&(struct how){{1}}), *out;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct rib_policy *p = compile(&(struct rule_text){.prefixes = {cases[i].rule}, .action = RIB_ACTION_ACCEPT}, 1);
		struct prefix at = prefix(cases[i].prefix);
		struct rib_policy_subject s = {&at, RIB_SOURCE_BGP, "tor"};
		struct rib_policy_cache cache = {0};
		ck_assert_msg(rib_import_run(p, &cache, &ctx, &s, a, &out) == cases[i].accepted, "%zu", i);
		ck_assert_msg(rib_import_keeps(RIB_IMPORT_WRITTEN, p, &ctx, &at) == cases[i].accepted, "%zu", i);
		rib_policy_cache_fini(&cache);
		rib_policy_free(p);
	}
	bgp_attrs_unref(a);
}
END_TEST

/* The cache never answers for another route: every answer is the one that it gives when asked anew. */
START_TEST(the_cache_is_invisible)
{
	static const char *const prefixes[] = {"10.244.3.0/24", "10.9.0.0/16", "fd00::/16"};
	static const char *const peers[] = {"tor", "tor-b"};
	static const struct how routes[] = {{{1}}, {{2}, {C(64512, 1)}}};
	const struct rule_text rules[3] = {
		{.prefixes = {_i & 1 ? "10.244.3.0/24" : NULL}, .peer = "tor", .local_pref = 200, .action = RIB_ACTION_ACCEPT},
		{.communities = ANY_OF_64512, .family = 1 + BGP_IPV4_UNICAST, .add = C(1, 1), .action = RIB_ACTION_ACCEPT},
		{.source = 1 + RIB_SOURCE_LOCAL, .med = 3, .action = RIB_ACTION_ACCEPT}};
	struct random r = {(uint64_t)_i + 7};
	struct rib_policy *p = compile(rules, 3);
	struct rib_policy_cache cache = {0};
	for (unsigned i = 0; i < 200; i++) {
		struct prefix at = prefix(prefixes[random_below(&r, 3)]);
		struct rib_policy_subject s = {&at, (enum rib_source_kind)random_below(&r, 2), peers[random_below(&r, 2)]};
		struct bgp_attrs *in = make(&routes[random_below(&r, 2)]), *anew = bgp_attrs_ref(in), *out;
		struct rib_policy_trace a, b;
		enum rib_verdict want = rib_policy_run(p, &s, &anew, &a);
		ck_assert_int_eq(rib_policy_run_cached(p, &cache, &s, in, &out, &b), want);
		ck_assert_ptr_eq(out, anew);
		ck_assert(a.rule == b.rule && a.med_set == b.med_set && a.next_hop_set == b.next_hop_set);
		bgp_attrs_unref(in);
		bgp_attrs_unref(anew);
	}
	rib_policy_cache_fini(&cache);
	rib_policy_free(p);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("policy");
	TCase *t = tcase_create("policy");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, edits, 0, sizeof edit_cases / sizeof *edit_cases);
	tcase_add_test(t, a_peer_cannot_say_what_a_policy_set);
	tcase_add_test(t, well_known_communities_are_noticed);
	tcase_add_test(t, prepending_fills_segments);
	tcase_add_test(t, too_long_to_keep);
	tcase_add_loop_test(t, edits_at_random, 0, 200);
	tcase_add_test(t, med_and_next_hop_go_out_where_a_policy_set_them);
	tcase_add_loop_test(t, rules_decide, 0, sizeof rule_cases / sizeof *rule_cases);
	tcase_add_test(t, next_hop_of_one_family);
	tcase_add_test(t, guarded_prefixes);
	tcase_add_loop_test(t, the_cache_is_invisible, 0, 8);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return run_suite(suite());
}
