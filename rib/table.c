#include "rib/table.h"

#include <stdlib.h>
#include <string.h>

#include "rib/decision.h"
#include "rib/marks.h"
#include "src/base/hash.h"
#include "src/base/hash_index.h"
#include "src/base/live.h"

enum { LENGTHS = 129, V4_KEY = 4, KEY_ALIGN = 4, SOURCE_MASK = (1 << RIB_SOURCE_BITS) - 1 };

_Static_assert(sizeof(struct rib_path) <= 20 && offsetof(struct rib_entry, key) + V4_KEY <= 40,
	       "the table's memory is mostly these");

struct pool rib_source_store;

struct rib {
	struct pool entries;         /* position 0 heads the journal */
	struct pool further;         /* paths beyond the entries' own */
	struct hash_index index;     /* of entries */
	size_t prefixes, paths;
	size_t by_length[2][LENGTHS]; /* live prefixes by family and length, for the longest match */
	struct list reading, idle; /* cursors with something to read, and without */
	struct list marks;         /* struct rib_marks.node */
	uint32_t swept;            /* the next entry of rib_sweep(), where or before the slowest cursor stands; 0: it passed all */
	struct rib_path **scratch;
	size_t scratch_cap;
	uint32_t next_source;
	unsigned multipath, further_readers;
	struct nexthop_table *nexthops;   /* borrowed; NULL: not tracked */
	uint64_t reviewed, reviewing;     /* generations of it: all decided by, and being decided by */
	uint32_t review_at, review_left;  /* positions; a round starts anew where it stands */
	uint32_t review_limit;            /* the table's as the round knows it */
};

static struct rib_entry *entry(const struct rib *r, uint32_t at)
{
	return pool_at(&r->entries, at);
}

static void *grown(void *p, size_t size)
{
	p = realloc(p, size);
	if (!p)
		abort(); /* a RIB that cannot grow cannot be right */
	return p;
}

static uint32_t taken(struct pool *p, size_t size)
{
	uint32_t at = pool_take(p, size);
	if (!at)
		abort(); /* the same */
	return at;
}

static struct rib_path *further(const struct rib *r, uint32_t at)
{
	return pool_at(&r->further, at);
}

/* For the walks inside, which are short and many: not to be called. */
static inline struct rib_path *path_after(const struct rib *r, const struct rib_path *p)
{
	return p->next ? further(r, p->next) : NULL;
}

const struct rib_path *rib_best(const struct rib_entry *e)
{
	return e->path_count && e->path.flags & RIB_PATH_BEST ? &e->path : NULL;
}

struct rib_path *rib_path_first(struct rib_entry *e)
{
	return e->path_count ? &e->path : NULL;
}

struct rib_path *rib_path_next(const struct rib *r, const struct rib_path *p)
{
	return path_after(r, p);
}

/* NULL: add_path() has just made it. */
static struct bgp_attrs *attrs_of(const struct rib_path *p)
{
	return p->attrs_at ? rib_path_attrs(p) : NULL;
}

/* --- entries */

static unsigned key_size(bool v4, unsigned len)
{
	return v4 ? V4_KEY : len <= 64 ? 8 : 16;
}

static const uint8_t *key_of(const struct prefix *p, bool v4)
{
	return v4 ? p->addr.b + sizeof p->addr.b - V4_KEY : p->addr.b;
}

static size_t entry_size(bool v4, unsigned len)
{
	size_t size = offsetof(struct rib_entry, key) + key_size(v4, len);
	return (size + KEY_ALIGN - 1) / KEY_ALIGN * KEY_ALIGN;
}

/* The sizes are numbers to the compiler, which then needs no call. */
static inline struct prefix prefix_of(const struct rib_entry *e)
{
	struct prefix p = {{{0}}, e->len};
	if (e->flags & RIB_ENTRY_V4) {
		p.addr.b[10] = p.addr.b[11] = 0xff;
		memcpy(p.addr.b + sizeof p.addr.b - V4_KEY, e->key, V4_KEY);
	} else if (e->len <= 64) {
		memcpy(p.addr.b, e->key, 8);
	} else {
		memcpy(p.addr.b, e->key, 16);
	}
	return p;
}

