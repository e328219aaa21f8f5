"""README promises a working node in ten minutes: what it tells people to write is taken from it and run."""
import json
import re

import pytest

from harness import BUILD, ROOT, wait_until
from switches import Bird, Frr
from test_pods import call_plugin

README = (ROOT / "README.md").read_text()
BIRD = "BIRD 2, a complete `/etc/bird/bird.conf`:"
FRR = "FRR, all that `/etc/frr/frr.conf` needs (and `bgpd=yes` in `/etc/frr/daemons`):"
# The places that README's commands name, in a mount namespace of their own (ip netns exec makes it).
PLACES = """set -e
mount -t tmpfs none /run && mkdir /run/underlay && mount --bind '{run}' /run/underlay
mount -t tmpfs none /opt && mkdir -p /opt/cni/bin && cp '{build}/underlay' /opt/cni/bin/
PATH='{build}':$PATH
"""


def fenced(language):
    return re.search(rf"^```{language}\n(.*?)^```", README, re.S | re.M)[1]


def indented(after):
    """The indented block after a line."""
    text = README[README.index(f"\n{after}\n") + len(after) + 3:]
    return "\n".join(line[4:] for line in re.match(r"(?:    .*\n|\n)+", text)[0].splitlines())


class Example:
    """README's node and its switch, with README's addresses and files."""

    def __init__(self, net, kind):
        self.node, self.tor = net.ns("node", router=True), net.ns("tor", router=True)
        net.link(self.node, "eth0", "10.0.7.1/24", self.tor, "eth0", "10.0.7.254/24")
        make, text = {"bird": (Bird, indented(BIRD)), "frr": (Frr, indented(FRR))}[kind]
        self.switch = net.add(make(self.tor, net.subdir("switch"), "switch", None, [], text=text)).start()
        self.daemon = net.underlayd(self.node, "")
        # all that is not README's: a run directory beside the machine's own
        self.daemon.configure(fenced("yaml") + f"paths: {{run: {self.daemon.run_dir}, state: {self.daemon.state_dir}}}\n")

    def start(self):
        checked = self.daemon.check()
        assert checked.returncode == 0 and re.fullmatch(r".+: fine\n", checked.stdout), checked
        self.daemon.start().wait_established("tor", timeout=60)
        self.switch.wait_route("10.244.7.0/24")
        return self


@pytest.fixture(params=["bird", "frr"])
def example(net, request):
    return Example(net, request.param).start()


def test_the_node_of_readme(net, example):
    node, tor, daemon, pod = example.node, example.tor, example.daemon, net.ns("pod")
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


def test_the_switch_comes_back(example):
    example.switch.close()
    wait_until(lambda: example.daemon.peer("tor")["state"] != "Established", 30, "the session is gone")
    example.switch.start()
    example.daemon.wait_established("tor", timeout=60)
    example.switch.wait_route("10.244.7.0/24")


@pytest.mark.parametrize("example", ["bird"], indirect=True)
def test_a_pod_without_a_runtime(example):
    """Every line of the section, as it is typed."""
    wait_until(lambda: example.tor.run("ip", "route", "get", "10.244.7.1").stdout.split()[1:3] == ["via", "10.0.7.1"], 30,
               "the switch's kernel knows the way")
    script = PLACES.format(run=example.daemon.run_dir, build=BUILD.resolve()) + fenced("sh")
    done = example.node.run("sh", "-c", script)
    assert re.search(r"inet 10\.244\.7\.\d+/32 ", done.stdout) and " 0% packet loss" in done.stdout, done.stdout
    assert re.search(r"^10\.244\.7\.\d+ .* demo ", done.stdout, re.M), done.stdout
    assert example.daemon.ask("show", "pods") == []


def test_the_manual_has_readmes_commands():
    """underlay(8) and README call the same plugin in the same way."""
    manual = (ROOT / "docs/underlay.8").read_text()
    calls = re.findall(r"^echo .* \| CNI_COMMAND=\w+ \S+", fenced("sh"), re.M)
    assert len(calls) == 2
    for call in calls:
        assert f"\n{call}\n" in manual, call
