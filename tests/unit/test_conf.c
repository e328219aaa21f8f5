/* The configuration: texts with the errors they must give (all of them, at their places), texts
 * with the values they must give, the rows against the documentation, and hostile files.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/conf.h"
#include "conf/keys.h"
#include "tests/unit/run_suite.h"

enum { EXPECTED_MAX = 6 };

struct expected {
	unsigned line, column;
	const char *path;
	const char *part; /* of the text */
};

struct bad {
	const char *yaml;
	struct expected errors[EXPECTED_MAX];
};

/* A beginning that is right, so that each case shows one thing: lines 1 and 2. */
#define NODE "node: {name: n1, asn: 64701, addresses: [10.0.7.1]}\npods: {cluster-cidrs: [10.244.0.0/16]}\n"
#define RULE(rest) "policies:\n  - name: p\n    rules:\n      - {" rest "}\n"
#define MATCH(rest) RULE("action: accept, match: {" rest "}")
#define SET(rest) RULE("action: accept, set: {" rest "}")
#define PEER(rest) NODE "peers:\n  - {address: 10.0.7.254, asn: 64512, " rest "}\n"

static const struct bad bads[] = {
    /* the file as a whole */
    {"", {{0, 0, "", "the file is empty"}}},
    {"# nothing but a comment\n", {{0, 0, "", "pods: {cidrs: [10.244.7.0/24]}"}}},
    {"---\n...\n", {{0, 0, "", "the file is empty"}}},
    {"- a\n- b\n", {{1, 1, "", "found a list, expected a map"}}},
    {"hello\n", {{1, 1, "", "found \"hello\", expected a map"}}},
    {"node: {name: a}\n---\nnode: {name: b}\n", {{2, 1, "", "a second YAML document"}}},
    {"node:\n\tname: x\n", {{2, 1, "", "a tab; indent with spaces"}}},
    {"node:\n  name: x\n asn: 5\n", {{3, 2, "", "indented differently"}}},
    {"node: {name: x\n", {{2, 1, "", "opened with { is not closed"}}},
    {"pods: {cidrs: [10.1.0.0/16\n", {{2, 1, "", "opened with [ is not closed"}}},
    {"node: {name: 'x\n", {{2, 1, "", "quotes is not closed"}}},
    {"node:\n  name: a: b\n", {{2, 10, "", "does a text with a colon need quotes?"}}},
    {"node: {name: a}\nx\xff: 1\n", {{2, 2, "", "not valid YAML: invalid leading UTF-8 octet"}}},
    {"node: [[[[[[[[[[[[[[[[[[x]]]]]]]]]]]]]]]]]]\n", {{1, 22, "", "nested more than 16 levels"}}},

    /* keys */
    {"asn: 5\nfoobarbaz: 1\n",
     {{1, 1, "asn", "unknown key; did you mean node.asn?"}, {2, 1, "foobarbaz", "unknown key"}}},
    {PEER("hold_time: 9s"), {{4, 39, "peers[0].hold_time", "did you mean peers[].hold-time?"}}},
    {PEER("holdTime: 9s"), {{4, 39, "peers[0].holdTime", "did you mean peers[].hold-time?"}}},
    {"peer: []\n", {{1, 1, "peer", "did you mean peers?"}}},
    {PEER("holdtime: 9s"), {{4, 39, "peers[0].holdtime", "did you mean peers[].hold-time?"}}},
    {PEER("HOLD_TIME: 9s"), {{4, 39, "peers[0].HOLD_TIME", "did you mean peers[].hold-time?"}}},
    {PEER("remote_as: 5"), {{4, 39, "peers[0].remote_as", "did you mean peers[].asn?"}}},
    {PEER("peer-as: 5"), {{4, 39, "peers[0].peer-as", "did you mean peers[].asn?"}}},
    {PEER("my-as: 5"), {{4, 39, "peers[0].my-as", "did you mean node.asn?"}}},
    {PEER("password: x"), {{4, 39, "peers[0].password", "did you mean peers[].password-file?"}}},
    {PEER("md5: x"), {{4, 39, "peers[0].md5", "did you mean peers[].password-file?"}}},
    {PEER("keepalive: 3s"), {{4, 39, "peers[0].keepalive", "a third of the hold time"}}},
    {"node: {as: 5, id: 1.2.3.4}\n",
     {{1, 8, "node.as", "did you mean node.asn?"}, {1, 15, "node.id", "did you mean node.router-id?"}}},
    {"remote-as: 5\nNeighbors: []\n",
     {{1, 1, "remote-as", "did you mean node.asn?"}, {2, 1, "Neighbors", "did you mean peers?"}}},
    {"neighbor: []\nrouter_id: 1.2.3.4\n",
     {{1, 1, "neighbor", "did you mean peers?"}, {2, 1, "router_id", "did you mean node.router-id?"}}},
    {"log: debug\nlog_level: 5\n",
     {{1, 1, "log", "unknown key; the log goes to standard error; underlayd -v logs more"},
      {2, 1, "log_level", "underlayd -v logs more"}}},
    {"node:\n  asn:65010\n", {{2, 3, "node", "expected a map (key: value); is a space missing after the colon?"}}},
    {"node: {asn:65010}\n", {{1, 8, "node.asn:65010", "unknown key; is a space missing after the colon?"}}},
    {"node:\n  name: x\n  asn:65010\n", {{4, 1, "", "is a space missing after a colon in the line before?"}}},
    {"node:\n  name: a\n  name: b\n", {{3, 3, "node.name", "twice; first in line 2"}}},
    {"node: {name: a}\nnode: {name: b}\n", {{2, 1, "node", "twice; first in line 1"}}},
    {"\"a\\eb\": 1\n", {{1, 1, "a\\x1bb", "unknown key"}}},
    {"? [a]\n: 1\n", {{1, 3, "?", "a key must be plain text"}}},
    {"kernel: 5\n", {{1, 9, "kernel", "found \"5\", expected a map"}}},

    /* what comes later */
    {"mesh: {enabled: false}\ntunnel: {}\nkubernetes: null\nnodes: []\n",
     {{1, 1, "mesh", "not supported yet"},
      {2, 1, "tunnel", "not supported yet"},
      {3, 1, "kubernetes", "not supported yet"},
      {4, 1, "nodes", "not supported yet"}}},
    {"metrics: {}\npods: {mtu: 9000}\n",
     {{1, 1, "metrics", "not supported yet"}, {2, 8, "pods.mtu", "not supported yet"}}},
    {PEER("bfd: {}, max-prefixes: 0"),
     {{4, 39, "peers[0].bfd", "not supported yet"},
      {4, 62, "peers[0].max-prefixes", "found \"0\", expected a number from 1"}}},
    {NODE "peers:\n  - {range: 10.0.0.1/16, asn: external}\n", {{4, 13, "peers[0].range", "10.0.0.0/16 is probably meant"}}},
    {NODE "peers:\n  - {range: 0.0.0.0/0, asn: external}\n", {{4, 13, "peers[0].range", "expected a prefix such as"}}},
    {NODE "peers:\n  - {range: 10.0.0.0/16, address: 10.0.0.2, asn: external}\n", {{4, 13, "peers[0].range", "not together with address"}}},
    {NODE "peers:\n  - {range: 10.0.0.0/16, asn: 5, port: 180}\n  - {range: 10.1.0.0/16, asn: 5, passive: true}\n",
     {{4, 40, "peers[0].port", "not for a range"}, {5, 43, "peers[1].passive", "not for a range"}}},
    {NODE "peers:\n  - {range: 10.0.0.0/16, asn: 5}\n  - {range: 10.0.0.0/16, asn: 6, name: b}\n",
     {{5, 13, "peers[1].range", "10.0.0.0/16 is also the range of peers[0]"}}},
    {"node: {asn: 64701}\npods: {cidrs: [10.0.7.0/24], cluster-cidrs: [10.0.0.0/8]}\npeers:\n  - {range: 10.0.0.0/16, asn: 5}\n",
     {{4, 13, "peers[0].range", "a pod could call"}}},
    {PEER("range-limit: 5"), {{4, 52, "peers[0].range-limit", "needs range"}}},
    {NODE "peers:\n  - {range: 10.0.0.0/16, asn: 5, password-file: /x}\n  - {address: 10.0.0.2, asn: 5}\n",
     {{5, 5, "peers[1].password-file", "inside the range 10.0.0.0/16"}}},
    {PEER("max-prefixes-action: warn"), {{4, 60, "peers[0].max-prefixes-action", "needs max-prefixes"}}},
    {PEER("max-prefixes: 1, max-prefixes-action: panic"), {{4, 77, "peers[0].max-prefixes-action", "expected restart, warn or stop"}}},
    {PEER("max-advertised: 0"), {{4, 55, "peers[0].max-advertised", "expected a number from 1"}}},
    {PEER("source: 10.0.7.254"), {{4, 47, "peers[0].source", "the peer's own address"}}},
    {PEER("source: \"fd00::1\""), {{4, 47, "peers[0].source", "not of the peer's address family"}}},
    {PEER("source: \"fe80::1\""), {{4, 47, "peers[0].source", "a link-local address cannot be given here"}}},
    {PEER("tcp-mss: 87"), {{4, 48, "peers[0].tcp-mss", "found \"87\", expected a number from 88 to 65495"}}},
    {NODE "peers:\n  - {interface: eth0, asn: external, device: eth1}\n", {{4, 46, "peers[0].device", "not for a peer that is known by its interface"}}},
    {NODE "peers: [{address: 10.0.0.2, asn: 6, device: a}, {address: 10.0.0.2, asn: 6, device: b}, {address: 10.0.0.2, asn: 6, device: a}]\n",
     {{3, 99, "peers[2].address", "10.0.0.2%a is also the address of peers[0]"}}},
    {PEER("role: upstream"), {{4, 45, "peers[0].role", "found \"upstream\", expected provider, customer, peer, rs-server or rs-client"}}},
    {PEER("role-strict: true"), {{4, 52, "peers[0].role-strict", "needs role"}}},
    {NODE "peers:\n  - {address: 10.0.0.2, asn: internal, role: peer}\n", {{4, 46, "peers[0].role", "not for an internal peer"}}},
    {PEER("families: [ipv4, evpn]"), {{4, 56, "peers[0].families[1]", "found \"evpn\", expected ipv4 or ipv6"}}},
    {PEER("families: [ipv6, ipv6]"), {{4, 49, "peers[0].families", "ipv6 is in the list twice"}}},
    {"pods: {cidrs: [\"fe80::/64\"]}\n", {{1, 16, "pods.cidrs[0]", "it is loopback, link-local, multicast or reserved"}}},
    {"pods: {cidrs: [\"fd10::/64\", \"fd10::/72\"]}\n", {{1, 29, "pods.cidrs[1]", "fd10::/64"}}},
    {NODE "peers:\n  - {address: \"fe80::1\", asn: 5}\n", {{4, 15, "peers[0].address", "such as fe80::1%eth0, or use interface: alone"}}},
    {NODE "peers:\n  - {address: \"fe80::1%\", asn: 5}\n", {{4, 15, "peers[0].address", "only behind a link-local address"}}},
    {NODE "peers:\n  - {address: \"fd00::1%eth0\", asn: 5}\n", {{4, 15, "peers[0].address", "only behind a link-local address"}}},
    {NODE "peers:\n  - {address: 169.254.1.1%eth0, asn: 5}\n", {{4, 15, "peers[0].address", "only behind a link-local address"}}},
    {NODE "peers:\n  - {address: \"fe80::1%eth0/1\", asn: 5}\n", {{4, 15, "peers[0].address", "only behind a link-local address"}}},
    {NODE "peers:\n  - {interface: \"\", asn: 5}\n  - {interface: a23456789012345, asn: 5}\n  - {interface: a234567890123456, asn: 5}\n",
     {{4, 17, "peers[0].interface", "expected an interface's name such as eth0"}, {6, 17, "peers[2].interface", "an interface's name"}}},
    {NODE "peers:\n  - {interface: .., asn: 5}\n  - {interface: a b, asn: 5}\n  - {interface: a/b, asn: 5}\n  - {interface: [a], asn: 5}\n",
     {{4, 17, "peers[0].interface", "an interface's name"}, {5, 17, "peers[1].interface", "an interface's name"},
      {6, 17, "peers[2].interface", "an interface's name"}, {7, 17, "peers[3].interface", "an interface's name"}}},
    {NODE "peers:\n  - {address: 10.0.7.254, interface: eth0, asn: 5}\n",
     {{4, 38, "peers[0].interface", "not together with address"}}},
    {NODE "peers:\n  - {asn: 5}\n  - {interface: null, asn: 5}\n",
     {{4, 5, "peers[0].address", "missing, expected a unicast address here, or interface"}, {5, 5, "peers[1].address", "missing"}}},
    {NODE "peers:\n  - {interface: eth0, asn: 5}\n  - {name: b, interface: eth0, asn: 6}\n",
     {{5, 26, "peers[1].interface", "eth0 is also the interface of peers[0] (line 4)"}}},
    {NODE "peers:\n  - {name: a, address: \"fe80::1%eth0\", asn: 5}\n  - {name: b, address: \"fe80::1%eth0\", asn: 5}\n",
     {{5, 24, "peers[1].address", "fe80::1%eth0 is also the address of peers[0] (line 4)"}}},
    {NODE "peers:\n  - {interface: eth0, asn: 5, multihop: 2}\n  - {interface: eth1, asn: 5, ttl-security: 2}\n",
     {{4, 41, "peers[0].multihop", "on this very link"}, {5, 45, "peers[1].ttl-security", "on this very link"}}},

    /* what YAML offers and we refuse */
    {"node: {name: &a x}\n", {{1, 14, "node.name", "anchors"}}},
    {"node: &a {name: x}\n", {{1, 7, "node", "anchors"}}},
    {"pods: {cidrs: [*a]}\n", {{1, 16, "pods.cidrs[0]", "aliases (*name) are not supported"}}},
    {"node: *a\n", {{1, 7, "node", "aliases (*name) are not supported"}}},
    {"node: {name: !!str x}\n", {{1, 14, "node.name", "tags"}}},
    {"node: {name: \"a\\0b\"}\n", {{1, 14, "node.name", "NUL"}}},

    /* node */
    {"node: {name: -x}\n", {{1, 14, "node.name", "found \"-x\", expected 1 to 63 letters"}}},
    {"node: {name: [x]}\n", {{1, 14, "node.name", "found a list, expected 1 to 63 letters"}}},
    {"node: {name: a234567890123456789012345678901234567890123456789012345678901234}\n",
     {{1, 14, "node.name", "1 to 63"}}},
    {"node: {asn: 0}\n", {{1, 13, "node.asn", "found \"0\", expected an AS number from 1 to 4294967294"}}},
    {"node: {asn: 23456}\n", {{1, 13, "node.asn", "AS_TRANS"}}},
    {"node: {asn: 4294967295}\n", {{1, 13, "node.asn", "reserved"}}},
    {"node: {asn: 4294967296}\n", {{1, 13, "node.asn", "expected an AS number"}}},
    {"node: {asn: 99999999999999999999}\n", {{1, 13, "node.asn", "expected an AS number"}}},
    {"node: {asn: -5}\n", {{1, 13, "node.asn", "expected an AS number"}}},
    {"node: {asn: 0x10}\n", {{1, 13, "node.asn", "expected an AS number"}}},
    {"node: {asn: 010}\n", {{1, 13, "node.asn", "expected an AS number"}}},
    {"node: {asn: external}\n", {{1, 13, "node.asn", "expected an AS number"}}},
    {"node: {asn: \"64512\"}\n", {{1, 13, "node.asn", "take the quotes away"}}},
    {"node: {router-id: 0.0.0.0}\n", {{1, 19, "node.router-id", "four numbers"}}},
    {"node: {router-id: 10.0.0}\n", {{1, 19, "node.router-id", "four numbers"}}},
    {"node: {router-id: \"::1\"}\n", {{1, 19, "node.router-id", "four numbers"}}},
    {"node: {router-id: \"::ffff:1.2.3.4\"}\n", {{1, 19, "node.router-id", "four numbers"}}},
    {"node: {router-id: 5}\n", {{1, 19, "node.router-id", "four numbers"}}},
    {"node: {addresses: 10.0.0.1}\n", {{1, 19, "node.addresses", "put it into [ ]"}}},
    {"node: {addresses: [10.0.0.1, x, 10.0.0.0/8, 224.0.0.1, 127.0.0.1, \"::1\"]}\n",
     {{1, 30, "node.addresses[1]", "found \"x\", expected a unicast address"},
      {1, 33, "node.addresses[2]", "an address has no length"},
      {1, 45, "node.addresses[3]", "multicast"},
      {1, 56, "node.addresses[4]", "loopback"},
      {1, 67, "node.addresses[5]", "loopback"}}},
    {"node: {addresses: [10.0.0.1, 10.0.0.1]}\n", {{1, 19, "node.addresses", "10.0.0.1 is in the list twice"}}},
    {"node: {addresses: [\"::ffff:10.0.0.1\"]}\n", {{1, 20, "node.addresses[0]", "write IPv4 with dots only"}}},

    /* pods */
    {"pods: {cidrs: 10.244.7.0/24}\n", {{1, 15, "pods.cidrs", "put it into [ ]"}}},
    {"pods: {cidrs: {a: b}}\n", {{1, 15, "pods.cidrs", "found a map (key: value), expected a list"}}},
    {"pods: {cidrs: [10.244.7.1/24]}\n", {{1, 16, "pods.cidrs[0]", "10.244.7.0/24 is probably meant"}}},
    {"pods: {cidrs: [10.244.7.0]}\n", {{1, 16, "pods.cidrs[0]", "the /LENGTH is missing"}}},
    {"pods: {cidrs: [10.244.7.0/33, 10.0.0.0/x, [a]]}\n",
     {{1, 16, "pods.cidrs[0]", "expected a prefix"},
      {1, 31, "pods.cidrs[1]", "expected a prefix"},
      {1, 43, "pods.cidrs[2]", "found a list, expected a prefix"}}},
    {"pods: {cidrs: [0.0.0.0/0, 224.0.0.0/8, 127.0.0.0/8, 169.254.0.0/24]}\n",
     {{1, 16, "pods.cidrs[0]", "of /8 or longer"},
      {1, 27, "pods.cidrs[1]", "multicast"},
      {1, 40, "pods.cidrs[2]", "loopback"},
      {1, 53, "pods.cidrs[3]", "link-local"}}},
    {"pods:\n  cidrs: [10.1.2.0/24, 10.2.0.0/16, 10.1.0.0/16]\n",
     {{2, 11, "pods.cidrs[0]", "10.1.2.0/24 lies inside 10.1.0.0/16 of pods.cidrs[2] (line 2)"}}},
    {"pods:\n  cluster-cidrs:\n    - 10.0.0.0/8\n    - 10.0.0.0/8\n    - 10.9.0.0/16\n",
     {{4, 7, "pods.cluster-cidrs[1]", "is the same as 10.0.0.0/8 of pods.cluster-cidrs[0] (line 3)"},
      {5, 7, "pods.cluster-cidrs[2]", "10.9.0.0/16 lies inside 10.0.0.0/8 of pods.cluster-cidrs[0] (line 3)"}}},
    {"pods: {reuse-delay: 60}\n", {{1, 21, "pods.reuse-delay", "the unit is missing"}}},
    {"pods: {reuse-delay: 1500ms}\n", {{1, 21, "pods.reuse-delay", "whole seconds only"}}},
    {"pods: {reuse-delay: 169h}\n", {{1, 21, "pods.reuse-delay", "expected a duration"}}},
    {"pods: {reuse-delay: 5d}\n", {{1, 21, "pods.reuse-delay", "expected a duration"}}},
    {"pods: {reuse-delay: 999999999999999999h}\n", {{1, 21, "pods.reuse-delay", "expected a duration"}}},
    {"pods: {reuse-delay: s}\n", {{1, 21, "pods.reuse-delay", "expected a duration"}}},

    /* peers */
    {"peers:\n  address: 10.0.0.1\n",
     {{2, 3, "peers", "expected a list of peers, each a map that starts with \"- \""}}},
    {"node: {name: n}\npeers:\n  - {address: 10.0.0.1, asn: internal}\n",
     {{1, 1, "node.asn", "missing, but there are peers"}}},
    {"peers:\n  - {address: 10.0.0.1, asn: internal}\n", {{1, 1, "node.asn", "missing, but there are peers"}}},
    {"node: {asn: 5, addresses: [10.9.0.1]}\npods: {cidrs: [10.9.0.0/24, 10.8.0.0/24]}\npeers:\n  - {address: 10.8.0.9, asn: 5}\n",
     {{1, 27, "node.addresses", "is inside pods.cidrs"}, {4, 15, "peers[0].address", "is inside pods.cidrs"}}},
    {NODE "peers: [hello]\n", {{3, 9, "peers[0]", "found \"hello\", expected a map with address (or interface) and asn"}}},
    {NODE "peers:\n  - name: a\n",
     {{4, 5, "peers[0].address", "missing, expected a unicast address"}, {4, 5, "peers[0].asn", "missing, expected an AS"}}},
    {NODE "peers:\n  - {name: a, address: , asn: 5}\n", {{4, 5, "peers[0].address", "missing, expected"}}},
    {NODE "peers:\n  - {address: 10.0.0.0/8, asn: 5}\n", {{4, 15, "peers[0].address", "an address has no length"}}},
    {NODE "peers:\n  - {address: tor.example, asn: 5}\n",
     {{4, 15, "peers[0].address", "found \"tor.example\", expected a unicast"}}},
    {NODE "peers:\n  - {address: 255.255.255.255, asn: 5}\n", {{4, 15, "peers[0].address", "reserved"}}},
    {NODE "peers:\n  - {address: 0.0.0.0, asn: 5}\n", {{4, 15, "peers[0].address", "zero"}}},
    {NODE "peers:\n  - {address: 10.0.7.1, asn: 5}\n",
     {{4, 15, "peers[0].address", "one of the node's own addresses"}}},
    {NODE "peers:\n  - {address: 10.0.0.9, asn: 0}\n  - {address: 10.0.0.8, asn: 23456}\n  - {address: 10.0.0.7, asn: "
	  "4294967295}\n"
	  "  - {address: 10.0.0.6, asn: extern}\n",
     {{4, 30, "peers[0].asn", "reserved"},
      {5, 30, "peers[1].asn", "AS_TRANS"},
      {6, 30, "peers[2].asn", "reserved"},
      {7, 30, "peers[3].asn", "found \"extern\", expected an AS number from 1 to 4294967294, external or internal"}}},
    {PEER("port: 0"), {{4, 45, "peers[0].port", "a port from 1 to 65535"}}},
    {PEER("port: 65536"), {{4, 45, "peers[0].port", "a port from 1 to 65535"}}},
    {PEER("port: bgp"), {{4, 45, "peers[0].port", "a port from 1 to 65535"}}},
    {PEER("passive: yes"), {{4, 48, "peers[0].passive", "found \"yes\", expected true or false"}}},
    {PEER("passive: \"true\""), {{4, 48, "peers[0].passive", "take the quotes away"}}},
    {PEER("hold-time: 1s"), {{4, 50, "peers[0].hold-time", "found \"1s\", expected a duration such as 9s (3s to"}}},
    {PEER("hold-time: 2s"), {{4, 50, "peers[0].hold-time", "3s to 65535s"}}},
    {PEER("hold-time: 2999ms"), {{4, 50, "peers[0].hold-time", "whole seconds only"}}},
    {PEER("hold-time: 65536s"), {{4, 50, "peers[0].hold-time", "3s to 65535s"}}},
    {PEER("hold-time: 9"), {{4, 50, "peers[0].hold-time", "the unit is missing"}}},
    {PEER("import: pods"), {{4, 47, "peers[0].import", "found \"pods\", expected all, none or the name of a policy; there is no policy of your own"}}},
    {PEER("export: mine"),
     {{4, 47, "peers[0].export", "expected pods, all, none or the name of a policy; there is no policy of your own"}}},
    {PEER("password-file: hunter2"), {{4, 54, "peers[0].password-file", "expected an absolute path of a file; what"}}},
    {PEER("password-file: [/x]"), {{4, 54, "peers[0].password-file", "an absolute path of a file"}}},
    {PEER("password: hunter2"), {{4, 39, "peers[0].password", "unknown key"}}},
    {PEER("ttl-security: 0"), {{4, 53, "peers[0].ttl-security", "found \"0\", expected a number from 1 to 254"}}},
    {PEER("ttl-security: 255"), {{4, 53, "peers[0].ttl-security", "a number from 1 to 254"}}},
    {PEER("ttl-security: true"), {{4, 53, "peers[0].ttl-security", "a number from 1 to 254"}}},
    {PEER("multihop: 0"), {{4, 49, "peers[0].multihop", "a number from 1 to 255"}}},
    {PEER("multihop: 256"), {{4, 49, "peers[0].multihop", "a number from 1 to 255"}}},
    {PEER("multihop: 2, ttl-security: 1"), {{4, 49, "peers[0].multihop", "not together with ttl-security"}}},
    {PEER("families: []"), {{4, 49, "peers[0].families", "the list is empty"}}},
    {PEER("families: [ipv4, ipv4]"), {{4, 49, "peers[0].families", "twice"}}},
    {PEER("families: ipv4"), {{4, 49, "peers[0].families", "put it into [ ]"}}},
    {PEER("name: a b"), {{4, 45, "peers[0].name", "found \"a b\""}}},
    {NODE "peers:\n  - {name: a, address: 10.0.0.2, asn: 5}\n  - {name: a, address: 10.0.0.3, asn: 5}\n",
     {{5, 12, "peers[1].name", "a is also the name of peers[0] (line 4)"}}},
    {NODE "peers:\n  - {name: a, address: 10.0.0.2, asn: 5}\n  - {name: b, address: 10.0.0.2, asn: 5}\n",
     {{5, 24, "peers[1].address", "10.0.0.2 is also the address of peers[0] (line 4)"}}},
    {NODE "peers:\n  - {address: 10.0.0.2, asn: 5}\n  - {address: 10.0.0.2, asn: 5}\n",
     {{5, 15, "peers[1].address", "also the address of peers[0]"}}},
    {NODE "peers:\n  - {address: 10.0.0.2, asn: 5}\n  - {name: 10.0.0.2, address: 10.0.0.3, asn: 5}\n",
     {{5, 12, "peers[1].name", "10.0.0.2 is also the name of peers[0] (line 4)"}}},

    /* a policy for eBGP, RFC 8212 */
    {"node: {name: n, asn: 5}\npeers:\n  - {address: 10.0.0.2, asn: 6}\n  - {address: 10.0.0.3, asn: external}\n",
     {{3, 5, "peers[0].import", "set pods.cluster-cidrs, or import: all here"},
      {4, 5, "peers[1].import", "set pods.cluster-cidrs, or import: all here"}}},
    {"node: {name: n, asn: 5}\npods: {cluster-cidrs: []}\npeers:\n  - {address: 10.0.0.2, asn: 6}\n",
     {{4, 5, "peers[0].import", "set pods.cluster-cidrs"}}},

    /* policies */
    {"policies: {}\n", {{1, 11, "policies", "expected a list of policies"}}},
    {"policies: [x]\n", {{1, 12, "policies[0]", "a map with name and rules"}}},
    {"policies:\n  - rules: []\n", {{2, 5, "policies[0].name", "missing"}}},
    {"policies: [{name: all}, {name: a}, {name: a}]\n",
     {{1, 19, "policies[0].name", "built in"}, {1, 43, "policies[2].name", "a is also the name of policies[1]"}}},
    {"policies:\n  - {name: p, rules: [x, {}]}\n",
     {{2, 23, "policies[0].rules[0]", "a map with match, set and action"},
      {2, 26, "policies[0].rules[1].action", "missing, expected accept, reject or next"}}},
    {RULE("action: drop"), {{4, 18, "policies[0].rules[0].action", "expected accept, reject or next"}}},
    {RULE("action: reject, set: {med: 1}"), {{4, 31, "policies[0].rules[0].set", "changes nothing"}}},
    {RULE("matches: {}, action: accept"), {{4, 10, "policies[0].rules[0].matches", "did you mean policies[].rules[].match?"}}},
    {MATCH("large-community: []"),
     {{4, 34, "policies[0].rules[0].match.large-community", "did you mean policies[].rules[].match.community?"}}},
    {PEER("soft-reconfiguration: true"), {{4, 39, "peers[0].soft-reconfiguration", "where the peer knows route refresh"}}},
    {MATCH("prefix: []"), {{4, 34, "policies[0].rules[0].match.prefix", "did you mean policies[].rules[].match.prefixes?"}}},
    {MATCH("prefixes: []"), {{4, 44, "policies[0].rules[0].match.prefixes", "the list is empty"}}},
    {MATCH("prefixes: 10.0.0.0/8"), {{4, 44, "policies[0].rules[0].match.prefixes", "put it into [ ]"}}},
    {MATCH("prefixes: [10.0.0.0/8 le 7, 10.0.0.0/8 ge 33, 10.0.0.0/8 ge 20 le 19, 10.0.0.0/8 le, 10.0.0.0/8 le 9 le 9]"),
     {{4, 45, "policies[0].rules[0].match.prefixes[0]", "lengths must be in order"},
      {4, 62, "policies[0].rules[0].match.prefixes[1]", "lengths must be in order"},
      {4, 80, "policies[0].rules[0].match.prefixes[2]", "lengths must be in order"},
      {4, 104, "policies[0].rules[0].match.prefixes[3]", "expected a prefix, and behind it"},
      {4, 119, "policies[0].rules[0].match.prefixes[4]", "expected a prefix, and behind it"}}},
    {MATCH("prefixes: [10.1.0.0/8 le 9, 10.1.0.0, \"::ffff:10.0.0.0/104\", \"\"]"),
     {{4, 45, "policies[0].rules[0].match.prefixes[0]", "the right one is 10.0.0.0/8"},
      {4, 62, "policies[0].rules[0].match.prefixes[1]", "the /LENGTH is missing"},
      {4, 72, "policies[0].rules[0].match.prefixes[2]", "expected a prefix"},
      {4, 95, "policies[0].rules[0].match.prefixes[3]", "expected a prefix"}}},
    {MATCH("community: [64512, 70000:1, 1:2:3:4, no-such, [1]]"),
     {{4, 46, "policies[0].rules[0].match.community[0]", "expected 64512:100, a well-known name"},
      {4, 53, "policies[0].rules[0].match.community[1]", "expected 64512:100"},
      {4, 62, "policies[0].rules[0].match.community[2]", "expected 64512:100"},
      {4, 71, "policies[0].rules[0].match.community[3]", "found \"no-such\", expected 64512:100"},
      {4, 80, "policies[0].rules[0].match.community[4]", "found a list"}}},
    {MATCH("origin-as: [0], family: ip, source: static, peer: [a b], next-hop: [x]"),
     {{4, 46, "policies[0].rules[0].match.origin-as[0]", "reserved"},
      {4, 58, "policies[0].rules[0].match.family", "expected ipv4 or ipv6"},
      {4, 70, "policies[0].rules[0].match.source", "expected local, bgp or external"},
      {4, 85, "policies[0].rules[0].match.peer[0]", "found \"a b\""},
      {4, 102, "policies[0].rules[0].match.next-hop[0]", "expected a prefix"}}},
    {MATCH("as-path-length: ge 5 le 4"), {{4, 50, "policies[0].rules[0].match.as-path-length", "in order"}}},
    {MATCH("as-path-length: 70000"), {{4, 50, "policies[0].rules[0].match.as-path-length", "up to 65535"}}},
    {MATCH("as-path-length: lt 4"), {{4, 50, "policies[0].rules[0].match.as-path-length", "or le N, ge N"}}},
    {SET("local-pref: -1, med: 4294967296, prepend: 65, next-hop: me"),
     {{4, 44, "policies[0].rules[0].set.local-pref", "expected a number from 0"},
      {4, 53, "policies[0].rules[0].set.med", "expected a number from 0"},
      {4, 74, "policies[0].rules[0].set.prepend", "1 to 64, or a list"},
      {4, 88, "policies[0].rules[0].set.next-hop", "expected self or a unicast address"}}},
    {SET("community: [1:1]"), {{4, 43, "policies[0].rules[0].set.community", "expected a map"}}},
    {SET("community: {add: [\"1:*\"], remove: []}"),
     {{4, 50, "policies[0].rules[0].set.community.add[0]", "no * here"},
      {4, 66, "policies[0].rules[0].set.community.remove", "the list is empty"}}},
    {SET("community: {add: [1:1], replace: [2:2]}"),
     {{4, 65, "policies[0].rules[0].set.community.replace", "write one or the other"}}},
    {NODE "policies: [{name: a}, {name: b}]\npeers:\n  - {address: 10.0.7.254, asn: 64512, import: c}\n",
     {{5, 47, "peers[0].import", "found \"c\", expected all, none or the name of a policy; there are a, b"}}},
    {NODE SET("next-hop: self") "peers:\n  - {address: 10.0.7.254, asn: 64512, import: p}\n",
     {{8, 47, "peers[0].import", "sets next-hop: self, which is for export only"}}},

    /* kernel, control, paths */
    {"kernel: {table: 0, metric: 0, protocol: 4, multipath: 65, install: 1}\n",
     {{1, 17, "kernel.table", "main or a table number"},
      {1, 28, "kernel.metric", "a number from 1 to"},
      {1, 41, "kernel.protocol", "5 to 255 (0 to 4 are the kernel's own)"},
      {1, 55, "kernel.multipath", "a number from 1 to 64"},
      {1, 68, "kernel.install", "true or false"}}},
    {"kernel: {table: local, protocol: 256, multipath: 0}\n",
     {{1, 17, "kernel.table", "main or a table number"},
      {1, 34, "kernel.protocol", "5 to 255"},
      {1, 50, "kernel.multipath", "a number from 1 to 64"}}},
    {"kernel: {vrf: red, table: 100}\n", {{1, 20, "kernel.table", "not beside vrf: a VRF has a table of its own"}}},
    {"kernel: {vrf: \"a b\"}\n", {{1, 15, "kernel.vrf", "an interface's name such as red"}}},
    {NODE "kernel: {vrf: red}\npeers: [{address: 10.0.0.2, asn: 6}, {address: 10.0.0.2, asn: 6, device: red, name: b}]\n",
     {{4, 48, "peers[1].address", "10.0.0.2%red is also the address of peers[0]"}}},
    {"control: {socket: run/x}\n", {{1, 19, "control.socket", "found \"run/x\", expected an absolute path"}}},
    {"control: {socket: "
     "/12345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567}\n",
     {{1, 19, "control.socket", "at most 107 bytes"}}},
    {"paths: {run: x, state: \"/a\\nb\"}\n",
     {{1, 14, "paths.run", "an absolute path"},
      {1, 24, "paths.state", "found \"/a\\x0ab\", expected an absolute path"}}},

    /* all errors in one run, in the order of the file, of every kind */
    {"node: {name: n, asn: 5, router_id: 1.2.3.4}\npeers:\n  - {address: 10.0.0.2, asn: 6, port: 0}\nkernel: {metric: "
     "x}\nmesh: {}\n",
     {{1, 25, "node.router_id", "did you mean node.router-id?"},
      {3, 5, "peers[0].import", "missing"},
      {3, 39, "peers[0].port", "a port"},
      {4, 18, "kernel.metric", "a number"},
      {5, 1, "mesh", "not supported yet"}}},
};

