#include "src/client/render.h"

#include <json-c/json.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/addr.h"

/* The member "key", or along "a.b" through objects. NULL where there is none. */
static struct json_object *member(struct json_object *row, const char *key)
{
	struct json_object *found;
	char name[64];
	if (json_object_object_get_ex(row, key, &found))
		return found;
	const char *dot = strchr(key, '.');
	size_t n = dot ? (size_t)(dot - key) : 0;
	if (n == 0 || n >= sizeof name)
		return NULL;
	memcpy(name, key, n);
	name[n] = '\0';
	if (!json_object_object_get_ex(row, name, &found) || !json_object_is_type(found, json_type_object))
		return NULL;
	return member(found, dot + 1);
}

static bool is_empty(struct json_object *v)
{
	return !v || (json_object_is_type(v, json_type_string) && json_object_get_string_len(v) == 0) ||
	       (json_object_is_type(v, json_type_array) && json_object_array_length(v) == 0) ||
	       (json_object_is_type(v, json_type_object) && json_object_object_length(v) == 0);
}

static bool is_number(struct json_object *v)
{
	return json_object_is_type(v, json_type_int) || json_object_is_type(v, json_type_double);
}

static void add_value(struct text *out, struct json_object *v);

static void add_list(struct text *out, struct json_object *list)
{
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		text_add(out, i ? ", " : "");
		add_value(out, json_object_array_get_idx(list, i));
	}
}

/* {"ipv4": 5, "ipv6": 2} reads "ipv4 5, ipv6 2". */
static void add_object(struct text *out, struct json_object *o)
{
	const char *comma = "";
	struct json_object_iterator i = json_object_iter_begin(o), end = json_object_iter_end(o);
	for (; !json_object_iter_equal(&i, &end); json_object_iter_next(&i), comma = ", ") {
		const char *name = json_object_iter_peek_name(&i);
		text_add(out, comma);
		text_printable(out, name, strlen(name));
		text_add(out, " ");
		add_value(out, json_object_iter_peek_value(&i));
	}
}

/* Recursion is bounded by the depth that the JSON reader takes. */
static void add_value(struct text *out, struct json_object *v)
{
	if (is_empty(v))
		text_add(out, "-");
	else if (json_object_is_type(v, json_type_array))
		add_list(out, v);
	else if (json_object_is_type(v, json_type_object))
		add_object(out, v);
	else if (json_object_is_type(v, json_type_boolean))
		text_add(out, json_object_get_boolean(v) ? "yes" : "no");
	else if (is_number(v))
		text_add(out, json_object_to_json_string_ext(v, JSON_C_TO_STRING_PLAIN));
	else
		text_printable(out, json_object_get_string(v), (size_t)json_object_get_string_len(v));
}

/* A column without a heading (the mark of a route) stays blank where there is nothing. */
static void add_cell(struct text *out, const struct command_column *col, struct json_object *row)
{
	struct json_object *v = member(row, col->key);
	if (!is_empty(v) || *col->heading)
		add_value(out, v);
}

/* --- tables: two passes, one measures, one prints --- */

struct layout {
	size_t count;
	size_t width[COMMAND_COLUMNS_MAX];
	bool right[COMMAND_COLUMNS_MAX]; /* aligned to the right */
};

/* A column stands to the right where it has numbers and nothing else but gaps. */
struct kinds {
	bool numbers, texts;
};

static struct kinds measure_cell(size_t *width, const struct command_column *col, struct json_object *row,
				 struct text *scratch)
{
	struct json_object *v = member(row, col->key);
	scratch->len = 0;
	add_cell(scratch, col, row);
	size_t w = text_width(scratch->at, scratch->len);
	if (w > *width)
		*width = w;
	return (struct kinds){is_number(v), !is_empty(v) && !is_number(v)};
}

static void measure_column(struct layout *l, const struct command_column *col, struct json_object *rows,
			   struct text *scratch)
{
	size_t *width = &l->width[l->count];
	bool numbers = false, texts = false;
	*width = text_width(col->heading, strlen(col->heading));
	for (size_t r = 0; r < json_object_array_length(rows); r++) {
		struct kinds k = measure_cell(width, col, json_object_array_get_idx(rows, r), scratch);
		numbers = numbers || k.numbers;
		texts = texts || k.texts;
	}
	l->right[l->count++] = numbers && !texts;
}

