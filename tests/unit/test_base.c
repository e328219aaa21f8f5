/* The ground that everything stands on: addresses and prefixes, cursors, the hash table, command words, error texts. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/addr.h"
#include "src/base/commands.h"
#include "src/base/cursor.h"
#include "src/base/err.h"
#include "src/base/hash.h"
#include "src/base/list.h"
#include "src/base/random.h"
#include "src/base/utf8.h"
#include "tests/unit/run_suite.h"

static const struct {
	const char *text, *canonical;
	enum prefix_parse result;
	unsigned plen;
} prefixes[] = {
	{"10.244.0.0/16", "10.244.0.0/16", PREFIX_OK, 16},
	{"10.244.1.2", "10.244.1.2/32", PREFIX_OK, 32},
	{"0.0.0.0/0", "0.0.0.0/0", PREFIX_OK, 0},
	{"10.244.7.9/24", "10.244.7.0/24", PREFIX_HOST_BITS, 24},
	{"255.255.255.255/1", "128.0.0.0/1", PREFIX_HOST_BITS, 1},
	{"::/0", "::/0", PREFIX_OK, 0},
	{"fd10:244:7::/64", "fd10:244:7::/64", PREFIX_OK, 64},
	{"fd10::1", "fd10::1/128", PREFIX_OK, 128},
	{"fd10::1/127", "fd10::/127", PREFIX_HOST_BITS, 127},
	{"10.0.0.0/33", NULL, PREFIX_BAD_TEXT, 0},
	{"10.0.0.0/", NULL, PREFIX_BAD_TEXT, 0},
	{"10.0.0.0/ 8", NULL, PREFIX_BAD_TEXT, 0},
	{"10.0.0.0/+8", NULL, PREFIX_BAD_TEXT, 0},
	{"10.0.0.0/8x", NULL, PREFIX_BAD_TEXT, 0},
	{"10.0.0/8", NULL, PREFIX_BAD_TEXT, 0},
	{"::/129", NULL, PREFIX_BAD_TEXT, 0},
	{"", NULL, PREFIX_BAD_TEXT, 0},
	{"/8", NULL, PREFIX_BAD_TEXT, 0},
	{"1111:2222:3333:4444:5555:6666:7777:8888:9999/64", NULL, PREFIX_BAD_TEXT, 0},
};

START_TEST(prefix_text)
{
	struct prefix p;
	char buf[PREFIX_TEXT_MAX];
	ck_assert_int_eq(prefix_parse(prefixes[_i].text, &p), prefixes[_i].result);
	if (!prefixes[_i].canonical)
		return;
	ck_assert_str_eq(prefix_format(&p, buf), prefixes[_i].canonical);
	ck_assert_uint_eq(prefix_plen(&p), prefixes[_i].plen);
}
END_TEST

static struct prefix px(const char *text)
{
	struct prefix p;
	ck_assert_int_eq(prefix_parse(text, &p), PREFIX_OK);
	return p;
}

START_TEST(prefix_relations)
{
	static const struct {
		const char *outer, *inner;
		bool covers, overlaps;
	} cases[] = {
		{"10.0.0.0/8", "10.1.0.0/16", true, true},    {"10.1.0.0/16", "10.0.0.0/8", false, true},
		{"10.0.0.0/8", "10.0.0.0/8", true, true},     {"10.0.0.0/8", "11.0.0.0/8", false, false},
		{"0.0.0.0/0", "10.0.0.0/8", true, true},      {"::/0", "fd00::/8", true, true},
		{"::/0", "10.0.0.0/8", false, false},         {"0.0.0.0/0", "::/0", false, false},
		{"10.128.0.0/9", "10.127.0.0/16", false, false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct prefix a = px(cases[i].outer), b = px(cases[i].inner);
		ck_assert_msg(prefix_covers(&a, &b) == cases[i].covers, "%s covers %s", cases[i].outer, cases[i].inner);
		ck_assert_msg(prefix_overlaps(&a, &b) == cases[i].overlaps, "%s overlaps %s", cases[i].outer, cases[i].inner);
		ck_assert_int_eq(prefix_overlaps(&b, &a), cases[i].overlaps);
	}
}
END_TEST

START_TEST(prefix_in_a_set)
{
	struct prefix set[] = {px("10.0.0.0/8"), px("fd00::/8")}, in = px("fd10::/64"), out = px("11.0.0.0/8"), wider = px("10.0.0.0/7");
	ck_assert(prefix_in_any(&in, set, 2) && prefix_in_any(&set[0], set, 2));
	ck_assert(!prefix_in_any(&out, set, 2) && !prefix_in_any(&wider, set, 2) && !prefix_in_any(&in, set, 1));
	ck_assert(!prefix_in_any(&in, NULL, 0));
}
END_TEST

START_TEST(address_kinds)
{
	static const struct {
		const char *text;
		bool v4, unicast, zero, link_local;
	} cases[] = {
		{"10.0.0.1", true, true, false, false},   {"0.0.0.0", true, false, true, false},
		{"127.0.0.1", true, false, false, false}, {"224.0.0.5", true, false, false, false},
		{"255.255.255.255", true, false, false, false}, {"169.254.1.1", true, true, false, true},
		{"::", false, false, true, false},        {"::1", false, false, false, false},
		{"fd00::1", false, true, false, false},   {"fe80::1", false, true, false, true},
		{"ff02::1", false, false, false, false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct addr a;
		char buf[ADDR_TEXT_MAX];
		ck_assert(addr_parse(cases[i].text, &a));
		ck_assert_str_eq(addr_format(&a, buf), cases[i].text);
		ck_assert_int_eq(addr_is_v4(&a), cases[i].v4);
		ck_assert_int_eq(addr_is_unicast(&a), cases[i].unicast);
		ck_assert_int_eq(addr_is_zero(&a), cases[i].zero);
		ck_assert_int_eq(addr_is_link_local(&a), cases[i].link_local);
	}
	struct addr a = {{0}};
	ck_assert(!addr_parse("10.0.0.256", &a) && !addr_parse("", &a) && !addr_parse("tor-a", &a));
}
END_TEST

START_TEST(address_sum)
{
	struct addr a = addr_from_v4(0x0a0000ff), b = addr_add(&a, 1), c = addr_add(&a, 0x10000);
	ck_assert_uint_eq(addr_to_v4(&b), 0x0a000100);
	ck_assert_uint_eq(addr_to_v4(&c), 0x0a0100ff);
	ck_assert(addr_parse("fd00::ffff:ffff:ffff:ffff", &a));
	b = addr_add(&a, 1);
	ck_assert(addr_parse("fd00:0:0:1::", &a));
	ck_assert(addr_eq(&a, &b));
}
END_TEST

START_TEST(cursor_stops_at_the_end)
{
	const uint8_t data[] = {1, 2, 3, 4, 5, 6, 7};
	struct cursor c = cursor_of(data, sizeof data);
	ck_assert_uint_eq(cursor_u8(&c), 1);
	ck_assert_uint_eq(cursor_u16(&c), 0x0203);
	struct cursor sub = cursor_sub(&c, 2);
	ck_assert_uint_eq(cursor_u16(&sub), 0x0405);
	ck_assert_uint_eq(cursor_u8(&sub), 0); /* not the outer's next byte */
	ck_assert(!cursor_ok(&sub) && cursor_ok(&c));
	ck_assert_uint_eq(cursor_u32(&c), 0); /* two bytes are left */
	ck_assert(!cursor_ok(&c));
	ck_assert_uint_eq(cursor_left(&c), 2); /* a failed read does not advance */
	ck_assert_uint_eq(cursor_u8(&c), 0);   /* and the error stays */
	ck_assert(!cursor_ok(&(struct cursor){.failed = true}));
}
END_TEST

