/* Who two speakers are to each other, and what follows for routes that must not leak: BGP roles and the attribute
 * ONLY_TO_CUSTOMER (OTC). A route that went down or sideways once may only go further down. RFC 9234.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* What one side is; in the capability these are 0 to 4. */
enum bgp_role {
	BGP_ROLE_NONE, /* not said */
	BGP_ROLE_PROVIDER,
	BGP_ROLE_RS_SERVER,
	BGP_ROLE_RS_CLIENT,
	BGP_ROLE_CUSTOMER,
	BGP_ROLE_PEER,
	BGP_ROLE_UNKNOWN, /* a number that has no meaning yet: fits no role */
};

enum bgp_role bgp_role_of_wire(uint8_t wire);
uint8_t bgp_role_wire(enum bgp_role r);
/* "provider", as in the configuration. */
const char *bgp_role_name(enum bgp_role r);
/* What the other side must be. */
enum bgp_role bgp_role_partner(enum bgp_role ours);

/* In all of these ours is our own role, BGP_ROLE_NONE: nothing happens; otc is a route's attribute, 0: it has none. */

/* A route that the peer may not send us: it has leaked (section 5, ingress 1 and 2). */
bool bgp_otc_is_leak(enum bgp_role ours, uint32_t otc, uint32_t peer_asn);
/* The OTC that a route from the peer gets when it has none; 0: it stays without. */
uint32_t bgp_otc_on_import(enum bgp_role ours, uint32_t peer_asn);
/* The OTC that a route to the peer gets when it has none; 0: it stays without. */
uint32_t bgp_otc_on_export(enum bgp_role ours, uint32_t local_asn);
/* Is the peer one that gets no route with an OTC? */
bool bgp_otc_keeps_back(enum bgp_role ours);
