#include "src/daemon/export.h"

#include <stdlib.h>
#include <string.h>

#include "bgp/update.h"
#include "src/base/log_io.h"
#include "src/daemon/daemon.h"
#include "src/daemon/peer_io.h"

enum {
	BATCH = 1024,                /* journal entries a turn and cursor, */
	BATCH_ATTRS = 256 * 1024,    /* or fewer, with so many bytes of attributes */
	BLOCK_SIZE = 32768,
	PENDING_MAX = 256 * 1024,    /* bytes a peer may have waiting; beyond, it is a laggard */
	GROUP_BITS = 64,
};

/* One batch of changes on its way to one or several peers. */
struct item {
	struct bgp_attrs *attrs;  /* NULL: withdrawn */
	struct bgp_attrs *made;   /* attrs where the policy made them: a reference, until they are encoded */
	struct peer *from;        /* it is not told of its own route */
	struct prefix prefix;
	bool med_set, next_hop_set; /* by the policy */
	uint32_t originator;      /* reflected: the router ID of who told us; 0: it is not */
	bool from_had_other;      /* but what it was told before, by others, is withdrawn from it */
};

struct batch {
	struct daemon *daemon;
	struct group *group;
	struct peer *only;        /* NULL: all members */
	struct item items[BATCH];
	size_t count, attr_bytes; /* as if each item had an UPDATE of its own */
	struct block *block;      /* being filled */
	struct peer *except;      /* who does not get it */
	struct rib_policy_cache cache;
};

/* --- groups */

static enum rib_audience audience(const struct peer *p)
{
	if (!p->ibgp)
		return RIB_TO_EXTERNAL;
	return p->ways.client ? RIB_TO_CLIENT : RIB_TO_INTERNAL;
}

static bool same_ways(const struct bgp_export *a, const struct bgp_export *b)
{
	return a->own_next_hop == b->own_next_hop && a->as_override == b->as_override &&
	       a->remove_private == b->remove_private && a->peer_asn == b->peer_asn && a->cluster_id == b->cluster_id;
}

static bool same_words(const struct group *g, const struct bgp_export *words, const struct peer *p, const bool *families,
		       bool extended)
{
	bool same = g->to == audience(p) && same_ways(&g->words, words) && g->policy == p->export && g->rules == p->export_rules && g->extended == extended &&
		    g->max_advertised == p->limits.advertised &&
		    g->words.ibgp == words->ibgp && g->words.as4 == words->as4 &&
		    g->words.v6_next_hop == words->v6_next_hop && g->words.local_asn == words->local_asn &&
		    g->words.otc == words->otc && g->keeps_back == bgp_otc_keeps_back(p->role) &&
		    addr_eq(&g->words.link_local_self, &words->link_local_self);
	for (unsigned f = 0; f < BGP_FAMILIES; f++)
		same &= g->families[f] == families[f] && addr_eq(&g->words.next_hop_self[f], &words->next_hop_self[f]);
	return same;
}

static uint64_t take_bit(struct daemon *d)
{
	uint64_t free_bits = ~d->group_bits, bit = free_bits & (~free_bits + 1);
	d->group_bits |= bit;
	return bit;
}

static struct group *group_for(struct daemon *d, const struct bgp_export *words, const struct peer *p,
			       const bool *families, bool extended)
{
	list_each(n, tmp, &d->groups) {
		struct group *g = container_of(n, struct group, node);
		if (same_words(g, words, p, families, extended))
			return g;
	}
	struct group *g = calloc(1, sizeof *g);
	if (!g)
		abort();
	g->words = *words;
	g->to = audience(p);
	memcpy(g->families, families, sizeof g->families);
	g->extended = extended;
	g->max_advertised = p->limits.advertised;
	g->keeps_back = bgp_otc_keeps_back(p->role);
	g->policy = p->export;
	g->rules = p->export_rules;
	g->bit = take_bit(d);
	list_init(&g->members);
	list_init(&g->laggards);
	list_append(&d->groups, &g->node);
	return g;
}

static void group_free(struct daemon *d, struct group *g)
{
	rib_clear_sent(d->rib, g->bit); /* the bit must be clean for its next owner */
	d->group_bits &= ~g->bit;
	list_remove(&g->node);
	free(g);
}

static struct bgp_export words_for(const struct peer *p)
{
	const struct peer_ways *w = &p->ways;
	bool rewrites = !p->ibgp && (w->as_override || w->remove_private);
	return (struct bgp_export) {.ibgp = p->ibgp,
				   .as4 = p->as4,
				   .local_asn = p->session.params.local_asn,
				   .otc = bgp_otc_on_export(p->role, p->session.params.local_asn),
				   .own_next_hop = p->ibgp && w->next_hop_self,
				   .as_override = !p->ibgp && w->as_override,
				   .remove_private = !p->ibgp && w->remove_private,
				   .peer_asn = rewrites ? p->remote_asn : 0,
				   .cluster_id = p->ibgp ? p->daemon->cluster_id : 0,
				   .v6_next_hop = p->session.v6_next_hop,
				   .link_local_self = p->local_link_local};
}

