/* src/daemon/router_advert.[ch]: which ICMPv6 messages count (RFC 4861 section 6.1), and who of those that are heard on a
 * link is taken for the peer.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/daemon/router_advert.h"
#include "tests/unit/run_suite.h"

static struct addr address(const char *text)
{
	struct addr a;
	ck_assert_msg(addr_parse(text, &a), "%s", text);
	return a;
}

#define RA16 "86 00 0000 40 00 0708 00000000 00000000"
#define RS8 "85 00 0000 00000000"
#define MAC "01 01 020000000001"

static const struct {
	const char *what, *bytes, *from;
	int hop_limit;
	enum ra_kind kind;
} messages[] = {
	{"advertisement", RA16, "fe80::1", 255, RA_ADVERTISEMENT},
	{"with options", RA16 MAC "05 01 0000 000005dc", "fe80::1", 255, RA_ADVERTISEMENT},
	{"an option that nobody knows", RA16 "fe 01 000000000000", "fe80::1", 255, RA_ADVERTISEMENT},
	{"solicitation", RS8, "fe80::1", 255, RA_SOLICITATION},
	{"solicitation with its address", RS8 MAC, "fe80::1", 255, RA_SOLICITATION},
	{"solicitation of one without an address", RS8, "::", 255, RA_SOLICITATION},
	{"that says its address all the same", RS8 MAC, "::", 255, RA_NONE},
	{"advertisement of one without an address", RA16, "::", 255, RA_NONE},
	{"from a router away", RA16, "fe80::1", 254, RA_NONE},
	{"hop limit not known", RA16, "fe80::1", -1, RA_NONE},
	{"from a global address", RA16, "fd00::1", 255, RA_NONE},
	{"from IPv4, link-local too", RA16, "169.254.0.1", 255, RA_NONE},
	{"code 1", "86 01 0000 40 00 0708 00000000 00000000", "fe80::1", 255, RA_NONE},
	{"too short", "86 00 0000 40 00 0708 00000000 000000", "fe80::1", 255, RA_NONE},
	{"solicitation too short", "85 00 0000 000000", "fe80::1", 255, RA_NONE},
	{"option of length 0", RA16 "01 00", "fe80::1", 255, RA_NONE},
	{"option past the end", RA16 "01 02 020000000001", "fe80::1", 255, RA_NONE},
	{"half an option", RA16 "01", "fe80::1", 255, RA_NONE},
	{"neighbour solicitation", "87 00 0000 00000000 00000000 00000000", "fe80::1", 255, RA_NONE},
	{"nothing", "", "fe80::1", 255, RA_NONE},
};

START_TEST(only_what_the_rfc_lets_through_counts)
{
	uint8_t bytes[128], *exact;
	size_t n = 0;
	struct addr from = address(messages[_i].from);
	for (const char *p = messages[_i].bytes; *p; p++) {
		unsigned byte;
		if (*p == ' ')
			continue;
		ck_assert(sscanf(p++, "%2x", &byte) == 1);
		bytes[n++] = (uint8_t)byte;
	}
	exact = malloc(n ? n : 1);
	memcpy(exact, bytes, n);
	ck_assert_msg(ra_decode(exact, n, &from, messages[_i].hop_limit) == messages[_i].kind, "%s", messages[_i].what);
	free(exact);
}
END_TEST

START_TEST(ours_are_read)
{
	static const enum ra_kind kinds[] = {RA_SOLICITATION, RA_ADVERTISEMENT};
	struct addr from = address("fe80::1");
	uint8_t bytes[RA_MESSAGE_MAX];
	for (unsigned i = 0; i < 2; i++) {
		size_t len = ra_encode(kinds[i], bytes, sizeof bytes);
		ck_assert(len >= 8);
		ck_assert_int_eq(ra_decode(bytes, len, &from, RA_HOP_LIMIT), kinds[i]);
		for (size_t cap = 0; cap < len; cap++)
			ck_assert_uint_eq(ra_encode(kinds[i], bytes, cap), 0);
	}
	ck_assert(bytes[6] == 0 && bytes[7] == 0); /* nobody takes us for a default router */
}
END_TEST

/* --- who is the peer: a script of what happens at which second, and who it is then. "busy" is a session with it. */

enum { BUSY = 1 };

struct step {
	int at_s;
	enum ra_kind kind; /* RA_NONE: only the time goes on */
	unsigned flags;
	const char *from;
	enum ra_news news;  /* for RA_NONE: RA_CHANGED where it settles for another */
	const char *router; /* after it */
};

