#include "src/daemon/batch.h"

#include <stdlib.h>

#include "bgp/update.h"
#include "src/base/hash.h"
#include "src/base/log_io.h"
#include "src/daemon/export.h"
#include "src/daemon/peer_io.h"

enum { BLOCK_SIZE = 32768 };

static void give(const struct outlet *o, struct peer *p)
{
	const struct batch_skip none = {.from = o->block->len, .to = o->block->len};
	const struct batch_skip *skip = !o->only && p->skip ? &o->skips[p->skip - 1] : &none;
	p->count.updates_out += o->updates - skip->updates;
	peer_send(p, o->block, 0, skip->from);
	peer_send(p, o->block, skip->to, o->block->len);
}

static void ship(struct outlet *o)
{
	if (!o->block)
		return;
	o->block = block_fit(o->block);
	if (o->only)
		give(o, o->only);
	else
		list_each(n, tmp, &o->group->members)
			give(o, container_of(n, struct peer, member));
	for (unsigned i = 0; i < o->skip_count; i++)
		o->skips[i].peer->skip = 0;
	block_unref(o->block);
	o->block = NULL;
	o->updates = o->skip_count = 0;
}

/* What a member is not told is one stretch of a block; items are sorted for that. */
static bool would_skip_twice(const struct outlet *o, const struct peer *except)
{
	if (!except)
		return false;
	return except->skip ? o->skips[except->skip - 1].to != o->block->len : o->skip_count == BATCH_SKIPS;
}

/* Room for one message of size bytes that goes to everyone but except. */
static uint8_t *room(struct outlet *o, const struct peer *except, size_t size)
{
	if (o->block && (o->block->cap - o->block->len < size || would_skip_twice(o, except)))
		ship(o);
	if (!o->block)
		o->block = block_new(size > BLOCK_SIZE ? (uint32_t)size : BLOCK_SIZE);
	return o->block->data + o->block->len;
}

/* A message was written where room() said. */
static void take_update(struct outlet *o, struct peer *except, size_t len)
{
	if (except && !except->skip) {
		o->skips[o->skip_count] = (struct batch_skip){except, o->block->len, o->block->len, 0};
		except->skip = (uint16_t)++o->skip_count;
	}
	o->block->len += (uint32_t)len;
	o->updates++;
	if (except) {
		o->skips[except->skip - 1].to = o->block->len;
		o->skips[except->skip - 1].updates++;
	}
}

static void withdraw(struct outlet *o, struct bgp_routes left)
{
	for (size_t used = 0; left.count; left = bgp_routes_after(&left, used)) {
		uint8_t *out = room(o, NULL, BGP_MESSAGE_MAX);
		take_update(o, NULL, bgp_update_encode_withdraw(out, BGP_MESSAGE_MAX, &left, &used));
	}
}

/* How the group wants it, and what its policy said of this route. */
static struct bgp_export export_of(const struct group *g, const struct item *i)
{
	struct bgp_export e = g->words;
	e.keep_med = i->med_set;
	e.keep_next_hop = i->next_hop_set;
	e.originator = i->originator;
	return e;
}

/* like: one of the items, which differ in their prefixes only. */
static void announce(struct batch *b, const struct item *like, struct peer *except, struct bgp_routes left)
{
	static struct log_limit limit;
	uint8_t attr_block[BGP_EXTENDED_MAX];
	size_t most = b->group->extended ? BGP_EXTENDED_MAX : BGP_MESSAGE_MAX;
	struct bgp_words words;
	struct bgp_export how = export_of(b->group, like);
	bool fits = bgp_attrs_export(like->attrs, &how, left.family, attr_block, most, &words);
	for (size_t used = 0; left.count; left = bgp_routes_after(&left, used)) {
		uint8_t *out = room(&b->out, except, BGP_MESSAGE_MAX);
		size_t len = fits ? bgp_update_encode_announce(out, BGP_MESSAGE_MAX, &words, &left, &used) : 0;
		if (fits && !len && most > BGP_MESSAGE_MAX) {
			out = room(&b->out, except, most);
			len = bgp_update_encode_announce(out, most, &words, &left, &used);
		}
		if (!len) {
			/* with our AS added it fits no message: never leave the old route standing for it */
			char text[PREFIX_TEXT_MAX];
			log_remote(&limit, LOG_LEVEL_WARN, "export", "%s: attributes too long for a message, withdrawn",
				   prefix_format(left.prefixes, text));
			withdraw(&b->out, left); /* also from where it is from: it does no harm there */
			return;
		}
		take_update(&b->out, except, len);
	}
}

