"""BGP roles and ONLY_TO_CUSTOMER (RFC 9234) with BIRD and FRR, which know them."""
import struct

import pytest

from harness import wait_until
from speaker import Speaker, attribute, capability, update
from switches import KINDS, Neighbor

POD, ABOVE, BELOW = "10.244.1.0/24", "10.244.2.0/24", "10.244.3.0/24"


def node_config(*peers):
    return {"node": {"name": "node", "asn": 64701, "router-id": "10.0.0.1"}, "pods": {"cidrs": [POD]},
            "kernel": {"install": False},
            "peers": [{"hold-time": "9s", "import": "all", "export": "all", **p} for p in peers]}


def uplink(net, ns, kind, number, asn, role, announce=()):
    """A switch of that kind at 10.0.<number>.2, the node at .1."""
    there = net.ns(f"{kind}{number}", router=True)
    net.link(ns, f"eth{number}", f"10.0.{number}.1/30", there, "eth0", f"10.0.{number}.2/30")
    return net.add(KINDS[kind](there, net.subdir(f"{kind}{number}"), f"{kind}{number}", f"10.0.{number}.2",
                               [Neighbor(f"10.0.{number}.2", asn, f"10.0.{number}.1", 64701, role=role)], announce)).start()


@pytest.mark.parametrize("above, below", [("bird", "frr"), ("frr", "bird")])
def test_routes_from_above_go_down_only(net, above, below):
    """Two providers and a customer: what one provider says reaches the customer, marked, and never the other."""
    ns = net.ns("node", router=True)
    uplink(net, ns, above, 0, 64512, "provider", [ABOVE])
    other = uplink(net, ns, below, 1, 64513, "provider")
    customer = uplink(net, ns, below, 2, 64514, "customer", [BELOW])
    node = net.underlayd(ns, node_config(
        {"name": "first", "address": "10.0.0.2", "asn": 64512, "role": "customer", "role-strict": True},
        {"name": "second", "address": "10.0.1.2", "asn": 64513, "role": "customer"},
        {"name": "buyer", "address": "10.0.2.2", "asn": 64514, "role": "provider"})).start().wait_established()
    peer = node.peer("first")
    assert (peer["role"], peer["remote_role"], peer["role_strict"], peer["leaks"]) == ("customer", "provider", True, 0)
    customer.wait_route(ABOVE)
    route = wait_until(lambda: node.routes(ABOVE), 20, "the route is there")[0]
    assert route["otc"] == 64512  # the first provider's: it sets it itself, or we did
    assert "OTC" in node.client("show", "routes").stdout
    other.wait_route(POD)
    other.wait_route(BELOW)  # a customer's route goes up
    assert not other.route(ABOVE)
    if below == "bird":
        assert "BGP.otc: 64512" in customer.ctl("show", "route", ABOVE, "all")


@pytest.mark.parametrize("kind", ["bird", "frr"])
def test_roles_that_do_not_fit(net, kind):
    ns = net.ns("node", router=True)
    switch = uplink(net, ns, kind, 0, 64512, "peer")
    tor = {"name": "tor", "address": "10.0.0.2", "asn": 64512, "role": "customer"}
    node = net.underlayd(ns, node_config(tor)).start()
    wait_until(lambda: "Role Mismatch" in node.peer("tor")["info"], 30, "the reason is shown", lambda: node.peer("tor"))
    assert not switch.established()


def test_a_leak_is_refused(net):
    """A customer passes on what it has from another provider; and one that says no role where it must."""
    ns, there = net.ns("node", router=True), net.ns("there", router=True)
    net.link(ns, "eth0", "10.0.0.1/30", there, "eth0", "10.0.0.2/30")
    buyer = {"name": "buyer", "address": "10.0.0.2", "asn": 64514, "role": "provider", "role-strict": True, "passive": True}
    node = net.underlayd(ns, node_config(buyer)).start()
    silent = Speaker.connect(there, "10.0.0.2", "10.0.0.1")
    with pytest.raises(AssertionError):
        silent.establish(64514)
    wait_until(lambda: "the peer says no role, ours is provider: it must say customer" in node.peer("buyer")["info"], 10,
               "the reason is shown", lambda: node.peer("buyer"))
    speaker = Speaker.connect(there, "10.0.0.2", "10.0.0.1").establish(64514, more=capability(9, b"\x03"))
    path = struct.pack("!BBII", 2, 2, 64514, 64999)
    common = attribute(1, b"\0") + attribute(2, path) + attribute(3, bytes([10, 0, 0, 2]))
    speaker.send(update([BELOW], attributes=common))
    speaker.send(update([ABOVE], attributes=common + attribute(35, struct.pack("!I", 64999), flags=0xC0)))
    wait_until(lambda: node.peer("buyer")["leaks"] == 1, 10, "the leak is counted", lambda: node.peer("buyer"))
    assert [r["prefix"] for r in node.routes() if r["source"] == "buyer"] == [BELOW]
    node.wait_log("peer buyer: leaked routes refused: AS 64999")
    speaker.close()
