"""Fixtures of the network-namespace tests; docs/testing.md tells how to run and write them."""
import os
import shutil
import signal

import pytest

import harness
from harness import BUILD, Fabric
from switches import KINDS, Neighbor

NEEDED = ["ip", "sysctl", "bird", "birdc", "vtysh", "/usr/lib/frr/bgpd", "tcpdump", "ping"]


def pytest_configure(config):
    config.addinivalue_line("markers", "essential: also run with the programs as they ship, without sanitizers")


def pytest_sessionstart():
    """A run that is told to end takes its namespaces and processes along, and one that was killed
    could not: what it left is removed here."""
    def stop(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    if os.geteuid() == 0:
        harness.remove_leftovers()


def pytest_report_header():
    return f"programs under test: {BUILD}"


def pytest_collection_modifyitems(items):
    why = None
    if os.geteuid() != 0:
        why = "needs root, for network namespaces"
    missing = [tool for tool in NEEDED if not shutil.which(tool)]
    if missing:
        why = f"not installed: {' '.join(missing)}"
    for item in items if why else ():
        item.add_marker(pytest.mark.skip(reason=why))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    fabric = getattr(item, "fabric", None)
    if report.failed and fabric:
        for name, text in fabric.logs():
            report.sections.append((f"log of {name}", text))


@pytest.fixture
def net(request):
    """A Fabric: namespaces, links and processes that end with the test. A daemon of ours that does
    not end well, or that a sanitizer complained about, fails the test."""
    fabric = request.node.fabric = Fabric(request.node.name)
    yield fabric
    fabric.last_logs = fabric.logs()
    complaints = fabric.close()
    fabric.logs = lambda: fabric.last_logs
    if complaints:
        pytest.fail("\n".join(complaints), pytrace=False)


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
def wait_until():
    return harness.wait_until
