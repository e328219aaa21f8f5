/* netlink/: what is encoded decodes to the same, hostile bytes are never read past their end, and the
 * socket asks the kernel about the loopback device.
 */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "netlink/addr_msg.h"
#include "netlink/link_msg.h"
#include "netlink/message.h"
#include "netlink/route_msg.h"
#include "netlink/socket_io.h"
#include "src/base/err.h"
#include "tests/unit/run_suite.h"

union buffer {
	struct nlmsghdr h;
	char bytes[NETLINK_ROUTE_MESSAGE_MAX];
};

static struct addr ip(const char *text)
{
	struct addr a;
	ck_assert_msg(addr_parse(text, &a), "%s", text);
	return a;
}

static struct prefix cidr(const char *text)
{
	struct prefix p;
	ck_assert_int_eq(prefix_parse(text, &p), PREFIX_OK);
	return p;
}

static struct route route_to(const char *text)
{
	return (struct route){.prefix = cidr(text), .mark = {.table = 254, .metric = 32, .protocol = 171}};
}

static void add_hop(struct route *r, const char *gateway, uint32_t ifindex, uint16_t weight)
{
	r->nexthops[r->nexthop_count++] = (struct route_nexthop){.gateway = ip(gateway), .ifindex = ifindex,
								 .weight = weight};
}

static void check_same(const struct route *a, const struct route *b)
{
	ck_assert(prefix_eq(&a->prefix, &b->prefix));
	ck_assert_int_eq(a->type, b->type);
	ck_assert_uint_eq(a->mark.table, b->mark.table);
	ck_assert_uint_eq(a->mark.metric, b->mark.metric);
	ck_assert_uint_eq(a->mark.protocol, b->mark.protocol);
	ck_assert_uint_eq(a->nexthop_count, b->nexthop_count);
	for (unsigned i = 0; i < a->nexthop_count; i++) {
		ck_assert(addr_eq(&a->nexthops[i].gateway, &b->nexthops[i].gateway));
		ck_assert_uint_eq(a->nexthops[i].ifindex, b->nexthops[i].ifindex);
		ck_assert_uint_eq(a->nexthops[i].weight, b->nexthops[i].weight);
	}
}

static void check_round(const struct route *r)
{
	union buffer m;
	struct route back;
	bool deleted = true;
	size_t len = netlink_route_encode(&m, sizeof m, NETLINK_ROUTE_REPLACE, 7, r);
	ck_assert_uint_gt(len, 0);
	ck_assert_uint_eq(len, m.h.nlmsg_len);
	ck_assert_uint_eq(m.h.nlmsg_seq, 7);
	ck_assert_int_eq(netlink_route_decode(&m.h, &back, &deleted), 0);
	ck_assert(!deleted);
	check_same(r, &back);
	/* one byte less is not enough room, and nothing beyond cap is written */
	for (size_t cap = 0; cap < len; cap++) {
		memset(m.bytes, 0x5a, sizeof m.bytes);
		ck_assert_uint_eq(netlink_route_encode(&m, cap, NETLINK_ROUTE_REPLACE, 7, r), 0);
		size_t i = cap;
		while (i < len && m.bytes[i] == 0x5a)
			i++;
		ck_assert_uint_eq(i, len);
	}
}

START_TEST(routes_go_round)
{
	struct route r = route_to("10.244.8.0/24");
	add_hop(&r, "10.0.7.254", 3, 1);
	check_round(&r);
	add_hop(&r, "10.1.7.254", 4, 7);
	check_round(&r);
	r = route_to("0.0.0.0/0");
	add_hop(&r, "0.0.0.0", 9, 1);
	check_round(&r);
	r = route_to("fd10:244:8::/64");
	add_hop(&r, "fe80::1", 3, 1);
	add_hop(&r, "fe80::2", 4, 256);
	check_round(&r);
	r = route_to("::/0");
	add_hop(&r, "fd00::1", 0, 1);
	check_round(&r);
	r = route_to("10.244.7.0/24");
	r.type = ROUTE_BLACKHOLE;
	check_round(&r);
	r.mark.table = 100000; /* does not fit the header's byte */
	check_round(&r);
}
END_TEST

