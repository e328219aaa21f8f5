#include "netlink/route_msg.h"

#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "netlink/message.h"
#include "src/base/err.h"

static const struct {
	uint16_t type;
	unsigned flags;
} ops[] = {
	[NETLINK_ROUTE_REPLACE] = {RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE},
	[NETLINK_ROUTE_ADD] = {RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL},
	[NETLINK_ROUTE_DELETE] = {RTM_DELROUTE, 0},
};

/* An IPv4 route may have an IPv6 gateway (RFC 8950): that one is RTA_VIA. */
static void put_gateway(struct netlink_builder *b, uint8_t family, const struct addr *gateway)
{
	if (addr_is_zero(gateway))
		return;
	if (netlink_family(gateway) == family) {
		netlink_put_addr(b, RTA_GATEWAY, gateway);
		return;
	}
	uint8_t via[sizeof(struct rtvia) + 16];
	struct rtvia head = {.rtvia_family = AF_INET6};
	memcpy(via, &head, sizeof head);
	memcpy(via + sizeof head, gateway->b, 16);
	netlink_put(b, RTA_VIA, via, sizeof via);
}

static void put_multipath(struct netlink_builder *b, uint8_t family, const struct route *r)
{
	struct nlattr *nest = netlink_nest_open(b, RTA_MULTIPATH);
	for (unsigned i = 0; i < r->nexthop_count; i++) {
		const struct route_nexthop *n = &r->nexthops[i];
		struct rtnexthop *hop = netlink_put_raw(b, sizeof *hop);
		if (!hop)
			return;
		unsigned weight = n->weight < 1 ? 1 : n->weight > ROUTE_WEIGHT_MAX ? ROUTE_WEIGHT_MAX : n->weight;
		hop->rtnh_hops = (unsigned char)(weight - 1);
		hop->rtnh_flags = n->onlink ? RTNH_F_ONLINK : 0;
		hop->rtnh_ifindex = (int)n->ifindex;
		put_gateway(b, family, &n->gateway);
		hop->rtnh_len = (unsigned short)((char *)mnl_nlmsg_get_payload_tail(b->h) - (char *)hop);
	}
	netlink_nest_close(b, nest);
	/* without the flag, as the kernel's strict parser and iproute2 have it for this attribute */
	if (nest)
		nest->nla_type = RTA_MULTIPATH;
}

static void put_nexthops(struct netlink_builder *b, uint8_t family, const struct route *r)
{
	const struct route_nexthop *n = &r->nexthops[0];
	if (r->nexthop_id) {
		netlink_put_u32(b, RTA_NH_ID, r->nexthop_id);
		return;
	}
	if (r->nexthop_count > 1) {
		put_multipath(b, family, r);
		return;
	}
	put_gateway(b, family, &n->gateway);
	if (n->ifindex)
		netlink_put_u32(b, RTA_OIF, n->ifindex);
}

static bool has_nexthops(const struct route *r)
{
	if (r->nexthop_id)
		return true;
	if (!r->nexthop_count || r->nexthop_count > ROUTE_NEXTHOPS_MAX)
		return false;
	for (unsigned i = 0; i < r->nexthop_count; i++)
		if (addr_is_zero(&r->nexthops[i].gateway) && !r->nexthops[i].ifindex)
			return false;
	return true;
}

/* A next hop without a gateway means that the destination is on the link itself. IPv6 has no scopes. */
static uint8_t scope_of(const struct route *r, enum netlink_route_op op)
{
	if (!prefix_is_v4(&r->prefix))
		return RT_SCOPE_UNIVERSE;
	if (op == NETLINK_ROUTE_DELETE)
		return RT_SCOPE_NOWHERE; /* any */
	if (r->type == ROUTE_UNICAST && !r->nexthop_id && r->nexthop_count == 1 && addr_is_zero(&r->nexthops[0].gateway))
		return RT_SCOPE_LINK;
	return RT_SCOPE_UNIVERSE;
}

static void fill_rtmsg(struct rtmsg *rt, enum netlink_route_op op, const struct route *r)
{
	rt->rtm_family = netlink_family(&r->prefix.addr);
	rt->rtm_dst_len = (unsigned char)prefix_plen(&r->prefix);
	rt->rtm_table = r->mark.table < 256 ? (unsigned char)r->mark.table : RT_TABLE_UNSPEC;
	rt->rtm_protocol = r->mark.protocol;
	rt->rtm_scope = scope_of(r, op);
	if (op == NETLINK_ROUTE_DELETE)
		return;
	if (!r->nexthop_id && r->nexthop_count == 1 && r->nexthops[0].onlink)
		rt->rtm_flags = RTNH_F_ONLINK;
	rt->rtm_type = r->type == ROUTE_BLACKHOLE ? RTN_BLACKHOLE : RTN_UNICAST;
}

