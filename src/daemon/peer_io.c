#include "src/daemon/peer_io.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bgp/update.h"
#include "src/base/clock_io.h"
#include "src/base/live.h"
#include "src/base/utf8.h"
#include "src/daemon/daemon.h"
#include "src/daemon/dynamic_io.h"
#include "src/daemon/export.h"
#include "src/daemon/import.h"
#include "src/daemon/limits_io.h"
#include "src/daemon/nexthop_io.h"
#include "src/daemon/nlri_walk.h"
#include "src/daemon/listen_io.h"
#include "src/daemon/own_next_hops_io.h"
#include "src/daemon/sockaddr.h"

enum { READ_SIZE = 16384, WRITE_IOV = 64, LINGER_S = 2, GOODBYES_MAX = 64 };

static void carry_out(struct peer *p, const struct bgp_actions *acts);

/* --- goodbye: a closed socket with unread input is reset, and the reset may overtake the NOTIFICATION. So the
 * sending side is shut, and the rest is read away for a moment. */

struct goodbye {
	struct list node;
	struct daemon *daemon;
	ev_io io;
	ev_timer timer;
};

static void goodbye_end(struct ev_loop *loop, struct goodbye *g)
{
	ev_io_stop(loop, &g->io);
	ev_timer_stop(loop, &g->timer);
	close(g->io.fd);
	list_remove(&g->node);
	g->daemon->goodbye_count--;
	free(g);
}

void peer_end_goodbyes(struct daemon *d)
{
	list_each(n, tmp, &d->goodbyes)
		goodbye_end(d->loop, container_of(n, struct goodbye, node));
}

static void goodbye_read(struct ev_loop *loop, ev_io *w, int revents)
{
	uint8_t waste[4096];
	(void)revents;
	ssize_t n = read(w->fd, waste, sizeof waste);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		goodbye_end(loop, w->data);
}

static void goodbye_timeout(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)revents;
	goodbye_end(loop, w->data);
}

void peer_turn_away(struct daemon *d, int fd, const void *bytes, size_t len)
{
	/* a flood of strangers must not take all descriptors: beyond the limit there is no waiting */
	struct goodbye *g = d->goodbye_count < GOODBYES_MAX ? calloc(1, sizeof *g) : NULL;
	if (len && write(fd, bytes, len) < 0)
		len = 0; /* it will see the end all the same */
	if (!g || shutdown(fd, SHUT_WR) < 0) {
		free(g);
		close(fd);
		return;
	}
	ev_io_init(&g->io, goodbye_read, fd, EV_READ);
	ev_timer_init(&g->timer, goodbye_timeout, LINGER_S, 0.);
	g->io.data = g->timer.data = g;
	g->daemon = d;
	list_append(&d->goodbyes, &g->node);
	d->goodbye_count++;
	ev_io_start(d->loop, &g->io);
	ev_timer_start(d->loop, &g->timer);
}

/* --- connections */

static void conn_forget(struct peer *p, enum bgp_slot slot)
{
	struct peer_conn *c = &p->conn[slot];
	ev_io_stop(p->daemon->loop, &c->reader);
	ev_io_stop(p->daemon->loop, &c->writer);
	list_remove(&c->unsent);
	list_init(&c->unsent);
	outq_clear(&c->out);
	free(c->partial);
	c->partial = NULL;
	c->partial_len = 0;
	c->fd = -1;
}

/* Ends a connection after what is queued, as far as the socket takes it at once. */
static void conn_close(struct peer *p, enum bgp_slot slot)
{
	struct peer_conn *c = &p->conn[slot];
	struct iovec iov[WRITE_IOV];
	int fd = c->fd;
	if (fd < 0)
		return;
	int n = outq_peek(&c->out, iov, WRITE_IOV);
	if (n && !c->connecting && writev(fd, iov, n) < 0)
		log_debug(p->subject, "the last message could not be sent: %s", strerror(errno));
	bool connecting = c->connecting;
	conn_forget(p, slot);
	if (connecting)
		close(fd);
	else
		peer_turn_away(p->daemon, fd, NULL, 0);
}

static void lost(struct peer *p, enum bgp_slot slot, const char *why)
{
	struct bgp_actions acts;
	bgp_actions_clear(&acts);
	bgp_session_lost(&p->session, slot, why, clock_now(), &acts);
	carry_out(p, &acts);
}

