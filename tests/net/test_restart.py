"""The daemon goes and comes back: nothing that carries traffic may notice."""
import pytest

from harness import holds_for, wait_until

POD = "10.244.1.0/24"
OTHERS = ["10.244.2.0/24", "10.244.3.0/24"]
EXPECTED = {POD: ["blackhole"], OTHERS[0]: ["10.0.0.2"], OTHERS[1]: ["10.0.0.2"]}


def running_pair(wire):
    switch = wire.switch(announce=OTHERS).start()
    node = wire.underlayd().start()
    wait_until(lambda: wire.node.our_routes() == EXPECTED, 30, "the kernel has the routes", wire.node.our_routes)
    switch.wait_route(POD)
    return switch, node


@pytest.mark.essential
@pytest.mark.parametrize("how", ["term", "kill"])
def test_restart_changes_no_route(any_wire, how):
    """SIGTERM or kill -9: routes stay; the next start adopts them without a single change; and the
    switch, which helps graceful restarts, keeps ours."""
    switch, node = running_pair(any_wire)
    ours, theirs = any_wire.net.monitor(any_wire.node), any_wire.net.monitor(any_wire.tor)
    if how == "term":
        assert node.stop() == 0
    else:
        node.kill()
    assert any_wire.node.our_routes() == EXPECTED
    wait_until(lambda: not switch.established(), 20, "the switch has noticed")
    holds_for(lambda: switch.route(POD), 1, "the switch keeps our route while we restart")
    node.start()
    node.wait_established("tor", timeout=40)
    wait_until(lambda: node.peer("tor")["accepted"] == 2, 20, "the routes came again")
    wait_until(lambda: all(r["kernel"] == "installed" for r in node.routes() if r["source"] == "tor"), 20,
               "they count as installed", node.routes)
    wait_until(lambda: node.peer("tor")["advertised"] == 1, 20, "our CIDR was announced again")
    holds_for(lambda: switch.route(POD) and any_wire.node.our_routes() == EXPECTED, 1, "everything is as before")
    assert ours.changes() == [] and theirs.changes() == []


def test_route_that_went_away_meanwhile(any_wire):
    """Withdrawn while we were not there: swept after the sync; the other one is not touched."""
    switch, node = running_pair(any_wire)
    watch = any_wire.net.monitor(any_wire.node)
    node.kill()
    switch.withdraw(OTHERS[1])
    node.start()
    wait_until(lambda: any_wire.node.our_routes() == {POD: ["blackhole"], OTHERS[0]: ["10.0.0.2"]}, 60,
               "the route that is no more is swept", any_wire.node.our_routes)
    assert [line for line in watch.changes() if OTHERS[1] not in line] == []


def test_pod_cidr_changed_meanwhile(wire):
    """Another pod CIDR in the configuration: the old blackhole goes, the new one comes."""
    switch, node = running_pair(wire)
    node.stop()
    config = wire.config(pods={"cidrs": ["10.244.9.0/24"], "cluster-cidrs": ["10.244.0.0/16"]})
    node.configure(config)
    node.start()
    switch.wait_route("10.244.9.0/24", timeout=40)
    wait_until(lambda: wire.node.our_routes().get("10.244.9.0/24") == ["blackhole"]
               and POD not in wire.node.our_routes(), 60, "the blackhole moved", wire.node.our_routes)
    switch.wait_no_route(POD, timeout=30)


def test_next_hop_changed_meanwhile(wire):
    """A route of ours with another next hop in the kernel is replaced, never deleted."""
    switch, node = running_pair(wire)
    node.kill()
    wire.node.ip("route", "replace", "blackhole", OTHERS[0], "proto", "171", "metric", "32")
    watch = wire.net.monitor(wire.node)
    node.start()
    wait_until(lambda: wire.node.our_routes() == EXPECTED, 40, "it is put right", wire.node.our_routes)
    assert watch.changes("Deleted", OTHERS[0]) == []
    assert switch.running()


def test_start_before_the_switch(any_wire):
    """Nobody there at first: the node says so, keeps its blackhole, and connects when somebody comes."""
    node = any_wire.underlayd().start()
    wait_until(lambda: any_wire.node.our_routes() == {POD: ["blackhole"]}, 20, "the blackhole is there")
    wait_until(lambda: node.peer("tor")["last_error"], 20, "it is said why there is no session")
    any_wire.switch(announce=OTHERS).start()
    wait_until(lambda: any_wire.node.our_routes() == EXPECTED, 60, "the routes are there", any_wire.node.our_routes)


def test_second_daemon_with_the_same_directory(wire):
    """It is refused, says why, and the first one does not notice."""
    switch, node = running_pair(wire)
    second = wire.net.underlayd(wire.net.ns("elsewhere"), node.config_path.read_text(), "second")
    second.must_end_well = False
    second.start(wait=False)
    assert second.wait(20) != 0
    assert str(node.pid) in second.log() or "already" in second.log() or "in use" in second.log(), second.log()
    assert node.status() and node.established("tor") and wire.node.our_routes() == EXPECTED
    assert switch.route(POD)


def test_client_without_a_daemon(wire):
    node = wire.underlayd()
    for words in (["show", "status"], ["-j", "show", "peers"]):
        done = node.client(*words)
        assert done.returncode == 1 and str(node.socket_path) in done.stderr, done
