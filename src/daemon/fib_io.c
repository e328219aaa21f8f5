#include "src/daemon/fib_io.h"

#include <errno.h>
#include <ev.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>

#include "netlink/route_msg.h"
#include "netlink/socket_io.h"
#include "src/base/clock_io.h"
#include "src/base/err.h"
#include "src/base/log_io.h"
#include "src/daemon/audit_io.h"
#include "src/daemon/daemon.h"
#include "src/daemon/kernel_watch_io.h"
#include "src/daemon/nexthop_io.h"
#include "src/daemon/objects_io.h"

enum {
	WINDOW = 1024,       /* requests without an answer; a power of two */
	FEED = 1024,         /* journal entries a turn */
	OBJECTS = 64,        /* said to the kernel in one go */
	BATCH_BYTES = 16384, /* one write to the kernel, which works on it meanwhile: some 250 routes, 1 to 2 ms */
};

struct fib_writer {
	struct daemon *daemon;
	struct fib fib;
	struct rib_cursor cursor;
	struct netlink_socket *requests;
	struct audit *audit;
	struct kernel_watch *watch;
	struct objects_writer *objects;
	ev_io answers_io;
	ev_timer retry;
	unsigned objects_left; /* that may be said in this turn */
	bool broken; /* the socket, until it is mended */
	uint64_t overruns;
	uint32_t seq, answered; /* numbers: of the next request, of the oldest without an answer */
	struct tick answered_at;
	struct fib_entry *waiting[WINDOW]; /* by number */
	size_t adopted;
	struct log_limit limit;
};

/* --- answers */

/* Of the oldest request that has none yet. */
static void answer(struct fib_writer *w, int error, const char *text)
{
	char prefix[PREFIX_TEXT_MAX];
	struct fib_entry *e = w->waiting[w->answered++ & (WINDOW - 1)];
	const struct prefix p = e->prefix;
	/* -EEXIST: whose route it is, the audit says */
	if (fib_done(&w->fib, e, error, text, w->answered_at) && error != -EEXIST)
		log_remote(&w->limit, LOG_LEVEL_WARN, "kernel", "%s refused: %s%s%s", prefix_format(&p, prefix), err_text(error),
			   *text ? ": " : "", text);
}

/* The kernel answers in the order of the requests: to each that it refuses, and else only to the last one of a write. So
 * all before one that is answered, and had no answer of their own, were done. */
static void on_answer(void *arg, const struct nlmsghdr *h, int error, const char *text)
{
	struct fib_writer *w = arg;
	if (h->nlmsg_type != NLMSG_ERROR || h->nlmsg_seq - w->answered >= w->seq - w->answered) /* from before an overrun */
		return;
	while (w->answered != h->nlmsg_seq)
		answer(w, 0, "");
	answer(w, error, text);
}

/* What is under way will not be answered. */
static void lose_answers(struct fib_writer *w)
{
	for (; w->answered != w->seq; w->answered++)
		fib_lost(&w->fib, w->waiting[w->answered & (WINDOW - 1)]);
}

/* Nothing more goes through it until it is mended. */
static void broken(struct fib_writer *w, int error)
{
	log_remote(&w->limit, LOG_LEVEL_ERROR, "kernel", "cannot write routes: %s; trying again", err_text(error));
	ev_io_stop(w->daemon->loop, &w->answers_io);
	w->broken = true;
	lose_answers(w);
}

static void take_answers(struct fib_writer *w)
{
	uint32_t before = w->answered;
	w->answered_at = clock_now();
	int error = netlink_socket_receive(w->requests, on_answer, w);
	if (w->answered != before)
		next_hops_own_changed(w->daemon->next_hops);
	if (error == -ENOBUFS) {
		w->overruns++;
		lose_answers(w);
	} else if (error) {
		broken(w, error);
	}
}

static void on_answers(struct ev_loop *loop, ev_io *io, int revents)
{
	struct fib_writer *w = io->data;
	(void)loop;
	(void)revents; /* of a broken one the reading tells */
	take_answers(w);
}

