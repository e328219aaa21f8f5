"""Sessions without configured addresses: link-local ones, found by router advertisements, and IPv4 routes by IPv6 next hops
(RFC 8950), with FRR and BIRD at the other end of the link."""
import json
import re

import pytest

from harness import holds_for, wait_until
from switches import Bird, Frr

POD4, POD6 = "10.244.1.0/24", "fd10:244:1::/64"
OTHERS = ["10.244.2.0/24", "fd10:244:2::/64"]
FAR = "fe80::ffff"


def link_local(ns, dev="eth0"):
    found = re.search(r"inet6 (fe80\S+)/64", ns.ip("-6", "address", "show", "dev", dev, "-tentative"))
    return found and found[1]


def wait_link_local(ns, dev="eth0"):
    return wait_until(lambda: link_local(ns, dev), 10, f"{dev} of {ns.name} has a link-local address")


def routers(net):
    """A node and a switch with nothing but a link between them. Both forward; the switch has the address OTHERS[0] is for."""
    node, tor = net.ns("node", router=True), net.ns("tor", router=True)
    for ns in (node, tor):
        ns.run("sysctl", "-q", "-w", "net.ipv6.conf.all.forwarding=1")
    net.link(node, "eth0", None, tor, "eth0", None)
    return node, tor


def config(peers, cidrs=(POD4, POD6), **node):
    return {"node": {"name": "node", "asn": 64701, "router-id": "10.0.0.1", **node},
            "pods": {"cidrs": list(cidrs), "cluster-cidrs": ["10.244.0.0/16", "fd10:244::/32"]},
            "peers": [{"asn": "external", "hold-time": "3s", **p} for p in peers]}


def frr_text(interfaces, announce=OTHERS, asn=64512, more=""):
    lines = ["hostname switch", f"router bgp {asn}", " bgp router-id 10.0.0.2", " no bgp ebgp-requires-policy",
             " no bgp network import-check", " bgp bestpath as-path multipath-relax"]
    for i in interfaces:
        lines += [f" neighbor {i} interface remote-as external", f" neighbor {i} timers 1 3", f" neighbor {i} timers connect 1"]
    for family in ("ipv4", "ipv6"):
        lines += [f" address-family {family} unicast"]
        lines += [f"  network {p}" for p in announce if (":" in p) == (family == "ipv6")]
        lines += [f"  neighbor {i} activate" for i in interfaces]
        lines.append(" exit-address-family")
    return "\n".join(lines) + "\n" + more


def frr(net, ns, interfaces=("eth0",), name="frr", **kw):
    return net.add(Frr(ns, net.subdir(name), name, "10.0.0.2", [], text=frr_text(interfaces, **kw)))


def hops(ns, family):
    """{prefix: sorted (gateway, device)} of our routes, of which blackholes have none."""
    found = {}
    for row in json.loads(ns.ip("-j", family, "route", "show", "proto", "171") or "[]"):
        each = row.get("nexthops") or [row]
        found[row["dst"]] = sorted((h.get("gateway") or h.get("via", {}).get("host"), h.get("dev")) for h in each)
    return found


def both(ns):
    return {**hops(ns, "-4"), **hops(ns, "-6")}


@pytest.mark.essential
def test_frr_unnumbered(net):
    """Nothing but the interface is known: both families both ways, packets flow, and it comes back after anything."""
    node, tor = routers(net)
    switch = frr(net, tor).start()
    daemon = net.underlayd(node, config([{"interface": "eth0"}])).start()
    daemon.wait_established("eth0")
    far = wait_link_local(tor)
    wait_until(lambda: all(both(node).get(p) == [(far, "eth0")] for p in OTHERS), 20, "both families by the link-local address",
               lambda: f"{both(node)} {daemon.routes()}")
    peer = daemon.peer("eth0")
    assert peer["address"] == f"{far}%eth0" and peer["asn"] == 64512 and peer["extended_next_hop"], peer
    assert "extended next hop" in peer["capabilities_sent"] and "extended next hop" in peer["capabilities_received"]
    ours = wait_link_local(node)
    for pod in (POD4, POD6):
        assert switch.wait_route(pod)[0]["next_hop"] == ours
    tor.ip("address", "add", "10.244.2.1/24", "dev", "lo")
    node.ip("address", "add", "10.244.1.1/32", "dev", "lo")
    wait_until(lambda: node.run("ping", "-c1", "-W1", "-I", "10.244.1.1", "10.244.2.1", check=False).returncode == 0, 10,
               "IPv4 packets go both ways")