size_t netlink_route_encode(void *buf, size_t cap, enum netlink_route_op op, uint32_t seq, const struct route *r)
{
	struct rtmsg *rt;
	void *body;
	bool wants_nexthops = op != NETLINK_ROUTE_DELETE && r->type == ROUTE_UNICAST;
	if (r->type == ROUTE_OTHER || (wants_nexthops && !has_nexthops(r)))
		return 0;
	struct netlink_builder b =
		netlink_message_start(buf, cap, ops[op].type, ops[op].flags, seq, sizeof *rt, &body);
	rt = body;
	if (!rt)
		return 0;
	fill_rtmsg(rt, op, r);
	if (rt->rtm_dst_len)
		netlink_put_addr(&b, RTA_DST, &r->prefix.addr);
	netlink_put_u32(&b, RTA_TABLE, r->mark.table);
	if (r->mark.metric)
		netlink_put_u32(&b, RTA_PRIORITY, r->mark.metric);
	if (wants_nexthops)
		put_nexthops(&b, rt->rtm_family, r);
	return netlink_message_end(&b);
}

/* --- decoding */

/* Reads RTA_GATEWAY or RTA_VIA; false where one is there and does not read. */
static bool get_gateway(const struct nlattr *const *at, uint8_t family, struct addr *out)
{
	*out = family == AF_INET ? addr_from_v4(0) : (struct addr){{0}};
	if (at[RTA_GATEWAY])
		return netlink_get_addr(at[RTA_GATEWAY], family, out);
	if (!at[RTA_VIA])
		return true;
	const uint8_t *via = mnl_attr_get_payload(at[RTA_VIA]);
	uint16_t via_family;
	if (mnl_attr_get_payload_len(at[RTA_VIA]) != sizeof(struct rtvia) + 16)
		return false;
	memcpy(&via_family, via, sizeof via_family);
	if (via_family != AF_INET6)
		return false;
	memcpy(out->b, via + sizeof(struct rtvia), 16);
	return true;
}

/* Kept in the table and not used: the link has no carrier, or is down. */
static bool is_down(unsigned flags)
{
	return flags & (RTNH_F_DEAD | RTNH_F_LINKDOWN);
}

static int get_multipath(const struct nlattr *list, uint8_t family, struct route *out)
{
	const char *p = mnl_attr_get_payload(list);
	size_t left = mnl_attr_get_payload_len(list);
	while (left >= sizeof(struct rtnexthop)) {
		const struct rtnexthop *hop = (const void *)p;
		const struct nlattr *at[RTA_VIA + 1];
		if (hop->rtnh_len < sizeof *hop || hop->rtnh_len > left)
			return ERR_CORRUPT;
		if (out->nexthop_count == ROUTE_NEXTHOPS_MAX)
			return ERR_UNSUPPORTED;
		netlink_attrs_of(hop + 1, hop->rtnh_len - sizeof *hop, at, RTA_VIA);
		struct route_nexthop *n = &out->nexthops[out->nexthop_count++];
		if (!get_gateway(at, family, &n->gateway))
			return ERR_CORRUPT;
		n->ifindex = (uint32_t)hop->rtnh_ifindex;
		n->weight = (uint16_t)(hop->rtnh_hops + 1);
		n->down = is_down(hop->rtnh_flags);
		n->onlink = hop->rtnh_flags & RTNH_F_ONLINK;
		size_t step = RTNH_ALIGN(hop->rtnh_len);
		if (step >= left)
			return 0;
		p += step;
		left -= step;
	}
	return left ? ERR_CORRUPT : 0;
}

static int get_nexthops(const struct nlattr *const *at, const struct rtmsg *rt, struct route *out)
{
	struct route_nexthop *n = &out->nexthops[0];
	if (out->type != ROUTE_UNICAST)
		return 0;
	if (at[RTA_MULTIPATH])
		return get_multipath(at[RTA_MULTIPATH], rt->rtm_family, out);
	if (!get_gateway(at, rt->rtm_family, &n->gateway))
		return ERR_CORRUPT;
	netlink_get_u32(at[RTA_OIF], &n->ifindex);
	n->down = is_down(rt->rtm_flags);
	n->onlink = rt->rtm_flags & RTNH_F_ONLINK;
	if (!n->ifindex && addr_is_zero(&n->gateway))
		return out->nexthop_id ? 0 : ERR_UNSUPPORTED; /* net.ipv4.nexthop_compat_mode=0: the object and nothing else */
	n->weight = 1;
	out->nexthop_count = 1;
	return 0;
}

