/* bgp/session.[ch]: one session against hand-written messages, and two sessions that talk in memory under a fake
 * clock, with the TCP between them as queues whose order of delivery is enumerated or drawn by lot.
 *
 * "m" and a number: that one of the list of common mistakes that the project keeps (docs/testing.md).
 */
#include <check.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bgp/session.h"
#include "src/base/hash.h"
#include "tests/unit/run_suite.h"

enum { LOCAL_AS = 64500, PEER_AS = 64496, LOCAL_ID = 0x0a000001, PEER_ID = 0x0a000002 };

static struct bgp_session_params params_of(uint32_t local_asn, uint32_t remote_asn, uint32_t id)
{
	return (struct bgp_session_params){.local_asn = local_asn, .remote_asn = remote_asn, .router_id = id,
					   .hold_time_s = 9, .families = {[BGP_IPV4_UNICAST] = true}};
}

/* --- one session */

struct one {
	struct bgp_session s;
	struct bgp_actions acts; /* of the last event */
	struct tick now;
};

static void one_init(struct one *o, const struct bgp_session_params *p)
{
	memset(o, 0, sizeof *o);
	o->now.ms = 1000;
	bgp_session_init(&o->s, p, 1);
	bgp_session_start(&o->s, o->now, &o->acts);
}

static void one_default(struct one *o)
{
	struct bgp_session_params p = params_of(LOCAL_AS, PEER_AS, LOCAL_ID);
	one_init(o, &p);
}

static unsigned count(const struct one *o, enum bgp_action_kind kind)
{
	unsigned n = 0;
	for (unsigned i = 0; i < o->acts.count; i++)
		n += o->acts.action[i].kind == kind;
	return n;
}

/* The index-th message that was sent. */
static struct bgp_frame sent(const struct one *o, unsigned index)
{
	struct bgp_frame f = {0};
	struct bgp_fault fault = {0};
	for (unsigned i = 0; i < o->acts.count; i++) {
		const struct bgp_action *a = &o->acts.action[i];
		if (a->kind != BGP_ACT_SEND || index--)
			continue;
		ck_assert_int_eq(bgp_frame_next(o->acts.bytes + a->at, a->len, BGP_MESSAGE_MAX, &f, &fault), 1);
		ck_assert_uint_eq(f.len, a->len);
		return f;
	}
	ck_abort_msg("no such message");
	return f;
}

static void check_notified(const struct one *o, uint8_t code, uint8_t subcode)
{
	struct bgp_frame f = sent(o, 0);
	ck_assert_int_eq(f.type, BGP_NOTIFICATION);
	ck_assert_msg(f.body[0] == code && f.body[1] == subcode, "sent %u/%u, not %u/%u", f.body[0], f.body[1], code, subcode);
	ck_assert_uint_eq(count(o, BGP_ACT_SEND), 1);
	ck_assert_uint_eq(count(o, BGP_ACT_CLOSE), 1);
	ck_assert_int_eq(o->acts.action[0].kind, BGP_ACT_SEND);
	ck_assert_int_eq(o->acts.action[1].kind, BGP_ACT_CLOSE);
}

static void connected(struct one *o, enum bgp_slot slot)
{
	bgp_actions_clear(&o->acts);
	ck_assert(bgp_session_connected(&o->s, slot, o->now, &o->acts));
	ck_assert_uint_eq(o->acts.count, 1);
	ck_assert_int_eq(sent(o, 0).type, BGP_OPEN);
}

static bool give(struct one *o, enum bgp_slot slot, enum bgp_type type, const void *body, size_t len)
{
	struct bgp_frame f = {.type = type, .body = body, .body_len = len, .len = BGP_HEADER_LEN + len};
	bgp_actions_clear(&o->acts);
	return bgp_session_message(&o->s, slot, &f, o->now, &o->acts);
}

static struct bgp_open peer_open(void)
{
	return (struct bgp_open){.version = 4, .asn = PEER_AS, .hold_time_s = 9, .router_id = PEER_ID, .as4 = true,
				 .multiprotocol = true, .families = {[BGP_IPV4_UNICAST] = true}};
}

static void give_open(struct one *o, enum bgp_slot slot, const struct bgp_open *open)
{
	uint8_t bytes[256];
	size_t len = bgp_open_encode(bytes, sizeof bytes, open);
	ck_assert(!give(o, slot, BGP_OPEN, bytes + BGP_HEADER_LEN, len - BGP_HEADER_LEN));
}

static void tick(struct one *o, int64_t ms)
{
	o->now.ms += ms;
	bgp_actions_clear(&o->acts);
	bgp_session_tick(&o->s, o->now, &o->acts);
}

/* As one_default(), brought up to state on slot. */
static void one_in(struct one *o, enum bgp_slot slot, enum bgp_state state)
{
	struct bgp_open open = peer_open();
	one_default(o);
	if (slot != BGP_OUT) {
		bgp_actions_clear(&o->acts);
		bgp_session_lost(&o->s, BGP_OUT, "refused", o->now, &o->acts);
	}
	if (state >= BGP_OPEN_SENT)
		connected(o, slot);
	if (state >= BGP_OPEN_CONFIRM)
		give_open(o, slot, &open);
	if (state >= BGP_ESTABLISHED)
		give(o, slot, BGP_KEEPALIVE, NULL, 0);
	ck_assert_int_eq(o->s.conn[slot].state, state);
	ck_assert_int_eq(bgp_session_state(&o->s), state);
}

START_TEST(a_session_comes_up)
{
	struct one o;
	struct bgp_open open = peer_open();
	enum bgp_slot slot = _i ? BGP_IN : BGP_OUT;
	one_default(&o);
	ck_assert_int_eq(bgp_session_state(&o.s), BGP_CONNECT);
	ck_assert_uint_eq(o.acts.count, 1);
	ck_assert_int_eq(o.acts.action[0].kind, BGP_ACT_CONNECT);
	connected(&o, slot);
	ck_assert_int_eq(bgp_session_state(&o.s), BGP_OPEN_SENT);
	give_open(&o, slot, &open);
	ck_assert_uint_eq(o.acts.count, 1);
	ck_assert_int_eq(sent(&o, 0).type, BGP_KEEPALIVE);
	ck_assert_int_eq(bgp_session_state(&o.s), BGP_OPEN_CONFIRM);
	ck_assert_int_eq(bgp_session_slot(&o.s), BGP_SLOTS);
	ck_assert(!give(&o, slot, BGP_KEEPALIVE, NULL, 0));
	ck_assert_uint_eq(count(&o, BGP_ACT_UP), 1);
	ck_assert_uint_eq(count(&o, BGP_ACT_CLOSE), slot == BGP_IN); /* our own attempt is given up */
	ck_assert_int_eq(bgp_session_state(&o.s), BGP_ESTABLISHED);
	ck_assert_int_eq(bgp_session_slot(&o.s), slot);
	ck_assert_uint_eq(o.s.established_count, 1);
	ck_assert_int_eq(o.s.conn[!slot].state, BGP_IDLE);
	ck_assert(give(&o, slot, BGP_UPDATE, "\0\0\0\0", 4)); /* for the caller */
	ck_assert_uint_eq(o.acts.count, 0);
	ck_assert_str_eq(bgp_state_name(bgp_session_state(&o.s)), "Established");
}
END_TEST

