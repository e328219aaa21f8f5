/* The rows of every `show` command. What a row holds beyond the columns of src/base/commands.c is for -j. */
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bgp/update.h"
#include "config.h"
#include "rib/decision.h"
#include "src/base/clock_io.h"
#include "src/base/err.h"
#include "src/base/live.h"
#include "src/daemon/control_io.h"
#include "src/daemon/daemon.h"
#include "src/daemon/dynamic_io.h"
#include "src/daemon/export.h"
#include "src/daemon/external_command_io.h"
#include "src/daemon/external_io.h"
#include "src/daemon/fib_io.h"
#include "src/daemon/host_io.h"
#include "src/daemon/kernel_home_io.h"
#include "src/daemon/listen_io.h"
#include "src/daemon/peer_command_io.h"
#include "src/daemon/peer_io.h"
#include "src/daemon/show_host_io.h"
#include "src/daemon/show_kernel_io.h"
#include "src/daemon/show_nexthops_io.h"
#include "src/daemon/show_policy_io.h"
#include "src/daemon/show_row.h"
#include "src/daemon/show_why_io.h"
#include "src/daemon/pods_io.h"

enum { TEXT = 256 };

static const char *router_id_text(uint32_t id, char buf[ADDR_TEXT_MAX])
{
	struct addr a = addr_from_v4(id);
	return addr_format(&a, buf);
}

/* --- status */

static int count_lease(void *arg, const struct ipam_lease *l)
{
	(void)l;
	++*(size_t *)arg;
	return 0;
}

static void add_warning(void *warnings, const char *sentence)
{
	json_object_array_add(warnings, json_object_new_string(sentence));
}

static void add_host_warning(void *warnings, const struct host_row *row)
{
	if (row->verdict == HOST_WRONG)
		add_warning(warnings, row->what);
}

struct stray_search {
	const struct conf_prefixes *cidrs;
	struct json_object *warnings;
};

static int warn_stray_pod(void *arg, const struct ipam_lease *l)
{
	struct stray_search *f = arg;
	char text[TEXT], address[ADDR_TEXT_MAX];
	for (unsigned i = 0; i < l->addr_count; i++) {
		struct prefix host = prefix_make(&l->addrs[i], 128);
		if (prefix_in_any(&host, f->cidrs->at, f->cidrs->count))
			continue;
		snprintf(text, sizeof text, "pod %.100s has %s, which is in no pods.cidrs: nobody is told how to reach it",
			 *l->pod ? l->pod : l->container, addr_format(&l->addrs[i], address));
		json_object_array_add(f->warnings, json_object_new_string(text));
	}
	return 0;
}

static void warn_of_cidrs(const struct daemon *d, struct json_object *w)
{
	char text[TEXT], prefix[PREFIX_TEXT_MAX];
	const struct conf_prefixes *own = &d->conf->pods.cidrs, *cluster = &d->conf->pods.cluster_cidrs;
	struct stray_search f = {own, w};
	for (size_t i = 0; cluster->count && i < own->count; i++) {
		if (prefix_in_any(&own->at[i], cluster->at, cluster->count))
			continue;
		snprintf(text, sizeof text, "pods.cidrs: %s is outside pods.cluster-cidrs: nodes configured alike will not accept it",
			 prefix_format(&own->at[i], prefix));
		json_object_array_add(w, json_object_new_string(text));
	}
	pods_each(d, warn_stray_pod, &f);
}

