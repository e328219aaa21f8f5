/* bgp/: attributes that are lists of elements, extended communities, confederations, and what a session may ask to be done
 * with a set on its way out. Rows as in test_bgp_update.c.
 */
#include "tests/unit/bgp_util.h"
#include "tests/unit/run_suite.h"

#define METRIC "01 000b 0000000000000064"
#define SID16 "fc000000000000000000000000000001"
#define SRV6_INFO "00" SID16 "00 0012 00" /* 21 bytes */

static const struct malformed malformed[] = {
	{"38", "AIGP from inside", IBGP, "O P N 80 1a 0b " METRIC, FINE, .kept = 26, .flags = 0x80},
	{"38", "AIGP with Transitive", IBGP, "O P N c0 1a 0b " METRIC, D(4), .gone = 26},
	{"38", "AIGP with Partial", IBGP, "O P N a0 1a 0b " METRIC, D(4), .gone = 26},
	{"38", "AIGP of an unknown element only", IBGP, "O P N 80 1a 0b 02 000b 0000000000000064", D(9), .gone = 26},
	{"38", "AIGP with an unknown element beside", IBGP, "O P N 80 1a 10 02 0005 abcd " METRIC, FINE, .kept = 26, .flags = 0x80},
	{"38", "AIGP with two metrics", IBGP, "O P N 80 1a 16 " METRIC METRIC, FINE, .kept = 26, .flags = 0x80},
	{"38", "AIGP element of 10 bytes", IBGP, "O P N 80 1a 0a 01 000a 00000000000064", D(9), .gone = 26},
	{"38", "AIGP element of 12 bytes", IBGP, "O P N 80 1a 0c 01 000c 000000000000000064", D(9), .gone = 26},
	{"38", "AIGP element that does not count itself", IBGP, "O P N 80 1a 0b 01 0008 0000000000000064", D(9), .gone = 26},
	{"38", "AIGP, empty", IBGP, "O P N 80 1a 00", D(9), .gone = 26},
	{"38", "AIGP with the highest metric", IBGP, "O P N 80 1a 0b 01 000b ffffffffffffffff", D(9), .gone = 26},
	{"38", "AIGP from outside is ignored", EBGP, "O P N 80 1a 0b " METRIC, FINE, .gone = 26},
	{"38", "broken AIGP from outside", EBGP, "O P N c0 1a 01 01", FINE, .gone = 26},
	{"39", "AIGP element longer than the attribute", IBGP, "O P N 80 1a 05 01 000b 0000", D(9), .gone = 26},
	{"39", "AIGP cut in its length", IBGP, "O P N 80 1a 02 01 00", D(9), .gone = 26},
	{"39", "AIGP whose second element is too long", IBGP, "O P N 80 1a 0e " METRIC "02 ffff", D(9), .gone = 26},
	{"39", "AIGP element of no length", IBGP, "O P N 80 1a 03 01 0000", D(9), .gone = 26},
	{"40", "PREFIX_SID from inside", IBGP, "O P N c0 28 0a 01 0007 00 0000 00000010", FINE, .kept = 40, .flags = 0xc0},
	{"40", "PREFIX_SID cut after the type", IBGP, "O P N c0 28 01 01", D(9), .gone = 40},
	{"40", "PREFIX_SID cut in the length", IBGP, "O P N c0 28 02 01 00", D(9), .gone = 40},
	{"40", "PREFIX_SID, empty", IBGP, "O P N c0 28 00", D(9), .gone = 40},
	{"40", "PREFIX_SID element runs over", IBGP, "O P N c0 28 05 01 0007 0000", D(9), .gone = 40},
	{"40", "PREFIX_SID label index of 6 bytes", IBGP, "O P N c0 28 09 01 0006 00 0000 000010", D(9), .gone = 40},
	{"40", "PREFIX_SID label index of 8 bytes", IBGP, "O P N c0 28 0b 01 0008 00 0000 0000001000", D(9), .gone = 40},
	{"40", "PREFIX_SID with an SRGB", IBGP, "O P N c0 28 0b 03 0008 0000 003e80001f40", FINE, .kept = 40, .flags = 0xc0},
	{"40", "PREFIX_SID with an SRGB cut", IBGP, "O P N c0 28 0a 03 0007 0000 003e80001f", D(9), .gone = 40},
	{"40", "PREFIX_SID with an SRGB without a range", IBGP, "O P N c0 28 05 03 0002 0000", D(9), .gone = 40},
	{"40", "PREFIX_SID of an unknown element", IBGP, "O P N c0 28 05 c8 0002 abcd", FINE, .kept = 40, .flags = 0xc0},
	{"40", "PREFIX_SID with the wrong flags", IBGP, "O P N 80 28 0a 01 0007 00 0000 00000010", W(4)},
	{"40", "PREFIX_SID from outside of our SR domain", EBGP, "O P N c0 28 0a 01 0007 00 0000 00000010", FINE, .gone = 40},
	{"40", "broken PREFIX_SID from outside", EBGP, "O P N c0 28 01 01", FINE, .gone = 40},
	{"41", "a service over SRv6", IBGP, "O P N c0 28 1c 05 0019 00 01 0015" SRV6_INFO, FINE, .kept = 40, .flags = 0xc0},
	{"41", "with the structure of its SID", IBGP, "O P N c0 28 25 05 0022 00 01 001e" SRV6_INFO "01 0006 202010000000", FINE, .kept = 40,
	 .flags = 0xc0},
	{"41", "structure of 5 bytes", IBGP, "O P N c0 28 24 05 0021 00 01 001d" SRV6_INFO "01 0005 2020100000", W(9)},
	{"41", "structure runs over", IBGP, "O P N c0 28 1f 05 001c 00 01 0018" SRV6_INFO "01 0006", W(9)},
	{"41", "SID information of 20 bytes", IBGP, "O P N c0 28 1b 05 0018 00 01 0014 00" SID16 "00 0012", W(9)},
	{"41", "SID information runs over its service", IBGP, "O P N c0 28 1c 05 0019 00 01 0016" SRV6_INFO, W(9)},
	{"41", "an empty service", IBGP, "O P N c0 28 03 05 0000", W(9)},
	{"41", "a broken layer 2 service", IBGP, "O P N c0 28 06 06 0003 00 01 00", W(9)},
	{"41", "a broken service behind a broken label index", IBGP, "O P N c0 28 06 01 0000 05 0000", W(9)},
	{"43", "TUNNEL_ENCAP", ALL, "O P N c0 17 0c 0008 0008 01 02 abcd 80 0001 ff", FINE, .kept = 23, .flags = 0xc0},
	{"43", "TUNNEL_ENCAP of a tunnel without more", ALL, "O P N c0 17 04 0008 0000", FINE, .kept = 23, .flags = 0xc0},
	{"43", "TUNNEL_ENCAP, empty", ALL, "O P N c0 17 00", W(9)},
	{"43", "TUNNEL_ENCAP of 3 bytes", ALL, "O P N c0 17 03 000800", W(9)},
	{"43", "TUNNEL_ENCAP with fewer bytes than its element says", ALL, "O P N c0 17 06 0008 0008 01 00", W(9)},
	{"43", "TUNNEL_ENCAP sub-element runs over", ALL, "O P N c0 17 08 0008 0004 01 03 abcd", W(9)},
	{"43", "TUNNEL_ENCAP sub-element without a length", ALL, "O P N c0 17 05 0008 0001 01", W(9)},
	{"43", "TUNNEL_ENCAP long sub-element with half a length", ALL, "O P N c0 17 06 0008 0002 80 00", W(9)},
	{"43", "TUNNEL_ENCAP whose second tunnel is cut", ALL, "O P N c0 17 06 0008 0000 0008", W(9)},
	{"43", "TUNNEL_ENCAP without Transitive", ALL, "O P N 80 17 04 0008 0000", W(4)},
	{"50", "BGP-LS attribute, well formed", ALL, "O P N 80 1d 06 0400 0002 abcd", FINE, .gone = 29},
	{"50", "BGP-LS attribute, cut", ALL, "O P N 80 1d 03 040000", D(9), .gone = 29},
	{"50", "BGP-LS attribute, element runs over", ALL, "O P N 80 1d 05 0400 0002 ab", D(9), .gone = 29},
	{"50", "BGP-LS attribute with Transitive", ALL, "O P N c0 1d 03 040000", D(4), .gone = 29},
	{"10", "AS_CONFED_SEQUENCE from inside", I4, "O 40 02 0c 03 01 0000fbf1 02 01 0000fbf0 N", FINE, .kept = 2, .flags = 0x40},
	{"10", "AS_CONFED_SEQUENCE alone from inside", I4, "O 40 02 06 03 01 0000fbf1 N", FINE, .kept = 2, .flags = 0x40},
	{"10", "AS_CONFED_SEQUENCE alone from outside", E4, "O 40 02 06 03 01 0000fbf0 N", W(11)},
	{"9", "AS_CONFED_SET from inside", I4, "O 40 02 0c 04 01 0000fbf1 02 01 0000fbf0 N", W(11)},
	{"5", "empty AS_CONFED_SEQUENCE from inside", I4, "O 40 02 08 03 00 02 01 0000fbf0 N", W(11)},
	/* we are in no confederation, so whoever is outside is outside of it too */
	{"11", "empty path from outside", EBGP, "O 40 02 00 N", W(11)},
	{"11", "a path of a confederation from outside", E4, "O 40 02 0c 03 01 0000fbf0 02 01 0000fbf0 N", W(11)},
};

