/* Reads what the kernel has of ours and compares it with what rib/fib.h thinks it has; differences join the FIB's queue.
 * At the start, when something happened that no event describes (audit_plan()), and every minute for what no event told.
 */
#pragma once
#include <stddef.h>

#include "rib/fib.h"

struct audit;
struct daemon;

struct audit *audit_new(struct daemon *d, struct fib *f);
void audit_free(struct audit *a); /* NULL is fine */

/* Reads and compares now. 0, or -errno: what was read so far is taken over, and nothing is concluded from what was not.
 * *differ: how many routes that were not on their way already. */
int audit_now(struct audit *a, size_t *differ);
/* Soon, once for all who ask until then. */
void audit_plan(struct audit *a);
