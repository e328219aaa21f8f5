#include "src/daemon/export.h"

#include <stdlib.h>
#include <string.h>

#include "bgp/update.h"
#include "src/daemon/batch.h"
#include "src/daemon/daemon.h"
#include "src/daemon/external_io.h"
#include "src/daemon/peer_io.h"

enum {
	BATCH_ATTRS = 256 * 1024,    /* a batch ends with so many bytes of attributes */
	PENDING_MAX = 256 * 1024,    /* bytes a peer may have waiting; beyond, it is a laggard */
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
	return a->own_next_hop == b->own_next_hop && a->as_override == b->as_override && a->draining == b->draining &&
	       a->remove_private == b->remove_private && a->peer_asn == b->peer_asn && a->cluster_id == b->cluster_id;
}

/* Is it told several paths to a prefix? */
static bool is_alone(const struct peer *p)
{
	bool any = false;
	for (unsigned f = 0; f < BGP_FAMILIES; f++)
		any |= p->session.add_path_out[f];
	return any;
}

static void set_alone(struct group *g, const struct peer *p)
{
	g->alone = p;
	for (unsigned f = 0; f < BGP_FAMILIES; f++)
		g->paths[f] = !p->session.add_path_out[f] ? 0 : p->send_paths < BATCH_PATHS ? p->send_paths : BATCH_PATHS;
	rib_read_further(p->daemon->rib, true);
}

static bool same_words(const struct group *g, const struct bgp_export *words, const struct peer *p, const bool *families,
		       bool extended)
{
	bool same = !g->alone && !is_alone(p) && g->to == audience(p) && same_ways(&g->words, words) &&
		    g->policy == p->export && g->rules == p->export_rules && g->extended == extended &&
		    g->max_advertised == p->limits.advertised &&
		    g->words.ibgp == words->ibgp && g->words.as4 == words->as4 &&
		    g->words.v6_next_hop == words->v6_next_hop && g->words.local_asn == words->local_asn &&
		    g->words.otc == words->otc && g->keeps_back == bgp_otc_keeps_back(p->role) &&
		    addr_eq(&g->words.link_local_self, &words->link_local_self);
	for (unsigned f = 0; f < BGP_FAMILIES; f++)
		same &= g->families[f] == families[f] && addr_eq(&g->words.next_hop_self[f], &words->next_hop_self[f]);
	return same;
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
	rib_marks_open(d->rib, &g->told);
	if (is_alone(p))
		set_alone(g, p);
	list_init(&g->members);
	list_init(&g->laggards);
	list_append(&d->groups, &g->node);
	return g;
}

static void group_free(struct daemon *d, struct group *g)
{
	rib_marks_close(&g->told);
	if (g->alone)
		rib_read_further(d->rib, false);
	list_remove(&g->node);
	free(g);
}

static struct bgp_export words_for(const struct peer *p)
{
	const struct peer_ways *w = &p->ways;
	bool rewrites = !p->ibgp && (w->as_override || w->remove_private);
	return (struct bgp_export){
		.ibgp = p->ibgp,
		.as4 = p->as4,
		.v6_next_hop = p->session.v6_next_hop,
		.local_asn = p->session.params.local_asn,
		.otc = bgp_otc_on_export(p->role, p->session.params.local_asn),
		.own_next_hop = p->ibgp && w->next_hop_self,
		.as_override = !p->ibgp && w->as_override,
		.remove_private = !p->ibgp && w->remove_private,
		.draining = w->draining,
		.peer_asn = rewrites ? p->remote_asn : 0,
		.cluster_id = p->ibgp ? p->daemon->cluster_id : 0,
		.link_local_self = p->local_link_local,
	};
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
	p->group->peers++;
	p->reading = false;
	rib_cursor_open(d->rib, &p->cursor);
	rib_cursor_open_at_end(d->rib, &p->news);
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
	rib_cursor_close(&p->news);
	if (up_to_date) /* else withdrawals that it has not been told of yet are still to come */
		rib_cursor_open_at_end(p->daemon->rib, &p->news);
}

