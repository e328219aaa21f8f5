"""SIGHUP: what changed is applied, what did not keeps its session, and a bad file changes nothing."""
import signal
import socket
import struct

from harness import holds_for, wait_until
from speaker import UPDATE, Speaker, capability, prefix_bytes
from switches import KINDS, Neighbor

POD = "10.244.1.0/24"


def two_switches(net):
    ns, tors = net.ns("node", router=True), []
    for i, kind in enumerate(["bird", "frr"]):
        tor = net.ns(f"tor{i}", router=True)
        net.link(ns, f"eth{i}", f"10.0.{i}.1/30", tor, "eth0", f"10.0.{i}.2/30")
        tors.append(net.add(KINDS[kind](tor, net.subdir(f"tor{i}"), f"tor{i}", f"10.0.{i}.2",
                                        [Neighbor(f"10.0.{i}.2", 64512 + i, f"10.0.{i}.1", 64701)],
                                        [f"10.244.{20 + i}.0/24"])).start())
    return ns, tors


def config(*peers, cidr=POD, **more):
    return {"node": {"name": "node", "asn": 64701, "router-id": "10.0.0.1"},
            "pods": {"cidrs": [cidr], "cluster-cidrs": ["10.244.0.0/16"]},
            "peers": [{"name": f"tor{i}", "address": f"10.0.{i}.2", "asn": 64512 + i, "hold-time": "3s", **more}
                      for i in peers]}


def reload(node, new_config):
    start = len(node.log())
    node.configure(new_config)
    node.popen.send_signal(signal.SIGHUP)
    return node.wait_log(r"reload: .*(applied|nothing was changed)", 20, start).group(0)


def test_peers_come_and_go_without_touching_the_others(net):
    ns, tors = two_switches(net)
    node = net.underlayd(ns, config(0)).start().wait_established("tor0")
    assert "1 changes applied" in reload(node, config(0, 1))
    node.wait_established("tor0", "tor1")
    assert node.peer("tor0")["established_count"] == 1
    wait_until(lambda: set(ns.our_routes()) == {POD, "10.244.20.0/24", "10.244.21.0/24"}, 20, "both switches' routes are there",
               ns.our_routes)
    assert "0 changes applied" in reload(node, config(0, 1))
    assert "1 changes applied" in reload(node, config(1))
    wait_until(lambda: set(ns.our_routes()) == {POD, "10.244.21.0/24"}, 20, "the first one's routes are gone", ns.our_routes)
    wait_until(lambda: not tors[0].established(), 20, "the first one knows")
    assert node.peer("tor1")["established_count"] == 1
    assert list(node.peers()) == ["tor1"]


def test_changed_addresses_are_offered(net):
    """A link without IPv6: only node.addresses can be the next hop of what is told of it."""
    ns, there = net.ns("node", router=True), net.ns("there", router=True)
    net.link(ns, "eth0", "10.0.0.1/30", there, "eth0", "10.0.0.2/30")
    ns.run("sysctl", "-q", "-w", "net.ipv6.conf.eth0.disable_ipv6=1")
    settings = config(0, passive=True)
    settings["pods"]["cidrs"].append("fd10:244:1::/64")
    settings["kernel"] = {"install": False}
    node = net.underlayd(ns, settings).start()
    peer = Speaker.connect(there, "10.0.0.2", "10.0.0.1").establish(64512, hold=90, more=capability(1, struct.pack("!HBB", 2, 0, 1)))
    assert prefix_bytes(POD) in peer.receive_until(UPDATE)[1]
    settings["node"]["addresses"] = ["10.0.0.1", "fd00::1"]
    assert "1 changes applied" in reload(node, settings)
    while socket.inet_pton(socket.AF_INET6, "fd00::1") not in peer.receive_until(UPDATE)[1]:
        pass
    assert node.established("tor0")


def test_changed_policy_and_changed_cidr(net):
    ns, tors = two_switches(net)
    node = net.underlayd(ns, config(0)).start().wait_established("tor0")
    tors[0].wait_route(POD)
    reload(node, config(0, export="none"))
    tors[0].wait_no_route(POD)
    reload(node, config(0))
    tors[0].wait_route(POD)
    node.wait_established("tor0")
    reload(node, config(0, cidr="10.244.9.0/24"))
    tors[0].wait_route("10.244.9.0/24")
    wait_until(lambda: set(ns.our_routes()) == {"10.244.9.0/24", "10.244.20.0/24"}, 20, "the blackhole follows", ns.our_routes)
    tors[0].wait_no_route(POD)
    # one more own CIDR needs no new session, nor do fewer cluster CIDRs: what they exclude goes
    more = config(0)
    more["pods"] = {"cidrs": ["10.244.9.0/24", POD], "cluster-cidrs": ["10.244.0.0/16"]}
    reload(node, more)
    tors[0].wait_route(POD)
    fewer = config(0)
    fewer["pods"] = {"cidrs": ["10.244.9.0/24", POD], "cluster-cidrs": ["10.244.128.0/17"]}
    before = node.wait_established("tor0").peer("tor0")["established_count"]
    reload(node, fewer)
    wait_until(lambda: set(ns.our_routes()) == {"10.244.9.0/24", POD}, 20, "what is outside the cluster now is gone", ns.our_routes)
    assert node.peer("tor0")["established_count"] == before and node.peer("tor0")["state"] == "Established"


def test_a_bad_file_or_a_change_that_needs_a_restart_changes_nothing(net):
    ns, _ = two_switches(net)
    node = net.underlayd(ns, config(0)).start().wait_established("tor0")
    before = ns.our_routes()
    bad = config(0)
    bad["peers"][0]["hold-time"] = "1s"
    for wrong in (bad, {**config(0), "kernel": {"metric": 77}}, "peers: [\n"):
        assert "nothing was changed" in reload(node, wrong)
    holds_for(lambda: node.established("tor0") and node.peer("tor0")["established_count"] == 1 and ns.our_routes() == before,
              1, "everything is as before")
    assert "hold-time" in node.log()


def test_reload_with_a_socket_from_the_command_line(net):
    ns, _ = two_switches(net)
    node = net.underlayd(ns, config(0))
    node.socket_path = node.dir / "elsewhere"
    node.start(True, "-s", node.socket_path).wait_established("tor0")
    assert "1 changes applied" in reload(node, config(0, 1))
