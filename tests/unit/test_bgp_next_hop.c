/* bgp/: IPv4 routes with IPv6 next hops (RFC 8950), and the link-local halves of next hops (RFC 2545), on the way in, on
 * the way out, and between sessions that agreed on different things.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bgp/message.h"
#include "bgp/update.h"
#include "src/base/live.h"
#include "tests/unit/run_suite.h"

enum { PEER_AS = 64496, LOCAL_AS = 64500 };

#define G "fd000000000000000000000000000001"
#define L "fe800000000000000000000000000001"
#define L2 "fe800000000000000000000000000002"
#define Z "00000000000000000000000000000000"

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

static size_t unhex(const char *text, uint8_t *out)
{
	size_t n = 0;
	unsigned byte;
	for (; sscanf(text, "%2x", &byte) == 1; text += 2)
		out[n++] = (uint8_t)byte;
	return n;
}

/* An UPDATE that announces 10.244.2.0/24 by MP_REACH_NLRI with these bytes as next hop. */
static size_t put_update(uint8_t *out, const char *next_hop)
{
	static const uint8_t before[] = {0x40, 1, 1, 0, 0x40, 2, 6, 2, 1, 0, 0, 0xfb, 0xf0, 0x80, 14};
	static const uint8_t prefix[] = {24, 10, 244, 2};
	uint8_t hop[64];
	size_t n = unhex(next_hop, hop);
	struct writer w = writer_of(out, 256);
	writer_u16(&w, 0);
	writer_u16(&w, (uint16_t)(sizeof before + 1 + 5 + n + sizeof prefix));
	writer_bytes(&w, before, sizeof before);
	writer_u8(&w, (uint8_t)(5 + n + sizeof prefix));
	writer_u16(&w, 1);
	writer_u8(&w, 1);
	writer_u8(&w, (uint8_t)n);
	writer_bytes(&w, hop, n);
	writer_u8(&w, 0);
	writer_bytes(&w, prefix, sizeof prefix);
	ck_assert(writer_ok(&w));
	return writer_len(&w);
}

static struct bgp_update_context context_of(bool agreed, bool on_link)
{
	return (struct bgp_update_context){.attrs = &table, .as4 = true, .peer_asn = PEER_AS, .v6_next_hop = agreed,
					   .on_link = on_link, .families = {[BGP_IPV4_UNICAST] = true}};
}

/* What is taken where it was agreed on: over a global session, and over a link-local one. NULL: routes withdrawn. Without
 * the agreement only the first is good (row 63: a next hop that cannot be is a reset). */
static const struct {
	const char *bytes, *by_global, *by_link;
	bool always;
} forms[] = {
	{"0a000001", "10.0.0.1", "10.0.0.1", true},
	{G, "fd00::1", "fd00::1", false},
	{L, "fe80::1", "fe80::1", false},
	{G L, "fd00::1", "fe80::1", false},
	{G Z, "fd00::1", "fd00::1", false},
	{Z L, "fe80::1", "fe80::1", false},
	{L L, "fe80::1", "fe80::1", false},
	{L Z, "fe80::1", "fe80::1", false},
	{L L2, "fe80::1", "fe80::2", false},
	{G G, "fd00::1", "fd00::1", false},
	{"00000000000000000000ffff0a000001", "10.0.0.1", "10.0.0.1", false},
	{Z, NULL, NULL, false},
	{Z Z, NULL, NULL, false},
	{"ff020000000000000000000000000001", NULL, NULL, false},
};

static void check_form(const char *bytes, bool agreed, bool on_link, bool good, const char *expected)
{
	uint8_t body[256], *exact;
	char text[ADDR_TEXT_MAX];
	struct bgp_update_context ctx = context_of(agreed, on_link);
	struct bgp_update u;
	size_t len = put_update(body, bytes);
	exact = malloc(len);
	memcpy(exact, body, len);
	bgp_update_decode(&ctx, exact, len, &u);
	if (!good) {
		ck_assert_int_eq(u.fault.reaction, BGP_RESET);
		ck_assert_int_eq(u.fault.code, BGP_ERR_UPDATE);
	} else if (!expected) {
		ck_assert_int_eq(u.fault.reaction, BGP_WITHDRAW);
		ck_assert_int_eq(u.fault.subcode, BGP_UPDATE_NEXT_HOP);
	} else {
		ck_assert_msg(u.fault.reaction == BGP_FINE, "%s: %s", bytes, u.fault.text);
		ck_assert_str_eq(addr_format((struct addr[]){bgp_attrs_next_hop(u.part[1].attrs)}, text), expected);
	}
	bgp_update_fini(&u);
	free(exact);
}

START_TEST(ipv6_next_hops_of_ipv4_routes_are_read_where_agreed)
{
	for (unsigned on_link = 0; on_link < 2; on_link++) {
		const char *expected = on_link ? forms[_i].by_link : forms[_i].by_global;
		check_form(forms[_i].bytes, true, on_link, true, expected);
		check_form(forms[_i].bytes, false, on_link, forms[_i].always, expected);
	}
}
END_TEST

START_TEST(other_lengths_reset)
{
	static const char *const wrong[] = {"", "0a", "0a0000", "0a00000100", "fe80", L "00", G L "00", G L L};
	for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
		for (unsigned agreed = 0; agreed < 2; agreed++)
			check_form(wrong[i], agreed, true, false, NULL);
}
END_TEST

