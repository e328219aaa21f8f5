/* `policy test NAME PREFIX [ATTRIBUTE VALUE]...`: what a written policy does with the best route to a prefix, or where there
 * is none, with one of our own that is made up; with attributes, with a route that has these.
 */
#include <stdio.h>
#include <string.h>

#include "src/daemon/daemon.h"
#include "src/daemon/peer_io.h"
#include "src/daemon/show_policy_io.h"
#include "src/daemon/show_row.h"
#include "src/daemon/route_words.h"

enum { TEXT = 512 };

struct trial {
	const struct rib_policy *policy;
	struct prefix prefix;
	struct rib_policy_subject subject;
	struct bgp_attrs *before, *after; /* references */
	bool made_up, told;               /* told: of the attributes that were given */
	struct route_words route;
	enum rib_verdict verdict;
	struct rib_policy_trace trace;
};

/* --- what is different */

static void number_text(uint32_t n, bool there, char *buf)
{
	if (there)
		snprintf(buf, TEXT, "%u", n);
	else
		snprintf(buf, TEXT, "none");
}

static void local_pref_text(const struct bgp_attrs *a, char buf[TEXT])
{
	number_text(a->local_pref, true, buf);
}

static void med_text(const struct bgp_attrs *a, char buf[TEXT])
{
	number_text(a->med, a->has_med, buf);
}

static void weight_text(const struct bgp_attrs *a, char buf[TEXT])
{
	number_text(a->weight, true, buf);
}

static void path_text(const struct bgp_attrs *a, char buf[TEXT])
{
	bgp_attrs_path_text(a, buf, TEXT);
}

static void communities_text(const struct bgp_attrs *a, char buf[TEXT])
{
	bgp_attrs_communities_text(a, buf, TEXT);
}

static void next_hop_text(const struct bgp_attrs *a, char buf[TEXT])
{
	const struct addr next_hop = bgp_attrs_next_hop(a);
	if (addr_is_zero(&next_hop))
		snprintf(buf, TEXT, "self");
	else
		addr_format(&next_hop, buf);
}

static const struct {
	const char *key, *name;
	void (*text)(const struct bgp_attrs *a, char buf[TEXT]);
} attributes[] = {
	{"weight", "weight", weight_text},  {"local_pref", "local-pref", local_pref_text},
	{"med", "med", med_text},           {"as_path", "AS path", path_text},
	{"next_hop", "next hop", next_hop_text}, {"communities", "communities", communities_text},
};
enum { ATTRIBUTES = sizeof attributes / sizeof *attributes };

static struct json_object *describe(const struct bgp_attrs *a)
{
	struct json_object *o = json_object_new_object();
	char text[TEXT];
	for (size_t i = 0; i < ATTRIBUTES; i++) {
		attributes[i].text(a, text);
		put(o, attributes[i].key, text);
	}
	return o;
}

static const char *or_none(const char *text)
{
	return *text ? text : "none";
}

static void put_changes(struct json_object *row, const struct trial *t)
{
	char was[TEXT], is[TEXT], line[ATTRIBUTES * (2 * TEXT + 32)] = "";
	size_t n = 0;
	for (size_t i = 0; i < ATTRIBUTES; i++) {
		attributes[i].text(t->before, was);
		attributes[i].text(t->after, is);
		if (strcmp(was, is) != 0)
			n += (size_t)snprintf(line + n, sizeof line - n, "%s%s %s -> %s", n ? "; " : "", attributes[i].name,
					      or_none(was), or_none(is));
	}
	put(row, "changes", t->verdict == RIB_REJECT ? "the route is not passed on" : n ? line : "nothing");
	json_object_object_add(row, "before", describe(t->before));
	if (t->verdict == RIB_ACCEPT)
		json_object_object_add(row, "after", describe(t->after));
}

/* --- the trial */

static void put_route(struct json_object *row, const struct trial *t)
{
	char text[TEXT + 128], path[TEXT];
	const char *from = t->subject.peer ? t->subject.peer : t->told ? "any peer" : "a peer that is gone";
	if (t->made_up && !t->told)
		snprintf(text, sizeof text, "there is none; tried with a made-up one of our own");
	else if (t->subject.source != RIB_SOURCE_BGP)
		snprintf(text, sizeof text, "%s%s", t->subject.source == RIB_SOURCE_LOCAL ? "our own" : "external",
			 t->told ? ", with the attributes given" : "");
	else
		snprintf(text, sizeof text, "%sfrom %.64s, AS path %s%s", t->told ? "with the attributes given, " : "", from,
			 or_none(bgp_attrs_path_text(t->before, path, sizeof path)),
			 t->told ? "" : ", as its import has made it");
	put(row, "route", text);
	json_object_object_add(row, "made_up", json_object_new_boolean(t->made_up));
}

