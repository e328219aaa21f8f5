/* The daemon: what its parts share. One event loop; bytes come in at the edges (peer_io, listen_io,
 * fib_io, control_io), the rooms think, and every turn of the loop carries what changed in the RIB to the FIB and to
 * the peers, a slice of a few milliseconds at a time.
 */
#pragma once
#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bgp/attr.h"
#include "conf/conf.h"
#include "rib/nhset.h"
#include "rib/policy.h"
#include "rib/table.h"
#include "src/base/list.h"
#include "src/base/tick.h"
#include "src/daemon/apply_policy.h"
#include "src/daemon/transport_io.h"
#include "src/daemon/turn.h"

struct fib_writer;
struct next_hops;
struct control_server;
struct external;
struct host_watch;
struct kernel_home;
struct listener;
struct peer;
struct range;
struct router_adverts;

struct daemon {
	struct ev_loop *loop;
	const char *conf_file;
	const char *socket_option;     /* -s: goes before control.socket; NULL: not given */
	struct conf *conf;             /* owned; what runs now */
	struct bgp_attr_table attrs;
	struct nhset_table nhsets;
	struct rib *rib;
	struct rib_source *local;      /* our own CIDRs */
	struct list peers, groups;     /* struct peer.node, struct group.node */
	struct list ranges;            /* whose callers become peers: struct range.node, dynamic_io.h */
	struct list goodbyes;          /* connections that are being closed, peer_io.c */
	unsigned goodbye_count;
	struct list unsent;            /* connections with something to write: struct peer_conn.unsent */
	struct tick export_at;         /* a group's pause is over then, and there is something to tell it */
	struct list dying;             /* sources whose paths are being withdrawn: struct dying.node */
	uint32_t refilter_at;          /* where the imports' walk over the table stands, refilter_io.h; 0: none is under way */
	bool sweeping;                 /* somewhere is what a refresh has left over */
	bool told_too_much;            /* a group is above its max-advertised */
	struct rib_import_context imports;
	struct policies policies;      /* what the operator wrote */
	struct kernel_home *home;      /* of our routes, where it is a VRF; NULL: a table that does not come and go */
	struct fib_writer *fib;        /* NULL with kernel.install false, and while the VRF is missing */
	struct next_hops *next_hops;   /* NULL with kernel.install false */
	struct external *external;     /* routes of others that we tell */
	struct listener *listener;
	struct router_adverts *router_adverts;
	struct control_server *control;
	struct host_watch *host;
	struct transport_watch transport;
	uint32_t router_id, asn;       /* the node's; a session may speak as another AS */
	uint32_t cluster_id;           /* as a route reflector */
	bool reflects;                 /* there are clients, or a cluster ID was given */
	bool restarting;               /* routes of a former life are held until the peers have told theirs */
	struct tick started_at, restart_deadline_at;
	int64_t started_unix;
	int lock_fd;
	struct tick publish_again_at;  /* the plugin's facts could not be written; never: they were */
	uint32_t pod_mtu;              /* as published to the plugin; 0: not known */
	struct turns turns;            /* of the loop: how long it was busy */
	ev_check check;
	ev_prepare prepare;
	ev_idle idle;
	ev_timer second, pause;
	ev_signal sigterm, sigint, sighup;
};

/* Starts everything that d->conf asks for. 0, or -1 after saying why. */
int daemon_start(struct daemon *d);
/* Stops without taking anything back: routes and pods stay, and peers that help graceful restarts keep ours. */
void daemon_stop(struct daemon *d);
/* Reads the configuration file again and applies what changed; a bad file changes nothing. */
void daemon_reload(struct daemon *d);

/* No round of work begins later in a turn. With one more, and what is not work, a turn is to stay below TURN_LONG_US. */
enum { DAEMON_WORK_US = 2500 };
enum { DAEMON_RESTART_WAIT_MS = 60000, DAEMON_RESTART_QUIET_MS = 10000 };

/* The configuration in d->conf_file with what the command line overrides; NULL with every error in *errors. */
struct conf *daemon_load(const struct daemon *d, struct conf_errors *errors);

/* What the loop did since the last mark was for part. */
void daemon_mark_turn(struct daemon *d, enum turn_part part);

/* A source whose session ended: its paths go, a slice a turn. Takes the source over. */
void daemon_bury_source(struct daemon *d, struct rib_source *s);

/* apply.c: the only place that translates configuration into the rooms' parameters. Brings peers, own CIDRs and
 * policies from what runs (d->conf, may be NULL at start) to next, and takes next over. Returns the number of
 * changes. */
unsigned apply_conf(struct daemon *d, struct conf *next);
/* apply_external.c: a part of it, when d->imports are next's already. */
unsigned apply_external(struct daemon *d, const struct conf *next);
/* A peer of the range, for who calls from there. */
struct peer *apply_range_peer(struct daemon *d, struct range *r, const struct addr *from);
struct route_mark apply_route_mark(const struct conf *c);
bool apply_no_objects(const struct conf *c);
