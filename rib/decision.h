/* The decision process: which of several paths to a prefix is best, and which others are as good for
 * forwarding. Elimination by a table of named rules, each over all that are left, so the outcome does not
 * depend on the order of arrival (RFC 4271 section 9.1.2.2; RFC 4456 section 9; RFC 5004). Before the rules, paths
 * whose next hop cannot be reached drop out (section 9.1.2.1).
 */
#pragma once
#include <stddef.h>

#include "rib/table.h"

/* Sets flags and lost_by of the n paths in at[], whose metric is up to date, and returns the best, NULL where none can be
 * used. At most multipath paths are used, those that the tie-breaks like most. at[] is reordered. */
struct rib_path *rib_decide(struct rib_path **at, size_t n, unsigned multipath);
/* "local preference", ... for lost_by; "" for one that did not lose. */
const char *rib_decision_rule(unsigned lost_by);

/* The path of e that ruled loser out: the best one, or where the rule compares pairs one that it lost to; NULL where it did
 * not lose, or not to a path (its next hop is unreachable). */
const struct rib_path *rib_decision_winner(const struct rib *r, struct rib_entry *e, const struct rib_path *loser);
/* The two values that the rule compared, as in "100 < 200". */
enum { RIB_DECISION_TEXT_MAX = 160 };
const char *rib_decision_compared(const struct rib_path *loser, const struct rib_path *winner,
				  char buf[RIB_DECISION_TEXT_MAX]);
