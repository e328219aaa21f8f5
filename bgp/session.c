#include "bgp/session.h"

#include <stdio.h>
#include <string.h>

const char *bgp_state_name(enum bgp_state s)
{
	static const char *const names[] = {
		[BGP_IDLE] = "Idle",          [BGP_CONNECT] = "Connect",          [BGP_ACTIVE] = "Active",
		[BGP_OPEN_SENT] = "OpenSent", [BGP_OPEN_CONFIRM] = "OpenConfirm", [BGP_ESTABLISHED] = "Established",
	};
	return names[s];
}

void bgp_actions_clear(struct bgp_actions *a)
{
	a->count = 0;
	a->used = 0;
}

static struct bgp_action *act(struct bgp_actions *out, enum bgp_action_kind kind, enum bgp_slot slot)
{
	static struct bgp_action overflow; /* cannot happen: one event makes fewer than BGP_ACTIONS_MAX */
	struct bgp_action *a = out->count < BGP_ACTIONS_MAX ? &out->action[out->count++] : &overflow;
	*a = (struct bgp_action){.kind = kind, .slot = slot};
	return a;
}

static uint8_t *send_room(struct bgp_actions *out, size_t *cap)
{
	*cap = sizeof out->bytes - out->used;
	return out->bytes + out->used;
}

static void send_done(struct bgp_actions *out, enum bgp_slot slot, size_t len)
{
	struct bgp_action *a = act(out, BGP_ACT_SEND, slot);
	a->at = out->used;
	a->len = (uint16_t)len;
	out->used = (uint16_t)(out->used + len);
}

static void send_keepalive(struct bgp_session *s, enum bgp_slot slot, struct tick now, struct bgp_actions *out)
{
	size_t cap;
	uint8_t *room = send_room(out, &cap);
	send_done(out, slot, bgp_keepalive_encode(room, cap));
	if (s->keepalive_s)
		s->conn[slot].keepalive_at = tick_after(now, random_jitter_ms(&s->random, s->keepalive_s * 1000));
}

static void send_notification(enum bgp_slot slot, const struct bgp_fault *fault, struct bgp_actions *out)
{
	size_t cap;
	uint8_t *room = send_room(out, &cap);
	send_done(out, slot, bgp_notification_encode(room, cap, fault));
}

static void send_open(struct bgp_session *s, enum bgp_slot slot, struct bgp_actions *out)
{
	struct bgp_open *o = &s->sent;
	size_t cap;
	uint8_t *room = send_room(out, &cap);
	memset(o, 0, sizeof *o);
	o->version = 4;
	o->asn = s->params.local_asn;
	o->hold_time_s = s->params.hold_time_s;
	o->router_id = s->params.router_id;
	o->as4 = o->multiprotocol = o->refresh = o->extended = o->enhanced = true;
	memcpy(o->families, s->params.families, sizeof o->families);
	o->v6_next_hop = s->params.v6_next_hop && s->params.families[BGP_IPV4_UNICAST];
	o->role = s->params.role;
	for (unsigned f = 0; f < BGP_FAMILIES; f++)
		o->add_path[f] = s->params.families[f] ? s->params.add_path : 0;
	o->restart.present = s->params.restart_time_s != 0;
	o->restart.time_s = s->params.restart_time_s;
	o->restart.restarting = s->restarting;
	memcpy(o->restart.families, s->params.families, sizeof o->restart.families);
	for (unsigned f = 0; f < BGP_FAMILIES; f++)
		o->restart.kept[f] = s->params.families[f] && s->kept_routes;
	size_t len = bgp_open_encode(room, cap, o);
	struct bgp_frame frame;
	struct bgp_fault ignored = {0};
	/* what we sent as the peer reads it, for the list of capabilities */
	if (bgp_frame_next(room, len, BGP_MESSAGE_MAX, &frame, &ignored) == 1)
		bgp_open_decode(frame.body, frame.body_len, o, &ignored);
	send_done(out, slot, len);
}

