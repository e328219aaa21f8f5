#include "src/daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/base/clock_io.h"
#include "src/base/file_io.h"
#include "src/base/log_io.h"
#include "src/daemon/control_io.h"
#include "src/daemon/dynamic_io.h"
#include "src/daemon/export.h"
#include "src/daemon/external_io.h"
#include "src/daemon/fib_io.h"
#include "src/daemon/host_io.h"
#include "src/daemon/kernel_home_io.h"
#include "src/daemon/limits_io.h"
#include "src/daemon/listen_io.h"
#include "src/daemon/nexthop_io.h"
#include "src/daemon/peer_io.h"
#include "src/daemon/publish_io.h"
#include "src/daemon/refilter_io.h"

enum { FLUSH_BUDGET = 20000 };

struct dying {
	struct list node;
	struct rib_source *source;
};

void daemon_bury_source(struct daemon *d, struct rib_source *s)
{
	struct dying *e = s ? calloc(1, sizeof *e) : NULL;
	if (!s)
		return;
	if (!e)
		abort();
	e->source = s;
	rib_source_leaves(d->rib, s);
	if (d->fib)
		fib_writer_hasten(d->fib); /* groups lose what is dead before the paths are taken out */
	list_append(&d->dying, &e->node);
}

static bool flush_dying(struct daemon *d, unsigned budget)
{
	list_each(n, tmp, &d->dying) {
		struct dying *e = container_of(n, struct dying, node);
		if (!rib_source_flush(d->rib, e->source, budget))
			return true;
		rib_source_free(e->source);
		list_remove(n);
		free(e);
	}
	return false;
}

static struct turn_time turn_now(void)
{
	return (struct turn_time){clock_us(), clock_cpu_us()};
}

void daemon_mark_turn(struct daemon *d, enum turn_part part)
{
	turns_mark(&d->turns, part, turn_now());
}

static bool forget_sources(struct daemon *d)
{
	return flush_dying(d, FLUSH_BUDGET);
}

static bool forget_external(struct daemon *d)
{
	return external_work(d->external);
}

static bool look_at_next_hops(struct daemon *d)
{
	return d->next_hops && next_hops_work(d->next_hops);
}

static bool write_kernel(struct daemon *d)
{
	return d->fib && fib_writer_work(d->fib);
}

static bool tell_peers(struct daemon *d)
{
	bool more = export_work(d, clock_now());
	limits_advertised(d);
	return peers_write(d) || more;
}

static bool free_prefixes(struct daemon *d)
{
	return rib_sweep(d->rib);
}

/* One round over everything that has something to do; true: there is more. */
static bool work_round(struct daemon *d)
{
	static const struct {
		enum turn_part part;
		bool (*work)(struct daemon *d);
	} parts[] = {
		{TURN_LEAVING, forget_sources},
		{TURN_REFILTER, refilter_work},
		{TURN_REFRESHES, refresh_work},
		{TURN_REFRESHES, forget_external},
		{TURN_NEXT_HOPS, look_at_next_hops}, /* before anyone is told of what depends on them */
		{TURN_KERNEL, write_kernel},
		{TURN_EXPORT, tell_peers},
		{TURN_SWEEP, free_prefixes},
	};
	bool more = false;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		more |= parts[i].work(d);
		daemon_mark_turn(d, parts[i].part);
	}
	return more;
}

static void on_pause_over(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)w;
	(void)revents;
}

static void wake_for_export(struct daemon *d)
{
	ev_timer_stop(d->loop, &d->pause);
	if (!tick_is_set(d->export_at))
		return;
	int64_t wait = d->export_at.ms - clock_now().ms;
	ev_now_update(d->loop);
	ev_timer_set(&d->pause, wait > 0 ? (double)wait / 1000. : 0., 0.);
	ev_timer_start(d->loop, &d->pause);
}

static void on_prepare(struct ev_loop *loop, ev_prepare *w, int revents)
{
	struct daemon *d = w->data;
	bool more;
	(void)revents;
	daemon_mark_turn(d, TURN_EVENTS);
	do
		more = work_round(d);
	while (more && clock_us() - d->turns.began.us < DAEMON_WORK_US);
	if (more)
		ev_idle_start(loop, &d->idle); /* the loop must not sleep */
	else
		ev_idle_stop(loop, &d->idle);
	wake_for_export(d);
	turns_end(&d->turns, turn_now());
}

/* The first thing after a wait. */
static void on_check(struct ev_loop *loop, ev_check *w, int revents)
{
	struct daemon *d = w->data;
	(void)loop;
	(void)revents;
	turns_begin(&d->turns, turn_now());
}

static void on_idle(struct ev_loop *loop, ev_idle *w, int revents)
{
	(void)loop;
	(void)w;
	(void)revents;
}