START_TEST(ipv4_goes_through_ipv6)
{
	struct route r = route_to("10.244.8.0/24");
	add_hop(&r, "fe80::1", 3, 1);
	check_round(&r);
	add_hop(&r, "fe80::2", 4, 1);
	check_round(&r);
}
END_TEST

START_TEST(most_next_hops_fit)
{
	struct route r = route_to("fd10::/64");
	for (uint32_t i = 0; i < ROUTE_NEXTHOPS_MAX; i++)
		add_hop(&r, "fe80::1", i + 1, 1);
	check_round(&r);
}
END_TEST

START_TEST(impossible_routes_do_not_encode)
{
	union buffer m;
	struct route r = route_to("10.244.8.0/24");
	ck_assert_uint_eq(netlink_route_encode(&m, sizeof m, NETLINK_ROUTE_ADD, 0, &r), 0);
	add_hop(&r, "0.0.0.0", 0, 1);
	ck_assert_uint_eq(netlink_route_encode(&m, sizeof m, NETLINK_ROUTE_ADD, 0, &r), 0);
	/* deleting needs no next hop */
	r.nexthop_count = 0;
	ck_assert_uint_gt(netlink_route_encode(&m, sizeof m, NETLINK_ROUTE_DELETE, 0, &r), 0);
	ck_assert_uint_eq(m.h.nlmsg_type, RTM_DELROUTE);
}
END_TEST

START_TEST(flags_and_scope_say_what_is_meant)
{
	union buffer m;
	const struct rtmsg *rt = (const void *)(m.bytes + sizeof m.h);
	struct route r = route_to("10.244.7.9/32");
	add_hop(&r, "0.0.0.0", 5, 1);
	netlink_route_encode(&m, sizeof m, NETLINK_ROUTE_ADD, 0, &r);
	ck_assert_uint_eq(m.h.nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
	ck_assert_uint_eq(rt->rtm_scope, RT_SCOPE_LINK);
	ck_assert_uint_eq(rt->rtm_protocol, 171);
	netlink_route_encode(&m, sizeof m, NETLINK_ROUTE_REPLACE, 0, &r);
	ck_assert_uint_eq(m.h.nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE);
	netlink_route_encode(&m, sizeof m, NETLINK_ROUTE_DELETE, 0, &r);
	ck_assert_uint_eq(m.h.nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK);
	ck_assert_uint_eq(rt->rtm_scope, RT_SCOPE_NOWHERE);
}
END_TEST

START_TEST(routes_we_do_not_model_are_told_apart)
{
	union buffer m;
	struct rtmsg *rt = (void *)(m.bytes + sizeof m.h);
	struct route r = route_to("10.0.0.0/8"), back;
	bool deleted;
	add_hop(&r, "10.0.7.254", 3, 1);
	netlink_route_encode(&m, sizeof m, NETLINK_ROUTE_ADD, 0, &r);
	rt->rtm_flags = RTM_F_CLONED;
	ck_assert_int_eq(netlink_route_decode(&m.h, &back, &deleted), ERR_UNSUPPORTED);
	rt->rtm_flags = 0;
	rt->rtm_type = RTN_LOCAL;
	ck_assert_int_eq(netlink_route_decode(&m.h, &back, &deleted), ERR_UNSUPPORTED);
	rt->rtm_type = RTN_UNICAST;
	rt->rtm_dst_len = 33;
	ck_assert_int_eq(netlink_route_decode(&m.h, &back, &deleted), ERR_CORRUPT);
	rt->rtm_dst_len = 8;
	m.h.nlmsg_type = RTM_NEWLINK;
	ck_assert_int_eq(netlink_route_decode(&m.h, &back, &deleted), ERR_CORRUPT);
	m.h.nlmsg_type = RTM_DELROUTE;
	ck_assert_int_eq(netlink_route_decode(&m.h, &back, &deleted), 0);
	ck_assert(deleted);
}
END_TEST

/* Of a route that others made only what it is known by, whatever its type. */
START_TEST(heads_of_routes_of_any_type)
{
	static const struct {
		unsigned char type;
		int error;
	} types[] = {{RTN_UNICAST, 0},		       {RTN_LOCAL, 0},
		     {RTN_BLACKHOLE, 0},	       {RTN_UNREACHABLE, 0},
		     {RTN_PROHIBIT, 0},		       {RTN_BROADCAST, ERR_UNSUPPORTED},
		     {RTN_MULTICAST, ERR_UNSUPPORTED}, {RTN_ANYCAST, ERR_UNSUPPORTED},
		     {RTN_THROW, ERR_UNSUPPORTED},     {255, ERR_UNSUPPORTED}};
	union buffer m;
	struct rtmsg *rt = (void *)(m.bytes + sizeof m.h);
	struct route r = route_to("10.0.0.0/8"), six = route_to("fd00:1::/64");
	struct netlink_route_head head;
	add_hop(&r, "10.0.7.254", 3, 1);
	netlink_route_encode(&m, sizeof m, NETLINK_ROUTE_REPLACE, 0, &r);
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		rt->rtm_type = types[i].type;
		ck_assert_int_eq(netlink_route_head_decode(&m.h, &head), types[i].error);
	}
	rt->rtm_type = RTN_LOCAL;
	ck_assert_int_eq(netlink_route_head_decode(&m.h, &head), 0);
	ck_assert(prefix_eq(&head.prefix, &r.prefix) && head.replaces && !head.several && !head.deleted);
	ck_assert(head.mark.table == r.mark.table && head.mark.metric == r.mark.metric && head.mark.protocol == r.mark.protocol);
	m.h.nlmsg_flags = NLM_F_CREATE | NLM_F_APPEND;
	ck_assert_int_eq(netlink_route_head_decode(&m.h, &head), 0);
	ck_assert(head.several && !head.replaces);
	m.h.nlmsg_type = RTM_DELROUTE;
	ck_assert_int_eq(netlink_route_head_decode(&m.h, &head), 0);
	ck_assert(head.deleted && !head.replaces && !head.several);
	rt->rtm_flags = RTM_F_CLONED;
	ck_assert_int_eq(netlink_route_head_decode(&m.h, &head), ERR_UNSUPPORTED);
	add_hop(&six, "fe80::1", 3, 1);
	add_hop(&six, "fe80::2", 3, 1);
	netlink_route_encode(&m, sizeof m, NETLINK_ROUTE_ADD, 0, &six);
	ck_assert_int_eq(netlink_route_head_decode(&m.h, &head), 0);
	ck_assert(head.several); /* the kernel may tell of one next hop of it alone */
}
END_TEST