struct prefix rib_entry_prefix(const struct rib_entry *e)
{
	return prefix_of(e);
}

static bool is_entry_of(const struct rib_entry *e, const struct prefix *p)
{
	const struct prefix own = prefix_of(e);
	return prefix_eq(&own, p);
}

static uint64_t hash_of_entry(const void *rib, uint32_t at)
{
	const struct prefix p = prefix_of(entry(rib, at));
	return prefix_hash(&p);
}

static uint32_t *link_of_entry(const void *rib, uint32_t at)
{
	return &entry(rib, at)->hash_next;
}

struct rib *rib_new(unsigned multipath)
{
	struct rib *r = calloc(1, sizeof *r);
	if (!r)
		abort();
	uint32_t first = taken(&r->entries, entry_size(true, 128)); /* now there is position 0 as well */
	memset(entry(r, first), 0, entry_size(true, 128));
	pool_give(&r->entries, first);
	hash_index_init(&r->index, r, hash_of_entry, link_of_entry);
	list_init(&r->reading);
	list_init(&r->idle);
	list_init(&r->marks);
	r->multipath = multipath;
	return r;
}

void rib_free(struct rib *r)
{
	if (!r)
		return;
	for (uint32_t at = rib_entry_after(r, 0); at <= rib_entry_limit(r); at = rib_entry_after(r, at)) {
		struct rib_entry *e = rib_entry_at(r, at);
		for (struct rib_path *p = e ? rib_path_first(e) : NULL; p; p = path_after(r, p)) {
			rib_path_source(p)->paths--;
			bgp_attrs_unref(rib_path_attrs(p));
			if (p->next)
				live_drop(LIVE_PATH);
		}
	}
	pool_fini(&r->entries);
	pool_fini(&r->further);
	hash_index_fini(&r->index);
	free(r->scratch);
	free(r);
}

static uint32_t lookup(const struct rib *r, const struct prefix *p)
{
	uint32_t at = *hash_index_chain(&r->index, prefix_hash(p));
	while (at && !is_entry_of(entry(r, at), p))
		at = entry(r, at)->hash_next;
	return at;
}

void rib_expect(const struct rib *r, const struct prefix *at, size_t n)
{
	const uint32_t *chains[RIB_EXPECT_MAX];
	for (size_t i = 0; i < n; i++) {
		chains[i] = hash_index_chain(&r->index, prefix_hash(&at[i]));
		__builtin_prefetch(chains[i]);
	}
	for (size_t i = 0; i < n; i++)
		if (*chains[i])
			__builtin_prefetch(link_of_entry(r, *chains[i]));
	for (size_t i = 0; i < n; i++) {
		uint32_t second = *chains[i] ? *link_of_entry(r, *chains[i]) : 0;
		if (second)
			__builtin_prefetch(link_of_entry(r, second));
	}
}

static uint32_t new_entry(struct rib *r, const struct prefix *p)
{
	bool v4 = prefix_is_v4(p);
	uint32_t at = taken(&r->entries, entry_size(v4, p->len));
	struct rib_entry *e = entry(r, at);
	memset(e, 0, offsetof(struct rib_entry, key));
	e->len = p->len;
	e->flags = v4 ? RIB_ENTRY_V4 : 0;
	memcpy(e->key, key_of(p, v4), key_size(v4, p->len));
	hash_index_insert(&r->index, at, prefix_hash(p));
	return at;
}

static void unlink_journal(struct rib *r, struct rib_entry *e)
{
	entry(r, e->older)->newer = e->newer;
	entry(r, e->newer)->older = e->older;
}

static void free_entry(struct rib *r, uint32_t at)
{
	struct rib_entry *e = entry(r, at);
	hash_index_remove(&r->index, at);
	list_each(n, tmp, &r->marks)
		rib_marks_put(container_of(n, struct rib_marks, node), at, false);
	unlink_journal(r, e);
	e->flags = 0; /* it may still be looked at by its position */
	pool_give(&r->entries, at);
}

/* --- journal */

