#include "rib/nexthop.h"

#include <stdlib.h>
#include <string.h>

#include "rib/nhset.h"
#include "src/base/live.h"

void nexthop_table_init(struct nexthop_table *t, struct nhset_table *nhsets, nexthop_resolve_fn *resolve, void *arg)
{
	memset(t, 0, sizeof *t);
	hash_table_init(&t->table);
	list_init(&t->doubted);
	t->nhsets = nhsets;
	t->resolve = resolve;
	t->arg = arg;
	t->budget = NEXTHOP_BUDGET;
}

static void forget(struct nexthop_table *t, struct nexthop *nh)
{
	if (t->last == nh)
		t->last = NULL;
	if (list_linked(&nh->doubted))
		list_remove(&nh->doubted);
	hash_table_remove(&t->table, &nh->node);
	nhset_unref(nh->via);
	free(nh);
	live_drop(LIVE_NEXTHOP);
}

/* Frees all that nobody holds; with held also the others. */
static void clear(struct nexthop_table *t, bool held)
{
	for (struct hash_node *n = hash_table_each(&t->table, NULL), *next; n; n = next) {
		struct nexthop *nh = container_of(n, struct nexthop, node);
		next = hash_table_each(&t->table, n);
		if (held || !nh->refs)
			forget(t, nh);
	}
}

void nexthop_table_fini(struct nexthop_table *t)
{
	clear(t, true);
	hash_table_fini(&t->table);
}

void nexthop_sweep(struct nexthop_table *t)
{
	clear(t, false);
}

static uint64_t hash_of(const struct addr *addr, uint32_t ifindex)
{
	return hash_bytes(addr, sizeof *addr, ifindex);
}

static bool is(const struct nexthop *nh, const struct addr *addr, uint32_t ifindex)
{
	return nh->ifindex == ifindex && addr_eq(&nh->addr, addr);
}

struct nexthop *nexthop_find(struct nexthop_table *t, const struct addr *addr, uint32_t ifindex)
{
	if (t->last && is(t->last, addr, ifindex))
		return t->last;
	for (struct hash_node *n = hash_first(&t->table, hash_of(addr, ifindex)); n; n = hash_next(n)) {
		struct nexthop *nh = container_of(n, struct nexthop, node);
		if (is(nh, addr, ifindex))
			return t->last = nh;
	}
	return NULL;
}

/* --- asking */

/* True: the answer is another one than before. */
static bool ask(struct nexthop_table *t, struct nexthop *nh)
{
	struct nexthop_answer a = {.state = NEXTHOP_NO_LINK};
	if (!addr_is_zero(&nh->addr) && (nh->ifindex || addr_is_v4(&nh->addr) || !addr_is_link_local(&nh->addr)))
		t->resolve(t->arg, nh, &a);
	if (a.state == NEXTHOP_NOT_ASKED)
		return false; /* what was true before is the best guess */
	struct nhset *via = a.state < NEXTHOP_NOT_ASKED ? nhset_of(t->nhsets, a.via, a.via_count) : NULL;
	bool changed = via != nh->via || a.state != nh->state;
	nhset_unref(nh->via);
	nh->via = via;
	nh->state = a.state;
	return changed;
}

static void doubt(struct nexthop_table *t, struct nexthop *nh)
{
	if (!list_linked(&nh->doubted))
		list_append(&t->doubted, &nh->doubted);
}

/* Asks at once, while there are not too many of them: a path that replaces another must not be unusable for a moment. */
struct nexthop *nexthop_hold(struct nexthop_table *t, const struct addr *addr, uint32_t ifindex)
{
	struct nexthop *nh = nexthop_find(t, addr, ifindex);
	if (nh) {
		t->news_of_life |= nh->refs == nh->leaving;
		nh->refs++;
		return nh;
	}
	t->news_of_life = true;
	nh = calloc(1, sizeof *nh);
	if (!nh)
		abort();
	nh->addr = *addr;
	nh->ifindex = ifindex;
	nh->state = NEXTHOP_NOT_ASKED;
	nh->refs = 1;
	hash_table_insert(&t->table, &nh->node, hash_of(addr, ifindex));
	live_add(LIVE_NEXTHOP);
	t->last = nh;
	if (t->budget) {
		t->budget--;
		ask(t, nh);
	} else {
		doubt(t, nh);
	}
	return nh;
}

void nexthop_release(struct nexthop_table *t, struct nexthop *nh)
{
	nh->refs--;
	t->news_of_life |= nh->refs == nh->leaving;
}

void nexthop_leave(struct nexthop_table *t, struct nexthop *nh, int64_t paths)
{
	nh->leaving = (uint32_t)(nh->leaving + paths);
	t->news_of_life |= nh->refs == nh->leaving;
}

