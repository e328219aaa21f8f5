/* Next-hop objects against a kernel in memory that does as the real one does: a link that goes takes its objects along without
 * a word, an object that goes leaves its groups, and a group without members is no more. Whatever comes in, routes, objects
 * and groups agree in the end, and nothing is left over.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rib/objects.h"
#include "src/base/live.h"
#include "src/base/random.h"
#include "tests/unit/run_suite.h"

enum { IDS = 400, GATEWAYS = 6, LINKS = 3, SETS = 12, ROUTES = 25, STEPS = 5000 };

static const struct route_mark mark = {.table = 254, .metric = 32, .protocol = 171};
static struct nhset_table nhsets;
static struct objects objects;
static struct nhset *sets[SETS];

static struct {
	struct nexthop_object object[IDS];
	unsigned count, requests;
	bool down[LINKS + 1];
	bool refuses, has_none;
} kernel;

/* --- the kernel */

static struct nexthop_object *find(uint32_t id)
{
	for (unsigned i = 0; i < kernel.count; i++)
		if (kernel.object[i].id == id)
			return &kernel.object[i];
	return NULL;
}

static void drop(uint32_t id)
{
	struct nexthop_object *o = find(id);
	if (!o)
		return;
	*o = kernel.object[--kernel.count];
	for (unsigned i = 0; i < kernel.count; i++) {
		struct nexthop_object *g = &kernel.object[i];
		for (unsigned k = 0; k < g->member_count; k++) {
			if (g->members[k].id != id)
				continue;
			g->members[k] = g->members[--g->member_count];
			if (!g->member_count) {
				drop(g->id);
				i = UINT32_MAX; /* from the start */
				break;
			}
		}
	}
}

static void put(const struct nexthop_object *o)
{
	ck_assert_uint_lt(kernel.count, IDS);
	kernel.object[kernel.count++] = *o;
}

static int members_there(const struct nexthop_object *g)
{
	for (unsigned i = 0; i < g->member_count; i++)
		if (!find(g->members[i].id) || find(g->members[i].id)->kind != NEXTHOP_OBJECT_HOP)
			return -EINVAL;
	return g->member_count ? 0 : -EINVAL;
}

static int does(const struct objects_intent *in)
{
	struct nexthop_object *there = find(in->object.id);
	kernel.requests++;
	if (kernel.has_none)
		return -EOPNOTSUPP;
	ck_assert(in->op == OBJECTS_DELETE || in->object.protocol == mark.protocol);
	if (in->op == OBJECTS_DELETE) {
		ck_assert_msg(!there || there->protocol == mark.protocol, "another's object would be deleted");
		drop(in->object.id);
		return there ? 0 : -ENOENT;
	}
	if (in->op == OBJECTS_ADD && there)
		return -EEXIST;
	if (in->op == OBJECTS_REPLACE && !there)
		return -ENOENT;
	ck_assert(!there || there->protocol == mark.protocol);
	if (kernel.refuses)
		return -ENOBUFS;
	if (in->object.kind == NEXTHOP_OBJECT_HOP && kernel.down[in->object.hop.ifindex])
		return -ENETDOWN;
	if (in->object.kind == NEXTHOP_OBJECT_GROUP && members_there(&in->object))
		return -EINVAL;
	if (there)
		*there = in->object;
	else
		put(&in->object);
	return 0;
}

static void link_down(uint32_t ifindex)
{
	kernel.down[ifindex] = true;
	for (unsigned i = 0; i < kernel.count; i++) {
		if (kernel.object[i].kind != NEXTHOP_OBJECT_HOP || kernel.object[i].hop.ifindex != ifindex)
			continue;
		drop(kernel.object[i].id);
		i = UINT32_MAX;
	}
}

/* --- ours */

static bool say(void)
{
	struct objects_intent in;
	bool off = false;
	for (unsigned n = 0; objects_next(&objects, &in); n++) {
		ck_assert_msg(n < 10000, "there is no end to it");
		off |= objects_done(&objects, &in, does(&in));
	}
	return off;
}

static size_t dump(void)
{
	objects_dump_begin(&objects);
	for (unsigned i = 0; i < kernel.count; i++)
		objects_dump_found(&objects, &kernel.object[i], true);
	size_t differ = objects_dump_end(&objects);
	say();
	return differ;
}

