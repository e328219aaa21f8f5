/* What the host must be for pods to reach anybody, and is not: said at the start and in `show status`. Nothing is
 * changed: these settings are the machine's.
 */
#pragma once
#include <stddef.h>

struct conf;

/* Calls fn with a sentence for each thing that is wrong, and what to do about it. */
void host_check(const struct conf *c, void (*fn)(void *arg, const char *sentence), void *arg);
