/* One setter a type of key: from a scalar or list in the tree to the field. A value that cannot
 * be used leaves the field as it was and adds an error that says what was found and what was
 * expected.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/value.h"
#include "src/base/name.h"

/* hint: "" or a half-sentence that starts with punctuation. */
void conf_mismatch(const struct value *v, const char *hint)
{
	char found[CONF_QUOTE_MAX + 32];
	conf_error_add(v->errors, v->tree->at, v->path, "found %s, expected %s%s", conf_tree_describe(v->tree, found),
		       v->item ? v->key->item : v->key->expected, hint);
}

bool conf_is_scalar(const struct value *v)
{
	return v->tree->kind == CONF_TREE_SCALAR;
}

/* Text that is meant as a number: plain, decimal, without sign or leading zero. */
bool conf_number_from(const char *text, uint64_t *out)
{
	size_t digits = strspn(text, "0123456789");
	if (digits == 0 || digits > 18 || text[digits] != '\0' || (text[0] == '0' && digits > 1))
		return false;
	*out = strtoull(text, NULL, 10);
	return true;
}

bool conf_number(const struct value *v, uint64_t min, uint64_t max, uint64_t *out)
{
	bool number = conf_is_scalar(v) && conf_number_from(v->tree->text, out);
	if (number && !v->tree->quoted && *out >= min && *out <= max)
		return true;
	conf_mismatch(v, number && v->tree->quoted ? ": take the quotes away" : "");
	return false;
}

static void store_uint(const struct value *v, uint64_t n)
{
	switch (v->key->size) {
	case 1:
		*(uint8_t *)v->field = (uint8_t)n;
		break;
	case 2:
		*(uint16_t *)v->field = (uint16_t)n;
		break;
	default:
		*(uint32_t *)v->field = (uint32_t)n;
	}
}

static void set_uint(const struct value *v)
{
	uint64_t n;
	if (conf_number(v, v->key->min, v->key->max, &n))
		store_uint(v, n);
}

bool conf_asn(const struct value *v, uint32_t *out)
{
	uint64_t n;
	if (!conf_number(v, 0, UINT32_MAX, &n))
		return false;
	if (n == 0 || n == UINT32_MAX || n == 23456) {
		conf_mismatch(v, n == 23456 ? "; 23456 is AS_TRANS (RFC 6793), nobody's own"
				       : "; 0 and 4294967295 are reserved");
		return false;
	}
	*out = (uint32_t)n;
	return true;
}

static void set_asn(const struct value *v)
{
	conf_asn(v, v->field);
}

static void set_peer_asn(const struct value *v)
{
	struct conf_peer *peer = v->base;
	const char *text = conf_is_scalar(v) ? v->tree->text : "";
	if (strcmp(text, "external") == 0)
		peer->asn_kind = CONF_ASN_EXTERNAL;
	else if (strcmp(text, "internal") == 0)
		peer->asn_kind = CONF_ASN_INTERNAL;
	else
		conf_asn(v, &peer->asn);
}

static void set_table(const struct value *v)
{
	enum { TABLE_MAIN = 254 };
	if (conf_is_scalar(v) && strcmp(v->tree->text, "main") == 0)
		store_uint(v, TABLE_MAIN);
	else
		set_uint(v);
}

static void set_bool(const struct value *v)
{
	bool yes = conf_is_scalar(v) && strcmp(v->tree->text, "true") == 0;
	bool no = conf_is_scalar(v) && strcmp(v->tree->text, "false") == 0;
	if ((yes || no) && !v->tree->quoted)
		*(bool *)v->field = yes;
	else
		conf_mismatch(v, yes || no ? ": take the quotes away" : "");
}