bool nexthop_is_alive(const struct nexthop *nh)
{
	return nh->via && nh->refs > nh->leaving;
}

struct nexthop *nexthop_each(const struct nexthop_table *t, const struct nexthop *nh)
{
	struct hash_node *n = hash_table_each(&t->table, nh ? &nh->node : NULL);
	while (n && !container_of(n, struct nexthop, node)->refs)
		n = hash_table_each(&t->table, n);
	return n ? container_of(n, struct nexthop, node) : NULL;
}

/* A walk over a hundred thousand next hops takes milliseconds, and routes of others change in thousands. */
static void walk(struct nexthop_table *t)
{
	for (struct hash_node *n = t->event_count ? hash_table_each(&t->table, NULL) : NULL; n; n = hash_table_each(&t->table, n)) {
		struct nexthop *nh = container_of(n, struct nexthop, node);
		for (unsigned i = 0; i < t->event_count && !list_linked(&nh->doubted); i++)
			if (t->events[i].concerns(&t->events[i], nh))
				doubt(t, nh);
	}
	t->event_count = 0;
}

bool nexthop_work(struct nexthop_table *t)
{
	t->budget = NEXTHOP_BUDGET;
	walk(t);
	while (!list_empty(&t->doubted) && t->budget) {
		struct nexthop *nh = container_of(t->doubted.next, struct nexthop, doubted);
		t->budget--;
		list_remove(&nh->doubted);
		if (ask(t, nh) && nh->refs) {
			nh->changed = ++t->generation;
			t->news_of_life = true;
		}
	}
	return !list_empty(&t->doubted);
}

bool nexthop_settled(const struct nexthop_table *t)
{
	return list_empty(&t->doubted) && !t->event_count;
}

/* --- doubts */

static bool goes_over(const struct nexthop *nh, uint32_t ifindex)
{
	for (unsigned i = 0; nh->via && i < nh->via->count; i++)
		if (nh->via->at[i].ifindex == ifindex)
			return true;
	return nh->ifindex == ifindex;
}

static bool of_link(const struct nexthop_event *e, const struct nexthop *nh)
{
	return !nh->via || goes_over(nh, e->ifindex);
}

static bool of_prefix(const struct nexthop_event *e, const struct nexthop *nh)
{
	return prefix_has_addr(&e->prefix, &nh->addr);
}

static bool indirect(const struct nexthop_event *e, const struct nexthop *nh)
{
	(void)e;
	return nh->state != NEXTHOP_DIRECT;
}

static bool any(const struct nexthop_event *e, const struct nexthop *nh)
{
	(void)e;
	(void)nh;
	return true;
}

static void note(struct nexthop_table *t, struct nexthop_event e)
{
	if (t->event_count == NEXTHOP_EVENTS)
		walk(t);
	t->events[t->event_count++] = e;
}

void nexthop_doubt_link(struct nexthop_table *t, uint32_t ifindex)
{
	note(t, (struct nexthop_event){.concerns = of_link, .ifindex = ifindex});
}

void nexthop_doubt_prefix(struct nexthop_table *t, const struct prefix *p)
{
	note(t, (struct nexthop_event){.concerns = of_prefix, .prefix = *p});
}

void nexthop_doubt_indirect(struct nexthop_table *t)
{
	note(t, (struct nexthop_event){.concerns = indirect});
}

void nexthop_doubt_all(struct nexthop_table *t)
{
	note(t, (struct nexthop_event){.concerns = any});
}

/* --- reading */

uint8_t nexthop_metric(const struct nexthop *nh)
{
	return nh->state < NEXTHOP_NOT_ASKED ? (uint8_t)nh->state : NEXTHOP_METRIC_UNREACHABLE;
}

const char *nexthop_state_text(enum nexthop_state s)
{
	static const char *const texts[NEXTHOP_STATES] = {
		[NEXTHOP_DIRECT] = "on a link of this node",
		[NEXTHOP_GATEWAY] = "reached through a gateway",
		[NEXTHOP_RECURSIVE] = "reached through a route that was learned",
		[NEXTHOP_NOT_ASKED] = "not looked up yet",
		[NEXTHOP_NO_ROUTE] = "no route leads to it",
		[NEXTHOP_DEFAULT_ONLY] = "only the default route leads to it",
		[NEXTHOP_OWN_ADDRESS] = "it is an address of this node",
		[NEXTHOP_LINK_DOWN] = "the link to it is down",
		[NEXTHOP_OWN_ROUTE] = "only a route that this daemon installed leads to it",
		[NEXTHOP_NO_LINK] = "it is not known on which link",
	};
	return texts[s];
}
