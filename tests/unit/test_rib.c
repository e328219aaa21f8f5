/* The RIB: the decision in every order of arrival, the journal against a model of what its readers must see, and the
 * built-in policies.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "rib/decision.h"
#include "rib/marks.h"
#include "rib/nhset.h"
#include "rib/policy.h"
#include "rib/table.h"
#include "src/base/live.h"
#include "src/base/random.h"
#include "tests/unit/run_suite.h"

enum { PATHS = 6, MULTIPATH = 16 };

static struct bgp_attr_table attrs;
static struct rib *rib;
static const struct tick now = {1000};

static void setup(void)
{
	bgp_attr_table_init(&attrs);
	rib = rib_new(MULTIPATH);
}

static void teardown(void)
{
	rib_free(rib);
	bgp_attr_table_fini(&attrs);
	for (unsigned k = 0; k < LIVE_KINDS; k++)
		ck_assert_msg(live_count((enum live_kind)k) == 0, "%zu %s left", live_count((enum live_kind)k),
			      live_name((enum live_kind)k));
}

/* A path written the way a table of cases likes it. */
struct how {
	const char *name;
	const char *next_hop;
	uint32_t local_pref, med, first_as, router_id;
	uint16_t as_count;
	uint8_t origin, clusters;
	bool ibgp, has_originator;
	uint32_t originator;
	unsigned since; /* seconds */
};

static struct bgp_attrs *make_attrs(const struct how *h)
{
	uint8_t wire[256];
	struct writer w = writer_of(wire, sizeof wire);
	struct bgp_attrs *a, *mp;
	struct bgp_attr_block block;
	writer_bytes(&w, (const uint8_t[]){0x40, 1, 1, h->origin, 0x40, 2, (uint8_t)(2 + 4 * h->as_count), 2, (uint8_t)h->as_count},
		     9);
	for (unsigned i = 0; i < h->as_count; i++)
		writer_u32(&w, i == 0 ? h->first_as : 65000 + i);
	struct addr nh;
	ck_assert(addr_parse(h->next_hop, &nh));
	writer_bytes(&w, (const uint8_t[]){0x40, 3, 4}, 3);
	writer_bytes(&w, nh.b + 12, 4);
	if (h->med) {
		writer_bytes(&w, (const uint8_t[]){0x80, 4, 4}, 3);
		writer_u32(&w, h->med);
	}
	if (h->ibgp) {
		writer_bytes(&w, (const uint8_t[]){0x40, 5, 4}, 3);
		writer_u32(&w, h->local_pref);
	}
	if (h->has_originator) {
		writer_bytes(&w, (const uint8_t[]){0x80, 9, 4}, 3);
		writer_u32(&w, h->originator);
	}
	if (h->clusters) {
		writer_bytes(&w, (const uint8_t[]){0x80, 10, (uint8_t)(4 * h->clusters)}, 3);
		for (unsigned i = 0; i < h->clusters; i++)
			writer_u32(&w, i + 1);
	}
	ck_assert(writer_ok(&w));
	bgp_attrs_decode(&attrs, h->ibgp ? BGP_ATTR_IBGP : 0, cursor_of(wire, writer_len(&w)), true, &block, &a, &mp);
	ck_assert_msg(a != NULL, "%s: %s", h->name, block.fault.text);
	return a;
}

static struct rib_source *make_source(const struct how *h)
{
	struct rib_source like = {.kind = RIB_SOURCE_BGP, .ibgp = h->ibgp, .router_id = h->router_id};
	ck_assert(addr_parse(h->next_hop, &like.addr));
	return rib_source_new(rib, &like);
}

#define EXT .local_pref = 100, .as_count = 2, .first_as = 64512

