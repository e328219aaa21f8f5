#include "src/client/answer.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <string.h>

void answer_init(struct answer *a)
{
	*a = (struct answer){.rows = json_object_new_array()};
}

void answer_fini(struct answer *a)
{
	json_object_put(a->rows);
	text_fini(&a->line);
	text_fini(&a->error);
	text_fini(&a->hint);
	text_fini(&a->progress);
}

static void garbage(struct answer *a, const char *line, size_t len)
{
	enum { SHOWN_MAX = 60 };
	a->state = ANSWER_GARBAGE;
	text_printable(&a->error, line, len < SHOWN_MAX ? len : SHOWN_MAX);
	if (len > SHOWN_MAX)
		text_add(&a->error, "...");
}

static void add_string(struct text *t, struct json_object *s)
{
	if (json_object_is_type(s, json_type_string))
		text_printable(t, json_object_get_string(s), (size_t)json_object_get_string_len(s));
}

/* One kind of line. False where the object is not of this kind. */
static bool take_row(struct answer *a, struct json_object *o)
{
	struct json_object *row;
	if (!json_object_object_get_ex(o, "row", &row) || !json_object_is_type(row, json_type_object))
		return false;
	json_object_array_add(a->rows, json_object_get(row));
	return true;
}

static bool take_progress(struct answer *a, struct json_object *o)
{
	struct json_object *progress;
	if (!json_object_object_get_ex(o, "progress", &progress) || !json_object_is_type(progress, json_type_string))
		return false;
	a->progress.len = 0;
	add_string(&a->progress, progress);
	return true;
}

static bool take_done(struct answer *a, struct json_object *o)
{
	struct json_object *done;
	if (!json_object_object_get_ex(o, "done", &done) || !json_object_get_boolean(done))
		return false;
	a->state = ANSWER_DONE;
	return true;
}

static bool take_error(struct answer *a, struct json_object *o)
{
	struct json_object *error, *hint;
	if (!json_object_object_get_ex(o, "error", &error) || !json_object_is_type(error, json_type_string))
		return false;
	a->state = ANSWER_ERROR;
	add_string(&a->error, error);
	if (json_object_object_get_ex(o, "hint", &hint))
		add_string(&a->hint, hint);
	return true;
}

/* Exactly one JSON value and nothing behind it, in valid UTF-8. */
static struct json_object *parse(const char *line, size_t len)
{
	struct json_tokener *tok = json_tokener_new();
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	struct json_object *o = json_tokener_parse_ex(tok, line, (int)len);
	bool whole = json_tokener_get_error(tok) == json_tokener_success && json_tokener_get_parse_end(tok) == len;
	json_tokener_free(tok);
	if (whole && json_object_is_type(o, json_type_object))
		return o;
	json_object_put(o);
	return NULL;
}

static void take_line(struct answer *a, const char *line, size_t len)
{
	struct json_object *o = parse(line, len);
	if (!o || !(take_row(a, o) || take_progress(a, o) || take_done(a, o) || take_error(a, o)))
		garbage(a, line, len);
	json_object_put(o);
}

enum answer_state answer_feed(struct answer *a, const char *bytes, size_t len)
{
	while (len && a->state == ANSWER_MORE) {
		const char *end = memchr(bytes, '\n', len);
		size_t n = end ? (size_t)(end - bytes) : len;
		text_bytes(&a->line, bytes, n);
		if (a->line.len > ANSWER_LINE_MAX) {
			garbage(a, a->line.at, a->line.len);
		} else if (end) {
			take_line(a, a->line.at, a->line.len);
			a->line.len = 0;
		}
		n += end != NULL;
		bytes += n;
		len -= n;
	}
	return a->state;
}

void answer_request(struct text *out, const char *id, int argc, char *const *argv)
{
	struct json_object *o = json_object_new_object(), *args = json_object_new_array();
	for (int i = 0; i < argc; i++)
		json_object_array_add(args, json_object_new_string(argv[i]));
	json_object_object_add(o, "command", json_object_new_string(id));
	json_object_object_add(o, "args", args);
	text_add(out, json_object_to_json_string_ext(o, JSON_C_TO_STRING_NOSLASHESCAPE));
	text_add(out, "\n");
	json_object_put(o);
}
