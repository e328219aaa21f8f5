/* Path identifiers on the wire (RFC 7911): the capability, who agreed to what in which direction, UPDATEs with
 * identifiers, and two sessions that exchange them in memory.
 *
 * A number in a row is one of the project's list of malformed messages (docs/testing.md).
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bgp/message.h"
#include "bgp/session.h"
#include "bgp/update.h"
#include "src/base/live.h"
#include "tests/unit/run_suite.h"

enum { PEER_AS = 64496, LOCAL_AS = 64500, R = BGP_ADD_PATH_RECEIVE, S = BGP_ADD_PATH_SEND };

static struct bgp_attr_table table;

static void setup(void)
{
	bgp_attr_table_init(&table);
}

static void teardown(void)
{
	ck_assert_uint_eq(live_count(LIVE_ATTRS), 0);
	bgp_attr_table_fini(&table);
}

static size_t unhex(const char *text, uint8_t *out, size_t cap)
{
	size_t n = 0;
	for (; *text; text++) {
		unsigned byte;
		if (*text == ' ')
			continue;
		ck_assert(n < cap && sscanf(text++, "%2x", &byte) == 1);
		out[n++] = (uint8_t)byte;
	}
	return n;
}

/* --- the capability */

static const struct {
	const char *what, *bytes; /* the capability's value */
	uint8_t v4, v6;
} capabilities[] = {
	{"receive", "0001 01 01", R, 0},
	{"send", "0001 01 02", S, 0},
	{"each family its own", "0001 01 03 0002 01 01", R | S, R},
	{"other families are passed over", "0001 02 03 0019 46 03 0002 01 02", 0, S},
	{"the last word counts", "0001 01 03 0001 01 01", R, 0},
	{"0 means nothing", "0001 01 00", 0, 0},
	{"4 means nothing, and costs the other family nothing", "0001 01 04 0002 01 03", 0, R | S},
	{"255 means nothing", "0001 01 ff", 0, 0},
	{"no family", "", 0, 0},
	{"85 length 1", "00", 0, 0},
	{"85 length 3", "0001 01", 0, 0},
	{"85 length 5", "0001 01 03 00", 0, 0},
	{"85 length 7", "0001 01 03 0002 01", 0, 0},
};

START_TEST(capability_is_read)
{
	uint8_t value[64], body[128] = {4, 0xfc, 0, 0, 9, 10, 0, 7, 1};
	struct bgp_open o;
	struct bgp_fault fault = {0};
	size_t n = unhex(capabilities[_i].bytes, value, sizeof value);
	const uint8_t head[] = {(uint8_t)(n + 4), 2, (uint8_t)(n + 2), 69, (uint8_t)n};
	memcpy(body + 9, head, sizeof head);
	memcpy(body + 14, value, n);
	bgp_open_decode(body, 14 + n, &o, &fault);
	ck_assert_int_eq(fault.reaction, BGP_FINE);
	ck_assert_msg(o.add_path[BGP_IPV4_UNICAST] == capabilities[_i].v4 && o.add_path[BGP_IPV6_UNICAST] == capabilities[_i].v6,
		      "%s: %u %u", capabilities[_i].what, o.add_path[BGP_IPV4_UNICAST], o.add_path[BGP_IPV6_UNICAST]);
}
END_TEST

START_TEST(capability_goes_round)
{
	uint8_t msg[256];
	char text[128];
	for (uint8_t v4 = 0; v4 < 4; v4++) {
		for (uint8_t v6 = 0; v6 < 4; v6++) {
			struct bgp_open o = {.version = 4, .asn = 1, .router_id = 1, .as4 = true, .multiprotocol = true,
					     .families = {true, true}, .add_path = {v4, v6}}, back;
			struct bgp_fault fault = {0};
			size_t len = bgp_open_encode(msg, sizeof msg, &o);
			bgp_open_decode(msg + BGP_HEADER_LEN, len - BGP_HEADER_LEN, &back, &fault);
			ck_assert_int_eq(fault.reaction, BGP_FINE);
			ck_assert_mem_eq(o.add_path, back.add_path, sizeof o.add_path);
			bgp_open_capabilities_text(&back, text, sizeof text);
			ck_assert_int_eq(strstr(text, "add-path") != NULL, v4 || v6);
		}
	}
}
END_TEST

/* --- UPDATEs */

