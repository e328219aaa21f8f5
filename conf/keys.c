#include "conf/keys.h"

#include <ctype.h>
#include <string.h>

#include "src/base/name.h"

#define TOP(m) .offset = offsetof(struct conf, m), .size = sizeof(((struct conf *)NULL)->m)
#define PEER(m) .offset = offsetof(struct conf_peer, m), .size = sizeof(((struct conf_peer *)NULL)->m)
#define POLICY(m) .offset = offsetof(struct conf_rules, m), .size = sizeof(((struct conf_rules *)NULL)->m)
#define EXTERNAL(m) .offset = offsetof(struct conf_external, m), .size = sizeof(((struct conf_external *)NULL)->m)
#define RULE(m) .offset = offsetof(struct conf_rule, m), .size = sizeof(((struct conf_rule *)NULL)->m)
#define RULES "policies[].rules[]"
#define COMMUNITY "64512:100, a well-known name such as no-export, 64512:1:2 (large), or rt:64512:100, ro:, lb: or 0x and 16 digits (extended)"
#define COMMUNITY_PATTERN COMMUNITY "; * for any number"
#define COMMUNITIES \
	.min = 1, .expected = "a list of communities such as [\"64512:100\", \"rt:64513:*\", $fabric]", .item = COMMUNITY_PATTERN
#define RANGE "a prefix, and behind it le LENGTH, ge LENGTH or both, such as \"10.0.0.0/8 ge 16 le 24\""
#define AS_PATH "an AS path expression such as \"64512 (64900|64901)$\""
#define BOUNDS(most) "a number up to " most ", or le N, ge N or both, such as \"ge 2 le 5\""
#define SECTION .type = CONF_KEY_MAP, .expected = "a map (key: value)"
#define CIDRS                                                                    \
	.min = 8, .expected = "a list of prefixes such as [10.244.7.0/24, \"fd10:244:7::/64\"]", \
	.item = "a prefix of /8 or longer such as 10.244.7.0/24 or fd10:244:7::/64"
#define LATER(p, h)                                          \
	{                                                    \
		.path = p, .type = CONF_KEY_LATER, .help = h \
	}

