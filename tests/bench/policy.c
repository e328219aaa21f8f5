/* What a written import policy costs a prefix: 100 000 prefixes with 20 000 attribute sets through policies of growing
 * weight, each a configuration as an operator would write it. Two passes: in "new" the sets that the policy makes are
 * not known yet, in "known" they are (the peer repeats itself). Beside it, allocations a prefix are counted.
 *
 *     policy [ROUNDS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bgp/update.h"
#include "conf/conf.h"
#include "rib/policy.h"
#include "src/base/random.h"
#include "src/daemon/apply_policy.h"
#include "src/daemon/daemon.h"

enum { PREFIXES = 100000, A_SET = 5, SETS = PREFIXES / A_SET, BIG_SET = 1000 };

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);

static unsigned long allocations;

void *__wrap_malloc(size_t n)
{
	allocations++;
	return __real_malloc(n);
}

static const struct {
	const char *name, *rules;
} policies[] = {
	{"everything", "{action: accept}"},
	{"a community", "{match: {community: [\"64496:*\"]}, action: accept}"},
	{"an expression", "{match: {as-path: [\"^64496 .* [100000-200000]$\"]}, action: accept}"},
	{"an expression and a set", "{match: {as-path: [\"^64496 .* [100000-200000]$\"]}, set: {local-pref: 200}, action: accept}"},
	{"a prefix range", "{match: {prefixes: [20.0.0.0/6 le 28]}, action: accept}"},
	{"a range and an expression", "{match: {prefixes: [20.0.0.0/6 le 28], as-path: [\"^64496 .* [100000-200000]$\"]}, action: accept}"},
	{"a range, an expression and a set",
	 "{match: {prefixes: [20.0.0.0/6 le 28], as-path: [\"^64496 .* [100000-200000]$\"]}, set: {local-pref: 200}, action: accept}"},
	{"a set of 1000 prefixes", "{match: {prefixes: [$big, 20.0.0.0/6 le 28]}, action: accept}"},
	{"ten rules", "{match: {community: [64496:1]}, action: reject}, {match: {community: [rt:1:1]}, set: {med: 1}, action: next}, "
		      "{match: {as-path: [_7_]}, action: reject}, {match: {prefixes: [10.0.0.0/8 le 32, 192.168.0.0/16 le 32]}, action: reject}, "
		      "{match: {as-path-length: ge 20}, action: reject}, {match: {community: [\"64496:*\"]}, set: {community: {remove: [\"64496:*\"]}}, action: next}, "
		      "{match: {origin-as: [64512]}, action: reject}, {match: {med: ge 100}, set: {local-pref: 90}, action: next}, "
		      "{match: {as-path: [\"^64496+$\"]}, set: {local-pref: 150}, action: accept}, {set: {local-pref: 120}, action: accept}"},
};

static struct bgp_attr_table table;
static struct bgp_attrs *in[SETS], *kept[PREFIXES];

static struct prefix prefix_of(uint32_t i)
{
	return prefix_make_v4(0x14000000 + (i << 8), 24);
}

/* Paths of 2 to 6, up to four communities, MED; every set is another. */
static void make_sets(void)
{
	struct random r = {1};
	for (uint32_t i = 0; i < SETS; i++) {
		uint32_t path[6] = {64496};
		struct community add[4];
		struct bgp_attr_edit e = {.has_med = true, .med = i % 200, .prepend = path, .add = add};
		for (e.prepend_count = 1; e.prepend_count < 1 + random_next(&r) % 5; e.prepend_count++)
			path[e.prepend_count] = 1 + random_next(&r) % 60000;
		path[e.prepend_count++] = 100000 + i;
		for (size_t n = 1 + random_next(&r) % 4; e.add_count < n; e.add_count++)
			add[e.add_count] = (struct community){COMMUNITY_STANDARD, {64496u << 16 | (2 + random_next(&r) % 1000)}};
		struct bgp_attrs *own = bgp_attrs_local(&table);
		in[i] = bgp_attrs_edit(own, &e);
		bgp_attrs_unref(own);
	}
}

static struct conf *configuration(const char *rules)
{
	static char text[65536];
	struct conf_errors errors;
	size_t n = (size_t)sprintf(text, "node: {asn: 64701}\nsets: {prefixes: {big: [");
	for (unsigned i = 0; i < BIG_SET; i++)
		n += (size_t)sprintf(text + n, "100.%u.%u.0/24 le 28, ", i / 256, i % 256);
	sprintf(text + n, "]}}\npolicies: [{name: p, rules: [%s]}]\n", rules);
	struct conf *c = conf_load_text(text, strlen(text), "host", &errors);
	if (!c) {
		fprintf(stderr, "%s: %s\n", errors.at[0].path, errors.at[0].text);
		exit(1);
	}
	conf_errors_fini(&errors);
	return c;
}

/* Of our own processor time, whatever else runs. */
static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* A cache for each UPDATE, as peer_io.c has it. NULL: without a policy. */
static double run(const struct rib_policy *p, struct bgp_attrs **keep)
{
	static const struct rib_import_context none;
	double start = now_ns();
	for (uint32_t i = 0; i < PREFIXES; i += A_SET) {
		struct rib_policy_cache cache = {0};
		for (uint32_t j = i; j < i + A_SET; j++) {
			struct prefix at = prefix_of(j);
			struct rib_policy_subject s = {&at, RIB_SOURCE_BGP, "tor"};
			struct bgp_attrs *out = in[i / A_SET];
			if (p ? rib_import_run(p, &cache, &none, &s, out, &out) : rib_import_accepts(RIB_IMPORT_ALL, &none, &at))
				keep[j] = bgp_attrs_ref(out);
		}
		rib_policy_cache_fini(&cache);
	}
	return (now_ns() - start) / PREFIXES;
}

static void let_go(struct bgp_attrs **keep)
{
	for (size_t i = 0; i < PREFIXES; i++)
		bgp_attrs_unref(keep[i]);
	memset(keep, 0, PREFIXES * sizeof *keep);
}

static void measure(const char *name, const struct rib_policy *p, unsigned rounds)
{
	static struct bgp_attrs *again[PREFIXES];
	double fresh = 1e9, known = 1e9;
	unsigned long taken = 0;
	for (; rounds; rounds--) {
		double took = run(p, kept);
		unsigned long before = allocations;
		fresh = took < fresh ? took : fresh;
		took = run(p, again);
		known = took < known ? took : known;
		taken += allocations - before;
		let_go(again);
		let_go(kept);
	}
	printf("%-34s %7.0f %7.0f ns a prefix   %lu allocations in known\n", name, fresh, known, taken);
}

int main(int argc, char **argv)
{
	static const struct daemon nobody;
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 5;
	bgp_attr_table_init(&table);
	make_sets();
	printf("%-34s %7s %7s\n", "policy", "new", "known");
	measure("none (import: all)", NULL, rounds);
	for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
		struct conf *c = configuration(policies[i].rules);
		struct policies p = policies_make(&nobody, c);
		measure(policies[i].name, p.at[0], rounds);
		policies_free(&p, NULL);
		conf_free(c);
	}
	for (size_t i = 0; i < SETS; i++)
		bgp_attrs_unref(in[i]);
	bgp_attr_table_fini(&table);
	return 0;
}
