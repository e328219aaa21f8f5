/* The FIB and what others do to the kernel's routes: events, comparisons in slices, foreign routes, fights. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "rib/fib.h"
#include "src/base/live.h"
#include "tests/unit/run_suite.h"

static struct nhset_table nhsets;
static struct fib fib;
static struct nhset *a, *b;
static struct tick now;
static const struct route_mark mark = {.table = 254, .metric = 32, .protocol = 171};
enum { STATIC = 4 };

static struct nhset *via(uint32_t gateway)
{
	struct route_nexthop nh = {.gateway = addr_from_v4(gateway), .weight = 1};
	return nhset_of(&nhsets, &nh, 1);
}

static void setup(void)
{
	nhset_table_init(&nhsets);
	fib_init(&fib, &nhsets, &mark, false);
	a = via(0x0a000001);
	b = via(0x0a000002);
	now = (struct tick){1000000};
}

static void teardown(void)
{
	fib_fini(&fib);
	nhset_unref(a);
	nhset_unref(b);
	nhset_table_fini(&nhsets);
	ck_assert_uint_eq(live_count(LIVE_NHSET), 0);
	ck_assert_uint_eq(live_count(LIVE_FIB_ENTRY), 0);
}

static struct prefix prefix_of(unsigned i)
{
	return prefix_make_v4(0x0b000000 | i << 8, 24);
}

static const struct fib_entry *entry(unsigned i)
{
	struct prefix p = prefix_of(i);
	return fib_find(&fib, &p);
}

/* As the kernel tells of it. */
static struct route route_of(unsigned i, const struct nhset *s, uint8_t protocol)
{
	struct route r = {.prefix = prefix_of(i), .mark = mark, .type = s ? ROUTE_UNICAST : ROUTE_OTHER};
	r.mark.protocol = protocol;
	if (s) {
		r.nexthop_count = 1;
		r.nexthops[0] = s->at[0];
		r.nexthops[0].ifindex = 3;
	}
	return r;
}

static enum fib_event event(unsigned i, const struct nhset *s, uint8_t protocol, unsigned how)
{
	struct route r = route_of(i, s, protocol);
	return fib_event(&fib, &r, how, now);
}

static void found(unsigned i, const struct nhset *s, uint8_t protocol)
{
	struct route r = route_of(i, s, protocol);
	fib_compare_found(&fib, &r);
}

static void judge(void)
{
	while (!fib_compare_judge(&fib, 1))
		;
}

/* The next intention must be this one; the kernel answers with error. */
static void expect(unsigned i, enum fib_op op, int error)
{
	struct fib_intent in;
	struct prefix p = prefix_of(i);
	fib_mend(&fib);
	ck_assert(fib_next(&fib, &in));
	ck_assert(prefix_eq(&in.route.prefix, &p));
	ck_assert_int_eq(in.op, op);
	fib_done(&fib, in.entry, error, error ? "words" : "", now);
}

static void expect_nothing(void)
{
	struct fib_intent in;
	fib_mend(&fib);
	ck_assert(!fib_next(&fib, &in));
}

static void install(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct prefix p = prefix_of(i);
		fib_want(&fib, &p, a);
		expect(i, FIB_ADD, 0);
	}
}

START_TEST(taken_is_put_back_ahead_of_what_is_new)
{
	struct prefix p = prefix_of(7);
	install(2);
	fib_want(&fib, &p, a);
	ck_assert_int_eq(event(1, a, 171, FIB_DELETED), FIB_OURS_TAKEN);
	ck_assert_int_eq(event(1, a, 171, FIB_DELETED), FIB_NOTHING); /* gone already */
	ck_assert_uint_eq(fib.installed, 1);
	expect(1, FIB_ADD, 0);
	expect(7, FIB_ADD, 0);
	ck_assert_uint_eq(fib.repaired[FIB_TAKEN], 1);
	ck_assert_uint_eq(fib.installed, 3);
	ck_assert_uint_eq(fib.wanted, 3);
	expect_nothing();
}
END_TEST

