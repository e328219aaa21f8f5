"""Dynamic neighbours: a prefix whose callers become peers, with a limit and one password for all."""
import re
import signal

import pytest

from harness import holds_for, wait_until
from speaker import NOTIFICATION, UPDATE, Speaker, capability, prefix_bytes, update
from switches import KINDS, Neighbor
from test_transport import RIGHT, WRONG, sign

import socket

POD = "10.244.1.0/24"
REFRESH = capability(2)


class Site:
    """A node on one link with many callers, 10.0.0.2 and up (fd00::2 and up)."""

    def __init__(self, net, *peers, callers=4):
        self.net = net
        self.ns, self.side = net.ns("node", router=True), net.ns("side", router=True)
        net.link(self.ns, "eth0", "10.0.0.1/24", self.side, "eth0", "10.0.0.2/24")
        for i in range(3, 2 + callers):
            self.side.ip("address", "add", f"10.0.0.{i}/24", "dev", "eth0")
        for ns, address in ((self.ns, "fd00::1/64"), (self.side, "fd00::2/64")):
            ns.ip("address", "add", address, "dev", "eth0", "nodad")
        self.node = net.underlayd(self.ns, self.config(*peers)).start()

    def config(self, *peers, **more):
        return {"node": {"name": "node", "asn": 64701, "router-id": "10.9.9.9"}, "pods": {"cidrs": [POD]},
                "kernel": {"install": False}, "peers": list(peers), **more}

    def reload(self, *peers, **more):
        start = len(self.node.log())
        self.node.configure(self.config(*peers, **more))
        self.node.popen.send_signal(signal.SIGHUP)
        return self.node.wait_log(r"reload: .*(applied|nothing was changed)", 20, start).group(0)

    def call(self, last, asn=64512, **kw):
        address = f"10.0.0.{last}"
        return Speaker.connect(self.side, address, "10.0.0.1").establish(asn, router_id=address, hold=90, **kw)

    def refused(self, last):
        """What a caller is told at once; None: it was welcome."""
        speaker = Speaker.connect(self.side, f"10.0.0.{last}", "10.0.0.1")
        kind, body = speaker.receive()
        speaker.close()
        return tuple(body[:2]) if kind == NOTIFICATION else None

    def states(self):
        return {name: p["state"] for name, p in self.node.peers().items()}

    def wait_states(self, timeout=20, **states):
        wanted = {name.replace("_", "-"): state for name, state in states.items()}
        wait_until(lambda: self.states() == wanted, timeout, f"{wanted}", self.states)


def dyn(**more):
    return {"name": "dyn", "range": "10.0.0.0/24", "asn": "external", "import": "all",
            **{key.replace("_", "-"): value for key, value in more.items()}}


def write_secret(net, text=RIGHT):
    path = net.dir / "secret"
    path.write_text(text + "\n")
    path.chmod(0o600)
    return str(path)


