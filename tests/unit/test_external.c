/* Owners of routes that were handed over: what they have, the text in which it outlives a restart, and what nobody may hand
 * over; and what such a path is to the decision, the kernel and the peers.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rib/decision.h"
#include "rib/nhset.h"
#include "src/base/live.h"
#include "src/daemon/external.h"
#include "src/daemon/external_request.h"
#include "src/daemon/route_words.h"
#include "tests/unit/run_suite.h"

static struct bgp_attr_table attrs;
static struct rib *rib;
static struct external_owner *owner;
static const struct tick now = {1000};

static void setup(void)
{
	bgp_attr_table_init(&attrs);
	rib = rib_new(16);
	owner = external_owner_new(rib, "lb", 0);
}

static void teardown(void)
{
	rib_free(rib);
	external_owner_free(owner);
	bgp_attr_table_fini(&attrs);
	for (unsigned k = 0; k < LIVE_KINDS; k++)
		ck_assert_msg(live_count((enum live_kind)k) == 0, "%s", live_name((enum live_kind)k));
}

static struct prefix prefix(const char *text)
{
	struct prefix p;
	ck_assert_msg(prefix_parse(text, &p) == PREFIX_OK, "%s", text);
	return p;
}

/* "med 5 community 64512:1": an owned reference. */
static struct bgp_attrs *attrs_of(const char *text)
{
	char copy[256], error[ROUTE_WORDS_ERROR_MAX];
	const char *words[32];
	struct route_words r;
	size_t n = 0;
	snprintf(copy, sizeof copy, "%s", text);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		words[n++] = word;
	ck_assert_msg(route_words_read(&r, ROUTE_WORDS_KEPT, words, n, error), "%s", error);
	struct bgp_attrs *a = route_words_attrs(&r, &attrs);
	ck_assert(a);
	return a;
}

static void put(const char *at, const char *words, int64_t since)
{
	struct prefix p = prefix(at);
	struct bgp_attrs *a = attrs_of(words);
	external_put(owner, &p, a, since);
	bgp_attrs_unref(a);
}

START_TEST(routes_are_in_order_and_each_there_once)
{
	char text[PREFIX_TEXT_MAX];
	static const char *const in_order[] = {"192.0.2.0/24", "192.0.2.1/32", "198.51.100.7/32", "2001:db8::1/128"};
	put("2001:db8::1/128", "", 1);
	put("192.0.2.1/32", "", 2);
	put("198.51.100.7/32", "", 3);
	put("192.0.2.0/24", "", 4);
	put("192.0.2.1/32", "med 7", 5);
	ck_assert_uint_eq(owner->count, 4);
	for (size_t i = 0; i < 4; i++)
		ck_assert_str_eq(prefix_format(&owner->routes[i].prefix, text), in_order[i]);
	ck_assert_int_eq(owner->routes[1].since, 2); /* it has been there since then, whatever it is now */
	ck_assert_uint_eq(owner->routes[1].attrs->med, 7);
	struct prefix p = prefix("192.0.2.1/32"), absent = prefix("192.0.2.2/32");
	external_take(owner, external_find(owner, &p));
	ck_assert_ptr_null(external_find(owner, &p));
	ck_assert_ptr_null(external_find(owner, &absent));
	ck_assert_uint_eq(owner->count, 3);
}
END_TEST

START_TEST(a_change_is_counted_before_it_is_made)
{
	struct bgp_attrs *a = attrs_of("");
	const struct prefix at[] = {prefix("192.0.2.1/32"), prefix("192.0.2.2/32"), prefix("192.0.2.2/32"), prefix("192.0.2.3/32")};
	put("192.0.2.1/32", "", 1);
	put("192.0.2.9/32", "", 1);
	ck_assert_uint_eq(external_count_after(owner, &(struct external_change){.prefixes = at, .count = 4, .attrs = a}), 4);
	ck_assert_uint_eq(external_count_after(owner, &(struct external_change){.prefixes = at, .count = 4}), 1);
	ck_assert_uint_eq(external_count_after(owner, &(struct external_change){.all = true}), 0);
	bgp_attrs_unref(a);
}
END_TEST

