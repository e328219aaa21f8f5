/* underlayc without a socket: bytes of an answer in, text out. */
#include <check.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "src/client/answer.h"
#include "src/client/render.h"
#include "src/client/usage.h"
#include "tests/unit/run_suite.h"

#define DONE "{\"done\": true}\n"

static const struct command sample = {
    .id = "show-sample",
    .words = {"show", "sample"},
    .args = "[NAME]",
    .args_max = 1,
    .shape = COMMAND_TABLE,
    .shape_with_args = COMMAND_RECORD,
    .help = "a sample",
    .empty = "nothing here",
    .columns = {{"mark", ""}, {"name", "Name"}, {"asn", "AS"}, {"limits.max", "Max"}, {"list", "List"}, {"up", "Up"}},
    .record = {{"name", "Name"}, {"asn", "Remote AS"}, {"limits", "Limits"}, {"list", "List"}, {"up", "Up"}},
};

static struct answer fed(const char *lines)
{
	struct answer a;
	answer_init(&a);
	answer_feed(&a, lines, strlen(lines));
	return a;
}

/* What is printed for lines, which must be a whole good answer. */
static char *shown(const struct command *c, bool with_args, bool json, const char *lines)
{
	struct answer a = fed(lines);
	struct text out = {0};
	ck_assert_int_eq(a.state, ANSWER_DONE);
	render_sort(c, a.rows);
	(json ? render_json : render_text)(c, with_args, a.rows, &out);
	answer_fini(&a);
	return out.at;
}

static void shows(const struct command *c, bool with_args, bool json, const char *lines, const char *want)
{
	char *text = shown(c, with_args, json, lines);
	ck_assert_str_eq(text, want);
	free(text);
}

START_TEST(tables_align)
{
	shows(
	    &sample, false, false,
	    "{\"row\":{\"mark\":\"*\",\"name\":\"tor-a\",\"asn\":64512,\"limits\":{\"max\":5},\"list\":[1,\"b\"],"
	    "\"up\":true}}\n"
	    "{\"row\":{\"name\":\"t\",\"asn\":7,\"list\":[],\"up\":false,\"limits\":null,\"more\":\"unseen\"}}\n" DONE,
	    "   Name      AS  Max  List  Up\n"
	    "*  tor-a  64512    5  1, b  yes\n"
	    "   t          7    -  -     no\n");
}
END_TEST

/* A column is set to the right only where all of it is numbers; width counts characters, not bytes. */
START_TEST(tables_with_texts_align_left)
{
	shows(&sample, false, false,
	      "{\"row\":{\"name\":\"\xc3\xa4\xc3\xb6\",\"asn\":\"external\"}}\n{\"row\":{\"name\":\"abc\",\"asn\":7,"
	      "\"up\":\"x\"}}\n" DONE,
	      "  Name  AS        Max  List  Up\n"
	      "  \xc3\xa4\xc3\xb6    external  -    -     -\n"
	      "  abc   7         -    -     x\n");
}
END_TEST

START_TEST(records_skip_what_is_empty)
{
	shows(&sample, true, false, "{\"row\":{\"name\":\"tor-a\",\"asn\":64512,\"list\":[],\"up\":null}}\n" DONE,
	      "Name:       tor-a\nRemote AS:  64512\n");
	shows(&sample, true, false,
	      "{\"row\":{\"name\":\"a\",\"limits\":{\"max\":5,\"min\":1},\"list\":[\"x\",\"y\"],\"up\":false}}\n"
	      "{\"row\":{\"name\":\"b\",\"list\":[\"one thing\",\"another\"]}}\n" DONE,
	      "Name:    a\nLimits:  max 5, min 1\nList:    x, y\nUp:      no\n\n"
	      "Name:  b\nList:  one thing\n       another\n");
}
END_TEST

START_TEST(empty_answers_say_so)
{
	shows(&sample, false, false, DONE, "nothing here\n");
	shows(&sample, false, true, DONE, "[]\n");
	shows(&sample, true, true, DONE, "[]\n");
}
END_TEST

START_TEST(json_holds_everything)
{
	shows(&sample, false, true, "{\"row\":{\"name\":\"a/b\",\"extra\":[1]}}\n{\"row\":{\"name\":\"c\"}}\n" DONE,
	      "[\n{ \"name\": \"a/b\", \"extra\": [ 1 ] },\n{ \"name\": \"c\" }\n]\n");
	shows(&sample, true, true, "{\"row\":{\"name\":\"a\"}}\n" DONE, "{\n  \"name\": \"a\"\n}\n");
	shows(&sample, false, true, "{\"row\":{\"name\":\"a\"}}\n" DONE, "[\n{ \"name\": \"a\" }\n]\n");
}
END_TEST

