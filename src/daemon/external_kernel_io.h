/* The kernel's routes of the tables and protocols in `external:`, as paths in the RIB: one source an entry, the route's
 * metric as path identifier, since the kernel may have several to one prefix.
 *
 * One socket for events and dumps, so that what is read is in the order in which it happened. A dump is a round of
 * rib/refresh.h: what it does not find goes. It is read at the start, a few datagrams a turn, and again when events were
 * lost, when links or addresses went (which takes routes along without a word) and once a minute.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct daemon;
struct external_kernel;
struct external_rules;
struct rib_source;

/* protocol: of our own routes, which are never among them. */
struct external_kernel *external_kernel_new(struct daemon *d, uint8_t protocol);
void external_kernel_free(struct external_kernel *k); /* when the RIB is gone */
/* Watches for what these entries say; they are borrowed until the next call. Everything is read anew. */
void external_kernel_apply(struct external_kernel *k, const struct external_rules *rules, size_t count);
/* Takes out what a dump has not found, a slice; true: there is more. */
bool external_kernel_work(struct external_kernel *k);
/* Everything was read once. */
bool external_kernel_settled(const struct external_kernel *k);
/* How many of the kernel's routes are in the RIB. */
size_t external_kernel_count(const struct external_kernel *k);
/* The entry that the source is of; NULL: it is an owner's. */
const struct external_rules *external_kernel_entry(const struct external_kernel *k, const struct rib_source *s);
