#include "src/cni/kernel_io.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "netlink/addr_msg.h"
#include "netlink/route_msg.h"
#include "src/base/err.h"

union message {
	struct nlmsghdr h;
	char bytes[2048];
};

/* Sends the message of len bytes and turns a refusal into "step: reason". -errno is returned too, for
 * those who can do something about one. */
static int run(struct netlink_socket *s, const union message *m, size_t len, struct cni_error *e, const char *step,
	       const char *object)
{
	char text[NETLINK_TEXT_MAX] = "";
	int err = len ? netlink_request(s, m, text, sizeof text) : -EMSGSIZE;
	if (!err)
		return 0;
	cni_fail(e, err == -ETIMEDOUT ? CNI_TRY_AGAIN : CNI_KERNEL, "cannot %s %s: %s%s%s", step, object, err_text(err),
		 text[0] ? ": " : "", text);
	if (err == -EPERM)
		cni_fail_details(e, "the plugin needs CAP_NET_ADMIN and CAP_SYS_ADMIN, as root has");
	return err;
}

/* --- devices */

static void take_link(void *arg, const struct nlmsghdr *h, int error, const char *ext_text)
{
	bool deleted;
	(void)error;
	(void)ext_text;
	struct netlink_link l;
	if (netlink_link_decode(h, &l, &deleted) == 0)
		*(struct netlink_link *)arg = l;
}

int cni_link_find(struct netlink_socket *s, const char *name, struct netlink_link *out, bool *found,
		  struct cni_error *e)
{
	union message m;
	memset(out, 0, sizeof *out);
	*found = false;
	size_t len = netlink_link_get_by_name(&m, sizeof m, 0, name);
	int err = len ? netlink_query(s, &m, take_link, out) : -EMSGSIZE;
	if (err && err != -ENODEV)
		return cni_fail(e, CNI_KERNEL, "cannot look for interface %s: %s", name, err_text(err));
	*found = !err && out->ifindex;
	return 0;
}

int cni_vrf_find(struct netlink_socket *host, struct cni_settings *settings, uint32_t *ifindex, struct cni_error *e)
{
	struct netlink_link l;
	bool found;
	*ifindex = 0;
	if (!settings->vrf[0])
		return 0;
	int err = cni_link_find(host, settings->vrf, &l, &found, e);
	if (err)
		return err;
	if (!found || !l.vrf_table) {
		cni_fail(e, CNI_TRY_AGAIN, "the VRF %s, which pods are to be in, is not there (yet)", settings->vrf);
		return cni_fail_details(e, "it is underlayd's kernel.vrf; see: underlayc show status");
	}
	settings->table = l.vrf_table;
	*ifindex = l.ifindex;
	return 0;
}

int cni_vrf_enter(struct netlink_socket *host, const struct netlink_link *l, uint32_t vrf, struct cni_error *e)
{
	union message m;
	size_t len = netlink_link_enslave(&m, sizeof m, 0, l->ifindex, vrf);
	return run(host, &m, len, e, "put into its VRF", l->name) ? e->code : 0;
}

static bool is_ours(const struct netlink_link *l, const char *container, const char *ifname)
{
	uint8_t mac[CNI_MAC_LEN];
	cni_mac(container, ifname, CNI_HOST_END, mac);
	if (strcmp(l->kind, "veth") != 0)
		return false;
	/* who was killed between making it and naming it left it without an alias */
	return cni_alias_matches(l->alias, container, ifname) || (!l->alias[0] && memcmp(l->mac, mac, sizeof mac) == 0);
}

int cni_host_link_find(struct netlink_socket *host, const char *container, const char *ifname,
		       struct netlink_link *out, bool *found, struct cni_error *e)
{
	char name[CNI_NAME_MAX], free_name[CNI_NAME_MAX] = "";
	*found = false;
	for (unsigned i = 0; i < CNI_HOST_NAMES; i++) {
		cni_host_ifname(container, ifname, i, name);
		int err = cni_link_find(host, name, out, found, e);
		if (err)
			return err;
		if (*found && is_ours(out, container, ifname))
			return 0;
		if (!*found && !free_name[0])
			strcpy(free_name, name);
	}
	*found = false;
	memset(out, 0, sizeof *out);
	strcpy(out->name, free_name);
	return 0;
}