const struct conf_key conf_keys[] = {
	{"node", SECTION, .help = "this node"},
	{"node.name", CONF_KEY_NAME, .expected = NAME_RULE, .otherwise = "the host name", TOP(node.name),
	 .help = "how the node is called in output and, later, in the directory of nodes"},
	{"node.asn", CONF_KEY_ASN, .expected = "an AS number from 1 to 4294967294", .otherwise = "none; needed with peers",
	 TOP(node.asn), .help = "the AS that this node speaks for"},
	{"node.router-id", CONF_KEY_ROUTER_ID, .expected = "four numbers with dots such as 10.0.7.1, not 0.0.0.0",
	 .otherwise = "derived, the same at every start", TOP(node.router_id), .help = "the BGP identifier"},
	{"node.cluster-id", CONF_KEY_ROUTER_ID, .expected = "four numbers with dots such as 10.0.7.1, not 0.0.0.0",
	 .otherwise = "the router ID", TOP(node.cluster_id),
	 .help = "as a route reflector: what the cluster is called; reflectors of the same clients share one"},
	{"node.addresses", CONF_KEY_ADDRESSES, .expected = "a list of unicast addresses such as [10.0.7.1]",
	 .item = "a unicast address such as 10.0.7.1", .otherwise = "detected", .help = "the node's own addresses"},

	{"pods", SECTION, .help = "the pods' addresses"},
	{"pods.cidrs", CONF_KEY_PREFIXES, CIDRS, .otherwise = "none", TOP(pods.cidrs),
	 .help = "this node's: pods get addresses from them, BGP announces them"},
	{"pods.cluster-cidrs", CONF_KEY_PREFIXES, CIDRS, .otherwise = "none", TOP(pods.cluster_cidrs),
	 .help = "all nodes': a peer without import may send prefixes inside them"},
	{"pods.reuse-delay", CONF_KEY_SECONDS, .max = 604800, .expected = "a duration such as 60s (0s to 168h)",
	 .value = "60s", TOP(pods.reuse_delay_s), .help = "how long a freed address rests before another pod gets it"},
	LATER("pods.mtu", "the pods' MTU, where it is not the uplink's"),

	{"peers", CONF_KEY_PEERS, .expected = "a list of peers, each a map that starts with \"- \"", .otherwise = "none",
	 .help = "the BGP sessions"},
	{"peers[].name", CONF_KEY_NAME, .expected = NAME_RULE, .otherwise = "the address, the interface or the range", PEER(name),
	 .help = "how the peer is called in output and in commands"},
	{"peers[].address", CONF_KEY_PEER_ADDRESS, .expected = "a unicast address such as 10.0.7.254, or fe80::1%eth0 where it is link-local",
	 .otherwise = "none; this, interface or range is needed", PEER(address), .help = "where the peer is"},
	{"peers[].interface", CONF_KEY_INTERFACE, .expected = "an interface's name such as eth0", .otherwise = "none", PEER(interface),
	 .help = "instead of address: an unnumbered session with the router at the other end of this link"},
	{"peers[].range", CONF_KEY_PREFIX, .min = 1, .expected = "a prefix such as 10.0.0.0/16", .otherwise = "none", PEER(range),
	 .help = "instead of address: whoever calls from this prefix is a peer, called NAME-ADDRESS"},
	{"peers[].range-limit", CONF_KEY_UINT, .min = 1, .max = 65535, .expected = "a number from 1 to 65535", .value = "100",
	 PEER(range_limit), .help = "how many peers the range may have at once; more are turned away"},
	{"peers[].asn", CONF_KEY_PEER_ASN, .expected = "an AS number from 1 to 4294967294, external or internal",
	 .otherwise = "none; needed", .help = "the peer's AS; external: any but our own; internal: our own"},
	{"peers[].passive", CONF_KEY_BOOL, .expected = "true or false", .value = "false", PEER(passive),
	 .help = "wait for the peer to connect, never call it"},
	{"peers[].port", CONF_KEY_UINT, .min = 1, .max = 65535, .expected = "a port from 1 to 65535", .value = "179",
	 PEER(port), .help = "the TCP port that we call"},
	{"peers[].hold-time", CONF_KEY_SECONDS, .min = 3, .max = 65535,
	 .expected = "a duration such as 9s (3s to 65535s in whole seconds, or 0 for never)", .value = "9s",
	 PEER(hold_time_s), .help = "silence after which the session is down; the peer's is used where it is less"},
	{"peers[].password-file", CONF_KEY_SECRET_FILE, .max = 4000, .expected = "an absolute path of a file",
	 .otherwise = "no password", PEER(password_file),
	 .help = "its first line is the TCP-MD5 secret, 1 to 80 bytes; others may not read it (chmod 600)"},
	{"peers[].ttl-security", CONF_KEY_UINT, .min = 1, .max = 254, .expected = "a number from 1 to 254",
	 .otherwise = "off", PEER(ttl_security),
	 .help = "GTSM: how many hops away the peer may be, 1 is the same link; send TTL 255, drop what came further"},
	{"peers[].multihop", CONF_KEY_UINT, .min = 1, .max = 255, .expected = "a number from 1 to 255",
	 .otherwise = "the system's TTL", PEER(multihop),
	 .help = "the TTL of our packets, and so how many hops they may go; not together with ttl-security"},
	{"peers[].local-as", CONF_KEY_ASN, .expected = "an AS number from 1 to 4294967294", .otherwise = "node.asn",
	 PEER(local_as), .help = "speak to this peer as this AS, in everything: it sees nothing of node.asn"},
	{"peers[].allow-own-as", CONF_KEY_UINT, .max = 10, .expected = "a number from 0 to 10", .value = "0", PEER(allow_own_as),
	 .help = "how often our own AS may be in a path from the peer; more is a loop"},
	{"peers[].as-override", CONF_KEY_BOOL, .expected = "true or false", .value = "false", PEER(as_override),
	 .help = "write our AS for the peer's in paths that it gets, so that it takes routes of its own AS; external peers only"},
	{"peers[].remove-private-as", CONF_KEY_BOOL, .expected = "true or false", .value = "false", PEER(remove_private_as),
	 .help = "leave private AS numbers out of paths that it gets, but its own and the one that we speak as; external peers only"},
	{"peers[].next-hop-self", CONF_KEY_BOOL, .expected = "true or false", .value = "false", PEER(next_hop_self),
	 .help = "an internal peer gets our address as next hop of everything, reflected routes too; external peers do in any case"},
	{"peers[].route-reflector-client", CONF_KEY_BOOL, .expected = "true or false", .value = "false", PEER(route_reflector_client),
	 .help = "reflect routes between this internal peer and the others (RFC 4456); export is all, unless given"},
	{"peers[].graceful-shutdown", CONF_KEY_BOOL, .expected = "true or false", .value = "false", PEER(graceful_shutdown),
	 .help = "drain the peer before it or the link goes: all others are preferred, by it and by us (RFC 8326)"},
	{"peers[].blackhole", CONF_KEY_BOOL, .expected = "true or false", .value = "false", PEER(blackhole),
	 .help = "discard packets for single addresses inside pods.cluster-cidrs where the peer asks for it (BLACKHOLE, RFC 7999)"},
	{"peers[].source", CONF_KEY_ADDRESS, .expected = "a unicast address such as 10.0.7.1", .otherwise = "what the route to the peer says",
	 PEER(source), .help = "our end of the session: connections start from it, and are taken on it only"},
	{"peers[].device", CONF_KEY_INTERFACE, .expected = "an interface's name such as eth0", .otherwise = "kernel.vrf, else any", PEER(device),
	 .help = "the session goes over this device only; a VRF's name puts it into the VRF"},
	{"peers[].tcp-mss", CONF_KEY_UINT, .min = 88, .max = 65495, .expected = "a number from 88 to 65495",
	 .otherwise = "the kernel's", PEER(tcp_mss), .help = "the most bytes of one TCP segment, for paths that lose large packets"},
	{"peers[].families", CONF_KEY_FAMILIES, .expected = "a list of address families: [ipv4, ipv6]",
	 .item = "ipv4 or ipv6", .otherwise = "[ipv4, ipv6]", .help = "what routes are exchanged"},
	{"peers[].role", CONF_KEY_WORD, .expected = "provider, customer, peer, rs-server or rs-client",
	 .words = {"provider", "customer", "peer", "rs-server", "rs-client"}, .otherwise = "not said", PEER(role),
	 .help = "what we are to this external peer: it must be the opposite, and routes that would leak are not taken and not sent (RFC 9234)"},
	{"peers[].role-strict", CONF_KEY_BOOL, .expected = "true or false", .value = "false", PEER(role_strict),
	 .help = "refuse a peer that says no role; needs role"},
	{"peers[].graceful-restart-helper", CONF_KEY_BOOL, .expected = "true or false", .value = "false", PEER(restart_helper),
	 .help = "keep the peer's routes while it restarts, as long as it says that takes (RFC 4724); a dead peer gets traffic meanwhile"},
	{"peers[].add-path", SECTION, .help = "several paths to a prefix (RFC 7911), where the peer says that it can"},
	{"peers[].add-path.receive", CONF_KEY_BOOL, .expected = "true or false", .value = "false", PEER(add_path.receive),
	 .help = "take several from the peer"},
	{"peers[].add-path.send", CONF_KEY_UINT, .max = 16, .expected = "a number from 0 to 16", .value = "0",
	 PEER(add_path.send), .help = "how many the peer gets, the best ones; 0: the best one, without identifiers"},
	LATER("peers[].bfd", "fast failure detection"),
	LATER("peers[].bfd.interval", "time between two BFD packets"),
	LATER("peers[].bfd.multiplier", "how many may be lost"),
	{"peers[].import", CONF_KEY_IMPORT, .expected = "all, none or the name of a policy", PEER(import),
	 .otherwise = "what is inside pods.cluster-cidrs", .help = "which of the peer's routes are taken"},
	{"peers[].export", CONF_KEY_EXPORT, .expected = "pods, all, none or the name of a policy", PEER(export), .otherwise = "pods",
	 .help = "which routes the peer gets; pods: our own pods.cidrs, and external routes"},
	{"peers[].max-prefixes", CONF_KEY_UINT, .min = 1, .max = 4294967295, .expected = "a number from 1 to 4294967295",
	 .otherwise = "no limit", PEER(max_prefixes),
	 .help = "how many prefixes the peer may bring; at four fifths of it the log warns"},
	{"peers[].max-prefixes-action", CONF_KEY_WORD, .expected = "restart, warn or stop", .words = {"restart", "warn", "stop"},
	 .value = "restart", PEER(max_prefixes_action),
	 .help = "what one more does: the session ends and is tried again after a wait that grows, or a line in the log, or the session ends and stays down until underlayc peer NAME start"},
	{"peers[].max-advertised", CONF_KEY_UINT, .min = 1, .max = 4294967295, .expected = "a number from 1 to 4294967295",
	 .otherwise = "no limit", PEER(max_advertised),
	 .help = "how many prefixes the peer may be told; one more ends the session, and it stays down until underlayc peer NAME start"},

	LATER("mesh", "a session with every node in the directory"),
	LATER("mesh.enabled", "whether"),
	LATER("mesh.asn", "the nodes' AS"),

	{"sets", SECTION, .help = "lists with names, which the lists of rules use as $NAME"},
	{"sets.prefixes", CONF_KEY_SETS, .expected = "a map of names and lists such as {fabric: [\"10.0.0.0/8 le 24\"]}",
	 .item = RANGE, .otherwise = "none", TOP(sets.prefixes), .help = "for match.prefixes"},
	{"sets.communities", CONF_KEY_COMMUNITY_SETS, .min = 1, .expected = "a map of names and lists such as {scrub: [\"64512:*\"]}",
	 .item = COMMUNITY_PATTERN, .otherwise = "none", TOP(sets.communities),
	 .help = "for match.community and its likes, and for set.community"},
	{"sets.as-paths", CONF_KEY_AS_PATH_SETS, .expected = "a map of names and lists such as {private: [\"[64512-65534]\"]}",
	 .item = AS_PATH, .otherwise = "none", TOP(sets.as_paths), .help = "for match.as-path"},
	{"policies", CONF_KEY_POLICIES, .expected = "a list of policies, each a map that starts with \"- \"", .otherwise = "none",
	 .help = "policies of your own for import and export"},
	{"policies[].name", CONF_KEY_NAME, .expected = NAME_RULE, .otherwise = "none; needed", POLICY(name),
	 .help = "what import and export call it"},
	{"policies[].rules", CONF_KEY_RULES, .expected = "a list of rules, each a map that starts with \"- \"",
	 .otherwise = "none: everything is rejected", .help = "in order; what none of them accepts is rejected"},
	{RULES ".match", SECTION, .help = "which routes the rule is for: those for which everything here holds; all routes where it is left out"},
	{RULES ".match.prefixes", CONF_KEY_RANGES, .expected = "a list of prefixes such as [10.244.0.0/16, \"10.0.0.0/8 ge 16 le 24\"]",
	 .item = RANGE ", or $NAME of a set", .otherwise = "any",
	 RULE(match.prefixes), .help = "one of them: the prefix itself, or with le or ge what is inside it and as long"},
	{RULES ".match.community", CONF_KEY_COMMUNITIES, COMMUNITIES, .otherwise = "any", RULE(match.any), .help = "the route has one of them"},
	{RULES ".match.community-all", CONF_KEY_COMMUNITIES, COMMUNITIES, .otherwise = "any", RULE(match.all),
	 .help = "the route has all of them"},
	{RULES ".match.community-none", CONF_KEY_COMMUNITIES, COMMUNITIES, .otherwise = "any", RULE(match.none),
	 .help = "the route has none of them"},
	{RULES ".match.as-path", CONF_KEY_AS_PATHS, .expected = "a list of AS path expressions such as [\"^64512 .* [64900-64999]$\"]",
	 .item = AS_PATH, .otherwise = "any", RULE(match.as_path), .help = "the path is as one of them says"},
	{RULES ".match.origin-as", CONF_KEY_ASNS, .expected = "a list of AS numbers such as [64512]",
	 .item = "an AS number from 1 to 4294967294", .otherwise = "any", RULE(match.origin_as),
	 .help = "one of them is the AS that the route comes from, the last in its path"},
	{RULES ".match.as-path-length", CONF_KEY_BOUNDS, .max = 65535, .expected = BOUNDS("65535"), .otherwise = "any",
	 RULE(match.path_length), .help = "how many AS numbers are in its path"},
	{RULES ".match.local-pref", CONF_KEY_BOUNDS, .max = UINT32_MAX, .expected = BOUNDS("4294967295"), .otherwise = "any",
	 RULE(match.local_pref), .help = "its LOCAL_PREF, also as a rule above has set it"},
	{RULES ".match.med", CONF_KEY_BOUNDS, .max = UINT32_MAX, .expected = BOUNDS("4294967295"), .otherwise = "any",
	 RULE(match.med), .help = "its MULTI_EXIT_DISC; none counts as 0"},
	{RULES ".match.next-hop", CONF_KEY_NETWORKS, .expected = "a list of prefixes such as [10.0.7.0/24]",
	 .item = "a prefix such as 10.0.7.0/24", .otherwise = "any", RULE(match.next_hop), .help = "its next hop is inside one of them"},
	{RULES ".match.peer", CONF_KEY_NAMES, .expected = "a list of peers' names such as [tor-a]", .item = NAME_RULE,
	 .otherwise = "any", RULE(match.peer), .help = "it was learned from one of them"},
	{RULES ".match.family", CONF_KEY_WORD, .expected = "ipv4 or ipv6", .words = {"ipv4", "ipv6"}, .otherwise = "any",
	 RULE(match.family), .help = "the address family"},
	{RULES ".match.source", CONF_KEY_WORD, .expected = "local, bgp or external", .words = {"local", "bgp", "external"}, .otherwise = "any",
	 RULE(match.source), .help = "local: our own pods.cidrs; bgp: learned from a peer; external: of other programs on this node"},
	{RULES ".set", SECTION, .help = "what the rule changes"},
	{RULES ".set.local-pref", CONF_KEY_OPTIONAL, .max = UINT32_MAX, .expected = "a number from 0 to 4294967295",
	 .otherwise = "as it is", RULE(set.local_pref), .help = "LOCAL_PREF; the highest wins"},
	{RULES ".set.weight", CONF_KEY_OPTIONAL, .max = 65535, .expected = "a number from 0 to 65535",
	 .otherwise = "as it is (0)", RULE(set.weight),
	 .help = "the highest wins, before LOCAL_PREF is looked at, on this node alone: it is never sent; for import only"},
	{RULES ".set.med", CONF_KEY_OPTIONAL, .max = UINT32_MAX, .expected = "a number from 0 to 4294967295",
	 .otherwise = "as it is", RULE(set.med), .help = "MULTI_EXIT_DISC; an export policy's goes to external peers too"},
	{RULES ".set.prepend", CONF_KEY_PREPEND, .max = 64, .expected = "a number from 1 to 64, or a list of up to 64 AS numbers such as [64701, 64701]",
	 .item = "an AS number from 1 to 4294967294", .otherwise = "nothing", RULE(set.prepend),
	 .help = "put before the AS path: so many times our own AS, or these numbers"},
	{RULES ".set.community", SECTION, .help = "changes to the communities"},
	{RULES ".set.community.add", CONF_KEY_COMMUNITIES, .expected = "a list of communities such as [\"64512:100\"]",
	 .item = COMMUNITY, .otherwise = "none", RULE(set.add), .help = "put there"},
	{RULES ".set.community.remove", CONF_KEY_COMMUNITIES, .min = 1, .expected = "a list of communities such as [\"64512:*\", $scrub]",
	 .item = COMMUNITY_PATTERN, .otherwise = "none", RULE(set.remove), .help = "taken away, before those of add are put there"},
	{RULES ".set.community.replace", CONF_KEY_COMMUNITIES, .expected = "a list of communities such as [\"64512:100\"], or [] for none",
	 .item = COMMUNITY, .otherwise = "not", RULE(set.replace),
	 .help = "instead of all that were there of the same kinds (standard, extended, large); []: instead of all"},
	{RULES ".set.next-hop", CONF_KEY_NEXT_HOP, .expected = "self or a unicast address", .otherwise = "as it is", RULE(set.next_hop),
	 .help = "self: our own address, for export only; an address is for routes of its family"},
	{RULES ".action", CONF_KEY_WORD, .expected = "accept, reject or next", .words = {"accept", "reject", "next"},
	 .otherwise = "none; needed", RULE(action), .help = "next: go on with the rules below, with what set has made"},

	{"external", CONF_KEY_EXTERNALS, .expected = "a list of sources, each a map that starts with \"- \"", .otherwise = "none",
	 .help = "routes of other programs on this node that our peers are told"},
	{"external[].name", CONF_KEY_NAME, .expected = NAME_RULE, .otherwise = "none; needed", EXTERNAL(name),
	 .help = "how output calls it; with socket, the owner"},
	{"external[].table", CONF_KEY_TABLE, .min = 1, .max = UINT32_MAX, .expected = "main or a table number from 1 to 4294967295",
	 .otherwise = "main, where protocol is given", EXTERNAL(table), .help = "the kernel's routes of this table"},
	{"external[].protocol", CONF_KEY_UINT, .min = 1, .max = 255, .expected = "a number from 1 to 255 such as 4 (static)",
	 .otherwise = "any but kernel.protocol", EXTERNAL(protocol), .help = "and of this protocol, as in /etc/iproute2/rt_protos"},
	{"external[].socket", CONF_KEY_BOOL, .expected = "true or false", .value = "false", EXTERNAL(socket),
	 .help = "instead of the kernel's routes: those that the owner of this name hands over through the control socket"},
	{"external[].prefixes", CONF_KEY_RANGES, .expected = "a list of prefixes such as [192.0.2.0/24, \"198.51.100.0/24 le 32\"]",
	 .item = RANGE ", or $NAME of a set", .otherwise = "any", EXTERNAL(prefixes), .help = "which of them: one of these, as in policies"},
	{"external[].community", CONF_KEY_COMMUNITIES, .expected = "a list of communities such as [\"64512:100\"]", .item = COMMUNITY,
	 .otherwise = "none", EXTERNAL(community), .help = "put to them"},

	LATER("nodes", "the directory of nodes, where there is no Kubernetes"),
	LATER("nodes[].name", "a node's name"),
	LATER("nodes[].addresses", "its addresses"),
	LATER("nodes[].pod-cidrs", "its pods' prefixes"),

	LATER("tunnel", "carrying pods where the native path is gone"),
	LATER("tunnel.mode", "fallback, cross-subnet, always or never"),
	LATER("tunnel.type", "ipip or vxlan"),
	LATER("tunnel.vni", "the VXLAN network identifier"),
	LATER("tunnel.port", "the VXLAN UDP port"),

	{"kernel", SECTION, .help = "the routes in the node's kernel"},
	{"kernel.install", CONF_KEY_BOOL, .expected = "true or false", .value = "true", TOP(kernel.install),
	 .help = "false: routes are learned and passed on, the kernel is left alone"},
	{"kernel.table", CONF_KEY_TABLE, .min = 1, .max = UINT32_MAX,
	 .expected = "main or a table number from 1 to 4294967295", .value = "main", TOP(kernel.table),
	 .help = "the routing table"},
	{"kernel.vrf", CONF_KEY_INTERFACE, .expected = "an interface's name such as red", .otherwise = "none", TOP(kernel.vrf),
	 .help = "the VRF that peers, learned routes and pods are in, instead of kernel.table; it may come and go"},
	{"kernel.metric", CONF_KEY_UINT, .min = 1, .max = UINT32_MAX, .expected = "a number from 1 to 4294967295",
	 .value = "32", TOP(kernel.metric), .help = "the routes' metric"},
	{"kernel.protocol", CONF_KEY_UINT, .min = 5, .max = 255,
	 .expected = "a number from 5 to 255 (0 to 4 are the kernel's own)", .value = "171", TOP(kernel.protocol),
	 .help = "the mark of our routes: none with another one is ever touched"},
	{"kernel.multipath", CONF_KEY_UINT, .min = 1, .max = 64, .expected = "a number from 1 to 64", .value = "16",
	 TOP(kernel.multipath), .help = "how many equal paths a route may use"},
	{"kernel.nexthop-objects", CONF_KEY_WORD, .expected = "auto or never", .words = {"auto", "never"}, .value = "auto",
	 TOP(kernel.nexthop_objects),
	 .help = "auto: routes refer to next-hop objects, shared by all with the same next hops, where the kernel has them; never: each says its next hops itself"},

	LATER("kubernetes", "pod CIDRs and the directory from the API server"),
	LATER("kubernetes.enabled", "whether"),
	LATER("kubernetes.kubeconfig", "credentials, where not the pod's own"),
	LATER("kubernetes.node-name", "this node's name there"),

	{"control", SECTION, .help = "the operator's socket"},
	{"control.socket", CONF_KEY_PATH, .max = 107, .expected = "an absolute path of at most 107 bytes",
	 .otherwise = "control in paths.run", TOP(control_socket), .help = "where underlayc finds the daemon"},

	LATER("metrics", "measurements for Prometheus"),
	LATER("metrics.listen", "where they are served"),

	{"paths", SECTION, .help = "directories; several daemons on one machine need different ones"},
	{"paths.run", CONF_KEY_PATH, .max = 99, .expected = "an absolute path of at most 99 bytes",
	 .value = "/run/underlay", TOP(run_dir), .help = "sockets, leases and what the CNI plugin reads"},
	{"paths.state", CONF_KEY_PATH, .max = 4000, .expected = "an absolute path", .value = "/var/lib/underlay",
	 TOP(state_dir), .help = "what outlives a reboot: routes that other programs have handed over"},
};