/* A socket that broke, or that something closed (a debugger, a library), which tells nothing. */
static void mend_sockets(struct fib_writer *w)
{
	int mended = netlink_socket_mend(w->requests, w->broken);
	if (mended > 0) {
		log_warn("kernel", "the socket for routes broke or was closed by something: going on with a new one");
		w->broken = false;
		ev_io_stop(w->daemon->loop, &w->answers_io);
		ev_io_set(&w->answers_io, netlink_socket_fd(w->requests), EV_READ);
		ev_io_start(w->daemon->loop, &w->answers_io);
		lose_answers(w);
		audit_plan(w->audit);
	}
	objects_writer_mend(w->objects);
	kernel_watch_mend(w->watch, w->requests, mended > 0);
}

static void on_retry(struct ev_loop *loop, ev_timer *t, int revents)
{
	enum { LATEST_MS = 1000 };
	struct fib_writer *w = t->data;
	struct tick now = clock_now(), next = fib_retry(&w->fib, now);
	int64_t ms = tick_is_set(next) ? next.ms - now.ms : LATEST_MS;
	(void)revents;
	mend_sockets(w);
	ev_timer_set(t, (double)(ms < 1 ? 1 : ms < LATEST_MS ? ms : LATEST_MS) / 1000., 0.);
	ev_timer_start(loop, t);
}

/* --- work */

