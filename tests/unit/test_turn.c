/* What the loop remembers of its turns (src/daemon/turn.h). */
#include <check.h>

#include "src/daemon/turn.h"
#include "tests/unit/run_suite.h"

START_TEST(the_longest_and_what_took_most_of_it)
{
	struct turns t = {0};
	turns_mark(&t, TURN_EVENTS, 500); /* before the first turn: not counted */
	turns_end(&t, 900, 900);
	ck_assert_uint_eq(t.count, 0);

	turns_begin(&t, 1000, 100);
	turns_mark(&t, TURN_EVENTS, 1200);
	turns_mark(&t, TURN_KERNEL, 7000);
	turns_mark(&t, TURN_EXPORT, 7100);
	turns_leave_out(&t, 50);
	turns_end(&t, 7100, 450);
	ck_assert_uint_eq(t.longest_us, 6100);
	ck_assert_uint_eq(t.longest_at_us, 7100);
	ck_assert_int_eq(t.longest_part, TURN_KERNEL);
	ck_assert_uint_eq(t.busiest_us, 300);

	turns_begin(&t, 8000, 400);
	turns_mark(&t, TURN_EVENTS, 8000 + TURN_LONG_US);
	turns_end(&t, 8000 + TURN_LONG_US, 400 + TURN_LONG_US);
	ck_assert_uint_eq(t.longest_us, 6100);
	ck_assert_uint_eq(t.busiest_us, TURN_LONG_US);
	ck_assert_uint_eq(t.count, 2);
	ck_assert_uint_eq(t.long_ones, 1); /* as long as the limit is not above it */
	ck_assert_str_eq(turn_part_name(t.longest_part), "routes for the kernel");
}
END_TEST

/* Several rounds of work in a turn add up. */
START_TEST(rounds_of_one_turn_add_up)
{
	struct turns t = {0};
	turns_begin(&t, 1, 0);
	turns_mark(&t, TURN_LEAVING, 100);
	turns_mark(&t, TURN_SWEEP, 140);
	turns_mark(&t, TURN_LEAVING, 150);
	turns_mark(&t, TURN_SWEEP, 250);
	turns_end(&t, 250, 0);
	ck_assert_int_eq(t.longest_part, TURN_SWEEP);
	ck_assert_uint_eq(t.part_us[TURN_LEAVING], 109);
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
