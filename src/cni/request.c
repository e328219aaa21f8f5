#include "src/cni/request.h"

#include <ctype.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

static const char default_run_dir[] = "/run/underlay";

const char *const cni_versions[] = {"0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0", NULL};
enum { FIRST_WITH_INTERFACES = 2, FIRST_WITH_CHECK = 4, LAST_WITH_IP_VERSION = 4, UNTOLD = 5, FIRST_WITH_STATUS = 6 };

int cni_version_index(const char *version)
{
	for (int i = 0; cni_versions[i]; i++)
		if (strcmp(cni_versions[i], version) == 0)
			return i;
	return -1;
}

bool cni_version_has_interfaces(const char *version)
{
	return cni_version_index(version) >= FIRST_WITH_INTERFACES;
}

bool cni_version_has_ip_version(const char *version)
{
	return cni_version_index(version) <= LAST_WITH_IP_VERSION;
}

/* --- the environment */

enum need { CONTAINER = 1, NETNS = 2, IFNAME = 4 };

static const struct {
	const char *name;
	unsigned needs;
	int since; /* the first in cni_versions[] that has the verb */
} verbs[] = {
	[CNI_ADD] = {"ADD", CONTAINER | NETNS | IFNAME, 0},
	[CNI_DEL] = {"DEL", CONTAINER | IFNAME, 0},
	[CNI_CHECK] = {"CHECK", CONTAINER | NETNS | IFNAME, FIRST_WITH_CHECK},
	[CNI_STATUS] = {"STATUS", 0, FIRST_WITH_STATUS},
	[CNI_GC] = {"GC", 0, FIRST_WITH_STATUS},
	[CNI_VERSION] = {"VERSION", 0, 0},
};

static bool is_set(const char *text)
{
	return text && text[0];
}

static int parse_command(const char *command, enum cni_verb *out, struct cni_error *e)
{
	if (!is_set(command))
		return cni_fail(e, CNI_BAD_ENVIRONMENT, "required environment variable missing: CNI_COMMAND");
	for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
		if (strcmp(verbs[i].name, command) == 0) {
			*out = (enum cni_verb)i;
			return 0;
		}
	}
	return cni_fail(e, CNI_BAD_ENVIRONMENT, "unknown CNI_COMMAND: \"%.40s\" (known: ADD, DEL, CHECK, STATUS, "
			"GC, VERSION)", command);
}

static int check_missing(const struct cni_environment *env, unsigned needs, struct cni_error *e)
{
	const struct {
		unsigned need;
		const char *name, *value;
	} vars[] = {
		{CONTAINER, "CNI_CONTAINERID", env->container},
		{NETNS, "CNI_NETNS", env->netns},
		{IFNAME, "CNI_IFNAME", env->ifname},
	};
	char list[64] = "";
	for (size_t i = 0; i < sizeof vars / sizeof vars[0]; i++) {
		size_t n = strlen(list);
		if ((needs & vars[i].need) && !is_set(vars[i].value))
			snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "", vars[i].name);
	}
	if (!list[0])
		return 0;
	return cni_fail(e, CNI_BAD_ENVIRONMENT, "required environment variables missing: %s", list);
}

/* [A-Za-z0-9][A-Za-z0-9_.-]*, of less than size bytes */
static bool is_name(const char *text, size_t size)
{
	if (!isalnum((unsigned char)text[0]) || strlen(text) >= size)
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr("_.-", *text))
			return false;
	return true;
}

