/* The monotonic clock (it counts through suspend), and a seed for struct random. */
#pragma once
#include <stdint.h>

#include "src/base/tick.h"

struct tick clock_now(void);
uint64_t clock_us(void);     /* the same clock in microseconds, to measure with */
uint64_t clock_cpu_us(void); /* the processor's time that this process took */
uint64_t clock_seed(void);
