"""Fixtures of the network-namespace tests; docs/testing.md tells how to run and write them."""
import pytest

import harness
from fault_site import Site
from plumbing import (NEEDED, net, pytest_configure, pytest_report_header, pytest_runtest_makereport,  # noqa: F401
                      pytest_sessionstart, skip_without)
from switches import KINDS, Neighbor


def pytest_collection_modifyitems(items):
    skip_without(items, NEEDED)


class Wire:
    """One node and one switch on one link: the smallest thing that is a fabric."""

    def __init__(self, net, kind):
        self.net, self.kind = net, kind
        self.node, self.tor = net.ns("node", router=True), net.ns("tor", router=True)
        net.link(self.node, "eth0", "10.0.0.1/30", self.tor, "eth0", "10.0.0.2/30")

    def switch(self, asn=64512, node_asn=64701, announce=(), **neighbor):
        name = f"{self.kind}{len(self.net.processes)}"
        return self.net.add(KINDS[self.kind](self.tor, self.net.subdir(name), name, "10.0.0.2",
                                             [Neighbor("10.0.0.2", asn, "10.0.0.1", node_asn, **neighbor)], announce))

    def config(self, asn=64701, tor_asn=64512, kernel=None, pods=None, **peer):
        """The least configuration, for a peer named tor; keyword arguments are the peer's keys with
        "_" for "-"."""
        config = {
            "node": {"name": "node", "asn": asn, "router-id": "10.0.0.1"},
            "pods": pods or {"cidrs": ["10.244.1.0/24"], "cluster-cidrs": ["10.244.0.0/16"]},
            "peers": [{"name": "tor", "address": "10.0.0.2", "asn": tor_asn, "hold-time": "3s",
                       **{key.replace("_", "-"): value for key, value in peer.items()}}],
        }
        if kernel:
            config["kernel"] = kernel
        return config

    def underlayd(self, **kw):
        return self.net.underlayd(self.node, self.config(**kw), "underlayd")


@pytest.fixture
def wire(net):
    """Node and switch, BIRD unless the test asks for kind."""
    return Wire(net, "bird")


@pytest.fixture(params=["bird", "frr"])
def any_wire(net, request):
    """The same test with each switch software."""
    return Wire(net, request.param)


@pytest.fixture
def site(net):
    """Two uplinks with a steady peer behind each, where things are broken."""
    site = Site(net)
    yield site
    site.close()


@pytest.fixture
def wait_until():
    return harness.wait_until
