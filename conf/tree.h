/* A configuration file as a generic tree in which every key and value knows its place, so that
 * whatever is found wrong later can be pointed at. A tree owns its children and its texts;
 * conf_tree_free() takes the root. What the YAML reader saw but does not support (an alias, a
 * tag) stays in the tree as a fault, which is reported when the value is read and its path known.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct conf_errors;

struct conf_place {
	unsigned line, column; /* 1-based; 0: the file as a whole */
};

enum conf_tree_kind { CONF_TREE_NULL, CONF_TREE_SCALAR, CONF_TREE_LIST, CONF_TREE_MAP };

struct conf_tree {
	enum conf_tree_kind kind;
	bool quoted;            /* a scalar in quotes: text, never a number */
	const char *fault;      /* static text; NULL where the value can be used */
	struct conf_place at;   /* of the value */
	struct conf_place key_at;
	char *key;              /* NULL but in a map */
	char *text;             /* of a scalar */
	size_t count;           /* children */
	struct conf_tree *first, *last, *next;
};

enum { CONF_TREE_DEPTH_MAX = 16, CONF_TEXT_MAX = 1 << 20 };

/* Memory for the configuration; a node that has none for it cannot run: aborts. */
void *conf_grab(size_t count, size_t size);
char *conf_copy(const char *text);

struct conf_tree *conf_tree_new(enum conf_tree_kind kind, struct conf_place at);
void conf_tree_append(struct conf_tree *parent, struct conf_tree *child);
void conf_tree_free(struct conf_tree *t);
/* The first member called key, NULL where t is no map or has none (or t is NULL). */
const struct conf_tree *conf_tree_find(const struct conf_tree *t, const char *key);
/* The same, but a member that says null counts as not there. */
const struct conf_tree *conf_tree_given(const struct conf_tree *t, const char *key);

/* The first member called key becomes the first of all. */
void conf_tree_to_front(struct conf_tree *t, const char *key);

/* All that is in t, in one text that no other tree has; to be freed. */
char *conf_tree_text(const struct conf_tree *t);

/* yaml.c: NULL where text is not one YAML document; then an error was added. */
struct conf_tree *conf_yaml_read(const char *text, size_t len, struct conf_errors *errors);