static struct layout measure(const struct command_column *cols, struct json_object *rows)
{
	struct layout l = {0};
	struct text scratch = {0};
	while (l.count < COMMAND_COLUMNS_MAX && cols[l.count].key)
		measure_column(&l, &cols[l.count], rows, &scratch);
	text_fini(&scratch);
	return l;
}

static void put_cell(struct text *out, const struct layout *l, size_t i, const struct text *cell)
{
	size_t w = text_width(cell->at, cell->len), fill = l->width[i] > w ? l->width[i] - w : 0;
	text_pad(out, i ? 2 : 0);
	text_pad(out, l->right[i] ? fill : 0);
	text_bytes(out, cell->at, cell->len);
	text_pad(out, l->right[i] ? 0 : fill);
}

/* row NULL: the headings */
static void put_line(struct text *out, const struct layout *l, const struct command_column *cols,
		     struct json_object *row, struct text *scratch)
{
	for (size_t i = 0; i < l->count; i++) {
		scratch->len = 0;
		if (row)
			add_cell(scratch, &cols[i], row);
		else
			text_add(scratch, cols[i].heading);
		put_cell(out, l, i, scratch);
	}
	text_trim(out);
	text_add(out, "\n");
}

static bool is_rare(const struct command *c, const char *key)
{
	for (size_t i = 0; i < COMMAND_RARE_MAX && c->rare[i]; i++)
		if (strcmp(c->rare[i], key) == 0)
			return true;
	return false;
}

static bool any_has(struct json_object *rows, const char *key)
{
	for (size_t r = 0; r < json_object_array_length(rows); r++)
		if (!is_empty(member(json_object_array_get_idx(rows, r), key)))
			return true;
	return false;
}

static void put_table(const struct command *c, struct json_object *rows, struct text *out)
{
	struct command_column cols[COMMAND_COLUMNS_MAX + 1] = {{0}};
	for (size_t i = 0, n = 0; i < COMMAND_COLUMNS_MAX && c->columns[i].key; i++)
		if (!is_rare(c, c->columns[i].key) || any_has(rows, c->columns[i].key))
			cols[n++] = c->columns[i];
	struct layout l = measure(cols, rows);
	struct text scratch = {0};
	put_line(out, &l, cols, NULL, &scratch);
	for (size_t r = 0; r < json_object_array_length(rows); r++)
		put_line(out, &l, cols, json_object_array_get_idx(rows, r), &scratch);
	text_fini(&scratch);
}

/* --- records --- */

/* A list of phrases (warnings) reads better one a line; a list of words in one. */
static bool is_phrases(struct json_object *v)
{
	for (size_t i = 0; json_object_is_type(v, json_type_array) && i < json_object_array_length(v); i++) {
		struct json_object *item = json_object_array_get_idx(v, i);
		if (json_object_is_type(item, json_type_string) && strchr(json_object_get_string(item), ' '))
			return true;
	}
	return false;
}

static void put_phrases(struct text *out, struct json_object *list, size_t indent)
{
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		if (i) {
			text_add(out, "\n");
			text_pad(out, indent);
		}
		add_value(out, json_object_array_get_idx(list, i));
	}
}

static void put_field(struct text *out, const struct command_column *col, struct json_object *row, size_t indent)
{
	struct json_object *v = member(row, col->key);
	if (is_empty(v))
		return;
	text_add(out, col->heading);
	text_add(out, ":");
	text_pad(out, indent - strlen(col->heading) - 1);
	if (is_phrases(v))
		put_phrases(out, v, indent);
	else
		add_cell(out, col, row);
	text_add(out, "\n");
}

static void put_record(const struct command_column *cols, struct json_object *row, struct text *out)
{
	size_t indent = 0;
	for (size_t i = 0; i < COMMAND_COLUMNS_MAX && cols[i].key; i++)
		if (!is_empty(member(row, cols[i].key)) && strlen(cols[i].heading) + 3 > indent)
			indent = strlen(cols[i].heading) + 3;
	for (size_t i = 0; i < COMMAND_COLUMNS_MAX && cols[i].key; i++)
		put_field(out, &cols[i], row, indent);
}

