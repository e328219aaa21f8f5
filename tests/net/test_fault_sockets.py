"""Something closes the netlink sockets that are not the FIB's: for `external:` and for `kernel.vrf`."""
import contextlib

import pytest

from fault_site import Site
from harness import wait_until
from shim import EVENTS, QUERIES, WRITES, Shim
from test_external import external, reload

ONE, TWO = "192.0.2.1/32", "192.0.2.2/32"


@contextlib.contextmanager
def a_site(net, **kw):
    site = Site(net, links=1, **kw)
    site.shim = Shim(site.node)
    try:
        yield site.start()
    finally:
        site.close()


def close(site, which):
    closed = site.shim.close_sockets(which)
    wait_until(closed, 20, "they are closed")


def add(site, prefix):
    site.ns.ip("route", "add", "blackhole", prefix, "proto", "50")


def test_of_external_routes(net):
    """What came and went before anybody noticed is read; then events are heard again."""
    with a_site(net) as site:
        add(site, ONE)
        reload(site.node, {**site.config, "external": [{"name": "lb", "protocol": 50}]})
        wait_until(lambda: set(external(site.node)) == {(ONE, "lb")}, 20, "it is read")
        close(site, WRITES | EVENTS)
        site.ns.ip("route", "del", "blackhole", ONE, "proto", "50")
        add(site, TWO)
        wait_until(lambda: set(external(site.node)) == {(TWO, "lb")}, 20, "it is read again")
        add(site, ONE)
        wait_until(lambda: len(external(site.node)) == 2, 20, "events are heard")
        assert site.node.log().count("the socket for the kernel's routes") == 1


@pytest.mark.parametrize("which", [EVENTS, QUERIES], ids=["events", "queries"])
def test_of_a_vrf_that_is_waited_for(net, which):
    """A device of its name is seen; a VRF itself takes a kernel that has them."""
    with a_site(net, kernel={"vrf": "red"}) as site:
        close(site, which)
        site.ns.ip("link", "add", "red", "type", "veth", "peer", "name", "end")
        wait_until(lambda: "(veth)" in site.node.status()["vrf"], 20, "it is seen")
        site.ns.ip("link", "del", "red")
        wait_until(lambda: "no such device" in site.node.status()["vrf"], 20, "it is seen to go")
