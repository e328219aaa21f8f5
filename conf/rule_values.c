/* The setters of what only the rules of policies have: prefix ranges, communities, AS paths and the like. As in
 * values.c, what cannot be used adds an error and leaves the field as it was.
 */
#include <stdlib.h>
#include <string.h>

#include "conf/value.h"
#include "src/base/as_regex.h"
#include "src/base/name.h"

struct items {
	char *at;
	size_t count, room;
};

static void *next_place(struct items *l, const struct list_kind *kind)
{
	if (l->count == l->room) {
		l->room = 2 * l->room + 1;
		l->at = realloc(l->at, l->room * kind->size);
		if (!l->at)
			abort();
	}
	return l->at + l->count * kind->size;
}

/* A copy of each item of the set. */
static void take_set(struct items *l, const struct value *item, const struct list_kind *kind)
{
	const struct conf_set *set = conf_set_named(item, kind);
	for (size_t i = 0; set && i < set->count; i++) {
		const void *from = (const char *)set->at + i * kind->size;
		void *to = next_place(l, kind);
		if (kind->fits && !kind->fits(item, from))
			return;
		if (kind->texts)
			*(char **)to = conf_copy(*(char *const *)from);
		else
			memcpy(to, from, kind->size);
		l->count++;
	}
}

void *conf_read_items(const struct value *v, const struct list_kind *kind, size_t *count)
{
	char path[128];
	size_t i = 0;
	struct items l = {conf_grab(v->tree->count, kind->size), 0, v->tree->count};
	for (const struct conf_tree *t = v->tree->first; t; t = t->next) {
		struct value item = conf_item_of(v, t, i++, path);
		if (!conf_item_sound(&item))
			continue;
		if (kind->sets && conf_names_set(&item))
			take_set(&l, &item, kind);
		else if (kind->one(&item, next_place(&l, kind)))
			l.count++;
	}
	*count = l.count;
	return l.at;
}

/* An empty list would match nothing. */
bool conf_filled_list(const struct value *v)
{
	if (!conf_list(v))
		return false;
	if (v->tree->count == 0)
		conf_mismatch(v, "; the list is empty");
	return v->tree->count;
}

/* --- prefixes with le and ge */

enum { WORDS_MAX = 5, WORD_MAX = 64 };

/* text in words; 0: too many, or too long. */
static unsigned split(const char *text, char words[WORDS_MAX][WORD_MAX])
{
	unsigned n = 0;
	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t len = strcspn(text, " ");
		if (n == WORDS_MAX || len >= WORD_MAX)
			return 0;
		memcpy(words[n], text, len);
		words[n++][len] = '\0';
		text += len;
	}
	return n;
}

struct bounds {
	bool has_le, has_ge;
	uint64_t le, ge;
};

/* Pairs of le or ge and a number, each once. */
static bool read_bounds(char words[][WORD_MAX], unsigned n, struct bounds *b)
{
	*b = (struct bounds){0};
	for (; n >= 2; words += 2, n -= 2) {
		bool le = strcmp(words[0], "le") == 0, *has = le ? &b->has_le : &b->has_ge;
		if ((!le && strcmp(words[0], "ge") != 0) || *has || !conf_number_from(words[1], le ? &b->le : &b->ge))
			return false;
		*has = true;
	}
	return n == 0;
}

/* A prefix of any kind: routes may have what pods may not. */
static bool read_network(const struct value *v, const char *text, struct prefix *out)
{
	char meant[PREFIX_TEXT_MAX], hint[PREFIX_TEXT_MAX + 64] = ": bits beyond the length are set, the right one is ";
	enum prefix_parse how = prefix_parse(text, out);
	if (how == PREFIX_BAD_TEXT || !strchr(text, '/') || (prefix_is_v4(out) && strchr(text, ':'))) {
		conf_mismatch(v, how != PREFIX_BAD_TEXT && !strchr(text, '/') ? ": the /LENGTH is missing" : "");
		return false;
	}
	if (how == PREFIX_HOST_BITS)
		conf_mismatch(v, strcat(hint, prefix_format(out, meant)));
	return how == PREFIX_OK;
}

static bool read_range(const struct value *v, void *out)
{
	char words[WORDS_MAX][WORD_MAX];
	struct conf_range *r = out;
	struct bounds b;
	unsigned n = conf_is_scalar(v) ? split(v->tree->text, words) : 0;
	if (n == 0 || !read_bounds(words + 1, n - 1, &b)) {
		conf_mismatch(v, "");
		return false;
	}
	if (!read_network(v, words[0], &r->prefix))
		return false;
	uint64_t own = prefix_plen(&r->prefix), most = prefix_is_v4(&r->prefix) ? 32 : 128;
	uint64_t min = b.has_ge ? b.ge : own, max = b.has_le ? b.le : b.has_ge ? most : own;
	if (min < own || max < min || max > most) {
		conf_mismatch(v, ": the lengths must be in order, from the prefix's own up to 32 (IPv6: 128)");
		return false;
	}
	uint64_t base = r->prefix.len - own;
	r->min = (uint8_t)(base + min);
	r->max = (uint8_t)(base + max);
	return true;
}

const struct list_kind conf_ranges_kind = {
	.size = sizeof(struct conf_range), .sets = offsetof(struct conf, sets.prefixes), .one = read_range};

void conf_set_ranges(const struct value *v)
{
	struct conf_ranges *field = v->field;
	if (conf_filled_list(v))
		field->at = conf_read_items(v, &conf_ranges_kind, &field->count);
}

static bool read_network_item(const struct value *v, void *out)
{
	return read_network(v, conf_is_scalar(v) ? v->tree->text : "", out);
}