static void cursor_move(struct rib_cursor *c, uint32_t at)
{
	c->at = at;
	list_remove(&c->node);
	list_append(at ? &c->rib->reading : &c->rib->idle, &c->node);
	if (at)
		entry(c->rib, at)->flags |= RIB_ENTRY_CURSOR;
}

/* Cursors that stand on an entry which is about to move to the tail go on to the next one. */
static void step_aside(struct rib *r, uint32_t at)
{
	struct rib_entry *e = entry(r, at);
	if (r->swept == at)
		r->swept = e->newer;
	if (!(e->flags & RIB_ENTRY_CURSOR))
		return;
	e->flags &= (uint8_t)~RIB_ENTRY_CURSOR;
	list_each(n, tmp, &r->reading) {
		struct rib_cursor *c = container_of(n, struct rib_cursor, node);
		if (c->at == at)
			cursor_move(c, e->newer);
	}
}

static void touch(struct rib *r, uint32_t at, uint8_t what)
{
	struct rib_entry *e = entry(r, at);
	if (e->flags & RIB_ENTRY_LISTED) {
		step_aside(r, at);
		unlink_journal(r, e);
	}
	e->flags |= (uint8_t)(what | RIB_ENTRY_LISTED | RIB_ENTRY_UNREAD);
	struct rib_entry *head = entry(r, 0);
	e->older = head->older;
	e->newer = 0;
	entry(r, head->older)->newer = at;
	head->older = at;
	if (!r->swept)
		r->swept = at;
	list_each(n, tmp, &r->idle)
		cursor_move(container_of(n, struct rib_cursor, node), at);
}

static void mark_stops(struct rib *r, bool stop)
{
	list_each(n, tmp, &r->reading) {
		struct rib_entry *e = entry(r, container_of(n, struct rib_cursor, node)->at);
		e->flags = (uint8_t)(stop ? e->flags | RIB_ENTRY_STOP : e->flags & ~RIB_ENTRY_STOP);
	}
}

bool rib_sweep(struct rib *r)
{
	enum { BUDGET = 50000 };
	unsigned left = BUDGET;
	if (!r->swept)
		return false;
	mark_stops(r, true);
	for (; left && r->swept && !(entry(r, r->swept)->flags & RIB_ENTRY_STOP); left--) {
		uint32_t at = r->swept;
		struct rib_entry *e = entry(r, at);
		r->swept = e->newer;
		e->flags &= (uint8_t)~(RIB_ENTRY_UNREAD | RIB_ENTRY_BEST_CHANGED | RIB_ENTRY_SOURCE_CHANGED);
		if (e->path_count == 0)
			free_entry(r, at);
	}
	mark_stops(r, false);
	return left == 0;
}

void rib_cursor_open(struct rib *r, struct rib_cursor *c)
{
	c->rib = r;
	list_append(&r->idle, &c->node);
	cursor_move(c, entry(r, 0)->newer);
	r->swept = c->at; /* the sweep is behind every reader */
}

void rib_cursor_open_at_end(struct rib *r, struct rib_cursor *c)
{
	c->rib = r;
	list_append(&r->idle, &c->node);
	c->at = 0;
}

void rib_cursor_open_at(struct rib_cursor *c, const struct rib_cursor *other)
{
	c->rib = other->rib;
	list_append(&c->rib->idle, &c->node);
	cursor_move(c, other->at);
}

void rib_cursor_close(struct rib_cursor *c)
{
	if (!c->rib)
		return;
	list_remove(&c->node);
	c->rib = NULL;
}

struct rib_entry *rib_cursor_next(struct rib_cursor *c)
{
	if (!c->at)
		return NULL;
	struct rib_entry *e = entry(c->rib, c->at);
	cursor_move(c, e->newer);
	return e;
}

bool rib_cursor_at_end(const struct rib_cursor *c)
{
	return c->at == 0;
}

bool rib_cursor_same(const struct rib_cursor *a, const struct rib_cursor *b)
{
	return a->at == b->at;
}

/* --- next hops */

void rib_track(struct rib *r, struct nexthop_table *nexthops)
{
	r->nexthops = nexthops;
}

