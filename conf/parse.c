/* Tree -> struct conf: walks the tree along the rows of conf/keys.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/errors.h"
#include "conf/keys.h"
#include "src/base/name.h"

/* Where the walk is: schema names rows ("peers[]"), path names the file's own place ("peers[1]"). */
struct walk {
	struct conf *conf;
	struct conf_errors *errors;
	const char *schema, *path;
	void *base; /* the struct that the schema's fields are in */
};

enum { PATH_MAX_TEXT = 128, MAP_KEYS_MAX = 256 };

static void read_map(const struct walk *w, const struct conf_tree *map);

static void join(char out[PATH_MAX_TEXT], const char *path, const char *key)
{
	char printable[CONF_QUOTE_MAX];
	snprintf(out, PATH_MAX_TEXT, "%s%s%s", path, *path ? "." : "", conf_printable(key, printable));
}

/* Every row with a constant default directly or deeper in schema ("" leaves list items out). */
static void fill_defaults(const char *schema, void *base)
{
	struct conf_errors none = {0};
	size_t n = strlen(schema);
	for (size_t i = 0; i < conf_key_count; i++) {
		const struct conf_key *k = &conf_keys[i];
		if (!k->value || strncmp(k->path, schema, n) != 0 || strchr(k->path + n, '['))
			continue;
		struct conf_tree *t = conf_tree_new(CONF_TREE_SCALAR, (struct conf_place){0, 0});
		t->text = conf_copy(k->value);
		conf_value_set(k, t, k->path, base, NULL, &none);
		conf_tree_free(t);
	}
	conf_errors_fini(&none);
}

static void unknown_key(const struct walk *w, const struct conf_tree *t, const char *path)
{
	const char *advice = conf_key_advice(t->key);
	const char *near = advice ? NULL : conf_key_suggest(w->schema, t->key);
	if (advice)
		conf_error_add(w->errors, t->key_at, path, "unknown key; %s", advice);
	else if (near)
		conf_error_add(w->errors, t->key_at, path, "unknown key; did you mean %s?", near);
	else
		conf_error_add(w->errors, t->key_at, path, "unknown key");
}

/* YAML reads asn:65010 as one word. */
static const char *colon_hint(const struct conf_tree *t, enum conf_tree_kind wanted)
{
	bool glued = wanted == CONF_TREE_MAP && t->kind == CONF_TREE_SCALAR && !t->quoted && strchr(t->text, ':');
	return glued ? "; is a space missing after the colon?" : "";
}

static bool expect_kind(const struct walk *w, const struct conf_tree *t, enum conf_tree_kind kind, const char *path,
			const char *expected)
{
	char found[CONF_QUOTE_MAX + 32];
	if (t->fault)
		conf_error_add(w->errors, t->at, path, "%s", t->fault);
	else if (t->kind != kind)
		conf_error_add(w->errors, t->at, path, "found %s, expected %s%s", conf_tree_describe(t, found), expected,
			       colon_hint(t, kind));
	return !t->fault && t->kind == kind;
}

/* A list of maps. */
struct list_of {
	const char *schema, *item; /* item: what is expected */
	size_t size;
};

/* A member of the array for each item, also for a broken one: indices must agree. before, where given, is told of each
 * member before it is read. */
static void read_list(const struct walk *w, const struct list_of *of, const struct conf_tree *list, const char *path,
		      void *array, size_t *count,
		      void (*before)(const struct conf *c, void *member, const struct conf_tree *t))
{
	char item_path[PATH_MAX_TEXT];
	for (const struct conf_tree *t = list->first; t; t = t->next) {
		void *member = (char *)array + *count * of->size;
		snprintf(item_path, sizeof item_path, "%.100s[%zu]", path, (*count)++);
		struct walk inner = {w->conf, w->errors, of->schema, item_path, member};
		if (before)
			before(w->conf, member, t);
		fill_defaults(of->schema, member);
		if (expect_kind(w, t, CONF_TREE_MAP, item_path, of->item))
			read_map(&inner, t);
	}
}

static void before_peer(const struct conf *c, void *member, const struct conf_tree *t)
{
	struct conf_peer *peer = member;
	(void)c;
	peer->ipv4 = peer->ipv6 = true;
	peer->line = t->at.line;
}