START_TEST(a_mapped_ipv6_route_is_not_the_ipv4_default)
{
	union buffer m;
	struct route r = route_to("fd00::/96"), back;
	bool deleted;
	add_hop(&r, "fe80::1", 3, 1);
	netlink_route_encode(&m, sizeof m, NETLINK_ROUTE_ADD, 0, &r);
	struct nlattr *dst = (void *)(m.bytes + sizeof m.h + sizeof(struct rtmsg));
	ck_assert_uint_eq(dst->nla_type, RTA_DST);
	struct addr mapped = ip("0.0.0.0");
	memcpy(dst + 1, mapped.b, 16);
	ck_assert_int_eq(netlink_route_decode(&m.h, &back, &deleted), ERR_UNSUPPORTED);
}
END_TEST

START_TEST(requests_carry_their_filters)
{
	union buffer m;
	const struct nlattr *at[RTA_MAX + 1];
	uint32_t table = 0;
	const struct rtmsg *rt = (const void *)(m.bytes + sizeof m.h);
	ck_assert_uint_gt(netlink_route_dump_request(&m, sizeof m, 1, AF_INET6, 1000, 171), 0);
	netlink_attrs(&m.h, sizeof *rt, at, RTA_MAX);
	ck_assert(netlink_get_u32(at[RTA_TABLE], &table));
	ck_assert_uint_eq(table, 1000);
	ck_assert_uint_eq(rt->rtm_protocol, 171);
	ck_assert_uint_eq(rt->rtm_family, AF_INET6);
	ck_assert(m.h.nlmsg_flags & NLM_F_DUMP);
	struct addr a = ip("10.244.8.1"), back;
	ck_assert_uint_gt(netlink_route_match_request(&m, sizeof m, 1, &a, 7), 0);
	netlink_attrs(&m.h, sizeof *rt, at, RTA_MAX);
	ck_assert(netlink_get_addr(at[RTA_DST], AF_INET, &back));
	ck_assert(addr_eq(&a, &back));
	ck_assert_uint_eq(rt->rtm_flags, RTM_F_FIB_MATCH | RTM_F_LOOKUP_TABLE);
	ck_assert(netlink_get_u32(at[RTA_OIF], &table) && table == 7);
	a = ip("fd00::1");
	ck_assert_uint_gt(netlink_route_match_request(&m, sizeof m, 1, &a, 0), 0);
	ck_assert_uint_eq(rt->rtm_flags, RTM_F_FIB_MATCH); /* for IPv6 the kernel refuses the other */
}
END_TEST