/* What we say of ourselves; m19: a restart and kept routes only where they are true. */
START_TEST(the_open_says_what_was_configured)
{
	struct one o;
	struct bgp_session_params p = params_of(4200000001, PEER_AS, LOCAL_ID);
	for (unsigned bits = 0; bits < 8; bits++) {
		struct bgp_open open;
		struct bgp_fault fault = {0};
		p.restart_time_s = bits & 1 ? 120 : 0;
		one_init(&o, &p);
		o.s.restarting = bits & 2;
		o.s.kept_routes = bits & 4;
		connected(&o, BGP_OUT);
		struct bgp_frame f = sent(&o, 0);
		bgp_open_decode(f.body, f.body_len, &open, &fault);
		ck_assert_int_eq(fault.reaction, BGP_FINE);
		ck_assert_uint_eq(open.version, 4);
		ck_assert_uint_eq(open.asn, 4200000001);
		ck_assert_uint_eq(open.hold_time_s, 9);
		ck_assert_uint_eq(open.router_id, LOCAL_ID);
		ck_assert(open.as4 && open.families[BGP_IPV4_UNICAST] && !open.families[BGP_IPV6_UNICAST]);
		ck_assert_int_eq(open.restart.present, bits & 1);
		ck_assert_uint_eq(open.restart.time_s, p.restart_time_s);
		ck_assert_int_eq(open.restart.restarting, (bits & 3) == 3);
		ck_assert_int_eq(open.restart.kept[BGP_IPV4_UNICAST], (bits & 5) == 5);
		ck_assert_uint_eq(o.s.sent.asn, 4200000001); /* for the list of capabilities */
	}
}
END_TEST

static const struct {
	const char *what;
	enum bgp_asn_kind kind;
	uint32_t local_asn, remote_asn;
	uint32_t asn, id;
	uint16_t hold_time_s;
	uint8_t version, subcode; /* 0: accepted */
	bool ipv6_only;
} opens[] = {
	{"as configured", BGP_ASN_NUMBER, 64500, 64496, 64496, PEER_ID, 9, 4, 0, false},
	{"wrong AS", BGP_ASN_NUMBER, 64500, 64496, 64497, PEER_ID, 9, 4, BGP_OPEN_PEER_AS, false},
	{"wrong 4-byte AS", BGP_ASN_NUMBER, 64500, 70000, 70001, PEER_ID, 9, 4, BGP_OPEN_PEER_AS, false},
	{"our own AS where another was expected", BGP_ASN_NUMBER, 64500, 64496, 64500, PEER_ID, 9, 4, BGP_OPEN_PEER_AS, false},
	{"external", BGP_ASN_EXTERNAL, 64500, 0, 70000, PEER_ID, 9, 4, 0, false},
	{"external but ours", BGP_ASN_EXTERNAL, 64500, 0, 64500, PEER_ID, 9, 4, BGP_OPEN_PEER_AS, false},
	{"internal", BGP_ASN_INTERNAL, 64500, 0, 64500, PEER_ID, 9, 4, 0, false},
	{"internal but another", BGP_ASN_INTERNAL, 64500, 0, 64496, PEER_ID, 9, 4, BGP_OPEN_PEER_AS, false},
	{"AS 0", BGP_ASN_EXTERNAL, 64500, 0, 0, PEER_ID, 9, 4, BGP_OPEN_PEER_AS, false},
	{"m14 version 3", BGP_ASN_NUMBER, 64500, 64496, 64496, PEER_ID, 9, 3, BGP_OPEN_VERSION, false},
	{"m14 hold time 1", BGP_ASN_NUMBER, 64500, 64496, 64496, PEER_ID, 1, 4, BGP_OPEN_HOLD_TIME, false},
	{"m14 hold time 2", BGP_ASN_NUMBER, 64500, 64496, 64496, PEER_ID, 2, 4, BGP_OPEN_HOLD_TIME, false},
	{"m14 hold time 3", BGP_ASN_NUMBER, 64500, 64496, 64496, PEER_ID, 3, 4, 0, false},
	{"m14 identifier 0", BGP_ASN_NUMBER, 64500, 64496, 64496, 0, 9, 4, BGP_OPEN_IDENTIFIER, false},
	{"m14 our identifier inside", BGP_ASN_NUMBER, 64500, 64500, 64500, LOCAL_ID, 9, 4, BGP_OPEN_IDENTIFIER, false},
	{"our identifier outside (RFC 6286)", BGP_ASN_NUMBER, 64500, 64496, 64496, LOCAL_ID, 9, 4, 0, false},
	{"no family in common", BGP_ASN_NUMBER, 64500, 64496, 64496, PEER_ID, 9, 4, BGP_OPEN_CAPABILITY, true},
};

START_TEST(opens_are_checked)
{
	struct one o;
	struct bgp_session_params p = params_of(opens[_i].local_asn, opens[_i].remote_asn, LOCAL_ID);
	struct bgp_open open = peer_open();
	p.asn_kind = opens[_i].kind;
	one_init(&o, &p);
	connected(&o, BGP_OUT);
	open.version = opens[_i].version;
	open.asn = opens[_i].asn;
	open.router_id = opens[_i].id;
	open.hold_time_s = opens[_i].hold_time_s;
	open.families[BGP_IPV4_UNICAST] = !opens[_i].ipv6_only;
	open.families[BGP_IPV6_UNICAST] = opens[_i].ipv6_only;
	give_open(&o, BGP_OUT, &open);
	if (!opens[_i].subcode) {
		ck_assert_msg(o.s.conn[BGP_OUT].state == BGP_OPEN_CONFIRM, "%s", opens[_i].what);
		ck_assert_int_eq(sent(&o, 0).type, BGP_KEEPALIVE);
		return;
	}
	check_notified(&o, BGP_ERR_OPEN, opens[_i].subcode);
	ck_assert_int_eq(bgp_session_state(&o.s), BGP_ACTIVE);
	ck_assert_int_eq(o.s.last_error.kind, BGP_LAST_SENT);
	ck_assert_uint_eq(o.s.last_error.fault.subcode, opens[_i].subcode);
	ck_assert_uint_gt(strlen(o.s.last_error.text), 0);
	ck_assert_uint_eq(o.s.failures, 1);
}
END_TEST

START_TEST(an_old_speaker_is_a_peer)
{
	struct one o;
	struct bgp_open open = peer_open();
	open.as4 = open.multiprotocol = false;
	one_default(&o);
	connected(&o, BGP_OUT);
	give_open(&o, BGP_OUT, &open);
	ck_assert_int_eq(o.s.conn[BGP_OUT].state, BGP_OPEN_CONFIRM);
	ck_assert(!o.s.conn[BGP_OUT].open.as4);
}
END_TEST

/* RFC 6608: the subcode tells the state. m1 of the FSM: an UPDATE is no UPDATE before Established. */
static const struct {
	enum bgp_state state;
	enum bgp_type type;
	bool expected;
} unexpected[] = {
	{BGP_OPEN_SENT, BGP_KEEPALIVE, false},       {BGP_OPEN_SENT, BGP_UPDATE, false},
	{BGP_OPEN_SENT, BGP_ROUTE_REFRESH, false},   {BGP_OPEN_CONFIRM, BGP_OPEN, false},
	{BGP_OPEN_CONFIRM, BGP_UPDATE, false},       {BGP_OPEN_CONFIRM, BGP_ROUTE_REFRESH, false},
	{BGP_ESTABLISHED, BGP_OPEN, false},          {BGP_ESTABLISHED, BGP_KEEPALIVE, true},
};

START_TEST(unexpected_messages_are_fsm_errors)
{
	for (unsigned slot = 0; slot < BGP_SLOTS; slot++) {
		struct one o;
		enum bgp_state state = unexpected[_i].state;
		one_in(&o, (enum bgp_slot)slot, state);
		ck_assert(!give(&o, (enum bgp_slot)slot, unexpected[_i].type, "\0\0\0\0", 4));
		if (unexpected[_i].expected) {
			ck_assert_uint_eq(o.acts.count, 0);
			ck_assert_int_eq(o.s.conn[slot].state, state);
			continue;
		}
		check_notified(&o, BGP_ERR_FSM, (uint8_t)(state - BGP_OPEN_SENT + 1));
		ck_assert_uint_eq(count(&o, BGP_ACT_DOWN), state == BGP_ESTABLISHED);
		ck_assert_int_eq(o.s.conn[slot].state, BGP_IDLE);
	}
}
END_TEST

