/* What policies are written in: communities of three kinds as text and as bytes, and regular expressions over AS paths,
 * against a matcher that is slow and plain.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/as_regex.h"
#include "src/base/community.h"
#include "src/base/random.h"
#include "tests/unit/run_suite.h"

/* --- communities */

static const struct {
	const char *text, *shown; /* NULL: as it was written */
	enum community_kind kind;
	uint8_t wire[COMMUNITY_SIZE_MAX];
} texts[] = {
	{"64512:100", NULL, COMMUNITY_STANDARD, {0xfc, 0, 0, 100}},
	{"0:0", NULL, COMMUNITY_STANDARD, {0}},
	{"65535:65281", "no-export", COMMUNITY_STANDARD, {0xff, 0xff, 0xff, 1}},
	{"no-advertise", NULL, COMMUNITY_STANDARD, {0xff, 0xff, 0xff, 2}},
	{"no-export-subconfed", NULL, COMMUNITY_STANDARD, {0xff, 0xff, 0xff, 3}},
	{"no-peer", NULL, COMMUNITY_STANDARD, {0xff, 0xff, 0xff, 4}},
	{"graceful-shutdown", NULL, COMMUNITY_STANDARD, {0xff, 0xff, 0, 0}},
	{"accept-own", NULL, COMMUNITY_STANDARD, {0xff, 0xff, 0, 1}},
	{"blackhole", NULL, COMMUNITY_STANDARD, {0xff, 0xff, 2, 0x9a}},
	{"64512:1:2", NULL, COMMUNITY_LARGE, {0, 0, 0xfc, 0, 0, 0, 0, 1, 0, 0, 0, 2}},
	{"4294967295:4294967295:0", NULL, COMMUNITY_LARGE, {255, 255, 255, 255, 255, 255, 255, 255}},
	{"rt:64512:100000", NULL, COMMUNITY_EXTENDED, {0, 2, 0xfc, 0, 0, 1, 0x86, 0xa0}},
	{"rt:65536:7", NULL, COMMUNITY_EXTENDED, {2, 2, 0, 1, 0, 0, 0, 7}},
	{"rt:1.0:7", "rt:65536:7", COMMUNITY_EXTENDED, {2, 2, 0, 1, 0, 0, 0, 7}},
	{"rt:0.64512:7", NULL, COMMUNITY_EXTENDED, {2, 2, 0, 0, 0xfc, 0, 0, 7}},
	{"rt:10.0.0.1:7", NULL, COMMUNITY_EXTENDED, {1, 2, 10, 0, 0, 1, 0, 7}},
	{"ro:64512:1", NULL, COMMUNITY_EXTENDED, {0, 3, 0xfc, 0, 0, 0, 0, 1}},
	{"soo:64512:1", "ro:64512:1", COMMUNITY_EXTENDED, {0, 3, 0xfc, 0, 0, 0, 0, 1}},
	{"lb:64512:125000000", NULL, COMMUNITY_EXTENDED, {0x40, 4, 0xfc, 0, 0x4c, 0xee, 0x6b, 0x28}},
	{"0x0002fc0000000001", "rt:64512:1", COMMUNITY_EXTENDED, {0, 2, 0xfc, 0, 0, 0, 0, 1}},
	{"0x4002fc0000000001", NULL, COMMUNITY_EXTENDED, {0x40, 2, 0xfc, 0, 0, 0, 0, 1}},
	{"0x030B0000000000FF", "0x030b0000000000ff", COMMUNITY_EXTENDED, {3, 0xb, 0, 0, 0, 0, 0, 0xff}},
	{"0x4004fc007fc00000", NULL, COMMUNITY_EXTENDED, {0x40, 4, 0xfc, 0, 0x7f, 0xc0, 0, 0}}, /* a bandwidth that is no number */
	{"0x4004fc003f000000", NULL, COMMUNITY_EXTENDED, {0x40, 4, 0xfc, 0, 0x3f, 0, 0, 0}},    /* half a byte a second */
	{"0x4004fc0080000000", NULL, COMMUNITY_EXTENDED, {0x40, 4, 0xfc, 0, 0x80, 0, 0, 0}},    /* minus nothing */
};

