/* Shared by values.c and rule_values.c only: a value on its way from the tree to its field, and what both ask of it.
 * A function that says false has added an error.
 */
#pragma once
#include "conf/errors.h"
#include "conf/keys.h"

struct value {
	const struct conf_key *key;
	const struct conf_tree *tree;
	const char *path;
	struct conf_errors *errors;
	struct conf *conf; /* the whole, for the sets in it; NULL where a default is read */
	void *base;  /* the struct that holds the field */
	void *field; /* at key->offset in it */
	bool item;   /* one of a list */
};

/* Adds "found ..., expected ..."; hint: "" or a half-sentence that starts with punctuation. */
void conf_mismatch(const struct value *v, const char *hint);
bool conf_is_scalar(const struct value *v);
bool conf_number_from(const char *text, uint64_t *out);
bool conf_number(const struct value *v, uint64_t min, uint64_t max, uint64_t *out);
bool conf_asn(const struct value *v, uint32_t *out);
bool conf_address(const struct value *v, struct addr *out);
/* The value for item number i of the list at v; path is a buffer for its path. */
struct value conf_item_of(const struct value *v, const struct conf_tree *item, size_t i, char path[128]);
bool conf_list(const struct value *v);
bool conf_item_sound(const struct value *item);

/* What a list of a type is made of, with the sets that it may use. */
struct list_kind {
	size_t size;                                       /* of an item */
	bool texts;                                        /* items are char *, owned by the list */
	size_t sets;                                       /* where in struct conf they are; 0: $NAME is not for this list */
	bool (*one)(const struct value *item, void *out);  /* makes an item of what was written; false: it added an error */
	bool (*fits)(const struct value *item, const void *from); /* may this list have this item of a set? NULL: yes */
};
extern const struct list_kind conf_ranges_kind, conf_communities_kind, conf_as_paths_kind;
/* Reads the list at v: an array of items, *count of them, the caller's. */
void *conf_read_items(const struct value *v, const struct list_kind *kind, size_t *count);
bool conf_filled_list(const struct value *v);

/* sets.c: the set that the item $NAME of a list of this kind names; NULL: an error was added. */
const struct conf_set *conf_set_named(const struct value *item, const struct list_kind *kind);
bool conf_names_set(const struct value *item);
void conf_set_range_sets(const struct value *v);
void conf_set_community_sets(const struct value *v);
void conf_set_as_path_sets(const struct value *v);

/* rule_values.c: the setters of the types that only rules have */
void conf_set_ranges(const struct value *v);
void conf_set_communities(const struct value *v);
void conf_set_asns(const struct value *v);
void conf_set_networks(const struct value *v);
void conf_set_names(const struct value *v);
void conf_set_as_paths(const struct value *v);
void conf_set_bounds(const struct value *v);
void conf_set_word(const struct value *v);
void conf_set_optional(const struct value *v);
void conf_set_prepend(const struct value *v);
void conf_set_next_hop(const struct value *v);
