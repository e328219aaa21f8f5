/* Next hops in the decision: a path whose next hop cannot be reached is no path, whatever order news about routes and about
 * next hops come in, and each next hop is asked for once. The world that answers is a table of the test's own.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "rib/decision.h"
#include "rib/nhset.h"
#include "rib/table.h"
#include "src/base/live.h"
#include "src/base/random.h"
#include "tests/unit/run_suite.h"

enum { HOPS = 6, SOURCES = 4, PREFIXES = 30, STEPS = 4000, MULTIPATH = 16 };

static struct bgp_attr_table attrs;
static struct nhset_table nhsets;
static struct nexthop_table nexthops;
static struct rib *rib;
static struct rib_source *sources[SOURCES]; /* the first two external on a link, then external far away, then internal */
static struct bgp_attrs *sets[HOPS];        /* next hop 10.0.0.1 + i */
static struct nexthop_answer world[HOPS];
static unsigned asked;
static const struct tick now = {1000};

static struct addr hop_addr(unsigned i)
{
	return addr_from_v4(0x0a000001 + i);
}

static void answer(void *arg, const struct nexthop *nh, struct nexthop_answer *out)
{
	unsigned i = addr_is_v4(&nh->addr) ? addr_to_v4(&nh->addr) - 0x0a000001 : 0;
	(void)arg;
	asked++;
	*out = world[i % HOPS];
}

static void set_world(unsigned i, enum nexthop_state state, unsigned gateway)
{
	world[i].state = state;
	world[i].via_count = 1;
	world[i].via[0] = (struct route_nexthop){.ifindex = 3, .weight = 1};
	if (state != NEXTHOP_DIRECT)
		world[i].via[0].gateway = addr_from_v4(0xc0a80000 + gateway);
}

static struct bgp_attrs *make_attrs(const struct addr *next_hop, bool ibgp, uint32_t local_pref)
{
	uint8_t wire[64];
	struct writer w = writer_of(wire, sizeof wire);
	struct bgp_attr_block block;
	struct bgp_attrs *a, *mp;
	writer_bytes(&w, (const uint8_t[]){0x40, 1, 1, 0, 0x40, 2, 6, 2, 1, 0, 0, 0xfc, 0, 0x40, 3, 4}, 16);
	writer_bytes(&w, next_hop->b + 12, 4);
	if (ibgp) {
		writer_bytes(&w, (const uint8_t[]){0x40, 5, 4}, 3);
		writer_u32(&w, local_pref);
	}
	bgp_attrs_decode(&attrs, ibgp ? BGP_ATTR_IBGP : 0, cursor_of(wire, writer_len(&w)), true, &block, &a, &mp);
	ck_assert_msg(a != NULL, "%s", block.fault.text);
	return a;
}

static struct rib *fresh_rib(void)
{
	struct rib *r = rib_new(MULTIPATH);
	rib_track(r, &nexthops);
	return r;
}

static struct rib_source *make_source(struct rib *r, unsigned i)
{
	struct rib_source like = {.kind = RIB_SOURCE_BGP, .ibgp = i == 3, .single_hop = i < 2, .router_id = SOURCES - i};
	like.addr = hop_addr(i);
	return rib_source_new(r, &like);
}

static void setup(void)
{
	bgp_attr_table_init(&attrs);
	nhset_table_init(&nhsets);
	nexthop_table_init(&nexthops, &nhsets, answer, NULL);
	rib = fresh_rib();
	asked = 0;
	for (unsigned i = 0; i < HOPS; i++) {
		struct addr a = hop_addr(i);
		sets[i] = make_attrs(&a, false, 0);
		set_world(i, NEXTHOP_DIRECT, 0);
	}
	for (unsigned i = 0; i < SOURCES; i++)
		sources[i] = make_source(rib, i);
}

static void teardown(void)
{
	rib_free(rib);
	for (unsigned i = 0; i < SOURCES; i++)
		rib_source_free(sources[i]);
	for (unsigned i = 0; i < HOPS; i++)
		bgp_attrs_unref(sets[i]);
	nexthop_table_fini(&nexthops);
	nhset_table_fini(&nhsets);
	bgp_attr_table_fini(&attrs);
	for (unsigned k = 0; k < LIVE_KINDS; k++)
		ck_assert_msg(live_count((enum live_kind)k) == 0, "%zu %s left", live_count((enum live_kind)k),
			      live_name((enum live_kind)k));
}

