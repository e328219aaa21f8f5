/* What routes refer to in the kernel: an object for each next hop, a group for each set of several, shared by all prefixes.
 * Losing a next hop is then one message for each group that has it, however many routes refer to it. A "way" is what one route
 * can be told to go: an object of the kernel, or no object and the next hops said in the route itself, which is how it
 * goes where there cannot be one (a blackhole, a kernel that refuses, no number left).
 *
 * One shape for reconciling, as in rib/fib.h: what is to be said to the kernel is a queue of intentions that an executor
 * takes one by one and reports back on. Its answers come at once, so nothing is ever in flight. A route is sent when its way
 * is ready, and an object goes when no route refers to it. A dump tells what others took away.
 *
 * Numbers are from a range of our own, of which each daemon (its table, metric and protocol) uses a part. What others
 * have in it stays theirs. Ownership: the table owns hops and ways; a way has a reference to its set.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rib/nhset.h"
#include "rib/route.h"
#include "src/base/hash.h"
#include "src/base/list.h"

enum {
	OBJECTS_ID_FIRST = 0x40000000, /* 1073741824 */
	OBJECTS_IDS = 4096,            /* of one daemon */
	OBJECTS_PARTS = 65536,         /* so many that two daemons with one protocol do not take each other's for a former life's */
	OBJECTS_LOST_ROUNDS = 2,       /* dumps for which a lost next hop is remembered that no way has */
};

/* One next hop. */
struct object_hop {
	struct hash_node node;
	struct list queue;     /* to be deleted, or on no list */
	struct route_nexthop hop;
	struct object_way *single; /* the way of the set that has it alone; NULL: none */
	uint32_t id;           /* 0: the kernel has none */
	uint32_t ways;         /* that contain it */
	uint32_t seen;
	int error;             /* -errno of the last refusal */
	bool known, alive;     /* some path was reached through it once, is now */
	bool lost;             /* known and not alive: what still wants it has not heard */
};

/* What a route refers to. */
struct object_way {
	struct list node;      /* all of them */
	struct list queue;     /* something is to be said to the kernel, or on no list */
	struct nhset *meant;   /* reference: the next hops that it leads to */
	uint32_t id;           /* of the group, or of the single next hop; 0: none, the route says them */
	uint32_t refs, routes; /* who keeps it; those in the kernel among them */
	uint32_t seen;
	struct nhset *before;  /* reference: what it was, while objects_alive_end() is at work */
	bool plain;            /* without an object, for good */
	bool group;
	bool gone;             /* another took it away, and the kernel all routes with it */
	bool dirty, partly;    /* the kernel's group is not what is meant; some member was refused */
};

enum objects_op { OBJECTS_ADD, OBJECTS_REPLACE, OBJECTS_DELETE };

struct objects_intent {
	enum objects_op op;
	struct nexthop_object object;
	struct object_hop *hop; /* borrowed, until objects_done(); of a group: NULL */
	struct object_way *way;
};

struct objects {
	struct hash_table hops;
	struct list ways, todo, dead_hops;
	struct nhset_table *nhsets;
	struct object_slot {
		uint8_t kind;
		void *of;
	} *slots;              /* OBJECTS_IDS */
	uint32_t first, next;  /* ids */
	uint8_t protocol;
	bool off;              /* no objects: the operator's wish, or the kernel's */
	int off_error;         /* -errno of the refusal that ended it; 0: the operator's wish */
	bool doubted;          /* the kernel may have lost some: whoever dumps them resets it */
	bool adopting;         /* what a dump finds is of a former life */
	unsigned lost_count, refusals; /* hops, sets */
	size_t hop_count, group_count; /* in the kernel */
	size_t dead_routes;    /* that refer to what is gone */
	uint32_t round;
	struct nexthop_object *found; /* of a former life, until the dump's end */
	size_t found_count, found_cap;
};

void objects_init(struct objects *o, struct nhset_table *nhsets, const struct route_mark *mark, bool off);
void objects_fini(struct objects *o); /* after all who refer to ways; the kernel keeps what it has */

/* The set as it is meant now: without the next hops that are lost, where others remain. Owned reference. */
struct nhset *objects_target(const struct objects *o, struct nhset *set);
/* What a route with this set is to refer to, borrowed. Before it is sent it must be ready; after objects_next() has
 * nothing more to say, ask again. */
struct object_way *objects_way(struct objects *o, struct nhset *set);
static inline bool objects_ready(const struct object_way *w)
{
	return w->plain || (w->id && !list_linked(&w->queue));
}
/* Is the kernel's route that refers to w as good as one can be for set? */
bool objects_fits(const struct objects *o, const struct object_way *w, const struct nhset *set);
/* The way of a route found in the kernel, owned reference. */
struct object_way *objects_way_found(struct objects *o, const struct route *r);

struct object_way *objects_ref(struct object_way *w);
void objects_unref(struct objects *o, struct object_way *w);            /* NULL is fine */
void objects_count_route(struct objects *o, struct object_way *w, bool more);

/* The next thing to say to the kernel; false: nothing. Each is answered by objects_done() before the next is asked for. */
bool objects_next(struct objects *o, struct objects_intent *out);
/* 0 or -errno. True: from now on there are no objects, which is worth a word. */
bool objects_done(struct objects *o, const struct objects_intent *in, int error);

/* Compare with the kernel: begin, found for each object in the dump (understood: decoded in full), end. Returns how many
 * are not what they should be; what can be mended joins the queue, and routes that are gone with them are for a dump of routes
 * to find. */
void objects_dump_begin(struct objects *o);
void objects_dump_found(struct objects *o, const struct nexthop_object *found, bool understood);
size_t objects_dump_end(struct objects *o);
/* What was found of a former life and is of no use goes. */
void objects_release(struct objects *o);

/* Which next hops are alive: begin (all: nobody can say, so they count as such), alive for each through which some path is
 * reached, end. Groups lose those that no longer are, ahead of all else; one with nobody left stays as it is, for the routes
 * to leave. True: a lost one is back, and the routes that want it must be looked at. */
void objects_alive_begin(struct objects *o, bool all);
void objects_alive(struct objects *o, const struct addr *gateway, uint32_t ifindex);
bool objects_alive_end(struct objects *o);

/* NULL: there is none. */
const struct object_hop *objects_hop(const struct objects *o, const struct addr *gateway, uint32_t ifindex);