static void conn_write(struct peer *p, enum bgp_slot slot)
{
	struct peer_conn *c = &p->conn[slot];
	struct iovec iov[WRITE_IOV];
	while (c->out.count) {
		int n = outq_peek(&c->out, iov, WRITE_IOV);
		ssize_t done = writev(c->fd, iov, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && errno == EAGAIN) {
			ev_io_start(p->daemon->loop, &c->writer);
			return;
		}
		if (done < 0) {
			lost(p, slot, strerror(errno));
			return;
		}
		outq_written(&c->out, (size_t)done);
		p->send_progress_at = clock_now();
	}
	p->send_progress_at = (struct tick){0};
	ev_io_stop(p->daemon->loop, &c->writer);
}

/* What was queued is written at the end of the turn, with all else that it brings. */
static void write_soon(struct peer *p, enum bgp_slot slot)
{
	struct peer_conn *c = &p->conn[slot];
	if (!ev_is_active(&c->writer) && list_empty(&c->unsent))
		list_append(&p->daemon->unsent, &c->unsent);
}

bool peers_write(struct daemon *d)
{
	enum { LOOK_EVERY = 32 };
	unsigned n = 0;
	while (!list_empty(&d->unsent)) {
		if (++n % LOOK_EVERY == 0 && clock_us() - d->turns.began.us > DAEMON_WORK_US)
			return true;
		struct peer_conn *c = container_of(d->unsent.next, struct peer_conn, unsent);
		struct peer *p = c->reader.data;
		list_remove(&c->unsent);
		list_init(&c->unsent);
		conn_write(p, (enum bgp_slot)(c - p->conn));
	}
	return false;
}

/* --- what the peer tells us */

static void take_withdrawn(struct peer *p, struct bgp_nlri nlri)
{
	struct nlri_walk walk;
	const struct prefix *prefix;
	uint32_t path_id;
	nlri_walk_init(&walk, p->daemon->rib, nlri);
	while ((prefix = nlri_walk_next(&walk, &path_id)) != NULL) {
		p->count.withdrawn_in++;
		rib_withdraw_path(p->daemon->rib, p->source, prefix, path_id);
	}
}

/* The session's own and the node's, where they differ (local-as), are both ours. */
static unsigned own_as_count(const struct peer *p, const struct bgp_attrs *a)
{
	uint32_t session = p->session.params.local_asn, node = p->daemon->asn;
	return bgp_attrs_count_as(a, session) + (node != session ? bgp_attrs_count_as(a, node) : 0);
}

/* Paths that lead back to us are as good as withdrawn: RFC 4271 section 9.1.2 (loop), 5.1.3 (our own address as
 * next hop), RFC 4456 section 8 (our own router ID as originator, our own cluster). */
static bool leads_back(const struct peer *p, const struct bgp_attrs *a)
{
	const struct addr next_hop = bgp_attrs_next_hop(a);
	bool our_address = addr_eq(&next_hop, &p->local_address);
	for (unsigned f = 0; f < BGP_FAMILIES; f++)
		our_address |= addr_eq(&next_hop, &p->local_next_hop[f]);
	return own_as_count(p, a) > p->ways.allow_own_as || our_address ||
	       (a->has_originator && bgp_attrs_originator_id(a) == p->session.params.router_id) ||
	       (p->daemon->reflects && bgp_attrs_in_cluster(a, p->daemon->cluster_id));
}

/* RFC 9234 section 5, ingress: what comes from above or from beside may only go down from here. An owned reference, NULL
 * where the mark does not fit. */
static struct bgp_attrs *marked(const struct peer *p, struct bgp_attrs *a)
{
	const struct bgp_attr_edit mark = {.otc = bgp_otc_on_import(p->role, p->remote_asn)};
	return mark.otc && !bgp_attrs_otc(a) ? bgp_attrs_edit(a, &mark) : bgp_attrs_ref(a);
}

/* Have routes with this set leaked to the peer? */
static bool is_leak(struct peer *p, const struct bgp_attrs *a)
{
	if (!bgp_otc_is_leak(p->role, bgp_attrs_otc(a), p->remote_asn))
		return false;
	log_remote(&p->limit, LOG_LEVEL_WARN, p->subject, "leaked routes refused: AS %u meant them for customers only "
		   "(ONLY_TO_CUSTOMER), and we are the peer's %s", bgp_attrs_otc(a), bgp_role_name(p->role));
	return true;
}

/* *out is what is kept of attrs, borrowed. */
static bool import(const struct peer *p, struct rib_policy_cache *cache, const struct prefix *prefix, struct bgp_attrs *attrs,
		   struct bgp_attrs **out)
{
	const struct rib_import_context *ctx = &p->daemon->imports;
	const struct rib_policy_subject s = {prefix, RIB_SOURCE_BGP, peer_policy_name(p)};
	*out = attrs;
	if (p->import == RIB_IMPORT_WRITTEN)
		return rib_import_run(p->import_rules, cache, ctx, &s, attrs, out);
	return rib_import_accepts(p->import, ctx, prefix);
}

