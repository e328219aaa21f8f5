#include "src/daemon/router_advert_io.h"

#include <errno.h>
#include <ev.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/clock_io.h"
#include "src/base/log_io.h"
#include "src/base/random.h"
#include "src/daemon/daemon.h"
#include "src/daemon/local_link_io.h"
#include "src/daemon/peer_io.h"
#include "src/daemon/sockaddr.h"

enum {
	INTERVAL_MS = 10000,
	AGAIN_MS = 1000,      /* after an advertisement that could not be sent */
	BETWEEN_MS = 3000,    /* the least between two, RFC 4861 section 6.2.6 */
	MESSAGES_A_TURN = 32,
	MESSAGE_READ = 1500,
};

struct router_adverts {
	struct daemon *daemon;
	ev_io io;      /* its fd is -1 while there is no unnumbered peer, or no socket */
	ev_timer tick;
	int error;     /* -errno: why there is no socket */
	struct random random;
	struct log_limit limit;
};

static const struct in6_addr all_nodes = {{{0xff, 0x02, [15] = 1}}}, all_routers = {{{0xff, 0x02, [15] = 2}}};

/* --- sending */

/* The source is chosen here: the kernel would take a global address where the link-local one is missing. */
static int send_from(int fd, const struct addr *source, uint32_t ifindex, enum ra_kind kind)
{
	uint8_t bytes[RA_MESSAGE_MAX];
	struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_scope_id = ifindex,
				  .sin6_addr = kind == RA_SOLICITATION ? all_routers : all_nodes};
	struct iovec iov = {bytes, ra_encode(kind, bytes, sizeof bytes)};
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	} control = {.space = {0}};
	struct msghdr m = {.msg_name = &to, .msg_namelen = sizeof to, .msg_iov = &iov, .msg_iovlen = 1,
			   .msg_control = control.space, .msg_controllen = sizeof control.space};
	struct in6_pktinfo info = {.ipi6_ifindex = ifindex};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	memcpy(&info.ipi6_addr, source->b, 16);
	c->cmsg_level = IPPROTO_IPV6;
	c->cmsg_type = IPV6_PKTINFO;
	c->cmsg_len = CMSG_LEN(sizeof info);
	memcpy(CMSG_DATA(c), &info, sizeof info);
	return sendmsg(fd, &m, MSG_DONTWAIT) < 0 ? -errno : 0;
}

static int say(const struct router_adverts *r, const struct peer *p, enum ra_kind kind)
{
	struct local_link ours;
	local_link_of(NULL, p->link.ifindex, &ours);
	if (addr_is_zero(&ours.link_local))
		return -EADDRNOTAVAIL;
	return send_from(r->io.fd, &ours.link_local, p->link.ifindex, kind);
}

static void advertise(struct router_adverts *r, struct peer *p, struct tick now)
{
	struct peer_link *l = &p->link;
	l->error = say(r, p, RA_ADVERTISEMENT);
	if (!l->error)
		l->advertised_at = now;
	l->advertise_at = tick_after(now, l->error ? AGAIN_MS : random_jitter_ms(&r->random, INTERVAL_MS));
}

/* Soon, but not more often than is allowed. */
static void advertise_soon(struct router_adverts *r, struct peer *p, struct tick now)
{
	struct tick earliest = tick_after(p->link.advertised_at, BETWEEN_MS);
	if (!tick_is_set(p->link.advertised_at) || tick_due(earliest, now))
		advertise(r, p, now);
	else
		p->link.advertise_at = earliest;
}

/* --- who is there */

static void follow(struct peer *p)
{
	const struct peer_link *l = &p->link;
	char text[ADDR_TEXT_MAX];
	log_remote(&p->limit, LOG_LEVEL_INFO, p->subject, "%s is at the other end of %s", addr_format(&l->other_end.router, text),
		   l->interface);
	peer_moved(p, &l->other_end.router, "another router is at the other end");
}

static void report_other(struct peer *p)
{
	struct peer_link *l = &p->link;
	char first[ADDR_TEXT_MAX], other[ADDR_TEXT_MAX];
	if (addr_eq(&l->reported, &l->other_end.other))
		return;
	l->reported = l->other_end.other;
	log_remote(&p->limit, LOG_LEVEL_WARN, p->subject,
		   "two routers on %s, %s and %s: an unnumbered session is for a link with one; the first stays until it is silent",
		   l->interface, addr_format(&l->other_end.router, first), addr_format(&l->other_end.other, other));
}

