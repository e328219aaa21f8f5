"""Ten thousand random operations of peers, links, addresses and other programs, and then the kernel has what a model of few lines
says: tests/net/model.py. MODEL_SEED=N runs one seed, MODEL_OPERATIONS and MODEL_SEEDS say how many.
"""
import os
import random
import signal
import time

import pytest

from harness import METRIC, PROTOCOL, wait_until
from kernel_compare import SHOWN, Compare
from model import Path, World, expected
from rtnetlink import CREATE, DELNEXTHOP, DELROUTE, EXCL, NEWROUTE, NHA_ID, REPLACE, Kernel, route_body, u32
from steady_peer import SteadyPeer, link_bandwidth

OPERATIONS = int(os.environ.get("MODEL_OPERATIONS", 10000))
SEEDS = [int(os.environ["MODEL_SEED"])] if "MODEL_SEED" in os.environ else range(1, 1 + int(os.environ.get("MODEL_SEEDS", 10)))
CHECKS = 4          # in one sequence
AGREE_S = 40
LINKS, FAR = 3, 3
POD = "10.244.1.0/24"
PREFIXES = [f"20.0.{i}.0/24" for i in range(40)] + [f"2001:db8:{i:x}::/48" for i in range(1, 21)]
STATIC, OURS = 4, int(PROTOCOL)


class Peer:
    """A peer of the node, and what the model knows of it."""

    def __init__(self, site, number):
        self.site, self.number = site, number
        self.internal, self.single_hop = number == 3, number == 4
        self.configured, self.refuses_half = True, False
        self.asn = 64701 if self.internal else 64512 + number
        self.address = "10.0.0.2" if self.single_hop else f"10.0.9.{2 + number}"
        ns = site.tors[0] if self.single_hop else site.management
        self.speaker = SteadyPeer(ns, self.address, "10.0.0.1" if self.single_hop else "10.0.9.1", self.asn, self.internal)
        self.paths = {}

    def config(self):
        return {"name": f"peer{self.number}", "address": self.address, "asn": self.asn, "passive": True, "hold-time": "90s",
                "export": "none", "families": ["ipv4", "ipv6"], "import": "half" if self.refuses_half else "all",
                **({} if self.single_hop or self.internal else {"multihop": 2})}

    def announce(self, prefixes, next_hop, bandwidth, longer):
        for p in prefixes:
            self.paths[p] = Path(self, next_hop[":" in p], bandwidth, longer)
        self.speaker.announce(prefixes, next_hop, link_bandwidth(bandwidth) if bandwidth else b"", longer)

    def withdraw(self, prefixes):
        for p in prefixes:
            self.paths.pop(p, None)
        self.speaker.withdraw(prefixes)

    def has_session(self):
        return self.configured and self.speaker.wanted and (not self.single_hop or self.site.up[0] == self.site.carrier[0] == True)

    def said(self):
        if not self.has_session():
            return {}
        return {p: path for p, path in self.paths.items() if not self.refuses_half or PREFIXES.index(p) % 2}


