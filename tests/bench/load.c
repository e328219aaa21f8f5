/* A load for a BGP daemon, over real TCP: F feeders announce the same N prefixes, each with its own paths, and a sink
 * counts what arrives there. The daemon waits for us (passive sessions). What is measured is said on standard output, an
 * event a line, with the seconds since the first byte of routes went out:
 *
 *     established            all sessions are
 *     told SECONDS           the feeders' bytes are in the daemon's sockets
 *     converged SECONDS      the last change reached the sink, which has all prefixes
 *     churn P50 P99 N        milliseconds from a changed prefix at a feeder to the sink, over N changes
 *     withdrawn SECONDS      nothing is left at the sink, from the first withdrawal on
 *     load CPU               processor seconds that this program took, to tell when it is the limit
 *
 *     load -d DAEMON [-p PORT] -n PREFIXES [-m full|pods] [-F FEEDERS] [-c CHANGES-A-SECOND] [-k NETNS]
 *
 * With -k it is the kernel of the network namespace NETNS that must get all prefixes and lose them again; the sink is there and
 * listens to nothing (tests/bench/kernel_table.h).
 *
 * Addresses: the sink is DAEMON + 1 with AS 64599, the i-th feeder DAEMON + 10 + i with AS 64600 + i; they must be this
 * host's. An IPv6 DAEMON means IPv6 prefixes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bgp/message.h"
#include "bgp/update.h"
#include "src/base/cursor.h"
#include "tests/bench/feed.h"
#include "tests/bench/kernel_table.h"

enum {
	SINK_AS = 64599,
	FEEDER_AS = 64600,
	HOLD_S = 180,
	KEEPALIVE_S = 20,
	QUIET_MS = 1000,      /* so long nothing comes: it has converged */
	LOOK_MS = 1,          /* how often the kernel is asked */
	GIVE_UP_S = 1200,
	CHURN_S = 5,
	READ_SIZE = 1 << 18,
};

struct peer {
	int fd;
	uint32_t asn;
	bool established;
	uint8_t *in;
	size_t in_len;
	const uint8_t *out; /* borrowed */
	size_t out_len;
};

static struct {
	struct addr daemon;
	uint16_t port;
	enum bgp_family family;
	const struct feed_mix *mix;
	size_t prefixes, feeders, changes_a_second;
	const char *kernel; /* the namespace whose table counts; NULL: the sink does */
} wish = {.port = 179, .feeders = 1};

static struct peer *peers; /* the sink, then the feeders */
static struct pollfd *polls;
static size_t peer_count;
static uint64_t keepalive_at_ns;
static struct kernel_table *kernel; /* NULL: the sink counts */

static struct {
	uint8_t *have;        /* by number of the prefix */
	uint64_t *changed_ns; /* when its change was sent and has not arrived */
	size_t count;
	uint64_t last_ns;     /* of the last UPDATE */
	double *latency_ms;
	size_t latencies;
} sink;

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static double seconds(uint64_t from, uint64_t to)
{
	return (double)(to - from) / 1e9;
}

static void fail(const char *what)
{
	fprintf(stderr, "load: %s: %s\n", what, errno ? strerror(errno) : "not as expected");
	exit(1);
}

/* --- sessions */