static void read_peers(const struct walk *w, const struct conf_tree *list, const char *path)
{
	static const struct list_of of = {"peers[]", "a map with address (or interface) and asn", sizeof(struct conf_peer)};
	struct conf *c = w->conf;
	c->peers = conf_grab(list->count, sizeof *c->peers);
	read_list(w, &of, list, path, c->peers, &c->peer_count, before_peer);
}

static void before_policy(const struct conf *c, void *member, const struct conf_tree *t)
{
	((struct conf_rules *)member)->text = conf_policy_text(c, t);
}

static void read_policies(const struct walk *w, const struct conf_tree *list, const char *path)
{
	static const struct list_of of = {"policies[]", "a map with name and rules", sizeof(struct conf_rules)};
	struct conf *c = w->conf;
	c->policies = conf_grab(list->count, sizeof *c->policies);
	read_list(w, &of, list, path, c->policies, &c->policy_count, before_policy);
}

static void read_rules(const struct walk *w, const struct conf_tree *list, const char *path)
{
	static const struct list_of of = {"policies[].rules[]", "a map with match, set and action", sizeof(struct conf_rule)};
	struct conf_rules *p = w->base;
	p->rules = conf_grab(list->count, sizeof *p->rules);
	read_list(w, &of, list, path, p->rules, &p->rule_count, NULL);
}

static void read_externals(const struct walk *w, const struct conf_tree *list, const char *path)
{
	static const struct list_of of = {"external[]", "a map with name, and table, protocol or socket", sizeof(struct conf_external)};
	struct conf *c = w->conf;
	c->external = conf_grab(list->count, sizeof *c->external);
	read_list(w, &of, list, path, c->external, &c->external_count, NULL);
}

typedef void read_list_fn(const struct walk *w, const struct conf_tree *list, const char *path);

/* NULL: the key is no list of maps. */
static read_list_fn *list_reader(enum conf_key_type type)
{
	static const struct {
		enum conf_key_type type;
		read_list_fn *read;
	} readers[] = {{CONF_KEY_PEERS, read_peers},
		       {CONF_KEY_POLICIES, read_policies},
		       {CONF_KEY_RULES, read_rules},
		       {CONF_KEY_EXTERNALS, read_externals}};
	for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
		if (readers[i].type == type)
			return readers[i].read;
	return NULL;
}

static void read_list_member(const struct walk *w, const struct conf_key *key, const struct conf_tree *t, const char *path)
{
	if (expect_kind(w, t, CONF_TREE_LIST, path, key->expected))
		list_reader(key->type)(w, t, path);
}

static void read_section(const struct walk *w, const struct conf_key *key, const struct conf_tree *t, const char *path)
{
	struct walk inner = {w->conf, w->errors, key->path, path, w->base};
	if (expect_kind(w, t, CONF_TREE_MAP, path, key->expected))
		read_map(&inner, t);
}

static void read_member(const struct walk *w, const struct conf_tree *t)
{
	char path[PATH_MAX_TEXT];
	const struct conf_key *key = conf_key_find(w->schema, t->key);
	join(path, w->path, t->key);
	if (t->fault)
		conf_error_add(w->errors, t->at, path, "%s", t->fault);
	else if (!key)
		unknown_key(w, t, path);
	else if (key->type == CONF_KEY_LATER)
		conf_error_add(w->errors, t->key_at, path, "not supported yet (%s)", key->help);
	else if (t->kind == CONF_TREE_NULL)
		return; /* null: as if it was not there */
	else if (key->type == CONF_KEY_MAP)
		read_section(w, key, t, path);
	else if (list_reader(key->type))
		read_list_member(w, key, t, path);
	else
		conf_value_set(key, t, path, w->base, w->conf, w->errors);
}

static bool is_duplicate(const struct walk *w, const struct conf_tree *map, const struct conf_tree *t)
{
	char path[PATH_MAX_TEXT];
	const struct conf_tree *first = conf_tree_find(map, t->key);
	if (first == t || t->fault)
		return false;
	join(path, w->path, t->key);
	conf_error_add(w->errors, t->key_at, path, "the key is here twice; first in line %u", first->key_at.line);
	return true;
}

