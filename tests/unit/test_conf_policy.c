/* Policies and named sets in the configuration: every key reaches its field, sets reach the lists that use them, what is
 * wrong with them is said at its place, and what changed is seen.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "tests/unit/run_suite.h"

#define RULE(rest) "policies:\n  - name: p\n    rules:\n      - {" rest "}\n"
#define MATCH(rest) RULE("action: accept, match: {" rest "}")
#define SET(rest) RULE("action: accept, set: {" rest "}")

static struct conf *load(const char *yaml)
{
	struct conf_errors errors;
	struct conf *c = conf_load_text(yaml, strlen(yaml), "host-1", &errors);
	ck_assert_msg(c, "%s\n%s: %s", yaml, errors.count ? errors.at[0].path : "", errors.count ? errors.at[0].text : "no error");
	conf_errors_fini(&errors);
	return c;
}

static void check_addr(const struct addr *a, const char *text)
{
	char buf[ADDR_TEXT_MAX];
	ck_assert_str_eq(addr_format(a, buf), text);
}

static void check_prefix(const struct prefix *p, const char *text)
{
	char buf[PREFIX_TEXT_MAX];
	ck_assert_str_eq(prefix_format(p, buf), text);
}

static const char policies[] =
    "node: {name: n, asn: 64701}\n"
    "policies:\n"
    "  - name: full\n"
    "    rules:\n"
    "      - match:\n"
    "          prefixes: [10.244.0.0/16, 10.0.0.0/8 le 24, \"fd10::/16 ge 48\", 0.0.0.0/0 ge 8 le 28]\n"
    "          community: [64512:100, \"64513:*\", \"*:7\", blackhole]\n"
    "          origin-as: [64512, 4200000000]\n"
    "          as-path-length: ge 2 le 5\n"
    "          next-hop: [10.0.7.0/24, \"fe80::/10\"]\n"
    "          peer: [tor-a, tor-b]\n"
    "          family: ipv6\n"
    "          source: bgp\n"
    "          community-all: [rt:64512:1]\n"
    "          community-none: [64512:1:2, \"*:*:*\"]\n"
    "          as-path: [64512, \"^$\"]\n"
    "          local-pref: 100\n"
    "          med: ge 5\n"
    "        set:\n"
    "          local-pref: 200\n"
    "          med: 0\n"
    "          prepend: 3\n"
    "          community: {add: [64512:1, no-export], remove: [\"64512:*\"]}\n"
    "          next-hop: self\n"
    "        action: next\n"
    "      - {action: accept, match: {as-path-length: 4}, set: {prepend: [1, 2], community: {replace: []}, next-hop: 10.0.0.9}}\n"
    "      - {action: reject}\n"
    "  - name: empty\n"
    "  - {name: light, rules: [{set: {weight: 65535}, action: accept}]}\n"
    "peers:\n"
    "  - {name: a, address: 10.0.0.2, asn: 5, import: empty, export: full}\n";

static void check_range(const struct conf_range *r, const char *prefix, unsigned min, unsigned max)
{
	unsigned base = prefix_is_v4(&r->prefix) ? ADDR_V4_BITS : 0;
	check_prefix(&r->prefix, prefix);
	ck_assert_uint_eq(r->min, base + min);
	ck_assert_uint_eq(r->max, base + max);
}

static void check_community(const struct community_match *c, const char *text)
{
	struct community_match want;
	ck_assert(community_parse(text, &want));
	ck_assert_msg(memcmp(c, &want, sizeof want) == 0, "%s", text);
}

static void check_match(const struct conf_rule *r)
{
	ck_assert_uint_eq(r->match.prefixes.count, 4);
	check_range(&r->match.prefixes.at[0], "10.244.0.0/16", 16, 16);
	check_range(&r->match.prefixes.at[1], "10.0.0.0/8", 8, 24);
	check_range(&r->match.prefixes.at[2], "fd10::/16", 48, 128);
	check_range(&r->match.prefixes.at[3], "0.0.0.0/0", 8, 28);
	ck_assert_uint_eq(r->match.any.count, 4);
	check_community(&r->match.any.at[0], "64512:100");
	check_community(&r->match.any.at[1], "64513:*");
	check_community(&r->match.any.at[2], "*:7");
	check_community(&r->match.any.at[3], "blackhole");
	ck_assert_uint_eq(r->match.origin_as.count, 2);
	ck_assert_uint_eq(r->match.origin_as.at[1], 4200000000);
	ck_assert(r->match.path_length.given && r->match.path_length.min == 2 && r->match.path_length.max == 5);
	ck_assert_uint_eq(r->match.next_hop.count, 2);
	check_prefix(&r->match.next_hop.at[1], "fe80::/10");
	ck_assert_uint_eq(r->match.peer.count, 2);
	ck_assert_str_eq(r->match.peer.at[1], "tor-b");
	ck_assert_int_eq(r->match.family, CONF_FAMILY_IPV6);
	ck_assert_int_eq(r->match.source, CONF_SOURCE_BGP);
	check_community(&r->match.all.at[0], "rt:64512:1");
	ck_assert_uint_eq(r->match.none.count, 2);
	check_community(&r->match.none.at[1], "*:*:*");
	ck_assert_uint_eq(r->match.as_path.count, 2);
	ck_assert_str_eq(r->match.as_path.at[1], "^$");
	ck_assert(r->match.local_pref.given && r->match.local_pref.min == 100 && r->match.local_pref.max == 100);
	ck_assert(r->match.med.given && r->match.med.min == 5 && r->match.med.max == UINT32_MAX);
}

START_TEST(every_policy_key_reaches_its_field)
{
	struct conf *c = load(policies);
	ck_assert_uint_eq(c->policy_count, 3);
	const struct conf_rules *p = conf_policy_find(c, "full");
	ck_assert_uint_eq(p->rule_count, 3);
	const struct conf_rule *r = p->rules;
	check_match(&r[0]);
	ck_assert(r[0].set.local_pref.given && r[0].set.local_pref.value == 200);
	ck_assert(r[0].set.med.given && r[0].set.med.value == 0);
	ck_assert_uint_eq(r[0].set.prepend_own, 3);
	ck_assert(!r[0].set.weight.given);
	r = conf_policy_find(c, "light")->rules;
	ck_assert(r->set.weight.given && r->set.weight.value == 65535);
	r = p->rules;
	check_community(&r[0].set.add.at[1], "no-export");
	check_community(&r[0].set.remove.at[0], "64512:*");
	ck_assert(!r[0].set.replace.given);
	ck_assert_int_eq(r[0].set.next_hop_kind, CONF_NEXT_HOP_SELF);
	ck_assert_int_eq(r[0].action, CONF_ACTION_NEXT);
	ck_assert(r[1].match.path_length.min == 4 && r[1].match.path_length.max == 4 && r[1].match.prefixes.count == 0);
	ck_assert(!r[1].set.med.given && r[1].set.prepend.count == 2 && r[1].set.prepend.at[1] == 2);
	ck_assert(r[1].set.replace.given && r[1].set.replace.count == 0);
	check_addr(&r[1].set.next_hop, "10.0.0.9");
	ck_assert_int_eq(r[1].action, CONF_ACTION_ACCEPT);
	ck_assert_int_eq(r[2].action, CONF_ACTION_REJECT);
	ck_assert_uint_eq(conf_policy_find(c, "empty")->rule_count, 0);
	ck_assert_ptr_null(conf_policy_find(c, "other"));
	ck_assert(c->peers[0].import == CONF_POLICY_NAMED && c->peers[0].export == CONF_POLICY_NAMED);
	ck_assert_str_eq(c->peers[0].import_policy, "empty");
	ck_assert_str_eq(c->peers[0].export_policy, "full");
	conf_free(c);
}
END_TEST

/* What is written otherwise, but the same, has the same text; anything else has not. */
START_TEST(policies_are_compared_by_their_text)
{
	static const char *const texts[] = {RULE("action: accept"), RULE("action: reject"), RULE("action: accept, match: {}"),
					    MATCH("peer: [a, b]"), MATCH("peer: [a]"), MATCH("peer: [ab]"), SET("med: 1"), SET("med: 11")};
	enum { TEXTS = sizeof texts / sizeof *texts };
	struct conf *conf[TEXTS], *moved = load("# x\npolicies: [{name: \"p\", rules: [{\"action\": accept}]}]");
	for (size_t i = 0; i < TEXTS; i++) {
		conf[i] = load(texts[i]);
		for (size_t j = 0; j < i; j++)
			ck_assert_str_ne(conf[i]->policies->text, conf[j]->policies->text);
	}
	ck_assert_str_eq(moved->policies->text, conf[0]->policies->text);
	for (size_t i = 0; i < TEXTS; i++)
		conf_free(conf[i]);
	conf_free(moved);
}
END_TEST

