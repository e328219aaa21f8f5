/* The rows of `underlayc show routes why`. */
#pragma once
#include "src/daemon/control_io.h"

show_next_fn show_routes_why;
