"""Routes that other programs on the node hand over through the control socket: told to the peers, kept over restarts, gone
with their owner."""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

from control import Control
from harness import BUILD, ROOT, holds_for, wait_until

POD = "10.244.1.0/24"
ONE, TWO, THREE = "192.0.2.1/32", "192.0.2.2/32", "198.51.100.0/24"


def reload(node, new):
    begin = len(node.log())
    node.configure(new)
    node.popen.send_signal(signal.SIGHUP)
    return node.wait_log(r"reload: .*(applied|nothing was changed)", 20, begin).group(0)


def external(node, *args):
    return {(row["prefix"], row["owner"]): row for row in node.ask("show", "external", *args)}


def add(node, *words):
    done = node.client("route", "add", *words)
    assert done.returncode == 0, done
    return done


def refused(node, *words):
    done = node.client("route", *words)
    assert done.returncode == 1 and len(done.stderr.splitlines()) >= 2, done
    return done.stderr


@pytest.mark.essential
def test_handed_over_and_taken_back(any_wire):
    """Two owners, one prefix of both; with what they gave the routes; and never in the kernel."""
    switch = any_wire.switch().start()
    node = any_wire.underlayd().start().wait_established("tor")
    switch.wait_route(POD)
    add(node, ONE, THREE, "community", "64701:7", "no-export", "64701:1:2", "med", "50", "owner", "lb")
    add(node, ONE, TWO, "med", "90", "owner", "other")
    for prefix in (ONE, TWO, THREE):
        switch.wait_route(prefix)
    path, = switch.paths(ONE)
    assert {"64701:7"} <= path["communities"] and path["large"] == {"64701:1:2"}, path
    assert path["communities"] & {"65535:65281", "no-export", "noExport"} and path["next_hop"] == "10.0.0.1" and path["med"] == 50, path
    assert set(any_wire.node.our_routes()) == {POD}, "the host handles them"
    rows = external(node)
    assert rows[ONE, "lb"]["state"] == "told" and rows[ONE, "lb"]["advertised_to"] == 1 and rows[ONE, "lb"]["med"] == 50, rows
    assert "another" in rows[ONE, "other"]["state"] and rows[ONE, "other"]["advertised_to"] == 0, rows
    sources = {(row["source"], row.get("owner"), row["best"]) for row in node.routes(ONE)}
    assert sources == {("external", "lb", True), ("external", "other", False)}, sources
    why, = node.ask("show", "routes", "why", ONE)
    assert why["best"] == "external, of lb" and why["told"] == ["tor"] and "MED: 90 > 50" in why["others"][0], why
    assert node.client("route", "remove", ONE, "owner", "lb").returncode == 0
    wait_until(lambda: switch.paths(ONE)[0]["med"] == 90, 20, "the other owner's is told now", lambda: switch.paths(ONE))
    assert node.client("route", "remove", "all", "owner", "other").returncode == 0
    for prefix in (ONE, TWO):
        switch.wait_no_route(prefix)
    assert switch.route(THREE) and set(external(node)) == {(THREE, "lb")}
    assert re.search(r"lb: 192.0.2.1/32 and others handed over, asked by uid 0; it has 2 routes", node.log())
    assert re.search(r"other: all taken back, asked by uid 0", node.log())