@pytest.mark.essential
@pytest.mark.parametrize("kind", ["bird", "frr"])
def test_switches_call(net, kind):
    """Two switches of a range with TCP-MD5 and GTSM; a policy knows them by the range's name."""
    ns = net.ns("node", router=True)
    switches = []
    for i in (1, 2):
        there = net.ns(f"tor{i}", router=True)
        net.link(ns, f"eth{i}", f"10.0.{i}.1/30", there, "eth0", f"10.0.{i}.2/30")
        switches.append(net.add(KINDS[kind](
            there, net.subdir(f"switch{i}"), f"switch{i}", f"10.0.{i}.2",
            [Neighbor(f"10.0.{i}.2", 64510 + i, f"10.0.{i}.1", 64701, password=RIGHT, ttl_security=1)],
            [f"10.244.{10 + i}.0/24"])).start())
    node = net.underlayd(ns, {
        "node": {"name": "node", "asn": 64701, "router-id": "10.9.9.9"}, "pods": {"cidrs": [POD]},
        "policies": [{"name": "known", "rules": [{"match": {"peer": ["dyn"]}, "set": {"local-pref": 150}, "action": "accept"}]}],
        "peers": [{"name": "dyn", "range": "10.0.0.0/16", "asn": "external", "import": "known", "hold-time": "9s",
                   "password-file": write_secret(net), "ttl-security": 1}]}).start()
    wait_until(lambda: "dyn-10.0.2.2" in node.peers() and "dyn-10.0.1.2" in node.peers(), 30, "both have called", node.peers)
    node.wait_established("dyn-10.0.1.2", "dyn-10.0.2.2", timeout=60)
    for switch in switches:
        switch.wait_route(POD)
    wait_until(lambda: set(ns.our_routes()) == {POD, "10.244.11.0/24", "10.244.12.0/24"}, 20, "their routes", ns.our_routes)
    assert {r["local_pref"] for r in node.routes("10.244.11.0/24")} == {150}
    row = node.peer("dyn")
    assert (row["range_peers"], row["range_limit"], row["password"]) == (2, 100, True)
    assert "2 of 100 peers" in node.client("show", "peers").stdout
    assert "dyn is a range, which has no session of its own" in node.client("peer", "dyn", "stop").stderr
    assert node.peer("dyn-10.0.1.2")["range"] == "dyn" and node.peer("dyn-10.0.1.2")["password"] is True
    switches[0].disable()  # one goes: the other one's key stays
    wait_until(lambda: node.peer("dyn-10.0.1.2")["state"] != "Established", 20, "it is gone")
    holds_for(lambda: node.established("dyn-10.0.2.2"), 2, "the other session")
    switches[0].enable()
    node.wait_established("dyn-10.0.1.2", timeout=60)


def try_port(site, address, ours, key):
    with site.side.socket(socket.AF_INET6 if ":" in ours else socket.AF_INET, socket.SOCK_STREAM) as s:
        s.settimeout(1.5)
        s.bind((address, 0))
        if key:
            sign(s, ours, key.encode())
        try:
            s.connect((ours, 179))
        except TimeoutError:
            return "no answer"
        return "open"


@pytest.mark.parametrize("prefix, address, ours", [("10.0.0.0/24", "10.0.0.3", "10.0.0.1"), ("fd00::/64", "fd00::2", "fd00::1")])
def test_the_password_of_a_range(net, prefix, address, ours):
    """Right, wrong and none, before and after a change, and when the range is no more."""
    tries = lambda: [try_port(site, address, ours, key) for key in (RIGHT, WRONG, None)]  # noqa: E731
    peer = dyn(range=prefix, password_file=write_secret(net))
    site = Site(net, peer)
    assert tries() == ["open", "no answer", "no answer"]
    site.node.wait_log("range dyn: packets arrive with(out)? a (wrong )?TCP-MD5 signature")
    assert "TCP-MD5" in site.node.peer("dyn")["info"]
    write_secret(net, WRONG)
    assert re.search(r"[23] changes applied", site.reload(peer))  # the caller of before may still be there
    assert tries() == ["no answer", "open", "no answer"]
    assert "applied" in site.reload()
    assert tries() == ["no answer", "no answer", "open"]  # open: to be turned away
    for text in (site.node.log(), site.node.client("-j", "show", "peers").stdout):
        assert RIGHT not in text and WRONG not in text


def test_the_reason_knows_the_range(net):
    """`show routes why` asks the export policy as the export does: by the range's name."""
    site = Site(net)
    site.reload(dyn(export="known"), policies=[
        {"name": "known", "rules": [{"match": {"peer": ["dyn"]}, "action": "accept"}]}])
    teller, hearer = site.call(2), site.call(3, asn=64513)
    teller.send(update(["10.99.0.0/24"], "10.0.0.2", [64512]))
    assert prefix_bytes("10.99.0.0/24") in hearer.receive_until(UPDATE)[1]
    assert site.node.ask("show", "routes", "why", "10.99.0.0/24")[0]["told"] == ["dyn-10.0.0.3"]


