/* From configuration to the rooms' own parameters, and from what runs to what should run. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock_io.h"
#include "src/base/log_io.h"
#include "src/daemon/apply_policy.h"
#include "src/daemon/daemon.h"
#include "src/daemon/dynamic_io.h"
#include "src/daemon/export.h"
#include "src/daemon/limits_io.h"
#include "src/daemon/listen_io.h"
#include "src/daemon/own_next_hops_io.h"
#include "src/daemon/peer_io.h"
#include "src/daemon/publish_io.h"
#include "src/daemon/refilter_io.h"

enum { RESTART_TIME_S = 120 };

static enum bgp_asn_kind asn_kind(enum conf_asn_kind k)
{
	switch (k) {
	case CONF_ASN_NUMBER:
		return BGP_ASN_NUMBER;
	case CONF_ASN_EXTERNAL:
		return BGP_ASN_EXTERNAL;
	case CONF_ASN_INTERNAL:
		return BGP_ASN_INTERNAL;
	}
	return BGP_ASN_NUMBER;
}

static enum rib_import import_of(enum conf_policy p)
{
	switch (p) {
	case CONF_POLICY_ALL:
		return RIB_IMPORT_ALL;
	case CONF_POLICY_NONE:
		return RIB_IMPORT_NONE;
	case CONF_POLICY_NAMED:
		return RIB_IMPORT_WRITTEN;
	case CONF_POLICY_UNSET:
	case CONF_POLICY_PODS:
		break;
	}
	return RIB_IMPORT_CLUSTER;
}

static enum rib_export export_of(const struct conf_peer *p)
{
	switch (p->export) {
	case CONF_POLICY_ALL:
		return RIB_EXPORT_ALL;
	case CONF_POLICY_NONE:
		return RIB_EXPORT_NONE;
	case CONF_POLICY_NAMED:
		return RIB_EXPORT_WRITTEN;
	case CONF_POLICY_UNSET: /* a reflector is there to tell its clients what it knows */
		return p->route_reflector_client ? RIB_EXPORT_ALL : RIB_EXPORT_PODS;
	case CONF_POLICY_PODS:
		break;
	}
	return RIB_EXPORT_PODS;
}

static enum bgp_role role_of(enum conf_role r)
{
	static const enum bgp_role roles[] = {
		[CONF_ROLE_NONE] = BGP_ROLE_NONE,	    [CONF_ROLE_PROVIDER] = BGP_ROLE_PROVIDER,
		[CONF_ROLE_CUSTOMER] = BGP_ROLE_CUSTOMER,   [CONF_ROLE_PEER] = BGP_ROLE_PEER,
		[CONF_ROLE_RS_SERVER] = BGP_ROLE_RS_SERVER, [CONF_ROLE_RS_CLIENT] = BGP_ROLE_RS_CLIENT,
	};
	return roles[r];
}

/* FNV-1a: the same in every process, as the hashes of our tables are not. */
static uint32_t stable_hash(const char *text)
{
	uint32_t h = UINT32_C(0x811c9dc5);
	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * UINT32_C(0x01000193);
	return h;
}

/* Stable over restarts and valid on nodes without IPv4: the configured one, the first IPv4 address of the node, or
 * a hash of its name. */
static uint32_t derive_router_id(const struct conf *c)
{
	if (c->node.router_id)
		return c->node.router_id;
	for (size_t i = 0; i < c->node.address_count; i++)
		if (addr_is_v4(&c->node.addresses[i]))
			return addr_to_v4(&c->node.addresses[i]);
	uint32_t id = stable_hash(c->node.name);
	return id ? id : 1;
}

struct route_mark apply_route_mark(const struct conf *c)
{
	return (struct route_mark){.table = c->kernel.table, .metric = c->kernel.metric, .protocol = c->kernel.protocol};
}

bool apply_no_objects(const struct conf *c)
{
	return c->kernel.nexthop_objects == CONF_OBJECTS_NEVER;
}

static uint32_t cluster_id_of(const struct daemon *d, const struct conf *c)
{
	return c->node.cluster_id ? c->node.cluster_id : d->router_id;
}

static bool reflects(const struct conf *c)
{
	bool any = c->node.cluster_id != 0;
	for (size_t i = 0; i < c->peer_count; i++)
		any |= c->peers[i].route_reflector_client;
	return any;
}

static struct peer_ways ways_of(const struct conf_peer *c)
{
	return (struct peer_ways){.client = c->route_reflector_client,
				  .next_hop_self = c->next_hop_self,
				  .as_override = c->as_override,
				  .remove_private = c->remove_private_as,
				  .draining = c->graceful_shutdown,
				  .blackhole = c->blackhole,
				  .allow_own_as = c->allow_own_as};
}

