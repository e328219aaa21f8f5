/* From a set and what a policy wants of it to another set. The wire form is made anew: each attribute stays in its
 * place, one that was not there comes before the first with a higher code, and what is not edited is copied byte by
 * byte, so that an edit that changes nothing gives the same set.
 */
#include <stdlib.h>
#include <string.h>

#include "bgp/attr.h"
#include "bgp/attr_private.h"
#include "bgp/message.h"

enum { WIRE_MAX = BGP_DRAFT_WIRE_MAX, COMMUNITIES_MAX = WIRE_MAX / 4 };
enum { GRACEFUL_SHUTDOWN = 0xffff0000, NO_EXPORT = 0xffffff01, NO_ADVERTISE = 0xffffff02, NO_EXPORT_SUBCONFED = 0xffffff03 };

struct editor {
	const struct bgp_attrs *old;
	const struct bgp_attr_edit *edit;
	struct writer w;
	struct addr mp_next_hop; /* what goes behind the wire, where set.context says so */
	struct bgp_attrs set; /* the fields of the new one; its wire is what w writes */
};

/* NULL where the old set has no such attribute. */
typedef void edit_fn(struct editor *ed, const struct bgp_attr_item *old);

static void keep(struct editor *ed, const struct bgp_attr_item *old)
{
	if (old)
		bgp_attr_put(&ed->w, old->flags & 0xf0, old->code, old->value.p, cursor_left(&old->value));
}

static void put_u32(struct editor *ed, uint8_t flags, uint8_t code, uint32_t v)
{
	uint8_t b[4];
	struct writer w = writer_of(b, sizeof b);
	writer_u32(&w, v);
	bgp_attr_put(&ed->w, flags, code, b, sizeof b);
}

/* Segments of up to 255; the first one may go on in what was there. */
static void put_prepended(struct writer *w, struct cursor path, const uint32_t *at, size_t n)
{
	struct cursor rest = path;
	unsigned head = cursor_left(&path) && cursor_u8(&rest) == BGP_SEG_SEQUENCE ? cursor_u8(&rest) : 255;
	size_t join = n < 255u - head ? n : 255u - head;
	for (size_t left = n - join, first = left % 255 ? left % 255 : 255; left; left -= first, first = 255) {
		writer_u8(w, BGP_SEG_SEQUENCE);
		writer_u8(w, (uint8_t)first);
		for (size_t i = 0; i < first; i++)
			writer_u32(w, *at++);
	}
	if (join) {
		writer_u8(w, BGP_SEG_SEQUENCE);
		writer_u8(w, (uint8_t)(head + join));
		for (size_t i = 0; i < join; i++)
			writer_u32(w, *at++);
		path = rest;
	}
	writer_bytes(w, path.p, cursor_left(&path));
}

static void edit_as_path(struct editor *ed, const struct bgp_attr_item *old)
{
	if (old && !ed->edit->prepend_count) {
		keep(ed, old);
		ed->set.as_path_at = (uint16_t)(writer_len(&ed->w) - ed->set.as_path_len);
		return;
	}
	static const uint8_t nothing[1];
	uint8_t bytes[WIRE_MAX];
	struct writer p = writer_of(bytes, sizeof bytes);
	size_t n = ed->edit->prepend_count;
	put_prepended(&p, old ? old->value : cursor_of(nothing, 0), ed->edit->prepend, n);
	ed->w.failed |= !writer_ok(&p);
	bgp_attr_put(&ed->w, BGP_FLAG_TRANSITIVE, BGP_ATTR_AS_PATH, bytes, writer_len(&p));
	ed->set.as_path_len = (uint16_t)writer_len(&p);
	ed->set.as_path_at = (uint16_t)(writer_len(&ed->w) - writer_len(&p));
	if (n) {
		ed->set.first_as = ed->edit->prepend[0];
		ed->set.as_count = (uint16_t)(ed->old->as_count + n);
	}
}

