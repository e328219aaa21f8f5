/* Rows -> text: a table, records, or JSON, always from the same rows in the same order. */
#pragma once
#include <json-c/json_types.h>
#include <stdbool.h>

#include "src/base/commands.h"
#include "src/client/text.h"

/* Routes by prefix, best first; other rows stay as the daemon sent them. */
void render_sort(const struct command *c, struct json_object *rows);
/* with_args: the command was given arguments, which may ask for another shape. */
void render_text(const struct command *c, bool with_args, struct json_object *rows, struct text *out);
void render_json(const struct command *c, bool with_args, struct json_object *rows, struct text *out);