static void take_announced(struct peer *p, struct bgp_nlri nlri, struct bgp_attrs *brought, struct tick now)
{
	struct rib *rib = p->daemon->rib;
	struct rib_policy_cache cache = {0};
	struct import_memo memo = {0};
	struct bgp_attrs *kept;
	struct nlri_walk walk;
	const struct prefix *prefix;
	uint32_t path_id;
	unsigned beyond = 0;
	bool leak = brought && is_leak(p, brought);
	struct bgp_attrs *attrs = brought && !leak && !leads_back(p, brought) ? marked(p, brought) : NULL;
	nlri_walk_init(&walk, rib, nlri);
	while ((prefix = nlri_walk_next(&walk, &path_id)) != NULL) {
		p->count.prefixes_in++;
		if (attrs && import(p, &cache, prefix, attrs, &kept) && import_finish(p, &memo, prefix, &kept)) {
			if (rib_announce_path(rib, p->source, prefix, path_id, kept, now))
				continue;
			beyond++;
		}
		p->count.filtered++;
		p->count.leaks += leak;
		rib_withdraw_path(rib, p->source, prefix, path_id);
	}
	import_memo_fini(&memo);
	rib_policy_cache_fini(&cache);
	bgp_attrs_unref(attrs);
	if (walk.skipped)
		log_remote(&p->limit, LOG_LEVEL_WARN, p->subject, "%u prefixes ignored that may not be routed "
			   "(multicast, loopback)", walk.skipped);
	if (beyond)
		log_remote(&p->limit, LOG_LEVEL_WARN, p->subject, "%u paths not taken: the peer has %d to the same prefix already",
			   beyond, RIB_PATHS_PER_SOURCE);
}

enum { FAULT_BYTES_TEXT = 2 * BGP_FAULT_DATA_MAX + 16 };

/* ", bytes 8004", or nothing. */
static const char *fault_bytes(const struct bgp_fault *f, char buf[FAULT_BYTES_TEXT])
{
	int at = snprintf(buf, FAULT_BYTES_TEXT, "%s", f->data_len ? ", bytes " : "");
	for (unsigned i = 0; i < f->data_len; i++)
		snprintf(buf + at + 2 * i, 3, "%02x", f->data[i]);
	return buf;
}

static void note_fault(struct peer *p, const struct bgp_fault *f, struct tick now)
{
	p->last_fault = *f;
	p->last_fault_at = now;
	p->fault_count++;
}

static void report_fault(struct peer *p, const struct bgp_fault *f, struct tick now)
{
	char name[BGP_FAULT_NAME_MAX], bytes[FAULT_BYTES_TEXT];
	note_fault(p, f, now);
	log_remote(&p->limit, LOG_LEVEL_WARN, p->subject, "%s: %s (%s)%s", bgp_fault_name(f->code, f->subcode, name), f->text,
		   bgp_reaction_name(f->reaction), fault_bytes(f, bytes));
}

/* Those that the session found itself, in an OPEN or by a timer. True: it was not known yet. */
static bool note_session_fault(struct peer *p)
{
	const struct bgp_last_error *e = &p->session.last_error;
	bool noted = e->at.ms == p->last_fault_at.ms && e->fault.code == p->last_fault.code &&
		     e->fault.subcode == p->last_fault.subcode;
	if (e->kind != BGP_LAST_SENT || e->fault.code == BGP_ERR_CEASE || noted)
		return false;
	note_fault(p, &e->fault, e->at);
	return true;
}

