#include "netlink/nexthop_msg.h"

#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "netlink/message.h"
#include "src/base/err.h"

/* struct nexthop_grp, whose second field has another name in newer headers */
struct member {
	uint32_t id;
	uint8_t weight, weight_high; /* less one */
	uint16_t reserved;
};
_Static_assert(sizeof(struct member) == sizeof(struct nexthop_grp), "as the kernel has it");

static const struct {
	uint16_t type;
	unsigned flags;
} ops[] = {
	[NETLINK_NEXTHOP_ADD] = {RTM_NEWNEXTHOP, NLM_F_CREATE | NLM_F_EXCL},
	[NETLINK_NEXTHOP_REPLACE] = {RTM_NEWNEXTHOP, NLM_F_REPLACE},
	[NETLINK_NEXTHOP_DELETE] = {RTM_DELNEXTHOP, 0},
};

static bool can_be_said(const struct nexthop_object *o)
{
	switch (o->kind) {
	case NEXTHOP_OBJECT_HOP:
		return o->hop.ifindex != 0;
	case NEXTHOP_OBJECT_GROUP:
		return o->member_count > 0 && o->member_count <= ROUTE_NEXTHOPS_MAX;
	case NEXTHOP_OBJECT_BLACKHOLE:
		return true;
	}
	return false;
}

static void put_group(struct netlink_builder *b, const struct nexthop_object *o)
{
	struct member members[ROUTE_NEXTHOPS_MAX];
	memset(members, 0, sizeof members);
	for (unsigned i = 0; i < o->member_count; i++) {
		unsigned weight = o->members[i].weight;
		weight = weight < 1 ? 1 : weight > ROUTE_WEIGHT_MAX ? ROUTE_WEIGHT_MAX : weight;
		members[i].id = o->members[i].id;
		members[i].weight = (uint8_t)(weight - 1);
	}
	netlink_put(b, NHA_GROUP, members, o->member_count * sizeof *members);
}

static void put_hop(struct netlink_builder *b, struct nhmsg *nh, const struct route_nexthop *hop)
{
	nh->nh_family = netlink_family(&hop->gateway);
	nh->nh_flags = hop->onlink ? RTNH_F_ONLINK : 0;
	netlink_put_u32(b, NHA_OIF, hop->ifindex);
	if (!addr_is_zero(&hop->gateway))
		netlink_put_addr(b, NHA_GATEWAY, &hop->gateway);
}

static void put_object(struct netlink_builder *b, struct nhmsg *nh, const struct nexthop_object *o)
{
	nh->nh_protocol = o->protocol;
	if (o->kind == NEXTHOP_OBJECT_GROUP) {
		put_group(b, o);
	} else if (o->kind == NEXTHOP_OBJECT_BLACKHOLE) {
		nh->nh_family = netlink_family(&o->hop.gateway);
		netlink_put(b, NHA_BLACKHOLE, NULL, 0);
	} else {
		put_hop(b, nh, &o->hop);
	}
}

size_t netlink_nexthop_encode(void *buf, size_t cap, enum netlink_nexthop_op op, uint32_t seq, const struct nexthop_object *o)
{
	void *body;
	bool wants_object = op != NETLINK_NEXTHOP_DELETE;
	if (!o->id || (wants_object && !can_be_said(o)))
		return 0;
	struct netlink_builder b =
		netlink_message_start(buf, cap, ops[op].type, ops[op].flags, seq, sizeof(struct nhmsg), &body);
	if (!body)
		return 0;
	netlink_put_u32(&b, NHA_ID, o->id);
	if (wants_object)
		put_object(&b, body, o);
	return netlink_message_end(&b);
}

/* --- decoding */

static int get_group(const struct nlattr *at, struct nexthop_object *out)
{
	struct member member;
	size_t len = mnl_attr_get_payload_len(at), count = len / sizeof member;
	const char *p = mnl_attr_get_payload(at);
	if (!len || len % sizeof member)
		return ERR_CORRUPT;
	if (count > ROUTE_NEXTHOPS_MAX)
		return ERR_UNSUPPORTED;
	out->kind = NEXTHOP_OBJECT_GROUP;
	for (size_t i = 0; i < count; i++) {
		memcpy(&member, p + i * sizeof member, sizeof member);
		if (member.weight_high) /* of newer kernels, beyond what we say */
			return ERR_UNSUPPORTED;
		out->members[i].id = member.id;
		out->members[i].weight = (uint16_t)(member.weight + 1);
	}
	out->member_count = (unsigned)count;
	return 0;
}

static int get_hop(const struct nlattr *const *at, const struct nhmsg *nh, struct nexthop_object *out)
{
	out->kind = NEXTHOP_OBJECT_HOP;
	out->hop.weight = 1;
	out->hop.onlink = nh->nh_flags & RTNH_F_ONLINK;
	out->hop.down = nh->nh_flags & (RTNH_F_DEAD | RTNH_F_LINKDOWN);
	if (nh->nh_family == AF_INET)
		out->hop.gateway = addr_from_v4(0);
	if (!netlink_get_u32(at[NHA_OIF], &out->hop.ifindex))
		return ERR_UNSUPPORTED;
	if (at[NHA_GATEWAY] && !netlink_get_addr(at[NHA_GATEWAY], nh->nh_family, &out->hop.gateway))
		return ERR_CORRUPT;
	return 0;
}

int netlink_nexthop_decode(const struct nlmsghdr *h, struct nexthop_object *out, bool *deleted)
{
	enum { LAST = NHA_FDB };
	const struct nhmsg *nh = netlink_message_body(h, sizeof *nh);
	const struct nlattr *at[LAST + 1];
	if (!nh || (h->nlmsg_type != RTM_NEWNEXTHOP && h->nlmsg_type != RTM_DELNEXTHOP))
		return ERR_CORRUPT;
	memset(out, 0, sizeof *out);
	*deleted = h->nlmsg_type == RTM_DELNEXTHOP;
	out->protocol = nh->nh_protocol;
	netlink_attrs(h, sizeof *nh, at, LAST);
	if (!netlink_get_u32(at[NHA_ID], &out->id) || !out->id)
		return ERR_CORRUPT;
	if (at[NHA_FDB] || at[NHA_ENCAP])
		return ERR_UNSUPPORTED;
	if (at[NHA_GROUP])
		return get_group(at[NHA_GROUP], out);
	if (nh->nh_family != AF_INET && nh->nh_family != AF_INET6)
		return ERR_UNSUPPORTED;
	if (!at[NHA_BLACKHOLE])
		return get_hop(at, nh, out);
	out->kind = NEXTHOP_OBJECT_BLACKHOLE;
	out->hop.gateway = nh->nh_family == AF_INET ? addr_from_v4(0) : (struct addr){{0}};
	return 0;
}

/* --- asking */

static size_t ask(void *buf, size_t cap, uint32_t seq, uint32_t id, unsigned flags)
{
	void *body;
	struct netlink_builder b = netlink_message_start(buf, cap, RTM_GETNEXTHOP, flags, seq, sizeof(struct nhmsg), &body);
	if (id)
		netlink_put_u32(&b, NHA_ID, id);
	return netlink_message_end(&b);
}

size_t netlink_nexthop_dump_request(void *buf, size_t cap, uint32_t seq)
{
	return ask(buf, cap, seq, 0, NLM_F_DUMP);
}

size_t netlink_nexthop_get_request(void *buf, size_t cap, uint32_t seq, uint32_t id)
{
	return ask(buf, cap, seq, id, 0);
}