static void put_warnings(const struct daemon *d, struct json_object *row, int lease_error)
{
	struct json_object *w = put_list(row, "warnings");
	char text[TEXT];
	warn_of_cidrs(d, w);
	if (listener_failed(d->listener))
		json_object_array_add(w, json_object_new_string(listener_text(d->listener)));
	host_watch_each(d->host, add_host_warning, w);
	if (kernel_home_waits(d))
		add_warning(w, kernel_home_text(d));
	if (tick_is_set(d->publish_again_at))
		add_warning(w, "plugin.json cannot be written (the log says why): new pods get the settings of before");
	if (d->fib && fib_writer_failed(d->fib)) {
		snprintf(text, sizeof text, "the kernel refused %zu routes: underlayc show routes tells why",
			 fib_writer_failed(d->fib));
		json_object_array_add(w, json_object_new_string(text));
	}
	size_t kept_back = external_count(d->external).kept_back;
	if (kept_back) {
		snprintf(text, sizeof text, "%zu routes that were handed over are not told: underlayc show external says why", kept_back);
		add_warning(w, text);
	}
	if (lease_error) {
		snprintf(text, sizeof text, "the leases cannot be read: %s", err_text(lease_error));
		json_object_array_add(w, json_object_new_string(text));
	}
}

static void put_external(const struct daemon *d, struct json_object *row)
{
	char text[TEXT];
	const struct external_counts c = external_count(d->external);
	if (!c.routes && !c.kernel)
		return;
	snprintf(text, sizeof text, "%zu handed over by %zu owners, %zu read in the kernel", c.routes, c.owners, c.kernel);
	put(row, "external", text);
	put_number(row, "external_handed_over", c.routes);
	put_number(row, "external_kernel", c.kernel);
}

static void put_counts(const struct daemon *d, struct json_object *row)
{
	char text[TEXT];
	unsigned up = 0, all = 0;
	list_each(n, tmp, &d->peers) {
		all++;
		up += bgp_session_state(&container_of(n, struct peer, node)->session) == BGP_ESTABLISHED;
	}
	snprintf(text, sizeof text, "%u of %u established", up, all);
	put(row, "peers", text);
	put_number(row, "peers_established", up);
	put_number(row, "peers_configured", all);
	put_number(row, "prefixes", rib_prefix_count(d->rib));
	put_number(row, "paths", rib_path_count(d->rib));
	if (!d->fib) {
		put(row, "kernel", kernel_home_missing(d));
		return;
	}
	const struct fib *f = fib_writer_fib(d->fib);
	snprintf(text, sizeof text, "%zu routes installed, %zu refused", fib_installed(f), fib_writer_failed(d->fib));
	put(row, "kernel", text);
	put_number(row, "kernel_installed", fib_installed(f));
	put_number(row, "kernel_failed", fib_writer_failed(d->fib));
	put_number(row, "nexthop_objects", f->objects.hop_count);
	put_number(row, "nexthop_groups", f->objects.group_count);
	put(row, "no_nexthop_objects", fib_writer_no_objects(d->fib));
}

/* How long anything ever had to wait for the loop. */
static void put_turns(const struct turns *t, struct json_object *row)
{
	char text[TEXT], ago[32];
	uint64_t since_ms = (clock_us() - t->longest_at_us) / 1000;
	snprintf(text, sizeof text, "%.1f ms (%s) %s ago, at most %.1f ms of own work; %" PRIu64 " above %d ms",
		 (double)t->longest_us / 1000, turn_part_name(t->longest_part), duration((int64_t)since_ms, ago, sizeof ago),
		 (double)t->busiest_us / 1000, t->long_ones, TURN_LONG_US / 1000);
	put(row, "longest_turn", text);
	put_number(row, "longest_turn_us", t->longest_us);
	put_number(row, "busiest_turn_us", t->busiest_us);
	struct json_object *parts = json_object_new_object();
	for (unsigned i = 0; i < TURN_PARTS; i++)
		put_number(parts, turn_part_name((enum turn_part)i), t->part_most_us[i]);
	json_object_object_add(row, "turn_parts_us", parts);
	put_number(row, "turns", t->count);
	put_number(row, "long_turns", t->long_ones);
}