/* True: the session goes on. */
static bool take_update(struct peer *p, enum bgp_slot slot, const struct bgp_frame *frame, struct tick now)
{
	struct bgp_update_context ctx = {
		.attrs = &p->daemon->attrs, .ibgp = p->ibgp, .as4 = p->as4, .peer_asn = p->session.conn[slot].open.asn};
	struct bgp_update u;
	ctx.v6_next_hop = p->session.v6_next_hop;
	ctx.route_server = p->role == BGP_ROLE_RS_CLIENT;
	ctx.on_link = !addr_is_v4(&p->local_address) && addr_is_link_local(&p->local_address);
	memcpy(ctx.families, p->families, sizeof ctx.families);
	memcpy(ctx.add_path, p->session.add_path_in, sizeof ctx.add_path);
	bgp_update_decode(&ctx, frame->body, frame->body_len, &u);
	p->count.updates_in++;
	p->last_update_at = now;
	if (u.fault.reaction == BGP_RESET) {
		struct bgp_actions acts;
		bgp_actions_clear(&acts);
		report_fault(p, &u.fault, now);
		bgp_session_fault(&p->session, slot, &u.fault, now, &acts);
		bgp_update_fini(&u);
		carry_out(p, &acts);
		return false;
	}
	if (u.fault.reaction != BGP_FINE)
		report_fault(p, &u.fault, now);
	if (u.foreign_family)
		log_remote(&p->limit, LOG_LEVEL_WARN, p->subject, "routes of an address family that was not negotiated: ignored");
	for (unsigned i = 0; i < BGP_UPDATE_PARTS; i++) {
		take_withdrawn(p, u.part[i].withdrawn);
		take_announced(p, u.part[i].announced, u.part[i].attrs, now);
	}
	if (u.end_of_rib) {
		p->end_of_rib_received[u.end_of_rib_family] = true;
		helper_end_of_rib(p, u.end_of_rib_family);
	}
	bgp_update_fini(&u);
	return limits_received(p);
}

/* Handles one message; false where the connection is gone. */
static bool take_message(struct peer *p, enum bgp_slot slot, const struct bgp_frame *frame, struct tick now)
{
	struct bgp_actions acts;
	int fd = p->conn[slot].fd;
	bgp_actions_clear(&acts);
	p->count.messages_in++;
	bool update = bgp_session_message(&p->session, slot, frame, now, &acts);
	if (acts.count)
		carry_out(p, &acts);
	if (update && !take_update(p, slot, frame, now))
		return false;
	return p->conn[slot].fd == fd;
}

/* Takes the whole messages out of buf; returns the bytes used, or -1 where the connection is gone. */
static ssize_t take_bytes(struct peer *p, enum bgp_slot slot, const uint8_t *buf, size_t len, struct tick now)
{
	struct bgp_frame frame;
	struct bgp_fault fault = {0};
	size_t used = 0;
	int got;
	while (used < len && (got = bgp_frame_next(buf + used, len - used, bgp_session_message_max(&p->session, slot), &frame,
					       &fault)) != 0) {
		if (got < 0) {
			struct bgp_actions acts;
			bgp_actions_clear(&acts);
			report_fault(p, &fault, now);
			bgp_session_fault(&p->session, slot, &fault, now, &acts);
			carry_out(p, &acts);
			return -1;
		}
		used += frame.len;
		if (!take_message(p, slot, &frame, now))
			return -1;
	}
	return (ssize_t)used;
}

static void keep_partial(struct peer_conn *c, const uint8_t *data, size_t len)
{
	uint8_t *fresh = len ? malloc(len) : NULL; /* most of the time nothing: an idle peer costs no buffer */
	if (len && !fresh)
		abort();
	if (len)
		memcpy(fresh, data, len);
	free(c->partial);
	c->partial = fresh;
	c->partial_len = len;
}

/* One read and all whole messages in it. */
static void conn_read(struct peer *p, enum bgp_slot slot)
{
	static uint8_t buf[BGP_EXTENDED_MAX + READ_SIZE]; /* one loop, one reader at a time */
	struct peer_conn *c = &p->conn[slot];
	size_t have = c->partial_len;
	if (have)
		memcpy(buf, c->partial, have);
	ssize_t n = read(c->fd, buf + have, READ_SIZE);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		lost(p, slot, n == 0 ? "the peer closed the connection" : strerror(errno));
		return;
	}
	size_t len = have + (size_t)n;
	ssize_t used = take_bytes(p, slot, buf, len, clock_now());
	if (used >= 0)
		keep_partial(c, buf + used, len - (size_t)used);
}

/* --- watchers */

static void set_timer(struct peer *p)
{
	struct tick at = bgp_session_next_at(&p->session);
	if (at.ms == p->timer_at.ms && ev_is_active(&p->timer))
		return;
	/* later than armed: let it fire and look again, it costs less than moving it at every message */
	if (ev_is_active(&p->timer) && tick_is_set(at) && at.ms > p->timer_at.ms)
		return;
	ev_timer_stop(p->daemon->loop, &p->timer);
	p->timer_at = at;
	if (!tick_is_set(at))
		return;
	int64_t wait = at.ms - clock_now().ms;
	ev_now_update(p->daemon->loop);
	ev_timer_set(&p->timer, wait > 0 ? (double)wait / 1000. : 0., 0.);
	ev_timer_start(p->daemon->loop, &p->timer);
}

