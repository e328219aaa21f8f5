/* `external:` in the configuration: what it becomes, what is wrong with it and is said at its place, and what changed. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "tests/unit/run_suite.h"

static struct conf *load(const char *yaml)
{
	struct conf_errors errors;
	struct conf *c = conf_load_text(yaml, strlen(yaml), "host-1", &errors);
	ck_assert_msg(c, "%s\n%s: %s", yaml, errors.count ? errors.at[0].path : "", errors.count ? errors.at[0].text : "no error");
	conf_errors_fini(&errors);
	return c;
}

START_TEST(entries)
{
	struct conf *c = load("sets: {prefixes: {services: [192.0.2.0/24]}}\n"
			      "external:\n"
			      "  - {name: lb, protocol: 50}\n"
			      "  - {name: t, table: 100, protocol: 4, prefixes: [$services, \"2001:db8::/32 le 128\"], community: [64512:1, no-export]}\n"
			      "  - {name: metallb, socket: true}\n"
			      "  - {name: connected, table: main, prefixes: [198.51.100.0/24]}\n");
	const struct conf_external *e = c->external;
	ck_assert_uint_eq(c->external_count, 4);
	ck_assert_str_eq(e[0].name, "lb");
	ck_assert_uint_eq(e[0].table, 0);
	ck_assert_uint_eq(e[0].protocol, 50);
	ck_assert(!e[0].socket && e[0].prefixes.count == 0 && e[0].community.count == 0);
	ck_assert_uint_eq(e[1].table, 100);
	ck_assert_uint_eq(e[1].prefixes.count, 2);
	ck_assert_uint_eq(e[1].prefixes.at[1].max, 128);
	ck_assert_uint_eq(e[1].community.count, 2);
	ck_assert(e[2].socket);
	ck_assert_uint_eq(e[3].table, 254);
	conf_free(c);
}
END_TEST

static const struct {
	const char *yaml;
	unsigned line, column;
	const char *path, *text;
} bad[] = {
	{"external: {name: lb}\n", 1, 11, "external", "found a map (key: value), expected a list of sources"},
	{"external: [lb]\n", 1, 12, "external[0]", "expected a map with name, and table, protocol or socket"},
	{"external:\n  - {protocol: 50}\n", 2, 5, "external[0].name", "missing"},
	{"external:\n  - {name: a b, protocol: 50}\n", 2, 12, "external[0].name", "expected 1 to 63"},
	{"external:\n  - {name: lb, protocol: 50}\n  - {name: lb, protocol: 51}\n", 3, 12, "external[1].name", "also the name of external[0]"},
	{"external:\n  - {name: lb}\n", 2, 5, "external[0].protocol", "missing, expected protocol or table"},
	{"external:\n  - {name: lb, socket: false}\n", 2, 5, "external[0].protocol", "or socket: true"},
	{"external:\n  - {name: lb, socket: true, protocol: 50}\n", 2, 40, "external[0].protocol", "not together with socket"},
	{"external:\n  - {name: lb, socket: true, table: 7}\n", 2, 37, "external[0].table", "not together with socket"},
	{"external:\n  - {name: lb, protocol: 171}\n", 2, 26, "external[0].protocol", "our own routes (kernel.protocol)"},
	{"kernel: {protocol: 50}\nexternal:\n  - {name: lb, protocol: 50}\n", 3, 26, "external[0].protocol", "our own routes"},
	{"external:\n  - {name: lb, protocol: 0}\n", 2, 26, "external[0].protocol", "a number from 1 to 255"},
	{"external:\n  - {name: lb, protocol: bird}\n", 2, 26, "external[0].protocol", "a number from 1 to 255"},
	{"external:\n  - {name: lb, table: main}\n", 2, 23, "external[0].table", "the host's own routes are in this table"},
	{"external:\n  - {name: lb, table: 255}\n", 2, 23, "external[0].table", "the host's own routes are in this table"},
	{"external:\n  - {name: lb, table: 0}\n", 2, 23, "external[0].table", "a table number"},
	{"external:\n  - {name: lb, protocol: 9, prefixes: [0.0.0.0/0]}\n", 2, 39, "external[0].prefixes", "the default route is never told"},
	{"external:\n  - {name: lb, protocol: 9, prefixes: [192.0.2.1/24]}\n", 2, 40, "external[0].prefixes[0]", "192.0.2.0/24"},
	{"external:\n  - {name: lb, protocol: 9, community: [\"64512:*\"]}\n", 2, 41, "external[0].community[0]", "no * here"},
	{"external:\n  - {name: lb, proto: 9, table: 7}\n", 2, 16, "external[0].proto", "did you mean external[].protocol?"},
	{"redistribute: []\n", 1, 1, "redistribute", "did you mean external?"},
};

START_TEST(what_is_wrong_is_said_at_its_place)
{
	struct conf_errors errors;
	struct conf *c = conf_load_text(bad[_i].yaml, strlen(bad[_i].yaml), "host-1", &errors);
	ck_assert_msg(!c, "%s", bad[_i].yaml);
	ck_assert_str_eq(errors.at[0].path, bad[_i].path);
	ck_assert_msg(strstr(errors.at[0].text, bad[_i].text), "%s: %s", bad[_i].yaml, errors.at[0].text);
	ck_assert_msg(errors.at[0].line == bad[_i].line && errors.at[0].column == bad[_i].column, "%s: %u:%u", bad[_i].yaml,
		      errors.at[0].line, errors.at[0].column);
	conf_errors_fini(&errors);
}
END_TEST

static const struct {
	const char *a, *b;
	bool same;
} pairs[] = {
	{"{name: a, protocol: 9}", "{protocol: 9, name: a}", true},
	{"{name: a, protocol: 9}", "{name: b, protocol: 9}", false},
	{"{name: a, protocol: 9}", "{name: a, protocol: 10}", false},
	{"{name: a, protocol: 9}", "{name: a, protocol: 9, table: 7}", false},
	{"{name: a, table: 7}", "{name: a, socket: true}", false},
	{"{name: a, protocol: 9, prefixes: [10.0.0.0/8]}", "{name: a, protocol: 9, prefixes: [10.0.0.0/8 le 32]}", false},
	{"{name: a, protocol: 9, prefixes: [10.0.0.0/8]}", "{name: a, protocol: 9}", false},
	{"{name: a, protocol: 9, community: [64512:1]}", "{name: a, protocol: 9, community: [64512:2]}", false},
	{"{name: a, protocol: 9, community: [64512:1]}", "{name: a, protocol: 9, community: [64512:1]}", true},
};

START_TEST(changes_are_seen)
{
	char a[256] = "external: [", b[256] = "external: [";
	struct conf *x = load(strcat(strcat(a, pairs[_i].a), "]\n")), *y = load(strcat(strcat(b, pairs[_i].b), "]\n"));
	ck_assert_int_eq(conf_external_same(&x->external[0], &y->external[0]), pairs[_i].same);
	conf_free(x);
	conf_free(y);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("conf external");
	TCase *t = tcase_create("conf external");
	tcase_add_test(t, entries);
	tcase_add_loop_test(t, what_is_wrong_is_said_at_its_place, 0, sizeof bad / sizeof *bad);
	tcase_add_loop_test(t, changes_are_seen, 0, sizeof pairs / sizeof *pairs);
	suite_add_tcase(s, t);
	return run_suite(s);
}
