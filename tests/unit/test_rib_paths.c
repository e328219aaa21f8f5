/* Several paths of one session to a prefix (RFC 7911): in the RIB. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "rib/decision.h"
#include "rib/nexthop.h"
#include "rib/nhset.h"
#include "rib/rank.h"
#include "rib/table.h"
#include "src/base/live.h"
#include "src/base/random.h"
#include "tests/unit/run_suite.h"

enum { MULTIPATH = 16 };

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

static struct rib_source *make_source(uint32_t router_id)
{
	return rib_source_new(rib, &(struct rib_source){.kind = RIB_SOURCE_BGP, .router_id = router_id, .addr = addr_from_v4(router_id)});
}

/* ORIGIN, AS path (64512), NEXT_HOP 10.0.0.hop, MED */
static struct bgp_attrs *make_attrs(uint8_t hop, uint8_t med)
{
	const uint8_t wire[] = {0x40, 1, 1, 0, 0x40, 2, 6, 2, 1, 0, 0, 0xfc, 0, 0x40, 3, 4, 10, 0, 0, hop, 0x80, 4, 4, 0, 0, 0, med};
	struct bgp_attrs *a, *mp;
	struct bgp_attr_block block;
	bgp_attrs_decode(&attrs, 0, cursor_of(wire, sizeof wire), true, &block, &a, &mp);
	ck_assert_ptr_nonnull(a);
	return a;
}

static struct prefix nth_prefix(unsigned n)
{
	return prefix_make_v4(0x0a000000 | n << 8, 24);
}

/* --- the decision, in every order of arrival */

/* Two sessions; the first path must win. Each has its place in the order that only identifiers can settle. */
static const struct {
	unsigned source;
	uint32_t path_id;
	uint8_t hop, med;
	const char *lost_by;
	bool used;
} paths[] = {
	{0, 1, 3, 5, "", true},
	{0, 7, 4, 5, "path ID", true},
	{0, UINT32_MAX, 3, 5, "path ID", true}, /* the same attributes as the first: a path all the same */
	{0, 0, 5, 6, "MED", false},
	{1, 0, 6, 5, "router ID", true},
	{1, 1, 7, 7, "MED", false},
};
enum { PATHS = sizeof paths / sizeof *paths };

static void check_paths(struct rib_source **sources)
{
	struct prefix p = nth_prefix(0);
	struct rib_entry *e = rib_find(rib, &p);
	unsigned seen = 0;
	ck_assert_uint_eq(e->path_count, PATHS);
	ck_assert(rib_path_source(&e->path) == sources[0] && e->path.path_id == paths[0].path_id);
	for (const struct rib_path *path = rib_path_first(e); path; path = rib_path_next(rib, path)) {
		for (unsigned i = 0; i < PATHS; i++) {
			if (rib_path_source(path) != sources[paths[i].source] || path->path_id != paths[i].path_id)
				continue;
			seen++;
			ck_assert_str_eq(rib_decision_rule(path->lost_by), paths[i].lost_by);
			ck_assert_int_eq((path->flags & RIB_PATH_USED) != 0, paths[i].used);
		}
	}
	ck_assert_uint_eq(seen, PATHS);
}

/* Which of paths[] is which place, worked out by hand: the first session's are before the second's, its identifiers
 * decide; then those with a higher MED. */
static const unsigned ranked[PATHS] = {0, 1, 2, 4, 3, 5};

static void check_ranking(struct rib_ranking *k, struct rib_source **sources)
{
	struct prefix p = nth_prefix(0);
	rib_ranking_start(k, rib, rib_find(rib, &p));
	for (unsigned i = 0; i < PATHS; i++) {
		const struct rib_path *path = rib_ranking_next(k);
		ck_assert_ptr_nonnull(path);
		ck_assert_ptr_eq(rib_path_source(path), sources[paths[ranked[i]].source]);
		ck_assert_uint_eq(path->path_id, paths[ranked[i]].path_id);
	}
	ck_assert_ptr_null(rib_ranking_next(k));
}

static void announce(struct rib_source **sources, struct bgp_attrs **sets, unsigned i)
{
	struct prefix p = nth_prefix(0);
	ck_assert(rib_announce_path(rib, sources[paths[i].source], &p, paths[i].path_id, sets[i], now));
}

static void withdraw(struct rib_source **sources, unsigned i)
{
	struct prefix p = nth_prefix(0);
	ck_assert(rib_withdraw_path(rib, sources[paths[i].source], &p, paths[i].path_id));
	ck_assert(!rib_withdraw_path(rib, sources[paths[i].source], &p, paths[i].path_id));
}