static void check_error(const struct conf_error *e, const struct expected *want, const char *yaml)
{
	ck_assert_msg(e->line == want->line && e->column == want->column && strcmp(e->path, want->path) == 0 &&
			  strstr(e->text, want->part),
		      "%s\ngives %u:%u: %s: %s\nnot   %u:%u: %s: ...%s...", yaml, e->line, e->column, e->path, e->text,
		      want->line, want->column, want->path, want->part);
}

START_TEST(bad_text_gives_its_errors)
{
	const struct bad *b = &bads[_i];
	struct conf_errors errors;
	size_t want = 0;
	struct conf *c = conf_load_text(b->yaml, strlen(b->yaml), "host", &errors);
	ck_assert_msg(!c, "accepted: %s", b->yaml);
	while (want < EXPECTED_MAX && b->errors[want].path)
		want++;
	for (size_t i = 0; i < errors.count && i < want; i++)
		check_error(&errors.at[i], &b->errors[i], b->yaml);
	ck_assert_msg(errors.count == want, "%s\ngives %zu errors, not %zu; the last: %s", b->yaml, errors.count, want,
		      errors.count ? errors.at[errors.count - 1].text : "");
	conf_errors_fini(&errors);
}
END_TEST

static struct conf *load(const char *yaml)
{
	struct conf_errors errors;
	struct conf *c = conf_load_text(yaml, strlen(yaml), "host-1", &errors);
	ck_assert_msg(c, "%s\n%s: %s", yaml, errors.count ? errors.at[0].path : "",
		      errors.count ? errors.at[0].text : "no error");
	ck_assert_uint_eq(errors.count, 0);
	conf_errors_fini(&errors);
	return c;
}

