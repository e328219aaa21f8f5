"""IPv6 unicast with real switches: over an IPv4 session, over an IPv6 session, and both families over either."""
import pytest

from harness import holds_for, wait_until
from switches import KINDS, Neighbor

POD4, POD6 = "10.244.1.0/24", "fd10:244:1::/64"
OTHERS4, OTHERS6 = ["10.244.2.0/24", "10.244.3.0/24"], ["fd10:244:2::/64", "fd10:244:3::/64"]


def dual_link(net, kind, over, asn=64701, tor_asn=64512, **neighbor):
    """Node and switch with both families on one link; the session runs over one of them."""
    node, tor = net.ns("node", router=True), net.ns("tor", router=True)
    net.link(node, "eth0", "10.0.0.1/30", tor, "eth0", "10.0.0.2/30")
    for ns, address in ((node, "fd00::1/64"), (tor, "fd00::2/64")):
        ns.ip("address", "add", address, "dev", "eth0", "nodad")
        ns.run("sysctl", "-q", "-w", "net.ipv6.conf.all.forwarding=1")
    # link-local addresses go with IPv6 next hops, and are not there before their duplicate check is over
    for ns in (node, tor):
        wait_until(lambda: "fe80" in ns.ip("-6", "address", "show", "dev", "eth0", "-tentative"), 10, "link-local addresses")
    ours, theirs = ("10.0.0.1", "10.0.0.2") if over == "ipv4" else ("fd00::1", "fd00::2")
    switch = net.add(KINDS[kind](tor, net.subdir("switch"), "switch", "10.0.0.2",
                                 [Neighbor(theirs, tor_asn, ours, asn, families=("ipv4", "ipv6"), **neighbor)],
                                 OTHERS4 + OTHERS6))
    daemon = net.underlayd(node, {
        "node": {"name": "node", "asn": asn, "router-id": "10.0.0.1"},
        "pods": {"cidrs": [POD4, POD6], "cluster-cidrs": ["10.244.0.0/16", "fd10:244::/32"]},
        "peers": [{"name": "tor", "address": theirs, "asn": tor_asn, "hold-time": "3s"}]})
    return node, switch, daemon


def kernel6(ns):
    found = {}
    for line in ns.ip("-6", "-o", "route", "show", "proto", "171").splitlines():
        words = line.split()
        blackhole = words[0] == "blackhole"
        found[words[1 if blackhole else 0]] = "blackhole" if blackhole else words[words.index("via") + 1]
    return found


@pytest.mark.parametrize("asn,tor_asn", [(64701, 64512), (64512, 64512)], ids=["ebgp", "ibgp"])
@pytest.mark.parametrize("over", ["ipv4", "ipv6"])
@pytest.mark.parametrize("kind", ["bird", "frr"])
def test_both_families(net, kind, over, asn, tor_asn):
    ns, switch, daemon = dual_link(net, kind, over, asn, tor_asn)
    switch.start()
    daemon.start().wait_established("tor")
    wait_until(lambda: set(kernel6(ns)) == {POD6, *OTHERS6}, 30, "the kernel has the IPv6 routes",
               lambda: f"{kernel6(ns)} {daemon.routes()}")
    assert kernel6(ns)[POD6] == "blackhole"
    assert kernel6(ns)[OTHERS6[0]] in ("fd00::2",) or kernel6(ns)[OTHERS6[0]].startswith("fe80")
    wait_until(lambda: ns.our_routes() == {POD4: ["blackhole"], OTHERS4[0]: ["10.0.0.2"], OTHERS4[1]: ["10.0.0.2"]}, 20,
               "and the IPv4 ones", ns.our_routes)
    assert "fd00::1" in switch.wait_route(POD6)[0]["next_hop"] or "fe80" in switch.route(POD6)[0]["next_hop"]
    assert switch.wait_route(POD4)[0]["next_hop"] == "10.0.0.1"
    assert all(r["kernel"] == "installed" for r in daemon.routes() if r["mark"])
    switch.withdraw(OTHERS6[1])
    wait_until(lambda: set(kernel6(ns)) == {POD6, OTHERS6[0]}, 20, "the withdrawn one is gone", lambda: kernel6(ns))
    assert set(ns.our_routes()) == {POD4, *OTHERS4}


@pytest.mark.parametrize("kind", ["bird", "frr"])
def test_restart_keeps_both_families(net, kind):
    ns, switch, daemon = dual_link(net, kind, "ipv6")
    switch.start()
    daemon.start().wait_established("tor")
    wait_until(lambda: set(kernel6(ns)) == {POD6, *OTHERS6} and set(ns.our_routes()) == {POD4, *OTHERS4}, 30, "all is there")
    before = kernel6(ns), ns.our_routes()
    daemon.kill()
    wait_until(lambda: not switch.established(), 20, "the switch has noticed")
    assert switch.route(POD6) and switch.route(POD4)
    daemon.start().wait_established("tor")
    wait_until(lambda: daemon.status()["phase"] == "running", 30, "the restart is over")
    holds_for(lambda: (kernel6(ns), ns.our_routes()) == before and switch.route(POD6), 1, "everything is as before")


def test_only_ipv6_on_the_node(net):
    """A node without any IPv4 address: the router ID comes from the configuration, IPv6 works."""
    node, tor = net.ns("node", router=True), net.ns("tor", router=True)
    net.link(node, "eth0", None, tor, "eth0", None)
    for ns, address in ((node, "fd00::1/64"), (tor, "fd00::2/64")):
        ns.ip("address", "add", address, "dev", "eth0", "nodad")
    switch = net.add(KINDS["bird"](tor, net.subdir("switch"), "switch", "10.0.0.2",
                                   [Neighbor("fd00::2", 64512, "fd00::1", 64701, families=("ipv6",))], OTHERS6)).start()
    daemon = net.underlayd(node, {"node": {"name": "six", "asn": 64701},
                                  "pods": {"cidrs": [POD6], "cluster-cidrs": ["fd10:244::/32"]},
                                  "peers": [{"address": "fd00::2", "asn": 64512, "families": ["ipv6"]}]}).start()
    wait_until(lambda: set(kernel6(node)) == {POD6, *OTHERS6}, 30, "the kernel has the IPv6 routes", daemon.routes)
    switch.wait_route(POD6)
