#include "src/daemon/kernel_watch_io.h"

#include <errno.h>
#include <ev.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netlink/addr_msg.h"
#include "netlink/link_msg.h"
#include "netlink/route_msg.h"
#include "src/base/clock_io.h"
#include "src/base/err.h"
#include "src/base/log_io.h"
#include "src/daemon/audit_io.h"
#include "src/daemon/daemon.h"
#include "src/daemon/fib_io.h"
#include "src/daemon/nexthop_io.h"
#include "src/daemon/peer_io.h"
#include "src/daemon/pods_io.h"
#include "src/daemon/publish_io.h"

enum {
	HOST_DELAY_MS = 200,
	HOST_SETTLED_MS = 2000, /* by then the kernel has done what a link's or an address's loss makes it do */
	HOST_EVERY_S = 60,    /* for what no event told */
	BURST_QUIET_MS = 1000, /* without a further one, a burst of changes is over */
	MEND_QUIET_MS = 50,   /* and the repair begins */
	MEND_QUIET_LATER_MS = 500, /* in a long burst: longer than it takes to look at the table again */
	MEND_LATEST_MS = 700, /* or so long after the first that was not repaired; in the same burst ever later */
	MEND_LATEST_MAX_MS = 8000,
	LINKS = 64,           /* the ones that are not pods' */
};

/* What others do to our routes, told once when it begins and once when it ends. */
struct burst {
	struct tick begun_at;
	size_t count[FIB_FOREIGN_WENT + 1];
};

struct kernel_watch {
	struct daemon *daemon;
	struct fib *fib;
	struct audit *audit;
	struct netlink_socket *socket;
	bool broken; /* until it is mended */
	ev_io io;
	ev_timer pods, pods_every, facts, settled, burst_end, mend;
	struct tick mend_from;
	int64_t mend_latest_ms;
	struct burst burst;
	uint64_t overruns;
	struct {
		uint32_t ifindex, flags, mtu;
	} links[LINKS]; /* as last heard of */
	unsigned link_count;
	struct log_limit limit, fights;
};

static void soon(struct kernel_watch *w, ev_timer *t, int64_t ms)
{
	if (ev_is_active(t))
		return;
	ev_timer_set(t, (double)ms / 1000., 0.);
	ev_timer_start(w->daemon->loop, t);
}

/* Did anything change that routes depend on? */
static bool link_changed(struct kernel_watch *w, const struct netlink_link *l, bool deleted)
{
	uint32_t flags = l->flags & (IFF_UP | IFF_RUNNING | IFF_LOWER_UP);
	unsigned i = 0;
	while (i < w->link_count && w->links[i].ifindex != l->ifindex)
		i++;
	if (deleted) { /* makes room for another: containers' links come and go all day */
		if (i < w->link_count)
			w->links[i] = w->links[--w->link_count];
		return true;
	}
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
	soon(w, &w->pods, HOST_DELAY_MS);
}

/* Links and addresses decide what the kernel keeps of our routes, and what the plugin must know. The kernel tells before it
 * takes the routes out, and of these it does not tell: what is read at once may be about to go, so it is read once more. */
static void host_changed(struct kernel_watch *w)
{
	audit_plan(w->audit);
	soon(w, &w->facts, HOST_DELAY_MS);
	soon(w, &w->settled, HOST_SETTLED_MS);
}

static void on_link_event(struct kernel_watch *w, const struct nlmsghdr *h)
{
	struct netlink_link link;
	bool deleted;
	if (netlink_link_decode(h, &link, &deleted))
		return;
	bool up = !deleted && link.flags & IFF_LOWER_UP;
	if (pods_is_link(&link)) {
		if (up)
			plan_pods(w); /* what went down lost its route */
		return;
	}
	if (!link_changed(w, &link, deleted))
		return;
	peers_link_changed(w->daemon, link.ifindex, link.name, up);
	next_hops_link_changed(w->daemon->next_hops, link.ifindex);
	w->fib->objects.doubted = true;
	host_changed(w);
}

static void on_addr_event(struct kernel_watch *w, const struct nlmsghdr *h)
{
	struct netlink_addr a;
	bool deleted;
	host_changed(w);
	if (netlink_addr_decode(h, &a, &deleted))
		return;
	struct prefix subnet = prefix_make(&a.addr, a.plen + (addr_is_v4(&a.addr) ? (unsigned)ADDR_V4_BITS : 0u));
	next_hops_prefix_changed(w->daemon->next_hops, &subnet);
}

/* --- what others do to our routes */

static const struct {
	const char *what; /* NULL: nothing to tell */
	bool repairs;
} burst_texts[FIB_FOREIGN_WENT + 1] = {
	[FIB_OURS_TAKEN] = {"taken away", true},
	[FIB_OURS_BENT] = {"changed", true},
	[FIB_OURS_STRAY] = {"added under our name", true},
	[FIB_FOREIGN_CAME] = {"kept out by another's in their place", false},
};