#define ATTRS "40 01 01 00 40 02 06 02 01 0000fbf0 40 03 04 0a000001"
#define REACH(len, nlri) "40 01 01 00 40 02 06 02 01 0000fbf0 80 0e " len " 0002 01 10 20010db8000000000000000000000001 00 " nlri

static size_t put_body(uint8_t *out, size_t cap, const char *withdrawn, const char *attrs, const char *nlri)
{
	uint8_t part[512];
	struct writer w = writer_of(out, cap);
	size_t n = unhex(withdrawn, part, sizeof part);
	writer_u16(&w, (uint16_t)n);
	writer_bytes(&w, part, n);
	n = unhex(attrs, part, sizeof part);
	writer_u16(&w, (uint16_t)n);
	writer_bytes(&w, part, n);
	n = unhex(nlri, part, sizeof part);
	writer_bytes(&w, part, n);
	ck_assert(writer_ok(&w));
	return writer_len(&w);
}

static void list(char *out, size_t cap, const char *sign, struct bgp_nlri n)
{
	char text[PREFIX_TEXT_MAX];
	struct prefix p;
	while (bgp_nlri_next(&n, &p, NULL)) {
		size_t at = strlen(out);
		snprintf(out + at, cap - at, "%s%s%s#%u", at ? " " : "", sign, prefix_format(&p, text), n.path_id);
	}
}

static const struct {
	const char *what;
	bool v4, v6; /* path identifiers are agreed on */
	const char *withdrawn, *attrs, *nlri;
	const char *holds; /* NULL: a reset with subcode */
	uint8_t subcode;
} updates[] = {
	{"classic", true, false, "00000007 18 0a0100", ATTRS, "00000001 18 0a0200 ffffffff 18 0a0200 00000000 08 0a",
	 "-10.1.0.0/24#7 +10.2.0.0/24#1 +10.2.0.0/24#4294967295 +10.0.0.0/8#0", 0},
	{"not agreed on: identifiers are prefixes", false, true, "", ATTRS, "18 0a0200", "+10.2.0.0/24#0", 0},
	{"default route", true, true, "00000001 00", "", "", "-0.0.0.0/0#1", 0},
	{"a prefix that may not be routed keeps the count", true, false, "", ATTRS, "00000001 08 7f 00000002 08 0a", "+10.0.0.0/8#2", 0},
	{"MP", false, true, "", REACH("22", "00000009 40 fd10000000000000"), "", "+fd10::/64#9", 0},
	{"MP, two of one prefix", false, true, "",
	 REACH("2f", "00000001 40 fd10000000000000 00000002 40 fd10000000000000"), "", "+fd10::/64#1 +fd10::/64#2", 0},
	{"MP withdrawn", true, true, "", "80 0f 10 0002 01 00000003 40 fd10000000000000", "", "-fd10::/64#3", 0},
	{"MP for IPv4", true, false, "", "80 0f 0b 0001 01 00000003 18 0a0100", "", "-10.1.0.0/24#3", 0},
	{"cut in the identifier", true, false, "", ATTRS, "00000001 18 0a0200 000000", NULL, BGP_UPDATE_NETWORK},
	{"cut after the identifier", true, false, "", ATTRS, "00000001", NULL, BGP_UPDATE_NETWORK},
	{"cut in the prefix", true, false, "", ATTRS, "00000001 18 0a02", NULL, BGP_UPDATE_NETWORK},
	{"33 bits", true, false, "", ATTRS, "00000001 21 0a02000000", NULL, BGP_UPDATE_NETWORK},
	{"withdrawn, cut in the identifier", true, false, "0000", "", "", NULL, BGP_UPDATE_NETWORK},
	{"withdrawn, identifiers that were not agreed on", false, false, "000000ff 18 0a0100", "", "", NULL, BGP_UPDATE_NETWORK},
	{"no identifiers where they were agreed on", true, false, "", ATTRS, "18 0a0200", NULL, BGP_UPDATE_NETWORK},
	{"MP, cut in the identifier", false, true, "", REACH("18", "000000"), "", NULL, BGP_UPDATE_OPTIONAL},
	{"MP, 129 bits", false, true, "", REACH("2b", "00000001 81 fd1000000000000000000000000000000000"), "", NULL, BGP_UPDATE_OPTIONAL},
	{"MP withdrawn, cut in the prefix", true, true, "", "80 0f 0b 0002 01 00000003 40 fd1000", "", NULL, BGP_UPDATE_OPTIONAL},
};

