/* The leases as the kernel knows them, for a lease store that was lost or damaged. The host's end of every
 * pod's interface carries its network, container and interface name as its alias; its permanent neighbour, or its
 * host route, is the pod's address. What the kernel does not know (the pod's name, the namespace's path) stays empty.
 */
#pragma once
#include "ipam/store_io.h"

/* For struct ipam_fill; arg is not used. */
int cni_rebuild(void *arg, struct ipam_store *s);
