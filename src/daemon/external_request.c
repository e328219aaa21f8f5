#include "src/daemon/external_request.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool wrong(struct external_fault *fault, const char *hint, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static bool wrong(struct external_fault *fault, const char *hint, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(fault->text, sizeof fault->text, fmt, args);
	va_end(args);
	fault->hint = hint;
	return false;
}

static bool read_prefix(struct external_request *r, const char *word, struct external_fault *fault)
{
	char meant[PREFIX_TEXT_MAX];
	if (r->count == EXTERNAL_PREFIXES_MAX)
		return wrong(fault, NULL, "more than %d prefixes at once", EXTERNAL_PREFIXES_MAX);
	struct prefix *p = &r->prefixes[r->count++];
	switch (prefix_parse(word, p)) {
	case PREFIX_OK:
		return true;
	case PREFIX_HOST_BITS:
		snprintf(fault->hint_text, sizeof fault->hint_text, "%s is probably meant", prefix_format(p, meant));
		return wrong(fault, fault->hint_text, "%.100s: bits beyond the length are set", word);
	case PREFIX_BAD_TEXT:
		break;
	}
	return wrong(fault, NULL, "%.100s is not a prefix", word);
}

/* A next hop is for routes of its family. */
static bool fits_next_hop(const struct external_request *r, struct external_fault *fault)
{
	char text[PREFIX_TEXT_MAX];
	for (size_t i = 0; r->words.edit.has_next_hop && i < r->count; i++)
		if (addr_is_v4(&r->words.edit.next_hop) != prefix_is_v4(&r->prefixes[i]))
			return wrong(fault, "hand over the prefixes of the two families one by one",
				     "%s: the next hop is of the other address family", prefix_format(&r->prefixes[i], text));
	return true;
}

bool external_request_read(struct external_request *r, bool may_be_all, const char *const *words, size_t count,
			   struct external_fault *fault)
{
	char error[ROUTE_WORDS_ERROR_MAX];
	size_t at = 0;
	*r = (struct external_request){.all = may_be_all && count && strcmp(words[0], "all") == 0};
	at += r->all;
	for (; at < count && !r->all && !route_words_is_name(words[at], ROUTE_WORDS_HANDED); at++)
		if (!read_prefix(r, words[at], fault))
			return false;
	if (!r->all && !r->count)
		return wrong(fault, NULL, "a prefix is needed");
	if (!route_words_read(&r->words, ROUTE_WORDS_HANDED, words + at, count - at, error))
		return wrong(fault, NULL, "%s", error);
	if (!r->words.owner)
		return wrong(fault, NULL, "whose route is it? An owner is needed: owner NAME");
	return fits_next_hop(r, fault);
}