/* --- on the way out */

static struct addr address(const char *text)
{
	struct addr a;
	if (!addr_parse(text, &a))
		memset(&a, 0, sizeof a); /* "": none */
	return a;
}

/* The set of an IPv4 route with this next hop. */
static struct bgp_attrs *set_with(const char *next_hop)
{
	uint8_t body[256];
	struct bgp_update_context ctx = context_of(true, false);
	struct bgp_update u;
	size_t len = put_update(body, next_hop);
	bgp_update_decode(&ctx, body, len, &u);
	struct bgp_attrs *a = bgp_attrs_ref(u.part[1].attrs);
	bgp_update_fini(&u);
	return a;
}

/* m17, m18: the next hop field as it leaves us for a set with a next hop as learned, by a session with these next hops of
 * ours. "classic": the NEXT_HOP attribute. */
static const struct {
	const char *learned, *self, *link_local;
	bool ibgp, understands;
	const char *field; /* in MP_REACH_NLRI, with its length */
	const char *classic;
} sendings[] = {
	{"0a000001", "10.0.0.9", "", false, false, NULL, "10.0.0.9"},
	{"0a000001", "fd00::9", "fe80::9", false, true, "20fd000000000000000000000000000009fe800000000000000000000000000009", NULL},
	{"0a000001", "fd00::9", "", false, true, "10fd000000000000000000000000000009", NULL},
	/* no global address: both halves, never a zero one */
	{"0a000001", "fe80::9", "fe80::9", false, true, "20fe800000000000000000000000000009fe800000000000000000000000000009", NULL},
	/* inside, a next hop goes on as it is where the peer can read it */
	{"0a000001", "fd00::9", "fe80::9", true, true, NULL, "10.0.0.1"},
	{G, "10.0.0.9", "", true, true, "10" G, NULL},
	{G, "10.0.0.9", "", true, false, NULL, "10.0.0.9"},
	{L, "10.0.0.9", "", true, true, NULL, "10.0.0.9"},
	{G, "10.0.0.9", "", false, true, NULL, "10.0.0.9"},
};

static void check_sent(const uint8_t *body, size_t len, const char *field, const char *classic)
{
	uint8_t expected[64];
	struct cursor c = cursor_of(body, len);
	ck_assert_uint_eq(cursor_u16(&c), 0);
	struct cursor attrs = cursor_sub(&c, cursor_u16(&c));
	if (field) {
		size_t n = unhex(field, expected);
		ck_assert_uint_eq(cursor_left(&c), 0); /* no classic NLRI */
		ck_assert_uint_eq(attrs.p[1], 14);     /* first: RFC 7606 section 5.1 */
		ck_assert_mem_eq(attrs.p + 4, "\0\1\1", 3);
		ck_assert_mem_eq(attrs.p + 7, expected, n);
		ck_assert_mem_eq(attrs.p + 7 + n, "\0\x18\x0a\xf4\x03", 5);
		return;
	}
	struct addr hop = address(classic);
	const uint8_t *next_hop = attrs.p + 4 + cursor_u8(&(struct cursor){attrs.p + 6, attrs.end, false}) + 3;
	ck_assert_mem_eq(next_hop, "\x40\x03\x04", 3);
	ck_assert_mem_eq(next_hop + 3, hop.b + 12, 4);
	ck_assert_uint_eq(cursor_left(&c), 4);
}

START_TEST(ipv4_routes_leave_with_the_next_hop_that_fits_the_session)
{
	uint8_t block[BGP_MESSAGE_MAX], msg[BGP_MESSAGE_MAX];
	struct bgp_export e = {.as4 = true, .local_asn = LOCAL_AS, .ibgp = sendings[_i].ibgp, .v6_next_hop = sendings[_i].understands};
	struct bgp_attrs *a = set_with(sendings[_i].learned);
	struct prefix p = prefix_make_v4(0x0af40300, 24);
	struct bgp_words words;
	size_t used;
	e.next_hop_self[BGP_IPV4_UNICAST] = address(sendings[_i].self);
	e.link_local_self = address(sendings[_i].link_local);
	ck_assert(bgp_attrs_export(a, &e, BGP_IPV4_UNICAST, block, sizeof block, &words));
	size_t len = bgp_update_encode_announce(msg, sizeof msg, &words, &(struct bgp_routes){BGP_IPV4_UNICAST, 1, &p, NULL}, &used);
	ck_assert_uint_eq(used, 1);
	check_sent(msg + BGP_HEADER_LEN, len - BGP_HEADER_LEN, sendings[_i].field, sendings[_i].classic);
	bgp_attrs_unref(a);
}
END_TEST

#define ROW_COUNT(table) (int)(sizeof(table) / sizeof(table)[0])

int main(void)
{
	Suite *suite = suite_create("bgp_next_hop");
	TCase *t = tcase_create("bgp_next_hop");
	suite_add_tcase(suite, t);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, ipv6_next_hops_of_ipv4_routes_are_read_where_agreed, 0, ROW_COUNT(forms));
	tcase_add_test(t, other_lengths_reset);
	tcase_add_loop_test(t, ipv4_routes_leave_with_the_next_hop_that_fits_the_session, 0, ROW_COUNT(sendings));
	return run_suite(suite);
}