/* --- sets */

#define SETS                                                                                                      \
	"sets:\n"                                                                                                 \
	"  prefixes: {fabric: [10.0.0.0/8 le 24, \"fd00::/8\"], one: [10.9.0.0/16]}\n"                           \
	"  communities: {scrub: [\"64512:*\", \"rt:64512:*\"], fabric: [64512:1, 64512:1:2]}\n"                 \
	"  as-paths: {private: [\"[64512-65534]\"]}\n"

/* Also where the sets stand behind the policies. */
START_TEST(sets_reach_the_lists)
{
	static const char rule[] = MATCH("prefixes: [$one, 10.7.0.0/16, $fabric], community: [$scrub], community-none: [1:1, $fabric], "
					 "as-path: [^1, $private]}, set: {community: {add: [$fabric], remove: [$scrub, 1:2]}");
	char text[2048];
	for (unsigned behind = 0; behind < 2; behind++) {
		snprintf(text, sizeof text, "%s%s", behind ? rule : SETS, behind ? SETS : rule);
		struct conf *c = load(text);
		const struct conf_rule *r = conf_policy_find(c, "p")->rules;
		ck_assert_uint_eq(r->match.prefixes.count, 4);
		check_range(&r->match.prefixes.at[0], "10.9.0.0/16", 16, 16);
		check_range(&r->match.prefixes.at[1], "10.7.0.0/16", 16, 16);
		check_range(&r->match.prefixes.at[2], "10.0.0.0/8", 8, 24);
		check_range(&r->match.prefixes.at[3], "fd00::/8", 8, 8);
		ck_assert_uint_eq(r->match.any.count, 2);
		check_community(&r->match.any.at[1], "rt:64512:*");
		ck_assert_uint_eq(r->match.none.count, 3);
		check_community(&r->match.none.at[2], "64512:1:2");
		ck_assert_uint_eq(r->match.as_path.count, 2);
		ck_assert_str_eq(r->match.as_path.at[1], "[64512-65534]");
		ck_assert_uint_eq(r->set.add.count, 2);
		ck_assert_uint_eq(r->set.remove.count, 3);
		conf_free(c);
	}
}
END_TEST