/* Each case: paths of which the first must win, and the rule that beats each of the others. */
static const struct {
	const char *what;
	struct how path[PATHS];
	const char *lost_by[PATHS];
	unsigned used; /* how many are as good for forwarding */
} cases[] = {
	{"local preference before path length",
	 {{"high", "10.0.0.1", 200, .as_count = 5, .first_as = 1, .ibgp = true, .router_id = 9},
	  {"low", "10.0.0.2", 100, .as_count = 1, .first_as = 1, .ibgp = true, .router_id = 1}},
	 {"", "local preference"}, 1},
	{"path length, then origin",
	 {{"short", "10.0.0.3", EXT, .router_id = 3},
	  {"long", "10.0.0.1", 100, .as_count = 3, .first_as = 64512, .router_id = 1},
	  {"incomplete", "10.0.0.2", EXT, .origin = 2, .router_id = 2}},
	 {"", "AS path length", "origin"}, 1},
	{"MED only within one neighbouring AS",
	 {{"as 1 low", "10.0.0.2", 100, 10, .as_count = 2, .first_as = 1, .router_id = 2},
	  {"as 1 high", "10.0.0.1", 100, 20, .as_count = 2, .first_as = 1, .router_id = 1},
	  {"as 2", "10.0.0.3", 100, 50, .as_count = 2, .first_as = 2, .router_id = 3}},
	 {"", "MED", "router ID"}, 2},
	/* the classic case in which pairwise comparison depends on the order of arrival */
	{"MED makes no cycle",
	 {{"a", "10.0.0.1", 100, 0, .as_count = 1, .first_as = 1, .ibgp = false, .router_id = 3},
	  {"b", "10.0.0.2", 100, 5, .as_count = 1, .first_as = 1, .router_id = 1},
	  {"c", "10.0.0.3", 100, 0, .as_count = 1, .first_as = 2, .ibgp = true, .router_id = 2}},
	 {"", "MED", "external over internal"}, 1},
	{"external over internal, then router ID",
	 {{"ext 1", "10.0.0.9", EXT, .router_id = 1},
	  {"ext 2", "10.0.0.1", EXT, .router_id = 2},
	  {"int", "10.0.0.2", EXT, .ibgp = true, .router_id = 1}},
	 {"", "router ID", "external over internal"}, 2},
	{"of external paths the oldest",
	 {{"old", "10.0.0.9", EXT, .router_id = 9, .since = 1},
	  {"young", "10.0.0.1", EXT, .router_id = 1, .since = 2},
	  {"in the same second", "10.0.0.2", EXT, .router_id = 10, .since = 1}},
	 {"", "oldest path", "router ID"}, 3},
	{"age is nothing between internal paths",
	 {{"young", "10.0.0.1", EXT, .ibgp = true, .router_id = 1, .since = 9},
	  {"old", "10.0.0.9", EXT, .ibgp = true, .router_id = 9, .since = 1}},
	 {"", "router ID"}, 2},
	{"originator, cluster list, address",
	 {{"one cluster, low address", "10.0.0.1", EXT, .ibgp = true, .router_id = 50, .has_originator = true, .originator = 7,
	   .clusters = 1},
	  {"one cluster, high address", "10.0.0.2", EXT, .ibgp = true, .router_id = 40, .has_originator = true,
	   .originator = 7, .clusters = 1},
	  {"two clusters", "10.0.0.3", EXT, .ibgp = true, .router_id = 1, .has_originator = true, .originator = 7,
	   .clusters = 2},
	  {"other originator", "10.0.0.4", EXT, .ibgp = true, .router_id = 8}},
	 {"", "peer address", "cluster list length", "router ID"}, 4},
};

static void announce(unsigned index, unsigned i, struct rib_source **sources, struct bgp_attrs **sets, const struct prefix *p)
{
	rib_announce(rib, sources[i], p, sets[i], tick_after(now, 1000 * (int64_t)cases[index].path[i].since));
}

/* Whoever lost, lost to a path that is named, and by values that differ. */
static void check_explained(const struct rib_path *p, struct rib_entry *e)
{
	char text[RIB_DECISION_TEXT_MAX];
	const struct rib_path *winner = rib_decision_winner(rib, e, p);
	ck_assert_int_eq(winner != NULL, p->lost_by != 0);
	ck_assert(!winner || *rib_decision_compared(p, winner, text));
}

static void check_case(unsigned index, unsigned n, struct rib_source **sources, const struct prefix *p)
{
	struct rib_entry *e = rib_find(rib, p);
	unsigned used = 0;
	ck_assert_uint_eq(e->path_count, n);
	ck_assert_msg(rib_path_source(&e->path) == sources[0], "%s: another path won", cases[index].what);
	for (const struct rib_path *path = &e->path; path; path = rib_path_next(rib, path)) {
		for (unsigned i = 0; i < n; i++)
			if (rib_path_source(path) == sources[i])
				ck_assert_str_eq(rib_decision_rule(path->lost_by), cases[index].lost_by[i]);
		ck_assert_int_eq((path->flags & RIB_PATH_BEST) != 0, path == &e->path);
		used += (path->flags & RIB_PATH_USED) != 0;
		check_explained(path, e);
	}
	ck_assert_uint_eq(used, cases[index].used);
}

