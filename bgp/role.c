#include "bgp/role.h"

#include <stddef.h>

/* Where the peer stands, seen from us. */
enum place { NOWHERE, ABOVE, BESIDE, BELOW };

static const struct {
	const char *name;
	enum bgp_role partner;
	enum place peer;
} roles[] = {
	[BGP_ROLE_NONE] = {"none", BGP_ROLE_NONE, NOWHERE},
	[BGP_ROLE_PROVIDER] = {"provider", BGP_ROLE_CUSTOMER, BELOW},
	[BGP_ROLE_RS_SERVER] = {"rs-server", BGP_ROLE_RS_CLIENT, BELOW},
	[BGP_ROLE_RS_CLIENT] = {"rs-client", BGP_ROLE_RS_SERVER, ABOVE},
	[BGP_ROLE_CUSTOMER] = {"customer", BGP_ROLE_PROVIDER, ABOVE},
	[BGP_ROLE_PEER] = {"peer", BGP_ROLE_PEER, BESIDE},
	[BGP_ROLE_UNKNOWN] = {"unknown", BGP_ROLE_NONE, NOWHERE},
};

enum bgp_role bgp_role_of_wire(uint8_t wire)
{
	return wire + 1u < BGP_ROLE_UNKNOWN ? (enum bgp_role)(wire + 1) : BGP_ROLE_UNKNOWN;
}

uint8_t bgp_role_wire(enum bgp_role r)
{
	return (uint8_t)(r - 1);
}

const char *bgp_role_name(enum bgp_role r)
{
	return roles[r].name;
}

enum bgp_role bgp_role_partner(enum bgp_role ours)
{
	return roles[ours].partner;
}

bool bgp_otc_is_leak(enum bgp_role ours, uint32_t otc, uint32_t peer_asn)
{
	enum place peer = roles[ours].peer;
	return otc && (peer == BELOW || (peer == BESIDE && otc != peer_asn));
}

uint32_t bgp_otc_on_import(enum bgp_role ours, uint32_t peer_asn)
{
	enum place peer = roles[ours].peer;
	return peer == ABOVE || peer == BESIDE ? peer_asn : 0;
}

uint32_t bgp_otc_on_export(enum bgp_role ours, uint32_t local_asn)
{
	enum place peer = roles[ours].peer;
	return peer == BELOW || peer == BESIDE ? local_asn : 0;
}

bool bgp_otc_keeps_back(enum bgp_role ours)
{
	enum place peer = roles[ours].peer;
	return peer == ABOVE || peer == BESIDE;
}
