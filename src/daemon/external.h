/* Routes that an owner beside us has handed over, and the text in which they outlive a restart. An owner is a name; its
 * routes stay until they are removed, or, where it holds them by a connection, until that ends. Two owners may have the
 * same prefix: each has a source of its own in the RIB, so the other's path stays when one goes.
 *
 * Ownership: an owner has its source, its routes and a reference to each attribute set. What is told to the RIB is
 * external_io.c's. Pure.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bgp/attr.h"
#include "rib/policy.h"
#include "rib/table.h"
#include "src/base/list.h"
#include "src/base/name.h"

struct external_route {
	struct prefix prefix;
	struct bgp_attrs *attrs;
	int64_t since;  /* Unix seconds */
	bool told;      /* it is in the RIB */
};

struct external_owner {
	struct list node;
	char name[NAME_LEN_MAX + 1];
	uint64_t connection;           /* 0: its routes stay without one */
	struct rib_source *source;
	struct external_route *routes; /* in the order of their prefixes, each once */
	size_t count, room;
};

struct external_owner *external_owner_new(struct rib *r, const char *name, uint64_t connection);
void external_owner_free(struct external_owner *o); /* none of its paths may be in the RIB; the list is the caller's */
struct external_owner *external_owner_find(const struct list *owners, const char *name); /* NULL: there is none */

/* NULL: it has no such route. */
struct external_route *external_find(const struct external_owner *o, const struct prefix *p);
/* The owner's route to p has these attributes (borrowed); a new one is there since then. Pointers to routes are void. */
struct external_route *external_put(struct external_owner *o, const struct prefix *p, struct bgp_attrs *attrs, int64_t since);
void external_take(struct external_owner *o, struct external_route *r);

/* A change of one owner's routes. */
struct external_change {
	bool all;                      /* whatever it has goes, and prefixes are none */
	const struct prefix *prefixes; /* few */
	size_t count;
	struct bgp_attrs *attrs;       /* NULL: the prefixes go */
	int64_t since;
};
/* How many routes the owner would have then. */
size_t external_count_after(const struct external_owner *o, const struct external_change *c);

/* What nobody may hand over, whatever the configuration allows, in a few words; NULL: p is none of that. */
const char *external_refusal(const struct rib_import_context *ctx, const struct prefix *p);

/* What the owner has after the change (NULL: none), in words, to be freed. */
char *external_text(const struct external_owner *o, const struct external_change *c);
/* Reads such a text, which is taken apart, into an owner without routes. False, and where it is damaged in error. */
enum { EXTERNAL_ERROR_MAX = 320 };
bool external_read(struct external_owner *o, struct bgp_attr_table *t, char *text, char error[EXTERNAL_ERROR_MAX]);