/* row 88, m20: a request for what we speak is passed on, one for anything else is not, and a broken one is an error. */
static const struct {
	const char *body;
	size_t len;
	bool asked;
	bool error;
} refreshes[] = {
	{"\0\1\0\1", 4, true, false},        {"\0\2\0\1", 4, false, false}, {"\0\1\0\2", 4, false, false},
	{"\0\1\1\1", 4, false, false},       {"\0\1\2\1", 4, false, false}, {"\0\1\xff\1", 4, false, false},
	{"", 0, false, true},                 {"\0", 1, false, true},          {"\0\1\0", 3, false, true},
	{"\0\1\0\1\1\x40\xff", 7, false, true},
};

START_TEST(refreshes_are_told)
{
	struct one o;
	one_in(&o, BGP_OUT, BGP_ESTABLISHED);
	ck_assert(!give(&o, BGP_OUT, BGP_ROUTE_REFRESH, refreshes[_i].body, refreshes[_i].len));
	ck_assert_uint_eq(count(&o, BGP_ACT_REFRESH), refreshes[_i].asked);
	if (refreshes[_i].error)
		check_notified(&o, BGP_ERR_REFRESH, 1);
	else
		ck_assert_uint_eq(o.acts.count, refreshes[_i].asked);
}
END_TEST

/* m20: only a peer that offered it is asked; m15: only one that offered it may send long messages. */
START_TEST(what_a_peer_cannot_do_is_not_asked_of_it)
{
	for (unsigned able = 0; able < 2; able++) {
		struct one o;
		struct bgp_open open = peer_open();
		open.refresh = open.extended = able;
		one_default(&o);
		ck_assert(!bgp_session_ask_refresh(&o.s, BGP_IPV4_UNICAST, &o.acts));
		connected(&o, BGP_OUT);
		ck_assert_uint_eq(bgp_session_message_max(&o.s, BGP_OUT), BGP_MESSAGE_MAX);
		give_open(&o, BGP_OUT, &open);
		ck_assert_uint_eq(bgp_session_message_max(&o.s, BGP_OUT), able ? BGP_EXTENDED_MAX : BGP_MESSAGE_MAX);
		give(&o, BGP_OUT, BGP_KEEPALIVE, NULL, 0);
		bgp_actions_clear(&o.acts);
		ck_assert(!bgp_session_ask_refresh(&o.s, BGP_IPV6_UNICAST, &o.acts));
		ck_assert_int_eq(bgp_session_ask_refresh(&o.s, BGP_IPV4_UNICAST, &o.acts), able);
		ck_assert_uint_eq(o.acts.count, able);
		if (able)
			ck_assert_int_eq(sent(&o, 0).type, BGP_ROUTE_REFRESH);
	}
}
END_TEST

/* RFC 8950: agreed on where both have offered it, and not offered where the routes are not exchanged. */
START_TEST(ipv6_next_hops_are_agreed_on)
{
	for (unsigned bits = 0; bits < 8; bits++) {
		bool ours = bits & 1, theirs = bits & 2, v4 = bits & 4;
		struct bgp_session_params p = params_of(LOCAL_AS, PEER_AS, LOCAL_ID);
		struct bgp_open open = peer_open();
		struct one o;
		p.v6_next_hop = ours;
		p.families[BGP_IPV4_UNICAST] = v4;
		p.families[BGP_IPV6_UNICAST] = open.families[BGP_IPV6_UNICAST] = true;
		open.v6_next_hop = theirs;
		one_init(&o, &p);
		connected(&o, BGP_OUT);
		ck_assert_int_eq(o.s.sent.v6_next_hop, ours && v4);
		give_open(&o, BGP_OUT, &open);
		ck_assert_int_eq(o.s.v6_next_hop, ours && theirs && v4);
	}
}
END_TEST

START_TEST(a_message_for_nobody_is_nothing)
{
	struct one o;
	one_default(&o); /* Connect */
	ck_assert(!give(&o, BGP_OUT, BGP_UPDATE, "\0\0\0\0", 4));
	ck_assert_uint_eq(o.acts.count, 0);
	ck_assert(!give(&o, BGP_IN, BGP_KEEPALIVE, NULL, 0));
	ck_assert_uint_eq(o.acts.count, 0);
	bgp_session_lost(&o.s, BGP_IN, "nothing there", o.now, &o.acts);
	ck_assert_uint_eq(o.acts.count, 0);
	ck_assert_int_eq(o.s.last_error.kind, BGP_LAST_NONE);
}
END_TEST

static const enum bgp_state connection_states[] = {BGP_OPEN_SENT, BGP_OPEN_CONFIRM, BGP_ESTABLISHED};

START_TEST(a_notification_ends_it)
{
	for (unsigned slot = 0; slot < BGP_SLOTS; slot++) {
		struct one o;
		one_in(&o, (enum bgp_slot)slot, connection_states[_i]);
		ck_assert(!give(&o, (enum bgp_slot)slot, BGP_NOTIFICATION, "\x06\x02", 2));
		ck_assert_uint_eq(count(&o, BGP_ACT_SEND), 0); /* never an answer to one */
		ck_assert_uint_eq(count(&o, BGP_ACT_CLOSE), 1);
		ck_assert_uint_eq(count(&o, BGP_ACT_DOWN), connection_states[_i] == BGP_ESTABLISHED);
		ck_assert_int_eq(bgp_session_state(&o.s), BGP_ACTIVE);
		ck_assert_int_eq(o.s.last_error.kind, BGP_LAST_RECEIVED);
		ck_assert_uint_eq(o.s.last_error.fault.code, BGP_ERR_CEASE);
		ck_assert_uint_eq(o.s.last_error.fault.subcode, BGP_CEASE_SHUTDOWN);
		ck_assert_int_eq(o.s.last_error.at.ms, o.now.ms);
		ck_assert(strstr(o.s.last_error.text, "received") && strstr(o.s.last_error.text, "Administrative Shutdown"));
		ck_assert(tick_is_set(bgp_session_next_at(&o.s)));
	}
}
END_TEST

START_TEST(a_lost_connection_ends_it)
{
	for (unsigned slot = 0; slot < BGP_SLOTS; slot++) {
		struct one o;
		one_in(&o, (enum bgp_slot)slot, connection_states[_i]);
		bgp_actions_clear(&o.acts);
		bgp_session_lost(&o.s, (enum bgp_slot)slot, "reset by peer", o.now, &o.acts);
		ck_assert_uint_eq(count(&o, BGP_ACT_SEND), 0);
		ck_assert_uint_eq(count(&o, BGP_ACT_DOWN), connection_states[_i] == BGP_ESTABLISHED);
		ck_assert_int_eq(bgp_session_state(&o.s), BGP_ACTIVE);
		ck_assert_int_eq(o.s.last_error.kind, BGP_LAST_TCP);
		ck_assert(strstr(o.s.last_error.text, "reset by peer"));
	}
}
END_TEST

START_TEST(a_fault_found_outside_ends_it)
{
	struct one o;
	struct bgp_fault f = {0};
	one_in(&o, BGP_OUT, connection_states[_i]);
	bgp_fault_raise(&f, BGP_RESET, BGP_ERR_HEADER, BGP_HEADER_LENGTH, "too long", "\x10\x01", 2);
	bgp_actions_clear(&o.acts);
	bgp_session_fault(&o.s, BGP_OUT, &f, o.now, &o.acts);
	check_notified(&o, BGP_ERR_HEADER, BGP_HEADER_LENGTH);
	ck_assert_uint_eq(sent(&o, 0).body_len, 4);
	ck_assert_uint_eq(count(&o, BGP_ACT_DOWN), connection_states[_i] == BGP_ESTABLISHED);
	ck_assert(strstr(o.s.last_error.text, "Bad Message Length") && strstr(o.s.last_error.text, "too long"));
}
END_TEST

