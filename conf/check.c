/* What only several keys together can get wrong. It runs also when single values were refused,
 * so that one load tells everything; a value that was refused still has what says "unset"
 * (address zero, AS 0) and is not judged again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/errors.h"
#include "conf/keys.h"

struct check {
	const struct conf *conf;
	const struct conf_tree *root;
	struct conf_errors *errors;
	const struct conf_peer **guarded; /* ranges with a password */
	size_t guarded_count;
};

/* A peer with its place in the file. */
struct placed_peer {
	const struct conf_peer *peer;
	const struct conf_tree *tree;
	size_t index;
};

/* An address of the node or of a peer inside this node's pod CIDRs would be given to a pod. */
static bool in_pod_cidrs(const struct conf *c, const struct addr *a)
{
	for (size_t i = 0; i < c->pods.cidrs.count; i++)
		if (prefix_has_addr(&c->pods.cidrs.at[i], a))
			return true;
	return false;
}

/* Points at key in the peer, or at the peer where the key is not given. */
static void peer_error(const struct check *k, const struct placed_peer *p, const char *key, const char *text)
{
	char path[64];
	const struct conf_tree *at = conf_tree_given(p->tree, key);
	snprintf(path, sizeof path, "peers[%zu].%s", p->index, key);
	conf_error_add(k->errors, at ? at->at : p->tree->at, path, "%s", text);
}

static int by_index(const struct placed_peer *a, const struct placed_peer *b)
{
	return a->index < b->index ? -1 : 1;
}

static int by_peer_name(const void *va, const void *vb)
{
	const struct placed_peer *a = va, *b = vb;
	int c = strcmp(a->peer->name, b->peer->name);
	return c ? c : by_index(a, b);
}

/* What tells two peers with one address apart; never both are given. */
static const char *link_of(const struct placed_peer *p)
{
	return p->peer->interface ? p->peer->interface : p->peer->device ? p->peer->device : "";
}

static int by_peer_address(const void *va, const void *vb)
{
	const struct placed_peer *a = va, *b = vb;
	int c = addr_cmp(&a->peer->address, &b->peer->address);
	if (!c)
		c = strcmp(link_of(a), link_of(b));
	return c ? c : by_index(a, b);
}

/* A default name says nothing that the address does not. */
static bool has_own_name(const struct placed_peer *p)
{
	const struct conf_tree *t = conf_tree_given(p->tree, "name");
	return t && t->kind == CONF_TREE_SCALAR && strcmp(t->text, p->peer->name) == 0;
}

static bool same_name(const struct placed_peer *a, const struct placed_peer *b)
{
	return strcmp(a->peer->name, b->peer->name) == 0 && (has_own_name(a) || has_own_name(b));
}

/* A peer that has neither address nor interface (refused, or missing) is nobody's twin. A link-local address may well
 * be on every link. */
static bool same_place(const struct placed_peer *a, const struct placed_peer *b)
{
	return addr_eq(&a->peer->address, &b->peer->address) && strcmp(link_of(a), link_of(b)) == 0 &&
	       (!addr_is_zero(&a->peer->address) || a->peer->interface);
}

static int by_peer_range(const void *va, const void *vb)
{
	const struct placed_peer *a = va, *b = vb;
	int c = prefix_cmp(&a->peer->range, &b->peer->range);
	if (!c)
		c = strcmp(link_of(a), link_of(b));
	return c ? c : by_index(a, b);
}

static bool same_range(const struct placed_peer *a, const struct placed_peer *b)
{
	return conf_peer_is_range(a->peer) && prefix_eq(&a->peer->range, &b->peer->range) && strcmp(link_of(a), link_of(b)) == 0;
}

static const struct unique {
	const char *key;
	int (*order)(const void *, const void *);
	bool (*same)(const struct placed_peer *a, const struct placed_peer *b);
} uniques[] = {{"name", by_peer_name, same_name}, {"address", by_peer_address, same_place}, {"range", by_peer_range, same_range}};

static void check_unique(const struct check *k, const struct unique *u, struct placed_peer *peers, size_t n)
{
	char text[256], place[CONF_PLACE_MAX];
	const struct placed_peer *first = peers;
	qsort(peers, n, sizeof *peers, u->order);
	for (size_t i = 1; i < n; i++) {
		if (!u->same(first, &peers[i])) {
			first = &peers[i];
			continue;
		}
		const struct conf_peer *p = peers[i].peer;
		const char *key = u->same == same_place && addr_is_zero(&p->address) ? "interface" : u->key;
		snprintf(text, sizeof text, "%s is also the %s of peers[%zu] (line %u)",
			 u->same == same_name ? p->name : conf_peer_place(p, place), key, first->index, first->tree->at.line);
		peer_error(k, &peers[i], key, text);
	}
}

