#include "src/cni/rebuild_io.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "netlink/addr_msg.h"
#include "netlink/link_msg.h"
#include "netlink/route_msg.h"
#include "netlink/socket_io.h"
#include "src/base/err.h"
#include "src/cni/names.h"

struct found {
	uint32_t ifindex;
	struct ipam_lease lease;
};

struct rebuild {
	struct found *at;
	size_t count, cap;
	int err;
};

union request {
	struct nlmsghdr h;
	char bytes[256];
};

static void take_link(void *arg, const struct nlmsghdr *h, int error, const char *ext_text)
{
	struct rebuild *r = arg;
	struct netlink_link l;
	bool deleted;
	(void)error;
	(void)ext_text;
	struct found f = {.lease = {.since = time(NULL)}};
	if (r->err || netlink_link_decode(h, &l, &deleted) || strcmp(l.kind, "veth") != 0 ||
	    !cni_alias_parse(l.alias, f.lease.network, f.lease.container, f.lease.ifname))
		return;
	f.ifindex = l.ifindex;
	strcpy(f.lease.host_ifname, l.name);
	cni_mac(f.lease.container, f.lease.ifname, CNI_POD_END, f.lease.mac);
	if (r->count == r->cap) {
		size_t cap = r->cap ? r->cap * 2 : 64;
		struct found *more = reallocarray(r->at, cap, sizeof *more);
		if (!more) {
			r->err = -ENOMEM;
			return;
		}
		r->at = more;
		r->cap = cap;
	}
	r->at[r->count++] = f;
}

/* One address a family, IPv4 first, as a lease has them. */
static void add_address(struct ipam_lease *l, const struct addr *a)
{
	for (unsigned i = 0; i < l->addr_count; i++)
		if (addr_is_v4(&l->addrs[i]) == addr_is_v4(a))
			return;
	l->addrs[l->addr_count++] = *a;
	if (l->addr_count == 2 && addr_is_v4(a)) {
		l->addrs[1] = l->addrs[0];
		l->addrs[0] = *a;
	}
}

/* mac: of the pod's end, where it is known. */
static void give_address(struct rebuild *r, uint32_t ifindex, const struct addr *a, const uint8_t *mac)
{
	for (size_t i = 0; i < r->count; i++) {
		struct ipam_lease *l = &r->at[i].lease;
		if (r->at[i].ifindex != ifindex || !addr_is_unicast(a) || addr_is_link_local(a))
			continue;
		add_address(l, a);
		if (mac)
			memcpy(l->mac, mac, sizeof l->mac);
	}
}

static void take_neighbour(void *arg, const struct nlmsghdr *h, int error, const char *ext_text)
{
	struct netlink_neigh n;
	bool deleted;
	(void)error;
	(void)ext_text;
	if (netlink_neigh_decode(h, &n, &deleted) == 0 && n.state & NUD_PERMANENT)
		give_address(arg, n.ifindex, &n.addr, n.has_mac ? n.mac : NULL);
}

static void take_route(void *arg, const struct nlmsghdr *h, int error, const char *ext_text)
{
	struct route route;
	bool deleted;
	(void)error;
	(void)ext_text;
	if (netlink_route_decode(h, &route, &deleted) == 0 && route.prefix.len == 128 && route.nexthop_count == 1 &&
	    addr_is_zero(&route.nexthops[0].gateway))
		give_address(arg, route.nexthops[0].ifindex, &route.prefix.addr, NULL);
}

static bool lacks_address(const struct rebuild *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (!r->at[i].lease.addr_count)
			return true;
	return false;
}

static int look(struct rebuild *r, struct netlink_socket *s)
{
	static const int families[] = {AF_INET, AF_INET6};
	union request q;
	netlink_link_dump_request(&q, sizeof q, 0);
	int err = netlink_dump(s, &q, take_link, r);
	if (err || r->err || !r->count)
		return err ? err : r->err;
	netlink_neigh_dump_request(&q, sizeof q, 0);
	err = netlink_dump(s, &q, take_neighbour, r);
	/* an interface that was down for a moment lost its neighbours, and the daemon has put its routes back; there may be
	 * very many routes, so they are only read then */
	for (int i = 0; i < 2 && !err && lacks_address(r); i++) {
		netlink_route_dump_request(&q, sizeof q, 0, families[i], 0, 0);
		err = netlink_dump(s, &q, take_route, r);
	}
	return err;
}

/* A dump that was repeated shows a link twice, and two interfaces may claim one address: the first has it. */
static int restore_all(const struct rebuild *r, struct ipam_store *s)
{
	int err = 0;
	for (size_t i = 0; i < r->count && (!err || err == ERR_EXISTS); i++)
		err = r->at[i].lease.addr_count ? ipam_store_restore(s, &r->at[i].lease) : 0;
	return err == ERR_EXISTS ? 0 : err;
}

int cni_rebuild(void *arg, struct ipam_store *s)
{
	struct rebuild r = {.count = 0};
	struct netlink_socket *socket;
	(void)arg;
	int err = netlink_socket_open(&socket, 0);
	if (err)
		return err;
	err = look(&r, socket);
	netlink_socket_close(socket);
	if (!err)
		err = restore_all(&r, s);
	free(r.at);
	return err;
}