static struct object_way *ready_way(struct nhset *s)
{
	for (unsigned i = 0; i < 10; i++) {
		struct nhset *t = objects_target(&objects, s);
		struct object_way *w = objects_way(&objects, t);
		nhset_unref(t);
		if (objects_ready(w))
			return w;
		say();
	}
	ck_abort_msg("it never gets ready");
}

static struct route_nexthop hop(unsigned i)
{
	return (struct route_nexthop){.gateway = addr_from_v4(0x0a000002 + i), .ifindex = 1 + i % LINKS, .weight = 1};
}

static struct nhset *set_of(unsigned bits)
{
	struct route_nexthop at[GATEWAYS];
	unsigned n = 0;
	for (unsigned i = 0; i < GATEWAYS; i++)
		if (bits >> i & 1) {
			at[n] = hop(i);
			at[n++].weight = (uint16_t)(1 + (bits + i) % 3);
		}
	return nhset_of(&nhsets, at, n);
}

static void setup(void)
{
	memset(&kernel, 0, sizeof kernel);
	nhset_table_init(&nhsets);
	objects_init(&objects, &nhsets, &mark, false);
	for (unsigned i = 0; i < SETS; i++)
		sets[i] = set_of(i < GATEWAYS ? 1u << i : i * 11 % 63 + 1);
}

static void teardown(void)
{
	objects_fini(&objects);
	for (unsigned i = 0; i < SETS; i++)
		nhset_unref(sets[i]);
	nhset_table_fini(&nhsets);
	ck_assert_uint_eq(live_count(LIVE_NHSET), 0);
	ck_assert_uint_eq(live_count(LIVE_OBJECT_HOP), 0);
	ck_assert_uint_eq(live_count(LIVE_OBJECT_WAY), 0);
}

static void say_alive(unsigned bits)
{
	objects_alive_begin(&objects, false);
	for (unsigned i = 0; i < GATEWAYS; i++) {
		struct route_nexthop nh = hop(i);
		if (bits >> i & 1)
			objects_alive(&objects, &nh.gateway, nh.ifindex);
	}
}

static bool leads_to(const struct nexthop_object *o, const struct route_nexthop *nh, unsigned weight)
{
	if (o->kind == NEXTHOP_OBJECT_HOP)
		return addr_eq(&o->hop.gateway, &nh->gateway) && o->hop.ifindex == nh->ifindex;
	for (unsigned i = 0; i < o->member_count; i++)
		if (leads_to(find(o->members[i].id), nh, 1) && o->members[i].weight == weight)
			return true;
	return false;
}

/* The kernel's object is the set. */
static void check_way(const struct object_way *w, const struct nhset *set)
{
	ck_assert(!w->plain && !w->gone);
	const struct nexthop_object *o = find(w->id);
	ck_assert_ptr_nonnull(o);
	ck_assert_uint_eq(o->kind == NEXTHOP_OBJECT_HOP ? 1 : o->member_count, set->count);
	for (unsigned i = 0; i < set->count; i++)
		ck_assert(leads_to(o, &set->at[i], set->at[i].weight));
}

/* --- single cases */

START_TEST(prefixes_with_the_same_next_hops_share_objects)
{
	struct nhset *two = set_of(3), *again = set_of(7);
	struct object_way *a = objects_ref(ready_way(two)), *b = objects_ref(ready_way(again));
	check_way(a, two);
	check_way(b, again);
	ck_assert_uint_eq(kernel.count, 3 + 2);
	ck_assert_ptr_eq(ready_way(two), a);
	struct object_way *one = objects_ref(ready_way(sets[0])); /* its next hop is there */
	ck_assert_uint_eq(kernel.count, 5);
	check_way(one, sets[0]);
	ck_assert(objects_fits(&objects, a, two) && !objects_fits(&objects, a, again));
	objects_unref(&objects, a);
	objects_unref(&objects, b);
	say();
	ck_assert_uint_eq(kernel.count, 1);
	objects_unref(&objects, one);
	say();
	ck_assert_uint_eq(kernel.count, 0);
	nhset_unref(two);
	nhset_unref(again);
}
END_TEST

