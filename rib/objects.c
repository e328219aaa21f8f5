#include "rib/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/live.h"

enum slot_kind { SLOT_FREE, SLOT_HOP, SLOT_GROUP, SLOT_TAKEN };

void objects_init(struct objects *o, struct nhset_table *nhsets, const struct route_mark *mark, bool off)
{
	memset(o, 0, sizeof *o);
	hash_table_init(&o->hops);
	list_init(&o->ways);
	list_init(&o->todo);
	list_init(&o->dead_hops);
	o->nhsets = nhsets;
	o->protocol = mark->protocol;
	o->off = off;
	/* no secret in it: a later life must come to the same part. Daemons that differ in one of the three are in one part
	 * only where that is a multiple of OBJECTS_PARTS. */
	uint32_t part = (mark->table + mark->metric * 0x9e37 + mark->protocol * 0x2545) % OBJECTS_PARTS;
	o->first = o->next = OBJECTS_ID_FIRST + part * OBJECTS_IDS;
	o->slots = calloc(OBJECTS_IDS, sizeof *o->slots);
	if (!o->slots)
		abort();
}

/* --- numbers */

static struct object_slot *slot_of(const struct objects *o, uint32_t id)
{
	return id - o->first < OBJECTS_IDS ? &o->slots[id - o->first] : NULL;
}

static void set_slot(struct objects *o, uint32_t id, enum slot_kind kind, void *of)
{
	struct object_slot *s = slot_of(o, id);
	if (s)
		*s = (struct object_slot){(uint8_t)kind, of};
}

/* 0: none is free. Each in its turn, so that a number has rested before it means something else. */
static uint32_t free_id(struct objects *o)
{
	for (unsigned i = 0; i < OBJECTS_IDS; i++) {
		uint32_t id = o->next;
		o->next = o->first + (o->next + 1 - o->first) % OBJECTS_IDS;
		if (slot_of(o, id)->kind == SLOT_FREE)
			return id;
	}
	return 0;
}

/* --- next hops */

static uint64_t hash_of(const struct addr *gateway, uint32_t ifindex)
{
	return hash_bytes(gateway, sizeof *gateway, ifindex);
}

static struct object_hop *find_hop(const struct objects *o, const struct addr *gateway, uint32_t ifindex)
{
	for (struct hash_node *n = hash_first(&o->hops, hash_of(gateway, ifindex)); n; n = hash_next(n)) {
		struct object_hop *h = container_of(n, struct object_hop, node);
		if (h->hop.ifindex == ifindex && addr_eq(&h->hop.gateway, gateway))
			return h;
	}
	return NULL;
}

const struct object_hop *objects_hop(const struct objects *o, const struct addr *gateway, uint32_t ifindex)
{
	return find_hop(o, gateway, ifindex);
}

static struct object_hop *hop_of(struct objects *o, const struct route_nexthop *nh)
{
	struct object_hop *h = find_hop(o, &nh->gateway, nh->ifindex);
	if (h)
		return h;
	h = calloc(1, sizeof *h);
	if (!h)
		abort();
	h->hop = *nh;
	h->hop.weight = 1;
	h->hop.down = false;
	hash_table_insert(&o->hops, &h->node, hash_of(&nh->gateway, nh->ifindex));
	live_add(LIVE_OBJECT_HOP);
	return h;
}

static void set_hop_id(struct objects *o, struct object_hop *h, uint32_t id)
{
	if (h->id)
		set_slot(o, h->id, SLOT_FREE, NULL);
	o->hop_count += (id != 0) - (size_t)(h->id != 0);
	h->id = id;
	if (id)
		set_slot(o, id, SLOT_HOP, h);
}

static void set_lost(struct objects *o, struct object_hop *h, bool lost)
{
	o->lost_count += lost - (unsigned)h->lost;
	h->lost = lost;
}

