#include "src/daemon/objects_io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "netlink/nexthop_msg.h"
#include "netlink/socket_io.h"
#include "src/base/err.h"
#include "src/base/log_io.h"
#include "src/daemon/daemon.h"
#include "src/daemon/nexthop_io.h"

enum { HASTE = 64 };

struct objects_writer {
	struct daemon *daemon;
	struct fib *fib;
	struct netlink_socket *socket;
	struct log_limit limit;
};

static const enum netlink_nexthop_op ops[] = {
	[OBJECTS_ADD] = NETLINK_NEXTHOP_ADD,
	[OBJECTS_REPLACE] = NETLINK_NEXTHOP_REPLACE,
	[OBJECTS_DELETE] = NETLINK_NEXTHOP_DELETE,
};

/* What a refused member says is said by its link, or by the routes that then have no object. */
static void say(struct objects_writer *w, const struct objects_intent *in)
{
	uint64_t buf[NETLINK_NEXTHOP_MESSAGE_MAX / 8];
	char text[NETLINK_TEXT_MAX] = "";
	size_t len = netlink_nexthop_encode(buf, sizeof buf, ops[in->op], 0, &in->object);
	int error = len ? netlink_request(w->socket, buf, text, sizeof text) : -EINVAL;
	if (error)
		log_remote(&w->limit, LOG_LEVEL_DEBUG, "kernel", "next-hop object %u: %s%s%s", in->object.id, err_text(error),
			   *text ? ": " : "", text);
	if (objects_done(&w->fib->objects, in, error))
		log_warn("kernel", "this kernel takes no next-hop objects (%s): each route says its next hops itself, and when one is "
			 "lost, each is written anew", err_text(error));
}

bool objects_writer_say(struct objects_writer *w, unsigned budget)
{
	struct objects_intent in;
	bool any = false;
	for (; budget && objects_next(&w->fib->objects, &in); budget--) {
		say(w, &in);
		any = true;
	}
	return any;
}

static void on_found(void *arg, const struct nlmsghdr *h, int error, const char *text)
{
	struct objects_writer *w = arg;
	struct nexthop_object o;
	bool deleted;
	(void)text;
	int bad = error ? error : netlink_nexthop_decode(h, &o, &deleted);
	if ((bad == 0 && !deleted) || bad == ERR_UNSUPPORTED)
		objects_dump_found(&w->fib->objects, &o, bad == 0);
}

void objects_writer_check(struct objects_writer *w)
{
	struct objects *o = &w->fib->objects;
	uint64_t buf[16];
	if (!o->doubted)
		return;
	o->doubted = false;
	objects_dump_begin(o);
	netlink_nexthop_dump_request(buf, sizeof buf, 0);
	int error = netlink_dump(w->socket, buf, on_found, w);
	if (error) /* nothing is concluded from what was not read */
		log_remote(&w->limit, LOG_LEVEL_DEBUG, "kernel", "cannot read next-hop objects: %s", err_text(error));
	else if (objects_dump_end(o))
		w->fib->unclear = true; /* routes may have gone with them */
}

static void tell_alive(struct objects *o, const struct nexthop_table *t)
{
	struct route_nexthop at[ROUTE_NEXTHOPS_MAX];
	for (const struct nexthop *nh = nexthop_each(t, NULL); nh; nh = nexthop_each(t, nh)) {
		unsigned count = nexthop_is_alive(nh) ? nhset_hops(nh, at, ROUTE_NEXTHOPS_MAX) : 0;
		for (unsigned i = 0; i < count; i++)
			objects_alive(o, &at[i].gateway, at[i].ifindex);
	}
}

void objects_writer_hasten(struct objects_writer *w)
{
	enum { MANY = 10000 }; /* a walk over more takes too long for each change: then the RIB has to get there */
	struct nexthop_table *t = next_hops_table(w->daemon->next_hops);
	struct objects *o = &w->fib->objects;
	if (!t || !t->news_of_life)
		return;
	t->news_of_life = false;
	objects_alive_begin(o, t->table.count > MANY);
	if (t->table.count <= MANY)
		tell_alive(o, t);
	if (objects_alive_end(o))
		w->fib->unclear = true; /* who wants it again may not be told by anyone else */
	objects_writer_say(w, HASTE);
}

void objects_writer_mend(struct objects_writer *w)
{
	if (netlink_socket_mend(w->socket, false) <= 0)
		return;
	log_warn("kernel", "the socket for next-hop objects was closed by something: going on with a new one");
	w->fib->objects.doubted = true; /* what was said to the closed one, nobody heard */
}

bool objects_writer_is_own(const struct objects_writer *w, uint32_t port)
{
	return port == netlink_socket_port(w->socket);
}

void objects_writer_heard(struct objects_writer *w, uint32_t port)
{
	if (objects_writer_is_own(w, port))
		return;
	w->fib->objects.doubted = true;
	next_hops_objects_changed(w->daemon->next_hops);
}

const char *objects_writer_why_not(const struct objects_writer *w)
{
	const struct objects *o = &w->fib->objects;
	if (!o->off)
		return NULL;
	return o->off_error ? err_text(o->off_error) : "kernel.nexthop-objects is never";
}

struct objects_writer *objects_writer_new(struct daemon *d, struct fib *f)
{
	struct objects_writer *w = calloc(1, sizeof *w);
	if (!w)
		abort();
	w->daemon = d;
	w->fib = f;
	int error = netlink_socket_open(&w->socket, 0);
	if (error) {
		log_error("kernel", "cannot write next-hop objects: %s", err_text(error));
		free(w);
		return NULL;
	}
	return w;
}

void objects_writer_free(struct objects_writer *w)
{
	if (!w)
		return;
	netlink_socket_close(w->socket);
	free(w);
}
