/* A BGP session as a function of (state, event, now): no socket, no clock. One session has up to two
 * connections, the one we opened and the one the peer opened, until one of them wins (RFC 4271 section
 * 6.8); a peer that restarted may open a third (RFC 4724 section 4.2). Every event function may append actions for the
 * edge to carry out, in order; two sessions can talk in memory by feeding one's BGP_ACT_SEND to the other's
 * bgp_session_message().
 *
 * Events that end a connection append BGP_ACT_CLOSE for it; the edge then forgets the connection and tells
 * nothing back. RFC 4271 section 8, RFC 6608, RFC 4724 (as the restarting side), RFC 6286,
 * RFC 9234 (roles).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bgp/message.h"
#include "bgp/open.h"
#include "src/base/random.h"
#include "src/base/tick.h"

enum bgp_state { BGP_IDLE, BGP_CONNECT, BGP_ACTIVE, BGP_OPEN_SENT, BGP_OPEN_CONFIRM, BGP_ESTABLISHED };
const char *bgp_state_name(enum bgp_state s);

/* Who opened the connection: we, the peer; the peer once more, although it has a session. */
enum bgp_slot { BGP_OUT, BGP_IN, BGP_ANEW, BGP_SLOTS };

enum bgp_asn_kind { BGP_ASN_NUMBER, BGP_ASN_EXTERNAL, BGP_ASN_INTERNAL };

struct bgp_session_params {
	uint32_t local_asn, remote_asn;
	enum bgp_asn_kind asn_kind;
	uint32_t router_id;
	uint16_t hold_time_s;
	bool passive;
	bool families[BGP_FAMILIES];
	bool v6_next_hop; /* offered with IPv4 unicast: its routes may have an IPv6 next hop (RFC 8950) */
	enum bgp_role role;      /* ours towards an external peer; BGP_ROLE_NONE: not said */
	bool role_strict;        /* a peer that says none is refused */
	uint8_t add_path; /* offered for every family: enum bgp_add_path bits */
	uint16_t restart_time_s; /* graceful restart: how long the peer may keep our routes; 0: not offered */
};

enum {
	BGP_CONNECT_TIMEOUT_MS = 5000,
	BGP_OPEN_WAIT_MS = 15000,   /* from the TCP connection to the peer's OPEN */
	BGP_RETRY_MS = 3000,        /* between attempts; grows after repeated errors */
	BGP_RETRY_MAX_MS = 30000,
	BGP_ANEW_AFTER_MS = 5000,   /* before, a second connection is a collision and no restart */
	BGP_REST_MAX_MS = 300000,   /* the same after BGP_AFTER_REST */
	BGP_STABLE_MS = 60000,      /* a session that lasts less than this is no success */
};

struct bgp_conn {
	enum bgp_state state; /* BGP_IDLE: there is none; BGP_CONNECT: being opened (BGP_OUT only) */
	struct tick expire_at, keepalive_at;
	struct bgp_open open; /* what the peer sent, from BGP_OPEN_CONFIRM on */
};

#define BGP_NO_ANSWER "no answer to our TCP connection"

/* Why the last connection ended, for people. */
enum bgp_last_kind { BGP_LAST_NONE, BGP_LAST_SENT, BGP_LAST_RECEIVED, BGP_LAST_TCP };

struct bgp_last_error {
	enum bgp_last_kind kind;
	struct bgp_fault fault; /* for sent and received */
	char text[240];
	char before[240]; /* for BGP_LAST_TCP: what was said before the connection broke; "": nothing since the last session */
	struct tick at;
};

struct bgp_session {
	struct bgp_session_params params;
	struct bgp_conn conn[BGP_SLOTS];
	struct random random;
	bool enabled;
	bool restarting, kept_routes; /* RFC 4724: set R, F in the OPEN; the owner clears them */
	struct tick retry_at, changed_at, up_at; /* up_at: of the last time it was Established */
	unsigned failures;    /* in a row, for the growing wait: attempts that led to no session, */
	unsigned short_lives; /* and sessions that were over before BGP_STABLE_MS */
	bool resting;         /* BGP_AFTER_REST: the peer is not let in before rest_until either */
	struct tick rest_until;
	unsigned established_count;
	uint16_t hold_time_s, keepalive_s; /* negotiated */
	bool refresh, extended;            /* likewise: ROUTE-REFRESH, messages above 4096 bytes */
	bool enhanced;                     /* RFC 7313: a refresh has a beginning and an end, both ways */
	bool v6_next_hop;                  /* likewise: IPv4 routes with IPv6 next hops, in both directions */
	bool add_path_in[BGP_FAMILIES], add_path_out[BGP_FAMILIES]; /* likewise: what comes, goes has path identifiers */
	struct bgp_open sent;
	struct bgp_last_error last_error;
	char detail[140]; /* text of a fault that names values: lives as long as the session */
};