static enum bgp_slot slot_of(const struct peer *p, const ev_io *w)
{
	unsigned slot = 0;
	while (w != &p->conn[slot].reader && w != &p->conn[slot].writer)
		slot++;
	return (enum bgp_slot)slot;
}

static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct peer *p = w->data;
	(void)loop;
	(void)revents;
	conn_read(p, slot_of(p, w));
	set_timer(p);
}

static void learn_local_address(struct peer *p, int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof ss;
	if (getsockname(fd, (struct sockaddr *)&ss, &len) == 0)
		sockaddr_read(&ss, &p->local_address, NULL);
}

static void connected(struct peer *p, enum bgp_slot slot)
{
	struct bgp_actions acts;
	struct peer_conn *c = &p->conn[slot];
	bgp_actions_clear(&acts);
	c->connecting = false;
	learn_local_address(p, c->fd);
	ev_io_start(p->daemon->loop, &c->reader);
	/* an unwanted connection of our own is closed by the same actions */
	bgp_session_connected(&p->session, slot, clock_now(), &acts);
	carry_out(p, &acts);
}

static void on_writable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct peer *p = w->data;
	enum bgp_slot slot = slot_of(p, w);
	struct peer_conn *c = &p->conn[slot];
	int error = 0;
	socklen_t len = sizeof error;
	(void)revents;
	if (!c->connecting) {
		conn_write(p, slot);
	} else {
		ev_io_stop(loop, w);
		getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len);
		if (error)
			lost(p, slot, strerror(error));
		else
			connected(p, slot);
	}
	set_timer(p);
}

static void on_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct peer *p = w->data;
	struct bgp_actions acts;
	(void)loop;
	(void)revents;
	/* what waits in the socket counts before any judgement about silence */
	for (unsigned slot = 0; slot < BGP_SLOTS; slot++)
		if (p->conn[slot].fd >= 0 && !p->conn[slot].connecting)
			conn_read(p, (enum bgp_slot)slot);
	bgp_actions_clear(&acts);
	bgp_session_tick(&p->session, clock_now(), &acts);
	carry_out(p, &acts);
	set_timer(p);
}

static void conn_adopt(struct peer *p, enum bgp_slot slot, int fd)
{
	struct peer_conn *c = &p->conn[slot];
	int one = 1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	c->fd = fd;
	ev_io_set(&c->reader, fd, EV_READ);
	ev_io_set(&c->writer, fd, EV_WRITE);
}

bool peer_has_place(const struct peer *p, char *buf, size_t cap)
{
	if (!p->link.interface)
		return true;
	if (!if_nametoindex(p->link.interface))
		snprintf(buf, cap, "there is no interface %s (waiting for it)", p->link.interface);
	else if (addr_is_zero(&p->address))
		router_adverts_explain(p->daemon->router_adverts, p, buf, cap);
	else
		return true;
	return false;
}

static void open_connection(struct peer *p)
{
	struct sockaddr_storage ss;
	char why[160];
	if (!peer_has_place(p, why, sizeof why)) {
		lost(p, BGP_OUT, why);
		return;
	}
	if (p->link.interface)
		p->ifindex = if_nametoindex(p->link.interface);
	socklen_t len = sockaddr_make(&ss, &p->address, p->port);
	sockaddr_set_scope(&ss, p->ifindex);
	int fd = transport_socket(p);
	if (fd < 0) {
		lost(p, BGP_OUT, p->transport.fault);
		return;
	}
	conn_adopt(p, BGP_OUT, fd);
	p->conn[BGP_OUT].connecting = true;
	if (connect(fd, (struct sockaddr *)&ss, len) == 0 || errno == EINPROGRESS)
		ev_io_start(p->daemon->loop, &p->conn[BGP_OUT].writer);
	else
		lost(p, BGP_OUT, strerror(errno));
}

/* --- the session's wishes */

bool peer_has_ended_rib(const struct peer *p)
{
	for (unsigned f = 0; f < BGP_FAMILIES; f++)
		if (p->families[f] && !p->end_of_rib_received[f])
			return false;
	return true;
}

/* An external peer on a link of ours, and not one for which the configuration says that it may be further away. */
static bool is_single_hop(const struct peer *p, uint32_t vrf)
{
	bool far = p->transport.multihop > 1 || p->transport.ttl_security > 1;
	uint32_t where = addr_is_link_local(&p->address) ? p->ifindex : vrf;
	return !p->ibgp && !far && next_hops_on_link(p->daemon->next_hops, &p->address, where);
}

