#include "rib/fib.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/live.h"

_Static_assert(sizeof(void *) != 8 || sizeof(struct fib_entry) == 80, "one of them for each route: think of their size");

/* NULL where there is none. Positions stay while other entries come and go, so a walk may pause. */
static struct fib_entry *entry_at(const struct fib *f, uint32_t at)
{
	struct fib_entry *e = at ? pool_look(&f->entries, at) : NULL;
	return e && e->at == at ? e : NULL;
}

static uint64_t hash_of(const void *owner, uint32_t at)
{
	const struct fib *f = owner;
	const struct fib_entry *e = pool_at(&f->entries, at);
	return prefix_hash(&e->prefix);
}

static uint32_t *link_of(const void *owner, uint32_t at)
{
	const struct fib *f = owner;
	struct fib_entry *e = pool_at(&f->entries, at);
	return &e->hash_next;
}

void fib_init(struct fib *f, struct nhset_table *nhsets, const struct route_mark *mark, bool no_objects)
{
	memset(f, 0, sizeof *f);
	objects_init(&f->objects, nhsets, mark, no_objects);
	hash_index_init(&f->table, f, hash_of, link_of);
	list_init(&f->todo);
	list_init(&f->hurt);
	for (unsigned i = 0; i < FIB_WAITS; i++)
		list_init(&f->waiting[i]);
	f->nhsets = nhsets;
	f->mark = *mark;
}

static void set(struct nhset **slot, struct nhset *s)
{
	struct nhset *old = *slot;
	*slot = s ? nhset_ref(s) : NULL;
	nhset_unref(old);
}

static void set_way(struct fib *f, struct object_way **slot, struct object_way *w)
{
	struct object_way *old = *slot;
	*slot = w ? objects_ref(w) : NULL;
	objects_unref(&f->objects, old);
}

static void set_have(struct fib *f, struct fib_entry *e, struct object_way *w)
{
	f->installed += (w != NULL) - (size_t)(e->have != NULL);
	if (w)
		objects_count_route(&f->objects, w, true);
	if (e->have)
		objects_count_route(&f->objects, e->have, false);
	set_way(f, &e->have, w);
}

const struct nhset *fib_entry_have(const struct fib_entry *e)
{
	return e->have && !e->have->gone ? e->have->meant : NULL;
}

/* Would a route that refers to w be right? */
static bool is_wanted(const struct fib *f, const struct fib_entry *e, const struct object_way *w)
{
	if (!e->want || !f->objects.lost_count)
		return objects_fits(&f->objects, w, e->want);
	struct nhset *target = objects_target(&f->objects, e->want);
	bool fits = objects_fits(&f->objects, w, target);
	nhset_unref(target);
	return fits;
}

bool fib_entry_right(const struct fib *f, const struct fib_entry *e)
{
	return is_wanted(f, e, e->have);
}

size_t fib_installed(const struct fib *f)
{
	return f->installed - f->objects.dead_routes;
}

static void set_want(struct fib *f, struct fib_entry *e, struct nhset *s)
{
	f->wanted += (s != NULL) - (size_t)(e->want != NULL);
	set(&e->want, s);
}

static void dequeue(struct fib *f, struct fib_entry *e)
{
	f->waiting_count -= e->on == FIB_WAITING;
	f->todo_count -= e->on == FIB_TODO;
	if (e->on != FIB_NO_QUEUE)
		list_remove(&e->queue);
	e->on = FIB_NO_QUEUE;
}

static void enqueue(struct fib *f, struct fib_entry *e, struct list *queue)
{
	dequeue(f, e);
	list_append(queue, &e->queue);
	e->on = FIB_TODO;
	f->todo_count++;
}

static void drop_trouble(struct fib *f, struct fib_entry *e)
{
	if (!e->trouble)
		return;
	f->refused -= e->trouble->error != 0;
	f->foreign -= e->trouble->foreign;
	free(e->trouble->text);
	free(e->trouble);
	e->trouble = NULL;
}

