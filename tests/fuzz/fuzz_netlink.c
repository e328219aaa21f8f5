/* Every netlink decoder over arbitrary datagrams, walked as netlink/socket_io.c walks them. A route that
 * decodes must encode again, and then decode to the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "netlink/addr_msg.h"
#include "netlink/link_msg.h"
#include "netlink/message.h"
#include "netlink/nexthop_msg.h"
#include "netlink/route_msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
	if (!ok)
		abort();
}

static void object_round_trip(const struct nexthop_object *o)
{
	_Alignas(struct nlmsghdr) static char buf[NETLINK_NEXTHOP_MESSAGE_MAX];
	struct nexthop_object back;
	bool deleted;
	if (!netlink_nexthop_encode(buf, sizeof buf, NETLINK_NEXTHOP_REPLACE, 1, o))
		return; /* a next hop without a device */
	require(netlink_nexthop_decode((const void *)buf, &back, &deleted) == 0 && !deleted);
	require(back.id == o->id && back.kind == o->kind && back.member_count == o->member_count);
	require(addr_eq(&back.hop.gateway, &o->hop.gateway) && back.hop.ifindex == o->hop.ifindex);
	for (unsigned i = 0; i < o->member_count; i++)
		require(back.members[i].id == o->members[i].id && back.members[i].weight == o->members[i].weight);
}

static void round_trip(const struct route *r)
{
	_Alignas(struct nlmsghdr) static char buf[NETLINK_ROUTE_MESSAGE_MAX];
	struct route back;
	bool deleted;
	if (!netlink_route_encode(buf, sizeof buf, NETLINK_ROUTE_REPLACE, 1, r))
		return; /* a next hop that is neither gateway nor device */
	require(netlink_route_decode((const void *)buf, &back, &deleted) == 0 && !deleted);
	require(prefix_eq(&back.prefix, &r->prefix) && back.nexthop_id == (r->type == ROUTE_UNICAST ? r->nexthop_id : 0));
	require(back.mark.table == r->mark.table && back.mark.metric == r->mark.metric);
	if (back.nexthop_id)
		return; /* which says it all */
	require(back.nexthop_count == r->nexthop_count);
	for (unsigned i = 0; i < r->nexthop_count; i++)
		require(back.nexthops[i].ifindex == r->nexthops[i].ifindex);
}

static void decode(const struct nlmsghdr *h)
{
	struct route r;
	struct netlink_route_head head;
	struct netlink_route_answer answer;
	struct nexthop_object o;
	struct netlink_link l;
	struct netlink_addr a;
	struct netlink_neigh n;
	char text[64];
	bool deleted;
	int error;
	if (netlink_route_decode(h, &r, &deleted) == 0) {
		round_trip(&r);
		require(netlink_route_head_decode(h, &head) == 0 && prefix_eq(&head.prefix, &r.prefix) && head.deleted == deleted);
		require(head.mark.table == r.mark.table && head.mark.metric == r.mark.metric && head.mark.protocol == r.mark.protocol);
	}
	netlink_route_head_decode(h, &head);
	if (netlink_nexthop_decode(h, &o, &deleted) == 0)
		object_round_trip(&o);
	netlink_route_get_decode(h, &answer);
	netlink_link_decode(h, &l, &deleted);
	netlink_addr_decode(h, &a, &deleted);
	netlink_neigh_decode(h, &n, &deleted);
	netlink_ack_decode(h, &error, text, sizeof text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* aligned, as a receive buffer is, and with nothing behind it */
	char *copy = malloc(size ? size : 1);
	if (!copy || size > 1 << 20) {
		free(copy);
		return 0;
	}
	memcpy(copy, data, size);
	const void *at = copy;
	for (const struct nlmsghdr *h; (h = netlink_message_next(&at, &size));)
		decode(h);
	free(copy);
	return 0;
}
