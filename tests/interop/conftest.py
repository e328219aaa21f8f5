"""Fixtures of the interop matrix; docs/testing.md tells how to run it. The controlling process collects what the cells
have found out and writes interop.md into the build directory."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "net"))

from harness import BUILD  # noqa: E402
from plumbing import (NEEDED, close, pytest_configure, pytest_report_header, pytest_runtest_makereport,  # noqa: E402,F401
                      pytest_sessionstart, skip_without)
import table  # noqa: E402
from bench import Bench  # noqa: E402

PEERS_NEED = [*NEEDED, "gobgpd", "gobgp", "bgpd", "bgpctl", "exabgp"]
found = {}


def pytest_collection_modifyitems(items):
    skip_without(items, PEERS_NEED)


class Benches:
    """One pair of (peer, role) at a time, started once for all its cells. (A parametrized fixture with a wider scope would be
    made anew for each of them.)"""
    current = None

    def get(self, pair):
        if self.current and (self.current.kind, self.current.role) != pair:
            self.close()
        self.current = self.current or Bench(*pair)
        return self.current

    def close(self):
        """Ends its programs; what did not end well fails the test."""
        bench, self.current = self.current, None
        if bench:
            bench.close()
            close(bench.net)


@pytest.fixture(scope="session")
def benches():
    all_of_them = Benches()
    yield all_of_them
    all_of_them.close()


def pytest_runtest_logreport(report):
    for name, value in report.user_properties if report.when == "call" else ():
        if name == "cell":
            found[tuple(value[:3])] = tuple(value[3:])


def pytest_sessionfinish(session):
    if found and not hasattr(session.config, "workerinput"):
        path = BUILD / "interop.md"
        path.write_text(table.write(found))
