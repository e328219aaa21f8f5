/* A load for a BGP daemon, over real TCP: F feeders announce the same N prefixes, each with its own paths, and a sink
 * counts what arrives there. The daemon waits for us (passive sessions). What is measured is said on standard output, an
 * event a line, with the seconds since the first byte of routes went out:
 *
 *     established            all sessions are
 *     told SECONDS           the feeders' bytes are in the daemon's sockets
 *     converged SECONDS      the last change reached the sink, which has all prefixes
 *     churn P50 P99 MAX N    milliseconds from a changed prefix at a feeder to the sink, over N changes
 *     gone SECONDS           the feeders' sessions broke; nothing is left at the sink
 *     back SECONDS           they came again, and the sink has all prefixes again
 *     withdrawn SECONDS      nothing is left at the sink, from the first withdrawal on
 *     load CPU               processor seconds that this program took, to tell when it is the limit
 *
 *     load -d DAEMON [-p PORT] -n PREFIXES [-m full|pods] [-F FEEDERS] [-c CHANGES-A-SECOND] [-k NETNS] [-r] [-s]
 *
 * With -k it is the kernel of the network namespace NETNS that must get all prefixes and lose them again; the sink is there and
 * listens to nothing (tests/bench/kernel_table.h).
 * -r: the feeders restart. -s: beside the sink is another one that reads 1 KB a second.
 * Addresses: the sink is DAEMON + 1 with AS 64599, the slow one DAEMON + 2 with AS 64598, the i-th feeder DAEMON + 10 + i with
 * AS 64600 + i; they must be this host's. An IPv6 DAEMON means IPv6 prefixes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/bench/feed.h"
#include "tests/bench/kernel_table.h"
#include "tests/bench/player.h"

enum {
	SINK_AS = 64599,
	SLOW_AS = 64598,
	FEEDER_AS = 64600,
	QUIET_MS = 1000,      /* so long nothing comes: it has converged */
	LOOK_MS = 1,          /* how often the kernel is asked */
	GIVE_UP_S = 1200,
	CHURN_S = 5,
};

static struct {
	const struct feed_mix *mix;
	size_t prefixes, feeders, changes_a_second;
	bool restart, slow;
	const char *kernel; /* the namespace whose table counts; NULL: the sink does */
} wish = {.feeders = 1};

static struct players all = {.port = 179}; /* the sink, the feeders, the slow one */
static struct kernel_table *kernel;         /* NULL: the sink counts */

static struct {
	uint8_t *have;        /* by number of the prefix */
	uint64_t *changed_ns; /* when its change was sent and has not arrived */
	size_t count;
	uint64_t last_ns;     /* of the last UPDATE */
	float *latency_ms;
	size_t latencies;
} sink;

/* --- what the daemon says */

static void heard(void *arg, const struct prefix *p, bool announced)
{
	uint32_t number = feed_number(p);
	uint64_t now = *(const uint64_t *)arg;
	if (number >= wish.prefixes)
		fail("a prefix that no feeder announced");
	sink.count = sink.count - sink.have[number] + announced;
	sink.have[number] = announced;
	if (announced && sink.changed_ns[number]) {
		sink.latency_ms[sink.latencies++] = (float)(now - sink.changed_ns[number]) / 1e6f;
		sink.changed_ns[number] = 0;
	}
}

static void take_update(struct player *p, const struct bgp_frame *f, uint64_t now)
{
	if (p != all.at)
		return;
	sink.last_ns = now;
	player_walk(all.family, f, heard, &now, NULL);
}

/* --- the phases */

static bool all_told(void)
{
	for (size_t i = 0; i < wish.feeders; i++)
		if (all.at[1 + i].out_len)
			return false;
	return true;
}

static void turn_until_given_up(uint64_t began, const char *what, int wait_ms)
{
	players_turn(&all, wait_ms);
	if (seconds(began, now_ns()) < GIVE_UP_S)
		return;
	fprintf(stderr, "load: gave up after %d s: %s, %zu of %zu prefixes are at the sink\n", GIVE_UP_S, what, sink.count,
		wish.prefixes);
	exit(1);
}

static struct feed_params params_of(size_t feeder)
{
	return (struct feed_params){.mix = wish.mix, .family = all.family, .prefixes = wish.prefixes,
				    .asn = FEEDER_AS + (uint32_t)feeder, .seed = feeder + 1,
				    .next_hop = player_address(&all, 10 + (unsigned)feeder)};
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
	for (size_t i = 0; i < wish.feeders; i++)
		player_feed(&all, &all.at[1 + i], feeds[i].bytes, feeds[i].len);
	return now_ns();
}