static void check_addr(const struct addr *a, const char *text)
{
	char buf[ADDR_TEXT_MAX];
	ck_assert_str_eq(addr_format(a, buf), text);
}

static void check_prefix(const struct prefix *p, const char *text)
{
	char buf[PREFIX_TEXT_MAX];
	ck_assert_str_eq(prefix_format(p, buf), text);
}

START_TEST(defaults_are_filled_in)
{
	struct conf *c = load("{}");
	ck_assert_str_eq(c->node.name, "host-1");
	ck_assert_uint_eq(c->node.asn, 0);
	ck_assert_uint_eq(c->node.router_id, 0);
	ck_assert_uint_eq(c->node.address_count, 0);
	ck_assert_uint_eq(c->pods.cidrs.count, 0);
	ck_assert_uint_eq(c->pods.cluster_cidrs.count, 0);
	ck_assert_uint_eq(c->pods.reuse_delay_s, 60);
	ck_assert_uint_eq(c->peer_count, 0);
	ck_assert(c->kernel.install);
	ck_assert_uint_eq(c->kernel.table, 254);
	ck_assert_uint_eq(c->kernel.metric, 32);
	ck_assert_uint_eq(c->kernel.protocol, 171);
	ck_assert_uint_eq(c->kernel.multipath, 16);
	ck_assert_int_eq(c->kernel.nexthop_objects, CONF_OBJECTS_AUTO);
	ck_assert_str_eq(c->control_socket, "/run/underlay/control");
	ck_assert_str_eq(c->run_dir, "/run/underlay");
	ck_assert_str_eq(c->state_dir, "/var/lib/underlay");
	conf_free(c);
}
END_TEST

