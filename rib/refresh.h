/* Telling what a peer has said again from what it has not (RFC 7313). A refresh begins a round of its source: whatever
 * the source announces from then on belongs to the new round, and when the peer says that it is done, the paths of
 * older rounds go, a slice at a time. The number of the round is two bits in each path, so beginning one costs nothing
 * however many paths there are.
 */
#pragma once
#include <stdbool.h>

#include "rib/table.h"

enum { RIB_REFRESH_ROUNDS = 4 };
/* A fourth one within another is none: the paths stay in the third. */
void rib_refresh_begin(struct rib_source *s, enum bgp_family f);
void rib_refresh_end(struct rib_source *s, enum bgp_family f);
/* Withdraws some of the paths that were not said again in a refresh that has ended, as rib_source_flush() does;
 * true when none is left. */
bool rib_refresh_sweep(struct rib *r, struct rib_source *s, unsigned budget);
