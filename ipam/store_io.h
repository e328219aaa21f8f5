/* The leases of this node, in an LMDB environment in one directory, shared by every plugin process and
 * the daemon. A lease belongs to (network, container id, interface name). Every change is one transaction:
 * who is killed half-way leaves nothing, and LMDB's writer lock is robust, so nobody waits for the
 * dead. Readers never block writers, nor writers readers.
 *
 * A store that is missing, damaged or of a later release can be made anew from what the kernel knows: see
 * ipam_store_open_or_make(). While that happens nobody else has the store open to write.
 *
 * Callers hold no lock of the store while they work in the kernel; what they do to one container's
 * interface, from lease to result, is kept apart by ipam_store_lock_owner().
 *
 * Errors: ERR_NOT_FOUND, ERR_EXISTS, ERR_EXHAUSTED; ERR_CORRUPT for a store that is damaged or not ours,
 * ERR_UNSUPPORTED for one of a later version; -ENOSPC, -EROFS, -EACCES, ... as they came. Time is
 * milliseconds of CLOCK_BOOTTIME, given by the caller. One process opens a directory once.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipam/allocator.h"
#include "ipam/lease.h"

struct ipam_store;

/* With create the directory and an empty store are made where they are missing, otherwise that is
 * ERR_NOT_FOUND. */
int ipam_store_open(struct ipam_store **out, const char *dir, bool create);
/* Writes into a new store, with ipam_store_restore(), what is known of the leases from elsewhere. 0 or an error. */
struct ipam_fill {
	int (*fn)(void *arg, struct ipam_store *s);
	void *arg;
};
/* The same, but a new store is filled before anybody sees it, and one that is damaged, marked so, or of a later
 * version is set aside as DIR/data.mdb.damaged, which *set_aside tells, and made anew. -EAGAIN: others did not end
 * their work in time. */
int ipam_store_open_or_make(struct ipam_store **out, const char *dir, bool create, const struct ipam_fill *fill,
			    bool *set_aside);
void ipam_store_close(struct ipam_store *s); /* NULL is fine */
/* For damage that opening does not see: with this file, DIR/damaged, in place the next ipam_store_open_or_make() makes
 * the store anew. It is there too while a store is filled. */
#define IPAM_DAMAGE_MARK "damaged"

/* Until the store is closed no other process works on this container's interface. -EAGAIN where one
 * still does after wait_ms. -ESTALE: the store was made anew meanwhile, and this one is the old. */
int ipam_store_lock_owner(struct ipam_store *s, const char *container, const char *ifname, int64_t wait_ms);
/* Before that: who works on many containers, one after the other. */
void ipam_store_unlock_owner(struct ipam_store *s, const char *container, const char *ifname);

struct ipam_request {
	const struct ipam_lease *wanted; /* its addresses: those that it must have, for families where it may not be any */
	const struct prefix *cidrs;      /* of both families; one address a family is taken */
	size_t cidr_count;
	int64_t now_ms, reuse_delay_ms;
};
/* 0: *out is the new lease. ERR_EXISTS: *out is the one that the owner already has, unchanged.
 * ERR_EXHAUSTED: *shortage tells of which CIDR (the last of its family). ERR_RANGE, -EADDRINUSE: its cidr is the wanted
 * address, which is in none of the CIDRs, or another's. A wanted address need not have rested. */
int ipam_store_take(struct ipam_store *s, const struct ipam_request *r, struct ipam_lease *out,
		    struct ipam_shortage *shortage);
/* The same answer, and nothing is taken; r->wanted is an owner without a lease. */
int ipam_store_try(struct ipam_store *s, const struct ipam_request *r, struct ipam_shortage *shortage);
/* A lease with its addresses, as it is. ERR_EXISTS where the owner has one, or one of the addresses is another's. */
int ipam_store_restore(struct ipam_store *s, const struct ipam_lease *l);
/* Writes what may change in a lease that is there: host_ifname, netns, pod, mac, since. */
int ipam_store_update(struct ipam_store *s, const struct ipam_lease *l);
/* Its addresses rest from now_ms on; give 0 for addresses that never were in use. */
int ipam_store_release(struct ipam_store *s, const char *network, const char *container, const char *ifname,
		       int64_t now_ms);
int ipam_store_find(struct ipam_store *s, const char *network, const char *container, const char *ifname,
		    struct ipam_lease *out);
/* Whatever the network is called: a configuration may have changed its name since. */
int ipam_store_find_owner_any_network(struct ipam_store *s, const char *container, const char *ifname,
				      struct ipam_lease *out);
/* Every lease as of one moment, until fn returns other than 0, which is then returned. A record that
 * does not decode ends it with ERR_CORRUPT. fn must not call the store. */
int ipam_store_each(struct ipam_store *s, int (*fn)(void *arg, const struct ipam_lease *l), void *arg);
