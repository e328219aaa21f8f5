"""Next hops that cannot be reached: their routes are not used, not installed and not told to others, and are there again as
soon as the kernel has a way."""
import pytest

from harness import holds_for, wait_until
from switches import KINDS, Neighbor

POD = "10.244.1.0/24"
FAR, INSIDE, LOOPBACKS = "10.244.2.0/24", "10.244.3.0/24", "10.244.9.0/24"


def next_hop_of(node, prefix):
    """What the node thinks: (mark, rule that it lost by)"""
    row = node.routes(prefix)[0]
    return row["mark"], row["lost_by"]


@pytest.fixture
def homed(net):
    """A node with an internal peer (BIRD) that names next hops elsewhere, and an external one (FRR)."""
    ns = net.ns("node", router=True)
    switches, peers = [], []
    for i, (kind, asn) in enumerate((("bird", 64701), ("frr", 64512))):
        tor = net.ns(f"tor{i}", router=True)
        net.link(ns, f"eth{i}", f"10.0.{i}.1/24", tor, "eth0", f"10.0.{i}.2/24")
        neighbor = Neighbor(f"10.0.{i}.2", asn, f"10.0.{i}.1", 64701, next_hop_self=kind == "frr")
        switches.append(net.add(KINDS[kind](tor, net.subdir(f"tor{i}"), f"tor{i}", f"10.0.{i}.2", [neighbor], [FAR])))
        peers.append({"name": f"tor{i}", "address": f"10.0.{i}.2", "asn": asn, "hold-time": "3s", "export": "all"})
    node = net.underlayd(ns, {"node": {"name": "node", "asn": 64701, "router-id": "10.0.0.1"}, "peers": peers,
                              "pods": {"cidrs": [POD], "cluster-cidrs": ["10.244.0.0/16"]}})
    return ns, node, switches


def export_filter(bird, statements):
    """BIRD exports what these statements let through, and changes it as they say."""
    bird.write()
    text = bird.config.read_text()
    assert "export all;" in text
    bird.text = text.replace("export all;", f"export filter {{ {statements} accept; }};")


def name_next_hops(bird, hops):
    """BIRD tells these prefixes with these next hops."""
    export_filter(bird, " ".join(f"if net = {net} then bgp_next_hop = {hop};" for net, hop in hops.items()))


@pytest.mark.essential
def test_reachable_and_not(homed):
    ns, node, (bird, frr) = homed
    bird.announced = [FAR, INSIDE]
    frr.announced = [LOOPBACKS]
    name_next_hops(bird, {FAR: "10.9.0.7", INSIDE: "10.244.9.1"})
    ns.ip("route", "add", "default", "via", "10.0.0.2")  # leads everywhere, and so says nothing
    bird.start(), node.start()
    node.wait_established("tor0")
    wait_until(lambda: node.peer("tor0")["accepted"] == 2, 20, "both routes came")
    assert next_hop_of(node, FAR) == next_hop_of(node, INSIDE) == ("", "next hop unreachable")
    assert ns.our_routes() == {POD: ["blackhole"]}
    frr.start()
    node.wait_established("tor1")
    # learned from an external peer, and that is a way to the internal peer's next hop
    wait_until(lambda: ns.our_routes() == {POD: ["blackhole"], LOOPBACKS: ["10.0.1.2"], INSIDE: ["10.0.1.2"]}, 20,
               "the route through a learned route is installed", ns.our_routes)
    frr.wait_route(INSIDE)
    assert not frr.route(FAR)
    # a static route is a way too
    ns.ip("route", "add", "10.9.0.0/16", "via", "10.0.0.2")
    wait_until(lambda: ns.our_routes().get(FAR) == ["10.0.0.2"], 20, "the next hop became reachable", ns.our_routes)
    frr.wait_route(FAR)
    ns.ip("route", "replace", "10.9.0.0/16", "via", "10.0.0.3")
    wait_until(lambda: ns.our_routes().get(FAR) == ["10.0.0.3"], 20, "it follows the way to its next hop", ns.our_routes)
    ns.ip("route", "delete", "10.9.0.0/16")
    wait_until(lambda: FAR not in ns.our_routes(), 20, "its routes go with it", ns.our_routes)
    frr.wait_no_route(FAR)
    assert next_hop_of(node, FAR) == ("", "next hop unreachable")
    frr.withdraw(LOOPBACKS)
    wait_until(lambda: ns.our_routes() == {POD: ["blackhole"]}, 10, "what stood on the learned route is gone", ns.our_routes)
    frr.wait_no_route(INSIDE)


