/* Ten thousand random operations of peers, links, other programs and a kernel that refuses, forgets and loses answers: the
 * table of paths, the next hops, the FIB and the next-hop objects together, joined as the daemon joins them, against a
 * kernel in memory. In the end the kernel has what the peers' words and the links alone say. MODEL_SEED=N runs one seed.
 *
 * The kernel does as the real one: a link that goes takes its objects, and the routes that have no other next hop, along without
 * a word; a group without members is no more; a request is done when it is sent and answered later.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rib/fib.h"
#include "rib/table.h"
#include "src/base/cursor.h"
#include "src/base/live.h"
#include "src/base/random.h"
#include "tests/unit/run_suite.h"

enum { OPERATIONS = 10000, SEEDS = 10, PREFIXES = 40, PEERS = 3, HOPS = 6, LINKS = 3, LENGTHS = 2 };
enum { WINDOW = 8, OBJECTS = 256, STATIC = 4 /* another's protocol */ };

static const struct route_mark mark = {.table = 254, .metric = 32, .protocol = 171};
static struct random dice;
static struct tick now;

/* --- ours */

static struct bgp_attr_table attrs;
static struct nhset_table nhsets;
static struct nexthop_table nexthops;
static struct rib *rib;
static struct rib_cursor cursor;
static struct rib_source *sources[PEERS];
static struct bgp_attrs *sets[HOPS][LENGTHS];
static struct fib fib;

/* --- the world: what the model computes from */

static struct {
	int said[PEERS][PREFIXES]; /* hop * LENGTHS + length, -1: nothing */
	bool down[LINKS], no_answer;
} world;

static struct {
	struct kernel_route {
		bool there;
		struct route route; /* of protocol STATIC: another's */
	} routes[PREFIXES];
	struct nexthop_object objects[OBJECTS]; /* id 0: none */
	struct request {
		struct fib_entry *entry;
		int error;
	} flying[WINDOW];
	unsigned count, refuse_every, requests;
	bool lossy; /* events and answers may be lost */
	bool refuses;
} kernel;

static unsigned roll(unsigned sides)
{
	return (unsigned)(random_next(&dice) % sides);
}

static struct prefix prefix_of(unsigned i)
{
	return prefix_make_v4(0x14000000 | i << 8, 24);
}

static unsigned index_of(const struct prefix *p)
{
	return addr_to_v4(&p->addr) >> 8 & 0xff;
}

static struct addr hop_addr(unsigned i)
{
	return addr_from_v4(0x0a000001 + i);
}

static unsigned hop_index(const struct addr *a)
{
	return addr_to_v4(a) - 0x0a000001;
}

static uint32_t link_of(unsigned hop)
{
	return 1 + hop % LINKS;
}

/* --- the kernel's objects */

static struct nexthop_object *object(uint32_t id)
{
	for (unsigned i = 0; id && i < OBJECTS; i++)
		if (kernel.objects[i].id == id)
			return &kernel.objects[i];
	return NULL;
}

static void drop_routes_of(uint32_t id)
{
	for (unsigned i = 0; i < PREFIXES; i++)
		if (kernel.routes[i].there && kernel.routes[i].route.nexthop_id == id)
			kernel.routes[i].there = false;
}

static void drop_object(uint32_t id);

static bool leave_group(struct nexthop_object *g, uint32_t id)
{
	unsigned before = g->member_count;
	for (unsigned k = 0; k < g->member_count; k++)
		if (g->members[k].id == id)
			g->members[k--] = g->members[--g->member_count];
	return before && !g->member_count;
}

static void drop_object(uint32_t id)
{
	struct nexthop_object *o = object(id);
	if (!o)
		return;
	o->id = 0;
	drop_routes_of(id);
	for (unsigned i = 0; i < OBJECTS; i++)
		if (kernel.objects[i].id && leave_group(&kernel.objects[i], id))
			drop_object(kernel.objects[i].id);
}

static bool members_there(const struct nexthop_object *g)
{
	for (unsigned i = 0; i < g->member_count; i++)
		if (!object(g->members[i].id) || object(g->members[i].id)->kind != NEXTHOP_OBJECT_HOP)
			return false;
	return g->member_count;
}