START_TEST(writer_stops_at_the_end)
{
	uint8_t data[4] = {0};
	struct writer w = writer_of(data, sizeof data);
	writer_u16(&w, 0x0102);
	writer_patch_u16(&w, 0, 0x0a0b);
	writer_u32(&w, 1);
	ck_assert(!writer_ok(&w));
	writer_u8(&w, 9);
	ck_assert_uint_eq(writer_len(&w), 2);
	ck_assert_mem_eq(data, ((uint8_t[]){0x0a, 0x0b, 0, 0}), 4);
}
END_TEST

struct item {
	struct hash_node node;
	unsigned key;
};

/* Half a block of the right bytes makes one factor 0, and what stood before it counts for nothing: whoever knows the constants
 * can choose as many keys of one hash as he likes. */
START_TEST(chosen_keys_do_not_meet_under_a_secret)
{
	static const uint64_t constant = 0xd6e8feb86659fd93u;
	uint8_t a[32] = {1}, b[32] = {2};
	memcpy(a + 8, &constant, 8);
	memcpy(b + 8, &constant, 8);
	struct prefix p, q;
	ck_assert(prefix_parse("2001:db8::/128", &p) == PREFIX_OK && prefix_parse("2001:db8:0:1::/128", &q) == PREFIX_OK);
	memcpy(p.addr.b + 8, &constant, 8);
	memcpy(q.addr.b + 8, &constant, 8);
	for (uint64_t seed = 0; seed < 3; seed++) {
		hash_set_secret(seed);
		ck_assert_int_eq(hash_bytes(a, sizeof a, 0) == hash_bytes(b, sizeof b, 0), seed == 0);
		ck_assert_int_eq(prefix_hash(&p) == prefix_hash(&q), seed == 0);
	}
	hash_set_secret(0);
}
END_TEST

