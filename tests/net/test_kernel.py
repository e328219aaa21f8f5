"""The kernel's routes: several next hops, whose they are, and what is never touched."""
import pytest

from conftest import Wire
from harness import wait_until
from switches import KINDS, Neighbor

POD = "10.244.1.0/24"
OTHER = "10.244.2.0/24"


def two_tors(net, announce=(OTHER,), kinds=("bird", "frr"), config=None, **kernel):
    """A node homed to two switches of different make. Answers (node namespace, underlayd, switches)."""
    node, switches, peers = net.ns("node", router=True), [], []
    for i, kind in enumerate(kinds):
        tor = net.ns(f"tor{i}", router=True)
        net.link(node, f"eth{i}", f"10.0.{i}.1/30", tor, "eth0", f"10.0.{i}.2/30")
        neighbor = Neighbor(f"10.0.{i}.2", 64512 + i, f"10.0.{i}.1", 64701)
        switches.append(net.add(KINDS[kind](tor, net.subdir(f"tor{i}"), f"tor{i}", f"10.0.{i}.2", [neighbor], announce)))
        peers.append({"name": f"tor{i}", "address": f"10.0.{i}.2", "asn": 64512 + i, "hold-time": "3s"})
    config = config or {"node": {"name": "node", "asn": 64701, "router-id": "10.0.0.1"}, "peers": peers,
                        "pods": {"cidrs": [POD], "cluster-cidrs": ["10.244.0.0/16"]}}
    if kernel:
        config["kernel"] = kernel
    return node, net.underlayd(node, config), switches


@pytest.mark.essential
def test_two_next_hops_and_the_death_of_one(net):
    ns, node, (bird, frr) = two_tors(net)
    bird.start(), frr.start(), node.start()
    both, second = {POD: ["blackhole"], OTHER: ["10.0.0.2", "10.0.1.2"]}, {POD: ["blackhole"], OTHER: ["10.0.1.2"]}
    wait_until(lambda: ns.our_routes() == both, 30, "the route has both next hops", ns.our_routes)
    assert sorted(r["mark"] for r in node.routes(OTHER)) == ["*", "+"]
    watch = net.monitor(ns)
    bird.kill()
    wait_until(lambda: ns.our_routes() == second, 20, "one next hop is left", ns.our_routes)
    deleted = watch.changes("Deleted", OTHER)
    assert not deleted, f"the route was deleted on the way instead of replaced: {deleted}"
    bird.start()
    wait_until(lambda: ns.our_routes() == both, 40, "both are back", ns.our_routes)


def test_multipath_limit(net):
    ns, node, (a, b) = two_tors(net, multipath=1)
    a.start(), b.start(), node.start()
    node.wait_established()
    wait_until(lambda: node.peers()["tor0"]["accepted"] == node.peers()["tor1"]["accepted"] == 1, 20, "both routes came")
    wait_until(lambda: len(ns.our_routes().get(OTHER, [])) == 1, 20, "only one is used", ns.our_routes)
    assert sorted(r["mark"] for r in node.routes(OTHER)) == ["", "*"]


def test_longer_path_is_not_used(net):
    """Both switches have the prefix, one two AS further away: one next hop, and the other when that dies."""
    ns, node, (near, far) = two_tors(net, kinds=("bird", "bird"))
    far.write()
    text = far.config.read_text().replace(
        "export all;", "export filter { bgp_path.prepend(64999); bgp_path.prepend(64999); accept; };")
    near.start(), far.start()
    far.config.write_text(text)
    far.ctl("configure")
    node.start()
    node.wait_established()
    wait_until(lambda: node.peers()["tor1"]["accepted"] == 1, 20, "the longer path came")
    wait_until(lambda: ns.our_routes().get(OTHER) == ["10.0.0.2"], 20, "the short path alone is used", ns.our_routes)
    near.kill()
    wait_until(lambda: ns.our_routes().get(OTHER) == ["10.0.1.2"], 10, "the long one takes over", ns.our_routes)


def test_install_false_leaves_the_kernel_alone(wire):
    switch = wire.switch(announce=[OTHER]).start()
    watch = wire.net.monitor(wire.node)
    node = wire.underlayd(kernel={"install": False}).start()
    node.wait_established("tor")
    switch.wait_route(POD)
    wait_until(lambda: node.peer("tor")["accepted"] == 1, 20, "the route was learned")
    assert node.routes(OTHER)[0]["mark"] == "*" and node.routes(OTHER)[0]["kernel"] == "-"
    assert wire.node.our_routes() == {} and watch.changes("proto 171") == []


def test_metric_protocol_and_table(wire):
    wire.switch(announce=[OTHER]).start()
    wire.underlayd(kernel={"metric": 77, "protocol": 199, "table": 1234}).start()
    wait_until(lambda: wire.node.route_rows("table", "1234", "proto", "199"), 30, "routes come to table 1234")
    wait_until(lambda: {r["dst"]: r["metric"] for r in wire.node.route_rows("table", "1234", "proto", "199")}
               == {POD: 77, OTHER: 77}, 20, "with metric and protocol as configured",
               lambda: wire.node.ip("route", "show", "table", "all"))
    assert wire.node.our_routes() == {}


