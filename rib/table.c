#include "rib/table.h"

#include <stdlib.h>
#include <string.h>

#include "rib/decision.h"
#include "src/base/live.h"

enum { CHUNK_BITS = 12, CHUNK = 1 << CHUNK_BITS, LENGTHS = 129 };

_Static_assert(sizeof(struct rib_path) <= 32 && sizeof(struct rib_entry) <= 80, "the table's memory is mostly these");

struct rib {
	struct rib_entry **chunks;  /* entries never move: position -> chunk, slot; position 0 heads the journal */
	uint32_t chunk_count, limit; /* limit: highest position ever used */
	uint32_t free_list;          /* through hash_next */
	struct rib_path **path_chunks; /* the pool, in the same way; position 0 is not used */
	uint32_t path_chunk_count, path_limit, free_paths; /* free_paths: through next */
	uint32_t *buckets, bucket_mask;
	size_t prefixes, paths, entries;
	size_t by_length[2][LENGTHS]; /* live prefixes by family and length, for the longest match */
	struct list reading, idle; /* cursors with something to read, and without */
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
	return &r->chunks[at >> CHUNK_BITS][at & (CHUNK - 1)];
}

static void *grown(void *p, size_t size)
{
	p = realloc(p, size);
	if (!p)
		abort(); /* a RIB that cannot grow cannot be right */
	return p;
}

static void add_chunk(struct rib *r)
{
	r->chunks = grown(r->chunks, (r->chunk_count + 1) * sizeof *r->chunks);
	r->chunks[r->chunk_count++] = grown(NULL, CHUNK * sizeof(struct rib_entry));
}

static struct rib_path *pooled(const struct rib *r, uint32_t at)
{
	return &r->path_chunks[at >> CHUNK_BITS][at & (CHUNK - 1)];
}

static uint32_t take_path(struct rib *r)
{
	uint32_t at = r->free_paths;
	live_add(LIVE_PATH);
	if (at) {
		r->free_paths = pooled(r, at)->next;
		return at;
	}
	at = ++r->path_limit;
	if (at >> CHUNK_BITS >= r->path_chunk_count) {
		r->path_chunks = grown(r->path_chunks, (r->path_chunk_count + 1) * sizeof *r->path_chunks);
		r->path_chunks[r->path_chunk_count++] = grown(NULL, CHUNK * sizeof(struct rib_path));
	}
	return at;
}

static void give_path(struct rib *r, uint32_t at)
{
	pooled(r, at)->next = r->free_paths;
	r->free_paths = at;
	live_drop(LIVE_PATH);
}

