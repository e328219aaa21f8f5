#include "src/daemon/turn.h"

#include <string.h>

void turns_begin(struct turns *t, uint64_t now_us, uint64_t cpu_us)
{
	memset(t->part_us, 0, sizeof t->part_us);
	t->began_us = t->mark_us = now_us;
	t->cpu_began_us = cpu_us;
}

void turns_mark(struct turns *t, enum turn_part part, uint64_t now_us)
{
	t->part_us[part] += now_us - t->mark_us;
	t->mark_us = now_us;
}

void turns_leave_out(struct turns *t, uint64_t cpu_us)
{
	t->cpu_began_us += cpu_us;
}

static enum turn_part greatest(const uint64_t *us)
{
	enum turn_part part = 0;
	for (unsigned i = 1; i < TURN_PARTS; i++)
		if (us[i] > us[part])
			part = (enum turn_part)i;
	return part;
}

void turns_end(struct turns *t, uint64_t now_us, uint64_t cpu_us)
{
	uint64_t us = now_us - t->began_us, busy_us = cpu_us - t->cpu_began_us;
	if (!t->began_us)
		return;
	t->busiest_us = busy_us > t->busiest_us ? busy_us : t->busiest_us;
	t->began_us = 0;
	t->count++;
	t->long_ones += us > TURN_LONG_US;
	if (us <= t->longest_us)
		return;
	t->longest_us = us;
	t->longest_at_us = now_us;
	t->longest_part = greatest(t->part_us);
}

const char *turn_part_name(enum turn_part part)
{
	static const char *const names[TURN_PARTS] = {
		[TURN_EVENTS] = "events",
		[TURN_LEAVING] = "routes of peers that left",
		[TURN_REFILTER] = "new imports",
		[TURN_REFRESHES] = "refreshes",
		[TURN_NEXT_HOPS] = "next hops",
		[TURN_KERNEL] = "routes for the kernel",
		[TURN_WRITE] = "the kernel, changing routes",
		[TURN_EXPORT] = "telling peers",
		[TURN_SWEEP] = "freeing prefixes",
	};
	return names[part];
}