static struct json_object *show_status(struct show *s)
{
	const struct daemon *d = s->daemon;
	char text[TEXT], id[ADDR_TEXT_MAX], prefix[PREFIX_TEXT_MAX];
	size_t pods = 0;
	if (s->at++)
		return NULL;
	struct json_object *row = json_object_new_object();
	put(row, "version", PACKAGE_VERSION);
	put(row, "node", d->conf->node.name);
	put(row, "router_id", router_id_text(d->router_id, id));
	put_number(row, "asn", d->conf->node.asn);
	put(row, "config", d->conf_file);
	put(row, "started", unix_text(d->started_unix, text, sizeof text));
	put(row, "uptime", duration(tick_since_ms(d->started_at, clock_now()), text, sizeof text));
	put(row, "phase", d->restarting ? "restarting: routes of before are kept until the peers have told theirs" : "running");
	put(row, "listen", listener_text(d->listener));
	if (d->home)
		put(row, "vrf", kernel_home_text(d));
	struct json_object *cidrs = put_list(row, "pod_cidrs");
	for (size_t i = 0; i < d->conf->pods.cidrs.count; i++)
		json_object_array_add(cidrs, json_object_new_string(prefix_format(&d->conf->pods.cidrs.at[i], prefix)));
	put_counts(d, row);
	put_external(d, row);
	int lease_error = pods_each(d, count_lease, &pods);
	put_number(row, "pods", pods);
	put_turns(&d->turns, row);
	put_warnings(d, row, lease_error);
	return row;
}

/* --- peers */

enum { WHY = 1024 };

/* What is known of why there is no session, or why the last one ended; NULL: nothing. */
static const char *why_down(const struct peer *p, enum bgp_state state, struct tick now, char buf[WHY])
{
	const struct bgp_last_error *last = &p->session.last_error;
	const char *note = state == BGP_ESTABLISHED ? NULL : transport_note(p, now);
	if (*p->stopped)
		return p->stopped;
	if (*p->transport.fault && state != BGP_ESTABLISHED)
		return p->transport.fault;
	if (!last->kind)
		return note;
	snprintf(buf, WHY, "%s%s%s%s%s%s%s", last->text, note ? " (" : "", note ? note : "", note ? ")" : "",
		 *last->before ? " (before: " : "", last->before, *last->before ? ")" : "");
	return buf;
}

static void put_info(const struct peer *p, struct json_object *row, enum bgp_state state)
{
	char text[TEXT], wait[32], why[WHY];
	struct tick now = clock_now();
	const char *error = why_down(p, state, now, why);
	put(row, "last_error", error);
	if (p->session.last_error.kind)
		put(row, "last_error_age", duration(tick_since_ms(p->session.last_error.at, now), wait, sizeof wait));
	if (p->helper.kept) {
		put_number(row, "kept_routes", p->helper.kept->paths);
		put(row, "kept_for", duration(p->helper.until.ms - now.ms, wait, sizeof wait));
	}
	if (tick_is_set(p->session.retry_at)) {
		snprintf(text, sizeof text, "in %s", duration(p->session.retry_at.ms - now.ms, wait, sizeof wait));
		put(row, "next_try", text);
	}
	if (state == BGP_ESTABLISHED)
		put(row, "info", limits_note(p));
	else if (!*p->stopped && !*p->transport.fault && !peer_has_place(p, text, sizeof text))
		put(row, "info", text);
	else
		put(row, "info", error ? error : p->session.params.passive ? "waiting for the peer to connect" : "connecting");
}

/* What the peer did wrong last: RFC 7606's reactions leave the session up, and would otherwise be seen in the log only. */
static void put_fault(const struct peer *p, struct json_object *row)
{
	const struct bgp_fault *f = &p->last_fault;
	char text[2 * BGP_FAULT_DATA_MAX + 1] = "", name[BGP_FAULT_NAME_MAX];
	put_number(row, "faults", p->fault_count);
	if (!p->fault_count)
		return;
	struct json_object *o = json_object_new_object();
	json_object_object_add(row, "last_fault", o);
	put(o, "subject", p->subject);
	put(o, "name", bgp_fault_name(f->code, f->subcode, name));
	put(o, "what", f->text);
	put_number(o, "code", f->code);
	put_number(o, "subcode", f->subcode);
	if (f->attr)
		put_number(o, "attribute", f->attr);
	put(o, "reaction", bgp_reaction_name(f->reaction));
	for (unsigned i = 0; i < f->data_len; i++)
		snprintf(text + 2 * i, 3, "%02x", f->data[i]);
	put(o, "bytes", text);
	put(o, "age", duration(tick_since_ms(p->last_fault_at, clock_now()), text, sizeof text));
}

