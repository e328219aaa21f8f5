"""Next-hop objects that others made: next hops of ours that are reached through them, and what the kernel does not tell about
their routes."""
import pytest

from fault_site import Site, prefixes4, prefixes6
from harness import METRIC, wait_until

V4, V6 = prefixes4(20), prefixes6(20)
FAR = ("10.9.0.7", "fd09::7")


@pytest.fixture(params=["1", "0"], ids=["routes-say-all", "routes-name-objects"])
def site(net, request):
    site = Site(net, internal=True)
    # with 0 a route is told with the number of its object and nothing else
    site.ns.run("sysctl", "-q", "-w", f"net.ipv4.nexthop_compat_mode={request.param}")
    yield site
    site.close()


def ways(site, prefix):
    """The gateways of what the route refers to."""
    route = next((r for r in site.ours() if r.prefix == prefix), None)
    objects = site.kernel.next_hops()
    found = objects.get(route.nh_id) if route else None
    if isinstance(found, list):
        return sorted(objects[i][0] for i, _ in found if i in objects)
    return [found[0]] if found else []


def leads(site, what, *gateways):
    for prefix, family in ((V4[-1], 4), (V6[-1], 6)):
        wanted = [g for g in gateways if (":" in g) == (family == 6)]
        wait_until(lambda: ways(site, prefix) == wanted, 10, f"{what}: {prefix} by {wanted}",
                   lambda: (ways(site, prefix), site.ns.ip("nexthop"), site.node.routes(prefix)))


def test_next_hops_behind_others_objects(site):
    node = site.ns
    site.start().connect([], 0)
    site.peers[0].announce(V4 + V6, FAR)
    site.node.wait_established("tor0")
    for number, (gateway, device) in enumerate((("10.0.0.2", "eth0"), ("fd00:0::2", "eth0"), ("10.0.1.2", "eth1"),
                                                ("fd00:1::2", "eth1")), 11):
        node.ip("nexthop", "add", "id", str(number), "via", gateway, "dev", device)
    node.ip("nexthop", "add", "id", "21", "group", "11")
    node.ip("nexthop", "add", "id", "22", "group", "12")
    node.ip("route", "add", "10.9.0.0/16", "nhid", "21")
    node.ip("-6", "route", "add", "fd09::/64", "nhid", "22")
    leads(site, "a group of one", "10.0.0.2", "fd00::2")
    node.ip("nexthop", "replace", "id", "21", "group", "11/13")
    node.ip("nexthop", "replace", "id", "22", "group", "12/14")
    leads(site, "a group of two", "10.0.0.2", "10.0.1.2", "fd00:1::2", "fd00::2")
    node.ip("nexthop", "delete", "id", "11")
    node.ip("nexthop", "delete", "id", "12")
    leads(site, "a member is gone", "10.0.1.2", "fd00:1::2")
    node.ip("nexthop", "delete", "id", "21")
    node.ip("nexthop", "delete", "id", "22")
    leads(site, "the group and the routes with it are gone")
    node.ip("route", "add", "10.9.0.0/16", "nhid", "13")
    node.ip("-6", "route", "add", "fd09::/64", "nhid", "14")
    leads(site, "a single next hop", "10.0.1.2", "fd00:1::2")
    assert site.node.ask("resync", "kernel")[0]["result"] == "nothing differed"
    node.ip("route", "delete", V4[3], "metric", METRIC)
    node.ip("-6", "route", "delete", V6[3], "metric", METRIC)
    wait_until(lambda: len(site.ours()) == len(V4 + V6) + 1, 10, "what was taken is back")
    assert site.node.ask("resync", "kernel")[0]["result"] == "nothing differed"
