/* A load for a BGP daemon with many peers, over real TCP: N nodes call it at once, each announces its own prefixes, and each
 * counts what it is told of the others. Events, a line each:
 *
 *     listening SECONDS        the first connection was taken, from the start of this program on
 *     established SECONDS      all sessions are, from here on since the daemon listens
 *     converged SECONDS        each has every prefix that it should have
 *     change P50 P99 MAX N     milliseconds from one changed prefix at a node to each of the others, changes one at a time
 *     churn P50 P99 MAX N      the same while changes come at a given rate
 *     gone SECONDS             a node broke off; nobody has its prefix any more
 *     back SECONDS             it came again; everyone has everything again
 *     load CPU                 processor seconds that this program took, to tell when it is the limit
 *
 *     many -d DAEMON [-p PORT] -n NODES [-P PREFIXES] [-a AS] [-m] [-b] [-c CHANGES-A-SECOND] [-s SLOW] [-w SECONDS] [-x]
 *
 * -P: of each node (1). -a: all nodes are of this AS (internal sessions); else each has its own, 64600 and on. -m: a mesh, in which
 * nodes are not told of each other: each waits for the daemon's own prefix alone, and a last peer of AS 64599 is told all.
 * -b: all call in one burst; else 8 at a time wait for the daemon's OPEN, which is what BIRD's listening socket holds.
 * -s: so many read 1 KB a second once all is told. -w: stays so long and only keeps the sessions up. -x: the last node
 * breaks off and comes again. Addresses: the i-th node is DAEMON + 1 + i. An IPv6 DAEMON means IPv6 prefixes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bgp/update.h"
#include "tests/bench/feed.h"
#include "tests/bench/player.h"

enum { NODE_AS = 64600, SINK_AS = 64599, GIVE_UP_S = 600, ONE_AT_A_TIME = 100, CHURN_S = 5, ATTRIBUTES_MAX = 64, COMMUNITY_OF = 64512 };

static struct {
	size_t nodes, prefixes, changes_a_second, slow;
	uint32_t asn;
	unsigned wait_s;
	bool mesh, restart;
} wish = {.prefixes = 1};

static struct players all = {.port = 179, .calls = 8};

static size_t total;           /* prefixes of all nodes; the number of the daemon's own prefix */
static uint8_t *have;          /* by player and number */
static size_t *lacks;          /* by player */
static size_t lacking;         /* players that lack something */
static size_t had;             /* in which the last node's prefixes are counted */
static uint32_t *version;      /* by number: what its node said last */
static uint64_t *said_ns;      /* and when */
static float *latency_ms;
static size_t latencies, latencies_max;
static uint64_t began_ns, listening_ns;
static bool all_were_up;

static size_t index_of(const struct player *p)
{
	return (size_t)(p - all.at);
}

static bool is_sink(const struct player *p)
{
	return wish.mesh && index_of(p) == wish.nodes;
}

/* --- what the nodes say */

static size_t put_attributes(uint8_t *out, const struct player *p, uint32_t v)
{
	struct writer w = writer_of(out, ATTRIBUTES_MAX);
	const uint8_t origin[] = {0x40, 1, 1, 0}, path[] = {0x40, 2, 6, 2, 1}, none[] = {0x40, 2, 0}, local_pref[] = {0x40, 5, 4, 0, 0, 0, 100};
	writer_bytes(&w, origin, sizeof origin);
	if (wish.asn) {
		writer_bytes(&w, none, sizeof none);
	} else {
		writer_bytes(&w, path, sizeof path);
		writer_u32(&w, p->asn);
	}
	if (all.family == BGP_IPV4_UNICAST) {
		struct addr own = player_address(&all, p->number);
		writer_u16(&w, 0x4003);
		writer_u8(&w, 4);
		writer_bytes(&w, own.b + 12, 4);
	}
	if (wish.asn)
		writer_bytes(&w, local_pref, sizeof local_pref);
	writer_u16(&w, 0xc008);
	writer_u8(&w, 8);
	writer_u32(&w, (uint32_t)COMMUNITY_OF << 16 | v >> 16);
	writer_u32(&w, (uint32_t)(COMMUNITY_OF + 1) << 16 | (v & 0xffff));
	return writer_len(&w);
}