static void put_add_path(const struct peer *p, struct json_object *row)
{
	static const char *const names[BGP_FAMILIES] = {"ipv4", "ipv6"};
	char text[32];
	struct json_object *all = json_object_new_object();
	for (unsigned f = 0; f < BGP_FAMILIES; f++) {
		bool in = p->session.add_path_in[f], out = p->session.add_path_out[f];
		snprintf(text, sizeof text, "%s%s", in ? "receive" : "", in && out ? ", " : "");
		if (out)
			snprintf(text + strlen(text), sizeof text - strlen(text), "send %u", p->send_paths);
		if (*text)
			put(all, names[f], text);
	}
	json_object_object_add(row, "add_path", all);
}

static void put_established(const struct peer *p, struct json_object *row)
{
	char text[TEXT];
	enum bgp_slot slot = bgp_session_slot(&p->session);
	if (slot == BGP_SLOTS)
		return;
	const struct bgp_open *o = &p->session.conn[slot].open;
	put(row, "local_address", addr_format(&p->local_address, text));
	put(row, "router_id", router_id_text(o->router_id, text));
	put_number(row, "hold_time", p->session.hold_time_s);
	put_number(row, "keepalive_time", p->session.keepalive_s);
	put(row, "capabilities_sent", bgp_open_capabilities_text(&p->session.sent, text, sizeof text));
	put(row, "capabilities_received", bgp_open_capabilities_text(o, text, sizeof text));
	put_add_path(p, row);
	json_object_object_add(row, "extended_next_hop", json_object_new_boolean(p->session.v6_next_hop));
	put(row, "connection", slot == BGP_OUT ? "opened by us" : "opened by the peer");
	json_object_object_add(row, "end_of_rib_received", json_object_new_boolean(peer_has_ended_rib(p)));
}

static void put_peer_asn(const struct peer *p, struct json_object *row)
{
	const struct bgp_session *s = &p->session;
	enum bgp_slot slot = bgp_session_slot(s);
	bool internal = s->params.asn_kind == BGP_ASN_INTERNAL ||
			(s->params.asn_kind == BGP_ASN_NUMBER && s->params.remote_asn == s->params.local_asn);
	put(row, "kind", internal ? "internal (iBGP)" : "external (eBGP)");
	if (slot != BGP_SLOTS)
		put_number(row, "asn", s->conn[slot].open.asn);
	else if (s->params.asn_kind == BGP_ASN_NUMBER)
		put_number(row, "asn", s->params.remote_asn);
	else
		put(row, "asn", internal ? "internal" : "external");
}

/* That there is a password, and nothing else of it. */
static void put_transport(const struct peer *p, struct json_object *row)
{
	char text[ADDR_TEXT_MAX];
	json_object_object_add(row, "password", json_object_new_boolean(*p->transport.password));
	if (p->transport.ttl_security)
		put_number(row, "ttl_security", p->transport.ttl_security);
	if (p->transport.multihop)
		put_number(row, "multihop", p->transport.multihop);
	if (!addr_is_zero(&p->transport.source))
		put(row, "source", addr_format(&p->transport.source, text));
	if (*p->transport.device)
		put(row, "device", p->transport.device);
	if (p->transport.mss)
		put_number(row, "tcp_mss", p->transport.mss);
}