/* Exactly one of what says where the peer is. */
static void check_place(const struct check *k, const struct placed_peer *p)
{
	static const char *const keys[] = {"address", "interface", "range"};
	char text[64];
	const char *first = NULL;
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		if (!conf_tree_given(p->tree, keys[i]))
			continue;
		snprintf(text, sizeof text, "not together with %s", first ? first : "");
		if (first)
			peer_error(k, p, keys[i], text);
		else
			first = keys[i];
	}
	if (!first)
		peer_error(k, p, "address", "missing, expected a unicast address here, or interface or range instead of it");
}

static void check_address(const struct check *k, const struct placed_peer *p)
{
	const struct conf *c = k->conf;
	for (size_t i = 0; i < c->node.address_count; i++)
		if (addr_eq(&p->peer->address, &c->node.addresses[i]))
			peer_error(k, p, "address", "this is one of the node's own addresses (node.addresses)");
	if (!addr_is_zero(&p->peer->address) && in_pod_cidrs(c, &p->peer->address))
		peer_error(k, p, "address", "this is inside pods.cidrs: a pod could get it");
}

/* What we are on this session. */
static uint32_t session_asn(const struct conf *c, const struct conf_peer *p)
{
	return p->local_as ? p->local_as : c->node.asn;
}

static bool is_external(const struct conf *c, const struct conf_peer *p)
{
	if (p->asn_kind == CONF_ASN_NUMBER)
		return p->asn && session_asn(c, p) && p->asn != session_asn(c, p);
	return p->asn_kind == CONF_ASN_EXTERNAL;
}

static bool is_internal(const struct conf *c, const struct conf_peer *p)
{
	if (p->asn_kind == CONF_ASN_NUMBER)
		return p->asn && p->asn == session_asn(c, p);
	return p->asn_kind == CONF_ASN_INTERNAL;
}

/* A client whose routes are not taken is none either. RFC 8212: without a policy nothing is taken over eBGP; ours is what
 * cluster-cidrs allow. */
static void check_policy(const struct check *k, const struct placed_peer *p)
{
	const struct conf_tree *clusters = conf_tree_given(conf_tree_find(k->root, "pods"), "cluster-cidrs");
	bool known = clusters && (clusters->kind != CONF_TREE_LIST || clusters->count);
	bool wanted = is_external(k->conf, p->peer) || p->peer->route_reflector_client;
	if (!known && wanted && !conf_tree_given(p->tree, "import"))
		peer_error(k, p, "import",
			   p->peer->route_reflector_client
				   ? "missing, and nothing says which routes this client may send: set pods.cluster-cidrs, or import: all here"
				   : "missing, and nothing says which routes this eBGP peer may send: set pods.cluster-cidrs, or "
				     "import: all here");
}

/* One says "255, so that the peer can tell how far we are", the other something less. */
static void check_ttl(const struct check *k, const struct placed_peer *p)
{
	if (p->peer->ttl_security && p->peer->multihop)
		peer_error(k, p, "multihop", "not together with ttl-security, which says already how far the peer may be");
	if (p->peer->interface && (p->peer->multihop || p->peer->ttl_security > 1))
		peer_error(k, p, p->peer->multihop ? "multihop" : "ttl-security",
			   "not for a peer on this very link, where no packet goes further than one hop");
}

static void check_transport(const struct check *k, const struct placed_peer *p)
{
	const struct conf_peer *c = p->peer;
	if (c->interface && conf_tree_given(p->tree, "device"))
		peer_error(k, p, "device", "not for a peer that is known by its interface, which says it already");
	if (addr_is_zero(&c->source))
		return;
	if (addr_is_link_local(&c->source) && !addr_is_v4(&c->source))
		peer_error(k, p, "source", "a link-local address cannot be given here; interface or device says which one is meant");
	else if ((!addr_is_zero(&c->address) && addr_is_v4(&c->source) != addr_is_v4(&c->address)) ||
		 (conf_peer_is_range(c) && addr_is_v4(&c->source) != prefix_is_v4(&c->range)))
		peer_error(k, p, "source", "not of the peer's address family");
	else if (addr_eq(&c->source, &c->address))
		peer_error(k, p, "source", "this is the peer's own address");
}