/* "ip (process 812)". A program's first netlink socket carries its process id. */
static const char *who_text(uint32_t port, char *buf, size_t cap)
{
	char path[64], name[32] = "";
	snprintf(path, sizeof path, "/proc/%u/comm", port);
	FILE *f = port ? fopen(path, "re") : NULL;
	if (f && fgets(name, sizeof name, f))
		name[strcspn(name, "\n")] = '\0';
	if (f)
		fclose(f);
	if (*name)
		snprintf(buf, cap, "%s (process %u)", name, port);
	else
		snprintf(buf, cap, port ? "netlink port %u" : "the kernel itself", port);
	return buf;
}

static void tell(struct kernel_watch *w, enum fib_event what, const struct route *r, uint32_t port)
{
	char prefix[PREFIX_TEXT_MAX], who[64], protocol[NETLINK_PROTOCOL_TEXT_MAX];
	bool repairs = burst_texts[what].repairs;
	if (!burst_texts[what].what)
		return;
	if (w->burst.count[what]++ == 0)
		log_remote(&w->limit, repairs ? LOG_LEVEL_INFO : LOG_LEVEL_WARN, "kernel",
			   "routes of ours are %s, %s first, by %s, protocol %s%s", burst_texts[what].what,
			   prefix_format(&r->prefix, prefix), who_text(port, who, sizeof who),
			   netlink_protocol_text(r->mark.protocol, protocol), repairs ? ": repairing" : "");
	if (!ev_is_active(&w->burst_end))
		w->burst.begun_at = clock_now();
	ev_timer_set(&w->burst_end, 0., BURST_QUIET_MS / 1000.);
	ev_timer_again(w->daemon->loop, &w->burst_end);
}

static void on_mend(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct kernel_watch *w = t->data;
	(void)revents;
	ev_timer_stop(loop, t);
	fib_mend(w->fib);
}

/* The repair waits for a pause, but not too long: within a second all is back. Where it goes on even so, somebody clears a
 * large table and will look again at what we put back: then we wait longer. */
static void plan_mend(struct kernel_watch *w, struct tick now)
{
	if (!ev_is_active(&w->mend)) {
		w->mend_from = now;
	} else if (tick_since_ms(w->mend_from, now) > w->mend_latest_ms) {
		fib_mend(w->fib);
		w->mend_from = now;
		w->mend_latest_ms = w->mend_latest_ms * 2 < MEND_LATEST_MAX_MS ? w->mend_latest_ms * 2 : MEND_LATEST_MAX_MS;
		w->mend.repeat = MEND_QUIET_LATER_MS / 1000.;
	}
	ev_timer_again(w->daemon->loop, &w->mend);
}

static void calm(struct kernel_watch *w)
{
	memset(&w->burst, 0, sizeof w->burst);
	w->mend_latest_ms = MEND_LATEST_MS;
	w->mend.repeat = MEND_QUIET_MS / 1000.;
}

static void on_burst_end(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct kernel_watch *w = t->data;
	int64_t ms = tick_since_ms(w->burst.begun_at, clock_now()) - BURST_QUIET_MS;
	(void)revents;
	ev_timer_stop(loop, t);
	for (size_t i = 0; i < sizeof burst_texts / sizeof *burst_texts; i++)
		if (w->burst.count[i] > 1)
			log_info("kernel", "%zu routes of ours were %s within %lld ms", w->burst.count[i], burst_texts[i].what,
				 (long long)ms);
	calm(w);
}

/* Somebody takes it away each time we put it back. */
static void tell_of_fight(struct kernel_watch *w, const struct route *r, uint32_t port)
{
	char prefix[PREFIX_TEXT_MAX], who[64];
	const struct fib_entry *e = fib_find(w->fib, &r->prefix);
	if (!e || e->fights != FIB_FIGHTS + 1 || !fib_entry_fought_over(e))
		return;
	log_remote(&w->fights, LOG_LEVEL_WARN, "kernel",
		   "%s was taken away %u times in a row, last by %s: from now on it is put back after up to %d s; find out what removes "
		   "routes of protocol %u", prefix_format(&e->prefix, prefix), e->fights, who_text(port, who, sizeof who),
		   FIB_FIGHT_WAIT_MAX_MS / 1000, w->fib->mark.protocol);
}

/* Somebody else changed a route. Ours are put back; others' matter where they stand in the place of ours, and to next hops. */
static void on_route_event(struct kernel_watch *w, const struct nlmsghdr *h)
{
	struct route r;
	bool deleted;
	/* where we write a group anew, the kernel tells of each of its routes */
	if (fib_writer_is_own(w->daemon->fib, h->nlmsg_pid) || netlink_route_decode(h, &r, &deleted))
		return;
	next_hops_prefix_changed(w->daemon->next_hops, &r.prefix);
	if (deleted && r.mark.protocol == w->fib->mark.protocol && r.mark.table == w->fib->mark.table &&
	    r.mark.metric != w->fib->mark.metric)
		plan_pods(w);
	unsigned how = (deleted ? FIB_DELETED : FIB_ADDED) | (h->nlmsg_flags & NLM_F_REPLACE ? FIB_REPLACED : 0u) |
		       (h->nlmsg_pid ? 0u : FIB_BY_KERNEL);
	struct tick now = clock_now();
	enum fib_event what = fib_event(w->fib, &r, how, now);
	tell(w, what, &r, h->nlmsg_pid);
	if (what != FIB_NOTHING)
		plan_mend(w, now);
	if (what == FIB_OURS_TAKEN || what == FIB_OURS_BENT)
		tell_of_fight(w, &r, h->nlmsg_pid);
}