int cni_host_link_remove(struct netlink_socket *host, const char *container, const char *ifname, struct cni_error *e)
{
	struct netlink_link l;
	union message m;
	for (;;) {
		bool found;
		int err = cni_host_link_find(host, container, ifname, &l, &found, e);
		if (err || !found)
			return err;
		size_t len = netlink_link_delete(&m, sizeof m, 0, l.ifindex);
		err = run(host, &m, len, e, "remove interface", l.name);
		if (err && err != -ENODEV) /* the namespace died meanwhile and took it along */
			return e->code;
	}
}

int cni_veth_make(struct netlink_socket *host, const struct netlink_veth *v, struct cni_error *e)
{
	union message m;
	size_t len = netlink_link_add_veth(&m, sizeof m, 0, v);
	int err = run(host, &m, len, e, "make the interface pair for", v->peer_name);
	if (err == -EEXIST)
		return cni_fail(e, CNI_EXISTS, "interface %s appeared in the pod, or %s on the host, in this moment",
				v->peer_name, v->name);
	return err ? e->code : 0;
}

int cni_link_up(struct netlink_socket *s, const struct netlink_link *l, const char *alias, struct cni_error *e)
{
	union message m;
	size_t len = netlink_link_up(&m, sizeof m, 0, l->ifindex, alias);
	return run(s, &m, len, e, "bring up", l->name) ? e->code : 0;
}

void cni_link_await(struct netlink_socket *s, const struct netlink_link *l)
{
	enum { TRIES = 1000 };
	struct timespec pause = {.tv_nsec = 1000000};
	struct netlink_link now;
	struct cni_error ignored;
	bool found;
	/* since Linux 6.8 the question itself makes it ready */
	for (int i = 0; i < TRIES; i++) {
		if (cni_link_find(s, l->name, &now, &found, &ignored) || !found || now.flags & IFF_RUNNING)
			return;
		nanosleep(&pause, NULL);
	}
}

/* --- addresses, neighbours, routes */

int cni_addr_add(struct netlink_socket *s, const struct netlink_link *l, const struct addr *a, struct cni_error *e)
{
	union message m;
	char text[ADDR_TEXT_MAX];
	size_t len = netlink_addr_add(&m, sizeof m, 0, l->ifindex, a);
	return run(s, &m, len, e, "give the pod address", addr_format(a, text)) ? e->code : 0;
}

int cni_neigh_set(struct netlink_socket *s, const struct netlink_link *l, const struct addr *a,
		  const uint8_t mac[CNI_MAC_LEN], struct cni_error *e)
{
	union message m;
	char text[ADDR_TEXT_MAX];
	size_t len = netlink_neigh_set(&m, sizeof m, 0, l->ifindex, a, mac);
	return run(s, &m, len, e, "set the neighbour", addr_format(a, text)) ? e->code : 0;
}

int cni_route_add(struct netlink_socket *s, const struct netlink_link *l, const struct prefix *prefix,
		  const struct addr *gateway, const struct route_mark *mark, struct cni_error *e)
{
	union message m;
	char text[PREFIX_TEXT_MAX];
	struct route r = {.prefix = *prefix, .type = ROUTE_UNICAST, .mark = *mark, .nexthop_count = 1};
	r.nexthops[0] = (struct route_nexthop){.ifindex = l->ifindex, .weight = 1};
	if (gateway)
		r.nexthops[0].gateway = *gateway;
	size_t len = netlink_route_encode(&m, sizeof m, NETLINK_ROUTE_ADD, 0, &r);
	int err = run(s, &m, len, e, "add the route", prefix_format(prefix, text));
	if (err != -EEXIST)
		return err ? e->code : 0;
	cni_fail(e, CNI_EXISTS, "a route to %s is there already, and it is not through %s", text, l->name);
	return cni_fail_details(e, "see: ip route show table %u %s", mark->table, text);
}