def test_external_next_hop_must_be_on_the_link(wire):
    """RFC 4271 section 5.1.3: a third router on the link is fine, one behind a router is not."""
    on_link, behind = "10.244.2.0/24", "10.244.3.0/24"
    wire.node.ip("address", "replace", "10.0.0.1/24", "dev", "eth0")
    wire.node.ip("route", "add", "10.9.0.0/16", "via", "10.0.0.2")
    bird = wire.switch(announce=[on_link, behind], next_hop_self=False)
    name_next_hops(bird, {on_link: "10.0.0.99", behind: "10.9.0.7"})
    bird.start()
    node = wire.underlayd().start()
    wait_until(lambda: wire.node.our_routes().get(on_link) == ["10.0.0.99"], 20, "the neighbour's route is used",
               wire.node.our_routes)
    wait_until(lambda: node.peer("tor")["accepted"] == 2, 20, "both routes came")
    assert next_hop_of(node, behind) == ("", "next hop unreachable")
    holds_for(lambda: behind not in wire.node.our_routes(), 0.5, "no route by a router that is not on the link")


def weights(ns, prefix):
    """{gateway: weight} of the kernel's route."""
    return {hop["gateway"]: hop["weight"] for row in ns.route_rows("exact", prefix) for hop in row.get("nexthops", [])}


def test_link_bandwidth_becomes_weights(net):
    """Two internal peers with 1 and 4 Gbit/s, then one that does not say."""
    ns, birds, peers = net.ns("node", router=True), [], []
    bandwidths = [f"bgp_ext_community.add((generic, 0x4004fbf0, {precise}));" for precise in ("0x4cee6b28", "0x4dee6b28")]
    for i in range(2):
        tor = net.ns(f"tor{i}", router=True)
        net.link(ns, f"eth{i}", f"10.0.{i}.1/24", tor, "eth0", f"10.0.{i}.2/24")
        birds.append(net.add(KINDS["bird"](tor, net.subdir(f"tor{i}"), f"tor{i}", f"10.0.{i}.2",
                                           [Neighbor(f"10.0.{i}.2", 64701, f"10.0.{i}.1", 64701)], [FAR])))
        export_filter(birds[i], bandwidths[i])
        peers.append({"name": f"tor{i}", "address": f"10.0.{i}.2", "asn": 64701, "hold-time": "3s"})
    node = net.underlayd(ns, {"node": {"name": "node", "asn": 64701, "router-id": "10.0.0.1"}, "peers": peers,
                              "pods": {"cidrs": [POD], "cluster-cidrs": ["10.244.0.0/16"]}})
    for program in (*birds, node):
        program.start()
    wait_until(lambda: weights(ns, FAR) == {"10.0.0.2": 1, "10.0.1.2": 4}, 30, "traffic goes 1 : 4",
               lambda: (ns.ip("route", "show", "exact", FAR), node.routes(FAR)))
    birds[1].config.write_text(birds[1].text.replace(bandwidths[1], ""))
    birds[1].ctl("configure")
    wait_until(lambda: weights(ns, FAR) == {"10.0.0.2": 1, "10.0.1.2": 1}, 20, "one does not say: equal shares",
               lambda: (ns.ip("route", "show", "exact", FAR), node.routes(FAR)))