static struct fib_trouble *trouble_of(struct fib_entry *e)
{
	if (!e->trouble)
		e->trouble = calloc(1, sizeof *e->trouble);
	if (!e->trouble)
		abort();
	return e->trouble;
}

static void set_error(struct fib *f, struct fib_entry *e, int error, const char *text)
{
	struct fib_trouble *t = trouble_of(e);
	f->refused += (error != 0) - (size_t)(t->error != 0);
	free(t->text);
	t->text = text && *text ? strdup(text) : NULL;
	t->error = error;
}

static void set_foreign(struct fib *f, struct fib_entry *e, bool foreign, uint8_t owner)
{
	struct fib_trouble *t = trouble_of(e);
	f->foreign += foreign - (size_t)t->foreign;
	t->foreign = foreign;
	t->owner = owner;
}

int fib_entry_error(const struct fib_entry *e)
{
	return e->trouble ? e->trouble->error : 0;
}

bool fib_entry_fought_over(const struct fib_entry *e)
{
	return e->on == FIB_WAITING && !e->trouble->error;
}

static void free_entry(struct fib *f, struct fib_entry *e)
{
	uint32_t at = e->at;
	dequeue(f, e);
	set_have(f, e, NULL);
	set_want(f, e, NULL);
	set_way(f, &e->sent, NULL);
	f->in_flight -= e->in_flight;
	hash_index_remove(&f->table, at);
	drop_trouble(f, e);
	e->at = 0;
	pool_give(&f->entries, at);
	live_drop(LIVE_FIB_ENTRY);
}

void fib_fini(struct fib *f)
{
	for (uint32_t at = 0; at < pool_limit(&f->entries); at = pool_next(&f->entries, at))
		if (entry_at(f, at))
			free_entry(f, entry_at(f, at));
	hash_index_fini(&f->table);
	pool_fini(&f->entries);
	objects_fini(&f->objects);
}

static struct fib_entry *find(const struct fib *f, const struct prefix *p)
{
	const struct fib_entry *e;
	for (uint32_t at = *hash_index_chain(&f->table, prefix_hash(p)); at; at = e->hash_next) {
		e = pool_at(&f->entries, at);
		if (prefix_eq(&e->prefix, p))
			return pool_at(&f->entries, at);
	}
	return NULL;
}

const struct fib_entry *fib_find(const struct fib *f, const struct prefix *p)
{
	return find(f, p);
}

static struct fib_entry *find_or_make(struct fib *f, const struct prefix *p)
{
	struct fib_entry *e = find(f, p);
	if (e)
		return e;
	uint32_t at = pool_take(&f->entries, sizeof *e);
	if (!at)
		abort();
	e = pool_at(&f->entries, at);
	*e = (struct fib_entry){.at = at, .prefix = *p};
	hash_index_insert(&f->table, at, prefix_hash(p));
	live_add(LIVE_FIB_ENTRY);
	return e;
}

/* While a dump is read it stays, so that what the dump has of it, which is older, is not taken for true. */
static void forget(struct fib *f, struct fib_entry *e)
{
	e->touched = f->round;
	if (!f->reading)
		free_entry(f, e);
}

/* Puts the entry where it belongs: to do, at rest, or gone. */
static void place(struct fib *f, struct fib_entry *e, struct list *queue)
{
	dequeue(f, e);
	if (e->in_flight)
		return; /* fib_done() settles it again */
	if (!fib_entry_right(f, e)) {
		if (!f->held || !fib_entry_have(e) || e->lost)
			enqueue(f, e, queue);
		return;
	}
	drop_trouble(f, e);
	e->harm = FIB_UNHARMED;
	if (!e->want)
		forget(f, e);
}

static void settle(struct fib *f, struct fib_entry *e)
{
	place(f, e, &f->todo);
}

