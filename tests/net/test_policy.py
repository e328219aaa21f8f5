"""Policies of the operator, with real switches: what is let in and changed, what is told and how, and a policy that
changes while the session lives."""
import signal

from harness import holds_for, wait_until
from speaker import NOTIFICATION, Speaker
from switches import Bird, Frr, Neighbor

POD = "10.244.1.0/24"
GOLD, PLAIN, DEFAULT = "10.244.2.0/24", "10.244.3.0/24", "0.0.0.0/0"

GOLD_ONLY = {"name": "gold-only", "rules": [
    {"match": {"prefixes": ["10.244.0.0/16 le 28"], "community": ["64512:100"]}, "set": {"local-pref": 200},
     "action": "accept"}]}
EVERYTHING = {"name": "everything", "rules": [{"action": "accept"}]}


def config(wire, *policies, **peer):
    return {**wire.config(**peer), "policies": list(policies)}


def start(wire, *policies, **peer):
    return wire.net.underlayd(wire.node, config(wire, *policies, **peer), "underlayd").start()


def reload(node, new):
    begin = len(node.log())
    node.configure(new)
    node.popen.send_signal(signal.SIGHUP)
    return node.wait_log(r"reload: .*(applied|nothing was changed)", 20, begin).group(0)


def tagging_switch(wire, *more):
    switch = wire.switch(announce=[GOLD, PLAIN, *more])
    switch.tags = {GOLD: "64512:100", PLAIN: "64512:7"}
    return switch.start()


def ours(wire):
    return set(wire.node.our_routes())


def test_import_by_community(any_wire):
    """One community is let in and preferred, the rest is rejected and counted; `policy test` says why."""
    tagging_switch(any_wire)
    node = start(any_wire, GOLD_ONLY, EVERYTHING, **{"import": "gold-only"}).wait_established("tor")
    wait_until(lambda: node.peer("tor")["end_of_rib_received"], 20, "the switch has told all")
    wait_until(lambda: ours(any_wire) == {POD, GOLD}, 20, "what carries the community", any_wire.node.our_routes)
    row, = node.routes(GOLD)
    assert row["local_pref"] == 200 and row["next_hop"] == "10.0.0.2"
    peer = node.peer("tor")  # FRR sends our own route back as well
    assert peer["filtered"] >= 1 and peer["received"] - peer["filtered"] == 1, peer
    assert node.peer("tor")["import"] == "gold-only" and node.peer("tor")["accepted"] == 1
    told, = node.ask("policy", "test", "gold-only", GOLD)
    assert (told["verdict"], told["rule"], told["changes"]) == ("accepted", 0, "nothing"), told
    assert "from tor, AS path 64512" in told["route"] and told["before"]["communities"] == "64512:100"
    told, = node.ask("policy", "test", "gold-only", PLAIN)
    assert told["verdict"] == "rejected" and told["made_up"] and told["decided_by"].startswith("no rule"), told
    shown = node.client("policy", "test", "everything", "0.0.0.0/0").stdout
    assert "must be named by the rule" in shown, shown
    for words in (["policy", "test", "nobody", GOLD], ["policy", "test", "gold-only", "x"], ["policy", "test", "gold-only"]):
        assert node.client(*words).returncode == 1, words


def test_export_with_sets(any_wire):
    """The switch sees the longer path, the communities and the MED of our own route."""
    switch = any_wire.switch().start()
    policy = {"name": "out", "rules": [
        {"match": {"source": "local"}, "action": "next",
         "set": {"prepend": 2, "med": 50, "community": {"add": ["64701:1", "64701:2", "64701:2"]}}},
        {"match": {"community": ["64701:1"]}, "set": {"community": {"remove": ["64701:2"]}}, "action": "accept"}]}
    node = start(any_wire, policy, export="out").wait_established("tor")
    path, = switch.wait_route(POD)
    assert (path["as_path"], path["med"], path["next_hop"]) == ("64701 64701 64701", 50, "10.0.0.1")
    assert switch.communities(POD) == {"64701:1"}
    told, = node.ask("policy", "test", "out", POD)
    assert told["verdict"] == "accepted" and told["rule"] == 1
    assert "AS path none -> 64701 64701" in told["changes"] and "communities none -> 64701:1" in told["changes"]
    assert {row["as_path"] for row in node.routes(POD)} == {""}, "our own table is as it was"
    wait_until(lambda: node.peer("tor")["advertised"] == 1, 10, "one route is advertised")