static int get_prefix(const struct rtmsg *rt, const struct nlattr *dst, struct prefix *out)
{
	bool v4 = rt->rtm_family == AF_INET;
	struct addr a = v4 ? addr_from_v4(0) : (struct addr){{0}};
	if (rt->rtm_dst_len > (v4 ? 32 : 128))
		return ERR_CORRUPT;
	if (dst && !netlink_get_addr(dst, rt->rtm_family, &a))
		return ERR_CORRUPT;
	if (!dst && rt->rtm_dst_len)
		return ERR_CORRUPT;
	*out = prefix_make(&a, rt->rtm_dst_len + (v4 ? (unsigned)ADDR_V4_BITS : 0u));
	/* ::ffff:0:0/96 and below as IPv6 routes exist (to refuse them); here they would read as IPv4 */
	return !v4 && prefix_is_v4(out) ? ERR_UNSUPPORTED : 0;
}

static bool type_of(unsigned char rtn, enum route_type *out)
{
	static const struct {
		unsigned char rtn;
		enum route_type type;
	} types[] = {{RTN_UNICAST, ROUTE_UNICAST}, {RTN_BLACKHOLE, ROUTE_BLACKHOLE}, {RTN_UNREACHABLE, ROUTE_OTHER},
		     {RTN_PROHIBIT, ROUTE_OTHER},  {RTN_THROW, ROUTE_OTHER}};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		*out = types[i].type;
		if (types[i].rtn == rtn)
			return true;
	}
	return false;
}

/* Those of a type of service are beside ours, not in their place. */
static bool models(const struct rtmsg *rt)
{
	enum route_type type;
	return (rt->rtm_family == AF_INET || rt->rtm_family == AF_INET6) && !(rt->rtm_flags & RTM_F_CLONED) &&
	       type_of(rt->rtm_type, &type) && !rt->rtm_src_len && !rt->rtm_tos;
}

int netlink_route_decode(const struct nlmsghdr *h, struct route *out, bool *deleted)
{
	const struct rtmsg *rt = netlink_message_body(h, sizeof *rt);
	const struct nlattr *at[RTA_MAX + 1];
	if (!rt || (h->nlmsg_type != RTM_NEWROUTE && h->nlmsg_type != RTM_DELROUTE))
		return ERR_CORRUPT;
	if (!models(rt))
		return ERR_UNSUPPORTED;
	netlink_attrs(h, sizeof *rt, at, RTA_MAX);
	memset(out, 0, sizeof *out);
	type_of(rt->rtm_type, &out->type);
	out->scope = rt->rtm_scope;
	out->mark.protocol = rt->rtm_protocol;
	out->mark.table = rt->rtm_table;
	netlink_get_u32(at[RTA_TABLE], &out->mark.table);
	netlink_get_u32(at[RTA_PRIORITY], &out->mark.metric);
	netlink_get_u32(at[RTA_NH_ID], &out->nexthop_id);
	*deleted = h->nlmsg_type == RTM_DELROUTE;
	int err = get_prefix(rt, at[RTA_DST], &out->prefix);
	return err ? err : get_nexthops(at, rt, out);
}

/* Types that somebody gave a route on purpose; the others come and go with addresses. */
static bool is_meant(unsigned char type)
{
	static const bool meant[] = {[RTN_UNICAST] = true,     [RTN_LOCAL] = true,	[RTN_BLACKHOLE] = true,
				     [RTN_UNREACHABLE] = true, [RTN_PROHIBIT] = true};
	return type < sizeof meant / sizeof *meant && meant[type];
}

int netlink_route_head_decode(const struct nlmsghdr *h, struct netlink_route_head *out)
{
	const struct rtmsg *rt = netlink_message_body(h, sizeof *rt);
	const struct nlattr *at[RTA_MAX + 1];
	if (!rt || (h->nlmsg_type != RTM_NEWROUTE && h->nlmsg_type != RTM_DELROUTE))
		return ERR_CORRUPT;
	if ((rt->rtm_family != AF_INET && rt->rtm_family != AF_INET6) || rt->rtm_flags & RTM_F_CLONED || rt->rtm_src_len ||
	    !is_meant(rt->rtm_type))
		return ERR_UNSUPPORTED;
	netlink_attrs(h, sizeof *rt, at, RTA_MAX);
	*out = (struct netlink_route_head){.mark = {.table = rt->rtm_table, .protocol = rt->rtm_protocol}};
	netlink_get_u32(at[RTA_TABLE], &out->mark.table);
	netlink_get_u32(at[RTA_PRIORITY], &out->mark.metric);
	out->deleted = h->nlmsg_type == RTM_DELROUTE;
	out->replaces = !out->deleted && h->nlmsg_flags & NLM_F_REPLACE;
	out->several = (rt->rtm_family == AF_INET6 && at[RTA_MULTIPATH]) || (!out->deleted && h->nlmsg_flags & NLM_F_APPEND);
	return get_prefix(rt, at[RTA_DST], &out->prefix);
}

/* --- asking */