static bool has_next_hop(const struct nhset *s, const struct route_nexthop *nh)
{
	for (unsigned i = 0; s && i < s->count; i++)
		if (addr_eq(&s->at[i].gateway, &nh->gateway) && s->at[i].ifindex == nh->ifindex)
			return true;
	return false;
}

static bool loses_next_hop(const struct nhset *before, const struct nhset *after)
{
	for (unsigned i = 0; before && i < before->count; i++)
		if (!has_next_hop(after, &before->at[i]))
			return true;
	return before && !after;
}

void fib_want(struct fib *f, const struct prefix *p, struct nhset *want)
{
	if (!want && !find(f, p))
		return;
	struct fib_entry *e = find_or_make(f, p);
	if (e->want == want && e->want) {
		if (e->on == FIB_NO_QUEUE)
			settle(f, e); /* a group may have lost what is wanted again */
		return;
	}
	if (f->reading && !e->want && !e->have)
		e->touched = f->round;
	e->lost |= loses_next_hop(e->want, want);
	set_want(f, e, want);
	drop_trouble(f, e);
	settle(f, e);
}

static void fill_route(const struct fib *f, const struct fib_entry *e, const struct object_way *w, struct route *r)
{
	const struct nhset *s = w->meant;
	r->prefix = e->prefix;
	r->mark = f->mark;
	r->type = s->count ? ROUTE_UNICAST : ROUTE_BLACKHOLE;
	r->nexthop_id = w->id;
	r->nexthop_count = s->count;
	r->scope = 0;
	memcpy(r->nexthops, s->at, s->count * sizeof *s->at);
}

/* What e is to refer to next; NULL: no route. */
static struct object_way *next_way(struct fib *f, const struct fib_entry *e)
{
	struct nhset *target = e->want ? objects_target(&f->objects, e->want) : NULL;
	struct object_way *w = target ? objects_way(&f->objects, target) : NULL;
	nhset_unref(target);
	return w;
}

bool fib_next(struct fib *f, struct fib_intent *out)
{
	while (!list_empty(&f->todo)) {
		struct fib_entry *e = container_of(f->todo.next, struct fib_entry, queue);
		struct object_way *w = next_way(f, e);
		if (w && !objects_ready(w))
			return false;
		if (fib_entry_right(f, e)) { /* no better way was to be had */
			settle(f, e);
			continue;
		}
		dequeue(f, e);
		set_way(f, &e->sent, w);
		e->in_flight = true;
		e->touched = f->round;
		f->in_flight++;
		out->entry = e;
		/* what we do not know to be ours is never replaced: FIB_ADD is refused where another's route stands */
		out->op = !w ? FIB_DELETE : fib_entry_have(e) ? FIB_REPLACE : FIB_ADD;
		fill_route(f, e, w ? w : e->have, &out->route);
		return true;
	}
	return false;
}

static int64_t wait_ms(unsigned level)
{
	int64_t wait = (int64_t)FIB_RETRY_MS << level;
	return wait < FIB_RETRY_MAX_MS ? wait : FIB_RETRY_MAX_MS;
}

/* All entries of a list wait equally long, which keeps it in order. */
static void wait(struct fib *f, struct fib_entry *e, unsigned level, struct tick now)
{
	struct fib_trouble *t = trouble_of(e);
	dequeue(f, e);
	t->level = (uint8_t)(level < FIB_WAITS ? level : FIB_WAITS - 1);
	t->retry_at = tick_after(now, wait_ms(t->level));
	list_append(&f->waiting[t->level], &e->queue);
	e->on = FIB_WAITING;
	f->waiting_count++;
}

static bool fail(struct fib *f, struct fib_entry *e, int error, const char *text, struct tick now)
{
	bool again = fib_entry_error(e) != 0, news = fib_entry_error(e) != error;
	unsigned level = again ? e->trouble->level + 1u : 0;
	set_error(f, e, error, text);
	if (error != -EEXIST)
		set_foreign(f, e, false, 0);
	else if (!e->trouble->foreign)
		f->unclear = true; /* another's, or ours after all */
	wait(f, e, level, now);
	return news;
}

