/* A peer with a session that opens another connection: RFC 4724 section 4.2 where it has restarted, a collision where not.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "bgp/session.h"
#include "tests/unit/run_suite.h"

enum { LOCAL_AS = 64500, PEER_AS = 64496, PEER_ID = 2 };
enum { GR = 1, RESTARTED = 2, OTHER_ID = 4, OTHER_AS = 8 }; /* of a peer's OPEN */

static struct bgp_session s;
static struct bgp_actions acts;
static struct tick now;

static void give(enum bgp_slot slot, enum bgp_type type, const void *body, size_t len)
{
	struct bgp_frame f = {.type = type, .body = body, .body_len = len, .len = BGP_HEADER_LEN + len};
	bgp_actions_clear(&acts);
	bgp_session_message(&s, slot, &f, now, &acts);
}

static void give_open(enum bgp_slot slot, unsigned how)
{
	struct bgp_open open = {.version = 4, .asn = how & OTHER_AS ? 1 : PEER_AS, .hold_time_s = 90,
				.router_id = how & OTHER_ID ? 3 : PEER_ID, .as4 = true, .multiprotocol = true,
				.families = {[BGP_IPV4_UNICAST] = true}};
	uint8_t bytes[256];
	open.restart.present = how & GR;
	open.restart.restarting = how & RESTARTED;
	open.restart.time_s = 120;
	open.restart.families[BGP_IPV4_UNICAST] = true;
	size_t len = bgp_open_encode(bytes, sizeof bytes, &open);
	give(slot, BGP_OPEN, bytes + BGP_HEADER_LEN, len - BGP_HEADER_LEN);
}

static bool let_in(enum bgp_slot slot)
{
	bgp_actions_clear(&acts);
	return bgp_session_connected(&s, slot, now, &acts);
}

/* A session on slot that has been up for so long. */
static void establish(enum bgp_slot slot, unsigned how, int64_t for_ms)
{
	struct bgp_session_params p = {.local_asn = LOCAL_AS, .remote_asn = PEER_AS, .router_id = 1, .hold_time_s = 90,
				       .families = {[BGP_IPV4_UNICAST] = true}, .restart_time_s = 120};
	now.ms = 1000;
	bgp_session_init(&s, &p, 7);
	bgp_actions_clear(&acts);
	bgp_session_start(&s, now, &acts);
	ck_assert(let_in(slot));
	give_open(slot, how);
	give(slot, BGP_KEEPALIVE, NULL, 0);
	ck_assert_int_eq(bgp_session_slot(&s), slot);
	now.ms += for_ms;
}

static void check_action(unsigned i, enum bgp_action_kind kind, enum bgp_slot slot)
{
	ck_assert_uint_lt(i, acts.count);
	ck_assert_int_eq(acts.action[i].kind, kind);
	ck_assert_int_eq(acts.action[i].slot, slot);
}

static void check_sent(unsigned i, enum bgp_type type, uint8_t code, uint8_t subcode)
{
	const uint8_t *m = acts.bytes + acts.action[i].at;
	ck_assert_uint_eq(m[18], type);
	ck_assert(type != BGP_NOTIFICATION || (m[19] == code && m[20] == subcode));
}

static const enum bgp_slot old_slots[] = {BGP_OUT, BGP_IN, BGP_ANEW};

START_TEST(a_restarted_peer_takes_its_session_over)
{
	enum bgp_slot old = old_slots[_i];
	establish(old, GR, BGP_ANEW_AFTER_MS);
	for (unsigned life = 2; life < 5; life++) {
		enum bgp_slot anew = bgp_session_incoming(&s);
		struct tick changed = s.changed_at;
		ck_assert_int_ne(anew, old);
		ck_assert(let_in(anew));
		check_action(0, BGP_ACT_SEND, anew);
		check_sent(0, BGP_OPEN, 0, 0);
		ck_assert(bgp_session_state(&s) == BGP_ESTABLISHED && bgp_session_slot(&s) == old && s.changed_at.ms == changed.ms);
		give_open(anew, GR | RESTARTED);
		ck_assert_uint_eq(acts.count, 3); /* nothing is said on the old one */
		check_action(0, BGP_ACT_CLOSE, old);
		check_action(1, BGP_ACT_DOWN, old);
		check_action(2, BGP_ACT_SEND, anew);
		check_sent(2, BGP_KEEPALIVE, 0, 0);
		ck_assert_int_eq(bgp_session_state(&s), BGP_OPEN_CONFIRM);
		ck_assert(!tick_is_set(s.retry_at) && s.failures == 0);
		give(anew, BGP_KEEPALIVE, NULL, 0);
		check_action(0, BGP_ACT_UP, anew);
		ck_assert_uint_eq(s.established_count, life);
		ck_assert_int_eq(bgp_session_slot(&s), anew);
		now.ms += BGP_ANEW_AFTER_MS;
		old = anew;
	}
}
END_TEST

