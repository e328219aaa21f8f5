#include "src/base/clock_io.h"
#include "src/base/err.h"
#include "src/cni/edge_io.h"
#include "src/cni/kernel_io.h"
#include "src/cni/verbs_io.h"

/* An owner that cannot be: no container's name has a space. */
static const struct ipam_lease nobody = {.container = " ", .ifname = " "};

static int try_address(const struct cni_request *r, const struct cni_settings *settings, struct ipam_store *store,
		       struct cni_error *e)
{
	struct ipam_shortage shortage;
	struct ipam_request q = {
		.wanted = &nobody,
		.cidrs = settings->cidrs,
		.cidr_count = settings->cidr_count,
		.now_ms = clock_now().ms,
		.reuse_delay_ms = settings->reuse_delay_ms,
	};
	int err = ipam_store_try(store, &q, &shortage);
	return err ? cni_no_address(r, settings, err, &shortage, e) : 0;
}

static int look_for_vrf(struct cni_settings *settings, struct cni_error *e)
{
	struct netlink_socket *s;
	uint32_t ifindex;
	int err = netlink_socket_open(&s, 0);
	if (err)
		return cni_fail(e, CNI_KERNEL, "cannot open a netlink socket: %s", err_text(err));
	err = cni_vrf_find(s, settings, &ifindex, e);
	netlink_socket_close(s);
	return err;
}

int cni_status(const struct cni_request *r, struct cni_error *e)
{
	struct cni_settings settings;
	struct ipam_store *store = NULL;
	int err = cni_settings_read(r, &settings, e);
	if (!err && settings.vrf[0])
		err = look_for_vrf(&settings, e);
	if (!err)
		err = cni_store_open(r, true, &store, e);
	if (!err)
		err = try_address(r, &settings, store, e);
	ipam_store_close(store);
	if (err)
		e->code = CNI_NOT_READY;
	return err ? e->code : 0;
}
