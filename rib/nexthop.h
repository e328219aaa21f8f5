/* The next hops that paths name: which of them can be reached, and through what. Each is asked for once, when the first
 * path names it, and again only where an event casts doubt on the answer; paths look it up and never ask. The user
 * gives the function that asks (the daemon: the kernel), so that nothing here touches a kernel. What changed is told by a
 * generation number: whoever depends on next hops compares it with the one that he has seen.
 *
 * Ownership: the table owns the next hops; hold/release count the paths, and one that nobody holds stays until
 * nexthop_sweep(), lest a route that comes and goes asks each time. RFC 4271 section 9.1.2.1.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rib/route.h"
#include "src/base/hash.h"
#include "src/base/list.h"

struct nhset;
struct nhset_table;

enum nexthop_state {
	NEXTHOP_DIRECT,       /* on a link of ours */
	NEXTHOP_GATEWAY,      /* through a gateway, by another's route */
	NEXTHOP_RECURSIVE,    /* through a gateway, by a route that we learned */
	/* from here on not reachable: */
	NEXTHOP_NOT_ASKED,    /* its turn comes */
	NEXTHOP_NO_ROUTE,
	NEXTHOP_DEFAULT_ONLY, /* the default route leads everywhere and says nothing */
	NEXTHOP_OWN_ADDRESS,
	NEXTHOP_LINK_DOWN,
	NEXTHOP_OWN_ROUTE,    /* only by a route of ours that may not carry it */
	NEXTHOP_NO_LINK,      /* link-local, and the link is not known; or no address at all */
	NEXTHOP_STATES,
};

struct nexthop {
	struct hash_node node;
	struct list doubted;  /* in the table's queue, or in none */
	struct addr addr;
	uint32_t ifindex;     /* the link where addr has a meaning on one link only, or the VRF; 0: any */
	enum nexthop_state state;
	struct nhset *via;    /* the kernel's next hops on the way there, owned reference; NULL: not reachable */
	uint32_t refs;        /* paths */
	uint32_t leaving;     /* of these, of sources that are gone and whose paths go in their own time: rib_source_leaves() */
	uint64_t changed;     /* the table's generation when the answer last changed */
};

struct nexthop_answer {
	enum nexthop_state state;
	struct route_nexthop via[ROUTE_NEXTHOPS_MAX];
	unsigned via_count;
};

/* NEXTHOP_NOT_ASKED as the answer: nobody could be asked now, and the answer of before stays. */
typedef void nexthop_resolve_fn(void *arg, const struct nexthop *nh, struct nexthop_answer *out);

enum { NEXTHOP_METRIC_UNREACHABLE = 7, NEXTHOP_BUDGET = 128, NEXTHOP_EVENTS = 64 };

/* What may have changed answers: those that it concerns are looked for with others' in one walk. */
struct nexthop_event {
	bool (*concerns)(const struct nexthop_event *e, const struct nexthop *nh);
	uint32_t ifindex;
	struct prefix prefix;
};

struct nexthop_table {
	struct hash_table table;
	struct list doubted;
	struct nexthop_event events[NEXTHOP_EVENTS]; /* since the last walk */
	unsigned event_count;
	struct nhset_table *nhsets;
	nexthop_resolve_fn *resolve;
	void *arg;
	unsigned budget;      /* how many may still be asked for at once, before the next nexthop_work() */
	uint64_t generation;
	bool news_of_life;    /* some nexthop_is_alive() may have changed; whoever looks at them all resets it */
	struct nexthop *last; /* the one looked up last; the next look-up is mostly for the same */
};

void nexthop_table_init(struct nexthop_table *t, struct nhset_table *nhsets, nexthop_resolve_fn *resolve, void *arg);
void nexthop_table_fini(struct nexthop_table *t); /* also what is still held */

struct nexthop *nexthop_hold(struct nexthop_table *t, const struct addr *addr, uint32_t ifindex);
void nexthop_release(struct nexthop_table *t, struct nexthop *nh);
/* NULL where nobody ever held it. */
struct nexthop *nexthop_find(struct nexthop_table *t, const struct addr *addr, uint32_t ifindex);

/* It is reached, and some path through it is not about to go. */
bool nexthop_is_alive(const struct nexthop *nh);
/* Of so many paths that hold it the source is gone (or, less than 0, the path too). */
void nexthop_leave(struct nexthop_table *t, struct nexthop *nh, int64_t paths);
/* All that are held, one after the other; begins with NULL and ends so. */
struct nexthop *nexthop_each(const struct nexthop_table *t, const struct nexthop *nh);

/* What the decision compares, in 3 bits: 0 on a link, more with each indirection, NEXTHOP_METRIC_UNREACHABLE. */
uint8_t nexthop_metric(const struct nexthop *nh);
/* "no route to it", "on a link" */
const char *nexthop_state_text(enum nexthop_state s);

/* Events: the answers that they may have changed are asked for anew by nexthop_work(). */
void nexthop_doubt_link(struct nexthop_table *t, uint32_t ifindex);          /* its state changed */
void nexthop_doubt_prefix(struct nexthop_table *t, const struct prefix *p);  /* a route or an address of it changed */
void nexthop_doubt_indirect(struct nexthop_table *t);                        /* routes of our own changed */
void nexthop_doubt_all(struct nexthop_table *t);
/* Asks for up to NEXTHOP_BUDGET of them; true: there are more. */
bool nexthop_work(struct nexthop_table *t);
bool nexthop_settled(const struct nexthop_table *t); /* nothing is in doubt */
/* Frees what no path names any more. */
void nexthop_sweep(struct nexthop_table *t);
