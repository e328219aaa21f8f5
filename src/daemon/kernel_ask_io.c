#include "src/daemon/kernel_ask_io.h"

#include "netlink/nexthop_msg.h"
#include "netlink/route_msg.h"

enum { QUESTION_WORDS = NETLINK_LINK_MESSAGE_MAX / 8 };

static void on_link(void *arg, const struct nlmsghdr *h, int error, const char *text)
{
	bool deleted;
	(void)text;
	if (!error)
		netlink_link_decode(h, arg, &deleted);
}

static bool ask(struct netlink_socket *s, const uint64_t *question, size_t len, struct netlink_link *out)
{
	*out = (struct netlink_link){.ifindex = 0};
	return len && netlink_query(s, question, on_link, out) == 0 && out->ifindex;
}

bool kernel_ask_link_named(struct netlink_socket *s, const char *name, struct netlink_link *out)
{
	uint64_t question[QUESTION_WORDS];
	return ask(s, question, netlink_link_get_by_name(question, sizeof question, 0, name), out);
}

bool kernel_ask_link(struct netlink_socket *s, uint32_t ifindex, struct netlink_link *out)
{
	uint64_t question[QUESTION_WORDS];
	return ask(s, question, netlink_link_get_by_index(question, sizeof question, 0, ifindex), out);
}

static void on_route(void *arg, const struct nlmsghdr *h, int error, const char *text)
{
	(void)text;
	if (!error)
		netlink_route_get_decode(h, arg);
}

uint32_t kernel_ask_link_towards(struct netlink_socket *s, const struct addr *dst, uint32_t vrf)
{
	uint64_t question[QUESTION_WORDS];
	struct netlink_route_answer answer = {0};
	if (!netlink_route_get_request(question, sizeof question, 0, dst, vrf) || netlink_query(s, question, on_route, &answer) ||
	    answer.local)
		return 0;
	return answer.ifindex;
}

static void on_object(void *arg, const struct nlmsghdr *h, int error, const char *text)
{
	struct nexthop_object *out = arg, found;
	bool deleted;
	(void)text;
	if (!error && netlink_nexthop_decode(h, &found, &deleted) == 0 && !deleted)
		*out = found;
}

static bool ask_object(struct netlink_socket *s, uint32_t id, struct nexthop_object *out)
{
	uint64_t question[QUESTION_WORDS];
	out->id = 0;
	return netlink_nexthop_get_request(question, sizeof question, 0, id) && netlink_query(s, question, on_object, out) == 0 &&
	       out->id == id;
}

void kernel_ask_next_hops(struct netlink_socket *s, struct route *r)
{
	struct nexthop_object o, member;
	if (r->type != ROUTE_UNICAST || r->nexthop_count || !r->nexthop_id || !ask_object(s, r->nexthop_id, &o))
		return;
	if (o.kind == NEXTHOP_OBJECT_HOP)
		r->nexthops[r->nexthop_count++] = o.hop;
	for (unsigned i = 0; o.kind == NEXTHOP_OBJECT_GROUP && i < o.member_count; i++) {
		if (!ask_object(s, o.members[i].id, &member) || member.kind != NEXTHOP_OBJECT_HOP)
			continue;
		member.hop.weight = o.members[i].weight;
		r->nexthops[r->nexthop_count++] = member.hop;
	}
}