/* As the kernel tells it for IPv6; that is one loss, not as many as there are next hops. */
START_TEST(taken_next_hop_by_next_hop)
{
	struct prefix p = prefix_of(0);
	struct route_nexthop both[] = {a->at[0], b->at[0]};
	struct nhset *two = nhset_of(&nhsets, both, 2);
	for (unsigned i = 0; i < FIB_FIGHTS; i++) {
		fib_want(&fib, &p, two);
		expect(0, FIB_ADD, 0);
		ck_assert_int_eq(event(0, a, 171, FIB_DELETED), FIB_OURS_TAKEN);
		ck_assert_ptr_eq(fib_entry_have(entry(0)), b);
		ck_assert_int_eq(event(0, b, 171, FIB_DELETED), FIB_OURS_TAKEN);
		ck_assert(!fib.unclear);
	}
	expect(0, FIB_ADD, 0);
	ck_assert_int_eq(event(0, a, 171, FIB_DELETED), FIB_OURS_TAKEN); /* and only one of them */
	expect(0, FIB_REPLACE, 0);
	ck_assert_ptr_eq(fib_entry_have(entry(0)), two);
	ck_assert_uint_eq(fib.repaired[FIB_TAKEN], FIB_FIGHTS + 1);
	nhset_unref(two);
}
END_TEST

START_TEST(bent_is_straightened_and_strays_go)
{
	install(1);
	ck_assert_int_eq(event(0, a, 171, FIB_ADDED), FIB_NOTHING); /* touched, not changed */
	ck_assert_int_eq(event(0, b, 171, FIB_REPLACED), FIB_OURS_BENT);
	expect(0, FIB_REPLACE, 0);
	ck_assert_int_eq(event(0, NULL, 171, FIB_REPLACED), FIB_OURS_BENT); /* unreachable */
	expect(0, FIB_REPLACE, 0);
	ck_assert_int_eq(event(5, b, 171, FIB_ADDED), FIB_OURS_STRAY);
	expect(5, FIB_DELETE, 0);
	ck_assert_uint_eq(fib.repaired[FIB_BENT], 2);
	ck_assert_uint_eq(fib.repaired[FIB_STRAY], 1);
	ck_assert_ptr_null(entry(5));
	ck_assert_int_eq(event(9, NULL, 171, FIB_ADDED), FIB_NOTHING); /* a pod's, say: nothing that we would make */
	ck_assert_ptr_null(entry(9));
}
END_TEST

START_TEST(what_does_not_fit_waits_for_a_comparison)
{
	struct fib_intent in;
	struct prefix p = prefix_of(0);
	install(1);
	event(0, b, 171, FIB_DELETED); /* we have it via a */
	ck_assert(fib.unclear);
	ck_assert_ptr_eq(fib_entry_have(entry(0)), a);
	fib.unclear = false;
	fib_want(&fib, &p, b);
	ck_assert(fib_next(&fib, &in));
	ck_assert_int_eq(event(0, a, 171, FIB_DELETED), FIB_NOTHING); /* before our change or after it? */
	ck_assert(fib.unclear);
	fib_done(&fib, in.entry, 0, "", now);
	fib_compare_begin(&fib, now);
	ck_assert(!fib.unclear);
	judge();
	expect(0, FIB_ADD, 0);
	ck_assert_ptr_eq(fib_entry_have(entry(0)), b);
}
END_TEST

START_TEST(others_marks_are_not_ours)
{
	struct route r = route_of(0, a, 171);
	install(1);
	r.mark.metric = 50;
	ck_assert_int_eq(fib_event(&fib, &r, FIB_DELETED, now), FIB_NOTHING);
	r.mark.metric = 32;
	r.mark.table = 55;
	ck_assert_int_eq(fib_event(&fib, &r, FIB_DELETED, now), FIB_NOTHING);
	ck_assert_int_eq(event(0, a, STATIC, FIB_DELETED), FIB_NOTHING);
	ck_assert_int_eq(event(0, b, STATIC, FIB_ADDED), FIB_NOTHING); /* beside ours */
	ck_assert_ptr_eq(fib_entry_have(entry(0)), a);
	expect_nothing();
}
END_TEST

