#include "src/daemon/fib_io.h"

#include <errno.h>
#include <ev.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "netlink/addr_msg.h"
#include "netlink/link_msg.h"
#include "netlink/route_msg.h"
#include "netlink/socket_io.h"
#include "src/base/clock_io.h"
#include "src/base/err.h"
#include "src/base/log_io.h"
#include "src/daemon/daemon.h"
#include "src/daemon/nexthop_io.h"
#include "src/daemon/peer_io.h"
#include "src/daemon/pods_io.h"
#include "src/daemon/publish_io.h"

enum {
	WINDOW = 1024,       /* requests without an answer; a power of two */
	FEED = 4096,         /* journal entries a turn */
	BATCH_BYTES = 65536, /* one write to the kernel */
	RESYNC_DELAY_MS = 200,
	LINKS = 64,          /* the ones that are not pods' */
	AUDIT_S = 60,
	AUDIT_MAX = 20000,   /* routes; reading more of them would hold up the loop */
};

struct fib_writer {
	struct daemon *daemon;
	struct fib fib;
	struct rib_cursor cursor;
	struct netlink_socket *requests, *events;
	ev_io answers_io, events_io;
	ev_timer resync, pods, audit, retry;
	uint32_t seq;
	struct {
		struct fib_entry *entry; /* NULL: free */
		uint32_t seq;
	} waiting[WINDOW];  /* by sequence number */
	struct {
		uint32_t ifindex, flags, mtu;
	} links[LINKS];     /* as last heard of */
	unsigned link_count;
	size_t adopted;
	struct log_limit limit;
};

/* --- reading the kernel */

static bool is_ours(const struct fib *f, const struct route *r)
{
	return r->mark.protocol == f->mark.protocol && r->mark.table == f->mark.table && r->mark.metric == f->mark.metric &&
	       (r->type == ROUTE_BLACKHOLE || (r->nexthop_count && !addr_is_zero(&r->nexthops[0].gateway)));
}

static void on_dumped(void *arg, const struct nlmsghdr *h, int error, const char *text)
{
	struct fib_writer *w = arg;
	struct route r;
	bool deleted;
	(void)text;
	if (error || netlink_route_decode(h, &r, &deleted) != 0 || deleted || !is_ours(&w->fib, &r))
		return;
	fib_dump_found(&w->fib, &r);
}

/* Compares the kernel with what we think it has. 0, or -errno: what was read so far is taken over, and nothing is
 * concluded from what was not. */
static int read_kernel(struct fib_writer *w, size_t *differ)
{
	static const int families[] = {AF_INET, AF_INET6};
	uint64_t buf[64];
	struct netlink_socket *s;
	int error = netlink_socket_open(&s, 0);
	if (error)
		return error;
	fib_dump_begin(&w->fib);
	for (size_t i = 0; i < sizeof families / sizeof *families && !error; i++) {
		netlink_route_dump_request(buf, sizeof buf, 1, families[i], w->fib.mark.table, w->fib.mark.protocol);
		error = netlink_dump(s, buf, on_dumped, w);
		if (error == -ENOENT || error == -EAFNOSUPPORT || error == -EOPNOTSUPP) /* no such table, no IPv6 */
			error = 0;
	}
	netlink_socket_close(s);
	if (error)
		return error;
	*differ = fib_dump_end(&w->fib);
	return 0;
}

static void on_resync(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct fib_writer *w = t->data;
	size_t differ = 0;
	(void)loop;
	(void)revents;
	int error = read_kernel(w, &differ);
	if (error) {
		log_remote(&w->limit, LOG_LEVEL_ERROR, "kernel", "cannot read routes: %s; trying again", err_text(error));
		ev_timer_set(t, 1., 0.);
		ev_timer_start(w->daemon->loop, t);
	} else if (differ) {
		log_remote(&w->limit, LOG_LEVEL_INFO, "kernel", "%zu routes differ from what they should be: repairing", differ);
	}
	publish_plugin_facts(w->daemon);
}

static void plan_resync(struct fib_writer *w)
{
	if (ev_is_active(&w->resync))
		return;
	ev_timer_set(&w->resync, RESYNC_DELAY_MS / 1000., 0.);
	ev_timer_start(w->daemon->loop, &w->resync);
}

/* --- answers and events */

static void on_answer(void *arg, const struct nlmsghdr *h, int error, const char *text)
{
	struct fib_writer *w = arg;
	if (h->nlmsg_type != NLMSG_ERROR)
		return;
	unsigned slot = h->nlmsg_seq & (WINDOW - 1);
	struct fib_entry *e = w->waiting[slot].entry;
	if (!e || w->waiting[slot].seq != h->nlmsg_seq) /* an answer from before an overrun */
		return;
	w->waiting[slot].entry = NULL;
	if (error) {
		char prefix[PREFIX_TEXT_MAX];
		log_remote(&w->limit, LOG_LEVEL_WARN, "kernel", "%s refused: %s%s%s", prefix_format(&e->prefix, prefix),
			   err_text(error), *text ? ": " : "", text);
	} else {
		next_hops_own_changed(w->daemon->next_hops);
	}
	fib_done(&w->fib, e, error, text, clock_now());
}

