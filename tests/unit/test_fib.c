/* The FIB against a kernel in memory: whatever order wishes, answers, refusals and foreign deletions come in, the two
 * agree in the end.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rib/fib.h"
#include "src/base/live.h"
#include "src/base/random.h"
#include "tests/unit/run_suite.h"

enum { PREFIXES = 20, SETS = 4, IN_FLIGHT = 8, STEPS = 20000 };

static struct nhset_table nhsets;
static struct fib fib;
static struct nhset *sets[SETS];
static const struct route_mark mark = {.table = 254, .metric = 32, .protocol = 171};

struct request {
	struct fib_entry *entry;
	int error;
};

/* The kernel does a request when it is sent and answers later, as the real one does. */
static struct {
	struct nhset *route[PREFIXES];
	bool foreign[PREFIXES];
	struct request flying[IN_FLIGHT];
	unsigned count;
	unsigned refuse_every; /* 0: never */
	unsigned requests;
	uint32_t found_link;
} kernel;

static struct prefix prefix_of(unsigned i)
{
	return prefix_make_v4(0x0a000000 | i << 8, 24);
}

static unsigned index_of(const struct prefix *p)
{
	return addr_to_v4(&p->addr) >> 8 & 0xff;
}

static void setup(void)
{
	struct route_nexthop nh = {.weight = 1};
	memset(&kernel, 0, sizeof kernel);
	kernel.found_link = 7;
	nhset_table_init(&nhsets);
	fib_init(&fib, &nhsets, &mark, false);
	for (unsigned i = 0; i < SETS; i++) {
		nh.gateway = addr_from_v4(0x0a0000fe + i);
		sets[i] = i == 0 ? nhset_of(&nhsets, NULL, 0) : nhset_of(&nhsets, &nh, 1);
	}
}

static void teardown(void)
{
	fib_fini(&fib);
	for (unsigned i = 0; i < SETS; i++)
		nhset_unref(sets[i]);
	nhset_table_fini(&nhsets);
	ck_assert_uint_eq(live_count(LIVE_NHSET), 0);
	ck_assert_uint_eq(live_count(LIVE_FIB_ENTRY), 0);
}

static struct nhset *set_of(const struct route *r)
{
	for (unsigned i = 0; i < SETS; i++)
		if (sets[i]->count == r->nexthop_count &&
		    (r->nexthop_count == 0 || addr_eq(&sets[i]->at[0].gateway, &r->nexthops[0].gateway)))
			return sets[i];
	ck_abort_msg("a set that nobody asked for");
}

static int kernel_does(const struct fib_intent *in)
{
	unsigned i = index_of(&in->route.prefix);
	ck_assert(in->route.mark.protocol == mark.protocol && in->route.mark.metric == mark.metric);
	if (kernel.refuse_every && ++kernel.requests % kernel.refuse_every == 0)
		return -ENETUNREACH;
	switch (in->op) {
	case FIB_ADD:
		if (kernel.route[i] || kernel.foreign[i])
			return -EEXIST;
		kernel.route[i] = set_of(&in->route);
		return 0;
	case FIB_REPLACE:
		ck_assert_msg(!kernel.foreign[i], "a foreign route would be overwritten");
		kernel.route[i] = set_of(&in->route);
		return 0;
	case FIB_DELETE:
		if (!kernel.route[i])
			return -ESRCH;
		kernel.route[i] = NULL;
		return 0;
	}
	return -EINVAL;
}

static void send_one(void)
{
	struct fib_intent in;
	if (kernel.count == IN_FLIGHT || !fib_next(&fib, &in))
		return;
	kernel.flying[kernel.count++] = (struct request){in.entry, kernel_does(&in)};
}

static void answer_one(struct tick now)
{
	if (!kernel.count)
		return;
	struct request r = kernel.flying[0];
	memmove(kernel.flying, kernel.flying + 1, --kernel.count * sizeof *kernel.flying);
	fib_done(&fib, r.entry, r.error, r.error ? "no" : "", now);
}

