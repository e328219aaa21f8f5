/* BGP communities of the three kinds as values and as text: standard ("64512:100", or a well-known name; RFC 1997),
 * extended ("rt:64512:100", "0x" and 16 hexadecimal digits; RFC 4360, RFC 5668) and large ("64512:1:2"; RFC 8092). The
 * spelling says the kind, and what is formatted parses to the same. It stands in src/base because the configuration
 * reads what the attribute code shows.
 *
 * A value is held in words that do not depend on how wide a form's fields are, so that a wildcard is a mask. Plain
 * values, nothing is owned.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cursor.h"

enum community_kind { COMMUNITY_STANDARD, COMMUNITY_EXTENDED, COMMUNITY_LARGE, COMMUNITY_KINDS };

/* Standard: w[0] as in the wire. Large: the three numbers. Extended: w[0] is type and subtype, then the administrator
 * and the number where the type says that these are there, otherwise the other six bytes. */
struct community {
	enum community_kind kind;
	uint32_t w[3];
};

/* A community of this kind where the bits in mask agree. */
struct community_match {
	struct community value;
	uint32_t mask[3];
};

enum { COMMUNITY_SIZE_MAX = 12, COMMUNITY_TEXT_MAX = 48 };

size_t community_size(enum community_kind kind); /* in the wire */
struct community community_read(enum community_kind kind, struct cursor *c);
void community_write(const struct community *c, struct writer *w);

int community_cmp(const struct community *a, const struct community *b); /* a total order */
bool community_matches(const struct community_match *m, const struct community *c);
/* No * in it: it is one community, m->value. */
bool community_is_exact(const struct community_match *m);

const char *community_format(const struct community *c, char buf[COMMUNITY_TEXT_MAX]);
/* Each field may be *; for an extended one of any form "0x" with fewer digits and a * behind them. False: it is no
 * community. */
bool community_parse(const char *text, struct community_match *out);