static struct prefix prefix_of(unsigned i)
{
	return prefix_make_v4(0x0af40000 | i << 8, 24);
}

/* An event that says nothing in particular, and all that follows from it. */
static void settle(void)
{
	nexthop_doubt_all(&nexthops);
	for (bool more = true; more;) {
		more = nexthop_work(&nexthops);
		more |= rib_review(rib, 7); /* each in every round */
	}
	ck_assert(nexthop_settled(&nexthops));
}

static const struct rib_path *best_of(unsigned i)
{
	struct prefix p = prefix_of(i);
	struct rib_entry *e = rib_find(rib, &p);
	return e ? rib_best(e) : NULL;
}

static const char *why_lost(unsigned i, const struct rib_source *s)
{
	struct prefix p = prefix_of(i);
	for (struct rib_path *path = rib_path_first(rib_find(rib, &p)); path; path = rib_path_next(rib, path))
		if (rib_path_source(path) == s)
			return rib_decision_rule(path->lost_by);
	return "no such path";
}

/* What the kernel would be given for a prefix: the first gateway's last byte, -1: nothing. */
static int gateway_of(unsigned i)
{
	struct prefix p = prefix_of(i);
	struct nhset *s = nhset_choose(&nhsets, rib, rib_find(rib, &p));
	int byte = s && s->count ? s->at[0].gateway.b[15] : -1;
	nhset_unref(s);
	return byte;
}

START_TEST(unreachable_is_no_path_and_comes_back)
{
	struct prefix p = prefix_of(0);
	struct rib_cursor c;
	set_world(0, NEXTHOP_NO_ROUTE, 0);
	rib_announce(rib, sources[0], &p, sets[0], now);
	ck_assert_ptr_null(best_of(0));
	ck_assert_str_eq(why_lost(0, sources[0]), "next hop unreachable");
	ck_assert_int_eq(gateway_of(0), -1);
	ck_assert_ptr_null(rib_find_longest(rib, &p.addr, true));
	ck_assert_ptr_nonnull(rib_find_longest(rib, &p.addr, false));
	rib_cursor_open(rib, &c);
	while (rib_cursor_next(&c))
		;
	set_world(0, NEXTHOP_DIRECT, 0);
	settle();
	ck_assert_ptr_nonnull(rib_cursor_next(&c)); /* told at once */
	ck_assert_ptr_nonnull(best_of(0));
	ck_assert_int_eq(gateway_of(0), 1);
	ck_assert_uint_eq(sources[0]->best, 1);
	set_world(0, NEXTHOP_LINK_DOWN, 0);
	settle();
	ck_assert_ptr_nonnull(rib_cursor_next(&c));
	ck_assert_ptr_null(best_of(0));
	ck_assert_uint_eq(sources[0]->best, 0);
	rib_cursor_close(&c);
}
END_TEST

/* The kernel could not be asked: that is no "no". */
START_TEST(no_answer_changes_nothing)
{
	struct prefix p = prefix_of(0), q = prefix_of(1);
	rib_announce(rib, sources[3], &p, sets[3], now);
	set_world(3, NEXTHOP_NOT_ASKED, 0);
	set_world(4, NEXTHOP_NOT_ASKED, 0);
	settle();
	ck_assert_ptr_nonnull(best_of(0));
	rib_announce(rib, sources[3], &q, sets[4], now); /* and no "yes" */
	settle();
	ck_assert_ptr_null(best_of(1));
	set_world(3, NEXTHOP_NO_ROUTE, 0);
	set_world(4, NEXTHOP_DIRECT, 0);
	settle();
	ck_assert_ptr_null(best_of(0));
	ck_assert_ptr_nonnull(best_of(1));
}
END_TEST

