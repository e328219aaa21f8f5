"""What peers are told of AS numbers, and what we take: local-as, as-override, remove-private-as, allow-own-as."""
import signal

from harness import holds_for, wait_until
from switches import Bird, Neighbor

THEIRS, POD = "10.244.2.0/24", "10.244.1.0/24"


def reload(node, new):
    begin = len(node.log())
    node.configure(new)
    node.popen.send_signal(signal.SIGHUP)
    return node.wait_log(r"reload: .*(applied|nothing was changed)", 20, begin).group(0)


def test_local_as(any_wire):
    """The switch was set up for another AS than the node's: it sees nothing else."""
    switch = any_wire.switch(node_asn=64999, announce=[THEIRS]).start()
    node = any_wire.underlayd(local_as=64999).start().wait_established("tor")
    path, = switch.wait_route(POD)
    assert path["as_path"] == "64999", path
    wait_until(lambda: any_wire.node.our_routes().get(THEIRS) == ["10.0.0.2"], 20, "the switch's route is installed")
    assert node.peer("tor")["local_asn"] == 64999 and node.status()["asn"] == 64701
    assert "internal" not in node.peer("tor")["kind"]


def test_internal_by_local_as(wire):
    """As AS 64512 we are inside the switch's AS."""
    switch = wire.switch(node_asn=64512, announce=[THEIRS]).start()
    node = wire.underlayd(local_as=64512).start().wait_established("tor")
    path, = switch.wait_route(POD)
    assert (path["as_path"], path["local_pref"]) == ("", 100), path
    assert "internal" in node.peer("tor")["kind"]


def star(net, numbers, **peer):
    """BIRDs of these ASes around a plain speaker of AS 64700 that tells everyone everything."""
    middle = net.ns("middle", router=True)
    birds = []
    for i, asn in enumerate(numbers, 1):
        ns, me = net.ns(f"b{i}", router=True), f"10.0.{i}.2"
        net.link(middle, f"eth{i}", f"10.0.{i}.1/30", ns, "eth0", f"{me}/30")
        birds.append(net.add(Bird(ns, net.subdir(f"b{i}"), f"b{i}", me, [Neighbor(me, asn, f"10.0.{i}.1", 64700)],
                                  [f"10.244.{i}.0/24"])).start())

    def config(**peer):
        return {"node": {"name": "middle", "asn": 64700, "router-id": "10.0.0.1"}, "kernel": {"install": False},
                "peers": [{"name": f"b{i}", "address": f"10.0.{i}.2", "asn": asn, "import": "all", "export": "all",
                           "hold-time": "9s", **peer} for i, asn in enumerate(numbers, 1)]}

    node = net.underlayd(middle, config(**peer)).start()
    return node, birds, config


def path_of(bird, prefix):
    paths = bird.route(prefix)
    return paths[0]["as_path"] if paths else None


def test_paths_on_their_way_out(net):
    """Two of one private AS and one of a public one. As it is, those of one AS do not take each other's routes; with our
    number in its place they do; the public one need not see the private number. Changes keep the sessions."""
    node, birds, config = star(net, [64513, 64513, 100])
    node.wait_established("b1", "b2", "b3")
    wait_until(lambda: path_of(birds[2], "10.244.1.0/24") == "64700 64513", 20, "the path as it is", birds[2].routes)
    wait_until(lambda: path_of(birds[1], "10.244.3.0/24") == "64700 100", 20, "what is not theirs")
    holds_for(lambda: path_of(birds[1], "10.244.1.0/24") is None, 0.3, "their own AS's route is none for them")
    reload(node, config(**{"as-override": True}))
    wait_until(lambda: path_of(birds[1], "10.244.1.0/24") == "64700 64700", 20, "our number in the place of theirs", birds[1].routes)
    assert path_of(birds[2], "10.244.1.0/24") == "64700 64513"
    reload(node, config(**{"remove-private-as": True}))
    wait_until(lambda: path_of(birds[2], "10.244.1.0/24") == "64700", 20, "no private number", birds[2].routes)
    wait_until(lambda: path_of(birds[1], "10.244.1.0/24") is None, 20, "but theirs, by which they see the loop", birds[1].routes)
    assert path_of(birds[1], "10.244.3.0/24") == "64700 100"
    assert all(p["established_count"] == 1 for p in node.peers().values())


def test_own_as_in_the_path(wire):
    """A path with our own AS is a loop, unless as many are allowed; asking again is enough to get it."""
    switch = wire.switch(announce=[THEIRS], channel=("export filter { bgp_path.prepend(64701); accept; };",)).start()
    node = wire.underlayd().start().wait_established("tor")
    wait_until(lambda: node.peer("tor")["filtered"] == 1, 20, "the loop was seen")
    assert not node.routes(THEIRS)
    reload(node, wire.config(allow_own_as=1))
    row = wait_until(lambda: node.routes(THEIRS), 20, "it is allowed")[0]
    assert row["as_path"] == "64512 64701" and node.peer("tor")["established_count"] == 1, row
    reload(node, wire.config(allow_own_as=0))
    wait_until(lambda: not node.routes(THEIRS), 20, "and no more")
    assert switch.established()