static struct limits limits_of(const struct conf_peer *p)
{
	static const enum limits_action actions[] = {
		[CONF_LIMIT_UNSET] = LIMITS_RESTART,
		[CONF_LIMIT_RESTART] = LIMITS_RESTART,
		[CONF_LIMIT_WARN] = LIMITS_WARN,
		[CONF_LIMIT_STOP] = LIMITS_STOP,
	};
	return (struct limits){.received = p->max_prefixes, .advertised = p->max_advertised, .action = actions[p->max_prefixes_action]};
}

static bool same_limits(const struct conf_peer *a, const struct conf_peer *b)
{
	return a->max_prefixes == b->max_prefixes && a->max_advertised == b->max_advertised &&
	       a->max_prefixes_action == b->max_prefixes_action;
}

static uint8_t add_path_of(const struct conf_peer *c)
{
	return (uint8_t)((c->add_path.receive ? BGP_ADD_PATH_RECEIVE : 0) | (c->add_path.send ? BGP_ADD_PATH_SEND : 0));
}

static struct transport_options way_of(const struct conf_peer *cp)
{
	return (struct transport_options){.password = cp->password,
					  .ttl_security = cp->ttl_security,
					  .multihop = cp->multihop,
					  .source = cp->source,
					  .device = cp->device,
					  .mss = cp->tcp_mss};
}

/* range: the one that cp describes, and that somebody calls from; NULL: cp is a peer itself. */
static struct peer *new_peer(struct daemon *d, const struct conf *c, const struct conf_peer *cp, const char *name,
			     const struct addr *address, struct range *range)
{
	struct bgp_session_params params = {.local_asn = cp->local_as ? cp->local_as : c->node.asn,
					    .remote_asn = cp->asn,
					    .asn_kind = asn_kind(cp->asn_kind),
					    .router_id = d->router_id,
					    .hold_time_s = cp->hold_time_s,
					    .passive = cp->passive || range,
					    .families = {[BGP_IPV4_UNICAST] = cp->ipv4, [BGP_IPV6_UNICAST] = cp->ipv6},
					    .role = role_of(cp->role),
					    .role_strict = cp->role_strict,
					    .add_path = add_path_of(cp),
					    .v6_next_hop = !addr_is_v4(address), /* over IPv6 only: over IPv4 there is always a next hop */
					    .restart_time_s = RESTART_TIME_S};
	struct peer *p =
		peer_new(d, &params, name, address, cp->port, import_of(cp->import), export_of(cp));
	p->range = range;
	p->ways = ways_of(cp);
	p->import_rules = policies_find(&d->policies, cp->import_policy);
	p->export_rules = policies_find(&d->policies, cp->export_policy);
	p->limits = limits_of(cp);
	peer_set_link(p, cp->interface, cp->interface && addr_is_zero(&cp->address));
	p->send_paths = cp->add_path.send;
	helper_set(p, cp->restart_helper);
	const struct transport_options way = way_of(cp);
	transport_set(&p->transport, &way);
	listener_update(d->listener);
	peer_start(p);
	return p;
}

static const struct conf_peer *find_peer_conf(const struct conf *c, const char *name)
{
	for (size_t i = 0; c && i < c->peer_count; i++)
		if (strcmp(c->peers[i].name, name) == 0)
			return &c->peers[i];
	return NULL;
}

struct peer *apply_range_peer(struct daemon *d, struct range *r, const struct addr *from)
{
	char name[128], text[ADDR_TEXT_MAX];
	snprintf(name, sizeof name, "%s-%s", r->name, addr_format(from, text));
	r->count++;
	return new_peer(d, d->conf, find_peer_conf(d->conf, r->name), name, from, r);
}

static bool all_covered(const struct conf_prefixes *outer, const struct conf_prefixes *inner)
{
	for (size_t i = 0; i < inner->count; i++)
		if (!prefix_in_any(&inner->at[i], outer->at, outer->count))
			return false;
	return true;
}

/* Would this import let in what it refused so far? What was refused is not kept, so the peer must say it again. */
static bool lets_in_more(const struct conf *was, const struct conf *will, enum conf_policy import)
{
	if (import == CONF_POLICY_NONE)
		return false;
	bool by_cluster = import != CONF_POLICY_ALL && import != CONF_POLICY_NAMED;
	return !all_covered(&will->pods.cidrs, &was->pods.cidrs) ||
	       (by_cluster && !all_covered(&was->pods.cluster_cidrs, &will->pods.cluster_cidrs));
}

/* What every session says in its OPEN. */
static bool same_speaker(const struct daemon *d, const struct conf *next)
{
	return d->conf && d->conf->node.asn == next->node.asn && d->router_id == derive_router_id(next) &&
	       d->conf->node.cluster_id == next->node.cluster_id;
}

