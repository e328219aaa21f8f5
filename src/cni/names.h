/* The names that follow from a container's id and its interface's name, so that DEL finds what ADD made
 * without being told more. Pure. The hash must never change: devices carry it across upgrades.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { CNI_NAME_MAX = 16, CNI_ALIAS_MAX = 256, CNI_MAC_LEN = 6, CNI_HOST_NAMES = 4 };

enum cni_end { CNI_HOST_END, CNI_POD_END };

/* "ul" and 11 hex digits. Where another device has that name (44 bits can collide) the next of the
 * CNI_HOST_NAMES numbers is used. */
void cni_host_ifname(const char *container, const char *ifname, unsigned number, char out[CNI_NAME_MAX]);
/* A locally administered unicast address. */
void cni_mac(const char *container, const char *ifname, enum cni_end end, uint8_t out[CNI_MAC_LEN]);
/* False for what is not six pairs of hex digits with colons. */
bool cni_mac_parse(const char *text, uint8_t out[CNI_MAC_LEN]);
void cni_mac_format(const uint8_t mac[CNI_MAC_LEN], char out[18]);
/* "underlay NETWORK/CONTAINER/IFNAME": the host end's ifalias. */
void cni_alias(const char *network, const char *container, const char *ifname, char out[CNI_ALIAS_MAX]);
/* The other way round; false for the alias of another program's device, or a part that is too long. */
bool cni_alias_parse(const char *alias, char network[64], char container[128], char ifname[CNI_NAME_MAX]);
/* Is it the alias of this container's interface, in whatever network? */
bool cni_alias_matches(const char *alias, const char *container, const char *ifname);
