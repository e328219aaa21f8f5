/* A lease, and its bytes in the store: a version byte, then fields of fixed width in little-endian
 * order and texts that carry their length. Pure.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "src/base/addr.h"

enum { IPAM_LEASE_ADDRS = 2, IPAM_LEASE_BYTES_MAX = 1024 };

struct ipam_lease {
	/* the owner: network and container are at most 63 and 127 bytes and without '/' */
	char network[64], container[128], ifname[16];
	char host_ifname[16];
	char netns[256];                     /* as the runtime gave it */
	char pod[256];                       /* "namespace/name", or "" */
	struct addr addrs[IPAM_LEASE_ADDRS]; /* at most one a family, IPv4 first */
	unsigned addr_count;
	uint8_t mac[6];                      /* of the pod's end */
	int64_t since;                       /* seconds since 1970 */
};

/* Bytes written, 0 where cap is too small (IPAM_LEASE_BYTES_MAX never is). */
size_t ipam_lease_encode(const struct ipam_lease *l, void *buf, size_t cap);
/* ERR_CORRUPT for bytes that are no lease, ERR_UNSUPPORTED for a later version. */
int ipam_lease_decode(const void *data, size_t len, struct ipam_lease *out);
/* The store's key: container, ifname and network, each with its NUL, so that what belongs to a container's
 * interface stands together. Bytes written; network may be NULL for that common start. */
enum { IPAM_KEY_MAX = 64 + 128 + 16 };
size_t ipam_lease_key(char key[IPAM_KEY_MAX], const char *network, const char *container, const char *ifname);
