/* What the loop remembers of its turns (src/daemon/turn.h). */
#include <check.h>

#include "src/daemon/turn.h"
#include "tests/unit/run_suite.h"

static struct turn_time at(uint64_t us, uint64_t cpu_us)
{
	return (struct turn_time){us, cpu_us};
}

START_TEST(the_longest_and_what_took_most_of_it)
{
	struct turns t = {0};
	turns_mark(&t, TURN_EVENTS, at(500, 500)); /* before the first turn: not counted */
	turns_end(&t, at(900, 900));
	ck_assert_uint_eq(t.count, 0);

	turns_begin(&t, at(1000, 100));
	turns_mark(&t, TURN_EVENTS, at(1200, 300));
	turns_mark(&t, TURN_KERNEL, at(7000, 400));
	turns_mark(&t, TURN_WRITE, at(7100, 900));
	turns_end(&t, at(7100, 900));
	ck_assert_uint_eq(t.longest_us, 6100);
	ck_assert_uint_eq(t.longest_at_us, 7100);
	ck_assert_int_eq(t.longest_part, TURN_KERNEL);
	ck_assert_str_eq(turn_part_name(t.longest_part), "routes for the kernel");
	ck_assert_uint_eq(t.busiest_us, 300); /* what the kernel did is not our own work */

	turns_begin(&t, at(8000, 1000));
	turns_mark(&t, TURN_EVENTS, at(8000 + TURN_LONG_US, 1250));
	turns_end(&t, at(8000 + TURN_LONG_US, 1250));
	ck_assert_uint_eq(t.longest_us, 6100);
	ck_assert_uint_eq(t.busiest_us, 300);
	ck_assert_uint_eq(t.part_most_us[TURN_EVENTS], 250);
	ck_assert_uint_eq(t.part_most_us[TURN_KERNEL], 100);
	ck_assert_uint_eq(t.count, 2);
	ck_assert_uint_eq(t.long_ones, 1); /* the limit itself is not long */
}
END_TEST

/* Several rounds of work in a turn add up. */
START_TEST(rounds_of_one_turn_add_up)
{
	struct turns t = {0};
	turns_begin(&t, at(1, 0));
	turns_mark(&t, TURN_LEAVING, at(100, 50));
	turns_mark(&t, TURN_SWEEP, at(140, 60));
	turns_mark(&t, TURN_LEAVING, at(150, 65));
	turns_mark(&t, TURN_SWEEP, at(250, 90));
	turns_end(&t, at(250, 90));
	ck_assert_int_eq(t.longest_part, TURN_SWEEP);
	ck_assert_uint_eq(t.part_most_us[TURN_LEAVING], 55);
	ck_assert_uint_eq(t.busiest_us, 90);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("turn");
	TCase *tc = tcase_create("turns");
	tcase_add_test(tc, the_longest_and_what_took_most_of_it);
	tcase_add_test(tc, rounds_of_one_turn_add_up);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