/* An address that has a meaning on one link or in one VRF only is another next hop on another. */
static uint32_t link_of(const struct rib_source *s, const struct addr *next_hop)
{
	return addr_is_link_local(next_hop) ? s->ifindex : s->vrf;
}

static bool is_tracked(const struct rib *r, const struct rib_source *s, const struct bgp_attrs *a)
{
	return r->nexthops && s->kind != RIB_SOURCE_LOCAL && bgp_attrs_has_next_hop(a); /* none: it is discarded here */
}

static struct nexthop *next_hop_of(const struct rib *r, const struct rib_source *s, const struct bgp_attrs *a)
{
	if (!a || !is_tracked(r, s, a))
		return NULL;
	const struct addr next_hop = bgp_attrs_next_hop(a);
	return nexthop_find(r->nexthops, &next_hop, link_of(s, &next_hop));
}

/* The place where the source counts its paths through nh, or a free one where it does not; -1: there is none. */
static int place_of(const struct rib_source *s, const struct nexthop *nh)
{
	int found = -1;
	for (int i = 0; i < RIB_SOURCE_NEXT_HOPS; i++) {
		if (s->next_hops[i].nh == nh)
			return i;
		found = s->next_hops[i].nh ? found : i;
	}
	return found;
}

static void hold_next_hop(struct rib *r, struct rib_source *s, const struct bgp_attrs *a)
{
	if (!is_tracked(r, s, a))
		return;
	const struct addr next_hop = bgp_attrs_next_hop(a);
	struct nexthop *nh = nexthop_hold(r->nexthops, &next_hop, link_of(s, &next_hop));
	int at = place_of(s, nh);
	if (at < 0)
		return;
	s->next_hops[at].nh = nh;
	s->next_hops[at].paths++;
}

static void release_next_hop(struct rib *r, struct rib_source *s, const struct bgp_attrs *a)
{
	struct nexthop *nh = next_hop_of(r, s, a);
	int at = nh ? place_of(s, nh) : -1;
	if (at >= 0 && s->next_hops[at].nh == nh) {
		if (s->leaves)
			nexthop_leave(r->nexthops, nh, -1);
		if (--s->next_hops[at].paths == 0)
			s->next_hops[at].nh = NULL;
	}
	if (nh)
		nexthop_release(r->nexthops, nh);
}

void rib_source_leaves(struct rib *r, struct rib_source *s)
{
	for (unsigned i = 0; i < RIB_SOURCE_NEXT_HOPS && !s->leaves; i++)
		if (s->next_hops[i].nh)
			nexthop_leave(r->nexthops, s->next_hops[i].nh, s->next_hops[i].paths);
	s->leaves = true;
}

const struct nexthop *rib_next_hop(const struct rib *r, const struct rib_path *p)
{
	return r->nexthops ? next_hop_of(r, rib_path_source(p), rib_path_attrs(p)) : NULL;
}

/* Of 3 bits. */
static uint8_t metric_of(const struct rib *r, const struct rib_path *p)
{
	const struct rib_source *source = rib_path_source(p);
	const struct nexthop *nh = rib_next_hop(r, p);
	uint8_t metric = nh ? nexthop_metric(nh) : 0;
	if (!source->single_hop || metric == 0)
		return metric;
	const struct addr next_hop = bgp_attrs_next_hop(rib_path_attrs(p));
	return addr_eq(&next_hop, &source->addr) ? metric : NEXTHOP_METRIC_UNREACHABLE;
}

/* --- paths */

static void count_prefix(struct rib *r, const struct rib_entry *e, bool more)
{
	size_t *n = &r->by_length[(e->flags & RIB_ENTRY_V4) != 0][e->len];
	*n = more ? *n + 1 : *n - 1;
	r->prefixes = more ? r->prefixes + 1 : r->prefixes - 1;
}

static struct rib_path *find_path(const struct rib *r, struct rib_entry *e, const struct rib_source *s, uint32_t path_id)
{
	for (struct rib_path *p = rib_path_first(e); p; p = path_after(r, p))
		if (p->source_at == s->at && p->path_id == path_id)
			return p;
	return NULL;
}

static struct rib_path *path_of(const struct rib *r, struct rib_entry *e, const struct rib_source *s)
{
	struct rib_path *p = rib_path_first(e);
	while (p && p->source_at != s->at)
		p = path_after(r, p);
	return p;
}

