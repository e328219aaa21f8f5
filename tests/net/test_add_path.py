"""Several paths of one session to a prefix (RFC 7911), with BIRD and FRR at the other end."""
import json
import signal
import socket
import struct

from harness import PROTOCOL, wait_until
from speaker import Speaker, attribute, capability, message, update
from switches import Neighbor

AS, HOPS = 64701, (13, 14)
PREFIX, PREFIX6 = "10.244.9.0/24", "fd10:244:9::/64"
BOTH = capability(1, struct.pack("!HBB", 2, 0, 1))
SENDS = {"bird": ("add paths tx;",), "frr": ("addpath-tx-all-paths",)}
TAKES = {"bird": ("add paths rx;",), "frr": ()}  # FRR does unless told otherwise
CLIENT = {"bird": {"more": ("direct;", "rr client;"), "channel": ()}, "frr": {"more": (), "channel": ("route-reflector-client",)}}


def update6(prefix, next_hop, withdraw=False, common=attribute(1, b"\0") + attribute(2, b"") + attribute(5, b"\0\0\0\x64")):
    address, length = prefix.split("/")
    nlri = bytes([int(length)]) + socket.inet_pton(socket.AF_INET6, address)[: int(length) // 8]
    if withdraw:
        attributes = attribute(15, struct.pack("!HB", 2, 1) + nlri, 0x80)
    else:
        hop = socket.inet_pton(socket.AF_INET6, next_hop)
        attributes = attribute(14, struct.pack("!HBB", 2, 1, 16) + hop + b"\0" + nlri, 0x80) + common
    return message(2, struct.pack("!HH", 0, len(attributes)) + attributes)


def internal(prefix, next_hop):
    return update([prefix], attributes=attribute(1, b"\0") + attribute(2, b"") + attribute(3, socket.inet_aton(next_hop)) +
                  attribute(5, struct.pack("!I", 100)))


class Reflected:
    """The switch reflects what two others announce, both paths of it, to the node."""

    def __init__(self, wire):
        self.wire = wire
        wire.node.ip("address", "add", "fd00::1/64", "dev", "eth0", "nodad")
        wire.tor.ip("address", "add", "10.0.0.2/28", "dev", "eth0")
        for last in (1, 5, 6):
            wire.node.ip("address", "add", f"10.0.0.{last}/28", "dev", "eth0")
        wire.tor.ip("address", "add", "fd00::2/64", "dev", "eth0", "nodad")
        client = CLIENT[wire.kind]
        common = {"families": ("ipv4", "ipv6"), "next_hop_self": False, "more": client["more"]}
        self.switch = wire.switch(asn=AS, node_asn=AS, channel=client["channel"] + SENDS[wire.kind], **common)
        for last in (5, 6):
            self.switch.neighbors.append(Neighbor("10.0.0.2", AS, f"10.0.0.{last}", AS, passive=True, hold=90,
                                                  channel=client["channel"], **common))
        self.switch.start()
        self.others = [wait_until(lambda: self.speaker(f"10.0.0.{last}"), 20, "the switch takes sessions") for last in (5, 6)]

    def speaker(self, address):
        """None while the switch closes connections because it has just begun."""
        try:
            return Speaker.connect(self.wire.node, address, "10.0.0.2").establish(AS, router_id=address, hold=90, more=BOTH)
        except (TypeError, AssertionError):
            return None

    def announce(self, i):
        self.others[i].send(internal(PREFIX, f"10.0.0.{HOPS[i]}")).send(update6(PREFIX6, f"fd00::{HOPS[i]}"))

    def withdraw(self, i):
        self.others[i].send(update(withdrawn=[PREFIX])).send(update6(PREFIX6, "", withdraw=True))

    def config(self, receive=True):
        pods = {"cidrs": ["10.244.1.0/24"], "cluster-cidrs": ["10.244.0.0/16", "fd10:244::/32"]}
        return self.wire.config(tor_asn=AS, pods=pods, add_path={"receive": receive})

    def underlayd(self):
        return self.wire.net.underlayd(self.wire.node, self.config(), "underlayd").start().wait_established("tor")


def gateways(ns):
    """Of our routes to the two prefixes."""
    found = {PREFIX: ns.our_routes().get(PREFIX, [])}
    for row in json.loads(ns.ip("-6", "-j", "-d", "route", "show", PREFIX6, "proto", PROTOCOL) or "[]"):
        found.setdefault(PREFIX6, []).extend(hop["gateway"] for hop in row.get("nexthops", [row]))
    return {prefix: sorted(hops) for prefix, hops in found.items() if hops}


def wait_hops(wire, *last):
    wanted = {PREFIX: [f"10.0.0.{i}" for i in last], PREFIX6: [f"fd00::{i}" for i in last]} if last else {}
    wait_until(lambda: gateways(wire.node) == wanted, 20, f"next hops {last}", lambda: gateways(wire.node))


def test_two_paths_make_a_multipath_route(any_wire):
    fabric = Reflected(any_wire)
    fabric.announce(0)
    fabric.announce(1)
    node = fabric.underlayd()
    wait_hops(any_wire, *HOPS)
    peer = node.peer("tor")
    assert peer["add_path"] == {"ipv4": "receive", "ipv6": "receive"} and peer["accepted"] == 4
    rows = node.routes(PREFIX)
    assert len(rows) == 2 and len({row["path_id"] for row in rows}) == 2 and {row["mark"] for row in rows} == {"*", "+"}
    assert "Path ID" in node.client("show", "routes").stdout
    assert "ipv4 receive, ipv6 receive" in node.client("show", "peers", "tor").stdout
    fabric.withdraw(0)
    wait_hops(any_wire, HOPS[1])
    assert "path_id" in node.routes(PREFIX)[0]
    fabric.announce(0)
    wait_hops(any_wire, *HOPS)
    fabric.others[1].close()
    wait_hops(any_wire, HOPS[0])
    fabric.switch.disable()
    wait_hops(any_wire)
    wait_until(lambda: not node.routes(PREFIX), 20, "no path is left")


def test_changing_it_takes_a_new_session(wire):
    switch = wire.switch(asn=AS, node_asn=AS, channel=SENDS["bird"]).start()
    node = wire.underlayd(tor_asn=AS).start().wait_established("tor")
    assert not node.peer("tor")["add_path"]
    node.configure(wire.config(tor_asn=AS, add_path={"receive": True}))
    node.popen.send_signal(signal.SIGHUP)
    node.wait_log("peer tor: settings changed: starting anew")
    wait_until(lambda: node.peer("tor")["add_path"] == {"ipv4": "receive"}, 20, "the agreement", lambda: node.peer("tor"))
    assert switch.established()


class Passed:
    """Three others tell the node of the same prefixes, with longer and longer paths; the switch gets two."""

    def __init__(self, wire):
        self.wire = wire
        wire.node.ip("address", "add", "10.0.0.1/28", "dev", "eth0")
        for ns, last in ((wire.node, 1), (wire.tor, 2)):
            ns.ip("address", "add", f"fd00::{last}/64", "dev", "eth0", "nodad")
        config = wire.config(pods={"cidrs": ["10.244.1.0/24"]}, add_path={"send": 2}, export="all", **{"import": "all"})
        for last in (5, 6, 7):
            wire.tor.ip("address", "add", f"10.0.0.{last}/28", "dev", "eth0")
            config["peers"].append({"name": f"p{last}", "address": f"10.0.0.{last}", "asn": 64800 + last, "passive": True,
                                    "hold-time": "90s", "import": "all", "export": "none"})
        self.switch = wire.switch(families=("ipv4", "ipv6"), next_hop_self=False, channel=TAKES[wire.kind]).start()
        self.node = wire.net.underlayd(wire.node, config, "underlayd").start().wait_established("tor")
        self.others = {last: Speaker.connect(wire.tor, f"10.0.0.{last}", "10.0.0.1").establish(
            64800 + last, router_id=f"10.0.0.{last}", hold=90, more=BOTH) for last in (5, 6, 7)}

    def announce(self, last):
        path = [64800 + last] * (last - 4)
        common = attribute(1, b"\0") + attribute(2, struct.pack("!BB", 2, len(path)) + struct.pack(f"!{len(path)}I", *path))
        self.others[last].send(update([PREFIX], attributes=common + attribute(3, socket.inet_aton(f"10.0.0.{last}"))))
        self.others[last].send(update6(PREFIX6, f"fd00::{last}", common=common))

    def withdraw(self, last):
        self.others[last].send(update(withdrawn=[PREFIX])).send(update6(PREFIX6, "", withdraw=True))

    def told(self):
        """Who the switch knows the prefixes from: what came from the node only."""
        return {prefix: sorted(int(route["as_path"].split()[-1]) - 64800 for route in self.switch.route(prefix)
                                if route["as_path"].startswith("64701"))
                for prefix in (PREFIX, PREFIX6)}

    def wait_told(self, *wanted):
        wait_until(lambda: self.told() == {PREFIX: list(wanted), PREFIX6: list(wanted)}, 20, f"the paths of {wanted}", self.told)


def test_the_best_paths_are_passed_on(any_wire):
    fabric = Passed(any_wire)
    for last in (7, 6, 5):
        fabric.announce(last)
    fabric.wait_told(5, 6)
    assert fabric.node.peer("tor")["add_path"] == {"ipv4": "send 2", "ipv6": "send 2"}
    assert fabric.node.peer("tor")["advertised"] == 3  # prefixes, its own CIDR among them
    fabric.withdraw(5)
    fabric.wait_told(6, 7)
    fabric.others[6].close()
    fabric.wait_told(7)
    fabric.announce(5)  # it is the best one now
    fabric.wait_told(5, 7)
    fabric.withdraw(7)  # and a change of what is not
    fabric.wait_told(5)
    fabric.withdraw(5)
    fabric.wait_told()
    assert fabric.node.peer("tor")["advertised"] == 1 and fabric.node.peer("tor")["established_count"] == 1


def test_what_the_peer_brought_takes_no_place(wire):
    """The switch's own path is the best one; it gets the two behind it."""
    fabric = Passed(wire)
    for last in (5, 6):
        fabric.announce(last)
    wait_until(lambda: all(fabric.node.peer(f"p{last}")["accepted"] == 2 for last in (5, 6)), 20, "the others' paths came")
    fabric.switch.announce(PREFIX, PREFIX6)
    wait_until(lambda: fabric.node.used()[PREFIX][0] == "10.0.0.2", 20, "the switch's path is best", fabric.node.used)
    assert "tor" in fabric.node.ask("show", "routes", "why", PREFIX)[0]["told"]
    fabric.wait_told(5, 6)
    fabric.announce(7)
    fabric.withdraw(5)
    fabric.wait_told(6, 7)
