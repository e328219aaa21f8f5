#include "src/daemon/own_next_hops_io.h"

#include <net/if.h>

#include "bgp/update.h"
#include "src/base/log_io.h"
#include "src/daemon/daemon.h"
#include "src/daemon/local_link_io.h"
#include "src/daemon/peer_io.h"

static bool has_own_cidr(const struct conf *c, enum bgp_family family)
{
	for (size_t i = 0; c && i < c->pods.cidrs.count; i++)
		if (bgp_family_of_prefix(&c->pods.cidrs.at[i]) == family)
			return true;
	return false;
}

static void fall_back(struct peer *p, const struct addr *a)
{
	struct addr *nh = &p->local_next_hop[addr_is_v4(a) ? BGP_IPV4_UNICAST : BGP_IPV6_UNICAST];
	if (addr_is_zero(nh))
		*nh = *a;
}

/* Between link-local addresses: only these can surely be reached, whatever else the interface has. Without RFC 8950 its
 * IPv4 address must do. */
static void offer_on_link(struct peer *p, const struct local_link *link)
{
	p->local_next_hop[BGP_IPV6_UNICAST] = p->local_address;
	p->local_link_local = p->local_address;
	if (p->session.v6_next_hop)
		p->local_next_hop[BGP_IPV4_UNICAST] = p->local_address;
	else
		p->local_next_hop[BGP_IPV4_UNICAST] = link->v4;
}

/* Our end of the connection for its own family; for the other one, and for the link-local address that goes with IPv6,
 * what the same interface has. IPv4 may go by IPv6 where it has no address. */
static void offer_by_family(struct peer *p, const struct local_link *link)
{
	bool v4 = addr_is_v4(&p->local_address);
	p->local_link_local = link->link_local;
	p->local_next_hop[BGP_IPV4_UNICAST] = v4 ? p->local_address : link->v4;
	p->local_next_hop[BGP_IPV6_UNICAST] = v4 ? addr_is_zero(&link->v6) ? link->link_local : link->v6 : p->local_address;
	if (p->session.v6_next_hop && addr_is_zero(&p->local_next_hop[BGP_IPV4_UNICAST]))
		p->local_next_hop[BGP_IPV4_UNICAST] = p->local_next_hop[BGP_IPV6_UNICAST];
}

void own_next_hops_learn(struct peer *p)
{
	const struct conf *c = p->daemon->conf;
	bool on_link = !addr_is_v4(&p->local_address) && addr_is_link_local(&p->local_address);
	struct local_link link;
	/* one address may be on several devices: the peer's own comes first */
	uint32_t on = p->link.interface ? if_nametoindex(p->link.interface) : local_link_on(p->transport.device, &p->local_address);
	local_link_of(&p->local_address, on, &link);
	p->ifindex = link.ifindex;
	if (on_link)
		offer_on_link(p, &link);
	else
		offer_by_family(p, &link);
	for (size_t i = 0; c && i < c->node.address_count; i++)
		fall_back(p, &c->node.addresses[i]);
	for (unsigned f = 0; f < BGP_FAMILIES; f++)
		if (p->families[f] && addr_is_zero(&p->local_next_hop[f]) && has_own_cidr(c, (enum bgp_family)f))
			log_warn(p->subject, "nothing is announced for %s: the interface has no address of that family (give it one, "
				 "or set node.addresses)", bgp_family_name((enum bgp_family)f));
}