START_TEST(peer_defaults_are_filled_in)
{
	struct conf *c = load(NODE "peers:\n  - address: 10.0.7.254\n    asn: 64512\n");
	const struct conf_peer *p = &c->peers[0];
	ck_assert_uint_eq(c->peer_count, 1);
	ck_assert_str_eq(p->name, "10.0.7.254");
	check_addr(&p->address, "10.0.7.254");
	ck_assert_int_eq(p->asn_kind, CONF_ASN_NUMBER);
	ck_assert_uint_eq(p->asn, 64512);
	ck_assert(!p->passive);
	ck_assert_uint_eq(p->port, 179);
	ck_assert_uint_eq(p->hold_time_s, 9);
	ck_assert_int_eq(p->import, CONF_POLICY_UNSET);
	ck_assert_int_eq(p->export, CONF_POLICY_UNSET);
	ck_assert_ptr_null(p->password_file);
	ck_assert_ptr_null(p->password);
	ck_assert_uint_eq(p->ttl_security, 0);
	ck_assert_uint_eq(p->multihop, 0);
	ck_assert_uint_eq(p->line, 4);
	conf_free(c);
}
END_TEST

static const char every_key[] =
    "node:\n"
    "  name: r1-n7\n"
    "  asn: 4200000001\n"
    "  router-id: 10.0.7.1\n"
    "  addresses: [10.0.7.1, \"fd00:7::1\"]\n"
    "pods:\n"
    "  cidrs: [10.244.7.0/24, 10.245.0.0/32]\n"
    "  cluster-cidrs: [10.244.0.0/16, 10.245.0.0/16]\n"
    "  reuse-delay: 2m\n"
    "peers:\n"
    "  - {name: tor-a, address: 10.0.7.254, asn: external, passive: true, port: 1179,\n"
    "     hold-time: 1h, families: [ipv4], import: none, export: all, password-file: /etc/underlay/tor-a, ttl-security: 254}\n"
    "  - {name: rr, address: 10.0.7.253, asn: internal, hold-time: 0, import: all, export: none}\n"
    "  - {name: \"3\", address: 10.0.7.252, asn: 1, hold-time: 3000ms, export: pods, multihop: 255, role: rs-client, role-strict: true,\n"
    "     source: 10.0.7.1, device: red, tcp-mss: 65495,\n"
    "     max-prefixes: 4294967295, max-prefixes-action: stop, max-advertised: 1}\n"
    "  - {name: dyn, range: 10.9.0.0/16, range-limit: 65535, asn: external, import: none}\n"
    "kernel: {install: false, table: 4294967295, metric: 1, protocol: 255, multipath: 64}\n"
    "control: {socket: /tmp/c}\n"
    "paths: {run: /tmp/run, state: /tmp/state}\n";

