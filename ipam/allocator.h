/* Which addresses of a CIDR pods may have, and which one is next. Pure: the store says what it knows,
 * this decides.
 *
 * Usable: pods have host routes, so no address is lost to a subnet; but hosts and switches still treat
 * the network and the broadcast address of an IPv4 prefix up to /30, and the subnet-router anycast
 * address of an IPv6 prefix up to /126 (RFC 4291 section 2.6.1), as special: those are never given. All
 * others are, x.x.x.1 too: the pods' gateway is 169.254.1.1, not one of these. In a /31, /32, /127 or
 * /128 every address is usable.
 *
 * Order: addresses that no pod ever had, ascending; then those that were given back, the one that
 * rested longest first, and only after reuse_delay_ms: peers and caches may still send to its last owner.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "src/base/addr.h"

/* Usable addresses, UINT64_MAX where there are more. */
uint64_t ipam_range_total(const struct prefix *cidr);
/* The n-th usable one, from 0; n is below ipam_range_total(). */
struct addr ipam_range_at(const struct prefix *cidr, uint64_t n);
bool ipam_range_usable(const struct prefix *cidr, const struct addr *a);

/* A given-back address may be given out: it rested; or it was never in use (freed_at_ms 0); or its
 * time lies well in the future, which only a store from before a reboot shows (the clock counts from
 * boot). A little in the future is another process that read the clock later and wrote first. */
enum { IPAM_CLOCK_SLACK_MS = 60000 };
bool ipam_rested(int64_t freed_at_ms, int64_t now_ms, int64_t reuse_delay_ms);

/* Why there is nothing to give: for the message. */
struct ipam_shortage {
	struct prefix cidr;
	uint64_t total, used, resting;
};
