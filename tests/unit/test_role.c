/* bgp/role.[ch] and what stands on it: the capability in the OPEN, who may speak with whom, and routes that are for
 * customers only (OTC). RFC 9234. Malformed OTC attributes are rows of test_bgp_update.c.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "bgp/session.h"
#include "bgp/update.h"
#include "src/base/live.h"
#include "tests/unit/run_suite.h"

enum { LOCAL_AS = 64500, PEER_AS = 64496, OTHER_AS = 64511 };

static struct bgp_open peer_open(enum bgp_role role)
{
	return (struct bgp_open){.version = 4, .asn = PEER_AS, .hold_time_s = 9, .router_id = 0x0a000002, .as4 = true,
				 .multiprotocol = true, .families = {[BGP_IPV4_UNICAST] = true}, .role = role};
}

/* The fault that a session with these parameters sees in open, whose bytes get more behind them. */
static struct bgp_session met;
static bool meet(enum bgp_role ours, bool strict, uint32_t local_asn, const struct bgp_open *open, const char *more, size_t more_len)
{
	struct bgp_session_params p = {.local_asn = local_asn, .asn_kind = local_asn == PEER_AS ? BGP_ASN_INTERNAL : BGP_ASN_EXTERNAL,
				       .router_id = 1, .hold_time_s = 9, .families = {[BGP_IPV4_UNICAST] = true},
				       .role = ours, .role_strict = strict};
	struct bgp_actions acts;
	struct tick now = {1000};
	uint8_t bytes[256];
	size_t len = bgp_open_encode(bytes, sizeof bytes, open);
	ck_assert_uint_gt(len, 0);
	memcpy(bytes + len, more, more_len);
	bytes[28] = (uint8_t)(bytes[28] + more_len); /* the optional parameters' length */
	len += more_len;
	struct bgp_frame f = {.type = BGP_OPEN, .body = bytes + BGP_HEADER_LEN, .body_len = len - BGP_HEADER_LEN, .len = len};
	bgp_actions_clear(&acts);
	bgp_session_init(&met, &p, 1);
	bgp_session_start(&met, now, &acts);
	bgp_actions_clear(&acts);
	ck_assert(bgp_session_connected(&met, BGP_OUT, now, &acts));
	bgp_actions_clear(&acts);
	bgp_session_message(&met, BGP_OUT, &f, now, &acts);
	return met.conn[BGP_OUT].state == BGP_OPEN_CONFIRM;
}

static void check_mismatch(void)
{
	ck_assert_int_eq(met.last_error.kind, BGP_LAST_SENT);
	ck_assert_uint_eq(met.last_error.fault.code, BGP_ERR_OPEN);
	ck_assert_uint_eq(met.last_error.fault.subcode, BGP_OPEN_ROLE);
	ck_assert_ptr_nonnull(strstr(met.last_error.text, "Role Mismatch"));
}

START_TEST(only_opposites_meet)
{
	static const struct {
		enum bgp_role ours, theirs;
	} pairs[] = {{BGP_ROLE_PROVIDER, BGP_ROLE_CUSTOMER}, {BGP_ROLE_CUSTOMER, BGP_ROLE_PROVIDER},
		     {BGP_ROLE_RS_SERVER, BGP_ROLE_RS_CLIENT}, {BGP_ROLE_RS_CLIENT, BGP_ROLE_RS_SERVER},
		     {BGP_ROLE_PEER, BGP_ROLE_PEER}};
	unsigned good = 0;
	for (enum bgp_role ours = BGP_ROLE_PROVIDER; ours <= BGP_ROLE_PEER; ours++) {
		for (enum bgp_role theirs = BGP_ROLE_PROVIDER; theirs <= BGP_ROLE_UNKNOWN; theirs++) {
			struct bgp_open open = peer_open(theirs);
			bool fits = false;
			for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
				fits |= pairs[i].ours == ours && pairs[i].theirs == theirs;
			ck_assert_msg(meet(ours, false, LOCAL_AS, &open, "", 0) == fits, "%s and %s", bgp_role_name(ours),
				      bgp_role_name(theirs));
			good += fits;
			if (fits)
				continue;
			check_mismatch();
			ck_assert_ptr_nonnull(strstr(met.last_error.text, bgp_role_name(ours)));
			ck_assert_ptr_nonnull(strstr(met.last_error.text, bgp_role_name(bgp_role_partner(ours))));
		}
	}
	ck_assert_uint_eq(good, 5);
}
END_TEST

