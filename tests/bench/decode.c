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
#include "src/base/random.h"

enum { PEER_AS = 64496, PREFIXES_A_SET = 5, NODE_PREFIXES = 2 };

/* full: an internet table, 1 M prefixes in 200 k sets with long paths and communities. pods: what nodes announce
 * through their switch, a set a node with its two CIDRs. */
static const struct mix {
	const char *name;
	unsigned prefixes_a_set, path_max, communities_max;
	bool med;
} mixes[] = {
	{"full", PREFIXES_A_SET, 6, 4, true},
	{"pods", NODE_PREFIXES, 2, 1, false},
};

struct feed {
	uint8_t *bytes; /* whole messages, one behind the other */
	size_t len, prefixes, updates;
};

static struct bgp_attr_table table;
static struct bgp_attrs **held; /* as the RIB's paths would: a reference for each UPDATE */

/* --- what a peer says */

static void put_attr(struct writer *w, uint8_t flags, uint8_t code, const void *value, size_t len)
{
	writer_u8(w, flags);
	writer_u8(w, code);
	writer_u8(w, (uint8_t)len);
	writer_bytes(w, value, len);
}

static void put_words(struct writer *w, const struct mix *m, enum bgp_family family, uint32_t number, struct random *r)
{
	uint8_t value[128], next_hop[4] = {10, 0, 0, 2};
	struct writer v = writer_of(value, sizeof value);
	unsigned path = m->path_max > 2 ? 2 + (unsigned)(random_next(r) % (m->path_max - 1)) : 2;
	put_attr(w, 0x40, 1, "", 1);
	writer_u8(&v, 2);
	writer_u8(&v, (uint8_t)path);
	writer_u32(&v, PEER_AS);
	for (unsigned i = 2; i < path; i++)
		writer_u32(&v, 1 + (uint32_t)random_next(r) % 60000);
	writer_u32(&v, 100000 + number); /* every set is another */
	put_attr(w, 0x40, 2, value, writer_len(&v));
	if (family == BGP_IPV4_UNICAST)
		put_attr(w, 0x40, 3, next_hop, sizeof next_hop);
	if (m->med)
		put_attr(w, 0x80, 4, &next_hop, sizeof next_hop);
	v = writer_of(value, sizeof value);
	for (unsigned n = 1 + (unsigned)(random_next(r) % m->communities_max); n; n--)
		writer_u32(&v, (uint32_t)PEER_AS << 16 | (uint32_t)random_next(r) % 1000);
	put_attr(w, 0xc0, 8, value, writer_len(&v));
}

/* The number-th prefix: /24 and shorter or /48, no two alike. */
static struct prefix prefix_of(enum bgp_family family, uint32_t number)
{
	struct addr a = {{0x20, 0x01, [2] = (uint8_t)(number >> 24), (uint8_t)(number >> 16), (uint8_t)(number >> 8),
			  (uint8_t)number}};
	if (family == BGP_IPV6_UNICAST)
		return prefix_make(&a, 48);
	a = addr_from_v4(0x14000000 + (number << 8));
	return prefix_make(&a, 96 + 24);
}

static void put_update(struct feed *f, size_t cap, const struct mix *m, enum bgp_family family, size_t want, struct random *r)
{
	uint8_t block[512];
	struct prefix prefixes[PREFIXES_A_SET];
	struct addr next_hop = family == BGP_IPV4_UNICAST ? addr_from_v4(0x0a000002) : (struct addr){{0xfd, [15] = 2}};
	struct writer w = writer_of(block, sizeof block);
	size_t used, n = want - f->prefixes < m->prefixes_a_set ? want - f->prefixes : m->prefixes_a_set;
	for (size_t i = 0; i < n; i++)
		prefixes[i] = prefix_of(family, (uint32_t)(f->prefixes + i));
	put_words(&w, m, family, (uint32_t)f->updates, r);
	struct bgp_words words = {.block = block, .len = writer_len(&w), .next_hop = next_hop};
	f->len += bgp_update_encode_announce(f->bytes + f->len, cap - f->len, &words, &(struct bgp_routes){family, n, prefixes, NULL}, &used);
	f->prefixes += used;
	f->updates++;
}

static struct feed make_feed(const struct mix *m, enum bgp_family family, size_t want)
{
	size_t cap = want / m->prefixes_a_set * 256 + 65536;
	struct feed f = {.bytes = malloc(cap)};
	struct random r = {.state = 1};
	while (f.bytes && f.prefixes < want)
		put_update(&f, cap, m, family, want, &r);
	return f;
}

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

static void report(const struct mix *m, enum bgp_family family, const char *pass, double rate, const struct feed *f)
{
	printf("%-5s IPv%c  %-6s %7.2f M prefixes/s  (%zu prefixes, %zu UPDATEs)\n", m->name,
	       family == BGP_IPV4_UNICAST ? '4' : '6', pass, rate, f->prefixes, f->updates);
}

static void measure(const struct wish *w, const struct mix *m, enum bgp_family family)
{
	struct feed f = make_feed(m, family, w->prefixes);
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
	for (size_t i = 0; i < sizeof mixes / sizeof *mixes; i++)
		for (int f = 0; f < BGP_FAMILIES; f++)
			if ((!w.mix || strcmp(w.mix, mixes[i].name) == 0) && (!w.family || (w.family == 6) == (f == BGP_IPV6_UNICAST)))
				measure(&w, &mixes[i], (enum bgp_family)f);
	return 0;
}