static void set_state(struct bgp_session *s, enum bgp_slot slot, enum bgp_state state, struct tick now)
{
	enum bgp_state before = bgp_session_state(s);
	s->conn[slot].state = state;
	if (bgp_session_state(s) != before) /* another connection's says nothing new of the session */
		s->changed_at = now;
}

static bool idle(const struct bgp_session *s)
{
	for (unsigned i = 0; i < BGP_SLOTS; i++)
		if (s->conn[i].state != BGP_IDLE)
			return false;
	return true;
}

/* The wait doubles with each failure in a row, from BGP_RETRY_MS to BGP_RETRY_MAX_MS or BGP_REST_MAX_MS, jittered so that two
 * speakers that failed together do not try together. */
static void plan_retry(struct bgp_session *s, struct tick now)
{
	int64_t wait = BGP_RETRY_MS, most = s->resting ? BGP_REST_MAX_MS : BGP_RETRY_MAX_MS;
	unsigned failures = s->failures > s->short_lives ? s->failures : s->short_lives;
	for (unsigned i = 1; i < failures && wait < most; i++)
		wait *= 2;
	struct tick at = tick_after(now, random_jitter_ms(&s->random, wait < most ? wait : most));
	s->retry_at = s->enabled && !s->params.passive ? at : (struct tick){0};
	s->rest_until = s->resting ? at : (struct tick){0};
	s->resting = false;
}

/* Forgets the connection; the last one gone plans the next attempt. */
static void drop(struct bgp_session *s, enum bgp_slot slot, struct tick now, struct bgp_actions *out)
{
	bool was_up = s->conn[slot].state == BGP_ESTABLISHED;
	memset(&s->conn[slot], 0, sizeof s->conn[slot]);
	s->changed_at = now;
	if (was_up) {
		act(out, BGP_ACT_DOWN, slot);
		s->short_lives = tick_since_ms(s->up_at, now) < BGP_STABLE_MS ? s->short_lives + 1 : 0;
	}
	if (idle(s))
		plan_retry(s, now);
}

static void close_conn(struct bgp_session *s, enum bgp_slot slot, struct tick now, struct bgp_actions *out)
{
	act(out, BGP_ACT_CLOSE, slot);
	drop(s, slot, now, out);
}

static void note_error(struct bgp_session *s, enum bgp_last_kind kind, const struct bgp_fault *f, const char *text, struct tick now)
{
	char name[BGP_FAULT_NAME_MAX];
	bool told = s->last_error.at.ms >= s->up_at.ms &&
		    (s->last_error.kind == BGP_LAST_SENT || s->last_error.kind == BGP_LAST_RECEIVED);
	if (kind != BGP_LAST_TCP)
		s->last_error.before[0] = '\0';
	else if (told) /* a peer that waits after an error just resets us: the error says more */
		memcpy(s->last_error.before, s->last_error.text, sizeof s->last_error.before);
	s->last_error.at = now;
	s->last_error.kind = kind;
	if (f)
		s->last_error.fault = *f;
	if (kind == BGP_LAST_TCP)
		snprintf(s->last_error.text, sizeof s->last_error.text, "%s", text);
	else
		snprintf(s->last_error.text, sizeof s->last_error.text, "%s %s%s%s",
			 kind == BGP_LAST_SENT ? "sent" : "received",
			 bgp_fault_name(f->code, f->subcode, name), text ? ": " : "", text ? text : "");
}

void bgp_session_fault(struct bgp_session *s, enum bgp_slot slot, const struct bgp_fault *fault, struct tick now,
		       struct bgp_actions *out)
{
	bgp_session_end(s, slot, fault, BGP_AFTER_RETRY, now, out);
}

void bgp_session_end(struct bgp_session *s, enum bgp_slot slot, const struct bgp_fault *fault, enum bgp_after after,
		     struct tick now, struct bgp_actions *out)
{
	s->resting = after == BGP_AFTER_REST;
	s->enabled &= after != BGP_AFTER_STOP;
	note_error(s, BGP_LAST_SENT, fault, fault->text, now);
	s->failures++;
	send_notification(slot, fault, out);
	close_conn(s, slot, now, out);
}