START_TEST(malformed_attributes_get_their_reaction)
{
	for (unsigned c = 1; c < ALL; c <<= 1)
		if (malformed[_i].contexts & c)
			check_row(&malformed[_i], c);
}
END_TEST

/* Each value with its end cut away, and with each byte changed: only read, never believed beyond its end. */
START_TEST(damaged_attributes_are_only_read)
{
	uint8_t body[BGP_MESSAGE_MAX];
	struct bgp_update u;
	size_t len = put_body(body, sizeof body, I4, "", malformed[_i].attrs, NET);
	for (size_t at = 0; at < len; at++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			body[at] ^= (uint8_t)(1u << bit);
			uint8_t *bytes = decode_bytes(I4, body, len, &u);
			bgp_update_fini(&u);
			free(bytes);
			body[at] ^= (uint8_t)(1u << bit);
		}
	}
}
END_TEST

/* --- on its way out */

static struct bgp_export session(unsigned c)
{
	return (struct bgp_export){.ibgp = c & IBGP, .as4 = c & AS4, .local_asn = LOCAL_AS,
				   .next_hop_self = {[BGP_IPV4_UNICAST] = addr_from_v4(0x0a000002)}};
}

/* What the other end of session c makes of attrs, which came over from. */
static void check_told(unsigned from, const char *attrs, unsigned c, const struct bgp_export *e, const char *expected)
{
	uint8_t block[BGP_EXTENDED_MAX];
	char text[1024];
	struct bgp_attr_block out;
	struct bgp_attrs *back, *mp, *a = set_of(from, attrs);
	struct bgp_words words;
	ck_assert(bgp_attrs_export(a, e, BGP_IPV4_UNICAST, block, sizeof block, &words));
	bgp_attrs_decode(&table, (c & IBGP ? BGP_ATTR_IBGP : 0u) | (c & AS2 ? BGP_ATTR_AS2 : 0u), cursor_of(block, words.len), true,
			 &out, &back, &mp);
	ck_assert_msg(out.fault.reaction == BGP_FINE, "%s: %s", attrs, out.fault.text);
	ck_assert_str_eq(describe(back, text, sizeof text), expected);
	bgp_attrs_unref(back);
	bgp_attrs_unref(a);
}

