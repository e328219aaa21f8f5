/* In the steady state a prefix costs no allocation: UPDATEs whose attributes are known are decoded, interned and put in
 * the table without a call of malloc(), and new prefixes cost one a chunk. The linker leads every allocation of the
 * archives through the counters below (--wrap in Makefile.inc).
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "bgp/message.h"
#include "bgp/update.h"
#include "rib/rules.h"
#include "rib/table.h"
#include "src/base/live.h"
#include "tests/unit/run_suite.h"

enum { PEER_AS = 64496, PREFIXES = 20000, A_MESSAGE = 100, SETS = 50 };

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static unsigned long allocations;

void *__wrap_malloc(size_t n)
{
	allocations++;
	return __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	allocations++;
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	allocations++;
	return __real_realloc(p, n);
}

/* Check's own assertions allocate, so what is counted uses this. */
static void require(bool ok)
{
	if (!ok)
		ck_abort_msg("not what was to come");
}

static struct bgp_attr_table table;
static struct rib *rib;
static struct rib_source *source;

static void setup(void)
{
	struct rib_source like = {.kind = RIB_SOURCE_BGP, .router_id = 1};
	bgp_attr_table_init(&table);
	rib = rib_new(1);
	source = rib_source_new(rib, &like);
}

static void teardown(void)
{
	while (!rib_source_flush(rib, source, 1000))
		;
	rib_sweep(rib);
	rib_source_free(source);
	rib_free(rib);
	ck_assert_uint_eq(live_count(LIVE_ATTRS), 0);
	bgp_attr_table_fini(&table);
}

static struct prefix prefix_of(enum bgp_family family, uint32_t i)
{
	struct addr a = {{0xfd, [4] = (uint8_t)(i >> 8), (uint8_t)i}};
	return family == BGP_IPV4_UNICAST ? prefix_make_v4(0x0b000000 + (i << 8), 24) : prefix_make(&a, 48);
}

/* The UPDATE with the prefixes from first on, with one of SETS attribute sets. */
static size_t make_update(uint8_t *out, enum bgp_family family, uint32_t first, unsigned set)
{
	uint8_t block[64];
	struct writer w = writer_of(block, sizeof block);
	struct prefix prefixes[A_MESSAGE];
	struct bgp_words words = {.block = block};
	size_t used;
	words.next_hop = family == BGP_IPV4_UNICAST ? addr_from_v4(0x0a000002) : (struct addr){{0xfd, [15] = 2}};
	writer_bytes(&w, "\x40\x01\x01\x00\x40\x02\x0a\x02\x02\x00\x00\xfb\xf0", 13);
	writer_u32(&w, 1000 + set);
	if (family == BGP_IPV4_UNICAST)
		writer_bytes(&w, "\x40\x03\x04\x0a\x00\x00\x02", 7);
	words.len = writer_len(&w);
	for (uint32_t i = 0; i < A_MESSAGE; i++)
		prefixes[i] = prefix_of(family, first + i);
	size_t len = bgp_update_encode_announce(out, BGP_MESSAGE_MAX, &words, &(struct bgp_routes){family, A_MESSAGE, prefixes, NULL}, &used);
	require(used == A_MESSAGE);
	return len;
}

/* As the daemon does it: frame, UPDATE, each prefix to the table. */
static void take(const uint8_t *bytes, size_t len)
{
	struct bgp_update_context ctx = {.attrs = &table, .as4 = true, .peer_asn = PEER_AS, .families = {true, true}};
	struct bgp_fault fault = {0};
	struct bgp_frame frame;
	struct bgp_update u;
	struct prefix p;
	require(bgp_frame_next(bytes, len, BGP_MESSAGE_MAX, &frame, &fault) == 1);
	bgp_update_decode(&ctx, frame.body, frame.body_len, &u);
	require(u.fault.reaction == BGP_FINE);
	for (unsigned i = 0; i < BGP_UPDATE_PARTS; i++)
		while (bgp_nlri_next(&u.part[i].announced, &p, NULL))
			rib_announce(rib, source, &p, u.part[i].attrs, (struct tick){1000});
	bgp_update_fini(&u);
}

/* All prefixes from first on, each with a set that depends on turn. Returns the allocations that it took. */
static unsigned long announce(enum bgp_family family, uint32_t first, uint32_t count, unsigned turn)
{
	uint8_t bytes[BGP_MESSAGE_MAX];
	unsigned long before = allocations;
	for (uint32_t at = first; at < first + count; at += A_MESSAGE)
		take(bytes, make_update(bytes, family, at, (at / A_MESSAGE + turn) % SETS));
	return allocations - before;
}

