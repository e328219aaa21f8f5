/* What the plugin answers, as JSON text in the shape of the version asked for, and what it reads of an
 * earlier answer. Pure. Texts are malloc'ed, NULL where there is no memory. CNI specification, "Result".
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "ipam/lease.h"
#include "src/base/addr.h"
#include "src/cni/error.h"
#include "src/cni/names.h"

struct json_object;

/* Where pods send everything: an address that no device has. 169.254.1.1 or fe80::1. */
struct addr cni_gateway(bool v4);

struct cni_result {
	const char *version;
	const char *host_ifname, *ifname, *netns;
	const uint8_t *host_mac, *mac;
	const struct ipam_lease *lease; /* the addresses */
	struct json_object *dns;        /* the configuration's, or NULL */
};
/* The host's end first, because followers in a list look for it there; then the pod's. */
char *cni_result_text(const struct cni_result *r);
char *cni_error_text(const char *version, const struct cni_error *e);
char *cni_version_text(const char *version);

/* prevResult, as far as CHECK compares it. */
enum { CNI_PREV_ADDRS = 8, CNI_PREV_ROUTES = 32 };
struct cni_prev {
	bool has_mac;
	uint8_t mac[CNI_MAC_LEN];
	struct addr addrs[CNI_PREV_ADDRS]; /* of our interface */
	unsigned addr_count;
	struct {
		struct prefix dst;
		struct addr gateway; /* zero: not said */
	} routes[CNI_PREV_ROUTES];
	unsigned route_count;
};
/* Lenient about what is absent, null or unknown; CNI_DECODE for what cannot be what it claims. */
int cni_prev_parse(struct json_object *prev, const char *ifname, struct cni_prev *out, struct cni_error *e);
