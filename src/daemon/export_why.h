/* Why a peer is told of a prefix, or not: for people, by the same rules as export.c. */
#pragma once
#include <stddef.h>

#include "rib/table.h"

struct peer;

/* NULL: it is told of the best path of e. Otherwise why not, in buf or static. */
const char *export_why_not(const struct peer *p, const struct rib_entry *e, char *buf, size_t cap);