static bool same_ways_out(const struct conf_peer *a, const struct conf_peer *b)
{
	return a->next_hop_self == b->next_hop_self && a->as_override == b->as_override &&
	       a->remove_private_as == b->remove_private_as && a->graceful_shutdown == b->graceful_shutdown;
}

static bool same_ways_in(const struct conf_peer *a, const struct conf_peer *b)
{
	return a->allow_own_as == b->allow_own_as && a->blackhole == b->blackhole && a->graceful_shutdown == b->graceful_shutdown;
}

/* Changes what can change under a session. False: it takes a new one, since the peer would have to repeat what was
 * refused so far and cannot. */
static bool adjust(struct peer *p, const struct conf *was, const struct conf *will, const struct conf_peer *from,
		   const struct conf_peer *to, unsigned *changes)
{
	const struct policies *policies = &p->daemon->policies;
	const struct rib_policy *import = policies_find(policies, to->import_policy);
	const struct rib_policy *export = policies_find(policies, to->export_policy);
	bool import_changed = from->import != to->import || p->import_rules != import || !same_ways_in(from, to);
	bool export_changed = from->export != to->export || p->export_rules != export || !same_ways_out(from, to);
	bool more = lets_in_more(was, will, to->import) || (import_changed && to->import != CONF_POLICY_NONE);
	bool up = bgp_session_slot(&p->session) != BGP_SLOTS;
	if (more && up && !p->session.refresh)
		return false;
	bool limits_changed = !same_limits(from, to);
	*changes += import_changed || export_changed || limits_changed || from->restart_helper != to->restart_helper;
	helper_set(p, to->restart_helper);
	bool limits_stopped = p->limits.stopped;
	if (limits_changed)
		p->limits = limits_of(to);
	p->import = import_of(to->import);
	p->import_rules = import;
	p->export = export_of(to);
	p->ways = ways_of(to);
	p->export_rules = export;
	p->ask_refresh = more && up; /* when the new imports are in force */
	if (export_changed || from->max_advertised != to->max_advertised)
		export_policy_changed(p);
	if (limits_stopped && (import_changed || export_changed || limits_changed))
		peer_start(p);
	return true;
}

/* Of what all imports look at. Our own CIDRs are counted where they are applied. */
static bool same_cluster(const struct conf *a, const struct conf *b)
{
	return all_covered(&a->pods.cluster_cidrs, &b->pods.cluster_cidrs) && all_covered(&b->pods.cluster_cidrs, &a->pods.cluster_cidrs);
}

static bool same_addresses(const struct conf *a, const struct conf *b)
{
	bool same = a->node.address_count == b->node.address_count;
	for (size_t i = 0; same && i < a->node.address_count; i++)
		same = addr_eq(&a->node.addresses[i], &b->node.addresses[i]);
	return same;
}

/* What there is no other for stays: its family cannot be taken back without a new session. */
static void learn_next_hops_anew(struct peer *p)
{
	struct addr before[BGP_FAMILIES];
	memcpy(before, p->local_next_hop, sizeof before);
	own_next_hops_learn(p);
	for (unsigned f = 0; f < BGP_FAMILIES; f++)
		if (addr_is_zero(&p->local_next_hop[f]))
			p->local_next_hop[f] = before[f];
}

/* node.addresses are what sessions offer as next hops where their links have none. */
static void offer_anew(struct daemon *d)
{
	list_each(n, tmp, &d->peers) {
		struct peer *p = container_of(n, struct peer, node);
		if (!p->group)
			continue;
		learn_next_hops_anew(p);
		export_policy_changed(p);
	}
}

static unsigned drop_peers(struct daemon *d, const struct conf *next, bool all)
{
	unsigned changes = 0;
	list_each(n, tmp, &d->peers) {
		struct peer *p = container_of(n, struct peer, node);
		const struct conf_peer *was = find_peer_conf(d->conf, peer_policy_name(p)),
					*will = find_peer_conf(next, peer_policy_name(p));
		if (!all && was && will && conf_peer_same(was, will) && adjust(p, d->conf, next, was, will, &changes))
			continue;
		log_info(p->subject, will ? "settings changed: starting anew" : "no longer configured");
		listener_forget(d->listener, p);
		router_adverts_forget(d->router_adverts, p);
		peer_free(p, will ? BGP_CEASE_CONFIG_CHANGE : BGP_CEASE_DECONFIGURED);
		changes++;
	}
	return changes;
}