static bool is_record(const struct command *c, bool with_args)
{
	return (with_args ? c->shape_with_args : c->shape) == COMMAND_RECORD;
}

void render_text(const struct command *c, bool with_args, struct json_object *rows, struct text *out)
{
	size_t n = json_object_array_length(rows);
	if (n == 0 && c->empty) {
		text_add(out, c->empty);
		text_add(out, "\n");
	}
	if (n && !is_record(c, with_args))
		put_table(c, rows, out);
	for (size_t i = 0; is_record(c, with_args) && i < n; i++) {
		text_add(out, i ? "\n" : "");
		put_record(c->record, json_object_array_get_idx(rows, i), out);
	}
}

/* --- JSON --- */

/* The JSON writer escapes what JSON demands; DEL and the C1 controls, which it lets through, can
 * only stand inside strings, where \u0080 means the same. */
static void put_json(struct text *out, struct json_object *o, int flags)
{
	static const char hex[] = "0123456789abcdef";
	const char *s = json_object_to_json_string_ext(o, flags | JSON_C_TO_STRING_NOSLASHESCAPE);
	for (; *s; s++) {
		unsigned char ch = (unsigned char)*s, after = (unsigned char)s[1];
		bool c1 = ch == 0xc2 && after >= 0x80 && after < 0xa0;
		if (c1)
			ch = (unsigned char)*++s;
		if (c1 || ch == 0x7f)
			text_bytes(out, (char[]){'\\', 'u', '0', '0', hex[ch >> 4], hex[ch & 15]}, 6);
		else
			text_bytes(out, s, 1);
	}
}

/* One row a line: a file of a million routes stays greppable. */
static void put_json_rows(struct text *out, struct json_object *rows)
{
	size_t n = json_object_array_length(rows);
	text_add(out, "[");
	for (size_t i = 0; i < n; i++) {
		text_add(out, i ? ",\n" : "\n");
		put_json(out, json_object_array_get_idx(rows, i), JSON_C_TO_STRING_SPACED);
	}
	text_add(out, n ? "\n]\n" : "]\n");
}

void render_json(const struct command *c, bool with_args, struct json_object *rows, struct text *out)
{
	if (!is_record(c, with_args) || json_object_array_length(rows) != 1) {
		put_json_rows(out, rows);
		return;
	}
	put_json(out, json_object_array_get_idx(rows, 0), JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED);
	text_add(out, "\n");
}

/* --- order --- */

struct route_key {
	struct prefix prefix;
	bool known; /* the prefix could be read */
	int rank;   /* * before + before the rest */
	size_t index;
	struct json_object *row;
};

static const char *string_of(struct json_object *row, const char *key)
{
	struct json_object *v = member(row, key);
	return json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
}

static struct route_key route_key_of(struct json_object *row, size_t index)
{
	struct route_key k = {.row = row, .index = index};
	char mark = *string_of(row, "mark");
	k.known = prefix_parse(string_of(row, "prefix"), &k.prefix) == PREFIX_OK;
	k.rank = mark == '*' ? 0 : mark == '+' ? 1 : 2;
	return k;
}

static int route_order(const void *va, const void *vb)
{
	const struct route_key *a = va, *b = vb;
	int c = a->known && b->known ? prefix_cmp(&a->prefix, &b->prefix) : (int)b->known - (int)a->known;
	if (c == 0)
		c = a->rank - b->rank;
	return c ? c : (a->index < b->index ? -1 : 1);
}

void render_sort(const struct command *c, struct json_object *rows)
{
	size_t n = json_object_array_length(rows);
	struct route_key *keys = n && strcmp(c->id, "show-routes") == 0 ? calloc(n, sizeof *keys) : NULL;
	if (!keys)
		return;
	for (size_t i = 0; i < n; i++)
		keys[i] = route_key_of(json_object_get(json_object_array_get_idx(rows, i)), i);
	qsort(keys, n, sizeof *keys, route_order);
	for (size_t i = 0; i < n; i++)
		json_object_array_put_idx(rows, i, keys[i].row);
	free(keys);
}
