"""Where a session starts and which way it goes: source, device, tcp-mss."""
import json
import re
import socket

from harness import wait_until
from speaker import Speaker
from switches import KINDS, Neighbor
from test_transport import sign

POD = "10.244.1.0/24"


def config(*peers):
    return {"node": {"name": "node", "asn": 64701, "router-id": "10.9.9.9"}, "pods": {"cidrs": [POD]},
            "kernel": {"install": False}, "peers": [{"hold-time": "9s", "import": "all", **p} for p in peers]}


def switch(net, there, kind, name, asn, ours="10.0.0.1", announce=(), **neighbor):
    return net.add(KINDS[kind](there, net.subdir(name), name, "10.0.0.2",
                               [Neighbor("10.0.0.2", asn, ours, 64701, **neighbor)], announce)).start()


def test_source(net):
    """The second address of the interface is our end; it comes late, and connections to another are not taken."""
    ns, tor = net.ns("node", router=True), net.ns("tor", router=True)
    net.link(ns, "eth0", "10.0.0.1/29", tor, "eth0", "10.0.0.2/29")
    bird = switch(net, tor, "bird", "switch", 64512, ours="10.0.0.5", passive=True)
    tor.ip("address", "add", "10.0.0.3/29", "dev", "eth0")
    node = net.underlayd(ns, config({"name": "tor", "address": "10.0.0.2", "asn": 64512, "source": "10.0.0.5"},
                                    {"name": "caller", "address": "10.0.0.3", "asn": 64513, "source": "10.0.0.5",
                                     "passive": True})).start()
    wait_until(lambda: "source: 10.0.0.5 is not an address of this host" in node.peer("tor")["info"], 10, "the reason is shown")
    ns.ip("address", "add", "10.0.0.5/29", "dev", "eth0")
    node.wait_established("tor")
    assert node.peer("tor")["local_address"] == "10.0.0.5" == node.peer("tor")["source"]
    bird.wait_route(POD)
    assert Speaker.connect(tor, "10.0.0.3", "10.0.0.1").closed()
    node.wait_log("peer caller: .*it came to 10.0.0.1, and source: 10.0.0.5 is our end")
    caller = Speaker.connect(tor, "10.0.0.3", "10.0.0.5").establish(64513)
    node.wait_established("caller")
    caller.close()


def test_a_link_local_peer_beside_one_with_a_device(net):
    """The kernel hands what comes over eth0 to the socket that the other peer has made for eth0."""
    ns, tor = net.ns("node", router=True), net.ns("tor", router=True)
    net.link(ns, "eth0", "10.0.0.1/30", tor, "eth0", "10.0.0.2/30")
    for where, address in ((ns, "fe80::b:1/64"), (tor, "fe80::b:2/64")):
        where.ip("address", "add", address, "dev", "eth0", "nodad")
    node = net.underlayd(ns, config(
        {"name": "tied", "address": "10.0.0.2", "asn": 64512, "device": "eth0", "passive": True},
        {"name": "linked", "address": "fe80::b:2%eth0", "asn": 64513, "passive": True})).start()
    tied = Speaker.connect(tor, "10.0.0.2", "10.0.0.1").establish(64512)
    sock = tor.socket(socket.AF_INET6, socket.SOCK_STREAM)
    scope = json.loads(tor.ip("-j", "link", "show", "eth0"))[0]["ifindex"]
    sock.bind(("fe80::b:2", 0, 0, scope))
    sock.connect(("fe80::b:1", 179, 0, scope))
    linked = Speaker(sock).establish(64513)
    node.wait_established("tied", "linked")
    tied.close(), linked.close()


def test_the_same_link_local_address_on_two_links(net):
    """Many switches have one link-local address everywhere. A peer that goes leaves the other's password in place."""
    ns = net.ns("node", router=True)
    secret = net.dir / "secret"
    secret.write_text("s3cret\n")
    secret.chmod(0o600)
    tors = []
    for i in (0, 1):
        tors.append(net.ns(f"tor{i}", router=True))
        net.link(ns, f"up{i}", f"10.0.{i}.1/30", tors[i], "eth0", f"10.0.{i}.2/30")
        ns.ip("address", "add", "fe80::b:1/64", "dev", f"up{i}", "nodad")
        tors[i].ip("address", "add", "fe80::b:2/64", "dev", "eth0", "nodad")
    peers = [{"name": f"tor{i}", "address": f"fe80::b:2%up{i}", "asn": 64512, "passive": True, "password-file": str(secret)}
             for i in (0, 1)]
    node = net.underlayd(ns, config(*peers)).start()
    node.configure(config(peers[1]))
    node.popen.send_signal(1)
    node.wait_log(r"reload: \d+ changes applied")
    sock = tors[1].socket(socket.AF_INET6, socket.SOCK_STREAM)
    scope = json.loads(tors[1].ip("-j", "link", "show", "eth0"))[0]["ifindex"]
    sign(sock, "fe80::b:1", b"s3cret")
    sock.settimeout(5)
    sock.bind(("fe80::b:2", 0, 0, scope))
    sock.connect(("fe80::b:1", 179, 0, scope))
    caller = Speaker(sock).establish(64512)
    node.wait_established("tor1")
    caller.close()


