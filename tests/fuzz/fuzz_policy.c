/* The text of policies. The first byte says what the rest is:
 *
 *   y  a configuration: what loads compiles and runs; a set that a policy edited is one that a decoder makes of the same bytes
 *   r  an AS path expression, and behind the first line a path, a byte a number
 *   c  a community: text that parses is formatted to text that parses to the same; any bytes have such a text
 *   t  the words of `policy test`, one a line: what is shown of the route makes the same route
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bgp/update.h"
#include "conf/conf.h"
#include "src/daemon/apply_policy.h"
#include "src/daemon/daemon.h"
#include "src/daemon/route_words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct bgp_attr_table attrs;

static void demand(bool holds)
{
	if (!holds)
		abort();
}

/* --- configurations */

/* IBGP, so that LOCAL_PREF is part of the wire: origin, path 64512 64900, next hop, communities of all kinds. */
static const uint8_t block_of_all[] = {
	0x40, 1, 1,  0,                                             /* IGP */
	0x40, 2, 10, 2,    2, 0, 0, 0xfc, 0, 0, 0, 0xfd, 0x84,      /* 64512 64900 */
	0x40, 3, 4,  10,   0, 0, 2,                                 /* next hop */
	0x80, 4, 4,  0,    0, 0, 9,                                 /* MED */
	0x40, 5, 4,  0,    0, 0, 200,                               /* LOCAL_PREF */
	0xc0, 8, 8,  0xfc, 0, 0, 7, 0xff, 0xff, 0xff, 1,            /* 64512:7 no-export */
	0xc0, 16, 16, 0, 2, 0xfc, 0, 0, 0, 0, 1, 0x40, 4, 0xfc, 0, 0x4c, 0xee, 0x6b, 0x28, /* rt:64512:1 lb:64512:125000000 */
	0xe0, 32, 12, 0, 0, 0xfc, 0, 0, 0, 0, 1, 0, 0, 0, 2,        /* 64512:1:2 */
};

static struct bgp_attrs *decode(struct bgp_attr_table *t, const uint8_t *wire, size_t len)
{
	struct bgp_attr_block block;
	struct bgp_attrs *a, *mp;
	bgp_attrs_decode(t, BGP_ATTR_IBGP, cursor_of(wire, len), true, &block, &a, &mp);
	return a;
}

/* Where nothing but the bytes makes the set, the decoder must give the very same. */
static void check_edited(struct bgp_attrs *a, const struct bgp_attrs *from)
{
	if (a->weight || a->context != from->context)
		return;
	struct bgp_attr_table other; /* an empty one, so that it really decodes */
	bgp_attr_table_init(&other);
	struct bgp_attrs *b = decode(&other, a->wire, a->wire_len);
	demand(b && b->wire_len == a->wire_len && memcmp(b->wire, a->wire, a->wire_len) == 0);
	demand(b->as_count == a->as_count && b->first_as == a->first_as && b->med == a->med && b->local_pref == a->local_pref);
	demand(b->no_export == a->no_export && b->no_advertise == a->no_advertise && bgp_attrs_link_bandwidth(b) == bgp_attrs_link_bandwidth(a));
	demand(addr_eq((struct addr[]){bgp_attrs_next_hop(a)}, (struct addr[]){bgp_attrs_next_hop(b)}) && b->as_path_at == a->as_path_at && b->as_path_len == a->as_path_len);
	bgp_attrs_unref(b);
	bgp_attr_table_fini(&other);
}

static void run_policy(const struct rib_policy *p)
{
	static const char *const prefixes[] = {"10.0.0.0/8", "0.0.0.0/0", "fd00::/8"};
	struct rib_policy_cache cache = {0};
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
		struct prefix at;
		struct rib_policy_trace trace, again;
		struct bgp_attrs *in = decode(&attrs, block_of_all, sizeof block_of_all), *a = bgp_attrs_ref(in), *out;
		prefix_parse(prefixes[i], &at);
		struct rib_policy_subject s = {&at, RIB_SOURCE_BGP, "tor"};
		enum rib_verdict verdict = rib_policy_run(p, &s, &a, &trace);
		demand(rib_policy_run_cached(p, &cache, &s, in, &out, &again) == verdict && out == a && again.rule == trace.rule);
		demand(trace.rule <= p->rule_count && (verdict == RIB_REJECT || trace.rule < p->rule_count));
		check_edited(a, in);
		bgp_attrs_unref(a);
		bgp_attrs_unref(in);
	}
	rib_policy_cache_fini(&cache);
}

static void try_configuration(const char *text, size_t len)
{
	static const struct daemon nobody;
	struct conf_errors errors;
	struct conf *c = conf_load_text(text, len, "host", &errors);
	demand((c != NULL) == (errors.count == 0));
	conf_errors_fini(&errors);
	if (!c)
		return;
	if (!c->node.asn) /* there are no peers then, and nothing to prepend to */
		c->node.asn = 64701;
	struct policies p = policies_make(&nobody, c);
	for (size_t i = 0; i < p.count; i++)
		run_policy(p.at[i]);
	policies_free(&p, NULL);
	conf_free(c);
}

/* --- expressions */

static bool matches(const struct as_regex *r, const uint8_t *path, size_t n)
{
	struct as_regex_run run;
	as_regex_begin(&run, r);
	for (size_t i = 0; i < n; i++)
		as_regex_next(&run, path[i]);
	return as_regex_end(&run);
}

