/* `show routes why PREFIX | ADDRESS`: from the paths to what the kernel and the peers have. Of an address the longest prefix
 * is explained, and where that one has no path that can be used, also the one that is used in its place.
 */
#include "src/daemon/show_why_io.h"

#include <stdio.h>
#include <string.h>

#include "rib/decision.h"
#include "src/daemon/daemon.h"
#include "src/daemon/export_why.h"
#include "src/daemon/fib_io.h"
#include "src/daemon/kernel_home_io.h"
#include "src/daemon/peer_io.h"
#include "src/daemon/pods_io.h"
#include "src/daemon/show_kernel_io.h"
#include "src/daemon/show_row.h"

enum { NAME = 160, SENTENCE = 512 };

/* "10.0.0.2 from tor-a" */
static const char *name_of(const struct rib_path *p, char buf[NAME])
{
	char next_hop[HOP_TEXT_MAX], id[24] = "";
	if (rib_path_source(p)->kind == RIB_SOURCE_LOCAL)
		return "our own";
	if (rib_path_source(p)->kind == RIB_SOURCE_EXTERNAL) {
		snprintf(buf, NAME, "external, of %.80s", rib_path_source(p)->name);
		return buf;
	}
	if (p->path_id)
		snprintf(id, sizeof id, ", path ID %u", p->path_id);
	snprintf(buf, NAME, "%s from %.80s%s", path_hop_text(p, next_hop), source_name(p), id);
	return buf;
}

const char *path_unreachable_text(const struct rib *r, const struct rib_path *p)
{
	const struct nexthop *nh = rib_next_hop(r, p);
	if (nh && nexthop_metric(nh) == NEXTHOP_METRIC_UNREACHABLE)
		return nexthop_state_text(nh->state);
	return "it is on no link of this node, and what an external peer on a link names must be";
}

/* Of a path that is not the best: what it lost by. */
static const char *why_lost(const struct rib *r, struct rib_entry *e, const struct rib_path *p, char buf[SENTENCE])
{
	char compared[RIB_DECISION_TEXT_MAX], name[NAME];
	const struct rib_path *winner = rib_decision_winner(r, e, p);
	const char *rule = rib_decision_rule(p->lost_by);
	if (winner)
		snprintf(buf, SENTENCE, "%s: %s (%s)", rule, rib_decision_compared(p, winner, compared), name_of(winner, name));
	else
		snprintf(buf, SENTENCE, "%s: %s", rule, path_unreachable_text(r, p));
	return buf;
}

static void put_path(const struct rib *r, struct rib_entry *e, const struct rib_path *p, struct json_object *paths,
		     struct json_object *others)
{
	char text[SENTENCE], name[NAME], line[SENTENCE + NAME + 32];
	struct json_object *o = json_object_new_object();
	const struct nexthop *nh = rib_next_hop(r, p);
	bool best = p->flags & RIB_PATH_BEST, used = p->flags & RIB_PATH_USED;
	const struct addr next_hop = bgp_attrs_next_hop(rib_path_attrs(p));
	put(o, "next_hop", rib_path_source(p)->kind == RIB_SOURCE_BGP ? addr_format(&next_hop, text) : NULL);
	put(o, "source", source_name(p));
	if (rib_path_source(p)->kind == RIB_SOURCE_EXTERNAL)
		put(o, "owner", rib_path_source(p)->name);
	put_number(o, "path_id", p->path_id);
	json_object_object_add(o, "best", json_object_new_boolean(best));
	json_object_object_add(o, "used", json_object_new_boolean(used));
	put(o, "next_hop_state", nh ? nexthop_state_text(nh->state) : NULL);
	put(o, "lost_by", best ? NULL : rib_decision_rule(p->lost_by));
	put(o, "reason", best ? NULL : why_lost(r, e, p, text));
	json_object_array_add(paths, o);
	if (best)
		return;
	snprintf(line, sizeof line, "%s: %s%s", name_of(p, name), used ? "used as well; the best one by " : "", text);
	json_object_array_add(others, json_object_new_string(line));
}

