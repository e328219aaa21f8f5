"""Policies with named sets, communities of every kind and AS path expressions, with real switches."""
from harness import wait_until
from test_policy import GOLD, PLAIN, POD, config, ours, reload

SETS = {
    "prefixes": {"pods": ["10.244.0.0/16 le 28"]},
    "communities": {"gold": ["rt:64512:*", "64512:9:*"], "ours": ["64701:1", "rt:64701:7", "64701:1:2"]},
    "as-paths": {"tor": ["^64512+$"]},
}
IN = {"name": "in", "rules": [
    {"match": {"prefixes": ["$pods"], "community": ["$gold", "64512:100"], "as-path": ["$tor"]},
     "set": {"weight": 7, "community": {"remove": ["rt:*:*"]}}, "action": "accept"}]}
OUT = {"name": "out", "rules": [
    {"match": {"source": "local"}, "set": {"community": {"add": ["$ours", "no-peer"]}}, "action": "accept"}]}


def conf(wire, sets, **peer):
    return {**config(wire, IN, OUT, **peer), "sets": sets}


def test_sets_of_communities_of_all_kinds(wire):
    """What BIRD tags with a route target or a large community is let in; a changed set is applied by refresh."""
    switch = wire.switch(announce=[GOLD, PLAIN])
    tags = {GOLD: "bgp_ext_community.add((rt,64512,7)); bgp_large_community.add((64512,1,2));",
            PLAIN: "bgp_large_community.add((64512,8,1)); bgp_ext_community.add((ro,64512,1));"}
    switch.tag = lambda prefix: " { %s }" % tags[prefix]
    switch.start()
    peer = {"import": "in"}
    node = wire.net.underlayd(wire.node, conf(wire, SETS, **peer), "underlayd").start().wait_established("tor")
    wait_until(lambda: ours(wire) == {POD, GOLD}, 20, "what a set lets in", wire.node.our_routes)
    row, = node.routes(GOLD)
    assert (row["communities"], row["weight"], row["local_pref"]) == ("64512:1:2", 7, 100), row
    assert "Communities" in node.client("show", "routes").stdout
    other = {**SETS, "communities": {**SETS["communities"], "gold": ["ro:64512:*"]}}
    assert "1 changes" in reload(node, conf(wire, other, **peer))
    wait_until(lambda: ours(wire) == {POD, PLAIN}, 20, "what the changed set lets in", wire.node.our_routes)
    assert node.routes(PLAIN)[0]["communities"] == "ro:64512:1 64512:8:1"
    assert "0 changes" in reload(node, conf(wire, {**other, "prefixes": {**SETS["prefixes"], "spare": ["10.9.0.0/16"]}}, **peer))
    assert node.peer("tor")["established_count"] == 1


def test_switches_see_all_kinds(any_wire):
    switch = any_wire.switch().start()
    any_wire.net.underlayd(any_wire.node, conf(any_wire, SETS, export="out"), "underlayd").start().wait_established("tor")
    switch.wait_route(POD)
    path, = switch.paths(POD)
    assert path["extended"] == {"rt:64701:7"} and path["large"] == {"64701:1:2"}, path
    assert "64701:1" in path["communities"] and len(path["communities"]) == 2, path


def test_policy_test_with_attributes(wire):
    """No route is needed to ask what a policy would do with one."""
    node = wire.net.underlayd(wire.node, conf(wire, SETS, **{"import": "in"}), "underlayd").start()

    def told(*words):
        row, = node.ask("policy", "test", "in", GOLD, *words)
        return row

    row = told("as-path", "64512", "64512", "community", "rt:64512:1 64512:5", "med", "3", "peer", "tor")
    assert (row["verdict"], row["rule"]) == ("accepted", 0), row
    assert row["route"] == "with the attributes given, from tor, AS path 64512 64512"
    assert row["changes"] == "weight 0 -> 7; communities 64512:5 rt:64512:1 -> 64512:5", row
    assert told("as-path", "64512 64513", "community", "rt:64512:1")["verdict"] == "rejected"
    assert told("as-path", "64512", "community", "64512:8:1")["verdict"] == "rejected"
    assert told("as-path", "64512", "community", "64512:9:1")["verdict"] == "accepted"
    for words, complaint in ((["med"], "med: found \"\", expected a number"), (["as-path", "x"], "as-path: found \"x\""),
                             (["community", "1:*"], "expected up to 64 communities"), (["color", "1"], "color is no attribute"),
                             (["med", "1", "med", "2"], "med is there twice")):
        done = node.client("policy", "test", "in", GOLD, *words)
        assert done.returncode == 1 and complaint in done.stderr, done
        assert "as-path NUMBER..., community COMMUNITY..." in done.stderr, done
