#include "src/daemon/pods_io.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include "ipam/store_io.h"
#include "netlink/link_msg.h"
#include "netlink/route_msg.h"
#include "netlink/socket_io.h"
#include "src/base/err.h"
#include "src/base/log_io.h"
#include "src/daemon/daemon.h"

int pods_each(const struct daemon *d, int (*fn)(void *arg, const struct ipam_lease *l), void *arg)
{
	char dir[256];
	struct ipam_store *store;
	snprintf(dir, sizeof dir, "%s/leases", d->conf->run_dir);
	int error = ipam_store_open(&store, dir, false);
	if (error)
		return error == ERR_NOT_FOUND || error == -ENOENT ? 0 : error;
	error = ipam_store_each(store, fn, arg);
	ipam_store_close(store);
	return error;
}

struct answer {
	struct netlink_link link;
	bool found;
};

static void on_link(void *arg, const struct nlmsghdr *h, int error, const char *text)
{
	struct answer *a = arg;
	bool deleted;
	(void)text;
	if (!error && netlink_link_decode(h, &a->link, &deleted) == 0)
		a->found = true;
}

static bool find_link(struct netlink_socket *s, const char *name, struct netlink_link *out)
{
	uint64_t buf[NETLINK_LINK_MESSAGE_MAX / 8];
	struct answer a = {.found = false};
	if (!*name || !netlink_link_get_by_name(buf, sizeof buf, 1, name) || netlink_query(s, buf, on_link, &a) || !a.found)
		return false;
	*out = a.link;
	return true;
}

const char *pods_link_state(const struct ipam_lease *l)
{
	struct netlink_socket *s;
	struct netlink_link link;
	if (netlink_socket_open(&s, 0))
		return "unknown";
	bool found = find_link(s, l->host_ifname, &link);
	netlink_socket_close(s);
	return !found ? "no interface" : (link.flags & (IFF_UP | IFF_LOWER_UP)) == (IFF_UP | IFF_LOWER_UP) ? "up" : "link down";
}

struct repair {
	const struct daemon *daemon;
	struct netlink_socket *socket;
	unsigned repaired;
};

static bool add_route(struct repair *r, const struct addr *a, uint32_t ifindex)
{
	uint64_t buf[NETLINK_ROUTE_MESSAGE_MAX / 8];
	struct route route = {.prefix = prefix_make(a, 128),
			      .mark = {.table = r->daemon->conf->kernel.table, .protocol = r->daemon->conf->kernel.protocol},
			      .nexthop_count = 1,
			      .nexthops = {{.ifindex = ifindex, .weight = 1}}};
	return netlink_route_encode(buf, sizeof buf, NETLINK_ROUTE_ADD, 1, &route) && netlink_request(r->socket, buf, NULL, 0) == 0;
}

/* Adding is refused where the route stands, which is as it should be. A link that is down cannot have one. */
static int repair_lease(void *arg, const struct ipam_lease *l)
{
	struct repair *r = arg;
	struct netlink_link link;
	if (!find_link(r->socket, l->host_ifname, &link) || !(link.flags & IFF_UP))
		return 0;
	for (unsigned i = 0; i < l->addr_count; i++)
		r->repaired += add_route(r, &l->addrs[i], link.ifindex);
	return 0;
}

void pods_repair(struct daemon *d)
{
	struct repair r = {.daemon = d};
	if (netlink_socket_open(&r.socket, 0))
		return;
	pods_each(d, repair_lease, &r);
	netlink_socket_close(r.socket);
	if (r.repaired)
		log_warn("pods", "%u routes to pods were missing and are back", r.repaired);
}