static void fault(struct bgp_session *s, enum bgp_slot slot, uint8_t code, uint8_t subcode, const char *text,
		  struct tick now, struct bgp_actions *out)
{
	struct bgp_fault f = {0};
	bgp_fault_raise(&f, BGP_RESET, code, subcode, text, NULL, 0);
	bgp_session_fault(s, slot, &f, now, out);
}

void bgp_session_init(struct bgp_session *s, const struct bgp_session_params *params, uint64_t seed)
{
	memset(s, 0, sizeof *s);
	s->params = *params;
	s->random.state = seed;
}

static void connect_out(struct bgp_session *s, struct tick now, struct bgp_actions *out)
{
	s->retry_at = s->rest_until = (struct tick){0};
	set_state(s, BGP_OUT, BGP_CONNECT, now);
	s->conn[BGP_OUT].expire_at = tick_after(now, BGP_CONNECT_TIMEOUT_MS);
	act(out, BGP_ACT_CONNECT, BGP_OUT);
}

void bgp_session_start(struct bgp_session *s, struct tick now, struct bgp_actions *out)
{
	s->enabled = true;
	s->changed_at = now;
	s->failures = s->short_lives = 0;
	s->rest_until = (struct tick){0};
	if (!s->params.passive)
		connect_out(s, now, out);
}

void bgp_session_stop(struct bgp_session *s, uint8_t subcode, struct tick now, struct bgp_actions *out)
{
	bgp_session_shut(s, subcode, NULL, now, out);
}

void bgp_session_shut(struct bgp_session *s, uint8_t subcode, const char *words, struct tick now, struct bgp_actions *out)
{
	struct bgp_fault f = {0};
	s->enabled = false;
	bgp_fault_raise(&f, BGP_RESET, BGP_ERR_CEASE, subcode, subcode == BGP_CEASE_RESET ? "restarted here" : "stopped here", NULL, 0);
	bgp_fault_set_shutdown_text(&f, words);
	if (subcode)
		note_error(s, BGP_LAST_SENT, &f, f.text, now);
	else
		s->last_error.kind = BGP_LAST_NONE;
	for (unsigned slot = 0; slot < BGP_SLOTS; slot++) {
		if (s->conn[slot].state == BGP_IDLE)
			continue;
		if (subcode && s->conn[slot].state >= BGP_OPEN_SENT)
			send_notification((enum bgp_slot)slot, &f, out);
		close_conn(s, (enum bgp_slot)slot, now, out);
	}
	s->retry_at = (struct tick){0};
}

static void refuse(enum bgp_slot slot, uint8_t subcode, struct bgp_actions *out)
{
	struct bgp_fault f = {0};
	bgp_fault_raise(&f, BGP_RESET, BGP_ERR_CEASE, subcode, "not wanted", NULL, 0);
	send_notification(slot, &f, out);
	act(out, BGP_ACT_CLOSE, slot);
}

/* May a peer with a session have started anew, so that its new connection is worth a look? Where graceful restart was
 * agreed on, and not while a collision may still be going on. */
static bool may_be_anew(const struct bgp_session *s, enum bgp_slot slot, struct tick now)
{
	enum bgp_slot up = bgp_session_slot(s);
	return slot != BGP_OUT && s->sent.restart.present && s->conn[up].open.restart.present &&
	       tick_since_ms(s->up_at, now) >= BGP_ANEW_AFTER_MS;
}

enum bgp_slot bgp_session_incoming(const struct bgp_session *s)
{
	return s->conn[BGP_IN].state == BGP_ESTABLISHED ? BGP_ANEW : BGP_IN;
}