START_TEST(silence_is_refused_where_strict)
{
	struct bgp_open open = peer_open(BGP_ROLE_NONE), provider = peer_open(BGP_ROLE_PROVIDER);
	ck_assert(meet(BGP_ROLE_CUSTOMER, false, LOCAL_AS, &open, "", 0));
	ck_assert(!meet(BGP_ROLE_CUSTOMER, true, LOCAL_AS, &open, "", 0));
	check_mismatch();
	ck_assert(meet(BGP_ROLE_CUSTOMER, true, LOCAL_AS, &provider, "", 0));
	/* without one of ours nothing is judged, and inside an AS roles have no meaning */
	ck_assert(meet(BGP_ROLE_NONE, false, LOCAL_AS, &provider, "", 0));
	ck_assert(meet(BGP_ROLE_NONE, false, PEER_AS, &provider, "\x02\x03\x09\x01\x04", 5));
}
END_TEST

/* Section 4.2: the same twice is once; row 85: a capability of another length is none. */
START_TEST(several_roles_must_be_one)
{
	struct bgp_open provider = peer_open(BGP_ROLE_PROVIDER), none = peer_open(BGP_ROLE_NONE);
	ck_assert(meet(BGP_ROLE_CUSTOMER, true, LOCAL_AS, &provider, "\x02\x03\x09\x01\x00", 5));
	ck_assert(!meet(BGP_ROLE_CUSTOMER, true, LOCAL_AS, &provider, "\x02\x03\x09\x01\x04", 5));
	check_mismatch();
	ck_assert(!meet(BGP_ROLE_NONE, false, LOCAL_AS, &provider, "\x02\x03\x09\x01\x04", 5));
	check_mismatch();
	ck_assert(meet(BGP_ROLE_CUSTOMER, true, LOCAL_AS, &provider, "\x02\x04\x09\x02\x04\x04", 6));
	ck_assert(meet(BGP_ROLE_CUSTOMER, true, LOCAL_AS, &provider, "\x02\x02\x09\x00", 4));
	ck_assert(!meet(BGP_ROLE_CUSTOMER, true, LOCAL_AS, &none, "\x02\x02\x09\x00", 4));
	check_mismatch();
}
END_TEST

START_TEST(roles_go_round)
{
	for (enum bgp_role r = BGP_ROLE_NONE; r <= BGP_ROLE_UNKNOWN; r++) {
		struct bgp_open open = peer_open(r), back;
		struct bgp_fault fault = {0};
		uint8_t bytes[256];
		size_t len = bgp_open_encode(bytes, sizeof bytes, &open);
		bgp_open_decode(bytes + BGP_HEADER_LEN, len - BGP_HEADER_LEN, &back, &fault);
		ck_assert_int_eq(fault.reaction, BGP_FINE);
		ck_assert_int_eq(back.role, r);
		ck_assert(!back.roles_differ);
	}
	ck_assert_int_eq(bgp_role_of_wire(0), BGP_ROLE_PROVIDER);
	ck_assert_int_eq(bgp_role_of_wire(4), BGP_ROLE_PEER);
	ck_assert_int_eq(bgp_role_of_wire(5), BGP_ROLE_UNKNOWN);
	ck_assert_int_eq(bgp_role_of_wire(255), BGP_ROLE_UNKNOWN);
}
END_TEST

/* Section 5, each rule for each role of ours. */
static const struct {
	enum bgp_role ours;
	bool leak_own, leak_other; /* a route with the peer's own AS, and with another's in its OTC */
	uint32_t on_import, on_export;
	bool keeps_back;
} rules[] = {
	{BGP_ROLE_NONE, false, false, 0, 0, false},
	{BGP_ROLE_PROVIDER, true, true, 0, LOCAL_AS, false},
	{BGP_ROLE_RS_SERVER, true, true, 0, LOCAL_AS, false},
	{BGP_ROLE_CUSTOMER, false, false, PEER_AS, 0, true},
	{BGP_ROLE_RS_CLIENT, false, false, PEER_AS, 0, true},
	{BGP_ROLE_PEER, false, true, PEER_AS, LOCAL_AS, true},
};

