/* Policies over communities of all kinds, AS path expressions, bounds and weights. Routes and rules are written as text, in
 * the words that a configuration uses and `show routes` shows.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bgp/update.h"
#include "rib/decision.h"
#include "rib/rules.h"
#include "src/base/live.h"
#include "src/base/random.h"
#include "tests/unit/run_suite.h"

/* the tables of cases leave out what is zero */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

static struct bgp_attr_table attrs;

static void setup(void)
{
	bgp_attr_table_init(&attrs);
}

static void teardown(void)
{
	bgp_attr_table_fini(&attrs);
	for (unsigned k = 0; k < LIVE_KINDS; k++)
		ck_assert_msg(live_count((enum live_kind)k) == 0, "%s left", live_name((enum live_kind)k));
}

enum { LIST = 8, WORD = 48 };

/* The words of text as communities, with * or not. */
static size_t matches_of(const char *text, struct community_match out[LIST])
{
	char word[WORD];
	size_t n = 0;
	for (int used; text && sscanf(text, " %47s%n", word, &used) == 1; text += used)
		ck_assert_msg(n < LIST && community_parse(word, &out[n++]), "%s", word);
	return n;
}

static size_t communities_of(const char *text, struct community out[LIST])
{
	struct community_match m[LIST];
	size_t n = matches_of(text, m);
	for (size_t i = 0; i < n; i++) {
		ck_assert(community_is_exact(&m[i]));
		out[i] = m[i].value;
	}
	return n;
}

static size_t numbers_of(const char *text, uint32_t out[LIST])
{
	size_t n = 0;
	for (int used; text && n < LIST && sscanf(text, " %u%n", &out[n], &used) == 1; text += used)
		n++;
	return n;
}

/* A route as a table of cases likes it, made by editing one of our own. */
struct how {
	const char *path, *communities;
	uint32_t local_pref, med; /* 0: none */
};

static struct bgp_attrs *make(const struct how *h)
{
	uint32_t path[LIST];
	struct community add[LIST];
	struct bgp_attr_edit e = {.has_local_pref = h->local_pref, .local_pref = h->local_pref, .has_med = h->med, .med = h->med,
				  .prepend = path, .prepend_count = numbers_of(h->path, path),
				  .add = add, .add_count = communities_of(h->communities, add)};
	struct bgp_attrs *own = bgp_attrs_local(&attrs), *a = bgp_attrs_edit(own, &e);
	ck_assert_ptr_nonnull(a);
	bgp_attrs_unref(own);
	return a;
}

static const char *text_of(const struct bgp_attrs *a)
{
	static char text[1024];
	return bgp_attrs_communities_text(a, text, sizeof text);
}

/* --- editing */

enum { STANDARD = 1 << COMMUNITY_STANDARD, EXTENDED = 1 << COMMUNITY_EXTENDED, LARGE = 1 << COMMUNITY_LARGE };

static const struct {
	const char *from, *add, *remove;
	uint8_t replace;
	const char *to;
} edits[] = {
	{"", "rt:64512:1 64512:1:2 64512:1", NULL, 0, "64512:1 rt:64512:1 64512:1:2"},
	{"1:1 rt:1:1 1:1:1", "2:2 ro:1:1", NULL, 0, "1:1 2:2 rt:1:1 ro:1:1 1:1:1"},
	{"1:1 rt:1:1 1:1:1", "rt:1:1", NULL, 0, "1:1 rt:1:1 1:1:1"},
	{"1:1 2:2 rt:1:1 1:1:1 2:1:1", NULL, "1:* *:*:1", 0, "2:2 rt:1:1"},
	{"1:1 rt:1:1 rt:65536:1 rt:10.0.0.1:1 ro:1:1", NULL, "rt:*:1", 0, "1:1 ro:1:1"},
	{"1:1 rt:1:1 0x030b000000000001", NULL, "0x*", 0, "1:1"},
	{"1:1 rt:1:1 1:1:1", "2:2", NULL, STANDARD, "2:2 rt:1:1 1:1:1"},
	{"1:1 rt:1:1 1:1:1", "rt:2:2", NULL, EXTENDED, "1:1 rt:2:2 1:1:1"},
	{"1:1 rt:1:1 1:1:1", "2:2:2", NULL, LARGE, "1:1 rt:1:1 2:2:2"},
	{"1:1 rt:1:1 1:1:1", NULL, NULL, STANDARD | EXTENDED | LARGE, ""},
	{"lb:64512:1000", "lb:64512:2000", "lb:*:*", 0, "lb:64512:2000"},
};

