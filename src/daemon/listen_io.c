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
#include "src/daemon/dynamic_io.h"
#include "src/daemon/peer_io.h"
#include "src/daemon/port_holder_io.h"
#include "src/daemon/sockaddr.h"

/* A listening socket. */
struct door {
	struct list node;
	struct listener *listener;
	char device[IF_NAMESIZE]; /* "": all devices that have no door of their own */
	uint32_t ifindex;         /* of device, when the socket was tied to it */
	ev_io io;
	ev_timer pause;
	int error;                /* errno of the last attempt, 0: listening */
	char text[192];           /* what is wrong */
};

struct listener {
	struct daemon *daemon;
	struct list doors;        /* struct door.node; the first is for all devices */
	ev_timer retry;
	struct log_limit limit;
	char text[512];
};

/* A link-local address says who it is only together with its interface, whichever door it came to: another peer may have made
 * one for the same device. */
static bool is_peer(const struct peer *p, const struct addr *a, const char *interface, const char *device)
{
	bool came_its_way = p->link.interface ? strcmp(p->link.interface, interface) == 0 : strcmp(p->transport.device, device) == 0;
	return came_its_way && addr_eq(&p->address, a);
}

/* The one with the address; else the unnumbered one on that link, if this may be its peer. */
static struct peer *find_peer(struct daemon *d, const struct addr *a, const char *interface, const char *device)
{
	list_each(n, tmp, &d->peers) {
		struct peer *p = container_of(n, struct peer, node);
		if (is_peer(p, a, interface, device))
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

static void turn_away(struct listener *l, int fd)
{
	struct bgp_fault f = {0};
	uint8_t bytes[64];
	bgp_fault_raise(&f, BGP_RESET, BGP_ERR_CEASE, BGP_CEASE_REJECTED, "not a configured peer", NULL, 0);
	peer_turn_away(l->daemon, fd, bytes, bgp_notification_encode(bytes, sizeof bytes, &f));
}

static void reject(struct listener *l, int fd, const struct addr *from, const char *interface)
{
	char text[ADDR_TEXT_MAX];
	log_remote(&l->limit, LOG_LEVEL_WARN, "listener",
		   "connection from %s%s%s turned away: no peer has this address (add it under peers: if it should have)",
		   addr_format(from, text), *interface ? "%" : "", interface);
	turn_away(l, fd);
}

static void on_pause_over(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct door *o = w->data;
	(void)revents;
	ev_io_start(loop, &o->io);
}

static void take(struct door *o, int fd, const struct sockaddr_storage *ss)
{
	struct listener *l = o->listener;
	struct addr from = {{0}};
	char interface[IF_NAMESIZE] = ""; /* of a link-local address */
	sockaddr_read(ss, &from, NULL);
	if (sockaddr_scope(ss))
		if_indextoname(sockaddr_scope(ss), interface);
	struct peer *p = find_peer(l->daemon, &from, interface, o->device);
	struct range *r = p ? NULL : range_find(l->daemon, &from, o->device);
	if (r)
		p = range_admit(r, &from);
	if (!p && r)
		turn_away(l, fd);
	else if (!p)
		reject(l, fd, &from, interface);
	else if (transport_accept(p, fd))
		peer_accept(p, fd);
	else
		close(fd);
}

static void on_connection(struct ev_loop *loop, ev_io *w, int revents)
{
	enum { AT_ONCE = 32 }; /* when a rack gets its power back */
	struct door *o = w->data;
	struct sockaddr_storage ss;
	socklen_t len;
	int fd = 0;
	(void)revents;
	for (unsigned n = 0; n < AT_ONCE; n++) {
		memset(&ss, 0, sizeof ss);
		len = sizeof ss;
		fd = accept4(w->fd, (struct sockaddr *)&ss, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0)
			break;
		take(o, fd, &ss);
	}
	if (fd >= 0)
		return;
	if (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR)
		return;
	log_remote(&o->listener->limit, LOG_LEVEL_ERROR, "listener", "cannot accept a connection: %s", strerror(errno));
	ev_io_stop(loop, w); /* it would be readable again at once */
	ev_timer_start(loop, &o->pause);
}

/* The kernel lets several sockets listen on one port only where all of them allow it, which would let another program in
 * as well: so they do while one of our doors opens, and at no other time. */
static void allow_sharing(struct listener *l, int yes)
{
	list_each(n, tmp, &l->doors) {
		struct door *o = container_of(n, struct door, node);
		if (!o->error)
			setsockopt(o->io.fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
	}
}

static bool any_open(const struct listener *l)
{
	list_each(n, tmp, &l->doors)
		if (!container_of(n, struct door, node)->error)
			return true;
	return false;
}

/* Both families on one socket; IPv4 alone where the kernel has no IPv6. 0, or an errno. */
static int bind_and_listen(struct door *o, int fd, bool v6)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(LISTEN_PORT)};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(LISTEN_PORT)};
	int one = 1, zero = 0, shared = any_open(o->listener);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &shared, sizeof shared);
	if (v6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
	o->ifindex = *o->device ? if_nametoindex(o->device) : 0;
	if (transport_bind_device(fd, o->device) < 0)
		return errno;
	if (bind(fd, v6 ? (struct sockaddr *)&in6 : (struct sockaddr *)&in, v6 ? sizeof in6 : sizeof in) < 0)
		return errno;
	transport_listener_init(fd);
	transport_listener_update(fd, o->listener->daemon, o->device); /* before anybody can connect */
	int error = listen(fd, SOMAXCONN) < 0 ? errno : 0;
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &zero, sizeof zero);
	return error;
}