START_TEST(updates_with_identifiers)
{
	uint8_t body[1024];
	char got[256] = "";
	struct bgp_update_context ctx = {.attrs = &table, .as4 = true, .peer_asn = PEER_AS, .families = {true, true},
					 .add_path = {updates[_i].v4, updates[_i].v6}};
	struct bgp_update u;
	size_t len = put_body(body, sizeof body, updates[_i].withdrawn, updates[_i].attrs, updates[_i].nlri);
	uint8_t *exact = malloc(len); /* not a byte to spare */
	memcpy(exact, body, len);
	bgp_update_decode(&ctx, exact, len, &u);
	for (unsigned i = 0; i < BGP_UPDATE_PARTS && updates[_i].holds; i++) {
		list(got, sizeof got, "-", u.part[i].withdrawn);
		list(got, sizeof got, "+", u.part[i].announced);
	}
	ck_assert_msg(u.fault.reaction == (updates[_i].holds ? BGP_FINE : BGP_RESET), "%s: %s", updates[_i].what,
		      u.fault.text ? u.fault.text : "no fault");
	if (updates[_i].holds)
		ck_assert_str_eq(got, updates[_i].holds);
	else
		ck_assert_uint_eq(u.fault.subcode, updates[_i].subcode);
	bgp_update_fini(&u);
	free(exact);
}
END_TEST

/* Both families, announced and withdrawn: nothing is lost, every message is as full as it can be. */
START_TEST(identifiers_are_packed_without_loss)
{
	enum { MANY = 3000 };
	static struct prefix many[MANY];
	static uint32_t ids[MANY];
	enum bgp_family family = _i & 1 ? BGP_IPV6_UNICAST : BGP_IPV4_UNICAST;
	bool withdraw = _i & 2;
	uint8_t msg[BGP_MESSAGE_MAX], block[512];
	struct bgp_update_context ctx = {.attrs = &table, .ibgp = true, .as4 = true, .families = {true, true}, .add_path = {true, true}};
	struct bgp_export e = {.ibgp = true, .as4 = true, .next_hop_self = {addr_from_v4(0x0a000002), {{0xfd, [15] = 1}}}};
	struct bgp_attrs *a = bgp_attrs_local(&table);
	struct bgp_words words;
	for (unsigned i = 0; i < MANY; i++) {
		struct addr base = {{0xfd, 0, (uint8_t)(i >> 8), (uint8_t)i}};
		many[i] = family == BGP_IPV4_UNICAST ? prefix_make_v4(0x0a000000 | i << 8, 8 + i % 25) : prefix_make(&base, 32 + i % 97);
		ids[i] = i * 2654435761u;
	}
	ck_assert(bgp_attrs_export(a, &e, family, block, sizeof block, &words));
	struct bgp_routes left = {family, MANY, many, ids};
	for (size_t used = 0, at = 0; left.count; left = bgp_routes_after(&left, used)) {
		struct bgp_update u;
		struct prefix p;
		size_t len = withdraw ? bgp_update_encode_withdraw(msg, sizeof msg, &left, &used)
				      : bgp_update_encode_announce(msg, sizeof msg, &words, &left, &used);
		ck_assert(len > 0 && used > 0);
		bgp_update_decode(&ctx, msg + BGP_HEADER_LEN, len - BGP_HEADER_LEN, &u);
		ck_assert_msg(u.fault.reaction == BGP_FINE, "%s", u.fault.text);
		unsigned part = family == BGP_IPV4_UNICAST ? 0 : 1;
		struct bgp_nlri n = withdraw ? u.part[part].withdrawn : u.part[part].announced;
		for (size_t k = 0; k < used; k++, at++) {
			ck_assert(bgp_nlri_next(&n, &p, NULL));
			ck_assert(prefix_eq(&p, &many[at]) && n.path_id == ids[at]);
		}
		ck_assert(!bgp_nlri_next(&n, &p, NULL));
		ck_assert(used == left.count || len + 4 + 1 + 16 > sizeof msg);
		bgp_update_fini(&u);
	}
	bgp_attrs_unref(a);
}
END_TEST

