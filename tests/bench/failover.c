/* What a lost next hop costs: two neighbours announce the same prefixes, so that each route has both as next hops, packets are
 * sent through the routes, and one neighbour goes. Runs in the neighbours' network namespace; the daemon's is named. Said on
 * standard output:
 *
 *     converged SECONDS      each route in the kernel has two next hops
 *     outage MS              from the event to the last packet that was lost
 *     lost PACKETS
 *     late MS                the longest wait of this program itself between two packets: what it could not see
 *
 *     failover -k NETNS -n PREFIXES -e carrier|peer [-r PACKETS-A-SECOND]
 *
 * The daemon is DAEMON_n on link n, the neighbour is 10 addresses further and has AS 64600 + n. The event is with
 * "carrier" that the first neighbour's end of its link goes down; it counts from the first packet that is lost, since the kernel
 * takes its time to take a link down. With "peer" its session is reset, and from then on it swallows what it gets.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/feed.h"
#include "tests/bench/kernel_table.h"
#include "tests/bench/player.h"

enum {
	LINKS = 2,
	NUMBER = 10,          /* the neighbour's address, from the daemon's */
	ASN = 64600,
	PORT = 4000,
	WARM_UP_MS = 500,
	AFTER_MS = 1000,      /* so long after the last loss it is over */
	GIVE_UP_S = 120,
	MAX_S = 60,           /* of packets that are remembered */
};

static const char *const daemons[LINKS] = {"10.9.1.1", "10.9.2.1"}, *const devices[LINKS] = {"l1", "l2"};

static struct {
	const char *kernel;
	bool carrier;
	size_t prefixes, rate;
} wish = {.rate = 20000};

static struct players sessions[LINKS];
static int receivers[LINKS], sender;

/* A packet is lost until it arrived where it is not swallowed. */
static struct packet {
	uint64_t sent_ns;
	bool arrived;
} *packets;
static size_t sent, most;
static uint64_t began_ns, swallows_from_ns; /* 0: not yet */
static uint64_t longest_wait_ns, turn_ns;

/* --- packets */

static void enter(int fd)
{
	if (fd < 0 || setns(fd, CLONE_NEWNET) < 0)
		fail(wish.kernel);
}

static int open_udp(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		fail("socket");
	return fd;
}

/* In the daemon's namespace, where the routes are. */
static int open_sender(void)
{
	char path[256];
	snprintf(path, sizeof path, "/run/netns/%s", wish.kernel);
	int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), there = open(path, O_RDONLY | O_CLOEXEC);
	enter(there);
	int fd = open_udp();
	enter(here);
	close(here);
	close(there);
	return fd;
}

static int open_receiver(const char *device)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	int fd = open_udp(), size = 8 << 20, on = 1;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device)) < 0 ||
	    bind(fd, (struct sockaddr *)&any, sizeof any) < 0)
		fail(device);
	return fd;
}

/* To one prefix after the other, in an order that takes turns over all of them. */
static void send_packet(uint64_t now)
{
	enum { STEP = 7919 };
	uint32_t number = (uint32_t)(sent * STEP % wish.prefixes), sequence = (uint32_t)sent;
	struct prefix p = feed_prefix(BGP_IPV4_UNICAST, number);
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = htonl(addr_to_v4(&p.addr) + 1)};
	if (sent == most)
		fail("too many packets");
	packets[sent++].sent_ns = now;
	sendto(sender, &sequence, sizeof sequence, 0, (struct sockaddr *)&to, sizeof to); /* no route: lost like others */
}

static void receive_packets(unsigned link)
{
	uint32_t sequence;
	while (recv(receivers[link], &sequence, sizeof sequence, 0) == sizeof sequence) {
		bool swallowed = link == 0 && swallows_from_ns && packets[sequence].sent_ns >= swallows_from_ns;
		packets[sequence].arrived |= !swallowed;
	}
}

static uint64_t due_ns(void)
{
	return began_ns + (uint64_t)sent * UINT64_C(1000000000) / wish.rate;
}

/* Sleeps instead of spinning: who spins before all others is stopped for a while by the kernel. */
static void wait_until_due(void)
{
	uint64_t at = due_ns();
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME,
			&(struct timespec){(time_t)(at / 1000000000u), (long)(at % 1000000000u)}, NULL);
}

/* One turn: what is due goes out, what came is noted. */
static void turn(bool with_packets)
{
	if (with_packets)
		wait_until_due();
	uint64_t now = now_ns();
	if (with_packets && turn_ns && now - turn_ns > longest_wait_ns)
		longest_wait_ns = now - turn_ns;
	turn_ns = with_packets ? now : 0;
	if (with_packets)
		send_packet(now);
	for (unsigned i = 0; i < LINKS; i++) {
		receive_packets(i);
		if (sessions[i].count)
			players_turn(&sessions[i], 0);
	}
}

static void run_ms(unsigned ms)
{
	for (uint64_t from = now_ns(); seconds(from, now_ns()) * 1000 < ms;)
		turn(true);
}

/* What is still under way. */
static void drain(void)
{
	enum { UNDER_WAY_MS = 50 };
	for (uint64_t from = now_ns(); seconds(from, now_ns()) * 1000 < UNDER_WAY_MS;)
		turn(false);
}

/* --- phases */

static void ignore_update(struct player *p, const struct bgp_frame *f, uint64_t now)
{
	(void)p;
	(void)f;
	(void)now;
}

static void ignore_player(struct player *p)
{
	(void)p;
}