START_TEST(texts_are_bytes_are_texts)
{
	struct community_match m;
	uint8_t wire[COMMUNITY_SIZE_MAX] = {0};
	char shown[COMMUNITY_TEXT_MAX];
	struct writer w = writer_of(wire, sizeof wire);
	ck_assert_msg(community_parse(texts[_i].text, &m), "%s", texts[_i].text);
	ck_assert(community_is_exact(&m));
	ck_assert_int_eq(m.value.kind, texts[_i].kind);
	community_write(&m.value, &w);
	ck_assert_uint_eq(writer_len(&w), community_size(texts[_i].kind));
	ck_assert_msg(memcmp(wire, texts[_i].wire, sizeof wire) == 0, "%s", texts[_i].text);
	ck_assert_str_eq(community_format(&m.value, shown), texts[_i].shown ? texts[_i].shown : texts[_i].text);
}
END_TEST

START_TEST(no_communities)
{
	static const char *const bad[] = {
		"", ":", "::", "1", "1:", ":1", "1:2:", "1:2:3:4", "65536:1", "1:65536", "01:1", "+1:1", "1: 1", " 1:1", "-1:1", "a:b",
		"noexport", "no-export ", "4294967296:1:1", "1:1:4294967296", "rt:1", "rt:1:", "rt::1", "rt:65536:65536", "rt:0.1:65536",
		"rt:10.0.0.1:65536", "rt:10.0.0:1", "rt:1:4294967296", "rt:4294967296:1", "rt:65536.1:1", "rt:1.65536:1", "RT:1:1",
		"xx:1:1", "lb:65536:1", "lb:10.0.0.1:1", "lb:1:1.5", "lb:1:1234567890123456789", "0x", "0x1", "0x0002fc000000000",
		"0x0002fc00000000011", "0x0002fc0000000001*", "0x0*", "0x00g2*", "**", "*", "1*:1", "*:*:*:*", "rt:*", "1:2:3:*"};
	struct community_match m;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(!community_parse(bad[i], &m), "%s", bad[i]);
}
END_TEST

static const struct {
	const char *pattern, *text;
	bool matches;
} patterns[] = {
	{"64512:*", "64512:7", true},
	{"64512:*", "64513:7", false},
	{"*:7", "64512:7", true},
	{"*:7", "64512:8", false},
	{"*:*", "no-export", true},
	{"*:*", "1:2:3", false},
	{"*:*", "rt:1:2", false},
	{"*:*:*", "1:2:3", true},
	{"1:*:3", "1:2:3", true},
	{"1:*:3", "1:2:4", false},
	{"64512:1:*", "64512:1", false},
	{"rt:64512:*", "rt:64512:99999", true},
	{"rt:64512:*", "ro:64512:99999", false},
	{"rt:64512:*", "rt:0.64512:9", false}, /* another form is another community */
	{"rt:*:7", "rt:64512:7", true},
	{"rt:*:7", "rt:65536:7", true},
	{"rt:*:7", "rt:10.0.0.1:7", true},
	{"rt:*:7", "rt:10.0.0.1:8", false},
	{"rt:*:*", "0x0302000000000007", false}, /* opaque, not a target */
	{"rt:*:*", "0x4002fc0000000007", false}, /* not transitive */
	{"rt:10.0.0.1:*", "rt:10.0.0.1:8", true},
	{"ro:*:*", "soo:1:1", true},
	{"lb:*:*", "lb:64512:1000", true},
	{"lb:64512:*", "0x4004fc007fc00000", true},
	{"lb:*:1000", "lb:64512:1000", true},
	{"lb:*:1000", "lb:64512:1001", false},
	{"0x*", "rt:1:2", true},
	{"0x*", "0x030b0000000000ff", true},
	{"0x*", "1:2", false},
	{"0x03*", "0x030b0000000000ff", true},
	{"0x00*", "rt:1:2", true},
	{"0x00*", "rt:65536:2", false},
	{"0x0002fc*", "rt:64512:2", true},
	{"0x0002fb*", "rt:64512:2", false},
	{"0x0202000100*", "rt:65536:2", true},
	{"0x0202000101*", "rt:65536:2", false},
};

START_TEST(patterns_match)
{
	struct community_match pattern, exact;
	ck_assert_msg(community_parse(patterns[_i].pattern, &pattern), "%s", patterns[_i].pattern);
	ck_assert(!community_is_exact(&pattern));
	ck_assert(community_parse(patterns[_i].text, &exact));
	ck_assert_msg(community_matches(&pattern, &exact.value) == patterns[_i].matches, "%s and %s", patterns[_i].pattern,
		      patterns[_i].text);
	ck_assert(community_matches(&exact, &exact.value));
}
END_TEST

