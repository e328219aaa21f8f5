/* The FIB: for each prefix what the kernel should have (want) and what it is known to have (have, from an
 * acknowledgement, an event or a dump). The difference is a queue of intentions that an executor takes one by one and
 * reports back on; nothing here touches a kernel. Status tells `have`, not what was sent.
 *
 * A route that the kernel refuses is kept as failed with the kernel's words and tried again with growing
 * waits; it holds up no other. One that others take away is put back at once, and every few seconds when they do it
 * again and again. Another's route in our place is never replaced: it is known as such, and ours follows when it goes. While held
 * (a restart whose peers have not told everything yet), what a dump found is adopted and kept, so that the kernel goes
 * on forwarding as before; only new routes go in, and what was learned anew and lost again goes out.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "rib/nhset.h"
#include "rib/objects.h"
#include "rib/route.h"
#include "src/base/hash_index.h"
#include "src/base/list.h"
#include "src/base/pool.h"
#include "src/base/tick.h"

enum fib_queue { FIB_NO_QUEUE, FIB_TODO, FIB_WAITING };

/* What others did to a route of ours. */
enum fib_harm { FIB_UNHARMED, FIB_TAKEN, FIB_BENT, FIB_STRAY, FIB_HARMS };

/* Why an entry waits: rare, and so beside it. */
struct fib_trouble {
	struct tick retry_at;
	int error;      /* -errno of the last refusal; 0: others took it away again and again */
	uint8_t level;  /* of the wait: index of struct fib.waiting */
	bool foreign;   /* another's route is in our place */
	uint8_t owner;  /* its protocol */
	char *text;     /* the kernel's words, owned; may be NULL */
};

/* There are as many as routes. */
struct fib_entry {
	uint32_t hash_next, at; /* at: its position; 0: nobody's memory */
	struct list queue;      /* on todo or a list of waiting, or on neither */
	struct prefix prefix;
	uint8_t in_flight : 1;
	uint8_t lost : 1;       /* a next hop that was confirmed in this life is gone: does not wait for the release */
	uint8_t on : 2;         /* enum fib_queue */
	uint8_t harm : 2;       /* enum fib_harm, until it is repaired */
	uint16_t seen, touched; /* in which comparison it was found, in which one it changed */
	uint16_t fights : 4;    /* how often others took it away, less one for every FIB_FORGET_S */
	uint16_t fought_at : 12; /* since when the next of these seconds count, wrapping */
	struct nhset *want;     /* reference; NULL: no route */
	struct object_way *have, *sent; /* what the route refers to; references; NULL: no route. See fib_entry_have() */
	struct fib_trouble *trouble;      /* owned; NULL: none */
};

enum { FIB_RETRY_MS = 1000, FIB_RETRY_MAX_MS = 60000, FIB_WAITS = 7 };
/* Somebody who types a flush ten times is served at once; a program that fights us gets a repair every FIB_FORGET_S or so. */
enum { FIB_FIGHTS = 10, FIB_FIGHTS_MAX = FIB_FIGHTS + 3, FIB_FORGET_S = 3, FIB_FIGHT_WAIT_MAX_MS = 4 * FIB_RETRY_MS };

/* One comparison with the kernel. */
struct fib_findings {
	size_t read;    /* our routes in the kernel */
	size_t missing, bent, stray;
	size_t foreign; /* of others in our place, not known before */
	uint8_t owner;  /* of the last of these */
	struct prefix first; /* one of what differs, or of the foreign */
};

struct fib {
	struct pool entries;     /* by position */
	struct hash_index table;
	struct list todo, waiting[FIB_WAITS]; /* each of waiting in the order of retry_at */
	struct list hurt;                     /* what others took or bent: also to do, from fib_mend() on */
	struct nhset_table *nhsets;
	struct objects objects;
	struct route_mark mark;
	bool held;
	bool reading;  /* a comparison has begun, and all that the dump tells may be older than what we know */
	bool unclear;  /* only a comparison can tell what the kernel has of some entry; whoever plans one resets it */
	uint16_t round;
	struct tick round_at, forgiven_at; /* fights before it are forgotten */
	uint32_t judge_at;
	struct fib_findings findings;
	size_t wanted, installed, in_flight, todo_count, waiting_count;
	size_t refused, foreign; /* with an error; of these, in whose place is another's */
	uint64_t repaired[FIB_HARMS];
};

