/* `underlayc peer NAME stop|start|restart [TEXT]`: does it on the first call, and tells in one row what was done. */
#pragma once
#include "src/daemon/control_io.h"

struct json_object *peer_command(struct show *s);
