"""Next-hop objects: shared by all routes with the same next hops, rewritten in place when one goes, and never missed."""
import json

import pytest

from harness import wait_until
from test_kernel import OTHER, POD, two_tors

MORE = [OTHER] + [f"10.244.{i}.0/24" for i in range(10, 30)]
BOTH = ["10.0.0.2", "10.0.1.2"]


def objects(ns, proto="171"):
    rows = json.loads(ns.ip("-j", "nexthop", "show", "proto", proto) or "[]")
    return {row["id"]: row for row in rows}


def ids(ns):
    """{prefix: id of the object it refers to} of our routes that lead anywhere."""
    return {r["dst"]: r.get("nhid") for r in ns.route_rows("proto", "171") if r.get("type") != "blackhole"}


def gateways(ns):
    return {prefix: hops for prefix, hops in ns.our_routes().items() if prefix != POD}


def all_via(ns, *hops):
    wait_until(lambda: gateways(ns) == {prefix: sorted(hops) for prefix in MORE}, 40, f"all routes lead to {hops}", ns.our_routes)


def running(net, **kernel):
    ns, node, tors = two_tors(net, announce=MORE, kinds=("bird", "bird"), **kernel)
    for process in (*tors, node):
        process.start()
    all_via(ns, *BOTH)
    return ns, node, tors


@pytest.mark.essential
def test_one_group_serves_all_and_loses_a_dead_next_hop_in_place(net):
    ns, node, (first, _) = running(net)
    assert len(set(ids(ns).values())) == 1 and len(objects(ns)) == 3, "two next hops and one group"
    [group] = set(ids(ns).values())
    assert 0x40000000 <= group <= 0x4fffffff
    rows = {row["id"]: row for row in node.ask("show", "nexthops")}
    assert rows.keys() == objects(ns).keys() and rows[group]["routes"] == len(MORE)
    assert {r["nexthop_id"] for r in node.routes(OTHER)} == {group}
    watch = net.monitor(ns)
    first.kill()
    all_via(ns, "10.0.1.2")
    assert set(ids(ns).values()) == {group}, "the routes stay, the group has one next hop less"
    assert watch.changes("proto 171") == [], "a route was touched"
    first.start()
    all_via(ns, *BOTH)
    wait_until(lambda: len(objects(ns)) == 3, 10, "the old group is gone", lambda: objects(ns))
    assert not watch.changes("Deleted", "10.244."), "and no moment without a route"


def test_links_and_addresses(net):
    """What the kernel takes along without a word is right again afterwards; an address that goes takes nothing along."""
    ns, node, _ = running(net)
    ns.ip("address", "delete", "10.0.1.1/30", "dev", "eth1")
    all_via(ns, "10.0.0.2")
    assert all(len(o.get("group", [])) < 2 for o in objects(ns).values())
    ns.ip("address", "add", "10.0.1.1/30", "dev", "eth1")
    all_via(ns, *BOTH)
    for _ in range(3):
        ns.ip("link", "set", "eth1", "down")
        ns.ip("link", "set", "eth1", "up")
    all_via(ns, *BOTH)
    ns.ip("link", "set", "eth1", "down")
    all_via(ns, "10.0.0.2")
    ns.ip("link", "set", "eth1", "up")
    all_via(ns, *BOTH)
    wait_until(lambda: len(objects(ns)) == 3, 10, "nothing is left over", lambda: objects(ns))


def test_what_others_take_away_comes_back(net):
    ns, node, _ = running(net)
    group = set(ids(ns).values()).pop()
    member = next(id for id in objects(ns) if id != group)
    watch = net.monitor(ns)
    ns.ip("nexthop", "delete", "id", member)
    wait_until(lambda: gateways(ns) == {p: BOTH for p in MORE}, 20, "the group is whole again", ns.our_routes)
    assert set(ids(ns).values()) == {group} and not watch.changes("Deleted", "10.244.")
    ns.ip("nexthop", "add", "id", 7, "via", "10.0.0.2", "dev", "eth0")
    ns.ip("nexthop", "flush", "proto", "171")
    wait_until(lambda: gateways(ns) == {p: BOTH for p in MORE}, 20, "all are back", ns.our_routes)
    assert len(objects(ns)) == 3
    assert "id 7 " in ns.ip("nexthop")


def test_a_restart_changes_nothing(net):
    ns, node, _ = running(net)
    before, ours = ids(ns), objects(ns)
    ns.ip("nexthop", "add", "id", max(ours) + 1, "via", "10.0.0.2", "dev", "eth0", "proto", "4")
    watch = net.monitor(ns)
    node.kill()
    node.start()
    wait_until(lambda: node.status()["phase"] == "running", 40, "the peers have told theirs", node.status)
    all_via(ns, *BOTH)
    assert ids(ns) == before and objects(ns).keys() == ours.keys() and watch.changes("10.244.") == []
    assert len(objects(ns, "4")) == 1


def test_never(net):
    ns, node, (first, _) = running(net, **{"nexthop-objects": "never"})
    assert not objects(ns) and set(ids(ns).values()) == {None}
    assert "never" in node.status()["no_nexthop_objects"]
    assert "never" in node.client("show", "nexthops").stderr
    first.kill()
    all_via(ns, "10.0.1.2")
