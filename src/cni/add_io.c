#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/base/clock_io.h"
#include "src/base/err.h"
#include "src/base/sysctl_io.h"
#include "src/cni/edge_io.h"
#include "src/cni/kernel_io.h"
#include "src/cni/netns_io.h"
#include "src/cni/result.h"
#include "src/cni/verbs_io.h"
#include "src/cni/wishes.h"

struct add {
	const struct cni_request *r;
	struct cni_settings settings;
	struct cni_wishes wishes;
	struct ipam_store *store;
	struct netlink_socket *host, *pod;
	int netns;
	uint32_t vrf;        /* 0: none */
	struct ipam_lease lease;
	bool leased;         /* it is ours to give back */
	bool address_used;   /* it may have been on the wire: it must rest */
	struct netlink_link host_end, pod_end;
};

/* Protocol 4 is "static": seen from inside, an administrator made them. */
static const struct route_mark pod_mark = {.table = 254, .protocol = 4};

/* --- before anything changes */

static int open_netns(struct add *a, struct cni_error *e)
{
	const char *path = a->r->netns;
	a->netns = cni_netns_open(path);
	if (a->netns == -ENOTTY)
		return cni_fail(e, CNI_BAD_ENVIRONMENT, "CNI_NETNS %s is not a network namespace", path);
	if (a->netns < 0)
		return cni_fail(e, CNI_BAD_ENVIRONMENT, "cannot open CNI_NETNS %s: %s", path, err_text(a->netns));
	if (cni_netns_is_own(a->netns) && !a->r->own_netns_allowed)
		return cni_fail(e, CNI_BAD_NETNS, "CNI_NETNS %s is the network namespace of the plugin itself", path);
	int err = netlink_socket_open(&a->host, 0);
	if (!err)
		err = cni_netns_socket(a->netns, &a->pod);
	return err ? cni_fail(e, CNI_KERNEL, "cannot open a netlink socket: %s", err_text(err)) : 0;
}

static int open_store(struct add *a, struct cni_error *e)
{
	int err = cni_wishes_parse(a->r, &a->wishes, e);
	if (!err)
		err = cni_settings_read(a->r, &a->settings, e);
	if (!err)
		err = cni_vrf_find(a->host, &a->settings, &a->vrf, e);
	return err ? err : cni_store_open(a->r, true, &a->store, e);
}

static int refuse_existing(struct add *a, struct cni_error *e)
{
	struct netlink_link there;
	struct ipam_lease lease;
	bool found;
	char text[ADDR_TEXT_MAX];
	int err = cni_link_find(a->pod, a->r->ifname, &there, &found, e);
	if (err || !found)
		return err;
	if (ipam_store_find_owner_any_network(a->store, a->r->container, a->r->ifname, &lease) == 0 && lease.addr_count &&
	    memcmp(lease.mac, there.mac, sizeof lease.mac) == 0)
		return cni_fail(e, CNI_EXISTS, "container %.64s has its %s already, with address %s; DEL comes before "
				"another ADD", a->r->container, a->r->ifname, addr_format(&lease.addrs[0], text));
	return cni_fail(e, CNI_EXISTS, "interface %s exists in %s and was left as it is", a->r->ifname, a->r->netns);
}

/* --- the lease */

/* Does the interface that a lease stands for still live where it was made? */
static bool lease_lives(const struct ipam_lease *l)
{
	struct netlink_socket *s;
	struct netlink_link there;
	struct cni_error ignored;
	bool found = false;
	int fd = cni_netns_open(l->netns);
	if (fd < 0)
		return false;
	if (cni_netns_socket(fd, &s) == 0) {
		cni_link_find(s, l->ifname, &there, &found, &ignored);
		netlink_socket_close(s);
	}
	close(fd);
	return found && memcmp(there.mac, l->mac, sizeof l->mac) == 0;
}

static void wanted_lease(const struct add *a, struct ipam_lease *l)
{
	memset(l, 0, sizeof *l);
	strcpy(l->network, a->r->network);
	strcpy(l->container, a->r->container);
	strcpy(l->ifname, a->r->ifname);
	strcpy(l->host_ifname, a->host_end.name);
	strcpy(l->netns, a->r->netns);
	strcpy(l->pod, a->r->pod);
	cni_mac(l->container, l->ifname, CNI_POD_END, l->mac);
	if (a->wishes.has_mac)
		memcpy(l->mac, a->wishes.mac, sizeof l->mac);
	memcpy(l->addrs, a->wishes.addrs, sizeof l->addrs);
	l->addr_count = a->wishes.addr_count;
	l->since = time(NULL);
}

