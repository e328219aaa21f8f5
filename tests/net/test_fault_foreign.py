"""What belongs to others stands in the way, or others take away what they think is theirs."""
from fault_site import AGREE_S, POD, number_of, prefixes4, prefixes6
from harness import METRIC, holds_for, wait_until
from rtnetlink import DELNEXTHOP, NHA_ID, u32

V4, V6 = prefixes4(number_of("FAULT_ROUTES", 2000)), prefixes6(200)
ALL = len(V4) + len(V6) + 1
STATIC, BOOT, KERNEL, OURS = 4, 3, 2, 171


def test_others_routes_at_our_place(site):
    """Same prefix, same metric: theirs stay, ours are shown as refused with the kernel's words, all others are installed; when
    theirs go, ours come."""
    taken = [*V4[:3], *V6[:3]]
    for p in taken:
        site.kernel.add_route(p, site.next_hop(0)[":" in p], protocol=STATIC, metric=METRIC)
    theirs = {r.key(): r.hops for r in site.kernel.routes(STATIC)}
    site.start().connect(V4 + V6)
    site.wait_routes(ALL - len(taken))
    wait_until(lambda: site.node.status()["kernel_failed"] == len(taken), 20, "all refusals are counted", site.node.status)
    assert "File exists" in site.node.routes(V4[0])[0]["kernel"]
    assert len(site.ours()) == ALL - len(taken)
    # also a change of ours leaves theirs alone
    site.peers[0].withdraw(V4 + V6)
    wait_until(lambda: all(len(r.hops) < 2 for r in site.ours()), 20, "one uplink is left")
    assert {r.key(): r.hops for r in site.kernel.routes(STATIC)} == theirs, "routes of others were touched"
    for p in taken:
        site.kernel.delete_route(p, protocol=STATIC, metric=METRIC)
    site.agree("the others' routes went", ALL, 4 * AGREE_S)
    assert site.node.status()["kernel_failed"] == 0


def test_a_route_taken_over_by_others(site):
    """Replaced in place by another's: it is theirs from then on. Deleted: ours comes."""
    site.start().connect(V4[:10])
    site.wait_routes(11)
    site.kernel.add_route(V4[0], site.next_hop(0)[0], replace=True, protocol=STATIC, metric=METRIC)
    wait_until(lambda: site.node.status()["kernel_installed"] == 10, 20, "it is no longer called installed", site.node.status)
    holds_for(lambda: [r.prefix for r in site.kernel.routes(STATIC)] == [V4[0]], 1, "theirs stays")
    site.kernel.delete_route(V4[0], protocol=STATIC, metric=METRIC)
    site.agree("it was given back", 11, 4 * AGREE_S)


def clean(site, flush_addresses):
    """As a network manager does that is restarted and takes the tables for its own: routes that the kernel did not make and all
    next-hop objects go, addresses may go and come."""
    site.kernel.delete_routes([r for r in site.kernel.routes() if r.protocol != KERNEL])
    site.kernel.batch([(DELNEXTHOP, 0, bytes(8) + u32(NHA_ID, number)) for number in site.kernel.next_hops()])
    for i in (0, 1) if flush_addresses else ():
        for address in (f"10.0.{i}.1/24", f"fd00:{i}::1/64"):
            site.kernel.set_address(site.ifindex[i], address, False)
            site.kernel.set_address(site.ifindex[i], address)


def test_a_network_manager_restarts(site):
    site.start().connect(V4 + V6)
    site.wait_routes(ALL)
    for round_ in range(3):
        clean(site, round_ > 0)
        site.agree(f"cleaning {round_}", ALL)
    # it may leave its own default route behind, and one that only looks like ours
    site.kernel.add_route("0.0.0.0/0", "10.0.0.2", protocol=BOOT)
    site.kernel.add_route("192.0.2.0/24", "10.0.0.2", protocol=OURS, metric=METRIC + 1)
    clean(site, True)
    site.agree("cleaning with addresses", ALL)
    assert [r.prefix for r in site.ours() if r.metric != METRIC] == []


def test_next_hop_objects_flushed(site):
    """`ip nexthop flush` takes the routes that stand on the objects along."""
    site.start().connect(V4 + V6)
    site.wait_routes(ALL)
    for _ in range(3):
        site.ns.ip("nexthop", "flush")
        site.agree("the next-hop objects were flushed", ALL)
    site.peers[0].withdraw(V4[:100])
    site.ns.ip("nexthop", "flush")
    site.peers[1].withdraw(V4[100:200])
    site.agree("they were flushed while routes changed", ALL)


def test_one_next_hop_object_deleted(site):
    """The group loses a member, or the routes their group: both are there again."""
    site.start().connect(V4 + V6)
    site.wait_routes(ALL)
    for number in list(site.kernel.next_hops()):
        site.kernel.batch([(DELNEXTHOP, 0, bytes(8) + u32(NHA_ID, number))])
        site.agree(f"next-hop object {number} was deleted", ALL)
    assert any(r.prefix == POD for r in site.ours())