/* Whatever a peer sends has a text, and the text says exactly that. */
START_TEST(any_bytes_have_a_text)
{
	struct random r = {(uint64_t)_i + 1};
	for (unsigned i = 0; i < 20000; i++) {
		uint8_t wire[COMMUNITY_SIZE_MAX], again[COMMUNITY_SIZE_MAX];
		char text[COMMUNITY_TEXT_MAX];
		enum community_kind kind = (enum community_kind)(random_next(&r) % COMMUNITY_KINDS);
		for (size_t j = 0; j < sizeof wire; j++)
			wire[j] = (uint8_t)(random_next(&r) >> (random_next(&r) % 2 ? 8 : 29));
		wire[0] = kind == COMMUNITY_EXTENDED && i % 2 ? (uint8_t)(wire[0] & 0x43) : wire[0];
		struct cursor c = cursor_of(wire, community_size(kind));
		struct writer w = writer_of(again, sizeof again);
		struct community said = community_read(kind, &c);
		struct community_match m;
		ck_assert_msg(community_parse(community_format(&said, text), &m) && community_is_exact(&m), "%s", text);
		ck_assert_int_eq(community_cmp(&m.value, &said), 0);
		community_write(&m.value, &w);
		ck_assert_mem_eq(again, wire, community_size(kind));
	}
}
END_TEST

/* --- expressions */

enum { PATH = 8 };

static bool run(const struct as_regex *r, const uint32_t *path, size_t n)
{
	struct as_regex_run at;
	as_regex_begin(&at, r);
	for (size_t i = 0; i < n; i++)
		as_regex_next(&at, path[i]);
	return as_regex_end(&at);
}

static struct as_regex *compile(const char *text)
{
	struct as_regex_error error;
	struct as_regex *r = as_regex_compile(text, &error);
	ck_assert_msg(r, "%s: %u: %s", text, error.column, error.text);
	return r;
}

static const struct {
	const char *text;
	uint32_t path[PATH]; /* zero ends it */
	bool matches;
} expressions[] = {
	{"64512", {64512}, true},
	{"64512", {1, 64512, 2}, true},
	{"64512", {645, 12}, false},
	{"_64512_", {1, 64512, 2}, true},
	{"^64512_", {64512, 2}, true},
	{"^64512_", {1, 64512}, false},
	{"_64512$", {1, 64512}, true},
	{"_64512$", {64512, 1}, false},
	{"^$", {0}, true},
	{"^$", {1}, false},
	{"^.$", {1}, true},
	{"^.$", {1, 1}, false},
	{".", {0}, false},
	{".*", {0}, true},
	{"^.*$", {1, 2, 3}, true},
	{"^64512+$", {64512, 64512, 64512}, true},
	{"^64512+$", {64512, 1}, false},
	{"^64512? 7$", {7}, true},
	{"^64512 .* 7$", {64512, 7}, true},
	{"^64512 .* 7$", {64512, 1, 2, 7}, true},
	{"^64512 .* 7$", {64512, 1, 2}, false},
	{"[64512-65534]", {1, 65000}, true},
	{"[64512-65534]", {1, 65535}, false},
	{"^[64512-65534 4200000000-4294967294]+$", {64512, 4200000001}, true},
	{"^[64512-65534 4200000000-4294967294]+$", {64512, 3}, false},
	{"^[^64512-65534]+$", {1, 2}, true},
	{"^[^64512-65534]+$", {1, 64512}, false},
	{"[1,2, 3]", {3}, true},
	{"64512 (64900|64901)$", {1, 64512, 64901}, true},
	{"64512 (64900|64901)$", {1, 64512, 64902}, false},
	{"^(1 2)* 3$", {1, 2, 1, 2, 3}, true},
	{"^(1 2)* 3$", {1, 2, 1, 3}, false},
	{"^1|2$", {2, 1}, false},
	{"^1|2$", {3, 2}, true},
	{"(1|2|3)+ 4", {9, 1, 3, 2, 4}, true},
	{"4294967295", {4294967295u}, true},
	{"3 3", {3}, false},
};

START_TEST(expressions_match)
{
	struct as_regex *r = compile(expressions[_i].text);
	size_t n = 0;
	while (n < PATH && expressions[_i].path[n])
		n++;
	ck_assert_msg(run(r, expressions[_i].path, n) == expressions[_i].matches, "%s (%d)", expressions[_i].text, _i);
	as_regex_free(r);
}
END_TEST