const size_t conf_key_count = sizeof conf_keys / sizeof *conf_keys;

/* Does the row stand directly inside schema? Then the name it has there, else NULL. */
static const char *name_in(const struct conf_key *k, const char *schema)
{
	size_t n = strlen(schema);
	const char *name = k->path;
	if (n) {
		if (strncmp(name, schema, n) != 0 || name[n] != '.')
			return NULL;
		name += n + 1;
	}
	return strpbrk(name, ".[") ? NULL : name;
}

const struct conf_key *conf_key_find(const char *schema, const char *key)
{
	for (size_t i = 0; i < conf_key_count; i++) {
		const char *name = name_in(&conf_keys[i], schema);
		if (name && strcmp(name, key) == 0)
			return &conf_keys[i];
	}
	return NULL;
}

enum { SUGGEST_MAX = 32 };

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* How many letters must be put in, taken out or replaced; both at most SUGGEST_MAX long. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[SUGGEST_MAX + 1], n = (unsigned)strlen(b);
	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned i = 1; a[i - 1]; i++) {
		unsigned diagonal = row[0];
		row[0] = i;
		for (unsigned j = 1; j <= n; j++) {
			unsigned replace = diagonal + (a[i - 1] != b[j - 1]);
			diagonal = row[j];
			row[j] = least(replace, least(row[j], row[j - 1]) + 1);
		}
	}
	return row[n];
}

