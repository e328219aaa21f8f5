#include "src/daemon/route_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/name.h"

enum { WORD_MAX = 64, EVERYWHERE = ROUTE_WORDS_TRIAL | ROUTE_WORDS_HANDED | ROUTE_WORDS_KEPT };

static bool number(const char *text, uint64_t max, uint32_t *out)
{
	size_t digits = strspn(text, "0123456789");
	if (digits == 0 || digits > 10 || text[digits])
		return false;
	uint64_t n = strtoull(text, NULL, 10);
	*out = (uint32_t)n;
	return n <= max;
}

static bool read_as_path(struct route_words *r, const char *word)
{
	return r->edit.prepend_count < ROUTE_WORDS_PATH_MAX && number(word, UINT32_MAX, &r->path[r->edit.prepend_count]) &&
	       r->path[r->edit.prepend_count++];
}

static bool read_community(struct route_words *r, const char *word)
{
	struct community_match m;
	if (r->edit.add_count == ROUTE_WORDS_COMMUNITIES_MAX || !community_parse(word, &m) || !community_is_exact(&m))
		return false;
	r->communities[r->edit.add_count++] = m.value;
	return true;
}

static bool read_local_pref(struct route_words *r, const char *word)
{
	r->edit.has_local_pref = true;
	return number(word, UINT32_MAX, &r->edit.local_pref);
}

static bool read_med(struct route_words *r, const char *word)
{
	r->edit.has_med = true;
	return number(word, UINT32_MAX, &r->edit.med);
}

static bool read_next_hop(struct route_words *r, const char *word)
{
	r->edit.has_next_hop = true;
	return addr_parse(word, &r->edit.next_hop) && addr_is_unicast(&r->edit.next_hop);
}

static bool read_peer(struct route_words *r, const char *word)
{
	r->peer = word;
	return true;
}

static bool read_source(struct route_words *r, const char *word)
{
	static const char *const names[] = {
		[RIB_SOURCE_LOCAL] = "local", [RIB_SOURCE_EXTERNAL] = "external", [RIB_SOURCE_BGP] = "bgp"};
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		r->source = (enum rib_source_kind)i;
		if (strcmp(word, names[i]) == 0)
			return true;
	}
	return false;
}

static bool read_owner(struct route_words *r, const char *word)
{
	r->owner = word;
	return name_ok(word);
}

static bool read_since(struct route_words *r, const char *word)
{
	uint32_t n = 0;
	bool fine = number(word, UINT32_MAX, &n);
	r->since = n;
	return fine;
}

static const struct attribute {
	const char *name, *usage, *expected;
	unsigned uses;
	bool many; /* words; also in one, with blanks */
	bool (*read)(struct route_words *r, const char *word);
} attributes[] = {
	{"as-path", "NUMBER...", "up to 64 AS numbers", ROUTE_WORDS_TRIAL, true, read_as_path},
	{"community", "COMMUNITY...", "up to 64 communities such as 64512:100, rt:64512:100 or 64512:1:2", EVERYWHERE, true, read_community},
	{"local-pref", "NUMBER", "a number", EVERYWHERE, false, read_local_pref},
	{"med", "NUMBER", "a number", EVERYWHERE, false, read_med},
	{"next-hop", "ADDRESS", "a unicast address", EVERYWHERE, false, read_next_hop},
	{"peer", "NAME", "the name of a peer", ROUTE_WORDS_TRIAL, false, read_peer},
	{"source", "bgp|local|external", "bgp, local or external", ROUTE_WORDS_TRIAL, false, read_source},
	{"owner", "NAME", NAME_RULE, ROUTE_WORDS_HANDED, false, read_owner},
	{"since", "SECONDS", "seconds since 1970", ROUTE_WORDS_KEPT, false, read_since},
};
enum { ATTRIBUTES = sizeof attributes / sizeof *attributes };

static const struct attribute *attribute_called(const char *word, enum route_words_use use)
{
	for (size_t i = 0; i < ATTRIBUTES; i++)
		if (attributes[i].uses & use && strcmp(attributes[i].name, word) == 0)
			return &attributes[i];
	return NULL;
}

static bool wrong(const struct attribute *a, const char *word, char error[ROUTE_WORDS_ERROR_MAX])
{
	snprintf(error, ROUTE_WORDS_ERROR_MAX, "%s: found \"%.60s\", expected %s", a->name, word, a->expected);
	return false;
}

static bool read_many(const struct attribute *a, struct route_words *r, const char *word, char error[ROUTE_WORDS_ERROR_MAX])
{
	char one[WORD_MAX];
	for (word += strspn(word, " "); *word; word += strspn(word, " ")) {
		size_t len = strcspn(word, " ");
		snprintf(one, sizeof one, "%.*s", (int)(len < sizeof one ? len : sizeof one - 1), word);
		if (len >= sizeof one || !a->read(r, one))
			return wrong(a, word, error);
		word += len;
	}
	return true;
}

/* The words behind a name. *at is at the first of them, and then at what is no longer one. */
static bool read_values(const struct attribute *a, struct route_words *r, const char *const *words, size_t count, size_t *at,
			char error[ROUTE_WORDS_ERROR_MAX])
{
	if (*at == count)
		return wrong(a, "", error);
	if (!a->many)
		return a->read(r, words[(*at)++]) || wrong(a, words[*at - 1], error);
	for (; *at < count && !attribute_called(words[*at], r->use); ++*at)
		if (!read_many(a, r, words[*at], error))
			return false;
	return true;
}

bool route_words_is_name(const char *word, enum route_words_use use)
{
	return attribute_called(word, use);
}

bool route_words_read(struct route_words *r, enum route_words_use use, const char *const *words, size_t count,
		      char error[ROUTE_WORDS_ERROR_MAX])
{
	bool seen[ATTRIBUTES] = {false};
	*r = (struct route_words){.use = use, .source = RIB_SOURCE_BGP};
	r->edit.prepend = r->path;
	r->edit.add = r->communities;
	for (size_t at = 0; at < count;) {
		const struct attribute *a = attribute_called(words[at], use);
		if (!a || seen[a - attributes]) {
			snprintf(error, ROUTE_WORDS_ERROR_MAX, a ? "%.60s is there twice" : "%.60s is no attribute", words[at]);
			return false;
		}
		seen[a - attributes] = true;
		at++;
		if (!read_values(a, r, words, count, &at, error))
			return false;
	}
	return true;
}

struct bgp_attrs *route_words_attrs(const struct route_words *r, struct bgp_attr_table *t)
{
	struct bgp_attrs *own = bgp_attrs_local(t), *a = own ? bgp_attrs_edit(own, &r->edit) : NULL;
	bgp_attrs_unref(own);
	return a;
}

const char *route_words_usage(enum route_words_use use, char buf[ROUTE_WORDS_ERROR_MAX])
{
	size_t n = 0;
	for (size_t i = 0; i < ATTRIBUTES; i++)
		if (attributes[i].uses & use)
			n += (size_t)snprintf(buf + n, ROUTE_WORDS_ERROR_MAX - n, "%s%s %s", i ? ", " : "", attributes[i].name, attributes[i].usage);
	return buf;
}