static const struct {
	const char *text;
	unsigned column;
	const char *says;
} mistakes[] = {
	{"", 1, "missing"},
	{"  ", 3, "missing"},
	{"1|", 3, "missing"},
	{"|1", 1, "missing"},
	{"()", 2, "missing"},
	{"(1", 1, "no )"},
	{"1)", 2, "no ("},
	{"[1", 1, "no ]"},
	{"[]", 1, "nothing is in"},
	{"[^]", 1, "nothing is in"},
	{"1 [5-3]", 4, "before it begins"},
	{"[1-]", 4, "expected"},
	{"[x]", 2, "expected"},
	{"*", 1, "nothing to repeat"},
	{"1 *", 3, "nothing to repeat"},
	{"(|1)", 2, "missing"},
	{"0", 1, "no AS 0"},
	{"[0-9]+", 2, "no digits"},
	{"4294967296", 1, "at most 4294967295"},
	{"99999999999999999999999", 1, "at most 4294967295"},
	{"6451.", 1, "whole AS number"},
	{"6451[2-3]", 1, "whole AS number"},
	{".64512", 2, "whole AS number"},
	{"1.10", 1, "whole AS number"},
	{"1 {2}", 3, "no part of"},
	{"1 \\d", 3, "no part of"},
	{"1 \xc3\xa4", 3, "no part of"},
	{"((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))", 33, "at most 32"},
};

START_TEST(mistakes_are_explained)
{
	struct as_regex_error error;
	ck_assert_msg(!as_regex_compile(mistakes[_i].text, &error), "%s", mistakes[_i].text);
	ck_assert_msg(strstr(error.text, mistakes[_i].says), "%s: %s", mistakes[_i].text, error.text);
	ck_assert_msg(error.column == mistakes[_i].column, "%s: %u", mistakes[_i].text, error.column);
}
END_TEST

START_TEST(sizes_are_limited)
{
	char text[4096] = "";
	struct as_regex_error error;
	for (unsigned i = 0; i < AS_REGEX_PLACES_MAX; i++)
		strcat(text, "1 ");
	as_regex_free(compile(text));
	strcat(text, "1");
	ck_assert(!as_regex_compile(text, &error));
	ck_assert_ptr_nonnull(strstr(error.text, "at most 64"));
	strcpy(text, "[");
	for (unsigned i = 0; i < AS_REGEX_RANGES_MAX; i++)
		strcat(text, "1-2 ");
	as_regex_free(compile(strcat(text, "]")));
	text[strlen(text) - 1] = '7';
	ck_assert(!as_regex_compile(strcat(text, "]"), &error));
	ck_assert_ptr_nonnull(strstr(error.text, "at most 128"));
}
END_TEST

/* What backtracking engines die of: here every number costs the same. */
START_TEST(nothing_explodes)
{
	struct as_regex *r = compile("^(((1*)*)*(1|1 1|1 1 1)*)* (1? 1? 1? 1? 1? 1? 1? 1?)* 2$");
	struct as_regex_run at;
	as_regex_begin(&at, r);
	for (unsigned i = 0; i < 100000; i++)
		as_regex_next(&at, 1);
	ck_assert(!as_regex_end(&at));
	as_regex_free(r);
}
END_TEST

/* --- the plain matcher: a tree, and for each node the set of places where it can end */

enum { NODES = 24, BEGIN_LETTER = 100, END_LETTER = 101, NUMBERS = 3 };
enum kind { NUMBER, ANY, CLASS, NOT_CLASS, BEGIN, END, SEQUENCE, EITHER, STAR, PLUS, OPTIONAL, KINDS };

struct node {
	enum kind kind;
	uint32_t from, to;
	const struct node *a, *b;
};

struct maker {
	struct random r;
	struct node nodes[NODES];
	unsigned count;
};

static const struct node *grow(struct maker *m, unsigned depth)
{
	struct node *n = &m->nodes[m->count++];
	bool leaf = depth == 0 || m->count > NODES / 2;
	n->kind = (enum kind)(random_next(&m->r) % (leaf ? SEQUENCE : KINDS));
	n->from = 1 + random_next(&m->r) % NUMBERS;
	n->to = n->from + random_next(&m->r) % NUMBERS;
	n->a = n->kind >= SEQUENCE ? grow(m, depth - 1) : NULL;
	n->b = n->kind == SEQUENCE || n->kind == EITHER ? grow(m, depth - 1) : NULL;
	return n;
}