static const struct external_change nothing;

static char *reread(char *text, struct external_owner **out)
{
	char error[EXTERNAL_ERROR_MAX];
	*out = external_owner_new(rib, "lb", 0);
	ck_assert_msg(external_read(*out, &attrs, text, error), "%s", error);
	return external_text(*out, &nothing);
}

START_TEST(the_text_says_everything)
{
	struct external_owner *again;
	put("192.0.2.1/32", "med 0 local-pref 200 next-hop 10.0.0.9 community 64512:1 no-export rt:64512:7 64512:1:2", 1764455000);
	put("2001:db8::/48", "next-hop 2001:db8:1::1", 5);
	put("198.51.100.0/25", "", 0);
	char *text = external_text(owner, &nothing), *copy = strdup(text), *second = reread(copy, &again);
	ck_assert_str_eq(text, second);
	ck_assert_msg(strstr(text, "192.0.2.1/32 since 1764455000 local-pref 200 med 0 next-hop 10.0.0.9 community 64512:1 no-export "
				   "rt:64512:7 64512:1:2\n"), "%s", text);
	for (size_t i = 0; i < owner->count; i++)
		ck_assert_ptr_eq(owner->routes[i].attrs, again->routes[i].attrs);
	external_owner_free(again);
	free(text);
	free(copy);
	free(second);
}
END_TEST

/* What is written to the disk is what the change makes, though it has not been made. */
START_TEST(the_text_is_that_of_afterwards)
{
	struct external_owner *again;
	struct bgp_attrs *a = attrs_of("med 3");
	const struct prefix at[] = {prefix("192.0.2.1/32"), prefix("192.0.2.2/32"), prefix("192.0.2.2/32")};
	const struct external_change adds = {.prefixes = at, .count = 3, .attrs = a, .since = 9}, takes = {.prefixes = at, .count = 2};
	put("192.0.2.1/32", "", 4);
	put("192.0.2.7/32", "", 4);
	char *text = external_text(owner, &adds), *second = reread(text, &again);
	ck_assert_uint_eq(again->count, 3);
	ck_assert_int_eq(external_find(again, &at[0])->since, 4);
	ck_assert_int_eq(external_find(again, &at[1])->since, 9);
	ck_assert_ptr_eq(external_find(again, &at[0])->attrs, a);
	external_owner_free(again);
	free(text);
	free(second);
	text = external_text(owner, &takes);
	ck_assert_str_eq(text, "underlay external routes 1\n192.0.2.7/32 since 4\nend 1\n");
	free(text);
	bgp_attrs_unref(a);
}
END_TEST

static const struct {
	const char *text, *error;
} damaged[] = {
	{"", "line 1"},
	{"underlay external routes 2\nend 0\n", "line 1"},
	{"underlay external routes 1\n", "end is missing"},
	{"underlay external routes 1\n192.0.2.1/32 since 4\n", "end is missing"},
	{"underlay external routes 1\n192.0.2.1/32 since 4\nend 2\n", "line 3"},
	{"underlay external routes 1\n192.0.2.1/24 since 4\nend 1\n", "line 2"},
	{"underlay external routes 1\n192.0.2.1/32 since 4\n192.0.2.1/32 since 5\nend 2\n", "twice"},
	{"underlay external routes 1\n192.0.2.1/32 since 4 owner x\nend 1\n", "owner is no attribute"},
	{"underlay external routes 1\n192.0.2.1/32 since x\nend 1\n", "since"},
	{"underlay external routes 1\n192.0.2.1/32 community 1:\nend 1\n", "community"},
	{"underlay external routes 1\n\x01\x02\xff\nend 1\n", "line 2"},
};

