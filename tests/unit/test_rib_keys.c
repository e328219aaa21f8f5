/* The table packs what it keeps: a prefix is stored in as many bytes as its kind needs, in places that others had before. Here
 * prefixes of every length and both families come and go, and the table is compared with a plain list.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "rib/table.h"
#include "src/base/live.h"
#include "src/base/random.h"
#include "tests/unit/run_suite.h"

enum { PREFIXES = 700, STEPS = 60000, SOURCES = 3 };

static struct bgp_attr_table attrs;
static struct rib *rib;
static struct bgp_attrs *set;
static struct rib_source *sources[SOURCES];
static const struct tick now = {5000};

static struct prefix all[PREFIXES];
static bool has[PREFIXES][SOURCES];

static void setup(void)
{
	bgp_attr_table_init(&attrs);
	rib = rib_new(1);
	set = bgp_attrs_local(&attrs);
	for (unsigned i = 0; i < SOURCES; i++)
		sources[i] = rib_source_new(rib, &(struct rib_source){.kind = RIB_SOURCE_BGP, .router_id = i + 1});
	memset(has, 0, sizeof has);
}

static void teardown(void)
{
	for (unsigned i = 0; i < SOURCES; i++) {
		while (!rib_source_flush(rib, sources[i], 100))
			;
		rib_source_free(sources[i]);
	}
	while (rib_sweep(rib))
		;
	bgp_attrs_unref(set);
	rib_free(rib);
	bgp_attr_table_fini(&attrs);
	ck_assert_uint_eq(live_count(LIVE_PATH), 0);
	ck_assert_uint_eq(live_count(LIVE_ATTRS), 0);
	ck_assert_uint_eq(live_count(LIVE_SOURCE), 0);
}

static bool is_new(size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (prefix_eq(&all[i], &all[n]))
			return false;
	return true;
}

/* Every length of both families, and addresses that differ late or only where the other family's begin. */
static void make_prefixes(struct random *r)
{
	for (size_t i = 0; i < PREFIXES; i++) {
		do {
			struct addr a = {{0}};
			if (i % 3 == 0)
				a = addr_from_v4((uint32_t)random_next(r));
			else
				for (unsigned k = i % 3 == 1 ? 0 : 12; k < 16; k++)
					a.b[k] = (uint8_t)random_next(r);
			unsigned first = i % 3 == 0 ? (unsigned)ADDR_V4_BITS : 0;
			all[i] = prefix_make(&a, first + (unsigned)(random_next(r) % (129 - first)));
		} while (!is_new(i));
	}
}

static unsigned paths_of(size_t i)
{
	unsigned n = 0;
	for (unsigned s = 0; s < SOURCES; s++)
		n += has[i][s];
	return n;
}

static void check_all(void)
{
	size_t there = 0, met = 0;
	for (size_t i = 0; i < PREFIXES; i++) {
		const struct rib_entry *e = rib_find(rib, &all[i]);
		ck_assert_int_eq(e != NULL, paths_of(i) != 0);
		there += e != NULL;
		if (!e)
			continue;
		struct prefix p = rib_entry_prefix(e);
		ck_assert(prefix_eq(&p, &all[i]));
		ck_assert_uint_eq(e->path_count, paths_of(i));
	}
	for (uint32_t at = rib_entry_after(rib, 0); at <= rib_entry_limit(rib); at = rib_entry_after(rib, at))
		met += rib_entry_at(rib, at) != NULL;
	ck_assert_uint_eq(met, there);
	ck_assert_uint_eq(rib_prefix_count(rib), there);
}

START_TEST(prefixes_of_every_length_come_and_go)
{
	struct random r = {.state = (uint64_t)_i + 1};
	struct rib_cursor reader = {0};
	make_prefixes(&r);
	rib_cursor_open(rib, &reader);
	for (unsigned step = 0; step < STEPS; step++) {
		size_t i = random_next(&r) % PREFIXES;
		unsigned s = (unsigned)(random_next(&r) % SOURCES);
		bool wave = step / 4000 % 2; /* at times most of them go: places become free, and others' */
		if (random_next(&r) % 10 < (wave ? 2u : 7u)) {
			rib_announce(rib, sources[s], &all[i], set, now);
			has[i][s] = true;
		} else {
			ck_assert_int_eq(rib_withdraw(rib, sources[s], &all[i]), has[i][s]);
			has[i][s] = false;
		}
		if (random_next(&r) % 50 == 0) {
			for (unsigned n = (unsigned)(random_next(&r) % 200); n && rib_cursor_next(&reader); n--)
				;
			rib_sweep(rib);
		}
		if (step % 2000 == 0)
			check_all();
	}
	check_all();
	rib_cursor_close(&reader);
}
END_TEST