/* RFC 9234: ours, and what the peer says of itself. */
static void put_roles(const struct peer *p, struct json_object *row)
{
	enum bgp_role ours = p->session.params.role;
	enum bgp_slot slot = bgp_session_slot(&p->session);
	enum bgp_role theirs = slot == BGP_SLOTS ? BGP_ROLE_NONE : p->session.conn[slot].open.role;
	if (theirs)
		put(row, "remote_role", bgp_role_name(theirs));
	if (!ours)
		return;
	put(row, "role", bgp_role_name(ours));
	json_object_object_add(row, "role_strict", json_object_new_boolean(p->session.params.role_strict));
	put_number(row, "leaks", p->count.leaks);
}

static void put_ways(const struct peer *p, struct json_object *row)
{
	const struct {
		const char *key;
		bool set;
	} ways[] = {{"route_reflector_client", p->ways.client},
		    {"next_hop_self", p->ways.next_hop_self},
		    {"as_override", p->ways.as_override},
		    {"remove_private_as", p->ways.remove_private},
		    {"graceful_shutdown", p->ways.draining},
		    {"blackhole", p->ways.blackhole}};
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		if (ways[i].set)
			json_object_object_add(row, ways[i].key, json_object_new_boolean(true));
	if (p->ways.allow_own_as)
		put_number(row, "allow_own_as", p->ways.allow_own_as);
}

static void put_limits(const struct peer *p, struct json_object *row)
{
	if (p->limits.received) {
		put_number(row, "max_prefixes", p->limits.received);
		put(row, "max_prefixes_action", limits_action_name(p->limits.action));
	}
	if (p->limits.advertised)
		put_number(row, "max_advertised", p->limits.advertised);
}

static struct json_object *peer_row(const struct peer *p)
{
	char text[TEXT];
	struct json_object *row = json_object_new_object();
	enum bgp_state state = bgp_session_state(&p->session);
	put(row, "name", p->name);
	put(row, "address", peer_place(p, text));
	if (p->link.interface)
		put(row, "interface", p->link.interface);
	if (!addr_is_zero(&p->link.other_end.other))
		put(row, "other_router", addr_format(&p->link.other_end.other, text));
	put_peer_asn(p, row);
	put_number(row, "local_asn", p->session.params.local_asn);
	put(row, "state", bgp_state_name(state));
	put(row, "since", duration(tick_since_ms(p->session.changed_at, clock_now()), text, sizeof text));
	put_transport(p, row);
	put_ways(p, row);
	put_roles(p, row);
	put_limits(p, row);
	if (p->range)
		put(row, "range", p->range->name);
	json_object_object_add(row, "stopped", json_object_new_boolean(*p->stopped));
	put(row, "import", p->import_rules ? p->import_rules->name : rib_import_name(p->import));
	put(row, "export", p->export_rules ? p->export_rules->name : rib_export_name(p->export));
	if (p->source)
		put_number(row, "received", p->count.prefixes_in);
	put_number(row, "withdrawn", p->count.withdrawn_in);
	put_number(row, "filtered", p->count.filtered);
	put_number(row, "accepted", p->source ? p->source->paths : 0);
	put_number(row, "advertised", export_advertised(p));
	put_number(row, "messages_in", p->count.messages_in);
	put_number(row, "messages_out", p->count.messages_out + p->count.updates_out);
	put_number(row, "output_pending", peer_pending(p));
	put_number(row, "established_count", p->session.established_count);
	put_info(p, row, state);
	put_fault(p, row);
	put_established(p, row);
	return row;
}

static struct json_object *range_row(const struct range *r)
{
	char text[TEXT], prefix[PREFIX_TEXT_MAX];
	const char *drops = transport_drops(&r->transport, &r->daemon->transport, clock_now());
	struct json_object *row = json_object_new_object();
	put(row, "name", r->name);
	put(row, "address", prefix_format(&r->prefix, prefix));
	put(row, "kind", "range");
	put(row, "state", "Range");
	put_number(row, "range_peers", r->count);
	put_number(row, "range_limit", r->limit);
	json_object_object_add(row, "password", json_object_new_boolean(*r->transport.password));
	put(row, "last_error", *r->transport.fault ? r->transport.fault : drops);
	snprintf(text, sizeof text, "%u of %u peers%s%s", r->count, r->limit, *r->transport.fault || drops ? ": " : "",
		 *r->transport.fault ? r->transport.fault : drops ? drops : "");
	put(row, "info", text);
	return row;
}