START_TEST(routes_for_customers_only_go_down)
{
	enum bgp_role ours = rules[_i].ours;
	ck_assert(!bgp_otc_is_leak(ours, 0, PEER_AS));
	ck_assert_int_eq(bgp_otc_is_leak(ours, PEER_AS, PEER_AS), rules[_i].leak_own);
	ck_assert_int_eq(bgp_otc_is_leak(ours, OTHER_AS, PEER_AS), rules[_i].leak_other);
	ck_assert_uint_eq(bgp_otc_on_import(ours, PEER_AS), rules[_i].on_import);
	ck_assert_uint_eq(bgp_otc_on_export(ours, LOCAL_AS), rules[_i].on_export);
	ck_assert_int_eq(bgp_otc_keeps_back(ours), rules[_i].keeps_back);
}
END_TEST

/* --- the attribute */

static struct bgp_attr_table table;

static struct bgp_attrs *set_of(unsigned context, const void *more, size_t len)
{
	static const uint8_t base[] = {0x40, 1, 1, 0, 0x40, 2, 6, 2, 1, 0, 0, 0xfb, 0xf0, 0x40, 3, 4, 10, 0, 0, 1};
	uint8_t block[64];
	struct bgp_attr_block out;
	struct bgp_attrs *a, *mp;
	memcpy(block, base, sizeof base);
	memcpy(block + sizeof base, more, len);
	bgp_attrs_decode(&table, context, cursor_of(block, sizeof base + len), true, &out, &a, &mp);
	ck_assert_int_eq(out.fault.reaction, BGP_FINE);
	return a;
}

/* What the other end of such a session reads in it. */
static uint32_t sent_otc(const struct bgp_attrs *a, bool ibgp, uint32_t otc)
{
	struct bgp_export e = {.ibgp = ibgp, .as4 = true, .local_asn = LOCAL_AS, .otc = otc,
			       .next_hop_self = {[BGP_IPV4_UNICAST] = addr_from_v4(0x0a000002)}};
	struct bgp_words words;
	struct bgp_attr_block out;
	struct bgp_attrs *back, *mp;
	uint8_t block[256];
	ck_assert(bgp_attrs_export(a, &e, BGP_IPV4_UNICAST, block, sizeof block, &words));
	bgp_attrs_decode(&table, ibgp ? BGP_ATTR_IBGP : 0, cursor_of(words.block, words.len), true, &out, &back, &mp);
	ck_assert_int_eq(out.fault.reaction, BGP_FINE);
	uint32_t got = bgp_attrs_otc(back);
	bgp_attrs_unref(back);
	return got;
}

START_TEST(the_attribute_is_put_in_once_and_kept)
{
	bgp_attr_table_init(&table);
	static const uint8_t otc[] = {0xc0, 35, 4, 0, 0, 0xfb, 0xff}; /* OTHER_AS */
	struct bgp_attrs *without = set_of(0, otc, 0), *with = set_of(0, otc, sizeof otc);
	ck_assert_uint_eq(bgp_attrs_otc(without), 0);
	ck_assert_uint_eq(bgp_attrs_otc(with), OTHER_AS);
	struct bgp_attr_edit mark = {.otc = OTHER_AS}, again = {.otc = PEER_AS};
	struct bgp_attrs *made = bgp_attrs_edit(without, &mark), *kept = bgp_attrs_edit(with, &again);
	ck_assert_ptr_eq(made, with); /* the same bytes, the same set */
	ck_assert_ptr_eq(kept, with);
	for (unsigned ibgp = 0; ibgp < 2; ibgp++) {
		ck_assert_uint_eq(sent_otc(without, ibgp, 0), 0);
		ck_assert_uint_eq(sent_otc(without, ibgp, LOCAL_AS), LOCAL_AS);
		ck_assert_uint_eq(sent_otc(with, ibgp, 0), OTHER_AS);
		ck_assert_uint_eq(sent_otc(with, ibgp, LOCAL_AS), OTHER_AS);
	}
	bgp_attrs_unref(made);
	bgp_attrs_unref(kept);
	bgp_attrs_unref(with);
	bgp_attrs_unref(without);
	ck_assert_uint_eq(live_count(LIVE_ATTRS), 0);
	bgp_attr_table_fini(&table);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("role");
	TCase *t = tcase_create("role");
	tcase_add_test(t, only_opposites_meet);
	tcase_add_test(t, silence_is_refused_where_strict);
	tcase_add_test(t, several_roles_must_be_one);
	tcase_add_test(t, roles_go_round);
	tcase_add_loop_test(t, routes_for_customers_only_go_down, 0, sizeof rules / sizeof *rules);
	tcase_add_test(t, the_attribute_is_put_in_once_and_kept);
	suite_add_tcase(s, t);
	return run_suite(s);
}