/* The nearest name in schema with at most limit changes. */
static const char *nearest_sibling(const char *schema, const char *key, unsigned limit)
{
	unsigned best = limit + 1;
	const char *found = NULL;
	for (size_t i = 0; i < conf_key_count; i++) {
		const char *name = name_in(&conf_keys[i], schema);
		unsigned d = name ? distance(key, name) : best;
		if (d < best) {
			best = d;
			found = conf_keys[i].path;
		}
	}
	return found;
}

/* The same letters: remoteAs, remote_as and remote-as. */
static bool same_letters(const char *a, const char *b)
{
	for (;; a++, b++) {
		a += strspn(a, "-_");
		b += strspn(b, "-_");
		if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
			return false;
		if (!*a)
			return true;
	}
}

/* The right name in the wrong place: "asn" at the top. */
static const char *same_name_elsewhere(const char *key)
{
	for (size_t i = 0; i < conf_key_count; i++) {
		const char *dot = strrchr(conf_keys[i].path, '.');
		if (same_letters(dot ? dot + 1 : conf_keys[i].path, key))
			return conf_keys[i].path;
	}
	return NULL;
}

/* What other software, and habit, call our keys. */
static const struct {
	const char *said, *name;
} synonyms[] = {
	{"as", "asn"},
	{"as-number", "asn"},
	{"local-as", "node.asn"},
	{"my-as", "node.asn"},
	{"neighbor-as", "asn"},
	{"neighbour-as", "asn"},
	{"peer-as", "asn"},
	{"peer-asn", "asn"},
	{"remote-as", "asn"},
	{"remote-asn", "asn"},
	{"allowas-in", "allow-own-as"},
	{"allow-as-in", "allow-own-as"},
	{"remove-private", "remove-private-as"},
	{"rr-client", "route-reflector-client"},
	{"rr-cluster-id", "node.cluster-id"},
	{"bgp-id", "router-id"},
	{"bgp-identifier", "router-id"},
	{"id", "router-id"},
	{"hostname", "name"},
	{"description", "name"},
	{"ip", "address"},
	{"dev", "interface"},
	{"ifname", "interface"},
	{"unnumbered", "interface"},
	{"neighbor", "peers"},
	{"neighbors", "peers"},
	{"neighbour", "peers"},
	{"neighbours", "peers"},
	{"bgp-peers", "peers"},
	{"holdtimer", "hold-time"},
	{"hold", "hold-time"},
	{"auth-password", "password-file"},
	{"md5", "password-file"},
	{"password", "password-file"},
	{"ebgp-multihop", "multihop"},
	{"gtsm", "ttl-security"},
	{"max-paths", "multipath"},
	{"maximum-paths", "multipath"},
	{"max-prefix", "max-prefixes"},
	{"maximum-prefix", "max-prefixes"},
	{"local-role", "role"},
	{"listen-range", "range"},
	{"dynamic-neighbor", "range"},
	{"listen-limit", "range-limit"},
	{"local-preference", "local-pref"},
	{"large-community", "community"},
	{"ext-community", "community"},
	{"extended-community", "community"},
	{"as-path-prepend", "prepend"},
	{"prefix-list", "prefixes"},
	{"prefix-lists", "sets.prefixes"},
	{"community-lists", "sets.communities"},
	{"as-path-lists", "sets.as-paths"},
	{"update-source", "source"},
	{"local-address", "source"},
	{"source-address", "source"},
	{"proto", "protocol"},
	{"redistribute", "external"},
	{"vrf", "device"},
	{"bind-device", "device"},
	{"mss", "tcp-mss"},
	{"strict-mode", "role-strict"},
	{"cidr", "cidrs"},
	{"pod-cidr", "pods.cidrs"},
	{"pod-cidrs", "pods.cidrs"},
	{"cluster-cidr", "pods.cluster-cidrs"},
	{"run-dir", "paths.run"},
	{"socket", "control.socket"},
};