enum bgp_action_kind {
	BGP_ACT_CONNECT, /* open a TCP connection to the peer for slot BGP_OUT */
	BGP_ACT_SEND,    /* data, len on slot */
	BGP_ACT_CLOSE,   /* the connection in slot, after what was sent */
	BGP_ACT_UP,      /* slot is Established: send the routes */
	BGP_ACT_DOWN,    /* it was and is no more */
	BGP_ACT_REFRESH, /* the peer wants all routes of family again */
	BGP_ACT_REFRESH_BEGIN, /* it says all of its own again from here, */
	BGP_ACT_REFRESH_END,   /* to here: what was not among them is no more */
};

struct bgp_action {
	enum bgp_action_kind kind;
	enum bgp_slot slot;
	uint16_t at, len; /* for BGP_ACT_SEND: within bytes */
	enum bgp_family family; /* for BGP_ACT_REFRESH and the two below it */
};

enum { BGP_ACTIONS_MAX = 16, BGP_ACTION_BYTES = 1536 };

struct bgp_actions {
	struct bgp_action action[BGP_ACTIONS_MAX];
	unsigned count;
	uint16_t used;
	uint8_t bytes[BGP_ACTION_BYTES];
};

void bgp_actions_clear(struct bgp_actions *a);

void bgp_session_init(struct bgp_session *s, const struct bgp_session_params *params, uint64_t seed);
void bgp_session_start(struct bgp_session *s, struct tick now, struct bgp_actions *out);
/* Ends the session with Cease/subcode. subcode 0: closes without a word, so that a peer which
 * helps graceful restarts keeps our routes. */
void bgp_session_stop(struct bgp_session *s, uint8_t subcode, struct tick now, struct bgp_actions *out);
/* The same with words for the people on the other side (RFC 9003), cut to BGP_SHUTDOWN_TEXT_MAX bytes; NULL: none. */
void bgp_session_shut(struct bgp_session *s, uint8_t subcode, const char *words, struct tick now, struct bgp_actions *out);

/* Where a connection that the peer opened belongs. */
enum bgp_slot bgp_session_incoming(const struct bgp_session *s);
/* A TCP connection is there: ours (BGP_OUT) or accepted (BGP_IN). False: it is not wanted, and the actions
 * are for the new connection, not for the one that slot has. An edge that wants a newer connection from the
 * peer to replace one which never got as far as an OPEN reports that one lost first. */
bool bgp_session_connected(struct bgp_session *s, enum bgp_slot slot, struct tick now, struct bgp_actions *out);
/* It could not be opened, or broke, with the edge's words for people. */
void bgp_session_lost(struct bgp_session *s, enum bgp_slot slot, const char *why, struct tick now,
		      struct bgp_actions *out);
/* A whole message came. True: it is an UPDATE of an Established session, for the caller to decode. */
bool bgp_session_message(struct bgp_session *s, enum bgp_slot slot, const struct bgp_frame *frame, struct tick now,
			 struct bgp_actions *out);
/* The caller found a fault (frame, UPDATE) that resets the session. */
void bgp_session_fault(struct bgp_session *s, enum bgp_slot slot, const struct bgp_fault *fault, struct tick now,
		       struct bgp_actions *out);
/* What comes after a session that we end. */
enum bgp_after {
	BGP_AFTER_RETRY, /* the next attempt, as after any fault */
	BGP_AFTER_REST,  /* the same, with longer waits in which the peer is not let in either */
	BGP_AFTER_STOP,  /* nothing, until bgp_session_start() */
};
void bgp_session_end(struct bgp_session *s, enum bgp_slot slot, const struct bgp_fault *fault, enum bgp_after after,
		     struct tick now, struct bgp_actions *out);
/* Runs what is due. Read the sockets first: a peer is not late because we are. */
void bgp_session_tick(struct bgp_session *s, struct tick now, struct bgp_actions *out);
struct tick bgp_session_next_at(const struct bgp_session *s);

/* Asks the peer for its routes of family again. False: there is no session, or the peer cannot do that. */
bool bgp_session_ask_refresh(struct bgp_session *s, enum bgp_family family, struct bgp_actions *out);
/* How long a message may be that comes in on slot. */
size_t bgp_session_message_max(const struct bgp_session *s, enum bgp_slot slot);

/* Something changed that may let the next attempt succeed: makes it at once. */
void bgp_session_hurry(struct bgp_session *s, struct tick now);

/* The most advanced connection's state; Active: waiting for the peer or for the next attempt. */
enum bgp_state bgp_session_state(const struct bgp_session *s);
/* The Established connection's slot, or BGP_SLOTS. */
enum bgp_slot bgp_session_slot(const struct bgp_session *s);
