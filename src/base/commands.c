#include "src/base/commands.h"

#include <string.h>

const struct command commands[] = {
	{
		.id = "show-status",
		.words = {"show", "status"},
		.args = "",
		.shape = COMMAND_RECORD,
		.shape_with_args = COMMAND_RECORD,
		.help = "the daemon: version, identity, uptime, peers, routes, anything that is wrong",
		.record = {{"version", "Version"},
			   {"node", "Node"},
			   {"router_id", "Router ID"},
			   {"asn", "Local AS"},
			   {"config", "Configuration"},
			   {"started", "Started"},
			   {"uptime", "Up"},
			   {"phase", "Phase"},
			   {"listen", "Listening"},
			   {"vrf", "VRF"},
			   {"pod_cidrs", "Pod CIDRs"},
			   {"peers", "Peers"},
			   {"prefixes", "Prefixes"},
			   {"paths", "Paths"},
			   {"kernel", "Kernel"},
			   {"external", "External routes"},
			   {"pods", "Pods"},
			   {"longest_turn", "Longest turn"},
			   {"warnings", "Warnings"}},
	},
	{
		.id = "show-peers",
		.words = {"show", "peers"},
		.aliases = {"neighbors", "neighbours", "protocols"},
		.args = "[NAME]",
		.args_max = 1,
		.shape = COMMAND_TABLE,
		.shape_with_args = COMMAND_RECORD,
		.help = "BGP sessions, one a line; with NAME everything about one",
		.empty = "no peers are configured",
		.columns = {{"name", "Name"},
			    {"address", "Address"},
			    {"asn", "AS"},
			    {"state", "State"},
			    {"since", "Since"},
			    {"received", "Received"},
			    {"accepted", "Accepted"},
			    {"advertised", "Advertised"},
			    {"info", "Info"}},
		.record = {{"name", "Name"},
			   {"address", "Address"},
			   {"other_router", "Another router on the link"},
			   {"local_address", "Local address"},
			   {"range", "Of the range"},
			   {"range_peers", "Peers now"},
			   {"range_limit", "Most peers"},
			   {"asn", "Remote AS"},
			   {"local_asn", "Local AS"},
			   {"kind", "Kind"},
			   {"state", "State"},
			   {"since", "Since"},
			   {"router_id", "Remote router ID"},
			   {"hold_time", "Hold time (s)"},
			   {"keepalive_time", "Keepalive (s)"},
			   {"capabilities_sent", "Capabilities sent"},
			   {"capabilities_received", "Capabilities received"},
			   {"add_path", "Several paths (add-path)"},
			   {"kept_routes", "Routes kept while it restarts"},
			   {"kept_for", "Kept for"},
			   {"extended_next_hop", "IPv4 by IPv6 next hops"},
			   {"password", "Password"},
			   {"ttl_security", "TTL security (hops)"},
			   {"multihop", "Multihop (TTL)"},
			   {"source", "Source"},
			   {"device", "Device"},
			   {"tcp_mss", "TCP MSS"},
			   {"role", "Role"},
			   {"remote_role", "Remote role"},
			   {"route_reflector_client", "Route reflector client"},
			   {"next_hop_self", "Next hop self"},
			   {"as_override", "AS override"},
			   {"remove_private_as", "Remove private AS"},
			   {"allow_own_as", "Own AS allowed"},
			   {"graceful_shutdown", "Graceful shutdown"},
			   {"blackhole", "Blackhole"},
			   {"import", "Import policy"},
			   {"export", "Export policy"},
			   {"received", "Routes received"},
			   {"accepted", "Routes accepted"},
			   {"filtered", "Routes filtered"},
			   {"max_prefixes", "Most that may be received"},
			   {"max_prefixes_action", "What one more does"},
			   {"max_advertised", "Most that may be advertised"},
			   {"leaks", "Routes refused as leaks"},
			   {"advertised", "Routes advertised"},
			   {"messages_in", "Messages in"},
			   {"messages_out", "Messages out"},
			   {"output_pending", "Bytes waiting to be sent"},
			   {"established_count", "Times established"},
			   {"next_try", "Next try"},
			   {"last_error", "Last error"},
			   {"last_error_age", "Last error ago"},
			   {"faults", "Faults"},
			   {"last_fault", "Last fault"}},
	},
	{
		.id = "show-routes",
		.words = {"show", "routes"},
		.args = "[PREFIX | for ADDRESS]",
		.args_max = 2,
		.shape = COMMAND_TABLE,
		.shape_with_args = COMMAND_TABLE,
		.help = "every path the daemon knows: * best, + also used; PREFIX and what is inside it; "
			"the one used for ADDRESS",
		.empty = "no such route (PREFIX lists what is inside it, for ADDRESS what covers it)",
		.columns = {{"mark", ""},
			    {"prefix", "Prefix"},
			    {"next_hop", "Next hop"},
			    {"source", "From"},
			    {"owner", "Owner"},
			    {"path_id", "Path ID"},
			    {"as_path", "AS path"},
			    {"origin", "Origin"},
			    {"weight", "Weight"},
			    {"local_pref", "Pref"},
			    {"med", "MED"},
			    {"otc", "OTC"},
			    {"bandwidth", "Bit/s"},
			    {"kernel", "Kernel"},
			    {"age", "Age"},
			    {"communities", "Communities"}},
		.rare = {"owner", "path_id", "weight", "otc", "bandwidth", "communities"},
	},
	{
		.id = "show-routes-why",
		.words = {"show", "routes", "why"},
		.args = "PREFIX | ADDRESS",
		.args_max = 1,
		.shape = COMMAND_RECORD,
		.shape_with_args = COMMAND_RECORD,
		.help = "how a prefix, or the longest one with an address, got its route: what each path lost by, what the kernel "
			"has, and who is told",
		.record = {{"prefix", "Prefix"},
			   {"note", "Note"},
			   {"best", "Best"},
			   {"others", "Others"},
			   {"kernel", "Kernel"},
			   {"told", "Told"},
			   {"not_told", "Not told"}},
	},
	{
		.id = "show-kernel",
		.words = {"show", "kernel"},
		.args = "",
		.shape = COMMAND_RECORD,
		.shape_with_args = COMMAND_RECORD,
		.help = "how the kernel's routes stand: wanted, installed, failed, kept out by others' routes, repaired; the last audit",
		.record = {{"table", "Table"},
			   {"protocol", "Protocol"},
			   {"metric", "Metric"},
			   {"state", "State"},
			   {"wanted", "Wanted"},
			   {"installed", "Installed"},
			   {"queued", "To be sent"},
			   {"in_flight", "Sent, without an answer"},
			   {"failed", "Failed"},
			   {"failures", "The kernel's words"},
			   {"foreign", "Kept out by others' routes"},
			   {"fought_over", "Taken away again and again"},
			   {"repaired", "Repaired"},
			   {"last_audit", "Last audit"},
			   {"audit_now", "Audit now"},
			   {"window", "Unanswered at most"},
			   {"receive_buffer", "Receive buffer (bytes)"},
			   {"overruns", "Overruns"}},
	},
	{
		.id = "show-kernel-differences",
		.words = {"show", "kernel", "differences"},
		.args = "",
		.shape = COMMAND_TABLE,
		.shape_with_args = COMMAND_TABLE,
		.help = "the routes that the kernel does not have as it should, and why",
		.empty = "the kernel has every route as it should (resync kernel looks again)",
		.columns = {{"prefix", "Prefix"}, {"want", "Should be"}, {"have", "Is"}, {"state", "State"}},
	},
	{
		.id = "resync-kernel",
		.words = {"resync", "kernel"},
		.args = "",
		.acts = true,
		.shape = COMMAND_RECORD,
		.shape_with_args = COMMAND_RECORD,
		.help = "read the kernel's routes now, repair what differs, and tell what that was",
		.record = {{"result", "Result"},
			   {"read", "Routes read"},
			   {"missing", "Missing"},
			   {"changed", "Changed by others"},
			   {"stray", "Not wanted"},
			   {"foreign", "Kept out by others' routes"},
			   {"repaired", "Repaired"},
			   {"failed", "Failed"},
			   {"pending", "Not done yet"},
			   {"took_ms", "Took (ms)"}},
	},
	{
		.id = "show-pods",
		.words = {"show", "pods"},
		.args = "",
		.shape = COMMAND_TABLE,
		.shape_with_args = COMMAND_TABLE,
		.help = "addresses given to pods on this node",
		.empty = "no pod has an address here",
		.columns = {{"address", "Address"},
			    {"pod", "Pod"},
			    {"container", "Container"},
			    {"interface", "Interface"},
			    {"host_interface", "Host interface"},
			    {"network", "Network"},
			    {"since", "Since"},
			    {"state", "State"}},
	},
	{
		.id = "show-host",
		.words = {"show", "host"},
		.args = "",
		.shape = COMMAND_TABLE,
		.shape_with_args = COMMAND_TABLE,
		.help = "the host's settings (sysctl) that matter to this node, and what to type where one is wrong",
		.empty = "nothing of the host matters: there are no pods.cidrs and no peers",
		.columns = {{"check", "Check"},
			    {"setting", "Setting"},
			    {"value", "Value"},
			    {"wanted", "Wanted"},
			    {"verdict", "Verdict"},
			    {"what", "What to do"}},
	},
	{
		.id = "show-nexthops",
		.words = {"show", "nexthops"},
		.args = "",
		.shape = COMMAND_TABLE,
		.shape_with_args = COMMAND_TABLE,
		.help = "the next-hop objects and groups that our routes refer to in the kernel, and how many do",
		.empty = "no route refers to a next-hop object",
		.columns = {{"id", "ID"}, {"kind", "Kind"}, {"leads_to", "Leads to"}, {"state", "State"}, {"routes", "Routes"}},
	},
	{
		.id = "show-memory",
		.words = {"show", "memory"},
		.args = "",
		.shape = COMMAND_TABLE,
		.shape_with_args = COMMAND_TABLE,
		.help = "live objects by kind",
		.columns = {{"kind", "Kind"}, {"count", "Count"}},
	},
	{
		.id = "peer",
		.words = {"peer"},
		.args = "NAME stop|start|restart [TEXT]",
		.args_max = 3,
		.acts = true,
		.shape = COMMAND_RECORD,
		.shape_with_args = COMMAND_RECORD,
		.help = "end a session, let it come up, or both; TEXT tells the other side why",
		.record = {{"peer", "Peer"}, {"result", "Result"}},
	},
	{
		.id = "show-external",
		.words = {"show", "external"},
		.args = "[NAME]",
		.args_max = 1,
		.shape = COMMAND_TABLE,
		.shape_with_args = COMMAND_TABLE,
		.help = "routes of other programs on this node that our peers are told; with NAME, of this owner or entry of external:",
		.empty = "no such route: none was handed over (route add), and external: finds none in the kernel",
		.columns = {{"prefix", "Prefix"},
			    {"owner", "Owner"},
			    {"from", "From"},
			    {"next_hop", "Next hop"},
			    {"med", "MED"},
			    {"communities", "Communities"},
			    {"since", "Since"},
			    {"advertised_to", "Peers told"},
			    {"state", "State"}},
		.rare = {"med", "communities"},
	},
	{
		.id = "route-add",
		.words = {"route", "add"},
		.args = "PREFIX... [community COMMUNITY...] [local-pref NUMBER] [med NUMBER] [next-hop ADDRESS] owner NAME",
		.args_max = 64,
		.acts = true,
		.shape = COMMAND_RECORD,
		.shape_with_args = COMMAND_RECORD,
		.help = "hand over routes for our peers, all or none; they stay until NAME's routes are removed, also over restarts",
		.record = {{"owner", "Owner"}, {"result", "Result"}, {"routes", "Its routes now"}},
	},
	{
		.id = "route-hold",
		.words = {"route", "hold"},
		.args = "PREFIX... [community COMMUNITY...] [local-pref NUMBER] [med NUMBER] [next-hop ADDRESS] owner NAME",
		.args_max = 64,
		.acts = true,
		.lasts = true,
		.shape = COMMAND_RECORD,
		.shape_with_args = COMMAND_RECORD,
		.help = "the same, while the connection lasts: underlayc waits, and however it ends the routes are withdrawn",
		.record = {{"owner", "Owner"}, {"result", "Result"}, {"routes", "Its routes now"}},
	},
	{
		.id = "route-remove",
		.words = {"route", "remove"},
		.aliases = {"delete"},
		.args = "PREFIX...|all owner NAME",
		.args_max = 64,
		.acts = true,
		.shape = COMMAND_RECORD,
		.shape_with_args = COMMAND_RECORD,
		.help = "take back routes that NAME has handed over, or all of them",
		.record = {{"owner", "Owner"}, {"result", "Result"}, {"routes", "Its routes now"}},
	},
	{
		.id = "policy-test",
		.words = {"policy", "test"},
		.args = "NAME PREFIX [ATTRIBUTE VALUE]...",
		.args_max = 64,
		.shape = COMMAND_RECORD,
		.shape_with_args = COMMAND_RECORD,
		.help = "what a policy does with the best route to a prefix, or with one made of as-path, community, local-pref, "
			"med, next-hop, peer, source: the rule that decides, and what it changes",
		.record = {{"policy", "Policy"},
			   {"prefix", "Prefix"},
			   {"route", "Route"},
			   {"verdict", "Verdict"},
			   {"decided_by", "Decided by"},
			   {"changes", "Changes"},
			   {"note", "Note"}},
	},
};