/* For the walks inside, which are short and many: not to be called. */
static inline struct rib_path *path_after(const struct rib *r, const struct rib_path *p)
{
	return p->next ? pooled(r, p->next) : NULL;
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

struct rib *rib_new(unsigned multipath)
{
	struct rib *r = calloc(1, sizeof *r);
	if (!r)
		abort();
	add_chunk(r);
	memset(entry(r, 0), 0, sizeof(struct rib_entry));
	list_init(&r->reading);
	list_init(&r->idle);
	r->multipath = multipath;
	r->bucket_mask = 1023;
	r->buckets = calloc(r->bucket_mask + 1, sizeof *r->buckets);
	if (!r->buckets)
		abort();
	return r;
}

void rib_free(struct rib *r)
{
	if (!r)
		return;
	for (uint32_t at = 1; at <= r->limit; at++) {
		for (struct rib_path *p = rib_path_first(entry(r, at)); p; p = path_after(r, p)) {
			p->source->paths--;
			bgp_attrs_unref(p->attrs);
			if (p->next)
				live_drop(LIVE_PATH);
		}
	}
	for (uint32_t i = 0; i < r->chunk_count; i++)
		free(r->chunks[i]);
	free(r->chunks);
	for (uint32_t i = 0; i < r->path_chunk_count; i++)
		free(r->path_chunks[i]);
	free(r->path_chunks);
	free(r->buckets);
	free(r->scratch);
	free(r);
}

/* --- entries */

static void rehash(struct rib *r)
{
	uint32_t mask = r->bucket_mask * 2 + 1;
	uint32_t *fresh = calloc((size_t)mask + 1, sizeof *fresh);
	if (!fresh)
		return; /* longer chains */
	for (uint32_t i = 0; i <= r->bucket_mask; i++) {
		for (uint32_t at = r->buckets[i], next; at; at = next) {
			struct rib_entry *e = entry(r, at);
			uint32_t *head = &fresh[prefix_hash(&e->prefix) & mask];
			next = e->hash_next;
			e->hash_next = *head;
			*head = at;
		}
	}
	free(r->buckets);
	r->buckets = fresh;
	r->bucket_mask = mask;
}

static uint32_t lookup(const struct rib *r, const struct prefix *p)
{
	uint32_t at = r->buckets[prefix_hash(p) & r->bucket_mask];
	while (at && !prefix_eq(&entry(r, at)->prefix, p))
		at = entry(r, at)->hash_next;
	return at;
}

static uint32_t new_entry(struct rib *r, const struct prefix *p)
{
	uint32_t at = r->free_list;
	if (at) {
		r->free_list = entry(r, at)->hash_next;
	} else {
		at = ++r->limit;
		if (at >> CHUNK_BITS >= r->chunk_count)
			add_chunk(r);
	}
	if (++r->entries > r->bucket_mask)
		rehash(r);
	struct rib_entry *e = entry(r, at);
	uint32_t *head = &r->buckets[prefix_hash(p) & r->bucket_mask];
	memset(e, 0, sizeof *e);
	e->prefix = *p;
	e->hash_next = *head;
	*head = at;
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
	uint32_t *p = &r->buckets[prefix_hash(&e->prefix) & r->bucket_mask];
	while (*p != at)
		p = &entry(r, *p)->hash_next;
	*p = e->hash_next;
	unlink_journal(r, e);
	memset(e, 0, sizeof *e);
	e->hash_next = r->free_list;
	r->free_list = at;
	r->entries--;
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
static uint32_t link_of(const struct rib_source *s, const struct bgp_attrs *a)
{
	return addr_is_link_local(&a->next_hop) ? s->ifindex : s->vrf;
}

static bool is_tracked(const struct rib *r, const struct rib_source *s, const struct bgp_attrs *a)
{
	return r->nexthops && s->kind != RIB_SOURCE_LOCAL && !addr_is_zero(&a->next_hop); /* zero: it is discarded here */
}

static struct nexthop *next_hop_of(const struct rib *r, const struct rib_source *s, const struct bgp_attrs *a)
{
	return a && is_tracked(r, s, a) ? nexthop_find(r->nexthops, &a->next_hop, link_of(s, a)) : NULL;
}

static void hold_next_hop(struct rib *r, const struct rib_source *s, const struct bgp_attrs *a)
{
	if (is_tracked(r, s, a))
		nexthop_hold(r->nexthops, &a->next_hop, link_of(s, a));
}

static void release_next_hop(struct rib *r, const struct rib_source *s, const struct bgp_attrs *a)
{
	struct nexthop *nh = next_hop_of(r, s, a);
	if (nh)
		nexthop_release(nh);
}

const struct nexthop *rib_next_hop(const struct rib *r, const struct rib_path *p)
{
	return next_hop_of(r, p->source, p->attrs);
}

static uint8_t metric_of(const struct rib *r, const struct rib_path *p)
{
	const struct nexthop *nh = rib_next_hop(r, p);
	uint8_t metric = nh ? nexthop_metric(nh) : 0;
	bool on_link = metric == 0 || addr_eq(&p->attrs->next_hop, &p->source->addr);
	return p->source->single_hop && !on_link ? NEXTHOP_METRIC_UNREACHABLE : metric;
}

/* --- paths */

static void count_prefix(struct rib *r, const struct prefix *p, bool more)
{
	size_t *n = &r->by_length[prefix_is_v4(p)][p->len];
	*n = more ? *n + 1 : *n - 1;
	r->prefixes = more ? r->prefixes + 1 : r->prefixes - 1;
}

static struct rib_path *find_path(const struct rib *r, struct rib_entry *e, const struct rib_source *s, uint32_t path_id)
{
	for (struct rib_path *p = rib_path_first(e); p; p = path_after(r, p))
		if (p->source == s && p->path_id == path_id)
			return p;
	return NULL;
}

static struct rib_path *path_of(const struct rib *r, struct rib_entry *e, const struct rib_source *s)
{
	struct rib_path *p = rib_path_first(e);
	while (p && p->source != s)
		p = path_after(r, p);
	return p;
}

static bool is_full(const struct rib *r, struct rib_entry *e, const struct rib_source *s)
{
	unsigned n = 0;
	if (e->path_count < RIB_PATHS_PER_SOURCE)
		return false;
	for (const struct rib_path *p = &e->path; p; p = path_after(r, p))
		n += p->source == s;
	return n >= RIB_PATHS_PER_SOURCE || e->path_count == UINT16_MAX;
}

static struct rib_path *add_path(struct rib *r, struct rib_entry *e, struct rib_source *s, uint32_t path_id)
{
	struct rib_path *p = &e->path;
	if (e->path_count++ == 0) {
		count_prefix(r, &e->prefix, true);
		p->next = 0;
	} else {
		uint32_t at = take_path(r);
		p = pooled(r, at);
		p->next = e->path.next;
		e->path.next = at;
	}
	p->source = s;
	p->path_id = path_id;
	p->attrs = NULL;
	p->flags = p->lost_by = p->metric = 0;
	s->paths++;
	r->paths++;
	return p;
}

/* It goes; where it is the one inside the entry, the next one moves in. */
static void remove_path(struct rib *r, struct rib_entry *e, struct rib_path *p)
{
	p->source->paths--;
	r->paths--;
	release_next_hop(r, p->source, p->attrs);
	bgp_attrs_unref(p->attrs);
	struct rib_path *before = &e->path;
	uint32_t at = p->next;
	if (p != &e->path) {
		while (path_after(r, before) != p)
			before = path_after(r, before);
		at = before->next;
		before->next = p->next;
	} else if (at) {
		*p = *pooled(r, at);
	} else {
		p->attrs = NULL;
	}
	if (at)
		give_path(r, at);
	if (--e->path_count == 0)
		count_prefix(r, &e->prefix, false);
}

/* What of an entry others can see, to tell after a change whether they must hear of it. */
struct view {
	struct rib_source *source;
	struct bgp_attrs *attrs; /* referenced */
	uint64_t used;           /* a sum over the used paths */
};

static struct view view_of(const struct rib *r, struct rib_entry *e)
{
	struct view v = {NULL, NULL, 0};
	if (!rib_best(e))
		return v;
	v.source = e->path.source;
	v.attrs = bgp_attrs_ref(e->path.attrs);
	for (const struct rib_path *p = &e->path; p; p = path_after(r, p))
		if (p->flags & RIB_PATH_USED)
			v.used += hash_mix(p->source->id, (uintptr_t)p->attrs);
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
		p->metric = metric_of(r, p);
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
	if (before.attrs != after.attrs || before.source != after.source)
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
	bgp_attrs_unref(before.attrs);
	bgp_attrs_unref(after.attrs);
	return visible;
}

/* The path was said in the source's latest refresh. */
static void set_round(struct rib_path *path, const struct rib_source *s, const struct prefix *p)
{
	unsigned round = s->refresh[prefix_is_v4(p) ? BGP_IPV4_UNICAST : BGP_IPV6_UNICAST].round;
	path->flags = (uint8_t)((path->flags & (uint8_t)~RIB_PATH_ROUND) | round << RIB_PATH_ROUND_SHIFT);
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
	if (path && path->attrs == attrs)
		return true;
	if (!path && is_full(r, e, s))
		return false;
	struct view before = view_of(r, e);
	if (!path)
		path = add_path(r, e, s, path_id);
	set_round(path, s, p);
	hold_next_hop(r, s, attrs);
	release_next_hop(r, s, path->attrs);
	bgp_attrs_unref(path->attrs);
	path->attrs = bgp_attrs_ref(attrs);
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
	struct rib_entry *e = entry(r, at);
	if (!has_news(r, e, false))
		return false;
	struct view before = view_of(r, e);
	if (!changed(r, at, before) && has_news(r, e, true))
		touch(r, at, 0); /* the same next hop, reached in another way */
	return true;
}

bool rib_review(struct rib *r, unsigned budget)
{
	enum { LOOK_COST = 1, DECIDE_COST = 10 };
	if (!r->nexthops || (r->nexthops->generation == r->reviewing && !r->review_left))
		return false;
	if (r->nexthops->generation != r->reviewing) {
		r->reviewing = r->nexthops->generation;
		r->review_left = r->review_limit = r->limit;
	}
	r->review_left += r->limit - r->review_limit; /* what came meanwhile lies in the way, and makes it longer */
	r->review_limit = r->limit;
	for (unsigned spent = 0; r->review_left; r->review_left--) {
		if (spent >= budget)
			return true;
		r->review_at = r->review_at < r->limit ? r->review_at + 1 : 1;
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

bool rib_withdraw_all(struct rib *r, struct rib_source *s, const struct prefix *p)
{
	uint32_t at = lookup(r, p), had = s->paths;
	struct rib_path *path;
	while (at && (path = path_of(r, entry(r, at), s)) != NULL)
		withdraw(r, at, path);
	return s->paths != had;
}

void rib_read_further(struct rib *r, bool more)
{
	r->further_readers = more ? r->further_readers + 1 : r->further_readers - 1;
}

struct rib_source *rib_source_new(struct rib *r, const struct rib_source *like)
{
	struct rib_source *s = grown(NULL, sizeof *s);
	*s = *like;
	s->id = ++r->next_source;
	s->paths = s->best = 0;
	s->flush_at = 1;
	live_add(LIVE_SOURCE);
	return s;
}

bool rib_source_flush(struct rib *r, struct rib_source *s, unsigned budget)
{
	enum { LOOK_COST = 1, WITHDRAW_COST = 10 };
	for (; s->paths && s->flush_at <= r->limit; s->flush_at++) {
		struct rib_entry *e = entry(r, s->flush_at);
		bool had = e->path_count && rib_withdraw_all(r, s, &e->prefix);
		unsigned cost = had ? WITHDRAW_COST : LOOK_COST;
		if (budget < cost) {
			s->flush_at++;
			break;
		}
		budget -= cost;
	}
	return s->paths == 0;
}

void rib_source_free(struct rib_source *s)
{
	if (!s)
		return;
	free(s);
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
	return at && at <= r->limit && entry(r, at)->path_count ? entry(r, at) : NULL;
}

uint32_t rib_entry_limit(const struct rib *r)
{
	return r->limit;
}

size_t rib_prefix_count(const struct rib *r)
{
	return r->prefixes;
}

size_t rib_path_count(const struct rib *r)
{
	return r->paths;
}

void rib_clear_sent(struct rib *r, uint64_t bits)
{
	for (uint32_t at = 1; bits && at <= r->limit; at++)
		entry(r, at)->sent &= ~bits;
}
