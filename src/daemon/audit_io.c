#include "src/daemon/audit_io.h"

#include <errno.h>
#include <ev.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "netlink/route_msg.h"
#include "netlink/socket_io.h"
#include "src/base/clock_io.h"
#include "src/base/err.h"
#include "src/base/log_io.h"
#include "src/daemon/daemon.h"

enum {
	SOON_MS = 200,
	EVERY_MS = 60000,
	AGAIN_MS = 1000,     /* after an error, doubled each time up to EVERY_MS */
	SLICE_US = 1000,
	PAUSE_MS = 1,        /* between slices */
	JUDGED_A_STEP = 500,
	BUSY = 2000,         /* changes that wait to be written: a reading of the table now would mostly disturb */
	INTERRUPTED_MAX = 5, /* dumps begun anew before it is given up for now */
	REST_SOON = 4, REST_EVERY = 100, /* times what the last took: at most a fifth, a hundredth of the processor */
	SYNC_WAIT_MS = 10000,
};

struct audit {
	struct daemon *daemon;
	struct fib *fib;
	struct netlink_socket *socket; /* while it reads */
	ev_timer begin, step;
	unsigned stage, interrupted, errors;
	bool running, again;
	unsigned asked;        /* the number of the last that somebody waits for */
	struct tick due_at;    /* of the one that runs or is put off; not set: there is none */
	struct tick begun_at;
	struct audit_report report;
	int64_t busy_us, longest_us;
	struct log_limit limit;
};

static void on_route(void *arg, const struct nlmsghdr *h, int error, const char *text)
{
	struct audit *a = arg;
	struct route r;
	bool deleted;
	(void)text;
	if (!error && netlink_route_decode(h, &r, &deleted) == 0 && !deleted)
		fib_compare_found(a->fib, &r);
}

/* --- stages: each is begun once, and then stepped while it answers 1; 0: done, -errno */

/* Of every protocol: what is in our place is named, and a table that is mostly others' holds up no single call. */
static int begin_dump(struct audit *a, int family)
{
	uint64_t buf[64];
	netlink_route_dump_request(buf, sizeof buf, 1, family, a->fib->mark.table, 0);
	return netlink_dump_begin(a->socket, buf);
}

static int begin_v4(struct audit *a)
{
	fib_compare_begin(a->fib, clock_now());
	return begin_dump(a, AF_INET);
}

static int begin_v6(struct audit *a)
{
	return begin_dump(a, AF_INET6);
}

static int step_dump(struct audit *a)
{
	int error = netlink_dump_step(a->socket, on_route, a);
	return error == -ENOENT || error == -EAFNOSUPPORT || error == -EOPNOTSUPP ? 0 : error; /* no such table, no IPv6 */
}

static int begin_judging(struct audit *a)
{
	(void)a;
	return 0;
}

static int step_judging(struct audit *a)
{
	return fib_compare_judge(a->fib, JUDGED_A_STEP) ? 0 : 1;
}

static const struct {
	int (*begin)(struct audit *a);
	int (*step)(struct audit *a);
} stages[] = {{begin_v4, step_dump}, {begin_v6, step_dump}, {begin_judging, step_judging}};

enum { STAGES = sizeof stages / sizeof *stages };

/* --- from begin to end */

static void plan(ev_timer *t, struct ev_loop *loop, int64_t ms)
{
	ev_timer_stop(loop, t);
	ev_timer_set(t, (double)ms / 1000., 0.);
	ev_timer_start(loop, t);
}

static void due(struct audit *a)
{
	if (!tick_is_set(a->due_at))
		a->due_at = clock_now();
}

static int begin(struct audit *a)
{
	ev_timer_stop(a->daemon->loop, &a->begin);
	a->running = true;
	a->again = false;
	due(a);
	a->fib->objects.doubted = true; /* a member that was refused, one that nobody came for: found by reading them */
	a->stage = a->interrupted = 0;
	a->busy_us = a->longest_us = 0;
	a->begun_at = clock_now();
	int error = netlink_socket_open(&a->socket, 0);
	return error ? error : stages[0].begin(a);
}

/* A step: 1: go on, 0: it is over, -EAGAIN: nothing there yet, -errno. */
static int step(struct audit *a)
{
	int error = stages[a->stage].step(a);
	if (error == -EINTR && ++a->interrupted < INTERRUPTED_MAX) {
		a->stage = 0; /* what was read may be gone: from the start */
		error = stages[0].begin(a);
		return error ? error : 1;
	}
	if (error)
		return error;
	if (++a->stage == STAGES)
		return 0;
	error = stages[a->stage].begin(a);
	return error ? error : 1;
}

/* When the next one begins of itself. */
static int64_t next_ms(const struct audit *a)
{
	int64_t busy_ms = a->busy_us / 1000, wait = AGAIN_MS;
	for (unsigned i = 1; i < a->errors && wait < EVERY_MS; i++)
		wait *= 2;
	if (a->errors)
		return wait < EVERY_MS ? wait : EVERY_MS;
	if (a->again)
		return busy_ms * REST_SOON > SOON_MS ? busy_ms * REST_SOON : SOON_MS;
	return busy_ms * REST_EVERY > EVERY_MS ? busy_ms * REST_EVERY : EVERY_MS;
}