static void write_node(const struct node *n, char *out)
{
	static const char *const words[KINDS] = {[ANY] = ". ", [BEGIN] = "^ ", [END] = "$ "};
	char *end = out + strlen(out);
	if (n->kind == NUMBER)
		sprintf(end, "%u ", n->from);
	else if (n->kind == CLASS || n->kind == NOT_CLASS)
		sprintf(end, n->kind == CLASS ? "[%u-%u] " : "[^%u-%u] ", n->from, n->to);
	else if (n->kind < SEQUENCE)
		strcpy(end, words[n->kind]);
	else {
		strcat(out, "(");
		write_node(n->a, out);
		strcat(out, n->kind == EITHER ? "|" : "");
		if (n->b)
			write_node(n->b, out);
		strcat(out, n->kind == STAR ? ")* " : n->kind == PLUS ? ")+ " : n->kind == OPTIONAL ? ")? " : ") ");
	}
}

static bool takes(const struct node *n, uint32_t letter)
{
	bool number = letter < BEGIN_LETTER, inside = letter >= n->from && letter <= n->to;
	switch (n->kind) {
	case NUMBER:
		return letter == n->from;
	case ANY:
		return number;
	case CLASS:
		return number && inside;
	case NOT_CLASS:
		return number && !inside;
	case BEGIN:
		return letter == BEGIN_LETTER;
	case END:
		return letter == END_LETTER;
	case SEQUENCE:
	case EITHER:
	case STAR:
	case PLUS:
	case OPTIONAL:
	case KINDS:
		break;
	}
	return false;
}

static uint32_t ends_of(const struct node *n, const uint32_t *letters, unsigned count, uint32_t begins);

static uint32_t repeat(const struct node *n, const uint32_t *letters, unsigned count, uint32_t begins)
{
	uint32_t all = begins;
	for (unsigned i = 0; i <= count + 1; i++)
		all |= ends_of(n, letters, count, all);
	return all;
}

/* begins and the result: bit i is "before letter i". */
static uint32_t ends_of(const struct node *n, const uint32_t *letters, unsigned count, uint32_t begins)
{
	uint32_t ends = 0;
	if (n->kind == SEQUENCE)
		return ends_of(n->b, letters, count, ends_of(n->a, letters, count, begins));
	if (n->kind == EITHER)
		return ends_of(n->a, letters, count, begins) | ends_of(n->b, letters, count, begins);
	if (n->kind == OPTIONAL)
		return begins | ends_of(n->a, letters, count, begins);
	if (n->kind == STAR)
		return repeat(n->a, letters, count, begins);
	if (n->kind == PLUS)
		return repeat(n->a, letters, count, ends_of(n->a, letters, count, begins));
	for (unsigned i = 0; i < count; i++)
		if (begins >> i & 1 && takes(n, letters[i]))
			ends |= 2u << i;
	return ends;
}

static bool plainly(const struct node *n, const uint32_t *path, unsigned length)
{
	uint32_t letters[PATH + 2] = {BEGIN_LETTER};
	memcpy(letters + 1, path, length * sizeof *path);
	letters[length + 1] = END_LETTER;
	return ends_of(n, letters, length + 2, (1u << (length + 3)) - 1) != 0;
}

START_TEST(as_the_plain_matcher_says)
{
	for (unsigned i = 0; i < 3000; i++) {
		struct maker m = {.r = {(uint64_t)_i * 3000 + i + 1}};
		char text[1024] = "";
		uint32_t path[PATH];
		const struct node *root = grow(&m, 4);
		write_node(root, text);
		struct as_regex *r = compile(text);
		for (unsigned j = 0; j < 20; j++) {
			unsigned length = random_next(&m.r) % (PATH + 1);
			for (unsigned k = 0; k < length; k++)
				path[k] = 1 + random_next(&m.r) % (NUMBERS + 2);
			ck_assert_msg(run(r, path, length) == plainly(root, path, length), "%s, length %u", text, length);
		}
		as_regex_free(r);
	}
}
END_TEST

#define COUNT(a) ((int)(sizeof a / sizeof *a))

int main(void)
{
	Suite *s = suite_create("policy words");
	TCase *t = tcase_create("policy words");
	tcase_add_loop_test(t, texts_are_bytes_are_texts, 0, COUNT(texts));
	tcase_add_test(t, no_communities);
	tcase_add_loop_test(t, patterns_match, 0, COUNT(patterns));
	tcase_add_loop_test(t, any_bytes_have_a_text, 0, 4);
	tcase_add_loop_test(t, expressions_match, 0, COUNT(expressions));
	tcase_add_loop_test(t, mistakes_are_explained, 0, COUNT(mistakes));
	tcase_add_test(t, sizes_are_limited);
	tcase_add_test(t, nothing_explodes);
	tcase_add_loop_test(t, as_the_plain_matcher_says, 0, 10);
	suite_add_tcase(s, t);
	return run_suite(s);
}
