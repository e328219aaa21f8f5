/* Named sets: lists that stand once in the file, under sets, and that the lists of rules use as $NAME. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/value.h"
#include "src/base/hash.h"
#include "src/base/name.h"

/* Of a kind; and what all rules together may have from sets, so that a small file stays a small configuration. */
enum { SETS_MAX = 1000, COPIED_MAX = 1000000 };

static struct conf_sets *sets_for(struct conf *c, const struct list_kind *kind)
{
	return (struct conf_sets *)((char *)c + kind->sets);
}

static const struct conf_set *find(const struct conf_sets *sets, const char *name)
{
	for (size_t i = 0; i < sets->count; i++)
		if (strcmp(sets->at[i].name, name) == 0)
			return &sets->at[i];
	return NULL;
}

bool conf_names_set(const struct value *item)
{
	return conf_is_scalar(item) && item->tree->text[0] == '$';
}

static void unknown_set(const struct value *item, const struct conf_sets *sets)
{
	char found[CONF_QUOTE_MAX + 32], text[sizeof((struct conf_error *)NULL)->text];
	int n = snprintf(text, sizeof text, "found %s, which is not in sets; there %s",
			 conf_tree_describe(item->tree, found), sets->count ? "are" : "is no such set at all");
	for (size_t i = 0; i < sets->count && n > 0 && (size_t)n < sizeof text; i++)
		n += snprintf(text + n, sizeof text - (size_t)n, "%s $%s", i ? "," : "", sets->at[i].name);
	conf_error_add(item->errors, item->tree->at, item->path, "%s", text);
}

const struct conf_set *conf_set_named(const struct value *item, const struct list_kind *kind)
{
	struct conf_sets *sets = sets_for(item->conf, kind);
	const struct conf_set *set = find(sets, item->tree->text + 1);
	if (!set) {
		unknown_set(item, sets);
		return NULL;
	}
	item->conf->sets.copied += set->count;
	if (item->conf->sets.copied <= COPIED_MAX)
		return set;
	conf_error_add(item->errors, item->tree->at, item->path, "rules use sets of more than %d items in all", COPIED_MAX);
	return NULL;
}

/* --- reading them */

static bool name_is_free(const struct value *member, const struct conf_sets *sets)
{
	char shown[CONF_QUOTE_MAX];
	const char *name = member->tree->key;
	if (!name_ok(name))
		conf_error_add(member->errors, member->tree->key_at, member->path, "%s is no name for a set, expected %s",
			       conf_printable(name, shown), conf_key_find("node", "name")->expected);
	else if (find(sets, name))
		conf_error_add(member->errors, member->tree->key_at, member->path, "the set is here twice");
	else
		return true;
	return false;
}

static void read_set(const struct value *member, const struct list_kind *kind, struct conf_sets *sets)
{
	struct list_kind plain = *kind;
	struct conf_set set = {0};
	plain.sets = 0; /* no sets in sets */
	if (!conf_item_sound(member) || !name_is_free(member, sets) || !conf_filled_list(member))
		return;
	char *text = conf_tree_text(member->tree);
	set.name = conf_copy(member->tree->key);
	set.print[0] = hash_bytes(text, strlen(text), 0);
	set.print[1] = hash_bytes(text, strlen(text), 1);
	set.at = conf_read_items(member, &plain, &set.count);
	sets->at[sets->count++] = set;
	free(text);
}

static void read_sets(const struct value *v, const struct list_kind *kind)
{
	struct conf_sets *sets = v->field;
	char path[128], shown[CONF_QUOTE_MAX];
	if (v->tree->kind != CONF_TREE_MAP || v->tree->count > SETS_MAX) {
		conf_mismatch(v, v->tree->kind == CONF_TREE_MAP ? ": at most 1000" : "");
		return;
	}
	sets->at = conf_grab(v->tree->count, sizeof *sets->at);
	for (const struct conf_tree *t = v->tree->first; t; t = t->next) {
		struct value member = *v;
		snprintf(path, sizeof path, "%s.%s", v->path, conf_printable(t->key, shown));
		member.tree = t;
		member.path = path;
		read_set(&member, kind, sets);
	}
}

void conf_set_range_sets(const struct value *v)
{
	read_sets(v, &conf_ranges_kind);
}

void conf_set_community_sets(const struct value *v)
{
	read_sets(v, &conf_communities_kind);
}

void conf_set_as_path_sets(const struct value *v)
{
	read_sets(v, &conf_as_paths_kind);
}

/* --- comparing and freeing */

static bool mentions(const struct conf_tree *t, const char *set)
{
	if (t->kind == CONF_TREE_SCALAR && t->text[0] == '$' && strcmp(t->text + 1, set) == 0)
		return true;
	for (const struct conf_tree *c = t->first; c; c = c->next)
		if (mentions(c, set))
			return true;
	return false;
}

static char *append_print(char *text, const struct conf_set *set)
{
	size_t n = strlen(text), more = strlen(set->name) + 64;
	char *at = realloc(text, n + more);
	if (!at)
		abort();
	snprintf(at + n, more, "$%s=%016llx%016llx", set->name, (unsigned long long)set->print[0],
		 (unsigned long long)set->print[1]);
	return at;
}

char *conf_policy_text(const struct conf *c, const struct conf_tree *policy)
{
	const struct conf_sets *all[] = {&c->sets.prefixes, &c->sets.communities, &c->sets.as_paths};
	char *text = conf_tree_text(policy);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		for (size_t j = 0; j < all[i]->count; j++)
			if (mentions(policy, all[i]->at[j].name))
				text = append_print(text, &all[i]->at[j]);
	return text;
}

static void sets_fini(struct conf_sets *sets, bool texts)
{
	for (size_t i = 0; i < sets->count; i++) {
		for (size_t j = 0; texts && j < sets->at[i].count; j++)
			free(((char **)sets->at[i].at)[j]);
		free(sets->at[i].at);
		free(sets->at[i].name);
	}
	free(sets->at);
}

void conf_sets_free(struct conf *c)
{
	sets_fini(&c->sets.prefixes, false);
	sets_fini(&c->sets.communities, false);
	sets_fini(&c->sets.as_paths, true);
}