/* Announces in the order given by perm, checks, withdraws in another order. */
static void one_order(unsigned index, unsigned n, const unsigned *perm, struct rib_source **sources, struct bgp_attrs **sets)
{
	struct prefix p = prefix_make_v4(0x0a000000, 8);
	for (unsigned i = 0; i < n; i++)
		announce(index, perm[i], sources, sets, &p);
	check_case(index, n, sources, &p);
	/* the loser that arrived first goes and comes back */
	if (perm[0] != 0) {
		rib_withdraw(rib, sources[perm[0]], &p);
		announce(index, perm[0], sources, sets, &p);
		check_case(index, n, sources, &p);
	}
	for (unsigned i = 0; i < n; i++)
		ck_assert(rib_withdraw(rib, sources[perm[n - 1 - i]], &p));
	ck_assert_ptr_null(rib_find(rib, &p));
	rib_sweep(rib);
}

static unsigned permute(unsigned index, unsigned n, unsigned at, unsigned *perm, struct rib_source **sources,
			struct bgp_attrs **sets)
{
	unsigned orders = 0;
	if (at == n) {
		one_order(index, n, perm, sources, sets);
		return 1;
	}
	for (unsigned i = at; i < n; i++) {
		unsigned t = perm[at];
		perm[at] = perm[i];
		perm[i] = t;
		orders += permute(index, n, at + 1, perm, sources, sets);
		perm[i] = perm[at];
		perm[at] = t;
	}
	return orders;
}

START_TEST(decision_in_every_order)
{
	struct rib_source *sources[PATHS];
	struct bgp_attrs *sets[PATHS];
	unsigned perm[PATHS], n = 0, expected = 1;
	for (; n < PATHS && cases[_i].path[n].name; n++) {
		sources[n] = make_source(&cases[_i].path[n]);
		sets[n] = make_attrs(&cases[_i].path[n]);
		perm[n] = n;
		expected *= n + 1;
	}
	ck_assert_uint_eq(permute((unsigned)_i, n, 0, perm, sources, sets), expected);
	for (unsigned i = 0; i < n; i++) {
		bgp_attrs_unref(sets[i]);
		rib_source_free(sources[i]);
	}
}
END_TEST

/* case, path, and what it is told to have lost by */
static const struct {
	unsigned index, path;
	const char *text;
} explanations[] = {
	{0, 1, "100 < 200"},          {1, 1, "3 > 2"},
	{1, 2, "incomplete, not IGP"}, {2, 1, "20 > 10"},
	{3, 1, "5 > 0"},              {4, 2, "internal, not external"},
	{4, 1, "0.0.0.2 > 0.0.0.1"},  {5, 1, "younger by 1 s"},
};

START_TEST(losers_are_explained)
{
	unsigned index = explanations[_i].index, n = 0;
	struct prefix p = prefix_make_v4(0x0a000000, 8);
	struct rib_source *sources[PATHS];
	struct bgp_attrs *sets[PATHS];
	char text[RIB_DECISION_TEXT_MAX];
	for (; n < PATHS && cases[index].path[n].name; n++) {
		sources[n] = make_source(&cases[index].path[n]);
		sets[n] = make_attrs(&cases[index].path[n]);
		announce(index, n, sources, sets, &p);
	}
	struct rib_entry *e = rib_find(rib, &p);
	for (struct rib_path *path = rib_path_first(e); path; path = rib_path_next(rib, path))
		if (rib_path_source(path) == sources[explanations[_i].path])
			ck_assert_str_eq(rib_decision_compared(path, rib_decision_winner(rib, e, path), text), explanations[_i].text);
	for (unsigned i = 0; i < n; i++) {
		rib_withdraw(rib, sources[i], &p);
		bgp_attrs_unref(sets[i]);
		rib_source_free(sources[i]);
	}
}
END_TEST

static struct bgp_attrs *simple_attrs(unsigned med)
{
	struct how h = {"simple", "10.0.0.1", EXT, .med = med};
	return make_attrs(&h);
}

