/* underlayc: asks the daemon one thing and prints the answer. Exit status 0: fine; 1: no answer,
 * or the daemon refused; 2: the command line is wrong.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/client/client_io.h"
#include "src/client/render.h"
#include "src/client/usage.h"

enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, TIMEOUT_MAX_S = 3600 };

struct options {
	const char *socket;
	int timeout_s;
	bool json, help, wrong;
};

/* Prints t to f, ends with t freed. False where f does not take it (a full disk). */
static bool show(FILE *f, struct text *t)
{
	bool fine = t->len == 0 || fwrite(t->at, 1, t->len, f) == t->len;
	fine = fflush(f) == 0 && fine;
	text_fini(t);
	return fine;
}

static int complain(const char *what, const char *hint)
{
	fprintf(stderr, "underlayc: %s\n", what);
	if (hint && *hint)
		fprintf(stderr, "underlayc: %s\n", hint);
	return EXIT_FAILED;
}

static int seconds_from(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);
	return *text && *end == '\0' && n >= 1 && n <= TIMEOUT_MAX_S ? (int)n : 0;
}

/* Options may stand before, between and after the words; the words then stand from optind on, in their order. */
static struct options parse(int argc, char **argv)
{
	static const struct option names[] = {{"socket", required_argument, NULL, 's'},
					      {"timeout", required_argument, NULL, 't'},
					      {"json", no_argument, NULL, 'j'},
					      {"help", no_argument, NULL, 'h'},
					      {0}};
	struct options o = {.socket = "/run/underlay/control", .timeout_s = 10};
	for (int c; (c = getopt_long(argc, argv, "s:t:jh", names, NULL)) != -1;) {
		if (c == 's')
			o.socket = optarg;
		else if (c == 't')
			o.timeout_s = seconds_from(optarg);
		else if (c == 'j')
			o.json = true;
		else if (c == 'h')
			o.help = true;
		else
			o.wrong = true;
	}
	return o;
}

static int print(const struct command *c, const struct options *o, bool with_args, struct json_object *rows)
{
	struct text out = {0};
	render_sort(c, rows);
	(o->json ? render_json : render_text)(c, with_args, rows, &out);
	return show(stdout, &out) ? EXIT_FINE : complain("cannot write the answer", NULL);
}

static int ask(const struct command *c, const struct options *o, int argc, char **argv)
{
	struct text request = {0}, problem = {0};
	struct answer a;
	int status, kept = -1;
	answer_init(&a);
	answer_request(&request, c->id, argc, argv);
	if (client_ask(o->socket, &request, o->timeout_s * 1000, &a, &problem, c->lasts ? &kept : NULL) < 0)
		status = complain(problem.at, NULL);
	else if (a.state == ANSWER_ERROR)
		status = complain(a.error.len ? a.error.at : "the daemon refused, without a reason", a.hint.at);
	else
		status = print(c, o, argc > 0, a.rows);
	if (kept >= 0 && a.state != ANSWER_ERROR) {
		client_wait(kept);
		status = complain("the daemon ended the connection: what it lasted for is over", NULL);
	}
	answer_fini(&a);
	text_fini(&request);
	text_fini(&problem);
	return status;
}

static int usage(FILE *to, int status)
{
	struct text out = {0};
	usage_help(&out);
	return show(to, &out) ? status : EXIT_FAILED;
}

static int run(const struct options *o, int argc, char **argv)
{
	struct text out = {0};
	int args_at = 0;
	const struct command *c = command_find(argc, argv, &args_at);
	if (!c)
		usage_explain(&out, argc, argv);
	else if ((unsigned)(argc - args_at) > c->args_max)
		usage_arguments(&out, c);
	else
		return ask(c, o, argc - args_at, argv + args_at);
	show(stderr, &out);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	struct options o = parse(argc, argv);
	argc -= optind;
	argv += optind;
	if (o.help || (argc > 0 && strcmp(argv[0], "help") == 0))
		return usage(stdout, EXIT_FINE);
	if (o.timeout_s == 0) {
		fprintf(stderr, "underlayc: -t wants seconds, 1 to %d\n", TIMEOUT_MAX_S);
		return EXIT_USAGE;
	}
	if (o.wrong || argc == 0)
		return usage(stderr, EXIT_USAGE);
	return run(&o, argc, argv);
}
