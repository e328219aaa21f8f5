#include "src/cni/attachments.h"

#include <json-c/json.h>
#include <string.h>

/* False where there is no list; *out is NULL for null. */
static bool find_list(const struct cni_request *r, struct json_object **out)
{
	return json_object_object_get_ex(r->config, "cni.dev/valid-attachments", out) ||
	       json_object_object_get_ex(r->config, "cni.dev/attachments", out);
}

static const char *text_of(struct json_object *entry, const char *key)
{
	struct json_object *v;
	if (!json_object_is_type(entry, json_type_object) || !json_object_object_get_ex(entry, key, &v) ||
	    !json_object_is_type(v, json_type_string))
		return NULL;
	return json_object_get_string(v);
}

int cni_attachments_check(const struct cni_request *r, struct cni_error *e)
{
	struct json_object *list;
	if (!find_list(r, &list))
		return cni_fail(e, CNI_BAD_CONFIG, "GC needs cni.dev/valid-attachments; without it nothing was removed");
	if (!list)
		return 0;
	if (!json_object_is_type(list, json_type_array))
		return cni_fail(e, CNI_BAD_CONFIG, "cni.dev/valid-attachments: expected a list");
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *entry = json_object_array_get_idx(list, i);
		if (!text_of(entry, "containerID") || !text_of(entry, "ifname"))
			return cni_fail(e, CNI_BAD_CONFIG, "cni.dev/valid-attachments[%zu]: expected {\"containerID\": "
					"..., \"ifname\": ...}; nothing was removed", i);
	}
	return 0;
}

bool cni_attachments_have(const struct cni_request *r, const char *container, const char *ifname)
{
	struct json_object *list;
	if (!find_list(r, &list) || !list)
		return false;
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *entry = json_object_array_get_idx(list, i);
		if (strcmp(text_of(entry, "containerID"), container) == 0 && strcmp(text_of(entry, "ifname"), ifname) == 0)
			return true;
	}
	return false;
}