START_TEST(multipath_is_limited_to_the_preferred)
{
	struct how h = {"p", "10.0.0.1", EXT};
	struct rib_source *s[5];
	struct bgp_attrs *a = simple_attrs(0);
	struct prefix p = prefix_make_v4(0x0a000000, 8);
	rib_free(rib);
	rib = rib_new(2);
	for (unsigned i = 0; i < 5; i++) {
		h.router_id = 5 - i;
		s[i] = make_source(&h);
		rib_announce(rib, s[i], &p, a, now);
	}
	for (const struct rib_path *path = &rib_find(rib, &p)->path; path; path = rib_path_next(rib, path))
		ck_assert_int_eq((path->flags & RIB_PATH_USED) != 0, rib_path_source(path)->router_id <= 2);
	bgp_attrs_unref(a);
	rib_free(rib);
	rib = NULL;
	for (unsigned i = 0; i < 5; i++)
		rib_source_free(s[i]);
}
END_TEST

START_TEST(own_route_wins)
{
	struct rib_source *local = rib_source_new(rib, &(struct rib_source){.kind = RIB_SOURCE_LOCAL});
	struct how h = {"ibgp", "10.0.0.1", .local_pref = 4000000000u, .ibgp = true, .as_count = 1, .first_as = 1};
	struct rib_source *peer = make_source(&h);
	struct bgp_attrs *own = bgp_attrs_local(&attrs), *theirs = make_attrs(&h);
	struct prefix p = prefix_make_v4(0x0af40000, 24);
	rib_announce(rib, peer, &p, theirs, now);
	rib_announce(rib, local, &p, own, now);
	ck_assert_ptr_eq(rib_path_source(&rib_find(rib, &p)->path), local);
	bgp_attrs_unref(own);
	bgp_attrs_unref(theirs);
	rib_withdraw(rib, peer, &p);
	rib_withdraw(rib, local, &p);
	rib_source_free(peer);
	rib_source_free(local);
}
END_TEST

/* --- journal: readers of any speed end with the table as it is */

enum { MODEL_PREFIXES = 40, MODEL_READERS = 4, MODEL_SOURCES = 3, MODEL_SETS = 3, MODEL_STEPS = 20000 };

struct reader {
	struct rib_cursor cursor;
	bool open;
	struct bgp_attrs *seen[MODEL_PREFIXES]; /* what it was last told; not referenced, only compared */
};

static unsigned number_of(const struct rib_entry *e)
{
	struct prefix p = rib_entry_prefix(e);
	return addr_to_v4(&p.addr) >> 8 & 0xff;
}

static void read_some(struct reader *r, unsigned n)
{
	struct rib_entry *e;
	while (r->open && n-- && (e = rib_cursor_next(&r->cursor)))
		r->seen[number_of(e)] = e->path_count ? rib_path_attrs(&e->path) : NULL;
}

static void toggle(struct reader *r)
{
	if (r->open)
		rib_cursor_close(&r->cursor);
	else
		rib_cursor_open(rib, &r->cursor);
	r->open = !r->open;
	memset(r->seen, 0, sizeof r->seen);
}

static void check_readers(struct reader *readers)
{
	for (unsigned i = 0; i < MODEL_READERS; i++) {
		read_some(&readers[i], UINT32_MAX);
		ck_assert(!readers[i].open || rib_cursor_at_end(&readers[i].cursor));
		for (unsigned k = 0; readers[i].open && k < MODEL_PREFIXES; k++) {
			struct prefix p = prefix_make_v4(0x0a000000 | k << 8, 24);
			struct rib_entry *e = rib_find(rib, &p);
			ck_assert_ptr_eq(readers[i].seen[k], e ? rib_path_attrs(&e->path) : NULL);
		}
	}
}