/* --- its timers */

/* m13 */
START_TEST(silence_ends_it)
{
	static const int64_t limit_ms[] = {BGP_OPEN_WAIT_MS, 9000, 9000};
	struct one o;
	one_in(&o, BGP_OUT, connection_states[_i]);
	int64_t until = o.now.ms + limit_ms[_i];
	while (o.now.ms < until - 1) {
		struct tick at = bgp_session_next_at(&o.s);
		ck_assert(tick_is_set(at) && at.ms > o.now.ms && at.ms <= until);
		tick(&o, (at.ms < until ? at.ms : until - 1) - o.now.ms);
		ck_assert_uint_eq(count(&o, BGP_ACT_CLOSE), 0);
	}
	tick(&o, 1);
	check_notified(&o, BGP_ERR_HOLD_TIMER, 0);
	ck_assert_uint_eq(count(&o, BGP_ACT_DOWN), connection_states[_i] == BGP_ESTABLISHED);
	ck_assert_int_eq(bgp_session_state(&o.s), BGP_ACTIVE);
}
END_TEST

/* The smaller of both hold times counts; what is heard in time keeps it up; keepalives leave at most a third apart. */
START_TEST(keepalives_keep_it_up)
{
	static const struct {
		uint16_t ours, theirs, both;
	} holds[] = {{9, 9, 9}, {90, 9, 9}, {9, 90, 9}, {3, 90, 3}, {65535, 65535, 65535}, {10, 10, 10}};
	struct one o;
	struct bgp_session_params p = params_of(LOCAL_AS, PEER_AS, LOCAL_ID);
	struct bgp_open open = peer_open();
	p.hold_time_s = holds[_i].ours;
	open.hold_time_s = holds[_i].theirs;
	one_init(&o, &p);
	connected(&o, BGP_OUT);
	give_open(&o, BGP_OUT, &open);
	give(&o, BGP_OUT, BGP_KEEPALIVE, NULL, 0);
	ck_assert_uint_eq(o.s.hold_time_s, holds[_i].both);
	int64_t hold_ms = holds[_i].both * 1000, heard_at = o.now.ms, said_at = o.now.ms;
	for (unsigned said = 0, n = 0; said < 50; n++) {
		struct tick at = bgp_session_next_at(&o.s);
		ck_assert(tick_is_set(at) && at.ms > o.now.ms);
		if (at.ms > heard_at + hold_ms - 1) { /* the last moment */
			o.now.ms = heard_at = heard_at + hold_ms - 1;
			if (n % 2)
				give(&o, BGP_OUT, BGP_KEEPALIVE, NULL, 0);
			else
				ck_assert(give(&o, BGP_OUT, BGP_UPDATE, "\0\0\0\0", 4));
			ck_assert_uint_eq(o.acts.count, 0);
			continue;
		}
		tick(&o, at.ms - o.now.ms);
		ck_assert_uint_le(o.acts.count, 1);
		if (o.acts.count) {
			ck_assert_int_eq(sent(&o, 0).type, BGP_KEEPALIVE);
			ck_assert_int_le(o.now.ms - said_at, hold_ms / 3);
			ck_assert_int_ge(o.now.ms - said_at, hold_ms / 3 * 7 / 10 - 1000);
			said_at = o.now.ms;
			said++;
		}
	}
	ck_assert_int_eq(bgp_session_state(&o.s), BGP_ESTABLISHED);
}
END_TEST

/* m13: no hold time, no timers, and nothing that spins or divides */
START_TEST(hold_time_0_is_forever)
{
	struct one o;
	struct bgp_session_params p = params_of(LOCAL_AS, PEER_AS, LOCAL_ID);
	struct bgp_open open = peer_open();
	p.hold_time_s = _i ? 9 : 0;
	open.hold_time_s = _i ? 0 : 9;
	one_init(&o, &p);
	connected(&o, BGP_OUT);
	give_open(&o, BGP_OUT, &open);
	ck_assert_int_eq(sent(&o, 0).type, BGP_KEEPALIVE);
	give(&o, BGP_OUT, BGP_KEEPALIVE, NULL, 0);
	ck_assert_int_eq(bgp_session_state(&o.s), BGP_ESTABLISHED);
	ck_assert(!tick_is_set(bgp_session_next_at(&o.s)));
	tick(&o, 1000000000);
	ck_assert_uint_eq(o.acts.count, 0);
	give(&o, BGP_OUT, BGP_KEEPALIVE, NULL, 0);
	ck_assert(!tick_is_set(bgp_session_next_at(&o.s)));
}
END_TEST

START_TEST(hold_time_0_begins_when_the_session_is_up)
{
	struct one o;
	struct bgp_open open = peer_open();
	one_default(&o);
	connected(&o, BGP_OUT);
	open.hold_time_s = 0;
	give_open(&o, BGP_OUT, &open);
	ck_assert_int_eq(bgp_session_next_at(&o.s).ms, o.now.ms + BGP_OPEN_WAIT_MS);
	tick(&o, BGP_OPEN_WAIT_MS);
	check_notified(&o, BGP_ERR_HOLD_TIMER, 0);
}
END_TEST

START_TEST(an_attempt_is_given_up)
{
	struct one o;
	one_default(&o);
	tick(&o, BGP_CONNECT_TIMEOUT_MS - 1);
	ck_assert_uint_eq(o.acts.count, 0);
	tick(&o, 1);
	ck_assert_uint_eq(o.acts.count, 1);
	ck_assert_int_eq(o.acts.action[0].kind, BGP_ACT_CLOSE);
	ck_assert_int_eq(bgp_session_state(&o.s), BGP_ACTIVE);
	ck_assert_int_eq(o.s.last_error.kind, BGP_LAST_TCP);
}
END_TEST

/* The wait until the next attempt, which is then made. */
static int64_t retry_wait(struct one *o)
{
	struct tick at = bgp_session_next_at(&o->s);
	int64_t wait = at.ms - o->now.ms;
	ck_assert(tick_is_set(at) && wait > 0);
	tick(o, wait - 1);
	ck_assert_uint_eq(o->acts.count, 0);
	tick(o, 1);
	ck_assert_uint_eq(o->acts.count, 1);
	ck_assert_int_eq(o->acts.action[0].kind, BGP_ACT_CONNECT);
	return wait;
}

START_TEST(retry_waits_grow_and_are_jittered)
{
	struct one o;
	struct bgp_open open = peer_open();
	int64_t nominal = BGP_RETRY_MS;
	unsigned different = 0;
	one_default(&o);
	for (unsigned i = 0; i < 12; i++) {
		connected(&o, BGP_OUT);
		give(&o, BGP_OUT, BGP_NOTIFICATION, "\x02\x02", 2);
		int64_t wait = retry_wait(&o);
		ck_assert_int_le(wait, nominal);
		ck_assert_int_ge(wait, nominal * 3 / 4);
		different += wait != nominal;
		nominal = nominal * 2 < BGP_RETRY_MAX_MS ? nominal * 2 : BGP_RETRY_MAX_MS;
	}
	ck_assert_uint_gt(different, 6);
	/* being up once makes it short again */
	connected(&o, BGP_OUT);
	give_open(&o, BGP_OUT, &open);
	give(&o, BGP_OUT, BGP_KEEPALIVE, NULL, 0);
	give(&o, BGP_OUT, BGP_NOTIFICATION, "\x06\x04", 2);
	ck_assert_int_le(retry_wait(&o), BGP_RETRY_MS);
}
END_TEST

