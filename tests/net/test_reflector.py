"""Route reflectors (RFC 4456): we are one between BIRD and FRR, and a client of theirs."""
import signal
import socket
import struct

import pytest

from harness import holds_for, wait_until
from speaker import UPDATE, Speaker, attribute, capability, prefix_bytes, update
from switches import KINDS, Bird, Frr, Neighbor

ASN = 64701
FROM_BIRD, FROM_FRR, FROM_THIRD = "10.244.2.0/24", "10.244.3.0/24", "10.244.4.0/24"


def star(net, *kinds):
    """A node "rr" with a link to each of the others, which reach one another through it."""
    rr = net.ns("rr", router=True)
    others = []
    for i, kind in enumerate(kinds, 1):
        ns = net.ns(kind, router=True)
        net.link(rr, f"eth{i}", f"10.0.{i}.1/30", ns, "eth0", f"10.0.{i}.2/30")
        ns.ip("route", "add", "10.0.0.0/16", "via", f"10.0.{i}.1")
        others.append(ns)
    return rr, others


def config(clients, others=(), **more):
    peers = [{"name": f"p{i}", "address": f"10.0.{i}.2", "asn": ASN, "hold-time": "9s",
              **({"route-reflector-client": True} if i in clients else {"export": "all"}), **more}
             for i in (*clients, *others)]
    return {"node": {"name": "rr", "asn": ASN, "router-id": "10.0.0.1", "cluster-id": "10.9.9.9"},
            "pods": {"cluster-cidrs": ["10.244.0.0/16"]}, "peers": peers, "kernel": {"install": False}}


def switch(net, kind, ns, index, announce, **neighbor):
    me = f"10.0.{index}.2"
    return net.add(KINDS[kind](ns, net.subdir(kind), kind, me, [Neighbor(me, ASN, f"10.0.{index}.1", ASN, **neighbor)], announce))


def one_path(peer, prefix):
    return wait_until(lambda: len(peer.paths(prefix)) == 1 and peer.paths(prefix)[0], 20, f"{peer.name} has {prefix}",
                      lambda: peer.paths(prefix))


def test_we_reflect_between_bird_and_frr(net):
    """Both are clients. What one tells, the other gets as it was, with its origin and our cluster; what goes, goes."""
    rr, (bird_ns, frr_ns) = star(net, "bird", "frr")
    node = net.underlayd(rr, config(clients=(1, 2))).start()
    bird = switch(net, "bird", bird_ns, 1, [FROM_BIRD]).start()
    frr = switch(net, "frr", frr_ns, 2, [FROM_FRR]).start()
    node.wait_established("p1", "p2")
    path = one_path(frr, FROM_BIRD)
    assert (path["next_hop"], path["originator"], path["clusters"]) == ("10.0.1.2", "10.0.1.2", ["10.9.9.9"]), path
    assert (path["as_path"], path["local_pref"]) == ("", 100), path
    path = one_path(bird, FROM_FRR)
    assert (path["next_hop"], path["originator"], path["clusters"]) == ("10.0.2.2", "10.0.2.2", ["10.9.9.9"]), path
    assert node.peer("p1")["route_reflector_client"]
    wait_until(lambda: [node.peer(p)["advertised"] for p in ("p1", "p2")] == [1, 1], 10, "each was told the other's route")
    bird.withdraw(FROM_BIRD)
    frr.wait_no_route(FROM_BIRD)
    node.configure(config(clients=(1, 2), **{"next-hop-self": True}))
    node.popen.send_signal(signal.SIGHUP)
    wait_until(lambda: bird.paths(FROM_FRR)[0]["next_hop"] == "10.0.1.1", 20, "the next hop is the reflector", lambda: bird.paths(FROM_FRR))
    assert node.peer("p1")["established_count"] == 1


def test_those_who_are_no_clients(net):
    """A client's routes go to everyone inside; what others inside tell goes to the client only, and loops end here."""
    rr, (bird_ns, side, third) = star(net, "bird", "side", "third")
    node = net.underlayd(rr, config(clients=(1,), others=(2, 3), passive=True)).start()
    bird = switch(net, "bird", bird_ns, 1, [FROM_BIRD]).start()
    speakers = {i: Speaker.connect(ns, f"10.0.{i}.2", f"10.0.{i}.1").establish(ASN, router_id=f"10.0.{i}.2", hold=90)
                for i, ns in ((2, side), (3, third))}
    node.wait_established("p1", "p2", "p3")

    def tell(prefix, originator=None, clusters=()):
        attributes = (attribute(1, b"\0") + attribute(2, b"") + attribute(3, bytes([10, 0, 2, 2])) + attribute(5, bytes([0, 0, 0, 200])))
        if originator:
            attributes += attribute(9, bytes(originator), 0x80)
        if clusters:
            attributes += attribute(10, b"".join(map(bytes, clusters)), 0x80)
        speakers[2].send(update([prefix], attributes=attributes))

    tell(FROM_FRR)
    path = one_path(bird, FROM_FRR)
    assert (path["originator"], path["clusters"], path["local_pref"]) == ("10.0.2.2", ["10.9.9.9"], 200), path
    tell(FROM_FRR, [10, 0, 7, 7], [[10, 8, 8, 8]])
    wait_until(lambda: bird.paths(FROM_FRR)[0]["clusters"] == ["10.9.9.9", "10.8.8.8"], 20, "the way behind it is told",
               lambda: bird.paths(FROM_FRR))
    assert bird.paths(FROM_FRR)[0]["originator"] == "10.0.7.7"
    wait_until(lambda: node.peer("p3")["advertised"] == 1 and node.peer("p2")["advertised"] == 1, 20,
               "those who are no clients have the client's route", lambda: node.peers())
    tell(FROM_FRR, [10, 0, 7, 7], [[10, 8, 8, 8], [10, 9, 9, 9]])  # it came by us already
    bird.wait_no_route(FROM_FRR)
    tell(FROM_FRR, [10, 0, 7, 7], [[10, 8, 8, 8]])
    bird.wait_route(FROM_FRR)
    tell(FROM_FRR, [10, 0, 0, 1])  # it is our own
    bird.wait_no_route(FROM_FRR)
    holds_for(lambda: node.peer("p3")["advertised"] == 1, 0.3, "nobody else hears of it")
    assert node.peer("p2")["established_count"] == 1


