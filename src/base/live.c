#include "src/base/live.h"

static size_t counts[LIVE_KINDS];

static const char *const names[LIVE_KINDS] = {
	[LIVE_ATTRS] = "attribute sets",  [LIVE_PATH] = "extra paths",     [LIVE_SOURCE] = "path sources",
	[LIVE_NHSET] = "next-hop sets",   [LIVE_FIB_ENTRY] = "FIB entries", [LIVE_BLOCK] = "output blocks",
	[LIVE_PEER] = "peers",            [LIVE_NEXTHOP] = "next hops",
	[LIVE_OBJECT_HOP] = "next-hop objects", [LIVE_OBJECT_WAY] = "ways of routes",
};

void live_add(enum live_kind k)
{
	counts[k]++;
}

void live_drop(enum live_kind k)
{
	counts[k]--;
}

size_t live_count(enum live_kind k)
{
	return counts[k];
}

const char *live_name(enum live_kind k)
{
	return names[k];
}