START_TEST(journal_readers_agree_with_the_table)
{
	struct random rnd = {.state = (uint64_t)_i + 1};
	struct reader readers[MODEL_READERS] = {0};
	struct rib_source *s[MODEL_SOURCES];
	struct bgp_attrs *a[MODEL_SETS];
	struct how h = {"m", "10.0.0.1", EXT};
	for (unsigned i = 0; i < MODEL_SOURCES; i++) {
		h.router_id = i + 1;
		s[i] = make_source(&h);
	}
	for (unsigned i = 0; i < MODEL_SETS; i++)
		a[i] = simple_attrs(i + 1);
	for (unsigned step = 0; step < MODEL_STEPS; step++) {
		struct prefix p = prefix_make_v4(0x0a000000 | random_next(&rnd) % MODEL_PREFIXES << 8, 24);
		struct rib_source *src = s[random_next(&rnd) % MODEL_SOURCES];
		switch (random_next(&rnd) % 8) {
		case 0: case 1: case 2:
			rib_announce(rib, src, &p, a[random_next(&rnd) % MODEL_SETS], now);
			break;
		case 3: case 4:
			rib_withdraw(rib, src, &p);
			break;
		case 5: case 6:
			read_some(&readers[random_next(&rnd) % MODEL_READERS], random_next(&rnd) % 8);
			rib_sweep(rib);
			break;
		default:
			if (random_next(&rnd) % 20 == 0)
				toggle(&readers[random_next(&rnd) % MODEL_READERS]);
			if (random_next(&rnd) % 50 == 0)
				check_readers(readers);
		}
	}
	check_readers(readers);
	for (unsigned i = 0; i < MODEL_SOURCES; i++) {
		while (!rib_source_flush(rib, s[i], 10))
			;
		ck_assert_uint_eq(s[i]->paths, 0);
		ck_assert_uint_eq(s[i]->best, 0);
		rib_source_free(s[i]);
	}
	check_readers(readers);
	for (unsigned i = 0; i < MODEL_READERS; i++)
		if (readers[i].open)
			toggle(&readers[i]);
	rib_sweep(rib);
	ck_assert_uint_eq(rib_prefix_count(rib), 0);
	for (unsigned i = 0; i < MODEL_SETS; i++)
		bgp_attrs_unref(a[i]);
}
END_TEST

/* A reader that saw a prefix from one source must be told that it comes from another, however late it reads. */
START_TEST(change_of_source_is_kept_for_slow_readers)
{
	struct how h1 = {"1", "10.0.0.1", EXT, .router_id = 1}, h2 = {"2", "10.0.0.2", EXT, .router_id = 2};
	struct rib_source *s1 = make_source(&h1), *s2 = make_source(&h2);
	struct bgp_attrs *a = simple_attrs(0);
	struct prefix p = prefix_make_v4(0x0a000000, 24);
	struct rib_cursor slow;
	struct rib_entry *e;
	rib_cursor_open(rib, &slow);
	rib_announce(rib, s1, &p, a, now);
	e = rib_cursor_next(&slow);
	ck_assert_int_eq(e->flags & RIB_ENTRY_SOURCE_CHANGED, 0); /* nobody had it before */
	rib_sweep(rib);
	rib_withdraw(rib, s1, &p); /* not read yet */
	rib_sweep(rib);
	rib_announce(rib, s2, &p, a, now);
	e = rib_cursor_next(&slow);
	ck_assert_int_ne(e->flags & RIB_ENTRY_SOURCE_CHANGED, 0);
	ck_assert_int_ne(e->flags & RIB_ENTRY_BEST_CHANGED, 0);
	rib_sweep(rib);
	rib_announce(rib, s1, &p, a, now); /* back to the first, all read */
	e = rib_cursor_next(&slow);
	ck_assert_int_ne(e->flags & RIB_ENTRY_SOURCE_CHANGED, 0);
	rib_cursor_close(&slow);
	rib_withdraw(rib, s1, &p);
	rib_withdraw(rib, s2, &p);
	bgp_attrs_unref(a);
	rib_source_free(s1);
	rib_source_free(s2);
}
END_TEST

START_TEST(longest_match)
{
	struct how h = {"x", "10.0.0.1", EXT};
	struct rib_source *s = make_source(&h);
	struct bgp_attrs *a = simple_attrs(0);
	static const char *const texts[] = {"0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.3/32"};
	static const struct {
		const char *addr, *prefix;
	} wants[] = {{"10.1.2.3", "10.1.2.3/32"}, {"10.1.2.4", "10.1.0.0/16"}, {"10.2.0.0", "10.0.0.0/8"},
		     {"11.0.0.0", "0.0.0.0/0"}};
	struct prefix p;
	struct addr x;
	char buf[PREFIX_TEXT_MAX];
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_int_eq(prefix_parse(texts[i], &p), PREFIX_OK);
		rib_announce(rib, s, &p, a, now);
	}
	for (unsigned i = 0; i < 4; i++) {
		ck_assert(addr_parse(wants[i].addr, &x));
		struct prefix found = rib_entry_prefix(rib_find_longest(rib, &x, true));
		ck_assert_str_eq(prefix_format(&found, buf), wants[i].prefix);
	}
	ck_assert(addr_parse("fd00::1", &x));
	ck_assert_ptr_null(rib_find_longest(rib, &x, true));
	ck_assert(rib_source_flush(rib, s, UINT32_MAX));
	ck_assert_uint_eq(rib_prefix_count(rib), 0);
	bgp_attrs_unref(a);
	rib_source_free(s);
}
END_TEST