static struct json_object *show_ranges(struct show *s, uint64_t i)
{
	list_each(n, tmp, &s->daemon->ranges) {
		const struct range *r = container_of(n, struct range, node);
		char prefix[PREFIX_TEXT_MAX];
		if (s->arg_count && strcmp(r->name, s->args[0]) != 0 && strcmp(prefix_format(&r->prefix, prefix), s->args[0]) != 0)
			continue;
		if (i++ < s->at)
			continue;
		s->at++;
		return range_row(r);
	}
	return NULL;
}

static struct json_object *show_peers(struct show *s)
{
	uint64_t i = 0;
	if (s->at == 0)
		export_count_own(s->daemon);
	list_each(n, tmp, &s->daemon->peers) {
		const struct peer *p = container_of(n, struct peer, node);
		char place[PEER_PLACE_MAX];
		if (s->arg_count && strcmp(p->name, s->args[0]) != 0 &&
		    strcmp(peer_place(p, place), s->args[0]) != 0)
			continue;
		if (i++ < s->at)
			continue;
		s->at++;
		return peer_row(p);
	}
	struct json_object *range = show_ranges(s, i);
	if (range)
		return range;
	if (s->arg_count && s->at == 0)
		return fail(s, "underlayc show peers lists them", "no peer is called %s", s->args[0]);
	return NULL;
}

/* --- routes */

static void put_kernel(const struct daemon *d, struct json_object *row, const struct rib_entry *e, const struct rib_path *p)
{
	char text[TEXT];
	const struct prefix prefix = rib_entry_prefix(e);
	const struct fib_entry *f = d->fib && p->flags & RIB_PATH_USED ? fib_find(fib_writer_fib(d->fib), &prefix) : NULL;
	if (!f) {
		put(row, "kernel", p->metric == NEXTHOP_METRIC_UNREACHABLE ? "next hop unreachable" : "-");
		return;
	}
	if (fib_entry_have(f) && f->have->id)
		put_number(row, "nexthop_id", f->have->id);
	put(row, "kernel", f->want && fib_entry_right(fib_writer_fib(d->fib), f) ? "installed" : kernel_state_text(f, text, sizeof text));
}

/* Bytes a second, and for people the bits, as links are sold: "10G". */
static void put_bandwidth(struct json_object *row, uint64_t bandwidth)
{
	static const char units[] = " kMGTP";
	char text[32];
	double bits = (double)bandwidth * 8;
	unsigned unit = 0;
	if (!bandwidth)
		return;
	for (; bits >= 1000 && units[unit + 1]; unit++)
		bits /= 1000;
	snprintf(text, sizeof text, unit ? "%.4g%c" : "%.4g", bits, units[unit]);
	put_number(row, "link_bandwidth", bandwidth);
	put(row, "bandwidth", text);
}

/* 0 is an identifier like others where the session has them. */
static bool has_path_id(const struct rib_entry *e, const struct rib_path *p)
{
	const struct peer *peer = rib_path_source(p)->owner;
	const struct prefix prefix = rib_entry_prefix(e);
	if (rib_path_source(p)->kind == RIB_SOURCE_EXTERNAL) /* it tells the kernel's routes to one prefix apart */
		return false;
	return p->path_id || (peer && peer->session.add_path_in[bgp_family_of_prefix(&prefix)]);
}