static void announce(struct player *p, size_t number, size_t count, uint32_t v)
{
	uint8_t block[ATTRIBUTES_MAX], bytes[BGP_MESSAGE_MAX];
	struct bgp_words words = {.block = block, .len = put_attributes(block, p, v), .next_hop = player_address(&all, p->number)};
	while (count) {
		struct prefix at[256];
		size_t n = count < 256 ? count : 256, used = 0;
		for (size_t i = 0; i < n; i++) {
			at[i] = feed_prefix(all.family, (uint32_t)(number + i));
			version[number + i] = v;
			said_ns[number + i] = now_ns();
		}
		player_write(p, bytes, bgp_update_encode_announce(bytes, sizeof bytes, &words,
								  &(struct bgp_routes){all.family, n, at, NULL}, &used));
		number += used;
		count -= used;
	}
}

static void on_established(struct player *p)
{
	if (!is_sink(p))
		announce(p, index_of(p) * wish.prefixes, wish.prefixes, version[index_of(p) * wish.prefixes] + 1);
	if (all.established == all.count && !all_were_up) {
		all_were_up = true;
		event("established", seconds(listening_ns, now_ns()));
	}
}

/* --- what they hear */

struct hearing {
	size_t who;
	uint64_t now;
	struct cursor attributes;
};

/* Of the two communities that put_attributes() makes; whatever else is there. */
static uint32_t version_in(struct cursor c)
{
	uint32_t v = 0;
	while (cursor_left(&c)) {
		uint8_t flags = cursor_u8(&c), code = cursor_u8(&c);
		struct cursor value = cursor_sub(&c, flags & 0x10 ? cursor_u16(&c) : cursor_u8(&c));
		while (code == 8 && cursor_left(&value) >= 4) {
			uint32_t one = cursor_u32(&value);
			v |= one >> 16 == COMMUNITY_OF ? one << 16 : one >> 16 == COMMUNITY_OF + 1 ? one & 0xffff : 0;
		}
	}
	return v;
}

static void heard(void *arg, const struct prefix *p, bool announced)
{
	const struct hearing *h = arg;
	uint32_t number = feed_number(p);
	if (number > total)
		fail("a prefix that nobody announced");
	if (number < total && number / wish.prefixes == h->who)
		return; /* its own, if the daemon says that too */
	uint8_t *one = &have[h->who * (total + 1) + number];
	if (*one != announced) {
		size_t *left = &lacks[h->who];
		lacking += !announced && *left == 0;
		*left = announced ? *left - 1 : *left + 1;
		lacking -= announced && *left == 0;
		if (number / wish.prefixes == wish.nodes - 1)
			had = announced ? had + 1 : had - 1;
	}
	*one = announced;
	if (announced && latencies < latencies_max && version_in(h->attributes) == version[number])
		latency_ms[latencies++] = (float)(h->now - said_ns[number]) / 1e6f;
}

static void on_update(struct player *p, const struct bgp_frame *f, uint64_t now)
{
	struct hearing h = {.who = index_of(p), .now = now};
	/* the attributes are what player_walk() finds first: known when it says the prefixes */
	player_walk(all.family, f, heard, &h, &h.attributes);
}

/* --- the phases */

static void turn(int wait_ms)
{
	players_turn(&all, wait_ms);
	if (seconds(began_ns, now_ns()) < GIVE_UP_S)
		return;
	fprintf(stderr, "load: gave up after %d s: %zu of %zu sessions, %zu nodes lack something\n", GIVE_UP_S, all.established,
		all.count, lacking);
	exit(1);
}

static void wait_until_complete(void)
{
	while (all.established < all.count || lacking)
		turn(10);
}

/* So many changes, at most so many a second (0: each when the one before has arrived everywhere). */
static void change(const char *name, size_t changes, size_t a_second)
{
	size_t listeners = wish.mesh ? 1 : all.count - 1 - wish.slow, sent = 0;
	size_t senders = wish.nodes - wish.slow;
	latencies_max = changes * listeners;
	latency_ms = made(latencies_max, sizeof *latency_ms);
	latencies = 0;
	uint64_t began = now_ns(), quiet_ns = began;
	/* what a later change overtook does not arrive: then a silence is the end */
	while (latencies < latencies_max && (sent < changes || seconds(quiet_ns, now_ns()) < 1)) {
		size_t due = a_second ? (size_t)(seconds(began, now_ns()) * (double)a_second) : 1 + latencies / listeners;
		for (; sent < due && sent < changes; sent++) {
			size_t from = sent % senders;
			announce(&all.at[from], from * wish.prefixes, 1, version[from * wish.prefixes] + 1);
		}
		size_t before = latencies;
		turn(1);
		if (latencies != before)
			quiet_ns = now_ns();
	}
	event_percentiles(name, latency_ms, latencies);
	latencies_max = 0;
	free(latency_ms);
}