enum fib_op { FIB_ADD, FIB_REPLACE, FIB_DELETE };

struct fib_intent {
	enum fib_op op;
	struct fib_entry *entry; /* borrowed; valid until its fib_done() or fib_lost() */
	struct route route;
};

/* no_objects: routes say their next hops themselves. */
void fib_init(struct fib *f, struct nhset_table *nhsets, const struct route_mark *mark, bool no_objects);
void fib_fini(struct fib *f); /* forgets; the kernel keeps what it has */

/* The kernel should have prefix with want (a reference is taken), or not at all where want is NULL. */
void fib_want(struct fib *f, const struct prefix *p, struct nhset *want);
/* The next thing to do; false: nothing, or an object is to be made first: ask objects_next(). */
bool fib_next(struct fib *f, struct fib_intent *out);
/* The kernel answered: error 0 or -errno with its words. The entry may be gone afterwards. True: a refusal that was not
 * known before, for the log. */
bool fib_done(struct fib *f, struct fib_entry *e, int error, const char *text, struct tick now);
/* The answer to an intention was lost (queue overrun): a comparison will tell. */
void fib_lost(struct fib *f, struct fib_entry *e);
/* Some of the entries whose wait is over join the queue; returns when the next is due, never: none waits. */
struct tick fib_retry(struct fib *f, struct tick now);
/* Ends all waits at once, and forgets who took what how often. */
void fib_retry_all(struct fib *f, struct tick now);

/* What another did with a route, as the kernel tells it; how: a mask. */
enum fib_how { FIB_ADDED = 0, FIB_DELETED = 1, FIB_REPLACED = 2 /* what was there */, FIB_BY_KERNEL = 4 /* itself */ };
enum fib_event { FIB_NOTHING, FIB_OURS_TAKEN, FIB_OURS_BENT, FIB_OURS_STRAY, FIB_FOREIGN_CAME, FIB_FOREIGN_WENT };
enum fib_event fib_event(struct fib *f, const struct route *r, unsigned how, struct tick now);
/* Lets the repair of what events told of begin, ahead of all that is new. Whoever hears the events does so when they pause:
 * a program that removes all (`ip route flush`) looks again when it is through, and would never come to an end. */
void fib_mend(struct fib *f);

/* Compare with the kernel: begin, found for each route of our table in the dump, judge until it is true. What changes or
 * is in flight meanwhile is left out. Begin again where a dump did not come to its end. Differences join the queue. */
void fib_compare_begin(struct fib *f, struct tick now);
void fib_compare_found(struct fib *f, const struct route *r);
bool fib_compare_judge(struct fib *f, unsigned budget);
size_t fib_differ(const struct fib_findings *x);
/* The entries whose want and have differ, one a call: *at begins with 0 and is UINT64_MAX after the last. NULL with another
 * *at: none among budget places, go on. */
const struct fib_entry *fib_next_difference(const struct fib *f, uint64_t *at, unsigned budget);

/* Ends the holding; everything that differs joins the queue. Returns how many. */
size_t fib_release(struct fib *f);

const struct fib_entry *fib_find(const struct fib *f, const struct prefix *p);
/* The next hops of the kernel's route; NULL: there is none. */
const struct nhset *fib_entry_have(const struct fib_entry *e);
/* Is that what is wanted? */
bool fib_entry_right(const struct fib *f, const struct fib_entry *e);
/* Our routes in the kernel. */
size_t fib_installed(const struct fib *f);
/* -errno of the last refusal, 0: none. */
int fib_entry_error(const struct fib_entry *e);
/* Another took it away so often that it waits. */
bool fib_entry_fought_over(const struct fib_entry *e);