/* Enough prefixes for several chunks and rehashes; all found, all gone. */
START_TEST(many_prefixes)
{
	enum { MANY = 50000 };
	struct how h = {"x", "10.0.0.1", EXT};
	struct rib_source *s = make_source(&h);
	struct bgp_attrs *a = simple_attrs(0);
	for (uint32_t i = 0; i < MANY; i++) {
		struct prefix p = prefix_make_v4(0x0a000000 + (i << 8), 24);
		rib_announce(rib, s, &p, a, now);
	}
	ck_assert_uint_eq(rib_prefix_count(rib), MANY);
	for (uint32_t i = 0; i < MANY; i++) {
		struct prefix p = prefix_make_v4(0x0a000000 + (i << 8), 24);
		ck_assert_ptr_nonnull(rib_find(rib, &p));
		ck_assert(rib_withdraw(rib, s, &p));
		ck_assert(!rib_withdraw(rib, s, &p));
	}
	rib_sweep(rib);
	ck_assert_uint_eq(rib_prefix_count(rib), 0);
	bgp_attrs_unref(a);
	rib_source_free(s);
}
END_TEST

START_TEST(policies)
{
	struct prefix own = prefix_make_v4(0x0af40700, 24), cluster = prefix_make_v4(0x0af40000, 16);
	struct rib_import_context ctx = {&own, &cluster, 1, 1};
	static const struct {
		const char *prefix;
		bool cluster, all;
	} wants[] = {
		{"10.244.8.0/24", true, true}, {"10.244.7.0/24", false, false},  {"10.244.7.128/25", false, false},
		{"10.244.0.0/16", true, true}, {"10.0.0.0/8", false, true},      {"0.0.0.0/0", false, false},
		{"192.0.2.0/24", false, true},
	};
	struct prefix p;
	for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
		ck_assert_int_eq(prefix_parse(wants[i].prefix, &p), PREFIX_OK);
		ck_assert_int_eq(rib_import_accepts(RIB_IMPORT_CLUSTER, &ctx, &p), wants[i].cluster);
		ck_assert_int_eq(rib_import_accepts(RIB_IMPORT_ALL, &ctx, &p), wants[i].all);
		ck_assert(!rib_import_accepts(RIB_IMPORT_NONE, &ctx, &p));
	}
}
END_TEST

/* RFC 7999: one address of the cluster, and none of ours. */
START_TEST(what_a_peer_may_have_discarded)
{
	struct prefix own = prefix_make_v4(0x0af40700, 24), cluster = prefix_make_v4(0x0af40000, 16), p;
	struct rib_import_context ctx = {&own, &cluster, 1, 1}, nothing = {0};
	static const struct {
		const char *prefix;
		bool may;
	} wants[] = {
		{"10.244.8.1/32", true},  {"10.244.8.0/31", false}, {"10.244.8.0/24", false}, {"10.244.7.1/32", false},
		{"192.0.2.1/32", false}, {"fd00::1/128", false},   {"0.0.0.0/0", false},
	};
	for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
		ck_assert_int_eq(prefix_parse(wants[i].prefix, &p), PREFIX_OK);
		ck_assert_msg(rib_import_may_discard(&ctx, &p) == wants[i].may, "%s", wants[i].prefix);
		ck_assert(!rib_import_may_discard(&nothing, &p));
	}
}
END_TEST

/* A learned path with our own next hop is a blackhole in the kernel, and another one beside it does not change that. */
START_TEST(discarded_routes_are_blackholes)
{
	struct how a = {"a", "10.0.0.1", EXT}, b = {"b", "10.0.0.2", EXT};
	struct rib_source *sources[] = {make_source(&a), make_source(&b)};
	struct bgp_attrs *plain = make_attrs(&a);
	struct bgp_attrs *discard = bgp_attrs_edit(plain, &(struct bgp_attr_edit){.has_next_hop = true});
	struct prefix p = prefix_make_v4(0x0af40801, 32);
	struct nhset_table t;
	nhset_table_init(&t);
	rib_announce(rib, sources[0], &p, discard, now);
	rib_announce(rib, sources[1], &p, plain, now);
	struct rib_entry *e = rib_find(rib, &p);
	struct nhset *s = nhset_choose(&t, rib, e);
	ck_assert_uint_eq(s->count, bgp_attrs_has_next_hop(rib_path_attrs(rib_best(e))));
	nhset_unref(s);
	rib_withdraw(rib, sources[1], &p);
	s = nhset_choose(&t, rib, rib_find(rib, &p));
	ck_assert_uint_eq(s->count, 0);
	nhset_unref(s);
	rib_withdraw(rib, sources[0], &p);
	nhset_table_fini(&t);
	bgp_attrs_unref(plain);
	bgp_attrs_unref(discard);
	rib_source_free(sources[0]);
	rib_source_free(sources[1]);
}
END_TEST