START_TEST(hash_table_keeps_all)
{
	enum { ITEMS = 5000 };
	struct item *items = calloc(ITEMS, sizeof *items);
	struct hash_table t;
	hash_table_init(&t);
	for (unsigned i = 0; i < ITEMS; i++) {
		items[i].key = i;
		hash_table_insert(&t, &items[i].node, i % 2 ? hash_mix(i, 7) : 42); /* half of them collide */
	}
	unsigned seen = 0, collided = 0;
	for (struct hash_node *n = hash_table_each(&t, NULL); n; n = hash_table_each(&t, n))
		seen++;
	for (struct hash_node *n = hash_first(&t, 42); n; n = hash_next(n))
		collided++;
	ck_assert_uint_eq(seen, ITEMS);
	ck_assert_uint_eq(collided, ITEMS / 2);
	for (unsigned i = 0; i < ITEMS; i++)
		hash_table_remove(&t, &items[i].node);
	ck_assert_uint_eq(t.count, 0);
	ck_assert_ptr_null(hash_table_each(&t, NULL));
	hash_table_fini(&t);
	free(items);
}
END_TEST

START_TEST(hash_sees_every_byte)
{
	uint8_t data[40] = {0};
	for (size_t len = 1; len <= sizeof data; len++) {
		uint64_t before = hash_bytes(data, len, 0);
		for (size_t i = 0; i < len; i++) {
			data[i] ^= 1;
			ck_assert(hash_bytes(data, len, 0) != before);
			data[i] ^= 1;
		}
		ck_assert(hash_bytes(data, len - 1, 0) != before);
	}
}
END_TEST

START_TEST(jitter_stays_in_bounds)
{
	struct random r = {.state = 1};
	int64_t low = INT64_MAX, high = 0;
	for (unsigned i = 0; i < 10000; i++) {
		int64_t v = random_jitter_ms(&r, 1000);
		low = v < low ? v : low;
		high = v > high ? v : high;
	}
	ck_assert(low >= 750 && low < 760 && high <= 1000 && high > 990);
}
END_TEST