def test_what_is_refused(wire):
    """Each with a reason and what to do; and of a list with one bad prefix nothing is taken."""
    config = wire.config()
    config["external"] = [{"name": "lb", "socket": True, "prefixes": ["192.0.2.0/24 le 32"]}, {"name": "k", "table": 77}]
    node = wire.net.underlayd(wire.node, config, "underlayd").start()
    for words, said in ((["add", "10.244.1.7/32", "owner", "x"], "our own pods.cidrs"),
                        (["add", "0.0.0.0/0", "owner", "x"], "default route"),
                        (["add", ONE, "224.0.0.0/8", "owner", "x"], "224.0.0.0/8: it is zero, loopback"),
                        (["add", "192.0.2.1/24", "owner", "x"], "192.0.2.0/24 is probably meant"),
                        (["add", "192.0.2.300/32", "owner", "x"], "not a prefix"),
                        (["add", ONE, "2001:db8::/32", "next-hop", "10.0.0.2", "owner", "x"], "other address family"),
                        (["add", ONE], "owner NAME"), (["add", "owner", "x"], "the command is: route add PREFIX..."),
                        (["add", ONE, "owner", "../x"], "1 to 63 letters"), (["add", ONE, "weight", "1", "owner", "x"], "not a prefix"),
                        (["add", ONE, "community", "1:x", "owner", "x"], "community"), (["add", ONE, "med", "x", "owner", "x"], "med"),
                        (["add", ONE, THREE, "owner", "lb"], "does not allow it"), (["add", ONE, "owner", "k"], "reads the kernel"),
                        (["remove", ONE, "owner", "x"], "no owner is called x"), (["remove", "all", "owner", "x"], "no owner"),
                        (["add", "all", "owner", "x"], "not a prefix")):
        assert said in refused(node, *words), words
    assert external(node) == {}
    assert not list((node.state_dir / "external").glob("*")) if (node.state_dir / "external").exists() else True
    add(node, ONE, "owner", "lb")
    assert "has no route to " + TWO in refused(node, "remove", ONE, TWO, "owner", "lb")
    assert set(external(node)) == {(ONE, "lb")}


@pytest.mark.parametrize("how", ["term", "kill"])
def test_they_outlive_a_restart(any_wire, how):
    """They are there before End-of-RIB is said, so the switch, which kept them, sees nothing."""
    switch = any_wire.switch().start()
    node = any_wire.underlayd().start().wait_established("tor")
    add(node, ONE, "community", "64701:7", "owner", "lb")
    for prefix in (POD, ONE):
        switch.wait_route(prefix)
    since = external(node)[ONE, "lb"]["since"]
    wait_until(lambda: {"192.0.2.1", POD} <= {row["dst"] for row in any_wire.tor.route_rows()}, 20, "its kernel has both")
    watch = any_wire.net.monitor(any_wire.tor)
    if how == "term":
        assert node.stop() == 0
    else:
        node.kill()
    wait_until(lambda: not switch.established(), 20, "the switch has noticed")
    node.start().wait_established("tor", timeout=40)
    wait_until(lambda: node.peer("tor")["advertised"] == 2, 20, "both were announced again")
    holds_for(lambda: switch.communities(ONE) == {"64701:7"}, 1, "everything is as before")
    assert watch.changes() == []
    assert external(node)[ONE, "lb"]["since"] == since


def test_damaged_and_full(wire):
    """A damaged file is set aside with one error, the others' routes are told; a disk that takes nothing changes nothing."""
    switch = wire.switch().start()
    node = wire.underlayd().start().wait_established("tor")
    add(node, ONE, "owner", "lb")
    add(node, TWO, "owner", "whole")
    node.stop()
    store = node.state_dir / "external"
    file = store / "lb.routes"
    file.write_text(file.read_text()[:-8])
    (store / "nonsense").write_text("not ours")
    os.mkfifo(store / "pipe.routes")  # nobody will ever write into it
    node.start().wait_established("tor", timeout=40)
    switch.wait_route(TWO)
    assert set(external(node)) == {(TWO, "whole")} and not file.exists() and (store / "lb.routes.damaged").exists()
    assert len(re.findall(r"error: external: .*lb.routes: line \d+: .*kept as .*lb.routes.damaged", node.log())) == 1
    for path in store.iterdir():
        path.unlink()
    store.rmdir()
    store.write_text("a file where the directory should be")
    assert "cannot be written" in refused(node, "add", THREE, "owner", "lb")
    assert "cannot be written" in refused(node, "add", ONE, "owner", "whole")
    assert set(external(node)) == {(TWO, "whole")} and not switch.route(THREE)
    shutil.rmtree(node.state_dir)  # by a program that cleans up
    add(node, THREE, "owner", "lb")
    switch.wait_route(THREE)
    assert (store / "lb.routes").exists()


