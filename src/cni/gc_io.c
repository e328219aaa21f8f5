#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/base/clock_io.h"
#include "src/base/err.h"
#include "src/cni/attachments.h"
#include "src/cni/edge_io.h"
#include "src/cni/kernel_io.h"
#include "src/cni/verbs_io.h"

enum { OWNER_WAIT_MS = 2000 };

struct owner {
	char container[128], ifname[16];
};

struct gc {
	const struct cni_request *r;
	struct ipam_store *store;
	struct netlink_socket *host;
	int64_t began;        /* seconds since 1970: what is newer was not there when the runtime made its list */
	struct owner *stale;
	size_t count, cap;
};

static int collect(void *arg, const struct ipam_lease *l)
{
	struct gc *g = arg;
	if (strcmp(l->network, g->r->network) != 0 || l->since >= g->began ||
	    cni_attachments_have(g->r, l->container, l->ifname))
		return 0;
	if (g->count == g->cap) {
		size_t cap = g->cap ? g->cap * 2 : 64;
		struct owner *more = reallocarray(g->stale, cap, sizeof *more);
		if (!more)
			return -ENOMEM;
		g->stale = more;
		g->cap = cap;
	}
	struct owner *o = &g->stale[g->count++];
	strcpy(o->container, l->container);
	strcpy(o->ifname, l->ifname);
	return 0;
}

/* The owner is locked: as DEL does, the address is free only when it is gone from the kernel. */
static int remove_locked(struct gc *g, const struct owner *o, struct cni_error *e)
{
	struct ipam_lease l;
	int err = ipam_store_find(g->store, g->r->network, o->container, o->ifname, &l);
	if (err == ERR_NOT_FOUND || (!err && l.since >= g->began))
		return 0; /* a DEL, and perhaps an ADD, came first */
	if (err)
		return cni_store_fail(g->r, err, "find the lease", e);
	err = cni_host_link_remove(g->host, o->container, o->ifname, e);
	if (err)
		return err;
	err = ipam_store_release(g->store, g->r->network, o->container, o->ifname, clock_now().ms);
	return err ? cni_store_fail(g->r, err, "free an address", e) : 0;
}

static int remove_one(struct gc *g, const struct owner *o, struct cni_error *e)
{
	int err = ipam_store_lock_owner(g->store, o->container, o->ifname, OWNER_WAIT_MS);
	if (err)
		return cni_fail(e, CNI_TRY_AGAIN, "another call works on it");
	err = remove_locked(g, o, e);
	ipam_store_unlock_owner(g->store, o->container, o->ifname);
	return err;
}

/* Appends "eth0 of 1f3c...: why"; a list that is full ends with "...". */
static void tell(char *list, size_t cap, const struct owner *o, const char *why)
{
	size_t n = strlen(list), left = cap - n;
	if (snprintf(list + n, left, "%s%s of %.64s: %.120s", n ? "; " : "", o->ifname, o->container, why) >= (int)left)
		strcpy(list + cap - sizeof "...", "...");
}

static int remove_all(struct gc *g, struct cni_error *e)
{
	char list[sizeof e->details] = "";
	unsigned failed = 0;
	int code = 0;
	for (size_t i = 0; i < g->count; i++) {
		int err = remove_one(g, &g->stale[i], e);
		if (!err)
			continue;
		tell(list, sizeof list, &g->stale[i], e->msg);
		code = err;
		failed++;
	}
	if (!failed)
		return 0;
	cni_fail(e, (enum cni_code)code, "%u of %zu interfaces that nobody knows any more could not be removed", failed,
		 g->count);
	return cni_fail_details(e, "%s", list);
}

static int run(struct gc *g, struct cni_error *e)
{
	int err = ipam_store_each(g->store, collect, g);
	if (err)
		return cni_store_fail(g->r, err, "read the leases", e);
	err = netlink_socket_open(&g->host, 0);
	if (err)
		return cni_fail(e, CNI_KERNEL, "cannot open a netlink socket: %s", err_text(err));
	return remove_all(g, e);
}

int cni_gc(const struct cni_request *r, struct cni_error *e)
{
	struct gc g = {.r = r, .began = time(NULL)};
	int err = cni_attachments_check(r, e);
	if (!err)
		err = cni_store_open(r, false, &g.store, e);
	if (!err && g.store)
		err = run(&g, e);
	netlink_socket_close(g.host);
	ipam_store_close(g.store);
	free(g.stale);
	return err;
}