START_TEST(command_words)
{
	int at = 0;
	char *full[] = {"show", "routes", "for", "10.0.0.1"}, *cut[] = {"sh", "pe"}, *vague[] = {"show", "p"}, *none[] = {"sho", "x"};
	char *also[] = {"neighbors", "neighbours", "protocols", "nei", "pr"}, *alone[] = {"neighbors", "peers"};
	ck_assert_str_eq(command_find(4, full, &at)->id, "show-routes");
	ck_assert_int_eq(at, 2);
	ck_assert_str_eq(command_find(2, cut, &at)->id, "show-peers");
	for (size_t i = 0; i < sizeof also / sizeof *also; i++) {
		char *said[] = {"show", also[i], "tor"};
		at = 0;
		ck_assert_ptr_eq(command_find(3, said, &at), command_by_id("show-peers"));
		ck_assert_int_eq(at, 2);
	}
	/* the longer command, and both forms that people know */
	char *why[] = {(char[]){"show"}, (char[]){"route"}, (char[]){"why"}, (char[]){"10.0.0.0/8"}};
	ck_assert_str_eq(command_find(4, why, &at)->id, "show-routes-why");
	ck_assert_int_eq(at, 3);
	ck_assert_str_eq(command_find(2, why, &at)->id, "show-routes");
	ck_assert_ptr_null(command_find(2, alone, &at)); /* only the last word has other names */
	ck_assert_ptr_null(command_find(2, vague, &at)); /* peers or pods */
	ck_assert_ptr_null(command_find(2, none, &at));
	ck_assert_ptr_null(command_find(1, full, &at));
	ck_assert_ptr_null(command_by_id("nonsense"));
	for (size_t i = 0; i < command_count; i++)
		ck_assert_ptr_eq(command_by_id(commands[i].id), &commands[i]);
}
END_TEST

START_TEST(utf8_is_scrubbed)
{
	static const char *const cases[][2] = {
		{"plain", "plain"},           {"", ""},
		{"caf\xc3\xa9 \xe2\x82\xac", "caf\xc3\xa9 \xe2\x82\xac"}, {"a\x1b[2J\n", "a?[2J?"},
		{"\xff\xfe", "??"},           {"\xc3", "?"},
		{"\xe2\x82", "??"},           {"\xc2\x9b" "1m", "??1m"},
		{"\x80z", "?z"},              {"\x7f", "?"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char buf[32];
		strcpy(buf, cases[i][0]);
		utf8_scrub(buf);
		ck_assert_str_eq(buf, cases[i][1]);
	}
}
END_TEST

START_TEST(every_error_has_a_text)
{
	for (int code = ERR_BASE + 1; code < ERR_TOP; code++)
		ck_assert_str_ne(err_text(code), "unknown error");
	ck_assert_str_eq(err_text(-ENOENT), strerror(ENOENT));
	ck_assert_str_eq(err_text(0), "no error");
	ck_assert_str_eq(err_text(5), "unknown error");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("base");
	TCase *t = tcase_create("base");
	tcase_add_loop_test(t, prefix_text, 0, sizeof prefixes / sizeof *prefixes);
	tcase_add_test(t, prefix_relations);
	tcase_add_test(t, prefix_in_a_set);
	tcase_add_test(t, address_kinds);
	tcase_add_test(t, address_sum);
	tcase_add_test(t, cursor_stops_at_the_end);
	tcase_add_test(t, writer_stops_at_the_end);
	tcase_add_test(t, chosen_keys_do_not_meet_under_a_secret);
	tcase_add_test(t, hash_table_keeps_all);
	tcase_add_test(t, hash_sees_every_byte);
	tcase_add_test(t, jitter_stays_in_bounds);
	tcase_add_test(t, command_words);
	tcase_add_test(t, utf8_is_scrubbed);
	tcase_add_test(t, every_error_has_a_text);
	suite_add_tcase(s, t);
	return run_suite(s);
}