/* A peer that is not there yet is looked for at an even pace. */
START_TEST(refused_connections_are_retried_soon)
{
	struct one o;
	one_default(&o);
	for (unsigned i = 0; i < 12; i++) {
		bgp_actions_clear(&o.acts);
		bgp_session_lost(&o.s, BGP_OUT, "Connection refused", o.now, &o.acts);
		int64_t wait = retry_wait(&o);
		ck_assert_int_le(wait, BGP_RETRY_MS);
		ck_assert_int_ge(wait, BGP_RETRY_MS * 3 / 4);
	}
}
END_TEST

START_TEST(two_that_failed_together_retry_apart)
{
	struct one o[2];
	unsigned same = 0;
	struct bgp_session_params p = params_of(LOCAL_AS, PEER_AS, LOCAL_ID);
	for (unsigned i = 0; i < 2; i++) {
		one_init(&o[i], &p);
		o[i].s.random.state = i + 7;
	}
	for (unsigned n = 0; n < 20; n++) {
		for (unsigned i = 0; i < 2; i++) {
			o[i].now.ms = 100000 * (n + 1);
			bgp_actions_clear(&o[i].acts);
			bgp_session_lost(&o[i].s, BGP_OUT, "refused", o[i].now, &o[i].acts);
		}
		same += bgp_session_next_at(&o[0].s).ms == bgp_session_next_at(&o[1].s).ms;
		for (unsigned i = 0; i < 2; i++)
			retry_wait(&o[i]);
	}
	ck_assert_uint_lt(same, 5);
}
END_TEST

START_TEST(a_passive_one_waits)
{
	struct one o;
	struct bgp_session_params p = params_of(LOCAL_AS, PEER_AS, LOCAL_ID);
	struct bgp_open open = peer_open();
	p.passive = true;
	one_init(&o, &p);
	ck_assert_uint_eq(o.acts.count, 0);
	ck_assert_int_eq(bgp_session_state(&o.s), BGP_ACTIVE);
	ck_assert(!tick_is_set(bgp_session_next_at(&o.s)));
	tick(&o, 1000000);
	ck_assert_uint_eq(o.acts.count, 0);
	for (unsigned i = 0; i < 3; i++) {
		connected(&o, BGP_IN);
		give_open(&o, BGP_IN, &open);
		give(&o, BGP_IN, BGP_KEEPALIVE, NULL, 0);
		ck_assert_int_eq(bgp_session_state(&o.s), BGP_ESTABLISHED);
		give(&o, BGP_IN, BGP_NOTIFICATION, "\x06\x02", 2);
		ck_assert_int_eq(bgp_session_state(&o.s), BGP_ACTIVE);
		ck_assert(!tick_is_set(bgp_session_next_at(&o.s)));
	}
}
END_TEST

/* --- stopping */

START_TEST(stopping_says_why_or_nothing)
{
	static const uint8_t subcodes[] = {0, BGP_CEASE_SHUTDOWN, BGP_CEASE_DECONFIGURED};
	enum bgp_state state = connection_states[_i];
	for (size_t i = 0; i < sizeof subcodes; i++) {
		struct one o;
		one_in(&o, BGP_OUT, state);
		bgp_actions_clear(&o.acts);
		bgp_session_stop(&o.s, subcodes[i], o.now, &o.acts);
		if (subcodes[i])
			check_notified(&o, BGP_ERR_CEASE, subcodes[i]);
		ck_assert_uint_eq(count(&o, BGP_ACT_SEND), subcodes[i] != 0);
		ck_assert_uint_eq(count(&o, BGP_ACT_CLOSE), 1);
		ck_assert_uint_eq(count(&o, BGP_ACT_DOWN), state == BGP_ESTABLISHED);
		ck_assert_int_eq(bgp_session_state(&o.s), BGP_IDLE);
		ck_assert(!tick_is_set(bgp_session_next_at(&o.s)));
		/* whoever comes now is told so */
		bgp_actions_clear(&o.acts);
		ck_assert(!bgp_session_connected(&o.s, BGP_IN, o.now, &o.acts));
		check_notified(&o, BGP_ERR_CEASE, BGP_CEASE_REJECTED);
		/* and a new start works */
		bgp_actions_clear(&o.acts);
		bgp_session_start(&o.s, o.now, &o.acts);
		ck_assert_uint_eq(count(&o, BGP_ACT_CONNECT), 1);
	}
}
END_TEST

START_TEST(stopping_without_a_connection_is_quiet)
{
	struct one o;
	one_default(&o);
	bgp_actions_clear(&o.acts);
	bgp_session_stop(&o.s, BGP_CEASE_SHUTDOWN, o.now, &o.acts); /* Connect: nobody to tell */
	ck_assert_uint_eq(o.acts.count, 1);
	ck_assert_int_eq(o.acts.action[0].kind, BGP_ACT_CLOSE);
	bgp_actions_clear(&o.acts);
	bgp_session_stop(&o.s, BGP_CEASE_SHUTDOWN, o.now, &o.acts);
	ck_assert_uint_eq(o.acts.count, 0);
}
END_TEST

/* --- collisions, one side */

/* m12: an Established session stays, and the newcomer is told. */
START_TEST(an_established_session_beats_a_newcomer)
{
	for (unsigned slot = 0; slot < BGP_SLOTS; slot++) {
		for (unsigned newcomer = 0; newcomer < BGP_SLOTS; newcomer++) {
			struct one o;
			one_in(&o, (enum bgp_slot)slot, BGP_ESTABLISHED);
			bgp_actions_clear(&o.acts);
			ck_assert(!bgp_session_connected(&o.s, (enum bgp_slot)newcomer, o.now, &o.acts));
			check_notified(&o, BGP_ERR_CEASE, BGP_CEASE_COLLISION);
			ck_assert_uint_eq(count(&o, BGP_ACT_DOWN), 0);
			ck_assert_int_eq(bgp_session_state(&o.s), BGP_ESTABLISHED);
			ck_assert_int_eq(bgp_session_slot(&o.s), (int)slot);
		}
	}
}
END_TEST

/* Established while the other connection still waits for its OPEN, which then comes too late. */
START_TEST(an_established_session_beats_a_latecomer)
{
	struct one o;
	struct bgp_open open = peer_open();
	one_in(&o, BGP_OUT, BGP_OPEN_CONFIRM);
	connected(&o, BGP_IN);
	give(&o, BGP_OUT, BGP_KEEPALIVE, NULL, 0);
	ck_assert_int_eq(bgp_session_slot(&o.s), BGP_OUT);
	give_open(&o, BGP_IN, &open); /* its identifier is higher, so it would have won */
	check_notified(&o, BGP_ERR_CEASE, BGP_CEASE_COLLISION);
	ck_assert_int_eq(o.acts.action[0].slot, BGP_IN);
	ck_assert_int_eq(o.acts.action[1].slot, BGP_IN);
	ck_assert_uint_eq(count(&o, BGP_ACT_DOWN), 0);
	ck_assert_int_eq(bgp_session_slot(&o.s), BGP_OUT);
	ck_assert_int_eq(bgp_session_state(&o.s), BGP_ESTABLISHED);
}
END_TEST

/* m12: identifiers compare as unsigned numbers, equal ones (RFC 6286) leave it to the AS number. */
static const struct {
	uint32_t our_id, our_as, peer_id, peer_as;
	enum bgp_slot stays;
} collisions[] = {
	{0x0a000001, 64500, 0x0a000002, 64496, BGP_IN},  {0x0a000002, 64500, 0x0a000001, 64496, BGP_OUT},
	{0x7f000001, 64500, 0x80000001, 64496, BGP_IN},  {0xfffffffe, 64500, 0x00000001, 64496, BGP_OUT},
	{0x01000000, 64500, 0x00000002, 64496, BGP_OUT}, {0x0a000001, 64500, 0x0a000001, 64496, BGP_OUT},
	{0x0a000001, 64500, 0x0a000001, 70000, BGP_IN},
};