/* What is no restart changes nothing: the newcomer is told to go, and the session goes on. */
static const struct {
	unsigned how;
	uint8_t code, subcode;
} newcomers[] = {
	{GR, BGP_ERR_CEASE, BGP_CEASE_COLLISION},
	{0, BGP_ERR_CEASE, BGP_CEASE_COLLISION},
	{RESTARTED, BGP_ERR_CEASE, BGP_CEASE_COLLISION}, /* the bit without the capability is not sent */
	{GR | RESTARTED | OTHER_ID, BGP_ERR_CEASE, BGP_CEASE_COLLISION},
	{GR | RESTARTED | OTHER_AS, BGP_ERR_OPEN, BGP_OPEN_PEER_AS},
};

START_TEST(an_established_session_stays_otherwise)
{
	for (unsigned i = 0; i < 3; i++) {
		establish(old_slots[i], GR, BGP_ANEW_AFTER_MS);
		enum bgp_slot anew = bgp_session_incoming(&s);
		ck_assert(let_in(anew));
		give_open(anew, newcomers[_i].how);
		ck_assert_uint_eq(acts.count, 2);
		check_action(0, BGP_ACT_SEND, anew);
		check_sent(0, BGP_NOTIFICATION, newcomers[_i].code, newcomers[_i].subcode);
		check_action(1, BGP_ACT_CLOSE, anew);
		ck_assert_int_eq(bgp_session_slot(&s), old_slots[i]);
		ck_assert_int_eq(s.conn[anew].state, BGP_IDLE);
		give(old_slots[i], BGP_KEEPALIVE, NULL, 0);
		ck_assert_uint_eq(acts.count, 0);
	}
}
END_TEST

START_TEST(a_silent_newcomer_goes)
{
	establish(BGP_IN, GR, BGP_ANEW_AFTER_MS);
	ck_assert(let_in(BGP_ANEW));
	now.ms += BGP_OPEN_WAIT_MS;
	bgp_actions_clear(&acts);
	bgp_session_tick(&s, now, &acts);
	ck_assert_int_eq(s.conn[BGP_ANEW].state, BGP_IDLE);
	ck_assert_int_eq(bgp_session_slot(&s), BGP_IN);
	ck_assert(!tick_is_set(s.retry_at));
}
END_TEST

/* Where nothing was agreed on, and while two that start together may still collide, it is refused without a look. */
START_TEST(a_second_connection_is_refused_at_once)
{
	for (unsigned agreed = 0; agreed < 2; agreed++) {
		establish(BGP_OUT, agreed ? GR : 0, agreed ? BGP_ANEW_AFTER_MS - 1 : BGP_ANEW_AFTER_MS);
		ck_assert(!let_in(bgp_session_incoming(&s)));
		check_sent(0, BGP_NOTIFICATION, BGP_ERR_CEASE, BGP_CEASE_COLLISION);
		ck_assert_int_eq(bgp_session_slot(&s), BGP_OUT);
	}
	establish(BGP_IN, GR, BGP_ANEW_AFTER_MS);
	ck_assert(!let_in(BGP_OUT)); /* one of ours is no restart of the peer's */
}
END_TEST

#define ROW_COUNT(table) (int)(sizeof(table) / sizeof(table)[0])

int main(void)
{
	Suite *suite = suite_create("session_anew");
	TCase *t = tcase_create("session_anew");
	suite_add_tcase(suite, t);
	tcase_add_loop_test(t, a_restarted_peer_takes_its_session_over, 0, ROW_COUNT(old_slots));
	tcase_add_loop_test(t, an_established_session_stays_otherwise, 0, ROW_COUNT(newcomers));
	tcase_add_test(t, a_silent_newcomer_goes);
	tcase_add_test(t, a_second_connection_is_refused_at_once);
	return run_suite(suite);
}
