"""Sessions and routes with BIRD and FRR as the peer: what a node and its switch do all day."""
import pytest

from harness import wait_until

POD = "10.244.1.0/24"
OTHERS = ["10.244.2.0/24", "10.244.3.0/24"]


def both_up(node, switch, **kw):
    node.wait_established("tor", **kw)
    wait_until(switch.established, 20, "the switch says so too", lambda: switch.session_text())


@pytest.mark.essential
@pytest.mark.parametrize("node_passive, switch_passive", [(False, False), (True, False), (False, True)],
                         ids=["both-active", "we-are-passive", "switch-is-passive"])
def test_session_and_origination(any_wire, node_passive, switch_passive):
    switch = any_wire.switch(passive=switch_passive).start()
    node = any_wire.underlayd(passive=node_passive).start()
    both_up(node, switch)
    path, = switch.wait_route(POD)
    assert (path["as_path"], path["next_hop"], path["origin"]) == ("64701", "10.0.0.1", "IGP")
    peer = node.peer("tor")
    assert peer["asn"] == 64512 and peer["address"] == "10.0.0.2" and peer["local_asn"] == 64701
    assert peer["hold_time"] == 3
    wait_until(lambda: node.peer("tor")["advertised"] == 1, 10, "one route is advertised")


def test_ibgp(any_wire):
    switch = any_wire.switch(asn=64701, announce=OTHERS).start()
    node = any_wire.underlayd(tor_asn=64701).start()
    both_up(node, switch)
    path, = switch.wait_route(POD)
    assert (path["as_path"], path["next_hop"], path["local_pref"]) == ("", "10.0.0.1", 100)
    wait_until(lambda: set(OTHERS) <= set(any_wire.node.our_routes()), 20, "routes learned over iBGP are in the kernel")
    assert {row["as_path"] for row in node.routes(OTHERS[0])} == {""}


@pytest.mark.parametrize("asn, tor_asn", [("external", 64512), ("internal", 64701)])
def test_asn_in_words(any_wire, asn, tor_asn):
    switch = any_wire.switch(asn=tor_asn).start()
    node = any_wire.underlayd(tor_asn=asn).start()
    both_up(node, switch)
    switch.wait_route(POD)
    assert node.peer("tor")["asn"] == tor_asn


def test_four_byte_as_numbers(any_wire):
    switch = any_wire.switch(asn=4200000002, node_asn=4200000001, announce=OTHERS).start()
    node = any_wire.underlayd(asn=4200000001, tor_asn=4200000002).start()
    both_up(node, switch)
    path, = switch.wait_route(POD)
    assert path["as_path"] == "4200000001"
    wait_until(lambda: OTHERS[0] in any_wire.node.our_routes(), 20, "the kernel has the route")
    assert {row["as_path"] for row in node.routes(OTHERS[0])} == {"4200000002"}


@pytest.mark.essential
def test_learned_routes_come_and_go(any_wire):
    """Announced, withdrawn, announced again: the kernel and `show routes` follow."""
    switch = any_wire.switch(announce=OTHERS).start()
    node = any_wire.underlayd().start()
    expected = {POD: ["blackhole"], OTHERS[0]: ["10.0.0.2"], OTHERS[1]: ["10.0.0.2"]}
    wait_until(lambda: any_wire.node.our_routes() == expected, 30, "the kernel has what the switch announced",
               any_wire.node.our_routes)
    row, = node.routes(OTHERS[0])
    assert row["mark"] == "*" and row["next_hop"] == "10.0.0.2" and row["source"] == "tor"
    assert row["as_path"] == "64512" and row["origin"].lower() == "igp" and row["local_pref"] == 100
    wait_until(lambda: node.routes(OTHERS[0])[0]["kernel"] == "installed", 10, "the kernel's answer is shown")
    assert all(r["metric"] == 32 for r in any_wire.node.route_rows("proto", "171"))

    switch.withdraw(OTHERS[0])
    del expected[OTHERS[0]]
    wait_until(lambda: any_wire.node.our_routes() == expected, 20, "the withdrawn route is gone", any_wire.node.our_routes)
    assert node.client("show", "routes", OTHERS[0]).stdout.count("10.0.0.2") == 0
    switch.announce(OTHERS[0], "10.244.4.0/22")
    expected.update({OTHERS[0]: ["10.0.0.2"], "10.244.4.0/22": ["10.0.0.2"]})
    wait_until(lambda: any_wire.node.our_routes() == expected, 20, "new routes are there", any_wire.node.our_routes)
    assert [r["prefix"] for r in node.routes("for", "10.244.5.9")] == ["10.244.4.0/22"]
    assert node.peer("tor")["established_count"] == 1


