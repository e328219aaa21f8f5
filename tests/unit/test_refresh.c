/* Enhanced route refresh (RFC 7313): who may send which mark (bgp/session.h), and what of a source's paths a refresh
 * leaves (rib/refresh.h).
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "bgp/session.h"
#include "rib/refresh.h"
#include "src/base/live.h"
#include "tests/unit/run_suite.h"

/* --- the session */

static void marks_of(bool enhanced, const char *body, struct bgp_actions *acts)
{
	struct bgp_session_params p = {.local_asn = 64500, .remote_asn = 64496, .router_id = 1, .hold_time_s = 9,
				       .families = {[BGP_IPV4_UNICAST] = true}};
	struct bgp_open open = {.version = 4, .asn = 64496, .hold_time_s = 9, .router_id = 2, .as4 = true, .multiprotocol = true,
				.families = {[BGP_IPV4_UNICAST] = true}, .refresh = true, .enhanced = enhanced};
	struct bgp_session s;
	struct tick now = {1000};
	uint8_t bytes[256];
	size_t len = bgp_open_encode(bytes, sizeof bytes, &open);
	struct bgp_frame frames[] = {{.type = BGP_OPEN, .body = bytes + BGP_HEADER_LEN, .body_len = len - BGP_HEADER_LEN, .len = len},
				     {.type = BGP_KEEPALIVE, .len = BGP_HEADER_LEN},
				     {.type = BGP_ROUTE_REFRESH, .body = (const uint8_t *)body, .body_len = 4, .len = BGP_HEADER_LEN + 4}};
	bgp_session_init(&s, &p, 1);
	bgp_actions_clear(acts);
	bgp_session_start(&s, now, acts);
	ck_assert(bgp_session_connected(&s, BGP_OUT, now, acts));
	ck_assert(s.sent.enhanced);
	for (unsigned i = 0; i < sizeof frames / sizeof *frames; i++) {
		bgp_actions_clear(acts);
		bgp_session_message(&s, BGP_OUT, &frames[i], now, acts);
	}
	ck_assert_int_eq(bgp_session_state(&s), BGP_ESTABLISHED);
}

START_TEST(marks_are_for_those_who_offered_them)
{
	static const struct {
		const char *body;
		bool told;
		enum bgp_action_kind kind;
	} marks[] = {{"\0\1\0\1", true, BGP_ACT_REFRESH},	{"\0\1\1\1", true, BGP_ACT_REFRESH_BEGIN},
		     {"\0\1\2\1", true, BGP_ACT_REFRESH_END},	{"\0\1\3\1", false, BGP_ACT_REFRESH},
		     {"\0\1\xff\1", false, BGP_ACT_REFRESH},	{"\0\2\1\1", false, BGP_ACT_REFRESH}};
	struct bgp_actions acts;
	for (unsigned enhanced = 0; enhanced < 2; enhanced++) {
		for (unsigned i = 0; i < sizeof marks / sizeof *marks; i++) {
			bool told = marks[i].told && (enhanced || marks[i].kind == BGP_ACT_REFRESH);
			marks_of(enhanced, marks[i].body, &acts);
			ck_assert_uint_eq(acts.count, told);
			if (told)
				ck_assert_int_eq(acts.action[0].kind, marks[i].kind);
		}
	}
}
END_TEST

/* --- the table */

static struct bgp_attr_table attrs;
static struct rib *rib;
static struct rib_source *peer, *other;
static struct bgp_attrs *set;
static const struct tick now = {1000};

static void setup(void)
{
	bgp_attr_table_init(&attrs);
	rib = rib_new(1);
	peer = rib_source_new(rib, &(struct rib_source){.kind = RIB_SOURCE_BGP, .router_id = 1});
	other = rib_source_new(rib, &(struct rib_source){.kind = RIB_SOURCE_BGP, .router_id = 2});
	set = bgp_attrs_local(&attrs);
}

static void teardown(void)
{
	while (!rib_source_flush(rib, peer, 1000) || !rib_source_flush(rib, other, 1000))
		;
	rib_sweep(rib);
	rib_free(rib);
	rib_source_free(peer);
	rib_source_free(other);
	bgp_attrs_unref(set);
	bgp_attr_table_fini(&attrs);
	ck_assert_uint_eq(live_count(LIVE_ATTRS) + live_count(LIVE_SOURCE), 0);
}

static struct prefix prefix_of(unsigned i)
{
	struct addr v4 = addr_from_v4(0x0a000000 + i * 256);
	return prefix_make(&v4, 120);
}

static void say(struct rib_source *s, unsigned first, unsigned end)
{
	for (unsigned i = first; i < end; i++) {
		struct prefix p = prefix_of(i);
		ck_assert(rib_announce_path(rib, s, &p, 0, set, now));
	}
}

/* Turns until it is done. */
static unsigned sweep(unsigned budget)
{
	unsigned turns = 1;
	while (!rib_refresh_sweep(rib, peer, budget))
		ck_assert_uint_lt(++turns, 100000);
	return turns;
}

static bool has(const struct rib_source *s, unsigned i)
{
	struct prefix p = prefix_of(i);
	struct rib_entry *e = rib_find(rib, &p);
	for (struct rib_path *x = e ? rib_path_first(e) : NULL; x; x = rib_path_next(rib, x))
		if (rib_path_source(x) == s)
			return true;
	return false;
}