static void free_hop(struct objects *o, struct object_hop *h)
{
	if (list_linked(&h->queue))
		list_remove(&h->queue);
	set_hop_id(o, h, 0);
	set_lost(o, h, false);
	hash_table_remove(&o->hops, &h->node);
	free(h);
	live_drop(LIVE_OBJECT_HOP);
}

/* A lost one is remembered a while, for those who still want it. */
static void leave_hop(struct objects *o, struct object_hop *h)
{
	if (--h->ways)
		return;
	if (!h->id && !h->lost)
		free_hop(o, h);
	else if (h->id && !o->adopting)
		list_append(h->lost ? o->dead_hops.next : &o->dead_hops, &h->queue);
}

static void enter_hop(struct objects *o, struct object_hop *h)
{
	h->ways++;
	if (!list_linked(&h->queue))
		return;
	list_remove(&h->queue);
	o->doubted = true; /* some group may have been left to lose it by its deletion */
}

/* --- ways */

static void enqueue(struct objects *o, struct object_way *w)
{
	if (!list_linked(&w->queue))
		list_append(&o->todo, &w->queue);
}

static void dequeue(struct object_way *w)
{
	if (list_linked(&w->queue))
		list_remove(&w->queue);
}

static void set_way_id(struct objects *o, struct object_way *w, uint32_t id)
{
	if (w->id && w->group)
		set_slot(o, w->id, SLOT_FREE, NULL);
	if (w->group)
		o->group_count += (id != 0) - (size_t)(w->id != 0);
	w->id = id;
	if (id && w->group)
		set_slot(o, id, SLOT_GROUP, w);
}

static struct object_way **place_in(struct nhset *s, bool plain)
{
	return plain ? &s->plain : &s->way;
}

/* From now on w is what routes with the set get, unless there is one already. */
static void mean(struct objects *o, struct object_way *w, struct nhset *set)
{
	struct object_way **place = place_in(set, w->plain);
	w->meant = nhset_ref(set);
	if (!*place)
		*place = w;
	for (unsigned i = 0; !w->plain && i < set->count; i++) {
		struct object_hop *h = hop_of(o, &set->at[i]);
		enter_hop(o, h);
		if (!w->group)
			h->single = w;
	}
}

static void unmean(struct objects *o, struct object_way *w, struct nhset *set)
{
	struct object_way **place = place_in(set, w->plain);
	if (*place == w)
		*place = NULL;
	for (unsigned i = 0; !w->plain && !w->gone && i < set->count; i++) {
		struct object_hop *h = find_hop(o, &set->at[i].gateway, set->at[i].ifindex);
		if (h->single == w)
			h->single = NULL;
		leave_hop(o, h);
	}
	nhset_unref(set);
}

static struct object_way *new_way(struct objects *o, struct nhset *set, bool plain, bool group)
{
	struct object_way *w = calloc(1, sizeof *w);
	if (!w)
		abort();
	w->plain = plain;
	w->group = group;
	list_append(&o->ways, &w->node);
	mean(o, w, set);
	live_add(LIVE_OBJECT_WAY);
	return w;
}

static void free_way(struct objects *o, struct object_way *w)
{
	dequeue(w);
	set_way_id(o, w, 0);
	unmean(o, w, w->meant);
	list_remove(&w->node);
	free(w);
	live_drop(LIVE_OBJECT_WAY);
}

/* Others took it away. Who refers to it lets go in his own time. */
static void end_way(struct objects *o, struct object_way *w)
{
	dequeue(w);
	set_way_id(o, w, 0);
	unmean(o, w, nhset_ref(w->meant));
	w->gone = true;
	w->dirty = w->partly = false;
	o->dead_routes += w->routes;
	if (!w->refs)
		free_way(o, w);
}

static void allow_refused(struct objects *o)
{
	for (struct hash_node *n = hash_table_each(&o->nhsets->sets, NULL); n && o->refusals; n = hash_table_each(&o->nhsets->sets, n))
		container_of(n, struct nhset, node)->refused = false;
	o->refusals = 0;
}

