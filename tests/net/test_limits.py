"""How many prefixes may come and go, and `underlayc peer NAME stop|start|restart`."""
import re
import signal

import pytest

from harness import holds_for, wait_until
from speaker import UPDATE, Speaker, prefix_bytes, update
from switches import KINDS, Neighbor

POD = "10.244.1.0/24"
NAMES = [f"10.99.{i}.0/24" for i in range(12)]


class Site:
    """A node with one passive peer, which is a Speaker of ours at 10.0.0.2."""

    def __init__(self, net, **peer):
        self.ns, self.there = net.ns("node", router=True), net.ns("there", router=True)
        net.link(self.ns, "eth0", "10.0.0.1/30", self.there, "eth0", "10.0.0.2/30")
        self.node = net.underlayd(self.ns, self.config(**peer)).start()

    def config(self, **peer):
        return {"node": {"name": "node", "asn": 64701, "router-id": "10.0.0.1"}, "kernel": {"install": False},
                "pods": {"cidrs": [POD, "10.245.0.0/24", "10.246.0.0/24"]},
                "peers": [{"name": "tor", "address": "10.0.0.2", "asn": 64512, "hold-time": "90s", "passive": True,
                           "import": "all", **{key.replace("_", "-"): value for key, value in peer.items()}}]}

    def speaker(self):
        return Speaker.connect(self.there, "10.0.0.2", "10.0.0.1").establish(64512, hold=90)

    def refused(self):
        """What a connection is told that is not wanted; None: it got in."""
        speaker = Speaker.connect(self.there, "10.0.0.2", "10.0.0.1")
        kind, body = speaker.receive()
        speaker.close()
        return tuple(body[:2]) if kind == 3 else None

    def reload(self, **peer):
        start = len(self.node.log())
        self.node.configure(self.config(**peer))
        self.node.popen.send_signal(signal.SIGHUP)
        self.node.wait_log(r"reload: \d+ changes applied", 20, start)

    def peer(self):
        return self.node.peer("tor")

    def accepted(self, n):
        wait_until(lambda: self.peer()["accepted"] == n, 10, f"{n} prefixes are accepted", self.peer)


def test_restart_after_too_many(net):
    site = Site(net, max_prefixes=3)
    peer = site.speaker().send(update(NAMES[:4], "10.0.0.2", [64512]))
    assert peer.notification()[:2] == (6, 1)
    assert site.refused() == (6, 5)  # the wait is one for both sides
    wait_until(lambda: site.refused() is None, 20, "it is let in again")


def test_warn_of_too_many(net):
    site = Site(net, max_prefixes=5, max_prefixes_action="warn")
    peer = site.speaker().send(update(NAMES[:4], "10.0.0.2", [64512]))
    site.node.wait_log("peer tor: 4 prefixes, four fifths and more of max-prefixes: 5")
    assert site.peer()["info"] == "near max-prefixes"
    for name in NAMES[4:8]:
        peer.send(update([name], "10.0.0.2", [64512]))
    site.accepted(8)
    assert site.peer()["info"] == "more prefixes than max-prefixes" and site.peer()["state"] == "Established"
    assert len(re.findall("more than max-prefixes", site.node.log())) == 1  # once, however many follow
    peer.send(update(withdrawn=NAMES[4:8]))
    site.node.wait_log("peer tor: 4 prefixes, within max-prefixes: 5 again")
    peer.send(update(NAMES[4:8], "10.0.0.2", [64512]))
    site.accepted(8)
    assert len(re.findall("more than max-prefixes", site.node.log())) == 2
    peer.send(update(withdrawn=NAMES[:8]))
    site.node.wait_log("peer tor: 0 prefixes, less than four fifths")
    assert site.peer()["info"] == ""


def test_stop_after_too_many(net):
    site = Site(net, max_prefixes=3, max_prefixes_action="stop")
    peer = site.speaker().send(update(NAMES[:4], "10.0.0.2", [64512]))
    assert peer.notification()[:2] == (6, 1)
    wait_until(lambda: site.peer()["state"] == "Idle", 10, "it is stopped")
    assert "more prefixes than max-prefixes: 3 allows" in site.peer()["info"] and site.peer()["stopped"]
    assert site.refused() == (6, 5)
    site.reload(max_prefixes=3, max_prefixes_action="stop", hold_time="90s")  # the same
    assert site.refused() == (6, 5)
    site.reload(max_prefixes=4, max_prefixes_action="stop")  # the operator has acted
    peer = site.speaker().send(update(NAMES[:4], "10.0.0.2", [64512]))
    site.accepted(4)
    peer.close()