START_TEST(every_key_reaches_its_field)
{
	struct conf *c = load(every_key);
	ck_assert_str_eq(c->node.name, "r1-n7");
	ck_assert_uint_eq(c->node.asn, 4200000001u);
	ck_assert_uint_eq(c->node.router_id, 0x0a000701);
	ck_assert_uint_eq(c->node.address_count, 2);
	check_addr(&c->node.addresses[1], "fd00:7::1");
	ck_assert_uint_eq(c->pods.cidrs.count, 2);
	check_prefix(&c->pods.cidrs.at[0], "10.244.7.0/24");
	check_prefix(&c->pods.cidrs.at[1], "10.245.0.0/32");
	ck_assert_uint_eq(c->pods.cluster_cidrs.count, 2);
	check_prefix(&c->pods.cluster_cidrs.at[1], "10.245.0.0/16");
	ck_assert_uint_eq(c->pods.reuse_delay_s, 120);
	ck_assert(!c->kernel.install);
	ck_assert_uint_eq(c->kernel.table, 4294967295u);
	ck_assert_uint_eq(c->kernel.metric, 1);
	ck_assert_uint_eq(c->kernel.protocol, 255);
	ck_assert_uint_eq(c->kernel.multipath, 64);
	ck_assert_str_eq(c->control_socket, "/tmp/c");
	ck_assert_str_eq(c->run_dir, "/tmp/run");
	ck_assert_str_eq(c->state_dir, "/tmp/state");
	conf_free(c);
}
END_TEST