/* NEXT_HOP was written last, where it is there. */
static void note_next_hop(struct editor *ed, bool there)
{
	ed->set.next_hop_at = there ? (uint16_t)(writer_len(&ed->w) - 4) : 0;
}

/* NEXT_HOP in the wire is for sets that have none from MP_REACH_NLRI. */
static void edit_next_hop(struct editor *ed, const struct bgp_attr_item *old)
{
	const struct addr *nh = &ed->edit->next_hop;
	if (!ed->edit->has_next_hop) {
		keep(ed, old);
		note_next_hop(ed, old);
		return;
	}
	bool classic = old && !(ed->old->context & BGP_ATTR_MP_NEXT_HOP) && addr_is_v4(nh) && !addr_is_zero(nh);
	ed->mp_next_hop = *nh;
	ed->set.context &= (uint8_t)~BGP_ATTR_MP_NEXT_HOP;
	if (classic)
		bgp_attr_put(&ed->w, BGP_FLAG_TRANSITIVE, BGP_ATTR_NEXT_HOP, nh->b + 12, 4);
	else if (!addr_is_zero(nh))
		ed->set.context |= BGP_ATTR_MP_NEXT_HOP;
	note_next_hop(ed, classic);
}

static void edit_med(struct editor *ed, const struct bgp_attr_item *old)
{
	if (!ed->edit->has_med) {
		keep(ed, old);
		return;
	}
	put_u32(ed, BGP_FLAG_OPTIONAL, BGP_ATTR_MED, ed->edit->med);
	ed->set.med = ed->edit->med;
	ed->set.has_med = true;
}

/* Where a session has no LOCAL_PREF, what such bytes mean without one (RFC 8326: with GRACEFUL_SHUTDOWN, the last choice) is
 * not written, and everything else is: sets of the same bytes are one set. */
static void edit_local_pref(struct editor *ed, const struct bgp_attr_item *old)
{
	bool ibgp = ed->old->context & BGP_ATTR_IBGP, given = ed->edit->has_local_pref;
	uint32_t unsaid = ed->set.graceful_shutdown ? 0 : BGP_DEFAULT_LOCAL_PREF;
	if (!given && (ibgp || old)) {
		keep(ed, old);
		return;
	}
	if (given)
		ed->set.local_pref = ed->edit->local_pref;
	ed->set.context &= (uint8_t)~BGP_ATTR_EDITED;
	if (!ibgp && ed->set.local_pref == unsaid)
		return;
	put_u32(ed, BGP_FLAG_TRANSITIVE, BGP_ATTR_LOCAL_PREF, ed->set.local_pref);
	if (!ibgp)
		ed->set.context |= BGP_ATTR_EDITED;
}

static bool removed(const struct bgp_attr_edit *e, const struct community *c)
{
	for (size_t i = 0; i < e->remove_count; i++)
		if (community_matches(&e->remove[i], c))
			return true;
	return e->replace >> c->kind & 1;
}

/* Known before the communities are made anew, since LOCAL_PREF comes first. */
static bool will_shut_down(const struct bgp_attrs *old, const struct bgp_attr_edit *e)
{
	static const struct community graceful_shutdown = {COMMUNITY_STANDARD, {GRACEFUL_SHUTDOWN}};
	for (size_t i = 0; i < e->add_count; i++)
		if (community_cmp(&e->add[i], &graceful_shutdown) == 0)
			return true;
	return old->graceful_shutdown && !removed(e, &graceful_shutdown);
}

static int by_value(const void *a, const void *b)
{
	return community_cmp(a, b);
}

static size_t sort_unique(struct community *at, size_t n)
{
	size_t kept = 0;
	qsort(at, n, sizeof *at, by_value);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || community_cmp(&at[kept - 1], &at[i]) != 0)
			at[kept++] = at[i];
	return kept;
}

static bool holds(const struct community *sorted, size_t n, const struct community *c)
{
	return bsearch(c, sorted, n, sizeof *c, by_value);
}