START_TEST(edits_of_all_kinds)
{
	struct community add[LIST];
	struct community_match remove[LIST];
	struct bgp_attr_edit e = {.add = add, .remove = remove, .replace = edits[_i].replace,
				  .add_count = communities_of(edits[_i].add, add),
				  .remove_count = matches_of(edits[_i].remove, remove)};
	struct bgp_attrs *from = make(&(struct how){.communities = edits[_i].from});
	struct bgp_attrs *want = make(&(struct how){.communities = edits[_i].to}), *got = bgp_attrs_edit(from, &e);
	ck_assert_str_eq(text_of(got), edits[_i].to);
	ck_assert_ptr_eq(got, want);
	bgp_attrs_unref(from);
	bgp_attrs_unref(want);
	bgp_attrs_unref(got);
}
END_TEST

/* What a peer sends is shown in words that make the same bytes again. */
START_TEST(shown_words_make_the_same_set)
{
	static const char words[] = "64512:1 no-export 0x030b000000000001 rt:64512:1 rt:65536:1 lb:64512:1000 64512:1:2";
	struct bgp_attrs *a = make(&(struct how){.path = "64512", .communities = words}), *b;
	char text[512];
	ck_assert_str_eq(bgp_attrs_communities_text(a, text, sizeof text), words);
	b = make(&(struct how){.path = "64512", .communities = text});
	ck_assert_ptr_eq(a, b);
	ck_assert_str_eq(bgp_attrs_communities_text(a, text, 20), "64512:1 no-expor...");
	bgp_attrs_unref(a);
	bgp_attrs_unref(b);
}
END_TEST

/* What the decoder reads out of communities, an edit keeps true. */
START_TEST(what_communities_mean_follows)
{
	struct community add[LIST];
	struct bgp_attr_edit e = {.add = add, .add_count = communities_of("lb:64512:1000 no-advertise", add)};
	struct bgp_attrs *a = make(&(struct how){.path = "64512"}), *b = bgp_attrs_edit(a, &e);
	ck_assert(bgp_attrs_link_bandwidth(b) == 1000 && b->no_advertise && !b->no_export);
	struct bgp_attrs *c = bgp_attrs_edit(b, &(struct bgp_attr_edit){.replace = STANDARD | EXTENDED});
	ck_assert_ptr_eq(c, a);
	ck_assert(bgp_attrs_link_bandwidth(c) == 0 && !c->no_advertise);
	bgp_attrs_unref(a);
	bgp_attrs_unref(b);
	bgp_attrs_unref(c);
}
END_TEST

/* --- matching */

static const struct match_case {
	const char *any, *all, *none, *as_path;
	struct rib_bounds local_pref, med, length;
	struct how route;
	bool matches;
} match_cases[] = {
	{.any = "rt:64512:* 1:1", .route = {"1", "rt:64512:7"}, .matches = true},
	{.any = "rt:64512:* 1:1", .route = {"1", "ro:64512:7 1:1:1"}},
	{.any = "64512:*:7", .route = {"1", "64512:3:7"}, .matches = true},
	{.any = "no-peer", .route = {"1", "65535:65284"}, .matches = true},
	{.all = "1:1 rt:*:1 1:*:*", .route = {"1", "1:1 rt:10.0.0.1:1 1:2:3"}, .matches = true},
	{.all = "1:1 rt:*:1 1:*:*", .route = {"1", "1:1 1:2:3"}},
	{.all = "1:1", .route = {"1"}},
	{.none = "1:1 rt:*:1", .route = {"1", "1:2"}, .matches = true},
	{.none = "1:1 rt:*:1", .route = {"1", "1:2 rt:1:1"}},
	{.none = "1:1", .route = {"1"}, .matches = true},
	{.any = "1:1", .none = "1:2", .route = {"1", "1:1 1:2"}},
	{.as_path = "^64512 .* 7$", .route = {"64512 1 2 7"}, .matches = true},
	{.as_path = "^64512 .* 7$", .route = {"1 64512 1 2 7"}},
	{.as_path = "^$", .route = {""}, .matches = true},
	{.as_path = "^$", .route = {"1"}},
	{.local_pref = {true, 150, 250}, .route = {"1", NULL, 200}, .matches = true},
	{.local_pref = {true, 150, 250}, .route = {"1"}},
	{.local_pref = {true, 0, 100}, .route = {"1"}, .matches = true},
	{.med = {true, 0, 0}, .route = {"1"}, .matches = true},
	{.med = {true, 1, 10}, .route = {"1"}},
	{.med = {true, 1, 10}, .route = {"1", NULL, 0, 10}, .matches = true},
	{.med = {true, 1, 10}, .route = {"1", NULL, 0, 11}},
	{.length = {true, 0, 2}, .route = {"1 2"}, .matches = true},
	{.length = {true, 0, 2}, .route = {"1 2 3"}},
};

