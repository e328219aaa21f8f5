/* How fast UPDATEs become prefixes with an interned attribute set: decode and intern alone, no RIB, no socket. The
 * mixes are those of the bar in docs/performance.md. Two passes over the same UPDATEs: in "new" no set is known yet
 * and each is made, in "known" all are (a peer that repeats itself, a second peer with the same routes).
 *
 *     decode [-n PREFIXES] [-m full|pods] [-f 4|6] [-p new|known] [-r ROUNDS]
 *
 * Without an option all of it, the best of ROUNDS. One line each: mix, family, pass, prefixes a second, million. For
 * callgrind every measured pass is one call of run_pass(), see tests/bench/run_decode.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bgp/message.h"
#include "bgp/update.h"
#include "tests/bench/feed.h"

enum { PEER_AS = 64496 };

static struct bgp_attr_table table;
static struct bgp_attrs **held; /* as the RIB's paths would: a reference for each UPDATE */

/* --- what is measured */

/* Of our own processor time: the bar is for one core, whatever else runs. */
static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static size_t walk(struct bgp_nlri nlri, uint64_t *sum)
{
	struct prefix p;
	size_t n = 0;
	for (; bgp_nlri_next(&nlri, &p, NULL); n++)
		*sum += p.addr.b[5] + p.addr.b[14] + 1u;
	return n;
}

/* Frames, decodes, interns and reads out every prefix. The set of the i-th UPDATE goes to keep[i] with a reference. */
__attribute__((noinline)) static size_t run_pass(const struct feed *f, enum bgp_family family, struct bgp_attrs **keep)
{
	struct bgp_update_context ctx = {.attrs = &table, .as4 = true, .peer_asn = PEER_AS, .families = {true, true}};
	unsigned part = family == BGP_IPV4_UNICAST ? 0 : 1;
	struct bgp_fault fault = {0};
	struct bgp_frame frame;
	struct bgp_update u;
	size_t got = 0, i = 0;
	uint64_t sum = 0;
	for (size_t at = 0; at < f->len; at += frame.len, i++) {
		if (bgp_frame_next(f->bytes + at, f->len - at, BGP_MESSAGE_MAX, &frame, &fault) != 1)
			abort();
		bgp_update_decode(&ctx, frame.body, frame.body_len, &u);
		if (u.fault.reaction != BGP_FINE || !u.part[part].attrs)
			abort();
		got += walk(u.part[part].announced, &sum);
		keep[i] = bgp_attrs_ref(u.part[part].attrs);
		bgp_update_fini(&u);
	}
	return sum ? got : 0;
}

static void let_go(size_t n)
{
	for (size_t i = 0; i < n; i++)
		bgp_attrs_unref(held[i]);
}

static double timed(const struct feed *f, enum bgp_family family, struct bgp_attrs **keep)
{
	uint64_t start = now_ns();
	size_t got = run_pass(f, family, keep);
	double took = (double)(now_ns() - start) / 1e9;
	if (got != f->prefixes)
		abort();
	return (double)got / took / 1e6;
}

struct wish {
	size_t prefixes;
	const char *mix, *pass;
	int family;
	unsigned rounds;
};

static void report(const struct feed_mix *m, enum bgp_family family, const char *pass, double rate, const struct feed *f)
{
	printf("%-5s IPv%c  %-6s %7.2f M prefixes/s  (%zu prefixes, %zu UPDATEs)\n", m->name,
	       family == BGP_IPV4_UNICAST ? '4' : '6', pass, rate, f->prefixes, f->updates);
}

static void measure(const struct wish *w, const struct feed_mix *m, enum bgp_family family)
{
	struct feed f = feed_make(&(struct feed_params){
		.mix = m, .family = family, .prefixes = w->prefixes, .asn = PEER_AS, .seed = 1,
		.next_hop = family == BGP_IPV4_UNICAST ? addr_from_v4(0x0a000002) : (struct addr){{0xfd, [15] = 2}}});
	struct bgp_attrs **again = calloc(f.updates, sizeof(*again));
	double fresh = 0, known = 0;
	held = calloc(f.updates, sizeof(*held));
	if (!f.bytes || !held || !again)
		abort();
	for (unsigned round = 0; round < w->rounds; round++) {
		bgp_attr_table_init(&table);
		double rate = timed(&f, family, held);
		fresh = rate > fresh ? rate : fresh;
		if (!w->pass || strcmp(w->pass, "known") == 0) {
			rate = timed(&f, family, again);
			known = rate > known ? rate : known;
			for (size_t i = 0; i < f.updates; i++)
				bgp_attrs_unref(again[i]);
		}
		let_go(f.updates);
		bgp_attr_table_fini(&table);
	}
	if (!w->pass || strcmp(w->pass, "new") == 0)
		report(m, family, "new", fresh, &f);
	if (known > 0)
		report(m, family, "known", known, &f);
	free(f.bytes);
	free(again);
	free(held);
}

static int usage(const char *name)
{
	fprintf(stderr, "usage: %s [-n PREFIXES] [-m full|pods] [-f 4|6] [-p new|known] [-r ROUNDS]\n", name);
	return 2;
}

int main(int argc, char **argv)
{
	struct wish w = {.prefixes = 1000000, .rounds = 5};
	for (int c; (c = getopt(argc, argv, "n:m:f:p:r:")) != -1;) {
		if (c == 'n')
			w.prefixes = strtoul(optarg, NULL, 10);
		else if (c == 'm')
			w.mix = optarg;
		else if (c == 'f')
			w.family = atoi(optarg);
		else if (c == 'p')
			w.pass = optarg;
		else if (c == 'r')
			w.rounds = (unsigned)atoi(optarg);
		else
			return usage(argv[0]);
	}
	if (!w.prefixes || w.prefixes > 16000000 || !w.rounds)
		return usage(argv[0]);
	for (size_t i = 0; i < FEED_MIXES; i++)
		for (int f = 0; f < BGP_FAMILIES; f++)
			if ((!w.mix || strcmp(w.mix, feed_mixes[i].name) == 0) && (!w.family || (w.family == 6) == (f == BGP_IPV6_UNICAST)))
				measure(&w, &feed_mixes[i], (enum bgp_family)f);
	return 0;
}