static const char *our_name(const char *key)
{
	for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
		if (same_letters(synonyms[i].said, key))
			return synonyms[i].name;
	return NULL;
}

/* A synonym's path: a full one as it is, a name as schema knows it, else wherever it stands first. */
static const char *synonym_path(const char *schema, const char *key)
{
	const char *name = our_name(key);
	if (!name || strchr(name, '.'))
		return name;
	const struct conf_key *here = conf_key_find(schema, name);
	return here ? here->path : same_name_elsewhere(name);
}

static const char *same_letters_sibling(const char *schema, const char *key)
{
	for (size_t i = 0; i < conf_key_count; i++) {
		const char *name = name_in(&conf_keys[i], schema);
		if (name && same_letters(name, key))
			return conf_keys[i].path;
	}
	return NULL;
}

static const struct {
	const char *said, *advice;
} advices[] = {
	{"log", "the log goes to standard error; underlayd -v logs more"},
	{"logging", "the log goes to standard error; underlayd -v logs more"},
	{"log-level", "the log goes to standard error; underlayd -v logs more"},
	{"debug", "the log goes to standard error; underlayd -v logs more"},
	{"verbose", "the log goes to standard error; underlayd -v logs more"},
	{"keepalive", "keepalives come at a third of the hold time; peers[].hold-time is the key"},
	{"keepalive-time", "keepalives come at a third of the hold time; peers[].hold-time is the key"},
	{"soft-reconfiguration", "what an import policy refused is asked for again where the peer knows route refresh; nothing is to be set"},
	{"graceful-restart", "our own graceful restart is always on; graceful-restart-helper is for the peer's"},
};

const char *conf_key_advice(const char *key)
{
	for (size_t i = 0; i < sizeof advices / sizeof *advices; i++)
		if (same_letters(advices[i].said, key))
			return advices[i].advice;
	return strchr(key, ':') ? "is a space missing after the colon?" : NULL;
}

const char *conf_key_suggest(const char *schema, const char *key)
{
	size_t n = strlen(key);
	const char *found = same_letters_sibling(schema, key);
	if (!found)
		found = synonym_path(schema, key);
	if (found || n > SUGGEST_MAX)
		return found;
	found = nearest_sibling(schema, key, (unsigned)n / 3);
	if (!found)
		found = same_name_elsewhere(key);
	/* short names: two letters may differ, but not all of them */
	return found || n < 3 ? found : nearest_sibling(schema, key, 2);
}
