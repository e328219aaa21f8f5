#include <errno.h>
#include <json-c/json.h>
#include <linux/if.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/cni/edge_io.h"
#include "src/cni/kernel_io.h"
#include "src/cni/netns_io.h"
#include "src/cni/result.h"
#include "src/cni/verbs_io.h"

struct check {
	const struct cni_request *r;
	struct cni_settings settings;
	struct ipam_store *store;
	struct netlink_socket *host, *pod;
	struct ipam_lease lease;
	struct cni_prev prev;
	uint32_t vrf; /* 0: none */
	struct netlink_link host_end, pod_end;
};

static int open_all(struct check *c, struct cni_error *e)
{
	int err = cni_settings_read(c->r, &c->settings, e);
	if (!err)
		err = cni_store_open(c->r, true, &c->store, e); /* one that is missing is made from the kernel */
	if (err)
		return err;
	int fd = cni_netns_open(c->r->netns);
	if (fd < 0)
		return cni_fail(e, CNI_BAD_ENVIRONMENT, "cannot open CNI_NETNS %s: %s", c->r->netns,
				fd == -ENOTTY ? "not a network namespace" : err_text(fd));
	err = netlink_socket_open(&c->host, 0);
	if (!err)
		err = cni_netns_socket(fd, &c->pod);
	close(fd);
	if (err)
		return cni_fail(e, CNI_KERNEL, "cannot open a netlink socket: %s", err_text(err));
	return cni_vrf_find(c->host, &c->settings, &c->vrf, e);
}

static int check_lease(struct check *c, struct cni_error *e)
{
	int err = ipam_store_find(c->store, c->r->network, c->r->container, c->r->ifname, &c->lease);
	if (err == ERR_NOT_FOUND)
		return cni_fail(e, CNI_NOT_AS_MADE, "no lease for %s of container %.64s in network %s", c->r->ifname,
				c->r->container, c->r->network);
	return err ? cni_store_fail(c->r, err, "find the lease", e) : 0;
}

static int check_prev(struct check *c, struct cni_error *e)
{
	struct json_object *prev = NULL;
	json_object_object_get_ex(c->r->config, "prevResult", &prev);
	return cni_prev_parse(prev, c->r->ifname, &c->prev, e);
}

static int check_pod_link(struct check *c, struct cni_error *e)
{
	bool found;
	char is[18], was[18];
	const uint8_t *want = c->prev.has_mac ? c->prev.mac : c->lease.mac;
	int err = cni_link_find(c->pod, c->r->ifname, &c->pod_end, &found, e);
	if (err)
		return err;
	if (!found)
		return cni_fail(e, CNI_NOT_AS_MADE, "the pod has no interface %s", c->r->ifname);
	if (!(c->pod_end.flags & IFF_UP))
		return cni_fail(e, CNI_NOT_AS_MADE, "the pod's %s is down", c->r->ifname);
	cni_mac_format(c->pod_end.mac, is);
	cni_mac_format(want, was);
	if (strcmp(is, was) != 0)
		return cni_fail(e, CNI_NOT_AS_MADE, "the pod's %s has MAC %s instead of %s", c->r->ifname, is, was);
	return 0;
}

static int check_pod_addrs(struct check *c, struct cni_error *e)
{
	char text[ADDR_TEXT_MAX];
	const struct {
		const struct addr *list;
		unsigned count;
	} sources[] = {{c->prev.addrs, c->prev.addr_count}, {c->lease.addrs, c->lease.addr_count}};
	for (int i = 0; i < 2; i++)
		for (unsigned j = 0; j < sources[i].count; j++)
			if (!cni_addr_present(c->pod, &c->pod_end, &sources[i].list[j]))
				return cni_fail(e, CNI_NOT_AS_MADE, "the pod's %s lacks its address %s", c->r->ifname,
						addr_format(&sources[i].list[j], text));
	return 0;
}

static int check_pod_routes(struct check *c, struct cni_error *e)
{
	static const struct route_mark any = {.table = 254};
	char text[PREFIX_TEXT_MAX];
	for (unsigned i = 0; i < c->prev.route_count; i++)
		if (!cni_route_present(c->pod, &c->pod_end, &c->prev.routes[i].dst, &c->prev.routes[i].gateway, &any))
			return cni_fail(e, CNI_NOT_AS_MADE, "the pod lacks its route to %s",
					prefix_format(&c->prev.routes[i].dst, text));
	return 0;
}

static int check_host_link(struct check *c, struct cni_error *e)
{
	bool found;
	int err = cni_host_link_find(c->host, c->r->container, c->r->ifname, &c->host_end, &found, e);
	if (err)
		return err;
	if (!found)
		return cni_fail(e, CNI_NOT_AS_MADE, "the host's end %s is gone", c->lease.host_ifname);
	if (!(c->host_end.flags & IFF_UP))
		return cni_fail(e, CNI_NOT_AS_MADE, "the host's end %s is down", c->host_end.name);
	if (c->vrf && c->host_end.master != c->vrf)
		return cni_fail(e, CNI_NOT_AS_MADE, "the host's end %s is not in the VRF %s", c->host_end.name, c->settings.vrf);
	return 0;
}

static int check_host_routes(struct check *c, struct cni_error *e)
{
	static const struct addr none;
	struct route_mark mark = {.table = c->settings.table, .protocol = c->settings.protocol};
	char text[PREFIX_TEXT_MAX];
	for (unsigned i = 0; i < c->lease.addr_count; i++) {
		struct prefix pod = prefix_make(&c->lease.addrs[i], 128);
		if (!cni_route_present(c->host, &c->host_end, &pod, &none, &mark))
			return cni_fail(e, CNI_NOT_AS_MADE, "the host lacks the route to %s through %s",
					prefix_format(&pod, text), c->host_end.name);
	}
	return 0;
}

static int check_neighbours(struct check *c, struct cni_error *e)
{
	char text[ADDR_TEXT_MAX];
	for (unsigned i = 0; i < c->lease.addr_count; i++) {
		const struct addr *a = &c->lease.addrs[i];
		struct addr gateway = cni_gateway(addr_is_v4(a));
		if (!cni_neigh_present(c->pod, &c->pod_end, &gateway, c->host_end.mac))
			return cni_fail(e, CNI_NOT_AS_MADE, "the pod lacks the permanent neighbour %s",
					addr_format(&gateway, text));
		if (!cni_neigh_present(c->host, &c->host_end, a, c->pod_end.mac))
			return cni_fail(e, CNI_NOT_AS_MADE, "the host lacks the permanent neighbour %s",
					addr_format(a, text));
	}
	return 0;
}

static int (*const checks[])(struct check *, struct cni_error *) = {
	check_prev,       open_all,        check_lease,       check_pod_link,   check_pod_addrs,
	check_pod_routes, check_host_link, check_host_routes, check_neighbours,
};

int cni_check(const struct cni_request *r, struct cni_error *e)
{
	struct check c = {.r = r};
	int err = 0;
	for (size_t i = 0; i < sizeof checks / sizeof checks[0] && !err; i++)
		err = checks[i](&c, e);
	netlink_socket_close(c.pod);
	netlink_socket_close(c.host);
	ipam_store_close(c.store);
	return err;
}
