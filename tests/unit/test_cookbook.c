/* The recipes of docs/operations.md: every configuration there loads, and every `underlayc policy test` line behind it
 * gives the answer that its comment says.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "src/daemon/apply_policy.h"
#include "src/daemon/daemon.h"
#include "src/daemon/route_words.h"
#include "tests/unit/run_suite.h"

static struct bgp_attr_table attrs;

static char *read_document(void)
{
	static char text[1 << 17];
	char path[512];
	const char *srcdir = getenv("srcdir");
	snprintf(path, sizeof path, "%s/docs/operations.md", srcdir ? srcdir : ".");
	FILE *f = fopen(path, "r");
	ck_assert_msg(f, "%s", path);
	text[fread(text, 1, sizeof text - 1, f)] = '\0';
	fclose(f);
	return text;
}

static struct conf *load(const char *yaml)
{
	struct conf_errors errors;
	struct conf *c = conf_load_text(yaml, strlen(yaml), "host", &errors);
	ck_assert_msg(c, "%s\n%s: %s", yaml, errors.count ? errors.at[0].path : "", errors.count ? errors.at[0].text : "");
	conf_errors_fini(&errors);
	return c;
}

static const char *answer(const struct policies *p, const char *const *words, size_t n)
{
	static char text[64];
	char error[ROUTE_WORDS_ERROR_MAX];
	struct route_words route;
	struct rib_policy_trace trace;
	struct prefix at;
	const struct rib_policy *policy = policies_find(p, words[0]);
	ck_assert_msg(policy, "%s", words[0]);
	ck_assert_msg(prefix_parse(words[1], &at) == PREFIX_OK, "%s", words[1]);
	ck_assert_msg(route_words_read(&route, ROUTE_WORDS_TRIAL, words + 2, n - 2, error), "%s", error);
	struct bgp_attrs *a = route_words_attrs(&route, &attrs);
	struct rib_policy_subject s = {&at, route.source, route.peer};
	const char *verdict = rib_policy_run(policy, &s, &a, &trace) == RIB_ACCEPT ? "accepted" : "rejected";
	bgp_attrs_unref(a);
	if (trace.rule == policy->rule_count)
		snprintf(text, sizeof text, "%s at the end", verdict);
	else
		snprintf(text, sizeof text, "%s by rules[%zu]", verdict, trace.rule);
	return text;
}

/* "NAME PREFIX WORDS...   # ANSWER" */
static void try_line(const struct policies *p, char *line)
{
	const char *words[64];
	size_t n = 0;
	char *comment = strchr(line, '#');
	ck_assert_msg(comment, "no answer: %s", line);
	*comment++ = '\0';
	for (char *word = strtok(line, " "); word && n < 64; word = strtok(NULL, " "))
		words[n++] = word;
	ck_assert_uint_ge(n, 2);
	ck_assert_msg(strcmp(answer(p, words, n), comment + strspn(comment, " ")) == 0, "%s %s: %s, not%s", words[0], words[1],
		      answer(p, words, n), comment);
}

/* The lines from text to end. */
static unsigned try_lines(const struct policies *p, char *text, const char *end)
{
	static const char command[] = "    underlayc policy test ";
	unsigned tried = 0;
	for (char *line = strstr(text, command); line && (!end || line < end); line = strstr(line, command)) {
		char copy[512];
		line += strlen(command);
		snprintf(copy, sizeof copy, "%.*s", (int)strcspn(line, "\n"), line);
		try_line(p, copy);
		tried++;
	}
	return tried;
}

START_TEST(recipes_do_what_they_say)
{
	static const struct daemon nobody;
	unsigned recipes = 0;
	bgp_attr_table_init(&attrs);
	for (char *at = strstr(read_document(), "```yaml\n"); at; recipes++) {
		char *begin = at + strlen("```yaml\n"), *end = strstr(begin, "```\n");
		ck_assert_ptr_nonnull(end);
		*end = '\0';
		struct conf *c = load(begin);
		struct policies p = policies_make(&nobody, c);
		at = strstr(end + 1, "```yaml\n");
		ck_assert_msg(try_lines(&p, end + 1, at) >= 2, "nothing is tried: %s", begin);
		policies_free(&p, NULL);
		conf_free(c);
	}
	ck_assert_uint_ge(recipes, 6);
	bgp_attr_table_fini(&attrs);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cookbook");
	TCase *t = tcase_create("cookbook");
	tcase_add_test(t, recipes_do_what_they_say);
	suite_add_tcase(s, t);
	return run_suite(s);
}
