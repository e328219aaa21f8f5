/* How long the loop is busy between two waits, and with what: what comes meanwhile (keepalives, commands) waits so long. Pure;
 * times are microseconds of the monotonic clock. The processor's time beside it tells what the daemon did in it from what it waited
 * for: the kernel, which serves one writer of routes and links at a time, or its share of a busy machine.
 */
#pragma once
#include <stdint.h>

enum turn_part { TURN_EVENTS, TURN_LEAVING, TURN_REFILTER, TURN_REFRESHES, TURN_NEXT_HOPS, TURN_KERNEL, TURN_EXPORT, TURN_SWEEP, TURN_PARTS };

enum { TURN_LONG_US = 5000 };

struct turns {
	uint64_t count, long_ones;         /* long: more than TURN_LONG_US */
	uint64_t longest_us, longest_at_us;
	enum turn_part longest_part;       /* what took most of the longest */
	uint64_t busiest_us;               /* the most of the processor's time that one took */
	uint64_t began_us, mark_us, part_us[TURN_PARTS]; /* of the one that runs; began 0: none does */
	uint64_t cpu_began_us;
};

void turns_begin(struct turns *t, uint64_t now_us, uint64_t cpu_us);
/* What went by since the last mark (or the beginning) was for part. */
void turns_mark(struct turns *t, enum turn_part part, uint64_t now_us);
void turns_end(struct turns *t, uint64_t now_us, uint64_t cpu_us);
const char *turn_part_name(enum turn_part part);
