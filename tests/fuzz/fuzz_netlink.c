/* Every netlink decoder over arbitrary datagrams, walked as netlink/socket_io.c walks them. A route that
 * decodes must encode again, and then decode to the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "netlink/addr_msg.h"
#include "netlink/link_msg.h"
#include "netlink/message.h"
#include "netlink/route_msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
	if (!ok)
		abort();
}

static void round_trip(const struct route *r)
{
	_Alignas(struct nlmsghdr) static char buf[NETLINK_ROUTE_MESSAGE_MAX];
	struct route back;
	bool deleted;
	if (!netlink_route_encode(buf, sizeof buf, NETLINK_ROUTE_REPLACE, 1, r))
		return; /* a next hop that is neither gateway nor device */
	require(netlink_route_decode((const void *)buf, &back, &deleted) == 0 && !deleted);
	require(prefix_eq(&back.prefix, &r->prefix) && back.nexthop_count == r->nexthop_count);
	require(back.mark.table == r->mark.table && back.mark.metric == r->mark.metric);
	for (unsigned i = 0; i < r->nexthop_count; i++)
		require(back.nexthops[i].ifindex == r->nexthops[i].ifindex);
}

static void decode(const struct nlmsghdr *h)
{
	struct route r;
	struct netlink_route_answer answer;
	struct netlink_link l;
	struct netlink_addr a;
	struct netlink_neigh n;
	char text[64];
	bool deleted;
	int error;
	if (netlink_route_decode(h, &r, &deleted) == 0)
		round_trip(&r);
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
