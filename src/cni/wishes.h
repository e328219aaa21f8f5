/* The addresses and the MAC that a runtime asks for: runtimeConfig (capabilities ips and mac) before args.cni before
 * CNI_ARGS, where podman and CRI-O put IP= and MAC=. Pure.
 */
#pragma once
#include <stdbool.h>

#include "ipam/lease.h"
#include "src/cni/error.h"
#include "src/cni/names.h"
#include "src/cni/request.h"

struct cni_wishes {
	struct addr addrs[IPAM_LEASE_ADDRS]; /* at most one a family */
	unsigned addr_count;
	bool has_mac;
	uint8_t mac[CNI_MAC_LEN];
};

/* CNI_BAD_CONFIG, or CNI_BAD_ENVIRONMENT for CNI_ARGS, with the value and what was expected. */
int cni_wishes_parse(const struct cni_request *r, struct cni_wishes *out, struct cni_error *e);