static const struct {
	const char *yaml;
	unsigned line, column;
	const char *path, *part;
} mistakes[] = {
	{SETS MATCH("prefixes: [$none]"), 8, 45, "policies[0].rules[0].match.prefixes[0]", "there are $fabric, $one"},
	{SETS MATCH("prefixes: [$scrub]"), 8, 45, "policies[0].rules[0].match.prefixes[0]", "found \"$scrub\", which is not in sets"},
	{MATCH("as-path: [$x]"), 4, 44, "policies[0].rules[0].match.as-path[0]", "no such set at all"},
	{SETS SET("community: {add: [$scrub]}"), 8, 50, "policies[0].rules[0].set.community.add[0]", "the set $scrub has a community with *"},
	{SETS SET("community: {replace: [$scrub]}"), 8, 54, "policies[0].rules[0].set.community.replace[0]", "whole ones only"},
	{"sets: {prefixes: [a]}", 1, 18, "sets.prefixes", "expected a map of names and lists"},
	{"sets: {prefixes: {a: []}}", 1, 22, "sets.prefixes.a", "the list is empty"},
	{"sets: {prefixes: {a: 10.0.0.0/8}}", 1, 22, "sets.prefixes.a", "put it into [ ]"},
	{"sets: {prefixes: {a: [10.0.0.0/8], b: [$a]}}", 1, 40, "sets.prefixes.b[0]", "found \"$a\", expected a prefix"},
	{"sets: {prefixes: {a: [10.0.0.1/8]}}", 1, 23, "sets.prefixes.a[0]", "the right one is 10.0.0.0/8"},
	{"sets: {prefixes: {a b: [10.0.0.0/8]}}", 1, 19, "sets.prefixes.a b", "no name for a set"},
	{"sets: {prefixes: {a: [10.0.0.0/8], a: [10.0.0.0/8]}}", 1, 36, "sets.prefixes.a", "here twice"},
	{"sets: {communities: {a: [\"64512\"]}}", 1, 26, "sets.communities.a[0]", "expected 64512:100"},
	{"sets: {as-paths: {a: [\"1 *\"]}}", 1, 23, "sets.as-paths.a[0]", "found \"1 *\", at its column 3: nothing to repeat"},
	{"sets: {as-paths: {a: [[1-2]]}}", 1, 23, "sets.as-paths.a[0]", "in quotes"},
	{"sets: {as-path: {}}", 1, 8, "sets.as-path", "did you mean sets.as-paths?"},
	{"node: {asn: 5}\n" SET("weight: 1") "peers: [{address: 10.0.0.2, asn: 5, export: p}]", 6, 45, "peers[0].export", "weight, which is for import only"},
	{SET("weight: 65536"), 4, 40, "policies[0].rules[0].set.weight", "expected a number from 0 to 65535"},
	{MATCH("as-path: [\"[0-9]+\"]"), 4, 44, "policies[0].rules[0].match.as-path[0]", "at its column 2: there is no AS 0"},
};

