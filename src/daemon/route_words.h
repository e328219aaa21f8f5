/* A route in words such as "as-path 64512 64900 community 64512:100 med 5", each name with the words behind it up to the
 * next name: what `policy test` is told to try, what `route add` hands over, and how that is kept on disk. A row an attribute
 * says its name, where it may stand, what belongs behind it and how it is read. Pure; everything is in the struct, only
 * names are borrowed from the words.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bgp/attr.h"
#include "rib/table.h"

enum { ROUTE_WORDS_PATH_MAX = 64, ROUTE_WORDS_COMMUNITIES_MAX = 64, ROUTE_WORDS_ERROR_MAX = 256 };

enum route_words_use { ROUTE_WORDS_TRIAL = 1, ROUTE_WORDS_HANDED = 2, ROUTE_WORDS_KEPT = 4 };

struct route_words {
	enum route_words_use use;
	enum rib_source_kind source; /* RIB_SOURCE_BGP unless it was said otherwise */
	const char *peer, *owner;    /* NULL: not said */
	int64_t since;               /* Unix seconds; 0: not said */
	struct bgp_attr_edit edit;   /* from a route of our own to this one; borrows the lists below */
	uint32_t path[ROUTE_WORDS_PATH_MAX];
	struct community communities[ROUTE_WORDS_COMMUNITIES_MAX];
};

/* False: error says which word is wrong and what was expected. r must stay where it is. */
bool route_words_read(struct route_words *r, enum route_words_use use, const char *const *words, size_t count,
		      char error[ROUTE_WORDS_ERROR_MAX]);
/* Is the word one that an attribute begins with? */
bool route_words_is_name(const char *word, enum route_words_use use);
/* The attributes, as an owned reference. NULL: out of memory. */
struct bgp_attrs *route_words_attrs(const struct route_words *r, struct bgp_attr_table *t);
/* "as-path NUMBER..., community COMMUNITY..., ..." into buf. */
const char *route_words_usage(enum route_words_use use, char buf[ROUTE_WORDS_ERROR_MAX]);
