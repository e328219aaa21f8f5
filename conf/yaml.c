/* YAML text -> tree, by libyaml's events. The document is not expanded: an alias is a fault in
 * the tree, so that no small file can become a large one.
 */
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "conf/errors.h"

struct builder {
	yaml_parser_t parser;
	const char *text;
	size_t len;
	struct conf_errors *errors;
};

static struct conf_tree *build(struct builder *b, const yaml_event_t *event, unsigned depth);

static struct conf_place place_of(const yaml_mark_t *m)
{
	return (struct conf_place){(unsigned)m->line + 1, (unsigned)m->column + 1};
}

/* libyaml gives reader errors (bad UTF-8, control characters) an offset only. */
static struct conf_place place_at(const char *text, size_t offset)
{
	struct conf_place at = {1, 1};
	for (size_t i = 0; i < offset; i++) {
		at.column++;
		if (text[i] == '\n')
			at = (struct conf_place){at.line + 1, 1};
	}
	return at;
}

/* What people meet most, said in the file's terms; other problems keep libyaml's words. */
static const struct {
	const char *problem, *say;
} sayings[] = {
    {"did not find expected key", "this line is indented differently from its neighbours, or the value above "
				  "is not complete"},
    {"could not find expected ':'", "there is no \": \" after the key; is a space missing after a colon in the line "
				    "before?"},
    {"mapping values are not allowed in this context", "a \": \" where no key can stand; is the line indented "
						       "too far, or does a text with a colon need quotes?"},
    {"did not find expected ',' or ']'", "a list opened with [ is not closed with ]"},
    {"did not find expected ',' or '}'", "a map opened with { is not closed with }"},
    {"found unexpected end of stream", "a text in quotes is not closed"},
};

static void syntax_error(struct builder *b)
{
	const yaml_parser_t *p = &b->parser;
	const char *say = p->problem ? p->problem : "out of memory";
	if (p->error == YAML_READER_ERROR) {
		size_t offset = p->problem_offset < b->len ? p->problem_offset : b->len;
		conf_error_add(b->errors, place_at(b->text, offset), "", "not valid YAML: %s", say);
		return;
	}
	struct conf_place at = place_of(&p->problem_mark);
	if (p->problem_mark.index < b->len && b->text[p->problem_mark.index] == '\t') {
		conf_error_add(b->errors, at, "", "not valid YAML: a tab; indent with spaces");
		return;
	}
	for (size_t i = 0; i < sizeof sayings / sizeof *sayings; i++)
		if (strcmp(say, sayings[i].problem) == 0)
			say = sayings[i].say;
	conf_error_add(b->errors, at, "", "not valid YAML: %s", say);
}

static bool next(struct builder *b, yaml_event_t *event)
{
	if (yaml_parser_parse(&b->parser, event))
		return true;
	syntax_error(b);
	return false;
}

static bool says_null(const char *text)
{
	return *text == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0;
}

static const char *scalar_fault(const yaml_event_t *e)
{
	if (e->data.scalar.anchor)
		return "anchors (&name) are not supported";
	if (e->data.scalar.tag)
		return "tags (!name) are not supported";
	if (strlen((const char *)e->data.scalar.value) != e->data.scalar.length)
		return "a NUL character in the text";
	return NULL;
}

static struct conf_tree *build_scalar(const yaml_event_t *e)
{
	const char *text = (const char *)e->data.scalar.value;
	bool quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	bool null = !quoted && says_null(text);
	struct conf_tree *t = conf_tree_new(null ? CONF_TREE_NULL : CONF_TREE_SCALAR, place_of(&e->start_mark));
	t->text = conf_copy(text);
	t->quoted = quoted;
	t->fault = scalar_fault(e);
	return t;
}

static struct conf_tree *build_alias(const yaml_event_t *e)
{
	struct conf_tree *t = conf_tree_new(CONF_TREE_NULL, place_of(&e->start_mark));
	t->fault = "aliases (*name) are not supported: write the value out";
	return t;
}

static bool too_deep(struct builder *b, const yaml_event_t *e, unsigned depth)
{
	if (depth < CONF_TREE_DEPTH_MAX)
		return false;
	conf_error_add(b->errors, place_of(&e->start_mark), "", "nested more than %d levels deep", CONF_TREE_DEPTH_MAX);
	return true;
}

/* The next value or, where the event is end, nothing: *out is NULL then. False on an error. */
static bool next_value(struct builder *b, yaml_event_type_t end, unsigned depth, struct conf_tree **out)
{
	yaml_event_t event;
	*out = NULL;
	if (!next(b, &event))
		return false;
	bool ended = event.type == end;
	if (!ended)
		*out = build(b, &event, depth);
	yaml_event_delete(&event);
	return ended || *out;
}