START_TEST(mistakes_have_their_place)
{
	struct conf_errors errors;
	const char *yaml = mistakes[_i].yaml;
	ck_assert_ptr_null(conf_load_text(yaml, strlen(yaml), "host-1", &errors));
	ck_assert_uint_eq(errors.count, 1);
	const struct conf_error *e = errors.at;
	ck_assert_msg(strstr(e->text, mistakes[_i].part), "%s: %s", yaml, e->text);
	ck_assert_str_eq(e->path, mistakes[_i].path);
	ck_assert_msg(e->line == mistakes[_i].line && e->column == mistakes[_i].column, "%s: %u:%u", yaml, e->line, e->column);
	conf_errors_fini(&errors);
}
END_TEST

/* A policy is another one when a set that it uses is, and only then. */
START_TEST(a_changed_set_changes_the_policies_that_use_it)
{
	static const char form[] = "sets: {prefixes: {a: [%s], b: [%s]}, communities: {a: [%s]}}\n"
				   "policies:\n"
				   "  - {name: p, rules: [{match: {prefixes: [$a]}, action: accept}]}\n"
				   "  - {name: q, rules: [{match: {prefixes: [10.0.0.0/8]}, action: accept}]}\n";
	static const struct {
		const char *a, *b, *c;
		bool changed;
	} cases[] = {{"10.0.0.0/8", "10.0.0.0/9", "1:1", false},
		     {"10.0.0.0/8", "10.0.0.0/10", "1:1", false},
		     {"10.0.0.0/9", "10.0.0.0/9", "1:1", true},
		     {"10.0.0.0/8, 11.0.0.0/8", "10.0.0.0/9", "1:1", true}};
	char text[1024];
	snprintf(text, sizeof text, form, cases[0].a, cases[0].b, cases[0].c);
	struct conf *was = load(text);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		snprintf(text, sizeof text, form, cases[i].a, cases[i].b, cases[i].c);
		struct conf *is = load(text);
		ck_assert_msg((strcmp(was->policies[0].text, is->policies[0].text) != 0) == cases[i].changed, "%zu", i);
		ck_assert_str_eq(was->policies[1].text, is->policies[1].text);
		conf_free(is);
	}
	conf_free(was);
}
END_TEST

/* A small file stays a small configuration. */
START_TEST(sets_do_not_explode)
{
	enum { SIZE = 900000 };
	char *text = malloc(SIZE), *at = text;
	struct conf_errors errors;
	ck_assert_ptr_nonnull(text);
	at += sprintf(at, "sets: {communities: {a: [");
	for (unsigned i = 0; i < 20000; i++)
		at += sprintf(at, "1:1, ");
	at += sprintf(at, "]}}\npolicies: [{name: p, rules: [{action: accept, match: {community: [");
	for (unsigned i = 0; i < 20000; i++)
		at += sprintf(at, "$a, ");
	sprintf(at, "]}}]}]\n");
	ck_assert_ptr_null(conf_load_text(text, strlen(text), "host-1", &errors));
	ck_assert_ptr_nonnull(strstr(errors.at[0].text, "more than 1000000 items in all"));
	conf_errors_fini(&errors);
	free(text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("conf policies");
	TCase *t = tcase_create("conf policies");
	tcase_add_test(t, every_policy_key_reaches_its_field);
	tcase_add_test(t, policies_are_compared_by_their_text);
	tcase_add_test(t, sets_reach_the_lists);
	tcase_add_loop_test(t, mistakes_have_their_place, 0, (int)(sizeof mistakes / sizeof *mistakes));
	tcase_add_test(t, a_changed_set_changes_the_policies_that_use_it);
	tcase_add_test(t, sets_do_not_explode);
	suite_add_tcase(s, t);
	return run_suite(s);
}
