#include "src/cni/result.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "src/cni/request.h"

struct addr cni_gateway(bool v4)
{
	static const uint8_t v4_bytes[4] = {169, 254, 1, 1};
	static const struct addr v6 = {{0xfe, 0x80, [15] = 1}};
	return v4 ? addr_from_v4_bytes(v4_bytes) : v6;
}

static void put_text(struct json_object *o, const char *key, const char *text)
{
	json_object_object_add(o, key, json_object_new_string(text));
}

static char *to_text(struct json_object *o)
{
	const char *text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	char *copy = text ? strdup(text) : NULL;
	json_object_put(o);
	return copy;
}

static const char *host_prefix_text(const struct addr *a, char buf[PREFIX_TEXT_MAX])
{
	struct prefix p = prefix_make(a, 128);
	return prefix_format(&p, buf);
}

static struct json_object *default_route(bool v4)
{
	struct addr gw = cni_gateway(v4);
	char text[ADDR_TEXT_MAX];
	struct json_object *o = json_object_new_object();
	put_text(o, "dst", v4 ? "0.0.0.0/0" : "::/0");
	put_text(o, "gw", addr_format(&gw, text));
	return o;
}

static struct json_object *interface(const char *name, const uint8_t *mac, const char *sandbox)
{
	char text[18];
	struct json_object *o = json_object_new_object();
	put_text(o, "name", name);
	cni_mac_format(mac, text);
	put_text(o, "mac", text);
	if (sandbox)
		put_text(o, "sandbox", sandbox);
	return o;
}

static struct json_object *ip_entry(const struct cni_result *r, const struct addr *a)
{
	struct addr gw = cni_gateway(addr_is_v4(a));
	char text[PREFIX_TEXT_MAX];
	struct json_object *o = json_object_new_object();
	if (cni_version_has_ip_version(r->version))
		put_text(o, "version", addr_is_v4(a) ? "4" : "6");
	put_text(o, "address", host_prefix_text(a, text));
	put_text(o, "gateway", addr_format(&gw, text));
	json_object_object_add(o, "interface", json_object_new_int(1));
	return o;
}

/* 0.3.0 and later */
static void put_current(struct json_object *o, const struct cni_result *r)
{
	struct json_object *interfaces = json_object_new_array(), *ips = json_object_new_array();
	struct json_object *routes = json_object_new_array();
	json_object_array_add(interfaces, interface(r->host_ifname, r->host_mac, NULL));
	json_object_array_add(interfaces, interface(r->ifname, r->mac, r->netns));
	for (unsigned i = 0; i < r->lease->addr_count; i++) {
		const struct addr *a = &r->lease->addrs[i];
		json_object_array_add(ips, ip_entry(r, a));
		json_object_array_add(routes, default_route(addr_is_v4(a)));
	}
	json_object_object_add(o, "interfaces", interfaces);
	json_object_object_add(o, "ips", ips);
	json_object_object_add(o, "routes", routes);
}

/* 0.1.0 and 0.2.0: one address a family, its routes inside it, no interfaces */
static void put_old(struct json_object *o, const struct cni_result *r)
{
	for (unsigned i = 0; i < r->lease->addr_count; i++) {
		const struct addr *a = &r->lease->addrs[i];
		bool v4 = addr_is_v4(a);
		struct addr gw = cni_gateway(v4);
		char text[PREFIX_TEXT_MAX];
		struct json_object *ip = json_object_new_object(), *routes = json_object_new_array();
		put_text(ip, "ip", host_prefix_text(a, text));
		put_text(ip, "gateway", addr_format(&gw, text));
		json_object_array_add(routes, default_route(v4));
		json_object_object_add(ip, "routes", routes);
		json_object_object_add(o, v4 ? "ip4" : "ip6", ip);
	}
}

char *cni_result_text(const struct cni_result *r)
{
	struct json_object *o = json_object_new_object();
	put_text(o, "cniVersion", r->version);
	if (cni_version_has_interfaces(r->version))
		put_current(o, r);
	else
		put_old(o, r);
	json_object_object_add(o, "dns", r->dns ? json_object_get(r->dns) : json_object_new_object());
	return to_text(o);
}

char *cni_error_text(const char *version, const struct cni_error *e)
{
	struct json_object *o = json_object_new_object();
	put_text(o, "cniVersion", version);
	json_object_object_add(o, "code", json_object_new_int(e->code));
	put_text(o, "msg", e->msg);
	if (e->details[0])
		put_text(o, "details", e->details);
	return to_text(o);
}