static int open_socket(struct door *o)
{
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool v6 = fd >= 0;
	if (!v6)
		fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	allow_sharing(o->listener, 1);
	int error = bind_and_listen(o, fd, v6);
	allow_sharing(o->listener, 0);
	if (!error)
		return fd;
	close(fd);
	transport_listener_closed(o->listener->daemon, o->device);
	return -error;
}

static void describe_failure(struct door *o, int error)
{
	char holder[96] = "", where[32] = "";
	if (*o->device)
		snprintf(where, sizeof where, " on %s", o->device);
	if (error == EADDRINUSE && port_holder(LISTEN_PORT, holder, sizeof holder))
		snprintf(o->text, sizeof o->text, "port %d%s is in use by %s: stop it, or let it speak BGP instead of us",
			 LISTEN_PORT, where, holder);
	else if (error == EACCES)
		snprintf(o->text, sizeof o->text, "port %d%s: not permitted, run as root or with CAP_NET_BIND_SERVICE", LISTEN_PORT,
			 where);
	else if (error == ENODEV)
		snprintf(o->text, sizeof o->text, "port %d%s: there is no such device", LISTEN_PORT, where);
	else
		snprintf(o->text, sizeof o->text, "port %d%s: %s", LISTEN_PORT, where, strerror(error));
}

static void open_door(struct door *o)
{
	enum { NOT_TRIED = -1 };
	int fd = open_socket(o);
	if (fd < 0) {
		if (o->error != -fd) { /* looking for the holder means reading all of /proc */
			describe_failure(o, -fd);
			log_error("listener", "%s (trying again every %d s; peers cannot connect to us until then)", o->text,
				  LISTEN_RETRY_S);
		}
		o->error = -fd;
		return;
	}
	if (o->error != NOT_TRIED)
		log_info("listener", "port %d%s%s is ours now", LISTEN_PORT, *o->device ? " on " : "", o->device);
	o->error = 0;
	ev_io_set(&o->io, fd, EV_READ);
	ev_io_start(o->listener->daemon->loop, &o->io);
}

static struct door *door_new(struct listener *l, const char *device)
{
	struct door *o = calloc(1, sizeof *o);
	if (!o)
		abort();
	o->listener = l;
	o->error = -1;
	snprintf(o->device, sizeof o->device, "%s", device);
	ev_io_init(&o->io, on_connection, -1, EV_READ);
	ev_timer_init(&o->pause, on_pause_over, 1., 0.);
	o->io.data = o->pause.data = o;
	list_append(&l->doors, &o->node);
	open_door(o);
	return o;
}

static void door_close(struct door *o)
{
	struct ev_loop *loop = o->listener->daemon->loop;
	ev_timer_stop(loop, &o->pause);
	ev_io_stop(loop, &o->io);
	if (o->error)
		return;
	close(o->io.fd);
	transport_listener_closed(o->listener->daemon, o->device);
	o->error = ENODEV;
}

static void door_free(struct door *o)
{
	door_close(o);
	list_remove(&o->node);
	free(o);
}

static struct door *find_door(const struct listener *l, const char *device)
{
	list_each(n, tmp, &l->doors)
		if (strcmp(container_of(n, struct door, node)->device, device) == 0)
			return container_of(n, struct door, node);
	return NULL;
}