def test_the_limit(net):
    site = Site(net, dyn(range_limit=2))
    first, second = site.call(2, 64512), site.call(3, 64513)
    site.wait_states(dyn="Range", **{"dyn-10.0.0.2": "Established", "dyn-10.0.0.3": "Established"})
    assert site.refused(4) == (6, 5)
    site.node.wait_log(r"range dyn: connection from 10\.0\.0\.4 turned away: 2 peers are there already \(range-limit\)")
    assert "2 of 2 peers" in site.node.peer("dyn")["info"]
    assert "1 changes applied" in site.reload(dyn(range_limit=3))
    third = site.call(4, 64514)
    site.node.wait_established("dyn-10.0.0.2", "dyn-10.0.0.3", "dyn-10.0.0.4")
    assert {site.node.peer(f"dyn-10.0.0.{i}")["established_count"] for i in (2, 3, 4)} == {1}
    for speaker in (first, second, third):
        speaker.close()


def test_who_comes_first(net):
    """A configured address before any range, a longer range before a shorter one, also after a reload."""
    own = {"name": "own", "address": "10.0.0.2", "asn": 64512, "import": "all", "passive": True}
    inner = dyn(name="inner", range="10.0.0.4/30")
    site = Site(net, dyn(), inner, own, callers=5)
    callers = [site.call(2), site.call(3, 64513), site.call(5, 64515)]
    site.wait_states(dyn="Range", inner="Range", own="Established",
                     **{"dyn-10.0.0.3": "Established", "inner-10.0.0.5": "Established"})
    mine = {"name": "mine", "address": "10.0.0.3", "asn": 64513, "import": "all", "passive": True}
    assert "applied" in site.reload(dyn(), own, mine)
    assert callers[1].receive_until(NOTIFICATION)[1][:2] == bytes([6, 6])
    assert callers[2].receive_until(NOTIFICATION)[1][:2] in (bytes([6, 3]), bytes([6, 6]))
    callers[1:] = [site.call(3, 64513), site.call(5, 64515)]
    site.wait_states(dyn="Range", own="Established", mine="Established", **{"dyn-10.0.0.5": "Established"})
    assert site.node.peer("own")["established_count"] == 1
    for speaker in callers:
        speaker.close()


def test_a_reload_changes_them_in_place(net):
    """The policy of the range changes under its sessions; another AS takes new ones; without the range they end."""
    site = Site(net, dyn())
    peer = site.call(2, more=REFRESH)
    site.node.wait_established("dyn-10.0.0.2")
    assert "1 changes applied" in site.reload(dyn(export="none"))
    assert site.node.peer("dyn-10.0.0.2")["export"] == "none" and site.node.established("dyn-10.0.0.2")
    site.reload(dyn(asn=64512))
    assert peer.notification()[:2] == (6, 6)
    peer = site.call(2)
    site.node.wait_established("dyn-10.0.0.2")
    wrong = Speaker.connect(site.side, "10.0.0.3", "10.0.0.1")
    with pytest.raises(AssertionError):
        wrong.establish(64513)
    wait_until(lambda: "configured is AS 64512" in site.node.peer("dyn-10.0.0.3")["info"], 10, "the reason is shown")
    site.reload()
    assert peer.notification()[:2] == (6, 3)
    assert site.node.peers() == {} and site.refused(2) == (6, 5)


def test_they_are_forgotten(net):
    """One that never got as far as a session after 10 s, unless the operator has stopped it; its place is free again."""
    site = Site(net, dyn(range_limit=1))
    caller = Speaker.connect(site.side, "10.0.0.2", "10.0.0.1")
    wait_until(lambda: "dyn-10.0.0.2" in site.node.peers(), 10, "it is a peer")
    caller.close()
    wait_until(lambda: site.node.peers().keys() == {"dyn"}, 25, "it is forgotten", site.node.peers)
    assert site.node.peer("dyn")["range_peers"] == 0
    caller = site.call(3)
    site.node.wait_established("dyn-10.0.0.3")
    assert site.node.client("peer", "dyn-10.0.0.3", "stop").returncode == 0
    assert site.refused(3) == (6, 5)
    assert "Idle" in site.states().values()
    caller.close()
