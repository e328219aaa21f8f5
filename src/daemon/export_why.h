/* Why a peer is told of a prefix, or not: for people, by the same rules as export.c. */
#pragma once
#include <stddef.h>

#include "rib/table.h"

struct peer;

/* NULL: it is told of e, of the best path or of another where it gets several. Otherwise why not of the best, in buf or
 * static. */
const char *export_why_not(const struct peer *p, struct rib_entry *e, char *buf, size_t cap);
