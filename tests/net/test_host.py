"""The host's settings: what is wrong is said with the line to type, and that line is right; what is ours is set."""
import json
import re
import signal
import socket
import struct

from harness import holds_for, wait_until
from switches import Bird, Neighbor
from test_pods import call_plugin

PODS = ["10.244.1.0/24", "fd10:244:1::/64"]


def config(*peers):
    return {"node": {"name": "node", "asn": 64701, "router-id": "10.0.0.1"},
            "pods": {"cidrs": PODS, "cluster-cidrs": ["10.244.0.0/16", "fd10:244::/32"]},
            "peers": [{"asn": 64512, "hold-time": "9s", **p} for p in peers]}


def setting(ns, path, value=None):
    if value is None:
        return ns.run("sysctl", "-n", path).stdout.strip()
    return ns.run("sysctl", "-q", "-w", f"{path}={value}")


class Advertiser:
    """A router that says so, at the end of a link: ICMPv6 type 134, lifetime 1800 s (RFC 4861 section 4.2)."""

    def __init__(self, ns, dev):
        self.index = json.loads(ns.ip("-j", "link", "show", dev))[0]["ifindex"]
        self.sock = ns.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
        self.sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)

    def say(self):
        message = struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, 1800, 0, 0)
        self.sock.sendto(message, ("ff02::1", 0, 0, self.index))


def router_default(ns):
    return ns.ip("-6", "route", "show", "default", "proto", "ra")


def learn_default(ns, advertiser):
    def has_it():
        advertiser.say()
        return router_default(ns)
    wait_until(has_it, 20, f"{ns.name} has its default route from router advertisements")


def wrong(node):
    return {row["setting"]: row["what"] for row in node.ask("show", "host") if row["verdict"] == "wrong"}


def test_the_lines_to_type_are_right(net):
    """Two uplinks, strict filters, no forwarding, an IPv6 default route from router advertisements. Each line that is
    shown is typed as it stands: then nothing is wrong, and the default route is still there, which on a host where
    somebody has thought of forwarding alone it is not."""
    ns, careless, tor = net.ns("node"), net.ns("careless"), net.ns("tor", router=True)
    net.link(ns, "eth0", "10.0.0.1/30", tor, "to-n", "10.0.0.2/30")
    net.link(ns, "eth1", "10.0.1.1/30", tor, "to-n1", "10.0.1.2/30")
    net.link(careless, "eth0", None, tor, "to-c", None)
    for where in (ns, careless):
        setting(where, "net.ipv4.ip_forward", 0)
        setting(where, "net.ipv6.conf.all.forwarding", 0)
        setting(where, "net.ipv6.conf.eth0.accept_ra", 1)
    setting(ns, "net.ipv4.conf.all.rp_filter", 1)
    learn_default(ns, Advertiser(tor, "to-n"))
    learn_default(careless, Advertiser(tor, "to-c"))
    node = net.underlayd(ns, config({"name": "a", "address": "10.0.0.2"}, {"name": "b", "address": "10.0.1.2"})).start()
    said = wrong(node)
    assert set(said) == {"net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding", "net.ipv6.conf.eth0.accept_ra",
                         "net.ipv4.conf.eth0.rp_filter", "net.ipv4.conf.eth1.rp_filter"}
    assert sorted(node.status()["warnings"]) == sorted(said.values())
    assert all(node.log().count(what) == 1 for what in said.values())
    typed = said.pop("net.ipv6.conf.all.forwarding")  # alone it must do
    del said["net.ipv6.conf.eth0.accept_ra"]
    for what in (typed, *said.values()):
        ns.run(*re.search(r": (sysctl -w .*)", what)[1].split())
    setting(careless, "net.ipv6.conf.all.forwarding", 1)
    wait_until(lambda: not router_default(careless), 10, "the careless one has lost its way")
    holds_for(lambda: router_default(ns), 0.5, "the default route")
    assert wrong(node) == {} and node.status()["warnings"] == []
    node.popen.send_signal(signal.SIGHUP)  # which looks again
    node.wait_log("host: net.ipv6.conf.all.forwarding is no longer wrong")
    rows = {row["setting"]: row for row in node.ask("show", "host")}
    assert rows["net.ipv4.conf.eth1.rp_filter"]["value"] == "2 (its own 2, all 1)"
    assert rows["net.ipv4.fib_multipath_hash_policy"]["verdict"] == "note"
    assert rows["net.ipv4.neigh.default.gc_thresh3"]["verdict"] == "not known"  # no table of its own in a namespace


def test_a_strict_filter_is_said_where_it_drops(net):
    """Traffic comes over one uplink and its way back is the other one; it is dropped, and flows after the line that is said."""
    ns, tor = net.ns("node"), net.ns("tor", router=True)
    for i in (0, 1):
        net.link(ns, f"eth{i}", f"10.0.{i}.1/30", tor, f"to-n{i}", f"10.0.{i}.2/30")
    setting(ns, "net.ipv4.conf.all.rp_filter", 1)
    setting(ns, "net.ipv4.ip_forward", 1)
    setting(ns, "net.ipv6.conf.all.forwarding", 1)
    tor.ip("address", "add", "10.244.2.1/32", "dev", "lo")
    tor.ip("route", "add", "10.244.1.9/32", "via", "10.0.1.1")  # in by eth1
    ns.ip("address", "add", "10.244.1.9/32", "dev", "lo")
    net.add(Bird(tor, net.subdir("bird"), "bird", "10.0.0.2", [Neighbor("10.0.0.2", 64512, "10.0.0.1", 64701, hold=9)],
                 ["10.244.2.0/24"])).start()
    node = net.underlayd(ns, config({"name": "a", "address": "10.0.0.2"}, {"name": "b", "address": "10.0.1.2"})).start()
    wait_until(lambda: ns.our_routes().get("10.244.2.0/24") == ["10.0.0.2"], 20, "the way back is eth0")

    def pings():
        return tor.run("ping", "-c1", "-W1", "-I", "10.244.2.1", "10.244.1.9", check=False).returncode == 0

    assert not pings()
    ns.run(*re.search(r": (sysctl -w .*)", wrong(node)["net.ipv4.conf.eth1.rp_filter"])[1].split())
    wait_until(pings, 10, "it flows")


def test_what_is_ours_is_set(net):
    """The links of pods: made right by the plugin, whatever the host's defaults, and set right again by the daemon."""
    ns, pod = net.ns("node"), net.ns("pod")
    setting(ns, "net.ipv4.ip_forward", 1)
    setting(ns, "net.ipv6.conf.all.forwarding", 1)
    setting(ns, "net.ipv4.conf.default.forwarding", 0)
    setting(ns, "net.ipv6.conf.default.accept_ra", 2)
    node = net.underlayd(ns, config()).start()
    call_plugin("ADD", ns, "c1", pod, {"cniVersion": "1.0.0", "name": "underlay", "type": "underlay", "runDir": str(node.run_dir)})
    link = node.ask("show", "pods")[0]["host_interface"]
    ours = {f"net.ipv4.conf.{link}.forwarding": "1", f"net.ipv6.conf.{link}.accept_ra": "0"}
    assert {path: setting(ns, path) for path in ours} == ours
    for path, value in ours.items():
        setting(ns, path, 2 if value == "0" else 0)
    node.popen.send_signal(signal.SIGHUP)
    node.wait_log("2 settings of pods' links were put right")
    assert {path: setting(ns, path) for path in ours} == ours
    assert [r["value"] for r in node.ask("show", "host") if r["check"] == "pods' links"] == ["1 links, set by us"]
