"""A restart, seen by a peer that takes its time: what it knew before may only go when it has told everything."""
import struct

from harness import holds_for, wait_until
from speaker import KEEPALIVE, Speaker, capability, message, update

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
