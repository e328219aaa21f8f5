#include "src/daemon/batch.h"

#include <stdlib.h>

#include "bgp/update.h"
#include "src/base/log_io.h"
#include "src/daemon/export.h"
#include "src/daemon/peer_io.h"

enum { BLOCK_SIZE = 32768 };

static void ship(struct batch *b)
{
	if (!b->block)
		return;
	b->block = block_fit(b->block);
	if (b->only)
		peer_send(b->only, b->block);
	else
		list_each(n, tmp, &b->group->members) {
			struct peer *p = container_of(n, struct peer, member);
			if (p != b->except)
				peer_send(p, b->block);
		}
	block_unref(b->block);
	b->block = NULL;
}

/* Room for one message of size bytes in a block that goes to everyone but except. */
static uint8_t *room(struct batch *b, struct peer *except, size_t size)
{
	if (b->block && (b->except != except || b->block->cap - b->block->len < size))
		ship(b);
	if (!b->block)
		b->block = block_new(size > BLOCK_SIZE ? (uint32_t)size : BLOCK_SIZE);
	b->except = except;
	return b->block->data + b->block->len;
}

static void count_update(struct batch *b)
{
	if (b->only)
		b->only->count.updates_out++;
	else
		list_each(n, tmp, &b->group->members) {
			struct peer *p = container_of(n, struct peer, member);
			p->count.updates_out += p != b->except;
		}
}

static void withdraw(struct batch *b, struct peer *except, struct bgp_routes left)
{
	for (size_t used = 0; left.count; left = bgp_routes_after(&left, used)) {
		uint8_t *out = room(b, except, BGP_MESSAGE_MAX);
		b->block->len += (uint32_t)bgp_update_encode_withdraw(out, BGP_MESSAGE_MAX, &left, &used);
		count_update(b);
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
		uint8_t *out = room(b, except, BGP_MESSAGE_MAX);
		size_t len = fits ? bgp_update_encode_announce(out, BGP_MESSAGE_MAX, &words, &left, &used) : 0;
		if (fits && !len && most > BGP_MESSAGE_MAX) {
			out = room(b, except, most);
			len = bgp_update_encode_announce(out, most, &words, &left, &used);
		}
		if (!len) {
			/* with our AS added it fits no message: never leave the old route standing for it */
			char text[PREFIX_TEXT_MAX];
			log_remote(&limit, LOG_LEVEL_WARN, "export", "%s: attributes too long for a message, withdrawn",
				   prefix_format(left.prefixes, text));
			withdraw(b, except, left);
			return;
		}
		b->block->len += (uint32_t)len;
		count_update(b);
	}
}

static int by_words(const void *x, const void *y)
{
	const struct item *a = x, *b = y;
	enum bgp_family fa = bgp_family_of_prefix(&a->prefix), fb = bgp_family_of_prefix(&b->prefix);
	if (fa != fb)
		return fa < fb ? -1 : 1;
	if (!a->attrs != !b->attrs) /* withdrawals last: where one path takes another's identifier, make before break */
		return a->attrs ? -1 : 1;
	if (a->from != b->from)
		return (uintptr_t)a->from < (uintptr_t)b->from ? -1 : 1;
	if (a->attrs != b->attrs)
		return (uintptr_t)a->attrs < (uintptr_t)b->attrs ? -1 : 1;
	if (a->originator != b->originator)
		return a->originator < b->originator ? -1 : 1;
	if (a->med_set != b->med_set)
		return a->med_set - b->med_set;
	return a->next_hop_set - b->next_hop_set;
}

/* What a member was told of a prefix that it now is the source of is taken back, in a block for it alone. */
static void withdraw_from_source(struct batch *b, struct peer *from, const struct item *items, size_t n)
{
	struct prefix at[BATCH_ITEMS];
	size_t count = 0;
	struct batch own = {.daemon = b->daemon, .group = b->group, .only = from};
	for (size_t i = 0; i < n; i++)
		if (items[i].from_had_other)
			at[count++] = items[i].prefix;
	if (!count)
		return;
	withdraw(&own, NULL, (struct bgp_routes){bgp_family_of_prefix(at), count, at, NULL});
	ship(&own);
}

static bool receives(const struct batch *b, const struct peer *p)
{
	return p && p->group == b->group && (b->only ? b->only == p : !p->cursor.rib);
}

static void encode_run(struct batch *b, const struct item *items, size_t n)
{
	struct prefix at[BATCH_ITEMS];
	uint32_t ids[BATCH_ITEMS];
	struct peer *from = receives(b, items->from) ? items->from : NULL;
	enum bgp_family family = bgp_family_of_prefix(&items->prefix);
	struct bgp_routes routes = {family, n, at, b->group->paths[family] ? ids : NULL};
	for (size_t i = 0; i < n; i++) {
		at[i] = items[i].prefix;
		ids[i] = items[i].path_id;
	}
	if (from && items->attrs)
		withdraw_from_source(b, from, items, n);
	if (b->only && from && items->attrs)
		return;
	if (items->attrs)
		announce(b, items, from, routes);
	else
		withdraw(b, NULL, routes);
}

void batch_encode(struct batch *b)
{
	qsort(b->items, b->count, sizeof *b->items, by_words);
	for (size_t i = 0, n; i < b->count; i += n) {
		for (n = 1; i + n < b->count && by_words(&b->items[i], &b->items[i + n]) == 0;)
			n++;
		encode_run(b, &b->items[i], n);
	}
	ship(b);
	for (size_t i = 0; i < b->count; i++)
		bgp_attrs_unref(b->items[i].made);
	rib_policy_cache_fini(&b->cache);
	b->count = 0;
}
