/* What comes in over the control socket, without the socket: bytes to lines, and a line to a command with its words
 * (src/base/commands.h tells the protocol). Whoever may connect may send anything.
 */
#pragma once
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#include "src/base/commands.h"

enum { CONTROL_LINE_MAX = 4096, CONTROL_ARGS_MAX = 64 };

/* Read to bytes + len, up to the end of bytes, and add to len. */
struct control_input {
	char bytes[CONTROL_LINE_MAX];
	size_t len;
	bool skipping; /* the rest of a line that was too long */
};

enum control_line { CONTROL_NO_LINE, CONTROL_LINE, CONTROL_LINE_TOO_LONG };
/* Takes the next whole line out of what came, without its end. CONTROL_LINE_TOO_LONG is said once, and such a line is then
 * passed over. */
enum control_line control_input_next(struct control_input *in, char line[CONTROL_LINE_MAX]);

struct control_request {
	const struct command *command;
	const char *args[CONTROL_ARGS_MAX]; /* borrowed from json */
	unsigned arg_count;
	struct json_object *json;           /* owned */
};

struct control_refusal {
	const char *error, *hint;
};

/* False: the line is no request that we know, *why says so, and nothing has to be freed. */
bool control_request_parse(const char *line, struct control_request *out, struct control_refusal *why);
void control_request_fini(struct control_request *r); /* twice is fine */