def test_two_pod_cidrs(wire):
    switch = wire.switch().start()
    wire.underlayd(pods={"cidrs": [POD, "10.244.9.0/25"], "cluster-cidrs": ["10.244.0.0/16"]}).start()
    switch.wait_route(POD)
    switch.wait_route("10.244.9.0/25")
    assert wire.node.our_routes() == {POD: ["blackhole"], "10.244.9.0/25": ["blackhole"]}


@pytest.mark.essential
def test_stale_routes_are_swept_and_foreign_ones_stay(wire):
    """Left over from an earlier life of ours: swept once the session is in sync, and never before.
    Not ours: stays, whatever it looks like."""
    ip = wire.node.ip
    ip("route", "add", "10.244.77.0/24", "via", "10.0.0.2", "proto", "171", "metric", "32")
    ip("route", "add", OTHER, "via", "10.0.0.2", "proto", "171", "metric", "32")
    foreign = [("10.244.78.0/24", "via", "10.0.0.2", "proto", "static", "metric", "32"),
               (OTHER, "via", "10.0.0.2", "proto", "static", "metric", "50"),
               ("10.244.79.0/24", "via", "10.0.0.2", "metric", "32"),
               ("10.244.80.0/24", "via", "10.0.0.2", "proto", "171", "metric", "32", "table", "55"),
               ("blackhole", "10.244.81.0/24", "proto", "12", "metric", "32"),
               ("default", "via", "10.0.0.2")]
    for route in foreign:
        ip("route", "add", *route)
    watch = wire.net.monitor(wire.node)
    node = wire.underlayd().start()
    # nobody to be in sync with: what an earlier life installed carries traffic, and stays
    assert set(wire.node.our_routes()) >= {"10.244.77.0/24", OTHER}
    wire.switch(announce=[OTHER]).start()
    node.wait_established("tor")
    wait_until(lambda: wire.node.our_routes() == {POD: ["blackhole"], OTHER: ["10.0.0.2"]}, 40,
               "the stale route is swept and nothing else", wire.node.our_routes)
    assert watch.changes("Deleted", "10.244.77.0/24")
    for route in foreign:
        assert ip("route", "show", "table", "all", "exact", *[w for w in route if w != "blackhole"]).strip(), \
            f"the foreign route {route} is gone"
    for line in watch.changes():
        assert "proto 171" in line and "table 55" not in line, f"a foreign route was touched: {line}"
    # the one that was right may come to refer to a next-hop object, in its place
    assert all("nhid" in line for line in watch.changes(OTHER)), "the route that was right already was touched"


def test_a_foreign_route_at_our_place(wire):
    """Another program holds the prefix with our very metric: it keeps it, and `show routes` says so."""
    wire.node.ip("route", "add", OTHER, "via", "10.0.0.2", "proto", "static", "metric", "32")
    switch = wire.switch(announce=[OTHER, "10.244.3.0/24"]).start()
    node = wire.underlayd().start()
    wait_until(lambda: "10.244.3.0/24" in wire.node.our_routes(), 30, "other routes are installed")
    wait_until(lambda: node.routes(OTHER)[0]["kernel"] not in ("installed", "pending"), 20,
               "the kernel's refusal is shown", lambda: node.routes(OTHER))
    assert "proto static" in wire.node.ip("route", "show", "exact", OTHER)
    assert switch.established()


def test_refusals_amid_many(wire):
    """Many routes are written at once and only the last of them is acknowledged: each that is refused is told, and no other."""
    prefixes = [f"10.244.{i}.{4 * j}/30" for i in range(2, 10) for j in range(50)]
    theirs = {prefixes[i] for i in (0, 1, 150, 398, 399)}
    switch = wire.switch(announce=prefixes)
    for prefix in theirs:
        wire.node.ip("route", "add", prefix, "via", "10.0.0.2", "proto", "static", "metric", "32")
    switch.start()
    node = wire.underlayd().start()
    ours = set(prefixes) - theirs
    wait_until(lambda: set(wire.node.our_routes()) - {POD} == ours, 20, "all routes but the refused are there",
               lambda: len(wire.node.our_routes()))
    wait_until(lambda: {r["prefix"] for r in node.routes() if r["kernel"] not in ("installed", "pending")} == theirs, 10,
               "the refused are known", lambda: {r["kernel"] for r in node.routes()})


def test_uplink_down_and_up(wire):
    """The kernel drops routes of a link that goes down; they are there again when the link is."""
    wire.switch(announce=[OTHER]).start()
    wire.underlayd().start()
    wait_until(lambda: OTHER in wire.node.our_routes(), 30, "the route is in the kernel")
    wire.node.ip("link", "set", "eth0", "down")
    wait_until(lambda: OTHER not in wire.node.our_routes(), 20, "it is gone with the link")
    wire.node.ip("link", "set", "eth0", "up")
    wait_until(lambda: wire.node.our_routes().get(OTHER) == ["10.0.0.2"], 60, "it is back", wire.node.our_routes)


def test_pod_prefix_never_loops(net):
    """An address of ours without a pod is unreachable at once, and is not sent to the switch and back."""
    wire = Wire(net, "bird")
    wire.node.ip("route", "add", "default", "via", "10.0.0.2")
    wire.switch().start()
    wire.underlayd().start().wait_established("tor")
    answer = wire.node.run("ip", "route", "get", "10.244.1.77", check=False)
    assert answer.returncode != 0 or "blackhole" in answer.stdout, answer.stdout
