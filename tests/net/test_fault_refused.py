"""The kernel refuses, or its sockets are gone."""
import pytest

from fault_site import AGREE_S, POD, Site, number_of, prefixes4, prefixes6
from harness import wait_until
from shim import EVENTS, QUERIES, WRITES, Shim

V4, V6 = prefixes4(number_of("FAULT_ROUTES", 2000)), prefixes6(200)
ALL = len(V4) + len(V6) + 1


@pytest.fixture
def site(net):
    site = Site(net)
    site.shim = Shim(site.node)
    yield site
    site.close()


def test_full_kernel(site):
    """What does not fit is shown as refused with the kernel's words, and holds up nothing; what fits is there. With room, all
    of it comes."""
    site.shim.set_room(ALL // 2)
    site.start().connect(V4 + V6, 0)
    wait_until(lambda: (s := site.node.status())["kernel_failed"] and s["kernel_failed"] + s["kernel_installed"] >= ALL, AGREE_S,
               "each route is installed or refused", site.node.status)
    rows = [r for r in site.node.routes() if r["mark"] == "*"]
    said = {r["kernel"] for r in rows}
    assert len(said) == 2 and "installed" in said and any("No buffer space" in words for words in said), said
    assert {r["prefix"] for r in rows if r["kernel"] == "installed"} == {r.prefix for r in site.ours()}
    assert any("refused" in warning for warning in site.node.status()["warnings"])
    # at rest nobody asks for more; what goes makes room
    here = [r.prefix for r in site.ours() if r.prefix != POD][:200]
    for peer in site.peers:
        peer.withdraw(here)
    wait_until(lambda: len(site.ours()) >= ALL // 2 and not set(here) & {r.prefix for r in site.ours()}, AGREE_S,
               "others take the room", lambda: len(site.ours()))
    site.shim.set_room(None)
    site.agree("there is room", ALL - len(here), 3 * AGREE_S)
    assert site.node.status()["kernel_failed"] == 0


def test_full_kernel_and_a_next_hop_that_goes(site):
    """A route that cannot be replaced is not called installed, and is replaced when it can be."""
    site.start().connect(V4 + V6)
    wait_until(lambda: sum(len(r.hops) for r in site.ours()) == 2 * (ALL - 1), AGREE_S, "both uplinks are used")
    site.shim.set_room(0)
    site.peers[1].withdraw(V4[:100])
    wait_until(lambda: site.shim.refused() and "No buffer space" in site.node.routes(V4[0])[0]["kernel"]
               or not site.compare.differences(), AGREE_S, "it is refused, or done without memory")
    site.shim.set_room(None)
    site.agree("there is room", ALL, 3 * AGREE_S)


@pytest.mark.parametrize("which", [WRITES, EVENTS, QUERIES, WRITES | EVENTS | QUERIES], ids=["writes", "events", "queries", "all"])
def test_a_netlink_socket_is_closed(site, which):
    """By something that closes descriptors which are not its own: at rest, and while routes come."""
    site.start().connect(V4[:500] + V6)
    site.wait_routes(500)
    closed = site.shim.close_sockets(which)
    wait_until(closed, 20, "it is closed")
    site.kernel.delete_routes(site.ours()[::2])
    site.peers[0].announce(["30.1.0.0/24"], ("10.0.0.3", None))  # a next hop that nobody asked for yet
    site.agree("a socket was closed at rest", 500 + len(V6) + 2)
    wait_until(lambda: "10.0.0.3" in site.ns.ip("nexthop"), AGREE_S, "next-hop objects are still made")
    for peer, hop in zip(site.peers, (site.next_hop(0), site.next_hop(1))):
        peer.announce(V4, hop)
        site.shim.close_sockets(which)
    site.agree("a socket was closed while routes came", ALL + 1, 3 * AGREE_S)  # what had no object then is looked at by an audit
    site.kernel.set_address(site.ifindex[0], "10.0.0.1/24", False)
    wait_until(lambda: all(hop[0] != "10.0.0.2" for r in site.ours() for hop in r.hops), AGREE_S, "events are still heard")
    site.agree("an address went", ALL)
    assert all(peer.sessions == 1 for peer in site.peers)