/* --- restart: when have the peers told all they know? */

/* One that knows graceful restart says so itself. Of others a silence must do, and of one that restarts as well, since
 * it waits for us as we for it (RFC 4724 section 4.1). */
static bool has_told_all(const struct peer *p, struct tick now)
{
	enum bgp_slot slot = bgp_session_slot(&p->session);
	if (slot == BGP_SLOTS)
		return *p->stopped; /* nothing will come of it */
	const struct bgp_open *o = &p->session.conn[slot].open;
	bool says_so = o->restart.present && !o->restart.restarting;
	return peer_has_ended_rib(p) ||
	       (!says_so && tick_since_ms(p->last_update_at, now) >= DAEMON_RESTART_QUIET_MS);
}

static bool all_peers_told(const struct daemon *d, struct tick now)
{
	if (!list_empty(&d->ranges)) /* nobody knows who else will call */
		return false;
	list_each(n, tmp, &d->peers)
		if (!has_told_all(container_of(n, struct peer, node), now))
			return false;
	return true;
}

static void end_restart(struct daemon *d)
{
	d->restarting = false;
	list_each(n, tmp, &d->peers) {
		struct peer *p = container_of(n, struct peer, node);
		p->session.restarting = p->session.kept_routes = false;
	}
	if (d->fib)
		fib_writer_release(d->fib);
}

static void on_second(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct daemon *d = w->data;
	struct tick now = clock_now();
	(void)loop;
	(void)revents;
	list_each(n, tmp, &d->peers) {
		peer_check_send_hold(container_of(n, struct peer, node), now);
		refresh_check(container_of(n, struct peer, node), now);
		helper_check(container_of(n, struct peer, node), now);
	}
	if (tick_due(d->publish_again_at, now))
		publish_plugin_facts(d);
	ranges_expire(d, now);
	transport_watch(d, now);
	if (!d->restarting)
		return;
	bool late = tick_due(d->restart_deadline_at, now);
	if (late)
		log_warn("daemon", "not every peer came back in %d s: routes that nobody announced are removed now",
			 DAEMON_RESTART_WAIT_MS / 1000);
	if ((late || all_peers_told(d, now)) && next_hops_settled(d->next_hops))
		end_restart(d);
}

/* --- life */

/* /run is empty after a boot. */
static int make_dirs(const char *path)
{
	int error = file_make_dirs(path);
	if (error)
		log_error("daemon", "%s: %s", path, strerror(-error));
	return error;
}

