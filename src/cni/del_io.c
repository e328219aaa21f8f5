#include <stddef.h>

#include "src/base/clock_io.h"
#include "src/base/err.h"
#include "src/cni/edge_io.h"
#include "src/cni/kernel_io.h"
#include "src/cni/verbs_io.h"

/* Every lease of the container's interface, whatever the network is called now. */
static int release_leases(const struct cni_request *r, struct ipam_store *store, struct cni_error *e)
{
	struct ipam_lease l;
	int err;
	while ((err = ipam_store_find_owner_any_network(store, r->container, r->ifname, &l)) == 0) {
		err = ipam_store_release(store, l.network, l.container, l.ifname, clock_now().ms);
		if (err && err != ERR_NOT_FOUND)
			return cni_store_fail(r, err, "free an address", e);
	}
	return err == ERR_NOT_FOUND ? 0 : cni_store_fail(r, err, "find the lease", e);
}

/* The pod's namespace is not looked at: removing the host's end removes the other too, and if the
 * namespace is gone, both are. */
static int remove_link(const struct cni_request *r, struct cni_error *e)
{
	struct netlink_socket *host;
	int err = netlink_socket_open(&host, 0);
	if (err)
		return cni_fail(e, CNI_KERNEL, "cannot open a netlink socket: %s", err_text(err));
	err = cni_host_link_remove(host, r->container, r->ifname, e);
	netlink_socket_close(host);
	return err;
}

int cni_del(const struct cni_request *r, struct cni_error *e)
{
	struct ipam_store *store = NULL;
	struct cni_error store_error, *first = &store_error;
	/* a store that cannot be opened is reported, but does not keep the interface alive */
	int store_err = cni_store_open(r, false, &store, first);
	int err = remove_link(r, e);
	if (!err && store)
		err = release_leases(r, store, e);
	ipam_store_close(store);
	if (!err && store_err)
		*e = store_error;
	return err ? err : store_err;
}
