/* Collecting errors: the room's own side of struct conf_errors. Texts from the file are made
 * printable before they enter a message, because messages end on terminals and in logs.
 */
#pragma once
#include "conf/conf.h"
#include "conf/tree.h"

enum { CONF_ERRORS_MAX = 100, CONF_QUOTE_MAX = 100 };

void conf_error_add(struct conf_errors *errors, struct conf_place at, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* No more are kept: what only looks for errors may stop. */
bool conf_errors_full(const struct conf_errors *errors);
/* In the order of the file. */
void conf_errors_sort(struct conf_errors *errors);
/* text without control characters and cut to a readable length, into buf. */
const char *conf_printable(const char *text, char buf[CONF_QUOTE_MAX]);
/* What stands at t, for "found ...". */
const char *conf_tree_describe(const struct conf_tree *t, char buf[CONF_QUOTE_MAX + 32]);
