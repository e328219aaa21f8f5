/* What can be asked over the control socket, one row a command. The daemon dispatches by the row,
 * the client prints help and tables from it, so that help, tables and -j cannot drift apart.
 *
 * The protocol: the client sends one JSON object on a line, {"command": ID, "args": [WORD...]}. The
 * daemon answers with any number of {"row": {...}} lines, {"progress": TEXT} among them where it takes long, and then one
 * last line: {"done": true}, or {"error": TEXT, "hint": TEXT}. A row's members are the columns' keys and may be more than the
 * table shows; -j prints them all.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum command_shape {
	COMMAND_TABLE,  /* many rows, one line each */
	COMMAND_RECORD, /* few rows, printed as "heading: value" lines */
};

struct command_column {
	const char *key;     /* member of the row; "a.b" reaches into an object */
	const char *heading;
};

enum { COMMAND_WORDS_MAX = 3, COMMAND_ALIASES_MAX = 4, COMMAND_COLUMNS_MAX = 64, COMMAND_RARE_MAX = 8 };

struct command {
	const char *id;      /* "show-routes" */
	const char *words[COMMAND_WORDS_MAX];
	const char *aliases[COMMAND_ALIASES_MAX]; /* what others call the last word; no help lists them */
	const char *args;    /* "[PREFIX | for ADDRESS]", or "" */
	unsigned args_max;
	bool acts;           /* changes something; the others only tell */
	bool lasts;          /* what it did is undone when the connection ends, so the client keeps it */
	enum command_shape shape;
	enum command_shape shape_with_args; /* "show peers" is a table, "show peers tor-a" a record */
	const char *help;
	const char *empty;   /* what to print when no row came */
	struct command_column columns[COMMAND_COLUMNS_MAX];
	const char *rare[COMMAND_RARE_MAX];       /* keys of columns that are left out of a table where no row has them */
	struct command_column record[COMMAND_COLUMNS_MAX]; /* for COMMAND_RECORD */
};

extern const struct command commands[];
extern const size_t command_count;

/* The row whose words begin argv (words may be cut to a unique start: "sh ro", and the last may
 * be an alias), with the most words: "show routes why" before "show routes". *args_at gets the
 * index of the first argument. NULL where none or several match; then candidates may be listed
 * by the caller from commands[]. */
const struct command *command_find(int argc, char *const *argv, int *args_at);
const struct command *command_by_id(const char *id);
