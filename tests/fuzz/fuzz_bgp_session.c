/* One session and an edge that does what it is told, driven by bytes: the first two choose the configuration, then
 * each event is a byte and its arguments. Whatever comes in whatever order, the session's states, timers and actions
 * fit together.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bgp/session.h"
#include "src/base/cursor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LOCAL_AS = 64500, PEER_AS = 64496, LOCAL_ID = 0x0a000005, EVENTS_MAX = 4000 };

static void require(bool ok)
{
	if (!ok)
		abort();
}

struct edge {
	struct bgp_session s;
	struct tick now;
	bool open[BGP_SLOTS]; /* there is a socket, perhaps still connecting */
	bool connecting;      /* the one of BGP_OUT */
	bool up;
	unsigned ups;
};

/* What was sent must be a message. */
static void check_sent(const struct bgp_actions *acts, const struct bgp_action *a)
{
	struct bgp_frame f;
	struct bgp_fault fault = {0};
	require(a->len && a->at + a->len <= acts->used);
	require(bgp_frame_next(acts->bytes + a->at, a->len, BGP_MESSAGE_MAX, &f, &fault) == 1 && f.len == a->len);
	require(f.type == BGP_OPEN || f.type == BGP_KEEPALIVE || f.type == BGP_NOTIFICATION);
}

static void carry_out(struct edge *e, const struct bgp_actions *acts)
{
	require(acts->count < BGP_ACTIONS_MAX && acts->used <= BGP_ACTION_BYTES);
	for (unsigned i = 0; i < acts->count; i++) {
		const struct bgp_action *a = &acts->action[i];
		switch (a->kind) {
		case BGP_ACT_CONNECT:
			require(a->slot == BGP_OUT && !e->open[BGP_OUT] && !e->s.params.passive);
			e->open[BGP_OUT] = e->connecting = true;
			break;
		case BGP_ACT_SEND:
			require(e->open[a->slot] && !(a->slot == BGP_OUT && e->connecting));
			check_sent(acts, a);
			break;
		case BGP_ACT_CLOSE:
			require(e->open[a->slot]);
			e->open[a->slot] = false;
			e->connecting &= a->slot != BGP_OUT;
			break;
		case BGP_ACT_UP:
			require(!e->up && e->open[a->slot]);
			e->up = true;
			e->ups++;
			break;
		case BGP_ACT_DOWN:
			require(e->up);
			e->up = false;
			break;
		case BGP_ACT_REFRESH:
		case BGP_ACT_REFRESH_BEGIN:
		case BGP_ACT_REFRESH_END:
			require(e->up && e->s.params.families[a->family]);
			break;
		default:
			abort();
		}
	}
}

static bool slot_fits(const struct edge *e, enum bgp_slot slot)
{
	const struct bgp_conn *c = &e->s.conn[slot];
	bool connecting = slot == BGP_OUT && e->connecting;
	switch (c->state) {
	case BGP_IDLE:
		return !e->open[slot] && !tick_is_set(c->expire_at) && !tick_is_set(c->keepalive_at);
	case BGP_CONNECT:
		return e->open[slot] && connecting && tick_is_set(c->expire_at);
	case BGP_OPEN_SENT:
		return e->open[slot] && !connecting && tick_is_set(c->expire_at);
	case BGP_OPEN_CONFIRM:
	case BGP_ESTABLISHED:
		return e->open[slot] && !connecting && c->open.asn && c->open.version == 4 &&
		       tick_is_set(c->expire_at) == (e->s.hold_time_s || c->state == BGP_OPEN_CONFIRM) &&
		       tick_is_set(c->keepalive_at) == (e->s.hold_time_s != 0);
	case BGP_ACTIVE:
	default:
		return false;
	}
}

static void check(const struct edge *e)
{
	const struct bgp_session *s = &e->s;
	const struct bgp_conn *c = s->conn;
	unsigned used = 0, agreed = 0;
	for (unsigned i = 0; i < BGP_SLOTS; i++) {
		used += c[i].state != BGP_IDLE;
		agreed += c[i].state >= BGP_OPEN_CONFIRM;
		require(slot_fits(e, (enum bgp_slot)i));
	}
	bool idle = used == 0;
	require(agreed <= 1);
	require(e->up == (bgp_session_slot(s) != BGP_SLOTS) && e->ups == s->established_count);
	require(e->up == (bgp_session_state(s) == BGP_ESTABLISHED));
	require(s->enabled || (idle && !tick_is_set(bgp_session_next_at(s))));
	/* someone is always about to do something */
	require(!s->enabled || s->params.passive || !idle || tick_is_set(s->retry_at));
	require(!tick_is_set(s->retry_at) || (s->enabled && idle && !s->params.passive));
	require(!tick_is_set(s->retry_at) || s->retry_at.ms <= e->now.ms + BGP_RETRY_MAX_MS);
	require(bgp_state_name(bgp_session_state(s))[0] != '\0');
	require(s->last_error.kind == BGP_LAST_NONE || s->last_error.text[0]);
	require(memchr(s->last_error.text, 0, sizeof s->last_error.text) != NULL);
}

