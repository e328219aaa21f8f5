#include "src/daemon/external.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/daemon/route_words.h"

static const char head[] = "underlay external routes 1";

/* --- owners */

struct external_owner *external_owner_new(struct rib *r, const char *name, uint64_t connection)
{
	struct external_owner *o = calloc(1, sizeof *o);
	if (!o)
		abort();
	snprintf(o->name, sizeof o->name, "%s", name);
	o->connection = connection;
	o->source = rib_source_new(r, &(struct rib_source){.kind = RIB_SOURCE_EXTERNAL, .name = o->name});
	return o;
}

void external_owner_free(struct external_owner *o)
{
	for (size_t i = 0; i < o->count; i++)
		bgp_attrs_unref(o->routes[i].attrs);
	rib_source_free(o->source);
	free(o->routes);
	free(o);
}

struct external_owner *external_owner_find(const struct list *owners, const char *name)
{
	list_each(n, tmp, owners) {
		struct external_owner *o = container_of(n, struct external_owner, node);
		if (strcmp(o->name, name) == 0)
			return o;
	}
	return NULL;
}

/* --- routes */

/* Where p is, or would be. */
static size_t place_of(const struct external_owner *o, const struct prefix *p)
{
	size_t low = 0, high = o->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (prefix_cmp(&o->routes[middle].prefix, p) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct external_route *external_find(const struct external_owner *o, const struct prefix *p)
{
	size_t at = place_of(o, p);
	return at < o->count && prefix_eq(&o->routes[at].prefix, p) ? &o->routes[at] : NULL;
}

static struct external_route *insert(struct external_owner *o, const struct prefix *p)
{
	size_t at = place_of(o, p);
	if (o->count == o->room) {
		o->room = o->room * 2 + 4;
		o->routes = realloc(o->routes, o->room * sizeof *o->routes);
		if (!o->routes)
			abort();
	}
	memmove(&o->routes[at + 1], &o->routes[at], (o->count++ - at) * sizeof *o->routes);
	o->routes[at] = (struct external_route){.prefix = *p};
	return &o->routes[at];
}

struct external_route *external_put(struct external_owner *o, const struct prefix *p, struct bgp_attrs *attrs, int64_t since)
{
	struct external_route *r = external_find(o, p);
	if (!r) {
		r = insert(o, p);
		r->since = since;
	}
	bgp_attrs_ref(attrs);
	bgp_attrs_unref(r->attrs);
	r->attrs = attrs;
	return r;
}

void external_take(struct external_owner *o, struct external_route *r)
{
	bgp_attrs_unref(r->attrs);
	memmove(r, r + 1, (size_t)(&o->routes[--o->count] - r) * sizeof *r);
}

static bool in_change(const struct external_change *c, const struct prefix *p)
{
	for (size_t i = 0; i < c->count; i++)
		if (prefix_eq(&c->prefixes[i], p))
			return true;
	return c->all;
}

static bool is_first(const struct external_change *c, size_t i)
{
	const struct external_change before = {.prefixes = c->prefixes, .count = i};
	return !in_change(&before, &c->prefixes[i]);
}

size_t external_count_after(const struct external_owner *o, const struct external_change *c)
{
	size_t n = c->all ? 0 : o->count;
	for (size_t i = 0; i < c->count; i++) {
		if (!is_first(c, i))
			continue;
		bool there = external_find(o, &c->prefixes[i]);
		n = c->attrs ? n + !there : n - there;
	}
	return n;
}

const char *external_refusal(const struct rib_import_context *ctx, const struct prefix *p)
{
	if (prefix_is_default(p))
		return "the default route is nothing to hand over";
	if (!addr_is_unicast(&p->addr) || addr_is_link_local(&p->addr))
		return "it is zero, loopback, link-local, multicast or reserved";
	return prefix_in_any(p, ctx->own, ctx->own_count) ? "it is inside our own pods.cidrs" : NULL;
}

/* --- as text: a head, a line a route, and their number, so that a piece is not taken for the whole */

static void write_route(FILE *f, const struct prefix *p, const struct bgp_attrs *a, int64_t since)
{
	char text[BGP_DRAFT_WIRE_MAX], prefix[PREFIX_TEXT_MAX];
	const struct addr next_hop = bgp_attrs_next_hop(a);
	fprintf(f, "%s since %lld", prefix_format(p, prefix), (long long)since);
	if (a->local_pref != BGP_DEFAULT_LOCAL_PREF)
		fprintf(f, " local-pref %u", a->local_pref);
	if (a->has_med)
		fprintf(f, " med %u", a->med);
	if (!addr_is_zero(&next_hop))
		fprintf(f, " next-hop %s", addr_format(&next_hop, text));
	if (*bgp_attrs_communities_text(a, text, sizeof text))
		fprintf(f, " community %s", text);
	fputc('\n', f);
}

char *external_text(const struct external_owner *o, const struct external_change *c)
{
	char *text = NULL;
	size_t len = 0, n = 0;
	FILE *f = open_memstream(&text, &len);
	if (!f)
		abort();
	fprintf(f, "%s\n", head);
	for (size_t i = 0; i < o->count; i++) {
		if (in_change(c, &o->routes[i].prefix))
			continue;
		write_route(f, &o->routes[i].prefix, o->routes[i].attrs, o->routes[i].since);
		n++;
	}
	for (size_t i = 0; c->attrs && i < c->count; i++) {
		if (!is_first(c, i))
			continue;
		const struct external_route *was = external_find(o, &c->prefixes[i]);
		write_route(f, &c->prefixes[i], c->attrs, was ? was->since : c->since);
		n++;
	}
	fprintf(f, "end %zu\n", n);
	if (fclose(f) != 0)
		abort();
	return text;
}

/* Words into words, which are parts of line; their number. */
static size_t split(char *line, const char **words, size_t cap)
{
	size_t n = 0;
	char *save = NULL;
	for (char *word = strtok_r(line, " ", &save); word && n < cap; word = strtok_r(NULL, " ", &save))
		words[n++] = word;
	return n;
}

static bool read_route(struct external_owner *o, struct bgp_attr_table *t, char *line, char error[ROUTE_WORDS_ERROR_MAX])
{
	enum { WORDS = ROUTE_WORDS_COMMUNITIES_MAX + 16 };
	const char *words[WORDS];
	struct route_words r;
	struct prefix p;
	size_t n = split(line, words, WORDS);
	if (n == 0 || prefix_parse(words[0], &p) != PREFIX_OK || external_find(o, &p)) {
		snprintf(error, ROUTE_WORDS_ERROR_MAX, "\"%.60s\" is no prefix, or is there twice", n ? words[0] : "");
		return false;
	}
	if (!route_words_read(&r, ROUTE_WORDS_KEPT, words + 1, n - 1, error))
		return false;
	struct bgp_attrs *a = route_words_attrs(&r, t);
	if (!a)
		abort();
	external_put(o, &p, a, r.since);
	bgp_attrs_unref(a);
	return true;
}

bool external_read(struct external_owner *o, struct bgp_attr_table *t, char *text, char error[EXTERNAL_ERROR_MAX])
{
	char what[ROUTE_WORDS_ERROR_MAX] = "the end is missing", *save = NULL;
	unsigned at = 1;
	char end[32];
	char *line = strtok_r(text, "\n", &save);
	if (!line || strcmp(line, head) != 0) {
		snprintf(error, EXTERNAL_ERROR_MAX, "line 1: expected \"%s\"", head);
		return false;
	}
	while ((line = strtok_r(NULL, "\n", &save)) != NULL) {
		at++;
		snprintf(end, sizeof end, "end %zu", o->count);
		if (strcmp(line, end) == 0)
			return true;
		if (!read_route(o, t, line, what))
			break;
	}
	snprintf(error, EXTERNAL_ERROR_MAX, "line %u: %s", at, what);
	return false;
}