void export_join(struct peer *p)
{
	struct daemon *d = p->daemon;
	struct bgp_export words = words_for(p);
	bool families[BGP_FAMILIES];
	for (unsigned f = 0; f < BGP_FAMILIES; f++) {
		words.next_hop_self[f] = p->local_next_hop[f];
		/* without an address of ours in the family there is nothing that we could say in it */
		families[f] = p->families[f] && !addr_is_zero(&p->local_next_hop[f]);
	}
	p->group = group_for(d, &words, p, families, p->session.extended);
	list_append(&p->group->laggards, &p->member);
	rib_cursor_open(d->rib, &p->cursor);
	p->joined_seq = rib_last_seq(d->rib);
}

void export_again(struct peer *p)
{
	struct group *g = p->group;
	if (!g)
		return;
	const struct rib_cursor *at = p->cursor.rib ? &p->cursor : &g->cursor;
	bool up_to_date = rib_cursor_at_end(at);
	rib_cursor_close(&p->cursor);
	list_remove(&p->member);
	if (list_empty(&g->members))
		rib_cursor_close(&g->cursor);
	list_append(&g->laggards, &p->member);
	rib_cursor_open(p->daemon->rib, &p->cursor);
	/* withdrawals that it has not been told of yet are still to come */
	p->joined_seq = up_to_date ? rib_last_seq(p->daemon->rib) : 0;
}

void export_policy_changed(struct peer *p)
{
	if (!p->group)
		return;
	export_leave(p);
	export_join(p);
	p->joined_seq = 0; /* the new policy may let out less: everything else is taken back */
}

void export_leave(struct peer *p)
{
	struct group *g = p->group;
	if (!g)
		return;
	list_remove(&p->member);
	rib_cursor_close(&p->cursor);
	p->group = NULL;
	if (list_empty(&g->members))
		rib_cursor_close(&g->cursor);
	if (list_empty(&g->members) && list_empty(&g->laggards))
		group_free(p->daemon, g);
}

/* --- encoding */

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
	struct prefix at[BATCH];
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
	struct prefix at[BATCH];
	struct peer *from = receives(b, items->from) ? items->from : NULL;
	struct bgp_routes routes = {bgp_family_of_prefix(&items->prefix), n, at, NULL};
	for (size_t i = 0; i < n; i++)
		at[i] = items[i].prefix;
	if (from && items->attrs)
		withdraw_from_source(b, from, items, n);
	if (b->only && from && items->attrs)
		return;
	if (items->attrs)
		announce(b, items, from, routes);
	else
		withdraw(b, NULL, routes);
}

static void encode(struct batch *b)
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

/* --- from the journal to a batch */

static void mark_sent(struct group *g, struct rib_entry *e, bool sent)
{
	bool was = e->sent & g->bit;
	e->sent = sent ? e->sent | g->bit : e->sent & ~g->bit;
	if (g->bit && was != sent)
		g->advertised = sent ? g->advertised + 1 : g->advertised - 1;
}

/* Members share the group's bit. A laggard cannot trust it to be off, since the members may have cleared it
 * while the laggard was behind; but what it was never sent before, nobody needs to take back. */
static bool must_withdraw(const struct batch *b, const struct rib_entry *e)
{
	if (b->only)
		return e->seq > b->only->joined_seq;
	return !b->group->bit || e->sent & b->group->bit;
}

/* The group's rules for the best path of e; fills in what they make of it. */
static bool run_rules(struct batch *b, const struct rib_entry *e, struct item *i)
{
	const struct rib_source *source = e->path.source;
	const struct peer *from = source->owner;
	const struct rib_policy_subject s = {&e->prefix, source->kind, from ? from->name : NULL};
	struct rib_policy_trace trace;
	struct bgp_attrs *made;
	if (rib_policy_run_cached(b->group->rules, &b->cache, &s, e->path.attrs, &made, &trace) == RIB_REJECT)
		return false;
	i->attrs = i->made = bgp_attrs_ref(made);
	i->med_set = trace.med_set;
	i->next_hop_set = trace.next_hop_set;
	return true;
}

