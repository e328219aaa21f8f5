#include "src/daemon/control_request.h"

#include <string.h>

enum control_line control_input_next(struct control_input *in, char line[CONTROL_LINE_MAX])
{
	for (char *end; (end = memchr(in->bytes, '\n', in->len));) {
		size_t len = (size_t)(end - in->bytes);
		bool skip = in->skipping;
		memcpy(line, in->bytes, len);
		line[len] = '\0';
		in->len -= len + 1;
		memmove(in->bytes, end + 1, in->len);
		in->skipping = false;
		if (!skip)
			return CONTROL_LINE;
	}
	bool full = in->len == sizeof in->bytes, first = full && !in->skipping;
	in->skipping |= full;
	if (in->skipping)
		in->len = 0;
	return first ? CONTROL_LINE_TOO_LONG : CONTROL_NO_LINE;
}

/* The words of a string; NULL: it is none, or there is a NUL in it, which would end it early. */
static const char *plain(struct json_object *o)
{
	const char *text = json_object_is_type(o, json_type_string) ? json_object_get_string(o) : NULL;
	return text && strlen(text) == (size_t)json_object_get_string_len(o) ? text : NULL;
}

static bool take_args(struct json_object *args, struct control_request *out)
{
	size_t n = args ? json_object_array_length(args) : 0;
	if (n > CONTROL_ARGS_MAX || n > out->command->args_max)
		return false;
	for (size_t i = 0; i < n; i++) {
		struct json_object *word = json_object_array_get_idx(args, i);
		out->args[i] = plain(word);
		if (!out->args[i])
			return false;
	}
	out->arg_count = (unsigned)n;
	return true;
}

static bool parse(const char *line, struct control_request *out, struct control_refusal *why)
{
	struct json_object *id = NULL, *args = NULL;
	out->json = json_tokener_parse(line);
	*why = (struct control_refusal){"not a request", "send one line {\"command\": \"show-status\", \"args\": []}"};
	if (!json_object_is_type(out->json, json_type_object) || !json_object_object_get_ex(out->json, "command", &id) ||
	    !json_object_is_type(id, json_type_string) ||
	    (json_object_object_get_ex(out->json, "args", &args) && !json_object_is_type(args, json_type_array)))
		return false;
	*why = (struct control_refusal){"unknown command", "the client and the daemon may be of different versions"};
	out->command = command_by_id(json_object_get_string(id));
	if (!out->command)
		return false;
	*why = (struct control_refusal){"too many arguments, or one that is no string", out->command->args};
	return take_args(args, out);
}

bool control_request_parse(const char *line, struct control_request *out, struct control_refusal *why)
{
	memset(out, 0, sizeof *out);
	if (parse(line, out, why))
		return true;
	control_request_fini(out);
	return false;
}

void control_request_fini(struct control_request *r)
{
	json_object_put(r->json);
	memset(r, 0, sizeof *r);
}