/* --- links, addresses, neighbours */

/* As the kernel describes a device of this kind, with its table, and one that belongs to it. */
static struct netlink_link read_link(const char *kind, uint32_t table, uint32_t master)
{
	union buffer m;
	struct netlink_link l;
	struct ifinfomsg *info;
	bool deleted;
	void *body;
	struct netlink_builder b = netlink_message_start(&m, sizeof m, RTM_NEWLINK, 0, 0, sizeof *info, &body);
	info = body;
	info->ifi_index = 5;
	if (master)
		netlink_put_u32(&b, IFLA_MASTER, master);
	struct nlattr *linkinfo = netlink_nest_open(&b, IFLA_LINKINFO);
	netlink_put(&b, IFLA_INFO_KIND, kind, strlen(kind));
	struct nlattr *data = netlink_nest_open(&b, IFLA_INFO_DATA);
	netlink_put_u32(&b, IFLA_VRF_TABLE, table);
	netlink_nest_close(&b, data);
	netlink_nest_close(&b, linkinfo);
	ck_assert_uint_gt(netlink_message_end(&b), 0);
	ck_assert_int_eq(netlink_link_decode(&m.h, &l, &deleted), 0);
	ck_assert(!deleted && l.ifindex == 5);
	return l;
}

START_TEST(a_vrf_tells_its_table)
{
	ck_assert_uint_eq(read_link("vrf", 100, 0).vrf_table, 100);
	ck_assert_uint_eq(read_link("vlan", 100, 0).vrf_table, 0); /* there the number is something else */
	ck_assert_uint_eq(read_link("veth", 0, 12).master, 12);
}
END_TEST

/* Which the kernel says in RTM_DELLINK, though the link is there. */
START_TEST(a_port_that_left_its_bridge_is_not_deleted)
{
	union buffer m;
	struct netlink_link l;
	struct ifinfomsg *info;
	bool deleted;
	void *body;
	struct netlink_builder b = netlink_message_start(&m, sizeof m, RTM_DELLINK, 0, 0, sizeof *info, &body);
	info = body;
	info->ifi_family = AF_BRIDGE;
	info->ifi_index = 5;
	ck_assert_uint_gt(netlink_message_end(&b), 0);
	ck_assert_int_eq(netlink_link_decode(&m.h, &l, &deleted), ERR_UNSUPPORTED);
}
END_TEST