static struct rib_communities list_of(const char *text)
{
	struct rib_communities l = {calloc(LIST, sizeof *l.at), 0};
	ck_assert_ptr_nonnull(l.at);
	l.count = matches_of(text, l.at);
	return l;
}

static struct rib_policy *policy_of(const struct match_case *c)
{
	struct rib_policy *p = rib_policy_new("p", 1);
	struct rib_rule *r = p->rules;
	struct as_regex_error error;
	r->any = list_of(c->any);
	r->all = list_of(c->all);
	r->none = list_of(c->none);
	r->as_paths = calloc(1, sizeof *r->as_paths);
	if (c->as_path)
		ck_assert_ptr_nonnull(r->as_paths[r->as_path_count++] = as_regex_compile(c->as_path, &error));
	r->local_pref = c->local_pref;
	r->med = c->med;
	r->path_length = c->length;
	r->action = RIB_ACTION_ACCEPT;
	rib_policy_finish(p);
	return p;
}

START_TEST(rules_match)
{
	struct prefix at = prefix_make_v4(0x0a000000, 8);
	struct rib_policy *p = policy_of(&match_cases[_i]);
	struct rib_policy_subject s = {&at, RIB_SOURCE_BGP, "tor"};
	struct rib_policy_trace trace;
	struct bgp_attrs *a = make(&match_cases[_i].route);
	ck_assert_int_eq(rib_policy_run(p, &s, &a, &trace) == RIB_ACCEPT, match_cases[_i].matches);
	bgp_attrs_unref(a);
	rib_policy_free(p);
}
END_TEST

/* Lists of prefixes are searched, not walked: as a walk would say, for any list. */
START_TEST(prefix_lists_are_searched)
{
	enum { RANGES = 40, TRIES = 400 };
	struct random r = {(uint64_t)_i + 1};
	struct rib_prefix_range list[RANGES];
	struct rib_policy *p = policy_of(&(struct match_case){0});
	struct rib_rule *rule = p->rules;
	rule->prefixes = calloc(RANGES, sizeof *rule->prefixes);
	ck_assert_ptr_nonnull(rule->prefixes);
	for (size_t i = 0; i < RANGES; i++) {
		struct addr a = random_next(&r) % 4 ? addr_from_v4(random_next(&r) & 0x0f0f0000) : (struct addr){{0xfd, (uint8_t)random_next(&r)}};
		struct prefix at = prefix_make(&a, addr_is_v4(&a) ? 96 + random_next(&r) % 17 : random_next(&r) % 33);
		uint8_t min = (uint8_t)(at.len + random_next(&r) % 3), max = (uint8_t)(min + random_next(&r) % 5);
		list[i] = rule->prefixes[i] = (struct rib_prefix_range){at, min, max};
	}
	rule->prefix_count = RANGES;
	rib_policy_finish(p);
	struct bgp_attrs *own = make(&(struct how){"1"});
	for (unsigned i = 0; i < TRIES; i++) {
		struct addr a = i % 4 ? addr_from_v4(random_next(&r) & 0x0f0f0300) : (struct addr){{0xfd, (uint8_t)random_next(&r)}};
		struct prefix at = prefix_make(&a, addr_is_v4(&a) ? 96 + random_next(&r) % 25 : random_next(&r) % 40);
		struct rib_policy_subject s = {&at, RIB_SOURCE_BGP, "tor"};
		struct rib_policy_trace trace;
		struct bgp_attrs *in = bgp_attrs_ref(own);
		bool walked = false;
		for (size_t j = 0; j < RANGES; j++)
			walked |= prefix_is_v4(&list[j].prefix) == prefix_is_v4(&at) && prefix_covers(&list[j].prefix, &at) && at.len >= list[j].min && at.len <= list[j].max;
		ck_assert_int_eq(rib_policy_run(p, &s, &in, &trace) == RIB_ACCEPT, walked);
		bgp_attrs_unref(in);
	}
	bgp_attrs_unref(own);
	rib_policy_free(p);
}
END_TEST