static void session_up(struct peer *p, enum bgp_slot slot)
{
	const struct bgp_conn *c = &p->session.conn[slot];
	p->ibgp = c->open.asn == p->session.params.local_asn;
	p->as4 = c->open.as4;
	p->remote_asn = c->open.asn;
	p->role = p->ibgp ? BGP_ROLE_NONE : p->session.params.role;
	for (unsigned f = 0; f < BGP_FAMILIES; f++)
		p->families[f] = p->session.params.families[f] && c->open.families[f];
	learn_local_address(p, p->conn[slot].fd);
	own_next_hops_learn(p);
	memset(p->end_of_rib_received, 0, sizeof p->end_of_rib_received);
	p->end_of_rib_sent = false;
	p->last_update_at = clock_now();
	memset(&p->count, 0, sizeof p->count);
	limits_clear(&p->limits);
	memset(&p->refresh, 0, sizeof p->refresh);
	uint32_t vrf = next_hops_vrf(p->daemon->next_hops, p->transport.device);
	helper_up(p, &c->open, &(struct rib_source){.kind = RIB_SOURCE_BGP,
						    .ibgp = p->ibgp,
						    .client = p->ibgp && p->ways.client,
						    .single_hop = is_single_hop(p, vrf),
						    .router_id = c->open.router_id,
						    .addr = p->address,
						    .ifindex = p->ifindex,
						    .vrf = vrf,
						    .owner = p});
	log_remote(&p->limit, LOG_LEVEL_INFO, p->subject, "established, AS %u, hold time %u s", c->open.asn, p->session.hold_time_s);
	export_join(p);
}

static void session_down(struct peer *p)
{
	export_leave(p);
	const struct bgp_last_error *e = &p->session.last_error;
	char bytes[FAULT_BYTES_TEXT];
	log_remote(&p->limit, LOG_LEVEL_WARN, p->subject, "down: %s%s", e->kind ? e->text : "stopped",
		   note_session_fault(p) ? fault_bytes(&e->fault, bytes) : "");
	p->error_logged_at = p->session.last_error.at;
	if (p->source && !helper_keep(p)) {
		p->source->owner = NULL;
		daemon_bury_source(p->daemon, p->source);
		p->source = NULL;
	}
	/* RFC 4724 section 4.1: the Restart State bit is for the first session of a life only */
	p->session.restarting = false;
}

/* Why a connection ended, once each; a session that was up has its own line. */
static void log_last_error(struct peer *p)
{
	const struct bgp_last_error *e = &p->session.last_error;
	char bytes[FAULT_BYTES_TEXT];
	if (e->at.ms == p->error_logged_at.ms)
		return;
	p->error_logged_at = e->at;
	bool up = bgp_session_slot(&p->session) != BGP_SLOTS;
	log_remote(&p->limit, e->kind == BGP_LAST_TCP || up ? LOG_LEVEL_INFO : LOG_LEVEL_WARN, p->subject, "%s: %s%s",
		   up ? "a second connection ended" : "no session", e->text,
		   e->kind == BGP_LAST_TCP ? "" : fault_bytes(&e->fault, bytes));
}

static void carry_out(struct peer *p, const struct bgp_actions *acts)
{
	for (unsigned i = 0; i < acts->count; i++) {
		const struct bgp_action *a = &acts->action[i];
		switch (a->kind) {
		case BGP_ACT_CONNECT:
			open_connection(p);
			break;
		case BGP_ACT_SEND:
			if (p->conn[a->slot].fd < 0)
				break;
			p->count.messages_out++;
			outq_push_copy(&p->conn[a->slot].out, acts->bytes + a->at, a->len);
			write_soon(p, a->slot);
			break;
		case BGP_ACT_CLOSE:
			conn_close(p, a->slot);
			break;
		case BGP_ACT_UP:
			session_up(p, a->slot);
			break;
		case BGP_ACT_DOWN:
			session_down(p);
			break;
		case BGP_ACT_REFRESH:
			refresh_answer(p, a->family);
			break;
		case BGP_ACT_REFRESH_BEGIN:
			refresh_begin(p, a->family);
			break;
		case BGP_ACT_REFRESH_END:
			refresh_end(p, a->family);
			break;
		}
	}
	note_session_fault(p);
	log_last_error(p);
	set_timer(p);
}

/* The actions for a connection that the session does not want: what to say on it. */
static void turn_away(struct peer *p, int fd, const struct bgp_actions *acts)
{
	for (unsigned i = 0; i < acts->count; i++) {
		if (acts->action[i].kind != BGP_ACT_SEND)
			continue;
		peer_turn_away(p->daemon, fd, acts->bytes + acts->action[i].at, acts->action[i].len);
		return;
	}
	close(fd);
}

