/* What `route add`, `route hold` and `route remove` are told: prefixes, and behind them words about the route
 * (route_words.h), whose owner among them. Pure; names are borrowed from the words.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "src/base/addr.h"
#include "src/daemon/route_words.h"

enum { EXTERNAL_PREFIXES_MAX = 64 };

struct external_request {
	bool all;                                      /* instead of prefixes */
	struct prefix prefixes[EXTERNAL_PREFIXES_MAX];
	size_t count;
	struct route_words words;
};

/* What is wrong; hint: static, or in hint_text; NULL: what the command expects. */
struct external_fault {
	char text[ROUTE_WORDS_ERROR_MAX];
	const char *hint;
	char hint_text[PREFIX_TEXT_MAX + 32];
};
/* may_be_all: `all` may stand for the prefixes. r and fault must stay where they are. */
bool external_request_read(struct external_request *r, bool may_be_all, const char *const *words, size_t count,
			   struct external_fault *fault);
