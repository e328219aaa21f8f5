/* What the kernel can take: the routes of the benchmarks (tests/bench/feed.h) over one netlink socket, and away again. No table, no
 * answers but of errors and of the last message of each write: a daemon cannot be faster. Said on standard output:
 *
 *     added SECONDS
 *     deleted SECONDS
 *     longest MS              one write, which the kernel works on without a pause
 *
 *     bare_routes -n ROUTES -g GATEWAY -d DEVICE [-o] [-b BYTES]
 *
 * The gateway's family is the routes'. -o: one next-hop object that all routes share. -b: bytes in one write. Works in the network
 * namespace that it is started in, and leaves it as it was.
 */
#include <errno.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "netlink/message.h"
#include "src/base/addr.h"
#include "tests/bench/feed.h"

enum { OBJECT_ID = 4711, METRIC = 32, PROTOCOL = 171, ONE_MAX = 256, DST_AT = 16 + sizeof(struct rtmsg) + 4 }; /* both headers before it */

static struct {
	struct addr gateway;
	uint32_t device;
	size_t routes, bytes;
	bool object;
} wish = {.bytes = 16384};

static int fd;
static double longest_s;

static void fail(const char *what, int error)
{
	fprintf(stderr, "bare_routes: %s: %s\n", what, strerror(error));
	exit(1);
}

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void open_socket(void)
{
	int size = 8 << 20, on = 1;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		fail("socket", errno);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size);
	setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof on);
}

/* The kernel works while it is written to. Its first answer is an error, or the acknowledgement of the last message. */
static void write_messages(const void *at, size_t len)
{
	uint64_t answer[64];
	double began = now_s();
	if (send(fd, at, len, 0) != (ssize_t)len)
		fail("send", errno);
	longest_s = now_s() - began > longest_s ? now_s() - began : longest_s;
	ssize_t n = recv(fd, answer, sizeof answer, 0);
	const struct nlmsgerr *e = n < (ssize_t)sizeof(struct nlmsghdr) ? NULL : netlink_message_body((void *)answer, sizeof *e);
	if (!e || e->error)
		fail("the kernel's answer", e ? -e->error : errno);
}

static void change_object(uint16_t type, unsigned flags)
{
	uint64_t buf[ONE_MAX / 8];
	void *body;
	struct netlink_builder b = netlink_message_start(buf, sizeof buf, type, flags, 1, sizeof(struct nhmsg), &body);
	netlink_put_u32(&b, NHA_ID, OBJECT_ID);
	if (type == RTM_NEWNEXTHOP) {
		*(struct nhmsg *)body = (struct nhmsg){.nh_family = netlink_family(&wish.gateway), .nh_protocol = PROTOCOL};
		netlink_put_addr(&b, NHA_GATEWAY, &wish.gateway);
		netlink_put_u32(&b, NHA_OIF, wish.device);
	}
	write_messages(buf, netlink_message_end(&b));
}

/* The message of one route, whose prefix (its first attribute) and acknowledgement are still to come. */
static size_t template(void *buf, uint16_t type, unsigned flags)
{
	void *body;
	struct netlink_builder b = netlink_message_start(buf, ONE_MAX, type, flags, 1, sizeof(struct rtmsg), &body);
	*(struct rtmsg *)body = (struct rtmsg){.rtm_family = netlink_family(&wish.gateway),
					       .rtm_dst_len = addr_is_v4(&wish.gateway) ? 24 : 48,
					       .rtm_table = RT_TABLE_MAIN,
					       .rtm_protocol = PROTOCOL,
					       .rtm_type = RTN_UNICAST};
	netlink_put_addr(&b, RTA_DST, &wish.gateway);
	netlink_put_u32(&b, RTA_PRIORITY, METRIC);
	if (type == RTM_NEWROUTE && wish.object)
		netlink_put_u32(&b, RTA_NH_ID, OBJECT_ID);
	else if (type == RTM_NEWROUTE)
		netlink_put_addr(&b, RTA_GATEWAY, &wish.gateway);
	b.h->nlmsg_flags &= (uint16_t)~NLM_F_ACK;
	return netlink_message_end(&b);
}

static double write_routes(uint16_t type, unsigned flags)
{
	static uint64_t one[ONE_MAX / 8], batch[1 << 17];
	bool v4 = addr_is_v4(&wish.gateway);
	size_t size = template(one, type, flags), len = 0;
	double began = now_s();
	for (size_t i = 0; i < wish.routes; i++) {
		struct prefix p = feed_prefix(v4 ? BGP_IPV4_UNICAST : BGP_IPV6_UNICAST, (uint32_t)i);
		struct nlmsghdr *h = (void *)((char *)batch + len);
		memcpy(h, one, size);
		memcpy((char *)h + DST_AT, v4 ? p.addr.b + 12 : p.addr.b, v4 ? 4 : 16);
		len += size;
		if (len + size <= wish.bytes && i + 1 < wish.routes)
			continue;
		h->nlmsg_flags |= NLM_F_ACK;
		write_messages(batch, len);
		len = 0;
	}
	return now_s() - began;
}

static bool read_options(int argc, char **argv)
{
	for (int c; (c = getopt(argc, argv, "n:g:d:ob:")) != -1;) {
		if (c == 'n')
			wish.routes = strtoul(optarg, NULL, 10);
		else if (c == 'g' && !addr_parse(optarg, &wish.gateway))
			return false;
		else if (c == 'd')
			wish.device = if_nametoindex(optarg);
		else if (c == 'o')
			wish.object = true;
		else if (c == 'b')
			wish.bytes = strtoul(optarg, NULL, 10);
		else if (c == '?')
			return false;
	}
	return wish.routes && wish.device && wish.bytes >= ONE_MAX && wish.bytes <= 1 << 20;
}

int main(int argc, char **argv)
{
	if (!read_options(argc, argv)) {
		fprintf(stderr, "usage: bare_routes -n ROUTES -g GATEWAY -d DEVICE [-o] [-b BYTES]\n");
		return 2;
	}
	open_socket();
	if (wish.object)
		change_object(RTM_NEWNEXTHOP, NLM_F_CREATE | NLM_F_EXCL);
	printf("added %.4f\n", write_routes(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL));
	fflush(stdout);
	printf("deleted %.4f\n", write_routes(RTM_DELROUTE, 0));
	printf("longest %.2f\n", longest_s * 1000);
	if (wish.object)
		change_object(RTM_DELNEXTHOP, 0);
	return 0;
}