def test_a_full_disk(wire):
    """No space: nothing half applied, and with space again it works."""
    node = wire.underlayd()
    node.state_dir.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", node.state_dir], check=True)
    try:
        node.start()
        add(node, ONE, "owner", "lb")
        ballast = node.state_dir / "ballast"
        with contextlib.suppress(OSError), open(ballast, "wb", buffering=0) as f:
            while f.write(b"x" * 4096):
                pass
        assert "No space left" in refused(node, "add", TWO, "owner", "lb")
        assert set(external(node)) == {(ONE, "lb")} and (node.state_dir / "external" / "lb.routes").read_text().count("/32") == 1
        ballast.unlink()
        add(node, TWO, "owner", "lb")
        node.kill()
        node.start()
        assert set(external(node)) == {(ONE, "lb"), (TWO, "lb")}
        node.stop()
    finally:
        subprocess.run(["umount", node.state_dir], check=True)


HOLDER = """
import json, socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(json.dumps({"command": "route-hold", "args": sys.argv[2:]}).encode() + b"\\n")
print(s.makefile().readline(), flush=True)
time.sleep(1000)
"""


@pytest.mark.essential
@pytest.mark.parametrize("who", ["program", "underlayc"])
def test_gone_with_the_program(wire, who):
    """kill -9 of the program that holds them; a route of the same prefix that stays is not touched."""
    switch = wire.switch().start()
    node = wire.underlayd().start().wait_established("tor")
    add(node, ONE, "med", "9", "owner", "lb")
    argv = {"program": [sys.executable, "-c", HOLDER, node.socket_path], "underlayc": [BUILD / "underlayc", "-s", node.socket_path, "route", "hold"]}
    with subprocess.Popen([*argv[who], ONE, TWO, "owner", "agent"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        try:
            switch.wait_route(TWO)
            wait_until(lambda: "med" not in switch.route(ONE)[0] or not switch.route(ONE)[0]["med"], 20, "the lower MED is told")
            assert "by another connection" in refused(node, "add", THREE, "owner", "agent")
            assert "stay without a connection" in refused(node, "hold", THREE, "owner", "lb")
            assert external(node, "agent")[TWO, "agent"]["from"] == "a connection"
            assert not (node.state_dir / "external" / "agent.routes").exists()
        finally:
            program.kill()
    switch.wait_no_route(TWO)
    wait_until(lambda: switch.route(ONE)[0]["med"] == 9, 20, "what stays is told")
    assert set(external(node)) == {(ONE, "lb")}
    node.wait_log(r"agent: its connection ended, and with it 2 routes")


def test_a_holder_is_not_turned_out(wire):
    """Neither others who connect in numbers, nor the end of what it said, take its connection; the daemon's end does."""
    node = wire.underlayd().start()
    with subprocess.Popen([BUILD / "underlayc", "-s", node.socket_path, "route", "hold", ONE, "owner", "agent"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        wait_until(lambda: external(node), 20, "it holds")
        crowd = [Control(node.socket_path) for _ in range(100)]
        assert external(node) and program.poll() is None
        del crowd
        node.stop()
        assert program.wait(20) == 1 and "ended the connection" in program.stderr.read()
    node.start()
    assert external(node) == {}


def test_next_hop_and_rules(wire):
    """Another next hop is told only while it can be reached; a reload changes what an owner may do, and what is added."""
    switch = wire.switch(asn=64701).start()  # internal: an external one wants next hops on the link
    config = wire.config(tor_asn=64701)
    node = wire.net.underlayd(wire.node, config, "underlayd").start().wait_established("tor")
    add(node, TWO, "next-hop", "10.9.9.9", "owner", "lb")
    add(node, ONE, THREE, "owner", "lb")
    switch.wait_route(ONE)
    switch.wait_route(THREE)
    assert not switch.route(TWO)
    assert external(node)[TWO, "lb"]["state"] == "not told: next hop unreachable: no route leads to it"
    assert "no owner and no entry of external: is called nobody" in node.client("show", "external", "nobody").stderr
    wire.node.ip("route", "add", "10.9.9.0/24", "via", "10.0.0.2")
    switch.wait_route(TWO)
    assert switch.paths(TWO)[0]["next_hop"] == "10.9.9.9"
    wire.node.ip("route", "del", "10.9.9.0/24")
    switch.wait_no_route(TWO)
    config["external"] = [{"name": "lb", "socket": True, "prefixes": ["192.0.2.0/24 le 32"], "community": ["64701:3"]}]
    assert "1 changes applied" in reload(node, config)
    switch.wait_no_route(THREE)
    wait_until(lambda: switch.communities(ONE) == {"64701:3"}, 20, "the entry's community")
    assert "does not allow it" in external(node)[THREE, "lb"]["state"]
    assert any("1 routes that were handed over are not told" in line for line in node.status()["warnings"])
    assert node.status()["external_handed_over"] == 3
    config["pods"]["cidrs"] = [POD, "192.0.2.0/25"]
    reload(node, config)
    switch.wait_no_route(ONE)
    assert "our own pods.cidrs" in external(node)[ONE, "lb"]["state"]
    config["pods"]["cidrs"] = [POD]
    del config["external"]
    reload(node, config)
    for prefix in (ONE, THREE):
        switch.wait_route(prefix)
    assert switch.communities(ONE) == set() and node.peer("tor")["established_count"] == 1


def test_policies_see_them(wire):
    """export: none tells nobody; a written policy matches source: external."""
    switch = wire.switch().start()
    config = wire.config(export="some")
    config["policies"] = [{"name": "some", "rules": [
        {"match": {"source": "external", "prefixes": ["192.0.2.0/24 le 32"]}, "set": {"community": {"add": ["64701:9"]}}, "action": "accept"},
        {"match": {"source": "local"}, "action": "accept"}]}]
    node = wire.net.underlayd(wire.node, config, "underlayd").start().wait_established("tor")
    add(node, ONE, THREE, "med", "4", "owner", "lb")
    switch.wait_route(ONE)
    switch.wait_route(POD)
    assert switch.communities(ONE) == {"64701:9"} and switch.paths(ONE)[0]["med"] == 4 and not switch.route(THREE)
    assert external(node)[THREE, "lb"]["advertised_to"] == 0 and external(node)[ONE, "lb"]["advertised_to"] == 1
    done = node.ask("policy", "test", "some", ONE, "source", "external")
    assert done[0]["verdict"] == "accepted" and done[0]["route"].startswith("external"), done


def test_many_of_many(wire):
    """Up to the limit of an owner, 60 a request over one connection; and all of them taken back at once."""
    switch = wire.switch().start()
    node = wire.underlayd().start().wait_established("tor")
    control = Control(node.socket_path)
    prefixes = [f"100.64.{i // 256}.{i % 256}/32" for i in range(10000)]
    for i in range(0, 10000, 60):
        control.ask("route-add", *prefixes[i:i + 60], "owner", "lb")
    assert "more than 10000 routes" in refused(node, "add", ONE, "owner", "lb")
    assert len(control.ask("show-external")) == 10000
    wait_until(lambda: "10001" in switch.ctl("show", "route", "count"), 30, "the switch has all",
               lambda: switch.ctl("show", "route", "count"))
    control.ask("route-remove", "all", "owner", "lb")
    wait_until(lambda: switch.ctl("show", "route", "count").startswith("BIRD") and "\n1 of 1" in switch.ctl("show", "route", "count"),
               30, "they are gone", lambda: switch.ctl("show", "route", "count"))
    assert not (node.state_dir / "external" / "lb.routes").exists()


def test_the_example_of_the_documentation(wire):
    """The few lines of Python in docs/operations.md, as they stand there but for the place of the socket."""
    switch = wire.switch().start()
    node = wire.underlayd().start().wait_established("tor")
    text = (ROOT / "docs" / "operations.md").read_text()
    program = re.search(r"```python\n(.*?)```", text, re.S)[1].replace("/run/underlay/control", str(node.socket_path))
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONUNBUFFERED": "1"}) as holder:
        try:
            switch.wait_route("192.0.2.10/32")
        finally:
            holder.kill()
    switch.wait_no_route("192.0.2.10/32")
    assert json.loads(node.client("-j", "show", "external").stdout or "[]") == []
