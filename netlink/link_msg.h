/* Network devices as rtnetlink messages: asking for one, making a veth pair whose peer is born in
 * another network namespace, changing and deleting. Pure: bytes in, bytes out. Encoders return the
 * bytes written, 0 where they do not fit.
 */
#pragma once
#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LINK_NAME_MAX = 16, LINK_ALIAS_MAX = 256, LINK_KIND_MAX = 16, LINK_MAC_LEN = 6 };
enum { NETLINK_LINK_MESSAGE_MAX = 1024 };

struct netlink_link {
	uint32_t ifindex;
	uint32_t mtu;
	uint32_t flags;              /* IFF_UP and friends */
	char name[LINK_NAME_MAX];
	char alias[LINK_ALIAS_MAX];  /* "" : none */
	char kind[LINK_KIND_MAX];    /* "veth", "dummy", ...; "" for hardware */
	uint8_t mac[LINK_MAC_LEN];   /* zero where the device has no Ethernet address */
	uint32_t master;             /* the bridge, bond or VRF that it belongs to; 0: none */
	uint32_t vrf_table;          /* of a VRF; 0: it is none */
};

struct netlink_veth {
	const char *name, *peer_name;
	uint8_t mac[LINK_MAC_LEN], peer_mac[LINK_MAC_LEN];
	uint32_t mtu;   /* 0: the kernel's default */
	int peer_netns; /* a descriptor of the namespace that the peer is made in */
};

size_t netlink_link_get_by_name(void *buf, size_t cap, uint32_t seq, const char *name);
size_t netlink_link_get_by_index(void *buf, size_t cap, uint32_t seq, uint32_t ifindex);
size_t netlink_link_dump_request(void *buf, size_t cap, uint32_t seq);
/* Both ends in the one message: nothing is moved between namespaces, and udev finds the MACs set.
 * -EEXIST where a name is taken on either side, and then nothing was made. */
size_t netlink_link_add_veth(void *buf, size_t cap, uint32_t seq, const struct netlink_veth *v);
/* Sets IFF_UP, and the alias where it is not NULL. */
size_t netlink_link_up(void *buf, size_t cap, uint32_t seq, uint32_t ifindex, const char *alias);
/* Puts the device into a bridge, bond or VRF. */
size_t netlink_link_enslave(void *buf, size_t cap, uint32_t seq, uint32_t ifindex, uint32_t master);
size_t netlink_link_delete(void *buf, size_t cap, uint32_t seq, uint32_t ifindex);
/* RTM_NEWLINK or RTM_DELLINK. 0, ERR_CORRUPT, or ERR_UNSUPPORTED for what is not about the link itself. */
int netlink_link_decode(const struct nlmsghdr *h, struct netlink_link *out, bool *deleted);