/* An Established session stays, and so does a connection that is about to become one. */
bool bgp_session_connected(struct bgp_session *s, enum bgp_slot slot, struct tick now, struct bgp_actions *out)
{
	bool resting = slot == BGP_IN && tick_is_set(s->rest_until) && !tick_due(s->rest_until, now);
	if (!s->enabled || resting) {
		refuse(slot, BGP_CEASE_REJECTED, out);
		return false;
	}
	bool up = bgp_session_slot(s) != BGP_SLOTS;
	if ((up && !may_be_anew(s, slot, now)) || s->conn[slot].state >= BGP_OPEN_SENT) {
		refuse(slot, BGP_CEASE_COLLISION, out);
		return false;
	}
	s->retry_at = (struct tick){0};
	set_state(s, slot, BGP_OPEN_SENT, now);
	s->conn[slot].expire_at = tick_after(now, BGP_OPEN_WAIT_MS);
	send_open(s, slot, out);
	return true;
}

void bgp_session_lost(struct bgp_session *s, enum bgp_slot slot, const char *why, struct tick now, struct bgp_actions *out)
{
	if (s->conn[slot].state == BGP_IDLE)
		return;
	note_error(s, BGP_LAST_TCP, NULL, why, now);
	if (s->conn[slot].state >= BGP_OPEN_SENT)
		s->failures++;
	close_conn(s, slot, now, out);
}

/* Checks what the peer says of itself against what we expect (RFC 4271 section 6.2, RFC 6286). */
static const char *wrong_as_text(struct bgp_session *s, uint32_t asn)
{
	const struct bgp_session_params *p = &s->params;
	if (p->asn_kind == BGP_ASN_NUMBER)
		snprintf(s->detail, sizeof s->detail, "the peer has AS %u, configured is AS %u", asn, p->remote_asn);
	else
		snprintf(s->detail, sizeof s->detail, "the peer has AS %u, configured is an %s one (ours is %u)", asn,
			 p->asn_kind == BGP_ASN_INTERNAL ? "internal" : "external", p->local_asn);
	return s->detail;
}

/* RFC 9234 section 4.2; NULL: nothing is wrong. */
static const char *wrong_role_text(struct bgp_session *s, const struct bgp_open *o)
{
	const struct bgp_session_params *p = &s->params;
	const char *ours = bgp_role_name(p->role), *wanted = bgp_role_name(bgp_role_partner(p->role));
	if (o->roles_differ)
		return "the peer says several different roles of itself";
	if (p->role == BGP_ROLE_NONE)
		return NULL;
	if (o->role == BGP_ROLE_NONE)
		snprintf(s->detail, sizeof s->detail, "the peer says no role, ours is %s: it must say %s (role-strict)", ours, wanted);
	else
		snprintf(s->detail, sizeof s->detail, "the peer says that its role is %s, ours is %s: it must be %s",
			 bgp_role_name(o->role), ours, wanted);
	bool fits = o->role == BGP_ROLE_NONE ? !p->role_strict : o->role == bgp_role_partner(p->role);
	return fits ? NULL : s->detail;
}

static bool check_open(struct bgp_session *s, const struct bgp_open *o, struct bgp_fault *f)
{
	const struct bgp_session_params *p = &s->params;
	bool internal = o->asn == p->local_asn;
	bool as_fits = p->asn_kind == BGP_ASN_NUMBER ? o->asn == p->remote_asn : internal == (p->asn_kind == BGP_ASN_INTERNAL);
	bool family_fits = false;
	for (unsigned i = 0; i < BGP_FAMILIES; i++)
		family_fits |= o->families[i] && p->families[i];
	if (!as_fits)
		bgp_fault_raise(f, BGP_RESET, BGP_ERR_OPEN, BGP_OPEN_PEER_AS, wrong_as_text(s, o->asn), NULL, 0);
	else if (internal && o->router_id == p->router_id)
		bgp_fault_raise(f, BGP_RESET, BGP_ERR_OPEN, BGP_OPEN_IDENTIFIER, "the peer has our own router ID", NULL, 0);
	else if (!family_fits)
		bgp_fault_raise(f, BGP_RESET, BGP_ERR_OPEN, BGP_OPEN_CAPABILITY, "no address family in common",
				(const uint8_t[]){1, 4, 0, 1, 0, 1}, 6);
	const char *wrong_role = f->reaction == BGP_FINE && !internal ? wrong_role_text(s, o) : NULL;
	if (wrong_role)
		bgp_fault_raise(f, BGP_RESET, BGP_ERR_OPEN, BGP_OPEN_ROLE, wrong_role, NULL, 0);
	return f->reaction == BGP_FINE;
}