/* A reader that starts anew stands before everybody else: nothing that it has to be told may be freed under it. */
START_TEST(a_late_reader_is_told_of_what_goes)
{
	struct random r = {.state = 9};
	struct rib_cursor early = {0}, late = {0};
	struct rib_entry *e;
	make_prefixes(&r);
	rib_cursor_open(rib, &early);
	for (size_t i = 0; i < PREFIXES; i++)
		rib_announce(rib, sources[0], &all[i], set, now);
	while (rib_cursor_next(&early))
		;
	rib_sweep(rib);
	rib_cursor_open(rib, &late);
	for (size_t i = 0; i < PREFIXES / 2; i++)
		rib_cursor_next(&late);
	for (size_t i = 0; i < PREFIXES / 2; i++) /* what it has read goes to the tail, behind what it has not */
		rib_withdraw(rib, sources[0], &all[i]);
	while (rib_cursor_next(&early))
		;
	while (rib_sweep(rib))
		;
	size_t gone = 0;
	while ((e = rib_cursor_next(&late)) != NULL)
		gone += e->path_count == 0;
	ck_assert_uint_eq(gone, PREFIXES / 2);
	rib_cursor_close(&early);
	rib_cursor_close(&late);
}
END_TEST

static struct prefix of_flap(unsigned flap, uint32_t i)
{
	return prefix_make_v4(0x0a000000 + ((flap << 15 | i) << 8), 24);
}

/* Ten tables one after the other need no more places than the first. */
START_TEST(places_are_used_again)
{
	enum { MANY = 1 << 15 };
	struct rib_cursor reader = {0};
	uint32_t limit = 0;
	rib_cursor_open(rib, &reader);
	for (unsigned flap = 0; flap < 10; flap++) {
		for (uint32_t i = 0; i < MANY; i++) {
			struct prefix p = of_flap(flap, i);
			for (unsigned s = 0; s < SOURCES; s++)
				rib_announce(rib, sources[s], &p, set, now);
		}
		if (flap == 0)
			limit = rib_entry_limit(rib);
		ck_assert_uint_eq(rib_entry_limit(rib), limit);
		for (uint32_t i = 0; i < MANY; i++) {
			struct prefix p = of_flap(flap, i);
			for (unsigned s = 0; s < SOURCES; s++)
				rib_withdraw(rib, sources[s], &p);
		}
		while (rib_cursor_next(&reader))
			;
		while (rib_sweep(rib))
			;
	}
	ck_assert_uint_eq(live_count(LIVE_PATH), 0);
	rib_cursor_close(&reader);
}
END_TEST

/* An entry's marks go when everybody has read it, however often it changed. */
START_TEST(marks_go_with_the_slowest_reader)
{
	struct rib_cursor fast = {0}, slow = {0};
	struct prefix p = prefix_make_v4(0x0a000000, 24);
	rib_cursor_open(rib, &fast);
	rib_cursor_open(rib, &slow);
	rib_announce(rib, sources[0], &p, set, now);
	ck_assert_ptr_nonnull(rib_cursor_next(&fast));
	rib_sweep(rib);
	ck_assert(rib_find(rib, &p)->flags & RIB_ENTRY_UNREAD);
	ck_assert(rib_find(rib, &p)->flags & RIB_ENTRY_BEST_CHANGED);
	ck_assert_ptr_nonnull(rib_cursor_next(&slow));
	rib_sweep(rib);
	ck_assert(!(rib_find(rib, &p)->flags & (RIB_ENTRY_UNREAD | RIB_ENTRY_BEST_CHANGED)));
	rib_cursor_close(&fast);
	rib_cursor_close(&slow);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rib_keys");
	TCase *t = tcase_create("rib_keys");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, prefixes_of_every_length_come_and_go, 0, 6);
	tcase_add_test(t, a_late_reader_is_told_of_what_goes);
	tcase_add_test(t, places_are_used_again);
	tcase_add_test(t, marks_go_with_the_slowest_reader);
	tcase_set_timeout(t, 60);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
