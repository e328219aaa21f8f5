/* A BGP peer at the edge: the session's sockets, timers and buffers, and the paths it brought. bgp/session.h
 * decides; this file carries out.
 */
#pragma once
#include <ev.h>

#include "bgp/session.h"
#include "rib/policy.h"
#include "rib/table.h"
#include "src/base/log_io.h"
#include "src/daemon/limits_io.h"
#include "src/daemon/outq.h"
#include "src/daemon/helper_io.h"
#include "src/daemon/refresh_io.h"
#include "src/daemon/router_advert_io.h"
#include "src/daemon/transport_io.h"

struct daemon;
struct range;
struct group;

struct peer_conn {
	int fd; /* -1: none */
	ev_io reader, writer;
	bool connecting;
	uint8_t *partial; /* an incomplete message, allocated when there is one */
	size_t partial_len;
	struct outq out;
	struct list unsent; /* in daemon.unsent, where out has grown in this turn */
};

/* What is asked of the routes that go to a peer and come from it. */
struct peer_ways {
	bool client;                      /* of ours as a route reflector, RFC 4456 */
	bool next_hop_self, as_override, remove_private; /* see struct bgp_export */
	bool draining;                    /* everybody is to prefer other ways than over this peer, RFC 8326 */
	bool blackhole;                   /* it may ask us to discard packets, RFC 7999 */
	uint8_t allow_own_as;             /* how often an AS of ours may stand in a path that comes in */
};

struct peer {
	struct list node;
	struct daemon *daemon;
	char *name, *subject; /* subject: "peer NAME", for the log */
	struct addr address, local_address; /* address: zero while an unnumbered peer's is not known */
	struct peer_link link;              /* set between peer_new() and peer_start() */
	struct addr local_next_hop[BGP_FAMILIES], local_link_local; /* what we offer; zero: nothing */
	uint32_t ifindex;   /* of the link to the peer; 0: not known */
	uint16_t port;
	enum rib_import import;
	enum rib_export export;
	struct peer_ways ways;
	const struct rib_policy *import_rules, *export_rules; /* where written; borrowed from daemon.policies */
	struct range *range;        /* that it called from; NULL: it is configured itself. Set like transport */
	struct transport transport; /* set between peer_new() and peer_start() */
	struct bgp_session session;
	struct peer_conn conn[BGP_SLOTS];
	ev_timer timer;
	struct tick timer_at;
	struct log_limit limit;
	char stopped[200];         /* why it stays down until somebody starts it; "": it does not */
	struct tick error_logged_at; /* session.last_error.at of the one that was logged */
	struct bgp_fault last_fault; /* what the peer last did wrong, whatever came of it */
	struct tick last_fault_at;
	uint64_t fault_count;

	/* while Established */
	struct rib_source *source;
	bool ibgp, as4;
	uint32_t remote_asn;
	enum bgp_role role;       /* ours; none towards an internal peer */
	bool families[BGP_FAMILIES]; /* negotiated */
	bool end_of_rib_received[BGP_FAMILIES], end_of_rib_sent;
	struct tick last_update_at;
	struct tick send_progress_at; /* when its socket last took something of what waits; zero: nothing waits */
	struct refresh refresh;
	struct helper helper;
	bool ask_refresh;             /* apply.c will, in this reload */
	struct limits limits;
	uint8_t send_paths;           /* how many to a prefix it gets, where it can; 0: one */
	struct group *group;
	struct list member;        /* in group->members or group->laggards */
	uint16_t skip;             /* batch.c's */
	size_t own_let_out;        /* by export_count_own(): its own best routes that its group was told */
	bool reading;              /* as a laggard it reads on, its group's pause or not */
	struct rib_cursor cursor;  /* a laggard's own place in the journal */
	struct rib_cursor news;    /* as a laggard: up to here nothing was ever sent to it before; not open: anything may have been */

	struct {
		uint64_t updates_in, updates_out, messages_in, messages_out;
		uint64_t prefixes_in, withdrawn_in, filtered;
		uint64_t leaks; /* of the filtered: routes that may not come from this peer (RFC 9234) */
	} count;
};

struct peer *peer_new(struct daemon *d, const struct bgp_session_params *params, const char *name,
		      const struct addr *address, uint16_t port, enum rib_import import, enum rib_export export);
void peer_start(struct peer *p); /* also after a stop */
/* Ends the session with Cease/subcode and words for the other side (NULL: none); it stays down, for the reason why,
 * until peer_start(). */
void peer_stop(struct peer *p, uint8_t subcode, const char *words, const char *why);
/* Ends the Established session with f. */
void peer_end_session(struct peer *p, const struct bgp_fault *f, enum bgp_after after);
/* Ends the session (subcode 0: silently, see bgp_session_stop()) and frees the peer. */
void peer_free(struct peer *p, uint8_t subcode);

/* True once it has sent End-of-RIB for every family. */
bool peer_has_ended_rib(const struct peer *p);

/* Asks for everything again, of every family. False where the peer cannot do that. */
bool peer_ask_refresh(struct peer *p);
/* Ends a session whose peer takes nothing any more (RFC 9687). To be called every second or so. */
void peer_check_send_hold(struct peer *p, struct tick now);

/* Waits for the peer's link: interface by name; unnumbered where the address is to be learned there. */
void peer_set_link(struct peer *p, const char *interface, bool unnumbered);
/* "10.0.7.254", "fe80::1%eth0" or, while the address is not known, "eth0", into buf. */
enum { PEER_PLACE_MAX = ADDR_TEXT_MAX + 20 };
const char *peer_place(const struct peer *p, char buf[PEER_PLACE_MAX]);
/* Is there somewhere to connect to? Otherwise what is waited for, in buf. */
bool peer_has_place(const struct peer *p, char *buf, size_t cap);
/* As policies call it: its own name, or its range's. */
const char *peer_policy_name(const struct peer *p);
/* It has a connection on which more was said than hello. */
bool peer_is_busy(const struct peer *p);
/* An unnumbered peer's address is another one now (zero: not known): what connections there are end with these words. */
void peer_moved(struct peer *p, const struct addr *address, const char *why);

/* A link went down or came up: an external peer on it is gone at once (its routes go over the others), and who waits to
 * be tried again is tried now. */
void peers_link_changed(struct daemon *d, uint32_t ifindex, const char *name, bool up);
/* A device that sessions are tied to is no more: they are over, for the reason why. */
void peers_device_gone(struct daemon *d, const char *device, const char *why);

/* A connection from the peer's address was accepted; takes fd over. */
void peer_accept(struct peer *p, int fd);
/* Queues these bytes of a block on the Established connection. */
void peer_send(struct peer *p, struct block *b, uint32_t from, uint32_t to);
/* Writes what was queued, as far as the sockets take it: one call a connection. True: there is more, but the turn has been
 * long. */
bool peers_write(struct daemon *d);
size_t peer_pending(const struct peer *p);
/* Says goodbye with these bytes (may be 0) on a connection that belongs to no session and closes it in a moment, so
 * that the other side can read them. Takes fd over. */
void peer_turn_away(struct daemon *d, int fd, const void *bytes, size_t len);
/* Ends the goodbyes that are under way, at once. */
void peer_end_goodbyes(struct daemon *d);
