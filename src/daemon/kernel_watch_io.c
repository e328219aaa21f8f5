#include "src/daemon/kernel_watch_io.h"

#include <errno.h>
#include <ev.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "netlink/addr_msg.h"
#include "netlink/link_msg.h"
#include "netlink/route_msg.h"
#include "src/base/log_io.h"
#include "src/daemon/audit_io.h"
#include "src/daemon/daemon.h"
#include "src/daemon/nexthop_io.h"
#include "src/daemon/peer_io.h"
#include "src/daemon/pods_io.h"

enum {
	PODS_DELAY_MS = 200,
	PODS_EVERY_S = 60, /* for what no event told */
	LINKS = 64,        /* the ones that are not pods' */
};

struct kernel_watch {
	struct daemon *daemon;
	const struct fib *fib;
	struct audit *audit;
	struct netlink_socket *socket;
	ev_io io;
	ev_timer pods, pods_every;
	struct {
		uint32_t ifindex, flags, mtu;
	} links[LINKS]; /* as last heard of */
	unsigned link_count;
};

/* Pods come and go in bursts, and their devices carry no route of the FIB. */
static bool is_pod_link(const struct netlink_link *l)
{
	return strncmp(l->name, "ul", 2) == 0 && strcmp(l->kind, "veth") == 0;
}

/* Did anything change that routes depend on? */
static bool link_changed(struct kernel_watch *w, const struct netlink_link *l, bool deleted)
{
	uint32_t flags = deleted ? 0 : l->flags & (IFF_UP | IFF_RUNNING | IFF_LOWER_UP);
	unsigned i = 0;
	while (i < w->link_count && w->links[i].ifindex != l->ifindex)
		i++;
	if (i < w->link_count && w->links[i].flags == flags && w->links[i].mtu == l->mtu)
		return false;
	if (i == LINKS)
		return true; /* more links than we remember: each event counts */
	w->links[i].ifindex = l->ifindex;
	w->links[i].flags = flags;
	w->links[i].mtu = l->mtu;
	if (i == w->link_count)
		w->link_count++;
	return true;
}

static void plan_pods(struct kernel_watch *w)
{
	if (ev_is_active(&w->pods))
		return;
	ev_timer_set(&w->pods, PODS_DELAY_MS / 1000., 0.);
	ev_timer_start(w->daemon->loop, &w->pods);
}

static void on_link_event(struct kernel_watch *w, const struct nlmsghdr *h)
{
	struct netlink_link link;
	bool deleted;
	if (netlink_link_decode(h, &link, &deleted))
		return;
	bool up = !deleted && link.flags & IFF_LOWER_UP;
	if (is_pod_link(&link)) {
		if (up)
			plan_pods(w); /* what went down lost its route */
		return;
	}
	if (!link_changed(w, &link, deleted))
		return;
	peers_link_changed(w->daemon, link.ifindex, link.name, up);
	next_hops_link_changed(w->daemon->next_hops, link.ifindex);
	audit_plan(w->audit);
}

static void on_addr_event(struct kernel_watch *w, const struct nlmsghdr *h)
{
	struct netlink_addr a;
	bool deleted;
	audit_plan(w->audit);
	if (netlink_addr_decode(h, &a, &deleted))
		return;
	struct prefix subnet = prefix_make(&a.addr, a.plen + (addr_is_v4(&a.addr) ? (unsigned)ADDR_V4_BITS : 0u));
	next_hops_prefix_changed(w->daemon->next_hops, &subnet);
}

/* Somebody else changed a route. Ours are put back; others' matter only where they stand in the place of ours. */
static void on_route_event(struct kernel_watch *w, const struct nlmsghdr *h)
{
	struct route r;
	bool deleted;
	if (netlink_route_decode(h, &r, &deleted))
		return;
	next_hops_prefix_changed(w->daemon->next_hops, &r.prefix);
	bool marked = r.mark.protocol == w->fib->mark.protocol && r.mark.table == w->fib->mark.table;
	const struct fib_entry *e = r.mark.metric == w->fib->mark.metric ? fib_find(w->fib, &r.prefix) : NULL;
	if (marked && deleted && r.mark.metric == 0)
		plan_pods(w);
	else if ((marked && r.mark.metric == w->fib->mark.metric) || (e && e->have))
		audit_plan(w->audit);
}

static void on_event(void *arg, const struct nlmsghdr *h, int error, const char *text)
{
	struct kernel_watch *w = arg;
	(void)error;
	(void)text;
	switch (h->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		on_link_event(w, h);
		break;
	case RTM_NEWADDR:
	case RTM_DELADDR:
		on_addr_event(w, h);
		break;
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
		on_route_event(w, h);
		break;
	default:
		break;
	}
}

static void on_pods(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct kernel_watch *w = t->data;
	(void)loop;
	(void)revents;
	pods_repair(w->daemon);
}

static void missed_events(struct kernel_watch *w)
{
	next_hops_missed_events(w->daemon->next_hops);
	audit_plan(w->audit);
}

static void on_events(struct ev_loop *loop, ev_io *io, int revents)
{
	struct kernel_watch *w = io->data;
	(void)loop;
	(void)revents;
	if (netlink_socket_receive(w->socket, on_event, w) == -ENOBUFS)
		missed_events(w);
}

static void on_pods_every(struct ev_loop *loop, ev_timer *t, int revents)
{
	(void)loop;
	(void)revents;
	plan_pods(t->data);
}

static int open_socket(struct kernel_watch *w, const struct netlink_socket *own)
{
	uint32_t groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
	int error = netlink_socket_open(&w->socket, groups);
	if (!error)
		error = netlink_socket_ignore_own(w->socket, own);
	return error;
}

int kernel_watch_new(struct kernel_watch **out, struct daemon *d, const struct fib *f, struct audit *a,
		     const struct netlink_socket *own)
{
	struct kernel_watch *w = *out = calloc(1, sizeof *w);
	if (!w)
		abort();
	w->daemon = d;
	w->fib = f;
	w->audit = a;
	ev_timer_init(&w->pods, on_pods, 0., 0.);
	ev_timer_init(&w->pods_every, on_pods_every, PODS_EVERY_S, PODS_EVERY_S);
	int error = open_socket(w, own);
	ev_io_init(&w->io, on_events, w->socket ? netlink_socket_fd(w->socket) : -1, EV_READ);
	w->io.data = w->pods.data = w->pods_every.data = w;
	if (error) {
		kernel_watch_free(w);
		*out = NULL;
		return error;
	}
	ev_io_start(d->loop, &w->io);
	ev_timer_start(d->loop, &w->pods_every);
	return 0;
}

void kernel_watch_mend(struct kernel_watch *w, const struct netlink_socket *own, bool own_is_new)
{
	int mended = netlink_socket_mend(w->socket);
	if (mended > 0) {
		log_warn("kernel", "the socket for events was closed by something: going on with a new one");
		ev_io_stop(w->daemon->loop, &w->io);
		ev_io_set(&w->io, netlink_socket_fd(w->socket), EV_READ);
		ev_io_start(w->daemon->loop, &w->io);
	}
	if (mended > 0 || (mended == 0 && own_is_new))
		netlink_socket_ignore_own(w->socket, own);
	if (mended > 0)
		missed_events(w);
}

void kernel_watch_free(struct kernel_watch *w)
{
	if (!w)
		return;
	ev_io_stop(w->daemon->loop, &w->io);
	ev_timer_stop(w->daemon->loop, &w->pods);
	ev_timer_stop(w->daemon->loop, &w->pods_every);
	netlink_socket_close(w->socket);
	free(w);
}
