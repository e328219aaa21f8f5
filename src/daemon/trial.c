#include "src/daemon/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MAX = 64 };

static bool number(const char *text, uint64_t max, uint32_t *out)
{
	size_t digits = strspn(text, "0123456789");
	if (digits == 0 || digits > 10 || text[digits])
		return false;
	uint64_t n = strtoull(text, NULL, 10);
	*out = (uint32_t)n;
	return n <= max;
}

static bool read_as_path(struct trial_route *r, const char *word)
{
	return r->edit.prepend_count < TRIAL_PATH_MAX && number(word, UINT32_MAX, &r->path[r->edit.prepend_count]) &&
	       r->path[r->edit.prepend_count++];
}

static bool read_community(struct trial_route *r, const char *word)
{
	struct community_match m;
	if (r->edit.add_count == TRIAL_COMMUNITIES_MAX || !community_parse(word, &m) || !community_is_exact(&m))
		return false;
	r->communities[r->edit.add_count++] = m.value;
	return true;
}

static bool read_local_pref(struct trial_route *r, const char *word)
{
	r->edit.has_local_pref = true;
	return number(word, UINT32_MAX, &r->edit.local_pref);
}

static bool read_med(struct trial_route *r, const char *word)
{
	r->edit.has_med = true;
	return number(word, UINT32_MAX, &r->edit.med);
}

static bool read_next_hop(struct trial_route *r, const char *word)
{
	r->edit.has_next_hop = true;
	return addr_parse(word, &r->edit.next_hop) && addr_is_unicast(&r->edit.next_hop);
}

static bool read_peer(struct trial_route *r, const char *word)
{
	r->peer = word;
	return true;
}

static bool read_source(struct trial_route *r, const char *word)
{
	r->source = strcmp(word, "local") == 0 ? RIB_SOURCE_LOCAL : RIB_SOURCE_BGP;
	return r->source == RIB_SOURCE_LOCAL || strcmp(word, "bgp") == 0;
}

static const struct attribute {
	const char *name, *usage, *expected;
	bool many; /* words; also in one, with blanks */
	bool (*read)(struct trial_route *r, const char *word);
} attributes[] = {
	{"as-path", "NUMBER...", "up to 64 AS numbers", true, read_as_path},
	{"community", "COMMUNITY...", "up to 64 communities such as 64512:100, rt:64512:100 or 64512:1:2", true, read_community},
	{"local-pref", "NUMBER", "a number", false, read_local_pref},
	{"med", "NUMBER", "a number", false, read_med},
	{"next-hop", "ADDRESS", "a unicast address", false, read_next_hop},
	{"peer", "NAME", "the name of a peer", false, read_peer},
	{"source", "bgp|local", "bgp or local", false, read_source},
};
enum { ATTRIBUTES = sizeof attributes / sizeof *attributes };

static const struct attribute *attribute_called(const char *word)
{
	for (size_t i = 0; i < ATTRIBUTES; i++)
		if (strcmp(attributes[i].name, word) == 0)
			return &attributes[i];
	return NULL;
}

static bool wrong(const struct attribute *a, const char *word, char error[TRIAL_ERROR_MAX])
{
	snprintf(error, TRIAL_ERROR_MAX, "%s: found \"%.60s\", expected %s", a->name, word, a->expected);
	return false;
}

static bool read_many(const struct attribute *a, struct trial_route *r, const char *word, char error[TRIAL_ERROR_MAX])
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
static bool read_values(const struct attribute *a, struct trial_route *r, const char *const *words, size_t count, size_t *at,
			char error[TRIAL_ERROR_MAX])
{
	if (*at == count)
		return wrong(a, "", error);
	if (!a->many)
		return a->read(r, words[(*at)++]) || wrong(a, words[*at - 1], error);
	for (; *at < count && !attribute_called(words[*at]); ++*at)
		if (!read_many(a, r, words[*at], error))
			return false;
	return true;
}

bool trial_read(struct trial_route *r, const char *const *words, size_t count, char error[TRIAL_ERROR_MAX])
{
	bool seen[ATTRIBUTES] = {false};
	*r = (struct trial_route){.source = RIB_SOURCE_BGP};
	r->edit.prepend = r->path;
	r->edit.add = r->communities;
	for (size_t at = 0; at < count;) {
		const struct attribute *a = attribute_called(words[at]);
		if (!a || seen[a - attributes]) {
			snprintf(error, TRIAL_ERROR_MAX, a ? "%.60s is there twice" : "%.60s is no attribute", words[at]);
			return false;
		}
		seen[a - attributes] = true;
		at++;
		if (!read_values(a, r, words, count, &at, error))
			return false;
	}
	return true;
}

struct bgp_attrs *trial_attrs(const struct trial_route *r, struct bgp_attr_table *t)
{
	struct bgp_attrs *own = bgp_attrs_local(t), *a = own ? bgp_attrs_edit(own, &r->edit) : NULL;
	bgp_attrs_unref(own);
	return a;
}

const char *trial_usage(char buf[TRIAL_ERROR_MAX])
{
	size_t n = 0;
	for (size_t i = 0; i < ATTRIBUTES; i++)
		n += (size_t)snprintf(buf + n, TRIAL_ERROR_MAX - n, "%s%s %s", i ? ", " : "", attributes[i].name, attributes[i].usage);
	return buf;
}
