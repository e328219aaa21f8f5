"""What a peer may ask of us by a community: to discard packets (RFC 7999); and what we ask of it before a link goes
(RFC 8326)."""
import signal

from harness import holds_for, wait_until
from switches import Bird, Neighbor

POD, NEAR = "10.244.1.0/24", "10.244.2.0/24"
VICTIM, OURS, STRANGER, NET = "10.244.2.9/32", "10.244.1.9/32", "192.0.2.9/32", "10.244.3.0/24"
BLACKHOLE = "65535:666"


def reload(node, new):
    begin = len(node.log())
    node.configure(new)
    node.popen.send_signal(signal.SIGHUP)
    return node.wait_log(r"reload: .*(applied|nothing was changed)", 20, begin).group(0)


def test_only_who_may_can_ask(any_wire):
    """Only where the peer may: addresses of the cluster, none of ours, no networks and no strangers' addresses."""
    switch = any_wire.switch(announce=[NEAR, VICTIM, OURS, STRANGER, NET])
    switch.tags = {prefix: BLACKHOLE for prefix in (VICTIM, OURS, STRANGER, NET)}
    switch.start()
    node = any_wire.underlayd(**{"import": "all"}).start().wait_established("tor")
    address, ours = VICTIM.removesuffix("/32"), any_wire.node.our_routes
    wait_until(lambda: ours().get(address) == ["10.0.0.2"], 20, "without a word it is a route like any other", ours)
    assert ours().get(NET) == ["10.0.0.2"]
    reload(node, any_wire.config(blackhole=True, **{"import": "all"}))
    wait_until(lambda: ours() == {POD: ["blackhole"], NEAR: ["10.0.0.2"], address: ["blackhole"]}, 20,
               "packets for the one address are discarded", ours)
    row, = node.routes(VICTIM)
    assert row["next_hop"] == "blackhole" and row["kernel"] == "installed", row
    assert node.peer("tor")["established_count"] == 1
    switch.withdraw(VICTIM)
    wait_until(lambda: address not in ours(), 20, "nobody asks any more", ours)


def test_a_discarded_route_stays_inside(net):
    """An internal peer hears of it, an external one does not."""
    middle = net.ns("middle", router=True)
    birds = {}
    for i, asn in ((1, 64512), (2, 64701), (3, 64513)):
        ns, me = net.ns(f"b{i}", router=True), f"10.0.{i}.2"
        net.link(middle, f"eth{i}", f"10.0.{i}.1/30", ns, "eth0", f"{me}/30")
        birds[i] = net.add(Bird(ns, net.subdir(f"b{i}"), f"b{i}", me, [Neighbor(me, asn, f"10.0.{i}.1", 64701)],
                                [VICTIM, NEAR] if i == 1 else []))
        birds[i].tags = {VICTIM: BLACKHOLE}
        birds[i].start()
    node = net.underlayd(middle, {
        "node": {"name": "middle", "asn": 64701, "router-id": "10.0.0.1"}, "pods": {"cluster-cidrs": ["10.244.0.0/16"]},
        "peers": [{"name": f"b{i}", "address": f"10.0.{i}.2", "asn": asn, "hold-time": "9s", "export": "all",
                   **({"blackhole": True} if i == 1 else {})} for i, asn in ((1, 64512), (2, 64701), (3, 64513))]}).start()
    node.wait_established("b1", "b2", "b3")
    birds[2].wait_route(VICTIM)
    assert birds[2].communities(VICTIM) == {BLACKHOLE, "65535:65281"}, "no-export"
    birds[3].wait_route(NEAR)
    holds_for(lambda: not birds[3].route(VICTIM), 0.3, "outside nobody hears of it")


def test_draining_a_peer(net):
    """Two switches lead to the same pods. Before one goes, both sides are asked to use the other, and no session ends."""
    node_ns = net.ns("node", router=True)
    switches = []
    for i in (1, 2):
        ns, me = net.ns(f"tor{i}", router=True), f"10.0.{i}.2"
        net.link(node_ns, f"eth{i}", f"10.0.{i}.1/30", ns, "eth0", f"{me}/30")
        switches.append(net.add(Bird(ns, net.subdir(f"tor{i}"), f"tor{i}", me, [Neighbor(me, 64512, f"10.0.{i}.1", 64701)], [NEAR])).start())

    def config(drain):
        return {"node": {"name": "node", "asn": 64701, "router-id": "10.0.0.1"},
                "pods": {"cidrs": [POD], "cluster-cidrs": ["10.244.0.0/16"]},
                "peers": [{"name": f"tor{i}", "address": f"10.0.{i}.2", "asn": 64512, "hold-time": "9s",
                           "graceful-shutdown": i == drain} for i in (1, 2)]}

    node = net.underlayd(node_ns, config(None)).start().wait_established("tor1", "tor2")
    wait_until(lambda: node_ns.our_routes().get(NEAR) == ["10.0.1.2", "10.0.2.2"], 20, "both are used", node_ns.our_routes)
    for switch in switches:
        switch.wait_route(POD)
    reload(node, config(1))
    wait_until(lambda: node_ns.our_routes().get(NEAR) == ["10.0.2.2"], 20, "the other one is used", node_ns.our_routes)
    wait_until(lambda: switches[0].communities(POD) == {"65535:0"}, 20, "the switch is told", switches[0].routes)
    assert switches[1].communities(POD) == set()
    reload(node, config(None))
    wait_until(lambda: node_ns.our_routes().get(NEAR) == ["10.0.1.2", "10.0.2.2"], 20, "both are used again", node_ns.our_routes)
    wait_until(lambda: switches[0].communities(POD) == set(), 20, "and the switch is told", switches[0].routes)
    assert all(p["established_count"] == 1 for p in node.peers().values())
