#include "src/daemon/nexthop_io.h"

#include <errno.h>
#include <ev.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>

#include "netlink/route_msg.h"
#include "netlink/socket_io.h"
#include "rib/nexthop.h"
#include "src/base/err.h"
#include "src/base/log_io.h"
#include "src/daemon/daemon.h"
#include "src/daemon/fib_io.h"
#include "src/daemon/kernel_ask_io.h"
#include "src/daemon/kernel_home_io.h"

enum {
	REVIEW_BUDGET = 20000,
	OWN_DELAY_MS = 200, /* our own changes come in thousands, and matter to few next hops */
	SWEEP_S = 60,
	AGAIN_S = 1, /* after a question without an answer */
	LINK_AGAIN_MS = 200,
	LINKS = 16,  /* that changed in this time, else all are asked for */
};

struct next_hops {
	struct daemon *daemon;
	struct nexthop_table table;
	struct netlink_socket *socket; /* for questions that wait for their answer: the kernel gives it at once */
	ev_timer own, sweep, again, links_again;
	uint32_t links[LINKS];
	unsigned link_count;
	struct log_limit limit;
	bool reviewing;
};

/* --- one question */

struct match {
	struct route route;
	bool found, local;
};

static void on_match(void *arg, const struct nlmsghdr *h, int error, const char *text)
{
	struct match *m = arg;
	bool deleted;
	(void)text;
	if (error)
		return;
	m->local |= netlink_route_is_local(h);
	m->found |= netlink_route_decode(h, &m->route, &deleted) == 0;
}

/* Does no path to the prefix depend on another route? */
static bool stands_alone(const struct daemon *d, const struct prefix *p)
{
	struct rib_entry *e = rib_find(d->rib, p);
	if (!e || !rib_best(e))
		return false;
	for (const struct rib_path *path = rib_path_first(e); path; path = rib_path_next(d->rib, path))
		if (!rib_path_source(path)->single_hop)
			return false;
	return true;
}

static bool is_ours(const struct daemon *d, const struct route *r)
{
	const struct route_mark *mark = d->fib ? &fib_writer_fib(d->fib)->mark : NULL;
	return mark && r->mark.protocol == mark->protocol && r->mark.table == mark->table;
}

static enum nexthop_state state_of(const struct daemon *d, const struct match *m)
{
	const struct route *r = &m->route;
	bool gateway = false, up = false;
	if (m->local)
		return NEXTHOP_OWN_ADDRESS;
	if (!m->found || r->type != ROUTE_UNICAST)
		return NEXTHOP_NO_ROUTE;
	for (unsigned i = 0; i < r->nexthop_count; i++) {
		up |= !r->nexthops[i].down;
		gateway |= !addr_is_zero(&r->nexthops[i].gateway);
	}
	if (prefix_is_default(&r->prefix))
		return NEXTHOP_DEFAULT_ONLY;
	if (!up)
		return NEXTHOP_LINK_DOWN;
	if (is_ours(d, r))
		return r->mark.metric == fib_writer_fib(d->fib)->mark.metric && stands_alone(d, &r->prefix) ? NEXTHOP_RECURSIVE
													    : NEXTHOP_OWN_ROUTE;
	return gateway ? NEXTHOP_GATEWAY : NEXTHOP_DIRECT;
}

static bool in_vrf(const struct nexthop *nh)
{
	return nh->ifindex && !addr_is_link_local(&nh->addr);
}

/* That there is no route is an answer of the kernel's; these tell that it was not asked, or not heard. */
static bool is_no_answer(int error)
{
	static const int errors[] = {-EBADF, -ENOTSOCK, -ENOBUFS, -ENOMEM, -EAGAIN, -ETIMEDOUT, -ECONNREFUSED, ERR_CORRUPT};
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (error == errors[i])
			return true;
	return false;
}

static bool query(struct next_hops *n, const struct nexthop *nh, struct match *m)
{
	uint64_t buf[64];
	netlink_route_match_request(buf, sizeof buf, 0, &nh->addr, nh->ifindex);
	int error = netlink_query(n->socket, buf, on_match, m);
	if (is_no_answer(error) && netlink_socket_mend(n->socket, false) > 0) {
		log_warn("kernel", "the socket for next hops was closed by something: going on with a new one");
		error = netlink_query(n->socket, buf, on_match, m);
	}
	if (!is_no_answer(error))
		return true;
	log_remote(&n->limit, LOG_LEVEL_ERROR, "kernel", "cannot look up next hops: %s; trying again", err_text(error));
	ev_timer_set(&n->again, AGAIN_S, 0.);
	ev_timer_start(n->daemon->loop, &n->again);
	return false;
}

static void resolve(void *arg, const struct nexthop *nh, struct nexthop_answer *out)
{
	struct next_hops *n = arg;
	struct match m = {.found = false};
	bool answered = query(n, nh, &m);
	if (in_vrf(nh) && m.route.mark.table == RT_TABLE_MAIN) /* what the VRF does not know, the kernel looks up there */
		m.found = false;
	if (m.found)
		kernel_ask_next_hops(n->socket, &m.route);
	out->state = answered ? state_of(n->daemon, &m) : NEXTHOP_NOT_ASKED;
	out->via_count = 0;
	for (unsigned i = 0; m.found && i < m.route.nexthop_count; i++)
		if (!m.route.nexthops[i].down)
			out->via[out->via_count++] = m.route.nexthops[i];
}

