/* The UPDATE message: what it announces and withdraws, and building packed ones. RFC 4271 section
 * 4.3 and 6.3, RFC 4760, RFC 7606; End-of-RIB of RFC 4724 section 2; path identifiers of
 * RFC 7911.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bgp/attr.h"
#include "bgp/fault.h"
#include "bgp/open.h"

/* A field of prefixes that has been checked; bgp_nlri_next() walks it. */
struct bgp_nlri {
	struct cursor bytes;
	enum bgp_family family;
	bool add_path;    /* each has an identifier before it */
	uint32_t path_id; /* of the prefix that was read last; 0 without add_path */
};
/* The next prefix, host bits masked. Prefixes that may not be routed (multicast, loopback: RFC 4271
 * section 6.3) are passed over and counted in *skipped (may be NULL). False at the end. */
bool bgp_nlri_next(struct bgp_nlri *n, struct prefix *out, unsigned *skipped);

enum { BGP_UPDATE_PARTS = 2 }; /* the classic IPv4 fields, and the MP attributes */

struct bgp_update {
	struct bgp_fault fault; /* BGP_RESET: nothing else counts. BGP_WITHDRAW: announced is to be withdrawn */
	struct {
		struct bgp_nlri withdrawn, announced;
		struct bgp_attrs *attrs; /* owned by the caller; NULL with fault BGP_WITHDRAW or nothing announced */
	} part[BGP_UPDATE_PARTS];
	bool end_of_rib;
	enum bgp_family end_of_rib_family;
	bool foreign_family; /* held NLRI of a family that was not negotiated: ignored */
};

struct bgp_update_context {
	struct bgp_attr_table *attrs;
	bool ibgp, as4;
	uint32_t peer_asn;            /* eBGP: the path must begin with it, */
	bool route_server;            /* but where the peer is one, which leaves paths as they are (RFC 7947 section 2.2.2) */
	bool families[BGP_FAMILIES];  /* negotiated */
	bool add_path[BGP_FAMILIES];  /* negotiated for what comes: prefixes have path identifiers */
	bool v6_next_hop;             /* negotiated: IPv4 routes with IPv6 next hops (RFC 8950) */
	bool on_link;                 /* between link-local addresses: theirs is the next hop that surely can be reached */
};

void bgp_update_decode(const struct bgp_update_context *ctx, const uint8_t *body, size_t len, struct bgp_update *out);
void bgp_update_fini(struct bgp_update *u); /* drops the references */

enum bgp_family bgp_family_of_prefix(const struct prefix *p);

/* What a message is about: prefixes of family, each with an identifier where path_ids is not NULL, which says that the
 * session has them. Borrowed. */
struct bgp_routes {
	enum bgp_family family;
	size_t count;
	const struct prefix *prefixes;
	const uint32_t *path_ids;
};
struct bgp_routes bgp_routes_after(const struct bgp_routes *r, size_t used); /* without the first ones */

/* Builders. Each writes one message with as many of the routes as fit and sets *used to their number; returns its length
 * (0: not even one fits). words are what bgp_attrs_export() made for their family. */
size_t bgp_update_encode_announce(uint8_t *out, size_t cap, const struct bgp_words *words, const struct bgp_routes *routes,
				  size_t *used);
size_t bgp_update_encode_withdraw(uint8_t *out, size_t cap, const struct bgp_routes *routes, size_t *used);
size_t bgp_update_encode_end_of_rib(uint8_t *out, size_t cap, enum bgp_family family);
