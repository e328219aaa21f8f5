/* What the daemon publishes for the plugin: RUNDIR/plugin.json, written by underlayd under another
 * name and renamed, so a reader sees the old or the new one. Pure.
 *
 *   {"version": 1, "node": "r1-n7", "cidrs": ["10.244.7.0/24"], "mtu": 1500, "reuse_delay_s": 60,
 *    "table": 254, "protocol": 171, "vrf": "red"}
 *
 * mtu 0 or absent leaves the kernel's default; vrf is absent where pods are in none, and where it is given, table is not: the VRF's
 * own is used (kernel_io.h). The other three have the defaults shown.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "src/base/addr.h"
#include "src/cni/error.h"

enum { CNI_CIDRS_MAX = 16, CNI_VRF_MAX = 16, CNI_SETTINGS_BYTES_MAX = 64 << 10 };

struct cni_settings {
	struct prefix cidrs[CNI_CIDRS_MAX];
	size_t cidr_count; /* at least 1 */
	uint32_t mtu, table;
	char vrf[CNI_VRF_MAX]; /* "": none */
	int64_t reuse_delay_ms;
	uint8_t protocol;
};

/* CNI_TRY_AGAIN for whatever is wrong: the daemon will write another one. The message starts with what. */
int cni_settings_parse(const char *what, const char *text, size_t len, struct cni_settings *out, struct cni_error *e);
