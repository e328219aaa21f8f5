#include "src/cni/settings.h"

#include <json-c/json.h>
#include <string.h>

#include "src/cni/request.h"

enum { VERSION = 1 };

/* An integer member within its bounds, or its default where it is absent. */
static int number(const char *what, struct json_object *o, const char *key, int64_t low, int64_t high, int64_t *out,
		  struct cni_error *e)
{
	struct json_object *v;
	if (!json_object_object_get_ex(o, key, &v))
		return 0;
	int64_t n = json_object_get_int64(v);
	if (!json_object_is_type(v, json_type_int) || n < low || n > high)
		return cni_fail(e, CNI_TRY_AGAIN, "%s: %s: expected a number from %lld to %lld", what, key,
				(long long)low, (long long)high);
	*out = n;
	return 0;
}

static int take_cidrs(const char *what, struct json_object *o, struct cni_settings *out, struct cni_error *e)
{
	struct json_object *list;
	if (!json_object_object_get_ex(o, "cidrs", &list) || !json_object_is_type(list, json_type_array))
		return cni_fail(e, CNI_TRY_AGAIN, "%s: cidrs: expected a list", what);
	size_t n = json_object_array_length(list);
	if (!n)
		return cni_fail(e, CNI_TRY_AGAIN, "%s: this node has no pod CIDR yet", what);
	if (n > CNI_CIDRS_MAX)
		return cni_fail(e, CNI_TRY_AGAIN, "%s: cidrs: more than %d", what, CNI_CIDRS_MAX);
	for (size_t i = 0; i < n; i++) {
		struct json_object *v = json_object_array_get_idx(list, i);
		const char *text = json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
		if (!strchr(text, '/') || prefix_parse(text, &out->cidrs[i]) != PREFIX_OK)
			return cni_fail(e, CNI_TRY_AGAIN, "%s: cidrs[%zu]: expected a CIDR like 10.244.7.0/24", what, i);
	}
	out->cidr_count = n;
	return 0;
}

static int take_vrf(const char *what, struct json_object *o, struct cni_settings *out, struct cni_error *e)
{
	struct json_object *v;
	if (!json_object_object_get_ex(o, "vrf", &v))
		return 0;
	const char *name = json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
	if (!*name || strlen(name) >= sizeof out->vrf)
		return cni_fail(e, CNI_TRY_AGAIN, "%s: vrf: expected an interface's name", what);
	strcpy(out->vrf, name);
	return 0;
}

static int take_members(const char *what, struct json_object *o, struct cni_settings *out, struct cni_error *e)
{
	int64_t version = 0, mtu = 0, delay = 60, table = 254, protocol = 171;
	const struct {
		const char *key;
		int64_t low, high, *out;
	} numbers[] = {
		{"version", 1, INT32_MAX, &version}, {"mtu", 0, 65535, &mtu},
		{"reuse_delay_s", 0, INT32_MAX, &delay}, {"table", 1, UINT32_MAX, &table},
		{"protocol", 1, 255, &protocol},
	};
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
		int err = number(what, o, numbers[i].key, numbers[i].low, numbers[i].high, numbers[i].out, e);
		if (err)
			return err;
	}
	if (version != VERSION)
		return cni_fail(e, CNI_TRY_AGAIN, "%s has version %lld, this plugin reads version %d: "
				"underlayd and the plugin are of different releases", what, (long long)version, VERSION);
	out->mtu = (uint32_t)mtu;
	out->table = (uint32_t)table;
	out->protocol = (uint8_t)protocol;
	out->reuse_delay_ms = delay * 1000;
	int err = take_vrf(what, o, out, e);
	return err ? err : take_cidrs(what, o, out, e);
}

int cni_settings_parse(const char *what, const char *text, size_t len, struct cni_settings *out, struct cni_error *e)
{
	memset(out, 0, sizeof *out);
	struct json_object *o = cni_json_parse(what, text, len, e);
	if (!o) {
		e->code = CNI_TRY_AGAIN;
		return e->code;
	}
	int err = take_members(what, o, out, e);
	json_object_put(o);
	return err;
}