START_TEST(the_reachable_one_wins)
{
	struct prefix p = prefix_of(0);
	set_world(1, NEXTHOP_DEFAULT_ONLY, 0);
	rib_announce(rib, sources[1], &p, sets[1], now); /* it has the lower router ID */
	rib_announce(rib, sources[0], &p, sets[0], now);
	ck_assert_ptr_eq(rib_path_source(best_of(0)), sources[0]);
	ck_assert_int_eq(gateway_of(0), 1);
	set_world(1, NEXTHOP_DIRECT, 0);
	settle();
	ck_assert_ptr_eq(rib_path_source(best_of(0)), sources[1]);
	ck_assert_str_eq(why_lost(0, sources[0]), "router ID");
	set_world(1, NEXTHOP_NO_ROUTE, 0);
	set_world(0, NEXTHOP_NO_ROUTE, 0);
	settle();
	ck_assert_ptr_null(best_of(0));
	ck_assert_str_eq(why_lost(0, sources[0]), "next hop unreachable");
}
END_TEST

/* In every order of arrival: direct before a gateway before recursive, and that comes after external over internal. */
START_TEST(metric_in_every_order)
{
	static const unsigned orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	struct prefix p = prefix_of(0);
	struct addr a = hop_addr(5);
	struct bgp_attrs *internal = make_attrs(&a, true, 100);
	set_world(2, NEXTHOP_RECURSIVE, 1);
	set_world(3, NEXTHOP_GATEWAY, 2);
	const struct {
		struct rib_source *source;
		struct bgp_attrs *attrs;
		const char *lost_by;
	} paths[3] = {{sources[2], sets[2], "next-hop metric"}, {make_source(rib, 2), sets[3], ""},
		      {sources[3], internal, "external over internal"}};
	for (unsigned o = 0; o < 6; o++) {
		for (unsigned i = 0; i < 3; i++)
			rib_announce(rib, paths[orders[o][i]].source, &p, paths[orders[o][i]].attrs, now);
		for (unsigned i = 0; i < 3; i++)
			ck_assert_str_eq(why_lost(0, paths[i].source), paths[i].lost_by);
		ck_assert_int_eq(gateway_of(0), 2); /* the kernel's way to it, not the next hop itself */
		for (unsigned i = 0; i < 3; i++)
			rib_withdraw(rib, paths[orders[o][i]].source, &p);
		rib_sweep(rib);
	}
	rib_source_free(paths[1].source);
	bgp_attrs_unref(internal);
}
END_TEST

START_TEST(another_gateway_is_told_to_the_kernel_only)
{
	struct prefix p = prefix_of(0);
	struct rib_cursor c;
	set_world(2, NEXTHOP_GATEWAY, 7);
	rib_announce(rib, sources[2], &p, sets[2], now);
	rib_cursor_open(rib, &c);
	while (rib_cursor_next(&c))
		;
	rib_sweep(rib);
	ck_assert_int_eq(gateway_of(0), 7);
	settle();
	ck_assert(rib_cursor_at_end(&c)); /* the same answer again is no news */
	set_world(2, NEXTHOP_GATEWAY, 8);
	settle();
	struct rib_entry *e = rib_cursor_next(&c);
	ck_assert_ptr_nonnull(e);
	ck_assert_int_eq(e->flags & RIB_ENTRY_BEST_CHANGED, 0); /* so peers hear nothing */
	ck_assert_int_eq(gateway_of(0), 8);
	rib_cursor_close(&c);
}
END_TEST

/* RFC 4271 section 5.1.3: what an external peer on our link names must be on a link of ours, or be that peer. */
START_TEST(external_next_hop_off_the_link)
{
	struct prefix p = prefix_of(0), q = prefix_of(1);
	set_world(4, NEXTHOP_GATEWAY, 1);
	set_world(0, NEXTHOP_GATEWAY, 1);
	rib_announce(rib, sources[0], &p, sets[4], now);
	ck_assert_str_eq(why_lost(0, sources[0]), "next hop unreachable");
	rib_announce(rib, sources[0], &q, sets[0], now); /* its own address */
	ck_assert_ptr_nonnull(best_of(1));
	rib_announce(rib, sources[2], &p, sets[4], now); /* a peer that is far away */
	ck_assert_ptr_eq(rib_path_source(best_of(0)), sources[2]);
	set_world(4, NEXTHOP_DIRECT, 0);
	settle();
	ck_assert_str_ne(why_lost(0, sources[0]), "next hop unreachable");
}
END_TEST