/* The communities of a kind after the edit, sorted, each once; *same: they are the ones that were there. */
static size_t edited_communities(const struct bgp_attr_edit *e, enum community_kind kind, struct cursor old,
				 struct community list[COMMUNITIES_MAX], bool *same)
{
	struct community was[COMMUNITIES_MAX];
	size_t n = 0, old_count = 0;
	while (cursor_left(&old) >= community_size(kind) && old_count < COMMUNITIES_MAX / 2) {
		was[old_count] = community_read(kind, &old);
		if (!removed(e, &was[old_count]))
			list[n++] = was[old_count];
		old_count++;
	}
	for (size_t i = 0; i < e->add_count && n < COMMUNITIES_MAX; i++)
		if (e->add[i].kind == kind)
			list[n++] = e->add[i];
	n = sort_unique(list, n);
	*same = n == sort_unique(was, old_count);
	for (size_t i = 0; i < n && *same; i++)
		*same = holds(was, n, &list[i]);
	return n;
}

static void note_well_known(struct bgp_attrs *set, const struct community *list, size_t n)
{
	static const struct community no_export = {COMMUNITY_STANDARD, {NO_EXPORT}};
	static const struct community no_advertise = {COMMUNITY_STANDARD, {NO_ADVERTISE}};
	static const struct community no_subconfed = {COMMUNITY_STANDARD, {NO_EXPORT_SUBCONFED}};
	set->no_export = holds(list, n, &no_export) || holds(list, n, &no_subconfed);
	set->no_advertise = holds(list, n, &no_advertise);
}

static bool touches(const struct bgp_attr_edit *e, enum community_kind kind)
{
	bool yes = e->replace >> kind & 1;
	for (size_t i = 0; i < e->add_count && !yes; i++)
		yes = e->add[i].kind == kind;
	for (size_t i = 0; i < e->remove_count && !yes; i++)
		yes = e->remove[i].value.kind == kind;
	return yes;
}

static void edit_communities(struct editor *ed, enum community_kind kind, const struct bgp_attr_item *old)
{
	enum { FLAGS = BGP_FLAG_OPTIONAL | BGP_FLAG_TRANSITIVE };
	struct community list[COMMUNITIES_MAX];
	uint8_t bytes[WIRE_MAX];
	struct writer w = writer_of(bytes, sizeof bytes);
	bool same;
	if (!touches(ed->edit, kind)) {
		keep(ed, old);
		return;
	}
	ed->w.failed |= old && cursor_left(&old->value) / community_size(kind) > COMMUNITIES_MAX / 2; /* too long to keep */
	size_t n = edited_communities(ed->edit, kind, old ? old->value : cursor_of(bytes, 0), list, &same);
	if (same) { /* in the order in which they came */
		keep(ed, old);
		return;
	}
	for (size_t i = 0; i < n; i++)
		community_write(&list[i], &w);
	if (kind == COMMUNITY_STANDARD)
		note_well_known(&ed->set, list, n);
	if (kind == COMMUNITY_EXTENDED)
		ed->set.has_link_bandwidth = bgp_link_bandwidth(cursor_of(bytes, writer_len(&w))) != 0;
	ed->w.failed |= !writer_ok(&w);
	if (n)
		bgp_attr_put(&ed->w, old ? old->flags & 0xf0 : FLAGS, bgp_attr_of_community(kind), bytes, writer_len(&w));
}

static void edit_standard(struct editor *ed, const struct bgp_attr_item *old)
{
	edit_communities(ed, COMMUNITY_STANDARD, old);
}

static void edit_extended(struct editor *ed, const struct bgp_attr_item *old)
{
	edit_communities(ed, COMMUNITY_EXTENDED, old);
}

static void edit_large(struct editor *ed, const struct bgp_attr_item *old)
{
	edit_communities(ed, COMMUNITY_LARGE, old);
}

static void edit_otc(struct editor *ed, const struct bgp_attr_item *old)
{
	if (old || !ed->edit->otc) {
		keep(ed, old);
		return;
	}
	put_u32(ed, BGP_FLAG_OPTIONAL | BGP_FLAG_TRANSITIVE, BGP_ATTR_OTC, ed->edit->otc);
	ed->set.has_otc = true;
}