START_TEST(foreign_route_keeps_ours_out_until_it_goes)
{
	install(1);
	ck_assert_int_eq(event(0, b, STATIC, FIB_REPLACED), FIB_FOREIGN_CAME);
	ck_assert_int_eq(event(0, b, STATIC, FIB_REPLACED), FIB_NOTHING); /* known */
	ck_assert_uint_eq(fib.foreign, 1);
	ck_assert_uint_eq(fib.refused, 1);
	ck_assert_uint_eq(fib.installed, 0);
	ck_assert_int_eq(fib_entry_error(entry(0)), -EEXIST);
	ck_assert_uint_eq(entry(0)->trouble->owner, STATIC);
	expect_nothing();
	ck_assert_int_eq(event(0, b, STATIC, FIB_DELETED), FIB_FOREIGN_WENT);
	ck_assert_uint_eq(fib.foreign, 0);
	expect(0, FIB_ADD, 0);
	ck_assert_uint_eq(fib.refused, 0);
}
END_TEST

START_TEST(comparison_finds_out_who_is_in_our_place)
{
	struct prefix p = prefix_of(0);
	fib_want(&fib, &p, a);
	expect(0, FIB_ADD, -EEXIST);
	ck_assert(fib.unclear);
	for (unsigned i = 0; i < 2; i++) {
		fib_compare_begin(&fib, now);
		found(0, b, STATIC);
		judge();
		ck_assert_uint_eq(fib.findings.foreign, i == 0); /* told once */
		ck_assert_uint_eq(fib.foreign, 1);
		expect_nothing();
	}
	now.ms += FIB_RETRY_MAX_MS;
	fib_retry(&fib, now);
	expect(0, FIB_ADD, -EEXIST);
	ck_assert(!fib.unclear); /* known */
	fib_compare_begin(&fib, now); /* it went, and no event told */
	judge();
	expect(0, FIB_ADD, 0);
	ck_assert_uint_eq(fib.foreign, 0);
}
END_TEST

/* -EEXIST for a route that is ours after all: an answer was lost, or an event came late. */
START_TEST(ours_is_found_again)
{
	install(1);
	event(0, a, 171, FIB_DELETED);
	expect(0, FIB_ADD, -EEXIST);
	fib_compare_begin(&fib, now);
	found(0, a, 171);
	judge();
	ck_assert_uint_eq(fib_differ(&fib.findings), 0);
	ck_assert_uint_eq(fib.refused, 0);
	ck_assert_ptr_eq(fib_entry_have(entry(0)), a);
	expect_nothing();
}
END_TEST

START_TEST(what_changed_meanwhile_is_not_judged)
{
	struct fib_intent in;
	struct prefix p = prefix_of(1), q = prefix_of(4);
	install(4);
	fib_compare_begin(&fib, now);
	found(0, a, 171);
	fib_want(&fib, &p, b); /* acknowledged meanwhile, and the dump is older */
	expect(1, FIB_REPLACE, 0);
	found(1, a, 171);
	fib_want(&fib, &q, a); /* in flight */
	ck_assert(fib_next(&fib, &in));
	judge();
	ck_assert_uint_eq(fib.findings.missing, 2); /* 2 and 3 */
	ck_assert_uint_eq(fib.findings.read, 2);
	ck_assert_ptr_eq(fib_entry_have(entry(1)), b);
	fib_done(&fib, in.entry, 0, "", now);
	ck_assert_uint_eq(fib.todo_count, 2);
	ck_assert(!list_empty(&fib.todo) && list_empty(&fib.hurt)); /* it waits for no pause of events */
	fib_compare_begin(&fib, now); /* the next one sees it */
	judge();
	ck_assert_uint_eq(fib.findings.missing, 3);
	ck_assert_uint_eq(fib.installed, 0);
}
END_TEST

