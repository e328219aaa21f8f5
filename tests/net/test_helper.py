"""The routes of a peer that restarts gracefully (RFC 4724) stay where that was asked for, and only there."""
import struct

import pytest
from harness import holds_for, wait_until
from speaker import NOTIFICATION, Speaker, capability, message, update

POD, OLD = "10.244.1.0/24", ["10.244.2.0/24", "10.244.3.0/24"]
RESTARTING = 0x8000


def graceful(time=30, flags=0, kept=0x80):
    return capability(64, struct.pack("!HHBB", flags | time, 1, 1, kept))


def connect(wire, more):
    return Speaker.connect(wire.tor, "10.0.0.2", "10.0.0.1").establish(64512, hold=90, more=more)


def begin(wire, more=graceful(), **config):
    """A session that brought two routes."""
    node = wire.underlayd(passive=True, hold_time="90s", **{"graceful_restart_helper": True, **config}).start()
    peer = connect(wire, more)
    peer.send(update(OLD, "10.0.0.2", [64512])).send(update())
    wait_routes(wire, *OLD)
    return node, peer


def wait_routes(wire, *wanted):
    wait_until(lambda: set(wire.node.our_routes()) == {POD, *wanted}, 20, f"routes {wanted}", wire.node.our_routes)


def wait_down(node):
    wait_until(lambda: not node.established("tor"), 20, "the session is over")


def test_routes_stay_until_the_peer_has_told_them_again(wire):
    node, peer = begin(wire)
    peer.close()
    wait_down(node)
    assert node.peer("tor")["kept_routes"] == 2 and node.peer("tor")["kept_for"]
    peer = connect(wire, graceful(flags=RESTARTING))
    node.wait_established("tor")
    peer.send(update(OLD[:1], "10.0.0.2", [64512, 64513]))
    wait_until(lambda: "64512 64513" in {row["as_path"] for row in node.routes()}, 20, "the first is told again", node.routes)
    assert {POD, *OLD} == set(wire.node.our_routes())
    peer.send(update())  # End-of-RIB
    wait_routes(wire, OLD[0])
    assert node.peer("tor")["accepted"] == 1
    peer.close()  # once more: what is there now is kept as well
    wait_down(node)
    assert node.peer("tor")["kept_routes"] == 1 and OLD[0] in wire.node.our_routes()


@pytest.mark.parametrize("more,config", [(graceful(), {"graceful_restart_helper": False}), (b"", {}), (graceful(time=0), {})],
                         ids=["not asked for", "the peer does not restart", "in no time"])
def test_otherwise_they_go_at_once(wire, more, config):
    node, peer = begin(wire, more, **config)
    peer.close()
    wait_routes(wire)
    assert not node.peer("tor").get("kept_routes")


def test_words_end_it(wire):
    node, peer = begin(wire)
    peer.send(message(NOTIFICATION, bytes([6, 2])))
    wait_routes(wire)
    assert not node.peer("tor").get("kept_routes")


def test_a_peer_that_did_not_forward_has_lost_them(wire):
    node, peer = begin(wire)
    peer.close()
    wait_down(node)
    peer = connect(wire, graceful(flags=RESTARTING, kept=0))
    wait_routes(wire)
    peer.send(update(OLD[1:], "10.0.0.2", [64512]))
    wait_routes(wire, OLD[1])
    assert node.peer("tor")["accepted"] == 1


def test_a_peer_that_stays_away_has_lost_them(wire):
    node, peer = begin(wire, graceful(time=2))
    peer.close()
    wait_down(node)
    holds_for(lambda: set(OLD) <= set(wire.node.our_routes()), 1, "what is kept")
    wait_routes(wire)
    assert node.wait_log("did not come back in time")


def test_a_link_that_goes_takes_them_along(wire):
    node, peer = begin(wire)
    peer.close()
    wait_down(node)
    wire.tor.ip("link", "set", "eth0", "down")
    wait_until(lambda: not node.peer("tor").get("kept_routes"), 20, "nothing is kept")
    wait_until(lambda: not set(OLD) & set(wire.node.our_routes()), 20, "no route is left", wire.node.our_routes)


def test_a_peer_that_takes_its_session_over_keeps_them(wire):
    """It fell over without a word on the old connection."""
    node, first = begin(wire)

    def again():
        try:  # refused while two starts could still be colliding
            return connect(wire, graceful(flags=RESTARTING))
        except (AssertionError, TypeError):
            assert set(OLD) <= set(wire.node.our_routes())
            return None

    peer = wait_until(again, 20, "the new connection is taken")
    holds_for(lambda: set(OLD) <= set(wire.node.our_routes()), 0.5, "what is kept")
    assert node.peer("tor")["established_count"] == 2
    peer.send(update(OLD[1:], "10.0.0.2", [64512])).send(update())
    wait_routes(wire, OLD[1])
    first.close()