START_TEST(ids_are_from_our_range_and_others_stay)
{
	struct nexthop_object other = {.id = objects.first, .protocol = 4, .kind = NEXTHOP_OBJECT_HOP, .hop = hop(1)};
	struct nexthop_object unseen = {.id = objects.first + 2, .protocol = 171, .kind = NEXTHOP_OBJECT_HOP, .hop = hop(1)};
	put(&other);
	dump();
	put(&unseen); /* after the dump */
	for (unsigned i = 0; i < 3; i++) {
		struct object_way *w = objects_ref(ready_way(sets[i]));
		ck_assert_uint_ge(w->id, OBJECTS_ID_FIRST);
		ck_assert_uint_lt(w->id, OBJECTS_ID_FIRST + OBJECTS_PARTS * OBJECTS_IDS);
		check_way(w, sets[i]);
	}
	ck_assert(find(objects.first)->protocol == 4 && addr_eq(&find(objects.first + 2)->hop.gateway, &unseen.hop.gateway));
}
END_TEST

/* What a dump shows in our range with our protocol is taken for ours: no other daemon's may be there. */
START_TEST(daemons_side_by_side_use_ranges_of_their_own)
{
	for (uint32_t i = 1; i < 1000; i++) {
		const struct route_mark marks[] = {{mark.table + i, mark.metric, mark.protocol},
						   {mark.table, mark.metric + i, mark.protocol},
						   {mark.table, mark.metric, (uint8_t)(mark.protocol + i % 255 + 1)}};
		for (size_t k = 0; k < sizeof marks / sizeof *marks; k++) {
			struct objects o;
			objects_init(&o, &nhsets, &marks[k], false);
			ck_assert(o.first >= objects.first + OBJECTS_IDS || o.first + OBJECTS_IDS <= objects.first);
			objects_fini(&o);
		}
	}
}
END_TEST

/* One message, whatever refers to the group, and none for routes. */
START_TEST(a_lost_next_hop_leaves_its_groups_at_once)
{
	struct nhset *both = set_of(3), *b_only = sets[1];
	struct object_way *w = objects_ref(ready_way(both)), *single = objects_ref(ready_way(b_only));
	say_alive(3);
	ck_assert(!objects_alive_end(&objects));
	uint32_t id = w->id, before = kernel.requests;
	say_alive(1);
	ck_assert(!objects_alive_end(&objects));
	say();
	ck_assert_uint_eq(kernel.requests, before + 1);
	ck_assert_uint_eq(find(id)->member_count, 1);
	ck_assert(objects_fits(&objects, w, sets[0])); /* what the RIB will say when it has got there */
	ck_assert(!single->gone && find(single->id)); /* nothing else remains: it stays for its routes to leave */
	struct nhset *t = objects_target(&objects, both); /* who has not heard yet is not sent there again */
	ck_assert_ptr_eq(t, sets[0]);
	nhset_unref(t);
	/* it comes back: what wants both gets a new group, and the small one is not touched */
	say_alive(3);
	ck_assert(objects_alive_end(&objects));
	check_way(ready_way(both), both);
	ck_assert_ptr_ne(ready_way(both), w);
	check_way(w, sets[0]);
	nhset_unref(both);
}
END_TEST

/* Where no route has it alone, the kernel takes it out of every group by itself, and need not look at one route. */
START_TEST(a_lost_next_hop_of_groups_only_is_deleted)
{
	struct nhset *two = set_of(3), *three = set_of(7), *others = set_of(1 << 4 | 1 << 5);
	struct object_way *a = objects_ref(ready_way(two)), *b = objects_ref(ready_way(three));
	struct object_way *c = objects_ref(ready_way(others));
	unsigned before = kernel.requests;
	say_alive(63 - (1 << 1));
	objects_alive_end(&objects);
	say();
	ck_assert_uint_eq(kernel.requests, before + 1);
	ck_assert_uint_eq(find(a->id)->member_count, 1);
	ck_assert_uint_eq(find(b->id)->member_count, 2);
	check_way(c, others);
	ck_assert_uint_eq(dump(), 0); /* it is what we think it is */
	ck_assert(objects_fits(&objects, a, sets[0]));
	nhset_unref(two);
	nhset_unref(three);
	nhset_unref(others);
}
END_TEST