/* "90s", "500ms", "2m", "1h", or a bare 0. */
static bool duration_ms(const char *text, uint64_t *out)
{
	static const struct {
		const char *unit;
		uint64_t ms;
	} units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
	char digits[13];
	size_t n = strspn(text, "0123456789");
	if (n >= sizeof digits)
		return false;
	memcpy(digits, text, n);
	digits[n] = '\0';
	if (!conf_number_from(digits, out))
		return false;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (strcmp(text + n, units[i].unit) == 0) {
			*out *= units[i].ms;
			return true;
		}
	}
	return *out == 0 && text[n] == '\0';
}

static void set_seconds(const struct value *v)
{
	uint64_t ms, bare;
	if (!conf_is_scalar(v) || !duration_ms(v->tree->text, &ms)) {
		bool no_unit = conf_is_scalar(v) && conf_number_from(v->tree->text, &bare);
		conf_mismatch(v, no_unit ? ": the unit is missing" : "");
	} else if (ms % 1000) {
		conf_mismatch(v, ": whole seconds only");
	} else if (ms && (ms / 1000 < v->key->min || ms / 1000 > v->key->max)) {
		conf_mismatch(v, "");
	} else {
		store_uint(v, ms / 1000);
	}
}

static void replace_text(const struct value *v)
{
	char **field = v->field;
	free(*field);
	*field = conf_copy(v->tree->text);
}

static void set_name(const struct value *v)
{
	if (conf_is_scalar(v) && name_ok(v->tree->text))
		replace_text(v);
	else
		conf_mismatch(v, "");
}

static bool has_control(const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		if (*p < 0x20 || *p == 0x7f)
			return true;
	return false;
}

static void set_path(const struct value *v)
{
	const char *text = conf_is_scalar(v) ? v->tree->text : "";
	if (*text == '/' && strlen(text) <= v->key->max && !has_control(text))
		replace_text(v);
	else
		conf_mismatch(v, "");
}

/* What is there may be the secret itself, so no message shows it. */
static void set_secret_file(const struct value *v)
{
	const char *text = conf_is_scalar(v) ? v->tree->text : "";
	if (*text == '/' && strlen(text) <= v->key->max && !has_control(text))
		replace_text(v);
	else
		conf_error_add(v->errors, v->tree->at, v->path, "expected %s; what stands here is not shown, as it may be "
			       "the secret", v->key->expected);
}

static void set_router_id(const struct value *v)
{
	struct addr a;
	if (conf_is_scalar(v) && addr_parse(v->tree->text, &a) && addr_is_v4(&a) && !strchr(v->tree->text, ':') &&
	    !addr_is_zero(&a))
		*(uint32_t *)v->field = addr_to_v4(&a);
	else
		conf_mismatch(v, "");
}

bool conf_address(const struct value *v, struct addr *out)
{
	struct addr a;
	if (!conf_is_scalar(v) || !addr_parse(v->tree->text, &a)) {
		conf_mismatch(v, conf_is_scalar(v) && strchr(v->tree->text, '/') ? ": an address has no length" : "");
		return false;
	}
	if (!addr_is_unicast(&a) || (addr_is_v4(&a) && strchr(v->tree->text, ':'))) {
		conf_mismatch(v, addr_is_unicast(&a) ? ": write IPv4 with dots only"
						: ": it is zero, loopback, multicast or reserved");
		return false;
	}
	*out = a;
	return true;
}

static void set_address(const struct value *v)
{
	struct addr a;
	if (conf_address(v, &a))
		*(struct addr *)v->field = a;
}

