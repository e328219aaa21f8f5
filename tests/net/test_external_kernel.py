"""Routes that other programs write into the kernel, told to the peers while they are there (`external:`)."""
import contextlib
import signal
import struct

import pytest

from harness import holds_for, wait_until
from rtnetlink import CREATE, DELROUTE, NEWROUTE, Kernel, route_body
from speaker import UPDATE, Speaker, capability, prefix_bytes
from test_external import external, reload

POD = "10.244.1.0/24"
ONE, TWO, SIX, OUTSIDE = "192.0.2.1/32", "192.0.2.2/32", "2001:db8::1/128", "203.0.113.0/24"
ENTRIES = [{"name": "lb", "protocol": 50, "prefixes": ["192.0.2.0/24 le 32", "100.64.0.0/10 le 32"], "community": ["64701:50"]},
           {"name": "hundred", "table": 100}]


def start(wire, entries=ENTRIES, families=("ipv4",), kernel=None, **kw):
    config = wire.config(kernel=kernel, families=list(families), **kw)
    config["external"] = entries
    for ns, address in (wire.node, "fd00::1/64"), (wire.tor, "fd00::2/64"):
        ns.ip("address", "add", address, "dev", "eth0", "nodad")
    switch = wire.switch(families=families).start()
    node = wire.net.underlayd(wire.node, config, "underlayd").start().wait_established("tor")
    return switch, node, config


def prefixes(n):
    return [f"100.64.{i // 250}.{i % 250}/32" for i in range(n)]


@pytest.fixture
def kernel(request):
    """To change thousands of routes of protocol 50 at once in the node's namespace, which the test's own wire has."""
    wire = request.getfixturevalue("wire" if "wire" in request.fixturenames else "any_wire")
    with contextlib.closing(Kernel(wire.node)) as k:
        yield k


def add(kernel, some):
    kernel.batch([(NEWROUTE, CREATE, route_body(p, protocol=50)) for p in some])


def delete(kernel, some):
    kernel.batch([(DELROUTE, 0, route_body(p, protocol=50)) for p in some])


def sockets_with_losses(ns):
    """How many netlink sockets there have lost something: the daemon listens for itself, and for these routes."""
    rows = [line.split() for line in ns.run("cat", "/proc/net/netlink").stdout.splitlines()]
    at = rows[0].index("Drops")
    return sum(int(row[at]) > 0 for row in rows[1:])


@pytest.mark.essential
def test_told_while_they_are_there(any_wire):
    """By protocol and by table, of both families and of several types; what an entry does not name, nobody hears of."""
    here = any_wire.node
    here.ip("route", "add", "blackhole", ONE, "proto", "50")
    here.ip("route", "add", "blackhole", OUTSIDE, "proto", "50")
    switch, node, _ = start(any_wire, families=("ipv4", "ipv6"))
    switch.wait_route(ONE)
    assert switch.communities(ONE) == {"64701:50"} and switch.paths(ONE)[0]["next_hop"] == "10.0.0.1"
    changes = any_wire.net.monitor(here)
    here.ip("route", "add", TWO, "via", "10.0.0.2", "proto", "50")
    here.ip("route", "add", "192.0.2.3", "via", "10.0.0.2", "proto", "51")
    here.ip("route", "add", "unreachable", "198.51.100.0/24", "table", "100")
    here.ip("route", "add", "198.51.101.0/24", "via", "10.0.0.2", "table", "101")
    here.ip("-6", "route", "add", SIX, "dev", "eth0", "table", "100")
    here.ip("route", "add", "default", "via", "10.0.0.2", "table", "100")
    here.ip("route", "add", "10.244.1.9", "via", "10.0.0.2", "table", "100")
    for prefix in (TWO, "198.51.100.0/24", SIX):
        switch.wait_route(prefix)
    assert set(switch.routes()) == {POD, ONE, TWO, SIX, "198.51.100.0/24"}
    rows = external(node)
    assert set(rows) == {(ONE, "lb"), (TWO, "lb"), (SIX, "hundred"), ("198.51.100.0/24", "hundred")}
    assert rows[ONE, "lb"]["protocol"] == 50 and rows[SIX, "hundred"]["table"] == 100 and rows[ONE, "lb"]["advertised_to"] == 1
    assert rows[ONE, "lb"]["from"] == "table main (254) protocol 50" and rows[SIX, "hundred"]["from"] == "table 100"
    assert set(external(node, "lb")) == {(ONE, "lb"), (TWO, "lb")}
    here.ip("route", "del", TWO, "proto", "50")
    here.ip("route", "flush", "table", "100")
    here.ip("-6", "route", "flush", "table", "100")
    for prefix in (TWO, "198.51.100.0/24", SIX):
        switch.wait_no_route(prefix)
    assert switch.route(ONE) and set(external(node)) == {(ONE, "lb")}
    assert not [line for line in changes.changes() if "proto 171" in line], "we write none of it"