/* second: the connection whose OPEN comes while the other one is in state other. */
static void collide(int row, enum bgp_slot second, enum bgp_state other)
{
	struct one o;
	struct bgp_session_params p = params_of(collisions[row].our_as, collisions[row].peer_as, collisions[row].our_id);
	struct bgp_open open = peer_open();
	enum bgp_slot first = second == BGP_OUT ? BGP_IN : BGP_OUT, loser = collisions[row].stays == BGP_OUT ? BGP_IN : BGP_OUT;
	open.asn = collisions[row].peer_as;
	open.router_id = collisions[row].peer_id;
	one_init(&o, &p);
	connected(&o, first);
	if (other == BGP_OPEN_CONFIRM)
		give_open(&o, first, &open);
	connected(&o, second);
	give_open(&o, second, &open);
	struct bgp_frame f = sent(&o, 0);
	ck_assert_int_eq(f.type, BGP_NOTIFICATION);
	ck_assert_mem_eq(f.body, "\x06\x07", 2);
	ck_assert_int_eq(o.acts.action[0].slot, (int)loser);
	ck_assert_uint_eq(count(&o, BGP_ACT_CLOSE), 1);
	ck_assert_int_eq(o.s.conn[loser].state, BGP_IDLE);
	ck_assert_int_eq(o.s.conn[!loser].state, loser == first ? BGP_OPEN_CONFIRM : other);
	ck_assert_uint_eq(o.s.failures, 0); /* nothing failed */
	if (o.s.conn[!loser].state == BGP_OPEN_SENT)
		give_open(&o, !loser, &open);
	give(&o, !loser, BGP_KEEPALIVE, NULL, 0);
	ck_assert_int_eq(bgp_session_slot(&o.s), (int)collisions[row].stays);
}

START_TEST(the_higher_identifier_decides)
{
	collide(_i, BGP_OUT, BGP_OPEN_SENT);
	collide(_i, BGP_IN, BGP_OPEN_SENT);
	collide(_i, BGP_OUT, BGP_OPEN_CONFIRM);
	collide(_i, BGP_IN, BGP_OPEN_CONFIRM);
}
END_TEST

START_TEST(a_lost_collision_is_no_failure)
{
	struct one o;
	one_in(&o, BGP_OUT, BGP_OPEN_SENT);
	connected(&o, BGP_IN);
	give(&o, BGP_OUT, BGP_NOTIFICATION, "\x06\x07", 2);
	ck_assert_uint_eq(o.s.failures, 0);
	ck_assert_int_eq(o.s.last_error.kind, BGP_LAST_NONE);
	ck_assert_int_eq(bgp_session_state(&o.s), BGP_OPEN_SENT);
	ck_assert(o.s.conn[BGP_IN].state == BGP_OPEN_SENT && o.s.conn[BGP_OUT].state == BGP_IDLE);
}
END_TEST

/* --- two sessions and the network between them */

enum { LINKS = 8, QUEUE = 8, ITEM_MAX = 90 };

struct item {
	bool closed; /* the end of the stream; else a message */
	uint8_t len;
	uint8_t bytes[ITEM_MAX];
};

/* One TCP connection. */
struct net_link {
	unsigned opener;                       /* which session */
	bool coming[2];                        /* that end has not heard of it yet */
	bool gone[2];                          /* that end has closed it */
	unsigned head[2], tail[2];
	struct item queue[2][QUEUE];           /* on the way to that end */
};

struct world {
	struct bgp_session s[2];
	struct tick now;
	int current[2][BGP_SLOTS]; /* index of the link in that slot, or -1 */
	unsigned up[2];            /* Established according to the actions */
	unsigned links;
	struct net_link link[LINKS];
};

static void world_init(struct world *w, const struct bgp_session_params p[2], uint64_t seed)
{
	memset(w, 0, sizeof *w);
	memset(w->current, 0xff, sizeof w->current);
	w->now.ms = 1000;
	for (unsigned i = 0; i < 2; i++)
		bgp_session_init(&w->s[i], &p[i], seed * 2 + i);
}

static enum bgp_slot slot_of(const struct net_link *l, unsigned end)
{
	return l->opener == end ? BGP_OUT : BGP_IN;
}

static void push(struct net_link *l, unsigned from, bool closed, const uint8_t *bytes, size_t len)
{
	unsigned to = !from;
	ck_assert_uint_lt(l->tail[to], QUEUE);
	struct item *i = &l->queue[to][l->tail[to]++];
	i->closed = closed;
	ck_assert_uint_le(len, ITEM_MAX);
	i->len = (uint8_t)len;
	if (len)
		memcpy(i->bytes, bytes, len);
}

static void hang_up(struct world *w, unsigned link, unsigned end)
{
	struct net_link *l = &w->link[link];
	ck_assert(!l->gone[end]);
	l->gone[end] = true;
	push(l, end, true, NULL, 0);
}

/* Nobody will ever hear of it again. */
static bool is_over(const struct net_link *l)
{
	bool quiet = l->head[0] == l->tail[0] && l->head[1] == l->tail[1];
	return quiet && l->gone[0] && l->gone[1] && !l->coming[0] && !l->coming[1];
}

static void open_link(struct world *w, unsigned end)
{
	unsigned i = 0;
	while (i < w->links && !is_over(&w->link[i]))
		i++;
	ck_assert_uint_lt(i, LINKS);
	if (i == w->links)
		w->links++;
	w->link[i] = (struct net_link){.opener = end, .coming = {true, true}};
	w->current[end][BGP_OUT] = (int)i;
}

/* What an edge does; refused >= 0: the actions are for that link, which the session did not want. */
static void carry_out(struct world *w, unsigned end, const struct bgp_actions *acts, int refused)
{
	ck_assert_uint_lt(acts->count, BGP_ACTIONS_MAX);
	for (unsigned i = 0; i < acts->count; i++) {
		const struct bgp_action *a = &acts->action[i];
		int link = refused >= 0 ? refused : w->current[end][a->slot];
		switch (a->kind) {
		case BGP_ACT_CONNECT:
			ck_assert_int_eq(link, -1);
			open_link(w, end);
			break;
		case BGP_ACT_SEND:
			ck_assert_int_ge(link, 0);
			push(&w->link[link], end, false, acts->bytes + a->at, a->len);
			break;
		case BGP_ACT_CLOSE:
			ck_assert_int_ge(link, 0);
			hang_up(w, (unsigned)link, end);
			if (refused < 0)
				w->current[end][a->slot] = -1;
			break;
		case BGP_ACT_UP:
			ck_assert_uint_eq(w->up[end]++, 0);
			break;
		case BGP_ACT_DOWN:
			ck_assert_uint_eq(w->up[end]--, 1);
			break;
		case BGP_ACT_REFRESH:
		case BGP_ACT_REFRESH_BEGIN:
		case BGP_ACT_REFRESH_END:
			ck_assert_uint_eq(w->up[end], 1);
			break;
		}
	}
	ck_assert_int_eq(w->up[end], bgp_session_slot(&w->s[end]) != BGP_SLOTS);
	for (unsigned slot = 0; slot < BGP_SLOTS; slot++)
		ck_assert_int_eq(w->current[end][slot] >= 0, w->s[end].conn[slot].state != BGP_IDLE);
}

static void arrive(struct world *w, unsigned link, unsigned end)
{
	struct net_link *l = &w->link[link];
	struct bgp_actions acts;
	enum bgp_slot slot = slot_of(l, end);
	l->coming[end] = false;
	if (l->gone[end])
		return; /* given up before it came about */
	bgp_actions_clear(&acts);
	if (slot == BGP_IN && w->s[end].conn[BGP_IN].state == BGP_OPEN_SENT) {
		bgp_session_lost(&w->s[end], BGP_IN, "a newer one came", w->now, &acts);
		carry_out(w, end, &acts, -1);
		bgp_actions_clear(&acts);
	}
	if (slot == BGP_OUT || bgp_session_connected(&w->s[end], slot, w->now, &acts)) {
		if (slot == BGP_OUT)
			bgp_session_connected(&w->s[end], slot, w->now, &acts);
		w->current[end][slot] = (int)link;
		carry_out(w, end, &acts, -1);
	} else {
		carry_out(w, end, &acts, (int)link);
	}
}

