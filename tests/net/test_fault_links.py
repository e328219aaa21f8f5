"""Links and addresses go and come under the routes: deleted and made anew, emptied, taken over, flapping."""
from fault_site import AGREE_S, POD, Site, number_of, prefixes4, prefixes6
from harness import wait_until
from rtnetlink import Kernel

V4, V6 = prefixes4(300), prefixes6(50)
ALL = len(V4) + len(V6) + 1


def gateways(site):
    """How many next hops the routes of the switches have, in all."""
    return sum(len(r.hops) for r in site.ours() if r.prefix != POD)


def both(site):
    return gateways(site) == 2 * (ALL - 1)


def test_uplink_deleted_and_made_anew(site):
    """It comes back under its name, with another index; meanwhile the other uplink carries everything."""
    site.start().connect(V4 + V6)
    wait_until(lambda: both(site), AGREE_S, "both uplinks are used")
    for i in (0, 1, 0):
        site.ns.ip("link", "delete", f"eth{i}")
        wait_until(lambda: gateways(site) == ALL - 1, AGREE_S, "one uplink carries all", lambda: gateways(site))
        site.agree("an uplink was deleted", ALL)
        before = site.ifindex[i]
        site.wire(i)
        assert site.ifindex[i] != before
        wait_until(lambda: both(site), AGREE_S, "both uplinks are used again", lambda: gateways(site))
        site.agree("the uplink was made anew", ALL)


def test_all_uplinks_deleted(site):
    site.start().connect(V4 + V6)
    site.wait_routes(ALL)
    for i in (0, 1):
        site.ns.ip("link", "delete", f"eth{i}")
    wait_until(lambda: [r.prefix for r in site.ours()] == [POD], AGREE_S, "nothing is left but our own")
    site.agree("all uplinks are gone")
    for i in (1, 0):
        site.wire(i)
    wait_until(lambda: both(site), AGREE_S, "both uplinks are used again")
    site.agree("all uplinks are back", ALL)


def test_address_removed_and_added_again(site):
    """The session knows nothing of it, since its hold time is long; the next hops do."""
    site.start().connect(V4 + V6)
    wait_until(lambda: both(site), AGREE_S, "both uplinks are used")
    for address in ("10.0.0.1/24", "fd00:0::1/64"):
        six = ":" in address
        count = sum((":" in p) == six for p in V4 + V6)
        site.kernel.set_address(site.ifindex[0], address, False)
        wait_until(lambda: gateways(site) == 2 * (ALL - 1) - count, AGREE_S, "its next hops are gone", lambda: gateways(site))
        site.agree(f"{address} was removed", ALL)
        site.kernel.set_address(site.ifindex[0], address)
        wait_until(lambda: both(site), AGREE_S, "its next hops are back", lambda: gateways(site))
        site.agree(f"{address} was added again", ALL)


def test_next_hop_becomes_our_own_address(site):
    """A third party's address is a next hop until it is given to this node; and from the start, it is none."""
    site.start().connect(V4 + V6, 0)
    site.peers[0].announce(["30.1.0.0/24", "2001:db8:ffff::/48"], ("10.0.0.77", "fd00:0::77"))
    site.peers[0].announce(["30.2.0.0/24", "2001:db8:fffe::/48"], ("10.0.0.1", "fd00:0::1"))
    site.wait_routes(ALL + 2)
    site.agree("a third party is a next hop", ALL + 2)
    assert not {"30.2.0.0/24", "2001:db8:fffe::/48"} & {r.prefix for r in site.ours()}
    for address in ("10.0.0.77/24", "fd00:0::77/64"):
        site.kernel.set_address(site.ifindex[0], address)
    wait_until(lambda: len(site.ours()) == ALL, AGREE_S, "no route leads to ourselves", lambda: len(site.ours()))
    site.agree("the next hop became our own address", ALL)
    assert site.node.routes("30.1.0.0/24")[0]["kernel"] == "next hop unreachable"
    for address in ("10.0.0.77/24", "fd00:0::77/64"):
        site.kernel.set_address(site.ifindex[0], address, False)
    site.agree("the address went away again", ALL + 2)


def test_flaps_while_routes_come(net):
    """An internal peer's next hops are behind a link that goes down and up again and again while its routes arrive; the
    session runs over the other link, and so lives on."""
    routes, flaps = prefixes4(number_of("FAULT_ROUTES", 20000)), number_of("FAULT_FLAPS", 300)
    site = Site(net, internal=True)
    try:
        site.start().connect([POD], 0)
        site.node.wait_established("tor0")
        far = Kernel(site.tors[1])
        index = int(site.tors[1].ip("-o", "link", "show", "eth0").split(":")[0])
        part, at_once = len(routes) // 20, flaps // 20
        for i in range(flaps):
            if i % at_once == 0:
                site.peers[0].announce(routes[i // at_once * part:][:part], site.next_hop(1))
            # at our end every other time: there it takes the routes and the addresses of IPv6 with it
            kernel, link = (site.kernel, site.ifindex[1]) if i % 2 else (far, index)
            kernel.set_link(link, False)
            kernel.set_link(link, True)
        far.close()
        site.agree(f"{flaps} flaps", len(routes) + 1, 2 * AGREE_S)
        assert site.peers[0].sessions == 1, "the flaps of another link ended the session"
    finally:
        site.close()


def test_flaps_of_the_uplink_itself(site):
    """Each loss of carrier ends the session over the link; in the end it is back, and so are its routes."""
    site.start().connect(V4 + V6)
    wait_until(lambda: both(site), AGREE_S, "both uplinks are used")
    for _ in range(number_of("FAULT_FLAPS", 300) // 10):
        site.kernel.set_link(site.ifindex[0], False)
        site.kernel.set_link(site.ifindex[0], True)
    site.kernel.set_address(site.ifindex[0], "fd00:0::1/64")  # IPv6 addresses go with a link that goes down
    wait_until(lambda: both(site), 2 * AGREE_S, "both uplinks are used again", lambda: gateways(site))
    site.agree("flaps of an uplink", ALL)