void conf_set_networks(const struct value *v)
{
	struct conf_prefixes *field = v->field;
	static const struct list_kind kind = {.size = sizeof *field->at, .one = read_network_item};
	if (conf_filled_list(v))
		field->at = conf_read_items(v, &kind, &field->count);
}

/* --- communities */

static bool read_community(const struct value *v, void *out)
{
	struct community_match *m = out;
	const char *text = conf_is_scalar(v) ? v->tree->text : "";
	if (community_parse(text, m) && (community_is_exact(m) || v->key->min))
		return true;
	conf_mismatch(v, strchr(text, '*') && !v->key->min ? ": no * here" : "");
	return false;
}

/* What is put into routes must be whole. */
static bool community_fits(const struct value *item, const void *from)
{
	if (item->key->min || community_is_exact(from))
		return true;
	conf_error_add(item->errors, item->tree->at, item->path, "the set %s has a community with *, expected whole ones only here",
		       item->tree->text);
	return false;
}

const struct list_kind conf_communities_kind = {.size = sizeof(struct community_match),
						.sets = offsetof(struct conf, sets.communities),
						.one = read_community,
						.fits = community_fits};

void conf_set_communities(const struct value *v)
{
	struct conf_communities *field = v->field;
	bool may_be_empty = strstr(v->key->expected, "[]");
	if (!(may_be_empty ? conf_list(v) : conf_filled_list(v)))
		return;
	field->at = conf_read_items(v, &conf_communities_kind, &field->count);
	field->given = true;
}

/* --- AS numbers and paths */

static bool read_asn(const struct value *v, void *out)
{
	return conf_asn(v, out);
}

void conf_set_asns(const struct value *v)
{
	struct conf_numbers *field = v->field;
	static const struct list_kind kind = {.size = sizeof *field->at, .one = read_asn};
	if (conf_filled_list(v))
		field->at = conf_read_items(v, &kind, &field->count);
}

void conf_set_prepend(const struct value *v)
{
	struct conf_rule *rule = v->base;
	uint64_t n;
	if (v->tree->kind != CONF_TREE_LIST) {
		if (conf_number(v, 1, v->key->max, &n))
			rule->set.prepend_own = (uint32_t)n;
	} else if (v->tree->count > v->key->max) {
		conf_mismatch(v, "");
	} else {
		conf_set_asns(v);
	}
}

void conf_set_bounds(const struct value *v)
{
	char words[WORDS_MAX][WORD_MAX];
	struct conf_bounds *field = v->field;
	struct bounds b = {0};
	unsigned n = conf_is_scalar(v) && !v->tree->fault ? split(v->tree->text, words) : 0;
	if (n == 1 && conf_number_from(words[0], &b.le))
		b = (struct bounds){true, true, b.le, b.le};
	else if (n < 2 || !read_bounds(words, n, &b))
		n = 0;
	uint64_t min = b.has_ge ? b.ge : 0, max = b.has_le ? b.le : v->key->max;
	if (n == 0 || min > max || max > v->key->max)
		conf_mismatch(v, n ? ": the numbers must be in order" : "");
	else
		*field = (struct conf_bounds){true, (uint32_t)min, (uint32_t)max};
}

static bool read_as_path(const struct value *v, void *out)
{
	char found[CONF_QUOTE_MAX + 32];
	struct as_regex_error error;
	if (!conf_is_scalar(v)) {
		conf_mismatch(v, "; in quotes");
		return false;
	}
	struct as_regex *r = as_regex_compile(v->tree->text, &error);
	if (r)
		*(char **)out = conf_copy(v->tree->text);
	else
		conf_error_add(v->errors, v->tree->at, v->path, "found %s, at its column %u: %s", conf_tree_describe(v->tree, found),
			       error.column, error.text);
	as_regex_free(r);
	return r;
}

const struct list_kind conf_as_paths_kind = {
	.size = sizeof(char *), .texts = true, .sets = offsetof(struct conf, sets.as_paths), .one = read_as_path};

void conf_set_as_paths(const struct value *v)
{
	struct conf_names *field = v->field;
	if (conf_filled_list(v))
		field->at = conf_read_items(v, &conf_as_paths_kind, &field->count);
}

/* --- the rest */

static bool read_name(const struct value *v, void *out)
{
	bool good = conf_is_scalar(v) && name_ok(v->tree->text);
	if (good)
		*(char **)out = conf_copy(v->tree->text);
	else
		conf_mismatch(v, "");
	return good;
}

void conf_set_names(const struct value *v)
{
	struct conf_names *field = v->field;
	static const struct list_kind kind = {.size = sizeof *field->at, .texts = true, .one = read_name};
	if (conf_filled_list(v))
		field->at = conf_read_items(v, &kind, &field->count);
}

/* The field is an enum: 0 is "not given", then the words in order. */
void conf_set_word(const struct value *v)
{
	for (unsigned i = 0; conf_is_scalar(v) && i < sizeof v->key->words / sizeof *v->key->words && v->key->words[i]; i++) {
		if (strcmp(v->tree->text, v->key->words[i]) == 0) {
			*(unsigned *)v->field = i + 1;
			return;
		}
	}
	conf_mismatch(v, "");
}

void conf_set_optional(const struct value *v)
{
	uint64_t n;
	if (conf_number(v, v->key->min, v->key->max, &n))
		*(struct conf_optional *)v->field = (struct conf_optional){true, (uint32_t)n};
}

void conf_set_next_hop(const struct value *v)
{
	struct conf_rule *rule = v->base;
	if (conf_is_scalar(v) && strcmp(v->tree->text, "self") == 0)
		rule->set.next_hop_kind = CONF_NEXT_HOP_SELF;
	else if (conf_address(v, &rule->set.next_hop))
		rule->set.next_hop_kind = CONF_NEXT_HOP_ADDRESS;
}