void export_policy_changed(struct peer *p)
{
	if (!p->group)
		return;
	export_leave(p);
	export_join(p);
	rib_cursor_close(&p->news); /* the new policy may let out less: everything else is taken back */
}

void export_leave(struct peer *p)
{
	struct group *g = p->group;
	if (!g)
		return;
	list_remove(&p->member);
	rib_cursor_close(&p->cursor);
	rib_cursor_close(&p->news);
	p->group = NULL;
	g->peers--;
	if (list_empty(&g->members))
		rib_cursor_close(&g->cursor);
	if (list_empty(&g->members) && list_empty(&g->laggards))
		group_free(p->daemon, g);
}

/* --- from the journal to a batch */

/* Members share the group's bit. A laggard cannot trust it to be off, since the members may have cleared it
 * while the laggard was behind; but what it was never sent before, nobody needs to take back. */
static bool must_withdraw(const struct batch *b)
{
	if (b->only)
		return !b->only->news.rib;
	return rib_marks_have(&b->group->told, b->at);
}

/* The group's rules for a path of e; fills in what they make of it. */
static bool run_rules(struct batch *b, const struct rib_path *p, struct item *i)
{
	const struct rib_source *source = rib_path_source(p);
	const struct peer *from = source->owner;
	const struct rib_policy_subject s = {&i->prefix, source->kind, from ? peer_policy_name(from) : NULL};
	struct rib_policy_trace trace;
	struct bgp_attrs *made;
	if (rib_policy_run_cached(b->group->rules, &b->cache, &s, i->attrs, &made, &trace) == RIB_REJECT)
		return false;
	i->attrs = i->made = bgp_attrs_ref(made);
	i->med_set |= trace.med_set;
	i->next_hop_set |= trace.next_hop_set;
	return true;
}

/* May the path be told, whatever a written policy says? In a group of several peers, who brought it is left out later. */
static bool may_be_told(const struct group *g, const struct rib_path *p)
{
	return rib_export_accepts(g->policy, g->to, p) && !(g->keeps_back && bgp_attrs_otc(rib_path_attrs(p))) &&
	       !(g->alone && rib_path_source(p)->owner == g->alone);
}

/* Makes *i what is said of such a path; false: the policy refuses it. */
static bool make_item(struct batch *b, const struct rib_entry *e, const struct rib_path *p, struct item *i)
{
	const struct group *g = b->group;
	const struct rib_source *source = rib_path_source(p);
	struct bgp_attrs *attrs = rib_path_attrs(p);
	bool external = source->kind == RIB_SOURCE_EXTERNAL;
	const struct addr next_hop = bgp_attrs_next_hop(attrs);
	*i = (struct item){.attrs = attrs,
			   .prefix = rib_entry_prefix(e),
			   .from = source->owner,
			   .from_had_other = e->flags & RIB_ENTRY_SOURCE_CHANGED,
			   .originator = g->words.ibgp && source->ibgp ? source->router_id : 0,
			   .med_set = external && attrs->has_med, /* they were given for the peers */
			   .next_hop_set = external && !addr_is_zero(&next_hop)};
	return g->policy != RIB_EXPORT_WRITTEN || run_rules(b, p, i);
}

/* The item behind the last one is one of the batch. */
static void take_item(struct batch *b)
{
	const struct item *i = &b->items[b->count++];
	b->attr_bytes += i->attrs ? i->attrs->wire_len : 0;
}

/* Nothing of e is told any more. Laggards do not look at the bit, so with no members it is nobody's. */
static void forget_told(const struct batch *b)
{
	if (!b->only || list_empty(&b->group->members))
		rib_marks_put(&b->group->told, b->at, false);
}

static void add_best(struct batch *b, struct rib_entry *e)
{
	struct item *i = &b->items[b->count];
	const struct rib_path *best = rib_best(e);
	bool accepted = may_be_told(b->group, best);
	if (accepted && !b->only && !(e->flags & RIB_ENTRY_BEST_CHANGED))
		return; /* only its further next hops changed */
	if (accepted && make_item(b, e, best, i)) {
		take_item(b);
		rib_marks_put(&b->group->told, b->at, true);
		return;
	}
	if (must_withdraw(b)) {
		*i = (struct item){.prefix = rib_entry_prefix(e)};
		take_item(b);
	}
	forget_told(b);
}

