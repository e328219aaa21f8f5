#include "src/daemon/external_kernel_io.h"

#include <errno.h>
#include <ev.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "netlink/link_msg.h"
#include "netlink/message.h"
#include "netlink/route_msg.h"
#include "netlink/socket_io.h"
#include "rib/refresh.h"
#include "src/base/clock_io.h"
#include "src/base/err.h"
#include "src/base/log_io.h"
#include "src/daemon/daemon.h"
#include "src/daemon/external_io.h"
#include "src/daemon/pods_io.h"

enum {
	TURN_MESSAGES = 2000,
	TORN_MAX = 5,
	SWEEP_BUDGET = 20000,
	SOON_MS = 200,
	AGAIN_MS = 1000,
	EVERY_S = 60,
	CHECK_S = 1,
};

struct watch {
	struct list node;
	char *name;
	const struct external_rules *rules; /* NULL while they change */
	struct rib_source *source;
	struct rib_policy_cache cache;
	bool wanted[BGP_FAMILIES];  /* to be read */
	uint8_t torn[BGP_FAMILIES]; /* dumps in a row that could not be relied on */
	bool known[BGP_FAMILIES];   /* was read once */
	bool several[BGP_FAMILIES]; /* there are routes that a message about a deletion does not tell apart */
};

struct external_kernel {
	struct daemon *daemon;
	uint8_t own_protocol;
	struct list watches;
	struct netlink_socket *socket; /* NULL: nothing is watched */
	unsigned heard;                /* messages */
	ev_io io;
	ev_timer soon, every, check; /* check: of a socket that something closed nobody hears */
	bool sweeping;
	/* the dump that is under way */
	struct watch *at;              /* NULL: none, or its entry is gone */
	enum bgp_family family;
	bool dumping, begun, torn;     /* begun: something of it has come; torn: it cannot be relied on */
	struct netlink_route_head last;
	struct log_limit limit;
};

static void read_next(struct external_kernel *k);
static void ensure_socket(struct external_kernel *k, bool broken);

static enum bgp_family family_of(const struct netlink_route_head *r)
{
	return prefix_is_v4(&r->prefix) ? BGP_IPV4_UNICAST : BGP_IPV6_UNICAST;
}

/* --- one route */

static bool selects(const struct external_kernel *k, const struct watch *w, const struct netlink_route_head *r)
{
	return w->rules && r->mark.table == w->rules->table &&
	       (w->rules->protocol ? r->mark.protocol == w->rules->protocol : r->mark.protocol != k->own_protocol);
}

/* The kernel has it; whether anybody is told is up to the entry. */
static void take(struct external_kernel *k, struct watch *w, const struct netlink_route_head *r)
{
	const struct rib_policy_subject s = {&r->prefix, RIB_SOURCE_EXTERNAL, NULL};
	struct bgp_attrs *local = bgp_attrs_local(&k->daemon->attrs), *made;
	struct rib_policy_trace trace;
	w->several[family_of(r)] |= r->several;
	if (!external_refusal(&k->daemon->imports, &r->prefix) &&
	    rib_policy_run_cached(w->rules->policy, &w->cache, &s, local, &made, &trace) == RIB_ACCEPT)
		rib_announce_path(k->daemon->rib, w->source, &r->prefix, r->mark.metric, made, clock_now());
	bgp_attrs_unref(local);
}

static void want(struct watch *w)
{
	for (unsigned f = 0; f < BGP_FAMILIES; f++)
		w->wanted[f] = true;
}

static void want_all(struct external_kernel *k)
{
	list_each(n, tmp, &k->watches)
		want(container_of(n, struct watch, node));
}

static void plan(struct external_kernel *k, unsigned ms)
{
	if (ev_is_active(&k->soon))
		return;
	ev_timer_set(&k->soon, ms / 1000., 0.);
	ev_timer_start(k->daemon->loop, &k->soon);
}

/* Of several with one metric another may still be there: the kernel is asked. */
static void lose(struct external_kernel *k, struct watch *w, const struct netlink_route_head *r)
{
	if (w->several[family_of(r)]) {
		w->wanted[family_of(r)] = true;
		plan(k, SOON_MS);
	} else {
		rib_withdraw_path(k->daemon->rib, w->source, &r->prefix, r->mark.metric);
	}
}