def test_the_same_address_behind_two_devices(net):
    """Two switches that are alike but for what they announce and their passwords; we call one, and the other calls us."""
    ns = net.ns("node", router=True)
    peers, switches = [], []
    for i, kind in enumerate(("bird", "frr")):
        there = net.ns(f"tor{i}", router=True)
        net.link(ns, f"up{i}", "10.0.0.1/30", there, "eth0", "10.0.0.2/30")
        secret = net.dir / f"secret{i}"
        secret.write_text(f"s3cret-{i}\n")
        secret.chmod(0o600)
        switches.append(switch(net, there, kind, f"switch{i}", 64512 + i, announce=[f"10.244.{2 + i}.0/24"],
                               password=f"s3cret-{i}", passive=i == 0))
        peers.append({"name": f"tor{i}", "address": "10.0.0.2", "asn": 64512 + i, "device": f"up{i}", "passive": i == 1,
                      "password-file": str(secret)})
    node = net.underlayd(ns, config(*peers)).start().wait_established(timeout=60)
    for i, there in enumerate(switches):
        there.wait_route(POD)
        wait_until(lambda i=i: {r["source"] for r in node.routes(f"10.244.{2 + i}.0/24")} == {f"tor{i}"}, 20, "its route")
        assert node.peer(f"tor{i}")["device"] == f"up{i}"
    assert node.status()["listen"] == "port 179; port 179 on up0; port 179 on up1"
    ns.ip("link", "set", "up0", "down")  # takes its own session along, and no other
    wait_until(lambda: node.peer("tor0")["state"] != "Established", 20, "the session over up0 is gone", node.peers)
    assert node.established("tor1") and node.peer("tor1")["established_count"] == 1
    ns.ip("link", "set", "up0", "up")
    node.wait_established(timeout=60)


def test_a_device_that_comes_and_goes(net):
    """It is missing, then there, then made anew under its name; meanwhile nobody gets in another way."""
    ns, tor, side = net.ns("node", router=True), net.ns("tor", router=True), net.ns("side", router=True)
    net.link(ns, "eth9", "10.0.0.9/28", side, "eth0", "10.0.0.2/28")
    tor_peer = {"name": "tor", "address": "10.0.0.2", "asn": 64512, "device": "up0", "passive": True}
    node = net.underlayd(ns, config(tor_peer)).start()
    wait_until(lambda: "port 179 on up0: there is no such device" in node.status()["listen"], 10, "the status says so")
    assert any("up0" in w for w in node.status()["warnings"])
    stranger = Speaker.connect(side, "10.0.0.2", "10.0.0.9")
    assert stranger.notification()[:2] == (6, 5)
    net.link(ns, "up0", "10.0.0.1/29", tor, "eth0", "10.0.0.2/29")
    switch(net, tor, "bird", "switch", 64512)
    node.wait_established("tor")
    ns.ip("link", "delete", "up0")
    wait_until(lambda: node.peer("tor")["state"] != "Established", 20, "the session is gone")
    net.link(ns, "up0", "10.0.0.1/29", tor, "eth0", "10.0.0.2/29")
    wait_until(lambda: node.peer("tor")["state"] == "Established", 60, "it is back", lambda: node.peer("tor"))


def test_we_call_over_a_missing_device(net):
    ns = net.ns("node", router=True)
    node = net.underlayd(ns, config({"name": "tor", "address": "10.0.0.2", "asn": 64512, "device": "up0"})).start()
    wait_until(lambda: "there is no device up0 (waiting for it)" in node.peer("tor")["info"], 10, "the reason", node.peers)


def test_tcp_mss(net):
    """Whoever opens the connection: no segment is larger."""
    ns, tor = net.ns("node", router=True), net.ns("tor", router=True)
    net.link(ns, "eth0", "10.0.0.1/29", tor, "eth0", "10.0.0.2/29")
    tor.ip("address", "add", "10.0.0.3/29", "dev", "eth0")
    switch(net, tor, "frr", "switch", 64512, passive=True)
    node = net.underlayd(ns, config({"name": "tor", "address": "10.0.0.2", "asn": 64512, "tcp-mss": 600},
                                    {"name": "caller", "address": "10.0.0.3", "asn": 64513, "tcp-mss": 700,
                                     "passive": True})).start()
    caller = Speaker.connect(tor, "10.0.0.3", "10.0.0.1").establish(64513)
    node.wait_established("tor", "caller")
    for address in ("10.0.0.2", "10.0.0.3"):
        for where, side in ((ns, "dst"), (tor, "src")):
            text = where.run("ss", "-Htin", "state", "established", side, address).stdout
            sizes = [int(n) for n in re.findall(r"\bmss:(\d+)", text)]
            assert sizes and max(sizes) <= 600, text
    caller.close()