static void deliver(struct world *w, unsigned link, unsigned end)
{
	struct net_link *l = &w->link[link];
	struct item *i = &l->queue[end][l->head[end]++];
	struct bgp_actions acts;
	struct bgp_frame f;
	struct bgp_fault fault = {0};
	if (l->head[end] == l->tail[end])
		l->head[end] = l->tail[end] = 0; /* i stays readable: nothing is put to this end meanwhile */
	if (l->gone[end])
		return;
	bgp_actions_clear(&acts);
	if (i->closed) {
		bgp_session_lost(&w->s[end], slot_of(l, end), "closed", w->now, &acts);
	} else {
		ck_assert_int_eq(bgp_frame_next(i->bytes, i->len, BGP_MESSAGE_MAX, &f, &fault), 1);
		ck_assert(!bgp_session_message(&w->s[end], slot_of(l, end), &f, w->now, &acts));
	}
	carry_out(w, end, &acts, -1);
}

static void world_tick(struct world *w, unsigned end)
{
	struct bgp_actions acts;
	bgp_actions_clear(&acts);
	bgp_session_tick(&w->s[end], w->now, &acts);
	carry_out(w, end, &acts, -1);
}

static void world_start(struct world *w, unsigned end)
{
	struct bgp_actions acts;
	bgp_actions_clear(&acts);
	bgp_session_start(&w->s[end], w->now, &acts);
	carry_out(w, end, &acts, -1);
}

struct event {
	unsigned link, end;
	bool arrives;
};

/* What the network may do next; within one direction of one connection the order holds. */
static unsigned possible(const struct world *w, struct event *events)
{
	unsigned n = 0;
	for (unsigned link = 0; link < w->links; link++) {
		for (unsigned end = 0; end < 2; end++) {
			const struct net_link *l = &w->link[link];
			if (l->coming[end])
				events[n++] = (struct event){link, end, true};
			else if (l->head[end] != l->tail[end])
				events[n++] = (struct event){link, end, false};
		}
	}
	return n;
}

static void happen(struct world *w, const struct event *e)
{
	if (e->arrives)
		arrive(w, e->link, e->end);
	else
		deliver(w, e->link, e->end);
}

static bool both_up(const struct world *w)
{
	enum bgp_slot a = bgp_session_slot(&w->s[0]), b = bgp_session_slot(&w->s[1]);
	return a != BGP_SLOTS && b != BGP_SLOTS && w->current[0][a] == w->current[1][b];
}

/* Exactly one connection is left, the same at both ends. */
static bool settled(const struct world *w)
{
	struct event events[2 * LINKS];
	if (!both_up(w) || possible(w, events))
		return false;
	for (unsigned end = 0; end < 2; end++)
		for (unsigned slot = 0; slot < BGP_SLOTS; slot++)
			if (w->s[end].conn[slot].state != BGP_IDLE && w->s[end].conn[slot].state != BGP_ESTABLISHED)
				return false;
	return true;
}

static uint64_t draw(struct random *r, uint64_t n)
{
	return random_next(r) % n;
}

/* One thing happens, or at most most_ms go by. */
static void step(struct world *w, struct random *r, int64_t most_ms)
{
	struct event events[2 * LINKS];
	unsigned n = possible(w, events);
	if (n && draw(r, 4))
		happen(w, &events[draw(r, n)]);
	else
		w->now.ms += 1 + (int64_t)draw(r, (uint64_t)most_ms);
	for (unsigned end = 0; end < 2; end++)
		if (tick_due(bgp_session_next_at(&w->s[end]), w->now))
			world_tick(w, end);
}

/* All that can happen, then the clock jumps to the next timer. */
static void hop(struct world *w, struct random *r)
{
	struct event events[2 * LINKS];
	unsigned n = possible(w, events);
	if (n) {
		happen(w, &events[draw(r, n)]);
		return;
	}
	w->now = tick_earlier(bgp_session_next_at(&w->s[0]), bgp_session_next_at(&w->s[1]));
	for (unsigned end = 0; end < 2; end++)
		if (tick_due(bgp_session_next_at(&w->s[end]), w->now))
			world_tick(w, end);
}

/* The ways to set up the pair. */
static const struct {
	uint32_t id[2], asn[2];
	bool passive[2];
} pairs[] = {
	{{1, 2}, {64496, 64500}, {false, false}},       {{2, 1}, {64496, 64500}, {false, false}},
	{{7, 7}, {64496, 64500}, {false, false}},       {{1, 2}, {64500, 64500}, {false, false}},
	{{0xf0000000, 2}, {64500, 70000}, {false, false}}, {{1, 2}, {64496, 64500}, {true, false}},
	{{1, 2}, {64496, 64500}, {false, true}},
};
enum { PAIRS = sizeof pairs / sizeof *pairs };

static void pair_init(struct world *w, int pair, uint64_t seed)
{
	struct bgp_session_params p[2];
	for (unsigned i = 0; i < 2; i++) {
		p[i] = params_of(pairs[pair].asn[i], pairs[pair].asn[!i], pairs[pair].id[i]);
		p[i].passive = pairs[pair].passive[i];
	}
	world_init(w, p, seed);
}

/* Many worlds by lot: one connection is left within seconds, and then it stays. */
START_TEST(two_speakers_always_end_up_with_one_connection)
{
	static struct world w;
	int64_t worst = 0, sum = 0;
	enum { SEEDS = 1500 }; /* for each pair */
	for (unsigned seed = 0; seed < SEEDS; seed++) {
		struct random r = {.state = seed * 1000003u + (unsigned)_i};
		pair_init(&w, _i, seed);
		int64_t delay = draw(&r, 3) ? 0 : (int64_t)draw(&r, 100);
		unsigned first = (unsigned)draw(&r, 2);
		world_start(&w, first);
		for (int64_t until = w.now.ms + delay; w.now.ms < until;)
			step(&w, &r, 20);
		world_start(&w, !first);
		while (!settled(&w) && w.now.ms < 61000)
			step(&w, &r, 20);
		ck_assert_msg(settled(&w), "pair %d, seed %u: %s and %s after a minute", _i, seed,
			      bgp_state_name(bgp_session_state(&w.s[0])), bgp_state_name(bgp_session_state(&w.s[1])));
		int64_t took = w.now.ms - 1000;
		worst = took > worst ? took : worst;
		sum += took;
		unsigned ups = w.s[0].established_count;
		for (int64_t until = w.now.ms + 30000; w.now.ms < until;)
			hop(&w, &r);
		ck_assert(both_up(&w));
		ck_assert_uint_eq(w.s[0].established_count, ups);
	}
	if (getenv("BGP_TEST_TALK"))
		printf("pair %d: %d ms on average, %d ms at worst\n", _i, (int)(sum / SEEDS), (int)worst);
	ck_assert_int_le(sum / SEEDS, 2000);
	ck_assert_int_le(worst, 10000);
}
END_TEST

/* All orders in which the network can carry out a simultaneous open, while the clock stands still. Where it ends with
 * one connection, it is one; where each side gave up the other's (the race that RFC 4271 leaves), both know, and try
 * again. */
enum { SEEN = 1 << 20 };
static uint64_t *seen_states;
static unsigned states, ends_up, ends_down;