/* Items that are said in the same words, in the order in which they came: first, then each one's next. */
struct run {
	const struct peer *from;
	uint16_t first, last, count;
	bool withdrawn;
};

static bool same_words(const struct item *a, const struct item *b)
{
	return a->attrs == b->attrs && a->from == b->from && a->originator == b->originator && a->med_set == b->med_set &&
	       a->next_hop_set == b->next_hop_set && prefix_is_v4(&a->prefix) == prefix_is_v4(&b->prefix);
}

/* By a table with open addressing: sorting the items would cost several times as much. Returns the number of runs. */
static size_t find_runs(struct batch *b, struct run *runs)
{
	enum { SLOTS = 4096 };
	uint16_t slots[SLOTS] = {0}; /* 1 + number of the run; less than half of them is ever used */
	size_t n = 0;
	for (uint16_t i = 0; i < b->count; i++) {
		struct item *at = &b->items[i];
		uint64_t slot = hash_mix((uintptr_t)at->attrs, (uintptr_t)at->from) % SLOTS;
		while (slots[slot] && !same_words(&b->items[runs[slots[slot] - 1].first], at))
			slot = (slot + 1) % SLOTS;
		struct run *run = &runs[slots[slot] ? slots[slot] - 1u : n];
		if (slots[slot]) {
			b->items[run->last].next = i;
		} else {
			slots[slot] = (uint16_t)++n;
			*run = (struct run){.from = at->from, .first = i, .withdrawn = !at->attrs};
		}
		run->last = i;
		run->count++;
	}
	return n;
}

/* Withdrawals last: where one path takes another's identifier, make before break. Those of one source together, since a block
 * goes to all but that. */
static int by_turn(const void *x, const void *y)
{
	const struct run *a = x, *b = y;
	if (a->withdrawn != b->withdrawn)
		return a->withdrawn - b->withdrawn;
	if (a->from != b->from)
		return (uintptr_t)a->from < (uintptr_t)b->from ? -1 : 1;
	return a->first - b->first;
}

/* What a member was told of a prefix that it now is the source of is taken back, in a block for it alone. */
static void withdraw_from_source(struct batch *b, struct peer *from, const struct run *run)
{
	struct prefix at[BATCH_ITEMS];
	size_t count = 0;
	const struct item *i = &b->items[run->first];
	for (size_t n = run->count; n; n--, i = &b->items[i->next])
		if (i->from_had_other)
			at[count++] = i->prefix;
	if (!count)
		return;
	struct outlet own = {.group = b->group, .only = from};
	withdraw(&own, (struct bgp_routes){bgp_family_of_prefix(at), count, at, NULL});
	ship(&own);
}

static bool receives(const struct batch *b, const struct peer *p)
{
	return p && p->group == b->group && (b->only ? b->only == p : !p->cursor.rib);
}

static void encode_run(struct batch *b, const struct run *run)
{
	struct prefix at[BATCH_ITEMS];
	uint32_t ids[BATCH_ITEMS];
	const struct item *like = &b->items[run->first], *item = like;
	struct peer *from = receives(b, like->from) ? like->from : NULL;
	enum bgp_family family = bgp_family_of_prefix(&like->prefix);
	struct bgp_routes routes = {family, run->count, at, b->group->paths[family] ? ids : NULL};
	for (size_t i = 0; i < run->count; i++, item = &b->items[item->next]) {
		at[i] = item->prefix;
		ids[i] = item->path_id;
	}
	if (from && !run->withdrawn)
		withdraw_from_source(b, from, run);
	if (b->only && from && !run->withdrawn)
		return;
	if (run->withdrawn)
		withdraw(&b->out, routes);
	else
		announce(b, like, from, routes);
}

static bool in_turn(const struct run *runs, size_t n)
{
	size_t i = 1;
	while (i < n && by_turn(&runs[i - 1], &runs[i]) < 0)
		i++;
	return i >= n;
}

void batch_encode(struct batch *b)
{
	struct run runs[BATCH_ITEMS];
	size_t n = find_runs(b, runs);
	b->out.group = b->group;
	b->out.only = b->only;
	if (!in_turn(runs, n)) /* with one feeder they are */
		qsort(runs, n, sizeof *runs, by_turn);
	for (size_t i = 0; i < n; i++)
		encode_run(b, &runs[i]);
	ship(&b->out);
	for (size_t i = 0; i < b->count; i++)
		bgp_attrs_unref(b->items[i].made);
	rib_policy_cache_fini(&b->cache);
	b->count = 0;
}
