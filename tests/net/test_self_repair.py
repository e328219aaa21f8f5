"""What others do to the kernel's routes, as `show kernel`, `show kernel differences`, `resync kernel` and the log tell it; that
kernel and Loc-RIB agree in the end is what test_fault_*.py look at."""
import os
import signal

import pytest

from fault_site import POD, Site, prefixes4, prefixes6
from harness import METRIC, wait_until
from shim import Shim

V4, V6 = prefixes4(300), prefixes6(40)
ALL = len(V4) + len(V6) + 1


@pytest.fixture
def site(net):
    site = Site(net)
    site.start().connect(V4 + V6)
    site.wait_routes(ALL)
    site.agree("the start", ALL)
    yield site
    site.close()


def kernel(site):
    return site.node.ask("show", "kernel")[0]


def differences(site):
    return {row["prefix"]: row for row in site.node.ask("show", "kernel", "differences")}


def repaired(site, kind, count):
    wait_until(lambda: kernel(site)["repaired"][kind] >= count, 20, f"{count} {kind} are repaired", lambda: kernel(site))


def test_a_flush_is_repaired_from_its_events(site):
    audits = kernel(site)["audit"]["number"]
    site.kernel.delete_routes(site.ours())  # some versions of `ip route flush` stop at routes with a next-hop object
    repaired(site, "taken", ALL)
    site.agree("the flush", ALL)
    found = kernel(site)
    assert found["table"] == "main (254)"
    assert found["wanted"] == found["installed"] == ALL and found["failed"] == found["foreign"] == found["queued"] == 0
    assert found["audit"]["number"] <= audits + 1, "the table was read for what the events had told"
    assert differences(site) == {}
    wait_until(lambda: "were taken away within" in site.node.log(), 20, "the end of the burst is told")
    told = [line for line in site.node.log().splitlines() if "taken away" in line]
    assert 1 <= len(told) <= 3 and f"by python3 (process {os.getpid()})" in told[0], told  # once a burst, not once a route


def test_single_routes_are_taken_and_bent(site):
    site.ns.ip("route", "delete", V4[0], "metric", METRIC)
    site.ns.ip("-6", "route", "delete", V6[0], "metric", METRIC)
    site.agree("two were deleted", ALL)
    repaired(site, "taken", 2)
    site.ns.ip("route", "replace", V4[1], "via", "10.0.0.2", "proto", "171", "metric", METRIC)
    site.ns.ip("route", "replace", "unreachable", V4[2], "proto", "171", "metric", METRIC)
    site.ns.ip("route", "replace", V4[3], "dev", "eth0", "proto", "171", "metric", METRIC)
    site.agree("three were changed", ALL)
    repaired(site, "changed", 3)
    site.ns.ip("route", "add", "192.0.2.0/24", "via", "10.0.0.2", "proto", "171", "metric", METRIC)
    repaired(site, "stray", 1)
    site.agree("one too many", ALL)


@pytest.mark.parametrize("family, prefix, via", [("-4", V4[5], "10.0.0.2"), ("-6", V6[5], "fd00::2")], ids=["ipv4", "ipv6"])
def test_a_foreign_route_in_our_place(site, family, prefix, via):
    """It takes our place, changes its owner, and goes: reported each time, never touched, and ours is back at once."""
    where = (prefix, "via", via, "metric", METRIC)
    site.ns.ip(family, "route", "replace", *where, "proto", "static")
    wait_until(lambda: "static (4)" in differences(site).get(prefix, {}).get("state", ""), 20, "its owner is named",
               lambda: differences(site))
    row = differences(site)[prefix]
    assert row["owner"] == 4 and row["error"] == "File exists" and row["have"] == "nothing" and via in row["want"]
    assert "static (4)" in site.node.routes(prefix)[0]["kernel"]
    answer = site.node.ask("resync", "kernel")[0]
    assert answer["failed"] == 1 and "cannot go in" in answer["result"], answer
    assert "static" in site.ns.ip(family, "route", "show", prefix)
    assert kernel(site)["foreign"] == 1 and "static (4)" in kernel(site)["failures"][0]
    assert site.node.log().count("in their place") == 1, site.node.log()
    site.ns.ip(family, "route", "delete", prefix, "metric", METRIC, "proto", "static")
    site.agree("it went", ALL)
    assert kernel(site)["foreign"] == 0 and differences(site) == {}


