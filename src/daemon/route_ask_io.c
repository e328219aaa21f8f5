#include "src/daemon/route_ask_io.h"

#include "netlink/route_msg.h"

static void on_route(void *arg, const struct nlmsghdr *h, int error, const char *text)
{
	(void)text;
	if (!error)
		netlink_route_get_decode(h, arg);
}

uint32_t route_link_towards(struct netlink_socket *s, const struct addr *dst, uint32_t vrf)
{
	uint64_t buf[64];
	struct netlink_route_answer answer = {0};
	if (!netlink_route_get_request(buf, sizeof buf, 1, dst, vrf) || netlink_query(s, buf, on_route, &answer) || answer.local)
		return 0;
	return answer.ifindex;
}
