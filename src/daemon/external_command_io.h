/* The commands about routes of others: `route add`, `route hold`, `route remove` and `show external`. */
#pragma once
#include "src/daemon/control_io.h"

show_next_fn route_add, route_hold, route_remove, show_external;
