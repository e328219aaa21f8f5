"""The tests of this directory run inside User-Mode Linux, on a kernel that has what the machine's own may lack. They are written as
those of tests/net, with the same fixtures, and started in the same way; the first one boots the machine for all of them.
docs/testing.md tells more.

This file is read twice: by the pytest that was started, where it boots the machine and hands on its reports, and by the one
inside, where it writes them.
"""
import json
import os
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "net"))

import plumbing  # noqa: E402
from harness import BUILD  # noqa: E402
from plumbing import NEEDED, net, pytest_report_header, pytest_runtest_makereport, pytest_sessionstart  # noqa: E402,F401
from machine import Machine  # noqa: E402

REPORTS = os.environ.get("UNDERLAY_UML_REPORTS")  # set inside only
GROUP = "uml"  # one machine for all of them, also under xdist
machines = []


class Reporter:
    def __init__(self, config):
        self.config = config

    def pytest_runtest_logreport(self, report):
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        with open(REPORTS, "a") as f:
            f.write(json.dumps(data) + "\n")


def pytest_configure(config):
    plumbing.pytest_configure(config)
    if REPORTS:
        config.pluginmanager.register(Reporter(config))


def ours(items):
    return [item for item in items if HERE in item.path.parents]


@pytest.hookimpl(tryfirst=True)  # before xdist looks at the groups
def pytest_collection_modifyitems(items):
    plumbing.skip_without(ours(items), NEEDED if REPORTS else [])
    for item in ours(items):
        item.add_marker(pytest.mark.xdist_group(GROUP))


def machine_for(item):
    if not machines:
        names = [other.nodeid.removesuffix(f"@{GROUP}") for other in ours(item.session.items)]
        machines.append(Machine(BUILD, item.config.rootpath, names))
    return machines[0]


def failed(item, machine):
    """The three reports of a test that nothing was heard of."""
    def report(when, outcome, text=None, sections=()):
        return pytest.TestReport(item.nodeid, item.location, {}, outcome, text, when, sections)

    return [report("setup", "passed"),
            report("call", "failed", machine.failure, [("the end of its console", machine.console())]),
            report("teardown", "passed")]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    if REPORTS or not ours([item]) or os.geteuid() != 0:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    machine = machine_for(item)
    found = machine.reports(item.nodeid.removesuffix(f"@{GROUP}"))
    reports = [item.config.hook.pytest_report_from_serializable(config=item.config, data=data) for data in found]
    for report in reports or failed(item, machine):
        report.nodeid = item.nodeid
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_sessionfinish():
    while machines:
        machines.pop().close()
