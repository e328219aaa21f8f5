/* Enhanced route refresh (RFC 7313) at the edge: a peer that says its routes again between two marks loses those that it
 * left out, and a peer that asks us gets the same marks. bgp/session.h reads the messages, rib/refresh.h keeps the
 * rounds.
 */
#pragma once
#include <stdbool.h>

#include "bgp/open.h"
#include "src/base/tick.h"

struct daemon;
struct peer;

/* A peer may take so long from the first mark to the second; then what it has not said again goes all the same. */
enum { REFRESH_WAIT_MS = 300000 };

/* A part of struct peer. */
struct refresh {
	struct tick until[BGP_FAMILIES];  /* never: the peer is not at it */
	bool answering[BGP_FAMILIES];     /* we are, and owe the second mark */
};

/* The peer's marks. */
void refresh_begin(struct peer *p, enum bgp_family f);
void refresh_end(struct peer *p, enum bgp_family f);
/* Ends what lasts too long. To be called every second or so. */
void refresh_check(struct peer *p, struct tick now);
/* Takes out what was not said again, a slice; true: there is more. */
bool refresh_work(struct daemon *d);

/* Our own marks, where the peer knows them: before and after all routes of f. */
void refresh_answer(struct peer *p, enum bgp_family f);
void refresh_answered(struct peer *p);