bool next_hops_on_link(struct next_hops *n, const struct addr *a, uint32_t ifindex)
{
	const struct nexthop nh = {.addr = *a, .ifindex = ifindex};
	struct nexthop_answer answer;
	if (!n)
		return false;
	resolve(n, &nh, &answer);
	return answer.state == NEXTHOP_DIRECT;
}

uint32_t next_hops_vrf(struct next_hops *n, const char *device)
{
	struct netlink_link l;
	if (n && kernel_home_vrf(n->daemon))
		return kernel_home_vrf(n->daemon);
	return n && *device && kernel_ask_link_named(n->socket, device, &l) && l.vrf_table ? l.ifindex : 0;
}

/* --- events */

static void plan_links_again(struct next_hops *n)
{
	ev_timer_stop(n->daemon->loop, &n->links_again);
	ev_timer_set(&n->links_again, LINK_AGAIN_MS / 1000., 0.);
	ev_timer_start(n->daemon->loop, &n->links_again);
}

static void on_links_again(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct next_hops *n = t->data;
	(void)loop;
	(void)revents;
	if (n->link_count > LINKS)
		nexthop_doubt_all(&n->table);
	for (unsigned i = 0; n->link_count <= LINKS && i < n->link_count; i++)
		nexthop_doubt_link(&n->table, n->links[i]);
	n->link_count = 0;
}

/* The kernel tells that a link goes down before it takes its routes out, and of that it says nothing: who asks at once
 * may hear of a route that is about to go. So it is asked again. */
void next_hops_link_changed(struct next_hops *n, uint32_t ifindex)
{
	nexthop_doubt_link(&n->table, ifindex);
	if (n->link_count < LINKS)
		n->links[n->link_count] = ifindex;
	n->link_count += n->link_count <= LINKS;
	plan_links_again(n);
}

/* Of routes that go with their next-hop object, or lead elsewhere since it says something else, the kernel need not tell. */
void next_hops_objects_changed(struct next_hops *n)
{
	if (!n || n->link_count > LINKS)
		return;
	n->link_count = LINKS + 1;
	plan_links_again(n);
}

void next_hops_prefix_changed(struct next_hops *n, const struct prefix *p)
{
	nexthop_doubt_prefix(&n->table, p);
}

void next_hops_missed_events(struct next_hops *n)
{
	nexthop_doubt_all(&n->table);
}

struct nexthop_table *next_hops_table(struct next_hops *n)
{
	return n ? &n->table : NULL;
}

void next_hops_own_changed(struct next_hops *n)
{
	if (ev_is_active(&n->own))
		return;
	ev_timer_set(&n->own, OWN_DELAY_MS / 1000., 0.);
	ev_timer_start(n->daemon->loop, &n->own);
}

static void on_own(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct next_hops *n = t->data;
	(void)loop;
	(void)revents;
	nexthop_doubt_indirect(&n->table);
}

/* What no event told, and what nobody needs any more. */
static void on_sweep(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct next_hops *n = t->data;
	(void)loop;
	(void)revents;
	nexthop_sweep(&n->table);
	nexthop_doubt_all(&n->table);
}

static void on_again(struct ev_loop *loop, ev_timer *t, int revents)
{
	(void)loop;
	(void)revents;
	next_hops_missed_events(t->data);
}

/* --- life */

bool next_hops_work(struct next_hops *n)
{
	bool more = nexthop_work(&n->table);
	if (n->daemon->fib)
		fib_writer_hasten(n->daemon->fib);
	n->reviewing = rib_review(n->daemon->rib, REVIEW_BUDGET);
	return more || n->reviewing;
}

bool next_hops_settled(const struct next_hops *n)
{
	return nexthop_settled(&n->table) && !n->reviewing;
}

struct next_hops *next_hops_new(struct daemon *d)
{
	struct next_hops *n = calloc(1, sizeof *n);
	if (!n)
		abort();
	n->daemon = d;
	int error = netlink_socket_open(&n->socket, 0);
	if (error) {
		log_error("kernel", "cannot look up next hops: %s", err_text(error));
		free(n);
		return NULL;
	}
	nexthop_table_init(&n->table, &d->nhsets, resolve, n);
	rib_track(d->rib, &n->table);
	ev_timer_init(&n->own, on_own, 0., 0.);
	ev_timer_init(&n->sweep, on_sweep, SWEEP_S, SWEEP_S);
	ev_timer_init(&n->again, on_again, 0., 0.);
	ev_timer_init(&n->links_again, on_links_again, 0., 0.);
	n->links_again.data = n->own.data = n->sweep.data = n->again.data = n;
	ev_timer_start(d->loop, &n->sweep);
	return n;
}

void next_hops_free(struct next_hops *n)
{
	if (!n)
		return;
	ev_timer_stop(n->daemon->loop, &n->own);
	ev_timer_stop(n->daemon->loop, &n->sweep);
	ev_timer_stop(n->daemon->loop, &n->again);
	ev_timer_stop(n->daemon->loop, &n->links_again);
	netlink_socket_close(n->socket);
	nexthop_table_fini(&n->table);
	free(n);
}