size_t netlink_route_dump_request(void *buf, size_t cap, uint32_t seq, int family, uint32_t table, uint8_t protocol)
{
	void *body;
	struct netlink_builder b =
		netlink_message_start(buf, cap, RTM_GETROUTE, NLM_F_DUMP, seq, sizeof(struct rtmsg), &body);
	struct rtmsg *rt = body;
	if (!rt)
		return 0;
	rt->rtm_family = (unsigned char)family;
	rt->rtm_protocol = protocol;
	netlink_put_u32(&b, RTA_TABLE, table);
	return netlink_message_end(&b);
}

static size_t ask(void *buf, size_t cap, uint32_t seq, const struct addr *dst, uint32_t ifindex, unsigned flags)
{
	void *body;
	struct netlink_builder b = netlink_message_start(buf, cap, RTM_GETROUTE, 0, seq, sizeof(struct rtmsg), &body);
	struct rtmsg *rt = body;
	if (!rt)
		return 0;
	rt->rtm_family = netlink_family(dst);
	rt->rtm_dst_len = addr_is_v4(dst) ? 32 : 128;
	rt->rtm_flags = flags;
	netlink_put_addr(&b, RTA_DST, dst);
	if (ifindex)
		netlink_put_u32(&b, RTA_OIF, ifindex);
	return netlink_message_end(&b);
}

size_t netlink_route_get_request(void *buf, size_t cap, uint32_t seq, const struct addr *dst, uint32_t ifindex)
{
	return ask(buf, cap, seq, dst, ifindex, 0);
}

size_t netlink_route_match_request(void *buf, size_t cap, uint32_t seq, const struct addr *dst, uint32_t ifindex)
{
	/* for IPv4 the kernel says "main" of every table unless asked for it, and for IPv6 it takes no such flag */
	return ask(buf, cap, seq, dst, ifindex, RTM_F_FIB_MATCH | (addr_is_v4(dst) ? (unsigned)RTM_F_LOOKUP_TABLE : 0u));
}

bool netlink_route_is_local(const struct nlmsghdr *h)
{
	const struct rtmsg *rt = netlink_message_body(h, sizeof *rt);
	return rt && h->nlmsg_type == RTM_NEWROUTE && rt->rtm_type == RTN_LOCAL;
}

int netlink_route_get_decode(const struct nlmsghdr *h, struct netlink_route_answer *out)
{
	const struct rtmsg *rt = netlink_message_body(h, sizeof *rt);
	const struct nlattr *at[RTA_MAX + 1];
	if (!rt || h->nlmsg_type != RTM_NEWROUTE)
		return ERR_CORRUPT;
	if (rt->rtm_family != AF_INET && rt->rtm_family != AF_INET6)
		return ERR_UNSUPPORTED;
	netlink_attrs(h, sizeof *rt, at, RTA_MAX);
	memset(out, 0, sizeof *out);
	out->local = rt->rtm_type == RTN_LOCAL;
	netlink_get_addr(at[RTA_PREFSRC], rt->rtm_family, &out->source);
	netlink_get_u32(at[RTA_OIF], &out->ifindex);
	return get_gateway(at, rt->rtm_family, &out->gateway) ? 0 : ERR_CORRUPT;
}

const char *netlink_protocol_text(uint8_t protocol, char buf[NETLINK_PROTOCOL_TEXT_MAX])
{
	static const char *const names[UINT8_MAX + 1] = {
		[RTPROT_REDIRECT] = "redirect", [RTPROT_KERNEL] = "kernel", [RTPROT_BOOT] = "boot", [RTPROT_STATIC] = "static",
		[RTPROT_RA] = "ra",             [RTPROT_ZEBRA] = "zebra",   [RTPROT_BIRD] = "bird", [RTPROT_DHCP] = "dhcp",
		[RTPROT_KEEPALIVED] = "keepalived", [RTPROT_BABEL] = "babel", [RTPROT_OPENR] = "openr", [RTPROT_BGP] = "bgp",
		[RTPROT_ISIS] = "isis",         [RTPROT_OSPF] = "ospf",     [RTPROT_RIP] = "rip",   [RTPROT_EIGRP] = "eigrp",
	};
	const char *name = names[protocol];
	snprintf(buf, NETLINK_PROTOCOL_TEXT_MAX, name ? "%s (%u)" : "%s%u", name ? name : "", protocol);
	return buf;
}

const char *netlink_table_text(uint32_t table, char buf[NETLINK_TABLE_TEXT_MAX])
{
	const char *name = table == RT_TABLE_MAIN ? "main" : table == RT_TABLE_LOCAL ? "local" : NULL;
	snprintf(buf, NETLINK_TABLE_TEXT_MAX, name ? "%s (%u)" : "%s%u", name ? name : "", table);
	return buf;
}