static void hear(struct router_adverts *r, struct peer *p, enum ra_kind kind, const struct addr *from)
{
	struct tick now = clock_now();
	switch (ra_link_hear(&p->link.other_end, kind, from, peer_is_busy(p), now)) {
	case RA_CHANGED:
		follow(p);
		advertise_soon(r, p, now); /* it may be new, and not know us */
		break;
	case RA_ASK:
		report_other(p);
		say(r, p, RA_SOLICITATION);
		break;
	case RA_NO_NEWS:
		break;
	}
	if (kind == RA_SOLICITATION)
		advertise_soon(r, p, now);
}

bool router_adverts_connection(struct router_adverts *r, struct peer *p, const struct addr *from)
{
	if (!p->link.unnumbered)
		return addr_eq(from, &p->address);
	hear(r, p, RA_CONNECTION, from);
	return addr_eq(from, &p->link.other_end.router);
}

static void forget(struct peer *p, const char *why)
{
	static const struct addr nobody;
	p->link.other_end = (struct ra_link){.by = RA_NONE};
	p->link.reported = nobody;
	peer_moved(p, &nobody, why);
}

/* --- interfaces */

static void group_membership(const struct router_adverts *r, uint32_t ifindex, int option)
{
	struct ipv6_mreq m = {.ipv6mr_multiaddr = all_routers, .ipv6mr_interface = ifindex};
	if (ifindex && r->io.fd >= 0 && setsockopt(r->io.fd, IPPROTO_IPV6, option, &m, sizeof m) < 0)
		log_debug("router advertisements", "group membership: %s", strerror(errno));
}

static void interface_appeared(struct router_adverts *r, struct peer *p, struct tick now)
{
	group_membership(r, p->link.ifindex, IPV6_JOIN_GROUP);
	p->link.advertised_at = (struct tick){0};
	advertise(r, p, now);
	say(r, p, RA_SOLICITATION);
}

static void look(struct router_adverts *r, struct peer *p, struct tick now)
{
	struct peer_link *l = &p->link;
	uint32_t ifindex = if_nametoindex(l->interface);
	char why[64];
	if (ifindex != l->ifindex) { /* made, deleted, renamed, or made anew */
		snprintf(why, sizeof why, "the interface %s is gone", l->interface);
		if (l->ifindex)
			forget(p, why);
		l->ifindex = ifindex;
		if (ifindex)
			interface_appeared(r, p, now);
	}
	if (l->ifindex && tick_due(l->advertise_at, now)) {
		bool first = !tick_is_set(l->advertised_at);
		advertise(r, p, now);
		if (first && !l->error)
			say(r, p, RA_SOLICITATION);
	}
	if (ra_link_settle(&l->other_end, peer_is_busy(p), now))
		follow(p);
}

void router_adverts_link_changed(struct router_adverts *r, struct peer *p, bool up)
{
	if (!p->link.unnumbered)
		return;
	if (!up) {
		forget(p, "the link went down");
	} else if (p->link.ifindex && r->io.fd >= 0) {
		p->link.advertised_at = (struct tick){0};
		p->link.advertise_at = clock_now(); /* in the next turn, when the link can carry it */
	}
}

/* --- receiving */

struct received {
	uint8_t bytes[MESSAGE_READ];
	size_t len;
	struct addr from;
	uint32_t ifindex;
	int hop_limit;
};

static void read_control(struct msghdr *m, struct received *out)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		struct in6_pktinfo info;
		if (c->cmsg_level != IPPROTO_IPV6)
			continue;
		if (c->cmsg_type == IPV6_PKTINFO && c->cmsg_len >= CMSG_LEN(sizeof info)) {
			memcpy(&info, CMSG_DATA(c), sizeof info);
			out->ifindex = info.ipi6_ifindex;
		} else if (c->cmsg_type == IPV6_HOPLIMIT && c->cmsg_len >= CMSG_LEN(sizeof out->hop_limit)) {
			memcpy(&out->hop_limit, CMSG_DATA(c), sizeof out->hop_limit);
		}
	}
}

static bool receive(int fd, struct received *out)
{
	struct sockaddr_storage from = {0};
	union {
		struct cmsghdr align;
		char space[256];
	} control;
	struct iovec iov = {out->bytes, sizeof out->bytes};
	struct msghdr m = {.msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &iov, .msg_iovlen = 1,
			   .msg_control = control.space, .msg_controllen = sizeof control.space};
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT);
	if (n < 0)
		return false;
	out->len = (size_t)n;
	out->ifindex = 0;
	out->hop_limit = -1;
	out->from = (struct addr){{0}};
	sockaddr_read(&from, &out->from, NULL);
	read_control(&m, out);
	return true;
}