START_TEST(known_prefixes_and_sets_cost_no_allocation)
{
	enum bgp_family family = _i ? BGP_IPV6_UNICAST : BGP_IPV4_UNICAST;
	ck_assert_uint_ge(announce(family, 0, PREFIXES, 0), PREFIXES / 2000); /* the counting works */
	for (unsigned turn = 1; turn < 5; turn++)
		ck_assert_uint_eq(announce(family, 0, PREFIXES, turn), 0);
	ck_assert_uint_eq(rib_prefix_count(rib), PREFIXES);
}
END_TEST

/* Entries come in chunks of thousands and the hash table doubles: far below one allocation a hundred. */
START_TEST(new_prefixes_with_known_sets_cost_next_to_none)
{
	enum bgp_family family = _i ? BGP_IPV6_UNICAST : BGP_IPV4_UNICAST;
	announce(family, 0, PREFIXES, 0);
	ck_assert_uint_le(announce(family, PREFIXES, PREFIXES, 1), PREFIXES / 1000);
	ck_assert_uint_eq(rib_prefix_count(rib), 2 * PREFIXES);
}
END_TEST

/* A prefix that goes and comes back takes the place that it had. */
START_TEST(coming_and_going_costs_no_allocation)
{
	struct bgp_attrs *a;
	struct bgp_update_context ctx = {.attrs = &table, .as4 = true, .peer_asn = PEER_AS, .families = {true, true}};
	uint8_t bytes[BGP_MESSAGE_MAX];
	struct bgp_update u;
	struct rib_cursor cursor = {0};
	size_t len = make_update(bytes, BGP_IPV4_UNICAST, 0, 0);
	bgp_update_decode(&ctx, bytes + BGP_HEADER_LEN, len - BGP_HEADER_LEN, &u);
	a = bgp_attrs_ref(u.part[0].attrs);
	bgp_update_fini(&u);
	rib_cursor_open(rib, &cursor);
	for (unsigned turn = 0; turn < 6; turn++) {
		unsigned long before = allocations;
		for (uint32_t i = 0; i < PREFIXES; i++) {
			struct prefix p = prefix_of(BGP_IPV4_UNICAST, i);
			if (turn % 2)
				require(rib_withdraw(rib, source, &p));
			else
				rib_announce(rib, source, &p, a, (struct tick){1000});
		}
		while (rib_cursor_next(&cursor))
			;
		rib_sweep(rib);
		if (turn > 1)
			ck_assert_uint_eq(allocations - before, 0);
	}
	rib_cursor_close(&cursor);
	bgp_attrs_unref(a);
}
END_TEST

/* A policy with two rules that change something: what stands between them is never a set of its own. */
static struct rib_policy *two_rules(void)
{
	struct rib_policy *p = rib_policy_new("p", 2);
	struct as_regex_error error;
	for (size_t i = 0; i < 2; i++) {
		p->rules[i].prefixes = calloc(1, sizeof *p->rules[i].prefixes);
		p->rules[i].prefixes[0] = (struct rib_prefix_range){prefix_make_v4(0, 0), 96, 128};
		p->rules[i].prefix_count = 1;
	}
	p->rules[0].as_paths = calloc(1, sizeof *p->rules[0].as_paths);
	p->rules[0].as_paths[p->rules[0].as_path_count++] = as_regex_compile("^64496 .", &error);
	p->rules[0].edit.has_local_pref = p->rules[1].edit.has_med = true;
	p->rules[0].edit.local_pref = p->rules[1].edit.med = 7;
	p->rules[0].action = RIB_ACTION_NEXT;
	p->rules[1].action = RIB_ACTION_ACCEPT;
	rib_policy_finish(p);
	return p;
}

START_TEST(a_written_policy_costs_no_allocation)
{
	struct rib_policy *p = two_rules();
	struct bgp_attrs *in = bgp_attrs_local(&table), *made = NULL;
	unsigned long before = 0;
	for (uint32_t i = 0; i < PREFIXES; i++) {
		struct prefix at = prefix_of(BGP_IPV4_UNICAST, i);
		struct rib_policy_subject s = {&at, RIB_SOURCE_BGP, "tor"};
		struct rib_policy_trace trace;
		struct bgp_attrs *out = bgp_attrs_ref(in);
		require(rib_policy_run(p, &s, &out, &trace) == RIB_ACCEPT && trace.rule == 1 && out->med == 7);
		if (!made) { /* as the RIB would hold it */
			made = bgp_attrs_ref(out);
			before = allocations;
		}
		bgp_attrs_unref(out);
	}
	ck_assert_uint_eq(allocations - before, 0);
	bgp_attrs_unref(made);
	bgp_attrs_unref(in);
	rib_policy_free(p);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("steady");
	TCase *t = tcase_create("allocations");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, known_prefixes_and_sets_cost_no_allocation, 0, 2);
	tcase_add_loop_test(t, new_prefixes_with_known_sets_cost_next_to_none, 0, 2);
	tcase_add_test(t, coming_and_going_costs_no_allocation);
	tcase_add_test(t, a_written_policy_costs_no_allocation);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
