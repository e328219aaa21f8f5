/* Live objects are counted per kind: `underlayc show memory` prints the counts, and tests end
 * with every one at zero. One process, one thread, so plain globals serve.
 */
#pragma once
#include <stddef.h>

enum live_kind {
	LIVE_ATTRS, LIVE_PATH, LIVE_SOURCE, LIVE_NEXTHOP, LIVE_NHSET, LIVE_OBJECT_HOP, LIVE_OBJECT_WAY, LIVE_FIB_ENTRY, LIVE_BLOCK,
	LIVE_PEER, LIVE_KINDS
};

void live_add(enum live_kind k);
void live_drop(enum live_kind k);
size_t live_count(enum live_kind k);
const char *live_name(enum live_kind k);
