/* How a session ends, and what comes after it: the next attempt, a rest, or nothing until somebody starts it. */
#include <check.h>
#include <string.h>

#include "bgp/session.h"
#include "tests/unit/run_suite.h"

enum { LOCAL_AS = 64500, PEER_AS = 64496 };

static struct bgp_session s;
static struct bgp_actions acts;
static struct tick now;

static void begin(bool passive)
{
	struct bgp_session_params p = {.local_asn = LOCAL_AS, .remote_asn = PEER_AS, .router_id = 1, .hold_time_s = 90,
				       .passive = passive, .families = {[BGP_IPV4_UNICAST] = true}};
	now.ms = 1000;
	bgp_session_init(&s, &p, 7);
	bgp_actions_clear(&acts);
	bgp_session_start(&s, now, &acts);
}

static void give(enum bgp_slot slot, enum bgp_type type, const void *body, size_t len)
{
	struct bgp_frame f = {.type = type, .body = body, .body_len = len, .len = BGP_HEADER_LEN + len};
	bgp_actions_clear(&acts);
	bgp_session_message(&s, slot, &f, now, &acts);
}

/* False: the session does not want the connection, and says what acts have. */
static bool let_in(enum bgp_slot slot)
{
	bgp_actions_clear(&acts);
	return bgp_session_connected(&s, slot, now, &acts);
}

static void establish(enum bgp_slot slot)
{
	struct bgp_open open = {.version = 4, .asn = PEER_AS, .hold_time_s = 90, .router_id = 2, .as4 = true,
				.multiprotocol = true, .families = {[BGP_IPV4_UNICAST] = true}};
	uint8_t bytes[256];
	ck_assert(let_in(slot));
	size_t len = bgp_open_encode(bytes, sizeof bytes, &open);
	give(slot, BGP_OPEN, bytes + BGP_HEADER_LEN, len - BGP_HEADER_LEN);
	give(slot, BGP_KEEPALIVE, NULL, 0);
	ck_assert_int_eq(s.conn[slot].state, BGP_ESTABLISHED);
}

static void end(enum bgp_after after)
{
	struct bgp_fault f = {0};
	bgp_fault_raise(&f, BGP_RESET, BGP_ERR_CEASE, BGP_CEASE_MAX_PREFIXES, "too many", NULL, 0);
	bgp_actions_clear(&acts);
	bgp_session_end(&s, bgp_session_slot(&s), &f, after, now, &acts);
}

/* The NOTIFICATION in acts. */
static const uint8_t *notified(uint8_t code, uint8_t subcode)
{
	ck_assert_int_eq(acts.action[0].kind, BGP_ACT_SEND);
	const uint8_t *m = acts.bytes + acts.action[0].at;
	ck_assert_uint_eq(m[18], BGP_NOTIFICATION);
	ck_assert_msg(m[19] == code && m[20] == subcode, "%u/%u", m[19], m[20]);
	return m + 21;
}

static int64_t wait_ms(void)
{
	return s.retry_at.ms - now.ms;
}

/* A peer that takes the OPEN and dies right after it is no success: the waits grow all the same. */
START_TEST(short_lives_make_waits_grow)
{
	int64_t last = 0;
	begin(false);
	for (unsigned i = 0; i < 5; i++) {
		establish(BGP_OUT);
		now.ms += 500;
		bgp_actions_clear(&acts);
		bgp_session_lost(&s, BGP_OUT, "reset", now, &acts);
		ck_assert_int_gt(wait_ms(), i < 4 ? last : BGP_RETRY_MAX_MS / 2);
		ck_assert_int_le(wait_ms(), BGP_RETRY_MAX_MS);
		last = wait_ms();
		now.ms = s.retry_at.ms;
		bgp_actions_clear(&acts);
		bgp_session_tick(&s, now, &acts);
	}
	establish(BGP_OUT);
	now.ms += BGP_STABLE_MS; /* that was one */
	bgp_actions_clear(&acts);
	bgp_session_lost(&s, BGP_OUT, "reset", now, &acts);
	ck_assert_int_le(wait_ms(), BGP_RETRY_MS);
}
END_TEST