START_TEST(a_veth_is_one_message)
{
	union buffer m;
	struct netlink_veth v = {.name = "ul0123456789a", .peer_name = "eth0", .mac = {2, 0, 0, 0, 0, 1},
				 .peer_mac = {2, 0, 0, 0, 0, 2}, .mtu = 9000, .peer_netns = 42};
	const struct nlattr *at[IFLA_NET_NS_FD + 1], *info[IFLA_INFO_DATA + 1], *peer[VETH_INFO_PEER + 1];
	char text[32];
	uint32_t n;
	ck_assert_uint_gt(netlink_link_add_veth(&m, sizeof m, 3, &v), 0);
	netlink_attrs(&m.h, sizeof(struct ifinfomsg), at, IFLA_NET_NS_FD);
	netlink_get_text(at[IFLA_IFNAME], text, sizeof text);
	ck_assert_str_eq(text, "ul0123456789a");
	ck_assert_mem_eq(mnl_attr_get_payload(at[IFLA_ADDRESS]), v.mac, 6);
	ck_assert(netlink_get_u32(at[IFLA_MTU], &n) && n == 9000);
	ck_assert_ptr_null(at[IFLA_NET_NS_FD]);
	const struct nlattr *linkinfo = at[IFLA_LINKINFO];
	netlink_attrs_of(mnl_attr_get_payload(linkinfo), mnl_attr_get_payload_len(linkinfo), info, IFLA_INFO_DATA);
	netlink_get_text(info[IFLA_INFO_KIND], text, sizeof text);
	ck_assert_str_eq(text, "veth");
	netlink_attrs_of(mnl_attr_get_payload(info[IFLA_INFO_DATA]), mnl_attr_get_payload_len(info[IFLA_INFO_DATA]),
			 peer, VETH_INFO_PEER);
	const char *inner = mnl_attr_get_payload(peer[VETH_INFO_PEER]);
	netlink_attrs_of(inner + sizeof(struct ifinfomsg),
			 mnl_attr_get_payload_len(peer[VETH_INFO_PEER]) - sizeof(struct ifinfomsg), at, IFLA_NET_NS_FD);
	netlink_get_text(at[IFLA_IFNAME], text, sizeof text);
	ck_assert_str_eq(text, "eth0");
	ck_assert_mem_eq(mnl_attr_get_payload(at[IFLA_ADDRESS]), v.peer_mac, 6);
	ck_assert(netlink_get_u32(at[IFLA_MTU], &n) && n == 9000);
	ck_assert(netlink_get_u32(at[IFLA_NET_NS_FD], &n) && n == 42);
	size_t len = m.h.nlmsg_len;
	for (size_t cap = 0; cap < len; cap++)
		ck_assert_uint_eq(netlink_link_add_veth(&m, cap, 3, &v), 0);
}
END_TEST

START_TEST(addresses_and_neighbours_go_round)
{
	static const char *const texts[] = {"10.244.7.9", "fd10:244:7::9"};
	static const uint8_t mac[6] = {2, 1, 2, 3, 4, 5};
	for (int i = 0; i < 2; i++) {
		union buffer m;
		struct netlink_addr a;
		struct netlink_neigh n;
		bool deleted = true;
		struct addr want = ip(texts[i]);
		ck_assert_uint_gt(netlink_addr_add(&m, sizeof m, 0, 7, &want), 0);
		ck_assert_int_eq(netlink_addr_decode(&m.h, &a, &deleted), 0);
		ck_assert(!deleted && a.ifindex == 7 && addr_eq(&a.addr, &want));
		ck_assert_uint_eq(a.plen, i ? 128 : 32);
		ck_assert_uint_eq(a.flags & IFA_F_NODAD, i ? IFA_F_NODAD : 0);
		ck_assert_uint_gt(netlink_neigh_set(&m, sizeof m, 0, 7, &want, mac), 0);
		ck_assert_int_eq(netlink_neigh_decode(&m.h, &n, &deleted), 0);
		ck_assert(!deleted && n.ifindex == 7 && addr_eq(&n.addr, &want) && n.has_mac);
		ck_assert_uint_eq(n.state, NUD_PERMANENT);
		ck_assert_mem_eq(n.mac, mac, 6);
		ck_assert_uint_gt(netlink_neigh_delete(&m, sizeof m, 0, 7, &want), 0);
		ck_assert_int_eq(netlink_neigh_decode(&m.h, &n, &deleted), 0);
		ck_assert(deleted);
	}
}
END_TEST

/* --- hostile bytes: every truncation, and every byte flipped, in memory of exactly that size */

static void decode_all(const struct nlmsghdr *h)
{
	struct route r;
	struct netlink_route_answer answer;
	struct netlink_link l;
	struct netlink_addr a;
	struct netlink_neigh n;
	char text[64];
	bool deleted;
	int error;
	netlink_route_decode(h, &r, &deleted);
	netlink_route_get_decode(h, &answer);
	netlink_link_decode(h, &l, &deleted);
	netlink_addr_decode(h, &a, &deleted);
	netlink_neigh_decode(h, &n, &deleted);
	netlink_ack_decode(h, &error, text, sizeof text);
}

