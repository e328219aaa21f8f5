/* The control socket: one JSON object a line in each direction (src/base/commands.h tells the protocol). Answers
 * are made row by row as the client reads them, so a long one neither fills memory nor holds up the loop.
 */
#pragma once
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

struct daemon;
struct control_server;

/* What a command is working on while its rows go out. */
struct show {
	struct daemon *daemon;
	const char *const *args;
	unsigned arg_count;
	uint64_t connection;         /* its number, none is 0 */
	const char *who;             /* "uid 0", of whoever asks; for the log of commands that act */
	uint64_t at;                 /* the producer's own progress */
	bool pause;                  /* set with no row: not the end, ask again in another turn */
	unsigned pause_ms;           /* with it: only after so long */
	char progress[128];          /* with it: what is going on, told to whoever waits; "": nothing to tell */
	struct json_object *list;    /* rows made in advance, where there are few; put at the end */
	const char *error, *hint;    /* set by a producer that fails; the two texts for what is not static */
	char error_text[256], hint_text[320];
};

/* Gives the next row (owned by the caller), or NULL: at the end, with s->error set, or with s->pause set. */
typedef struct json_object *show_next_fn(struct show *s);
/* The producer of a command's rows; NULL: not known. In show_io.c. */
show_next_fn *show_producer(const char *id);

struct control_server *control_new(struct daemon *d, const char *path);
void control_free(struct control_server *c); /* NULL is fine; removes the socket */
