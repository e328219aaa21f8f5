#include "src/daemon/audit_io.h"

#include <errno.h>
#include <ev.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "netlink/route_msg.h"
#include "netlink/socket_io.h"
#include "src/base/err.h"
#include "src/base/log_io.h"
#include "src/daemon/daemon.h"
#include "src/daemon/publish_io.h"

enum {
	SOON_MS = 200,
	EVERY_S = 60,
	AUDIT_MAX = 20000, /* routes; reading more of them would hold up the loop */
};

struct audit {
	struct daemon *daemon;
	struct fib *fib;
	ev_timer soon, every;
	struct log_limit limit;
};

static bool is_ours(const struct fib *f, const struct route *r)
{
	return r->mark.protocol == f->mark.protocol && r->mark.table == f->mark.table && r->mark.metric == f->mark.metric &&
	       (r->type == ROUTE_BLACKHOLE || (r->nexthop_count && !addr_is_zero(&r->nexthops[0].gateway)));
}

static void on_dumped(void *arg, const struct nlmsghdr *h, int error, const char *text)
{
	struct audit *a = arg;
	struct route r;
	bool deleted;
	(void)text;
	if (error || netlink_route_decode(h, &r, &deleted) != 0 || deleted || !is_ours(a->fib, &r))
		return;
	fib_dump_found(a->fib, &r);
}

int audit_now(struct audit *a, size_t *differ)
{
	static const int families[] = {AF_INET, AF_INET6};
	uint64_t buf[64];
	struct netlink_socket *s;
	int error = netlink_socket_open(&s, 0);
	if (error)
		return error;
	fib_dump_begin(a->fib);
	for (size_t i = 0; i < sizeof families / sizeof *families && !error; i++) {
		netlink_route_dump_request(buf, sizeof buf, 1, families[i], a->fib->mark.table, a->fib->mark.protocol);
		error = netlink_dump(s, buf, on_dumped, a);
		if (error == -ENOENT || error == -EAFNOSUPPORT || error == -EOPNOTSUPP) /* no such table, no IPv6 */
			error = 0;
	}
	netlink_socket_close(s);
	if (error)
		return error;
	*differ = fib_dump_end(a->fib);
	return 0;
}

static void on_soon(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct audit *a = t->data;
	size_t differ = 0;
	(void)loop;
	(void)revents;
	int error = audit_now(a, &differ);
	if (error) {
		log_remote(&a->limit, LOG_LEVEL_ERROR, "kernel", "cannot read routes: %s; trying again", err_text(error));
		ev_timer_set(t, 1., 0.);
		ev_timer_start(a->daemon->loop, t);
	} else if (differ) {
		log_remote(&a->limit, LOG_LEVEL_INFO, "kernel", "%zu routes differ from what they should be: repairing", differ);
	}
	publish_plugin_facts(a->daemon);
}

void audit_plan(struct audit *a)
{
	if (ev_is_active(&a->soon))
		return;
	ev_timer_set(&a->soon, SOON_MS / 1000., 0.);
	ev_timer_start(a->daemon->loop, &a->soon);
}

static void on_every(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct audit *a = t->data;
	(void)loop;
	(void)revents;
	if (a->fib->installed <= AUDIT_MAX)
		audit_plan(a);
}

struct audit *audit_new(struct daemon *d, struct fib *f)
{
	struct audit *a = calloc(1, sizeof *a);
	if (!a)
		abort();
	a->daemon = d;
	a->fib = f;
	ev_timer_init(&a->soon, on_soon, 0., 0.);
	ev_timer_init(&a->every, on_every, EVERY_S, EVERY_S);
	a->soon.data = a->every.data = a;
	ev_timer_start(d->loop, &a->every);
	return a;
}

void audit_free(struct audit *a)
{
	if (!a)
		return;
	ev_timer_stop(a->daemon->loop, &a->soon);
	ev_timer_stop(a->daemon->loop, &a->every);
	free(a);
}
