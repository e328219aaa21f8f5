/* How long the loop is busy between two waits, and with what: what comes meanwhile (keepalives, commands) waits so long. Pure;
 * times are microseconds of the monotonic clock. The processor's time beside it is the daemon's own work, without its wait for a
 * share of a busy machine and without what the kernel does about routes that are written: it lets one at a time in to change routes
 * and links, and when its table of some 100 000 routes is due for another shape, one write takes it 100 ms.
 */
#pragma once
#include <stdint.h>

enum turn_part {
	TURN_EVENTS,
	TURN_AUDIT,
	TURN_LEAVING,
	TURN_REFILTER,
	TURN_REFRESHES,
	TURN_NEXT_HOPS,
	TURN_KERNEL,
	TURN_WRITE, /* not our own work */
	TURN_EXPORT,
	TURN_SWEEP,
	TURN_PARTS,
};

enum { TURN_LONG_US = 5000 };

struct turn_time {
	uint64_t us, cpu_us;
};

struct turns {
	uint64_t count, long_ones;         /* long: more than TURN_LONG_US */
	uint64_t longest_us, longest_at_us;
	enum turn_part longest_part;       /* what took most of the longest */
	uint64_t busiest_us;               /* the most of own work in one */
	uint64_t part_most_us[TURN_PARTS]; /* the most of the processor's time that each part took in one */
	struct turn_time began, mark, part[TURN_PARTS]; /* of the one that runs; began 0: none does */
};

void turns_begin(struct turns *t, struct turn_time now);
/* What went by since the last mark (or the beginning) was for part. */
void turns_mark(struct turns *t, enum turn_part part, struct turn_time now);
void turns_end(struct turns *t, struct turn_time now);
const char *turn_part_name(enum turn_part part);