static void on_message(struct ev_loop *loop, ev_io *w, int revents)
{
	struct router_adverts *r = w->data;
	struct received m;
	(void)loop;
	(void)revents;
	for (unsigned i = 0; i < MESSAGES_A_TURN && receive(w->fd, &m); i++) {
		enum ra_kind kind = ra_decode(m.bytes, m.len, &m.from, m.hop_limit);
		list_each(n, tmp, &r->daemon->peers) {
			struct peer *p = container_of(n, struct peer, node);
			if (kind != RA_NONE && p->link.unnumbered && p->link.ifindex == m.ifindex)
				hear(r, p, kind, &m.from);
		}
	}
}

/* --- life */

static int set_int(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof value);
}

static int open_socket(void)
{
	struct icmp6_filter filter;
	int fd = socket(AF_INET6, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_ICMPV6);
	if (fd < 0)
		return -errno;
	ICMP6_FILTER_SETBLOCKALL(&filter);
	ICMP6_FILTER_SETPASS(ND_ROUTER_SOLICIT, &filter);
	ICMP6_FILTER_SETPASS(ND_ROUTER_ADVERT, &filter);
	if (setsockopt(fd, IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof filter) == 0 &&
	    set_int(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) == 0 && set_int(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1) == 0 &&
	    set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, RA_HOP_LIMIT) == 0 &&
	    set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0) == 0)
		return fd;
	int error = errno;
	close(fd);
	return -error;
}

static void close_socket(struct router_adverts *r)
{
	if (r->io.fd < 0)
		return;
	ev_io_stop(r->daemon->loop, &r->io);
	close(r->io.fd);
	ev_io_set(&r->io, -1, EV_READ);
}

/* False while there is none. */
static bool need_socket(struct router_adverts *r)
{
	if (r->io.fd >= 0)
		return true;
	int fd = open_socket();
	if (fd < 0) {
		if (r->error != fd)
			log_error("router advertisements", "no socket: %s (unnumbered peers cannot be found)", strerror(-fd));
		r->error = fd;
		return false;
	}
	r->error = 0;
	ev_io_set(&r->io, fd, EV_READ);
	ev_io_start(r->daemon->loop, &r->io);
	return true;
}

static void on_tick(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct router_adverts *r = t->data;
	struct tick now = clock_now();
	(void)loop;
	(void)revents;
	if (!need_socket(r))
		return;
	list_each(n, tmp, &r->daemon->peers) {
		struct peer *p = container_of(n, struct peer, node);
		if (p->link.unnumbered)
			look(r, p, now);
	}
}

void router_adverts_update(struct router_adverts *r)
{
	bool any = false;
	list_each(n, tmp, &r->daemon->peers)
		any |= container_of(n, struct peer, node)->link.unnumbered;
	if (!any) {
		ev_timer_stop(r->daemon->loop, &r->tick);
		close_socket(r);
		return;
	}
	if (!ev_is_active(&r->tick))
		ev_timer_start(r->daemon->loop, &r->tick);
	on_tick(r->daemon->loop, &r->tick, 0); /* new ones begin at once */
}

void router_adverts_forget(struct router_adverts *r, struct peer *p)
{
	group_membership(r, p->link.ifindex, IPV6_LEAVE_GROUP);
	p->link.unnumbered = false;
}

struct router_adverts *router_adverts_new(struct daemon *d)
{
	struct router_adverts *r = calloc(1, sizeof *r);
	if (!r)
		abort();
	r->daemon = d;
	r->random.state = clock_seed();
	ev_io_init(&r->io, on_message, -1, EV_READ);
	ev_timer_init(&r->tick, on_tick, 1., 1.);
	r->io.data = r->tick.data = r;
	return r;
}

void router_adverts_free(struct router_adverts *r)
{
	if (!r)
		return;
	ev_timer_stop(r->daemon->loop, &r->tick);
	close_socket(r);
	free(r);
}

const char *router_adverts_explain(const struct router_adverts *r, const struct peer *p, char *buf, size_t cap)
{
	const struct peer_link *l = &p->link;
	if (r->error)
		snprintf(buf, cap, "router advertisements cannot be sent or heard: %s", strerror(-r->error));
	else if (l->error)
		snprintf(buf, cap, "nothing can be sent on %s: %s (is it up, with an IPv6 link-local address?)", l->interface,
			 strerror(-l->error));
	else
		snprintf(buf, cap, "no router was heard on %s yet (waiting for its router advertisement)", l->interface);
	return buf;
}
