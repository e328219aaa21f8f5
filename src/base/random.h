/* Pseudo-random numbers for jitter, from a state that the edge seeds: pure code stays
 * repeatable. Not for secrets.
 */
#pragma once
#include <stdint.h>

struct random {
	uint64_t state;
};

static inline uint32_t random_next(struct random *r)
{
	r->state += 0x9e3779b97f4a7c15u;
	uint64_t z = r->state;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (uint32_t)(z >> 32);
}

/* between 75 and 100 percent of ms, as RFC 4271 section 10 wants timers jittered */
static inline int64_t random_jitter_ms(struct random *r, int64_t ms)
{
	return ms - ms * (random_next(r) % 256) / 1024;
}
