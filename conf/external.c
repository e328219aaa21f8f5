/* The entries of `external`: what only several of their keys together can get wrong, comparing two, and their end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/errors.h"
#include "conf/keys.h"

enum { ENTRIES_MAX = 64, TABLE_MAIN = 254, TABLE_LOCAL = 255 };

struct place {
	const struct conf *conf;
	const struct conf_tree *tree;
	size_t index;
	struct conf_errors *errors;
};

/* Points at key in the entry, or at the entry where the key is not given. */
static void error_at(const struct place *p, const char *key, const char *text)
{
	char path[64];
	const struct conf_tree *at = conf_tree_given(p->tree, key);
	snprintf(path, sizeof path, "external[%zu].%s", p->index, key);
	conf_error_add(p->errors, at ? at->at : p->tree->at, path, "%s", text);
}

static void check_name(const struct place *p)
{
	const struct conf_external *all = p->conf->external;
	char text[128];
	if (!conf_tree_given(p->tree, "name"))
		error_at(p, "name", "missing, expected the name that output calls it by");
	for (size_t i = 0; all[p->index].name && i < p->index; i++) {
		if (!all[i].name || strcmp(all[i].name, all[p->index].name) != 0)
			continue;
		snprintf(text, sizeof text, "%s is also the name of external[%zu]", all[i].name, i);
		error_at(p, "name", text);
		return;
	}
}

/* The kernel's routes, or the socket's; a value that was refused is not judged again. */
static void check_kind(const struct place *p)
{
	const struct conf_external *e = &p->conf->external[p->index];
	bool table = conf_tree_given(p->tree, "table"), protocol = conf_tree_given(p->tree, "protocol");
	if (e->socket && (table || protocol))
		error_at(p, table ? "table" : "protocol", "not together with socket: an entry is for the kernel's routes or for an owner's");
	else if (!e->socket && !table && !protocol)
		error_at(p, "protocol", "missing, expected protocol or table (the kernel's routes), or socket: true (what an owner of this "
					"name hands over)");
}

/* The tables in which a host has its own routes. */
static bool is_hosts(const struct conf_external *e)
{
	return e->table == TABLE_MAIN || e->table == TABLE_LOCAL;
}

static void check_selection(const struct place *p)
{
	const struct conf_external *e = &p->conf->external[p->index];
	if (e->protocol && e->protocol == p->conf->kernel.protocol)
		error_at(p, "protocol", "these are our own routes (kernel.protocol), which would come back to where they are from; expected "
					"another program's number");
	if (is_hosts(e) && !conf_tree_given(p->tree, "protocol") && !conf_tree_given(p->tree, "prefixes"))
		error_at(p, "table", "the host's own routes are in this table, too: add protocol, prefixes or both");
	for (size_t i = 0; i < e->prefixes.count; i++) {
		const struct conf_range *r = &e->prefixes.at[i];
		if (prefix_is_default(&r->prefix) && r->max == r->prefix.len)
			error_at(p, "prefixes", "the default route is never told; expected other prefixes, or le LENGTH behind it for those inside");
	}
}

void conf_check_external(const struct conf *c, const struct conf_tree *root, struct conf_errors *errors)
{
	const struct conf_tree *list = conf_tree_given(root, "external"), *t = list ? list->first : NULL;
	if (c->external_count > ENTRIES_MAX)
		conf_error_add(errors, list->at, "external", "%zu entries, expected at most %d", c->external_count, ENTRIES_MAX);
	for (size_t i = 0; i < c->external_count; i++, t = t->next) {
		struct place p = {c, t, i, errors};
		if (t->kind != CONF_TREE_MAP)
			continue;
		check_name(&p);
		check_kind(&p);
		check_selection(&p);
	}
}

static bool same_ranges(const struct conf_ranges *a, const struct conf_ranges *b)
{
	bool same = a->count == b->count;
	for (size_t i = 0; same && i < a->count; i++)
		same = prefix_eq(&a->at[i].prefix, &b->at[i].prefix) && a->at[i].min == b->at[i].min && a->at[i].max == b->at[i].max;
	return same;
}

static bool same_communities(const struct conf_communities *a, const struct conf_communities *b)
{
	bool same = a->count == b->count;
	for (size_t i = 0; same && i < a->count; i++)
		same = community_cmp(&a->at[i].value, &b->at[i].value) == 0;
	return same;
}

bool conf_external_same(const struct conf_external *a, const struct conf_external *b)
{
	return strcmp(a->name, b->name) == 0 && a->socket == b->socket && a->table == b->table && a->protocol == b->protocol &&
	       same_ranges(&a->prefixes, &b->prefixes) && same_communities(&a->community, &b->community);
}

void conf_external_free(struct conf_external *at, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(at[i].name);
		free(at[i].prefixes.at);
		free(at[i].community.at);
	}
	free(at);
}
