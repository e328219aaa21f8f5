/* The OPEN message and its capabilities. RFC 4271 section 4.2, RFC 5492 (capabilities), RFC 4760
 * (multiprotocol), RFC 6793 (4-byte AS), RFC 4724 (graceful restart), RFC 2918, RFC 7911 (add-path), RFC 8654,
 * RFC 8950 (IPv6 next hops), RFC 9234 (roles), RFC 9072 (long parameters, decoding only).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bgp/fault.h"
#include "bgp/role.h"

enum bgp_family { BGP_IPV4_UNICAST, BGP_IPV6_UNICAST, BGP_FAMILIES };

/* RFC 7911: can receive several paths to a prefix, can send them. */
enum bgp_add_path { BGP_ADD_PATH_RECEIVE = 1, BGP_ADD_PATH_SEND = 2 };

enum { BGP_AS_TRANS = 23456, BGP_CAPABILITY_CODES = 256 };

/* False for a pair that we do not know. */
bool bgp_family_of(uint16_t afi, uint8_t safi, enum bgp_family *out);
uint16_t bgp_family_afi(enum bgp_family f);
const char *bgp_family_name(enum bgp_family f);

struct bgp_open {
	uint8_t version;
	uint32_t asn;       /* the 4-byte one where the capability is there */
	uint16_t hold_time_s;
	uint32_t router_id; /* host order */
	bool families[BGP_FAMILIES]; /* multiprotocol capability */
	bool multiprotocol;          /* any multiprotocol capability at all */
	bool as4, refresh, extended; /* 4-byte AS; ROUTE-REFRESH; messages above 4096 bytes */
	bool v6_next_hop;            /* IPv4 unicast may come with an IPv6 next hop */
	bool enhanced;               /* a refresh has a beginning and an end (RFC 7313) */
	enum bgp_role role;          /* BGP_ROLE_NONE: not said */
	bool roles_differ;           /* said more than once, and not the same */
	uint8_t add_path[BGP_FAMILIES]; /* enum bgp_add_path bits */
	struct {
		bool present, restarting;
		uint16_t time_s; /* 12 bits */
		bool families[BGP_FAMILIES], kept[BGP_FAMILIES];
	} restart;
	uint8_t seen[BGP_CAPABILITY_CODES / 8]; /* capability codes in the message, a bit each */
};

/* Decodes a body. On a fault (reaction BGP_RESET) *out holds what was read so far. What is
 * expected of the peer (AS, identifier) is the session's to check. */
void bgp_open_decode(const uint8_t *body, size_t len, struct bgp_open *out, struct bgp_fault *fault);
/* Whole message; 0 where cap is too small. */
size_t bgp_open_encode(uint8_t *out, size_t cap, const struct bgp_open *open);
/* "4-byte AS, IPv4 unicast, graceful restart, 70" of the codes seen. */
const char *bgp_open_capabilities_text(const struct bgp_open *open, char *buf, size_t cap);