/* Which connection two speakers keep: the one opened by the higher identifier; with equal ones by the higher AS. */
static enum bgp_slot collision_winner(const struct bgp_session *s, const struct bgp_open *o)
{
	uint32_t us = s->params.router_id, them = o->router_id;
	if (us == them) {
		us = s->params.local_asn;
		them = o->asn;
	}
	return us > them ? BGP_OUT : BGP_IN;
}

/* RFC 4724 section 4.2: the new connection of a peer that says that it has restarted takes the place of the session. */
static bool has_restarted(const struct bgp_session *s, enum bgp_slot old, const struct bgp_open *o)
{
	return s->conn[old].state == BGP_ESTABLISHED && o->restart.present && o->restart.restarting &&
	       o->router_id == s->conn[old].open.router_id;
}

/* An OPEN came on slot while the other connection is up as well: one of them goes. The decision falls as soon as
 * the peer's identifier is known (the MAY of section 6.8), which makes it rarer that the peer is Established on the
 * one that we give up; where it is, both go and the retry mends it. True: slot stays. */
static bool outlives(struct bgp_session *s, enum bgp_slot slot, enum bgp_slot other, const struct bgp_open *o, struct tick now,
		     struct bgp_actions *out)
{
	if (has_restarted(s, other, o)) {
		note_error(s, BGP_LAST_TCP, NULL, "the peer has restarted and came back", now);
		close_conn(s, other, now, out); /* without a word: who would have heard it is no more */
		return true;
	}
	bool stays = s->conn[other].state != BGP_ESTABLISHED && collision_winner(s, o) == slot;
	struct bgp_fault f = {0};
	bgp_fault_raise(&f, BGP_RESET, BGP_ERR_CEASE, BGP_CEASE_COLLISION, "the other connection won", NULL, 0);
	send_notification(stays ? other : slot, &f, out);
	close_conn(s, stays ? other : slot, now, out);
	return stays;
}

static bool resolve_collision(struct bgp_session *s, enum bgp_slot slot, const struct bgp_open *o, struct tick now,
			      struct bgp_actions *out)
{
	for (unsigned other = 0; other < BGP_SLOTS; other++)
		if (other != slot && s->conn[other].state >= BGP_OPEN_SENT && !outlives(s, slot, (enum bgp_slot)other, o, now, out))
			return false;
	return true;
}

static void negotiate_add_path(struct bgp_session *s, const struct bgp_open *o)
{
	for (unsigned f = 0; f < BGP_FAMILIES; f++) {
		uint8_t ours = s->params.families[f] && o->families[f] ? s->params.add_path : 0;
		s->add_path_in[f] = ours & BGP_ADD_PATH_RECEIVE && o->add_path[f] & BGP_ADD_PATH_SEND;
		s->add_path_out[f] = ours & BGP_ADD_PATH_SEND && o->add_path[f] & BGP_ADD_PATH_RECEIVE;
	}
}

static void negotiate(struct bgp_session *s, const struct bgp_open *o)
{
	uint16_t ours = s->params.hold_time_s;
	s->hold_time_s = o->hold_time_s < ours ? o->hold_time_s : ours;
	s->keepalive_s = s->hold_time_s / 3;
	s->refresh = o->refresh;
	s->enhanced = o->enhanced;
	s->extended = o->extended;
	s->v6_next_hop = s->sent.v6_next_hop && o->v6_next_hop;
	negotiate_add_path(s, o);
}

static void restart_hold(struct bgp_session *s, enum bgp_slot slot, struct tick now)
{
	s->conn[slot].expire_at = s->hold_time_s ? tick_after(now, s->hold_time_s * 1000) : (struct tick){0};
}

