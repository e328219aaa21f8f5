/* The daemon's answer, put together from bytes as they come (the protocol is in
 * src/base/commands.h). Every line must be one JSON object of a known kind; the first that is not
 * ends the answer as garbage, so that a half-understood answer is never shown.
 */
#pragma once
#include <json-c/json_types.h>
#include <stddef.h>

#include "src/client/text.h"

enum answer_state {
	ANSWER_MORE,    /* no last line yet */
	ANSWER_DONE,
	ANSWER_ERROR,   /* the daemon refused: error and hint are set */
	ANSWER_GARBAGE, /* not the protocol: error says what came */
};

enum { ANSWER_LINE_MAX = 1 << 20 };

struct answer {
	enum answer_state state;
	struct json_object *rows; /* array of the row objects; owned */
	struct text line;         /* the part of a line that has come */
	struct text error, hint;  /* printable */
	struct text progress;     /* printable; what the daemon said last of what it is at. Whoever showed it empties it */
};

void answer_init(struct answer *a);
void answer_fini(struct answer *a);
/* Takes more bytes; what follows the last line is ignored. */
enum answer_state answer_feed(struct answer *a, const char *bytes, size_t len);
/* {"command": ID, "args": [...]} and a newline. */
void answer_request(struct text *out, const char *id, int argc, char *const *argv);
