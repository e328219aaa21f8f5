/* What a peer's settings make of a path that its import let in: while the peer is being drained everything else is better
 * (RFC 8326), and what asks to be discarded is, where the peer may ask for it (RFC 7999).
 */
#pragma once
#include <stdbool.h>

#include "bgp/attr.h"
#include "src/base/addr.h"

struct peer;

/* The last answer, for runs of routes with the same attributes. Starts as all zero, and needs import_memo_fini(). */
struct import_memo {
	struct bgp_attrs *in, *made; /* references */
	bool discards;
};

/* *out is borrowed, before from the caller and after, where it is another one, from the memo until its next use. False: the
 * path is not taken after all. */
bool import_finish(const struct peer *p, struct import_memo *m, const struct prefix *prefix, struct bgp_attrs **out);
void import_memo_fini(struct import_memo *m);