START_TEST(every_peer_key_reaches_its_field)
{
	struct conf *c = load(every_key);
	const struct conf_peer *p = c->peers;
	ck_assert_uint_eq(c->peer_count, 4);
	ck_assert_str_eq(p[0].name, "tor-a");
	ck_assert_int_eq(p[0].asn_kind, CONF_ASN_EXTERNAL);
	ck_assert(p[0].passive);
	ck_assert_uint_eq(p[0].port, 1179);
	ck_assert_uint_eq(p[0].hold_time_s, 3600);
	ck_assert_int_eq(p[0].import, CONF_POLICY_NONE);
	ck_assert_int_eq(p[0].export, CONF_POLICY_ALL);
	ck_assert_int_eq(p[1].asn_kind, CONF_ASN_INTERNAL);
	ck_assert_uint_eq(p[1].hold_time_s, 0);
	ck_assert_int_eq(p[1].import, CONF_POLICY_ALL);
	ck_assert_int_eq(p[1].export, CONF_POLICY_NONE);
	ck_assert_str_eq(p[2].name, "3");
	ck_assert_uint_eq(p[2].hold_time_s, 3);
	ck_assert_int_eq(p[2].export, CONF_POLICY_PODS);
	ck_assert_str_eq(p[0].password_file, "/etc/underlay/tor-a");
	ck_assert_ptr_null(p[0].password); /* text in memory: no file is read */
	ck_assert_uint_eq(p[0].ttl_security, 254);
	ck_assert_uint_eq(p[0].multihop, 0);
	ck_assert_uint_eq(p[2].multihop, 255);
	ck_assert_int_eq(p[0].role, CONF_ROLE_NONE);
	ck_assert_int_eq(p[2].role, CONF_ROLE_RS_CLIENT);
	ck_assert(p[2].role_strict && !p[0].role_strict);
	ck_assert_uint_eq(p[2].max_prefixes, 4294967295);
	ck_assert_uint_eq(p[2].max_advertised, 1);
	check_addr(&p[2].source, "10.0.7.1");
	ck_assert_str_eq(p[2].device, "red");
	ck_assert_uint_eq(p[2].tcp_mss, 65495);
	ck_assert_ptr_null(p[0].device);
	ck_assert_int_eq(p[2].max_prefixes_action, CONF_LIMIT_STOP);
	ck_assert_int_eq(p[0].max_prefixes_action, CONF_LIMIT_RESTART);
	check_prefix(&p[3].range, "10.9.0.0/16");
	ck_assert_uint_eq(p[3].range_limit, 65535);
	ck_assert(conf_peer_is_range(&p[3]) && !conf_peer_is_range(&p[0]));
	conf_free(c);
}
END_TEST

START_TEST(socket_follows_the_run_directory)
{
	struct conf *c = load("paths: {run: /tmp/n1}\n");
	ck_assert_str_eq(c->control_socket, "/tmp/n1/control");
	conf_free(c);
}
END_TEST

/* Null is "not set", also for a whole section; iBGP and import: need no cluster-cidrs. */
START_TEST(lenient_where_it_is_safe)
{
	static const char *const fine[] = {
	    "node: {name: ~}\npods:\npeers:\n",
	    "pods: {cidrs: []}\npeers: []\n",
	    "node: {asn: 5}\npeers: [{address: 10.0.0.2, asn: 5}, {address: 10.0.0.3, asn: internal}]\n",
	    "node: {asn: 5}\npeers: [{address: 10.0.0.2, asn: 6, import: all}]\n",
	    "node: {asn: 5}\npeers: [{address: 10.0.0.3, asn: external, import: none}]\n",
	    "---\nnode: {asn: 5}\n...\n",
	    ("\xef\xbb\xbf" "node: {asn: 5}\r\n"),
	    "node: {name: 123, router-id: \"10.0.0.1\"}\n",
	    "pods: {cidrs: ['10.1.0.0/16'], cluster-cidrs: [10.2.0.0/16], reuse-delay: 0}\n",
	};
	for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
		conf_free(load(fine[i]));
}
END_TEST

START_TEST(host_name_must_be_usable)
{
	struct conf_errors errors;
	ck_assert_ptr_null(conf_load_text("{}", 2, "-\033[2J", &errors));
	ck_assert_uint_eq(errors.count, 1);
	ck_assert_str_eq(errors.at[0].path, "node.name");
	ck_assert_ptr_nonnull(strstr(errors.at[0].text, "the host name \"-\\x1b[2J\" cannot be used"));
	conf_errors_fini(&errors);
	ck_assert_ptr_null(conf_load_text("{}", 2, NULL, &errors));
	conf_errors_fini(&errors);
}
END_TEST

/* --- hostile files --- */

static char *repeat(const char *head, const char *part, size_t times, const char *tail, size_t *len)
{
	size_t n = strlen(part);
	char *s = malloc(strlen(head) + n * times + strlen(tail) + 1), *p = s;
	ck_assert_ptr_nonnull(s);
	p = stpcpy(p, head);
	for (size_t i = 0; i < times; i++)
		p = stpcpy(p, part);
	*len = (size_t)(stpcpy(p, tail) - s);
	return s;
}

static void refused(char *text, size_t len, size_t at_least, const char *last)
{
	struct conf_errors errors;
	ck_assert_ptr_null(conf_load_text(text, len, "host", &errors));
	ck_assert_uint_ge(errors.count, at_least);
	ck_assert_uint_le(errors.count, 101);
	ck_assert_msg(strstr(errors.at[errors.count - 1].text, last), "%s", errors.at[errors.count - 1].text);
	conf_errors_fini(&errors);
	free(text);
}

START_TEST(large_files_are_refused)
{
	size_t len;
	char *text = repeat("# ", "x", (1 << 20) - 2, "\n", &len);
	ck_assert_uint_eq(len, (1 << 20) + 1);
	refused(text, len, 1, "larger than 1024 KiB");
}
END_TEST

START_TEST(errors_are_bounded)
{
	size_t len;
	char *text = repeat("pods: {cidrs: [", "x,", 100000, "x]}\n", &len);
	refused(text, len, 101, "more than 100 errors");
	text = repeat("", "k: 1\n", 200000, "", &len);
	refused(text, len, 1, "expected at most 256");
	text = repeat("node: {name: h, asn: 5}\npeers:\n", "- {address: 10.0.0.2, asn: 5}\n", 20000, "", &len);
	refused(text, len, 101, "more than 100 errors");
}
END_TEST

START_TEST(alias_bombs_do_not_expand)
{
	static const char bomb[] = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
				   "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
				   "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";
	refused(strdup(bomb), sizeof bomb - 1, 6, "anchors");
}
END_TEST

START_TEST(nul_bytes_are_refused_with_their_place)
{
	struct conf_errors errors;
	ck_assert_ptr_null(conf_load_text("node:\n  na\0me: x\n", 17, "host", &errors));
	ck_assert_uint_eq(errors.count, 1);
	ck_assert_uint_eq(errors.at[0].line, 2);
	ck_assert_uint_eq(errors.at[0].column, 5);
	ck_assert_ptr_nonnull(strstr(errors.at[0].text, "NUL"));
	conf_errors_fini(&errors);
}
END_TEST

