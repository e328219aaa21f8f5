/* The FIB: for each prefix what the kernel should have (want) and what it is known to have (have, from an
 * acknowledgement or a dump). The difference is a queue of intentions that an executor takes one by one and
 * reports back on; nothing here touches a kernel. Status tells `have`, not what was sent.
 *
 * A route that the kernel refuses is kept as failed with the kernel's words and tried again with growing
 * waits; it holds up no other. While held (a restart whose peers have not told everything yet), what a dump
 * found is adopted and kept, so that the kernel goes on forwarding as before; only new routes go in, and what was
 * learned anew and lost again goes out.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "rib/nhset.h"
#include "rib/route.h"
#include "src/base/hash.h"
#include "src/base/list.h"
#include "src/base/tick.h"

struct fib_entry {
	struct hash_node node;
	struct list queue;    /* on todo or failed, or on neither */
	struct prefix prefix;
	struct nhset *want, *have, *sent; /* references; NULL: no route */
	bool in_flight, seen;
	bool lost;            /* a next hop that was confirmed in this life is gone: does not wait for the release */
	uint8_t failures;
	int error;            /* -errno of the last refusal, 0: none */
	char *error_text;     /* the kernel's words, owned; may be NULL */
	struct tick retry_at;
};

struct fib {
	struct hash_table table;
	struct list todo, failed;
	struct nhset_table *nhsets;
	struct route_mark mark;
	bool held;
	size_t installed, in_flight;
};

enum fib_op { FIB_ADD, FIB_REPLACE, FIB_DELETE };

struct fib_intent {
	enum fib_op op;
	struct fib_entry *entry; /* borrowed; valid until its fib_done() */
	struct route route;
};

enum { FIB_RETRY_MS = 1000, FIB_RETRY_MAX_MS = 60000 };

void fib_init(struct fib *f, struct nhset_table *nhsets, const struct route_mark *mark);
void fib_fini(struct fib *f); /* forgets; the kernel keeps what it has */

/* The kernel should have prefix with want (a reference is taken), or not at all where want is NULL. */
void fib_want(struct fib *f, const struct prefix *p, struct nhset *want);
/* The next thing to do; false: nothing. */
bool fib_next(struct fib *f, struct fib_intent *out);
/* The kernel answered: error 0 or -errno with its words. The entry may be gone afterwards. */
void fib_done(struct fib *f, struct fib_entry *e, int error, const char *text, struct tick now);
/* The answer to an intention was lost (queue overrun): a dump will tell. */
void fib_lost(struct fib *f);
/* Fails whose wait is over join the queue; returns when the next is due. */
struct tick fib_retry(struct fib *f, struct tick now);

/* Compare with the kernel: begin, found for each of our routes in the dump, end. Differences join the queue.
 * Returns how many differ that were not on their way already. */
void fib_dump_begin(struct fib *f);
void fib_dump_found(struct fib *f, const struct route *r);
size_t fib_dump_end(struct fib *f);
/* Ends the holding; everything that differs joins the queue. Returns how many. */
size_t fib_release(struct fib *f);

const struct fib_entry *fib_find(const struct fib *f, const struct prefix *p);