void objects_fini(struct objects *o)
{
	list_each(n, tmp, &o->ways)
		free_way(o, container_of(n, struct object_way, node));
	for (struct hash_node *n = hash_table_each(&o->hops, NULL), *next; n; n = next) {
		next = hash_table_each(&o->hops, n);
		free_hop(o, container_of(n, struct object_hop, node));
	}
	allow_refused(o);
	hash_table_fini(&o->hops);
	free(o->slots);
	free(o->found);
}

struct object_way *objects_ref(struct object_way *w)
{
	w->refs++;
	return w;
}

void objects_unref(struct objects *o, struct object_way *w)
{
	if (!w || --w->refs)
		return;
	if (w->plain || w->gone)
		free_way(o, w);
	else if (!o->adopting)
		enqueue(o, w);
}

void objects_count_route(struct objects *o, struct object_way *w, bool more)
{
	w->routes = more ? w->routes + 1 : w->routes - 1;
	if (w->gone)
		o->dead_routes = more ? o->dead_routes + 1 : o->dead_routes - 1;
}

/* --- what routes ask */

static bool is_possible(const struct objects *o, const struct nhset *set)
{
	if (o->off || set->refused || !set->count)
		return false;
	for (unsigned i = 0; i < set->count; i++)
		if (!set->at[i].ifindex)
			return false; /* an object has a device of its own */
	return true;
}

struct object_way *objects_way(struct objects *o, struct nhset *set)
{
	bool plain = !is_possible(o, set);
	struct object_way *w = *place_in(set, plain);
	if (w)
		return w;
	w = new_way(o, set, plain, !plain && set->count > 1);
	if (plain)
		return w;
	enqueue(o, w);
	for (unsigned i = 0; i < set->count; i++) {
		struct object_hop *h = find_hop(o, &set->at[i].gateway, set->at[i].ifindex);
		h->alive |= !h->known; /* else nobody would want it */
		h->known = true;
	}
	return w;
}

bool objects_fits(const struct objects *o, const struct object_way *w, const struct nhset *set)
{
	if (!w || w->gone || !set)
		return (!w || w->gone) && !set;
	return w->meant == set && w->plain != is_possible(o, set);
}

static bool is_lost(const struct objects *o, const struct route_nexthop *nh)
{
	const struct object_hop *h = find_hop(o, &nh->gateway, nh->ifindex);
	return h && h->lost;
}

struct nhset *objects_target(const struct objects *o, struct nhset *set)
{
	struct route_nexthop left[ROUTE_NEXTHOPS_MAX];
	unsigned n = 0;
	for (unsigned i = 0; o->lost_count && i < set->count; i++)
		if (!is_lost(o, &set->at[i]))
			left[n++] = set->at[i];
	return n && n < set->count ? nhset_of(o->nhsets, left, n) : nhset_ref(set);
}

/* Read from the kernel and not made by us, whatever it says. */
static struct object_way *plain_found(struct objects *o, const struct route *r)
{
	struct nhset *set = nhset_of(o->nhsets, r->nexthops, r->type == ROUTE_BLACKHOLE ? 0 : r->nexthop_count);
	struct object_way *w = set->plain ? set->plain : new_way(o, set, true, false);
	nhset_unref(set);
	return objects_ref(w);
}

struct object_way *objects_way_found(struct objects *o, const struct route *r)
{
	const struct object_slot *s = r->nexthop_id && r->type == ROUTE_UNICAST ? slot_of(o, r->nexthop_id) : NULL;
	if (s && s->kind == SLOT_GROUP)
		return objects_ref(s->of);
	if (!s || s->kind != SLOT_HOP)
		return plain_found(o, r);
	struct object_hop *h = s->of;
	if (!h->single) {
		struct nhset *set = nhset_of(o->nhsets, &h->hop, 1);
		h->single = new_way(o, set, false, false);
		h->single->id = h->id;
		nhset_unref(set);
	}
	return objects_ref(h->single);
}