static struct rib_ranking ranking;

static unsigned permute(unsigned at, unsigned *perm, struct rib_source **sources, struct bgp_attrs **sets)
{
	unsigned orders = 0;
	if (at < PATHS) {
		for (unsigned i = at; i < PATHS; i++) {
			unsigned t = perm[at];
			perm[at] = perm[i];
			perm[i] = t;
			orders += permute(at + 1, perm, sources, sets);
			perm[i] = perm[at];
			perm[at] = t;
		}
		return orders;
	}
	for (unsigned i = 0; i < PATHS; i++)
		announce(sources, sets, perm[i]);
	check_paths(sources);
	check_ranking(&ranking, sources);
	withdraw(sources, perm[0]);
	announce(sources, sets, perm[0]);
	check_paths(sources);
	for (unsigned i = 0; i < PATHS; i++)
		withdraw(sources, perm[i]);
	rib_sweep(rib);
	return 1;
}

START_TEST(decision_in_every_order)
{
	struct rib_source *sources[] = {make_source(1), make_source(2)};
	struct bgp_attrs *sets[PATHS];
	unsigned perm[PATHS];
	for (unsigned i = 0; i < PATHS; i++) {
		sets[i] = make_attrs(paths[i].hop, paths[i].med);
		perm[i] = i;
	}
	ck_assert_uint_eq(permute(0, perm, sources, sets), 720);
	rib_ranking_fini(&ranking);
	for (unsigned i = 0; i < PATHS; i++)
		bgp_attrs_unref(sets[i]);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert(sources[i]->paths == 0 && sources[i]->best == 0);
		rib_source_free(sources[i]);
	}
}
END_TEST

START_TEST(ranking_of_none_and_one)
{
	struct rib_ranking k = {0};
	struct rib_source *s = make_source(1);
	struct bgp_attrs *a = make_attrs(3, 0);
	struct prefix p = nth_prefix(0);
	struct rib_cursor c;
	rib_cursor_open(rib, &c);
	rib_announce(rib, s, &p, a, now);
	struct rib_entry *e = rib_find(rib, &p);
	rib_ranking_start(&k, rib, e);
	ck_assert_ptr_eq(rib_ranking_next(&k), &e->path);
	ck_assert_ptr_null(rib_ranking_next(&k));
	rib_withdraw(rib, s, &p); /* a tombstone, since nobody has read it */
	e = rib_cursor_next(&c);
	ck_assert_uint_eq(e->path_count, 0);
	rib_ranking_start(&k, rib, e);
	ck_assert_ptr_null(rib_ranking_next(&k));
	rib_ranking_fini(&k);
	rib_cursor_close(&c);
	bgp_attrs_unref(a);
	rib_source_free(s);
}
END_TEST

/* Of the test's next hops 10.0.0.4 can be reached, others not. */
static void resolve(void *arg, const struct nexthop *nh, struct nexthop_answer *out)
{
	(void)arg;
	out->state = addr_to_v4(&nh->addr) == 0x0a000004 ? NEXTHOP_DIRECT : NEXTHOP_NO_ROUTE;
}

START_TEST(ranking_leaves_out_what_cannot_be_used)
{
	struct rib_ranking k = {0};
	struct nhset_table nhsets;
	struct nexthop_table hops;
	struct rib_source *s = make_source(1);
	struct prefix p = nth_prefix(0);
	nhset_table_init(&nhsets);
	nexthop_table_init(&hops, &nhsets, resolve, NULL);
	hops.budget = NEXTHOP_BUDGET;
	rib_track(rib, &hops);
	for (uint32_t id = 3; id < 6; id++) {
		struct bgp_attrs *a = make_attrs((uint8_t)id, 0);
		rib_announce_path(rib, s, &p, id, a, now);
		bgp_attrs_unref(a);
	}
	rib_ranking_start(&k, rib, rib_find(rib, &p));
	ck_assert_uint_eq(rib_ranking_next(&k)->path_id, 4);
	ck_assert_ptr_null(rib_ranking_next(&k));
	rib_withdraw_path(rib, s, &p, 4);
	rib_ranking_start(&k, rib, rib_find(rib, &p));
	ck_assert_ptr_null(rib_ranking_next(&k));
	rib_withdraw_all(rib, s, &p);
	rib_ranking_fini(&k);
	nexthop_table_fini(&hops);
	nhset_table_fini(&nhsets);
	rib_source_free(s);
}
END_TEST