static void put_paths(const struct rib *r, struct rib_entry *e, struct json_object *row)
{
	char name[NAME];
	const struct rib_path *best = rib_best(e);
	put(row, "best", best ? name_of(best, name) : "none: no path can be used");
	struct json_object *others = put_list(row, "others"), *paths = put_list(row, "paths");
	for (const struct rib_path *p = rib_path_first(e); p; p = rib_path_next(r, p))
		put_path(r, e, p, paths, others);
}

static void put_kernel(const struct daemon *d, const struct prefix *p, struct json_object *row)
{
	char hops[SENTENCE], state[SENTENCE], text[2 * SENTENCE + 8];
	const struct fib_entry *f = d->fib ? fib_find(fib_writer_fib(d->fib), p) : NULL;
	if (!f) {
		put(row, "kernel", d->fib ? "nothing" : kernel_home_missing(d));
		return;
	}
	next_hops_text(fib_entry_have(f), hops, sizeof hops);
	if (fib_entry_right(fib_writer_fib(d->fib), f))
		snprintf(text, sizeof text, "%s", hops);
	else
		snprintf(text, sizeof text, "%s; %s", hops, kernel_state_text(f, state, sizeof state));
	put(row, "kernel", text);
}

static void put_peers(const struct daemon *d, struct rib_entry *e, struct json_object *row)
{
	char why[SENTENCE], line[SENTENCE + NAME];
	struct json_object *told = put_list(row, "told"), *not_told = put_list(row, "not_told");
	list_each(n, tmp, &d->peers) {
		const struct peer *p = container_of(n, struct peer, node);
		const char *reason = export_why_not(p, e, why, sizeof why);
		if (reason)
			snprintf(line, sizeof line, "%.100s: %s", p->name, reason);
		json_object_array_add(reason ? not_told : told, json_object_new_string(reason ? line : p->name));
	}
}

static struct json_object *row_of(struct daemon *d, struct rib_entry *e, const char *note)
{
	char text[PREFIX_TEXT_MAX];
	struct json_object *row = json_object_new_object();
	const struct prefix prefix = rib_entry_prefix(e);
	put(row, "prefix", prefix_format(&prefix, text));
	put(row, "note", note);
	put_paths(d->rib, e, row);
	put_kernel(d, &prefix, row);
	put_peers(d, e, row);
	return row;
}

/* First the longest, then what is used in its place. */
static struct json_object *why_address(struct show *s, const struct addr *a)
{
	struct rib *r = s->daemon->rib;
	struct rib_entry *longest = rib_find_longest(r, a, false), *used = rib_find_longest(r, a, true);
	struct ipam_lease pod;
	char note[SENTENCE];
	if (!longest)
		return s->at ? NULL : fail(s, "underlayc show routes lists what is known", "no prefix with %.64s is known", s->args[0]);
	if (s->at++)
		return s->at == 2 && used && used != longest ? row_of(s->daemon, used, "used for the address in its place") : NULL;
	if (!pods_find(s->daemon, a, &pod))
		return row_of(s->daemon, longest, NULL);
	snprintf(note, sizeof note, "the address is a pod's, which has a route of its own to %.32s", pod.host_ifname);
	return row_of(s->daemon, longest, note);
}

struct json_object *show_routes_why(struct show *s)
{
	static const char hint[] = "underlayc show routes why PREFIX, or ADDRESS";
	struct prefix p;
	struct addr a;
	if (s->arg_count == 0)
		return fail(s, hint, "%s", "a prefix or an address is needed");
	if (addr_parse(s->args[0], &a))
		return why_address(s, &a);
	if (prefix_parse(s->args[0], &p) == PREFIX_BAD_TEXT)
		return fail(s, hint, "%.100s is not a prefix", s->args[0]);
	if (s->at++)
		return NULL;
	struct rib_entry *e = rib_find(s->daemon->rib, &p);
	if (!e)
		return fail(s, "an ADDRESS finds the longest prefix that it is in", "no route to %.64s is known", s->args[0]);
	return row_of(s->daemon, e, NULL);
}