static struct addr neighbour(const struct addr *a, unsigned number)
{
	struct addr n = *a;
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

static void write_all(struct peer *p, const uint8_t *bytes, size_t len)
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

static void open_peer(struct peer *p, unsigned number, uint32_t asn)
{
	struct sockaddr_storage ss;
	struct addr own = neighbour(&wish.daemon, number);
	uint8_t bytes[512];
	int one = 1;
	struct bgp_open open = {.version = 4, .asn = asn, .hold_time_s = HOLD_S, .router_id = 0x0a090000 + number,
				.multiprotocol = true, .as4 = true};
	open.families[wish.family] = true;
	*p = (struct peer){.fd = socket(addr_is_v4(&own) ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), .asn = asn,
			   .in = malloc(READ_SIZE + BGP_EXTENDED_MAX)};
	socklen_t len = make_sockaddr(&own, 0, &ss);
	if (p->fd < 0 || !p->in || bind(p->fd, (struct sockaddr *)&ss, len) < 0)
		fail("bind to an address of the load's");
	len = make_sockaddr(&wish.daemon, wish.port, &ss);
	for (int tries = 0; connect(p->fd, (struct sockaddr *)&ss, len) < 0; tries++) {
		if (errno != ECONNREFUSED || tries == 600)
			fail("connect");
		poll(NULL, 0, 50);
	}
	setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	fcntl(p->fd, F_SETFL, O_NONBLOCK);
	write_all(p, bytes, bgp_open_encode(bytes, sizeof bytes, &open));
}

static void send_keepalive(struct peer *p)
{
	uint8_t bytes[BGP_HEADER_LEN];
	write_all(p, bytes, bgp_keepalive_encode(bytes, sizeof bytes));
}

/* --- what the daemon says */

static void arrived(const struct prefix *p, uint64_t now)
{
	uint32_t number = feed_number(p);
	if (number >= wish.prefixes)
		fail("a prefix that no feeder announced");
	sink.count += !sink.have[number];
	sink.have[number] = 1;
	if (sink.changed_ns[number]) {
		sink.latency_ms[sink.latencies++] = (double)(now - sink.changed_ns[number]) / 1e6;
		sink.changed_ns[number] = 0;
	}
}

static void walk(struct cursor bytes, bool announced, uint64_t now)
{
	struct bgp_nlri nlri = {.bytes = bytes, .family = wish.family};
	struct prefix p;
	while (bgp_nlri_next(&nlri, &p, NULL)) {
		if (announced) {
			arrived(&p, now);
			continue;
		}
		uint32_t number = feed_number(&p);
		if (number < wish.prefixes) {
			sink.count -= sink.have[number];
			sink.have[number] = 0;
		}
	}
}

/* MP_REACH_NLRI and MP_UNREACH_NLRI; the sink does not care for the others. */
static void walk_attributes(struct cursor c, uint64_t now)
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
		walk(value, code == MP_REACH, now);
	}
}

static void take_update(const struct bgp_frame *f, uint64_t now)
{
	struct cursor c = cursor_of(f->body, f->body_len);
	struct cursor withdrawn = cursor_sub(&c, cursor_u16(&c));
	struct cursor attributes = cursor_sub(&c, cursor_u16(&c));
	sink.last_ns = now;
	if (wish.family == BGP_IPV4_UNICAST) {
		walk(withdrawn, false, now);
		walk(c, true, now);
	} else {
		walk_attributes(attributes, now);
	}
}

static void take_message(struct peer *p, const struct bgp_frame *f, uint64_t now)
{
	if (f->type == BGP_OPEN)
		send_keepalive(p);
	else if (f->type == BGP_KEEPALIVE)
		p->established = true;
	else if (f->type == BGP_UPDATE && p == peers)
		take_update(f, now);
	else if (f->type == BGP_NOTIFICATION) {
		fprintf(stderr, "load: AS %u got NOTIFICATION %u/%u\n", p->asn, f->body[0], f->body[1]);
		exit(1);
	}
}

static void take_bytes(struct peer *p)
{
	struct bgp_frame f;
	struct bgp_fault fault = {0};
	ssize_t n = read(p->fd, p->in + p->in_len, READ_SIZE);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0)
		fail("the daemon closed a session");
	p->in_len += (size_t)n;
	size_t used = 0;
	uint64_t now = now_ns();
	while (bgp_frame_next(p->in + used, p->in_len - used, BGP_MESSAGE_MAX, &f, &fault) == 1) {
		take_message(p, &f, now);
		used += f.len;
	}
	if (fault.reaction != BGP_FINE)
		fail("a message that is none");
	memmove(p->in, p->in + used, p->in_len - used);
	p->in_len -= used;
}

static void push(struct peer *p)
{
	ssize_t n = write(p->fd, p->out, p->out_len);
	if (n < 0 && errno != EAGAIN)
		fail("write");
	if (n > 0) {
		p->out += n;
		p->out_len -= (size_t)n;
	}
}