static bool is_ifname(const char *text)
{
	size_t n = strlen(text);
	if (n < 1 || n > 15 || strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
		return false;
	for (; *text; text++)
		if (*text == '/' || *text == ':' || isspace((unsigned char)*text) || iscntrl((unsigned char)*text))
			return false;
	return true;
}

static int take_environment(const struct cni_environment *env, struct cni_request *r, struct cni_error *e)
{
	int err = check_missing(env, verbs[r->verb].needs, e);
	if (err || !verbs[r->verb].needs)
		return err;
	if (!is_name(env->container, sizeof r->container)) {
		cni_fail(e, CNI_BAD_ENVIRONMENT, "CNI_CONTAINERID is not a container id");
		return cni_fail_details(e, "\"%.200s\": expected a letter or digit, then up to 126 letters, digits, _ . -",
					env->container);
	}
	if (!is_ifname(env->ifname)) {
		cni_fail(e, CNI_BAD_ENVIRONMENT, "CNI_IFNAME is not an interface name");
		return cni_fail_details(e, "\"%.200s\": expected 1 to 15 characters without / : or white space",
					env->ifname);
	}
	if (env->netns && strlen(env->netns) >= sizeof r->netns) {
		if (r->verb != CNI_DEL)
			return cni_fail(e, CNI_BAD_ENVIRONMENT, "CNI_NETNS is longer than %zu bytes",
					sizeof r->netns - 1);
	} else if (env->netns) {
		strcpy(r->netns, env->netns);
	}
	strcpy(r->container, env->container);
	strcpy(r->ifname, env->ifname);
	const char *o = env->netns_override;
	r->own_netns_allowed = o && (strcmp(o, "1") == 0 || strcasecmp(o, "true") == 0);
	return 0;
}

/* Copies the value of a key of "K=V;K=V" (the last one wins); false where there is none or it is too long. */
static bool arg_value(const char *args, const char *key, char *out, size_t size)
{
	size_t key_len = strlen(key);
	bool found = false;
	for (const char *p = args; *p;) {
		size_t n = strcspn(p, ";");
		if (n > key_len && p[key_len] == '=' && memcmp(p, key, key_len) == 0 && n - key_len - 1 < size) {
			memcpy(out, p + key_len + 1, n - key_len - 1);
			out[n - key_len - 1] = '\0';
			found = true;
		}
		p += n + (p[n] == ';');
	}
	return found;
}

static void take_args(const char *args, struct cni_request *r)
{
	char space[64], name[sizeof r->pod - sizeof space];
	if (arg_value(args, "K8S_POD_NAMESPACE", space, sizeof space) &&
	    arg_value(args, "K8S_POD_NAME", name, sizeof name) && space[0] && name[0])
		snprintf(r->pod, sizeof r->pod, "%s/%s", space, name);
	arg_value(args, "IP", r->args_ip, sizeof r->args_ip);
	arg_value(args, "MAC", r->args_mac, sizeof r->args_mac);
}

/* --- the configuration */

static void trim(const char **text, size_t *len)
{
	if (*len >= 3 && memcmp(*text, "\xef\xbb\xbf", 3) == 0) {
		*text += 3;
		*len -= 3;
	}
	while (*len && (isspace((unsigned char)(*text)[*len - 1]) || (*text)[*len - 1] == '\0'))
		--*len;
}

struct json_object *cni_json_parse(const char *what, const char *text, size_t len, struct cni_error *e)
{
	trim(&text, &len);
	struct json_tokener *t = json_tokener_new_ex(CNI_DEPTH_MAX);
	if (!t || len > CNI_STDIN_MAX) {
		json_tokener_free(t);
		cni_fail(e, CNI_DECODE, "%s: too long", what);
		return NULL;
	}
	json_tokener_set_flags(t, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	struct json_object *o = json_tokener_parse_ex(t, text, (int)len);
	enum json_tokener_error why = json_tokener_get_error(t);
	size_t at = json_tokener_get_parse_end(t);
	json_tokener_free(t);
	if (why == json_tokener_success && at == len && json_object_is_type(o, json_type_object))
		return o;
	if (why == json_tokener_success)
		cni_fail(e, CNI_DECODE, "%s is not one JSON object", what);
	else if (!len || why == json_tokener_continue)
		cni_fail(e, CNI_DECODE, "%s is not JSON: %s", what, len ? "it ends too early" : "it is empty");
	else
		cni_fail(e, CNI_DECODE, "%s is not JSON: %s at byte %zu", what, json_tokener_error_desc(why), at);
	json_object_put(o);
	return NULL;
}

/* The member where it is a string without NUL bytes in it, else NULL. */
static const char *text_member(struct json_object *o, const char *key)
{
	struct json_object *v;
	if (!json_object_object_get_ex(o, key, &v) || !json_object_is_type(v, json_type_string))
		return NULL;
	const char *text = json_object_get_string(v);
	return strlen(text) == (size_t)json_object_get_string_len(v) ? text : NULL;
}

static int take_version(struct cni_request *r, struct cni_error *e)
{
	struct json_object *v;
	const char *text = text_member(r->config, "cniVersion");
	if (!text && json_object_object_get_ex(r->config, "cniVersion", &v) && v)
		return cni_fail(e, CNI_BAD_CONFIG, "cniVersion is not a string");
	if (!is_set(text))
		text = cni_versions[0]; /* before 0.2.0 the key did not exist */
	int i = cni_version_index(text);
	if (i < 0) {
		cni_fail(e, CNI_VERSION_UNSUPPORTED, "incompatible CNI version \"%.20s\"", text);
		return cni_fail_details(e, "supported: 0.1.0 0.2.0 0.3.0 0.3.1 0.4.0 1.0.0 1.1.0");
	}
	r->version = cni_versions[i];
	if (i < verbs[r->verb].since)
		return cni_fail(e, CNI_VERSION_UNSUPPORTED, "%s needs cniVersion %s or later, not %s", verbs[r->verb].name,
				cni_versions[verbs[r->verb].since], r->version);
	return 0;
}

static int take_run_dir(struct cni_request *r, struct cni_error *e)
{
	struct json_object *v;
	const char *text = text_member(r->config, "runDir");
	if (!text && !json_object_object_get_ex(r->config, "runDir", &v))
		return 0;
	if (!text || text[0] != '/' || strlen(text) >= sizeof r->run_dir)
		return cni_fail(e, CNI_BAD_CONFIG, "runDir is not an absolute path of less than %zu bytes",
				sizeof r->run_dir);
	strcpy(r->run_dir, text);
	return 0;
}

static int take_network(struct cni_request *r, struct cni_error *e)
{
	const char *text = text_member(r->config, "name");
	if (!text)
		return cni_fail(e, CNI_BAD_CONFIG, "the network configuration has no \"name\"");
	if (!is_name(text, sizeof r->network))
		return cni_fail(e, CNI_BAD_CONFIG,
				"name \"%.80s\": expected a letter or digit, then up to 62 letters, digits, _ . -", text);
	strcpy(r->network, text);
	return 0;
}

static int take_type(struct cni_request *r, struct cni_error *e)
{
	const char *text = text_member(r->config, "type");
	if (text && strchr(text, '/'))
		return cni_fail(e, CNI_BAD_CONFIG, "type \"%.80s\" must be a program's name, not a path", text);
	return 0;
}

static int take_prev(struct cni_request *r, struct cni_error *e)
{
	struct json_object *prev = NULL;
	json_object_object_get_ex(r->config, "prevResult", &prev);
	if (prev && r->verb == CNI_ADD)
		return cni_fail(e, CNI_BAD_CONFIG,
				"prevResult is given, but underlay makes the interface: it must be first in its list");
	if (!prev && r->verb == CNI_CHECK)
		return cni_fail(e, CNI_BAD_CONFIG, "CHECK needs prevResult, and the configuration has none");
	return 0;
}

/* In the order in which complaints are most useful. */
static int (*const config_parts[])(struct cni_request *, struct cni_error *) = {
	take_version, take_run_dir, take_network, take_type, take_prev,
};

static int take_config(const char *text, size_t len, struct cni_request *r, struct cni_error *e)
{
	bool lenient = r->verb == CNI_DEL || r->verb == CNI_VERSION;
	r->config = cni_json_parse("the network configuration on standard input", text, len, e);
	if (!r->config)
		return lenient ? 0 : e->code;
	for (size_t i = 0; i < sizeof config_parts / sizeof config_parts[0]; i++) {
		int err = config_parts[i](r, e);
		if (err && !lenient)
			return err;
	}
	return 0;
}

int cni_request_parse(const struct cni_environment *env, const char *text, size_t len, struct cni_request *out,
		      struct cni_error *e)
{
	memset(out, 0, sizeof *out);
	out->version = cni_versions[UNTOLD];
	strcpy(out->run_dir, default_run_dir);
	int err = parse_command(env->command, &out->verb, e);
	if (!err)
		err = take_environment(env, out, e);
	if (err)
		return err;
	if (env->args)
		take_args(env->args, out);
	return take_config(text, len, out, e);
}

void cni_request_fini(struct cni_request *r)
{
	json_object_put(r->config);
	r->config = NULL;
}