/* The same address in a VRF is another next hop. */
START_TEST(a_vrf_has_its_own)
{
	struct prefix p = prefix_of(0);
	struct rib_source *red = rib_source_new(rib, &(struct rib_source){.kind = RIB_SOURCE_BGP, .vrf = 12});
	struct addr a = hop_addr(0);
	rib_announce(rib, red, &p, sets[0], now);
	ck_assert_ptr_nonnull(nexthop_find(&nexthops, &a, 12));
	ck_assert_ptr_null(nexthop_find(&nexthops, &a, 0));
	rib_withdraw(rib, red, &p);
	rib_source_free(red);
}
END_TEST

START_TEST(asked_once)
{
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 1000; i++) {
			struct prefix p = prefix_of(i);
			rib_announce(rib, sources[0], &p, sets[0], now);
		}
		for (unsigned i = 0; i < 1000; i++) {
			struct prefix p = prefix_of(i);
			rib_withdraw(rib, sources[0], &p);
		}
	}
	ck_assert_uint_eq(asked, 1);
	ck_assert_uint_eq(live_count(LIVE_NEXTHOP), 1);
	nexthop_sweep(&nexthops);
	ck_assert_uint_eq(live_count(LIVE_NEXTHOP), 0);
	struct prefix p = prefix_of(0);
	rib_announce(rib, sources[0], &p, sets[0], now);
	nexthop_sweep(&nexthops); /* it is in use */
	ck_assert_uint_eq(live_count(LIVE_NEXTHOP), 1);
	ck_assert_ptr_nonnull(best_of(0));
}
END_TEST

/* A peer that names thousands costs a bounded number of questions a turn. */
START_TEST(questions_have_a_budget)
{
	enum { MANY = 1000 };
	struct nexthop *held[MANY];
	unsigned turns = 0;
	for (unsigned i = 0; i < MANY; i++) {
		struct addr a = addr_from_v4(0x0b000000 + i);
		held[i] = nexthop_hold(&nexthops, &a, 0);
	}
	ck_assert_uint_eq(asked, NEXTHOP_BUDGET);
	ck_assert_uint_eq(nexthop_metric(held[MANY - 1]), NEXTHOP_METRIC_UNREACHABLE);
	do {
		unsigned before = asked;
		turns++;
		nexthop_work(&nexthops);
		ck_assert_uint_le(asked - before, NEXTHOP_BUDGET);
	} while (!nexthop_settled(&nexthops));
	ck_assert_uint_le(turns, MANY / NEXTHOP_BUDGET + 1);
	ck_assert_uint_eq(nexthop_metric(held[MANY - 1]), 0);
	for (unsigned i = 0; i < MANY; i++)
		nexthop_release(&nexthops, held[i]);
	nexthop_sweep(&nexthops);
}
END_TEST

START_TEST(events_concern_few)
{
	struct prefix all = prefix_make_v4(0, 0), one = prefix_make_v4(0x0a000002, 32);
	struct addr local;
	ck_assert(addr_parse("fe80::1", &local));
	struct addr zero = addr_from_v4(0), a = hop_addr(0), b = hop_addr(1), c = hop_addr(2);
	struct nexthop *held[] = {nexthop_hold(&nexthops, &a, 0), nexthop_hold(&nexthops, &b, 0), NULL,
				  nexthop_hold(&nexthops, &local, 3), nexthop_hold(&nexthops, &local, 4),
				  nexthop_hold(&nexthops, &local, 0), nexthop_hold(&nexthops, &zero, 0)};
	set_world(2, NEXTHOP_GATEWAY, 1);
	held[2] = nexthop_hold(&nexthops, &c, 0);
	ck_assert_ptr_ne(held[3], held[4]); /* one address on two links */
	ck_assert_int_eq(held[5]->state, NEXTHOP_NO_LINK);
	ck_assert_int_eq(held[6]->state, NEXTHOP_NO_LINK);
	static const struct {
		const char *what;
		unsigned asks;
	} wants[] = {{"prefix", 1}, {"all of IPv4", 3}, {"link", 5}, {"another link, so those that are on it or on none", 1}, {"indirect", 1}};
	for (unsigned i = 0; i < 5; i++) {
		asked = 0;
		switch (i) {
		case 0: nexthop_doubt_prefix(&nexthops, &one); break;
		case 1: nexthop_doubt_prefix(&nexthops, &all); break;
		case 2: nexthop_doubt_link(&nexthops, 3); break;
		case 3: nexthop_doubt_link(&nexthops, 4); break;
		default: nexthop_doubt_indirect(&nexthops);
		}
		nexthop_work(&nexthops);
		ck_assert_msg(asked == wants[i].asks, "%s: %u asked", wants[i].what, asked);
	}
	for (unsigned i = 0; i < 7; i++)
		nexthop_release(&nexthops, held[i]);
}
END_TEST