START_TEST(export_policies)
{
	struct rib_source *local = rib_source_new(rib, &(struct rib_source){.kind = RIB_SOURCE_LOCAL});
	struct how ext = {"ext", "10.0.0.1", EXT}, in = {"int", "10.0.0.2", EXT, .ibgp = true};
	struct rib_source *sources[] = {local, make_source(&ext), make_source(&in), make_source(&in)};
	struct bgp_attrs *sets[] = {bgp_attrs_local(&attrs), make_attrs(&ext), make_attrs(&in), make_attrs(&in)};
	/* policy, to whom, then: own, learned externally, learned internally, from a client */
	static const struct {
		enum rib_export policy;
		enum rib_audience to;
		bool wants[4];
	} cases_[] = {
		{RIB_EXPORT_PODS, RIB_TO_EXTERNAL, {true, false, false, false}},
		{RIB_EXPORT_PODS, RIB_TO_INTERNAL, {true, false, false, false}},
		{RIB_EXPORT_PODS, RIB_TO_CLIENT, {true, false, false, false}},
		{RIB_EXPORT_ALL, RIB_TO_EXTERNAL, {true, true, true, true}},
		{RIB_EXPORT_ALL, RIB_TO_INTERNAL, {true, true, false, true}},
		{RIB_EXPORT_ALL, RIB_TO_CLIENT, {true, true, true, true}},
		{RIB_EXPORT_NONE, RIB_TO_EXTERNAL, {false, false, false, false}},
		{RIB_EXPORT_NONE, RIB_TO_CLIENT, {false, false, false, false}},
	};
	sources[3]->client = true;
	for (unsigned k = 0; k < 4; k++) {
		struct prefix p = prefix_make_v4(0x0a000000 | k << 8, 24);
		rib_announce(rib, sources[k], &p, sets[k], now);
		for (size_t i = 0; i < sizeof cases_ / sizeof *cases_; i++)
			ck_assert_int_eq(rib_export_accepts(cases_[i].policy, cases_[i].to, &rib_find(rib, &p)->path), cases_[i].wants[k]);
		rib_withdraw(rib, sources[k], &p);
		bgp_attrs_unref(sets[k]);
		rib_source_free(sources[k]);
	}
}
END_TEST

/* Adj-RIB-Out of a group: what goes is in no set any more, so that the next one in its place is not either. */
START_TEST(entries_that_go_leave_every_set)
{
	enum { SETS = 100 };
	static struct rib_marks sets[SETS];
	struct rib_source *s = rib_source_new(rib, &(struct rib_source){.kind = RIB_SOURCE_BGP, .router_id = 1});
	struct bgp_attrs *a = make_attrs(&(struct how){.next_hop = "10.0.0.1", .first_as = 64512, .as_count = 1});
	struct prefix p = prefix_make_v4(0x0a000000, 8);
	for (unsigned i = 0; i < SETS; i++)
		rib_marks_open(rib, &sets[i]);
	rib_announce(rib, s, &p, a, now);
	uint32_t at = rib_entry_position(rib, rib_find(rib, &p));
	ck_assert_ptr_eq(rib_entry_at(rib, at), rib_find(rib, &p));
	for (unsigned i = 0; i < SETS; i += 2) {
		rib_marks_put(&sets[i], at, true);
		rib_marks_put(&sets[i], at, true);
	}
	for (unsigned i = 0; i < SETS; i++)
		ck_assert_uint_eq(sets[i].count, i % 2 == 0);
	rib_withdraw(rib, s, &p);
	ck_assert(rib_marks_have(&sets[0], at)); /* until everyone has read that it went */
	rib_sweep(rib);
	rib_announce(rib, s, &p, a, now);
	ck_assert_uint_eq(rib_entry_position(rib, rib_find(rib, &p)), at);
	for (unsigned i = 0; i < SETS; i++) {
		ck_assert(!rib_marks_have(&sets[i], at) && sets[i].count == 0);
		rib_marks_close(&sets[i]);
	}
	rib_withdraw(rib, s, &p);
	bgp_attrs_unref(a);
	rib_source_free(s);
}
END_TEST

