#include "src/daemon/external_command_io.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "netlink/route_msg.h"
#include "src/base/clock_io.h"
#include "src/base/commands.h"
#include "src/daemon/daemon.h"
#include "src/daemon/export.h"
#include "src/daemon/external_io.h"
#include "src/daemon/external_kernel_io.h"
#include "src/daemon/external_request.h"
#include "src/daemon/show_row.h"
#include "src/daemon/show_why_io.h"

/* --- handing over */

static bool read_request(struct show *s, const char *command, struct external_request *r)
{
	struct external_fault fault;
	if (external_request_read(r, strcmp(command, "route-remove") == 0, s->args, s->arg_count, &fault))
		return true;
	const struct command *c = command_by_id(command);
	if (fault.hint)
		snprintf(s->hint_text, sizeof s->hint_text, "%s", fault.hint);
	else
		snprintf(s->hint_text, sizeof s->hint_text, "the command is: %s %s %s", c->words[0], c->words[1], c->args);
	fail(s, s->hint_text, "%s", fault.text);
	return false;
}

static struct json_object *result(const struct show *s, const struct external_request *r, const char *what)
{
	const struct external_owner *o = external_owner_find(external_owners(s->daemon->external), r->words.owner);
	char text[64];
	struct json_object *row = json_object_new_object();
	put(row, "owner", r->words.owner);
	snprintf(text, sizeof text, "%zu %s", r->count, what);
	put(row, "result", r->all ? "everything is taken back" : text);
	put_number(row, "routes", o ? o->count : 0);
	return row;
}

static struct json_object *refused(struct show *s, const struct external_error *e)
{
	return fail(s, e->hint, "%s", e->text);
}

static struct json_object *hand_over(struct show *s, const char *command, uint64_t connection)
{
	struct external_request r;
	struct external_error e;
	if (s->at++ || !read_request(s, command, &r))
		return NULL;
	struct bgp_attrs *attrs = route_words_attrs(&r.words, &s->daemon->attrs);
	if (!attrs)
		return fail(s, NULL, "%s", "out of memory");
	const struct external_change change = {
		.prefixes = r.prefixes, .count = r.count, .attrs = attrs, .since = (int64_t)time(NULL)};
	const struct external_hand hand = {r.words.owner, s->who, connection, &change};
	bool fine = external_hand_over(s->daemon->external, &hand, &e);
	bgp_attrs_unref(attrs);
	return fine ? result(s, &r, connection ? "handed over, while this connection lasts" : "handed over") : refused(s, &e);
}

struct json_object *route_add(struct show *s)
{
	return hand_over(s, "route-add", 0);
}

struct json_object *route_hold(struct show *s)
{
	return hand_over(s, "route-hold", s->connection);
}

struct json_object *route_remove(struct show *s)
{
	struct external_request r;
	struct external_error e;
	if (s->at++ || !read_request(s, "route-remove", &r))
		return NULL;
	const struct external_change change = {.all = r.all, .prefixes = r.prefixes, .count = r.count};
	const struct external_hand hand = {r.words.owner, s->who, 0, &change};
	return external_take_back(s->daemon->external, &hand, &e) ? result(s, &r, "taken back") : refused(s, &e);
}

/* --- showing */

static unsigned peers_told(const struct daemon *d, const struct rib_entry *e)
{
	unsigned n = 0;
	list_each(node, tmp, &d->peers)
		n += export_told(container_of(node, struct peer, node), e);
	return n;
}

static const struct rib_path *path_of(const struct daemon *d, struct rib_entry *e, const struct rib_source *s)
{
	const struct rib_path *p = e ? rib_path_first(e) : NULL;
	while (p && rib_path_source(p) != s)
		p = rib_path_next(d->rib, p);
	return p;
}

/* What there is to say of a path in the RIB, also where it is not the one that is told. */
static void put_path(const struct daemon *d, struct json_object *row, const struct rib_entry *e, const struct rib_path *p)
{
	char text[BGP_DRAFT_WIRE_MAX], hop[HOP_TEXT_MAX];
	const struct bgp_attrs *attrs = rib_path_attrs(p);
	bool best = rib_best(e) == p;
	put(row, "communities", bgp_attrs_communities_text(attrs, text, sizeof text));
	put(row, "next_hop", path_hop_text(p, hop));
	if (attrs->has_med)
		put_number(row, "med", attrs->med);
	put_number(row, "local_pref", attrs->local_pref);
	put_number(row, "advertised_to", best ? peers_told(d, e) : 0);
	if (best)
		snprintf(text, sizeof text, "told");
	else if (p->metric == NEXTHOP_METRIC_UNREACHABLE)
		snprintf(text, sizeof text, "not told: next hop unreachable: %s", path_unreachable_text(d->rib, p));
	else
		snprintf(text, sizeof text, "not told: another one to this prefix is");
	put(row, "state", text);
}

