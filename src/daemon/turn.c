#include "src/daemon/turn.h"

#include <string.h>

void turns_begin(struct turns *t, struct turn_time now)
{
	memset(t->part, 0, sizeof t->part);
	t->began = t->mark = now;
}

void turns_mark(struct turns *t, enum turn_part part, struct turn_time now)
{
	t->part[part].us += now.us - t->mark.us;
	t->part[part].cpu_us += now.cpu_us - t->mark.cpu_us;
	t->mark = now;
}

static void note_work(struct turns *t)
{
	uint64_t own = 0;
	for (unsigned i = 0; i < TURN_PARTS; i++) {
		uint64_t us = t->part[i].cpu_us;
		own += i == TURN_WRITE ? 0 : us;
		t->part_most_us[i] = us > t->part_most_us[i] ? us : t->part_most_us[i];
	}
	t->busiest_us = own > t->busiest_us ? own : t->busiest_us;
}

static enum turn_part longest_part(const struct turns *t)
{
	enum turn_part part = 0;
	for (unsigned i = 1; i < TURN_PARTS; i++)
		if (t->part[i].us > t->part[part].us)
			part = (enum turn_part)i;
	return part;
}

void turns_end(struct turns *t, struct turn_time now)
{
	uint64_t us = now.us - t->began.us;
	if (!t->began.us)
		return;
	t->began.us = 0;
	t->count++;
	t->long_ones += us > TURN_LONG_US;
	note_work(t);
	if (us <= t->longest_us)
		return;
	t->longest_us = us;
	t->longest_at_us = now.us;
	t->longest_part = longest_part(t);
}

const char *turn_part_name(enum turn_part part)
{
	static const char *const names[TURN_PARTS] = {
		[TURN_EVENTS] = "events",
		[TURN_AUDIT] = "the comparison with the kernel",
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
