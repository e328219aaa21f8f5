/* The plugin's parsers: the first byte chooses the verb and whose text the rest is (standard input, the
 * daemon's settings, or a lease record). What is accepted must be within its bounds.
 */
#include <json-c/json.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ipam/lease.h"
#include "src/cni/attachments.h"
#include "src/cni/request.h"
#include "src/cni/result.h"
#include "src/cni/settings.h"
#include "src/cni/wishes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
	if (!ok)
		abort();
}

static void try_request(unsigned verb, const char *text, size_t len)
{
	static const char *const verbs[] = {"ADD", "DEL", "CHECK", "VERSION", "STATUS", "GC"};
	struct cni_environment env = {.command = verbs[verb], .container = "c1", .netns = "/run/netns/x",
				      .ifname = "eth0", .args = "K8S_POD_NAMESPACE=a;K8S_POD_NAME=b"};
	struct cni_request r;
	struct cni_error e = {0};
	struct cni_prev prev;
	struct json_object *v = NULL;
	int err = cni_request_parse(&env, text, len, &r, &e);
	require(cni_version_index(r.version) >= 0);
	require(err == e.code || !err);
	require(err || verb != 0 || r.network[0]);
	require(!err || e.msg[0]);
	require(r.run_dir[0] == '/');
	if (!err && r.config && json_object_object_get_ex(r.config, "prevResult", &v) &&
	    cni_prev_parse(v, "eth0", &prev, &e) == 0)
		require(prev.addr_count <= CNI_PREV_ADDRS && prev.route_count <= CNI_PREV_ROUTES);
	if (!err && r.verb == CNI_GC && cni_attachments_check(&r, &e) == 0)
		cni_attachments_have(&r, "c1", "eth0");
	struct cni_wishes wishes;
	if (!err && cni_wishes_parse(&r, &wishes, &e) == 0)
		require(wishes.addr_count <= IPAM_LEASE_ADDRS);
	char *answer = cni_error_text(r.version, &e);
	require(answer != NULL);
	free(answer);
	cni_request_fini(&r);
}

static void try_settings(const char *text, size_t len)
{
	struct cni_settings s;
	struct cni_error e = {0};
	if (cni_settings_parse("plugin.json", text, len, &s, &e) == 0)
		require(s.cidr_count >= 1 && s.cidr_count <= CNI_CIDRS_MAX && s.mtu <= 65535);
	else
		require(e.code == CNI_TRY_AGAIN && e.msg[0]);
}

static void try_lease(const void *data, size_t len)
{
	struct ipam_lease l, back;
	uint8_t bytes[IPAM_LEASE_BYTES_MAX];
	if (ipam_lease_decode(data, len, &l) != 0)
		return;
	size_t n = ipam_lease_encode(&l, bytes, sizeof bytes);
	require(n == len && memcmp(bytes, data, n) == 0);
	require(ipam_lease_decode(bytes, n, &back) == 0 && memcmp(&l, &back, sizeof l) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	const char *text = (const char *)data + 1;
	if (data[0] == 'S')
		try_settings(text, size - 1);
	else if (data[0] == 'L')
		try_lease(text, size - 1);
	else
		try_request(data[0] % 8 % 6, text, size - 1); /* 0 to 3 as they always were */
	return 0;
}