static struct json_object *owner_row(struct show *s, const struct external_owner *o, const struct external_route *r)
{
	char text[128], prefix[PREFIX_TEXT_MAX];
	struct daemon *d = s->daemon;
	struct json_object *row = json_object_new_object();
	struct rib_entry *e = rib_find(d->rib, &r->prefix);
	const struct rib_path *p = r->told ? path_of(d, e, o->source) : NULL;
	put(row, "prefix", prefix_format(&r->prefix, prefix));
	put(row, "owner", o->name);
	put(row, "from", o->connection ? "a connection" : "the socket");
	put(row, "since", unix_text(r->since, text, sizeof text));
	if (p) {
		put_path(d, row, e, p);
		return row;
	}
	snprintf(text, sizeof text, "not told: %s", external_why_not(d->external, o, r));
	put(row, "state", text);
	put_number(row, "advertised_to", 0);
	return row;
}

static struct json_object *kernel_row(const struct show *s, const struct rib_entry *e, const struct rib_path *p,
				      const struct external_rules *rules)
{
	char text[64], table[NETLINK_TABLE_TEXT_MAX], prefix[PREFIX_TEXT_MAX];
	const struct prefix at = rib_entry_prefix(e);
	struct json_object *row = json_object_new_object();
	put(row, "prefix", prefix_format(&at, prefix));
	put(row, "owner", rules->name);
	netlink_table_text(rules->table, table);
	if (rules->protocol)
		snprintf(text, sizeof text, "table %s protocol %u", table, rules->protocol);
	else
		snprintf(text, sizeof text, "table %s", table);
	put(row, "from", text);
	put_number(row, "table", rules->table);
	if (rules->protocol)
		put_number(row, "protocol", rules->protocol);
	put_number(row, "metric", p->path_id);
	put(row, "since", unix_text((int64_t)time(NULL) - (clock_now().ms / 1000 - (int64_t)p->since_s), text, sizeof text));
	put_path(s->daemon, row, e, p);
	return row;
}

static bool is_wanted(const struct show *s, const char *name)
{
	return s->arg_count == 0 || strcmp(s->args[0], name) == 0;
}

/* Where a walk that pauses stands: first the owners' routes, then the entries of the RIB, with some of their paths. */
struct walk {
	bool in_rib;
	uint32_t at, skip;
};

static struct walk walk_of(uint64_t at)
{
	return (struct walk){at >> 63, (uint32_t)(at >> 16 & UINT32_MAX), (uint32_t)(at & UINT16_MAX)};
}

static uint64_t walk_number(struct walk w)
{
	return (uint64_t)w.in_rib << 63 | (uint64_t)w.at << 16 | w.skip;
}

/* The owners' route number i; NULL: there are fewer. */
static struct json_object *owners_route(struct show *s, size_t i)
{
	list_each(n, tmp, external_owners(s->daemon->external)) {
		const struct external_owner *o = container_of(n, struct external_owner, node);
		if (!is_wanted(s, o->name))
			continue;
		if (i < o->count)
			return owner_row(s, o, &o->routes[i]);
		i -= o->count;
	}
	return NULL;
}

/* The next path of e that the kernel brought, from skip on. */
static struct json_object *kernels_route(struct show *s, struct rib_entry *e, uint32_t *skip)
{
	uint32_t i = 0;
	for (const struct rib_path *p = rib_path_first(e); p; p = rib_path_next(s->daemon->rib, p)) {
		const struct rib_source *source = rib_path_source(p);
		if (i++ < *skip || source->kind != RIB_SOURCE_EXTERNAL)
			continue;
		const struct external_rules *rules = external_kernel_entry(external_kernel_of(s->daemon->external), source);
		*skip = i;
		if (rules && is_wanted(s, rules->name))
			return kernel_row(s, e, p, rules);
	}
	return NULL;
}

static struct json_object *next_in_rib(struct show *s, struct walk *w)
{
	enum { LOOKS_A_TURN = 20000 };
	const struct rib *r = s->daemon->rib;
	for (unsigned looks = 0; w->at <= rib_entry_limit(r); looks++, w->at++, w->skip = 0) {
		if (looks == LOOKS_A_TURN) {
			s->pause = true;
			return NULL;
		}
		struct rib_entry *e = rib_entry_at(r, w->at);
		struct json_object *row = e ? kernels_route(s, e, &w->skip) : NULL;
		if (row)
			return row;
	}
	return NULL;
}

static bool is_known(const struct external *x, const char *name)
{
	return external_owner_find(external_owners(x), name) || external_rules_find(x, name, false) || external_rules_find(x, name, true);
}

struct json_object *show_external(struct show *s)
{
	struct walk w = walk_of(s->at);
	if (s->at == 0 && s->arg_count && !is_known(s->daemon->external, s->args[0]))
		return fail(s, "underlayc show external lists them all", "no owner and no entry of external: is called %.100s", s->args[0]);
	struct json_object *row = w.in_rib ? NULL : owners_route(s, w.at);
	if (row) {
		w.at++;
	} else {
		if (!w.in_rib)
			w = (struct walk){.in_rib = true, .at = 1};
		row = next_in_rib(s, &w);
	}
	s->at = walk_number(w);
	return row;
}