#define EXT " c0 10 18 4004fbf04bebc200 0002fbf000000001 40045ba03f800000"

static const struct {
	const char *what;
	unsigned from;
	const char *attrs;
	unsigned to;
	bool own_next_hop;
	const char *told;
} journeys[] = {
	{"AIGP inside", I4, "O P N 80 1a 0b " METRIC, I4, false, "0 [64496] 10.0.0.1 - 100 26/80=01000b0000000000000064"},
	{"AIGP stays inside", I4, "O P N 80 1a 0b " METRIC, E4, false, "0 [64500 64496] 10.0.0.2 - 100"},
	{"AIGP is of the next hop as learned", I4, "O P N 80 1a 0b " METRIC, I4, true, "0 [64496] 10.0.0.2 - 100"},
	{"PREFIX_SID inside", I4, "O P N c0 28 05 c8 0002 abcd", I4, false, "0 [64496] 10.0.0.1 - 100 40/c0=c80002abcd"},
	{"PREFIX_SID stays inside", I4, "O P N c0 28 05 c8 0002 abcd", E4, false, "0 [64500 64496] 10.0.0.2 - 100"},
	{"TUNNEL_ENCAP goes on", E4, "O P N c0 17 04 0008 0000", E4, false, "0 [64500 64496] 10.0.0.2 - 100 23/c0=00080000"},
	{"extended communities inside", E4, "O P N" EXT, I4, false,
	 "0 [64496] 10.0.0.1 - 100 16/c0=4004fbf04bebc2000002fbf00000000140045ba03f800000"},
	{"those that are not transitive stay inside", E4, "O P N" EXT, E4, false, "0 [64500 64496] 10.0.0.2 - 100 16/c0=0002fbf000000001"},
	{"none is left", E4, "O P N c0 10 08 4004fbf04bebc200", E4, false, "0 [64500 64496] 10.0.0.2 - 100"},
	{"a confederation's path inside", I4, "O 40 02 0c 03 01 0000fbf1 02 01 0000fbf0 N", I4, false,
	 "0 [(64497) 64496] 10.0.0.1 - 100"},
	{"it is not told outside", I4, "O 40 02 0c 03 01 0000fbf1 02 01 0000fbf0 N", E4, false, "0 [64500 64496] 10.0.0.2 - 100"},
	{"nor if it is all", I4, "O 40 02 06 03 01 0000fbf1 N", E4, false, "0 [64500] 10.0.0.2 - 100"},
	{"nor in AS4_PATH", I4, "O 40 02 10 03 01 00010001 02 02 0000fbf0 00010000 N", I2, false,
	 "0 [(23456) 64496 65536] 10.0.0.1 - 100"},
	{"next hop ours to an internal peer", E4, "O P N", I4, true, "0 [64496] 10.0.0.2 - 100"},
};

