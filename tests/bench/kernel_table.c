#include "tests/bench/kernel_table.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "netlink/message.h"
#include "netlink/route_msg.h"
#include "netlink/socket_io.h"
#include "tests/bench/feed.h"

enum { SAMPLES = 256 };

struct kernel_table {
	struct netlink_socket *socket;
	enum bgp_family family;
	size_t prefixes, sample; /* sample: the next one to ask for */
	size_t count;            /* of the answer that is being read */
	size_t shift;            /* from the first samples to these: after a count that was not right others are asked for */
	struct timespec again_at; /* and not counted before: reading the table keeps the daemon from changing it */
	unsigned next_hops;      /* 0: any number */
};

/* A socket belongs to the namespace that it is opened in. */
static int open_in(const char *netns, struct netlink_socket **out)
{
	char path[256];
	snprintf(path, sizeof path, "/run/netns/%s", netns);
	int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), there = open(path, O_RDONLY | O_CLOEXEC), error = 0;
	if (here < 0 || there < 0 || setns(there, CLONE_NEWNET) < 0)
		error = -errno;
	else
		error = netlink_socket_open(out, 0);
	if (!error && setns(here, CLONE_NEWNET) < 0)
		error = -errno;
	close(here);
	close(there);
	return error;
}

struct kernel_table *kernel_table_open(const char *netns, enum bgp_family family, size_t prefixes)
{
	struct kernel_table *k = calloc(1, sizeof *k);
	if (!k)
		return NULL;
	k->family = family;
	k->prefixes = prefixes;
	int error = open_in(netns, &k->socket);
	if (!error)
		return k;
	free(k);
	errno = -error;
	return NULL;
}

/* A route over a next-hop object may name nothing but that, so only the prefix is read. */
static bool is_of_the_feed(const struct kernel_table *k, const struct nlmsghdr *h)
{
	const struct rtmsg *rt = netlink_message_body(h, sizeof *rt);
	const struct nlattr *at[RTA_DST + 1];
	struct addr dst;
	if (!rt || h->nlmsg_type != RTM_NEWROUTE || rt->rtm_type != RTN_UNICAST || rt->rtm_flags & RTM_F_CLONED)
		return false;
	netlink_attrs(h, sizeof *rt, at, RTA_DST);
	if (!netlink_get_addr(at[RTA_DST], rt->rtm_family, &dst))
		return false;
	struct prefix p = prefix_make(&dst, rt->rtm_dst_len + (rt->rtm_family == AF_INET ? (unsigned)ADDR_V4_BITS : 0u));
	uint32_t number = feed_number(&p);
	struct prefix fed = feed_prefix(k->family, number);
	return number < k->prefixes && prefix_eq(&p, &fed);
}

static bool has_next_hops(const struct kernel_table *k, const struct nlmsghdr *h)
{
	struct route r;
	bool deleted;
	return !k->next_hops || (netlink_route_decode(h, &r, &deleted) == 0 && r.nexthop_count == k->next_hops);
}

static void on_route(void *arg, const struct nlmsghdr *h, int error, const char *text)
{
	struct kernel_table *k = arg;
	(void)error;
	(void)text;
	k->count += is_of_the_feed(k, h) && has_next_hops(k, h);
}

/* By which route would a packet to the prefix go? */
static bool has_sample(struct kernel_table *k, size_t sample)
{
	uint64_t request[NETLINK_ROUTE_MESSAGE_MAX / 8];
	size_t number = ((k->prefixes - 1) * sample / (SAMPLES - 1) + k->shift) % k->prefixes;
	struct prefix p = feed_prefix(k->family, (uint32_t)number);
	k->count = 0;
	netlink_route_match_request(request, sizeof request, 1, &p.addr, 0);
	return netlink_query(k->socket, request, on_route, k) == 0 && k->count;
}

/* A dump that a change interrupted counts nothing. */
static bool has_count(struct kernel_table *k, size_t wanted)
{
	uint64_t request[NETLINK_ROUTE_MESSAGE_MAX / 8];
	int family = k->family == BGP_IPV4_UNICAST ? AF_INET : AF_INET6;
	k->count = 0;
	netlink_route_dump_request(request, sizeof request, 1, family, RT_TABLE_MAIN, 0);
	return netlink_dump(k->socket, request, on_route, k) == 0 && k->count == wanted;
}

static bool is_too_early(const struct kernel_table *k)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec < k->again_at.tv_sec || (now.tv_sec == k->again_at.tv_sec && now.tv_nsec < k->again_at.tv_nsec);
}

/* The next count comes no earlier than after three times what this one took. */
static bool count_all(struct kernel_table *k, size_t wanted)
{
	struct timespec from, to;
	clock_gettime(CLOCK_MONOTONIC, &from);
	bool right = has_count(k, wanted);
	clock_gettime(CLOCK_MONOTONIC, &to);
	long long wait_ns = 3 * ((to.tv_sec - from.tv_sec) * 1000000000LL + to.tv_nsec - from.tv_nsec) + to.tv_nsec;
	k->again_at = (struct timespec){to.tv_sec + wait_ns / 1000000000, wait_ns % 1000000000};
	return right;
}

void kernel_table_want_next_hops(struct kernel_table *k, unsigned count)
{
	k->next_hops = count;
}

bool kernel_table_is(struct kernel_table *k, bool there)
{
	while (k->sample < SAMPLES && has_sample(k, k->sample) == there)
		k->sample++;
	if (k->sample < SAMPLES || is_too_early(k))
		return false;
	k->sample = 0;
	if (count_all(k, there ? k->prefixes : 0))
		return true;
	k->shift += 37;
	return false;
}