@pytest.mark.essential
def test_dead_switch(any_wire):
    """Killed without a goodbye: its routes are gone within the hold time, and back when it is."""
    switch = any_wire.switch(announce=OTHERS).start()
    node = any_wire.underlayd().start()
    wait_until(lambda: set(OTHERS) <= set(any_wire.node.our_routes()), 30, "the kernel has the routes")
    switch.kill()
    wait_until(lambda: any_wire.node.our_routes() == {POD: ["blackhole"]}, 20, "the dead switch's routes are gone")
    assert node.peer("tor")["state"] != "Established" and node.peer("tor")["last_error"]
    switch.start()
    wait_until(lambda: set(OTHERS) <= set(any_wire.node.our_routes()), 40, "its routes are back")
    switch.wait_route(POD)


def test_silent_switch(any_wire):
    """The wire is cut and nothing is closed: the hold timer is what finds out."""
    switch = any_wire.switch(announce=OTHERS).start()
    node = any_wire.underlayd().start()
    wait_until(lambda: set(OTHERS) <= set(any_wire.node.our_routes()), 30, "the kernel has the routes")
    # from now on what the switch sends goes to a station that does not exist; no link changes its state
    any_wire.tor.ip("neigh", "replace", "10.0.0.1", "lladdr", "02:00:00:00:00:99", "dev", "eth0", "nud", "permanent")
    wait_until(lambda: any_wire.node.our_routes() == {POD: ["blackhole"]}, 10, "the silent switch's routes are gone")
    assert "hold" in node.peer("tor")["last_error"].lower()
    any_wire.tor.ip("neigh", "delete", "10.0.0.1", "dev", "eth0")
    wait_until(lambda: set(OTHERS) <= set(any_wire.node.our_routes()), 40, "the routes are back with the wire")
    assert switch.running()


def test_notification_from_the_switch(any_wire):
    switch = any_wire.switch(announce=OTHERS).start()
    node = any_wire.underlayd().start()
    wait_until(lambda: set(OTHERS) <= set(any_wire.node.our_routes()), 30, "the kernel has the routes")
    switch.disable()
    wait_until(lambda: any_wire.node.our_routes() == {POD: ["blackhole"]}, 10, "its routes are gone")
    error = node.peer("tor")["last_error"].lower()
    assert "cease" in error and "received" in error, error
    assert error in node.client("show", "peers", "tor").stdout.lower()
    switch.enable()
    wait_until(lambda: set(OTHERS) <= set(any_wire.node.our_routes()), 40, "the session and its routes are back")


def test_session_restarts_often(any_wire):
    """Five resets in a row leave exactly what was there before."""
    switch = any_wire.switch(announce=OTHERS).start()
    node = any_wire.underlayd().start()
    for round_ in range(1, 6):
        wait_until(lambda: node.peer("tor")["established_count"] >= round_ and node.established(), 40,
                   f"session {round_} is up", lambda: node.log()[-1500:])
        wait_until(lambda: set(OTHERS) <= set(any_wire.node.our_routes()), 20, "the routes are in the kernel")
        switch.wait_route(POD)
        switch.restart_session()
    node.wait_established("tor", timeout=40)
    wait_until(lambda: len(any_wire.node.our_routes()) == 3, 20, "nothing is missing or left over",
               any_wire.node.our_routes)


