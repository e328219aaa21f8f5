"""underlayd with underlayd, and underlayd as a plain speaker in the middle of others."""
import pytest

from harness import wait_until
from switches import KINDS, Bird, Neighbor


def pair(net, **peer):
    """Two nodes on one wire, each the other's peer, both calling."""
    a, b = net.ns("a", router=True), net.ns("b", router=True)
    net.link(a, "eth0", "10.0.0.1/30", b, "eth0", "10.0.0.2/30")
    daemons = []
    for ns, me, you, number in ((a, "10.0.0.1", "10.0.0.2", 1), (b, "10.0.0.2", "10.0.0.1", 2)):
        daemons.append(net.underlayd(ns, {
            "node": {"name": f"n{number}", "asn": 64700 + number, "router-id": me},
            "pods": {"cidrs": [f"10.244.{number}.0/24"], "cluster-cidrs": ["10.244.0.0/16"]},
            "peers": [{"name": "other", "address": you, "asn": 64703 - number, "hold-time": "3s", **peer}]}))
    return a, b, daemons


def connections(ns):
    rows = ns.run("ss", "-H", "-t", "-n", "state", "established", "( sport = :179 or dport = :179 )").stdout
    return len(rows.splitlines())


@pytest.mark.essential
def test_collision(net):
    """Both call at the same moment, again and again: always one session over one connection."""
    a, b, daemons = pair(net)
    for _ in range(6):
        for d in daemons:
            d.start(wait=False)
        for d in daemons:
            d.wait_established("other", timeout=30)
        wait_until(lambda: connections(a) == 1 and connections(b) == 1, 20, "there is one connection",
                   lambda: a.run("ss", "-tnp").stdout)
        wait_until(lambda: a.our_routes().get("10.244.2.0/24") == ["10.0.0.2"]
                   and b.our_routes().get("10.244.1.0/24") == ["10.0.0.1"], 20, "they have each other's pods")
        for d in daemons:
            assert d.stop() == 0


def test_link_flap_between_two_callers(net):
    """The session returns after the wire was gone for longer than the hold time."""
    a, b, daemons = pair(net)
    for d in daemons:
        d.start()
    for d in daemons:
        d.wait_established("other")
    a.ip("link", "set", "eth0", "down")
    for d in daemons:
        wait_until(lambda d=d: not d.established("other"), 20, "the session is down")
    a.ip("link", "set", "eth0", "up")
    for d in daemons:
        d.wait_established("other", timeout=60)
    wait_until(lambda: connections(a) == 1 and connections(b) == 1, 30, "there is one connection")


@pytest.mark.parametrize("kinds", [("bird", "bird"), ("bird", "frr")], ids="-".join)
def test_plain_speaker(net, kinds):
    """kernel: {install: false}, import and export all, passive: what a load generator needs. What one
    neighbour says the other hears, with our AS in front and our address as next hop, and no kernel route."""
    middle, sides, peers = net.ns("middle", router=True), [], []
    for i, kind in enumerate(kinds):
        ns = net.ns(f"side{i}")
        net.link(middle, f"eth{i}", f"10.0.{i}.1/30", ns, "eth0", f"10.0.{i}.2/30")
        sides.append(net.add(KINDS[kind](
            ns, net.subdir(f"side{i}"), f"side{i}", f"10.0.{i}.2",
            [Neighbor(f"10.0.{i}.2", 64601 + i, f"10.0.{i}.1", 64700)],
            [f"198.51.{100 + i}.{j * 16}/28" for j in range(16)])))
        peers.append({"name": f"side{i}", "address": f"10.0.{i}.2", "asn": 64601 + i, "passive": True,
                      "import": "all", "export": "all", "hold-time": "9s"})
    node = net.underlayd(middle, {"node": {"name": "speaker", "asn": 64700, "router-id": "10.0.0.1"},
                                  "kernel": {"install": False}, "peers": peers})
    watch = net.monitor(middle)
    node.start()
    for side in sides:
        side.start()
    for i, side in enumerate(sides):
        theirs = {f"198.51.{101 - i}.{j * 16}/28" for j in range(16)}
        wait_until(lambda: set(side.routes()) == theirs, 40, f"side{i} has the other's routes", side.routes)
        for paths in side.routes().values():
            assert [(p["as_path"], p["next_hop"]) for p in paths] == [(f"64700 {64602 - i}", f"10.0.{i}.1")]
    assert node.peers()["side0"]["advertised"] == 16 and node.peers()["side0"]["accepted"] == 16
    sides[0].withdraw("198.51.100.0/28")
    sides[1].wait_no_route("198.51.100.0/28")
    sides[0].kill()
    wait_until(lambda: not sides[1].routes(), 20, "the dead neighbour's routes are withdrawn from the other",
               sides[1].routes)
    assert watch.changes() == []


def test_ibgp_routes_are_not_passed_on_to_ibgp(net):
    """We are no route reflector: what one internal peer says, another internal peer must not hear."""
    middle, sides, peers = net.ns("middle", router=True), [], []
    for i in range(2):
        ns = net.ns(f"side{i}")
        net.link(middle, f"eth{i}", f"10.0.{i}.1/30", ns, "eth0", f"10.0.{i}.2/30")
        sides.append(net.add(Bird(ns, net.subdir(f"side{i}"), f"side{i}", f"10.0.{i}.2",
                                  [Neighbor(f"10.0.{i}.2", 64700, f"10.0.{i}.1", 64700)], [f"198.51.{100 + i}.0/24"])))
        peers.append({"name": f"side{i}", "address": f"10.0.{i}.2", "asn": 64700, "import": "all", "export": "all"})
    node = net.underlayd(middle, {"node": {"name": "speaker", "asn": 64700, "router-id": "10.0.0.1"},
                                  "pods": {"cidrs": ["10.244.1.0/24"]}, "peers": peers})
    node.start()
    for side in sides:
        side.start()
    node.wait_established()
    wait_until(lambda: all(p["accepted"] == 1 for p in node.peers().values()), 20, "both routes came in")
    for side in sides:
        side.wait_route("10.244.1.0/24")
        assert set(side.routes()) == {"10.244.1.0/24"}