START_TEST(attributes_go_where_they_may)
{
	struct bgp_export e = session(journeys[_i].to);
	e.own_next_hop = journeys[_i].own_next_hop;
	check_told(journeys[_i].from, journeys[_i].attrs, journeys[_i].to, &e, journeys[_i].told);
}
END_TEST

/* RFC 6793 section 4.2.3 and 6: segments of a confederation do not count, stay with AS_PATH, and are no part of AS4_PATH. */
START_TEST(confederations_and_two_byte_paths)
{
	static const struct {
		const char *attrs, *path;
	} merges[] = {
		{"O 40 02 0a 03 01 fbf1 02 02 5ba0 fbf0 N c0 11 0a 02 02 00010000 0000fbf0", "(64497) 65536 64496"},
		{"O 40 02 0a 03 01 fbf1 02 02 fbf0 5ba0 N c0 11 0c 03 01 0000fbf1 02 01 00010000", "(64497) 64496 65536"},
		{"O 40 02 04 03 01 fbf1 N c0 11 06 03 01 00010000", "(64497)"},
	};
	for (size_t i = 0; i < sizeof merges / sizeof *merges; i++) {
		char text[128];
		struct bgp_attrs *a = set_of(I2, merges[i].attrs);
		ck_assert_str_eq(bgp_attrs_path_text(a, text, sizeof text), merges[i].path);
		bgp_attrs_unref(a);
	}
}
END_TEST

START_TEST(a_confederation_does_not_count)
{
	struct bgp_attrs *a = set_of(I4, "O 40 02 10 03 02 0000fbf1 0000fbf2 02 01 0000fbf0 N");
	ck_assert_uint_eq(a->as_count, 1);
	ck_assert_uint_eq(a->first_as, PEER_AS);
	ck_assert_uint_eq(bgp_attrs_origin_as(a), PEER_AS);
	ck_assert_uint_eq(bgp_attrs_count_as(a, 0xfbf2), 1); /* m11: loops are seen in there too */
	bgp_attrs_unref(a);
	a = set_of(I4, "O 40 02 06 03 01 0000fbf1 N");
	ck_assert_uint_eq(a->as_count, 0);
	ck_assert_uint_eq(a->first_as, 0);
	ck_assert_uint_eq(bgp_attrs_origin_as(a), 0);
	bgp_attrs_unref(a);
}
END_TEST

/* --- m25: link bandwidth, single precision, in bytes a second */

