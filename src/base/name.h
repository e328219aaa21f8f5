/* What things are called that people name: peers, policies, sets, owners of routes. */
#pragma once
#include <stdbool.h>

enum { NAME_LEN_MAX = 63 };
#define NAME_RULE "1 to 63 letters, digits, dots, dashes or underscores that start with a letter or a digit"

bool name_ok(const char *name); /* by NAME_RULE; then it can stand in a path, too */