void peer_accept(struct peer *p, int fd)
{
	struct bgp_actions acts;
	enum bgp_slot slot = bgp_session_incoming(&p->session);
	bgp_actions_clear(&acts);
	if (p->session.conn[slot].state == BGP_OPEN_SENT)
		lost(p, slot, "the peer opened a newer connection");
	if (!bgp_session_connected(&p->session, slot, clock_now(), &acts)) {
		log_remote(&p->limit, LOG_LEVEL_DEBUG, p->subject, "a second connection was turned away");
		turn_away(p, fd, &acts);
		return;
	}
	conn_adopt(p, slot, fd);
	p->conn[slot].connecting = false;
	if (bgp_session_slot(&p->session) == BGP_SLOTS)
		learn_local_address(p, fd);
	ev_io_start(p->daemon->loop, &p->conn[slot].reader);
	carry_out(p, &acts);
}

bool peer_ask_refresh(struct peer *p)
{
	struct bgp_actions acts;
	bool asked = false;
	bgp_actions_clear(&acts);
	for (unsigned f = 0; f < BGP_FAMILIES; f++)
		asked |= bgp_session_ask_refresh(&p->session, (enum bgp_family)f, &acts);
	carry_out(p, &acts);
	return asked;
}

/* Twice the hold time, as long as a peer may be silent and once more; with a hold time of 0 the RFC's 8 minutes. */
static int64_t send_hold_ms(const struct peer *p)
{
	enum { WITHOUT_HOLD_TIME_MS = 480000 };
	return p->session.hold_time_s ? p->session.hold_time_s * 2000 : WITHOUT_HOLD_TIME_MS;
}

void peer_check_send_hold(struct peer *p, struct tick now)
{
	enum bgp_slot slot = bgp_session_slot(&p->session);
	struct bgp_actions acts;
	struct bgp_fault f = {0};
	if (slot == BGP_SLOTS || !p->conn[slot].out.pending) {
		p->send_progress_at = (struct tick){0};
		return;
	}
	if (!tick_is_set(p->send_progress_at))
		p->send_progress_at = now;
	if (tick_since_ms(p->send_progress_at, now) < send_hold_ms(p))
		return;
	bgp_actions_clear(&acts);
	bgp_fault_raise(&f, BGP_RESET, BGP_ERR_SEND_HOLD, 0, "the peer takes nothing that we send", NULL, 0);
	bgp_session_fault(&p->session, slot, &f, now, &acts);
	carry_out(p, &acts);
}

const char *peer_policy_name(const struct peer *p)
{
	return p->range ? p->range->name : p->name;
}

bool peer_is_busy(const struct peer *p)
{
	bool busy = false;
	for (unsigned slot = 0; slot < BGP_SLOTS; slot++)
		busy |= p->session.conn[slot].state >= BGP_OPEN_SENT;
	return busy;
}

void peer_moved(struct peer *p, const struct addr *address, const char *why)
{
	for (unsigned slot = 0; slot < BGP_SLOTS; slot++)
		if (p->conn[slot].fd >= 0)
			lost(p, (enum bgp_slot)slot, why);
	listener_forget(p->daemon->listener, p); /* its password was for the old address */
	p->address = *address;
	p->ifindex = p->link.ifindex;
	listener_update(p->daemon->listener);
	if (!addr_is_zero(address))
		bgp_session_hurry(&p->session, clock_now());
	set_timer(p);
}

void peer_set_link(struct peer *p, const char *interface, bool unnumbered)
{
	p->link.interface = interface ? strdup(interface) : NULL;
	p->link.unnumbered = unnumbered;
	if (interface && !p->link.interface)
		abort();
}

const char *peer_place(const struct peer *p, char buf[PEER_PLACE_MAX])
{
	char address[ADDR_TEXT_MAX];
	bool known = !addr_is_zero(&p->address);
	snprintf(buf, PEER_PLACE_MAX, "%s%s%s", known ? addr_format(&p->address, address) : "",
		 known && p->link.interface ? "%" : "", p->link.interface ? p->link.interface : "");
	return buf;
}