/* A round that began in the middle, and prefixes that came before it reached the end of the table: it gets around all the
 * same. (A link flapped while routes came in, and some of the old ones stayed unusable.) */
START_TEST(a_table_that_grows_is_reviewed_to_the_end)
{
	enum { BEFORE = 20, AFTER = 30, BUDGET = 50 };
	for (unsigned i = 0; i < BEFORE; i++) {
		struct prefix p = prefix_of(i);
		rib_announce(rib, sources[3], &p, sets[3], now);
	}
	for (unsigned round = 0; round < 2; round++) {
		set_world(3, round ? NEXTHOP_DIRECT : NEXTHOP_NO_ROUTE, 0);
		nexthop_doubt_all(&nexthops);
		nexthop_work(&nexthops);
		ck_assert(rib_review(rib, BUDGET));
	}
	for (unsigned i = BEFORE; i < AFTER; i++) {
		struct prefix p = prefix_of(i);
		rib_announce(rib, sources[3], &p, sets[3], now);
	}
	while (rib_review(rib, BUDGET))
		;
	for (unsigned i = 0; i < AFTER; i++)
		ck_assert_msg(best_of(i) != NULL, "prefix %u was passed by", i);
}
END_TEST

/* More events than one walk takes: each finds its next hop, none finds another, and nothing is settled in between. */
START_TEST(many_events_concern_few)
{
	enum { MANY = 4 * NEXTHOP_EVENTS };
	struct nexthop *held[MANY];
	for (unsigned i = 0; i < MANY; i++) {
		struct addr a = addr_from_v4(0x0b000000 + i);
		held[i] = nexthop_hold(&nexthops, &a, 0);
	}
	settle();
	asked = 0;
	for (unsigned i = 0; i < MANY; i++) {
		struct prefix one = prefix_make_v4(0x0b000000 + (i | 1), 32); /* each twice */
		nexthop_doubt_prefix(&nexthops, &one);
		ck_assert(!nexthop_settled(&nexthops));
	}
	while (nexthop_work(&nexthops))
		;
	ck_assert(nexthop_settled(&nexthops));
	ck_assert_uint_eq(asked, MANY / 2);
	for (unsigned i = 0; i < MANY; i++)
		nexthop_release(&nexthops, held[i]);
}
END_TEST

/* --- weights by link bandwidth */

static const struct {
	const char *what;
	uint64_t bandwidth[4]; /* 0: no more */
	uint16_t weights[4];
} shares[] = {
	{"equal", {125000000, 125000000}, {1, 1}},
	{"alone", {125000000}, {1}},
	{"10 and 40 Gbit/s", {1250000000, 5000000000}, {1, 4}},
	{"10, 25 and 100 Gbit/s, as single precision has them", {1250000000, 3125000064, 12499999744}, {2, 5, 20}},
	{"3 : 7", {300, 700}, {3, 7}},
	{"within a percent is good enough", {1000, 1001}, {1, 1}},
	{"the smallest gets something", {1, 1000000}, {1, ROUTE_WEIGHT_MAX}},
	{"no larger than need be", {997, 255000}, {1, 254}},
	{"the largest numbers", {UINT64_MAX, UINT64_MAX / 3}, {3, 1}},
};

START_TEST(shares_follow_the_bandwidth)
{
	uint16_t weights[4];
	unsigned n = 0;
	while (n < 4 && shares[_i].bandwidth[n])
		n++;
	nhset_share_out(shares[_i].bandwidth, n, weights);
	for (unsigned i = 0; i < n; i++)
		ck_assert_msg(weights[i] == shares[_i].weights[i], "%s: weight %u is %u", shares[_i].what, i, weights[i]);
}
END_TEST

START_TEST(a_path_without_bandwidth_makes_all_equal)
{
	uint16_t weights[3] = {0};
	nhset_share_out((const uint64_t[]){1000, 0, 4000}, 3, weights);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_uint_eq(weights[i], 1);
}
END_TEST