/* One daemon a run directory. The lock goes with the process, however it ends. */
static int take_lock(struct daemon *d)
{
	char path[512], pid[32] = "";
	snprintf(path, sizeof path, "%s/lock", d->conf->run_dir);
	d->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (d->lock_fd < 0) {
		log_error("daemon", "%s: %s", path, strerror(errno));
		return -1;
	}
	if (flock(d->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		ssize_t n = read(d->lock_fd, pid, sizeof pid - 1);
		pid[n > 0 ? n : 0] = '\0';
		pid[strcspn(pid, "\n")] = '\0';
		log_error("daemon", "another underlayd (pid %s) uses %s: stop it, or give this one its own paths.run", pid,
			  d->conf->run_dir);
		return -1;
	}
	int len = snprintf(pid, sizeof pid, "%d\n", (int)getpid());
	if (ftruncate(d->lock_fd, 0) < 0 || write(d->lock_fd, pid, (size_t)len) != len)
		log_warn("daemon", "%s: %s", path, strerror(errno));
	return 0;
}

static void on_stop_signal(struct ev_loop *loop, ev_signal *w, int revents)
{
	(void)revents;
	log_info("daemon", "%s: stopping; routes and pods stay as they are", strsignal(w->signum));
	ev_break(loop, EVBREAK_ALL);
}

static void on_sighup(struct ev_loop *loop, ev_signal *w, int revents)
{
	(void)loop;
	(void)revents;
	daemon_reload(w->data);
}

static void watch(struct daemon *d)
{
	ev_prepare_init(&d->prepare, on_prepare);
	ev_check_init(&d->check, on_check);
	ev_set_priority(&d->check, EV_MAXPRI);
	ev_idle_init(&d->idle, on_idle);
	ev_timer_init(&d->second, on_second, 1., 1.);
	ev_timer_init(&d->pause, on_pause_over, 0., 0.);
	ev_signal_init(&d->sigterm, on_stop_signal, SIGTERM);
	ev_signal_init(&d->sigint, on_stop_signal, SIGINT);
	ev_signal_init(&d->sighup, on_sighup, SIGHUP);
	d->prepare.data = d->check.data = d->second.data = d->sighup.data = d;
	ev_prepare_start(d->loop, &d->prepare);
	ev_check_start(d->loop, &d->check);
	ev_timer_start(d->loop, &d->second);
	ev_signal_start(d->loop, &d->sigterm);
	ev_signal_start(d->loop, &d->sigint);
	ev_signal_start(d->loop, &d->sighup);
}

static void start_tables(struct daemon *d)
{
	d->started_at = clock_now();
	d->started_unix = (int64_t)time(NULL);
	list_init(&d->peers);
	list_init(&d->ranges);
	list_init(&d->groups);
	list_init(&d->dying);
	list_init(&d->goodbyes);
	list_init(&d->unsent);
	bgp_attr_table_init(&d->attrs);
	nhset_table_init(&d->nhsets);
	d->rib = rib_new(d->conf->kernel.multipath);
	d->local = rib_source_new(d->rib, &(struct rib_source){.kind = RIB_SOURCE_LOCAL});
}

int daemon_start(struct daemon *d)
{
	struct conf *first = d->conf;
	if (make_dirs(first->run_dir) || make_dirs(first->state_dir) || take_lock(d))
		return -1;
	start_tables(d);
	if (kernel_home_start(d))
		return -1;
	d->external = external_new(d, first->state_dir, first->kernel.protocol);
	watch(d);
	d->control = control_new(d, first->control_socket);
	if (!d->control)
		return -1;
	d->listener = listener_new(d);
	d->router_adverts = router_adverts_new(d);
	d->conf = NULL; /* nothing runs yet: all of it is new */
	apply_conf(d, first);
	d->host = host_watch_new(d);
	host_watch_look(d->host);
	log_info("daemon", "underlayd runs: node %s, AS %u, %zu peers, %s", d->conf->node.name, d->conf->node.asn,
		 d->conf->peer_count, d->restarting ? "taking over the routes of before" : "a fresh start");
	return 0;
}

void daemon_stop(struct daemon *d)
{
	if (!d->rib) {
		conf_free(d->conf);
		return;
	}
	control_free(d->control);
	host_watch_free(d->host);
	listener_free(d->listener);
	kernel_home_stop(d); /* before the peers: what they take along no longer reaches the kernel */
	list_each(n, tmp, &d->peers)
		peer_free(container_of(n, struct peer, node), 0);
	list_each(n, tmp, &d->ranges)
		range_free(container_of(n, struct range, node));
	peer_end_goodbyes(d);
	router_adverts_free(d->router_adverts);
	while (flush_dying(d, FLUSH_BUDGET))
		;
	rib_free(d->rib);
	rib_source_free(d->local);
	external_free(d->external);
	next_hops_free(d->next_hops);
	nhset_table_fini(&d->nhsets);
	bgp_attr_table_fini(&d->attrs);
	policies_free(&d->policies, NULL);
	conf_free(d->conf);
	if (d->lock_fd >= 0)
		close(d->lock_fd);
	ev_loop_destroy(d->loop);
}

/* --- reload */

static bool same_text(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static bool same_vrf(const char *a, const char *b)
{
	return a && b ? same_text(a, b) : a == b;
}

/* Settings that only a new start can change: the running ones stay, and the log says so. */
static bool needs_restart(const struct conf *a, const struct conf *b)
{
	return !same_text(a->control_socket, b->control_socket) || !same_text(a->run_dir, b->run_dir) ||
	       !same_text(a->state_dir, b->state_dir) || a->kernel.install != b->kernel.install ||
	       a->kernel.table != b->kernel.table || !same_vrf(a->kernel.vrf, b->kernel.vrf) || a->kernel.metric != b->kernel.metric ||
	       a->kernel.protocol != b->kernel.protocol || a->kernel.multipath != b->kernel.multipath ||
	       a->kernel.nexthop_objects != b->kernel.nexthop_objects;
}

struct conf *daemon_load(const struct daemon *d, struct conf_errors *errors)
{
	struct conf *c = conf_load_file(d->conf_file, errors);
	if (c && d->socket_option) {
		free(c->control_socket);
		c->control_socket = strdup(d->socket_option);
	}
	return c;
}

void daemon_reload(struct daemon *d)
{
	struct conf_errors errors = {0};
	struct conf *next = daemon_load(d, &errors);
	char text[1024];
	for (size_t i = 0; i < errors.count; i++)
		log_error("reload", "%s", conf_error_format(&errors.at[i], d->conf_file, text, sizeof text));
	conf_errors_fini(&errors);
	if (!next) {
		log_error("reload", "nothing was changed");
		return;
	}
	if (needs_restart(d->conf, next)) {
		log_error("reload", "kernel, control or paths changed: that takes a restart; nothing was changed");
		conf_free(next);
		return;
	}
	log_info("reload", "%u changes applied", apply_conf(d, next));
	host_watch_look(d->host);
}