static void establish(void)
{
	uint64_t began = now_ns();
	while (all.established < all.count)
		turn_until_given_up(began, "establishing", 10);
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

static double converge(const struct feed *feeds, bool say)
{
	uint64_t began = start_feeds(feeds), since;
	bool told = false;
	while (!told || !arrived_all(true, &since)) {
		turn_until_given_up(began, "converging", kernel ? LOOK_MS : 10);
		if (!told && all_told()) {
			told = true;
			if (say)
				event("told", seconds(began, now_ns()));
		}
	}
	return seconds(began, since);
}

static void wait_for_nothing(const char *name, uint64_t began)
{
	uint64_t since;
	while (!arrived_all(false, &since))
		turn_until_given_up(began, "withdrawing", kernel ? LOOK_MS : 10);
	event(name, seconds(began, since));
}

static void restart(const struct feed *feeds)
{
	uint64_t began = now_ns();
	for (size_t i = 0; i < wish.feeders; i++)
		player_stop(&all, &all.at[1 + i]);
	wait_for_nothing("gone", began);
	for (size_t i = 0; i < wish.feeders; i++)
		player_start(&all, &all.at[1 + i]);
	began = now_ns();
	establish();
	double established = seconds(began, now_ns());
	event("back", established + converge(feeds, false));
}

/* The first feeder changes one prefix after the other; its path becomes the best again or stays it, so that every change
 * is told on. */
static void churn(void)
{
	struct feed_params p = params_of(0);
	size_t total = wish.changes_a_second * CHURN_S, sent = 0;
	uint64_t began = now_ns();
	uint8_t bytes[BGP_MESSAGE_MAX];
	sink.latency_ms = made(total, sizeof *sink.latency_ms);
	while (sink.latencies < total) {
		size_t due = (size_t)(seconds(began, now_ns()) * (double)wish.changes_a_second);
		for (; sent < due && sent < total; sent++) {
			uint32_t number = (uint32_t)(sent % wish.prefixes);
			size_t len = feed_make_one(&p, number, 1000000 + (uint32_t)sent, bytes, sizeof bytes);
			sink.changed_ns[number] = now_ns();
			player_write(&all.at[1], bytes, len);
		}
		turn_until_given_up(began, "churning", 1);
	}
	event_percentiles("churn", sink.latency_ms, total);
}

static void start(void)
{
	all.on_update = take_update;
	all.slow_ones = wish.slow;
	players_init(&all, 1 + wish.feeders + wish.slow);
	all.at[0].number = 1;
	all.at[0].asn = SINK_AS;
	for (size_t i = 0; i < wish.feeders; i++) {
		all.at[1 + i].number = 10 + (unsigned)i;
		all.at[1 + i].asn = FEEDER_AS + (uint32_t)i;
	}
	if (wish.slow) {
		struct player *p = &all.at[1 + wish.feeders];
		p->number = 2;
		p->asn = SLOW_AS;
		p->slow = true;
	}
	for (size_t i = 0; i < all.count; i++)
		player_start(&all, &all.at[i]);
	uint64_t began = now_ns();
	establish();
	event("established", seconds(began, now_ns()));
}

static void run(void)
{
	struct feed *feeds = made(wish.feeders, sizeof *feeds), *gone = made(wish.feeders, sizeof *gone);
	sink.have = made(wish.prefixes, 1);
	sink.changed_ns = made(wish.prefixes, sizeof *sink.changed_ns);
	kernel = wish.kernel ? kernel_table_open(wish.kernel, all.family, wish.prefixes) : NULL;
	if (wish.kernel && !kernel)
		fail(wish.kernel);
	give(feed_make, feeds);
	give(feed_make_withdrawals, gone);
	start();
	event("converged", converge(feeds, true));
	if (wish.changes_a_second)
		churn();
	if (wish.restart)
		restart(feeds);
	wait_for_nothing("withdrawn", start_feeds(gone));
	event_load();
}

static bool take_option(int c, const char *value)
{
	switch (c) {
	case 'd':
		return addr_parse(value, &all.daemon);
	case 'p':
		all.port = (uint16_t)atoi(value);
		return true;
	case 'n':
		wish.prefixes = strtoul(value, NULL, 10);
		return true;
	case 'm':
		return (wish.mix = feed_mix_find(value)) != NULL;
	case 'F':
		wish.feeders = strtoul(value, NULL, 10);
		return true;
	case 'c':
		wish.changes_a_second = strtoul(value, NULL, 10);
		return true;
	case 'k':
		wish.kernel = value;
		return true;
	case 'r':
		return wish.restart = true;
	case 's':
		return wish.slow = true;
	default:
		return false;
	}
}

int main(int argc, char **argv)
{
	bool good = true;
	wish.mix = &feed_mixes[0];
	for (int c; (c = getopt(argc, argv, "d:p:n:m:F:c:k:rs")) != -1;)
		good &= take_option(c, optarg);
	if (!good || addr_is_zero(&all.daemon) || !wish.prefixes || wish.prefixes > 8000000 || !wish.feeders ||
	    wish.feeders > 2000) {
		fprintf(stderr, "usage: load -d DAEMON [-p PORT] -n PREFIXES [-m full|pods] [-F FEEDERS] [-c CHANGES-A-SECOND] "
				"[-k NETNS] [-r] [-s]\n");
		return 2;
	}
	all.family = addr_is_v4(&all.daemon) ? BGP_IPV4_UNICAST : BGP_IPV6_UNICAST;
	run();
	return 0;
}