static void overrun(struct fib_writer *w)
{
	memset(w->waiting, 0, sizeof w->waiting);
	fib_lost(&w->fib);
	plan_resync(w);
}

static void on_answers(struct ev_loop *loop, ev_io *io, int revents)
{
	struct fib_writer *w = io->data;
	(void)loop;
	(void)revents;
	if (netlink_socket_receive(w->requests, on_answer, w) == -ENOBUFS)
		overrun(w);
}

/* Pods come and go in bursts, and their devices carry no route of the FIB. */
static bool is_pod_link(const struct netlink_link *l)
{
	return strncmp(l->name, "ul", 2) == 0 && strcmp(l->kind, "veth") == 0;
}

/* Did anything change that routes depend on? */
static bool link_changed(struct fib_writer *w, const struct netlink_link *l, bool deleted)
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

static void plan_pods(struct fib_writer *w)
{
	if (ev_is_active(&w->pods))
		return;
	ev_timer_set(&w->pods, RESYNC_DELAY_MS / 1000., 0.);
	ev_timer_start(w->daemon->loop, &w->pods);
}

static void on_link_event(struct fib_writer *w, const struct nlmsghdr *h)
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
	plan_resync(w);
}

static void on_addr_event(struct fib_writer *w, const struct nlmsghdr *h)
{
	struct netlink_addr a;
	bool deleted;
	plan_resync(w);
	if (netlink_addr_decode(h, &a, &deleted))
		return;
	struct prefix subnet = prefix_make(&a.addr, a.plen + (addr_is_v4(&a.addr) ? (unsigned)ADDR_V4_BITS : 0u));
	next_hops_prefix_changed(w->daemon->next_hops, &subnet);
}

/* Somebody else changed a route. Ours are put back; others' matter only where they stand in the place of ours. */
static void on_route_event(struct fib_writer *w, const struct nlmsghdr *h)
{
	struct route r;
	bool deleted;
	if (netlink_route_decode(h, &r, &deleted))
		return;
	next_hops_prefix_changed(w->daemon->next_hops, &r.prefix);
	bool marked = r.mark.protocol == w->fib.mark.protocol && r.mark.table == w->fib.mark.table;
	const struct fib_entry *e = r.mark.metric == w->fib.mark.metric ? fib_find(&w->fib, &r.prefix) : NULL;
	if (marked && deleted && r.mark.metric == 0)
		plan_pods(w);
	else if ((marked && r.mark.metric == w->fib.mark.metric) || (e && e->have))
		plan_resync(w);
}

static void on_event(void *arg, const struct nlmsghdr *h, int error, const char *text)
{
	struct fib_writer *w = arg;
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
	struct fib_writer *w = t->data;
	(void)loop;
	(void)revents;
	pods_repair(w->daemon);
}

/* What no event told. */
static void on_audit(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct fib_writer *w = t->data;
	(void)loop;
	(void)revents;
	if (w->fib.installed <= AUDIT_MAX)
		plan_resync(w);
	plan_pods(w);
}

static void on_events(struct ev_loop *loop, ev_io *io, int revents)
{
	struct fib_writer *w = io->data;
	(void)loop;
	(void)revents;
	if (netlink_socket_receive(w->events, on_event, w) != -ENOBUFS)
		return;
	next_hops_missed_events(w->daemon->next_hops);
	plan_resync(w);
}

static void on_retry(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct fib_writer *w = t->data;
	(void)loop;
	(void)revents;
	fib_retry(&w->fib, clock_now());
}

/* --- work */

static bool feed(struct fib_writer *w)
{
	struct rib_entry *e;
	for (unsigned n = 0; n < FEED && (e = rib_cursor_next(&w->cursor)); n++) {
		struct nhset *s = nhset_choose(&w->daemon->nhsets, w->daemon->rib, e);
		fib_want(&w->fib, &e->prefix, s);
		nhset_unref(s);
	}
	return !rib_cursor_at_end(&w->cursor);
}

static enum netlink_route_op op_of(enum fib_op op)
{
	switch (op) {
	case FIB_ADD:
		return NETLINK_ROUTE_ADD;
	case FIB_REPLACE:
		return NETLINK_ROUTE_REPLACE;
	case FIB_DELETE:
		return NETLINK_ROUTE_DELETE;
	}
	return NETLINK_ROUTE_REPLACE;
}

static void give_back(struct fib_writer *w, uint32_t first, uint32_t end, int error)
{
	for (uint32_t seq = first; seq != end; seq++) {
		struct fib_entry *e = w->waiting[seq & (WINDOW - 1)].entry;
		w->waiting[seq & (WINDOW - 1)].entry = NULL;
		fib_done(&w->fib, e, error, "the request could not be sent", clock_now());
	}
}