static const struct {
	const char *communities;
	size_t count;
	uint64_t bandwidth;
} bandwidths[] = {
	{"4004fbf0 4cee6b28", 1, 125000000},                  /* 1 Gbit/s */
	{"0004fbf0 4cee6b28", 1, 125000000},                  /* the transitive form */
	{"40045ba0 4f800000", 1, 4294967296},                 /* 34 Gbit/s and more, and of a 4-byte AS: AS_TRANS */
	{"40040000 50ba43b7", 1, 24999999488},                /* 200 Gbit/s */
	{"4004fbf0 7f7fffff", 1, 999999986991104},            /* the largest number of all: held back */
	{"4004fbf0 7f800000", 1, 999999986991104},            /* infinity */
	{"4004fbf0 3f800000", 1, 1},
	{"4004fbf0 3dcccccd", 1, 1},                          /* a tenth: little, but something */
	{"4004fbf0 00000001", 1, 1},                          /* the least that there is */
	{"4004fbf0 00000000", 1, 0},
	{"4004fbf0 80000000", 1, 0},                          /* minus zero */
	{"4004fbf0 cceb6b28", 1, 0},                          /* negative */
	{"4004fbf0 7fc00000", 1, 0},                          /* not a number */
	{"4004fbf0 7f800001", 1, 0},
	{"4004fbf0 ff800000", 1, 0},
	{"4002fbf0 4cee6b28", 1, 0},                          /* other communities */
	{"4104fbf0 4cee6b28", 1, 0},
	{"8004fbf0 4cee6b28", 1, 0},
	{"0002fbf0 00000001 4004fbf0 4cee6b28", 2, 125000000},
	{"4004fbf0 80000000 4004fbf0 4cee6b28", 2, 125000000}, /* the first that is one */
	{"4004fbf0 4cee6b28 4004fbf0 3f800000", 2, 125000000},
};

START_TEST(link_bandwidth_is_understood)
{
	char attrs[128];
	snprintf(attrs, sizeof attrs, "O P N c0 10 %02zx %s", 8 * bandwidths[_i].count, bandwidths[_i].communities);
	struct bgp_attrs *a = set_of(E4, attrs);
	ck_assert_uint_eq(bgp_attrs_link_bandwidth(a), bandwidths[_i].bandwidth);
	bgp_attrs_unref(a);
}
END_TEST

START_TEST(an_edit_changes_the_bandwidth)
{
	struct community_match old, fresh;
	ck_assert(community_parse("0x4004*", &old) && community_parse("0x4004fbf04c6e6b28", &fresh));
	struct bgp_attrs *a = set_of(E4, "O P N c0 10 08 4004fbf04cee6b28");
	struct bgp_attrs *none = bgp_attrs_edit(a, &(struct bgp_attr_edit){.remove = &old, .remove_count = 1});
	struct bgp_attrs *half = bgp_attrs_edit(none, &(struct bgp_attr_edit){.add = &fresh.value, .add_count = 1});
	ck_assert_uint_eq(bgp_attrs_link_bandwidth(none), 0);
	ck_assert_uint_eq(bgp_attrs_link_bandwidth(half), 62500000);
	bgp_attrs_unref(a);
	bgp_attrs_unref(none);
	bgp_attrs_unref(half);
}
END_TEST

/* --- what a session asks to be done with the path */

static const struct {
	const char *what, *path;
	bool as_override, remove_private;
	const char *told; /* to AS 64496 by AS 64500 */
} paths[] = {
	{"nothing", "0000fbf0 0000fc00", false, false, "64500 64496 64512"},
	{"override", "0000fbf1 0000fbf0 0000fbf0", true, false, "64500 64497 64500 64500"},
	{"override finds nothing", "0000fbf1", true, false, "64500 64497"},
	{"private", "0000fbf1 0000fc00 0000fffe fa56ea00 fffffffe 0000fbf2", false, true, "64500 64497 64498"},
	{"the neighbours of private ones", "0000fbff 0000ffff fa56e9ff", false, true, "64500 64511 65535 4199999999"},
	{"all private", "0000fc00 fffffffe", false, true, "64500"},
	{"both", "0000fbf0 0000fc00", true, true, "64500 64500"},
};

START_TEST(sessions_have_the_path_their_way)
{
	char attrs[128], expected[128];
	size_t hex = strlen(paths[_i].path), n = (hex + 1) / 9;
	snprintf(attrs, sizeof attrs, "O 40 02 %02zx 02 %02zx %s N", 2 + 4 * n, n, paths[_i].path);
	snprintf(expected, sizeof expected, "0 [%s] 10.0.0.2 - 100", paths[_i].told);
	for (unsigned c = E4; c <= E2; c <<= 1) {
		struct bgp_export e = session(c);
		e.peer_asn = PEER_AS;
		e.as_override = paths[_i].as_override;
		e.remove_private = paths[_i].remove_private;
		check_told(I4, attrs, c, &e, expected);
	}
}
END_TEST

