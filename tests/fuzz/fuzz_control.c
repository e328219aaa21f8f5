/* What a client sends over the control socket, in pieces as reads bring it: the first byte says how long they are. What is
 * taken for a request must hold to its command's row, and come back the same when it is written and read again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/daemon/control_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
	if (!ok)
		abort();
}

static bool parse(const char *line, struct control_request *r)
{
	struct control_refusal why = {0};
	bool good = control_request_parse(line, r, &why);
	require(good || (why.error && why.hint && !r->json));
	return good;
}

static void goes_round(const struct control_request *r)
{
	struct control_request again;
	struct json_object *o = json_object_new_object(), *args = json_object_new_array();
	json_object_object_add(o, "command", json_object_new_string(r->command->id));
	json_object_object_add(o, "args", args);
	for (unsigned i = 0; i < r->arg_count; i++)
		json_object_array_add(args, json_object_new_string(r->args[i]));
	require(parse(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN), &again));
	require(again.command == r->command && again.arg_count == r->arg_count);
	for (unsigned i = 0; i < r->arg_count; i++)
		require(strcmp(again.args[i], r->args[i]) == 0);
	control_request_fini(&again);
	json_object_put(o);
}

static void take_line(const char *line)
{
	struct control_request r;
	require(strlen(line) < CONTROL_LINE_MAX && !strchr(line, '\n'));
	if (!parse(line, &r))
		return;
	require(r.command && r.arg_count <= r.command->args_max && r.arg_count <= CONTROL_ARGS_MAX);
	for (unsigned i = 0; i < r.arg_count; i++)
		require(r.args[i] != NULL);
	goes_round(&r);
	control_request_fini(&r);
}

/* All that was sent up to here makes at most so many lines, and one that was too long is said once. */
static void take_lines(struct control_input *in, size_t *ends, unsigned *too_long)
{
	char line[CONTROL_LINE_MAX];
	enum control_line got;
	while ((got = control_input_next(in, line)) != CONTROL_NO_LINE) {
		if (got == CONTROL_LINE_TOO_LONG) {
			++*too_long;
			continue;
		}
		require((*ends)-- > 0);
		take_line(line);
	}
	require(in->len < sizeof in->bytes && !memchr(in->bytes, '\n', in->len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct control_input in = {.len = 0};
	size_t step = size ? data[0] * 16u + 1 : 1, ends = 0;
	unsigned too_long = 0;
	for (size_t at = 1; at < size;) {
		size_t n = size - at < step ? size - at : step, room = sizeof in.bytes - in.len;
		n = n < room ? n : room;
		memcpy(in.bytes + in.len, data + at, n);
		for (size_t i = 0; i < n; i++)
			ends += data[at + i] == '\n';
		in.len += n;
		at += n;
		take_lines(&in, &ends, &too_long);
	}
	require(too_long <= size / CONTROL_LINE_MAX);
	return 0;
}
