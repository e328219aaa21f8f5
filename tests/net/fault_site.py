"""The place where tests/net/test_fault_*.py break things: a node with two uplinks, a steady peer behind each, both families.

Both peers announce the same prefixes, so that each route has two next hops; site.compare says whether kernel and Loc-RIB agree.
"""
import os

from harness import wait_until
from kernel_compare import Compare
from rtnetlink import Kernel
from steady_peer import SteadyPeer

POD = "10.244.1.0/24"
AGREE_S = 30  # a bound for a busy machine under sanitizers; nothing is measured here


def number_of(variable, usual):
    """How many: the big runs of docs/testing.md set the variable."""
    return int(os.environ.get(variable, usual))


def prefixes4(count, first=20):
    return [f"{first + (i >> 16)}.{i >> 8 & 255}.{i & 255}.0/24" for i in range(count)]


def prefixes6(count):
    return [f"2001:db8:{i:x}::/48" if i else "2001:db8::/48" for i in range(count)]


class Site:
    def __init__(self, net, links=2, internal=False, kernel=None, **peer):
        self.net, self.ns = net, net.ns("node", router=True)
        self.ns.run("sysctl", "-q", "-w", "net.ipv6.conf.all.forwarding=1")
        self.tors, self.peers, self.ifindex = [], [], []
        for i in range(links):
            self.tors.append(net.ns(f"tor{i}", router=True))
            self.wire(i)
        self.config = {
            "node": {"name": "node", "asn": 64701, "router-id": "10.0.0.1"},
            "pods": {"cidrs": [POD], "cluster-cidrs": ["10.244.0.0/16"]},
            "peers": [{"name": f"tor{i}", "address": f"10.0.{i}.2", "asn": 64701 if internal else 64512 + i, "passive": True,
                       "hold-time": "90s", "import": "all", "export": "none", "families": ["ipv4", "ipv6"], **peer}
                      for i in range(links)]}
        if kernel:
            self.config["kernel"] = kernel
        self.internal = internal
        self.node = net.underlayd(self.ns, self.config, "underlayd")
        self.kernel = Kernel(self.ns)
        self.compare = None

    def wire(self, i):
        """Makes uplink i, also anew after it was deleted."""
        self.net.link(self.ns, f"eth{i}", f"10.0.{i}.1/24", self.tors[i], "eth0", f"10.0.{i}.2/24")
        for ns, dev, host in ((self.ns, f"eth{i}", 1), (self.tors[i], "eth0", 2)):
            ns.ip("address", "add", f"fd00:{i}::{host}/64", "dev", dev, "nodad")
        index = int(self.ns.ip("-o", "link", "show", f"eth{i}").split(":")[0])
        self.ifindex[i:i + 1] = [index]

    def start(self, *arguments, **kw):
        self.node.start(True, *arguments, **kw)
        self.compare = Compare(self.ns, self.node)
        return self

    def next_hop(self, i):
        return f"10.0.{i}.2", f"fd00:{i}::2"

    def connect(self, prefixes, *which):
        """Peers that announce these prefixes with their own address as next hop."""
        for i in which or range(len(self.tors)):
            self.peers.append(SteadyPeer(self.tors[i], f"10.0.{i}.2", f"10.0.{i}.1", 64701 if self.internal else 64512 + i,
                                         self.internal))
            self.peers[-1].announce(prefixes, self.next_hop(i))
        return self

    def agree(self, what, routes=None, timeout=AGREE_S):
        self.compare.wait_agree(what, timeout, routes)

    def ours(self):
        return [r for r in self.kernel.routes(171)]

    def wait_routes(self, count, what="the routes are there"):
        wait_until(lambda: self.node.status()["kernel_installed"] >= count, AGREE_S, what, self.node.status)

    def close(self):
        for peer in self.peers:
            peer.end()
        if self.compare:
            self.compare.close()
        self.kernel.close()