/* --- several next hops from one session are a multipath route */

START_TEST(two_paths_of_a_session_are_used)
{
	struct nhset_table t;
	struct rib_source *s = make_source(1);
	struct bgp_attrs *a = make_attrs(3, 0), *b = make_attrs(4, 0);
	struct prefix p = nth_prefix(0);
	nhset_table_init(&t);
	rib_announce_path(rib, s, &p, 9, a, now);
	rib_announce_path(rib, s, &p, 5, b, now);
	struct nhset *both = nhset_choose(&t, rib, rib_find(rib, &p));
	ck_assert_uint_eq(both->count, 2);
	ck_assert(rib_withdraw_path(rib, s, &p, 5));
	struct nhset *one = nhset_choose(&t, rib, rib_find(rib, &p));
	ck_assert_uint_eq(one->count, 1);
	ck_assert_uint_eq(addr_to_v4(&one->at[0].gateway), 0x0a000003);
	/* the same identifier with another next hop replaces */
	rib_announce_path(rib, s, &p, 9, b, now);
	ck_assert_uint_eq(rib_find(rib, &p)->path_count, 1);
	ck_assert(!rib_withdraw(rib, s, &p)); /* 0 is an identifier like others */
	ck_assert(rib_withdraw_all(rib, s, &p));
	ck_assert(!rib_withdraw_all(rib, s, &p));
	ck_assert_ptr_null(rib_find(rib, &p));
	nhset_unref(both);
	nhset_unref(one);
	nhset_table_fini(&t);
	bgp_attrs_unref(a);
	bgp_attrs_unref(b);
	rib_source_free(s);
}
END_TEST

/* What it had not read yet. */
static unsigned changes_for(struct rib_cursor *reader)
{
	unsigned n = 0;
	while (rib_cursor_next(reader))
		n++;
	return n;
}

START_TEST(too_many_paths_change_nothing)
{
	struct rib_source *s = make_source(1), *other = make_source(2);
	struct bgp_attrs *a = make_attrs(3, 0), *b = make_attrs(4, 0);
	struct prefix p = nth_prefix(0);
	for (uint32_t id = 0; id < RIB_PATHS_PER_SOURCE; id++)
		ck_assert(rib_announce_path(rib, s, &p, id * 77, a, now));
	struct rib_cursor reader = {0};
	rib_cursor_open_at_end(rib, &reader);
	ck_assert(!rib_announce_path(rib, s, &p, 1, b, now));
	ck_assert_uint_eq(changes_for(&reader), 0);
	rib_cursor_close(&reader);
	ck_assert_uint_eq(s->paths, RIB_PATHS_PER_SOURCE);
	ck_assert(rib_announce_path(rib, s, &p, 77, b, now));  /* one that it has may change */
	ck_assert(rib_announce_path(rib, other, &p, 1, b, now)); /* the limit is each source's own */
	ck_assert(rib_withdraw_path(rib, s, &p, 0));
	ck_assert(rib_announce_path(rib, s, &p, 1, b, now));
	ck_assert(rib_source_flush(rib, s, UINT32_MAX) && rib_source_flush(rib, other, UINT32_MAX));
	rib_source_free(s);
	rib_source_free(other);
	bgp_attrs_unref(a);
	bgp_attrs_unref(b);
}
END_TEST

/* The journal wakes readers for a path that is neither best nor used only where someone asked for it. */
START_TEST(further_paths_wake_who_reads_them)
{
	struct rib_source *s = make_source(1);
	struct bgp_attrs *good = make_attrs(3, 0), *bad = make_attrs(4, 9), *worse = make_attrs(4, 10);
	struct prefix p = nth_prefix(0);
	rib_announce_path(rib, s, &p, 1, good, now);
	struct rib_cursor reader = {0};
	rib_cursor_open_at_end(rib, &reader);
	rib_announce_path(rib, s, &p, 2, bad, now);
	ck_assert_uint_eq(changes_for(&reader), 0);
	rib_sweep(rib); /* all is read */
	rib_read_further(rib, true);
	rib_announce_path(rib, s, &p, 2, worse, now);
	ck_assert_uint_eq(changes_for(&reader), 1);
	ck_assert(!(rib_find(rib, &p)->flags & RIB_ENTRY_BEST_CHANGED));
	rib_withdraw_path(rib, s, &p, 2);
	ck_assert_uint_eq(changes_for(&reader), 1);
	rib_read_further(rib, false);
	rib_announce_path(rib, s, &p, 2, bad, now);
	ck_assert_uint_eq(changes_for(&reader), 0);
	rib_cursor_close(&reader);
	rib_withdraw_all(rib, s, &p);
	rib_source_free(s);
	bgp_attrs_unref(good);
	bgp_attrs_unref(bad);
	bgp_attrs_unref(worse);
}
END_TEST

