/* The end of every Check program: runs the suite, frees it, and answers with main()'s status. */
#pragma once
#include <check.h>
#include <stdlib.h>

static inline int run_suite(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