START_TEST(a_group_whose_next_hops_are_all_lost_stays)
{
	struct nhset *both = set_of(3);
	struct object_way *w = objects_ref(ready_way(both));
	for (unsigned i = 0; i < 2; i++) {
		struct route_nexthop nh = hop(i);
		objects_alive(&objects, &nh.gateway, nh.ifindex);
	}
	objects_alive_begin(&objects, false);
	objects_alive_end(&objects);
	say();
	check_way(w, both);
	ck_assert_ptr_eq(ready_way(both), w);
	nhset_unref(both);
}
END_TEST

/* Of a former life, while its peers are not back: nobody says that it is alive, and it stays. */
START_TEST(what_was_never_alive_is_not_lost)
{
	struct nhset *both = set_of(3);
	objects_ref(ready_way(both));
	objects_fini(&objects);
	objects_init(&objects, &nhsets, &mark, false);
	objects.adopting = true;
	dump();
	objects_alive_begin(&objects, false);
	objects_alive_end(&objects);
	say();
	struct object_way *w = both->way;
	check_way(w, both);
	nhset_unref(both);
}
END_TEST

/* Of a former life, while some peers are back and others are not: it leaves its groups, and none goes with its routes, also
 * where these were not read yet. */
START_TEST(a_former_life_loses_a_next_hop)
{
	struct nhset *both = set_of(3);
	uint32_t id = objects_ref(ready_way(both))->id;
	objects_fini(&objects);
	objects_init(&objects, &nhsets, &mark, false);
	objects.adopting = true;
	dump();
	struct route r = {.nexthop_id = id};
	struct object_way *w = objects_way_found(&objects, &r);
	if (_i)
		objects_unref(&objects, w);
	say_alive(3);
	ck_assert(!objects_alive_end(&objects));
	say_alive(1);
	objects_alive_end(&objects);
	say();
	check_way(w, sets[0]);
	ck_assert_uint_eq(dump(), 0);
	check_way(w, sets[0]);
	nhset_unref(both);
}
END_TEST

/* It was about to be deleted, which would have taken it out of the group. */
START_TEST(a_lost_next_hop_that_is_back_before_its_deletion)
{
	struct nhset *both = set_of(3);
	struct object_way *w = objects_ref(ready_way(both));
	say_alive(1);
	objects_alive_end(&objects);
	say_alive(3);
	ck_assert(objects_alive_end(&objects));
	struct object_way *again = objects_ref(ready_way(both));
	check_way(again, both);
	ck_assert(w != again && objects_fits(&objects, w, sets[0]));
	ck_assert(objects.doubted);
	dump();
	check_way(w, sets[0]);
	nhset_unref(both);
}
END_TEST

START_TEST(a_former_life_is_taken_over)
{
	struct nhset *both = set_of(5);
	struct object_way *w = objects_ref(ready_way(both));
	uint32_t group = w->id, one = objects_ref(ready_way(sets[3]))->id;
	objects_ref(ready_way(sets[4]));
	objects_fini(&objects);
	objects_init(&objects, &nhsets, &mark, false);
	objects.adopting = true;
	unsigned count = kernel.count, before = kernel.requests;
	dump();
	struct route r = {.nexthop_id = group}, s = {.nexthop_id = one};
	struct object_way *found = objects_way_found(&objects, &r), *single = objects_way_found(&objects, &s);
	ck_assert(objects_fits(&objects, found, both) && objects_fits(&objects, single, sets[3]));
	ck_assert_ptr_eq(ready_way(both), found);
	ck_assert_uint_eq(kernel.requests, before);
	ck_assert_uint_eq(kernel.count, count);
	objects_release(&objects);
	say();
	ck_assert_uint_eq(kernel.count, count - 1); /* the one that no route refers to */
	check_way(found, both);
	nhset_unref(both);
}
END_TEST

START_TEST(what_others_take_away_is_put_back)
{
	struct nhset *both = set_of(3);
	struct object_way *w = objects_ref(ready_way(both));
	uint32_t id = w->id;
	drop(find(id)->members[0].id);
	ck_assert_uint_ge(dump(), 1);
	check_way(w, both); /* in place: its routes never noticed */
	ck_assert_uint_eq(w->id, id);
	ck_assert_uint_eq(dump(), 0);
	kernel.count = 0; /* ip nexthop flush: the routes are gone with it */
	ck_assert_uint_ge(dump(), 1);
	ck_assert(w->gone && !objects_fits(&objects, w, both) && objects_fits(&objects, w, NULL));
	objects_unref(&objects, w);
	check_way(ready_way(both), both);
	nhset_unref(both);
}
END_TEST