static bool is_full(const struct rib *r, struct rib_entry *e, const struct rib_source *s)
{
	unsigned n = 0;
	if (e->path_count < RIB_PATHS_PER_SOURCE)
		return false;
	for (const struct rib_path *p = &e->path; p; p = path_after(r, p))
		n += p->source_at == s->at;
	return n >= RIB_PATHS_PER_SOURCE || e->path_count == UINT16_MAX;
}

static struct rib_path *add_path(struct rib *r, struct rib_entry *e, struct rib_source *s, uint32_t path_id)
{
	struct rib_path *p = &e->path;
	if (e->path_count++ == 0) {
		count_prefix(r, e, true);
		p->next = 0;
	} else {
		uint32_t at = taken(&r->further, sizeof *p);
		live_add(LIVE_PATH);
		p = further(r, at);
		p->next = e->path.next;
		e->path.next = at;
	}
	*p = (struct rib_path){.next = p->next, .source_at = s->at & SOURCE_MASK, .path_id = path_id};
	s->paths++;
	r->paths++;
	return p;
}

/* It goes; where it is the one inside the entry, the next one moves in. */
static void remove_path(struct rib *r, struct rib_entry *e, struct rib_path *p)
{
	struct rib_source *s = rib_path_source(p);
	s->paths--;
	r->paths--;
	release_next_hop(r, s, rib_path_attrs(p));
	bgp_attrs_unref(rib_path_attrs(p));
	struct rib_path *before = &e->path;
	uint32_t at = p->next;
	if (p != &e->path) {
		while (path_after(r, before) != p)
			before = path_after(r, before);
		at = before->next;
		before->next = p->next;
	} else if (at) {
		*p = *further(r, at);
	} else {
		p->attrs_at = 0;
	}
	if (at) {
		pool_give(&r->further, at);
		live_drop(LIVE_PATH);
	}
	if (--e->path_count == 0)
		count_prefix(r, e, false);
}

/* What of an entry others can see, to tell after a change whether they must hear of it. */
struct view {
	struct rib_source *source;
	uint32_t attrs_at; /* not referenced: no set is made in between, so that none can come to this position */
	uint64_t used;     /* a sum over the used paths */
};

static struct view view_of(const struct rib *r, struct rib_entry *e)
{
	struct view v = {NULL, 0, 0};
	if (!rib_best(e))
		return v;
	v.source = rib_path_source(&e->path);
	v.attrs_at = e->path.attrs_at;
	for (const struct rib_path *p = &e->path; p; p = path_after(r, p))
		if (p->flags & RIB_PATH_USED)
			v.used += hash_mix(p->source_at, p->attrs_at);
	return v;
}

static void swap_first(struct rib_entry *e, struct rib_path *best)
{
	struct rib_path first = e->path;
	uint32_t best_next = best->next;
	if (best == &e->path)
		return;
	e->path = *best;
	e->path.next = first.next;
	*best = first;
	best->next = best_next;
}

static void decide(struct rib *r, struct rib_entry *e)
{
	if (e->path_count > r->scratch_cap) {
		r->scratch_cap = e->path_count * 2u;
		r->scratch = grown(r->scratch, r->scratch_cap * sizeof(*r->scratch));
	}
	size_t n = 0;
	for (struct rib_path *p = rib_path_first(e); p; p = path_after(r, p)) {
		p->metric = metric_of(r, p) & 7u;
		r->scratch[n++] = p;
	}
	struct rib_path *best = rib_decide(r->scratch, n, r->multipath);
	if (best)
		swap_first(e, best);
}