static void torture(const union buffer *m, size_t len)
{
	for (size_t n = sizeof(struct nlmsghdr); n <= len; n++) {
		struct nlmsghdr *h = malloc(n);
		memcpy(h, m, n);
		h->nlmsg_len = (uint32_t)n;
		decode_all(h);
		free(h);
	}
	for (size_t i = sizeof(struct nlmsghdr); i < len; i++) {
		for (unsigned flip = 1; flip < 256; flip <<= 1) {
			struct nlmsghdr *h = malloc(len);
			memcpy(h, m, len);
			((uint8_t *)h)[i] ^= (uint8_t)flip;
			decode_all(h);
			free(h);
		}
	}
}

START_TEST(hostile_bytes_are_only_read)
{
	union buffer m;
	struct route r = route_to("10.244.8.0/24");
	add_hop(&r, "10.0.7.254", 3, 1);
	add_hop(&r, "fe80::1", 4, 1);
	torture(&m, netlink_route_encode(&m, sizeof m, NETLINK_ROUTE_ADD, 0, &r));
	struct netlink_veth v = {.name = "a", .peer_name = "b"};
	torture(&m, netlink_link_add_veth(&m, sizeof m, 0, &v));
	struct addr a = ip("fd00::1");
	torture(&m, netlink_addr_add(&m, sizeof m, 0, 1, &a));
	torture(&m, netlink_neigh_set(&m, sizeof m, 0, 1, &a, (const uint8_t[6]){2}));
}
END_TEST

START_TEST(too_many_next_hops_are_not_cut_silently)
{
	_Alignas(8) char bytes[NETLINK_ROUTE_MESSAGE_MAX + 256];
	struct route r = route_to("fd10::/64"), back;
	bool deleted;
	for (uint32_t i = 0; i < ROUTE_NEXTHOPS_MAX; i++)
		add_hop(&r, "fe80::1", i + 1, 1);
	size_t len = netlink_route_encode(bytes, sizeof bytes, NETLINK_ROUTE_ADD, 0, &r);
	ck_assert_uint_gt(len, 0);
	/* the multipath attribute is the last: its last next hop once more */
	struct nlmsghdr *h = (void *)bytes;
	struct nlattr *at = (void *)(bytes + sizeof *h + sizeof(struct rtmsg));
	while (at->nla_type != RTA_MULTIPATH)
		at = (void *)((char *)at + ((at->nla_len + 3u) & ~3u));
	size_t hop = sizeof(struct rtnexthop) + 20;
	memcpy(bytes + len, bytes + len - hop, hop);
	at->nla_len = (uint16_t)(at->nla_len + hop);
	h->nlmsg_len += (uint32_t)hop;
	ck_assert_int_eq(netlink_route_decode(h, &back, &deleted), ERR_UNSUPPORTED);
}
END_TEST

START_TEST(acknowledgements_carry_the_kernels_words)
{
	union buffer m = {.h = {0}};
	static const char words[] = "Nexthop has invalid gateway";
	struct nlmsghdr *h = mnl_nlmsg_put_header(&m);
	struct nlmsgerr *e = mnl_nlmsg_put_extra_header(h, sizeof *e);
	char text[64];
	int error = 1;
	h->nlmsg_type = NLMSG_ERROR;
	h->nlmsg_flags = NLM_F_CAPPED | NLM_F_ACK_TLVS;
	e->error = -ENETUNREACH;
	mnl_attr_put(h, NLMSGERR_ATTR_MSG, sizeof words, words);
	ck_assert_int_eq(netlink_ack_decode(h, &error, text, sizeof text), 0);
	ck_assert_int_eq(error, -ENETUNREACH);
	ck_assert_str_eq(text, words);
	ck_assert_int_eq(netlink_ack_decode(h, &error, text, 8), 0);
	ck_assert_str_eq(text, "Nexthop");
	h->nlmsg_len = sizeof *h + 4;
	ck_assert_int_eq(netlink_ack_decode(h, &error, text, sizeof text), ERR_CORRUPT);
	ck_assert_str_eq(text, "");
}
END_TEST

/* --- the socket, at the loopback device that every namespace has */

struct seen {
	struct netlink_link lo;
	unsigned links, acks;
	int error;
};