static void repaired(struct fib *f, struct fib_entry *e)
{
	f->repaired[e->harm] += e->harm != FIB_UNHARMED;
	e->harm = FIB_UNHARMED;
}

bool fib_done(struct fib *f, struct fib_entry *e, int error, const char *text, struct tick now)
{
	bool gone = !e->sent && (error == -ESRCH || error == -ENOENT || error == -ENODEV);
	bool obsolete = !is_wanted(f, e, e->sent);
	f->in_flight--;
	e->in_flight = false;
	/* an answer older than a comparison that has left the entry out, and perhaps than what others did since */
	f->unclear |= e->touched != f->round;
	e->touched = f->round;
	if (error == 0 || gone)
		set_have(f, e, e->sent);
	else if (error == -ENOENT)
		set_have(f, e, NULL); /* what we meant to replace is not there */
	if (error && e->sent && e->sent->id) /* what it refers to may be gone */
		f->objects.doubted = f->unclear = true;
	set_way(f, &e->sent, NULL);
	if (error && !gone && !obsolete && error != -ENOENT)
		return fail(f, e, error, text, now);
	if (error == 0)
		repaired(f, e);
	settle(f, e);
	return false;
}

void fib_lost(struct fib *f, struct fib_entry *e)
{
	f->in_flight--;
	e->in_flight = false;
	e->touched = f->round;
	set_way(f, &e->sent, NULL);
	f->unclear = true;
}

struct tick fib_retry(struct fib *f, struct tick now)
{
	enum { BUDGET = 10000 };
	struct tick next = {0};
	unsigned n = 0;
	for (unsigned i = 0; i < FIB_WAITS; i++) {
		while (!list_empty(&f->waiting[i])) {
			struct fib_entry *e = container_of(f->waiting[i].next, struct fib_entry, queue);
			if (n == BUDGET || !tick_due(e->trouble->retry_at, now)) {
				next = tick_earlier(next, e->trouble->retry_at);
				break;
			}
			enqueue(f, e, &f->todo);
			n++;
		}
	}
	return next;
}

void fib_retry_all(struct fib *f, struct tick now)
{
	f->forgiven_at = now;
	for (unsigned i = 0; i < FIB_WAITS; i++) {
		while (!list_empty(&f->waiting[i])) {
			struct fib_entry *e = container_of(f->waiting[i].next, struct fib_entry, queue);
			e->fights = 0;
			enqueue(f, e, &f->todo);
		}
	}
}

/* --- what others do */

/* A bucket that leaks: who takes it away faster than that fills it. */
static void count_fight(const struct fib *f, struct fib_entry *e, struct tick now)
{
	enum { WRAP = 0xfff };
	unsigned second = (unsigned)(now.ms / 1000) & WRAP, since = (second - e->fought_at) & WRAP;
	unsigned forgotten = since / FIB_FORGET_S;
	bool forgiven = tick_is_set(f->forgiven_at) && tick_since_ms(f->forgiven_at, now) < since * INT64_C(1000);
	if (forgiven || forgotten >= e->fights) {
		e->fights = 1;
		e->fought_at = second & WRAP;
		return;
	}
	e->fights = (e->fights - forgotten + 1 < FIB_FIGHTS_MAX ? e->fights - forgotten + 1 : FIB_FIGHTS_MAX) & 15;
	e->fought_at = (e->fought_at + forgotten * FIB_FORGET_S) & WRAP;
}

static void mend(struct fib *f, struct fib_entry *e, enum fib_harm harm)
{
	e->harm = harm & 3;
	e->touched = f->round;
	place(f, e, &f->hurt);
}

void fib_mend(struct fib *f)
{
	list_prepend_all(&f->todo, &f->hurt);
}

