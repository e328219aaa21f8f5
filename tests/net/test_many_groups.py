"""More update groups than any word has bits: each peer has an export policy of its own, and Adj-RIB-Out is exact for all."""
import pytest

from harness import wait_until
from speaker import KEEPALIVE, UPDATE, Speaker, prefix_bytes, update

PEERS = 80
MINE = [f"10.{100 + i}.0.0/16" for i in range(PEERS)]
ALL = "10.99.0.0/16"


def address(i):
    return f"10.0.0.{2 + i}"


class Told:
    """What a peer was told, message by message."""

    def __init__(self, speaker):
        self.speaker, self.has, self.withdrawn = speaker, set(), []

    def read_until(self, has):
        while self.has != has:
            kind, body = self.speaker.receive_until(UPDATE, KEEPALIVE) or (None, b"")
            assert kind, "the session ended"
            if kind == KEEPALIVE:
                continue
            gone = int.from_bytes(body[:2], "big")
            size = int.from_bytes(body[2 + gone:4 + gone], "big")
            self.withdrawn += self.split(body[2:2 + gone])
            self.has = self.has - set(self.split(body[2:2 + gone])) | set(self.split(body[4 + gone + size:]))

    @staticmethod
    def split(field):
        return [field[at:at + 3] for at in range(0, len(field), 3)]  # all of them are /16


@pytest.fixture
def site(net):
    ns, there = net.ns("node", router=True), net.ns("there", router=True)
    net.link(ns, "eth0", "10.0.0.1/24", there, "eth0", f"{address(0)}/24")
    for i in range(1, PEERS + 1):
        there.ip("address", "add", f"{address(i)}/24", "dev", "eth0")
    policies = [{"name": f"p{i}", "rules": [{"match": {"prefixes": [MINE[i], ALL]}, "action": "accept"}]} for i in range(PEERS)]
    peers = [{"name": f"n{i}", "address": address(i), "asn": 64600 + i, "passive": True, "hold-time": "90s", "import": "none",
              "export": f"p{i}"} for i in range(PEERS)]
    peers[-1]["max-advertised"] = 1
    peers.append({"name": "source", "address": address(PEERS), "asn": 64512, "passive": True, "import": "all", "export": "none"})
    node = net.underlayd(ns, {"node": {"name": "node", "asn": 64701, "router-id": "10.0.0.1"}, "kernel": {"install": False},
                              "policies": policies, "peers": peers}).start()
    told = [Told(Speaker.connect(there, address(i), "10.0.0.1").establish(64600 + i, hold=90)) for i in range(PEERS)]
    source = Speaker.connect(there, address(PEERS), "10.0.0.1").establish(64512, hold=90)
    return node, source, told


def test_every_group_knows_what_it_told(site):
    node, source, told = site
    source.send(update(MINE, address(PEERS), [64512]))
    for i, one in enumerate(told):
        one.read_until({prefix_bytes(MINE[i])})
    wait_until(lambda: all(node.peer(f"n{i}")["advertised"] == 1 for i in range(PEERS)), 60, "each is told one")
    source.send(update(withdrawn=MINE))
    for i, one in enumerate(told):
        one.read_until(set())
        assert one.withdrawn == [prefix_bytes(MINE[i])], "nobody takes back what he was not told"
    source.send(update([MINE[-1]], address(PEERS), [64512]))
    told[-1].read_until({prefix_bytes(MINE[-1])})
    source.send(update([ALL], address(PEERS), [64512]))  # one more than the last one may be told
    assert told[-1].speaker.notification()[:2] == (6, 2)
    told[0].read_until({prefix_bytes(ALL)})
    assert node.peer("n0")["advertised"] == 1