static void connected(struct edge *e, enum bgp_slot slot, struct bgp_actions *acts)
{
	if (slot == BGP_OUT) {
		if (!e->connecting)
			return;
		e->connecting = false;
		bgp_session_connected(&e->s, slot, e->now, acts);
		return;
	}
	slot = bgp_session_incoming(&e->s);
	bool had = e->open[slot];
	if (e->s.conn[slot].state == BGP_OPEN_SENT) {
		bgp_session_lost(&e->s, slot, "a newer one", e->now, acts);
		carry_out(e, acts);
		bgp_actions_clear(acts);
		had = false;
	}
	if (bgp_session_connected(&e->s, slot, e->now, acts)) {
		require(!had);
		e->open[slot] = true;
		return;
	}
	/* for the newcomer only: a word, and the end */
	require(acts->count == 2 && acts->action[0].kind == BGP_ACT_SEND && acts->action[1].kind == BGP_ACT_CLOSE);
	check_sent(acts, &acts->action[0]);
	bgp_actions_clear(acts);
}

static void message(struct edge *e, enum bgp_slot slot, enum bgp_type type, const uint8_t *body, size_t len,
		    struct bgp_actions *acts)
{
	struct bgp_frame f = {type, body, len, len + BGP_HEADER_LEN};
	if (!e->open[slot] || (slot == BGP_OUT && e->connecting))
		return;
	bool up = e->s.conn[slot].state == BGP_ESTABLISHED;
	bool update = bgp_session_message(&e->s, slot, &f, e->now, acts);
	require(update == (up && type == BGP_UPDATE));
}

/* A good OPEN with variations. */
static void good_open(struct edge *e, enum bgp_slot slot, uint8_t how, struct bgp_actions *acts)
{
	static const uint16_t holds[] = {9, 0, 3, 65535};
	uint8_t bytes[256];
	struct bgp_open o = {.version = 4, .asn = how & 0x80 ? LOCAL_AS : PEER_AS, .hold_time_s = holds[how & 3],
			     .router_id = LOCAL_ID - 1 + (how >> 2 & 3), .as4 = how & 16, .multiprotocol = how & 32};
	o.families[BGP_IPV4_UNICAST] = true;
	o.restart.present = how & 64;
	o.restart.restarting = how & 64 && how & 16;
	size_t len = bgp_open_encode(bytes, sizeof bytes, &o);
	message(e, slot, BGP_OPEN, bytes + BGP_HEADER_LEN, len - BGP_HEADER_LEN, acts);
}

static void fault(struct edge *e, enum bgp_slot slot, uint8_t arg, struct bgp_actions *acts)
{
	struct bgp_fault f = {0};
	if (!e->open[slot] || (slot == BGP_OUT && e->connecting))
		return;
	bgp_fault_raise(&f, BGP_RESET, arg % 8, arg / 8, "found outside", &arg, 1);
	bgp_session_fault(&e->s, slot, &f, e->now, acts);
}

static void pass_time(struct edge *e, uint8_t arg, struct bgp_actions *acts)
{
	struct tick at = bgp_session_next_at(&e->s);
	if (arg & 1 && tick_is_set(at) && at.ms > e->now.ms)
		e->now = at;
	else
		e->now.ms += arg * 100;
	bgp_session_tick(&e->s, e->now, acts);
}

static void event(struct edge *e, struct cursor *in)
{
	struct bgp_actions acts;
	uint8_t what = cursor_u8(in), arg = cursor_u8(in);
	enum bgp_slot slot = !(what & 0x80) ? BGP_OUT : what & 0x40 ? BGP_ANEW : BGP_IN;
	bgp_actions_clear(&acts);
	switch (what % 10) {
	case 0:
		if (!e->s.enabled)
			bgp_session_start(&e->s, e->now, &acts);
		break;
	case 1:
		connected(e, slot, &acts);
		break;
	case 2:
		bgp_session_lost(&e->s, slot, "lost", e->now, &acts);
		break;
	case 3:
		good_open(e, slot, arg, &acts);
		break;
	case 4:
		message(e, slot, BGP_KEEPALIVE, NULL, 0, &acts);
		break;
	case 5:
		message(e, slot, BGP_NOTIFICATION, (const uint8_t[]){arg % 8, arg / 8}, 2, &acts);
		break;
	case 6: {
		struct cursor body = cursor_sub(in, arg);
		if (cursor_ok(in))
			message(e, slot, (enum bgp_type)(BGP_OPEN + what / 10 % 5), body.p, cursor_left(&body), &acts);
		break;
	}
	case 7:
		fault(e, slot, arg, &acts);
		break;
	case 8:
		pass_time(e, arg, &acts);
		break;
	case 9:
		if (arg & 1)
			bgp_session_stop(&e->s, arg / 2 % 10, e->now, &acts);
		e->s.restarting = arg & 32;
		e->s.kept_routes = arg & 64;
		break;
	default:
		break;
	}
	carry_out(e, &acts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t holds[] = {9, 0, 3, 65535};
	struct cursor in = cursor_of(data, size);
	struct edge e = {.now = {1000}};
	uint8_t a = cursor_u8(&in), b = cursor_u8(&in);
	struct bgp_session_params p = {.local_asn = LOCAL_AS, .remote_asn = a & 1 ? LOCAL_AS : PEER_AS, .router_id = LOCAL_ID,
				       .asn_kind = (enum bgp_asn_kind)(a >> 1 & 3), .hold_time_s = holds[a >> 3 & 3],
				       .passive = a & 32, .families = {true, a & 64}, .restart_time_s = a & 128 ? 120 : 0};
	if (p.asn_kind > BGP_ASN_INTERNAL)
		p.asn_kind = BGP_ASN_NUMBER;
	bgp_session_init(&e.s, &p, b);
	for (unsigned i = 0; i < EVENTS_MAX && cursor_left(&in) && cursor_ok(&in); i++) {
		event(&e, &in);
		check(&e);
	}
	return 0;
}