static void say(struct audit *a, int error)
{
	const struct fib_findings *x = &a->fib->findings;
	char first[PREFIX_TEXT_MAX], owner[NETLINK_PROTOCOL_TEXT_MAX];
	prefix_format(&x->first, first);
	if (error)
		log_remote(&a->limit, LOG_LEVEL_ERROR, "kernel", "cannot read routes: %s; trying again", err_text(error));
	else if (fib_differ(x))
		log_remote(&a->limit, LOG_LEVEL_INFO, "kernel",
			   "%zu routes differ from what they should be: repairing (%zu missing, %zu changed, %zu not wanted; one is %s)",
			   fib_differ(x), x->missing, x->bent, x->stray, first);
	if (!error && x->foreign)
		log_remote(&a->limit, LOG_LEVEL_WARN, "kernel",
			   "%zu routes cannot go in: a route of protocol %s with the same metric is in their place (one is %s)",
			   x->foreign, netlink_protocol_text(x->owner, owner), first);
}

static void stop(struct audit *a)
{
	netlink_socket_close(a->socket);
	a->socket = NULL;
	a->running = false;
}

static void end(struct audit *a, int error)
{
	struct audit_report *r = &a->report;
	stop(a);
	a->due_at = (struct tick){0};
	a->errors = error ? a->errors + 1 : 0;
	*r = (struct audit_report){.number = r->number + 1, .error = error, .ended_at = clock_now(), .findings = a->fib->findings};
	r->took_ms = tick_since_ms(a->begun_at, r->ended_at);
	r->busy_us = a->busy_us;
	r->longest_us = a->longest_us;
	plan(&a->begin, a->daemon->loop, next_ms(a));
	say(a, error);
}

static int64_t now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* As many steps as fit. What step() answered last. */
static int slice(struct audit *a)
{
	int64_t start = now_us(), took;
	int error;
	daemon_mark_turn(a->daemon, TURN_EVENTS);
	do
		error = step(a);
	while (error == 1 && now_us() - start < SLICE_US);
	took = now_us() - start;
	a->busy_us += took;
	a->longest_us = took > a->longest_us ? took : a->longest_us;
	daemon_mark_turn(a->daemon, TURN_AUDIT);
	return error;
}

/* While very many routes change, the kernel looks for the place of an IPv6 dump from the start of the table each time, and so
 * takes more of the processor than all that is written. Later, then; but not for ever, not where somebody asked, and not
 * because of what this one has found itself or others are doing to our routes. */
static bool had_better_wait(const struct audit *a)
{
	size_t found = a->running ? fib_differ(&a->fib->findings) : 0;
	bool is_load = a->fib->todo_count > BUSY + found && list_empty(&a->fib->hurt);
	return is_load && a->report.number >= a->asked && tick_since_ms(a->due_at, clock_now()) < EVERY_MS;
}

static void put_off(struct audit *a)
{
	stop(a);
	a->again = true;
	plan(&a->begin, a->daemon->loop, SOON_MS);
}

static void on_step(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct audit *a = t->data;
	(void)revents;
	if (had_better_wait(a)) {
		put_off(a);
		return;
	}
	int error = slice(a);
	if (error == 1 || error == -EAGAIN)
		plan(t, loop, PAUSE_MS);
	else
		end(a, error);
}

static void start(struct audit *a)
{
	int error = begin(a);
	if (error)
		end(a, error);
	else
		plan(&a->step, a->daemon->loop, 0);
}

static void on_begin(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct audit *a = t->data;
	(void)loop;
	(void)revents;
	due(a);
	if (had_better_wait(a))
		put_off(a);
	else
		start(a);
}

int audit_now(struct audit *a)
{
	int error = begin(a);
	if (!error)
		error = 1;
	while (error == 1 || error == -EAGAIN) {
		struct pollfd p = {.fd = netlink_socket_fd(a->socket), .events = POLLIN};
		if (error == -EAGAIN && poll(&p, 1, SYNC_WAIT_MS) == 0)
			error = -ETIMEDOUT;
		else
			error = slice(a);
	}
	end(a, error);
	return error;
}

void audit_plan(struct audit *a)
{
	struct ev_loop *loop = a->daemon->loop;
	if (a->running || a->again) {
		a->again = true;
		return;
	}
	a->again = true;
	int64_t ms = next_ms(a) - tick_since_ms(a->report.ended_at, clock_now());
	plan(&a->begin, loop, a->errors || ms > SOON_MS ? ms : SOON_MS);
}

unsigned audit_demand(struct audit *a)
{
	unsigned number = a->report.number + 1 + a->running;
	a->asked = number;
	if (a->running)
		a->again = true;
	else
		start(a); /* it may end at once, with an error */
	return number;
}

void audit_report(const struct audit *a, struct audit_report *out)
{
	*out = a->report;
	out->running = a->running;
	out->read_now = a->running ? a->fib->findings.read : 0;
}

struct audit *audit_new(struct daemon *d, struct fib *f)
{
	struct audit *a = calloc(1, sizeof *a);
	if (!a)
		abort();
	a->daemon = d;
	a->fib = f;
	ev_timer_init(&a->begin, on_begin, 0., 0.);
	ev_timer_init(&a->step, on_step, 0., 0.);
	a->begin.data = a->step.data = a;
	return a;
}

void audit_free(struct audit *a)
{
	if (!a)
		return;
	ev_timer_stop(a->daemon->loop, &a->begin);
	ev_timer_stop(a->daemon->loop, &a->step);
	netlink_socket_close(a->socket);
	free(a);
}
