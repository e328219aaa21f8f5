#include "src/daemon/publish_io.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netlink/socket_io.h"
#include "src/base/clock_io.h"
#include "src/base/file_io.h"
#include "src/base/log_io.h"
#include "src/daemon/daemon.h"
#include "src/daemon/kernel_ask_io.h"
#include "src/daemon/kernel_home_io.h"

/* The MTU of the link towards dst; 0 where there is none. */
static uint32_t mtu_towards(struct netlink_socket *s, const struct addr *dst, uint32_t vrf)
{
	struct netlink_link link;
	uint32_t ifindex = kernel_ask_link_towards(s, dst, vrf);
	return ifindex && kernel_ask_link(s, ifindex, &link) ? link.mtu : 0;
}

/* Pods get the full MTU of the uplinks, the smallest where they differ. */
static uint32_t uplink_mtu(const struct daemon *d)
{
	const struct conf *c = d->conf;
	struct netlink_socket *s;
	uint32_t mtu = 0;
	if (netlink_socket_open(&s, 0))
		return 0;
	for (size_t i = 0; i < c->peer_count; i++) {
		uint32_t m = mtu_towards(s, &c->peers[i].address, kernel_home_vrf(d));
		if (m && (!mtu || m < mtu))
			mtu = m;
	}
	netlink_socket_close(s);
	return mtu;
}

static struct json_object *facts(const struct daemon *d)
{
	const struct conf *c = d->conf;
	struct json_object *o = json_object_new_object(), *cidrs = json_object_new_array();
	char text[PREFIX_TEXT_MAX];
	for (size_t i = 0; i < c->pods.cidrs.count; i++)
		json_object_array_add(cidrs, json_object_new_string(prefix_format(&c->pods.cidrs.at[i], text)));
	json_object_object_add(o, "version", json_object_new_int(1));
	json_object_object_add(o, "node", json_object_new_string(c->node.name));
	json_object_object_add(o, "cidrs", cidrs);
	json_object_object_add(o, "mtu", json_object_new_int64(d->pod_mtu));
	json_object_object_add(o, "reuse_delay_s", json_object_new_int64(c->pods.reuse_delay_s));
	if (c->kernel.vrf) /* whose table the plugin asks for itself */
		json_object_object_add(o, "vrf", json_object_new_string(c->kernel.vrf));
	else
		json_object_object_add(o, "table", json_object_new_int64(c->kernel.table));
	json_object_object_add(o, "protocol", json_object_new_int(c->kernel.protocol));
	return o;
}

static bool same_content(const char *path, const char *text)
{
	char old[65536];
	FILE *f = fopen(path, "re");
	if (!f)
		return false;
	size_t n = fread(old, 1, sizeof old, f);
	fclose(f);
	return n == strlen(text) && memcmp(old, text, n) == 0;
}

int publish_plugin_facts(struct daemon *d)
{
	enum { AGAIN_MS = 5000 };
	static struct log_limit limit;
	char path[512], *text;
	uint32_t mtu = uplink_mtu(d);
	if (mtu) /* a link that is away for a moment changes nothing */
		d->pod_mtu = mtu;
	struct json_object *o = facts(d);
	snprintf(path, sizeof path, "%s/plugin.json", d->conf->run_dir);
	if (asprintf(&text, "%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN)) < 0)
		abort();
	bool same = same_content(path, text);
	int error = same ? 0 : file_replace(path, text);
	d->publish_again_at = error ? tick_after(clock_now(), AGAIN_MS) : (struct tick){0};
	if (error)
		log_remote(&limit, LOG_LEVEL_ERROR, "plugin facts", "%s: %s: new pods keep the settings of before", path, strerror(-error));
	free(text);
	json_object_put(o);
	return error ? error : !same;
}