static void on_route_event(struct external_kernel *k, const struct nlmsghdr *h)
{
	struct netlink_route_head r;
	if (netlink_route_head_decode(h, &r))
		return;
	list_each(n, tmp, &k->watches) {
		struct watch *w = container_of(n, struct watch, node);
		bool selected = selects(k, w, &r);
		if (selected && !r.deleted)
			take(k, w, &r);
		else if (selected || (r.replaces && w->rules && r.mark.table == w->rules->table))
			lose(k, w, &r);
	}
}

/* Routes go with their link or their address, and nobody says so. */
static void on_link_event(struct external_kernel *k, const struct nlmsghdr *h)
{
	struct netlink_link l;
	bool deleted;
	if (netlink_link_decode(h, &l, &deleted) || pods_is_link(&l) || (!deleted && l.flags & IFF_UP))
		return;
	want_all(k);
	plan(k, SOON_MS);
}

/* --- dumps */

/* The round begins where the dump does in the order of what was read: events of before, which still waited when it was
 * asked for, are of the old one, since what undid them may have been lost. */
static void begin(struct external_kernel *k)
{
	if (k->at && !k->begun)
		rib_refresh_begin(k->at->source, k->family);
	k->begun = true;
}

static void dumped(struct external_kernel *k, const struct nlmsghdr *h)
{
	struct netlink_route_head r;
	begin(k);
	if (h->nlmsg_flags & NLM_F_DUMP_INTR)
		k->torn = true;
	if (!k->at || netlink_route_head_decode(h, &r) || !selects(k, k->at, &r))
		return;
	/* IPv4 routes of one prefix and metric follow each other */
	r.several |= prefix_eq(&r.prefix, &k->last.prefix) && r.mark.metric == k->last.mark.metric;
	k->last = r;
	take(k, k->at, &r);
}

/* A kernel without the table, or without IPv6, has no such routes. */
static bool means_none(int error)
{
	return error == -ENOENT || error == -EAFNOSUPPORT || error == -EOPNOTSUPP;
}

/* All was said: what was not goes. */
static void conclude(struct external_kernel *k, struct watch *w, enum bgp_family f)
{
	/* with so many rounds begun and not ended, the last one is not told from the one before */
	w->wanted[f] |= w->source->refresh[f].older == RIB_REFRESH_ROUNDS - 1;
	w->torn[f] = 0;
	w->known[f] = true;
	rib_refresh_end(w->source, f);
	k->sweeping = true;
}

/* Nothing is concluded, and the kernel asked again. Where that happens all the time, what was found must do. */
static void give_up(struct watch *w, enum bgp_family f)
{
	w->wanted[f] = true;
	w->torn[f] = (uint8_t)(w->torn[f] + (w->torn[f] < TORN_MAX));
	w->known[f] |= w->torn[f] == TORN_MAX;
}

static void dump_over(struct external_kernel *k, int error)
{
	struct watch *w = k->at;
	bool fine = (!error || means_none(error)) && !k->torn;
	begin(k); /* also one of nothing */
	k->dumping = false;
	k->at = NULL;
	if (error && !means_none(error))
		log_remote(&k->limit, LOG_LEVEL_ERROR, "external", "cannot read the kernel's routes: %s; trying again", err_text(error));
	if (w && fine)
		conclude(k, w, k->family);
	else if (w)
		give_up(w, k->family);
	if (fine || !w)
		read_next(k);
	else
		plan(k, error ? AGAIN_MS : SOON_MS);
}

static struct watch *next_wanted(struct external_kernel *k, enum bgp_family *f)
{
	list_each(n, tmp, &k->watches) {
		struct watch *w = container_of(n, struct watch, node);
		for (unsigned i = 0; i < BGP_FAMILIES; i++) {
			*f = (enum bgp_family)i;
			if (w->wanted[i])
				return w;
		}
	}
	return NULL;
}

/* One at a time: the kernel has no more for a socket. */
static void read_next(struct external_kernel *k)
{
	uint64_t buf[64];
	enum bgp_family f;
	struct watch *w = k->dumping ? NULL : next_wanted(k, &f);
	if (!w || !k->socket)
		return;
	size_t len = netlink_route_dump_request(buf, sizeof buf, 1, f == BGP_IPV4_UNICAST ? AF_INET : AF_INET6, w->rules->table,
						w->rules->protocol);
	k->at = w;
	k->family = f;
	k->dumping = true;
	k->begun = k->torn = false;
	k->last = (struct netlink_route_head){.deleted = true};
	w->wanted[f] = false;
	int error = netlink_socket_send(k->socket, buf, len);
	if (error) {
		k->torn = true;
		dump_over(k, error);
	}
}

