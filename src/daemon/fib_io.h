/* The FIB's executor: a cursor on the RIB's journal feeds rib/fib.h, its intentions go to the kernel in batches with a
 * bounded number unanswered, and each answer is matched to its route. What others do to the kernel, kernel_watch_io.h hears and
 * audit_io.h finds.
 */
#pragma once
#include <stdbool.h>

#include "rib/fib.h"
#include "src/daemon/audit_io.h"

struct daemon;
struct fib_writer;

/* Reads what the kernel has of ours. no_objects: routes say their next hops themselves. NULL after saying why. */
struct fib_writer *fib_writer_new(struct daemon *d, const struct route_mark *mark, bool no_objects);
/* Leaves the kernel as it is. */
void fib_writer_free(struct fib_writer *w);

/* Some of the work; true: more is left that could be done now. */
bool fib_writer_work(struct fib_writer *w);
/* Routes of a former life that were found at the start. */
size_t fib_writer_adopted(const struct fib_writer *w);
/* A writer begins by holding back every change; this lets them go. */
void fib_writer_release(struct fib_writer *w);
/* Groups lose at once the next hops that are not alive any more. */
void fib_writer_hasten(struct fib_writer *w);
/* Does the port belong to the socket that next-hop objects are written through? */
bool fib_writer_is_own(const struct fib_writer *w, uint32_t port);
/* Something happened to a next-hop object, through the netlink socket with this port. */
void fib_writer_object_event(struct fib_writer *w, uint32_t port);
/* Why there are no next-hop objects; NULL: there are. */
const char *fib_writer_no_objects(const struct fib_writer *w);
/* For commands: the state of a prefix, and the counters. */
const struct fib *fib_writer_fib(const struct fib_writer *w);
size_t fib_writer_failed(const struct fib_writer *w);

struct fib_report {
	struct audit_report audit;
	unsigned window;       /* requests that may be without an answer */
	uint64_t lost_answers, lost_events; /* how often the kernel had more to say than its buffer holds */
	size_t buffer;         /* that buffer, in bytes */
};
void fib_writer_report(const struct fib_writer *w, struct fib_report *out);
/* Ends all waits, reads the kernel and repairs. Answers the number of the audit that tells what was found. */
unsigned fib_writer_resync(struct fib_writer *w);
