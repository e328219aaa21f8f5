"""Enhanced route refresh (RFC 7313): marks before and after, both ways, with BIRD, FRR and a hand-written speaker."""
import struct

from harness import holds_for, wait_until
from speaker import UPDATE, Speaker, capability, message, prefix_bytes, update

POD = "10.244.1.0/24"
NAMES = [f"10.244.{i}.0/24" for i in range(2, 8)]
REFRESH = 5
ENHANCED = capability(2) + capability(70)
ASK, BEGIN, END = (message(REFRESH, struct.pack("!HBB", 1, subtype, 1)) for subtype in (0, 1, 2))


def accepted(node, names):
    wait_until(lambda: {r["prefix"] for r in node.routes() if r["source"] == "tor"} == set(names), 10, f"{names}", node.routes)


def marks(speaker, *until):
    """What comes, as far as it is a mark or an UPDATE with our prefix, until the last one of until."""
    seen = []
    while seen[-1:] != list(until):
        kind, body = speaker.receive_until(REFRESH, UPDATE)
        if kind == REFRESH:
            seen.append({1: "begin", 2: "end"}[body[2]])
        elif prefix_bytes(POD) in body:
            seen.append("route")
    return seen


def test_what_is_left_out_is_gone(wire):
    node = wire.underlayd(passive=True, hold_time="90s").start()
    peer = Speaker.connect(wire.tor, "10.0.0.2", "10.0.0.1").establish(64512, hold=90, more=ENHANCED)
    say = lambda names: peer.send(update(names, "10.0.0.2", [64512]))  # noqa: E731
    say(NAMES)
    accepted(node, NAMES)
    peer.send(END)  # without a beginning it says nothing
    peer.send(BEGIN)
    say(NAMES[:3])
    holds_for(lambda: node.peer("tor")["accepted"] == len(NAMES), 0.5, "nothing goes before the end")
    peer.send(END)
    accepted(node, NAMES[:3])
    wait_until(lambda: set(wire.node.our_routes()) == {POD, *NAMES[:3]}, 10, "the kernel knows", wire.node.our_routes)
    peer.send(BEGIN + END)  # it has nothing any more
    accepted(node, [])
    assert node.established("tor")


def test_our_own_marks(wire):
    node = wire.underlayd(passive=True, hold_time="90s").start()
    peer = Speaker.connect(wire.tor, "10.0.0.2", "10.0.0.1").establish(64512, hold=90, more=ENHANCED)
    assert marks(peer, "route") == ["route"]
    peer.send(ASK)
    assert marks(peer, "end") == ["begin", "route", "end"]
    peer.send(ASK + ASK)
    assert marks(peer, "end")[-2:] == ["route", "end"]
    peer.send(message(REFRESH, b"\0\1\1\1\0"))
    assert peer.notification() == (7, 1, message(REFRESH, b"\0\1\1\1\0"))  # the whole message goes back
    assert node.peer("tor")["established_count"] == 1


def test_many_questions_have_few_marks(wire):
    """A peer that asks and does not read must not fill our memory with marks."""
    node = wire.underlayd(passive=True, hold_time="90s").start()
    peer = Speaker.connect(wire.tor, "10.0.0.2", "10.0.0.1").establish(64512, hold=90, more=ENHANCED)
    assert marks(peer, "route") == ["route"]
    peer.send(ASK * 2000 + message(UPDATE, bytes(4)))
    wait_until(lambda: node.peer("tor")["messages_in"] >= 2000, 10, "all are read")
    holds_for(lambda: node.established("tor"), 0.5, "the session, while the answer goes")
    assert node.peer("tor")["messages_out"] < 500
    peer.send(ASK)
    assert marks(peer, "end")[-1] == "end"


def test_marks_of_one_that_has_not_told_all_are_ignored(wire):
    """With graceful restart nothing is again before the End-of-RIB."""
    node = wire.underlayd(passive=True, hold_time="90s").start()
    peer = Speaker.connect(wire.tor, "10.0.0.2", "10.0.0.1").establish(
        64512, hold=90, more=ENHANCED + capability(64, struct.pack("!HHBB", 120, 1, 1, 0)))
    peer.send(update(NAMES, "10.0.0.2", [64512]) + BEGIN + END)
    accepted(node, NAMES)
    holds_for(lambda: node.peer("tor")["accepted"] == len(NAMES), 0.5, "they stay")
    peer.send(message(UPDATE, bytes(4)) + BEGIN + update(NAMES[:1], "10.0.0.2", [64512]) + END)
    accepted(node, NAMES[:1])


def test_with_switches(any_wire):
    """Asked by a reload that lets in more, and asking itself."""
    wire = any_wire
    switch = wire.switch(announce=["10.244.2.0/24", "10.99.0.0/24"]).start()
    node = wire.underlayd().start().wait_established("tor")
    assert "enhanced route refresh" in node.peer("tor")["capabilities_received"]
    accepted(node, ["10.244.2.0/24"])
    node.configure(wire.config(**{"import": "all"}))
    node.popen.send_signal(1)
    accepted(node, ["10.244.2.0/24", "10.99.0.0/24"])
    switch.wait_route(POD)
    if switch.kind == "bird":
        switch.ctl("reload", "in", "b0")
    else:
        switch.ctl("clear bgp 10.0.0.1 soft in")
    wait_until(lambda: node.peer("tor")["messages_out"] >= 5, 10, "the answer", lambda: node.peer("tor"))
    holds_for(lambda: node.established("tor") and switch.route(POD), 1, "the session, and our route there")
    assert node.peer("tor")["established_count"] == 1