/* The best ones, each in its place. */
static void add_several(struct batch *b, struct rib_entry *e, uint8_t places)
{
	struct group *g = b->group;
	const struct rib_path *p;
	bool may_have = must_withdraw(b);
	uint32_t used = 0;
	rib_ranking_start(&b->ranking, b->daemon->rib, e);
	while (used < places && (p = rib_ranking_next(&b->ranking)) != NULL) {
		struct item *i = &b->items[b->count];
		if (!may_be_told(g, p) || !make_item(b, e, p, i))
			continue;
		i->from = NULL;
		i->path_id = ++used;
		take_item(b);
	}
	for (uint32_t place = used + 1; may_have && place <= places; place++) {
		b->items[b->count] = (struct item){.prefix = rib_entry_prefix(e), .path_id = place};
		take_item(b);
	}
	if (used)
		rib_marks_put(&g->told, b->at, true);
	else
		forget_told(b);
}

static void add_entry(struct batch *b, struct rib_entry *e)
{
	const struct prefix prefix = rib_entry_prefix(e);
	enum bgp_family family = bgp_family_of_prefix(&prefix);
	if (!b->group->families[family])
		return;
	b->at = rib_entry_position(b->daemon->rib, e);
	if (b->group->paths[family])
		add_several(b, e, b->group->paths[family]);
	else
		add_best(b, e);
}

static struct rib_entry *next_change(struct group *g, struct peer *only)
{
	if (!only)
		return rib_cursor_next(&g->cursor);
	if (only->news.rib && rib_cursor_same(&only->cursor, &only->news))
		rib_cursor_close(&only->news); /* from here on it may have been told before */
	return rib_cursor_next(&only->cursor);
}

static void run(struct daemon *d, struct group *g, struct peer *only)
{
	static struct batch b; /* 64 KB: not for the stack; one at a time */
	struct rib_entry *e;
	b.daemon = d;
	b.group = g;
	b.only = only;
	b.attr_bytes = 0;
	for (unsigned n = 0; n < BATCH && b.count < BATCH && b.attr_bytes < BATCH_ATTRS && (e = next_change(g, only)); n++)
		add_entry(&b, e);
	batch_encode(&b);
	d->told_too_much |= g->max_advertised && g->told.count > g->max_advertised;
}

static void send_end_of_rib(struct peer *p)
{
	struct block *b = block_new(64);
	p->end_of_rib_sent = true;
	bool wanted = p->session.conn[bgp_session_slot(&p->session)].open.restart.present;
	for (unsigned f = 0; f < BGP_FAMILIES; f++)
		if (wanted && p->families[f])
			b->len += (uint32_t)bgp_update_encode_end_of_rib(b->data + b->len, b->cap - b->len, (enum bgp_family)f);
	peer_send(p, b, 0, b->len);
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
	rib_cursor_close(&p->news);
	list_remove(&p->member);
	list_append(&g->members, &p->member);
}

/* Writing to many peers costs more than what is written. So a group pauses after each writing, the longer the more peers it
 * has (20 ms with 1000), and what changes or who joins meanwhile is told in one go. Who still reads the table, and a group that
 * has not caught up, do not pause. */
static void pause_group(struct group *g, struct tick now)
{
	enum { PEERS_A_MS = 50 };
	struct tick at = tick_after(now, (int64_t)g->peers / PEERS_A_MS);
	if (at.ms > g->ready_at.ms)
		g->ready_at = at;
}

/* There is something to do for the group: may it be done now? Otherwise the loop is woken for it. */
static bool is_ready(struct daemon *d, const struct group *g, struct tick now)
{
	if (!tick_is_set(g->ready_at) || tick_due(g->ready_at, now))
		return true;
	d->export_at = tick_earlier(d->export_at, g->ready_at);
	return false;
}

/* Is there nothing of a former life, or in the kernel, that is still to come? */
static bool knows_all(const struct daemon *d)
{
	return !d->restarting && external_settled(d->external);
}

