"""A restart, seen by a peer that takes its time: what it knew before may only go when it has told everything."""
import struct

from harness import holds_for, wait_until
from speaker import KEEPALIVE, NOTIFICATION, OPEN, Speaker, capability, message, open_message, update

OLD = ["10.244.2.0/24", "10.244.3.0/24"]
GRACEFUL = capability(64, struct.pack("!HHBB", 120, 1, 1, 0x80))


def leave_routes_behind(wire):
    for prefix in OLD:
        wire.node.ip("route", "add", prefix, "via", "10.0.0.2", "proto", "171", "metric", "32")


def test_waits_for_a_peer_that_is_slow_to_talk(wire):
    leave_routes_behind(wire)
    node = wire.underlayd(passive=True, hold_time="90s").start()
    peer = Speaker.connect(wire.tor, "10.0.0.2", "10.0.0.1").establish(64512, more=GRACEFUL, hold=90)
    node.wait_established("tor")
    holds_for(lambda: set(OLD) <= set(wire.node.our_routes()), 5, "the routes of before, while the peer prepares")
    assert node.status()["phase"].startswith("restarting")
    peer.send(update(OLD[:1], "10.0.0.2", [64512]))
    holds_for(lambda: set(OLD) <= set(wire.node.our_routes()), 2, "the routes of before, while the peer talks")
    peer.send(update())  # End-of-RIB
    wait_until(lambda: set(wire.node.our_routes()) == {"10.244.1.0/24", OLD[0]}, 20, "what was not told again is gone",
               wire.node.our_routes)
    assert node.status()["phase"] == "running"
    peer.send(message(KEEPALIVE))
    assert node.peer("tor")["end_of_rib_received"] is True


def test_a_peer_without_graceful_restart_is_done_when_it_is_silent(wire):
    leave_routes_behind(wire)
    node = wire.underlayd(passive=True, hold_time="90s").start()
    peer = Speaker.connect(wire.tor, "10.0.0.2", "10.0.0.1").establish(64512, hold=90)
    node.wait_established("tor")
    peer.send(update(OLD[:1], "10.0.0.2", [64512]))
    wait_until(lambda: node.peer("tor")["accepted"] == 1, 10, "it was heard")
    assert set(OLD) <= set(wire.node.our_routes())
    wait_until(lambda: set(wire.node.our_routes()) == {"10.244.1.0/24", OLD[0]}, 30, "what was not told again is gone",
               wire.node.our_routes)


RESTARTED = capability(64, struct.pack("!HHBB", 0x8000 | 120, 1, 1, 0x80))


def test_a_peer_that_restarted_takes_its_session_over(wire):
    """Its old connection is as good as dead, and nobody told us: the new one says so, and counts at once. One that only
    claims to be the peer once more is turned away, and changes nothing."""
    node = wire.underlayd(passive=True, hold_time="90s").start()
    old = Speaker.connect(wire.tor, "10.0.0.2", "10.0.0.1").establish(64512, more=GRACEFUL, hold=90)
    old.send(update(OLD[:1], "10.0.0.2", [64512]))
    wait_until(lambda: OLD[0] in wire.node.our_routes(), 20, "its route is there")

    def second(more):
        s = Speaker.connect(wire.tor, "10.0.0.2", "10.0.0.1")
        s.send(open_message(64512, hold=90, more=more))
        answer = s.receive()
        return s if answer and answer[0] == OPEN else None

    again = wait_until(lambda: second(GRACEFUL), 20, "a second connection is looked at")
    assert again.notification()[:2] == (6, 7)
    assert node.peer("tor")["state"] == "Established" and node.peer("tor")["established_count"] == 1
    new = wait_until(lambda: second(RESTARTED), 20, "a second connection is looked at")
    assert old.receive_until(NOTIFICATION) is None, "the old connection ends without a word"
    new.send(message(KEEPALIVE)).send(update(OLD[1:], "10.0.0.2", [64512]))
    wait_until(lambda: node.peer("tor")["established_count"] == 2 and node.established("tor"), 20, "the new one is the session")
    wait_until(lambda: set(wire.node.our_routes()) == {"10.244.1.0/24", OLD[1]}, 20, "with its routes", wire.node.our_routes)
    assert "restarted" in node.peer("tor")["last_error"]