/* --- what is said to the kernel */

static void say_hop(struct objects *o, struct object_hop *h, enum objects_op op, struct objects_intent *out)
{
	memset(out, 0, sizeof *out);
	out->op = op;
	out->hop = h;
	out->object.protocol = o->protocol;
	out->object.kind = NEXTHOP_OBJECT_HOP;
	out->object.hop = h->hop;
	out->object.id = op == OBJECTS_ADD ? free_id(o) : h->id;
}

static void fill_group(const struct objects *o, const struct object_way *w, struct nexthop_object *g)
{
	g->kind = NEXTHOP_OBJECT_GROUP;
	g->protocol = o->protocol;
	g->id = w->id;
	g->member_count = 0;
	for (unsigned i = 0; i < w->meant->count; i++) {
		const struct route_nexthop *nh = &w->meant->at[i];
		const struct object_hop *h = find_hop(o, &nh->gateway, nh->ifindex);
		if (!h->id)
			continue;
		g->members[g->member_count].id = h->id;
		g->members[g->member_count++].weight = nh->weight;
	}
}

/* The first member that the kernel has not, and has not refused. */
static struct object_hop *missing_hop(const struct objects *o, const struct object_way *w)
{
	for (unsigned i = 0; i < w->meant->count; i++) {
		struct object_hop *h = find_hop(o, &w->meant->at[i].gateway, w->meant->at[i].ifindex);
		if (!h->id && !h->error)
			return h;
	}
	return NULL;
}

/* No object for this set, until the next dump: its next hops are said in the routes. */
static void refuse(struct objects *o, struct object_way *w)
{
	w->meant->refused = true;
	o->refusals++;
	end_way(o, w);
}

/* False: nothing is to be said for it any more. */
static bool say_group(struct objects *o, struct object_way *w, struct objects_intent *out)
{
	memset(out, 0, sizeof *out);
	out->op = w->id ? OBJECTS_REPLACE : OBJECTS_ADD;
	out->way = w;
	fill_group(o, w, &out->object);
	w->partly = out->object.member_count < w->meant->count;
	if (out->object.member_count && !w->id)
		out->object.id = free_id(o);
	if (out->object.member_count && out->object.id)
		return true;
	refuse(o, w);
	return false;
}

/* False: it has nothing to say and is off the queue, or is no more. */
static bool say_way(struct objects *o, struct object_way *w, struct objects_intent *out)
{
	struct object_hop *h = missing_hop(o, w);
	if (h) {
		say_hop(o, h, OBJECTS_ADD, out);
		if (out->object.id)
			return true;
		refuse(o, w);
		return false;
	}
	if (w->group)
		return say_group(o, w, out);
	w->id = find_hop(o, &w->meant->at[0].gateway, w->meant->at[0].ifindex)->id;
	if (w->id)
		dequeue(w);
	else
		refuse(o, w);
	return false;
}

/* Nobody refers to it; false: the kernel needs not be told of that. */
static bool say_end(struct objects *o, struct object_way *w, struct objects_intent *out)
{
	if (!w->group || !w->id) {
		free_way(o, w);
		return false;
	}
	memset(out, 0, sizeof *out);
	out->op = OBJECTS_DELETE;
	out->way = w;
	out->object.id = w->id;
	out->object.kind = NEXTHOP_OBJECT_GROUP;
	return true;
}

static bool say_dead_hop(struct objects *o, bool lost, struct objects_intent *out)
{
	struct object_hop *h = list_empty(&o->dead_hops) ? NULL : container_of(o->dead_hops.next, struct object_hop, queue);
	if (!h || (lost && !h->lost))
		return false;
	say_hop(o, h, OBJECTS_DELETE, out);
	return true;
}