void peers_link_changed(struct daemon *d, uint32_t ifindex, const char *name, bool up)
{
	char why[64];
	snprintf(why, sizeof why, "the link %s went down", name);
	list_each(n, tmp, &d->peers) {
		struct peer *p = container_of(n, struct peer, node);
		enum bgp_slot slot = bgp_session_slot(&p->session);
		p->helper.link_lost = !up && p->ifindex == ifindex;
		if (p->helper.link_lost)
			helper_give_up(p);
		if (p->link.unnumbered && p->link.ifindex == ifindex)
			router_adverts_link_changed(d->router_adverts, p, up);
		else if (!up && slot != BGP_SLOTS && (!p->ibgp || p->link.interface) && p->ifindex == ifindex)
			lost(p, slot, why);
		else if (up && slot == BGP_SLOTS)
			bgp_session_hurry(&p->session, clock_now());
		p->helper.link_lost = false;
		set_timer(p);
	}
}

void peers_device_gone(struct daemon *d, const char *device, const char *why)
{
	list_each(n, tmp, &d->peers) {
		struct peer *p = container_of(n, struct peer, node);
		enum bgp_slot slot = bgp_session_slot(&p->session);
		if (strcmp(p->transport.device, device) != 0)
			continue;
		helper_give_up(p);
		if (slot != BGP_SLOTS)
			lost(p, slot, why);
		set_timer(p);
	}
}

void peer_send(struct peer *p, struct block *b, uint32_t from, uint32_t to)
{
	enum bgp_slot slot = bgp_session_slot(&p->session);
	if (slot == BGP_SLOTS || p->conn[slot].fd < 0)
		return;
	outq_push(&p->conn[slot].out, b, from, to);
	write_soon(p, slot);
}

size_t peer_pending(const struct peer *p)
{
	enum bgp_slot slot = bgp_session_slot(&p->session);
	return slot == BGP_SLOTS ? 0 : p->conn[slot].out.pending;
}

struct peer *peer_new(struct daemon *d, const struct bgp_session_params *params, const char *name,
		      const struct addr *address, uint16_t port, enum rib_import import, enum rib_export export)
{
	struct peer *p = calloc(1, sizeof *p);
	if (!p || asprintf(&p->subject, "peer %s", name) < 0)
		abort();
	p->daemon = d;
	p->name = p->subject + strlen("peer ");
	p->address = *address;
	p->port = port;
	p->import = import;
	p->export = export;
	bgp_session_init(&p->session, params, clock_seed());
	for (unsigned i = 0; i < BGP_SLOTS; i++) {
		p->conn[i].fd = -1;
		list_init(&p->conn[i].unsent);
		ev_io_init(&p->conn[i].reader, on_readable, -1, EV_READ);
		ev_io_init(&p->conn[i].writer, on_writable, -1, EV_WRITE);
		p->conn[i].reader.data = p->conn[i].writer.data = p;
	}
	ev_timer_init(&p->timer, on_timer, 0., 0.);
	p->timer.data = p;
	list_append(&d->peers, &p->node);
	live_add(LIVE_PEER);
	return p;
}

void peer_start(struct peer *p)
{
	struct bgp_actions acts;
	bgp_actions_clear(&acts);
	p->stopped[0] = '\0';
	p->limits.stopped = false;
	p->session.restarting = p->session.kept_routes = p->daemon->restarting;
	bgp_session_start(&p->session, clock_now(), &acts);
	carry_out(p, &acts);
}

void peer_stop(struct peer *p, uint8_t subcode, const char *words, const char *why)
{
	struct bgp_actions acts;
	bgp_actions_clear(&acts);
	snprintf(p->stopped, sizeof p->stopped, "%s", why);
	utf8_scrub(p->stopped); /* it may have been cut within a letter */
	bgp_session_shut(&p->session, subcode, words, clock_now(), &acts);
	carry_out(p, &acts);
	helper_give_up(p);
}

void peer_end_session(struct peer *p, const struct bgp_fault *f, enum bgp_after after)
{
	struct bgp_actions acts;
	bgp_actions_clear(&acts);
	bgp_session_end(&p->session, bgp_session_slot(&p->session), f, after, clock_now(), &acts);
	carry_out(p, &acts);
}

void peer_free(struct peer *p, uint8_t subcode)
{
	struct bgp_actions acts;
	bgp_actions_clear(&acts);
	bgp_session_stop(&p->session, subcode, clock_now(), &acts);
	p->error_logged_at = p->session.last_error.at; /* that we end it is no news */
	carry_out(p, &acts);
	helper_give_up(p);
	ev_timer_stop(p->daemon->loop, &p->timer);
	list_remove(&p->node);
	if (p->range)
		p->range->count--;
	transport_clear(&p->transport);
	free(p->link.interface);
	free(p->subject);
	free(p);
	live_drop(LIVE_PEER);
}
