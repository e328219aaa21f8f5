/* Finding the other end of an unnumbered peer's link. On the interface of each such peer we advertise ourselves as a
 * router (every 10 s, and when asked) and listen for the router there; the first that is heard becomes the peer's address. The
 * interface is known by its name: it may be missing, and one that is made anew under the name is followed. What the messages
 * are and who is believed is router_advert.h's.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/daemon/router_advert.h"

struct daemon;
struct peer;
struct router_adverts;

/* A part of struct peer. */
struct peer_link {
	char *interface;   /* owned; NULL: the peer is found by its address alone */
	bool unnumbered;   /* its address is learned, and forgotten */
	uint32_t ifindex;  /* of an unnumbered one's interface, as it was last seen; 0: there is none */
	struct ra_link other_end;
	struct tick advertise_at, advertised_at;
	int error;         /* -errno of our last advertisement */
	struct addr reported; /* the second router that the log was told of */
};

struct router_adverts *router_adverts_new(struct daemon *d);
void router_adverts_free(struct router_adverts *r); /* NULL is fine */
/* Peers came or went. */
void router_adverts_update(struct router_adverts *r);
/* p goes: nothing is said or heard for it any more. */
void router_adverts_forget(struct router_adverts *r, struct peer *p);
/* The link to an unnumbered peer lost its carrier, or has it again: who is at its other end is an open question. */
void router_adverts_link_changed(struct router_adverts *r, struct peer *p, bool up);
/* Somebody on p's link opened a connection to us. True: it is the peer, as far as we know. */
bool router_adverts_connection(struct router_adverts *r, struct peer *p, const struct addr *from);
/* Why the address of an unnumbered peer is not known, into buf. */
const char *router_adverts_explain(const struct router_adverts *r, const struct peer *p, char *buf, size_t cap);
