#include "src/cni/wishes.h"

#include <json-c/json.h>
#include <string.h>
#include <strings.h>

/* Where a wish came from, for the message. */
struct place {
	const char *name;
	enum cni_code code;
};

/* Runtimes in Go do not care for capitals, and so write them. */
static struct json_object *member(struct json_object *o, const char *key)
{
	if (!json_object_is_type(o, json_type_object))
		return NULL;
	json_object_object_foreach(o, name, value)
		if (strcasecmp(name, key) == 0)
			return value;
	return NULL;
}

static int take_address(const struct place *from, const char *text, struct cni_wishes *out, struct cni_error *e)
{
	struct prefix p;
	struct addr a;
	char bare[ADDR_TEXT_MAX];
	size_t n = strcspn(text, "/"); /* a length may follow; the pod gets a host address all the same */
	if (n >= sizeof bare)
		n = 0;
	memcpy(bare, text, n);
	bare[n] = '\0';
	if (!addr_parse(bare, &a) || !addr_is_unicast(&a) || (text[n] && prefix_parse(text, &p) == PREFIX_BAD_TEXT))
		return cni_fail(e, from->code, "%s: \"%.60s\": expected a unicast address such as 10.244.7.9", from->name,
				text);
	for (unsigned i = 0; i < out->addr_count; i++)
		if (addr_is_v4(&out->addrs[i]) == addr_is_v4(&a))
			return cni_fail(e, from->code, "%s: \"%.60s\": a second address of its family", from->name, text);
	out->addrs[out->addr_count++] = a;
	return 0;
}

static int take_addresses(const struct place *from, struct json_object *list, struct cni_wishes *out,
			  struct cni_error *e)
{
	if (!json_object_is_type(list, json_type_array))
		return cni_fail(e, from->code, "%s: expected a list of addresses", from->name);
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *v = json_object_array_get_idx(list, i);
		int err = take_address(from, json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "", out, e);
		if (err)
			return err;
	}
	return 0;
}

static int take_mac(const struct place *from, const char *text, struct cni_wishes *out, struct cni_error *e)
{
	static const uint8_t zero[CNI_MAC_LEN];
	out->has_mac = cni_mac_parse(text, out->mac) && !(out->mac[0] & 1) && memcmp(out->mac, zero, sizeof zero) != 0;
	if (out->has_mac)
		return 0;
	return cni_fail(e, from->code, "%s: \"%.40s\": expected a unicast MAC such as 02:00:0a:f4:07:09", from->name, text);
}

static const char *text_of(struct json_object *v)
{
	return json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
}

/* An empty string is no wish: runtimes fill templates. */
static int take_object(struct json_object *o, const struct place *ips, const struct place *mac, struct cni_wishes *out,
		       struct cni_error *e)
{
	struct json_object *list = member(o, "ips"), *text = member(o, "mac");
	int err = list && !out->addr_count ? take_addresses(ips, list, out, e) : 0;
	if (!err && text && !out->has_mac && text_of(text)[0])
		err = take_mac(mac, text_of(text), out, e);
	return err;
}

int cni_wishes_parse(const struct cni_request *r, struct cni_wishes *out, struct cni_error *e)
{
	static const struct place runtime_ips = {"runtimeConfig.ips", CNI_BAD_CONFIG};
	static const struct place runtime_mac = {"runtimeConfig.mac", CNI_BAD_CONFIG};
	static const struct place args_ips = {"args.cni.ips", CNI_BAD_CONFIG}, args_mac = {"args.cni.mac", CNI_BAD_CONFIG};
	static const struct place env_ip = {"IP in CNI_ARGS", CNI_BAD_ENVIRONMENT};
	static const struct place env_mac = {"MAC in CNI_ARGS", CNI_BAD_ENVIRONMENT};
	memset(out, 0, sizeof *out);
	int err = take_object(member(r->config, "runtimeConfig"), &runtime_ips, &runtime_mac, out, e);
	if (!err)
		err = take_object(member(member(r->config, "args"), "cni"), &args_ips, &args_mac, out, e);
	if (!err && r->args_ip[0] && !out->addr_count)
		err = take_address(&env_ip, r->args_ip, out, e);
	if (!err && r->args_mac[0] && !out->has_mac)
		err = take_mac(&env_mac, r->args_mac, out, e);
	return err;
}