START_TEST(without_objects_routes_say_their_next_hops)
{
	kernel.has_none = true;
	struct object_way *w = objects_way(&objects, sets[1]);
	ck_assert(!objects_ready(w));
	ck_assert(say());
	ck_assert(objects.off && objects.off_error == -EOPNOTSUPP);
	unsigned before = kernel.requests;
	w = ready_way(sets[1]);
	ck_assert(w->plain && objects_fits(&objects, w, sets[1]));
	ck_assert(ready_way(sets[7])->plain);
	ck_assert(!say()); /* it is worth one word */
	ck_assert_uint_eq(kernel.requests, before);
	objects_unref(&objects, objects_ref(w));
	objects_unref(&objects, objects_ref(ready_way(sets[7])));
}
END_TEST

START_TEST(a_refusal_is_of_its_set_and_ends_with_the_next_dump)
{
	kernel.down[1] = true;
	struct object_way *w = objects_ref(ready_way(sets[0])), *other = objects_ref(ready_way(sets[1]));
	ck_assert(w->plain && objects_fits(&objects, w, sets[0]));
	check_way(other, sets[1]);
	kernel.down[1] = false;
	dump();
	ck_assert(!objects_fits(&objects, w, sets[0]));
	check_way(ready_way(sets[0]), sets[0]);
	objects_unref(&objects, w);
}
END_TEST

START_TEST(a_group_does_without_a_member_that_is_refused)
{
	struct nhset *both = set_of(3);
	kernel.down[2] = true;
	struct object_way *w = objects_ref(ready_way(both));
	ck_assert_uint_eq(find(w->id)->member_count, 1);
	kernel.down[2] = false;
	dump();
	check_way(w, both);
	nhset_unref(both);
}
END_TEST

START_TEST(no_object_for_blackholes_and_unknown_links)
{
	struct route_nexthop nh = {.gateway = addr_from_v4(0x0a000002), .weight = 1};
	struct nhset *blackhole = nhset_of(&nhsets, NULL, 0), *somewhere = nhset_of(&nhsets, &nh, 1);
	ck_assert(ready_way(blackhole)->plain && ready_way(somewhere)->plain);
	ck_assert_uint_eq(kernel.requests, 0);
	objects_unref(&objects, objects_ref(ready_way(blackhole)));
	objects_unref(&objects, objects_ref(ready_way(somewhere)));
	nhset_unref(blackhole);
	nhset_unref(somewhere);
}
END_TEST

START_TEST(when_numbers_run_out_routes_say_their_next_hops)
{
	for (unsigned i = 0; i < OBJECTS_IDS; i++) {
		struct nexthop_object o = {.id = objects.first + i, .protocol = 4};
		if (i % 2000)
			objects_dump_found(&objects, &o, true);
	}
	struct object_way *w[5];
	unsigned plain = 0;
	for (unsigned i = 0; i < 5; i++) {
		w[i] = objects_ref(ready_way(sets[i]));
		plain += w[i]->plain;
	}
	ck_assert_uint_eq(plain, 2);
	for (unsigned i = 0; i < 5; i++)
		objects_unref(&objects, w[i]);
}
END_TEST

START_TEST(sixty_four_next_hops_are_a_group)
{
	struct route_nexthop at[ROUTE_NEXTHOPS_MAX];
	for (unsigned i = 0; i < ROUTE_NEXTHOPS_MAX; i++)
		at[i] = (struct route_nexthop){.gateway = addr_from_v4(0x0a010001 + i), .ifindex = 1 + i % LINKS, .weight = 1};
	struct nhset *many = nhset_of(&nhsets, at, ROUTE_NEXTHOPS_MAX);
	struct object_way *w = objects_ref(ready_way(many));
	check_way(w, many);
	objects_unref(&objects, w);
	say();
	ck_assert_uint_eq(kernel.count, 0);
	nhset_unref(many);
}
END_TEST

/* --- whatever happens */

static struct {
	struct nhset *want;
	struct object_way *have;
} routes[ROUTES];

static void send_route(unsigned i)
{
	struct nhset *t = routes[i].want ? objects_target(&objects, routes[i].want) : NULL;
	if (!objects_fits(&objects, routes[i].have, t)) {
		struct object_way *w = t ? objects_ref(ready_way(t)) : NULL;
		objects_unref(&objects, routes[i].have);
		routes[i].have = w;
	}
	nhset_unref(t);
}