static bool feed(struct fib_writer *w)
{
	struct rib_entry *e;
	for (unsigned n = 0; n < FEED && (e = rib_cursor_next(&w->cursor)); n++) {
		struct nhset *s = nhset_choose(&w->daemon->nhsets, w->daemon->rib, e);
		const struct prefix prefix = rib_entry_prefix(e);
		fib_want(&w->fib, &prefix, s);
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

static bool is_full(const struct fib_writer *w)
{
	return w->seq - w->answered == WINDOW;
}

static void give_back(struct fib_writer *w, uint32_t first, int error)
{
	for (; w->seq != first; w->seq--)
		fib_done(&w->fib, w->waiting[(w->seq - 1) & (WINDOW - 1)], error, "the request could not be sent", clock_now());
}

/* Objects go ahead of the routes that refer to them. */
static bool next(struct fib_writer *w, struct fib_intent *out)
{
	while (!fib_next(&w->fib, out)) {
		if (w->objects_left == 0)
			return false;
		w->objects_left--;
		if (!objects_writer_say(w->objects, 1))
			return fib_next(&w->fib, out); /* it may be that none is to be had, or that it is there */
	}
	return true;
}

/* Bytes of the intentions that buf has room for; *last: the message to be acknowledged. */
static size_t fill(struct fib_writer *w, uint8_t *buf, struct nlmsghdr **last)
{
	struct fib_intent intent;
	size_t len = 0;
	while (BATCH_BYTES - len >= NETLINK_ROUTE_MESSAGE_MAX && !is_full(w) && next(w, &intent)) {
		size_t n = netlink_route_encode(buf + len, BATCH_BYTES - len, op_of(intent.op), w->seq, &intent.route);
		if (!n) { /* never sent, so nobody would answer */
			fib_done(&w->fib, intent.entry, -EINVAL, "this route cannot be said in netlink", clock_now());
			continue;
		}
		*last = (struct nlmsghdr *)(void *)(buf + len);
		(*last)->nlmsg_flags &= (uint16_t)~NLM_F_ACK;
		len += n;
		w->waiting[w->seq++ & (WINDOW - 1)] = intent.entry;
	}
	return len;
}

/* While it is being written to the kernel does its work. */
static int write_batch(struct fib_writer *w, const void *buf, size_t len)
{
	daemon_mark_turn(w->daemon, TURN_KERNEL);
	int error = netlink_socket_send(w->requests, buf, len);
	daemon_mark_turn(w->daemon, TURN_WRITE);
	return error;
}

/* One batch to the kernel, whose answers are there when it is sent; true: more could follow at once. */
static bool push(struct fib_writer *w)
{
	static uint64_t buf[BATCH_BYTES / 8];
	struct nlmsghdr *last;
	uint32_t first = w->seq;
	size_t len = fill(w, (uint8_t *)buf, &last);
	if (len == 0)
		return false;
	last->nlmsg_flags |= NLM_F_ACK;
	int error = write_batch(w, buf, len);
	if (error == -EAGAIN || error == -ENOBUFS || error == -ENOMEM)
		give_back(w, first, error);
	else if (error)
		broken(w, error);
	else
		take_answers(w);
	return !error && !w->broken && !list_empty(&w->fib.todo) && !is_full(w);
}

bool fib_writer_work(struct fib_writer *w)
{
	bool more = feed(w);
	objects_writer_check(w->objects);
	w->objects_left = OBJECTS;
	more |= objects_writer_say(w->objects, OBJECTS);
	if (!w->broken)
		more |= push(w);
	if (w->fib.unclear)
		audit_plan(w->audit);
	return more;
}

/* --- life */

/* The kernel is watched before it is read: what changes meanwhile is not missed. */
static int open_kernel(struct fib_writer *w)
{
	int error = netlink_socket_open(&w->requests, 0);
	w->objects = error ? NULL : objects_writer_new(w->daemon, &w->fib);
	if (!error && !w->objects)
		error = -EIO;
	if (!error)
		error = kernel_watch_new(&w->watch, w->daemon, &w->fib, w->audit, w->requests);
	if (!error)
		objects_writer_check(w->objects);
	if (!error)
		error = audit_now(w->audit);
	if (error == -EINTR)
		error = 0; /* others change routes all the time: what was read is taken over, and it is soon read again */
	w->adopted = fib_installed(&w->fib);
	return error;
}

static void close_kernel(struct fib_writer *w)
{
	ev_io_stop(w->daemon->loop, &w->answers_io);
	ev_timer_stop(w->daemon->loop, &w->retry);
	kernel_watch_free(w->watch);
	audit_free(w->audit);
	objects_writer_free(w->objects);
	netlink_socket_close(w->requests);
	fib_fini(&w->fib);
	free(w);
}

struct fib_writer *fib_writer_new(struct daemon *d, const struct route_mark *mark, bool no_objects)
{
	struct fib_writer *w = calloc(1, sizeof *w);
	if (!w)
		abort();
	w->daemon = d;
	w->seq = w->answered = 1;
	fib_init(&w->fib, &d->nhsets, mark, no_objects);
	w->fib.held = w->fib.objects.adopting = true; /* until it is clear what came from a former life */
	w->fib.objects.doubted = true;
	w->audit = audit_new(d, &w->fib);
	ev_init(&w->answers_io, on_answers);
	ev_timer_init(&w->retry, on_retry, 0., 0.);
	w->answers_io.data = w->retry.data = w;
	int error = open_kernel(w);
	if (error) {
		log_error("kernel", "cannot read or write routes: %s%s", err_text(error),
			  error == -EPERM ? " (run as root, or with CAP_NET_ADMIN)" : "");
		close_kernel(w);
		return NULL;
	}
	rib_cursor_open(d->rib, &w->cursor);
	ev_io_set(&w->answers_io, netlink_socket_fd(w->requests), EV_READ);
	ev_io_start(d->loop, &w->answers_io);
	ev_timer_start(d->loop, &w->retry);
	return w;
}

void fib_writer_free(struct fib_writer *w)
{
	if (!w)
		return;
	rib_cursor_close(&w->cursor);
	close_kernel(w);
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

void fib_writer_hasten(struct fib_writer *w)
{
	objects_writer_hasten(w->objects);
}

bool fib_writer_is_own(const struct fib_writer *w, uint32_t port)
{
	return objects_writer_is_own(w->objects, port);
}

void fib_writer_object_event(struct fib_writer *w, uint32_t port)
{
	objects_writer_heard(w->objects, port);
}

const char *fib_writer_no_objects(const struct fib_writer *w)
{
	return objects_writer_why_not(w->objects);
}

const struct fib *fib_writer_fib(const struct fib_writer *w)
{
	return &w->fib;
}

size_t fib_writer_failed(const struct fib_writer *w)
{
	return w->fib.refused;
}

void fib_writer_report(const struct fib_writer *w, struct fib_report *out)
{
	audit_report(w->audit, &out->audit);
	out->window = WINDOW;
	out->lost_answers = w->overruns;
	out->lost_events = kernel_watch_overruns(w->watch);
	out->buffer = kernel_watch_buffer(w->watch);
}

unsigned fib_writer_resync(struct fib_writer *w)
{
	fib_retry_all(&w->fib, clock_now());
	return audit_demand(w->audit);
}
