"""Others clean up the kernel's tables, at any moment: what is ours comes back, what is not ours is never touched."""
import os
import random
import signal

from fault_site import number_of, prefixes4, prefixes6
from harness import wait_until

V4, V6 = prefixes4(number_of("FAULT_ROUTES", 4000)), prefixes6(500)
ALL = len(V4) + len(V6) + 1  # and the pod CIDR


def flush_ours(site):
    """As `ip route flush proto 171` does: what a dump shows is deleted, one by one."""
    site.kernel.delete_routes(site.ours())


def test_flush_at_any_moment(site):
    """While routes come in, while they are repaired, and at rest."""
    dice = random.Random(number_of("FAULT_SEED", 1))
    site.start().connect(V4 + V6)
    for _ in range(5):
        threshold = dice.randrange(1, ALL)
        wait_until(lambda: len(site.ours()) >= threshold, 20, f"{threshold} routes are in the kernel")
        flush_ours(site)
    site.agree("flushes while routes came in", ALL)
    for family in ("-4", "-6"):  # some versions of ip stop at routes with an object: the kernel does not take back what it told
        site.ns.ip(family, "route", "flush", "proto", "171", check=False)
    site.agree("a flush at rest", ALL)
    some = dice.sample(site.ours(), 300)
    site.kernel.delete_routes(some)
    site.node.client("resync", "kernel")
    site.agree("some deleted", ALL)


def test_changes_while_flushed(site):
    """Routes come, go and change their next hops, and everything is flushed in between."""
    dice = random.Random(number_of("FAULT_SEED", 2))
    site.start().connect(V4 + V6)
    site.wait_routes(ALL)
    for _ in range(10):
        some = dice.sample(V4, len(V4) // 4)
        peer = dice.randrange(2)
        if dice.random() < 0.5:
            site.peers[peer].withdraw(some)
        else:
            site.peers[peer].announce(some, site.next_hop(peer))
        flush_ours(site)
    site.peers[0].withdraw(V6)
    flush_ours(site)
    site.agree("changes and flushes", 1)
    for i in (0, 1):
        site.peers[i].announce(V4 + V6, site.next_hop(i))
    site.agree("all announced again", ALL)


def test_the_comparison_can_tell(site):
    """What the tests of faults trust in: one route too few, one too many, another next hop, another share."""
    site.start().connect(V4[:20])
    wait_until(lambda: sum(len(r.hops) for r in site.ours()) == 40, 20, "both uplinks are used")
    site.agree("nothing")
    wanted, _ = site.compare.loc_rib()
    os.kill(site.node.pid, signal.SIGSTOP)
    ours = ["proto", "171", "metric", "32"]
    hops = ["nexthop", "via", "10.0.0.2", "weight", "1", "nexthop", "via", "10.0.1.2", "weight"]
    site.ns.ip("route", "delete", V4[0], *ours)
    site.ns.ip("route", "add", "192.0.2.0/24", "via", "10.0.0.2", *ours)
    site.ns.ip("route", "replace", V4[1], "via", "10.0.0.2", *ours)
    site.ns.ip("route", "replace", V4[2], *ours, *hops, "2")
    site.ns.ip("route", "replace", V4[3], *ours, *hops, "1")
    said = site.compare.differences(wanted)
    assert sorted(line.split(":")[0] for line in said) == sorted(["192.0.2.0/24", *V4[:3]]), said
    os.kill(site.node.pid, signal.SIGCONT)
    site.agree("the daemon mended it", 21)