static void on_message(void *arg, const struct nlmsghdr *h, int error, const char *text)
{
	struct external_kernel *k = arg;
	const int *result;
	(void)text;
	k->heard++;
	switch (h->nlmsg_type) {
	case NLMSG_ERROR:
		if (error && k->dumping)
			dump_over(k, error);
		break;
	case NLMSG_DONE:
		result = netlink_message_body(h, sizeof *result);
		k->torn |= h->nlmsg_flags & NLM_F_DUMP_INTR;
		dump_over(k, result ? *result : 0);
		break;
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
		if (h->nlmsg_flags & NLM_F_MULTI)
			dumped(k, h);
		else
			on_route_event(k, h);
		break;
	case RTM_NEWLINK:
	case RTM_DELLINK:
		on_link_event(k, h);
		break;
	case RTM_DELADDR:
		want_all(k);
		plan(k, SOON_MS);
		break;
	default:
		break;
	}
}

/* So many messages that the loop does not notice: a datagram is one event, or some 500 routes of a dump. */
static int receive(struct external_kernel *k)
{
	unsigned start = k->heard, before;
	int error;
	do {
		before = k->heard;
		error = netlink_socket_receive_some(k->socket, 1, on_message, k);
	} while (!error && k->heard != before && k->heard - start < TURN_MESSAGES);
	return error;
}

static void on_readable(struct ev_loop *loop, ev_io *io, int revents)
{
	struct external_kernel *k = io->data;
	(void)loop;
	(void)revents;
	int error = receive(k);
	if (!error)
		return;
	log_remote(&k->limit, LOG_LEVEL_WARN, "external", "missed what changed in the kernel (%s): reading its routes anew", err_text(error));
	want_all(k);
	k->torn = true;
	if (error != -ENOBUFS)
		ensure_socket(k, true);
	plan(k, SOON_MS);
}

static void on_soon(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct external_kernel *k = t->data;
	(void)loop;
	(void)revents;
	if (!k->socket)
		ensure_socket(k, false);
	read_next(k);
}

static void on_check(struct ev_loop *loop, ev_timer *t, int revents)
{
	(void)loop;
	(void)revents;
	ensure_socket(t->data, false);
}

static void on_every(struct ev_loop *loop, ev_timer *t, int revents)
{
	(void)loop;
	(void)revents;
	want_all(t->data);
	read_next(t->data);
}

/* --- life */

static void stop_watching(struct external_kernel *k)
{
	ev_timer *timers[] = {&k->soon, &k->every, &k->check};
	for (size_t i = 0; i < sizeof timers / sizeof *timers; i++)
		ev_timer_stop(k->daemon->loop, timers[i]);
	ev_io_stop(k->daemon->loop, &k->io);
	netlink_socket_close(k->socket);
	k->socket = NULL;
	k->dumping = false;
	k->at = NULL;
}

/* 1: there is a new one, 0: that of before is fine, -errno. */
static int renew_socket(struct external_kernel *k, bool broken)
{
	uint32_t groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
	if (k->socket)
		return netlink_socket_mend(k->socket, broken);
	int error = netlink_socket_open(&k->socket, groups);
	return error ? error : 1;
}

/* With a new socket all is read anew. */
static void ensure_socket(struct external_kernel *k, bool broken)
{
	bool first = !k->socket;
	int renewed = renew_socket(k, broken);
	if (renewed == 0)
		return;
	ev_io_stop(k->daemon->loop, &k->io);
	k->dumping = false;
	k->at = NULL;
	if (renewed < 0) {
		log_remote(&k->limit, LOG_LEVEL_ERROR, "external", "cannot watch the kernel's routes: %s; trying again", err_text(renewed));
		plan(k, AGAIN_MS);
		return;
	}
	if (!first)
		log_warn("external", "the socket for the kernel's routes broke or was closed by something: going on with a new one");
	netlink_socket_ignore_protocol(k->socket, k->own_protocol);
	ev_io_set(&k->io, netlink_socket_fd(k->socket), EV_READ);
	ev_io_start(k->daemon->loop, &k->io);
	want_all(k);
	plan(k, SOON_MS);
}

