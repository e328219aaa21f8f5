/* Which of the benchmarks' routes (tests/bench/feed.h) a kernel has, seen from outside of the daemon and hardly felt by it: some
 * prefixes, spread over all, are asked for one after the other; when the last of them is as it should be, the whole table is read
 * and counted, once.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bgp/open.h"

struct kernel_table;

/* netns: the name of a network namespace (ip-netns(8)). NULL with errno. */
struct kernel_table *kernel_table_open(const char *netns, enum bgp_family family, size_t prefixes);
/* From now on only routes with so many next hops count. */
void kernel_table_want_next_hops(struct kernel_table *k, unsigned count);
/* Are all of them there (or none, where there is false)? False costs one question. After an answer of true it starts anew. */
bool kernel_table_is(struct kernel_table *k, bool there);