static struct json_object *path_row(const struct daemon *d, const struct rib_entry *e, const struct rib_path *p)
{
	static const char *const origins[] = {"IGP", "EGP", "?"};
	char text[1024];
	struct json_object *row = json_object_new_object();
	const struct bgp_attrs *attrs = rib_path_attrs(p);
	const struct prefix prefix = rib_entry_prefix(e);
	put(row, "prefix", prefix_format(&prefix, text));
	put(row, "mark", p->flags & RIB_PATH_BEST ? "*" : p->flags & RIB_PATH_USED ? "+" : "");
	json_object_object_add(row, "best", json_object_new_boolean(p->flags & RIB_PATH_BEST));
	put(row, "next_hop", path_hop_text(p, text));
	put(row, "source", source_name(p));
	if (rib_path_source(p)->kind == RIB_SOURCE_EXTERNAL)
		put(row, "owner", rib_path_source(p)->name);
	if (has_path_id(e, p))
		put_number(row, "path_id", p->path_id);
	put(row, "as_path", bgp_attrs_path_text(attrs, text, sizeof text));
	put(row, "origin", origins[attrs->origin]);
	if (attrs->weight)
		put_number(row, "weight", attrs->weight);
	put_number(row, "local_pref", attrs->local_pref);
	put(row, "communities", bgp_attrs_communities_text(attrs, text, sizeof text));
	if (attrs->has_med)
		put_number(row, "med", attrs->med);
	if (bgp_attrs_otc(attrs))
		put_number(row, "otc", bgp_attrs_otc(attrs));
	put_bandwidth(row, bgp_attrs_link_bandwidth(attrs));
	if (attrs->has_originator)
		put(row, "originator_id", router_id_text(bgp_attrs_originator_id(attrs), text));
	put(row, "lost_by", p->flags & RIB_PATH_BEST ? NULL : rib_decision_rule(p->lost_by));
	put_kernel(d, row, e, p);
	put(row, "age", duration(clock_now().ms - (int64_t)p->since_s * 1000, text, sizeof text));
	return row;
}

/* at: the entry's position in the upper 32 bits, the path's in the lower. */
static struct json_object *next_path(struct show *s, const struct rib_entry *e)
{
	uint32_t skip = (uint32_t)s->at;
	for (const struct rib_path *p = &e->path; p; p = rib_path_next(s->daemon->rib, p)) {
		if (skip--)
			continue;
		s->at++;
		return path_row(s->daemon, e, p);
	}
	return NULL;
}

static bool is_within(const struct rib_entry *e, const struct prefix *within)
{
	const struct prefix prefix = rib_entry_prefix(e);
	return !within || prefix_covers(within, &prefix);
}

static struct json_object *routes_inside(struct show *s, const struct prefix *within)
{
	enum { LOOKS_A_TURN = 20000 };
	struct rib *r = s->daemon->rib;
	if (s->at == 0)
		s->at = (uint64_t)1 << 32;
	for (unsigned looks = 0;; looks++) {
		if (looks == LOOKS_A_TURN) {
			s->pause = true;
			return NULL;
		}
		uint32_t at = (uint32_t)(s->at >> 32);
		if (at > rib_entry_limit(r))
			return NULL;
		struct rib_entry *e = rib_entry_at(r, at);
		struct json_object *row = e && is_within(e, within) ? next_path(s, e) : NULL;
		if (row)
			return row;
		s->at = (uint64_t)(at + 1) << 32;
	}
}

/* A pod of this node has its own route, which the table of BGP routes does not hold. */
static struct json_object *pod_route(const struct addr *a, const struct ipam_lease *l)
{
	char text[PREFIX_TEXT_MAX];
	struct prefix host = prefix_make(a, 128);
	struct json_object *row = json_object_new_object();
	put(row, "prefix", prefix_format(&host, text));
	put(row, "mark", "*");
	put(row, "next_hop", l->host_ifname);
	put(row, "source", "pod");
	put(row, "pod", *l->pod ? l->pod : l->container);
	put(row, "kernel", pods_link_state(l));
	return row;
}