/* --- whatever happens in whatever order: the same as if all had come at once, in another order, to an empty table */

struct model {
	struct bgp_attrs *has[SOURCES][PREFIXES]; /* borrowed */
	struct bgp_attrs *seen[PREFIXES];         /* by a reader of the journal */
};

static void read_journal(struct rib_cursor *c, struct model *m)
{
	struct rib_entry *e;
	while ((e = rib_cursor_next(c))) {
		const struct rib_path *best = rib_best(e);
		struct prefix p = rib_entry_prefix(e);
		m->seen[addr_to_v4(&p.addr) >> 8 & 0xff] = best ? rib_path_attrs(best) : NULL;
	}
}

static void check_against_fresh(const struct model *m)
{
	struct rib *other = fresh_rib();
	struct rib_source *theirs[SOURCES];
	for (unsigned s = SOURCES; s-- > 0;) {
		theirs[s] = make_source(other, s);
		for (unsigned i = PREFIXES; i-- > 0;) {
			struct prefix p = prefix_of(i);
			if (m->has[s][i])
				rib_announce(other, theirs[s], &p, m->has[s][i], now);
		}
	}
	for (unsigned i = 0; i < PREFIXES; i++) {
		struct prefix p = prefix_of(i);
		struct rib_entry *e = rib_find(other, &p);
		const struct rib_path *a = best_of(i), *b = e ? rib_best(e) : NULL;
		ck_assert_int_eq(a != NULL, b != NULL);
		ck_assert(!a || (rib_path_attrs(a) == rib_path_attrs(b) && rib_path_source(a)->router_id == rib_path_source(b)->router_id));
		ck_assert_ptr_eq(m->seen[i], a ? rib_path_attrs(a) : NULL);
		struct nhset *x = rib_find(rib, &p) ? nhset_choose(&nhsets, rib, rib_find(rib, &p)) : NULL;
		struct nhset *y = e ? nhset_choose(&nhsets, other, e) : NULL;
		ck_assert_ptr_eq(x, y);
		nhset_unref(x);
		nhset_unref(y);
	}
	for (unsigned s = 0; s < SOURCES; s++) {
		while (!rib_source_flush(other, theirs[s], 1000))
			;
		rib_source_free(theirs[s]);
	}
	rib_free(other);
}

START_TEST(ends_the_same_in_any_order)
{
	struct random rnd = {.state = (uint64_t)_i + 5};
	struct model m = {0};
	struct rib_cursor c;
	rib_cursor_open(rib, &c);
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned i = random_next(&rnd) % PREFIXES, s = random_next(&rnd) % SOURCES, h = random_next(&rnd) % HOPS;
		struct prefix p = prefix_of(i);
		switch (random_next(&rnd) % 8) {
		case 0: case 1: case 2:
			m.has[s][i] = sets[h];
			rib_announce(rib, sources[s], &p, sets[h], now);
			break;
		case 3:
			m.has[s][i] = NULL;
			rib_withdraw(rib, sources[s], &p);
			break;
		case 4:
			set_world(h, (enum nexthop_state[]){NEXTHOP_DIRECT, NEXTHOP_GATEWAY, NEXTHOP_RECURSIVE,
							    NEXTHOP_NO_ROUTE}[random_next(&rnd) % 4], random_next(&rnd) % 3);
			nexthop_doubt_all(&nexthops);
			break;
		case 5:
			nexthop_work(&nexthops);
			break;
		case 6:
			rib_review(rib, 1 + random_next(&rnd) % 40);
			break;
		default:
			read_journal(&c, &m);
			rib_sweep(rib);
			if (random_next(&rnd) % 50)
				break;
			nexthop_sweep(&nexthops);
			settle();
			read_journal(&c, &m);
			check_against_fresh(&m);
		}
	}
	settle();
	read_journal(&c, &m);
	check_against_fresh(&m);
	rib_cursor_close(&c);
}
END_TEST

/* --- life */

static bool lives(unsigned hop)
{
	struct addr a = hop_addr(hop);
	const struct nexthop *nh = nexthop_find(&nexthops, &a, 0);
	return nh && nexthop_is_alive(nh);
}