static bool has_no_memory(void)
{
	return kernel.refuse_every && ++kernel.requests % kernel.refuse_every == 0;
}

static int object_request(const struct objects_intent *in)
{
	struct nexthop_object *there = object(in->object.id), *place = there;
	ck_assert(!there || there->protocol == mark.protocol || in->op == OBJECTS_ADD);
	if (in->op == OBJECTS_DELETE) {
		drop_object(in->object.id);
		return there ? 0 : -ENOENT;
	}
	if (in->op == OBJECTS_ADD ? there != NULL : !there)
		return there ? -EEXIST : -ENOENT;
	if (has_no_memory())
		return -ENOBUFS;
	if (in->object.kind == NEXTHOP_OBJECT_HOP && world.down[in->object.hop.ifindex - 1])
		return -ENETDOWN;
	if (in->object.kind == NEXTHOP_OBJECT_GROUP && !members_there(&in->object))
		return -EINVAL;
	for (unsigned i = 0; !place && i < OBJECTS; i++)
		place = kernel.objects[i].id ? NULL : &kernel.objects[i];
	ck_assert_msg(place != NULL, "objects are not given back");
	*place = in->object;
	return 0;
}

/* --- the kernel's routes */

static bool hops_there(const struct route *r)
{
	for (unsigned i = 0; i < r->nexthop_count; i++)
		if (world.down[link_of(hop_index(&r->nexthops[i].gateway)) - 1])
			return false;
	return true;
}

static int route_request(const struct fib_intent *in)
{
	struct kernel_route *k = &kernel.routes[index_of(&in->route.prefix)];
	bool foreign = k->there && k->route.mark.protocol != mark.protocol;
	ck_assert(in->route.mark.protocol == mark.protocol && in->route.mark.metric == mark.metric);
	if (in->op == FIB_DELETE) {
		if (!k->there || foreign)
			return -ESRCH;
		k->there = false;
		return 0;
	}
	if (in->op == FIB_ADD && k->there)
		return -EEXIST;
	if (has_no_memory())
		return -ENOBUFS;
	if (in->op == FIB_REPLACE && !k->there)
		return -ENOENT;
	if (in->route.nexthop_id ? !object(in->route.nexthop_id) : !hops_there(&in->route))
		return in->route.nexthop_id ? -EINVAL : -ENETUNREACH;
	k->there = true;
	k->route = in->route;
	return 0;
}

/* The next hops that lose their link are no more. */
static void prune(struct kernel_route *k, uint32_t link)
{
	struct route *r = &k->route;
	unsigned before = r->nexthop_count;
	if (!k->there || r->nexthop_id)
		return;
	for (unsigned i = 0; i < r->nexthop_count; i++)
		if (link_of(hop_index(&r->nexthops[i].gateway)) == link)
			r->nexthops[i--] = r->nexthops[--r->nexthop_count];
	if (before && !r->nexthop_count)
		k->there = false;
}

static void take_link(unsigned i)
{
	world.down[i] = true;
	for (unsigned k = 0; k < OBJECTS; k++)
		if (kernel.objects[k].id && kernel.objects[k].kind == NEXTHOP_OBJECT_HOP && kernel.objects[k].hop.ifindex == i + 1)
			drop_object(kernel.objects[k].id);
	for (unsigned k = 0; k < PREFIXES; k++)
		prune(&kernel.routes[k], i + 1);
}

/* As a dump tells it: with the next hops of its object, and the links that the kernel found. */
static struct route as_told(const struct kernel_route *k)
{
	struct route r = k->route;
	const struct nexthop_object *o = object(r.nexthop_id);
	if (o && o->kind == NEXTHOP_OBJECT_HOP) {
		r.nexthops[0] = o->hop;
		r.nexthop_count = 1;
	} else if (o) {
		r.nexthop_count = o->member_count;
		for (unsigned i = 0; i < o->member_count; i++) {
			r.nexthops[i] = object(o->members[i].id)->hop;
			r.nexthops[i].weight = o->members[i].weight;
		}
	}
	for (unsigned i = 0; i < r.nexthop_count; i++)
		r.nexthops[i].ifindex = link_of(hop_index(&r.nexthops[i].gateway));
	return r;
}