struct external_kernel *external_kernel_new(struct daemon *d, uint8_t protocol)
{
	struct external_kernel *k = calloc(1, sizeof *k);
	if (!k)
		abort();
	k->daemon = d;
	k->own_protocol = protocol;
	list_init(&k->watches);
	ev_timer_init(&k->soon, on_soon, 0., 0.);
	ev_timer_init(&k->every, on_every, EVERY_S, EVERY_S);
	ev_timer_init(&k->check, on_check, CHECK_S, CHECK_S);
	ev_init(&k->io, on_readable);
	k->soon.data = k->every.data = k->check.data = k->io.data = k;
	return k;
}

void external_kernel_free(struct external_kernel *k)
{
	if (!k)
		return;
	stop_watching(k);
	list_each(n, tmp, &k->watches) {
		struct watch *w = container_of(n, struct watch, node);
		rib_policy_cache_fini(&w->cache);
		rib_source_free(w->source);
		free(w->name);
		free(w);
	}
	free(k);
}

static struct watch *find(const struct external_kernel *k, const char *name)
{
	list_each(n, tmp, &k->watches) {
		struct watch *w = container_of(n, struct watch, node);
		if (strcmp(w->name, name) == 0)
			return w;
	}
	return NULL;
}

static struct watch *watch_new(struct external_kernel *k, const char *name)
{
	struct watch *w = calloc(1, sizeof *w);
	if (!w || !(w->name = strdup(name)))
		abort();
	w->source = rib_source_new(k->daemon->rib, &(struct rib_source){.kind = RIB_SOURCE_EXTERNAL, .name = w->name});
	list_append(&k->watches, &w->node);
	return w;
}

/* Its paths go in their own time. */
static void watch_free(struct external_kernel *k, struct watch *w)
{
	if (k->at == w)
		k->at = NULL;
	w->source->name = "(gone)";
	daemon_bury_source(k->daemon, w->source);
	list_remove(&w->node);
	free(w->name);
	free(w);
}

void external_kernel_apply(struct external_kernel *k, const struct external_rules *rules, size_t count)
{
	list_each(n, tmp, &k->watches) {
		struct watch *w = container_of(n, struct watch, node);
		rib_policy_cache_fini(&w->cache);
		w->rules = NULL;
	}
	for (size_t i = 0; i < count; i++) {
		if (rules[i].socket)
			continue;
		struct watch *w = find(k, rules[i].name);
		w = w ? w : watch_new(k, rules[i].name);
		w->rules = &rules[i];
	}
	list_each(n, tmp, &k->watches)
		if (!container_of(n, struct watch, node)->rules)
			watch_free(k, container_of(n, struct watch, node));
	if (list_empty(&k->watches)) {
		stop_watching(k);
		return;
	}
	ev_timer_again(k->daemon->loop, &k->every);
	ev_timer_again(k->daemon->loop, &k->check);
	k->torn = true; /* of what is under way a part was judged by the rules of before */
	want_all(k);
	ensure_socket(k, false);
	read_next(k);
}

bool external_kernel_work(struct external_kernel *k)
{
	bool more = false;
	if (!k->sweeping)
		return false;
	list_each(n, tmp, &k->watches) {
		struct watch *w = container_of(n, struct watch, node);
		more |= !rib_refresh_sweep(k->daemon->rib, w->source, SWEEP_BUDGET);
	}
	k->sweeping = more;
	return more;
}

bool external_kernel_settled(const struct external_kernel *k)
{
	list_each(n, tmp, &k->watches)
		for (unsigned f = 0; f < BGP_FAMILIES; f++)
			if (!container_of(n, struct watch, node)->known[f])
				return false;
	return true;
}

size_t external_kernel_count(const struct external_kernel *k)
{
	size_t paths = 0;
	list_each(n, tmp, &k->watches)
		paths += container_of(n, struct watch, node)->source->paths;
	return paths;
}

const struct external_rules *external_kernel_entry(const struct external_kernel *k, const struct rib_source *s)
{
	list_each(n, tmp, &k->watches)
		if (container_of(n, struct watch, node)->source == s)
			return container_of(n, struct watch, node)->rules;
	return NULL;
}