/* --- the socket */

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
	case RTM_NEWNEXTHOP:
	case RTM_DELNEXTHOP:
		fib_writer_object_event(w->daemon->fib, h->nlmsg_pid);
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

static void on_facts(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct kernel_watch *w = t->data;
	(void)loop;
	(void)revents;
	publish_plugin_facts(w->daemon);
}

static void on_settled(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct kernel_watch *w = t->data;
	(void)loop;
	(void)revents;
	w->fib->objects.doubted = true;
	audit_plan(w->audit);
}

static void on_host_every(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct kernel_watch *w = t->data;
	(void)loop;
	(void)revents;
	plan_pods(w);
	soon(w, &w->facts, HOST_DELAY_MS);
}

/* What was not heard: links are asked for, and come like events; all else is compared. */
static void missed_events(struct kernel_watch *w)
{
	uint64_t buf[64];
	size_t n = netlink_link_dump_request(buf, sizeof buf, 0);
	netlink_socket_send(w->socket, buf, n);
	next_hops_missed_events(w->daemon->next_hops);
	w->fib->objects.doubted = true;
	audit_plan(w->audit);
	plan_pods(w);
	soon(w, &w->facts, HOST_DELAY_MS);
}

static void on_events(struct ev_loop *loop, ev_io *io, int revents)
{
	struct kernel_watch *w = io->data;
	(void)loop;
	(void)revents; /* of a broken one the reading tells */
	int error = netlink_socket_receive(w->socket, on_event, w);
	if (error == -ENOBUFS) {
		w->overruns++;
		log_remote(&w->limit, LOG_LEVEL_WARN, "kernel", "more changes than could be read: comparing all routes");
		missed_events(w);
	} else if (error) {
		log_remote(&w->limit, LOG_LEVEL_ERROR, "kernel", "cannot listen to the kernel: %s; trying again", err_text(error));
		ev_io_stop(loop, &w->io);
		w->broken = true; /* until it is mended */
	}
}

static int open_socket(struct kernel_watch *w, const struct netlink_socket *own)
{
	const uint32_t nexthops = UINT32_C(1) << (RTNLGRP_NEXTHOP - 1);
	uint32_t groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE | nexthops;
	int error = netlink_socket_open(&w->socket, groups);
	if (!error)
		error = netlink_socket_ignore_own(w->socket, own);
	if (error)
		return error;
	ev_io_set(&w->io, netlink_socket_fd(w->socket), EV_READ);
	ev_io_start(w->daemon->loop, &w->io);
	return 0;
}

int kernel_watch_new(struct kernel_watch **out, struct daemon *d, struct fib *f, struct audit *a,
		     const struct netlink_socket *own)
{
	struct kernel_watch *w = *out = calloc(1, sizeof *w);
	if (!w)
		abort();
	w->daemon = d;
	w->fib = f;
	w->audit = a;
	ev_init(&w->io, on_events);
	ev_init(&w->pods, on_pods);
	ev_timer_init(&w->pods_every, on_host_every, HOST_EVERY_S, HOST_EVERY_S);
	ev_init(&w->facts, on_facts);
	ev_init(&w->settled, on_settled);
	ev_init(&w->burst_end, on_burst_end);
	ev_init(&w->mend, on_mend);
	calm(w);
	w->io.data = w->pods.data = w->pods_every.data = w->facts.data = w->settled.data = w->burst_end.data = w->mend.data = w;
	int error = open_socket(w, own);
	if (error) {
		kernel_watch_free(w);
		*out = NULL;
		return error;
	}
	ev_timer_start(d->loop, &w->pods_every);
	return 0;
}

void kernel_watch_mend(struct kernel_watch *w, const struct netlink_socket *own, bool own_is_new)
{
	int mended = netlink_socket_mend(w->socket, w->broken);
	if (mended > 0) {
		log_warn("kernel", "the socket for events broke or was closed by something: going on with a new one");
		w->broken = false;
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
	netlink_socket_close(w->socket);
	ev_timer *timers[] = {&w->pods, &w->pods_every, &w->facts, &w->settled, &w->burst_end, &w->mend};
	for (size_t i = 0; i < sizeof timers / sizeof *timers; i++)
		ev_timer_stop(w->daemon->loop, timers[i]);
	free(w);
}

uint64_t kernel_watch_overruns(const struct kernel_watch *w)
{
	return w->overruns;
}

size_t kernel_watch_buffer(const struct kernel_watch *w)
{
	return netlink_socket_buffer(w->socket);
}
