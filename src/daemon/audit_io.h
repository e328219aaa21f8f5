/* The audit: reads what the kernel has and compares it with what rib/fib.h thinks it has; differences join the FIB's queue.
 * At the start; when something happened that no event describes (audit_plan()); when somebody asks (audit_demand()); and
 * every minute or less often for what no event told. It reads on a socket of its own in slices of a millisecond, so that a
 * long table holds nothing up, and rests in proportion to what it took. While thousands of changes wait to be written it is put
 * off, up to a minute, unless somebody asked for it.
 * Next-hop objects are few and are read in one go, by objects_io.h; an audit begins with the doubt that makes it do so.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "rib/fib.h"

struct audit;
struct daemon;

struct audit *audit_new(struct daemon *d, struct fib *f);
void audit_free(struct audit *a); /* NULL is fine */

/* Reads and compares at once. 0, or -errno: what was read so far is taken over, and nothing is concluded from what was
 * not. */
int audit_now(struct audit *a);
/* Soon, once for all who ask until then. */
void audit_plan(struct audit *a);
/* At once. Answers the number of the audit that will have read everything after this call: wait for audit_report(). */
unsigned audit_demand(struct audit *a);

/* The last that came to its end, and the one that runs. */
struct audit_report {
	unsigned number;      /* 0: none */
	int error;            /* -errno: it could not be read, and is tried again */
	struct tick ended_at;
	int64_t took_ms;      /* from its begin to its end */
	int64_t busy_us, longest_us; /* of that at work, and its longest slice */
	struct fib_findings findings;
	bool running;
	size_t read_now;      /* routes that the running one has read */
};
void audit_report(const struct audit *a, struct audit_report *out);