static bool is_wanted(const struct door *o)
{
	bool wanted = !*o->device;
	list_each(n, tmp, &o->listener->daemon->peers)
		wanted |= strcmp(container_of(n, struct peer, node)->transport.device, o->device) == 0;
	list_each(n, tmp, &o->listener->daemon->ranges)
		wanted |= strcmp(container_of(n, struct range, node)->transport.device, o->device) == 0;
	return wanted;
}

/* A door for each device that peers name. */
static void fit_doors(struct listener *l)
{
	list_each(n, tmp, &l->doors)
		if (!is_wanted(container_of(n, struct door, node)))
			door_free(container_of(n, struct door, node));
	list_each(n, tmp, &l->daemon->peers) {
		const struct peer *p = container_of(n, struct peer, node);
		if (!find_door(l, p->transport.device))
			door_new(l, p->transport.device);
	}
	list_each(n, tmp, &l->daemon->ranges) {
		const struct range *r = container_of(n, struct range, node);
		if (!find_door(l, r->transport.device))
			door_new(l, r->transport.device);
	}
}

void listener_update(struct listener *l)
{
	bool again = false;
	fit_doors(l);
	list_each(n, tmp, &l->doors) {
		struct door *o = container_of(n, struct door, node);
		again |= o->error || *o->device || !transport_listener_update(o->io.fd, l->daemon, o->device);
	}
	if (!again)
		ev_timer_stop(l->daemon->loop, &l->retry);
	else if (!ev_is_active(&l->retry))
		ev_timer_again(l->daemon->loop, &l->retry);
}

void listener_devices_changed(struct listener *l)
{
	list_each(n, tmp, &l->doors) {
		struct door *o = container_of(n, struct door, node);
		if (*o->device && !o->error && if_nametoindex(o->device) != o->ifindex)
			door_close(o);
		if (o->error)
			open_door(o);
	}
	listener_update(l);
}

static void on_retry(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)revents;
	listener_devices_changed(w->data);
}

static void forget(struct listener *l, struct transport *t, const struct prefix *from, const char *subject)
{
	struct door *o = find_door(l, t->device);
	if (o && !o->error)
		transport_listener_forget(o->io.fd, t, from, subject);
}

/* The kernel keeps one key for an address, whatever link it is on: where another peer has it too, its key is gone as well, and
 * the next listener_update() puts it back. */
void listener_forget(struct listener *l, struct peer *p)
{
	struct prefix host = prefix_make(&p->address, 128);
	forget(l, &p->transport, &host, p->subject);
	list_each(n, tmp, &l->daemon->peers) {
		struct peer *other = container_of(n, struct peer, node);
		if (addr_eq(&other->address, &p->address) && strcmp(other->transport.device, p->transport.device) == 0)
			other->transport.on_listener = false;
	}
}

void listener_forget_range(struct listener *l, struct range *r)
{
	forget(l, &r->transport, &r->prefix, r->subject);
}

struct listener *listener_new(struct daemon *d)
{
	struct listener *l = calloc(1, sizeof *l);
	if (!l)
		abort();
	l->daemon = d;
	list_init(&l->doors);
	ev_timer_init(&l->retry, on_retry, LISTEN_RETRY_S, LISTEN_RETRY_S);
	l->retry.data = l;
	door_new(l, "");
	listener_update(l);
	return l;
}

void listener_free(struct listener *l)
{
	if (!l)
		return;
	ev_timer_stop(l->daemon->loop, &l->retry);
	list_each(n, tmp, &l->doors)
		door_free(container_of(n, struct door, node));
	free(l);
}

const char *listener_text(struct listener *l)
{
	size_t len = 0;
	l->text[0] = '\0';
	list_each(n, tmp, &l->doors) {
		const struct door *o = container_of(n, struct door, node);
		if (len >= sizeof l->text)
			break;
		if (o->error)
			len += (size_t)snprintf(l->text + len, sizeof l->text - len, "%s%s", len ? "; " : "", o->text);
		else
			len += (size_t)snprintf(l->text + len, sizeof l->text - len, "%sport %d%s%s", len ? "; " : "", LISTEN_PORT,
						*o->device ? " on " : "", o->device);
	}
	return l->text;
}

bool listener_failed(const struct listener *l)
{
	list_each(n, tmp, &l->doors)
		if (container_of(n, struct door, node)->error)
			return true;
	return false;
}