/* After a limit the peer is not let in before the wait is over, and the waits grow beyond the usual ones. */
START_TEST(a_rest_is_one_for_both_sides)
{
	enum bgp_slot slot = _i ? BGP_IN : BGP_OUT;
	int64_t most = 0;
	begin(_i);
	for (unsigned i = 0; i < 12; i++) {
		establish(slot);
		end(BGP_AFTER_REST);
		notified(BGP_ERR_CEASE, BGP_CEASE_MAX_PREFIXES);
		int64_t until = s.rest_until.ms;
		ck_assert_int_eq(tick_is_set(s.retry_at), slot == BGP_OUT);
		ck_assert_int_gt(until, now.ms);
		bgp_session_hurry(&s, now); /* a link that came up is no reason */
		ck_assert(!let_in(BGP_IN));
		notified(BGP_ERR_CEASE, BGP_CEASE_REJECTED);
		most = until - now.ms > most ? until - now.ms : most;
		now.ms = until;
		bgp_actions_clear(&acts);
		bgp_session_tick(&s, now, &acts);
		ck_assert_int_eq(acts.count, slot == BGP_OUT); /* our own next attempt */
	}
	ck_assert_int_gt(most, BGP_RETRY_MAX_MS);
	ck_assert_int_le(most, BGP_REST_MAX_MS);
	ck_assert(let_in(BGP_IN));
}
END_TEST

START_TEST(stopped_is_stopped_until_it_is_started)
{
	begin(false);
	establish(BGP_OUT);
	end(BGP_AFTER_STOP);
	ck_assert_int_eq(bgp_session_state(&s), BGP_IDLE);
	ck_assert(!tick_is_set(bgp_session_next_at(&s)));
	ck_assert(!let_in(BGP_IN));
	notified(BGP_ERR_CEASE, BGP_CEASE_REJECTED);
	bgp_session_hurry(&s, now);
	ck_assert(!tick_is_set(bgp_session_next_at(&s)));
	ck_assert_ptr_nonnull(strstr(s.last_error.text, "too many"));
	bgp_actions_clear(&acts);
	bgp_session_start(&s, now, &acts);
	ck_assert_int_eq(acts.action[0].kind, BGP_ACT_CONNECT);
	establish(BGP_OUT);
}
END_TEST

/* RFC 9003: a length, and UTF-8 that is not cut within a character. */
START_TEST(words_go_along)
{
	char longest[300] = "";
	begin(false);
	establish(BGP_OUT);
	bgp_actions_clear(&acts);
	bgp_session_shut(&s, BGP_CEASE_SHUTDOWN, "out for lunch", now, &acts);
	const uint8_t *data = notified(BGP_ERR_CEASE, BGP_CEASE_SHUTDOWN);
	ck_assert_uint_eq(acts.action[0].len, 21 + 14);
	ck_assert_uint_eq(data[0], 13);
	ck_assert_mem_eq(data + 1, "out for lunch", 13);

	memset(longest, 'x', BGP_SHUTDOWN_TEXT_MAX - 1);
	strcat(longest, "\xc3\xa4 and more");
	begin(false);
	establish(BGP_OUT);
	bgp_actions_clear(&acts);
	bgp_session_shut(&s, BGP_CEASE_RESET, longest, now, &acts);
	data = notified(BGP_ERR_CEASE, BGP_CEASE_RESET);
	ck_assert_uint_eq(data[0], BGP_SHUTDOWN_TEXT_MAX - 1);
	ck_assert_uint_eq(acts.action[0].len, 21 + BGP_SHUTDOWN_TEXT_MAX);

	begin(false);
	establish(BGP_OUT);
	bgp_actions_clear(&acts);
	bgp_session_shut(&s, BGP_CEASE_SHUTDOWN, "", now, &acts);
	ck_assert_uint_eq(acts.action[0].len, 21);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("session_ends");
	TCase *t = tcase_create("session_ends");
	tcase_add_test(t, short_lives_make_waits_grow);
	tcase_add_loop_test(t, a_rest_is_one_for_both_sides, 0, 2);
	tcase_add_test(t, stopped_is_stopped_until_it_is_started);
	tcase_add_test(t, words_go_along);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