/* One turn over all sockets. */
static void turn(int wait_ms)
{
	for (size_t i = 0; i < peer_count; i++)
		polls[i] = (struct pollfd){peers[i].fd, (short)(POLLIN | (peers[i].out_len ? POLLOUT : 0)), 0};
	if (poll(polls, peer_count, wait_ms) < 0 && errno != EINTR)
		fail("poll");
	for (size_t i = 0; i < peer_count; i++) {
		if (polls[i].revents & (POLLIN | POLLHUP | POLLERR))
			take_bytes(&peers[i]);
		if (polls[i].revents & POLLOUT)
			push(&peers[i]);
	}
	if (now_ns() < keepalive_at_ns)
		return;
	keepalive_at_ns = now_ns() + KEEPALIVE_S * UINT64_C(1000000000);
	for (size_t i = 0; i < peer_count; i++)
		if (peers[i].established && !peers[i].out_len)
			send_keepalive(&peers[i]);
}

/* --- the phases */

static bool all_established(void)
{
	for (size_t i = 0; i < peer_count; i++)
		if (!peers[i].established)
			return false;
	return true;
}

static bool all_told(void)
{
	for (size_t i = 0; i < peer_count; i++)
		if (peers[i].out_len)
			return false;
	return true;
}

static void give_up_after(uint64_t began, const char *what)
{
	if (seconds(began, now_ns()) < GIVE_UP_S)
		return;
	fprintf(stderr, "load: gave up after %d s: %s, %zu of %zu prefixes are at the sink\n", GIVE_UP_S, what, sink.count,
		wish.prefixes);
	exit(1);
}

static struct feed_params params_of(size_t feeder)
{
	return (struct feed_params){.mix = wish.mix, .family = wish.family, .prefixes = wish.prefixes,
				    .asn = FEEDER_AS + (uint32_t)feeder, .seed = feeder + 1,
				    .next_hop = neighbour(&wish.daemon, 10 + (unsigned)feeder)};
}

static void give(struct feed (*make)(const struct feed_params *), struct feed *feeds)
{
	for (size_t i = 0; i < wish.feeders; i++) {
		struct feed_params p = params_of(i);
		feeds[i] = make(&p);
		if (!feeds[i].bytes)
			fail("memory");
	}
}

static uint64_t start_feeds(const struct feed *feeds)
{
	for (size_t i = 0; i < wish.feeders; i++) {
		peers[1 + i].out = feeds[i].bytes;
		peers[1 + i].out_len = feeds[i].len;
	}
	return now_ns();
}

static void event(const char *name, double value)
{
	printf("%s %.4f\n", name, value);
	fflush(stdout);
}

/* Has the sink, or the kernel, all prefixes (or none)? Then *since is when that was so first, as far as we know. */
static bool arrived_all(bool there, uint64_t *since)
{
	*since = now_ns();
	if (kernel)
		return kernel_table_is(kernel, there);
	if (!there)
		return sink.count == 0;
	*since = sink.last_ns;
	return sink.count == wish.prefixes && seconds(sink.last_ns, now_ns()) * 1000 >= QUIET_MS;
}

static void converge(const struct feed *feeds)
{
	uint64_t began = start_feeds(feeds), since;
	bool told = false;
	while (!told || !arrived_all(true, &since)) {
		turn(kernel ? LOOK_MS : 10);
		give_up_after(began, "converging");
		if (!told && all_told()) {
			told = true;
			event("told", seconds(began, now_ns()));
		}
	}
	event("converged", seconds(began, since));
}