static void on_open(struct bgp_session *s, enum bgp_slot slot, const struct bgp_frame *frame, struct tick now,
		    struct bgp_actions *out)
{
	struct bgp_fault f = {0};
	struct bgp_open o;
	bgp_open_decode(frame->body, frame->body_len, &o, &f);
	if (f.reaction == BGP_RESET || !check_open(s, &o, &f)) {
		bgp_session_fault(s, slot, &f, now, out);
		return;
	}
	if (!resolve_collision(s, slot, &o, now, out))
		return;
	s->conn[slot].open = o;
	negotiate(s, &o);
	set_state(s, slot, BGP_OPEN_CONFIRM, now);
	restart_hold(s, slot, now);
	if (!s->hold_time_s) /* "never" begins when the session is up */
		s->conn[slot].expire_at = tick_after(now, BGP_OPEN_WAIT_MS);
	send_keepalive(s, slot, now, out);
}

static void on_keepalive(struct bgp_session *s, enum bgp_slot slot, struct tick now, struct bgp_actions *out)
{
	restart_hold(s, slot, now);
	if (s->conn[slot].state == BGP_ESTABLISHED)
		return;
	if (s->conn[BGP_OUT].state == BGP_CONNECT)
		close_conn(s, BGP_OUT, now, out); /* still being opened, and no longer needed */
	set_state(s, slot, BGP_ESTABLISHED, now);
	s->established_count++;
	s->up_at = now;
	s->last_error.before[0] = '\0';
	s->failures = 0;
	act(out, BGP_ACT_UP, slot);
}

static void on_notification(struct bgp_session *s, enum bgp_slot slot, const struct bgp_frame *frame, struct tick now,
			    struct bgp_actions *out)
{
	struct bgp_fault f = bgp_notification_decode(frame->body, frame->body_len);
	bool collision = f.code == BGP_ERR_CEASE && f.subcode == BGP_CEASE_COLLISION;
	if (!collision) {
		const char *words = bgp_fault_shutdown_text(&f, s->detail, sizeof s->detail);
		note_error(s, BGP_LAST_RECEIVED, &f, *words ? words : NULL, now);
		s->failures++;
	}
	close_conn(s, slot, now, out);
}

/* RFC 2918: we offered it, so a request may come whether or not the peer offered it too. The marks of RFC 7313 are for
 * those who offered them; whatever else is passed over. */
static void on_refresh(struct bgp_session *s, enum bgp_slot slot, const struct bgp_frame *frame, struct tick now,
		       struct bgp_actions *out)
{
	static const enum bgp_action_kind what[] = {[BGP_REFRESH_ASK] = BGP_ACT_REFRESH,
						    [BGP_REFRESH_BEGIN] = BGP_ACT_REFRESH_BEGIN,
						    [BGP_REFRESH_END] = BGP_ACT_REFRESH_END};
	struct bgp_refresh r;
	struct bgp_fault f = {0};
	enum bgp_family family;
	restart_hold(s, slot, now);
	bgp_refresh_decode(frame->body, frame->body_len, &r, &f);
	if (f.reaction == BGP_RESET)
		bgp_session_fault(s, slot, &f, now, out);
	else if (r.subtype <= BGP_REFRESH_END && (r.subtype == BGP_REFRESH_ASK || s->enhanced) &&
		 bgp_family_of(r.afi, r.safi, &family) && s->params.families[family])
		act(out, what[r.subtype], slot)->family = family;
}

bool bgp_session_message(struct bgp_session *s, enum bgp_slot slot, const struct bgp_frame *frame, struct tick now,
			 struct bgp_actions *out)
{
	enum bgp_state state = s->conn[slot].state;
	if (state < BGP_OPEN_SENT)
		return false;
	if (frame->type == BGP_NOTIFICATION)
		on_notification(s, slot, frame, now, out);
	else if (state == BGP_OPEN_SENT && frame->type == BGP_OPEN)
		on_open(s, slot, frame, now, out);
	else if (state >= BGP_OPEN_CONFIRM && frame->type == BGP_KEEPALIVE)
		on_keepalive(s, slot, now, out);
	else if (state == BGP_ESTABLISHED && frame->type == BGP_UPDATE)
		restart_hold(s, slot, now);
	else if (state == BGP_ESTABLISHED && frame->type == BGP_ROUTE_REFRESH)
		on_refresh(s, slot, frame, now, out);
	else
		fault(s, slot, BGP_ERR_FSM, (uint8_t)(state - BGP_OPEN_SENT + 1), "a message that this state does not expect",
		      now, out);
	return state == BGP_ESTABLISHED && frame->type == BGP_UPDATE;
}

