/* The row of `underlayc policy test`. */
#pragma once
#include "src/daemon/control_io.h"

show_next_fn show_policy_test;