/* It was deleted, and perhaps wanted again, after the kernel had told of it. */
START_TEST(a_dump_older_than_what_went)
{
	struct prefix p = prefix_of(0), q = prefix_of(1);
	install(2);
	fib_compare_begin(&fib, now);
	fib_want(&fib, &p, NULL);
	expect(0, FIB_DELETE, 0);
	fib_want(&fib, &q, NULL);
	expect(1, FIB_DELETE, 0);
	fib_want(&fib, &q, a);
	found(0, a, 171);
	found(1, a, 171);
	expect(1, FIB_ADD, 0); /* and not taken for there */
	expect_nothing();
	judge();
	ck_assert_uint_eq(fib_differ(&fib.findings), 0);
	ck_assert_ptr_null(entry(0));
	found(2, a, 171); /* the next one knows strays again */
	expect(2, FIB_DELETE, 0);
	ck_assert_ptr_null(entry(2));
}
END_TEST

/* The table grows between two slices: nobody is left out, and nobody counted twice. */
START_TEST(judging_outlives_a_growing_table)
{
	enum { FEW = 15, MANY = 200 };
	install(FEW);
	fib_compare_begin(&fib, now);
	ck_assert(!fib_compare_judge(&fib, 5));
	for (unsigned i = FEW; i < MANY; i++) {
		struct prefix p = prefix_of(i);
		fib_want(&fib, &p, a);
	}
	judge();
	ck_assert_uint_eq(fib.findings.missing, FEW);
	ck_assert_uint_eq(fib.todo_count, MANY);
}
END_TEST

static void take_and_see_it_back(int64_t wait_ms)
{
	ck_assert_int_eq(event(0, a, 171, FIB_DELETED), FIB_OURS_TAKEN);
	if (wait_ms) {
		expect_nothing();
		ck_assert(fib_entry_fought_over(entry(0)));
		ck_assert_int_eq(fib_entry_error(entry(0)), 0);
		ck_assert_int_eq(entry(0)->trouble->retry_at.ms - now.ms, wait_ms);
		now.ms += wait_ms;
		fib_retry(&fib, now);
	}
	expect(0, FIB_ADD, 0);
}

START_TEST(a_fight_slows_down_and_ends)
{
	install(1);
	for (unsigned i = 0; i < FIB_FIGHTS; i++)
		take_and_see_it_back(0);
	take_and_see_it_back(1000);
	take_and_see_it_back(2000);
	for (unsigned i = 0; i < 10; i++) { /* a war: as often as seconds are forgotten */
		int64_t begun = now.ms;
		ck_assert_int_eq(event(0, a, 171, FIB_DELETED), FIB_OURS_TAKEN);
		expect_nothing();
		now.ms = entry(0)->trouble->retry_at.ms;
		ck_assert(now.ms - begun >= 2000 && now.ms - begun <= FIB_FIGHT_WAIT_MAX_MS);
		fib_retry(&fib, now);
		expect(0, FIB_ADD, 0);
	}
	now.ms += FIB_FIGHTS_MAX * FIB_FORGET_S * 1000;
	take_and_see_it_back(0); /* peace */
}
END_TEST

/* `ip route flush proto 171`, typed every second or two. */
START_TEST(an_operator_is_served_at_once)
{
	install(1);
	for (unsigned i = 0; i < FIB_FIGHTS; i++, now.ms += 1500)
		take_and_see_it_back(0);
	for (unsigned i = 0; i < 50; i++, now.ms += FIB_FORGET_S * 1000)
		take_and_see_it_back(0);
}
END_TEST