/* A pod that could open a session could say what it likes. */
static void check_range(const struct check *k, const struct placed_peer *p)
{
	const struct conf_prefixes *pods = &k->conf->pods.cidrs;
	const struct prefix *range = &p->peer->range;
	bool meets = false;
	if (!conf_peer_is_range(p->peer)) {
		if (conf_tree_given(p->tree, "range-limit") && !conf_tree_given(p->tree, "range"))
			peer_error(k, p, "range-limit", "needs range");
		return;
	}
	for (size_t i = 0; i < pods->count; i++)
		meets |= prefix_covers(range, &pods->at[i]) || prefix_covers(&pods->at[i], range);
	if (meets)
		peer_error(k, p, "range", "there are addresses of pods.cidrs in it: a pod could call");
	if (conf_tree_given(p->tree, "passive"))
		peer_error(k, p, "passive", "not for a range: nobody in it is ever called");
	if (conf_tree_given(p->tree, "port"))
		peer_error(k, p, "port", "not for a range: nobody in it is ever called");
}

/* The kernel asks everybody in a range for its signature who has no password of his own. */
static void check_passwords(const struct check *k, const struct placed_peer *p)
{
	const struct conf_peer *c = p->peer;
	char text[160], range[PREFIX_TEXT_MAX];
	if (c->password_file || c->interface)
		return;
	for (size_t i = 0; i < k->guarded_count; i++) {
		const struct conf_peer *r = k->guarded[i];
		bool inside = conf_peer_is_range(c) ? prefix_covers(&r->range, &c->range) : prefix_has_addr(&r->range, &c->address);
		if (!inside || strcmp(r->device ? r->device : "", c->device ? c->device : "") != 0)
			continue;
		snprintf(text, sizeof text, "missing, but this is inside the range %s, which has one: connections from here without a "
			 "signature would be dropped", prefix_format(&r->range, range));
		peer_error(k, p, "password-file", text);
		return;
	}
}

static void check_role(const struct check *k, const struct placed_peer *p)
{
	if (p->peer->role && is_internal(k->conf, p->peer))
		peer_error(k, p, "role", "not for an internal peer: roles are between ASes");
	if (p->peer->role_strict && !conf_tree_given(p->tree, "role"))
		peer_error(k, p, "role-strict", "needs role: without one of ours there is none that the peer's could fit");
}

/* A key that makes sense on one side of the AS border only. */
static void check_side(const struct check *k, const struct placed_peer *p)
{
	bool internal = is_internal(k->conf, p->peer), external = is_external(k->conf, p->peer);
	if (p->peer->route_reflector_client && external)
		peer_error(k, p, "route-reflector-client", "only for an internal peer: what an external one is told is up to its export");
	if (p->peer->as_override && internal)
		peer_error(k, p, "as-override", "only for an external peer: an internal one gets the path as it is");
	if (p->peer->remove_private_as && internal)
		peer_error(k, p, "remove-private-as", "only for an external peer: an internal one gets the path as it is");
}

static void check_limits(const struct check *k, const struct placed_peer *p)
{
	if (conf_tree_given(p->tree, "max-prefixes-action") && !conf_tree_given(p->tree, "max-prefixes"))
		peer_error(k, p, "max-prefixes-action", "needs max-prefixes: without it there is no limit");
}

/* RFC 7999 section 3.3: only for what the peer may speak for. */
static void check_blackhole(const struct check *k, const struct placed_peer *p)
{
	const struct conf_tree *clusters = conf_tree_given(conf_tree_find(k->root, "pods"), "cluster-cidrs");
	if (p->peer->blackhole && !clusters)
		peer_error(k, p, "blackhole", "needs pods.cluster-cidrs: only addresses inside them are discarded");
}

static void check_named(const struct check *k, const struct placed_peer *p, const char *key, const char *name)
{
	char text[sizeof((struct conf_error *)NULL)->text];
	const struct conf *c = k->conf;
	if (!name || conf_policy_find(c, name))
		return;
	int n = snprintf(text, sizeof text, "found \"%s\", expected %s; there %s", name, conf_key_find("peers[]", key)->expected,
			 c->policy_count ? "are" : "is no policy of your own");
	for (size_t i = 0; i < c->policy_count && n > 0 && (size_t)n < sizeof text; i++)
		n += snprintf(text + n, sizeof text - (size_t)n, "%s %s", i ? "," : "", c->policies[i].name ? c->policies[i].name : "?");
	peer_error(k, p, key, text);
}

/* A weight is for our own choice, and there is none in what goes out. */
static void check_export_sets(const struct check *k, const struct placed_peer *p)
{
	const struct conf_rules *policy = conf_policy_find(k->conf, p->peer->export_policy);
	for (size_t i = 0; policy && i < policy->rule_count; i++)
		if (policy->rules[i].set.weight.given) {
			peer_error(k, p, "export", "the policy has a rule that sets weight, which is for import only");
			return;
		}
}

/* "next-hop: self" on a route that comes in would send packets for it to ourselves. */
static void check_import_sets(const struct check *k, const struct placed_peer *p)
{
	const struct conf_rules *policy = conf_policy_find(k->conf, p->peer->import_policy);
	for (size_t i = 0; policy && i < policy->rule_count; i++)
		if (policy->rules[i].set.next_hop_kind == CONF_NEXT_HOP_SELF) {
			peer_error(k, p, "import", "the policy has a rule that sets next-hop: self, which is for export only");
			return;
		}
}

