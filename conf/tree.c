#include "conf/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *conf_grab(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size);
	if (!p)
		abort();
	return p;
}

char *conf_copy(const char *text)
{
	size_t n = strlen(text) + 1;
	return memcpy(conf_grab(n, 1), text, n);
}

struct conf_tree *conf_tree_new(enum conf_tree_kind kind, struct conf_place at)
{
	struct conf_tree *t = conf_grab(1, sizeof *t);
	t->kind = kind;
	t->at = t->key_at = at;
	return t;
}

void conf_tree_append(struct conf_tree *parent, struct conf_tree *child)
{
	if (parent->last)
		parent->last->next = child;
	else
		parent->first = child;
	parent->last = child;
	parent->count++;
}

/* Recursion is bounded by CONF_TREE_DEPTH_MAX; siblings are a loop. */
void conf_tree_free(struct conf_tree *t)
{
	if (!t)
		return;
	for (struct conf_tree *c = t->first, *next; c; c = next) {
		next = c->next;
		conf_tree_free(c);
	}
	free(t->key);
	free(t->text);
	free(t);
}

const struct conf_tree *conf_tree_find(const struct conf_tree *t, const char *key)
{
	if (!t || t->kind != CONF_TREE_MAP)
		return NULL;
	for (const struct conf_tree *c = t->first; c; c = c->next)
		if (strcmp(c->key, key) == 0)
			return c;
	return NULL;
}

const struct conf_tree *conf_tree_given(const struct conf_tree *t, const char *key)
{
	const struct conf_tree *c = conf_tree_find(t, key);
	return c && c->kind != CONF_TREE_NULL ? c : NULL;
}

void conf_tree_to_front(struct conf_tree *t, const char *key)
{
	struct conf_tree **link = &t->first, *last = NULL, *found;
	if (t->kind != CONF_TREE_MAP)
		return;
	while (*link && strcmp((*link)->key, key) != 0) {
		last = *link;
		link = &last->next;
	}
	if (!*link || !last)
		return;
	found = *link;
	*link = found->next;
	if (!found->next)
		t->last = last;
	found->next = t->first;
	t->first = found;
}

/* Appends text with its length before it, so that nothing in it can be taken for structure. */
static void append(char **out, size_t *len, char kind, const char *text)
{
	size_t n = strlen(text);
	*out = realloc(*out, *len + n + 32);
	if (!*out)
		abort();
	*len += (size_t)sprintf(*out + *len, "%c%zu:%s", kind, n, text);
}

static void append_tree(char **out, size_t *len, const struct conf_tree *t)
{
	static const char kinds[] = {
	    [CONF_TREE_NULL] = '~', [CONF_TREE_SCALAR] = '=', [CONF_TREE_LIST] = '[', [CONF_TREE_MAP] = '{'};
	append(out, len, kinds[t->kind], t->kind == CONF_TREE_SCALAR ? t->text : "");
	for (const struct conf_tree *c = t->first; c; c = c->next) {
		if (c->key)
			append(out, len, '.', c->key);
		append_tree(out, len, c);
	}
	if (t->kind == CONF_TREE_LIST || t->kind == CONF_TREE_MAP)
		append(out, len, '}', "");
}

char *conf_tree_text(const struct conf_tree *t)
{
	char *out = NULL;
	size_t len = 0;
	append_tree(&out, &len, t);
	return out;
}