static void add_entry(struct batch *b, struct rib_entry *e)
{
	struct group *g = b->group;
	struct item *i = &b->items[b->count];
	if (!g->families[bgp_family_of_prefix(&e->prefix)])
		return;
	const struct rib_path *best = rib_best(e);
	bool accepted = rib_export_accepts(g->policy, g->to, best) && !(g->keeps_back && best->attrs->otc);
	if (accepted && !b->only && !(e->flags & RIB_ENTRY_BEST_CHANGED))
		return; /* only its further next hops changed */
	*i = (struct item){.attrs = accepted ? e->path.attrs : NULL, .prefix = e->prefix};
	if (accepted && g->policy == RIB_EXPORT_WRITTEN)
		accepted = run_rules(b, e, i);
	bool withdrawn = !accepted && must_withdraw(b, e);
	if (!accepted && (!b->only || list_empty(&g->members)))
		mark_sent(g, e, false); /* laggards do not look at the bit, so with no members it is nobody's */
	if (!accepted && !withdrawn)
		return;
	if (!accepted)
		i->attrs = NULL;
	i->from = accepted ? e->path.source->owner : NULL;
	i->from_had_other = e->flags & RIB_ENTRY_SOURCE_CHANGED;
	i->originator = accepted && g->words.ibgp && best->source->ibgp ? best->source->router_id : 0;
	b->count++;
	b->attr_bytes += accepted ? i->attrs->wire_len : 0;
	if (accepted)
		mark_sent(g, e, true);
}

static void run(struct daemon *d, struct group *g, struct peer *only)
{
	static struct batch b; /* 64 KB: not for the stack; one at a time */
	struct rib_cursor *cursor = only ? &only->cursor : &g->cursor;
	struct rib_entry *e;
	b.daemon = d;
	b.group = g;
	b.only = only;
	b.attr_bytes = 0;
	for (unsigned n = 0; n < BATCH && b.attr_bytes < BATCH_ATTRS && (e = rib_cursor_next(cursor)); n++)
		add_entry(&b, e);
	encode(&b);
	d->told_too_much |= g->max_advertised && g->advertised > g->max_advertised;
}

static void send_end_of_rib(struct peer *p)
{
	struct block *b = block_new(64);
	p->end_of_rib_sent = true;
	bool wanted = p->session.conn[bgp_session_slot(&p->session)].open.restart.present;
	for (unsigned f = 0; f < BGP_FAMILIES; f++)
		if (wanted && p->families[f])
			b->len += (uint32_t)bgp_update_encode_end_of_rib(b->data + b->len, b->cap - b->len, (enum bgp_family)f);
	peer_send(p, b);
	block_unref(b);
}

static void become_member(struct peer *p)
{
	struct group *g = p->group;
	if (list_empty(&g->members))
		rib_cursor_open_at(&g->cursor, &p->cursor);
	else if (!rib_cursor_same(&g->cursor, &p->cursor))
		return;
	rib_cursor_close(&p->cursor);
	list_remove(&p->member);
	list_append(&g->members, &p->member);
}

/* True: could do more at once. */
static bool work_laggard(struct daemon *d, struct peer *p)
{
	if (peer_pending(p) > PENDING_MAX)
		return false;
	run(d, p->group, p);
	if (!rib_cursor_at_end(&p->cursor))
		return true;
	/* a restarting speaker says that it has told all only when it has learned all (RFC 4724 section 4.1) */
	if (!p->end_of_rib_sent && !d->restarting)
		send_end_of_rib(p);
	if (p->end_of_rib_sent) {
		refresh_answered(p);
		become_member(p);
	}
	return false;
}

static void set_aside(struct group *g, struct peer *p)
{
	rib_cursor_open_at(&p->cursor, &g->cursor);
	p->joined_seq = 0;
	list_remove(&p->member);
	list_append(&g->laggards, &p->member);
}

static bool work_members(struct daemon *d, struct group *g)
{
	if (list_empty(&g->members) || rib_cursor_at_end(&g->cursor))
		return false;
	list_each(n, tmp, &g->members) {
		struct peer *p = container_of(n, struct peer, member);
		if (peer_pending(p) > PENDING_MAX)
			set_aside(g, p);
	}
	if (list_empty(&g->members)) {
		rib_cursor_close(&g->cursor);
		return false;
	}
	run(d, g, NULL);
	return !rib_cursor_at_end(&g->cursor);
}

bool export_work(struct daemon *d)
{
	bool more = false;
	list_each(n, tmp, &d->groups) {
		struct group *g = container_of(n, struct group, node);
		more |= work_members(d, g);
		list_each(m, tmp_m, &g->laggards)
			more |= work_laggard(d, container_of(m, struct peer, member));
	}
	return more;
}

/* How many of the peer's own best routes the group's rules let out. */
static size_t own_let_out(const struct group *g, const struct peer *p)
{
	size_t n = 0;
	for (uint32_t at = 1; p->source && p->source->best && at <= rib_entry_limit(p->daemon->rib); at++) {
		const struct rib_entry *e = rib_entry_at(p->daemon->rib, at);
		n += e && e->path.source == p->source && e->sent & g->bit;
	}
	return n;
}

size_t export_advertised(const struct peer *p)
{
	const struct group *g = p->group;
	if (!g)
		return 0;
	/* the group's count holds the peer's own best routes, which it is not told */
	bool own = g->policy == RIB_EXPORT_ALL && g->to != RIB_TO_INTERNAL && p->source;
	size_t mine = own ? p->source->best : g->policy == RIB_EXPORT_WRITTEN ? own_let_out(g, p) : 0;
	return g->advertised > mine ? g->advertised - mine : 0;
}