/* --- what joins our rooms: the daemon's edges in few lines */

static void resolve(void *arg, const struct nexthop *nh, struct nexthop_answer *out)
{
	unsigned hop = hop_index(&nh->addr);
	(void)arg;
	out->state = world.no_answer ? NEXTHOP_NOT_ASKED : world.down[link_of(hop) - 1] ? NEXTHOP_NO_ROUTE : NEXTHOP_DIRECT;
	out->via[0] = (struct route_nexthop){.ifindex = link_of(hop), .weight = 1};
	out->via_count = 1;
}

static bool feed(unsigned most)
{
	struct rib_entry *e;
	while (most-- && (e = rib_cursor_next(&cursor))) {
		struct nhset *s = nhset_choose(&nhsets, rib, e);
		const struct prefix p = rib_entry_prefix(e);
		fib_want(&fib, &p, s);
		nhset_unref(s);
	}
	rib_sweep(rib);
	return !rib_cursor_at_end(&cursor);
}

static bool say_object(void)
{
	struct objects_intent in;
	if (!objects_next(&fib.objects, &in))
		return false;
	objects_done(&fib.objects, &in, object_request(&in));
	return true;
}

static bool next(struct fib_intent *out)
{
	while (!fib_next(&fib, out))
		if (!say_object())
			return fib_next(&fib, out); /* the object may be there, or there is none to be had */
	return true;
}

static bool send_one(void)
{
	struct fib_intent in;
	if (kernel.count == WINDOW || !next(&in))
		return false;
	kernel.flying[kernel.count++] = (struct request){in.entry, route_request(&in)};
	return true;
}

static bool answer_one(void)
{
	if (!kernel.count)
		return false;
	struct request r = kernel.flying[0];
	memmove(kernel.flying, kernel.flying + 1, --kernel.count * sizeof *kernel.flying);
	fib_done(&fib, r.entry, r.error, r.error ? "no" : "", now);
	return true;
}

static void lose_answers(void)
{
	for (unsigned i = 0; i < kernel.count; i++)
		fib_lost(&fib, kernel.flying[i].entry);
	kernel.count = 0;
}

static void read_objects(void)
{
	objects_dump_begin(&fib.objects);
	for (unsigned i = 0; i < OBJECTS; i++)
		if (kernel.objects[i].id)
			objects_dump_found(&fib.objects, &kernel.objects[i], true);
	fib.unclear |= objects_dump_end(&fib.objects) != 0;
	fib.objects.doubted = false;
}

/* In slices, between which life goes on. */
static void compare(void (*meanwhile)(void))
{
	fib.unclear = false;
	fib_compare_begin(&fib, now);
	for (unsigned i = 0; i < PREFIXES; i++) {
		struct route r = as_told(&kernel.routes[i]);
		if (kernel.routes[i].there)
			fib_compare_found(&fib, &r);
		if (meanwhile && roll(8) == 0)
			meanwhile();
	}
	while (!fib_compare_judge(&fib, 7))
		if (meanwhile)
			meanwhile();
}

static void tell(const struct route *r, unsigned how)
{
	if (kernel.lossy && roll(10) == 0)
		fib.unclear = true; /* an overrun: what was lost is not known */
	else
		fib_event(&fib, r, how, now);
}

static void work(void)
{
	nexthop_work(&nexthops);
	rib_review(rib, 1 + roll(100));
	feed(roll(20));
	if (fib.objects.doubted)
		read_objects();
	fib_mend(&fib);
}

/* --- operations */

static void announce(void)
{
	unsigned peer = roll(PEERS), i = roll(PREFIXES), what = roll(HOPS * LENGTHS);
	struct prefix p = prefix_of(i);
	rib_announce(rib, sources[peer], &p, sets[what / LENGTHS][what % LENGTHS], now);
	world.said[peer][i] = (int)what;
}

static void withdraw(void)
{
	unsigned peer = roll(PEERS), i = roll(PREFIXES);
	struct prefix p = prefix_of(i);
	rib_withdraw(rib, sources[peer], &p);
	world.said[peer][i] = -1;
}

static struct rib_source *make_source(unsigned i)
{
	return rib_source_new(rib, &(struct rib_source){.kind = RIB_SOURCE_BGP, .router_id = 1 + i, .addr = hop_addr(i)});
}

