#include "src/client/usage.h"

#include <stdbool.h>
#include <string.h>

static size_t add_words(struct text *out, const struct command *c)
{
	size_t start = out->len;
	for (size_t i = 0; i < COMMAND_WORDS_MAX && c->words[i]; i++) {
		text_add(out, i ? " " : "");
		text_add(out, c->words[i]);
	}
	if (*c->args) {
		text_add(out, " ");
		text_add(out, c->args);
	}
	return out->len - start;
}

static void add_command(struct text *out, const struct command *c)
{
	enum { HELP_AT = 45 }; /* the longest is policy test */
	text_add(out, "  ");
	size_t n = add_words(out, c);
	text_pad(out, n < HELP_AT ? HELP_AT - n : 1);
	text_add(out, " ");
	text_add(out, c->help);
	text_add(out, "\n");
}

void usage_help(struct text *out)
{
	text_add(out, "usage: underlayc [-s SOCKET] [-t SECONDS] [-j] COMMAND...\n"
		      "\n"
		      "  -s SOCKET   the daemon's control socket (default: /run/underlay/control)\n"
		      "  -t SECONDS  how long the daemon may be silent (default: 10)\n"
		      "  -j          answer in JSON\n"
		      "  -h          this text\n"
		      "Options may also stand behind the command; -- ends them.\n"
		      "\n"
		      "Commands (words may be cut short: \"sh ro\"):\n");
	for (size_t i = 0; i < command_count; i++)
		add_command(out, &commands[i]);
}

/* Could argv become c by finishing its words and adding more? */
static bool could_be(const struct command *c, int argc, char *const *argv)
{
	for (int i = 0; i < argc && i < COMMAND_WORDS_MAX && c->words[i]; i++)
		if (strncmp(c->words[i], argv[i], strlen(argv[i])) != 0)
			return false;
	return true;
}

static void add_said(struct text *out, int argc, char *const *argv)
{
	text_add(out, "\"");
	for (int i = 0; i < argc; i++) {
		text_add(out, i ? " " : "");
		text_printable(out, argv[i], strlen(argv[i]));
	}
	text_add(out, "\"");
}

void usage_explain(struct text *out, int argc, char *const *argv)
{
	size_t candidates = 0;
	for (size_t i = 0; i < command_count; i++)
		candidates += could_be(&commands[i], argc, argv);
	text_add(out, "underlayc: ");
	text_add(out, candidates ? "" : "unknown command ");
	add_said(out, argc, argv);
	text_add(out, candidates ? " can be:\n" : "; the commands are:\n");
	for (size_t i = 0; i < command_count; i++)
		if (!candidates || could_be(&commands[i], argc, argv))
			add_command(out, &commands[i]);
}

void usage_arguments(struct text *out, const struct command *c)
{
	text_add(out, "underlayc: too many words; the command is:\n");
	add_command(out, c);
}