START_TEST(damage_is_found)
{
	char error[EXTERNAL_ERROR_MAX], text[256];
	snprintf(text, sizeof text, "%s", damaged[_i].text);
	ck_assert(!external_read(owner, &attrs, text, error));
	ck_assert_msg(strstr(error, damaged[_i].error), "%s", error);
}
END_TEST

START_TEST(some_prefixes_are_for_nobody)
{
	const struct prefix own[] = {prefix("10.244.1.0/24"), prefix("fd10:244:1::/64")};
	const struct rib_import_context ctx = {.own = own, .own_count = 2};
	static const char *const bad[] = {"0.0.0.0/0", "::/0", "127.0.0.0/8", "224.0.0.0/4", "169.254.1.0/24", "fe80::1/128", "::1/128",
					  "10.244.1.0/24", "10.244.1.7/32", "fd10:244:1::7/128"};
	static const char *const good[] = {"10.244.0.0/16", "192.0.2.1/32", "2001:db8::/32", "10.244.2.0/24"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct prefix p = prefix(bad[i]);
		ck_assert_msg(external_refusal(&ctx, &p), "%s", bad[i]);
	}
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct prefix p = prefix(good[i]);
		ck_assert_msg(!external_refusal(&ctx, &p), "%s", good[i]);
	}
}
END_TEST

static const struct {
	const char *words, *text, *hint; /* text NULL: fine */
	size_t count;
} requests[] = {
	{"192.0.2.1/32 owner lb", NULL, NULL, 1},
	{"192.0.2.1 2001:db8::/32 community 64512:1 64512:1:2 owner lb med 5", NULL, NULL, 2},
	{"192.0.2.1/32 next-hop 10.0.0.2 local-pref 7 owner lb", NULL, NULL, 1},
	{"all owner lb", NULL, NULL, 0},
	{"", "a prefix is needed", NULL, 0},
	{"owner lb", "a prefix is needed", NULL, 0},
	{"192.0.2.1/32", "owner NAME", NULL, 0},
	{"192.0.2.1/32 owner", "owner: found \"\"", NULL, 0},
	{"192.0.2.1/32 owner ../x", "owner: found \"../x\"", NULL, 0},
	{"192.0.2.1/32 owner a owner b", "owner is there twice", NULL, 0},
	{"192.0.2.1/24 owner lb", "192.0.2.1/24: bits beyond", "192.0.2.0/24 is probably meant", 0},
	{"192.0.2.1/33 owner lb", "192.0.2.1/33 is not a prefix", NULL, 0},
	{"192.0.2.1/32 as-path 5 owner lb", "as-path is not a prefix", NULL, 0},
	{"192.0.2.1/32 owner lb since 5", "since is no attribute", NULL, 0},
	{"192.0.2.1/32 community 64512:* owner lb", "community: found", NULL, 0},
	{"192.0.2.1/32 med 4294967296 owner lb", "med: found", NULL, 0},
	{"192.0.2.1/32 next-hop 224.0.0.1 owner lb", "next-hop: found", NULL, 0},
	{"2001:db8::/32 next-hop 10.0.0.2 owner lb", "2001:db8::/32: the next hop is of the other", "one by one", 0},
};

START_TEST(requests_are_read)
{
	char copy[256];
	const char *words[32];
	struct external_request r;
	struct external_fault fault = {"", NULL, ""};
	size_t n = 0;
	snprintf(copy, sizeof copy, "%s", requests[_i].words);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		words[n++] = word;
	bool fine = external_request_read(&r, true, words, n, &fault);
	ck_assert_msg(fine == !requests[_i].text, "%s: %s", requests[_i].words, fault.text);
	if (fine) {
		ck_assert_uint_eq(r.count, requests[_i].count);
		ck_assert_str_eq(r.words.owner, "lb");
		return;
	}
	ck_assert_msg(strstr(fault.text, requests[_i].text), "%s: %s", requests[_i].words, fault.text);
	if (requests[_i].hint)
		ck_assert_msg(strstr(fault.hint, requests[_i].hint), "%s", fault.hint);
}
END_TEST