bool objects_next(struct objects *o, struct objects_intent *out)
{
	if (say_dead_hop(o, true, out))
		return true;
	while (!list_empty(&o->todo)) {
		struct object_way *w = container_of(o->todo.next, struct object_way, queue);
		bool fresh = !w->id; /* whoever wants it comes when it is ready, or when its routes of a former life were read */
		if (w->refs || fresh || o->adopting ? say_way(o, w, out) : say_end(o, w, out))
			return true;
	}
	return say_dead_hop(o, false, out);
}

/* --- what it answers */

static void turn_off(struct objects *o, int error)
{
	o->off = true;
	o->off_error = error;
	list_each(n, tmp, &o->todo) {
		struct object_way *w = container_of(n, struct object_way, queue);
		dequeue(w);
		if (!w->id)
			end_way(o, w);
	}
}

static void hop_added(struct objects *o, struct object_hop *h, uint32_t id, int error)
{
	if (error == -EEXIST)
		set_slot(o, id, SLOT_TAKEN, NULL); /* and another number is tried */
	else if (error)
		h->error = error;
	else
		set_hop_id(o, h, id);
}

static void group_said(struct objects *o, struct object_way *w, uint32_t id, int error)
{
	bool is_new = !w->id;
	if (error == -EEXIST && is_new) {
		set_slot(o, id, SLOT_TAKEN, NULL);
		return;
	}
	dequeue(w);
	w->dirty = error && !is_new;
	if (!error && is_new)
		set_way_id(o, w, id);
	else if (error && is_new)
		refuse(o, w);
	else if (error == -ENOENT)
		end_way(o, w);
}

bool objects_done(struct objects *o, const struct objects_intent *in, int error)
{
	struct object_hop *h = in->hop;
	if (in->op == OBJECTS_DELETE && in->way) {
		free_way(o, in->way);
		return false;
	}
	if (in->op == OBJECTS_DELETE) {
		list_remove(&h->queue);
		set_hop_id(o, h, 0);
		o->doubted |= error && error != -ENOENT;
		h->seen = o->round;
		if (!h->lost)
			free_hop(o, h);
		return false;
	}
	if (error == -EOPNOTSUPP || error == -EPROTONOSUPPORT || error == -ENOSYS) { /* a kernel before 5.3 */
		turn_off(o, error);
		return true;
	}
	if (h)
		hop_added(o, h, in->object.id, error);
	else
		group_said(o, in->way, in->object.id, error);
	return false;
}

/* --- comparing with the kernel */

void objects_dump_begin(struct objects *o)
{
	o->round++;
	o->found_count = 0;
	for (unsigned i = 0; i < OBJECTS_IDS; i++)
		if (o->slots[i].kind == SLOT_TAKEN)
			o->slots[i].kind = SLOT_FREE;
}

static void keep_found(struct objects *o, const struct nexthop_object *found)
{
	if (o->found_count == o->found_cap) {
		o->found_cap = o->found_cap ? o->found_cap * 2 : 16;
		o->found = realloc(o->found, o->found_cap * sizeof *o->found);
		if (!o->found)
			abort();
	}
	o->found[o->found_count++] = *found;
}

static bool same_hop(const struct route_nexthop *a, const struct route_nexthop *b)
{
	return a->ifindex == b->ifindex && addr_eq(&a->gateway, &b->gateway);
}

static bool has_member(const struct nexthop_object *g, uint32_t id, uint16_t weight)
{
	for (unsigned i = 0; i < g->member_count; i++)
		if (g->members[i].id == id && g->members[i].weight == weight)
			return true;
	return false;
}

/* Is the kernel's group what was said last? */
static bool same_group(const struct objects *o, const struct object_way *w, const struct nexthop_object *found)
{
	struct nexthop_object said;
	fill_group(o, w, &said);
	if (said.member_count != found->member_count)
		return false;
	for (unsigned i = 0; i < said.member_count; i++)
		if (!has_member(found, said.members[i].id, said.members[i].weight))
			return false;
	return true;
}

