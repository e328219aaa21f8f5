/* The pods of this node as the daemon sees them: their leases, and whether the kernel still has what the plugin made.
 * The plugin adds and removes; the daemon only puts back a pod's route that somebody else took away.
 */
#pragma once
#include "ipam/lease.h"

struct daemon;
struct netlink_link;

/* Calls fn for every lease until it answers other than 0. 0 also where no pod ever had an address here; otherwise a
 * code of src/base/err.h or fn's answer. */
int pods_each(const struct daemon *d, int (*fn)(void *arg, const struct ipam_lease *l), void *arg);
/* The lease of an address; false: no pod of this node has it, or it is not known. */
bool pods_find(const struct daemon *d, const struct addr *a, struct ipam_lease *out);
/* The host's end of a pod's link: such links come and go in bursts, and no other routes than the pod's are over them. */
bool pods_is_link(const struct netlink_link *l);
/* "up", "link down" or "no interface". */
const char *pods_link_state(const struct ipam_lease *l);
/* Puts the host routes back that are missing; logs how many. */
void pods_repair(struct daemon *d);
