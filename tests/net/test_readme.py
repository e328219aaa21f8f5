"""README promises a working node in ten minutes: what it tells people to write is taken from it and run."""
import json
import re

import pytest

from harness import ROOT, wait_until
from switches import Bird, Frr
from test_pods import call_plugin

README = (ROOT / "README.md").read_text()


def fenced(language):
    return re.search(rf"^```{language}\n(.*?)^```", README, re.S | re.M)[1]


def indented(after):
    """The indented block after a line."""
    text = README[README.index(f"\n{after}\n") + len(after) + 3:]
    return "\n".join(line[4:] for line in re.match(r"(?:    .*\n|\n)+", text)[0].splitlines())


@pytest.mark.parametrize("kind", ["bird", "frr"])
def test_the_node_of_readme(net, kind):
    node, tor, pod = net.ns("node", router=True), net.ns("tor", router=True), net.ns("pod")
    net.link(node, "eth0", "10.0.7.1/24", tor, "eth0", "10.0.7.254/24")
    tor.ip("address", "add", "10.244.9.1/32", "dev", "lo")
    directory = net.subdir("switch")
    if kind == "bird":
        text = "log stderr all;\nprotocol device {}\n" + indented("BIRD 2:")
        switch = net.add(Bird(tor, directory, "switch", None, [], text=text))
    else:
        switch = net.add(Frr(tor, directory, "switch", None, [], text=indented("FRR:")))
    switch.start()
    daemon = net.underlayd(node, "")
    daemon.configure(fenced("yaml") + f"paths: {{run: {daemon.run_dir}, state: {daemon.state_dir}}}\n")
    assert daemon.check().returncode == 0, daemon.check()
    daemon.start().wait_established("tor", timeout=60)
    switch.wait_route("10.244.7.0/24")

    conflist = json.loads(fenced("json"))
    plugin, = conflist["plugins"]
    call = {**plugin, "name": conflist["name"], "cniVersion": conflist["cniVersion"], "runDir": str(daemon.run_dir)}
    result = call_plugin("ADD", node, "web", pod, call)
    address = result["ips"][0]["address"].split("/")[0]
    assert address.startswith("10.244.7.")
    assert [p["address"] for p in daemon.ask("show", "pods")] == [address]
    wait_until(lambda: tor.run("ping", "-n", "-c", "1", "-W", "1", address, check=False).returncode == 0, 30,
               "the switch reaches the pod by the route that it learned")
    for command in re.findall(r"underlayc (show \w+)", README):
        assert daemon.client(*command.split()).returncode == 0, command