static const struct {
	const char *what;
	struct step steps[12];
} scripts[] = {
	{"the first that advertises", {{1, RA_ADVERTISEMENT, 0, "fe80::1", RA_CHANGED, "fe80::1"},
				       {2, RA_ADVERTISEMENT, 0, "fe80::1", RA_NO_NEWS, "fe80::1"}}},
	{"one without an address is nobody", {{1, RA_SOLICITATION, 0, "::", RA_NO_NEWS, "::"}}},
	{"an advertisement is better than a solicitation or a call", {{1, RA_SOLICITATION, 0, "fe80::1", RA_CHANGED, "fe80::1"},
		{2, RA_SOLICITATION, 0, "fe80::2", RA_NO_NEWS, "fe80::1"}, {3, RA_CONNECTION, 0, "fe80::3", RA_CHANGED, "fe80::3"},
		{4, RA_SOLICITATION, 0, "fe80::1", RA_NO_NEWS, "fe80::3"}, {5, RA_ADVERTISEMENT, 0, "fe80::2", RA_CHANGED, "fe80::2"}}},
	{"but not than a session", {{1, RA_CONNECTION, 0, "fe80::1", RA_CHANGED, "fe80::1"},
		{2, RA_ADVERTISEMENT, BUSY, "fe80::2", RA_ASK, "fe80::1"}, {20, RA_NONE, BUSY, NULL, RA_NO_NEWS, "fe80::1"},
		{21, RA_NONE, 0, NULL, RA_CHANGED, "fe80::2"}}},
	{"the first stays while it answers", {{1, RA_ADVERTISEMENT, 0, "fe80::1", RA_CHANGED, "fe80::1"},
		{2, RA_ADVERTISEMENT, 0, "fe80::2", RA_ASK, "fe80::1"}, {3, RA_ADVERTISEMENT, 0, "fe80::1", RA_NO_NEWS, "fe80::1"},
		{9, RA_NONE, 0, NULL, RA_NO_NEWS, "fe80::1"}, {12, RA_ADVERTISEMENT, 0, "fe80::2", RA_ASK, "fe80::1"},
		{13, RA_ADVERTISEMENT, 0, "fe80::2", RA_NO_NEWS, "fe80::1"}, {15, RA_NONE, 0, NULL, RA_NO_NEWS, "fe80::1"},
		{16, RA_NONE, 0, NULL, RA_CHANGED, "fe80::2"}}},
	{"a second one that went is forgotten", {{1, RA_ADVERTISEMENT, 0, "fe80::1", RA_CHANGED, "fe80::1"},
		{2, RA_ADVERTISEMENT, BUSY, "fe80::2", RA_ASK, "fe80::1"}, {63, RA_NONE, BUSY, NULL, RA_NO_NEWS, "fe80::1"},
		{64, RA_NONE, 0, NULL, RA_NO_NEWS, "fe80::1"}, {65, RA_ADVERTISEMENT, 0, "fe80::2", RA_ASK, "fe80::1"}}},
	{"a stranger's call asks, and does not win", {{1, RA_ADVERTISEMENT, 0, "fe80::1", RA_CHANGED, "fe80::1"},
		{2, RA_CONNECTION, 0, "fe80::2", RA_ASK, "fe80::1"}, {3, RA_ADVERTISEMENT, 0, "fe80::1", RA_NO_NEWS, "fe80::1"},
		{9, RA_NONE, 0, NULL, RA_NO_NEWS, "fe80::1"}}},
};

START_TEST(the_peer_is_who_stays)
{
	struct ra_link l = {.by = RA_NONE};
	char text[ADDR_TEXT_MAX];
	for (const struct step *s = scripts[_i].steps; s->router; s++) {
		struct tick now = {s->at_s * 1000};
		enum ra_news news;
		if (s->kind == RA_NONE) {
			news = ra_link_settle(&l, s->flags & BUSY, now) ? RA_CHANGED : RA_NO_NEWS;
		} else {
			struct addr from = address(s->from);
			news = ra_link_hear(&l, s->kind, &from, s->flags & BUSY, now);
		}
		ck_assert_msg(news == s->news, "%s: at %d s the news is %d", scripts[_i].what, s->at_s, news);
		ck_assert_msg(strcmp(addr_format(&l.router, text), s->router) == 0, "%s: at %d s it is %s", scripts[_i].what, s->at_s, text);
	}
}
END_TEST

#define ROW_COUNT(table) (int)(sizeof(table) / sizeof(table)[0])

int main(void)
{
	Suite *suite = suite_create("router_advert");
	TCase *t = tcase_create("router_advert");
	suite_add_tcase(suite, t);
	tcase_add_loop_test(t, only_what_the_rfc_lets_through_counts, 0, ROW_COUNT(messages));
	tcase_add_test(t, ours_are_read);
	tcase_add_loop_test(t, the_peer_is_who_stays, 0, ROW_COUNT(scripts));
	return run_suite(suite);
}
