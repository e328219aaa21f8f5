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

/* rule_values.c: the setters of the types that only rules have */
void conf_set_ranges(const struct value *v);
void conf_set_communities(const struct value *v);
void conf_set_asns(const struct value *v);
void conf_set_networks(const struct value *v);
void conf_set_names(const struct value *v);
void conf_set_lengths(const struct value *v);
void conf_set_word(const struct value *v);
void conf_set_optional(const struct value *v);
void conf_set_prepend(const struct value *v);
void conf_set_next_hop(const struct value *v);