/* As the kernel has it, and without %, which means something to it and to us. */
static bool interface_ok(const char *name)
{
	enum { NAME_MAX_LEN = 15 };
	size_t n = strlen(name);
	return n >= 1 && n <= NAME_MAX_LEN && !has_control(name) && !strpbrk(name, "/:% ") && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

static void set_interface(const struct value *v)
{
	if (conf_is_scalar(v) && interface_ok(v->tree->text))
		replace_text(v);
	else
		conf_mismatch(v, "");
}

/* fe80::1%eth0 */
static void set_link_local(const struct value *v, const char *percent)
{
	struct conf_peer *peer = v->base;
	char text[ADDR_TEXT_MAX];
	size_t n = (size_t)(percent - v->tree->text);
	struct addr a = {{0}};
	if (n < sizeof text) {
		memcpy(text, v->tree->text, n);
		text[n] = '\0';
	}
	if (n < sizeof text && addr_parse(text, &a) && !addr_is_v4(&a) && addr_is_link_local(&a) && interface_ok(percent + 1)) {
		peer->address = a;
		free(peer->interface);
		peer->interface = conf_copy(percent + 1);
		return;
	}
	conf_mismatch(v, ": only behind a link-local address stands an interface");
}

static void set_peer_address(const struct value *v)
{
	struct addr a;
	const char *percent = conf_is_scalar(v) ? strchr(v->tree->text, '%') : NULL;
	if (percent) {
		set_link_local(v, percent);
		return;
	}
	if (!conf_address(v, &a))
		return;
	if (addr_is_link_local(&a) && !addr_is_v4(&a))
		conf_mismatch(v, ": write its interface behind it, such as fe80::1%eth0, or use interface: alone");
	else
		*(struct addr *)v->field = a;
}

/* The value for item number i of the list at v; path is a buffer for its path. */
struct value conf_item_of(const struct value *v, const struct conf_tree *item, size_t i, char path[128])
{
	struct value r = *v;
	snprintf(path, 128, "%s[%zu]", v->path, i);
	r.tree = item;
	r.path = path;
	r.item = true;
	return r;
}

bool conf_list(const struct value *v)
{
	if (v->tree->kind != CONF_TREE_LIST)
		conf_mismatch(v, conf_is_scalar(v) ? ": put it into [ ]" : "");
	return v->tree->kind == CONF_TREE_LIST;
}

/* Reports an item's own fault (an alias, a tag). */
bool conf_item_sound(const struct value *item)
{
	if (item->tree->fault)
		conf_error_add(item->errors, item->tree->at, item->path, "%s", item->tree->fault);
	return !item->tree->fault;
}

static int by_address(const void *a, const void *b)
{
	return addr_cmp(a, b);
}

static void set_addresses(const struct value *v)
{
	struct conf *c = v->base;
	char path[128];
	size_t n = 0, i = 0;
	if (!conf_list(v))
		return;
	struct addr *at = conf_grab(v->tree->count, sizeof *at), *sorted = conf_grab(v->tree->count, sizeof *sorted);
	for (const struct conf_tree *t = v->tree->first; t; t = t->next) {
		struct value item = conf_item_of(v, t, i++, path);
		if (conf_item_sound(&item) && conf_address(&item, &at[n]))
			n++;
	}
	memcpy(sorted, at, n * sizeof *at);
	qsort(sorted, n, sizeof *sorted, by_address);
	for (i = 1; i < n; i++) {
		char text[ADDR_TEXT_MAX];
		if (addr_eq(&sorted[i - 1], &sorted[i]))
			conf_error_add(v->errors, v->tree->at, v->path, "%s is in the list twice",
				       addr_format(&sorted[i], text));
	}
	free(sorted);
	free(c->node.addresses);
	c->node.addresses = at;
	c->node.address_count = n;
}

/* Prefixes that no pod can have: reserved blocks, and the link-local one, where pods find their gateway. */
static bool is_pod_space(const struct prefix *p)
{
	return addr_is_unicast(&p->addr) && !addr_is_link_local(&p->addr);
}

static bool prefix_or_mismatch(const struct value *v, struct prefix *out)
{
	char meant[PREFIX_TEXT_MAX], hint[PREFIX_TEXT_MAX + 32];
	const char *text = conf_is_scalar(v) ? v->tree->text : "";
	enum prefix_parse how = prefix_parse(text, out);
	if (how == PREFIX_BAD_TEXT || !strchr(text, '/')) {
		conf_mismatch(v, how != PREFIX_BAD_TEXT ? ": the /LENGTH is missing" : "");
	} else if ((prefix_is_v4(out) && strchr(text, ':')) || prefix_plen(out) < v->key->min) {
		conf_mismatch(v, "");
	} else if (how == PREFIX_HOST_BITS) {
		snprintf(hint, sizeof hint, ": bits beyond the length are set, %s is probably meant",
			 prefix_format(out, meant));
		conf_mismatch(v, hint);
	} else if (!is_pod_space(out)) {
		conf_mismatch(v, ": it is loopback, link-local, multicast or reserved");
	} else {
		return true;
	}
	return false;
}

static void set_prefix(const struct value *v)
{
	struct prefix p;
	if (prefix_or_mismatch(v, &p))
		*(struct prefix *)v->field = p;
}

struct placed_prefix {
	struct prefix prefix;
	const struct conf_tree *tree;
	size_t index;
};

/* By prefix, so that what covers stands before what it covers; then as in the file. */
static int by_prefix(const void *va, const void *vb)
{
	const struct placed_prefix *a = va, *b = vb;
	int c = prefix_cmp(&a->prefix, &b->prefix);
	return c ? c : (a->index < b->index ? -1 : 1);
}

static void report_overlaps(const struct value *v, struct placed_prefix *p, size_t n)
{
	char inner[PREFIX_TEXT_MAX], outer[PREFIX_TEXT_MAX], path[128];
	const struct placed_prefix *cover = p;
	qsort(p, n, sizeof *p, by_prefix);
	for (size_t i = 1; i < n; i++) {
		if (!prefix_covers(&cover->prefix, &p[i].prefix)) {
			cover = &p[i];
			continue;
		}
		snprintf(path, sizeof path, "%s[%zu]", v->path, p[i].index);
		conf_error_add(v->errors, p[i].tree->at, path,
			       "%s %s %s of %s[%zu] (line %u), expected prefixes that do "
			       "not overlap",
			       prefix_format(&p[i].prefix, inner),
			       prefix_eq(&cover->prefix, &p[i].prefix) ? "is the same as" : "lies inside",
			       prefix_format(&cover->prefix, outer), v->path, cover->index, cover->tree->at.line);
	}
}

static void set_prefixes(const struct value *v)
{
	struct conf_prefixes *field = v->field;
	char path[128];
	size_t n = 0, i = 0;
	if (!conf_list(v))
		return;
	struct placed_prefix *placed = conf_grab(v->tree->count, sizeof *placed);
	struct prefix *at = conf_grab(v->tree->count, sizeof *at);
	for (const struct conf_tree *t = v->tree->first; t; t = t->next, i++) {
		struct value item = conf_item_of(v, t, i, path);
		if (!conf_item_sound(&item) || !prefix_or_mismatch(&item, &at[n]))
			continue;
		placed[n] = (struct placed_prefix){.prefix = at[n], .tree = t, .index = i};
		n++;
	}
	report_overlaps(v, placed, n);
	free(placed);
	free(field->at);
	*field = (struct conf_prefixes){.at = at, .count = n};
}

static bool *family_flag(struct conf_peer *p, const struct value *item)
{
	const char *text = conf_is_scalar(item) ? item->tree->text : "";
	if (strcmp(text, "ipv4") == 0)
		return &p->ipv4;
	return strcmp(text, "ipv6") == 0 ? &p->ipv6 : NULL;
}

static void set_families(const struct value *v)
{
	struct conf_peer *p = v->base;
	char path[128];
	size_t i = 0;
	if (!conf_list(v))
		return;
	p->ipv4 = p->ipv6 = false;
	if (v->tree->count == 0)
		conf_error_add(v->errors, v->tree->at, v->path, "the list is empty, expected %s", v->key->expected);
	for (const struct conf_tree *t = v->tree->first; t; t = t->next) {
		struct value item = conf_item_of(v, t, i++, path);
		bool *flag = conf_item_sound(&item) ? family_flag(p, &item) : NULL;
		if (flag && *flag)
			conf_error_add(v->errors, v->tree->at, v->path, "%s is in the list twice", t->text);
		else if (flag)
			*flag = true;
		else if (!t->fault)
			conf_mismatch(&item, "");
	}
}

/* What is no built-in policy is a name, which conf_check() looks up. */
static void set_policy(const struct value *v, bool pods, char **name)
{
	static const struct {
		const char *name;
		enum conf_policy policy;
	} policies[] = {{"all", CONF_POLICY_ALL}, {"none", CONF_POLICY_NONE}, {"pods", CONF_POLICY_PODS}};
	size_t n = pods ? 3 : 2;
	if (!conf_is_scalar(v) || !name_ok(v->tree->text)) {
		conf_mismatch(v, "");
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (strcmp(v->tree->text, policies[i].name) == 0) {
			*(enum conf_policy *)v->field = policies[i].policy;
			return;
		}
	}
	*(enum conf_policy *)v->field = CONF_POLICY_NAMED;
	*name = conf_copy(v->tree->text);
}

static void set_import(const struct value *v)
{
	set_policy(v, false, &((struct conf_peer *)v->base)->import_policy);
}

static void set_export(const struct value *v)
{
	set_policy(v, true, &((struct conf_peer *)v->base)->export_policy);
}

static void (*const setters[])(const struct value *v) = {
    [CONF_KEY_UINT] = set_uint,		[CONF_KEY_ASN] = set_asn,
    [CONF_KEY_TABLE] = set_table,	[CONF_KEY_BOOL] = set_bool,
    [CONF_KEY_SECONDS] = set_seconds,	[CONF_KEY_NAME] = set_name,
    [CONF_KEY_PATH] = set_path,		[CONF_KEY_ROUTER_ID] = set_router_id,
    [CONF_KEY_PEER_ADDRESS] = set_peer_address, [CONF_KEY_INTERFACE] = set_interface,
    [CONF_KEY_ADDRESS] = set_address,
    [CONF_KEY_ADDRESSES] = set_addresses,
    [CONF_KEY_PREFIX] = set_prefix,
    [CONF_KEY_PREFIXES] = set_prefixes, [CONF_KEY_PEER_ASN] = set_peer_asn,
    [CONF_KEY_FAMILIES] = set_families, [CONF_KEY_IMPORT] = set_import,
    [CONF_KEY_EXPORT] = set_export,	[CONF_KEY_SECRET_FILE] = set_secret_file,
    [CONF_KEY_RANGES] = conf_set_ranges,
    [CONF_KEY_COMMUNITIES] = conf_set_communities,
    [CONF_KEY_ASNS] = conf_set_asns,	[CONF_KEY_NETWORKS] = conf_set_networks,
    [CONF_KEY_NAMES] = conf_set_names,	[CONF_KEY_BOUNDS] = conf_set_bounds,
    [CONF_KEY_AS_PATHS] = conf_set_as_paths, [CONF_KEY_SETS] = conf_set_range_sets,
    [CONF_KEY_COMMUNITY_SETS] = conf_set_community_sets, [CONF_KEY_AS_PATH_SETS] = conf_set_as_path_sets,
    [CONF_KEY_WORD] = conf_set_word,	[CONF_KEY_OPTIONAL] = conf_set_optional,
    [CONF_KEY_PREPEND] = conf_set_prepend, [CONF_KEY_NEXT_HOP] = conf_set_next_hop,
};

void conf_value_set(const struct conf_key *key, const struct conf_tree *t, const char *path, void *base, struct conf *conf,
		    struct conf_errors *errors)
{
	struct value v = {key, t, path, errors, conf, base, (char *)base + key->offset, false};
	setters[key->type](&v);
}
