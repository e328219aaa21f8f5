#include "netlink/addr_msg.h"

#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "netlink/message.h"
#include "src/base/err.h"

size_t netlink_addr_add(void *buf, size_t cap, uint32_t seq, uint32_t ifindex, const struct addr *a)
{
	void *body;
	struct netlink_builder b = netlink_message_start(buf, cap, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, seq,
							 sizeof(struct ifaddrmsg), &body);
	struct ifaddrmsg *ifa = body;
	if (!ifa)
		return 0;
	ifa->ifa_family = netlink_family(a);
	ifa->ifa_prefixlen = addr_is_v4(a) ? 32 : 128;
	ifa->ifa_index = ifindex;
	ifa->ifa_scope = RT_SCOPE_UNIVERSE;
	netlink_put_addr(&b, IFA_LOCAL, a);
	netlink_put_addr(&b, IFA_ADDRESS, a);
	if (!addr_is_v4(a))
		netlink_put_u32(&b, IFA_FLAGS, IFA_F_NODAD | IFA_F_PERMANENT);
	return netlink_message_end(&b);
}

size_t netlink_addr_dump_request(void *buf, size_t cap, uint32_t seq, int family, uint32_t ifindex)
{
	void *body;
	struct netlink_builder b =
		netlink_message_start(buf, cap, RTM_GETADDR, NLM_F_DUMP, seq, sizeof(struct ifaddrmsg), &body);
	struct ifaddrmsg *ifa = body;
	if (!ifa)
		return 0;
	ifa->ifa_family = (uint8_t)family;
	ifa->ifa_index = ifindex;
	return netlink_message_end(&b);
}

int netlink_addr_decode(const struct nlmsghdr *h, struct netlink_addr *out, bool *deleted)
{
	const struct ifaddrmsg *ifa = netlink_message_body(h, sizeof *ifa);
	const struct nlattr *at[IFA_FLAGS + 1];
	if (!ifa || (h->nlmsg_type != RTM_NEWADDR && h->nlmsg_type != RTM_DELADDR))
		return ERR_CORRUPT;
	if (ifa->ifa_family != AF_INET && ifa->ifa_family != AF_INET6)
		return ERR_UNSUPPORTED;
	netlink_attrs(h, sizeof *ifa, at, IFA_FLAGS);
	memset(out, 0, sizeof *out);
	*deleted = h->nlmsg_type == RTM_DELADDR;
	out->plen = ifa->ifa_prefixlen;
	out->ifindex = ifa->ifa_index;
	out->scope = ifa->ifa_scope;
	out->flags = ifa->ifa_flags;
	netlink_get_u32(at[IFA_FLAGS], &out->flags);
	/* on a point-to-point link IFA_ADDRESS is the other end; IPv6 gives IFA_LOCAL only there */
	const struct nlattr *own = at[IFA_LOCAL] ? at[IFA_LOCAL] : at[IFA_ADDRESS];
	if (out->plen > (ifa->ifa_family == AF_INET ? 32 : 128))
		return ERR_CORRUPT;
	return netlink_get_addr(own, ifa->ifa_family, &out->addr) ? 0 : ERR_CORRUPT;
}

static struct netlink_builder neigh_start(void *buf, size_t cap, uint16_t type, unsigned flags, uint32_t seq,
					  uint32_t ifindex, const struct addr *a)
{
	void *body;
	struct netlink_builder b = netlink_message_start(buf, cap, type, flags, seq, sizeof(struct ndmsg), &body);
	struct ndmsg *nd = body;
	if (!nd)
		return b;
	nd->ndm_family = netlink_family(a);
	nd->ndm_ifindex = (int)ifindex;
	if (type == RTM_NEWNEIGH)
		nd->ndm_state = NUD_PERMANENT;
	netlink_put_addr(&b, NDA_DST, a);
	return b;
}

size_t netlink_neigh_set(void *buf, size_t cap, uint32_t seq, uint32_t ifindex, const struct addr *a,
			 const uint8_t mac[6])
{
	struct netlink_builder b =
		neigh_start(buf, cap, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, seq, ifindex, a);
	netlink_put(&b, NDA_LLADDR, mac, 6);
	return netlink_message_end(&b);
}

size_t netlink_neigh_delete(void *buf, size_t cap, uint32_t seq, uint32_t ifindex, const struct addr *a)
{
	struct netlink_builder b = neigh_start(buf, cap, RTM_DELNEIGH, 0, seq, ifindex, a);
	return netlink_message_end(&b);
}

size_t netlink_neigh_get(void *buf, size_t cap, uint32_t seq, uint32_t ifindex, const struct addr *a)
{
	struct netlink_builder b = neigh_start(buf, cap, RTM_GETNEIGH, 0, seq, ifindex, a);
	return netlink_message_end(&b);
}

size_t netlink_neigh_dump_request(void *buf, size_t cap, uint32_t seq)
{
	void *body;
	struct netlink_builder b = netlink_message_start(buf, cap, RTM_GETNEIGH, NLM_F_DUMP, seq, sizeof(struct ndmsg), &body);
	return netlink_message_end(&b);
}

int netlink_neigh_decode(const struct nlmsghdr *h, struct netlink_neigh *out, bool *deleted)
{
	const struct ndmsg *nd = netlink_message_body(h, sizeof *nd);
	const struct nlattr *at[NDA_LLADDR + 1];
	if (!nd || (h->nlmsg_type != RTM_NEWNEIGH && h->nlmsg_type != RTM_DELNEIGH))
		return ERR_CORRUPT;
	if (nd->ndm_family != AF_INET && nd->ndm_family != AF_INET6)
		return ERR_UNSUPPORTED;
	netlink_attrs(h, sizeof *nd, at, NDA_LLADDR);
	memset(out, 0, sizeof *out);
	*deleted = h->nlmsg_type == RTM_DELNEIGH;
	out->ifindex = (uint32_t)nd->ndm_ifindex;
	out->state = nd->ndm_state;
	out->has_mac = at[NDA_LLADDR] && mnl_attr_get_payload_len(at[NDA_LLADDR]) == sizeof out->mac;
	if (out->has_mac)
		memcpy(out->mac, mnl_attr_get_payload(at[NDA_LLADDR]), sizeof out->mac);
	return netlink_get_addr(at[NDA_DST], nd->ndm_family, &out->addr) ? 0 : ERR_CORRUPT;
}