/* A private peer keeps its own number, by which it sees a loop. */
START_TEST(a_private_peer_finds_itself)
{
	struct bgp_export e = session(E4);
	e.peer_asn = 64512;
	e.remove_private = true;
	check_told(I4, "O 40 02 0e 02 03 0000fc01 0000fc00 0000fbf1 N", E4, &e, "0 [64500 64512 64497] 10.0.0.2 - 100");
	e.as_override = true;
	check_told(I4, "O 40 02 0e 02 03 0000fc01 0000fc00 0000fbf1 N", E4, &e, "0 [64500 64500 64497] 10.0.0.2 - 100");
}
END_TEST

/* A policy that makes our own path longer is not undone. */
START_TEST(our_own_private_number_stays)
{
	struct bgp_export e = session(E4);
	e.local_asn = 64513;
	e.peer_asn = PEER_AS;
	e.remove_private = true;
	check_told(I4, "O 40 02 0e 02 03 0000fc01 0000fc00 0000fc01 N", E4, &e, "0 [64513 64513 64513] 10.0.0.2 - 100");
}
END_TEST

/* A route server does not write itself into the path, but somebody must be in it. */
START_TEST(a_route_server_need_not_be_in_the_path)
{
	static const struct {
		const char *attrs;
		enum bgp_reaction reaction;
	} cases[] = {{"O 40 02 06 02 01 0000fbf1 N", BGP_FINE}, {"O P N", BGP_FINE}, {"O 40 02 00 N", BGP_WITHDRAW}};
	struct bgp_update_context ctx = context_of(E4);
	uint8_t body[BGP_MESSAGE_MAX];
	struct bgp_update u;
	ctx.route_server = true;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		bgp_update_decode(&ctx, body, put_body(body, sizeof body, E4, "", cases[i].attrs, NET), &u);
		ck_assert_int_eq(u.fault.reaction, cases[i].reaction);
		bgp_update_fini(&u);
	}
}
END_TEST

/* --- reflected routes, RFC 4456 section 8 */

static const struct {
	const char *what, *attrs, *told;
} reflections[] = {
	{"from its origin", "O P N 80 04 04 00000007 40 05 04 000000c8", "0 [64496] 10.0.0.1 7 200 9/80=0a000009 10/80=0a0000ff"},
	{"reflected before", "O P N 80 09 04 0a000001 80 0a 04 0a0000fe", "0 [64496] 10.0.0.1 - 100 9/80=0a000001 10/80=0a0000ff0a0000fe"},
};

START_TEST(reflected_routes_tell_their_way)
{
	struct bgp_export e = session(I4);
	e.originator = 0x0a000009;
	e.cluster_id = 0x0a0000ff;
	check_told(I4, reflections[_i].attrs, I4, &e, reflections[_i].told);
	e = session(E4);
	e.originator = 0x0a000009; /* outside nobody hears of it */
	check_told(I4, reflections[_i].attrs, E4, &e, "0 [64500 64496] 10.0.0.2 - 100");
}
END_TEST

/* RFC 8326, as the one who asks. */
START_TEST(a_drained_peer_is_asked_to_look_elsewhere)
{
	struct bgp_export e = session(E4);
	e.draining = true;
	check_told(E4, "O P N", E4, &e, "0 [64500 64496] 10.0.0.2 - 0 8/c0=ffff0000");
	check_told(E4, "O P N c0 08 08 fbf00001 fbf00002", E4, &e, "0 [64500 64496] 10.0.0.2 - 0 8/c0=ffff0000fbf00001fbf00002");
	check_told(I4, "O P N c0 08 08 fbf00001 ffff0000", E4, &e, "0 [64500 64496] 10.0.0.2 - 0 8/c0=fbf00001ffff0000");
	e.ibgp = true;
	check_told(E4, "O P N", I4, &e, "0 [64496] 10.0.0.1 - 0 8/c0=ffff0000");
}
END_TEST

#define SHUTDOWN "O P N c0 08 04 ffff0000"