def test_a_foreign_route_that_was_there_first(net):
    """Known by reading the kernel, since no event told of it."""
    site = Site(net)
    try:
        site.ns.ip("route", "add", V4[0], "via", "10.0.0.2", "metric", METRIC, "proto", "static")
        site.ns.ip("route", "add", "prohibit", V4[1], "metric", METRIC, "proto", "bird")
        site.start().connect(V4)
        wait_until(lambda: "bird (12)" in differences(site).get(V4[1], {}).get("state", "")
                   and "static (4)" in differences(site)[V4[0]]["state"], 20, "both owners are named", lambda: differences(site))
        assert len(differences(site)) == 2 and kernel(site)["installed"] == len(V4) - 1
        for prefix in V4[:2]:
            site.ns.ip("route", "delete", prefix, "metric", METRIC)
        site.agree("they went", len(V4) + 1)
    finally:
        site.close()


def test_a_program_that_takes_a_route_away_again_and_again(site):
    """It waits for some seconds, the log names the other, and resync ends the waiting."""
    def takes_it():
        site.ns.run("ip", "route", "delete", V4[7], "metric", METRIC, check=False)
        return kernel(site)["fought_over"] == 1

    wait_until(takes_it, 30, "the fight is seen", lambda: kernel(site))
    state = differences(site)[V4[7]]["state"]
    assert "others took it away" in state and differences(site)[V4[7]]["next_try_ms"] <= 4000, state
    wait_until(lambda: f"{V4[7]} was taken away" in site.node.log(), 20, "the log tells", site.node.log)
    assert site.node.ask("resync", "kernel")[0]["pending"] == 0
    site.agree("the fight is over", ALL)
    assert len(site.ours()) == ALL


def test_resync(site):
    """Of a route that went while the daemon stood still it reads or hears, whichever comes first, and counts it once."""
    assert site.node.ask("resync", "kernel")[0]["result"] == "nothing differed"
    read = site.node.ask("resync", "kernel")[0]
    assert read["read"] == ALL and read["missing"] == read["changed"] == read["stray"] == read["repaired"] == 0
    assert kernel(site)["audit"]["error"] is None
    os.kill(site.node.pid, signal.SIGSTOP)
    try:
        site.ns.ip("route", "delete", POD, "metric", METRIC)
    finally:
        os.kill(site.node.pid, signal.SIGCONT)
    site.node.ask("resync", "kernel")
    wait_until(lambda: kernel(site)["repaired"]["taken"] == 1, 20, "it is repaired once", lambda: kernel(site))
    site.agree("the end", ALL)


def test_others_routes_are_left_alone(site):
    """They come and go beside ours, with other metrics, tables and types of service: no look at the table, no repair."""
    audits = kernel(site)["audit"]["number"]
    for more in (["metric", "50"], ["metric", METRIC, "table", "77"], ["metric", METRIC, "tos", "0x10"]):
        where = [V4[9], "via", "10.0.1.2", "proto", "static", *more]
        site.ns.ip("route", "add", *where)
        assert differences(site) == {}
        site.ns.ip("route", "delete", *where)
    found = kernel(site)
    assert found["repaired"] == {"taken": 0, "changed": 0, "stray": 0} and found["audit"]["number"] <= audits + 1
    site.agree("others' routes came and went", ALL)


def test_interrupted_dumps_are_repeated(net):
    """What was read before a change proves nothing: read again, and where that does not end, later. Nothing is repaired for it."""
    site = Site(net)
    shim = Shim(site.node)
    try:
        site.start().connect(V4 + V6)
        site.wait_routes(ALL)
        shim.interrupt(3)
        answer = site.node.ask("resync", "kernel")[0]
        assert answer["result"] == "nothing differed" and answer["read"] == ALL and shim.interrupts_left() == 0, answer
        shim.interrupt(1000)
        done = site.node.client("resync", "kernel")
        assert done.returncode == 1 and "cannot be read" in done.stderr, done
        site.kernel.delete_routes(site.ours())
        wait_until(lambda: "failed" in kernel(site)["last_audit"], 20, "the failure is shown", lambda: kernel(site))
        shim.interrupt(0)
        wait_until(lambda: kernel(site)["audit"]["error"] is None, 20, "it is tried again", lambda: kernel(site))
        site.agree("dumps were interrupted", ALL)
        site.node.kill()
        shim.interrupt(1000)
        site.start()
        assert site.node.status()["phase"].startswith("restarting"), "what was read of a former life is kept"
        shim.interrupt(0)
        site.agree("dumps were interrupted at the start", ALL)
    finally:
        site.close()


def test_without_a_kernel(net):
    site = Site(net, kernel={"install": False})
    try:
        site.start()
        for command in (("show", "kernel"), ("show", "kernel", "differences"), ("resync", "kernel")):
            done = site.node.client(*command)
            assert done.returncode == 1 and "(kernel.install: false)" in done.stderr, done
    finally:
        site.close()
