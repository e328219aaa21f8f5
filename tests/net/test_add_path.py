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
CLIENT = {"bird": {"more": ("direct;", "rr client;"), "channel": ()}, "frr": {"more": (), "channel": ("route-reflector-client",)}}


def update6(prefix, next_hop, withdraw=False):
    address, length = prefix.split("/")
    nlri = bytes([int(length)]) + socket.inet_pton(socket.AF_INET6, address)[: int(length) // 8]
    if withdraw:
        attributes = attribute(15, struct.pack("!HB", 2, 1) + nlri, 0x80)
    else:
        hop = socket.inet_pton(socket.AF_INET6, next_hop)
        attributes = (attribute(14, struct.pack("!HBB", 2, 1, 16) + hop + b"\0" + nlri, 0x80) + attribute(1, b"\0") +
                      attribute(2, b"") + attribute(5, struct.pack("!I", 100)))
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