/* Ours, then external ones, then what was learned; the kernel is never given an external one, and every peer is told. */
START_TEST(where_it_stands_among_paths)
{
	struct prefix p = prefix("192.0.2.0/24");
	struct nhset_table sets;
	struct bgp_attrs *plain = attrs_of("community no-export"), *learned = attrs_of("next-hop 10.0.0.2 local-pref 500"), *own = bgp_attrs_local(&attrs);
	struct rib_source *local = rib_source_new(rib, &(struct rib_source){.kind = RIB_SOURCE_LOCAL}),
			  *peer = rib_source_new(rib, &(struct rib_source){.kind = RIB_SOURCE_BGP});
	nhset_table_init(&sets);
	rib_announce(rib, peer, &p, learned, now);
	struct rib_entry *e = rib_find(rib, &p);
	struct nhset *s = nhset_choose(&sets, rib, e);
	ck_assert_ptr_nonnull(s);
	nhset_unref(s);
	rib_announce(rib, owner->source, &p, plain, now);
	ck_assert_ptr_eq(rib_path_source(rib_best(e)), owner->source);
	ck_assert_ptr_null(nhset_choose(&sets, rib, e));
	ck_assert_ptr_null(rib_export_refusal(RIB_EXPORT_PODS, RIB_TO_EXTERNAL, rib_best(e)));
	ck_assert_ptr_null(rib_export_refusal(RIB_EXPORT_ALL, RIB_TO_INTERNAL, rib_best(e)));
	ck_assert_ptr_nonnull(rib_export_refusal(RIB_EXPORT_NONE, RIB_TO_EXTERNAL, rib_best(e)));
	rib_announce(rib, local, &p, own, now);
	ck_assert_ptr_eq(rib_path_source(rib_best(e)), local);
	rib_withdraw(rib, local, &p);
	rib_withdraw(rib, owner->source, &p);
	ck_assert_ptr_eq(rib_path_source(rib_best(e)), peer);
	rib_withdraw(rib, peer, &p);
	rib_source_free(peer);
	rib_source_free(local);
	bgp_attrs_unref(own);
	bgp_attrs_unref(plain);
	bgp_attrs_unref(learned);
	nhset_table_fini(&sets);
}
END_TEST

START_TEST(two_owners_of_one_prefix)
{
	struct prefix p = prefix("192.0.2.1/32");
	struct external_owner *other = external_owner_new(rib, "other", 7);
	struct bgp_attrs *a = attrs_of("med 1"), *b = attrs_of("med 2");
	rib_announce(rib, owner->source, &p, a, now);
	rib_announce(rib, other->source, &p, b, now);
	struct rib_entry *e = rib_find(rib, &p);
	ck_assert_ptr_eq(rib_path_source(rib_best(e)), owner->source);
	rib_withdraw(rib, owner->source, &p);
	ck_assert_ptr_eq(rib_path_source(rib_best(e)), other->source);
	ck_assert_str_eq(rib_path_source(rib_best(e))->name, "other");
	rib_withdraw(rib, other->source, &p);
	ck_assert_ptr_null(rib_find(rib, &p));
	external_owner_free(other);
	bgp_attrs_unref(a);
	bgp_attrs_unref(b);
}
END_TEST

static Suite *external_suite(void)
{
	Suite *s = suite_create("external");
	TCase *t = tcase_create("external");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, routes_are_in_order_and_each_there_once);
	tcase_add_test(t, a_change_is_counted_before_it_is_made);
	tcase_add_test(t, the_text_says_everything);
	tcase_add_test(t, the_text_is_that_of_afterwards);
	tcase_add_loop_test(t, damage_is_found, 0, sizeof damaged / sizeof *damaged);
	tcase_add_test(t, some_prefixes_are_for_nobody);
	tcase_add_loop_test(t, requests_are_read, 0, sizeof requests / sizeof *requests);
	tcase_add_test(t, where_it_stands_among_paths);
	tcase_add_test(t, two_owners_of_one_prefix);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return run_suite(external_suite());
}