/* --- the edges --- */

START_TEST(files_are_read)
{
	char path[] = "/tmp/underlay-test-conf-XXXXXX", buf[512];
	struct conf_errors errors;
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "node: {name: a, asn: x}\n", 24), 24);
	close(fd);
	ck_assert_ptr_null(conf_load_file(path, &errors));
	ck_assert_uint_eq(errors.count, 1);
	ck_assert_str_eq(conf_error_format(&errors.at[0], "f.yaml", buf, sizeof buf),
			 "f.yaml:1:22: node.asn: found \"x\", expected an AS number from 1 to 4294967294");
	conf_errors_fini(&errors);
	unlink(path);
	ck_assert_ptr_null(conf_load_file(path, &errors));
	ck_assert_str_eq(conf_error_format(&errors.at[0], "f.yaml", buf, sizeof buf),
			 "f.yaml: cannot be read: No such file or directory");
	conf_errors_fini(&errors);
	ck_assert_ptr_null(conf_load_file("/tmp", &errors));
	ck_assert_str_eq(errors.at[0].text, "cannot be read: Is a directory");
	conf_errors_fini(&errors);
}
END_TEST

/* --- secrets: a scratch file with a secret, and a configuration that names it */

struct secret_files {
	char dir[64], secret[96], conf[96];
};

static void write_file(const char *path, const char *text, size_t len, unsigned mode)
{
	unlink(path);
	FILE *f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(text, 1, len, f), len);
	fclose(f);
	ck_assert_int_eq(chmod(path, mode), 0);
}

static void make_secret_files(struct secret_files *s)
{
	char yaml[512];
	strcpy(s->dir, "/tmp/underlay-test-conf-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(s->dir));
	snprintf(s->secret, sizeof s->secret, "%s/secret", s->dir);
	snprintf(s->conf, sizeof s->conf, "%s/conf", s->dir);
	int n = snprintf(yaml, sizeof yaml, PEER("password-file: %s, import: all"), s->secret);
	write_file(s->conf, yaml, (size_t)n, 0644);
}

static void remove_secret_files(struct secret_files *s)
{
	unlink(s->secret);
	unlink(s->conf);
	ck_assert_int_eq(rmdir(s->dir), 0);
}

static const char a80[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

static const struct secret_case {
	const char *text;
	size_t len; /* 0: of text */
	unsigned mode;
	const char *secret, *wrong;
} secret_cases[] = {
    {"s3cret", 0, 0600, "s3cret", NULL},
    {"s3cret\n", 0, 0600, "s3cret", NULL},
    {"s3cret\r\nsecond line\n", 0, 0640, "s3cret", NULL},
    {" with spaces \n", 0, 0400, " with spaces ", NULL},
    {a80, 0, 0600, a80, NULL},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\nx", 0, 0600, a80, NULL},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1", 0, 0600, NULL, "too long"},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1\n", 0, 0600, NULL, "too long"},
    {"", 0, 0600, NULL, "the first line is empty"},
    {"\ns3cret\n", 0, 0600, NULL, "the first line is empty"},
    {"\r\n", 0, 0600, NULL, "the first line is empty"},
    {"s3\0cret\n", 8, 0600, NULL, "a NUL byte"},
    {"s3cret\n", 0, 0644, NULL, "chmod 600"},
    {"s3cret\n", 0, 0602, NULL, "chmod 600"},
};

static void check_refused_secret(const struct secret_files *s, const char *wrong)
{
	struct conf_errors errors;
	ck_assert_ptr_null(conf_load_file(s->conf, &errors));
	ck_assert_uint_eq(errors.count, 1);
	ck_assert_str_eq(errors.at[0].path, "peers[0].password-file");
	ck_assert_uint_eq(errors.at[0].line, 4);
	ck_assert_uint_eq(errors.at[0].column, 54);
	ck_assert_msg(strstr(errors.at[0].text, wrong) && strstr(errors.at[0].text, s->secret), "%s", errors.at[0].text);
	ck_assert_ptr_null(strstr(errors.at[0].text, "cret\n"));
	ck_assert_ptr_null(strstr(errors.at[0].text, "aaaaaaaa"));
	conf_errors_fini(&errors);
}

START_TEST(secrets_are_read_or_refused)
{
	const struct secret_case *t = &secret_cases[_i];
	struct secret_files s;
	struct conf_errors errors;
	make_secret_files(&s);
	write_file(s.secret, t->text, t->len ? t->len : strlen(t->text), t->mode);
	if (t->wrong) {
		check_refused_secret(&s, t->wrong);
	} else {
		struct conf *c = conf_load_file(s.conf, &errors);
		ck_assert_msg(c, "%s", errors.count ? errors.at[0].text : "");
		ck_assert_str_eq(c->peers[0].password, t->secret);
		conf_errors_fini(&errors);
		conf_free(c);
	}
	remove_secret_files(&s);
}
END_TEST

START_TEST(secret_files_that_are_none)
{
	struct secret_files s;
	make_secret_files(&s);
	check_refused_secret(&s, "No such file or directory");
	ck_assert_int_eq(mkdir(s.secret, 0700), 0);
	check_refused_secret(&s, "not a regular file");
	ck_assert_int_eq(rmdir(s.secret), 0);
	ck_assert_int_eq(mkfifo(s.secret, 0600), 0); /* must not wait for a writer */
	check_refused_secret(&s, "not a regular file");
	remove_secret_files(&s);
}
END_TEST

/* The secret is compared, not its place; other mistakes of the file are told in the same run. */
START_TEST(a_changed_secret_is_another_peer)
{
	struct secret_files s;
	struct conf_errors errors;
	make_secret_files(&s);
	write_file(s.secret, "one\n", 4, 0600);
	struct conf *a = conf_load_file(s.conf, &errors), *b = conf_load_file(s.conf, &errors);
	write_file(s.secret, "two\n", 4, 0600);
	struct conf *c = conf_load_file(s.conf, &errors), *none = load(PEER("import: all"));
	ck_assert(a && b && c);
	ck_assert(conf_peer_same(&a->peers[0], &b->peers[0]));
	ck_assert(!conf_peer_same(&a->peers[0], &c->peers[0]));
	ck_assert(!conf_peer_same(&a->peers[0], &none->peers[0]));
	ck_assert(!conf_peer_same(&none->peers[0], &a->peers[0]));
	conf_free(a);
	conf_free(b);
	conf_free(c);
	conf_free(none);
	static const char two_mistakes[] = PEER("password-file: /nowhere/at-all") "kernel: {metric: x}\n";
	write_file(s.conf, two_mistakes, sizeof two_mistakes - 1, 0644);
	ck_assert_ptr_null(conf_load_file(s.conf, &errors));
	ck_assert_uint_eq(errors.count, 2);
	ck_assert_str_eq(errors.at[0].path, "peers[0].password-file");
	ck_assert_str_eq(errors.at[1].path, "kernel.metric");
	conf_errors_fini(&errors);
	remove_secret_files(&s);
}
END_TEST

/* Unnumbered peers, and the same link-local address on every link. */
START_TEST(peers_on_links_are_read)
{
	struct conf *c = load(NODE "peers:\n  - {interface: eth0, asn: external, ttl-security: 1}\n  - {interface: eth1, asn: 5, name: b}\n"
			      "  - {address: \"fe80::1%eth0\", asn: 5}\n  - {address: \"fe80::1%eth1\", asn: 5}\n");
	static const char *const names[] = {"eth0", "b", "fe80::1%eth0", "fe80::1%eth1"}, *const links[] = {"eth0", "eth1", "eth0", "eth1"};
	ck_assert_uint_eq(c->peer_count, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct conf_peer *p = &c->peers[i];
		ck_assert_str_eq(p->name, names[i]);
		ck_assert_str_eq(p->interface, links[i]);
		ck_assert_int_eq(addr_is_zero(&p->address), i < 2);
		ck_assert(p->ipv4 && p->ipv6);
		for (size_t k = 0; k < 4; k++)
			ck_assert_int_eq(conf_peer_same(p, &c->peers[k]), i == k);
	}
	conf_free(c);
}
END_TEST

START_TEST(peers_are_compared_by_their_settings)
{
	static const char *const others[] = {
	    "name: b, address: 10.0.0.2, asn: 6",
	    "name: a, address: 10.0.0.3, asn: 6",
	    "name: a, address: 10.0.0.2, asn: 7",
	    "name: a, address: 10.0.0.2, asn: external",
	    "name: a, address: 10.0.0.2, asn: 6, passive: true",
	    "name: a, address: 10.0.0.2, asn: 6, port: 180",
	    "name: a, address: 10.0.0.2, asn: 6, hold-time: 10s",
	    "name: a, address: 10.0.0.2, asn: 6, families: [ipv4]",
	    "name: a, address: 10.0.0.2, asn: 6, ttl-security: 1",
	    "name: a, address: 10.0.0.2, asn: 6, multihop: 1",
	    "name: a, interface: eth0, asn: 6",
	    "name: a, range: 10.0.0.0/16, asn: 6",
	    "name: a, address: 10.0.0.2, asn: 6, source: 10.0.0.1",
	    "name: a, address: 10.0.0.2, asn: 6, device: eth0",
	    "name: a, address: 10.0.0.2, asn: 6, tcp-mss: 1000",
	    "name: a, address: 10.0.0.2, asn: 6, role: peer",
	    "name: a, address: 10.0.0.2, asn: 6, add-path: {receive: true}",
	    "name: a, address: 10.0.0.2, asn: 6, add-path: {send: 2}",
	    "name: a, address: 10.0.0.2, asn: 6, role: peer, role-strict: true",
	};
	static const char *const adjustable[] = {"import: all", "export: all", "import: p1", "export: p2", "max-prefixes: 5", "graceful-restart-helper: true",
						   "max-prefixes: 5, max-prefixes-action: stop", "max-advertised: 5"};
	char yaml[512];
	struct conf *a = load(NODE "peers: [{name: a, address: 10.0.0.2, asn: 6}]\n");
	struct conf *same =
	    load(NODE "\n# moved\npeers:\n  - asn: 6\n    address: 10.0.0.2\n    name: a\n    port: 179\n");
	ck_assert(conf_peer_same(&a->peers[0], &same->peers[0]));
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		snprintf(yaml, sizeof yaml, NODE "peers: [{%s}]\n", others[i]);
		struct conf *b = load(yaml);
		ck_assert_msg(!conf_peer_same(&a->peers[0], &b->peers[0]), "%s", others[i]);
		conf_free(b);
	}
	for (size_t i = 0; i < sizeof adjustable / sizeof *adjustable; i++) {
		snprintf(yaml, sizeof yaml, NODE "policies: [{name: p1}, {name: p2}]\npeers: [{name: a, address: 10.0.0.2, asn: 6, %s}]\n", adjustable[i]);
		struct conf *b = load(yaml);
		ck_assert_msg(conf_peer_same(&a->peers[0], &b->peers[0]), "%s", adjustable[i]);
		conf_free(b);
	}
	conf_free(same);
	conf_free(a);
}
END_TEST