/* What an audit does; the answer is what it found to differ. */
static size_t dump(struct tick now)
{
	fib_compare_begin(&fib, now);
	for (unsigned i = 0; i < PREFIXES; i++) {
		struct route r = {.prefix = prefix_of(i), .mark = mark};
		if (!kernel.route[i])
			continue;
		r.type = kernel.route[i]->count ? ROUTE_UNICAST : ROUTE_BLACKHOLE;
		r.nexthop_count = kernel.route[i]->count;
		if (r.nexthop_count) {
			r.nexthops[0] = kernel.route[i]->at[0];
			r.nexthops[0].ifindex = kernel.found_link; /* as the kernel adds it where we did not say it */
		}
		fib_compare_found(&fib, &r);
	}
	while (!fib_compare_judge(&fib, 3))
		;
	return fib_differ(&fib.findings);
}

static void lose_answers(void)
{
	for (unsigned i = 0; i < kernel.count; i++)
		fib_lost(&fib, kernel.flying[i].entry);
	kernel.count = 0;
}

static void drain(struct tick *now)
{
	for (unsigned i = 0; i < 1000; i++) {
		send_one();
		answer_one(*now);
		if (i % 100 == 0) {
			now->ms += FIB_RETRY_MAX_MS;
			fib_retry(&fib, *now);
		}
	}
}

START_TEST(ends_equal_whatever_happens)
{
	struct random rnd = {.state = (uint64_t)_i * 77 + 1};
	struct nhset *want[PREFIXES] = {0};
	struct tick now = {1000};
	kernel.refuse_every = 7;
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned i = random_next(&rnd) % PREFIXES;
		struct prefix p = prefix_of(i);
		now.ms += random_next(&rnd) % 100;
		switch (random_next(&rnd) % 10) {
		case 0: case 1: case 2:
			want[i] = random_next(&rnd) % 3 ? sets[random_next(&rnd) % SETS] : NULL;
			fib_want(&fib, &p, want[i]);
			break;
		case 3: case 4: case 5:
			send_one();
			break;
		case 6: case 7:
			answer_one(now);
			break;
		case 8:
			fib_retry(&fib, now);
			break;
		default:
			if (random_next(&rnd) % 4 == 0)
				kernel.route[i] = NULL; /* somebody flushes */
			else if (random_next(&rnd) % 20 == 0 && kernel.count == 0)
				dump(now);
			else if (random_next(&rnd) % 40 == 0) { /* overrun: answers are lost, a dump follows */
				lose_answers();
				dump(now);
			}
		}
	}
	kernel.refuse_every = 0;
	drain(&now);
	dump(now);
	drain(&now);
	for (unsigned i = 0; i < PREFIXES; i++) {
		struct prefix p = prefix_of(i);
		const struct fib_entry *e = fib_find(&fib, &p);
		ck_assert_ptr_eq(kernel.route[i], want[i]);
		ck_assert_ptr_eq(e ? fib_entry_have(e) : NULL, want[i]);
		ck_assert(!e || fib_entry_error(e) == 0);
	}
	ck_assert_uint_eq(fib.in_flight, 0);
	ck_assert_uint_eq(dump(now), 0);
}
END_TEST

START_TEST(foreign_route_is_reported_not_replaced)
{
	struct prefix p = prefix_of(3);
	struct tick now = {1000};
	kernel.foreign[3] = true;
	fib_want(&fib, &p, sets[1]);
	send_one();
	answer_one(now);
	ck_assert_int_eq(fib_entry_error(fib_find(&fib, &p)), -EEXIST);
	ck_assert_str_eq(fib_find(&fib, &p)->trouble->text, "no");
	ck_assert_ptr_null(fib_entry_have(fib_find(&fib, &p)));
	kernel.foreign[3] = false; /* it goes, and ours comes at the next try */
	ck_assert_int_eq(fib_retry(&fib, now).ms, now.ms + FIB_RETRY_MS);
	now.ms += FIB_RETRY_MS;
	fib_retry(&fib, now);
	send_one();
	answer_one(now);
	ck_assert_ptr_eq(kernel.route[3], sets[1]);
	ck_assert_int_eq(fib_entry_error(fib_find(&fib, &p)), 0);
}
END_TEST

