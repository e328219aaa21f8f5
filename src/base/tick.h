/* Time: a tick is a point on the monotonic clock in milliseconds, wrapped so that it cannot be
 * mixed with a duration. Names end in _at for ticks and in _ms for durations. Tick zero means
 * "never".
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct tick {
	int64_t ms;
};

static inline struct tick tick_after(struct tick t, int64_t ms)
{
	return (struct tick){t.ms + ms};
}

static inline bool tick_is_set(struct tick t)
{
	return t.ms != 0;
}

static inline bool tick_due(struct tick t, struct tick now)
{
	return t.ms != 0 && t.ms <= now.ms;
}

static inline int64_t tick_since_ms(struct tick then, struct tick now)
{
	return now.ms - then.ms;
}

static inline struct tick tick_earlier(struct tick a, struct tick b)
{
	if (!tick_is_set(a) || (tick_is_set(b) && b.ms < a.ms))
		return b;
	return a;
}