/* By code. */
static const struct {
	uint8_t code;
	edit_fn *edit;
} edits[] = {
	{BGP_ATTR_AS_PATH, edit_as_path},         {BGP_ATTR_NEXT_HOP, edit_next_hop},
	{BGP_ATTR_MED, edit_med},                 {BGP_ATTR_LOCAL_PREF, edit_local_pref},
	{BGP_ATTR_COMMUNITIES, edit_standard},    {BGP_ATTR_EXT_COMMUNITIES, edit_extended},
	{BGP_ATTR_LARGE_COMMUNITIES, edit_large}, {BGP_ATTR_OTC, edit_otc},
};
enum { EDITS = sizeof edits / sizeof *edits };

/* The rows of edits, as bits, whose attribute the set has. */
static unsigned rows_in(const struct bgp_attrs *a)
{
	struct cursor block = cursor_of(a->wire, a->wire_len);
	struct bgp_attr_item item;
	unsigned rows = 0;
	while (bgp_attr_next(&block, &item))
		for (unsigned i = 0; i < EDITS; i++)
			rows |= (unsigned)(edits[i].code == item.code) << i;
	return rows;
}

/* What the old set has none of and what belongs before code. */
static void insert_before(struct editor *ed, unsigned there, unsigned *next, unsigned code)
{
	for (; *next < EDITS && edits[*next].code < code; ++*next)
		if (!(there >> *next & 1))
			edits[*next].edit(ed, NULL);
}

static edit_fn *edit_of(uint8_t code)
{
	for (unsigned i = 0; i < EDITS; i++)
		if (edits[i].code == code)
			return edits[i].edit;
	return keep;
}

static void run_edits(struct editor *ed)
{
	struct cursor block = cursor_of(ed->old->wire, ed->old->wire_len);
	struct bgp_attr_item item;
	unsigned next = 0, there = rows_in(ed->old);
	while (bgp_attr_next(&block, &item)) {
		insert_before(ed, there, &next, item.code);
		edit_of(item.code)(ed, &item);
	}
	insert_before(ed, there, &next, 256);
}

void bgp_draft_edit(struct bgp_draft *d, const struct bgp_attrs *a, const struct bgp_attr_edit *e)
{
	struct bgp_attrs *set = (struct bgp_attrs *)d->room;
	struct editor ed = {a, e, writer_of(set->wire, WIRE_MAX), bgp_attrs_next_hop(a), *a};
	if (e->has_weight)
		ed.set.weight = e->weight;
	ed.set.graceful_shutdown = will_shut_down(a, e);
	run_edits(&ed);
	memcpy(set, &ed.set, offsetof(struct bgp_attrs, wire)); /* an assignment would take the padding along, where wire begins */
	set->wire_len = (uint16_t)writer_len(&ed.w);
	memcpy(set->wire + set->wire_len, &ed.mp_next_hop, sizeof ed.mp_next_hop);
	d->good = writer_ok(&ed.w);
}

const struct bgp_attrs *bgp_draft_set(const struct bgp_draft *d)
{
	return d->good ? (const struct bgp_attrs *)d->room : NULL;
}

struct bgp_attrs *bgp_draft_intern(const struct bgp_draft *d)
{
	const struct bgp_attrs *set = bgp_draft_set(d);
	if (!set)
		return NULL;
	const struct addr next_hop = bgp_attrs_next_hop(set), *mp = set->context & BGP_ATTR_MP_NEXT_HOP ? &next_hop : NULL;
	return bgp_attrs_intern(bgp_attrs_table(set), set, mp, set->wire, set->wire_len);
}

struct bgp_attrs *bgp_attrs_edit(struct bgp_attrs *a, const struct bgp_attr_edit *e)
{
	struct bgp_draft d;
	bgp_draft_edit(&d, a, e);
	return bgp_draft_intern(&d);
}