static struct json_object *route_for(struct show *s, const struct addr *a)
{
	struct ipam_lease pod;
	if (s->at == 0 && pods_find(s->daemon, a, &pod)) {
		s->at = UINT64_MAX;
		return pod_route(a, &pod);
	}
	struct rib_entry *e = s->at == UINT64_MAX ? NULL : rib_find_longest(s->daemon->rib, a, true);
	return e ? next_path(s, e) : NULL;
}

static struct json_object *show_routes(struct show *s)
{
	static const char hint[] = "underlayc show routes [PREFIX | for ADDRESS]";
	struct prefix p;
	struct addr a;
	if (s->arg_count == 0)
		return routes_inside(s, NULL);
	if (s->arg_count == 2) {
		if (strcmp(s->args[0], "for") != 0 || !addr_parse(s->args[1], &a))
			return fail(s, hint, "%s is not an address", s->args[1]);
		return route_for(s, &a);
	}
	if (prefix_parse(s->args[0], &p) == PREFIX_BAD_TEXT)
		return fail(s, hint, "%s is not a prefix", s->args[0]);
	return routes_inside(s, &p);
}

/* --- pods */

static void put_addresses(struct json_object *row, const struct ipam_lease *l)
{
	char text[TEXT] = "", one[ADDR_TEXT_MAX];
	for (unsigned i = 0; i < l->addr_count; i++) {
		size_t n = strlen(text);
		snprintf(text + n, sizeof text - n, "%s%s", n ? " " : "", addr_format(&l->addrs[i], one));
	}
	put(row, "address", text);
}

static int add_pod(void *arg, const struct ipam_lease *l)
{
	char when[32];
	struct json_object *row = json_object_new_object();
	put_addresses(row, l);
	put(row, "pod", *l->pod ? l->pod : NULL);
	put(row, "container", l->container);
	put(row, "interface", l->ifname);
	put(row, "host_interface", l->host_ifname);
	put(row, "network", l->network);
	put(row, "netns", l->netns);
	put(row, "since", unix_text(l->since, when, sizeof when));
	put(row, "state", pods_link_state(l));
	json_object_array_add(arg, row);
	return 0;
}

static struct json_object *show_pods(struct show *s)
{
	struct json_object *list = s->list;
	if (!list) {
		list = s->list = json_object_new_array();
		int error = pods_each(s->daemon, add_pod, list);
		if (error)
			return fail(s, "underlayc show status tells more", "the leases cannot be read: %s", err_text(error));
	}
	if (s->at >= json_object_array_length(list))
		return NULL;
	return json_object_get(json_object_array_get_idx(list, s->at++));
}

/* --- memory */

static struct json_object *show_memory(struct show *s)
{
	if (s->at >= LIVE_KINDS)
		return NULL;
	struct json_object *row = json_object_new_object();
	put(row, "kind", live_name((enum live_kind)s->at));
	put_number(row, "count", live_count((enum live_kind)s->at));
	s->at++;
	return row;
}

static const struct {
	const char *id;
	show_next_fn *next;
} producers[] = {
	{"show-status", show_status}, {"show-peers", show_peers},   {"show-routes", show_routes},
	{"show-routes-why", show_routes_why},
	{"show-host", show_host},
	{"show-pods", show_pods},     {"show-memory", show_memory},
	{"show-nexthops", show_nexthops},
	{"policy-test", show_policy_test},
	{"show-kernel", show_kernel}, {"show-kernel-differences", show_kernel_differences}, {"resync-kernel", resync_kernel},
	{"peer", peer_command},
	{"show-external", show_external},
	{"route-add", route_add},     {"route-hold", route_hold},   {"route-remove", route_remove},
};

show_next_fn *show_producer(const char *id)
{
	for (size_t i = 0; i < sizeof producers / sizeof *producers; i++)
		if (strcmp(producers[i].id, id) == 0)
			return producers[i].next;
	return NULL;
}