static void restart(void)
{
	size_t last = wish.nodes - 1;
	uint64_t began = now_ns();
	player_stop(&all, &all.at[last]);
	/* it hears nothing while it is away, and must hear everything again */
	uint8_t *of_it = &have[last * (total + 1)];
	for (size_t i = 0; i <= total; i++) {
		lacks[last] += of_it[i];
		had -= of_it[i] && i / wish.prefixes == last;
	}
	memset(of_it, 0, total + 1);
	lacking++;
	while (had)
		turn(10);
	event("gone", seconds(began, now_ns()));
	began = now_ns();
	player_start(&all, &all.at[last]);
	wait_until_complete();
	event("back", seconds(began, now_ns()));
}

static void become_slow(void)
{
	all.slow_ones = true;
	for (size_t i = 0; i < wish.slow; i++)
		player_slow_down(&all, &all.at[wish.nodes - 1 - i]);
}

static void start(void)
{
	total = wish.nodes * wish.prefixes;
	all.on_established = on_established;
	all.on_update = on_update;
	players_init(&all, wish.nodes + wish.mesh);
	have = made(all.count * (total + 1), 1);
	lacks = made(all.count, sizeof *lacks);
	version = made(total + 1, sizeof *version);
	said_ns = made(total + 1, sizeof *said_ns);
	lacking = all.count;
	for (size_t i = 0; i < all.count; i++) {
		all.at[i].number = 1 + (unsigned)i;
		all.at[i].asn = wish.mesh && i == wish.nodes ? SINK_AS : wish.asn ? wish.asn : NODE_AS + (uint32_t)i;
		lacks[i] = !wish.mesh ? total - wish.prefixes : is_sink(&all.at[i]) ? total + 1 : 1;
	}
	began_ns = now_ns();
	players_start(&all);
}

static void run(void)
{
	start();
	while (!all.at[0].connected)
		turn(1);
	listening_ns = now_ns();
	event("listening", seconds(began_ns, listening_ns));
	wait_until_complete();
	event("converged", seconds(listening_ns, now_ns()));
	if (wish.wait_s) {
		for (uint64_t from = now_ns(); seconds(from, now_ns()) < wish.wait_s;)
			turn(1000);
		event("waited", wish.wait_s);
	}
	change("change", ONE_AT_A_TIME, 0);
	if (wish.slow)
		become_slow();
	if (wish.changes_a_second)
		change("churn", wish.changes_a_second * CHURN_S, wish.changes_a_second);
	if (wish.restart)
		restart();
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
		return (wish.nodes = strtoul(value, NULL, 10)) > 1;
	case 'P':
		return (wish.prefixes = strtoul(value, NULL, 10)) > 0;
	case 'a':
		return (wish.asn = (uint32_t)strtoul(value, NULL, 10)) != 0;
	case 'm':
		return wish.mesh = true;
	case 'b':
		all.calls = 0;
		return true;
	case 'c':
		wish.changes_a_second = strtoul(value, NULL, 10);
		return true;
	case 's':
		wish.slow = strtoul(value, NULL, 10);
		return true;
	case 'w':
		wish.wait_s = (unsigned)atoi(value);
		return true;
	case 'x':
		return wish.restart = true;
	default:
		return false;
	}
}

int main(int argc, char **argv)
{
	bool good = true;
	for (int c; (c = getopt(argc, argv, "d:p:n:P:a:mbc:s:w:x")) != -1;)
		good &= take_option(c, optarg);
	if (!good || addr_is_zero(&all.daemon) || wish.nodes < 2 || wish.nodes > 10000 || wish.slow + 1 >= wish.nodes) {
		fprintf(stderr, "usage: many -d DAEMON [-p PORT] -n NODES [-P PREFIXES] [-a AS] [-m] [-b] [-c CHANGES-A-SECOND] [-s SLOW] "
				"[-w SECONDS] [-x]\n");
		return 2;
	}
	all.family = addr_is_v4(&all.daemon) ? BGP_IPV4_UNICAST : BGP_IPV6_UNICAST;
	run();
	return 0;
}