/* --- looking */

struct search {
	uint32_t ifindex;
	const struct addr *addr;
	const uint8_t *mac;
	const struct prefix *prefix;
	const struct addr *gateway;
	const struct route_mark *mark;
	bool found;
};

static void match_addr(void *arg, const struct nlmsghdr *h, int error, const char *ext_text)
{
	struct search *x = arg;
	struct netlink_addr a;
	bool deleted;
	(void)error;
	(void)ext_text;
	if (netlink_addr_decode(h, &a, &deleted) == 0 && a.ifindex == x->ifindex && addr_eq(&a.addr, x->addr))
		x->found = true;
}

bool cni_addr_present(struct netlink_socket *s, const struct netlink_link *l, const struct addr *a)
{
	union message m;
	struct search x = {.ifindex = l->ifindex, .addr = a};
	if (netlink_addr_dump_request(&m, sizeof m, 0, addr_is_v4(a) ? AF_INET : AF_INET6, l->ifindex))
		netlink_dump(s, &m, match_addr, &x);
	return x.found;
}

static void match_neigh(void *arg, const struct nlmsghdr *h, int error, const char *ext_text)
{
	struct search *x = arg;
	struct netlink_neigh n;
	bool deleted;
	(void)error;
	(void)ext_text;
	if (netlink_neigh_decode(h, &n, &deleted) == 0 && n.ifindex == x->ifindex && (n.state & NUD_PERMANENT) &&
	    n.has_mac && memcmp(n.mac, x->mac, sizeof n.mac) == 0)
		x->found = true;
}

bool cni_neigh_present(struct netlink_socket *s, const struct netlink_link *l, const struct addr *a,
		       const uint8_t mac[CNI_MAC_LEN])
{
	union message m;
	struct search x = {.ifindex = l->ifindex, .addr = a, .mac = mac};
	if (netlink_neigh_get(&m, sizeof m, 0, l->ifindex, a))
		netlink_query(s, &m, match_neigh, &x);
	return x.found;
}

static bool leaves_through(const struct route *r, const struct search *x)
{
	for (unsigned i = 0; i < r->nexthop_count; i++)
		if (r->nexthops[i].ifindex == x->ifindex &&
		    (addr_is_zero(x->gateway) || addr_eq(&r->nexthops[i].gateway, x->gateway)))
			return true;
	return false;
}

static void match_route(void *arg, const struct nlmsghdr *h, int error, const char *ext_text)
{
	struct search *x = arg;
	struct route r;
	bool deleted;
	(void)error;
	(void)ext_text;
	if (netlink_route_decode(h, &r, &deleted) != 0 || !prefix_eq(&r.prefix, x->prefix))
		return;
	if (r.mark.table == x->mark->table && (!x->mark->protocol || r.mark.protocol == x->mark->protocol) &&
	    leaves_through(&r, x))
		x->found = true;
}

bool cni_route_present(struct netlink_socket *s, const struct netlink_link *l, const struct prefix *prefix,
		       const struct addr *gateway, const struct route_mark *mark)
{
	union message m;
	struct search x = {.ifindex = l->ifindex, .prefix = prefix, .gateway = gateway, .mark = mark};
	/* one question answers it in the usual tables, however many routes there are */
	if (netlink_route_match_request(&m, sizeof m, 0, &prefix->addr, 0))
		netlink_query(s, &m, match_route, &x);
	int family = prefix_is_v4(prefix) ? AF_INET : AF_INET6;
	if (!x.found && netlink_route_dump_request(&m, sizeof m, 0, family, mark->table, mark->protocol))
		netlink_dump(s, &m, match_route, &x);
	return x.found;
}