static void withdraw(const struct feed *feeds)
{
	uint64_t began = start_feeds(feeds), since;
	while (!arrived_all(false, &since)) {
		turn(kernel ? LOOK_MS : 10);
		give_up_after(began, "withdrawing");
	}
	event("withdrawn", seconds(began, since));
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

/* The first feeder changes one prefix after the other; its path becomes the best again or stays it, so that every change
 * is told on. */
static void churn(void)
{
	struct feed_params p = params_of(0);
	size_t total = wish.changes_a_second * CHURN_S, sent = 0;
	uint64_t began = now_ns();
	uint8_t bytes[BGP_MESSAGE_MAX];
	sink.latency_ms = calloc(total, sizeof *sink.latency_ms);
	if (!sink.latency_ms)
		fail("memory");
	while (sink.latencies < total) {
		size_t due = (size_t)(seconds(began, now_ns()) * (double)wish.changes_a_second);
		for (; sent < due && sent < total; sent++) {
			uint32_t number = (uint32_t)(sent % wish.prefixes);
			size_t len = feed_make_one(&p, number, 1000000 + (uint32_t)sent, bytes, sizeof bytes);
			sink.changed_ns[number] = now_ns();
			write_all(&peers[1], bytes, len);
		}
		turn(1);
		give_up_after(began, "churning");
	}
	qsort(sink.latency_ms, total, sizeof *sink.latency_ms, by_size);
	printf("churn %.3f %.3f %zu\n", sink.latency_ms[total / 2], sink.latency_ms[total * 99 / 100], total);
	fflush(stdout);
}

static void run(void)
{
	struct feed *feeds = calloc(wish.feeders, sizeof(*feeds)), *gone = calloc(wish.feeders, sizeof(*gone));
	struct rusage usage;
	sink.have = calloc(wish.prefixes, 1);
	sink.changed_ns = calloc(wish.prefixes, sizeof *sink.changed_ns);
	peer_count = 1 + wish.feeders;
	peers = calloc(peer_count, sizeof *peers);
	polls = calloc(peer_count, sizeof *polls);
	if (!feeds || !gone || !sink.have || !sink.changed_ns || !peers || !polls)
		fail("memory");
	kernel = wish.kernel ? kernel_table_open(wish.kernel, wish.family, wish.prefixes) : NULL;
	if (wish.kernel && !kernel)
		fail(wish.kernel);
	give(feed_make, feeds);
	give(feed_make_withdrawals, gone);
	open_peer(&peers[0], 1, SINK_AS);
	for (size_t i = 0; i < wish.feeders; i++)
		open_peer(&peers[1 + i], 10 + (unsigned)i, FEEDER_AS + (uint32_t)i);
	uint64_t began = now_ns();
	while (!all_established()) {
		turn(10);
		give_up_after(began, "establishing");
	}
	event("established", seconds(began, now_ns()));
	converge(feeds);
	if (wish.changes_a_second)
		churn();
	withdraw(gone);
	getrusage(RUSAGE_SELF, &usage);
	event("load", (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
			      (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
}

int main(int argc, char **argv)
{
	bool good = true;
	wish.mix = &feed_mixes[0];
	for (int c; (c = getopt(argc, argv, "d:p:n:m:F:c:k:")) != -1;) {
		if (c == 'd')
			good &= addr_parse(optarg, &wish.daemon);
		else if (c == 'p')
			wish.port = (uint16_t)atoi(optarg);
		else if (c == 'n')
			wish.prefixes = strtoul(optarg, NULL, 10);
		else if (c == 'm')
			good &= (wish.mix = feed_mix_find(optarg)) != NULL;
		else if (c == 'F')
			wish.feeders = strtoul(optarg, NULL, 10);
		else if (c == 'c')
			wish.changes_a_second = strtoul(optarg, NULL, 10);
		else if (c == 'k')
			wish.kernel = optarg;
		else
			good = false;
	}
	if (!good || addr_is_zero(&wish.daemon) || !wish.prefixes || wish.prefixes > 8000000 || !wish.feeders ||
	    wish.feeders > 2000) {
		fprintf(stderr, "usage: load -d DAEMON [-p PORT] -n PREFIXES [-m full|pods] [-F FEEDERS] [-c CHANGES-A-SECOND] "
				"[-k NETNS]\n");
		return 2;
	}
	wish.family = addr_is_v4(&wish.daemon) ? BGP_IPV4_UNICAST : BGP_IPV6_UNICAST;
	run();
	return 0;
}
