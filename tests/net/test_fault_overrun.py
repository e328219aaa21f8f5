"""More events than the socket's buffer holds: what was missed is read anew."""
import os
import signal

import pytest

from fault_site import POD, number_of, prefixes4, prefixes6
from harness import METRIC, wait_until
from rtnetlink import CREATE, DELROUTE, NEWROUTE, route_body

V4, V6 = prefixes4(number_of("FAULT_ROUTES", 2000)), prefixes6(200)
ALL = len(V4) + len(V6) + 1
UNRELATED = 20000


def drops(site):
    """How many messages to a netlink socket of the namespace were lost."""
    lines = site.ns.run("cat", "/proc/net/netlink").stdout.splitlines()
    at = lines[0].split().index("Drops")
    return sum(int(line.split()[at]) for line in lines[1:])


def flood(site):
    """Routes of others in a table of others come and go until a message is lost."""
    routes = [route_body(p, protocol=4, table=77) for p in prefixes4(UNRELATED, 100)]
    for _ in range(50):
        site.kernel.batch([(NEWROUTE, CREATE, r) for r in routes])
        site.kernel.batch([(DELROUTE, 0, r) for r in routes])
        if drops(site):
            return
    raise AssertionError("no event was lost")


@pytest.mark.parametrize("before", [True, False], ids=["changed-before", "changed-after"])
def test_events_are_lost(site, before):
    """The daemon does not get to read while the flood comes, as on a machine that is too busy; what matters comes before or
    behind it."""
    site.start().connect(V4 + V6)
    site.wait_routes(ALL)
    site.agree("the start", ALL)
    os.kill(site.node.pid, signal.SIGSTOP)

    def what_matters():
        site.kernel.delete_routes(site.ours()[::3])
        site.kernel.set_address(site.ifindex[0], "10.0.0.1/24", False)
        site.kernel.add_route(V4[0], "10.0.1.99", replace=True, protocol=171, metric=METRIC)

    try:
        if before:
            what_matters()
        flood(site)
        if not before:
            what_matters()
    finally:
        os.kill(site.node.pid, signal.SIGCONT)
    site.agree("events were lost", ALL)
    assert all(gateway != "10.0.0.2" for r in site.ours() for gateway, *_ in r.hops), "a next hop without a way to it"
    site.kernel.set_address(site.ifindex[0], "10.0.0.1/24")
    wait_until(lambda: sum(len(r.hops) for r in site.ours() if r.prefix != POD) == 2 * (ALL - 1), 20, "both uplinks are used")
    site.agree("the address is back", ALL)


def test_flood_while_routes_come(site):
    """The daemon reads, and the flood competes with its own answers; no route is forgotten."""
    site.start().connect([POD])
    for first in range(0, len(V4), len(V4) // 8):
        for i, peer in enumerate(site.peers):
            peer.announce(V4[first:first + len(V4) // 8], site.next_hop(i))
        some = [route_body(p, protocol=4, table=77) for p in prefixes4(UNRELATED // 10, 100)]
        site.kernel.batch([(NEWROUTE, CREATE, r) for r in some])
        site.kernel.batch([(DELROUTE, 0, r) for r in some])
    site.agree("a flood of others' events", len(V4) + 1)