/* By another program: at once the first FIB_FIGHTS times, and later where that goes on. */
static void hurt(struct fib *f, struct fib_entry *e, enum fib_harm harm, struct tick now)
{
	count_fight(f, e, now);
	unsigned fights = e->want && !f->held ? e->fights : 0;
	mend(f, e, harm);
	if (fights <= FIB_FIGHTS || e->on != FIB_TODO) /* an entry that nobody wants may be gone */
		return;
	drop_trouble(f, e);
	wait(f, e, fights - FIB_FIGHTS - 1, now);
}

/* Another's route where ours should be. True: that is new. */
static bool displaced(struct fib *f, struct fib_entry *e, uint8_t owner, struct tick now)
{
	bool known = e->trouble && e->trouble->foreign && e->trouble->owner == owner;
	set_have(f, e, NULL);
	set_error(f, e, -EEXIST, NULL);
	set_foreign(f, e, true, owner);
	e->touched = f->round;
	e->harm = FIB_UNHARMED;
	wait(f, e, FIB_WAITS - 1, now); /* an event tells when it goes */
	return !known;
}

/* Ours by its mark. One without a gateway is a pod's, unless it took the place of one that we put there. */
static bool is_ours(const struct fib *f, const struct fib_entry *e, const struct route *r)
{
	return r->mark.protocol == f->mark.protocol &&
	       (r->type == ROUTE_BLACKHOLE || r->nexthop_id || (r->nexthop_count && !addr_is_zero(&r->nexthops[0].gateway)) || (e && fib_entry_have(e)));
}

/* Where we did not say the links, those that the kernel found are not part of what is compared. */
static struct object_way *way_of(struct fib *f, const struct fib_entry *e, const struct route *r)
{
	const struct nhset *have = fib_entry_have(e);
	struct route loose = *r;
	if (r->nexthop_id || r->type != ROUTE_UNICAST)
		return objects_way_found(&f->objects, r);
	for (unsigned i = 0; i < r->nexthop_count; i++)
		if (!addr_is_zero(&r->nexthops[i].gateway) && !addr_is_link_local(&r->nexthops[i].gateway))
			loose.nexthops[i].ifindex = 0;
	struct nhset *s = nhset_of(f->nhsets, loose.nexthops, loose.nexthop_count);
	bool said_so = s == e->want || s == have;
	struct object_way *w = objects_way_found(&f->objects, said_so ? &loose : r);
	nhset_unref(s);
	return w;
}

/* Does the kernel have what we know? */
static bool is_as_known(struct fib *f, const struct fib_entry *e, const struct route *r)
{
	struct object_way *w = way_of(f, e, r);
	bool same = e->have == w;
	objects_unref(&f->objects, w);
	return same;
}

static void take_over(struct fib *f, struct fib_entry *e, const struct route *r)
{
	struct object_way *w = way_of(f, e, r);
	set_have(f, e, w);
	objects_unref(&f->objects, w);
}

static enum fib_event foreign_event(struct fib *f, struct fib_entry *e, const struct route *r, unsigned how, struct tick now)
{
	if (how & FIB_DELETED) {
		if (!e->trouble || !e->trouble->foreign)
			return FIB_NOTHING;
		drop_trouble(f, e);
		place(f, e, &f->hurt);
		return FIB_FOREIGN_WENT;
	}
	if (!e->want || (fib_entry_have(e) && !(how & FIB_REPLACED))) /* beside ours: an appended one comes second */
		return FIB_NOTHING;
	return displaced(f, e, r->mark.protocol, now) ? FIB_FOREIGN_CAME : FIB_NOTHING;
}

static bool route_has(const struct route *r, const struct route_nexthop *nh)
{
	for (unsigned i = 0; i < r->nexthop_count; i++)
		if (addr_eq(&r->nexthops[i].gateway, &nh->gateway) && (!nh->ifindex || r->nexthops[i].ifindex == nh->ifindex))
			return true;
	return false;
}