class Site:
    def __init__(self, net, seed):
        self.net, self.dice = net, random.Random(seed)
        self.ns = net.ns("node", router=True)
        self.ns.run("sysctl", "-q", "-w", "net.ipv6.conf.all.forwarding=1")
        self.management = net.ns("management")
        net.link(self.ns, "eth9", "10.0.9.1/24", self.management, "eth0", "10.0.9.2/24")
        for host in range(3, 6):
            self.management.ip("address", "add", f"10.0.9.{host}/24", "dev", "eth0")
        self.tors = [net.ns(f"tor{i}") for i in range(LINKS)]
        self.up, self.carrier = [True] * LINKS, [True] * LINKS
        self.links, self.far_ends = [], []
        for i, tor in enumerate(self.tors):
            net.link(self.ns, f"eth{i}", f"10.0.{i}.1/24", tor, "eth0", f"10.0.{i}.2/24")
            self.ns.ip("address", "add", f"fd00:a{i}::1/64", "dev", f"eth{i}", "nodad")
            self.links.append(int(self.ns.ip("-o", "link", "show", f"eth{i}").split(":")[0]))
            self.far_ends.append((Kernel(tor), int(tor.ip("-o", "link", "show", "eth0").split(":")[0])))
        self.kernel = Kernel(self.ns)
        self.peers = []
        self.peers += [Peer(self, i) for i in range(5)]
        self.node = net.underlayd(self.ns, self.config(), "underlayd")
        self.node.start()
        self.compare = Compare(self.ns, self.node)

    def config(self):
        return {"node": {"name": "node", "asn": 64701, "router-id": "10.0.9.1"},
                "pods": {"cidrs": [POD], "cluster-cidrs": ["10.244.0.0/16"]},
                "policies": [{"name": "half", "rules": [{"match": {"prefixes": PREFIXES[1::2]}, "action": "accept"}]}],
                "peers": [p.config() for p in self.peers if p.configured]}

    # --- operations

    def some(self, most=12):
        return self.dice.sample(PREFIXES, self.dice.randint(1, most))

    def next_hop(self):
        i, host = self.dice.randrange(LINKS), self.dice.randint(2, 4)
        if self.dice.random() < 0.2:
            i = self.dice.randrange(FAR)
            return f"10.200.{i}.1", f"fd00:200:{i}::1"
        return f"10.0.{i}.{host}", f"fd00:a{i}::{host}"

    def announce(self):
        self.dice.choice(self.peers).announce(self.some(), self.next_hop(), self.dice.choice([0, 0, 1e6, 2e6, 5e6]),
                                              self.dice.choice([0, 0, 0, 1]))

    def withdraw(self):
        self.dice.choice(self.peers).withdraw(self.some())

    def peer_goes(self):
        self.dice.choice(self.peers).speaker.down()

    def peer_comes(self):
        self.dice.choice(self.peers).speaker.up()

    def link_changes(self):
        i = self.dice.randrange(LINKS)
        self.up[i] = not self.up[i]
        self.kernel.set_link(self.links[i], self.up[i])
        if self.up[i]:
            self.kernel.set_address(self.links[i], f"fd00:a{i}::1/64")  # it went with the link

    def carrier_changes(self):
        i = self.dice.randrange(LINKS)
        self.carrier[i] = not self.carrier[i]
        kernel, index = self.far_ends[i]
        kernel.set_link(index, self.carrier[i])

    def address_changes(self):
        """Not that of the link which a session needs."""
        i = self.dice.randrange(1, LINKS)
        address = self.dice.choice([f"10.0.{i}.1/24", f"10.0.{i}.3/24", f"fd00:a{i}::1/64", f"fd00:a{i}::3/64"])
        there = address.split("/")[0] in self.kernel.addresses()
        try:
            self.kernel.set_address(self.links[i], address, not there)
        except OSError:
            pass  # with the first IPv4 address of a subnet go the others of it

    def far_route_changes(self):
        """The way to a next hop that is not on a link."""
        i, via, six = self.dice.randrange(FAR), self.dice.randrange(LINKS), self.dice.random() < 0.4
        prefix, gateway = (f"fd00:200:{i}::/64", f"fd00:a{via}::9") if six else (f"10.200.{i}.0/24", f"10.0.{via}.9")
        if self.dice.random() < 0.5:
            self.kernel.attempt(DELROUTE, 0, route_body(prefix, kind=0, scope=255, protocol=STATIC, metric=7))
        else:
            self.kernel.attempt(NEWROUTE, CREATE | REPLACE, route_body(prefix, gateway, protocol=STATIC, metric=7))

    def ours_deleted(self):
        self.kernel.batch([(DELROUTE, 0, route_body(p, kind=0, scope=255, protocol=OURS, metric=METRIC)) for p in self.some()])

    def all_deleted(self):
        self.kernel.delete_routes([r for r in self.kernel.routes(OURS)])

    def ours_bent(self):
        """Under our name: one that leads nowhere, or that nobody wants."""
        prefix = self.dice.choice([*PREFIXES, "192.0.2.0/24"])
        self.kernel.attempt(NEWROUTE, CREATE | REPLACE, route_body(prefix, protocol=OURS, metric=METRIC))

    def place_taken(self):
        flags = self.dice.choice([EXCL, EXCL, REPLACE])
        self.kernel.attempt(NEWROUTE, CREATE | flags, route_body(self.dice.choice(PREFIXES), protocol=STATIC, metric=METRIC))

    def places_freed(self):
        self.kernel.batch([(DELROUTE, 0, route_body(p, kind=0, scope=255, protocol=STATIC, metric=METRIC)) for p in PREFIXES[::2]])
        self.kernel.batch([(DELROUTE, 0, route_body(p, kind=0, scope=255, protocol=STATIC, metric=METRIC)) for p in self.some()])

    def objects_deleted(self):
        numbers = list(self.kernel.next_hops())
        for number in self.dice.sample(numbers, min(len(numbers), self.dice.choice([1, 1, 100]))):
            self.kernel.attempt(DELNEXTHOP, 0, bytes(8) + u32(NHA_ID, number))

    def reload(self):
        peer = self.dice.choice(self.peers)
        if self.dice.random() < 0.3:
            peer.configured = not peer.configured
        else:
            peer.refuses_half = not peer.refuses_half
        path = self.node.config_path
        self.node.config_path = path.with_suffix(".new")
        self.node.configure(self.config())
        self.node.config_path = self.node.config_path.replace(path)  # at once: it may be reading
        self.node.popen.send_signal(signal.SIGHUP)

    def pause(self):
        """The daemon gets some time, more or less than it needs."""
        time.sleep(self.dice.random() * 0.02)

    # --- the end of a sequence

    def kill(self):
        """With all peers there afterwards: the new life keeps what it finds until each has spoken."""
        for i in range(LINKS):
            if not self.up[i]:
                self.kernel.set_link(self.links[i], True)
            if not self.carrier[i]:
                self.far_ends[i][0].set_link(self.far_ends[i][1], True)
        self.up, self.carrier = [True] * LINKS, [True] * LINKS
        for peer in self.peers:
            peer.speaker.up()
        self.node.kill()
        self.dice.choice([self.all_deleted, self.ours_bent, self.pause])()
        self.node.start()
        wait_until(lambda: self.node.status()["phase"] == "running", AGREE_S, "every peer has spoken")

    def differences(self):
        """Sentences: of the kernel and the model, and of the kernel and what `show routes` says of it."""
        for peer in self.peers:
            peer.speaker.nudge()
        world = World(self.kernel.routes(), self.kernel.addresses(), OURS, METRIC)
        wanted = expected(self.peers, world, [POD])
        said = self.compare.differences(wanted)
        _, not_installed = self.compare.loc_rib()
        return said + [f"{row['prefix']} is shown as {row['kernel']!r}" for row in not_installed
                       if row["prefix"] not in world.taken or "File exists" not in row["kernel"]]

    def check(self, what):
        last = []

        def agree():
            last[:] = self.differences()
            return not last

        wait_until(agree, AGREE_S, f"the kernel has what the model says, {what}",
                   lambda: f"{len(last)} differences: {last[:SHOWN]}; links {self.up} carrier {self.carrier}")

    def close(self):
        for peer in self.peers:
            peer.speaker.end()
        self.compare.close()
        self.kernel.close()
        for kernel, _ in self.far_ends:
            kernel.close()


def operations(site):
    """How often each happens, of a thousand."""
    often = [(site.announce, 398), (site.withdraw, 200), (site.peer_goes, 6), (site.peer_comes, 18), (site.link_changes, 50),
             (site.carrier_changes, 40), (site.address_changes, 40), (site.far_route_changes, 60), (site.ours_deleted, 60),
             (site.all_deleted, 6), (site.ours_bent, 40), (site.place_taken, 20), (site.places_freed, 12),
             (site.objects_deleted, 30), (site.reload, 5), (site.pause, 15)]
    return [do for do, _ in often], [times for _, times in often]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_operations(net, seed):
    site = Site(net, seed)
    try:
        site.node.wait_established()
        what, how_often = operations(site)
        for done in range(1, OPERATIONS + 1):
            site.dice.choices(what, how_often)[0]()
            if done % (OPERATIONS // CHECKS) == 0:
                site.check(f"seed {seed}, after {done} operations")
            if done == OPERATIONS // 2:
                site.kill()
    finally:
        site.close()