/* True once where there was news. */
static bool had_news(void)
{
	bool news = nexthops.news_of_life;
	nexthops.news_of_life = false;
	return news;
}

START_TEST(dead_with_the_last_source_that_names_it)
{
	for (unsigned i = 0; i < PREFIXES; i++) {
		struct prefix p = prefix_of(i);
		rib_announce(rib, sources[0], &p, sets[0], now);
		rib_announce(rib, sources[1], &p, sets[i % 2], now);
	}
	ck_assert(had_news());
	ck_assert(lives(0) && lives(1));
	rib_source_leaves(rib, sources[1]);
	rib_source_leaves(rib, sources[1]);
	ck_assert(had_news());
	ck_assert(lives(0) && !lives(1));
	struct prefix p = prefix_of(1);
	rib_announce(rib, sources[2], &p, sets[1], now);
	ck_assert_msg(had_news() && lives(1), "another names it now");
	while (!rib_source_flush(rib, sources[1], 20))
		;
	ck_assert(lives(0) && lives(1));
	had_news();
	rib_source_leaves(rib, sources[2]);
	ck_assert(had_news() && !lives(1));
	set_world(0, NEXTHOP_NO_ROUTE, 0);
	world[0].via_count = 0;
	nexthop_doubt_all(&nexthops);
	nexthop_work(&nexthops);
	ck_assert_msg(had_news() && !lives(0), "nothing leads to it");
}
END_TEST

/* Of a further one than a source counts, the loss of the source says nothing; nor does what was counted go wrong. */
START_TEST(more_next_hops_than_a_source_counts)
{
	unsigned i = 0, alive = 0;
	for (; i < HOPS; i++) {
		struct prefix p = prefix_of(i), q = prefix_of(HOPS + i);
		rib_announce(rib, sources[2], &p, sets[i], now);
		rib_announce(rib, sources[2], &q, sets[i], now);
	}
	/* the first is let go: others may be counted in its place from now on */
	struct prefix p = prefix_of(0), q = prefix_of(HOPS), more = prefix_of(2 * HOPS);
	rib_withdraw(rib, sources[2], &p);
	rib_withdraw(rib, sources[2], &q);
	rib_announce(rib, sources[2], &more, sets[HOPS - 1], now);
	p = prefix_of(HOPS - 1);
	rib_withdraw(rib, sources[2], &p);
	rib_source_leaves(rib, sources[2]);
	for (i = 0; i < HOPS; i++)
		alive += lives(i);
	ck_assert_uint_eq(alive, HOPS - RIB_SOURCE_NEXT_HOPS + 0u);
	while (!rib_source_flush(rib, sources[2], 20))
		;
	for (struct nexthop *nh = nexthop_each(&nexthops, NULL); nh; nh = nexthop_each(&nexthops, nh))
		ck_abort_msg("one is held");
	for (i = 0; i < HOPS; i++) {
		struct addr a = hop_addr(i);
		const struct nexthop *nh = nexthop_find(&nexthops, &a, 0);
		ck_assert(nh && nh->refs == 0 && nh->leaving == 0);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("next hops");
	TCase *t = tcase_create("next hops");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, unreachable_is_no_path_and_comes_back);
	tcase_add_test(t, a_table_that_grows_is_reviewed_to_the_end);
	tcase_add_test(t, no_answer_changes_nothing);
	tcase_add_test(t, the_reachable_one_wins);
	tcase_add_test(t, metric_in_every_order);
	tcase_add_test(t, another_gateway_is_told_to_the_kernel_only);
	tcase_add_test(t, external_next_hop_off_the_link);
	tcase_add_test(t, a_vrf_has_its_own);
	tcase_add_test(t, asked_once);
	tcase_add_test(t, questions_have_a_budget);
	tcase_add_test(t, events_concern_few);
	tcase_add_test(t, many_events_concern_few);
	tcase_add_loop_test(t, shares_follow_the_bandwidth, 0, sizeof shares / sizeof *shares);
	tcase_add_test(t, a_path_without_bandwidth_makes_all_equal);
	tcase_add_loop_test(t, ends_the_same_in_any_order, 0, 10);
	tcase_add_test(t, dead_with_the_last_source_that_names_it);
	tcase_add_test(t, more_next_hops_than_a_source_counts);
	suite_add_tcase(s, t);
	return run_suite(s);
}