/* What is left of it: for IPv6 the kernel tells next hop by next hop. False: it did not have these. */
static bool take_hops(struct fib *f, struct fib_entry *e, const struct route *r)
{
	const struct nhset *have = e->have->meant;
	struct route left = {.prefix = r->prefix, .mark = r->mark};
	if (is_as_known(f, e, r)) {
		set_have(f, e, NULL);
		return true;
	}
	for (unsigned i = 0; i < have->count; i++)
		if (!route_has(r, &have->at[i]))
			left.nexthops[left.nexthop_count++] = have->at[i];
	if (e->have->id || !left.nexthop_count || left.nexthop_count + r->nexthop_count != have->count)
		return false;
	struct object_way *rest = objects_way_found(&f->objects, &left);
	set_have(f, e, rest);
	objects_unref(&f->objects, rest);
	return true;
}

static enum fib_event taken(struct fib *f, struct fib_entry *e, const struct route *r, unsigned how, struct tick now)
{
	if (!e || !fib_entry_have(e))
		return FIB_NOTHING;
	if (!take_hops(f, e, r)) { /* what stood there before our last change */
		f->unclear = true;
		return FIB_NOTHING;
	}
	if (e->have || how & FIB_BY_KERNEL)
		mend(f, e, FIB_TAKEN);
	else
		hurt(f, e, FIB_TAKEN, now);
	return FIB_OURS_TAKEN;
}

static enum fib_event bent(struct fib *f, const struct route *r, struct tick now)
{
	struct fib_entry *e = find_or_make(f, &r->prefix);
	bool stray = !e->want;
	if (is_as_known(f, e, r))
		return FIB_NOTHING;
	take_over(f, e, r);
	if (fib_entry_right(f, e)) { /* put back by another hand */
		settle(f, e);
		return FIB_NOTHING;
	}
	hurt(f, e, stray ? FIB_STRAY : FIB_BENT, now);
	return stray ? FIB_OURS_STRAY : FIB_OURS_BENT;
}

enum fib_event fib_event(struct fib *f, const struct route *r, unsigned how, struct tick now)
{
	struct fib_entry *e = find(f, &r->prefix);
	bool ours = is_ours(f, e, r), deleted = how & FIB_DELETED;
	if (r->mark.table != f->mark.table || r->mark.metric != f->mark.metric || (!e && (deleted || !ours)))
		return FIB_NOTHING;
	if (e && e->in_flight) { /* which of the two came first? */
		f->unclear = true;
		return FIB_NOTHING;
	}
	if (!ours)
		return foreign_event(f, e, r, how, now);
	return deleted ? taken(f, e, r, how, now) : bent(f, r, now);
}

/* --- comparing */

void fib_compare_begin(struct fib *f, struct tick now)
{
	f->round = f->round == UINT16_MAX ? 1 : (uint16_t)(f->round + 1);
	f->round_at = now;
	f->judge_at = 0;
	f->reading = true;
	f->unclear = false;
	memset(&f->findings, 0, sizeof f->findings);
}

static bool judged_by(const struct fib *f, const struct fib_entry *e)
{
	return !e->in_flight && e->touched != f->round;
}

static void note(struct fib *f, size_t *kind, const struct prefix *p)
{
	++*kind;
	f->findings.first = *p;
}

static void found_foreign(struct fib *f, const struct route *r)
{
	struct fib_entry *e = find(f, &r->prefix);
	if (!e || !e->want || fib_entry_have(e) || !judged_by(f, e))
		return;
	e->seen = f->round;
	if (!displaced(f, e, r->mark.protocol, f->round_at))
		return;
	note(f, &f->findings.foreign, &e->prefix);
	f->findings.owner = r->mark.protocol;
}

