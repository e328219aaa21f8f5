/* What the interface of a local address has: the addresses that we can offer as next hops there. */
#pragma once
#include <stdint.h>

#include "src/base/addr.h"

struct local_link {
	uint32_t ifindex;                 /* 0: no interface has the address */
	struct addr v4, v6, link_local;   /* zero: none. v6 is a global one */
};

/* The interface with the address local that is device, or in the VRF that device is; 0: none. */
uint32_t local_link_on(const char *device, const struct addr *local);
/* The interface ifindex, where it is not 0; else the one that has the address local. */
void local_link_of(const struct addr *local, uint32_t ifindex, struct local_link *out);
