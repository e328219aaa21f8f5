"""ROUTE-REFRESH both ways, messages above 4096 bytes, and too many prefixes."""
import signal
import socket
import struct

from harness import holds_for, wait_until
from speaker import KEEPALIVE, NOTIFICATION, UPDATE, Speaker, attribute, capability, message, prefix_bytes, update

POD = "10.244.1.0/24"
OTHERS = ["10.244.2.0/24", "10.99.0.0/24"]
REFRESH, EXTENDED = capability(2), capability(6)


def reload(node, config):
    start = len(node.log())
    node.configure(config)
    node.popen.send_signal(signal.SIGHUP)
    return node.wait_log(r"reload: .*(applied|nothing was changed)", 20, start).group(0)


def test_policies_change_under_the_session(any_wire):
    """Wider and narrower imports and exports: the switch is asked again, no session is lost."""
    wire = any_wire
    switch = wire.switch(announce=OTHERS).start()
    node = wire.underlayd().start().wait_established("tor")
    wait_until(lambda: wire.node.our_routes() == {POD: ["blackhole"], OTHERS[0]: ["10.0.0.2"]}, 20, "what is in the cluster")
    wide = wire.config(pods={"cidrs": [POD], "cluster-cidrs": ["10.244.0.0/16", "10.99.0.0/16"]})
    reload(node, wide)
    wait_until(lambda: set(wire.node.our_routes()) == {POD, *OTHERS}, 20, "the wider cluster", wire.node.our_routes)
    reload(node, wire.config(**{"import": "none"}))
    wait_until(lambda: set(wire.node.our_routes()) == {POD}, 20, "nothing", wire.node.our_routes)
    reload(node, wire.config(**{"import": "all", "export": "none"}))
    wait_until(lambda: set(wire.node.our_routes()) == {POD, *OTHERS}, 20, "everything", wire.node.our_routes)
    switch.wait_no_route(POD)
    reload(node, wire.config(export="all"))
    switch.wait_route(POD)
    wait_until(lambda: set(wire.node.our_routes()) == {POD, OTHERS[0]}, 20, "the cluster again", wire.node.our_routes)
    assert node.peer("tor")["established_count"] == 1


def test_without_refresh_it_takes_a_new_session(wire):
    node = wire.underlayd(passive=True, hold_time="90s").start()
    peer = Speaker.connect(wire.tor, "10.0.0.2", "10.0.0.1").establish(64512, hold=90)
    node.wait_established("tor")
    reload(node, wire.config(passive=True, hold_time="90s", **{"import": "all"}))
    assert peer.receive_until(NOTIFICATION)[1][:2] == bytes([6, 6])


def test_answers_a_refresh(wire):
    node = wire.underlayd(passive=True, hold_time="90s").start()
    peer = Speaker.connect(wire.tor, "10.0.0.2", "10.0.0.1").establish(64512, hold=90, more=REFRESH)
    first = peer.receive_until(UPDATE)[1]
    assert prefix_bytes(POD) in first
    peer.send(message(5, struct.pack("!HBB", 1, 0, 1)))
    assert peer.receive_until(UPDATE)[1] == first
    for ignored in (struct.pack("!HBB", 25, 0, 70), struct.pack("!HBB", 1, 9, 1)):  # unknown family, unknown subtype
        peer.send(message(5, ignored))
    peer.send(message(KEEPALIVE))
    holds_for(lambda: node.established("tor"), 0.5, "the session")
    peer.send(message(5, b"\0\1\0"))
    assert peer.notification()[:2] == (7, 1)


def test_extended_messages(wire):
    """An UPDATE of 20 000 bytes when both can; told on only to who can take it; 4097 bytes when one cannot is an error."""
    config = {"node": {"name": "n", "asn": 64700, "router-id": "10.0.0.1"}, "kernel": {"install": False}, "peers": []}
    for i, last in enumerate((2, 5, 6)):
        if last > 2:
            wire.tor.ip("address", "add", f"10.0.0.{last}/29", "dev", "eth0")
        config["peers"].append({"name": f"p{i}", "address": f"10.0.0.{last}", "asn": 64800 + i, "passive": True,
                                "hold-time": "90s", "import": "all", "export": "all"})
    wire.node.ip("address", "add", "10.0.0.1/29", "dev", "eth0")
    node = wire.net.underlayd(wire.node, config).start()
    can, too, cannot = [Speaker.connect(wire.tor, f"10.0.0.{last}", "10.0.0.1").establish(
        64800 + i, router_id=f"10.0.0.{last}", hold=90, more=EXTENDED if i < 2 else b"") for i, last in enumerate((2, 5, 6))]
    node.wait_established("p0", "p1", "p2")
    communities = b"".join(struct.pack("!HH", 64800, i) for i in range(5000))
    long_one = struct.pack("!BBH", 0xd0, 8, len(communities)) + communities
    attributes = (attribute(1, b"\0") + attribute(2, struct.pack("!BBI", 2, 1, 64800)) +
                  attribute(3, socket.inet_aton("10.0.0.2")) + long_one)
    can.send(update(["203.0.113.0/24"], attributes=attributes))
    can.send(update(["203.0.114.0/24"], "10.0.0.2", [64800]))
    got = [too.receive_until(UPDATE)[1] for _ in range(2)]
    assert sorted(len(g) > 20000 for g in got) == [False, True]
    assert any(communities in g and prefix_bytes("203.0.113.0/24") in g for g in got)
    # the one with the small messages hears of the other prefix, and of the long one only that it is not to be had
    while True:
        body = cannot.receive_until(UPDATE)[1]
        gone = struct.unpack("!H", body[:2])[0]
        if body.endswith(prefix_bytes("203.0.114.0/24")) and gone == 0:
            break
        assert body[2:2 + gone] == prefix_bytes("203.0.113.0/24")
    cannot.send(message(UPDATE, bytes(4097 - 19)))
    assert cannot.notification()[:2] == (1, 2)
    assert node.established("p0", "p1")


def test_too_many_prefixes(wire):
    node = wire.underlayd(passive=True, hold_time="90s", max_prefixes=3, **{"import": "all"}).start()
    peer = Speaker.connect(wire.tor, "10.0.0.2", "10.0.0.1").establish(64512, hold=90)
    names = [f"10.99.{i}.0/24" for i in range(4)]
    peer.send(update(names[:3], "10.0.0.2", [64512]))
    wait_until(lambda: node.peer("tor")["accepted"] == 3, 10, "three are fine")
    peer.send(update(names[3:], "10.0.0.2", [64512]))
    assert peer.notification()[:2] == (6, 1)
    wait_until(lambda: "max-prefixes" in (node.peer("tor")["last_error"] or ""), 10, "the reason is shown")
    wait_until(lambda: set(wire.node.our_routes()) == {POD}, 10, "its routes are gone", wire.node.our_routes)