static void check_peer(const struct check *k, const struct placed_peer *p)
{
	if (p->tree->kind != CONF_TREE_MAP)
		return;
	check_place(k, p);
	check_address(k, p);
	if (!conf_tree_given(p->tree, "asn"))
		peer_error(k, p, "asn", "missing, expected an AS number, external or internal");
	check_policy(k, p);
	check_ttl(k, p);
	check_transport(k, p);
	check_range(k, p);
	check_passwords(k, p);
	check_role(k, p);
	check_side(k, p);
	check_blackhole(k, p);
	check_limits(k, p);
	check_named(k, p, "import", p->peer->import_policy);
	check_named(k, p, "export", p->peer->export_policy);
	check_import_sets(k, p);
	check_export_sets(k, p);
}

static void check_node(const struct check *k)
{
	const struct conf_tree *node = conf_tree_given(k->root, "node");
	const struct conf_tree *at = node ? node : conf_tree_given(k->root, "peers");
	if (k->conf->peer_count && !conf_tree_given(node, "asn"))
		conf_error_add(k->errors, at->key_at, "node.asn",
			       "missing, but there are peers; expected an AS number from 1 to 4294967294");
	const struct conf_tree *addresses = conf_tree_given(node, "addresses");
	for (size_t i = 0; addresses && i < k->conf->node.address_count; i++)
		if (in_pod_cidrs(k->conf, &k->conf->node.addresses[i]))
			conf_error_add(k->errors, addresses->at, "node.addresses",
				       "one of them is inside pods.cidrs: a pod could get it");
}

static void check_kernel(const struct check *k)
{
	const struct conf_tree *table = conf_tree_given(conf_tree_find(k->root, "kernel"), "table");
	if (table && k->conf->kernel.vrf)
		conf_error_add(k->errors, table->key_at, "kernel.table",
			       "not beside vrf: a VRF has a table of its own, and that is where the routes go");
}

static void check_peers(const struct check *k)
{
	const struct conf *c = k->conf;
	const struct conf_tree *list = conf_tree_given(k->root, "peers"), *t = list ? list->first : NULL;
	struct placed_peer *peers = conf_grab(c->peer_count, sizeof *peers);
	for (size_t i = 0; i < c->peer_count; i++, t = t->next) {
		peers[i] = (struct placed_peer){&c->peers[i], t, i};
		check_peer(k, &peers[i]);
	}
	for (size_t i = 0; i < sizeof uniques / sizeof *uniques; i++)
		check_unique(k, &uniques[i], peers, c->peer_count);
	free(peers);
}

static void find_guarded(struct check *k)
{
	const struct conf *c = k->conf;
	k->guarded = conf_grab(c->peer_count, sizeof *k->guarded);
	for (size_t i = 0; i < c->peer_count; i++)
		if (conf_peer_is_range(&c->peers[i]) && c->peers[i].password_file)
			k->guarded[k->guarded_count++] = &c->peers[i];
}

void conf_check(const struct conf *c, const struct conf_tree *root, struct conf_errors *errors)
{
	struct check k = {.conf = c, .root = root, .errors = errors};
	find_guarded(&k);
	check_node(&k);
	check_kernel(&k);
	check_peers(&k);
	conf_check_policies(c, root, errors);
	conf_check_external(c, root, errors);
	free(k.guarded);
}

/* Texts that may be NULL. */
static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool conf_peer_is_range(const struct conf_peer *p)
{
	return p->range.len != 0;
}

bool conf_peer_same(const struct conf_peer *a, const struct conf_peer *b)
{
	return strcmp(a->name, b->name) == 0 && addr_eq(&a->address, &b->address) && same_text(a->interface, b->interface) &&
	       prefix_eq(&a->range, &b->range) &&
	       a->asn_kind == b->asn_kind &&
	       a->asn == b->asn && a->passive == b->passive && a->port == b->port && a->hold_time_s == b->hold_time_s &&
	       a->ipv4 == b->ipv4 && a->ipv6 == b->ipv6 && same_text(a->password, b->password) && a->ttl_security == b->ttl_security &&
	       a->multihop == b->multihop && addr_eq(&a->source, &b->source) && same_text(a->device, b->device) &&
	       a->tcp_mss == b->tcp_mss && a->role == b->role && a->role_strict == b->role_strict && a->local_as == b->local_as &&
	       a->route_reflector_client == b->route_reflector_client && a->add_path.receive == b->add_path.receive &&
	       a->add_path.send == b->add_path.send;
}