START_TEST(routes_are_sorted)
{
	const struct command *routes = command_by_id("show-routes");
	char *text = shown(routes, false, false,
			   "{\"row\":{\"mark\":\"\",\"prefix\":\"10.0.0.0/8\",\"source\":\"e\"}}\n"
			   "{\"row\":{\"mark\":\"*\",\"prefix\":\"10.200.0.0/16\",\"source\":\"f\"}}\n"
			   "{\"row\":{\"mark\":\"+\",\"prefix\":\"10.0.0.0/8\",\"source\":\"d\"}}\n"
			   "{\"row\":{\"mark\":\"*\",\"prefix\":\"10.0.0.0/8\",\"source\":\"c\"}}\n"
			   "{\"row\":{\"prefix\":\"what\",\"source\":\"g\"}}\n"
			   "{\"row\":{\"mark\":\"*\",\"prefix\":\"9.0.0.0/8\",\"source\":\"b\"}}\n" DONE);
	const char *at = text;
	static const char *const order[] = {" b ", " c ", " d ", " e ", " f ", " g "};
	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		at = strstr(at, order[i]);
		ck_assert_msg(at, "%s not in its place:\n%s", order[i], text);
	}
	free(text);
}
END_TEST

START_TEST(terminals_get_no_control_characters)
{
	static const char row[] = "{\"row\":{\"name\":\"a\\u001b[31m\\n\\u0000\x7f\xc2\x9b\"}}\n" DONE;
	shows(&sample, true, false, row, "Name:  a\\x1b[31m\\x0a\\x00\\x7f\\x9b\n");
	shows(&sample, true, true, row, "{\n  \"name\": \"a\\u001b[31m\\n\\u0000\\u007f\\u009b\"\n}\n");
	struct answer a = fed("{\"error\": \"no \\u001b]0;x\\u0007\", \"hint\": \"\\r\"}\n");
	ck_assert_int_eq(a.state, ANSWER_ERROR);
	ck_assert_str_eq(a.error.at, "no \\x1b]0;x\\x07");
	ck_assert_str_eq(a.hint.at, "\\x0d");
	answer_fini(&a);
}
END_TEST

START_TEST(answers_come_in_any_pieces)
{
	static const char lines[] = "{\"row\":{\"name\":\"a\"}}\n{\"row\":{\"name\":\"b\"}}\n" DONE "ignored";
	for (size_t piece = 1; piece < sizeof lines; piece++) {
		struct answer a;
		answer_init(&a);
		for (size_t at = 0; at < sizeof lines - 1; at += piece)
			answer_feed(&a, lines + at, sizeof lines - 1 - at < piece ? sizeof lines - 1 - at : piece);
		ck_assert_int_eq(a.state, ANSWER_DONE);
		ck_assert_uint_eq(json_object_array_length(a.rows), 2);
		answer_fini(&a);
	}
}
END_TEST

START_TEST(garbage_is_told_from_answers)
{
	struct answer b = fed("\x9b\xc3\xa4\xc3\n");
	ck_assert_str_eq(b.error.at, "\\x9b\xc3\xa4\\xc3");
	answer_fini(&b);
	static const char *const lines[] = {
	    "HTTP/1.1 400 Bad Request\r\n",
	    "\n",
	    "[]\n",
	    "5\n",
	    "{}\n",
	    "{\"row\": 5}\n",
	    "{\"done\": false}\n",
	    "{\"error\": {}}\n",
	    "{\"row\": {}} x\n",
	    "{\"row\": {}\n",
	    "{\"row\": {\"a\": \"\xff\"}}\n",
	};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		struct answer a = fed(lines[i]);
		ck_assert_msg(a.state == ANSWER_GARBAGE, "taken: %s", lines[i]);
		answer_fini(&a);
	}
}
END_TEST

