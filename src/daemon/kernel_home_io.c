#include "src/daemon/kernel_home_io.h"

#include <errno.h>
#include <ev.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "netlink/link_msg.h"
#include "netlink/route_msg.h"
#include "netlink/socket_io.h"
#include "src/base/clock_io.h"
#include "src/base/err.h"
#include "src/base/log_io.h"
#include "src/daemon/daemon.h"
#include "src/daemon/fib_io.h"
#include "src/daemon/kernel_ask_io.h"
#include "src/daemon/listen_io.h"
#include "src/daemon/nexthop_io.h"
#include "src/daemon/peer_io.h"
#include "src/daemon/pods_io.h"
#include "src/daemon/publish_io.h"

enum { RETRY_S = 1 };

/* What is known of the VRF. */
struct vrf {
	uint32_t ifindex, table; /* 0: it is not there */
	bool up;
	char kind[LINK_KIND_MAX]; /* of the device that has its name and is none */
};

struct kernel_home {
	struct daemon *daemon;
	char name[LINK_NAME_MAX];
	struct vrf now;
	struct netlink_socket *events, *questions;
	ev_io io;
	ev_timer retry; /* of a socket that something closed nobody hears */
	bool broken; /* events, until it is mended */
	char text[128];
};

/* --- looking */

static struct vrf look(struct kernel_home *k)
{
	struct netlink_link l;
	struct vrf v = {.ifindex = 0};
	if (netlink_socket_mend(k->questions, false) < 0)
		return k->now; /* nobody can be asked */
	if (!kernel_ask_link_named(k->questions, k->name, &l))
		return v;
	if (!l.vrf_table) {
		snprintf(v.kind, sizeof v.kind, "%s", *l.kind ? l.kind : "link");
		return v;
	}
	return (struct vrf){.ifindex = l.ifindex, .table = l.vrf_table, .up = l.flags & IFF_UP};
}

static void describe(struct kernel_home *k)
{
	const struct vrf *v = &k->now;
	if (v->ifindex)
		snprintf(k->text, sizeof k->text, "%s, table %u%s%s", k->name, v->table,
			 v->up ? "" : ", and is down: ip link set up dev ", v->up ? "" : k->name);
	else if (*v->kind)
		snprintf(k->text, sizeof k->text, "waiting for the VRF %s: the device of that name is none (%s)", k->name, v->kind);
	else
		snprintf(k->text, sizeof k->text, "waiting for the VRF %s: there is no such device", k->name);
}

/* --- leaving a table */

struct left {
	struct route_mark mark;
	struct netlink_socket *socket;
	unsigned count;
};

static void on_left(void *arg, const struct nlmsghdr *h, int error, const char *text)
{
	struct left *left = arg;
	struct route r;
	bool deleted;
	uint64_t buf[NETLINK_ROUTE_MESSAGE_MAX / 8];
	(void)text;
	if (error || netlink_route_decode(h, &r, &deleted) != 0 || r.mark.protocol != left->mark.protocol ||
	    r.mark.table != left->mark.table)
		return;
	if (netlink_route_encode(buf, sizeof buf, NETLINK_ROUTE_DELETE, 0, &r))
		left->count += netlink_request(left->socket, buf, NULL, 0) == 0;
}

/* The routes over the VRF's devices went with it; those over none, our blackholes, did not. */
static void clear_table(struct kernel_home *k, uint32_t table)
{
	static const int families[] = {AF_INET, AF_INET6};
	struct left left = {.mark = apply_route_mark(k->daemon->conf)};
	uint64_t buf[64];
	left.mark.table = table;
	if (netlink_socket_open(&left.socket, 0))
		return;
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (netlink_route_dump_request(buf, sizeof buf, 1, families[i], table, left.mark.protocol))
			netlink_dump(k->questions, buf, on_left, &left);
	netlink_socket_close(left.socket);
	if (left.count)
		log_info("vrf", "%u routes of ours were taken out of table %u", left.count, table);
}

static void leave(struct kernel_home *k, const struct vrf *was)
{
	char why[64];
	snprintf(why, sizeof why, "the VRF %s is gone", k->name);
	log_warn("vrf", "%s is gone: its routes and sessions wait for it", k->name);
	fib_writer_free(k->daemon->fib);
	k->daemon->fib = NULL;
	peers_device_gone(k->daemon, k->name, why);
	clear_table(k, was->table);
}

/* --- settling in one */

/* False: said why. */
static bool open_fib(struct daemon *d, uint32_t table)
{
	struct route_mark mark = apply_route_mark(d->conf);
	mark.table = table;
	d->fib = fib_writer_new(d, &mark, apply_no_objects(d->conf));
	if (d->fib && !d->restarting)
		fib_writer_release(d->fib);
	return d->fib;
}

static void settle(struct kernel_home *k)
{
	struct daemon *d = k->daemon;
	if (!open_fib(d, k->now.table))
		return; /* on_retry() comes back to it */
	log_info("vrf", "%s is there: its routes are in table %u", k->name, k->now.table);
	next_hops_missed_events(d->next_hops);
	listener_devices_changed(d->listener);
	peers_link_changed(d, k->now.ifindex, k->name, true);
	pods_repair(d);
	publish_plugin_facts(d);
}

