/* struct route to and from RTM_NEWROUTE, RTM_DELROUTE and RTM_GETROUTE. Pure: bytes in, bytes out. One with a nexthop_id
 * is said by that alone; read from a kernel it has its next hops beside it, unless net.ipv4.nexthop_compat_mode is 0.
 * A route of the kernel that struct route cannot carry (cloned, local, multicast, with a type of service, more
 * next hops than ROUTE_NEXTHOPS_MAX, ...) is ERR_UNSUPPORTED, which readers of a dump skip.
 */
#pragma once
#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rib/route.h"

enum netlink_route_op {
	NETLINK_ROUTE_REPLACE, /* the one with the same prefix, table and metric, or a new one */
	NETLINK_ROUTE_ADD,     /* -EEXIST where there is one */
	NETLINK_ROUTE_DELETE,  /* by prefix and mark; next hops, scope and type are not compared */
};

enum { NETLINK_ROUTE_MESSAGE_MAX = 128 + ROUTE_NEXTHOPS_MAX * 40 };

/* Bytes written, 0 where they do not fit, r is a unicast route without a next hop or of another type. */
size_t netlink_route_encode(void *buf, size_t cap, enum netlink_route_op op, uint32_t seq, const struct route *r);
/* *deleted: an RTM_DELROUTE. ERR_CORRUPT, ERR_UNSUPPORTED, or 0. */
int netlink_route_decode(const struct nlmsghdr *h, struct route *out, bool *deleted);

/* What a route is known by, of any type that a host may have on purpose: also local, unreachable and prohibited ones, and
 * those through next-hop objects. Much cheaper than decoding all of it. */
struct netlink_route_head {
	struct prefix prefix;
	struct route_mark mark;
	bool deleted;
	bool several;  /* one of several with the same prefix and metric, as far as this message tells */
	bool replaces; /* whatever had its prefix, table and metric */
};
/* ERR_CORRUPT, ERR_UNSUPPORTED (cloned, broadcast, ...), or 0. */
int netlink_route_head_decode(const struct nlmsghdr *h, struct netlink_route_head *out);

/* A dump that the kernel filters (the socket must have NETLINK_GET_STRICT_CHK). Protocol 0: any.
 * The kernel answers -ENOENT where an IPv4 table does not exist: read that as "no routes". */
size_t netlink_route_dump_request(void *buf, size_t cap, uint32_t seq, int family, uint32_t table, uint8_t protocol);

/* "How would you send to dst?" The answer is what netlink_route_get_decode() reads.
 * ifindex, here and below: over this device, or in the VRF that it is; 0: any. */
size_t netlink_route_get_request(void *buf, size_t cap, uint32_t seq, const struct addr *dst, uint32_t ifindex);
/* "By which route?" The answer is the table's own (its prefix, mark, next hops), as netlink_route_decode() reads it. */
size_t netlink_route_match_request(void *buf, size_t cap, uint32_t seq, const struct addr *dst, uint32_t ifindex);
/* Is the answer that dst is an address of this host? Such a route netlink_route_decode() does not read. */
bool netlink_route_is_local(const struct nlmsghdr *h);

struct netlink_route_answer {
	uint32_t ifindex;
	struct addr source;  /* the address the kernel would send from; zero: it named none */
	struct addr gateway; /* zero: on link */
	bool local;          /* dst is one of this host's own addresses */
};
int netlink_route_get_decode(const struct nlmsghdr *h, struct netlink_route_answer *out);

/* "static (4)" or "main (254)", or "77" where the number has no usual name. Return buf. */
enum { NETLINK_PROTOCOL_TEXT_MAX = 24, NETLINK_TABLE_TEXT_MAX = 24 };
const char *netlink_protocol_text(uint8_t protocol, char buf[NETLINK_PROTOCOL_TEXT_MAX]);
const char *netlink_table_text(uint32_t table, char buf[NETLINK_TABLE_TEXT_MAX]);