static void lose_peer(void)
{
	unsigned peer = roll(PEERS);
	while (!rib_source_flush(rib, sources[peer], 10))
		work();
	rib_source_free(sources[peer]);
	sources[peer] = make_source(peer);
	for (unsigned i = 0; i < PREFIXES; i++)
		world.said[peer][i] = -1;
}

static void change_link(void)
{
	unsigned i = roll(LINKS);
	if (world.down[i])
		world.down[i] = false;
	else
		take_link(i);
	nexthop_doubt_link(&nexthops, i + 1);
	fib.unclear = fib.objects.doubted = true;
}

static void delete_ours(void)
{
	struct kernel_route *k = &kernel.routes[roll(PREFIXES)];
	struct route r = as_told(k);
	if (!k->there || r.mark.protocol != mark.protocol)
		return;
	k->there = false;
	tell(&r, FIB_DELETED);
}

/* Another's route comes to our place, instead of ours or where none is, or one that only looks like ours; or it goes. */
static void change_foreign(void)
{
	unsigned i = roll(PREFIXES);
	struct kernel_route *k = &kernel.routes[i];
	bool was = k->there;
	struct route r = {.prefix = prefix_of(i), .type = ROUTE_BLACKHOLE, .mark = mark};
	r.mark.protocol = roll(2) ? STATIC : mark.protocol;
	if (was && k->route.mark.protocol == STATIC) {
		r = k->route;
		k->there = false;
		tell(&r, FIB_DELETED);
		return;
	}
	if (was && roll(2))
		return;
	*k = (struct kernel_route){true, r};
	tell(&r, was ? FIB_REPLACED : FIB_ADDED);
}

/* NULL: there is none. */
static struct nexthop_object *some_object(enum nexthop_object_kind kind)
{
	for (unsigned at = roll(OBJECTS), i = 0; i < OBJECTS; i++, at = (at + 1) % OBJECTS)
		if (kernel.objects[at].id && kernel.objects[at].kind == kind && kernel.objects[at].protocol == mark.protocol)
			return &kernel.objects[at];
	return NULL;
}

static void delete_object(void)
{
	const struct nexthop_object *o = some_object(roll(2) ? NEXTHOP_OBJECT_HOP : NEXTHOP_OBJECT_GROUP);
	drop_object(o ? o->id : 0);
	fib.objects.doubted = true;
}

/* Another says that a group has one member only, or gives all of them another weight. */
static void bend_group(void)
{
	struct nexthop_object *o = some_object(NEXTHOP_OBJECT_GROUP);
	if (!o)
		return;
	if (roll(2))
		o->member_count = 1;
	for (unsigned i = 0; i < o->member_count; i++)
		o->members[i].weight = (uint16_t)(2 + i);
	fib.objects.doubted = true;
}

static void take_number(void)
{
	struct nexthop_object *o = &kernel.objects[roll(OBJECTS)];
	if (!o->id && roll(10) == 0)
		*o = (struct nexthop_object){.id = fib.objects.first + roll(OBJECTS), .protocol = STATIC, .kind = NEXTHOP_OBJECT_BLACKHOLE};
	for (unsigned i = 0; i < OBJECTS; i++)
		if (&kernel.objects[i] != o && kernel.objects[i].id == o->id)
			o->id = 0;
}

static void flush_all(void)
{
	for (unsigned i = 0; i < PREFIXES; i++) {
		struct route r = as_told(&kernel.routes[i]);
		if (!kernel.routes[i].there)
			continue;
		kernel.routes[i].there = false;
		tell(&r, FIB_DELETED);
	}
}

static void audit(void)
{
	if (fib.unclear || roll(5) == 0)
		compare(work);
}

static void overrun(void)
{
	lose_answers();
	fib.unclear = true;
}

static void change_mood(void)
{
	kernel.refuse_every = kernel.refuses && roll(3) == 0 ? 2 + roll(8) : 0;
	world.no_answer = roll(4) == 0;
	if (!world.no_answer)
		nexthop_doubt_all(&nexthops);
}

static void send_some(void)
{
	for (unsigned n = roll(6); n && send_one(); n--)
		;
}