/* True: others hear of it. */
static bool changed(struct rib *r, uint32_t at, struct view before)
{
	struct rib_entry *e = entry(r, at);
	decide(r, e);
	struct view after = view_of(r, e);
	uint8_t what = 0;
	if (before.source)
		before.source->best--;
	if (after.source)
		after.source->best++;
	if (before.attrs_at != after.attrs_at || before.source != after.source)
		what |= RIB_ENTRY_BEST_CHANGED;
	/* a tombstone that was not read yet hides who had it before */
	if (before.source ? before.source != after.source : e->flags & RIB_ENTRY_UNREAD)
		what |= RIB_ENTRY_SOURCE_CHANGED;
	/* without a usable path it is told of too when it is new, since every entry is in the journal, and when it goes, since
	 * the sweep finds it there */
	bool comes_or_goes = !(e->flags & RIB_ENTRY_LISTED) || e->path_count == 0;
	bool visible = what & RIB_ENTRY_BEST_CHANGED || before.used != after.used || r->further_readers || comes_or_goes;
	if (visible)
		touch(r, at, what);
	return visible;
}

/* The path was said in the source's latest refresh. */
static void set_round(struct rib_path *path, const struct rib_source *s, const struct prefix *p)
{
	unsigned round = s->refresh[prefix_is_v4(p) ? BGP_IPV4_UNICAST : BGP_IPV6_UNICAST].round;
	path->flags = (path->flags & (RIB_PATH_BEST | RIB_PATH_USED)) | (round << RIB_PATH_ROUND_SHIFT & RIB_PATH_ROUND);
}

bool rib_announce_path(struct rib *r, struct rib_source *s, const struct prefix *p, uint32_t path_id, struct bgp_attrs *attrs,
		       struct tick now)
{
	uint32_t at = lookup(r, p);
	if (!at)
		at = new_entry(r, p);
	struct rib_entry *e = entry(r, at);
	struct rib_path *path = find_path(r, e, s, path_id);
	if (path)
		set_round(path, s, p);
	if (path && path->attrs_at == attrs->at)
		return true;
	if (!path && is_full(r, e, s))
		return false;
	struct view before = view_of(r, e);
	if (!path)
		path = add_path(r, e, s, path_id);
	set_round(path, s, p);
	hold_next_hop(r, s, attrs);
	release_next_hop(r, s, attrs_of(path));
	bgp_attrs_unref(attrs_of(path));
	path->attrs_at = bgp_attrs_ref(attrs)->at;
	path->since_s = (uint32_t)(now.ms / 1000);
	changed(r, at, before);
	return true;
}

/* Does e have a path (only_used: one that is used) whose next hop is another matter since the last review? */
static bool has_news(const struct rib *r, struct rib_entry *e, bool only_used)
{
	for (const struct rib_path *p = rib_path_first(e); p; p = path_after(r, p)) {
		const struct nexthop *nh = only_used && !(p->flags & RIB_PATH_USED) ? NULL : rib_next_hop(r, p);
		if (nh && nh->changed > r->reviewed)
			return true;
	}
	return false;
}

/* True: there was something to decide. */
static bool review(struct rib *r, uint32_t at)
{
	struct rib_entry *e = rib_entry_at(r, at);
	if (!e || !has_news(r, e, false))
		return false;
	struct view before = view_of(r, e);
	if (!changed(r, at, before) && has_news(r, e, true))
		touch(r, at, 0); /* the same next hop, reached in another way */
	return true;
}

bool rib_review(struct rib *r, unsigned budget)
{
	enum { LOOK_COST = 1, DECIDE_COST = 10 };
	uint32_t limit = rib_entry_limit(r);
	if (!r->nexthops || (r->nexthops->generation == r->reviewing && !r->review_left))
		return false;
	if (r->nexthops->generation != r->reviewing) {
		r->reviewing = r->nexthops->generation;
		r->review_left = r->review_limit = limit;
	}
	r->review_left += limit - r->review_limit; /* what came meanwhile lies in the way, and makes it longer */
	r->review_limit = limit;
	for (unsigned spent = 0; r->review_left;) {
		if (spent >= budget)
			return true;
		uint32_t last = r->review_at, next = rib_entry_after(r, last);
		uint32_t passed = next <= limit ? next - last : limit - last + 1;
		r->review_at = next <= limit ? next : 1;
		r->review_left -= passed < r->review_left ? passed : r->review_left;
		spent += review(r, r->review_at) ? DECIDE_COST : LOOK_COST;
	}
	r->reviewed = r->reviewing;
	return false;
}