def test_an_ipv6_next_hop_of_an_ipv4_route_is_reflected(net):
    """To a client that understands it (RFC 8950) the route goes as it came: the packets need not go by us."""
    rr, others = star(net, "left", "right")
    peers, speakers = [], []
    for i, ns in enumerate(others, 1):
        for where, dev, end in ((rr, f"eth{i}", 1), (ns, "eth0", 2)):
            where.ip("address", "add", f"fd00:{i}::{end}/64", "dev", dev, "nodad")
        peers.append({"name": f"p{i}", "address": f"fd00:{i}::2", "asn": ASN, "passive": True, "route-reflector-client": True})
    node = net.underlayd(rr, {**config(clients=()), "peers": peers}).start()
    for i, ns in enumerate(others, 1):
        sock = ns.socket(socket.AF_INET6, socket.SOCK_STREAM)
        sock.connect((f"fd00:{i}::1", 179))
        speakers.append(Speaker(sock).establish(ASN, router_id=f"10.0.{i}.2", hold=90,
                                                more=capability(5, struct.pack("!HHH", 1, 1, 2))))
    node.wait_established("p1", "p2")
    hop = socket.inet_pton(socket.AF_INET6, "fd00:1::7")
    reach = struct.pack("!HBB", 1, 1, 16) + hop + b"\0" + prefix_bytes(FROM_BIRD)
    speakers[0].send(update(attributes=attribute(14, reach, 0x80) + attribute(1, b"\0") + attribute(2, b"") +
                            attribute(5, bytes([0, 0, 0, 100]))))
    while prefix_bytes(FROM_BIRD) not in (told := speakers[1].receive_until(UPDATE)[1]):
        pass
    assert hop in told, told.hex()


@pytest.mark.parametrize("kind", ["bird", "frr"])
def test_we_are_clients(net, kind):
    """Two nodes on one subnet with a switch that reflects: each has the other's pods, by the other's own address."""
    tor = net.ns("tor")
    tor.ip("link", "add", "br0", "type", "bridge")
    tor.ip("address", "add", "10.0.0.9/24", "dev", "br0")
    tor.ip("link", "set", "br0", "up")
    spaces, nodes, neighbors = [], [], []
    for i in (1, 2):
        ns = net.ns(f"n{i}", router=True)
        net.link(ns, "eth0", f"10.0.0.{i}/24", tor, f"port{i}", f"192.0.2.{i}/32")
        tor.ip("link", "set", f"port{i}", "master", "br0")
        client = {"more": ("rr client;",)} if kind == "bird" else {"channel": ("route-reflector-client",)}
        neighbors.append(Neighbor("10.0.0.9", ASN, f"10.0.0.{i}", ASN, next_hop_self=False, **client))
        spaces.append(ns)
        nodes.append(net.underlayd(ns, {
            "node": {"name": f"n{i}", "asn": ASN, "router-id": f"10.0.0.{i}"},
            "pods": {"cidrs": [f"10.244.{i}.0/24"], "cluster-cidrs": ["10.244.0.0/16"]},
            "peers": [{"name": "rr", "address": "10.0.0.9", "asn": "internal", "hold-time": "9s"}]}, f"n{i}").start())
    net.add({"bird": Bird, "frr": Frr}[kind](tor, net.subdir(kind), kind, "10.0.0.9", neighbors)).start()
    for node in nodes:
        node.wait_established("rr")
    wait_until(lambda: spaces[0].our_routes().get("10.244.2.0/24") == ["10.0.0.2"] and
               spaces[1].our_routes().get("10.244.1.0/24") == ["10.0.0.1"], 20, "each has the other's pods",
               lambda: [ns.our_routes() for ns in spaces])
    row, = nodes[0].routes("10.244.2.0/24")
    assert row["originator_id"] == "10.0.0.2" and row["as_path"] == "", row
    nodes[1].stop()
