/* Help and the answer to a command that is none, from the rows of src/base/commands.c. */
#pragma once
#include "src/base/commands.h"
#include "src/client/text.h"

void usage_help(struct text *out);
/* Why argv is no command: unknown, unfinished or ambiguous, and what could have been meant. */
void usage_explain(struct text *out, int argc, char *const *argv);
/* Too many words behind the command. */
void usage_arguments(struct text *out, const struct command *c);