static void read_map(const struct walk *w, const struct conf_tree *map)
{
	if (map->count > MAP_KEYS_MAX) {
		conf_error_add(w->errors, map->at, w->path, "%zu keys, expected at most %d", map->count, MAP_KEYS_MAX);
		return;
	}
	for (const struct conf_tree *t = map->first; t && !conf_errors_full(w->errors); t = t->next)
		if (!is_duplicate(w, map, t))
			read_member(w, t);
}

/* Defaults that are no constants. */
static void fill_derived(struct conf *c, const struct conf_tree *root, const char *hostname, struct conf_errors *errors)
{
	char shown[CONF_QUOTE_MAX], socket[128], place[CONF_PLACE_MAX];
	if (!c->node.name && !conf_tree_given(conf_tree_find(root, "node"), "name")) {
		if (name_ok(hostname))
			c->node.name = conf_copy(hostname);
		else
			conf_error_add(errors, (struct conf_place){0, 0}, "node.name",
				       "the host name \"%s\" cannot be used, expected %s",
				       conf_printable(hostname, shown), conf_key_find("node", "name")->expected);
	}
	if (!c->control_socket) {
		snprintf(socket, sizeof socket, "%s/control", c->run_dir);
		c->control_socket = conf_copy(socket);
	}
	for (size_t i = 0; i < c->peer_count; i++) {
		struct conf_peer *p = &c->peers[i];
		if (!p->name)
			p->name = conf_copy(conf_peer_place(p, place));
		if (!p->device && c->kernel.vrf)
			p->device = conf_copy(c->kernel.vrf);
	}
}

static struct conf *conf_from_tree(struct conf_tree *root, const char *hostname, conf_secrets_fn *read_secrets,
				   struct conf_errors *errors)
{
	struct conf *c = conf_grab(1, sizeof *c);
	struct walk top = {c, errors, "", "", c};
	fill_defaults("", c);
	conf_tree_to_front(root, "sets"); /* policies use them */
	if (expect_kind(&top, root, CONF_TREE_MAP, "", "a map with node, pods, peers, policies, sets, external, kernel, control or paths")) {
		read_map(&top, root);
		fill_derived(c, root, hostname, errors);
		conf_check(c, root, errors);
		if (read_secrets)
			read_secrets(c, root, errors);
	}
	if (errors->count == 0)
		return c;
	conf_free(c);
	return NULL;
}

struct conf *conf_load_text_with(const char *text, size_t len, const char *hostname, conf_secrets_fn *read_secrets,
				 struct conf_errors *errors)
{
	*errors = (struct conf_errors){0};
	struct conf_tree *root = conf_yaml_read(text, len, errors);
	struct conf *c = root ? conf_from_tree(root, hostname ? hostname : "", read_secrets, errors) : NULL;
	conf_tree_free(root);
	conf_errors_sort(errors);
	return c;
}

struct conf *conf_load_text(const char *text, size_t len, const char *hostname, struct conf_errors *errors)
{
	return conf_load_text_with(text, len, hostname, NULL, errors);
}

const char *conf_peer_place(const struct conf_peer *p, char buf[CONF_PLACE_MAX])
{
	char address[ADDR_TEXT_MAX], range[PREFIX_TEXT_MAX];
	const char *link = p->interface ? p->interface : p->device;
	bool unnumbered = p->interface && addr_is_zero(&p->address);
	const char *at = conf_peer_is_range(p) ? prefix_format(&p->range, range) : addr_format(&p->address, address);
	snprintf(buf, CONF_PLACE_MAX, "%s%s%s", unnumbered ? "" : at,
		 link && !unnumbered ? "%" : "", link ? link : "");
	return buf;
}

static void free_peer(struct conf_peer *p)
{
	if (p->password)
		explicit_bzero(p->password, strlen(p->password));
	free(p->password);
	free(p->password_file);
	free(p->name);
	free(p->interface);
	free(p->device);
	free(p->import_policy);
	free(p->export_policy);
}

void conf_free(struct conf *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->peer_count; i++)
		free_peer(&c->peers[i]);
	free(c->peers);
	conf_policies_free(c->policies, c->policy_count);
	conf_external_free(c->external, c->external_count);
	conf_sets_free(c);
	free(c->node.name);
	free(c->node.addresses);
	free(c->pods.cidrs.at);
	free(c->pods.cluster_cidrs.at);
	free(c->kernel.vrf);
	free(c->control_socket);
	free(c->run_dir);
	free(c->state_dir);
	free(c);
}