void objects_dump_found(struct objects *o, const struct nexthop_object *found, bool understood)
{
	struct object_slot *s = slot_of(o, found->id);
	bool ours = understood && found->protocol == o->protocol;
	if (!s)
		return;
	if (s->kind == SLOT_HOP) {
		struct object_hop *h = s->of;
		if (ours && found->kind == NEXTHOP_OBJECT_HOP && same_hop(&found->hop, &h->hop))
			h->seen = o->round;
	} else if (s->kind == SLOT_GROUP) {
		struct object_way *w = s->of;
		if (!ours || found->kind != NEXTHOP_OBJECT_GROUP)
			return;
		w->seen = o->round;
		w->dirty |= !same_group(o, w, found);
	} else {
		s->kind = SLOT_TAKEN;
		if (ours && o->adopting)
			keep_found(o, found);
	}
}

static void adopt_hop(struct objects *o, const struct nexthop_object *found)
{
	struct object_hop *h = hop_of(o, &found->hop);
	if (h->id)
		return; /* a second one for the same: left alone */
	set_hop_id(o, h, found->id);
	h->seen = o->round;
}

static void adopt_group(struct objects *o, const struct nexthop_object *found)
{
	struct route_nexthop at[ROUTE_NEXTHOPS_MAX];
	for (unsigned i = 0; i < found->member_count; i++) {
		const struct object_slot *s = slot_of(o, found->members[i].id);
		if (!s || s->kind != SLOT_HOP)
			return;
		at[i] = ((const struct object_hop *)s->of)->hop;
		at[i].weight = found->members[i].weight;
	}
	struct nhset *set = nhset_of(o->nhsets, at, found->member_count);
	struct object_way *w = new_way(o, set, false, true);
	set_way_id(o, w, found->id);
	w->seen = o->round;
	nhset_unref(set);
}

static void adopt(struct objects *o)
{
	static void (*const by_kind[])(struct objects *, const struct nexthop_object *) = {
		[NEXTHOP_OBJECT_HOP] = adopt_hop, [NEXTHOP_OBJECT_GROUP] = adopt_group};
	for (enum nexthop_object_kind kind = NEXTHOP_OBJECT_HOP; kind <= NEXTHOP_OBJECT_GROUP; kind++)
		for (size_t i = 0; i < o->found_count; i++)
			if (o->found[i].kind == kind)
				by_kind[kind](o, &o->found[i]);
	free(o->found);
	o->found = NULL;
	o->found_count = o->found_cap = 0;
}

/* The kernel has it no more. How many. */
static size_t forget_unseen_hops(struct objects *o)
{
	size_t n = 0;
	for (struct hash_node *at = hash_table_each(&o->hops, NULL), *next; at; at = next) {
		struct object_hop *h = container_of(at, struct object_hop, node);
		next = hash_table_each(&o->hops, at);
		h->error = 0;
		if (h->id && h->seen != o->round) {
			set_hop_id(o, h, 0);
			n++;
		}
		if (!h->id && list_linked(&h->queue))
			list_remove(&h->queue);
		if (!h->id && !h->ways && o->round - h->seen > OBJECTS_LOST_ROUNDS)
			free_hop(o, h);
	}
	return n;
}

static bool lacks_hop(const struct objects *o, const struct object_way *w)
{
	for (unsigned i = 0; i < w->meant->count; i++)
		if (!find_hop(o, &w->meant->at[i].gateway, w->meant->at[i].ifindex)->id)
			return true;
	return false;
}

