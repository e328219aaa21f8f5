/* Helping a peer that restarts gracefully (RFC 4724 section 4.2): a session that broke without a NOTIFICATION leaves its
 * paths in place, for as long as the peer said that it needs. When it is back, what it has not said again by its
 * End-of-RIB goes; that is a round of rib/refresh.h. Off unless the operator asks for it: a peer that is dead and not
 * restarting gets traffic meanwhile.
 */
#pragma once
#include <stdbool.h>

#include "bgp/open.h"
#include "src/base/tick.h"

struct peer;
struct rib_source;

/* No peer is waited for longer than this, whatever it says. */
enum { HELPER_WAIT_MAX_S = 300 };

/* A part of struct peer. */
struct helper {
	bool wanted;
	uint16_t time_s;              /* how long the peer takes to restart; 0: it said nothing of restarts */
	bool families[BGP_FAMILIES];  /* for which */
	bool link_lost;               /* the session ends because its link did: nothing is forwarded over that */
	bool listening[BGP_FAMILIES]; /* it is back and has not ended its RIB */
	struct rib_source *kept;      /* of the session that broke; owned */
	struct tick until;
};

/* A session is up: makes p->source, with what was kept of the one before where the peer kept it too. */
void helper_up(struct peer *p, const struct bgp_open *o, const struct rib_source *like);
void helper_end_of_rib(struct peer *p, enum bgp_family f);
/* A session has ended. True: p->source was taken over and stays for a while. */
bool helper_keep(struct peer *p);
/* What was kept goes. */
void helper_give_up(struct peer *p);
void helper_set(struct peer *p, bool wanted);
/* To be called every second or so. */
void helper_check(struct peer *p, struct tick now);