char *cni_version_text(const char *version)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();
	for (int i = 0; cni_versions[i]; i++)
		json_object_array_add(list, json_object_new_string(cni_versions[i]));
	put_text(o, "cniVersion", version);
	json_object_object_add(o, "supportedVersions", list);
	return to_text(o);
}

/* --- prevResult */

static const char *text_of(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;
	if (json_object_is_type(o, json_type_object))
		json_object_object_get_ex(o, key, &v);
	return json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
}

/* The list under key: an absent or null one has no entries. */
static size_t list_of(struct json_object *o, const char *key, struct json_object **list)
{
	*list = NULL;
	json_object_object_get_ex(o, key, list);
	return json_object_is_type(*list, json_type_array) ? json_object_array_length(*list) : 0;
}

/* Which of the interfaces is ours: it has the name and lies in a sandbox. -1: none. */
static int find_interface(struct json_object *list, size_t n, const char *ifname)
{
	for (size_t i = 0; i < n; i++) {
		struct json_object *o = json_object_array_get_idx(list, i);
		if (strcmp(text_of(o, "name"), ifname) == 0 && text_of(o, "sandbox")[0])
			return (int)i;
	}
	return -1;
}

static int take_addr(struct json_object *entry, size_t interfaces, int ours, struct cni_prev *out, struct cni_error *e)
{
	struct json_object *index = NULL;
	struct prefix ignored;
	char host[ADDR_TEXT_MAX] = "";
	const char *text = text_of(entry, "address");
	size_t n = strcspn(text, "/");
	if (json_object_is_type(entry, json_type_object))
		json_object_object_get_ex(entry, "interface", &index);
	if (n < sizeof host)
		memcpy(host, text, n);
	struct addr *a = &out->addrs[out->addr_count];
	if (prefix_parse(text, &ignored) == PREFIX_BAD_TEXT || !addr_parse(host, a))
		return cni_fail(e, CNI_DECODE, "prevResult: \"%.60s\" is not an address", text);
	if (index) {
		int64_t i = json_object_get_int64(index);
		if (!json_object_is_type(index, json_type_int) || i < 0 || (uint64_t)i >= interfaces)
			return cni_fail(e, CNI_DECODE, "prevResult: %.60s is on an interface that is not listed", text);
		if (i != ours)
			return 0;
	}
	out->addr_count++;
	return 0;
}

static int take_route(struct json_object *entry, struct cni_prev *out, struct cni_error *e)
{
	const char *dst = text_of(entry, "dst"), *gw = text_of(entry, "gw");
	struct addr *gateway = &out->routes[out->route_count].gateway;
	if (prefix_parse(dst, &out->routes[out->route_count].dst) == PREFIX_BAD_TEXT)
		return cni_fail(e, CNI_DECODE, "prevResult: route to \"%.60s\": not a CIDR", dst);
	memset(gateway, 0, sizeof *gateway);
	if (gw[0] && !addr_parse(gw, gateway))
		return cni_fail(e, CNI_DECODE, "prevResult: route through \"%.60s\": not an address", gw);
	out->route_count++;
	return 0;
}

int cni_prev_parse(struct json_object *prev, const char *ifname, struct cni_prev *out, struct cni_error *e)
{
	struct json_object *interfaces, *ips, *routes;
	memset(out, 0, sizeof *out);
	if (!json_object_is_type(prev, json_type_object))
		return cni_fail(e, CNI_DECODE, "prevResult is not an object");
	size_t n = list_of(prev, "interfaces", &interfaces);
	int ours = find_interface(interfaces, n, ifname);
	if (n && ours < 0)
		return cni_fail(e, CNI_NOT_AS_MADE, "prevResult lists no interface %s in a sandbox", ifname);
	if (ours >= 0)
		out->has_mac = cni_mac_parse(text_of(json_object_array_get_idx(interfaces, (size_t)ours), "mac"), out->mac);
	size_t ip_count = list_of(prev, "ips", &ips), route_count = list_of(prev, "routes", &routes);
	int err = 0;
	for (size_t i = 0; !err && i < ip_count && out->addr_count < CNI_PREV_ADDRS; i++)
		err = take_addr(json_object_array_get_idx(ips, i), n, ours, out, e);
	for (size_t i = 0; !err && i < route_count && out->route_count < CNI_PREV_ROUTES; i++)
		err = take_route(json_object_array_get_idx(routes, i), out, e);
	return err;
}