/* What else must hold where text matches the path, or not. */
static void check_relatives(const char *text, const uint8_t *path, size_t n, bool matched)
{
	char *wrapped = malloc(2 * strlen(text) + 16);
	struct as_regex_error error;
	demand(wrapped);
	sprintf(wrapped, "( %s )", text);
	struct as_regex *r = as_regex_compile(wrapped, &error);
	demand(r || strstr(error.text, "groups in groups"));
	demand(!r || matches(r, path, n) == matched);
	as_regex_free(r);
	sprintf(wrapped, "%s | (%s)", text, text);
	r = as_regex_compile(wrapped, &error);
	demand(!r || matches(r, path, n) == matched);
	as_regex_free(r);
	sprintf(wrapped, ".* (%s) .*", text);
	r = strpbrk(text, "^$") ? NULL : as_regex_compile(wrapped, &error);
	demand(!r || matches(r, path, n) == matched);
	as_regex_free(r);
	free(wrapped);
}

static void try_expression(const char *text, const uint8_t *path, size_t n)
{
	struct as_regex_error error;
	struct as_regex *r = as_regex_compile(text, &error);
	demand((r == NULL) == (error.text != NULL));
	if (!r) {
		demand(error.column >= 1 && error.column <= strlen(text) + 1);
		return;
	}
	bool matched = matches(r, path, n);
	check_relatives(text, path, n, matched);
	/* a longer path matches too where no end is named */
	if (matched && !strpbrk(text, "^$"))
		for (size_t less = n; less > 0; less--)
			demand(!matches(r, path, less - 1) || matches(r, path, less));
	as_regex_free(r);
}

/* --- communities */

static void check_community(const struct community *c)
{
	char text[COMMUNITY_TEXT_MAX], again[COMMUNITY_TEXT_MAX];
	uint8_t wire[COMMUNITY_SIZE_MAX];
	struct writer w = writer_of(wire, sizeof wire);
	struct community_match m;
	demand(community_parse(community_format(c, text), &m) && community_is_exact(&m));
	demand(community_cmp(&m.value, c) == 0 && community_matches(&m, c));
	demand(strcmp(community_format(&m.value, again), text) == 0);
	community_write(c, &w);
	demand(writer_ok(&w) && writer_len(&w) == community_size(c->kind));
	struct cursor back = cursor_of(wire, writer_len(&w));
	struct community read = community_read(c->kind, &back);
	demand(community_cmp(&read, c) == 0);
}

static void try_community(const char *text, const uint8_t *bytes, size_t n)
{
	struct community_match m;
	if (community_parse(text, &m)) {
		for (size_t i = 0; i < 3; i++)
			demand((m.value.w[i] & ~m.mask[i]) == 0);
		if (community_is_exact(&m))
			check_community(&m.value);
	}
	for (enum community_kind kind = 0; kind < COMMUNITY_KINDS; kind++) {
		struct cursor c = cursor_of(bytes, n);
		struct community one = community_read(kind, &c);
		if (cursor_ok(&c))
			check_community(&one);
	}
}

/* --- the words of `policy test` */

enum { WORDS = 64, TEXT = 8192 };

static struct bgp_attrs *route_of(const char *const *words, size_t count)
{
	struct route_words r;
	char error[ROUTE_WORDS_ERROR_MAX] = "";
	if (route_words_read(&r, ROUTE_WORDS_TRIAL, words, count, error))
		return route_words_attrs(&r, &attrs);
	demand(*error);
	return NULL;
}

static void try_words(char *text)
{
	const char *words[WORDS], *again[4];
	char path[TEXT], communities[TEXT];
	size_t n = 0, m = 0;
	for (char *line = strtok(text, "\n"); line && n < WORDS; line = strtok(NULL, "\n"))
		words[n++] = line;
	struct bgp_attrs *a = route_of(words, n);
	if (!a)
		return;
	if (*bgp_attrs_path_text(a, path, sizeof path)) {
		again[m++] = "as-path";
		again[m++] = path;
	}
	if (*bgp_attrs_communities_text(a, communities, sizeof communities)) {
		again[m++] = "community";
		again[m++] = communities;
	}
	struct bgp_attrs *b = route_of(again, m), *c;
	demand(b);
	c = route_of(again, m);
	demand(b == c && b->as_count == a->as_count);
	char other[TEXT];
	demand(strcmp(bgp_attrs_communities_text(b, other, sizeof other), communities) == 0);
	demand(strcmp(bgp_attrs_path_text(b, other, sizeof other), path) == 0);
	bgp_attrs_unref(a);
	bgp_attrs_unref(b);
	bgp_attrs_unref(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	char *text = calloc(size, 1); /* what follows the first byte, and a NUL */
	demand(text);
	memcpy(text, data + 1, size - 1);
	size_t line = strcspn(text, "\n"), rest = line < size - 1 ? line + 1 : size - 1;
	bgp_attr_table_init(&attrs);
	switch (*data) {
	case 'y':
		try_configuration(text, size - 1);
		break;
	case 'r':
		text[line] = '\0';
		try_expression(text, data + 1 + rest, size - 1 - rest);
		break;
	case 'c':
		text[line] = '\0';
		try_community(text, data + 1, size - 1);
		break;
	case 't':
		try_words(text);
		break;
	default:
		break;
	}
	bgp_attr_table_fini(&attrs);
	free(text);
	return 0;
}