static void note(void *arg, const struct nlmsghdr *h, int error, const char *ext_text)
{
	struct seen *s = arg;
	struct netlink_link l;
	bool deleted;
	ck_assert_ptr_nonnull(ext_text);
	if (h->nlmsg_type == NLMSG_ERROR) {
		s->acks++;
		s->error = error;
	} else if (netlink_link_decode(h, &l, &deleted) == 0) {
		s->links++;
		if (strcmp(l.name, "lo") == 0)
			s->lo = l;
	}
}

START_TEST(the_kernel_answers)
{
	struct netlink_socket *s;
	union buffer m;
	struct seen seen = {.links = 0};
	ck_assert_int_eq(netlink_socket_open(&s, 0), 0);
	ck_assert_uint_gt(netlink_link_get_by_name(&m, sizeof m, 0, "lo"), 0);
	ck_assert_int_eq(netlink_query(s, &m, note, &seen), 0);
	ck_assert_uint_eq(seen.links, 1);
	ck_assert_uint_eq(seen.lo.ifindex, 1);
	ck_assert_uint_gt(seen.lo.mtu, 0);
	netlink_link_get_by_name(&m, sizeof m, 0, "not-there-at-al");
	ck_assert_int_eq(netlink_query(s, &m, note, &seen), -ENODEV);
	seen.links = 0;
	netlink_link_dump_request(&m, sizeof m, 0);
	ck_assert_int_eq(netlink_dump(s, &m, note, &seen), 0);
	ck_assert_uint_ge(seen.links, 1);
	/* a table that nobody has */
	netlink_route_dump_request(&m, sizeof m, 0, AF_INET, 987654, 171);
	ck_assert_int_eq(netlink_dump(s, &m, note, &seen), -ENOENT);
	netlink_socket_close(s);
}
END_TEST

START_TEST(several_messages_go_at_once)
{
	struct netlink_socket *s;
	_Alignas(8) char bytes[512];
	struct seen seen = {.links = 0};
	ck_assert_int_eq(netlink_socket_open(&s, 0), 0);
	ck_assert_int_eq(netlink_socket_receive(s, note, &seen), 0); /* nothing there: no waiting */
	size_t len = netlink_link_get_by_index(bytes, sizeof bytes, 11, 1);
	len += netlink_link_get_by_name(bytes + len, sizeof bytes - len, 12, "not-there-at-al");
	ck_assert_int_eq(netlink_socket_send(s, bytes, len), 0);
	while (seen.acks < 2) {
		struct pollfd p = {.fd = netlink_socket_fd(s), .events = POLLIN};
		ck_assert_int_eq(poll(&p, 1, 10000), 1);
		ck_assert_int_eq(netlink_socket_receive(s, note, &seen), 0);
	}
	ck_assert_uint_eq(seen.links, 1);
	ck_assert_int_eq(seen.error, -ENODEV);
	netlink_socket_close(s);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("netlink");
	TCase *t = tcase_create("netlink");
	suite_add_tcase(suite, t);
	tcase_add_test(t, routes_go_round);
	tcase_add_test(t, ipv4_goes_through_ipv6);
	tcase_add_test(t, most_next_hops_fit);
	tcase_add_test(t, impossible_routes_do_not_encode);
	tcase_add_test(t, flags_and_scope_say_what_is_meant);
	tcase_add_test(t, routes_we_do_not_model_are_told_apart);
	tcase_add_test(t, heads_of_routes_of_any_type);
	tcase_add_test(t, a_mapped_ipv6_route_is_not_the_ipv4_default);
	tcase_add_test(t, requests_carry_their_filters);
	tcase_add_test(t, a_vrf_tells_its_table);
	tcase_add_test(t, a_port_that_left_its_bridge_is_not_deleted);
	tcase_add_test(t, a_veth_is_one_message);
	tcase_add_test(t, addresses_and_neighbours_go_round);
	tcase_add_test(t, hostile_bytes_are_only_read);
	tcase_add_test(t, too_many_next_hops_are_not_cut_silently);
	tcase_add_test(t, acknowledgements_carry_the_kernels_words);
	tcase_add_test(t, the_kernel_answers);
	tcase_add_test(t, several_messages_go_at_once);
	return run_suite(suite);
}
