/* Asks the kernel about the next hops of rib/nexthop.h, and knows which events cast doubt on its answers. kernel_watch_io.c,
 * which hears of links, addresses and routes, passes them on. A next hop that only the default route leads to counts as
 * unreachable, and so does one that only a route of our own leads to, unless all paths of that one are from external
 * peers on links of ours: nothing can then depend on itself.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "src/base/addr.h"

struct daemon;
struct next_hops;
struct nexthop_table;

/* Makes the daemon's RIB track its next hops. NULL after saying why. */
struct next_hops *next_hops_new(struct daemon *d);
void next_hops_free(struct next_hops *n); /* NULL is fine; after the RIB */

void next_hops_link_changed(struct next_hops *n, uint32_t ifindex);
void next_hops_prefix_changed(struct next_hops *n, const struct prefix *p);
void next_hops_missed_events(struct next_hops *n);
/* The kernel took a change of ours. */
void next_hops_own_changed(struct next_hops *n);
void next_hops_objects_changed(struct next_hops *n); /* another's */

/* Is the address on a link of ours (ifindex: on this one, or in this VRF; 0: any)? n NULL: not known, false. */
bool next_hops_on_link(struct next_hops *n, const struct addr *a, uint32_t ifindex);
/* The VRF that a session over device is in, by its index: kernel.vrf, or the device itself where it is one; 0: in none. */
uint32_t next_hops_vrf(struct next_hops *n, const char *device);

/* NULL where n is. */
struct nexthop_table *next_hops_table(struct next_hops *n);

/* Some of the work; true: more is left that could be done now. */
bool next_hops_work(struct next_hops *n);
/* Nothing is in doubt, and all that depends on the answers has been decided. */
bool next_hops_settled(const struct next_hops *n);
