/* The rows of `underlayc show routes why`. */
#pragma once
#include "rib/table.h"
#include "src/daemon/control_io.h"

show_next_fn show_routes_why;
/* Of a path whose next hop cannot be reached: why that is. */
const char *path_unreachable_text(const struct rib *r, const struct rib_path *p);