static void open_session(unsigned link)
{
	struct players *s = &sessions[link];
	*s = (struct players){.port = 179, .family = BGP_IPV4_UNICAST, .on_established = ignore_player, .on_update = ignore_update};
	if (!addr_parse(daemons[link], &s->daemon))
		fail(daemons[link]);
	players_init(s, 1);
	s->at[0].number = NUMBER;
	s->at[0].asn = ASN + link + 1;
	player_start(s, &s->at[0]);
	while (!s->established)
		players_turn(s, 10);
}

static void announce(unsigned link)
{
	const struct feed_params params = {.mix = feed_mix_find("pods"), .family = BGP_IPV4_UNICAST, .prefixes = wish.prefixes,
					   .asn = ASN + link + 1, .seed = 1,
					   .next_hop = player_address(&sessions[link], NUMBER)};
	struct feed feed = feed_make(&params);
	if (!feed.bytes)
		fail("memory");
	player_feed(&sessions[link], &sessions[link].at[0], feed.bytes, feed.len);
}

static void converge(void)
{
	struct kernel_table *kernel = kernel_table_open(wish.kernel, BGP_IPV4_UNICAST, wish.prefixes);
	if (!kernel)
		fail(wish.kernel);
	kernel_table_want_next_hops(kernel, LINKS);
	for (unsigned i = 0; i < LINKS; i++)
		open_session(i);
	uint64_t from = now_ns();
	for (unsigned i = 0; i < LINKS; i++)
		announce(i);
	while (!kernel_table_is(kernel, true)) {
		for (unsigned i = 0; i < LINKS; i++)
			players_turn(&sessions[i], 1);
		if (seconds(from, now_ns()) > GIVE_UP_S)
			fail("the kernel never had two next hops for each route");
	}
	event("converged", seconds(from, now_ns()));
}

/* By another process: the kernel takes some 10 ms for it, and packets must go on. */
static void take_link_down(void)
{
	if (fork())
		return;
	sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){.sched_priority = 0});
	execlp("ip", "ip", "link", "set", devices[0], "down", NULL);
	_exit(127);
}

static void reset_session(void)
{
	struct linger at_once = {.l_onoff = 1};
	setsockopt(sessions[0].at[0].fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
	swallows_from_ns = now_ns();
	player_stop(&sessions[0], &sessions[0].at[0]);
}

/* The last packet that is lost of those that were sent at least margin_ms ago, or the first one; NULL: none is. */
static const struct packet *find_lost(size_t from, bool last, unsigned margin_ms)
{
	const struct packet *found = NULL;
	for (size_t i = from; i < sent && seconds(packets[i].sent_ns, now_ns()) * 1000 > margin_ms && !(found && !last); i++)
		found = packets[i].arrived ? found : &packets[i];
	return found;
}

/* Until nothing has been lost for a while. */
static void wait_for_the_end(size_t first, uint64_t event_ns)
{
	enum { MARGIN_MS = 100 };
	for (;;) {
		run_ms(MARGIN_MS);
		const struct packet *last = find_lost(first, true, MARGIN_MS);
		if (seconds(last ? last->sent_ns : event_ns, now_ns()) * 1000 > AFTER_MS)
			return;
		if (seconds(event_ns, now_ns()) > GIVE_UP_S / 2)
			fail("packets are lost without an end");
	}
}

static void fail_over(void)
{
	size_t first = sent, lost = 0;
	uint64_t event_ns = now_ns();
	longest_wait_ns = 0;
	if (wish.carrier)
		take_link_down();
	else
		reset_session();
	sessions[0].count = 0; /* nobody listens to it any more */
	wait_for_the_end(first, event_ns);
	wait(NULL);
	drain();
	const struct packet *begin = find_lost(first, false, 0), *end = find_lost(first, true, 0);
	for (size_t i = first; i < sent; i++)
		lost += !packets[i].arrived;
	event_ns = wish.carrier && begin ? begin->sent_ns : event_ns;
	event("outage", end ? seconds(event_ns, end->sent_ns) * 1000 : 0);
	event("lost", (double)lost);
	event("late", (double)longest_wait_ns / 1e6);
}

static void run(void)
{
	const struct sched_param first = {.sched_priority = 1};
	sched_setscheduler(0, SCHED_FIFO, &first); /* before all others: it must not miss anything */
	most = wish.rate * MAX_S;
	packets = made(most, sizeof *packets);
	sender = open_sender();
	for (unsigned i = 0; i < LINKS; i++)
		receivers[i] = open_receiver(devices[i]);
	converge();
	began_ns = now_ns();
	run_ms(WARM_UP_MS);
	sent = 0; /* what was lost while neighbours were looked for does not count */
	began_ns = now_ns();
	run_ms(WARM_UP_MS);
	const struct packet *lost = find_lost(0, true, WARM_UP_MS / 2);
	if (lost)
		fail("packets are lost before anything happened");
	fail_over();
}

int main(int argc, char **argv)
{
	const char *what = "";
	for (int c; (c = getopt(argc, argv, "k:n:e:r:")) != -1;) {
		if (c == 'k')
			wish.kernel = optarg;
		else if (c == 'n')
			wish.prefixes = strtoul(optarg, NULL, 10);
		else if (c == 'e')
			what = optarg;
		else if (c == 'r')
			wish.rate = strtoul(optarg, NULL, 10);
	}
	wish.carrier = strcmp(what, "carrier") == 0;
	if (!wish.kernel || !wish.prefixes || !wish.rate || (!wish.carrier && strcmp(what, "peer") != 0)) {
		fprintf(stderr, "usage: failover -k NETNS -n PREFIXES -e carrier|peer [-r PACKETS-A-SECOND]\n");
		return 2;
	}
	run();
	return 0;
}