def test_everything_comes_back(net):
    """The switch restarts, the wire is cut, the interface is deleted and made anew, ours is restarted: the same routes."""
    node, tor = routers(net)
    switch = frr(net, tor).start()
    daemon = net.underlayd(node, config([{"interface": "eth0"}])).start()

    def up():
        far = link_local(tor)
        return far and all(both(node).get(p) == [(far, "eth0")] for p in OTHERS)

    wait_until(up, 30, "the routes are there", lambda: daemon.log()[-2000:])
    switch.kill()
    wait_until(lambda: set(both(node)) == {POD4, POD6}, 20, "the dead switch's routes are gone")
    switch.start()
    wait_until(up, 30, "the routes are back with the switch", lambda: daemon.log()[-2000:])

    tor.ip("link", "set", "eth0", "down")
    wait_until(lambda: set(both(node)) == {POD4, POD6}, 20, "a link without carrier has no routes")
    assert "went down" in daemon.peer("eth0")["last_error"]  # and no timer ran out
    assert daemon.peer("eth0")["address"] == "eth0"
    daemon.wait_log("down: the link went down")
    tor.ip("link", "set", "eth0", "up")
    wait_until(up, 30, "the routes are back with the carrier", lambda: daemon.log()[-2000:])

    before = daemon.log()
    node.ip("link", "delete", "eth0")
    wait_until(lambda: "no interface eth0" in daemon.peer("eth0")["info"], 10, "the missing interface is named",
               lambda: daemon.peer("eth0"))
    net.link(node, "eth0", None, tor, "eth0", None)
    wait_until(up, 30, "the routes are back on the new interface", lambda: daemon.log()[len(before):])
    daemon.kill()
    daemon.start()
    assert up()
    wait_until(lambda: daemon.established("eth0") and daemon.status()["phase"] == "running" and up(), 70,
               "the next life adopts the routes", lambda: daemon.log()[-2000:])


def far_address(ns, dev, address=FAR):
    """The one link-local address that dev has."""
    ns.run("sysctl", "-q", "-w", f"net.ipv6.conf.{dev}.addr_gen_mode=1")
    ns.ip("-6", "address", "flush", "dev", dev, "scope", "link")
    ns.ip("address", "add", f"{address}/64", "dev", dev, "nodad")


@pytest.mark.parametrize("known", [False, True], ids=["unnumbered", "addresses"])
def test_same_link_local_on_both_links(net, known):
    """One switch, two links, the same address on both: two sessions, and each route by both links."""
    node, tor = routers(net)
    net.link(node, "eth1", None, tor, "eth1", None)
    for dev in ("eth0", "eth1"):
        far_address(tor, dev)
        far_address(node, dev, "fe80::1")
    frr(net, tor, ("eth0", "eth1")).start()
    peers = [{"address": f"{FAR}%{dev}"} if known else {"interface": dev} for dev in ("eth0", "eth1")]
    if known:  # whom the switch does not hear it does not know
        net.underlayd(node, config([{"interface": "eth0"}, {"interface": "eth1"}])).start().wait_established().stop()
    daemon = net.underlayd(node, config(peers)).start()
    daemon.wait_established()
    assert {p["address"] for p in daemon.peers().values()} == {f"{FAR}%eth0", f"{FAR}%eth1"}
    wait_until(lambda: all(both(node).get(p) == [(FAR, "eth0"), (FAR, "eth1")] for p in OTHERS), 20, "each route by both links",
               lambda: f"{both(node)} {daemon.routes()}")
    assert {row["next_hop"] for row in daemon.routes(OTHERS[0])} == {f"{FAR}%eth0", f"{FAR}%eth1"}
    tor.ip("link", "set", "eth1", "down")
    wait_until(lambda: all(both(node).get(p) == [(FAR, "eth0")] for p in OTHERS), 20, "one link is left")
    holds_for(lambda: daemon.peer(peers[0].get("address") or "eth0")["state"] == "Established", 0.5, "the other session")


def bird(net, ns, session, more="", announce=OTHERS, name="bird"):
    families = {"ipv4": [p for p in announce if ":" not in p], "ipv6": [p for p in announce if ":" in p]}
    text = ["router id 10.0.0.2;", "log stderr all;", "protocol device {}", more]
    for family, prefixes in families.items():
        text += [f"protocol kernel {{ {family} {{ export where source = RTS_BGP; }}; }}",
                 f"protocol static s{family} {{ {family}; " + " ".join(f"route {p} unreachable;" for p in prefixes) + " }"]
    text += ["protocol bgp b0 {", " local as 64512; hold time 3; connect delay time 1; connect retry time 1; error wait time 1, 2;",
             session, " ipv4 { import all; export all; extended next hop on; };", " ipv6 { import all; export all; };", "}"]
    return net.add(Bird(ns, net.subdir(name), name, "10.0.0.2", [], text="\n".join(text) + "\n"))