/* One batch to the kernel; true: more could follow at once. */
static bool push(struct fib_writer *w)
{
	static uint64_t buf[BATCH_BYTES / 8];
	struct fib_intent intent;
	uint32_t first = w->seq;
	size_t len = 0;
	while (BATCH_BYTES - len >= NETLINK_ROUTE_MESSAGE_MAX && !w->waiting[w->seq & (WINDOW - 1)].entry &&
	       fib_next(&w->fib, &intent)) {
		size_t n = netlink_route_encode((uint8_t *)buf + len, BATCH_BYTES - len, op_of(intent.op), w->seq, &intent.route);
		if (!n) { /* never sent, so nobody would answer */
			fib_done(&w->fib, intent.entry, -EINVAL, "this route cannot be said in netlink", clock_now());
			continue;
		}
		len += n;
		w->waiting[w->seq & (WINDOW - 1)].entry = intent.entry;
		w->waiting[w->seq & (WINDOW - 1)].seq = w->seq;
		w->seq++;
	}
	if (len == 0)
		return false;
	int error = netlink_socket_send(w->requests, buf, len);
	if (error)
		give_back(w, first, w->seq, error);
	return !error && !list_empty(&w->fib.todo) && !w->waiting[w->seq & (WINDOW - 1)].entry;
}

bool fib_writer_work(struct fib_writer *w)
{
	bool more = feed(w);
	more |= push(w);
	return more;
}

/* --- life */

static int open_sockets(struct fib_writer *w)
{
	uint32_t groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
	int error = netlink_socket_open(&w->requests, 0);
	if (!error)
		error = netlink_socket_open(&w->events, groups);
	if (!error)
		error = netlink_socket_ignore_own(w->events, w->requests);
	if (!error)
		error = read_kernel(w, &w->adopted);
	return error;
}

static void watch(struct fib_writer *w)
{
	struct ev_loop *loop = w->daemon->loop;
	ev_io_init(&w->answers_io, on_answers, netlink_socket_fd(w->requests), EV_READ);
	ev_io_init(&w->events_io, on_events, netlink_socket_fd(w->events), EV_READ);
	ev_timer_init(&w->resync, on_resync, 0., 0.);
	ev_timer_init(&w->retry, on_retry, 1., 1.);
	ev_timer_init(&w->pods, on_pods, 0., 0.);
	ev_timer_init(&w->audit, on_audit, AUDIT_S, AUDIT_S);
	w->answers_io.data = w->events_io.data = w->resync.data = w->retry.data = w->pods.data = w->audit.data = w;
	ev_timer_start(loop, &w->audit);
	ev_io_start(loop, &w->answers_io);
	ev_io_start(loop, &w->events_io);
	ev_timer_start(loop, &w->retry);
}

struct fib_writer *fib_writer_new(struct daemon *d, const struct route_mark *mark)
{
	struct fib_writer *w = calloc(1, sizeof *w);
	if (!w)
		abort();
	w->daemon = d;
	w->seq = 1;
	fib_init(&w->fib, &d->nhsets, mark);
	w->fib.held = true; /* until it is clear what came from a former life */
	int error = open_sockets(w);
	if (error) {
		log_error("kernel", "cannot read or write routes: %s%s", err_text(error),
			  error == -EPERM ? " (run as root, or with CAP_NET_ADMIN)" : "");
		netlink_socket_close(w->requests);
		netlink_socket_close(w->events);
		fib_fini(&w->fib);
		free(w);
		return NULL;
	}
	rib_cursor_open(d->rib, &w->cursor);
	watch(w);
	return w;
}

void fib_writer_free(struct fib_writer *w)
{
	if (!w)
		return;
	ev_io_stop(w->daemon->loop, &w->answers_io);
	ev_io_stop(w->daemon->loop, &w->events_io);
	ev_timer_stop(w->daemon->loop, &w->resync);
	ev_timer_stop(w->daemon->loop, &w->pods);
	ev_timer_stop(w->daemon->loop, &w->audit);
	ev_timer_stop(w->daemon->loop, &w->retry);
	netlink_socket_close(w->requests);
	netlink_socket_close(w->events);
	rib_cursor_close(&w->cursor);
	fib_fini(&w->fib);
	free(w);
}

size_t fib_writer_adopted(const struct fib_writer *w)
{
	return w->adopted;
}

void fib_writer_release(struct fib_writer *w)
{
	while (feed(w))
		;
	size_t differ = fib_release(&w->fib);
	if (w->adopted)
		log_info("kernel", "%zu routes of a former life taken over, %zu changes", w->adopted, differ);
}

const struct fib *fib_writer_fib(const struct fib_writer *w)
{
	return &w->fib;
}

size_t fib_writer_failed(const struct fib_writer *w)
{
	size_t n = 0;
	for (struct list *at = w->fib.failed.next; at != &w->fib.failed; at = at->next)
		n++;
	return n;
}