static void found_other(struct fib *f, struct fib_entry *e, const struct route *r)
{
	struct fib_findings *x = &f->findings;
	bool known = fib_entry_have(e) != NULL;
	take_over(f, e, r);
	if (fib_entry_right(f, e)) { /* we had only lost sight of it */
		settle(f, e);
		return;
	}
	if (e->want || !f->held) /* held, what nobody wants yet is no difference */
		note(f, e->want ? &x->bent : &x->stray, &e->prefix);
	if (f->held || (e->want && !known))
		settle(f, e);
	else
		mend(f, e, e->want ? FIB_BENT : FIB_STRAY);
}

void fib_compare_found(struct fib *f, const struct route *r)
{
	struct fib_entry *e = find(f, &r->prefix);
	if (r->mark.table != f->mark.table || r->mark.metric != f->mark.metric)
		return;
	if (!is_ours(f, e, r)) {
		if (r->mark.protocol != f->mark.protocol)
			found_foreign(f, r);
		return;
	}
	f->findings.read++;
	e = e ? e : find_or_make(f, &r->prefix);
	e->seen = f->round;
	if (judged_by(f, e) && !is_as_known(f, e, r))
		found_other(f, e, r);
}

/* What refused it, a link that was away, may be over; not so a foreign route that was seen, nor a fight. One that nobody wants
 * and the kernel has not, since its answer was lost, is to go. */
static bool worth_a_try(const struct fib *f, const struct fib_entry *e)
{
	if (e->on == FIB_WAITING)
		return e->trouble->error && !(e->trouble->foreign && e->seen == f->round);
	return e->on == FIB_NO_QUEUE && (!e->want || !fib_entry_right(f, e));
}

static bool is_forgotten(const struct fib_entry *e)
{
	return !e->want && !e->have && !e->in_flight && e->on == FIB_NO_QUEUE;
}

static void judge(struct fib *f, struct fib_entry *e)
{
	if (is_forgotten(e)) {
		free_entry(f, e);
		return;
	}
	if (!judged_by(f, e))
		return;
	if (e->have && (e->have->gone || e->seen != f->round)) {
		set_have(f, e, NULL);
		note(f, &f->findings.missing, &e->prefix);
		mend(f, e, FIB_TAKEN);
	} else if (worth_a_try(f, e)) {
		if (e->trouble && e->trouble->foreign)
			set_foreign(f, e, false, 0);
		if (e->trouble)
			e->trouble->level = 0;
		settle(f, e);
	}
}

static bool judge_some(struct fib *f, unsigned budget)
{
	for (; f->judge_at < pool_limit(&f->entries); f->judge_at = pool_next(&f->entries, f->judge_at)) {
		struct fib_entry *e = entry_at(f, f->judge_at);
		if (!budget--)
			return false;
		if (e)
			judge(f, e);
	}
	return true;
}

bool fib_compare_judge(struct fib *f, unsigned budget)
{
	f->reading = false;
	bool over = judge_some(f, budget);
	fib_mend(f); /* what a comparison finds is no burst */
	return over;
}

size_t fib_differ(const struct fib_findings *x)
{
	return x->missing + x->bent + x->stray;
}

const struct fib_entry *fib_next_difference(const struct fib *f, uint64_t *at, unsigned budget)
{
	for (uint32_t here = (uint32_t)*at; here < pool_limit(&f->entries);) {
		const struct fib_entry *e = entry_at(f, here);
		*at = here = pool_next(&f->entries, here);
		if (e && !fib_entry_right(f, e))
			return e;
		if (!budget--)
			return NULL;
	}
	*at = UINT64_MAX;
	return NULL;
}

size_t fib_release(struct fib *f)
{
	size_t differ = 0;
	f->held = false;
	objects_release(&f->objects);
	for (uint32_t at = 0; at < pool_limit(&f->entries); at = pool_next(&f->entries, at)) {
		struct fib_entry *e = entry_at(f, at);
		if (!e)
			continue;
		differ += !fib_entry_right(f, e);
		settle(f, e);
	}
	return differ;
}