def test_a_lower_limit_counts_at_once(net):
    site = Site(net, max_prefixes=5, max_prefixes_action="stop")
    peer = site.speaker().send(update(NAMES[:4], "10.0.0.2", [64512]))
    site.accepted(4)
    site.reload(max_prefixes=4, max_prefixes_action="stop")
    assert site.peer()["state"] == "Established"
    site.reload(max_prefixes=3, max_prefixes_action="stop")
    assert peer.notification()[:2] == (6, 1)


def test_reloads_start_it_once(net):
    """The second of two reloads finds a peer that is started already, and must not call it once more."""
    site = Site(net, passive=False, max_prefixes=3, max_prefixes_action="stop")
    peer = site.speaker().send(update(NAMES[:4], "10.0.0.2", [64512]))
    assert peer.notification()[:2] == (6, 1)
    wait_until(lambda: site.peer()["state"] == "Idle", 10, "it is stopped")
    peer.close()
    site.there.ip("route", "add", "blackhole", "10.0.0.1/32")  # calls go unanswered
    calls = lambda: len(site.ns.run("ss", "-tnH", "state", "syn-sent").stdout.splitlines())  # noqa: E731
    for policy in ("none", "all"):
        site.reload(passive=False, max_prefixes=3, max_prefixes_action="stop", **{"import": policy})
        assert calls() == 1
    site.there.ip("route", "delete", "blackhole", "10.0.0.1/32")
    site.speaker().close()


def test_never_a_part_of_what_is_to_be_told(net):
    """Three own prefixes, two may go out: the peer is not left with an arbitrary two."""
    site = Site(net, max_advertised=2)
    peer = site.speaker()
    code, subcode, words = peer.notification()
    assert (code, subcode) == (6, 2) and b"more prefixes to tell than max-advertised allows" in words
    wait_until(lambda: "more prefixes than max-advertised: 2 allows" in site.peer()["info"], 10, "the reason is shown")
    assert site.refused() == (6, 5)
    site.reload(max_advertised=3)
    peer = site.speaker()
    assert prefix_bytes(POD) in peer.receive_until(UPDATE)[1]
    wait_until(lambda: site.peer()["advertised"] == 3, 10, "all are told", site.peer)
    peer.close()


@pytest.mark.parametrize("kind", ["bird", "frr"])
def test_stop_and_start_by_hand(net, kind):
    ns, tor = net.ns("node", router=True), net.ns("tor", router=True)
    net.link(ns, "eth0", "10.0.0.1/30", tor, "eth0", "10.0.0.2/30")
    switch = net.add(KINDS[kind](tor, net.subdir("switch"), "switch", "10.0.0.2",
                                 [Neighbor("10.0.0.2", 64512, "10.0.0.1", 64701)])).start()
    node = net.underlayd(ns, {"node": {"name": "node", "asn": 64701, "router-id": "10.0.0.1"}, "pods": {"cidrs": [POD]},
                              "peers": [{"name": "tor", "address": "10.0.0.2", "asn": 64512, "import": "all"}]}).start()
    node.wait_established()
    switch.wait_route(POD)

    said = node.client("peer", "tor", "stop", "a new line card")
    assert said.returncode == 0 and "stays down until" in said.stdout
    switch.wait_no_route(POD)
    assert "a new line card" in switch.log() + switch.session_text()
    assert "stopped by an operator: a new line card (underlayc peer tor start)" in node.client("show", "peers").stdout
    holds_for(lambda: node.peer("tor")["state"] == "Idle", 3, "the peer is down, whatever the switch tries")
    assert "stopped already" in node.client("peer", "tor", "stop").stdout
    node.wait_log("peer tor: stop, asked by uid 0")

    assert node.client("-j", "peer", "tor", "start").stdout.count("started") == 1
    node.wait_established()
    switch.wait_route(POD)
    assert "was not stopped" in node.client("peer", "tor", "start").stdout
    assert "starting anew" in node.client("peer", "tor", "restart").stdout
    wait_until(lambda: node.peer("tor")["established_count"] == 3 and node.established(), 30, "it is up again")

    for words, reason in ((("peer", "nobody", "stop"), "no peer is called nobody"), (("peer", "tor", "explode"), "explode"),
                          (("peer", "tor"), "needed"), (("peer",), "needed")):
        answer = node.client(*words)
        assert answer.returncode != 0 and reason in answer.stderr, words
    assert node.established()