START_TEST(held_adopts_and_changes_nothing_until_released)
{
	struct prefix kept = prefix_of(1), stale = prefix_of(2), fresh = prefix_of(3);
	struct tick now = {1000};
	kernel.route[1] = sets[1];
	kernel.route[2] = sets[2];
	kernel.found_link = 0;
	fib.held = true;
	dump(now); /* nobody wants them yet */
	ck_assert_uint_eq(fib.installed, 2);
	fib_want(&fib, &kept, sets[1]);
	fib_want(&fib, &fresh, sets[3]);
	drain(&now);
	ck_assert_ptr_eq(kernel.route[2], sets[2]);
	ck_assert_ptr_eq(kernel.route[3], sets[3]); /* what is new harms nothing that was there */
	ck_assert_uint_eq(fib_release(&fib), 1);
	unsigned before = kernel.requests;
	kernel.refuse_every = 1000000; /* only to count */
	drain(&now);
	ck_assert_uint_eq(kernel.requests - before, 1); /* the one that was right is not touched */
	ck_assert_ptr_eq(kernel.route[1], sets[1]);
	ck_assert_ptr_null(kernel.route[2]);
	ck_assert_ptr_null(fib_find(&fib, &stale));
}
END_TEST

/* Held, and of two switches that told us of a prefix one dies: its next hop goes at once. */
START_TEST(held_lets_go_of_what_was_learned_and_lost)
{
	struct prefix p = prefix_of(1), q = prefix_of(2);
	struct route_nexthop both[] = {sets[1]->at[0], sets[2]->at[0]};
	struct nhset *two = nhset_of(&nhsets, both, 2);
	struct tick now = {1000};
	kernel.route[1] = sets[1];
	kernel.route[2] = sets[1];
	fib.held = true;
	dump(now);
	fib_want(&fib, &p, sets[1]); /* one switch is back, the other not yet */
	fib_want(&fib, &q, two);
	drain(&now);
	ck_assert_ptr_eq(kernel.route[2], sets[1]); /* more would be better, but is no hurry */
	fib_want(&fib, &p, NULL);
	fib_want(&fib, &q, sets[2]);
	drain(&now);
	ck_assert_ptr_null(kernel.route[1]);
	ck_assert_ptr_eq(kernel.route[2], sets[2]);
	nhset_unref(two);
}
END_TEST

/* The link was away and is back, and a dump follows: what was refused is tried at once, not when its wait is over. */
START_TEST(dump_ends_the_waiting)
{
	struct prefix p = prefix_of(1);
	struct tick now = {1000};
	kernel.refuse_every = 1;
	fib_want(&fib, &p, sets[1]);
	for (unsigned i = 0; i < 5; i++) {
		send_one();
		answer_one(now);
		now.ms += FIB_RETRY_MAX_MS;
		fib_retry(&fib, now);
	}
	send_one();
	answer_one(now);
	kernel.refuse_every = 0;
	dump(now);
	send_one();
	answer_one(now);
	ck_assert_ptr_eq(kernel.route[1], sets[1]);
}
END_TEST

START_TEST(what_is_under_way_is_no_difference)
{
	struct prefix p = prefix_of(1), q = prefix_of(2);
	struct tick now = {1000};
	fib_want(&fib, &p, sets[1]);
	fib_want(&fib, &q, sets[1]);
	ck_assert_uint_eq(dump(now), 0); /* both still to be sent */
	drain(&now);
	kernel.route[2] = NULL;
	ck_assert_uint_eq(dump(now), 1); /* somebody took one away */
	drain(&now);
	ck_assert_ptr_eq(kernel.route[2], sets[1]);
}
END_TEST

START_TEST(refusal_waits_longer_each_time)
{
	struct prefix p = prefix_of(1);
	struct tick now = {1000};
	int64_t last = 0;
	kernel.refuse_every = 1;
	fib_want(&fib, &p, sets[1]);
	for (unsigned i = 0; i < 10; i++) {
		send_one();
		answer_one(now);
		int64_t wait = fib_find(&fib, &p)->trouble->retry_at.ms - now.ms;
		ck_assert(wait >= last && wait <= FIB_RETRY_MAX_MS);
		last = wait;
		now.ms += wait;
		fib_retry(&fib, now);
	}
	ck_assert_int_eq(last, FIB_RETRY_MAX_MS);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fib");
	TCase *t = tcase_create("fib");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, ends_equal_whatever_happens, 0, 20);
	tcase_add_test(t, foreign_route_is_reported_not_replaced);
	tcase_add_test(t, held_adopts_and_changes_nothing_until_released);
	tcase_add_test(t, held_lets_go_of_what_was_learned_and_lost);
	tcase_add_test(t, dump_ends_the_waiting);
	tcase_add_test(t, what_is_under_way_is_no_difference);
	tcase_add_test(t, refusal_waits_longer_each_time);
	suite_add_tcase(s, t);
	return run_suite(s);
}