def test_one_of_several(wire):
    """Of two routes to a prefix one may go; a route that is replaced by another program's is gone; IPv6 next hops are one route."""
    here = wire.node
    switch, node, _ = start(wire, families=("ipv4", "ipv6"))
    wire.net.link(here, "eth9", "fd09::1/64", wire.tor, "eth9", "fd09::2/64")
    here.ip("route", "add", "blackhole", ONE, "proto", "50", "metric", "5")
    here.ip("route", "add", "blackhole", ONE, "proto", "50", "metric", "6")
    here.ip("route", "add", "blackhole", TWO, "proto", "50", "metric", "5")
    here.ip("-6", "route", "add", SIX, "table", "100", "nexthop", "via", "fd09::2", "nexthop", "via", "fd09::3")
    for prefix in (ONE, TWO, SIX):
        switch.wait_route(prefix)
    log = len(switch.log())
    here.ip("route", "del", "blackhole", ONE, "proto", "50", "metric", "5")
    here.ip("-6", "route", "del", SIX, "via", "fd09::3", "table", "100")
    holds_for(lambda: switch.route(ONE) and switch.route(SIX), 0.7, "the other ones are there")
    here.ip("route", "replace", "blackhole", TWO, "proto", "51", "metric", "5")
    here.ip("-6", "route", "del", SIX, "table", "100")
    here.ip("route", "del", "blackhole", ONE, "proto", "50", "metric", "6")
    for prefix in (ONE, TWO, SIX):
        switch.wait_no_route(prefix)
    assert "error" not in switch.log()[log:] and external(node) == {}


def test_a_link_takes_its_routes_along(wire):
    """Of which no message tells: down, without its address, and deleted."""
    here = wire.node
    switch, node, _ = start(wire)
    for how in (("link", "set", "eth9", "down"), ("address", "del", "10.9.0.1/24", "dev", "eth9"), ("link", "del", "eth9")):
        wire.net.link(here, "eth9", "10.9.0.1/24", wire.tor, "eth9", "10.9.0.2/24")
        here.ip("route", "add", ONE, "via", "10.9.0.2", "proto", "50")
        switch.wait_route(ONE)
        here.ip(*how)
        switch.wait_no_route(ONE)
        here.ip("link", "del", "eth9", check=False)
    assert node.peer("tor")["established_count"] == 1


@pytest.mark.essential
@pytest.mark.parametrize("how", ["term", "kill"])
def test_there_before_end_of_rib(any_wire, kernel, how):
    """After a restart the switch, which kept them, sees no change, but for what went meanwhile. A session is up long before all that
    the entry does not want was read."""
    here = any_wire.node
    add(kernel, [*prefixes(30000), ONE, TWO])
    switch, node, _ = start(any_wire, [{"name": "lb", "protocol": 50, "prefixes": ["192.0.2.0/24 le 32"]}])

    def there():
        return [row for row in any_wire.tor.route_rows() if row.get("gateway") == "10.0.0.1"]

    wait_until(lambda: len(there()) == 3, 30, "the switch's kernel has all")
    watch = any_wire.net.monitor(any_wire.tor)
    if how == "term":
        assert node.stop() == 0
    else:
        node.kill()
    wait_until(lambda: not switch.established(), 20, "the switch has noticed")
    here.ip("route", "del", "blackhole", TWO, "proto", "50")
    node.start().wait_established("tor", timeout=40)
    switch.wait_no_route(TWO)
    wait_until(lambda: node.peer("tor")["advertised"] == 2, 20, "all others were announced again")
    wait_until(lambda: len(there()) == 2, 20, "and only that one went")
    assert [line for line in watch.changes() if "192.0.2.2 " not in line] == []


def test_end_of_rib_waits_for_the_kernel(wire, kernel):
    """A peer that is quicker than the first look at 60 000 routes hears of the one that is wanted before End-of-RIB."""
    add(kernel, [*prefixes(60000), ONE])
    config = wire.config(passive=True, **{"import": "all"})
    config["external"] = [{"name": "lb", "protocol": 50, "prefixes": [ONE]}]
    wire.net.underlayd(wire.node, config, "underlayd").start(wait=False)
    peer = wait_until(lambda: Speaker.connect(wire.tor, "10.0.0.2", "10.0.0.1"), 20, "the daemon listens")
    peer.establish(64512, more=capability(64, struct.pack("!HHBB", 120, 1, 1, 0)))
    said = b""
    while (update := peer.receive_until(UPDATE)[1]) != bytes(4):
        said += update
    assert prefix_bytes(ONE) in said, said
    peer.close()