/* True: could do more at once. */
static bool work_laggard(struct daemon *d, struct peer *p, struct tick now)
{
	if (peer_pending(p) > PENDING_MAX)
		return false;
	p->reading = true;
	run(d, p->group, p);
	if (!rib_cursor_at_end(&p->cursor))
		return true;
	/* a restarting speaker says that it has told all only when it has learned all (RFC 4724 section 4.1) */
	if (!p->end_of_rib_sent && knows_all(d))
		send_end_of_rib(p);
	p->reading = false;
	pause_group(p->group, now);
	if (p->end_of_rib_sent) {
		refresh_answered(p);
		become_member(p);
	}
	return false;
}

static void set_aside(struct group *g, struct peer *p)
{
	rib_cursor_open_at(&p->cursor, &g->cursor);
	list_remove(&p->member);
	list_append(&g->laggards, &p->member);
}

static bool work_members(struct daemon *d, struct group *g, struct tick now)
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
	if (rib_cursor_at_end(&g->cursor))
		pause_group(g, now);
	return !rib_cursor_at_end(&g->cursor);
}

/* Has the laggard read all, and waits for the members, or for what we do not know yet? */
static bool is_idle(const struct daemon *d, const struct peer *p)
{
	bool early = !p->end_of_rib_sent && !knows_all(d);
	bool ahead = !list_empty(&p->group->members) && !rib_cursor_at_end(&p->group->cursor);
	return rib_cursor_at_end(&p->cursor) && (early || ahead);
}

static bool work_group(struct daemon *d, struct group *g, struct tick now)
{
	bool waits = !list_empty(&g->members) && !rib_cursor_at_end(&g->cursor), more = false;
	list_each(n, tmp, &g->laggards)
		waits |= !is_idle(d, container_of(n, struct peer, member));
	bool ready = waits && is_ready(d, g, now);
	if (ready)
		more = work_members(d, g, now);
	list_each(n, tmp, &g->laggards) {
		struct peer *p = container_of(n, struct peer, member);
		if (ready || p->reading)
			more |= work_laggard(d, p, now);
	}
	return more;
}

bool export_work(struct daemon *d, struct tick now)
{
	bool more = false;
	d->export_at = (struct tick){0};
	list_each(n, tmp, &d->groups)
		more |= work_group(d, container_of(n, struct group, node), now);
	return more;
}

bool export_told(const struct peer *p, const struct rib_entry *e)
{
	return p->group && rib_marks_have(&p->group->told, rib_entry_position(p->daemon->rib, e)) &&
	       rib_path_source(&e->path) != p->source;
}

/* Does what it was told take a look at the whole table to know? */
static bool must_be_counted(const struct peer *p)
{
	const struct group *g = p->group;
	return g && !g->alone && g->policy == RIB_EXPORT_WRITTEN && p->source && p->source->best;
}

void export_count_own(struct daemon *d)
{
	bool any = false;
	list_each(n, tmp, &d->peers) {
		struct peer *p = container_of(n, struct peer, node);
		p->own_let_out = 0;
		any |= must_be_counted(p);
	}
	for (uint32_t at = rib_entry_after(d->rib, 0); any && at <= rib_entry_limit(d->rib); at = rib_entry_after(d->rib, at)) {
		const struct rib_entry *e = rib_entry_at(d->rib, at);
		const struct rib_path *best = e ? rib_best(e) : NULL;
		struct peer *p = best ? rib_path_source(best)->owner : NULL;
		if (p && must_be_counted(p) && rib_marks_have(&p->group->told, at))
			p->own_let_out++;
	}
}

size_t export_advertised(const struct peer *p)
{
	const struct group *g = p->group;
	if (!g)
		return 0;
	/* the group's count holds the peer's own best routes, which it is not told */
	bool own = !g->alone && g->policy == RIB_EXPORT_ALL && g->to != RIB_TO_INTERNAL && p->source;
	size_t mine = own ? p->source->best : !g->alone && g->policy == RIB_EXPORT_WRITTEN ? p->own_let_out : 0;
	return g->told.count > mine ? g->told.count - mine : 0;
}
