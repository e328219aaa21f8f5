/* `show nexthops`: what routes refer to in the kernel, of which `show routes -j` tells the number. */
#pragma once
#include "src/daemon/control_io.h"

struct json_object *show_nexthops(struct show *s);
