/* What the host must be for pods to reach anybody, and is not: said at the start and in `show status`. Nothing is
 * changed: these settings are the machine's.
 */
#pragma once
#include <stddef.h>

#include "src/base/addr.h"

/* Calls fn with a sentence for each thing that is wrong for a node with these pod CIDRs, and what to do about it. */
void host_check(const struct prefix *cidrs, size_t count, void (*fn)(void *arg, const char *sentence), void *arg);