static void look_again(struct kernel_home *k)
{
	struct vrf was = k->now;
	k->now = look(k);
	describe(k);
	bool same = was.ifindex == k->now.ifindex && was.table == k->now.table;
	if (!same && was.ifindex)
		leave(k, &was);
	if (k->now.ifindex && (!same || !k->daemon->fib))
		settle(k);
	if (k->now.ifindex && was.up && !k->now.up && same)
		log_warn("vrf", "%s is down, and nothing gets through", k->name);
	if (strcmp(was.kind, k->now.kind) != 0 && *k->now.kind)
		log_warn("vrf", "%s", k->text);
}

/* --- events */

struct heard {
	const struct kernel_home *home;
	bool of_it;
};

/* One that gets its name, loses it, or is it. */
static void on_link_event(void *arg, const struct nlmsghdr *h, int error, const char *text)
{
	struct heard *heard = arg;
	struct netlink_link l;
	bool deleted;
	(void)error;
	(void)text;
	if (netlink_link_decode(h, &l, &deleted) == 0)
		heard->of_it |= l.ifindex == heard->home->now.ifindex || strcmp(l.name, heard->home->name) == 0;
}

static void on_events(struct ev_loop *loop, ev_io *io, int revents)
{
	struct kernel_home *k = io->data;
	struct heard heard = {.home = k};
	(void)revents;
	int error = netlink_socket_receive(k->events, on_link_event, &heard);
	if (error && error != -ENOBUFS) {
		ev_io_stop(loop, io);
		k->broken = true;
	} else if (error || heard.of_it) {
		look_again(k);
	}
}

/* True: there is a new socket, and what happened meanwhile was not heard. */
static bool mend_events(struct kernel_home *k)
{
	if (netlink_socket_mend(k->events, k->broken) <= 0)
		return false;
	log_warn("vrf", "the socket for events broke or was closed by something: going on with a new one");
	k->broken = false;
	ev_io_stop(k->daemon->loop, &k->io);
	ev_io_set(&k->io, netlink_socket_fd(k->events), EV_READ);
	ev_io_start(k->daemon->loop, &k->io);
	return true;
}

static void on_retry(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct kernel_home *k = t->data;
	(void)loop;
	(void)revents;
	if (mend_events(k) || (k->now.ifindex && !k->daemon->fib))
		look_again(k);
}

/* --- life */

static int watch_vrf(struct daemon *d, const char *name)
{
	struct kernel_home *k = d->home = calloc(1, sizeof *k);
	if (!k)
		abort();
	k->daemon = d;
	snprintf(k->name, sizeof k->name, "%s", name);
	ev_timer_init(&k->retry, on_retry, RETRY_S, RETRY_S);
	ev_io_init(&k->io, on_events, -1, EV_READ);
	k->io.data = k->retry.data = k;
	int error = netlink_socket_open(&k->questions, 0);
	if (!error)
		error = netlink_socket_open(&k->events, RTMGRP_LINK);
	if (error) {
		log_error("vrf", "cannot watch %s: %s", name, err_text(error));
		return error;
	}
	ev_io_set(&k->io, netlink_socket_fd(k->events), EV_READ);
	ev_io_start(d->loop, &k->io);
	ev_timer_again(d->loop, &k->retry);
	k->now = look(k);
	describe(k);
	if (!k->now.ifindex)
		log_warn("vrf", "%s", k->text);
	return 0;
}

int kernel_home_start(struct daemon *d)
{
	struct route_mark mark = apply_route_mark(d->conf);
	const char *vrf = d->conf->kernel.vrf;
	d->restart_deadline_at = tick_after(d->started_at, DAEMON_RESTART_WAIT_MS);
	if (!d->conf->kernel.install)
		return 0;
	if (vrf && watch_vrf(d, vrf))
		return -1;
	if (vrf)
		mark.table = d->home->now.table;
	if (mark.table)
		d->fib = fib_writer_new(d, &mark, apply_no_objects(d->conf));
	if (mark.table && !d->fib)
		return -1;
	d->next_hops = next_hops_new(d);
	if (!d->next_hops)
		return -1;
	d->restarting = d->fib && fib_writer_adopted(d->fib) > 0;
	if (d->fib && !d->restarting)
		fib_writer_release(d->fib);
	return 0;
}

void kernel_home_stop(struct daemon *d)
{
	fib_writer_free(d->fib);
	d->fib = NULL;
	if (!d->home)
		return;
	ev_io_stop(d->loop, &d->home->io);
	ev_timer_stop(d->loop, &d->home->retry);
	netlink_socket_close(d->home->events);
	netlink_socket_close(d->home->questions);
	free(d->home);
	d->home = NULL;
}

uint32_t kernel_home_vrf(const struct daemon *d)
{
	return d->home ? d->home->now.ifindex : 0;
}

const char *kernel_home_text(const struct daemon *d)
{
	return d->home ? d->home->text : NULL;
}

const char *kernel_home_missing(const struct daemon *d)
{
	if (!d->home)
		return "not installing (kernel.install: false)";
	return d->home->now.ifindex ? "the kernel cannot be read or written (the log says why)" : d->home->text;
}

bool kernel_home_waits(const struct daemon *d)
{
	return d->home && (!d->home->now.ifindex || !d->home->now.up);
}