static void answer_some(void)
{
	for (unsigned n = roll(6); n && answer_one(); n--)
		;
}

static void retry(void)
{
	fib_retry(&fib, now);
}

static void resync(void)
{
	fib_retry_all(&fib, now);
	compare(send_some);
}

static const struct {
	void (*operation)(void);
	unsigned times; /* of a thousand */
} operations[] = {
	{announce, 210}, {withdraw, 100}, {lose_peer, 2}, {change_link, 20}, {delete_ours, 50}, {change_foreign, 40},
	{delete_object, 15}, {bend_group, 15}, {take_number, 10}, {flush_all, 2}, {work, 170}, {send_some, 170},
	{answer_some, 120}, {retry, 30}, {audit, 30}, {overrun, 4}, {change_mood, 10}, {resync, 2},
};

static void operate(void)
{
	unsigned at = roll(1000), i = 0;
	for (; at >= operations[i].times; i++)
		at -= operations[i].times;
	now.ms += roll(100);
	operations[i].operation();
}

static void drain(void)
{
	while (send_one() || answer_one() || say_object())
		;
}

/* --- the end: the kernel calms down, and what is in it is compared with the model */

/* Only what an event or an answer gave cause for: no audit mends what was overlooked. Where the kernel refused, there is
 * one: a group may lack a member that it refused. */
static void settle(void)
{
	fib.objects.doubted |= kernel.refuses;
	kernel.refuse_every = 0;
	kernel.lossy = false;
	if (world.no_answer)
		nexthop_doubt_all(&nexthops);
	world.no_answer = false;
	for (unsigned turn = 0; turn < 20; turn++) {
		work();
		while (nexthop_work(&nexthops) || rib_review(rib, 100) || feed(100))
			;
		now.ms += FIB_RETRY_MAX_MS;
		retry();
		drain();
		if (fib.unclear)
			compare(NULL);
	}
}

/* The hops of a prefix, a bit each: of the shortest paths among those whose link is there. */
static unsigned wanted_hops(unsigned prefix)
{
	unsigned hops = 0;
	for (int length = 0; length < LENGTHS && !hops; length++)
		for (unsigned peer = 0; peer < PEERS; peer++) {
			int what = world.said[peer][prefix];
			if (what >= 0 && what % LENGTHS == length && !world.down[link_of((unsigned)what / LENGTHS) - 1])
				hops |= 1u << what / LENGTHS;
		}
	return hops;
}

static unsigned kernel_hops(const struct kernel_route *k)
{
	unsigned hops = 0;
	struct route r = as_told(k);
	for (unsigned i = 0; k->there && i < r.nexthop_count; i++) {
		ck_assert_uint_eq(r.nexthops[i].weight, 1);
		hops |= 1u << hop_index(&r.nexthops[i].gateway);
	}
	return hops;
}

static void check_kernel(int seed)
{
	size_t installed = 0;
	for (unsigned i = 0; i < PREFIXES; i++) {
		const struct kernel_route *k = &kernel.routes[i];
		unsigned wanted = wanted_hops(i), found = kernel_hops(k);
		const struct prefix p = prefix_of(i);
		const struct fib_entry *e = fib_find(&fib, &p);
		if (k->there && k->route.mark.protocol == STATIC) {
			ck_assert_msg(!wanted || (e && fib_entry_error(e) == -EEXIST), "seed %d: prefix %u is not called refused", seed, i);
			continue;
		}
		ck_assert_msg(wanted == found && k->there == (wanted != 0), "seed %d: prefix %u: wanted hops %x, the kernel has %x (%s)",
			      seed, i, wanted, found, k->there ? "a route" : "no route");
		/* said in the route where an object could be had by now is no fault, and for an audit to mend */
		ck_assert_msg(!e || (fib_entry_have(e) == e->want && !fib_entry_error(e)), "seed %d: prefix %u is not called installed", seed, i);
		installed += k->there;
	}
	ck_assert_uint_eq(fib_installed(&fib), installed);
	ck_assert_uint_eq(fib.in_flight, 0);
}

