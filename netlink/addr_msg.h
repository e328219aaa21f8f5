/* Interface addresses and neighbours as rtnetlink messages. Pure: bytes in, bytes out. Encoders
 * return the bytes written, 0 where they do not fit.
 */
#pragma once
#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/addr.h"

enum { NETLINK_ADDR_MESSAGE_MAX = 256 };

struct netlink_addr {
	struct addr addr;  /* the interface's own (IFA_LOCAL) */
	uint8_t plen;      /* as written: 0..32 or 0..128 */
	uint32_t ifindex;
	uint32_t flags;    /* IFA_F_* */
	uint8_t scope;
};

/* A host address: /32, or /128 without duplicate address detection. -EEXIST where it is there. */
size_t netlink_addr_add(void *buf, size_t cap, uint32_t seq, uint32_t ifindex, const struct addr *a);
/* All addresses of the family, of one interface where ifindex is not 0. */
size_t netlink_addr_dump_request(void *buf, size_t cap, uint32_t seq, int family, uint32_t ifindex);
/* RTM_NEWADDR or RTM_DELADDR. ERR_CORRUPT, ERR_UNSUPPORTED (another family), or 0. */
int netlink_addr_decode(const struct nlmsghdr *h, struct netlink_addr *out, bool *deleted);

struct netlink_neigh {
	struct addr addr;
	uint32_t ifindex;
	uint16_t state; /* NUD_* */
	bool has_mac;
	uint8_t mac[6];
};

/* A permanent entry, in place of any that is there. */
size_t netlink_neigh_set(void *buf, size_t cap, uint32_t seq, uint32_t ifindex, const struct addr *a,
			 const uint8_t mac[6]);
size_t netlink_neigh_delete(void *buf, size_t cap, uint32_t seq, uint32_t ifindex, const struct addr *a);
size_t netlink_neigh_get(void *buf, size_t cap, uint32_t seq, uint32_t ifindex, const struct addr *a);
/* All neighbours of both families. */
size_t netlink_neigh_dump_request(void *buf, size_t cap, uint32_t seq);
int netlink_neigh_decode(const struct nlmsghdr *h, struct netlink_neigh *out, bool *deleted);
