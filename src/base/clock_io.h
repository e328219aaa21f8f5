/* The monotonic clock (it counts through suspend), and a seed for struct random. */
#pragma once
#include <stdint.h>

#include "src/base/tick.h"

struct tick clock_now(void);
uint64_t clock_seed(void);