/* Identifiers must fit as a whole or not be there. */
START_TEST(no_room_for_an_identifier_is_no_message)
{
	uint8_t msg[64];
	size_t used;
	struct prefix p = prefix_make_v4(0x0a000000, 24);
	struct bgp_routes one = {BGP_IPV4_UNICAST, 1, &p, (const uint32_t[]){7}};
	for (size_t cap = 0; cap < 31; cap++) {
		memset(msg, 0x5a, sizeof msg);
		ck_assert_uint_eq(bgp_update_encode_withdraw(msg, cap, &one, &used), 0);
		ck_assert_uint_eq(used, 0);
		ck_assert_uint_eq(msg[cap], 0x5a);
	}
	ck_assert_uint_eq(bgp_update_encode_withdraw(msg, 31, &one, &used), 31);
}
END_TEST

/* --- two sessions in memory */

struct end {
	struct bgp_session s;
	struct bgp_actions acts;
};

static void end_init(struct end *e, uint32_t asn, uint32_t id, uint8_t add_path, bool v6)
{
	struct bgp_session_params p = {.local_asn = asn, .asn_kind = BGP_ASN_EXTERNAL, .router_id = id, .hold_time_s = 9,
				       .passive = asn == LOCAL_AS, .families = {true, v6}, .add_path = add_path};
	memset(e, 0, sizeof *e);
	bgp_session_init(&e->s, &p, id);
	bgp_session_start(&e->s, (struct tick){1000}, &e->acts);
	bgp_actions_clear(&e->acts);
}

/* Carries what from has said to the other end. */
static void carry(struct end *from, struct end *to, enum bgp_slot slot)
{
	struct bgp_actions said = from->acts;
	bgp_actions_clear(&from->acts);
	for (unsigned i = 0; i < said.count; i++) {
		struct bgp_frame f;
		struct bgp_fault fault = {0};
		if (said.action[i].kind != BGP_ACT_SEND)
			continue;
		ck_assert_int_eq(bgp_frame_next(said.bytes + said.action[i].at, said.action[i].len, BGP_MESSAGE_MAX, &f, &fault), 1);
		bgp_session_message(&to->s, slot, &f, (struct tick){1001}, &to->acts);
	}
}

static void establish(struct end *caller, struct end *called)
{
	bgp_session_connected(&caller->s, BGP_OUT, (struct tick){1000}, &caller->acts);
	bgp_session_connected(&called->s, BGP_IN, (struct tick){1000}, &called->acts);
	for (unsigned i = 0; i < 4; i++) {
		carry(caller, called, BGP_IN);
		carry(called, caller, BGP_OUT);
	}
	ck_assert_int_eq(bgp_session_state(&caller->s), BGP_ESTABLISHED);
	ck_assert_int_eq(bgp_session_state(&called->s), BGP_ESTABLISHED);
}

/* Every pair of offers: what one end sends with identifiers the other reads with them, and only where one said that it
 * sends and the other that it receives. */
START_TEST(both_ends_agree_per_direction)
{
	for (unsigned i = 0; i < 16; i++) {
		uint8_t caller_says = i & 3, called_says = (uint8_t)(i >> 2);
		struct end caller, called;
		end_init(&caller, PEER_AS, 1, caller_says, true);
		end_init(&called, LOCAL_AS, 2, called_says, false); /* one family in common */
		establish(&caller, &called);
		for (unsigned f = 0; f < BGP_FAMILIES; f++) {
			bool both = f == BGP_IPV4_UNICAST;
			ck_assert_int_eq(caller.s.add_path_out[f], both && caller_says & S && called_says & R);
			ck_assert_int_eq(caller.s.add_path_in[f], both && caller_says & R && called_says & S);
			ck_assert_int_eq(called.s.add_path_in[f], caller.s.add_path_out[f]);
			ck_assert_int_eq(called.s.add_path_out[f], caller.s.add_path_in[f]);
		}
	}
}
END_TEST

#define ROW_COUNT(rows) (int)(sizeof(rows) / sizeof(rows)[0])

int main(void)
{
	Suite *suite = suite_create("add_path");
	TCase *t = tcase_create("add_path");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, capability_is_read, 0, ROW_COUNT(capabilities));
	tcase_add_test(t, capability_goes_round);
	tcase_add_loop_test(t, updates_with_identifiers, 0, ROW_COUNT(updates));
	tcase_add_loop_test(t, identifiers_are_packed_without_loss, 0, 4);
	tcase_add_test(t, no_room_for_an_identifier_is_no_message);
	tcase_add_test(t, both_ends_agree_per_direction);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