/* What a set without LOCAL_PREF means, its bytes alone must tell: they are its key. */
START_TEST(an_edit_of_graceful_shutdown_keeps_sets_apart)
{
	struct community_match m;
	ck_assert(community_parse("graceful-shutdown", &m));
	const struct bgp_attr_edit take = {.remove = &m, .remove_count = 1}, put = {.add = &m.value, .add_count = 1},
				   prefer = {.has_local_pref = true, .local_pref = 100};
	struct bgp_attrs *with = set_of(E4, SHUTDOWN);
	struct bgp_attrs *taken = bgp_attrs_edit(with, &take), *preferred = bgp_attrs_edit(with, &prefer);
	struct bgp_attrs *plain = set_of(E4, "O P N"), *marked = bgp_attrs_edit(plain, &put);
	struct bgp_attrs *again = set_of(E4, SHUTDOWN), *same = bgp_attrs_edit(with, &put), *back = bgp_attrs_edit(preferred, &take);
	ck_assert(with->graceful_shutdown && with->local_pref == 0);
	ck_assert(!taken->graceful_shutdown && taken->local_pref == 0);
	ck_assert(preferred->graceful_shutdown && preferred->local_pref == 100);
	ck_assert(!plain->graceful_shutdown && plain->local_pref == 100);
	ck_assert(marked->graceful_shutdown && marked->local_pref == 100);
	ck_assert(!back->graceful_shutdown && back->local_pref == 100);
	ck_assert_ptr_eq(again, with);
	ck_assert_ptr_eq(same, with);
	struct bgp_attrs *all[] = {with, taken, preferred, plain, marked, again, same, back};
	for (size_t i = 0; i < sizeof all / sizeof(*all); i++)
		bgp_attrs_unref(all[i]);
}
END_TEST

/* And a drained peer is told although a policy took the mark off. */
START_TEST(draining_puts_back_what_a_policy_took)
{
	struct community_match m;
	uint8_t block[BGP_EXTENDED_MAX];
	struct bgp_words words;
	struct bgp_export e = session(E4);
	ck_assert(community_parse("graceful-shutdown", &m));
	struct bgp_attrs *with = set_of(E4, SHUTDOWN);
	struct bgp_attrs *taken = bgp_attrs_edit(with, &(struct bgp_attr_edit){.remove = &m, .remove_count = 1});
	e.draining = true;
	ck_assert(bgp_attrs_export(taken, &e, BGP_IPV4_UNICAST, block, sizeof block, &words));
	ck_assert_ptr_nonnull(memmem(block, words.len, "\xc0\x08\x04\xff\xff\0\0", 7));
	bgp_attrs_unref(with);
	bgp_attrs_unref(taken);
}
END_TEST

START_TEST(a_cluster_knows_its_routes)
{
	struct bgp_attrs *a = set_of(I4, "O P N 80 0a 08 0a0000fe 0a0000fd"), *none = set_of(I4, "O P N");
	ck_assert(bgp_attrs_in_cluster(a, 0x0a0000fe) && bgp_attrs_in_cluster(a, 0x0a0000fd));
	ck_assert(!bgp_attrs_in_cluster(a, 0x0a0000ff) && !bgp_attrs_in_cluster(none, 0x0a0000fe));
	bgp_attrs_unref(a);
	bgp_attrs_unref(none);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bgp_attr");
	TCase *t = tcase_create("bgp_attr");
	suite_add_tcase(suite, t);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, malformed_attributes_get_their_reaction, 0, ROW_COUNT(malformed));
	tcase_add_loop_test(t, damaged_attributes_are_only_read, 0, ROW_COUNT(malformed));
	tcase_add_loop_test(t, attributes_go_where_they_may, 0, ROW_COUNT(journeys));
	tcase_add_test(t, confederations_and_two_byte_paths);
	tcase_add_test(t, a_confederation_does_not_count);
	tcase_add_loop_test(t, link_bandwidth_is_understood, 0, ROW_COUNT(bandwidths));
	tcase_add_test(t, an_edit_changes_the_bandwidth);
	tcase_add_loop_test(t, sessions_have_the_path_their_way, 0, ROW_COUNT(paths));
	tcase_add_test(t, a_private_peer_finds_itself);
	tcase_add_test(t, our_own_private_number_stays);
	tcase_add_test(t, a_route_server_need_not_be_in_the_path);
	tcase_add_loop_test(t, reflected_routes_tell_their_way, 0, ROW_COUNT(reflections));
	tcase_add_test(t, a_drained_peer_is_asked_to_look_elsewhere);
	tcase_add_test(t, an_edit_of_graceful_shutdown_keeps_sets_apart);
	tcase_add_test(t, draining_puts_back_what_a_policy_took);
	tcase_add_test(t, a_cluster_knows_its_routes);
	return run_suite(suite);
}