static bool is_used(uint32_t id)
{
	for (unsigned i = 0; i < PREFIXES; i++)
		if (kernel.routes[i].there && kernel.routes[i].route.nexthop_id == id)
			return true;
	for (unsigned i = 0; i < OBJECTS; i++)
		for (unsigned k = 0; kernel.objects[i].id && k < kernel.objects[i].member_count; k++)
			if (kernel.objects[i].members[k].id == id)
				return true;
	return false;
}

static void check_nothing_left_over(int seed)
{
	for (unsigned i = 0; i < OBJECTS; i++) {
		const struct nexthop_object *o = &kernel.objects[i];
		ck_assert_msg(!o->id || o->protocol != mark.protocol || is_used(o->id), "seed %d: nothing refers to object %u", seed, o->id);
	}
}

/* --- life */

static struct bgp_attrs *make_attrs(unsigned hop, unsigned length)
{
	uint8_t wire[64];
	struct writer w = writer_of(wire, sizeof wire);
	struct bgp_attr_block block;
	struct bgp_attrs *a, *mp;
	const struct addr next_hop = hop_addr(hop);
	writer_bytes(&w, (const uint8_t[]){0x40, 1, 1, 0, 0x40, 2, (uint8_t)(6 + 4 * length), 2, (uint8_t)(1 + length)}, 9);
	for (unsigned i = 0; i <= length; i++)
		writer_u32(&w, 64512 + i);
	writer_bytes(&w, (const uint8_t[]){0x40, 3, 4}, 3);
	writer_bytes(&w, next_hop.b + 12, 4);
	bgp_attrs_decode(&attrs, 0, cursor_of(wire, writer_len(&w)), true, &block, &a, &mp);
	ck_assert_msg(a != NULL, "%s", block.fault.text);
	return a;
}

static void setup(void)
{
	memset(&kernel, 0, sizeof kernel);
	memset(&world, 0, sizeof world);
	memset(world.said, 0xff, sizeof world.said);
	now = (struct tick){1000};
	bgp_attr_table_init(&attrs);
	nhset_table_init(&nhsets);
	nexthop_table_init(&nexthops, &nhsets, resolve, NULL);
	rib = rib_new(16);
	rib_track(rib, &nexthops);
	rib_cursor_open(rib, &cursor);
	for (unsigned i = 0; i < PEERS; i++)
		sources[i] = make_source(i);
	for (unsigned i = 0; i < HOPS * LENGTHS; i++)
		sets[i / LENGTHS][i % LENGTHS] = make_attrs(i / LENGTHS, i % LENGTHS);
}

static void teardown(void)
{
	lose_answers();
	fib_fini(&fib);
	rib_cursor_close(&cursor);
	rib_free(rib);
	for (unsigned i = 0; i < PEERS; i++)
		rib_source_free(sources[i]);
	for (unsigned i = 0; i < HOPS * LENGTHS; i++)
		bgp_attrs_unref(sets[i / LENGTHS][i % LENGTHS]);
	nexthop_table_fini(&nexthops);
	nhset_table_fini(&nhsets);
	bgp_attr_table_fini(&attrs);
	for (unsigned k = 0; k < LIVE_KINDS; k++)
		ck_assert_msg(live_count((enum live_kind)k) == 0, "%zu %s left", live_count((enum live_kind)k),
			      live_name((enum live_kind)k));
}

START_TEST(ends_equal_to_the_model)
{
	const char *one = getenv("MODEL_SEED");
	int seed = one ? atoi(one) : _i;
	dice = (struct random){.state = (uint64_t)seed * 7919 + 1};
	fib_init(&fib, &nhsets, &mark, seed % 5 == 4); /* every fifth without objects */
	for (unsigned part = 0; part < 10; part++) {
		kernel.lossy = true;
		kernel.refuses = part % 2;
		for (unsigned i = 0; i < OPERATIONS / 10; i++)
			operate();
		settle();
		check_kernel(seed);
		read_objects(); /* as each audit does: what was made ready and wanted no more is found */
		drain();
		check_nothing_left_over(seed);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("kernel model");
	TCase *t = tcase_create("kernel model");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, ends_equal_to_the_model, 0, getenv("MODEL_SEEDS") ? atoi(getenv("MODEL_SEEDS")) : SEEDS);
	suite_add_tcase(s, t);
	return run_suite(s);
}
