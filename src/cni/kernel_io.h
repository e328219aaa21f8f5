/* The kernel work of the verbs, one function a step, each one or two netlink messages. host is a socket
 * in the plugin's own namespace, pod one inside the pod's. All return 0 or the code set in the error,
 * whose message names the step and the kernel's reason.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "netlink/link_msg.h"
#include "netlink/socket_io.h"
#include "rib/route.h"
#include "src/base/addr.h"
#include "src/cni/error.h"
#include "src/cni/names.h"
#include "src/cni/settings.h"

/* *found is false where there is no such device. */
int cni_link_find(struct netlink_socket *s, const char *name, struct netlink_link *out, bool *found,
		  struct cni_error *e);
/* Finds the VRF that pods are in, and takes its table into the settings. *ifindex is 0 where they are in none; CNI_TRY_AGAIN
 * where it is not there. */
int cni_vrf_find(struct netlink_socket *host, struct cni_settings *settings, uint32_t *ifindex, struct cni_error *e);
/* Puts the device, which is down, into the VRF. */
int cni_vrf_enter(struct netlink_socket *host, const struct netlink_link *l, uint32_t vrf, struct cni_error *e);
/* The host's end of this container's interface: a veth with one of its names that carries its alias, or
 * its address where the alias was not set yet. Where there is none, out->name is a free name for it. */
int cni_host_link_find(struct netlink_socket *host, const char *container, const char *ifname,
		       struct netlink_link *out, bool *found, struct cni_error *e);
/* Removes that one, and with it the pod's end, and every address, neighbour and route on both. */
int cni_host_link_remove(struct netlink_socket *host, const char *container, const char *ifname,
			 struct cni_error *e);

/* CNI_EXISTS where the pod has an interface of the name. */
int cni_veth_make(struct netlink_socket *host, const struct netlink_veth *v, struct cni_error *e);
int cni_link_up(struct netlink_socket *s, const struct netlink_link *l, const char *alias, struct cni_error *e);
/* A device that has just got its carrier drops packets until the kernel has seen to it. Waits for that, a second at
 * most: then it goes on without. */
void cni_link_await(struct netlink_socket *s, const struct netlink_link *l);
int cni_addr_add(struct netlink_socket *s, const struct netlink_link *l, const struct addr *a, struct cni_error *e);
int cni_neigh_set(struct netlink_socket *s, const struct netlink_link *l, const struct addr *a,
		  const uint8_t mac[CNI_MAC_LEN], struct cni_error *e);
/* A route to prefix through the device, by the gateway where that is not NULL. CNI_EXISTS where
 * another route is in its place. */
int cni_route_add(struct netlink_socket *s, const struct netlink_link *l, const struct prefix *prefix,
		  const struct addr *gateway, const struct route_mark *mark, struct cni_error *e);

/* What CHECK asks. False also where the question could not be put. */
bool cni_addr_present(struct netlink_socket *s, const struct netlink_link *l, const struct addr *a);
bool cni_neigh_present(struct netlink_socket *s, const struct netlink_link *l, const struct addr *a,
		       const uint8_t mac[CNI_MAC_LEN]);
/* A route to exactly prefix in the mark's table (protocol 0: of any) that leaves through the device,
 * by the gateway where that is not zero. */
bool cni_route_present(struct netlink_socket *s, const struct netlink_link *l, const struct prefix *prefix,
		       const struct addr *gateway, const struct route_mark *mark);