const size_t command_count = sizeof commands / sizeof *commands;

static size_t word_count(const struct command *c)
{
	size_t n = 0;
	while (n < COMMAND_WORDS_MAX && c->words[n])
		n++;
	return n;
}

static bool starts(const char *word, const char *said)
{
	return *said && strncmp(word, said, strlen(said)) == 0;
}

static bool is_alias(const struct command *c, const char *said)
{
	for (size_t i = 0; i < COMMAND_ALIASES_MAX && c->aliases[i]; i++)
		if (starts(c->aliases[i], said))
			return true;
	return false;
}

static bool begins(const struct command *c, int argc, char *const *argv)
{
	size_t n = word_count(c);
	if ((size_t)argc < n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!starts(c->words[i], argv[i]) && !(i + 1 == n && is_alias(c, argv[i])))
			return false;
	return true;
}

const struct command *command_find(int argc, char *const *argv, int *args_at)
{
	const struct command *found = NULL;
	bool ambiguous = false;
	for (size_t i = 0; i < command_count; i++) {
		size_t words = word_count(&commands[i]), best = found ? word_count(found) : 0;
		if (!begins(&commands[i], argc, argv) || words < best)
			continue;
		ambiguous = found && words == best;
		found = &commands[i];
		*args_at = (int)words;
	}
	return ambiguous ? NULL : found;
}

const struct command *command_by_id(const char *id)
{
	for (size_t i = 0; i < command_count; i++)
		if (strcmp(commands[i].id, id) == 0)
			return &commands[i];
	return NULL;
}
