"""What tests/net and tests/interop have in common for pytest: their conftest.py take it from here."""
import os
import shutil
import signal

import pytest

import harness
from harness import BUILD, Fabric

NEEDED = ["ip", "sysctl", "bird", "birdc", "vtysh", "/usr/lib/frr/bgpd", "tcpdump", "ping"]


def pytest_configure(config):
    config.addinivalue_line("markers", "essential: also run with the programs as they ship, without sanitizers")
    config.addinivalue_line("markers", "soak: repeats one thing SOAK times; short without that variable")


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


def skip_without(items, needed):
    why = None
    if os.geteuid() != 0:
        why = "needs root, for network namespaces"
    missing = [tool for tool in needed if not shutil.which(tool)]
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


def close(fabric):
    """The end of a fixture that yields fabric: what should not be fails the test."""
    fabric.last_logs = fabric.logs()
    complaints = fabric.close()
    fabric.logs = lambda: fabric.last_logs
    if complaints:
        pytest.fail("\n".join(complaints), pytrace=False)


@pytest.fixture
def net(request):
    """A Fabric: namespaces, links and processes that end with the test. A daemon of ours that does
    not end well, or that a sanitizer complained about, fails the test."""
    fabric = request.node.fabric = Fabric(request.node.name)
    yield fabric
    close(fabric)