/* Ranges that are no more, or different ones now; their peers have gone already. */
static unsigned drop_ranges(struct daemon *d, const struct conf *next)
{
	unsigned changes = 0;
	list_each(n, tmp, &d->ranges) {
		struct range *r = container_of(n, struct range, node);
		const struct conf_peer *was = find_peer_conf(d->conf, r->name), *will = find_peer_conf(next, r->name);
		if (was && will && conf_peer_same(was, will)) {
			changes += r->limit != will->range_limit;
			r->limit = will->range_limit;
			continue;
		}
		listener_forget_range(d->listener, r);
		range_free(r);
		changes++;
	}
	return changes;
}

static bool is_configured(const struct conf *c, const struct peer *p)
{
	for (size_t i = 0; i < c->peer_count; i++) {
		const char *device = c->peers[i].device ? c->peers[i].device : "";
		if (addr_eq(&c->peers[i].address, &p->address) && strcmp(device, p->transport.device) == 0)
			return true;
	}
	return false;
}

/* Peers of a range whose address is configured now, or belongs to a longer one. */
static unsigned drop_displaced(struct daemon *d, const struct conf *next)
{
	unsigned changes = 0;
	list_each(n, tmp, &d->peers) {
		struct peer *p = container_of(n, struct peer, node);
		if (!p->range || (range_find(d, &p->address, p->transport.device) == p->range && !is_configured(next, p)))
			continue;
		log_info(p->subject, "no longer one of the range's");
		peer_free(p, BGP_CEASE_CONFIG_CHANGE);
		changes++;
	}
	return changes;
}

static bool runs(const struct daemon *d, const char *name)
{
	list_each(n, tmp, &d->ranges)
		if (strcmp(container_of(n, struct range, node)->name, name) == 0)
			return true;
	list_each(n, tmp, &d->peers) {
		const struct peer *p = container_of(n, struct peer, node);
		if (!p->range && strcmp(p->name, name) == 0)
			return true;
	}
	return false;
}

static unsigned add_peers(struct daemon *d, const struct conf *next)
{
	unsigned changes = 0;
	for (size_t i = 0; i < next->peer_count; i++) {
		if (runs(d, next->peers[i].name))
			continue;
		const struct conf_peer *cp = &next->peers[i];
		const struct transport_options way = way_of(cp);
		if (conf_peer_is_range(cp))
			range_new(d, cp->name, &cp->range, cp->range_limit, &way);
		else
			new_peer(d, next, cp, cp->name, &cp->address, NULL);
		changes++;
	}
	return changes;
}

static bool holds(const struct conf_prefixes *set, const struct prefix *p)
{
	for (size_t i = 0; i < set->count; i++)
		if (prefix_eq(&set->at[i], p))
			return true;
	return false;
}

static unsigned apply_own_cidrs(struct daemon *d, const struct conf *next)
{
	static const struct conf_prefixes none;
	const struct conf_prefixes *was = d->conf ? &d->conf->pods.cidrs : &none, *will = &next->pods.cidrs;
	struct bgp_attrs *attrs = bgp_attrs_local(&d->attrs);
	unsigned changes = 0;
	for (size_t i = 0; i < was->count; i++)
		if (!holds(will, &was->at[i]))
			changes += rib_withdraw(d->rib, d->local, &was->at[i]);
	for (size_t i = 0; i < will->count; i++) {
		if (holds(was, &will->at[i]))
			continue;
		rib_announce(d->rib, d->local, &will->at[i], attrs, clock_now());
		changes++;
	}
	bgp_attrs_unref(attrs);
	return changes;
}

unsigned apply_conf(struct daemon *d, struct conf *next)
{
	bool same = same_speaker(d, next);
	struct policies before = d->policies;
	d->policies = policies_make(d, next);
	unsigned changes = drop_peers(d, next, !same);
	policies_free(&before, &d->policies);
	d->router_id = derive_router_id(next);
	d->asn = next->node.asn;
	d->cluster_id = cluster_id_of(d, next);
	d->reflects = reflects(next);
	d->imports = (struct rib_import_context){.own = next->pods.cidrs.at,
						 .own_count = next->pods.cidrs.count,
						 .cluster = next->pods.cluster_cidrs.at,
						 .cluster_count = next->pods.cluster_cidrs.count};
	changes += d->conf && !same_cluster(d->conf, next);
	changes += apply_own_cidrs(d, next);
	changes += apply_external(d, next); /* before the peers: they are told at once */
	changes += drop_ranges(d, next);
	changes += add_peers(d, next);
	changes += drop_displaced(d, next);
	refilter_begin(d);
	listener_update(d->listener);
	router_adverts_update(d->router_adverts);
	bool moved = d->conf && !same_addresses(d->conf, next);
	conf_free(d->conf);
	d->conf = next;
	if (moved)
		offer_anew(d);
	changes += moved;
	changes += publish_plugin_facts(d) == 1;
	return changes;
}