static bool has_addresses(const struct ipam_lease *l, const struct ipam_lease *wanted)
{
	for (unsigned i = 0; i < wanted->addr_count; i++) {
		bool found = false;
		for (unsigned j = 0; j < l->addr_count; j++)
			found |= addr_eq(&wanted->addrs[i], &l->addrs[j]);
		if (!found)
			return false;
	}
	return true;
}

/* The owner has a lease: a second ADD is refused, but one whose interface is gone (the runtime lost it
 * without a DEL) goes on under the same address. */
static int adopt_lease(struct add *a, const struct ipam_lease *wanted, struct cni_error *e)
{
	char text[ADDR_TEXT_MAX];
	if (lease_lives(&a->lease))
		return cni_fail(e, CNI_EXISTS, "container %.64s has its %s already, with address %s in %.160s",
				a->r->container, a->r->ifname, addr_format(&a->lease.addrs[0], text), a->lease.netns);
	if (!has_addresses(&a->lease, wanted))
		return cni_fail(e, CNI_EXISTS, "container %.64s has a lease for its %s with other addresses than are asked for; "
				"DEL comes before another ADD", a->r->container, a->r->ifname);
	struct ipam_lease renewed = *wanted;
	memcpy(renewed.addrs, a->lease.addrs, sizeof renewed.addrs);
	renewed.addr_count = a->lease.addr_count;
	a->lease = renewed;
	int err = ipam_store_update(a->store, &renewed);
	if (err)
		return cni_store_fail(a->r, err, "renew a lease", e);
	a->leased = a->address_used = true;
	return 0;
}

static int take_lease(struct add *a, struct cni_error *e)
{
	struct ipam_lease wanted;
	struct ipam_shortage shortage = {.total = 0};
	bool found;
	/* only known free while the owner's lock is held, which it is */
	int err = cni_host_link_find(a->host, a->r->container, a->r->ifname, &a->host_end, &found, e);
	if (err)
		return err;
	if (!a->host_end.name[0])
		return cni_fail(e, CNI_KERNEL, "all %d names for the host's end are taken by other devices", CNI_HOST_NAMES);
	wanted_lease(a, &wanted);
	struct ipam_request q = {
		.wanted = &wanted,
		.cidrs = a->settings.cidrs,
		.cidr_count = a->settings.cidr_count,
		.now_ms = clock_now().ms,
		.reuse_delay_ms = a->settings.reuse_delay_ms,
	};
	err = ipam_store_take(a->store, &q, &a->lease, &shortage);
	if (err == ERR_EXISTS)
		return adopt_lease(a, &wanted, e);
	if (err)
		return cni_no_address(a->r, &a->settings, err, &shortage, e);
	a->leased = true;
	return 0;
}

static bool give_back_lease(struct add *a)
{
	if (!a->leased)
		return true;
	return ipam_store_release(a->store, a->r->network, a->r->container, a->r->ifname,
				  a->address_used ? clock_now().ms : 0) == 0;
}

/* --- the kernel */

static int make_veth(struct add *a, struct cni_error *e)
{
	bool found;
	/* what an earlier, killed ADD left under this container's name */
	int err = cni_host_link_remove(a->host, a->r->container, a->r->ifname, e);
	if (err)
		return err;
	struct netlink_veth v = {
		.name = a->lease.host_ifname,
		.peer_name = a->r->ifname,
		.mtu = a->settings.mtu,
		.peer_netns = a->netns,
	};
	cni_mac(a->r->container, a->r->ifname, CNI_HOST_END, v.mac);
	memcpy(v.peer_mac, a->lease.mac, sizeof v.peer_mac);
	err = cni_veth_make(a->host, &v, e);
	if (!err)
		err = cni_link_find(a->host, v.name, &a->host_end, &found, e);
	if (!err)
		err = cni_link_find(a->pod, v.peer_name, &a->pod_end, &found, e);
	if (!err && (!a->host_end.ifindex || !a->pod_end.ifindex))
		return cni_fail(e, CNI_KERNEL, "the interface pair for %s vanished", a->r->ifname);
	return err;
}

static bool remove_veth(struct add *a)
{
	struct cni_error ignored;
	return cni_host_link_remove(a->host, a->r->container, a->r->ifname, &ignored) == 0;
}