START_TEST(unfinished_lines_stay_open_and_bounded)
{
	struct answer a = fed("{\"done\": true}");
	char block[4096];
	ck_assert_int_eq(a.state, ANSWER_MORE);
	answer_fini(&a);
	answer_init(&a);
	memset(block, 'x', sizeof block);
	for (size_t i = 0; i <= ANSWER_LINE_MAX / sizeof block; i++)
		answer_feed(&a, block, sizeof block);
	ck_assert_int_eq(a.state, ANSWER_GARBAGE);
	ck_assert_uint_lt(a.error.len, 100);
	answer_fini(&a);
}
END_TEST

START_TEST(requests_are_one_line)
{
	struct text out = {0};
	char *argv[] = {(char[]){"for"}, (char[]){"a\"\nb/8"}};
	answer_request(&out, "show-routes", 2, argv);
	ck_assert_str_eq(out.at, "{\"command\":\"show-routes\",\"args\":[\"for\",\"a\\\"\\nb/8\"]}\n");
	text_fini(&out);
}
END_TEST

static char *explained(int argc, char **argv)
{
	struct text out = {0};
	usage_explain(&out, argc, argv);
	return out.at;
}

START_TEST(wrong_commands_are_explained)
{
	char *ambiguous[] = {(char[]){"sh"}, (char[]){"p"}}, *unknown[] = {(char[]){"fly\033"}};
	char *text = explained(2, ambiguous);
	ck_assert_ptr_nonnull(strstr(text, "\"sh p\" can be:\n"));
	ck_assert_ptr_nonnull(strstr(text, "show peers"));
	ck_assert_ptr_nonnull(strstr(text, "show pods"));
	ck_assert_ptr_null(strstr(text, "show routes"));
	free(text);
	text = explained(1, unknown);
	ck_assert_ptr_nonnull(strstr(text, "unknown command \"fly\\x1b\""));
	for (size_t i = 0; i < command_count; i++)
		ck_assert_ptr_nonnull(strstr(text, commands[i].help));
	free(text);
}
END_TEST

START_TEST(help_lists_every_command)
{
	struct text out = {0};
	usage_help(&out);
	for (size_t i = 0; i < command_count; i++)
		ck_assert_ptr_nonnull(strstr(out.at, commands[i].help));
	text_fini(&out);
}
END_TEST

/* Every command's columns can be printed: no row ends without its end mark. */
START_TEST(every_command_renders)
{
	for (size_t i = 0; i < command_count; i++) {
		for (int with_args = 0; with_args < 2; with_args++) {
			char *text = shown(&commands[i], with_args, false, "{\"row\":{}}\n" DONE);
			free(text);
		}
	}
}
END_TEST

START_TEST(progress_is_no_part_of_the_answer)
{
	struct answer a = fed("{\"progress\": \"1 route read\"}\n{\"row\": {\"name\": \"a\"}}\n{\"progress\": \"2\\u001b routes\"}\n");
	ck_assert_int_eq(a.state, ANSWER_MORE);
	ck_assert_uint_eq(a.progress.len, strlen("2\\x1b routes"));
	ck_assert_int_eq(strncmp(a.progress.at, "2\\x1b routes", a.progress.len), 0);
	ck_assert_uint_eq(json_object_array_length(a.rows), 1);
	ck_assert_int_eq(answer_feed(&a, "{\"done\": true}\n", strlen("{\"done\": true}\n")), ANSWER_DONE);
	answer_fini(&a);
	a = fed("{\"progress\": 7}\n");
	ck_assert_int_eq(a.state, ANSWER_GARBAGE);
	answer_fini(&a);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("client");
	TCase *tc = tcase_create("all");
	suite_add_tcase(s, tc);
	tcase_add_test(tc, progress_is_no_part_of_the_answer);
	tcase_add_test(tc, tables_align);
	tcase_add_test(tc, tables_with_texts_align_left);
	tcase_add_test(tc, records_skip_what_is_empty);
	tcase_add_test(tc, empty_answers_say_so);
	tcase_add_test(tc, json_holds_everything);
	tcase_add_test(tc, routes_are_sorted);
	tcase_add_test(tc, terminals_get_no_control_characters);
	tcase_add_test(tc, answers_come_in_any_pieces);
	tcase_add_test(tc, garbage_is_told_from_answers);
	tcase_add_test(tc, unfinished_lines_stay_open_and_bounded);
	tcase_add_test(tc, requests_are_one_line);
	tcase_add_test(tc, wrong_commands_are_explained);
	tcase_add_test(tc, help_lists_every_command);
	tcase_add_test(tc, every_command_renders);
	return run_suite(s);
}