/* Some paths may be reached through the next hops of these bits. */
static void alive(unsigned bits)
{
	say_alive(bits);
	if (objects_alive_end(&objects))
		for (unsigned i = 0; i < ROUTES; i++)
			send_route(i);
	say();
}

static void damage(struct random *rnd)
{
	struct nexthop_object theirs = {.id = objects.first + random_next(rnd) % 40, .protocol = 4, .hop = hop(0)};
	switch (random_next(rnd) % 6) {
	case 0:
		if (kernel.count && kernel.object[0].protocol == mark.protocol)
			drop(kernel.object[random_next(rnd) % kernel.count].id);
		break;
	case 1:
		kernel.count = random_next(rnd) % 4 ? kernel.count : 0;
		break;
	case 2:
		link_down(1 + random_next(rnd) % LINKS);
		break;
	case 3:
		memset(kernel.down, 0, sizeof kernel.down);
		break;
	case 4:
		if (!find(theirs.id))
			put(&theirs);
		break;
	default:
		kernel.refuses = random_next(rnd) % 4 == 0;
	}
	dump();
}

START_TEST(ends_equal_whatever_happens)
{
	struct random rnd = {.state = (uint64_t)_i * 77 + 1};
	memset(routes, 0, sizeof routes);
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned i = random_next(&rnd) % ROUTES;
		switch (random_next(&rnd) % 8) {
		case 0: case 1: case 2: case 3:
			routes[i].want = random_next(&rnd) % 4 ? sets[random_next(&rnd) % SETS] : NULL;
			send_route(i);
			break;
		case 4:
			alive(random_next(&rnd) % 2 ? 63 : random_next(&rnd) % 64);
			break;
		case 5:
			damage(&rnd);
			break;
		default:
			say();
		}
	}
	memset(kernel.down, 0, sizeof kernel.down);
	kernel.refuses = false;
	alive(63);
	for (unsigned round = 0; round < 2; round++) {
		dump();
		for (unsigned i = 0; i < ROUTES; i++)
			send_route(i);
		say();
	}
	ck_assert_uint_eq(dump(), 0);
	for (unsigned i = 0; i < ROUTES; i++) {
		if (routes[i].want)
			check_way(routes[i].have, routes[i].want);
		objects_unref(&objects, routes[i].have);
	}
	say();
	for (unsigned i = 0; i < 4; i++)
		dump();
	for (unsigned i = 0; i < kernel.count; i++)
		ck_assert_msg(kernel.object[i].protocol == 4, "an object of ours is left over");
	ck_assert_uint_eq(objects.hop_count + objects.group_count, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("objects");
	TCase *t = tcase_create("objects");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, prefixes_with_the_same_next_hops_share_objects);
	tcase_add_test(t, ids_are_from_our_range_and_others_stay);
	tcase_add_test(t, daemons_side_by_side_use_ranges_of_their_own);
	tcase_add_test(t, a_lost_next_hop_leaves_its_groups_at_once);
	tcase_add_test(t, a_lost_next_hop_of_groups_only_is_deleted);
	tcase_add_test(t, a_group_whose_next_hops_are_all_lost_stays);
	tcase_add_test(t, what_was_never_alive_is_not_lost);
	tcase_add_loop_test(t, a_former_life_loses_a_next_hop, 0, 2);
	tcase_add_test(t, a_lost_next_hop_that_is_back_before_its_deletion);
	tcase_add_test(t, a_former_life_is_taken_over);
	tcase_add_test(t, what_others_take_away_is_put_back);
	tcase_add_test(t, without_objects_routes_say_their_next_hops);
	tcase_add_test(t, a_refusal_is_of_its_set_and_ends_with_the_next_dump);
	tcase_add_test(t, a_group_does_without_a_member_that_is_refused);
	tcase_add_test(t, no_object_for_blackholes_and_unknown_links);
	tcase_add_test(t, when_numbers_run_out_routes_say_their_next_hops);
	tcase_add_test(t, sixty_four_next_hops_are_a_group);
	tcase_add_loop_test(t, ends_equal_whatever_happens, 0, 20);
	suite_add_tcase(s, t);
	return run_suite(s);
}