BIRD_SESSIONS = {
    # it says nothing of itself, but calls us
    "calls": ({"interface": "eth0"}, " neighbor fe80::1%eth0 external;", ""),
    # it advertises itself, and waits to be called
    "waits": ({"interface": "eth0"}, ' neighbor range fe80::/10 external; interface "eth0"; dynamic name "b";',
              'protocol radv { interface "eth0" { max ra interval 4; default lifetime 0; }; }'),
    "address": ({"address": f"{FAR}%eth0"}, " neighbor fe80::1%eth0 external; passive;", ""),
    # two global addresses, and no IPv4 on the link
    "global": ({"address": "fd00::2"}, " neighbor fd00::1 external; source address fd00::2;", ""),
}


@pytest.mark.parametrize("how", BIRD_SESSIONS)
def test_bird(net, how):
    peer, session, more = BIRD_SESSIONS[how]
    node, tor = routers(net)
    far_address(node, "eth0", "fe80::1")
    far_address(tor, "eth0")
    for ns, address in ((node, "fd00::1/64"), (tor, "fd00::2/64")):
        ns.ip("address", "add", address, "dev", "eth0", "nodad")
    switch = bird(net, tor, session, more).start()
    daemon = net.underlayd(node, config([{"name": "tor", **peer}])).start()
    daemon.wait_established("tor")
    via = ["fd00::2"] if how == "global" else [FAR]
    wait_until(lambda: all([h for h, _ in both(node).get(p, ())] == via for p in OTHERS), 20, "both families are in our kernel",
               lambda: f"{both(node)} {daemon.routes()}")
    assert daemon.peer("tor")["extended_next_hop"]

    def theirs():
        rows = [(r["dst"], r.get("gateway") or r.get("via", {}).get("host"))
                for f in ("-4", "-6") for r in json.loads(tor.ip("-j", f, "route", "show", "proto", "bird") or "[]")]
        return dict(rows)

    expected = "fd00::1" if how == "global" else "fe80::1"
    wait_until(lambda: theirs() == {POD4: expected, POD6: expected}, 20, "and in the switch's", lambda: f"{theirs()} {switch.ctl('show route all')}")


def test_the_other_end_changes(net):
    """Two routers on one link are reported, and the first stays; when it is gone the second takes its place."""
    node, tor = routers(net)
    second = net.ns("second", router=True)
    second.run("sysctl", "-q", "-w", "net.ipv6.conf.all.forwarding=1")
    tor.ip("link", "add", "br0", "type", "bridge")
    tor.ip("link", "set", "br0", "up")
    net.link(tor, "to-second", None, second, "eth0", None)
    for dev in ("eth0", "to-second"):
        tor.ip("link", "set", dev, "master", "br0")
    far_address(tor, "br0")
    far_address(second, "eth0", "fe80::eeee")
    first = frr(net, tor, ("br0",)).start()
    daemon = net.underlayd(node, config([{"interface": "eth0"}])).start().wait_established("eth0")
    assert daemon.peer("eth0")["address"] == f"{FAR}%eth0"
    frr(net, second, name="second").start()
    daemon.wait_log(r"two routers on eth0, fe80::ffff and fe80::eeee")
    wait_until(lambda: daemon.peer("eth0").get("other_router") == "fe80::eeee", 10, "the second is shown")
    assert daemon.established("eth0") and daemon.peer("eth0")["address"] == f"{FAR}%eth0"
    first.kill()
    first.zebra.kill()
    tor.ip("-6", "address", "flush", "dev", "br0")
    wait_until(lambda: daemon.established("eth0") and daemon.peer("eth0")["address"] == "fe80::eeee%eth0", 40,
               "the second is the peer", lambda: daemon.log()[-2000:])
    wait_until(lambda: both(node).get(OTHERS[0]) == [("fe80::eeee", "eth0")], 10, "with its routes")


def test_no_link_local_address(net):
    """Without one we say so; and with the password of the switch all goes on as with any peer."""
    node, tor = routers(net)
    node.run("sysctl", "-q", "-w", "net.ipv6.conf.eth0.disable_ipv6=1")
    secret = net.dir / "secret"
    secret.write_text("sesame\n")
    secret.chmod(0o600)
    frr(net, tor, more="router bgp 64512\n neighbor eth0 password sesame\n neighbor eth0 ttl-security hops 1\n").start()
    daemon = net.underlayd(node, config([{"interface": "eth0", "password-file": str(secret), "ttl-security": 1}])).start()
    wait_until(lambda: "link-local" in daemon.peer("eth0")["info"], 10, "the missing address is named", lambda: daemon.peer("eth0"))
    assert daemon.peer("eth0")["address"] == "eth0"
    node.run("sysctl", "-q", "-w", "net.ipv6.conf.eth0.disable_ipv6=0")
    daemon.wait_established("eth0", timeout=40)
    wait_until(lambda: OTHERS[0] in both(node), 10, "the routes are there")