static struct conf_tree *build_list(struct builder *b, const yaml_event_t *e, unsigned depth)
{
	struct conf_tree *list = conf_tree_new(CONF_TREE_LIST, place_of(&e->start_mark)), *item;
	if (e->data.sequence_start.anchor || e->data.sequence_start.tag)
		list->fault = "anchors (&name) and tags (!name) are not supported";
	while (next_value(b, YAML_SEQUENCE_END_EVENT, depth + 1, &item)) {
		if (!item)
			return list;
		conf_tree_append(list, item);
	}
	conf_tree_free(list);
	return NULL;
}

static void name_member(struct conf_tree *member, struct conf_tree *key)
{
	bool usable = (key->kind == CONF_TREE_SCALAR || key->kind == CONF_TREE_NULL) && !key->fault;
	member->key = conf_copy(usable ? key->text : "?");
	member->key_at = key->at;
	if (!usable) {
		member->at = key->at;
		member->fault = key->fault ? key->fault : "a key must be plain text";
	}
	conf_tree_free(key);
}

static struct conf_tree *build_map(struct builder *b, const yaml_event_t *e, unsigned depth)
{
	struct conf_tree *map = conf_tree_new(CONF_TREE_MAP, place_of(&e->start_mark)), *key, *member;
	if (e->data.mapping_start.anchor || e->data.mapping_start.tag)
		map->fault = "anchors (&name) and tags (!name) are not supported";
	while (next_value(b, YAML_MAPPING_END_EVENT, depth + 1, &key)) {
		if (!key)
			return map;
		if (!next_value(b, YAML_NO_EVENT, depth + 1, &member)) {
			conf_tree_free(key);
			break;
		}
		name_member(member, key);
		conf_tree_append(map, member);
	}
	conf_tree_free(map);
	return NULL;
}

static struct conf_tree *build(struct builder *b, const yaml_event_t *e, unsigned depth)
{
	if (e->type == YAML_SCALAR_EVENT)
		return build_scalar(e);
	if (e->type == YAML_ALIAS_EVENT)
		return build_alias(e);
	if (too_deep(b, e, depth))
		return NULL;
	return e->type == YAML_SEQUENCE_START_EVENT ? build_list(b, e, depth) : build_map(b, e, depth);
}

static void nothing_there(struct builder *b)
{
	conf_error_add(
	    b->errors, (struct conf_place){0, 0}, "",
	    "the file is empty; the least is the pods' addresses, \"pods: {cidrs: [10.244.7.0/24]}\", and to "
	    "speak BGP also node.asn and one entry in peers with address and asn");
}

/* Stream start, one document, stream end. */
static struct conf_tree *build_document(struct builder *b)
{
	struct conf_tree *root = NULL;
	yaml_event_t event;
	bool more = true;
	while (more && next(b, &event)) {
		more = event.type != YAML_STREAM_END_EVENT;
		if (event.type == YAML_DOCUMENT_START_EVENT && root) {
			conf_error_add(b->errors, place_of(&event.start_mark), "",
				       "a second YAML document; one file holds one");
			more = false;
		} else if (event.type == YAML_DOCUMENT_START_EVENT) {
			more = next_value(b, YAML_NO_EVENT, 0, &root);
		}
		yaml_event_delete(&event);
	}
	if (b->errors->count == 0 && (!root || (root->kind == CONF_TREE_NULL && !root->fault)))
		nothing_there(b);
	if (b->errors->count == 0)
		return root;
	conf_tree_free(root);
	return NULL;
}

/* Before libyaml sees it: size, and NUL bytes, which make every later message unreadable. */
static bool is_text(const char *text, size_t len, struct conf_errors *errors)
{
	const char *nul = len ? memchr(text, '\0', len) : NULL;
	if (len > CONF_TEXT_MAX)
		conf_error_add(errors, (struct conf_place){0, 0}, "", "larger than %d KiB: this is not a configuration",
			       CONF_TEXT_MAX / 1024);
	else if (nul)
		conf_error_add(errors, place_at(text, (size_t)(nul - text)), "",
			       "a NUL byte: this is not a text file in UTF-8");
	return errors->count == 0;
}

struct conf_tree *conf_yaml_read(const char *text, size_t len, struct conf_errors *errors)
{
	struct builder b = {.text = text, .len = len, .errors = errors};
	if (!is_text(text, len, errors))
		return NULL;
	if (!yaml_parser_initialize(&b.parser)) {
		conf_error_add(errors, (struct conf_place){0, 0}, "", "out of memory");
		return NULL;
	}
	yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, len);
	yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
	struct conf_tree *root = build_document(&b);
	yaml_parser_delete(&b.parser);
	return root;
}
