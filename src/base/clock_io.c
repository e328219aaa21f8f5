#include "src/base/clock_io.h"

#include <sys/random.h>
#include <time.h>

struct tick clock_now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (struct tick){(int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000};
}

static uint64_t us_of(clockid_t clock)
{
	struct timespec ts;
	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t clock_us(void)
{
	return us_of(CLOCK_BOOTTIME);
}

uint64_t clock_cpu_us(void)
{
	return us_of(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t clock_seed(void)
{
	uint64_t seed;
	if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
		seed = (uint64_t)clock_now().ms;
	return seed;
}