START_TEST(a_vrf_is_everybodys_device)
{
	struct conf *c = load(NODE "kernel: {vrf: red}\n"
				   "peers: [{address: 10.0.0.2, asn: 6}, {interface: eth0, asn: 6}, {address: 10.0.0.3, asn: 6, device: eth1}]\n");
	ck_assert_str_eq(c->kernel.vrf, "red");
	ck_assert_str_eq(c->peers[0].device, "red");
	ck_assert_str_eq(c->peers[0].name, "10.0.0.2");
	ck_assert_str_eq(c->peers[1].device, "red");
	ck_assert_str_eq(c->peers[1].name, "eth0");
	ck_assert_str_eq(c->peers[2].device, "eth1");
	conf_free(c);
}
END_TEST

/* --- the rows --- */

static char *read_text(const char *name)
{
	char path[512];
	static char text[1 << 17];
	const char *srcdir = getenv("srcdir");
	snprintf(path, sizeof path, "%s/%s", srcdir ? srcdir : ".", name);
	FILE *f = fopen(path, "r");
	ck_assert_msg(f, "%s", path);
	text[fread(text, 1, sizeof text - 1, f)] = '\0';
	fclose(f);
	return text;
}

static void format_row(const struct conf_key *k, char *row, size_t cap)
{
	const char *tick = k->value ? "`" : "";
	if (k->type == CONF_KEY_LATER)
		snprintf(row, cap, "| `%s` | | | %s; not supported yet |\n", k->path, k->help);
	else
		snprintf(row, cap, "| `%s` | %s | %s%s%s | %s |\n", k->path, k->expected, tick,
			 k->value	? k->value
			 : k->otherwise ? k->otherwise
					: "",
			 tick, k->help);
}

/* Every key is a row of the table in docs/configuration.md, as the row here says it. */
START_TEST(rows_are_documented)
{
	char row[512];
	const char *text = read_text("docs/configuration.md");
	ck_assert_uint_gt(conf_key_count, 40);
	for (size_t i = 0; i < conf_key_count; i++) {
		format_row(&conf_keys[i], row, sizeof row);
		ck_assert_msg(strstr(text, row), "docs/configuration.md lacks the row\n%s", row);
	}
}
END_TEST

/* The manual page names every key that can be used. */
START_TEST(supported_keys_are_in_the_manual)
{
	char name[64];
	const char *text = read_text("docs/underlay.yaml.5");
	for (size_t i = 0; i < conf_key_count; i++) {
		snprintf(name, sizeof name, ".It Cm %s\n", conf_keys[i].path);
		if (conf_keys[i].type > CONF_KEY_RULES && conf_keys[i].type < CONF_KEY_LATER)
			ck_assert_msg(strstr(text, name), "docs/underlay.yaml.5 lacks %s", name);
	}
}
END_TEST

/* The blocks in the documentation that are whole configurations are accepted as they stand. */
START_TEST(documented_examples_load)
{
	char *at = read_text("docs/configuration.md");
	unsigned seen = 0;
	while ((at = strstr(at, "```yaml\n"))) {
		char *begin = at + strlen("```yaml\n"), *end = strstr(begin, "```\n");
		ck_assert_ptr_nonnull(end);
		*end = '\0';
		conf_free(load(begin));
		at = end + 1;
		seen++;
	}
	ck_assert_uint_ge(seen, 2);
}
END_TEST

START_TEST(rows_are_sound)
{
	for (size_t i = 0; i < conf_key_count; i++) {
		const struct conf_key *k = &conf_keys[i];
		ck_assert_msg(k->help && *k->help, "%s", k->path);
		ck_assert_msg(k->type == CONF_KEY_LATER || k->expected, "%s says nothing about what is expected",
			      k->path);
		for (size_t j = 0; j < i; j++)
			ck_assert_str_ne(conf_keys[j].path, k->path);
	}
}
END_TEST

static TCase *add_case(Suite *s, const char *name)
{
	TCase *tc = tcase_create(name);
	suite_add_tcase(s, tc);
	return tc;
}

int main(void)
{
	Suite *s = suite_create("conf");
	TCase *bad = add_case(s, "errors"), *good = add_case(s, "values"), *hostile = add_case(s, "hostile");
	TCase *edges = add_case(s, "edges"), *rows = add_case(s, "rows");
	tcase_add_loop_test(bad, bad_text_gives_its_errors, 0, (int)(sizeof bads / sizeof *bads));
	tcase_add_test(good, defaults_are_filled_in);
	tcase_add_test(good, peer_defaults_are_filled_in);
	tcase_add_test(good, every_key_reaches_its_field);
	tcase_add_test(good, every_peer_key_reaches_its_field);
	tcase_add_test(good, socket_follows_the_run_directory);
	tcase_add_test(good, lenient_where_it_is_safe);
	tcase_add_test(good, host_name_must_be_usable);
	tcase_add_test(hostile, large_files_are_refused);
	tcase_add_test(hostile, errors_are_bounded);
	tcase_add_test(hostile, alias_bombs_do_not_expand);
	tcase_add_test(hostile, nul_bytes_are_refused_with_their_place);
	tcase_add_test(edges, files_are_read);
	tcase_add_test(edges, peers_are_compared_by_their_settings);
	tcase_add_test(edges, peers_on_links_are_read);
	tcase_add_loop_test(edges, secrets_are_read_or_refused, 0, (int)(sizeof secret_cases / sizeof *secret_cases));
	tcase_add_test(edges, secret_files_that_are_none);
	tcase_add_test(edges, a_changed_secret_is_another_peer);
	tcase_add_test(rows, rows_are_documented);
	tcase_add_test(rows, supported_keys_are_in_the_manual);
	tcase_add_test(rows, documented_examples_load);
	tcase_add_test(rows, rows_are_sound);
	tcase_add_test(rows, a_vrf_is_everybodys_device);
	return run_suite(s);
}
