/* The route that `policy test` is told to try: words such as "as-path 64512 64900 community 64512:100 med 5", each name
 * with the words behind it up to the next name. A row an attribute says its name, what belongs behind it and how it is read.
 * Pure; everything is in the struct, only the peer's name is borrowed from the words.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bgp/attr.h"
#include "rib/table.h"

enum { TRIAL_PATH_MAX = 64, TRIAL_COMMUNITIES_MAX = 64, TRIAL_ERROR_MAX = 256 };

struct trial_route {
	enum rib_source_kind source; /* RIB_SOURCE_BGP unless it was said otherwise */
	const char *peer;            /* NULL: not said */
	struct bgp_attr_edit edit;   /* from a route of our own to this one; borrows the lists below */
	uint32_t path[TRIAL_PATH_MAX];
	struct community communities[TRIAL_COMMUNITIES_MAX];
};

/* False: error says which word is wrong and what was expected. r must stay where it is. */
bool trial_read(struct trial_route *r, const char *const *words, size_t count, char error[TRIAL_ERROR_MAX]);
/* The attributes, as an owned reference. NULL: out of memory. */
struct bgp_attrs *trial_attrs(const struct trial_route *r, struct bgp_attr_table *t);
/* "as-path NUMBER..., community COMMUNITY..., ..." into buf. */
const char *trial_usage(char buf[TRIAL_ERROR_MAX]);