START_TEST(next_hop_sets_are_shared)
{
	struct nhset_table t;
	struct route_nexthop a = {.weight = 1}, b = {.weight = 1};
	ck_assert(addr_parse("10.0.0.1", &a.gateway) && addr_parse("10.0.0.2", &b.gateway));
	nhset_table_init(&t);
	struct nhset *x = nhset_of(&t, (struct route_nexthop[]){a, b}, 2), *y = nhset_of(&t, (struct route_nexthop[]){b, a, a}, 3);
	struct nhset *z = nhset_of(&t, &a, 1), *hole = nhset_of(&t, NULL, 0);
	ck_assert_ptr_eq(x, y);
	ck_assert_uint_eq(x->count, 2);
	ck_assert_ptr_ne(x, z);
	ck_assert_uint_eq(hole->count, 0);
	nhset_unref(x);
	nhset_unref(y);
	nhset_unref(z);
	nhset_unref(hole);
	ck_assert_uint_eq(live_count(LIVE_NHSET), 0);
	nhset_table_fini(&t);
}
END_TEST

static struct route_nexthop hop(const char *gateway, uint32_t ifindex, uint16_t weight)
{
	struct route_nexthop n = {.ifindex = ifindex, .weight = weight};
	ck_assert(addr_parse(gateway, &n.gateway));
	return n;
}

START_TEST(next_hop_sets_know_weight_and_link)
{
	struct nhset_table t;
	nhset_table_init(&t);
	struct route_nexthop low = hop("fe80::1", 3, 2), high = hop("fe80::1", 4, 4), v4 = hop("10.0.0.1", 0, 7);
	struct nhset *links = nhset_of(&t, (struct route_nexthop[]){low, high}, 2);
	ck_assert_uint_eq(links->count, 2); /* the same address on two links is two next hops */
	ck_assert_uint_eq(links->at[0].weight, 1);
	ck_assert_uint_eq(links->at[1].weight, 2);
	low.weight = 1, high.weight = 3;
	struct nhset *other = nhset_of(&t, (struct route_nexthop[]){high, low}, 2);
	ck_assert_ptr_ne(links, other); /* other shares */
	low.weight = 2;
	struct nhset *joined = nhset_of(&t, (struct route_nexthop[]){low, v4, hop("fe80::1", 3, 5)}, 3);
	ck_assert_uint_eq(joined->count, 2);
	for (unsigned i = 0; i < joined->count; i++)
		ck_assert_uint_eq(joined->at[i].weight, addr_is_v4(&joined->at[i].gateway) ? 7 : 5);
	struct nhset *alone = nhset_of(&t, &v4, 1);
	ck_assert_uint_eq(alone->at[0].weight, 1);
	nhset_unref(links);
	nhset_unref(other);
	nhset_unref(joined);
	nhset_unref(alone);
	nhset_table_fini(&t);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rib");
	TCase *t = tcase_create("rib");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, decision_in_every_order, 0, sizeof cases / sizeof *cases);
	tcase_add_loop_test(t, losers_are_explained, 0, sizeof explanations / sizeof *explanations);
	tcase_add_test(t, multipath_is_limited_to_the_preferred);
	tcase_add_test(t, own_route_wins);
	tcase_add_loop_test(t, journal_readers_agree_with_the_table, 0, 10);
	tcase_add_test(t, change_of_source_is_kept_for_slow_readers);
	tcase_add_test(t, longest_match);
	tcase_add_test(t, many_prefixes);
	tcase_add_test(t, policies);
	tcase_add_test(t, export_policies);
	tcase_add_test(t, what_a_peer_may_have_discarded);
	tcase_add_test(t, discarded_routes_are_blackholes);
	tcase_add_test(t, entries_that_go_leave_every_set);
	tcase_add_test(t, next_hop_sets_are_shared);
	tcase_add_test(t, next_hop_sets_know_weight_and_link);
	suite_add_tcase(s, t);
	return run_suite(s);
}
