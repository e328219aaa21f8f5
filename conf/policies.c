/* Policies as a whole: what only several of their keys together can get wrong, finding one, and their end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/errors.h"
#include "conf/keys.h"

struct place {
	const struct conf_tree *tree;
	const char *path;
	struct conf_errors *errors;
};

/* Points at key there, or at the whole where the key is not given. */
static void error_at(const struct place *p, const char *key, const char *text)
{
	char path[192];
	const struct conf_tree *at = conf_tree_given(p->tree, key);
	snprintf(path, sizeof path, "%s.%s", p->path, key);
	conf_error_add(p->errors, at ? at->at : p->tree->at, path, "%s", text);
}

static bool sets_something(const struct conf_tree *rule)
{
	const struct conf_tree *set = conf_tree_given(rule, "set");
	return set && set->kind == CONF_TREE_MAP && set->count;
}

static void check_rule(const struct place *p, const struct conf_rule *r)
{
	if (p->tree->kind != CONF_TREE_MAP)
		return;
	if (!conf_tree_given(p->tree, "action"))
		error_at(p, "action", "missing, expected accept, reject or next");
	if (r->action == CONF_ACTION_REJECT && sets_something(p->tree))
		error_at(p, "set", "a rule that rejects changes nothing; take set away");
	if (r->set.replace.given && (r->set.add.given || r->set.remove.given)) {
		char path[192];
		snprintf(path, sizeof path, "%s.set.community", p->path);
		struct place inner = {conf_tree_given(conf_tree_given(p->tree, "set"), "community"), path, p->errors};
		error_at(&inner, "replace", "replace leaves nothing to add or remove: write one or the other");
	}
}

static bool is_built_in(const char *name)
{
	static const char *const names[] = {"all", "none", "pods", "cluster"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static void check_name(const struct place *p, const struct conf *c, size_t index)
{
	const char *name = c->policies[index].name;
	char text[128];
	if (!conf_tree_given(p->tree, "name"))
		error_at(p, "name", "missing, expected the name that import and export call it by");
	if (name && is_built_in(name))
		error_at(p, "name", "all, none, pods and cluster are built in; expected another name");
	for (size_t i = 0; name && i < index; i++) {
		if (!c->policies[i].name || strcmp(c->policies[i].name, name) != 0)
			continue;
		snprintf(text, sizeof text, "%s is also the name of policies[%zu]", name, i);
		error_at(p, "name", text);
		return;
	}
}

static void check_policy(const struct place *p, const struct conf *c, size_t index)
{
	const struct conf_rules *policy = &c->policies[index];
	const struct conf_tree *rules = conf_tree_given(p->tree, "rules"), *t = rules ? rules->first : NULL;
	char path[128];
	if (p->tree->kind != CONF_TREE_MAP)
		return;
	check_name(p, c, index);
	for (size_t i = 0; i < policy->rule_count; i++, t = t->next) {
		snprintf(path, sizeof path, "%.60s.rules[%zu]", p->path, i);
		check_rule(&(struct place){t, path, p->errors}, &policy->rules[i]);
	}
}

void conf_check_policies(const struct conf *c, const struct conf_tree *root, struct conf_errors *errors)
{
	const struct conf_tree *list = conf_tree_given(root, "policies"), *t = list ? list->first : NULL;
	char path[64];
	for (size_t i = 0; i < c->policy_count; i++, t = t->next) {
		snprintf(path, sizeof path, "policies[%zu]", i);
		check_policy(&(struct place){t, path, errors}, c, i);
	}
}

const struct conf_rules *conf_policy_find(const struct conf *c, const char *name)
{
	for (size_t i = 0; name && i < c->policy_count; i++)
		if (c->policies[i].name && strcmp(c->policies[i].name, name) == 0)
			return &c->policies[i];
	return NULL;
}

static void names_fini(struct conf_names *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->at[i]);
	free(n->at);
}

static void rule_fini(struct conf_rule *r)
{
	names_fini(&r->match.peer);
	names_fini(&r->match.as_path);
	free(r->match.prefixes.at);
	free(r->match.any.at);
	free(r->match.all.at);
	free(r->match.none.at);
	free(r->match.origin_as.at);
	free(r->match.next_hop.at);
	free(r->set.prepend.at);
	free(r->set.add.at);
	free(r->set.remove.at);
	free(r->set.replace.at);
}

void conf_policies_free(struct conf_rules *policies, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < policies[i].rule_count; j++)
			rule_fini(&policies[i].rules[j]);
		free(policies[i].rules);
		free(policies[i].name);
		free(policies[i].text);
	}
	free(policies);
}