static void withdraw(struct rib *r, uint32_t at, struct rib_path *path)
{
	struct view before = view_of(r, entry(r, at));
	remove_path(r, entry(r, at), path);
	changed(r, at, before);
}

bool rib_withdraw_path(struct rib *r, struct rib_source *s, const struct prefix *p, uint32_t path_id)
{
	uint32_t at = lookup(r, p);
	struct rib_path *path = at ? find_path(r, entry(r, at), s, path_id) : NULL;
	if (path)
		withdraw(r, at, path);
	return path != NULL;
}

static bool withdraw_all(struct rib *r, struct rib_source *s, uint32_t at)
{
	uint32_t had = s->paths;
	struct rib_path *path;
	while ((path = path_of(r, entry(r, at), s)) != NULL)
		withdraw(r, at, path);
	return s->paths != had;
}

bool rib_withdraw_all(struct rib *r, struct rib_source *s, const struct prefix *p)
{
	uint32_t at = lookup(r, p);
	return at && withdraw_all(r, s, at);
}

void rib_read_further(struct rib *r, bool more)
{
	r->further_readers = more ? r->further_readers + 1 : r->further_readers - 1;
}

struct rib_source *rib_source_new(struct rib *r, const struct rib_source *like)
{
	uint32_t at = taken(&rib_source_store, sizeof(struct rib_source));
	if (at > SOURCE_MASK)
		abort(); /* some 90 000 at the same time */
	struct rib_source *s = pool_at(&rib_source_store, at);
	*s = *like;
	s->at = at;
	s->id = ++r->next_source;
	s->paths = s->best = 0;
	s->flush_at = 1;
	s->leaves = false;
	memset(s->next_hops, 0, sizeof s->next_hops);
	live_add(LIVE_SOURCE);
	return s;
}

bool rib_source_flush(struct rib *r, struct rib_source *s, unsigned budget)
{
	enum { LOOK_COST = 1, WITHDRAW_COST = 10 };
	while (s->paths && s->flush_at <= rib_entry_limit(r)) {
		uint32_t at = s->flush_at;
		s->flush_at = rib_entry_after(r, at);
		unsigned cost = rib_entry_at(r, at) && withdraw_all(r, s, at) ? WITHDRAW_COST : LOOK_COST;
		if (budget < cost)
			break;
		budget -= cost;
	}
	return s->paths == 0;
}

void rib_source_free(struct rib_source *s)
{
	if (!s)
		return;
	pool_give(&rib_source_store, s->at);
	live_drop(LIVE_SOURCE);
}

/* --- looking */

struct rib_entry *rib_find(const struct rib *r, const struct prefix *p)
{
	uint32_t at = lookup(r, p);
	return at && entry(r, at)->path_count ? entry(r, at) : NULL;
}

struct rib_entry *rib_find_longest(const struct rib *r, const struct addr *a, bool usable)
{
	bool v4 = addr_is_v4(a);
	for (int len = LENGTHS - 1; len >= (v4 ? ADDR_V4_BITS : 0); len--) {
		if (!r->by_length[v4][len])
			continue;
		struct prefix p = prefix_make(a, (unsigned)len);
		struct rib_entry *e = rib_find(r, &p);
		if (e && (!usable || rib_best(e)))
			return e;
	}
	return NULL;
}

struct rib_entry *rib_entry_at(const struct rib *r, uint32_t at)
{
	struct rib_entry *e = at ? pool_look(&r->entries, at) : NULL;
	return e && e->path_count ? e : NULL;
}

uint32_t rib_entry_after(const struct rib *r, uint32_t at)
{
	return pool_next(&r->entries, at);
}

uint32_t rib_entry_limit(const struct rib *r)
{
	return pool_limit(&r->entries) - 1;
}

size_t rib_prefix_count(const struct rib *r)
{
	return r->prefixes;
}

size_t rib_path_count(const struct rib *r)
{
	return r->paths;
}

uint32_t rib_entry_position(const struct rib *r, const struct rib_entry *e)
{
	return entry(r, e->older)->newer;
}

void rib_marks_open(struct rib *r, struct rib_marks *m)
{
	*m = (struct rib_marks){0};
	list_append(&r->marks, &m->node);
}