static void put_verdict(struct json_object *row, const struct trial *t)
{
	char text[TEXT];
	put(row, "verdict", t->verdict == RIB_ACCEPT ? "accepted" : "rejected");
	if (t->trace.rule == t->policy->rule_count) {
		put(row, "decided_by", "no rule, so the end of the policy rejects");
		return;
	}
	snprintf(text, sizeof text, "rule %zu of %zu (rules[%zu])", t->trace.rule + 1, t->policy->rule_count, t->trace.rule);
	put(row, "decided_by", text);
	json_object_object_add(row, "rule", json_object_new_int64((int64_t)t->trace.rule));
}

/* What holds beside the policy's own words. */
static void put_note(struct json_object *row, const struct daemon *d, const struct trial *t)
{
	bool guarded = !rib_import_accepts(RIB_IMPORT_ALL, &d->imports, &t->prefix);
	if (t->verdict == RIB_ACCEPT && guarded && !rib_rule_names(t->policy, t->trace.rule, &t->prefix))
		put(row, "note", "as an import it rejects: our own CIDRs and the default route must be named by the rule");
	else if (t->before->no_advertise || t->before->no_export)
		put(row, "note", t->before->no_advertise ? "no-advertise keeps the route from all peers, whatever a policy says"
							 : "no-export keeps the route from external peers, whatever a policy says");
}

static void find_route(struct daemon *d, struct trial *t)
{
	const struct rib_entry *e = rib_find(d->rib, &t->prefix);
	const struct rib_source *source = e ? rib_path_source(&e->path) : d->local;
	const struct peer *from = source->owner;
	t->made_up = !e;
	t->before = e ? bgp_attrs_ref(rib_path_attrs(&e->path)) : bgp_attrs_local(&d->attrs);
	t->subject = (struct rib_policy_subject){&t->prefix, source->kind, from ? peer_policy_name(from) : NULL};
}

/* False: a word is wrong, and t->before is not there. */
static bool make_route(struct show *s, struct trial *t)
{
	static const char usage[] = "underlayc policy test NAME PREFIX, and behind it any of: ";
	char error[ROUTE_WORDS_ERROR_MAX], names[ROUTE_WORDS_ERROR_MAX];
	if (!route_words_read(&t->route, ROUTE_WORDS_TRIAL, s->args + 2, s->arg_count - 2, error)) {
		snprintf(s->hint_text, sizeof s->hint_text, "%s%s", usage, route_words_usage(ROUTE_WORDS_TRIAL, names));
		fail(s, s->hint_text, "%s", error);
		return false;
	}
	t->told = t->made_up = true;
	t->before = route_words_attrs(&t->route, &s->daemon->attrs);
	t->subject = (struct rib_policy_subject){&t->prefix, t->route.source, t->route.peer};
	if (!t->before)
		fail(s, NULL, "%s", "out of memory");
	return t->before;
}

static bool read_arguments(struct show *s, struct trial *t)
{
	static const char usage[] = "underlayc policy test NAME PREFIX, with a NAME from policies in the configuration";
	if (s->arg_count < 2)
		fail(s, usage, "%s", "a policy's name and a prefix are needed");
	else if (!(t->policy = policies_find(&s->daemon->policies, s->args[0])))
		fail(s, usage, "no policy is called %.100s", s->args[0]);
	else if (prefix_parse(s->args[1], &t->prefix) == PREFIX_BAD_TEXT)
		fail(s, usage, "%.100s is not a prefix", s->args[1]);
	return !s->error;
}

struct json_object *show_policy_test(struct show *s)
{
	struct trial t = {0};
	char text[PREFIX_TEXT_MAX];
	if (s->at++ || !read_arguments(s, &t))
		return NULL;
	if (s->arg_count == 2)
		find_route(s->daemon, &t);
	else if (!make_route(s, &t))
		return NULL;
	t.after = bgp_attrs_ref(t.before);
	t.verdict = rib_policy_run(t.policy, &t.subject, &t.after, &t.trace);
	struct json_object *row = json_object_new_object();
	put(row, "policy", t.policy->name);
	put(row, "prefix", prefix_format(&t.prefix, text));
	put_route(row, &t);
	put_verdict(row, &t);
	put_changes(row, &t);
	put_note(row, s->daemon, &t);
	bgp_attrs_unref(t.before);
	bgp_attrs_unref(t.after);
	return row;
}