/* Goes, is mended, or is well. True: it was not what it should be. */
static bool judge(struct objects *o, struct object_way *w, bool hops_gone)
{
	if (w->plain || w->gone || !w->id)
		return false;
	if (w->group ? w->seen != o->round : hops_gone && lacks_hop(o, w)) {
		end_way(o, w);
		return true;
	}
	bool differs = w->dirty || (w->group && !w->partly && hops_gone && lacks_hop(o, w));
	w->dirty = differs || w->partly;
	if (w->dirty || (!w->refs && !o->adopting))
		enqueue(o, w);
	return differs;
}

size_t objects_dump_end(struct objects *o)
{
	if (o->adopting)
		adopt(o);
	size_t gone = forget_unseen_hops(o), differ = gone;
	list_each(n, tmp, &o->ways)
		differ += judge(o, container_of(n, struct object_way, node), gone > 0);
	allow_refused(o);
	return differ;
}

void objects_release(struct objects *o)
{
	o->adopting = false;
	list_each(n, tmp, &o->ways) {
		struct object_way *w = container_of(n, struct object_way, node);
		if (!w->refs && w->id)
			enqueue(o, w);
	}
	for (struct hash_node *n = hash_table_each(&o->hops, NULL); n; n = hash_table_each(&o->hops, n)) {
		struct object_hop *h = container_of(n, struct object_hop, node);
		if (!h->ways && h->id && !list_linked(&h->queue))
			list_append(&o->dead_hops, &h->queue);
	}
}

/* --- who is alive */

void objects_alive_begin(struct objects *o, bool all)
{
	for (struct hash_node *n = hash_table_each(&o->hops, NULL); n; n = hash_table_each(&o->hops, n))
		container_of(n, struct object_hop, node)->alive = all;
}

void objects_alive(struct objects *o, const struct addr *gateway, uint32_t ifindex)
{
	struct object_hop *h = find_hop(o, gateway, ifindex);
	if (h)
		h->alive = h->known = true;
}

/* Its group loses those that are lost, before anything else is said. */
static void shrink(struct objects *o, struct object_way *w)
{
	struct nhset *before = w->meant, *set = w->group && !w->gone ? objects_target(o, before) : nhset_ref(before);
	if (set != before) {
		w->before = nhset_ref(before);
		mean(o, w, set);
		unmean(o, w, before);
	}
	nhset_unref(set);
}

/* Is each that it lost of no use to anyone, and about to be deleted? Then the kernel takes it out of all groups by itself. To
 * write a group anew is the dearer way: the kernel then tells of each of its routes. */
static bool leaves_by_deletion(const struct objects *o, const struct object_way *w)
{
	for (unsigned i = 0; i < w->before->count; i++) {
		const struct route_nexthop *nh = &w->before->at[i];
		const struct object_hop *h = is_lost(o, nh) ? find_hop(o, &nh->gateway, nh->ifindex) : NULL;
		if (h && h->id && !list_linked(&h->queue))
			return false;
	}
	return w->id && !w->dirty && !list_linked(&w->queue);
}

static void shrunk(struct objects *o, struct object_way *w)
{
	if (!w->before)
		return;
	if (!leaves_by_deletion(o, w)) {
		w->dirty = true;
		dequeue(w);
		list_append(o->todo.next, &w->queue); /* the first */
	}
	nhset_unref(w->before);
	w->before = NULL;
}

bool objects_alive_end(struct objects *o)
{
	bool fewer = false, back = false;
	for (struct hash_node *n = hash_table_each(&o->hops, NULL), *next; n; n = next) {
		struct object_hop *h = container_of(n, struct object_hop, node);
		bool lost = h->known && !h->alive;
		next = hash_table_each(&o->hops, n);
		fewer |= lost && !h->lost;
		back |= h->lost && !lost;
		set_lost(o, h, lost);
		if (!h->id && !h->ways && !lost)
			free_hop(o, h);
	}
	list_each(n, tmp, &o->ways)
		if (fewer)
			shrink(o, container_of(n, struct object_way, node));
	list_each(n, tmp, &o->ways)
		if (fewer)
			shrunk(o, container_of(n, struct object_way, node));
	return back;
}