/* --- weight */

static struct bgp_attrs *weighted(struct bgp_attrs *a, uint16_t weight)
{
	struct bgp_attrs *b = bgp_attrs_edit(a, &(struct bgp_attr_edit){.has_weight = true, .weight = weight});
	ck_assert_ptr_nonnull(b);
	bgp_attrs_unref(a);
	return b;
}

static struct bgp_attrs *received(struct bgp_attr_table *t, const struct bgp_words *w)
{
	struct bgp_attr_block block;
	struct bgp_attrs *a, *mp;
	bgp_attrs_decode(t, 0, cursor_of(w->block, w->len), true, &block, &a, &mp);
	ck_assert_ptr_nonnull(a);
	return a;
}

/* It makes another set, which another weight or none unmakes, and no peer hears of it or can say it. */
START_TEST(a_weight_stays_here)
{
	struct bgp_attrs *plain = make(&(struct how){"64512"}), *heavy = weighted(bgp_attrs_ref(plain), 7);
	ck_assert(heavy != plain && heavy->weight == 7 && heavy->wire_len == plain->wire_len);
	struct bgp_export e = {.as4 = true, .local_asn = 64701};
	struct bgp_words a, b;
	uint8_t out[512], other[512];
	e.next_hop_self[BGP_IPV4_UNICAST] = addr_from_v4(0x0a000001);
	ck_assert(bgp_attrs_export(plain, &e, BGP_IPV4_UNICAST, out, sizeof out, &a));
	ck_assert(bgp_attrs_export(heavy, &e, BGP_IPV4_UNICAST, other, sizeof other, &b));
	ck_assert(a.len == b.len && memcmp(a.block, b.block, a.len) == 0);
	struct bgp_attrs *back = received(&attrs, &b), *again = weighted(bgp_attrs_ref(back), 7);
	struct bgp_attrs *same = received(&attrs, &b), *unmade = weighted(bgp_attrs_ref(again), 0);
	ck_assert_uint_eq(back->weight, 0);
	ck_assert_ptr_eq(same, back);
	ck_assert_ptr_eq(unmade, back);
	bgp_attrs_unref(plain);
	bgp_attrs_unref(heavy);
	bgp_attrs_unref(back);
	bgp_attrs_unref(again);
	bgp_attrs_unref(same);
	bgp_attrs_unref(unmade);
}
END_TEST

START_TEST(the_heavier_wins)
{
	struct rib *rib = rib_new(1);
	struct rib_source *from = rib_source_new(rib, &(struct rib_source){.kind = RIB_SOURCE_BGP});
	struct bgp_attrs *liked = make(&(struct how){"1", NULL, 900}), *heavy = weighted(make(&(struct how){"1 2 3"}), 1);
	struct rib_path a = {.attrs_at = liked->at, .source_at = from->at & 0xff}, b = a;
	b.attrs_at = heavy->at;
	struct rib_path *paths[] = {&a, &b};
	ck_assert_ptr_eq(rib_decide(paths, 2, 4), &b);
	ck_assert_str_eq(rib_decision_rule(a.lost_by), "weight");
	rib_source_free(from);
	rib_free(rib);
	bgp_attrs_unref(liked);
	bgp_attrs_unref(heavy);
}
END_TEST

#define COUNT(a) ((int)(sizeof a / sizeof *a))

int main(void)
{
	Suite *s = suite_create("policy attributes");
	TCase *t = tcase_create("policy attributes");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, edits_of_all_kinds, 0, COUNT(edits));
	tcase_add_test(t, shown_words_make_the_same_set);
	tcase_add_test(t, what_communities_mean_follows);
	tcase_add_loop_test(t, rules_match, 0, COUNT(match_cases));
	tcase_add_loop_test(t, prefix_lists_are_searched, 0, 20);
	tcase_add_test(t, a_weight_stays_here);
	tcase_add_test(t, the_heavier_wins);
	suite_add_tcase(s, t);
	return run_suite(s);
}