/* Also for what does not wait at the moment. */
START_TEST(the_operator_ends_a_fight)
{
	install(1);
	for (unsigned i = 0; i < FIB_FIGHTS; i++)
		take_and_see_it_back(0);
	now.ms += 2000;
	fib_retry_all(&fib, now);
	for (unsigned i = 0; i < FIB_FIGHTS; i++)
		take_and_see_it_back(0);
	event(0, a, 171, FIB_DELETED);
	expect_nothing();
	fib_retry_all(&fib, now);
	expect(0, FIB_ADD, 0);
}
END_TEST

START_TEST(the_kernel_itself_is_no_enemy)
{
	install(1);
	for (unsigned i = 0; i < 3 * FIB_FIGHTS; i++) {
		event(0, a, 171, FIB_DELETED | FIB_BY_KERNEL);
		expect(0, FIB_ADD, 0);
	}
}
END_TEST

START_TEST(differences_are_walked_in_pieces)
{
	enum { ALL = 300, BAD = 40 };
	uint64_t at = 0;
	unsigned count = 0;
	install(ALL);
	for (unsigned i = 0; i < BAD; i++)
		event(i * 7, a, 171, FIB_DELETED);
	while (at != UINT64_MAX)
		count += fib_next_difference(&fib, &at, 3) != NULL;
	ck_assert_uint_eq(count, BAD);
}
END_TEST

/* Thousands that wait are let go a part at a time, the earliest first. */
/* The answer to its addition was lost when it was not wanted any more, and the kernel has not got it. */
START_TEST(what_nobody_wants_or_has_is_forgotten)
{
	struct fib_intent in;
	struct prefix p = prefix_of(0);
	fib_want(&fib, &p, a);
	ck_assert(fib_next(&fib, &in));
	fib_want(&fib, &p, NULL);
	fib_lost(&fib, in.entry);
	fib_compare_begin(&fib, now);
	judge();
	ck_assert_ptr_null(entry(0));
	ck_assert(!fib.unclear);
	expect_nothing();
}
END_TEST

START_TEST(waits_end_in_order)
{
	struct prefix p = prefix_of(0), q = prefix_of(1);
	fib_want(&fib, &p, a);
	expect(0, FIB_ADD, -ENETUNREACH);
	now.ms += 10;
	fib_want(&fib, &q, a);
	expect(1, FIB_ADD, -ENETUNREACH);
	ck_assert_uint_eq(fib.waiting_count, 2);
	now.ms += FIB_RETRY_MS - 10;
	ck_assert_int_eq(fib_retry(&fib, now).ms, now.ms + 10);
	expect(0, FIB_ADD, 0);
	expect_nothing();
	ck_assert_uint_eq(fib.refused, 1);
	ck_assert_uint_eq(fib.waiting_count, 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fib and others");
	TCase *t = tcase_create("fib and others");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, taken_is_put_back_ahead_of_what_is_new);
	tcase_add_test(t, taken_next_hop_by_next_hop);
	tcase_add_test(t, bent_is_straightened_and_strays_go);
	tcase_add_test(t, what_does_not_fit_waits_for_a_comparison);
	tcase_add_test(t, others_marks_are_not_ours);
	tcase_add_test(t, foreign_route_keeps_ours_out_until_it_goes);
	tcase_add_test(t, comparison_finds_out_who_is_in_our_place);
	tcase_add_test(t, ours_is_found_again);
	tcase_add_test(t, what_changed_meanwhile_is_not_judged);
	tcase_add_test(t, a_dump_older_than_what_went);
	tcase_add_test(t, judging_outlives_a_growing_table);
	tcase_add_test(t, a_fight_slows_down_and_ends);
	tcase_add_test(t, an_operator_is_served_at_once);
	tcase_add_test(t, the_operator_ends_a_fight);
	tcase_add_test(t, the_kernel_itself_is_no_enemy);
	tcase_add_test(t, differences_are_walked_in_pieces);
	tcase_add_test(t, what_nobody_wants_or_has_is_forgotten);
	tcase_add_test(t, waits_end_in_order);
	suite_add_tcase(s, t);
	return run_suite(s);
}