static bool seen_before(const struct world *w)
{
	uint64_t h = hash_bytes(w, offsetof(struct world, link) + w->links * sizeof w->link[0], 1) | 1;
	uint64_t i = h;
	while (seen_states[i % SEEN] && seen_states[i % SEEN] != h)
		i++;
	bool was = seen_states[i % SEEN] != 0;
	seen_states[i % SEEN] = h;
	return was;
}

static void check_end(const struct world *end)
{
	static struct world w;
	struct random r = {.state = 5};
	w = *end;
	if (both_up(&w)) {
		ck_assert(settled(&w));
		ends_up++;
		return;
	}
	ends_down++;
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(bgp_session_state(&w.s[i]), BGP_ACTIVE);
		ck_assert(tick_is_set(bgp_session_next_at(&w.s[i])) || w.s[i].params.passive);
		ck_assert_uint_le(w.s[i].failures, 1);
	}
	while (!settled(&w) && w.now.ms < 11000)
		step(&w, &r, 20);
	ck_assert(settled(&w));
}

static void explore(const struct world *from)
{
	struct event events[2 * LINKS];
	unsigned n = possible(from, events);
	if (seen_before(from))
		return;
	ck_assert_uint_lt(++states, SEEN / 2);
	if (!n)
		check_end(from);
	for (unsigned i = 0; i < n; i++) {
		struct world *w = malloc(sizeof *w);
		memcpy(w, from, sizeof *w);
		happen(w, &events[i]);
		explore(w);
		free(w);
	}
}

START_TEST(every_order_of_a_simultaneous_open_ends_well)
{
	struct world *w = malloc(sizeof *w);
	seen_states = calloc(SEEN, sizeof *seen_states);
	states = ends_up = ends_down = 0;
	pair_init(w, _i, 1);
	world_start(w, 0);
	world_start(w, 1);
	explore(w);
	ck_assert_uint_gt(ends_up, 0);
	ck_assert_uint_gt(states, pairs[_i].passive[0] || pairs[_i].passive[1] ? 10 : 500);
	if (pairs[_i].passive[0] || pairs[_i].passive[1])
		ck_assert_uint_eq(ends_down, 0);
	if (getenv("BGP_TEST_TALK"))
		printf("pair %d: %u states, %u ends up, %u down\n", _i, states, ends_up, ends_down);
	free(seen_states);
	free(w);
}
END_TEST

/* Connections break at random; after the last accident all is well again. */
START_TEST(accidents_do_not_confuse_them)
{
	static struct world w;
	for (unsigned seed = 0; seed < 500; seed++) {
		struct random r = {.state = seed + 77};
		pair_init(&w, _i, seed);
		world_start(&w, 0);
		world_start(&w, 1);
		for (unsigned accidents = 0; accidents < 3; accidents++) {
			for (unsigned i = 0; i < 40; i++)
				step(&w, &r, 200);
			unsigned end = (unsigned)draw(&r, 2), slot = (unsigned)draw(&r, BGP_SLOTS);
			struct bgp_actions acts;
			bgp_actions_clear(&acts);
			int link = w.current[end][slot];
			bgp_session_lost(&w.s[end], (enum bgp_slot)slot, "an accident", w.now, &acts);
			carry_out(&w, end, &acts, -1);
			ck_assert(link < 0 || w.link[link].gone[end]);
		}
		for (int64_t until = w.now.ms + 120000; !settled(&w) && w.now.ms < until;)
			step(&w, &r, 20);
		ck_assert_msg(settled(&w), "pair %d, seed %u", _i, seed);
	}
}
END_TEST

/* One stops and starts again: the other follows, and sees the reason. */
START_TEST(a_restart_is_followed)
{
	static struct world w;
	struct random r = {.state = 3};
	struct bgp_actions acts;
	pair_init(&w, _i, 9);
	world_start(&w, 0);
	world_start(&w, 1);
	while (!settled(&w) && w.now.ms < 61000)
		step(&w, &r, 20);
	ck_assert(settled(&w));
	bgp_actions_clear(&acts);
	bgp_session_stop(&w.s[0], BGP_CEASE_SHUTDOWN, w.now, &acts);
	carry_out(&w, 0, &acts, -1);
	for (unsigned i = 0; i < 400; i++) {
		step(&w, &r, 20);
		ck_assert_int_eq(bgp_session_state(&w.s[0]), BGP_IDLE);
	}
	ck_assert_int_ne(bgp_session_state(&w.s[1]), BGP_ESTABLISHED);
	ck_assert_int_eq(w.s[1].last_error.kind, BGP_LAST_RECEIVED);
	world_start(&w, 0);
	for (int64_t until = w.now.ms + 60000; !settled(&w) && w.now.ms < until;)
		step(&w, &r, 20);
	ck_assert(settled(&w));
	ck_assert_uint_ge(w.s[1].established_count, 2);
}
END_TEST

#define ROW_COUNT(table) (int)(sizeof(table) / sizeof(table)[0])

static TCase *one_cases(void)
{
	TCase *t = tcase_create("one");
	tcase_add_loop_test(t, a_session_comes_up, 0, 2);
	tcase_add_test(t, the_open_says_what_was_configured);
	tcase_add_loop_test(t, opens_are_checked, 0, ROW_COUNT(opens));
	tcase_add_test(t, an_old_speaker_is_a_peer);
	tcase_add_loop_test(t, unexpected_messages_are_fsm_errors, 0, ROW_COUNT(unexpected));
	tcase_add_loop_test(t, refreshes_are_told, 0, ROW_COUNT(refreshes));
	tcase_add_test(t, what_a_peer_cannot_do_is_not_asked_of_it);
	tcase_add_test(t, ipv6_next_hops_are_agreed_on);
	tcase_add_test(t, a_message_for_nobody_is_nothing);
	tcase_add_loop_test(t, a_notification_ends_it, 0, ROW_COUNT(connection_states));
	tcase_add_loop_test(t, a_lost_connection_ends_it, 0, ROW_COUNT(connection_states));
	tcase_add_loop_test(t, a_fault_found_outside_ends_it, 0, ROW_COUNT(connection_states));
	tcase_add_loop_test(t, silence_ends_it, 0, ROW_COUNT(connection_states));
	tcase_add_loop_test(t, keepalives_keep_it_up, 0, 6);
	tcase_add_loop_test(t, hold_time_0_is_forever, 0, 2);
	tcase_add_test(t, hold_time_0_begins_when_the_session_is_up);
	tcase_add_test(t, an_attempt_is_given_up);
	tcase_add_test(t, retry_waits_grow_and_are_jittered);
	tcase_add_test(t, refused_connections_are_retried_soon);
	tcase_add_test(t, two_that_failed_together_retry_apart);
	tcase_add_test(t, a_passive_one_waits);
	tcase_add_loop_test(t, stopping_says_why_or_nothing, 0, ROW_COUNT(connection_states));
	tcase_add_test(t, stopping_without_a_connection_is_quiet);
	tcase_add_test(t, an_established_session_beats_a_newcomer);
	tcase_add_test(t, an_established_session_beats_a_latecomer);
	tcase_add_loop_test(t, the_higher_identifier_decides, 0, ROW_COUNT(collisions));
	tcase_add_test(t, a_lost_collision_is_no_failure);
	return t;
}

static TCase *two_cases(void)
{
	TCase *t = tcase_create("two");
	tcase_add_loop_test(t, two_speakers_always_end_up_with_one_connection, 0, PAIRS);
	tcase_add_loop_test(t, every_order_of_a_simultaneous_open_ends_well, 0, PAIRS);
	tcase_add_loop_test(t, accidents_do_not_confuse_them, 0, PAIRS);
	tcase_add_loop_test(t, a_restart_is_followed, 0, PAIRS);
	tcase_set_timeout(t, 300);
	return t;
}

int main(void)
{
	Suite *suite = suite_create("bgp_session");
	suite_add_tcase(suite, one_cases());
	suite_add_tcase(suite, two_cases());
	return run_suite(suite);
}