def test_next_hop_and_rejected_exports(wire):
    """A next hop of the policy's goes out as it is; what it rejects is not told."""
    wire.node.ip("address", "add", "10.0.5.1/24", "dev", "eth0")
    wire.tor.ip("address", "add", "10.0.5.2/24", "dev", "eth0")
    switch = wire.switch(announce=[PLAIN]).start()
    policy = {"name": "out", "rules": [
        {"match": {"prefixes": [POD]}, "set": {"next-hop": "10.0.5.1"}, "action": "accept"}]}
    pods = {"cidrs": [POD, "10.244.9.0/24"], "cluster-cidrs": ["10.244.0.0/16"]}
    node = start(wire, policy, export="out", pods=pods).wait_established("tor")
    path, = switch.wait_route(POD)
    assert path["next_hop"] == "10.0.5.1"
    wait_until(lambda: node.peer("tor")["advertised"] == 1, 10, "one route is advertised")
    holds_for(lambda: not switch.route("10.244.9.0/24"), 0.5, "the other one stays here")


def test_guarded_prefixes_must_be_named(any_wire):
    tagging_switch(any_wire, DEFAULT)
    everything = {"kernel": {"table": 77}, **config(any_wire, EVERYTHING, **{"import": "everything"})}
    node = any_wire.net.underlayd(any_wire.node, everything, "underlayd").start().wait_established("tor")
    wait_until(lambda: node.routes(GOLD) and node.routes(PLAIN), 20, "the others are there")
    wait_until(lambda: node.peer("tor")["end_of_rib_received"] and node.peer("tor")["filtered"] >= 1, 20, "it has told all")
    assert not node.routes("for", "192.0.2.1")
    named = {"name": "everything", "rules": [{"match": {"prefixes": [DEFAULT]}, "action": "accept"}, {"action": "accept"}]}
    reload(node, {"kernel": {"table": 77}, **config(any_wire, named, **{"import": "everything"})})
    wait_until(lambda: node.routes("for", "192.0.2.1"), 20, "the default route, now that it is named")
    assert node.peer("tor")["established_count"] == 1


def test_changed_policy_keeps_the_session(any_wire):
    """Sets and verdicts change in both directions by refresh; one that nobody changed costs nothing."""
    wire = any_wire
    switch = tagging_switch(wire)
    out = {"name": "out", "rules": [{"set": {"community": {"add": ["64701:1"]}}, "action": "accept"}]}
    peer = {"import": "gold-only", "export": "out"}
    node = start(wire, GOLD_ONLY, out, **peer).wait_established("tor")
    wait_until(lambda: ours(wire) == {POD, GOLD}, 20, "what the first policy lets in", wire.node.our_routes)
    switch.wait_route(POD)
    assert "0 changes" in reload(node, config(wire, GOLD_ONLY, out, EVERYTHING, **peer))
    plain = {"name": "gold-only", "rules": [{"match": {"community": ["64512:7"]}, "set": {"local-pref": 70}, "action": "accept"}]}
    assert "1 changes" in reload(node, config(wire, plain, out, **peer))
    wait_until(lambda: ours(wire) == {POD, PLAIN}, 20, "what the second policy lets in", wire.node.our_routes)
    wait_until(lambda: node.routes(PLAIN)[0]["local_pref"] == 70, 20, "it is preferred less")
    other = {"name": "out", "rules": [{"set": {"prepend": 1, "community": {"add": ["64701:9"]}}, "action": "accept"}]}
    assert "1 changes" in reload(node, config(wire, plain, other, **peer))
    wait_until(lambda: switch.route(POD) and switch.communities(POD) == {"64701:9"}, 20, "the switch has the new words",
               switch.routes)
    assert switch.route(POD)[0]["as_path"] == "64701 64701"
    reload(node, config(wire, plain, {"name": "out"}, **peer))
    switch.wait_no_route(POD)
    reload(node, config(wire, **{"import": "all"}))
    wait_until(lambda: ours(wire) == {POD, GOLD, PLAIN}, 20, "built-in policies again", wire.node.our_routes)
    wait_until(lambda: {row["local_pref"] for row in node.routes(PLAIN)} == {100}, 20, "what the old policy set is gone")
    switch.wait_route(POD)
    assert node.peer("tor")["established_count"] == 1