def test_a_reload_changes_what_is_told(wire):
    """Entries added, changed and taken out, with the session up; without one, the table is nobody's business."""
    here = wire.node
    here.ip("route", "add", "blackhole", ONE, "proto", "50")
    here.ip("route", "add", "blackhole", TWO, "proto", "60")
    switch, node, config = start(wire, [])
    switch.wait_route(POD)
    config["external"] = [ENTRIES[0]]
    assert "1 changes applied" in reload(node, config)
    switch.wait_route(ONE)
    config["external"] = [{**ENTRIES[0], "community": ["64701:51"]}, {"name": "other", "protocol": 60}]
    assert "2 changes applied" in reload(node, config)
    switch.wait_route(TWO)
    wait_until(lambda: switch.communities(ONE) == {"64701:51"}, 20, "the new community")
    config["external"] = [{**ENTRIES[0], "protocol": 60}]
    assert "2 changes applied" in reload(node, config)
    switch.wait_no_route(ONE)
    wait_until(lambda: switch.communities(TWO) == {"64701:50"}, 20, "it is the first entry's now")
    config["external"] = [{**ENTRIES[0], "protocol": 171}]
    assert "nothing was changed" in reload(node, config) and "our own routes" in node.log()
    del config["external"]
    assert "1 changes applied" in reload(node, config)
    switch.wait_no_route(TWO)
    here.ip("route", "add", "blackhole", "192.0.2.4", "proto", "60")
    holds_for(lambda: set(switch.routes()) == {POD}, 0.5, "nothing is watched any more")
    assert external(node) == {} and node.peer("tor")["established_count"] == 1


def test_ten_thousand_come_and_go(wire, kernel):
    """In the end all that is there is told, and nothing else; the session notices nothing."""
    switch, node, _ = start(wire)
    many = prefixes(10000)
    for _ in range(5):
        add(kernel, many)
        delete(kernel, many)
    add(kernel, many)
    wait_until(lambda: node.peer("tor")["advertised"] == 10001, 30, "all are told", lambda: node.peer("tor")["advertised"])
    delete(kernel, many[:9000])
    wait_until(lambda: node.peer("tor")["advertised"] == 1001, 30, "a thousand are left", lambda: node.peer("tor")["advertised"])
    wait_until(lambda: set(switch.routes()) == {POD, *many[9000:]}, 20, "at the switch as well")
    assert node.peer("tor")["established_count"] == 1


def test_what_was_missed_is_read_anew(wire, kernel):
    """More events than the socket holds, while the daemon stands still (ENOBUFS)."""
    here = wire.node
    here.ip("route", "add", "blackhole", ONE, "proto", "50")
    here.ip("route", "add", "blackhole", TWO, "proto", "50")
    switch, node, _ = start(wire)
    switch.wait_route(ONE)
    node.popen.send_signal(signal.SIGSTOP)
    try:
        many = prefixes(10000)
        for _ in range(40):
            add(kernel, many)
            delete(kernel, many)
            if sockets_with_losses(here) >= 2:
                break
        delete(kernel, [ONE])
        add(kernel, ["192.0.2.3/32"])
    finally:
        node.popen.send_signal(signal.SIGCONT)
    switch.wait_route("192.0.2.3/32", timeout=30)
    switch.wait_no_route(ONE, timeout=30)
    wait_until(lambda: set(switch.routes()) == {POD, TWO, "192.0.2.3/32"}, 20, "all is as the kernel has it", switch.routes)
    node.wait_log("external: missed what changed in the kernel")


def test_with_what_was_learned(wire):
    """A kernel route of the entry goes before what a peer says of the prefix, which leaves the kernel to it; and back."""
    here = wire.node
    config = wire.config(export="pods", **{"import": "all"})
    config["external"] = ENTRIES
    switch = wire.switch(announce=[ONE]).start()
    node = wire.net.underlayd(here, config, "underlayd").start().wait_established("tor")
    wait_until(lambda: here.our_routes().get("192.0.2.1") == ["10.0.0.2"], 20, "the learned one is installed")
    here.ip("route", "add", "blackhole", ONE, "proto", "50", "metric", "5")
    wait_until(lambda: "192.0.2.1" not in here.our_routes(), 20, "the kernel has the other program's alone")
    why, = node.ask("show", "routes", "why", ONE)
    assert why["best"] == "external, of lb" and why["others"][0].startswith("10.0.0.2 from tor: own route: learned, not external"), why
    here.ip("route", "del", "blackhole", ONE, "proto", "50", "metric", "5")
    wait_until(lambda: here.our_routes().get("192.0.2.1") == ["10.0.0.2"], 20, "and the learned one is back")
    assert switch.established()


def test_without_installing(wire):
    """kernel.install: false: the kernel is read all the same."""
    wire.node.ip("route", "add", "blackhole", ONE, "proto", "50")
    switch, node, _ = start(wire, kernel={"install": False})
    switch.wait_route(ONE)
    wire.node.ip("route", "del", "blackhole", ONE, "proto", "50")
    switch.wait_no_route(ONE)
    assert external(node) == {}