@pytest.mark.parametrize("policy, expected", [
    ({}, {"10.244.2.0/24"}),
    ({"import": "all"}, {"10.244.2.0/24", "192.0.2.0/24", "10.0.0.0/8"}),
    ({"import": "none"}, set()),
], ids=["unset", "all", "none"])
def test_import(any_wire, policy, expected):
    """Unset, only what is inside cluster-cidrs comes in; our own CIDR and a default route never do."""
    announced = ["10.244.2.0/24", "192.0.2.0/24", "10.0.0.0/8", POD, "10.244.1.128/25", "0.0.0.0/0"]
    switch = any_wire.switch(announce=announced).start()
    node = any_wire.underlayd(**policy).start()
    node.wait_established("tor")
    wait_until(lambda: node.peer("tor")["received"] == len(announced), 20, "everything was received",
               lambda: node.peer("tor"))
    wait_until(lambda: set(any_wire.node.our_routes()) == expected | {POD}, 20, "exactly what the policy lets in is there",
               any_wire.node.our_routes)
    assert any_wire.node.our_routes()[POD] == ["blackhole"]
    assert node.peer("tor")["accepted"] == len(expected)
    assert switch.running()


@pytest.mark.parametrize("policy, expected", [
    ({}, {POD}), ({"export": "pods"}, {POD}), ({"export": "none"}, set()),
    ({"export": "all"}, {POD, "10.244.2.0/24"}),
], ids=["unset", "pods", "none", "all"])
def test_export(net, policy, expected):
    """A third party's route goes out only with export: all; our CIDR goes out unless export is none."""
    from conftest import Wire
    from switches import Bird, Neighbor
    wire = Wire(net, "frr")
    other = net.ns("other")
    net.link(wire.node, "eth1", "10.0.1.1/30", other, "eth0", "10.0.1.2/30")
    switch = wire.switch().start()
    source = net.add(Bird(other, net.subdir("other"), "other", "10.0.1.2",
                          [Neighbor("10.0.1.2", 64513, "10.0.1.1", 64701)], ["10.244.2.0/24"])).start()
    config = wire.config(**policy)
    config["peers"].append({"name": "other", "address": "10.0.1.2", "asn": 64513, "hold-time": "3s"})
    node = net.underlayd(wire.node, config).start()
    node.wait_established()
    source.wait_route(POD)
    wait_until(lambda: "10.244.2.0/24" in wire.node.our_routes(), 20, "the route is learned")
    wait_until(lambda: node.peer("tor")["advertised"] == len(expected), 20, "the count of advertised routes is right",
               lambda: node.peer("tor"))
    wait_until(lambda: set(switch.routes()) == expected, 20, "the switch has exactly that", switch.routes)
    for path in switch.routes().get("10.244.2.0/24", []):
        assert (path["as_path"], path["next_hop"]) == ("64701 64513", "10.0.0.1")


def test_wrong_as(any_wire):
    """Both sides are told what is wrong, we go on trying, and it works once the switch is mended."""
    switch = any_wire.switch(asn=64999).start()
    node = any_wire.underlayd().start()

    def told():
        peer = node.peer("tor")
        return peer["state"] != "Established" and "64999" in peer["last_error"] and "64512" in peer["last_error"]

    wait_until(told, 30, "last_error names both AS numbers", lambda: node.peer("tor"))
    node.wait_log(r"tor.*64999")
    assert any_wire.node.our_routes() == {POD: ["blackhole"]}
    switch.kill()
    any_wire.switch(asn=64512).start()
    node.wait_established("tor", timeout=60)


def test_switch_expects_another_as(any_wire):
    any_wire.switch(node_asn=64777).start()
    node = any_wire.underlayd().start()
    wait_until(lambda: "AS" in (node.peer("tor")["last_error"] or ""), 30,
               "last_error shows the switch's NOTIFICATION about the AS", lambda: node.peer("tor"))
    assert "received" in node.peer("tor")["last_error"].lower()


def test_many_routes(wire):
    """Every /28 of the cluster, in and out again."""
    prefixes = [f"10.244.{i}.{j * 16}/28" for i in range(2, 202) for j in range(16)]
    switch = wire.switch(announce=prefixes).start()
    node = wire.underlayd().start()
    wait_until(lambda: len(wire.node.our_routes()) == len(prefixes) + 1, 60, f"{len(prefixes)} routes are in the kernel",
               lambda: len(wire.node.our_routes()))
    assert node.peer("tor")["accepted"] == len(prefixes)
    switch.withdraw(*prefixes[: len(prefixes) // 2])
    wait_until(lambda: len(wire.node.our_routes()) == len(prefixes) // 2 + 1, 60, "half of them are gone")
    switch.kill()
    wait_until(lambda: wire.node.our_routes() == {POD: ["blackhole"]}, 60, "all of them are gone")
