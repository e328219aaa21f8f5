/* The executor of rib/objects.h: what it says about next-hop objects and groups goes to the kernel one by one over a socket of
 * its own, each with its answer at once; they are few. It reads what there is at the start and when something may have gone
 * (a link takes its objects along without a word), and tells which next hops are alive, so that groups lose those that are not
 * before the RIB has come to all of their routes.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "rib/fib.h"

struct daemon;
struct objects_writer;

/* f: borrowed. NULL after saying why. */
struct objects_writer *objects_writer_new(struct daemon *d, struct fib *f);
void objects_writer_free(struct objects_writer *w); /* NULL is fine */

/* Says what is to be said, at most budget of it; false: there was nothing. */
bool objects_writer_say(struct objects_writer *w, unsigned budget);
/* Reads and compares, where there is doubt. What is to be mended is not said yet. */
void objects_writer_check(struct objects_writer *w);
/* Lets groups lose at once what is not alive any more. */
void objects_writer_hasten(struct objects_writer *w);
/* Goes on with a new socket where something closed ours. To be called every second or so. */
void objects_writer_mend(struct objects_writer *w);
bool objects_writer_is_own(const struct objects_writer *w, uint32_t port);
/* An event about an object; port: who did it. */
void objects_writer_heard(struct objects_writer *w, uint32_t port);
/* For `show status`: what ended it, or what the operator wished; NULL: objects are used. */
const char *objects_writer_why_not(const struct objects_writer *w);