/* --- against a model: what a source announced and did not withdraw is there, whatever else happens */

enum { MODEL_SOURCES = 3, MODEL_PREFIXES = 8, MODEL_IDS = 5, MODEL_SETS = 3, MODEL_STEPS = 20000 };

static void check_model(struct bgp_attrs *model[MODEL_SOURCES][MODEL_PREFIXES][MODEL_IDS], struct rib_source **s)
{
	uint32_t total = 0;
	for (unsigned k = 0; k < MODEL_PREFIXES; k++) {
		struct prefix p = nth_prefix(k);
		struct rib_entry *e = rib_find(rib, &p);
		for (struct rib_path *path = e ? rib_path_first(e) : NULL; path; path = rib_path_next(rib, path)) {
			unsigned of = 0;
			while (s[of] != rib_path_source(path))
				of++;
			ck_assert_ptr_eq(model[of][k][path->path_id], rib_path_attrs(path));
			total++;
		}
	}
	for (unsigned of = 0; of < MODEL_SOURCES; of++) {
		uint32_t own = 0;
		for (unsigned k = 0; k < MODEL_PREFIXES * MODEL_IDS; k++)
			own += (&model[of][0][0])[k] != NULL;
		ck_assert_uint_eq(s[of]->paths, own);
		total -= own;
	}
	ck_assert_uint_eq(total, 0);
}

START_TEST(table_agrees_with_a_model)
{
	static struct bgp_attrs *model[MODEL_SOURCES][MODEL_PREFIXES][MODEL_IDS];
	struct random rnd = {.state = (uint64_t)_i + 1};
	struct rib_source *s[MODEL_SOURCES];
	struct bgp_attrs *a[MODEL_SETS];
	memset(model, 0, sizeof model);
	for (unsigned i = 0; i < MODEL_SOURCES; i++)
		s[i] = make_source(i + 1);
	for (unsigned i = 0; i < MODEL_SETS; i++)
		a[i] = make_attrs(3, (uint8_t)i);
	for (unsigned step = 0; step < MODEL_STEPS; step++) {
		unsigned of = (unsigned)(random_next(&rnd) % MODEL_SOURCES), k = (unsigned)(random_next(&rnd) % MODEL_PREFIXES);
		uint32_t id = (uint32_t)(random_next(&rnd) % MODEL_IDS);
		struct bgp_attrs **at = &model[of][k][id], *set = a[random_next(&rnd) % MODEL_SETS];
		struct prefix p = nth_prefix(k);
		switch (random_next(&rnd) % 8) {
		case 0: case 1: case 2: case 3:
			ck_assert(rib_announce_path(rib, s[of], &p, id, *at = set, now));
			break;
		case 4: case 5: case 6:
			ck_assert_int_eq(rib_withdraw_path(rib, s[of], &p, id), *at != NULL);
			*at = NULL;
			break;
		default:
			rib_withdraw_all(rib, s[of], &p);
			memset(model[of][k], 0, sizeof model[of][k]);
			rib_sweep(rib);
		}
		if (step % 64 == 0)
			check_model(model, s);
	}
	for (unsigned i = 0; i < MODEL_SOURCES; i++) {
		while (!rib_source_flush(rib, s[i], 15)) /* a few at a time */
			;
		ck_assert_uint_eq(s[i]->best, 0);
		rib_source_free(s[i]);
	}
	for (unsigned i = 0; i < MODEL_SETS; i++)
		bgp_attrs_unref(a[i]);
	ck_assert_uint_eq(rib_path_count(rib), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rib_paths");
	TCase *table = tcase_create("table");
	tcase_add_checked_fixture(table, setup, teardown);
	tcase_add_test(table, decision_in_every_order);
	tcase_add_test(table, ranking_of_none_and_one);
	tcase_add_test(table, ranking_leaves_out_what_cannot_be_used);
	tcase_add_test(table, two_paths_of_a_session_are_used);
	tcase_add_test(table, too_many_paths_change_nothing);
	tcase_add_test(table, further_paths_wake_who_reads_them);
	tcase_add_loop_test(table, table_agrees_with_a_model, 0, 4);
	suite_add_tcase(suite, table);
	return run_suite(suite);
}