static void expire(struct bgp_session *s, enum bgp_slot slot, struct tick now, struct bgp_actions *out)
{
	switch (s->conn[slot].state) {
	case BGP_CONNECT:
		bgp_session_lost(s, slot, BGP_NO_ANSWER, now, out);
		break;
	case BGP_OPEN_SENT:
		fault(s, slot, BGP_ERR_HOLD_TIMER, 0, "no OPEN came", now, out);
		break;
	case BGP_OPEN_CONFIRM:
	case BGP_ESTABLISHED:
		fault(s, slot, BGP_ERR_HOLD_TIMER, 0, "nothing came for the hold time", now, out);
		break;
	case BGP_IDLE:
	case BGP_ACTIVE:
		break;
	}
}

void bgp_session_tick(struct bgp_session *s, struct tick now, struct bgp_actions *out)
{
	for (unsigned i = 0; i < BGP_SLOTS; i++) {
		enum bgp_slot slot = (enum bgp_slot)i;
		if (tick_due(s->conn[slot].expire_at, now))
			expire(s, slot, now, out);
		else if (s->conn[slot].state >= BGP_OPEN_CONFIRM && tick_due(s->conn[slot].keepalive_at, now))
			send_keepalive(s, slot, now, out);
	}
	if (tick_due(s->retry_at, now) && s->conn[BGP_OUT].state == BGP_IDLE)
		connect_out(s, now, out);
}

struct tick bgp_session_next_at(const struct bgp_session *s)
{
	struct tick t = s->retry_at;
	for (unsigned i = 0; i < BGP_SLOTS; i++) {
		t = tick_earlier(t, s->conn[i].expire_at);
		t = tick_earlier(t, s->conn[i].keepalive_at);
	}
	return t;
}

bool bgp_session_ask_refresh(struct bgp_session *s, enum bgp_family family, struct bgp_actions *out)
{
	enum bgp_slot slot = bgp_session_slot(s);
	size_t cap;
	if (slot == BGP_SLOTS || !s->refresh || !s->conn[slot].open.families[family] || !s->params.families[family])
		return false;
	uint8_t *room = send_room(out, &cap);
	send_done(out, slot, bgp_refresh_encode(room, cap, bgp_family_afi(family), BGP_REFRESH_ASK, 1));
	return true;
}

size_t bgp_session_message_max(const struct bgp_session *s, enum bgp_slot slot)
{
	bool agreed = s->conn[slot].state >= BGP_OPEN_CONFIRM && s->extended;
	return agreed ? BGP_EXTENDED_MAX : BGP_MESSAGE_MAX;
}

void bgp_session_hurry(struct bgp_session *s, struct tick now)
{
	if (!tick_is_set(s->retry_at) || tick_is_set(s->rest_until))
		return;
	s->failures = 0;
	s->retry_at = tick_after(now, 1);
}

enum bgp_state bgp_session_state(const struct bgp_session *s)
{
	enum bgp_state best = BGP_IDLE;
	for (unsigned i = 0; i < BGP_SLOTS; i++)
		best = s->conn[i].state > best ? s->conn[i].state : best;
	return best == BGP_IDLE && s->enabled ? BGP_ACTIVE : best;
}

enum bgp_slot bgp_session_slot(const struct bgp_session *s)
{
	for (unsigned i = 0; i < BGP_SLOTS; i++)
		if (s->conn[i].state == BGP_ESTABLISHED)
			return (enum bgp_slot)i;
	return BGP_SLOTS;
}
