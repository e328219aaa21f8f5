"""`show routes why`: what each path lost by, what the kernel has and who is told, in JSON and for people."""
from harness import wait_until
from test_kernel import OTHER, POD, two_tors

LONG, HIDDEN = "10.244.3.0/24", "10.244.3.128/25"


def why(node, what):
    return node.ask("show", "routes", "why", what)[0]


def test_why(net):
    ns, node, (bird, frr) = two_tors(net)
    bird.announced, frr.announced = [OTHER, LONG, HIDDEN], [OTHER, LONG]
    bird.neighbors[0].next_hop_self = False
    bird.write()
    cases = (f"if net = {LONG} then {{ bgp_path.prepend(64999); bgp_path.prepend(64999); }} "
             f"if net = {HIDDEN} then bgp_next_hop = 10.9.9.9; ")
    bird.text = bird.config.read_text().replace("export all;", f"export filter {{ {cases} accept; }};")
    bird.start(), frr.start(), node.start()
    node.wait_established()
    both = "via 10.0.0.2 weight 1, via 10.0.1.2 weight 1"
    wait_until(lambda: why(node, OTHER)["kernel"] == both, 20, "both next hops are in the kernel", lambda: why(node, OTHER))

    equal = why(node, OTHER)
    assert len(equal["others"]) == 1 and "used as well" in equal["others"][0]
    assert sorted(p["used"] for p in equal["paths"]) == [True, True]
    assert equal["told"] == [] and all(line.endswith("export is pods: our own pod CIDRs and external routes only") or "is from there" in line
                                       for line in equal["not_told"])

    longer = wait_until(lambda: [w for w in [why(node, LONG)] if len(w["paths"]) == 2], 20, "both paths came")[0]
    assert longer["best"] == "10.0.1.2 from tor1" and longer["kernel"] == "via 10.0.1.2"
    assert longer["others"] == ["10.0.0.2 from tor0: AS path length: 3 > 1 (10.0.1.2 from tor1)"]

    # of an address the longest prefix, and what is used while that cannot be
    rows = node.ask("show", "routes", "why", "10.244.3.200")
    assert [r["prefix"] for r in rows] == [HIDDEN, LONG]
    assert rows[0]["others"] == ["10.9.9.9 from tor0: next hop unreachable: no route leads to it"]
    assert rows[0]["best"] == "none: no path can be used" and rows[0]["kernel"] == "nothing"
    assert rows[0]["paths"][0]["next_hop_state"] == "no route leads to it" and rows[1]["note"]

    own = why(node, POD)
    assert own["best"] == "our own" and own["kernel"] == "a blackhole" and sorted(own["told"]) == ["tor0", "tor1"]

    text = node.client("show", "route", "why", LONG).stdout  # as BIRD's users would say it
    assert "Best:" in text and "AS path length: 3 > 1" in text and "Not told:" in text
    for wrong, error in (("10.99.0.0/16", "no route to 10.99.0.0/16 is known"), ("nonsense", "nonsense is not a prefix"),
                         ("192.0.2.1", "no prefix with 192.0.2.1 is known")):
        done = node.client("show", "routes", "why", wrong)
        assert done.returncode != 0 and error in done.stderr
    frr.kill()
    wait_until(lambda: why(node, LONG)["best"] == "10.0.0.2 from tor0", 20, "the other path took over")
    assert why(node, POD)["not_told"] == ["tor1: there is no session"]
