#include "netlink/link_msg.h"

#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <string.h>
#include <sys/socket.h>

#include "netlink/message.h"
#include "src/base/err.h"

static struct netlink_builder start(void *buf, size_t cap, uint16_t type, unsigned flags, uint32_t seq,
				    struct ifinfomsg **info)
{
	void *body;
	struct netlink_builder b = netlink_message_start(buf, cap, type, flags, seq, sizeof **info, &body);
	*info = body;
	return b;
}

/* Statistics are most of a link's message and nobody here reads them. */
static void skip_stats(struct netlink_builder *b)
{
	netlink_put_u32(b, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
}

size_t netlink_link_get_by_name(void *buf, size_t cap, uint32_t seq, const char *name)
{
	struct ifinfomsg *info;
	struct netlink_builder b = start(buf, cap, RTM_GETLINK, 0, seq, &info);
	netlink_put_text(&b, IFLA_IFNAME, name);
	skip_stats(&b);
	return netlink_message_end(&b);
}

size_t netlink_link_get_by_index(void *buf, size_t cap, uint32_t seq, uint32_t ifindex)
{
	struct ifinfomsg *info;
	struct netlink_builder b = start(buf, cap, RTM_GETLINK, 0, seq, &info);
	if (info)
		info->ifi_index = (int)ifindex;
	skip_stats(&b);
	return netlink_message_end(&b);
}

size_t netlink_link_dump_request(void *buf, size_t cap, uint32_t seq)
{
	struct ifinfomsg *info;
	struct netlink_builder b = start(buf, cap, RTM_GETLINK, NLM_F_DUMP, seq, &info);
	skip_stats(&b);
	return netlink_message_end(&b);
}

static void put_end(struct netlink_builder *b, const char *name, const uint8_t *mac, uint32_t mtu)
{
	netlink_put_text(b, IFLA_IFNAME, name);
	netlink_put(b, IFLA_ADDRESS, mac, LINK_MAC_LEN);
	if (mtu)
		netlink_put_u32(b, IFLA_MTU, mtu);
}

size_t netlink_link_add_veth(void *buf, size_t cap, uint32_t seq, const struct netlink_veth *v)
{
	struct ifinfomsg *info;
	struct netlink_builder b = start(buf, cap, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, seq, &info);
	put_end(&b, v->name, v->mac, v->mtu);
	struct nlattr *linkinfo = netlink_nest_open(&b, IFLA_LINKINFO);
	netlink_put(&b, IFLA_INFO_KIND, "veth", strlen("veth"));
	struct nlattr *data = netlink_nest_open(&b, IFLA_INFO_DATA);
	struct nlattr *peer = netlink_nest_open(&b, VETH_INFO_PEER);
	netlink_put_raw(&b, sizeof(struct ifinfomsg));
	put_end(&b, v->peer_name, v->peer_mac, v->mtu);
	netlink_put_u32(&b, IFLA_NET_NS_FD, (uint32_t)v->peer_netns);
	netlink_nest_close(&b, peer);
	netlink_nest_close(&b, data);
	netlink_nest_close(&b, linkinfo);
	return netlink_message_end(&b);
}

size_t netlink_link_up(void *buf, size_t cap, uint32_t seq, uint32_t ifindex, const char *alias)
{
	struct ifinfomsg *info;
	struct netlink_builder b = start(buf, cap, RTM_NEWLINK, 0, seq, &info);
	if (!info)
		return 0;
	info->ifi_index = (int)ifindex;
	info->ifi_flags = IFF_UP;
	info->ifi_change = IFF_UP;
	if (alias)
		netlink_put(&b, IFLA_IFALIAS, alias, strlen(alias));
	return netlink_message_end(&b);
}

size_t netlink_link_enslave(void *buf, size_t cap, uint32_t seq, uint32_t ifindex, uint32_t master)
{
	struct ifinfomsg *info;
	struct netlink_builder b = start(buf, cap, RTM_NEWLINK, 0, seq, &info);
	if (info)
		info->ifi_index = (int)ifindex;
	netlink_put_u32(&b, IFLA_MASTER, master);
	return netlink_message_end(&b);
}

size_t netlink_link_delete(void *buf, size_t cap, uint32_t seq, uint32_t ifindex)
{
	struct ifinfomsg *info;
	struct netlink_builder b = start(buf, cap, RTM_DELLINK, 0, seq, &info);
	if (info)
		info->ifi_index = (int)ifindex;
	return netlink_message_end(&b);
}

static void decode_info(const struct nlattr *info, struct netlink_link *out)
{
	const struct nlattr *at[IFLA_INFO_DATA + 1], *data[IFLA_VRF_TABLE + 1];
	netlink_attrs_of(mnl_attr_get_payload(info), mnl_attr_get_payload_len(info), at, IFLA_INFO_DATA);
	netlink_get_text(at[IFLA_INFO_KIND], out->kind, sizeof out->kind);
	if (strcmp(out->kind, "vrf") != 0 || !at[IFLA_INFO_DATA])
		return;
	netlink_attrs_of(mnl_attr_get_payload(at[IFLA_INFO_DATA]), mnl_attr_get_payload_len(at[IFLA_INFO_DATA]), data, IFLA_VRF_TABLE);
	netlink_get_u32(data[IFLA_VRF_TABLE], &out->vrf_table);
}

int netlink_link_decode(const struct nlmsghdr *h, struct netlink_link *out, bool *deleted)
{
	const struct ifinfomsg *info = netlink_message_body(h, sizeof *info);
	const struct nlattr *at[IFLA_IFALIAS + 1];
	if (!info || (h->nlmsg_type != RTM_NEWLINK && h->nlmsg_type != RTM_DELLINK))
		return ERR_CORRUPT;
	if (info->ifi_family != AF_UNSPEC) /* a bridge's words about its port: deleted, it has left the bridge and nothing else */
		return ERR_UNSUPPORTED;
	netlink_attrs(h, sizeof *info, at, IFLA_IFALIAS);
	memset(out, 0, sizeof *out);
	*deleted = h->nlmsg_type == RTM_DELLINK;
	out->ifindex = (uint32_t)info->ifi_index;
	out->flags = info->ifi_flags;
	netlink_get_u32(at[IFLA_MTU], &out->mtu);
	netlink_get_text(at[IFLA_IFNAME], out->name, sizeof out->name);
	netlink_get_text(at[IFLA_IFALIAS], out->alias, sizeof out->alias);
	if (at[IFLA_ADDRESS] && mnl_attr_get_payload_len(at[IFLA_ADDRESS]) == LINK_MAC_LEN)
		memcpy(out->mac, mnl_attr_get_payload(at[IFLA_ADDRESS]), LINK_MAC_LEN);
	netlink_get_u32(at[IFLA_MASTER], &out->master);
	if (at[IFLA_LINKINFO])
		decode_info(at[IFLA_LINKINFO], out);
	return out->ifindex ? 0 : ERR_CORRUPT;
}