START_TEST(what_is_not_said_again_goes)
{
	say(peer, 0, 100);
	say(other, 0, 50);
	ck_assert_uint_eq(sweep(1000), 1); /* no refresh, nothing to do */
	ck_assert_uint_eq(peer->paths, 100);
	rib_refresh_begin(peer, BGP_IPV4_UNICAST);
	say(peer, 0, 60);    /* the same attributes as before */
	say(peer, 200, 210); /* and new ones */
	ck_assert_uint_eq(peer->paths, 110);
	sweep(1000);
	ck_assert_uint_eq(peer->paths, 110); /* not before the end */
	rib_refresh_end(peer, BGP_IPV4_UNICAST);
	ck_assert_uint_gt(sweep(30), 5); /* a slice at a time */
	ck_assert_uint_eq(peer->paths, 70);
	ck_assert_uint_eq(other->paths, 50);
	ck_assert(has(peer, 59) && !has(peer, 60) && has(peer, 205) && has(other, 49));
}
END_TEST

START_TEST(families_are_apart)
{
	struct prefix v6;
	ck_assert_int_eq(prefix_parse("fd00::/64", &v6), PREFIX_OK);
	say(peer, 0, 10);
	ck_assert(rib_announce_path(rib, peer, &v6, 0, set, now));
	rib_refresh_begin(peer, BGP_IPV4_UNICAST);
	rib_refresh_end(peer, BGP_IPV4_UNICAST);
	sweep(5);
	ck_assert_uint_eq(peer->paths, 1);
	rib_refresh_begin(peer, BGP_IPV6_UNICAST);
	rib_refresh_end(peer, BGP_IPV6_UNICAST);
	sweep(5);
	ck_assert_uint_eq(peer->paths, 0);
}
END_TEST

/* A second beginning before the end: only what came after it counts. After the fourth the rounds are used up, and
 * nothing is lost by that. */
START_TEST(beginnings_without_an_end)
{
	say(peer, 0, 10);
	for (unsigned i = 0; i < 7; i++) {
		rib_refresh_begin(peer, BGP_IPV4_UNICAST);
		say(peer, i, i + 1);
	}
	rib_refresh_end(peer, BGP_IPV4_UNICAST);
	sweep(3);
	ck_assert_uint_eq(peer->paths, 5); /* what was said since the third */
	ck_assert(has(peer, 6) && has(peer, 2) && !has(peer, 1) && !has(peer, 7));
	rib_refresh_begin(peer, BGP_IPV4_UNICAST); /* and the next one is whole again */
	say(peer, 6, 7);
	rib_refresh_end(peer, BGP_IPV4_UNICAST);
	sweep(3);
	ck_assert_uint_eq(peer->paths, 1);
}
END_TEST

/* The next refresh begins while the last one is still being swept, wherever the sweep is. */
START_TEST(a_refresh_within_a_sweep)
{
	say(peer, 0, 40);
	rib_refresh_begin(peer, BGP_IPV4_UNICAST);
	say(peer, 0, 20);
	rib_refresh_end(peer, BGP_IPV4_UNICAST);
	for (int i = 0; i < _i; i++)
		rib_refresh_sweep(rib, peer, 12);
	rib_refresh_begin(peer, BGP_IPV4_UNICAST);
	say(peer, 0, 5);
	sweep(12); /* the first sweep ends: it takes what is older than its own round */
	ck_assert_uint_eq(peer->paths, 20);
	rib_refresh_end(peer, BGP_IPV4_UNICAST);
	sweep(12);
	ck_assert_uint_eq(peer->paths, 5);
}
END_TEST

/* Paths that come and go in the entry's own slot, and several of one source: each has its own round. */
START_TEST(every_path_has_its_own_round)
{
	struct prefix p = prefix_of(0);
	for (uint32_t id = 1; id <= 4; id++)
		ck_assert(rib_announce_path(rib, peer, &p, id, set, now));
	say(other, 0, 1);
	rib_refresh_begin(peer, BGP_IPV4_UNICAST);
	ck_assert(rib_announce_path(rib, peer, &p, 3, set, now));
	ck_assert(rib_announce_path(rib, peer, &p, 9, set, now));
	rib_refresh_end(peer, BGP_IPV4_UNICAST);
	sweep(2);
	ck_assert_uint_eq(peer->paths, 2);
	ck_assert(has(other, 0));
	for (struct rib_path *x = rib_path_first(rib_find(rib, &p)); x; x = rib_path_next(rib, x))
		ck_assert(rib_path_source(x) == other || x->path_id == 3 || x->path_id == 9);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("refresh");
	TCase *t = tcase_create("session"), *r = tcase_create("table");
	tcase_add_test(t, marks_are_for_those_who_offered_them);
	tcase_add_checked_fixture(r, setup, teardown);
	tcase_add_test(r, what_is_not_said_again_goes);
	tcase_add_test(r, families_are_apart);
	tcase_add_test(r, beginnings_without_an_end);
	tcase_add_loop_test(r, a_refresh_within_a_sweep, 0, 20);
	tcase_add_test(r, every_path_has_its_own_round);
	suite_add_tcase(s, t);
	suite_add_tcase(s, r);
	return run_suite(s);
}