def test_changed_policy_without_refresh(wire):
    """A peer that cannot repeat its routes gets a new session, the one beside it that uses another policy keeps its."""
    peer = {"hold_time": "90s", "passive": True}
    node = start(wire, GOLD_ONLY, EVERYTHING, **peer, **{"import": "gold-only"})
    speaker = Speaker.connect(wire.tor, "10.0.0.2", "10.0.0.1").establish(64512, hold=90)
    node.wait_established("tor")
    reload(node, config(wire, GOLD_ONLY, **peer, **{"import": "gold-only"}))
    holds_for(lambda: node.established("tor"), 0.5, "a policy that it does not use is none of its business")
    changed = {**GOLD_ONLY, "rules": [{"action": "accept"}]}
    reload(node, config(wire, changed, **peer, **{"import": "gold-only"}))
    assert speaker.receive_until(NOTIFICATION)[1][:2] == bytes([6, 6])


def test_two_groups_two_stories(net):
    """What one peer's policy makes of a route, the other one does not see."""
    ns, switches = net.ns("node", router=True), []
    for i, kind in enumerate([Bird, Frr]):
        tor = net.ns(f"tor{i}", router=True)
        net.link(ns, f"eth{i}", f"10.0.{i}.1/30", tor, "eth0", f"10.0.{i}.2/30")
        neighbor = Neighbor(f"10.0.{i}.2", 64512 + i, f"10.0.{i}.1", 64701)
        switches.append(net.add(kind(tor, net.subdir(f"tor{i}"), f"tor{i}", f"10.0.{i}.2", [neighbor],
                                     [f"10.244.{20 + i}.0/24"])).start())
    policies = [{"name": f"out{i}", "rules": [
        {"match": {"peer": ["tor0"]}, "set": {"community": {"add": ["1:20"]}}, "action": "accept"},
        {"match": {"source": "local"}, "set": {"community": {"replace": [f"1:{i}"]}, "prepend": i + 1}, "action": "accept"}]}
        for i in range(2)]
    node = net.underlayd(ns, {
        "node": {"name": "node", "asn": 64701, "router-id": "10.0.0.1"}, "policies": policies,
        "pods": {"cidrs": [POD], "cluster-cidrs": ["10.244.0.0/16"]},
        "peers": [{"name": f"tor{i}", "address": f"10.0.{i}.2", "asn": 64512 + i, "hold-time": "3s", "export": f"out{i}"}
                  for i in range(2)]}).start().wait_established("tor0", "tor1")
    for i, switch in enumerate(switches):
        assert switch.wait_route(POD)[0]["as_path"] == " ".join(["64701"] * (i + 2))
        assert switch.communities(POD) == {f"1:{i}"}
    assert switches[1].wait_route("10.244.20.0/24")[0]["as_path"] == "64701 64512"
    assert switches[1].communities("10.244.20.0/24") == {"1:20"}
    wait_until(lambda: node.peer("tor1")["advertised"] == 2 and node.peer("tor0")["advertised"] == 1, 10, "counts",
               lambda: node.peers())
    assert not switches[0].route("10.244.21.0/24"), "no rule of tor0's policy lets tor1's route out"