static int raise_ends(struct add *a, struct cni_error *e)
{
	char alias[CNI_ALIAS_MAX];
	struct netlink_link lo;
	bool found;
	cni_alias(a->r->network, a->r->container, a->r->ifname, alias);
	sysctl_settle_pod_link(a->host_end.name); /* where /proc/sys is read-only, underlayd says so */
	int err = a->vrf ? cni_vrf_enter(a->host, &a->host_end, a->vrf, e) : 0;
	if (!err)
		err = cni_link_up(a->host, &a->host_end, alias, e);
	if (!err)
		err = cni_link_up(a->pod, &a->pod_end, NULL, e);
	if (!err)
		err = cni_link_find(a->pod, "lo", &lo, &found, e);
	if (!err && found)
		err = cni_link_up(a->pod, &lo, NULL, e); /* a pod reaches its own address through it */
	return err;
}

static struct prefix default_prefix(bool v4)
{
	static const struct addr zero;
	return v4 ? prefix_make_v4(0, 0) : prefix_make(&zero, 0);
}

static int connect_pod_family(struct add *a, const struct addr *address, struct cni_error *e)
{
	bool v4 = addr_is_v4(address);
	struct addr gateway = cni_gateway(v4);
	struct prefix all = default_prefix(v4), gateway_only = prefix_make(&gateway, 128);
	int err = cni_addr_add(a->pod, &a->pod_end, address, e);
	/* permanent: nobody has to answer for the gateway, ever */
	if (!err)
		err = cni_neigh_set(a->pod, &a->pod_end, &gateway, a->host_end.mac, e);
	if (!err && v4) /* an IPv6 link-local gateway is on its link by nature */
		err = cni_route_add(a->pod, &a->pod_end, &gateway_only, NULL, &pod_mark, e);
	if (!err)
		err = cni_route_add(a->pod, &a->pod_end, &all, &gateway, &pod_mark, e);
	return err;
}

static int connect_pod(struct add *a, struct cni_error *e)
{
	int err = 0;
	a->address_used = true;
	for (unsigned i = 0; !err && i < a->lease.addr_count; i++)
		err = connect_pod_family(a, &a->lease.addrs[i], e);
	return err;
}

static int connect_host(struct add *a, struct cni_error *e)
{
	struct route_mark mark = {.table = a->settings.table, .protocol = a->settings.protocol};
	int err = 0;
	for (unsigned i = 0; !err && i < a->lease.addr_count; i++) {
		struct prefix pod = prefix_make(&a->lease.addrs[i], 128);
		err = cni_neigh_set(a->host, &a->host_end, &pod.addr, a->pod_end.mac, e);
		if (!err)
			err = cni_route_add(a->host, &a->host_end, &pod, NULL, &mark, e);
	}
	if (err == CNI_EXISTS)
		err = e->code = CNI_TRY_AGAIN; /* the next ADD is given another address */
	return err;
}

static int await_ends(struct add *a, struct cni_error *e)
{
	(void)e;
	cni_link_await(a->host, &a->host_end);
	cni_link_await(a->pod, &a->pod_end);
	return 0;
}

static int print_result(struct add *a, struct cni_error *e)
{
	struct cni_result result = {
		.version = a->r->version,
		.host_ifname = a->host_end.name,
		.ifname = a->r->ifname,
		.netns = a->r->netns,
		.host_mac = a->host_end.mac,
		.mac = a->pod_end.mac,
		.lease = &a->lease,
	};
	json_object_object_get_ex(a->r->config, "dns", &result.dns);
	char *text = cni_result_text(&result);
	int err = cni_print(text, e);
	free(text);
	return err;
}

/* In order; undo runs from the failing step back, so each undo is right also where its step did not, or
 * only half, happen. Removing the veth removes all that was put on it. An undo that fails ends
 * the undoing: the lease of an address that is still in the kernel stays. */
static const struct step {
	int (*run)(struct add *, struct cni_error *);
	bool (*undo)(struct add *);
} steps[] = {
	{open_netns, NULL},
	{open_store, NULL},
	{refuse_existing, NULL},
	{take_lease, give_back_lease},
	{make_veth, remove_veth},
	{raise_ends, NULL},
	{connect_pod, NULL},
	{connect_host, NULL},
	{await_ends, NULL},
	{print_result, NULL},
};
enum { STEPS = sizeof steps / sizeof steps[0] };

static void undo_from(struct add *a, int i)
{
	for (; i >= 0; i--)
		if (steps[i].undo && !steps[i].undo(a))
			return;
}

int cni_add(const struct cni_request *r, struct cni_error *e)
{
	struct add a = {.r = r, .netns = -1};
	int err = 0;
	for (int i = 0; i < STEPS && !err; i++) {
		err = steps[i].run(&a, e);
		if (err)
			undo_from(&a, i);
	}
	netlink_socket_close(a.pod);
	netlink_socket_close(a.host);
	ipam_store_close(a.store);
	if (a.netns >= 0)
		close(a.netns);
	return err;
}
