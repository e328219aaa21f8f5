#include "src/daemon/listen_io.h"

#include <errno.h>
#include <ev.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bgp/message.h"
#include "src/base/log_io.h"
#include "src/daemon/daemon.h"
#include "src/daemon/peer_io.h"
#include "src/daemon/port_holder_io.h"
#include "src/daemon/sockaddr.h"

struct listener {
	struct daemon *daemon;
	ev_io io;
	ev_timer retry, pause;
	struct log_limit limit;
	int error;      /* errno of the last attempt, 0: listening */
	char text[192];
};

/* A link-local address says who it is only together with its interface. */
static bool is_peer(const struct peer *p, const struct addr *a, const char *interface)
{
	return addr_eq(&p->address, a) && (!p->link.interface || strcmp(p->link.interface, interface) == 0);
}

/* The one with the address; else the unnumbered one on that link, if this may be its peer. */
static struct peer *find_peer(struct daemon *d, const struct addr *a, const char *interface)
{
	list_each(n, tmp, &d->peers) {
		struct peer *p = container_of(n, struct peer, node);
		if (is_peer(p, a, interface))
			return p;
	}
	list_each(n, tmp, &d->peers) {
		struct peer *p = container_of(n, struct peer, node);
		if (p->link.unnumbered && strcmp(p->link.interface, interface) == 0 &&
		    router_adverts_connection(d->router_adverts, p, a))
			return p;
	}
	return NULL;
}

static void reject(struct listener *l, int fd, const struct addr *from, const char *interface)
{
	struct bgp_fault f = {0};
	uint8_t bytes[64];
	char text[ADDR_TEXT_MAX];
	bgp_fault_raise(&f, BGP_RESET, BGP_ERR_CEASE, BGP_CEASE_REJECTED, "not a configured peer", NULL, 0);
	log_remote(&l->limit, LOG_LEVEL_WARN, "listener",
		   "connection from %s%s%s turned away: no peer has this address (add it under peers: if it should have)",
		   addr_format(from, text), *interface ? "%" : "", interface);
	peer_turn_away(l->daemon, fd, bytes, bgp_notification_encode(bytes, sizeof bytes, &f));
}

static void on_pause_over(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct listener *l = w->data;
	(void)revents;
	ev_io_start(loop, &l->io);
}

static void on_connection(struct ev_loop *loop, ev_io *w, int revents)
{
	struct listener *l = w->data;
	struct sockaddr_storage ss;
	socklen_t len = sizeof ss;
	struct addr from = {{0}};
	char interface[IF_NAMESIZE] = ""; /* of a link-local address */
	(void)revents;
	int fd = accept4(w->fd, (struct sockaddr *)&ss, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0) {
		if (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR)
			return;
		log_remote(&l->limit, LOG_LEVEL_ERROR, "listener", "cannot accept a connection: %s", strerror(errno));
		ev_io_stop(loop, w); /* it would be readable again at once */
		ev_timer_start(loop, &l->pause);
		return;
	}
	sockaddr_read(&ss, &from, NULL);
	if (sockaddr_scope(&ss))
		if_indextoname(sockaddr_scope(&ss), interface);
	struct peer *p = find_peer(l->daemon, &from, interface);
	if (!p)
		reject(l, fd, &from, interface);
	else if (transport_accept(p, fd))
		peer_accept(p, fd);
	else
		close(fd);
}

/* Both families on one socket; IPv4 alone where the kernel has no IPv6. */
static int open_socket(struct daemon *d)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(LISTEN_PORT)};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(LISTEN_PORT)};
	int one = 1, zero = 0, error;
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool v6 = fd >= 0;
	if (!v6)
		fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (v6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
	if (bind(fd, v6 ? (struct sockaddr *)&in6 : (struct sockaddr *)&in, v6 ? sizeof in6 : sizeof in) == 0) {
		transport_listener_init(fd);
		transport_listener_update(fd, d); /* before anybody can connect */
		if (listen(fd, SOMAXCONN) == 0)
			return fd;
	}
	error = errno;
	close(fd);
	transport_listener_closed(d);
	return -error;
}

static void describe_failure(struct listener *l, int error)
{
	char holder[96] = "";
	if (error == EADDRINUSE && port_holder(LISTEN_PORT, holder, sizeof holder))
		snprintf(l->text, sizeof l->text, "port %d is in use by %s: stop it, or let it speak BGP instead of us",
			 LISTEN_PORT, holder);
	else if (error == EACCES)
		snprintf(l->text, sizeof l->text, "port %d: not permitted, run as root or with CAP_NET_BIND_SERVICE", LISTEN_PORT);
	else
		snprintf(l->text, sizeof l->text, "port %d: %s", LISTEN_PORT, strerror(error));
}

static void try_listen(struct listener *l)
{
	int fd = open_socket(l->daemon);
	if (fd < 0) {
		if (l->error != -fd) { /* looking for the holder means reading all of /proc */
			describe_failure(l, -fd);
			log_error("listener", "%s (trying again every %d s; peers cannot connect to us until then)", l->text,
				  LISTEN_RETRY_S);
		}
		l->error = -fd;
		return;
	}
	ev_timer_stop(l->daemon->loop, &l->retry);
	if (l->error)
		log_info("listener", "port %d is ours now", LISTEN_PORT);
	l->error = 0;
	snprintf(l->text, sizeof l->text, "port %d", LISTEN_PORT);
	ev_io_set(&l->io, fd, EV_READ);
	ev_io_start(l->daemon->loop, &l->io);
	listener_update(l);
}

static void on_retry(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	struct listener *l = w->data;
	(void)revents;
	if (l->error)
		try_listen(l);
	else
		listener_update(l);
}

void listener_update(struct listener *l)
{
	if (l->error)
		return;
	if (transport_listener_update(l->io.fd, l->daemon))
		ev_timer_stop(l->daemon->loop, &l->retry);
	else
		ev_timer_again(l->daemon->loop, &l->retry);
}

void listener_forget(struct listener *l, struct peer *p)
{
	if (!l->error)
		transport_listener_forget(l->io.fd, p);
}

struct listener *listener_new(struct daemon *d)
{
	struct listener *l = calloc(1, sizeof *l);
	if (!l)
		abort();
	l->daemon = d;
	ev_io_init(&l->io, on_connection, -1, EV_READ);
	ev_timer_init(&l->retry, on_retry, LISTEN_RETRY_S, LISTEN_RETRY_S);
	ev_timer_init(&l->pause, on_pause_over, 1., 0.);
	l->io.data = l->retry.data = l->pause.data = l;
	ev_timer_start(d->loop, &l->retry);
	try_listen(l);
	return l;
}

void listener_free(struct listener *l)
{
	if (!l)
		return;
	ev_timer_stop(l->daemon->loop, &l->retry);
	ev_timer_stop(l->daemon->loop, &l->pause);
	ev_io_stop(l->daemon->loop, &l->io);
	if (!l->error)
		close(l->io.fd);
	free(l);
}

const char *listener_text(const struct listener *l)
{
	return l->text;
}

int listener_failed(const struct listener *l)
{
	return l->error;
}
