/* The rows of `show host`. */
#pragma once
#include <json-c/json.h>

#include "src/daemon/control_io.h"

struct json_object *show_host(struct show *s);
