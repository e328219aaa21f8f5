#include "tests/bench/player.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bgp/update.h"

enum {
	HOLD_S = 180,
	KEEPALIVE_S = 20,
	READ_SIZE = 1 << 18,
	EVENTS = 256,
	SLOW_BUFFER = 4096,
	CEASE = 6,
	TRIES = 3000,
	TRY_EVERY_NS = 20000000,
};

uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double seconds(uint64_t from, uint64_t to)
{
	return (double)(to - from) / 1e9;
}

_Noreturn void fail(const char *what)
{
	fprintf(stderr, "load: %s: %s\n", what, errno ? strerror(errno) : "not as expected");
	exit(1);
}

void *made(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size);
	if (!p)
		fail("memory");
	return p;
}

void event(const char *name, double value)
{
	printf("%s %.4f\n", name, value);
	fflush(stdout);
}

static int by_size(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;
	return x < y ? -1 : x > y;
}

void event_percentiles(const char *name, float *ms, size_t n)
{
	qsort(ms, n, sizeof *ms, by_size);
	if (n)
		printf("%s %.3f %.3f %.3f %zu\n", name, (double)ms[n / 2], (double)ms[n * 99 / 100], (double)ms[n - 1], n);
	fflush(stdout);
}

void event_load(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	event("load", (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
			      (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
}

/* --- sockets */

struct addr player_address(const struct players *all, unsigned number)
{
	struct addr n = all->daemon;
	unsigned low = (unsigned)n.b[14] << 8 | n.b[15];
	low += number;
	n.b[14] = (uint8_t)(low >> 8);
	n.b[15] = (uint8_t)low;
	return n;
}

static socklen_t make_sockaddr(const struct addr *a, uint16_t port, struct sockaddr_storage *out)
{
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;
	struct sockaddr_in *four = (struct sockaddr_in *)out;
	memset(out, 0, sizeof *out);
	if (!addr_is_v4(a)) {
		six->sin6_family = AF_INET6;
		six->sin6_port = htons(port);
		memcpy(&six->sin6_addr, a->b, 16);
		return sizeof *six;
	}
	four->sin_family = AF_INET;
	four->sin_port = htons(port);
	memcpy(&four->sin_addr, a->b + 12, 4);
	return sizeof *four;
}

void player_write(struct player *p, const uint8_t *bytes, size_t len)
{
	for (ssize_t n; len; bytes += n, len -= (size_t)n) {
		n = write(p->fd, bytes, len);
		if (n < 0 && errno != EAGAIN)
			fail("write");
		if (n < 0) {
			n = 0;
			poll(&(struct pollfd){p->fd, POLLOUT, 0}, 1, 1000);
		}
	}
}

static void watch(struct players *all, struct player *p, int how)
{
	bool reads = p->connected && !(p->slow && p->established);
	struct epoll_event e = {.events = (reads ? EPOLLIN : 0) | (!p->connected || p->out_len ? EPOLLOUT : 0), .data.ptr = p};
	if (epoll_ctl(all->epoll, how, p->fd, &e) < 0)
		fail("epoll");
}

/* The daemon, or the link to it, is not there yet. */
static bool is_early(int error)
{
	return error == ECONNREFUSED || error == ECONNRESET || error == EHOSTUNREACH;
}

static void connect_player(struct players *all, struct player *p)
{
	struct sockaddr_storage ss;
	struct addr own = player_address(all, p->number);
	int one = 1, small = SLOW_BUFFER;
	p->fd = socket(addr_is_v4(&own) ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->fd < 0)
		fail("socket (ulimit -n?)");
	setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (p->slow)
		setsockopt(p->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
	socklen_t len = make_sockaddr(&own, 0, &ss);
	if (bind(p->fd, (struct sockaddr *)&ss, len) < 0)
		fail("bind to an address of the load's");
	len = make_sockaddr(&all->daemon, all->port, &ss);
	if (connect(p->fd, (struct sockaddr *)&ss, len) < 0 && errno != EINPROGRESS && !is_early(errno))
		fail("connect");
	watch(all, p, EPOLL_CTL_ADD);
}

void player_start(struct players *all, struct player *p)
{
	p->connected = p->established = false;
	p->partial_len = p->out_len = 0;
	connect_player(all, p);
}

void player_stop(struct players *all, struct player *p)
{
	all->established -= p->established;
	p->established = p->connected = false;
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

void player_slow_down(struct players *all, struct player *p)
{
	int small = SLOW_BUFFER;
	p->slow = true;
	setsockopt(p->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
	watch(all, p, EPOLL_CTL_MOD);
}

void player_feed(struct players *all, struct player *p, const uint8_t *bytes, size_t len)
{
	p->out = bytes;
	p->out_len = len;
	watch(all, p, EPOLL_CTL_MOD);
}

static void say_hello(const struct players *all, struct player *p)
{
	uint8_t bytes[512];
	struct bgp_open open = {.version = 4, .asn = p->asn, .hold_time_s = HOLD_S, .router_id = 0x0a0a0000 + p->number,
				.multiprotocol = true, .as4 = true};
	open.families[all->family] = true;
	player_write(p, bytes, bgp_open_encode(bytes, sizeof bytes, &open));
}

/* Nobody listens yet, or the daemon does not want us yet: another socket, in a moment. */
static void try_again(struct players *all, struct player *p)
{
	static unsigned tries;
	if (tries++ > TRIES + 10 * all->count)
		fail("connect");
	close(p->fd);
	p->fd = -1;
	p->connected = false;
	p->partial_len = 0;
	p->again_at_ns = now_ns() + TRY_EVERY_NS;
	all->waiting++;
}

static void finish_connecting(struct players *all, struct player *p)
{
	int error = 0;
	socklen_t len = sizeof error;
	getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &error, &len);
	if (is_early(error)) {
		try_again(all, p);
		return;
	}
	errno = error;
	if (error)
		fail("connect");
	p->connected = true;
	say_hello(all, p);
	watch(all, p, EPOLL_CTL_MOD);
}

/* Of those that were told to start, so many as may call at the same time. */
static void call_more(struct players *all)
{
	size_t on_hook = all->called - all->answered;
	while (all->called < all->to_call && (!all->calls || on_hook++ < all->calls))
		connect_player(all, &all->at[all->called++]);
}

void players_start(struct players *all)
{
	all->to_call = all->count;
	call_more(all);
}

/* --- messages */

static void send_keepalive(struct player *p)
{
	uint8_t bytes[BGP_HEADER_LEN];
	player_write(p, bytes, bgp_keepalive_encode(bytes, sizeof bytes));
}

static void become_established(struct players *all, struct player *p)
{
	if (p->established)
		return;
	p->established = true;
	all->established++;
	if (p->slow)
		watch(all, p, EPOLL_CTL_MOD);
	if (all->on_established)
		all->on_established(p);
}

static void take_message(struct players *all, struct player *p, const struct bgp_frame *f, uint64_t now)
{
	if (f->type == BGP_OPEN) {
		send_keepalive(p);
		all->answered++;
		call_more(all);
	} else if (f->type == BGP_KEEPALIVE)
		become_established(all, p);
	else if (f->type == BGP_UPDATE && !p->slow)
		all->on_update(p, f, now);
	else if (f->type == BGP_NOTIFICATION && (p->established || f->body[0] != CEASE)) {
		fprintf(stderr, "load: AS %u got NOTIFICATION %u/%u\n", p->asn, f->body[0], f->body[1]);
		exit(1);
	}
}

static void keep_partial(struct player *p, const uint8_t *data, size_t len)
{
	if (len && !p->partial)
		p->partial = made(1, BGP_EXTENDED_MAX);
	if (len)
		memcpy(p->partial, data, len);
	p->partial_len = len;
}

static void take_bytes(struct players *all, struct player *p, size_t most)
{
	static uint8_t in[BGP_EXTENDED_MAX + READ_SIZE];
	struct bgp_frame f;
	struct bgp_fault fault = {0};
	if (p->partial_len)
		memcpy(in, p->partial, p->partial_len);
	ssize_t n = read(p->fd, in + p->partial_len, most);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0 && !p->established) {
		try_again(all, p);
		return;
	}
	if (n <= 0)
		fail("the daemon closed a session");
	size_t len = p->partial_len + (size_t)n, used = 0;
	uint64_t now = now_ns();
	while (used < len && bgp_frame_next(in + used, len - used, BGP_MESSAGE_MAX, &f, &fault) == 1) {
		take_message(all, p, &f, now);
		used += f.len;
	}
	if (fault.reaction != BGP_FINE)
		fail("a message that is none");
	keep_partial(p, in + used, len - used);
}

static void push(struct players *all, struct player *p)
{
	ssize_t n = write(p->fd, p->out, p->out_len);
	if (n < 0 && errno != EAGAIN)
		fail("write");
	if (n > 0) {
		p->out += n;
		p->out_len -= (size_t)n;
	}
	if (!p->out_len)
		watch(all, p, EPOLL_CTL_MOD);
}

static void do_regularly(struct players *all)
{
	const uint64_t second = UINT64_C(1000000000);
	uint64_t now = now_ns();
	if (all->slow_ones && now >= all->slow_at_ns) {
		all->slow_at_ns = now + second;
		for (size_t i = 0; i < all->count; i++)
			if (all->at[i].slow && all->at[i].established)
				take_bytes(all, &all->at[i], PLAYER_SLOW_BYTES);
	}
	for (size_t i = 0; all->waiting && i < all->count; i++)
		if (all->at[i].again_at_ns && now >= all->at[i].again_at_ns) {
			all->at[i].again_at_ns = 0;
			all->waiting--;
			connect_player(all, &all->at[i]);
		}
	if (now < all->keepalive_at_ns)
		return;
	all->keepalive_at_ns = now + KEEPALIVE_S * second;
	for (size_t i = 0; i < all->count; i++)
		if (all->at[i].established && !all->at[i].out_len)
			send_keepalive(&all->at[i]);
}

void players_turn(struct players *all, int wait_ms)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(all->epoll, events, EVENTS, wait_ms);
	if (n < 0 && errno != EINTR)
		fail("epoll");
	for (int i = 0; i < n; i++) {
		struct player *p = events[i].data.ptr;
		if (!p->connected) {
			finish_connecting(all, p);
			continue;
		}
		if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
			take_bytes(all, p, READ_SIZE);
		if (events[i].events & EPOLLOUT && p->out_len)
			push(all, p);
	}
	do_regularly(all);
}

void players_init(struct players *all, size_t count)
{
	all->count = count;
	all->at = made(count, sizeof *all->at);
	all->epoll = epoll_create1(EPOLL_CLOEXEC);
	for (size_t i = 0; i < count; i++)
		all->at[i].fd = -1;
}

/* --- what an UPDATE says */

struct saying {
	void (*say)(void *arg, const struct prefix *p, bool announced);
	void *arg;
	enum bgp_family family;
};

static void say_all(const struct saying *s, struct cursor bytes, bool announced)
{
	struct bgp_nlri nlri = {.bytes = bytes, .family = s->family};
	struct prefix p;
	while (bgp_nlri_next(&nlri, &p, NULL))
		s->say(s->arg, &p, announced);
}

static void say_attributes(const struct saying *s, struct cursor c)
{
	enum { MP_REACH = 14, MP_UNREACH = 15, LONG = 0x10 };
	while (cursor_left(&c)) {
		uint8_t flags = cursor_u8(&c), code = cursor_u8(&c);
		struct cursor value = cursor_sub(&c, flags & LONG ? cursor_u16(&c) : cursor_u8(&c));
		if (code != MP_REACH && code != MP_UNREACH)
			continue;
		cursor_bytes(&value, 3);
		if (code == MP_REACH) {
			cursor_bytes(&value, cursor_u8(&value));
			cursor_u8(&value);
		}
		say_all(s, value, code == MP_REACH);
	}
}

void player_walk(enum bgp_family family, const struct bgp_frame *f,
		 void (*say)(void *arg, const struct prefix *p, bool announced), void *arg, struct cursor *attributes)
{
	const struct saying s = {say, arg, family};
	struct cursor c = cursor_of(f->body, f->body_len);
	struct cursor withdrawn = cursor_sub(&c, cursor_u16(&c));
	struct cursor attrs = cursor_sub(&c, cursor_u16(&c));
	if (attributes)
		*attributes = attrs;
	if (family == BGP_IPV4_UNICAST) {
		say_all(&s, withdrawn, false);
		say_all(&s, c, true);
	} else {
		say_attributes(&s, attrs);
	}
}
