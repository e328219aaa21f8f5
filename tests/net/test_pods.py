"""The whole of it: pods made by the plugin on two nodes, a switch in the middle, daemons that come and go."""
import json
import os
import re
import signal
import subprocess

import pytest

from harness import BUILD, SANITIZER_ENV, Process, wait_until
from switches import KINDS, Neighbor


class Ping(Process):
    """A ping every 20 ms until finish(), which answers how many went missing on the way."""

    def start(self, address):
        self.spawn("stdbuf", "-oL", "ping", "-n", "-i", "0.02", address)
        self.more(5)
        return self

    def sequence(self):
        return {int(n) for n in re.findall(r"bytes from .*icmp_seq=(\d+) ", self.log())}

    def more(self, count):
        wanted = len(self.sequence()) + count
        wait_until(lambda: len(self.sequence()) >= wanted, 30, f"{count} more answers to the ping came", self.log)

    def finish(self):
        self.popen.send_signal(signal.SIGINT)
        self.popen.wait(10)
        seen = self.sequence()
        return max(seen) - len(seen)


def call_plugin(verb, node, container, pod, config):
    """One run of the plugin in the node's namespace, as a runtime does it. Answers its result."""
    env = {**os.environ, **SANITIZER_ENV, "CNI_COMMAND": verb, "CNI_CONTAINERID": container, "CNI_IFNAME": "eth0",
           "CNI_NETNS": f"/run/netns/{pod.name}", "CNI_PATH": str(BUILD),
           "CNI_ARGS": f"K8S_POD_NAMESPACE=test;K8S_POD_NAME={container}"}
    done = subprocess.run(node.command(BUILD / "underlay"), input=json.dumps(config), env=env, capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0 and "Sanitizer" not in done.stderr, f"CNI {verb} {container}: {done.stdout}{done.stderr}"
    return done.stdout and json.loads(done.stdout)


class Rack:
    """A switch and two nodes, each with its daemon; pods come with add()."""

    def __init__(self, net, kind):
        self.net, self.tor, self.nodes, self.daemons, self.results = net, net.ns("tor", router=True), [], [], {}
        neighbors = []
        for i in (1, 2):
            node = net.ns(f"n{i}", router=True)
            net.link(self.tor, f"to-n{i}", f"10.0.{i}.2/30", node, "eth0", f"10.0.{i}.1/30")
            node.ip("route", "add", "default", "via", f"10.0.{i}.2")
            neighbors.append(Neighbor(f"10.0.{i}.2", 64512, f"10.0.{i}.1", 64700 + i, hold=9))
            self.nodes.append(node)
            self.daemons.append(net.underlayd(node, {
                "node": {"name": f"n{i}", "asn": 64700 + i, "router-id": f"10.0.{i}.1"},
                "pods": {"cidrs": [f"10.244.{i}.0/24"], "cluster-cidrs": ["10.244.0.0/16"]},
                "peers": [{"name": "tor", "address": f"10.0.{i}.2", "asn": 64512}]}, f"n{i}"))
        self.switch = net.add(KINDS[kind](self.tor, net.subdir("switch"), "switch", "10.0.1.2", neighbors)).start()
        for daemon in self.daemons:
            daemon.start()
        for i in (0, 1):
            wait_until(lambda: f"10.244.{2 - i}.0/24" in self.nodes[i].our_routes(), 40, "they have each other's pods")

    def cni(self, verb, node, name, pod):
        config = {"cniVersion": "1.0.0", "name": "underlay", "type": "underlay", "runDir": str(self.daemons[node].run_dir)}
        if name in self.results and verb != "ADD":
            config["prevResult"] = self.results[name]
        return call_plugin(verb, self.nodes[node], name, pod, config)

    def add(self, node, name):
        pod = self.net.ns(name)
        self.results[name] = self.cni("ADD", node, name, pod)
        pod.address = self.results[name]["ips"][0]["address"].split("/")[0]
        return pod

    def pods(self, node):
        return sorted((p["address"], p["pod"], p["container"]) for p in self.daemons[node].ask("show", "pods"))


def reaches(ns, address):
    return ns.run("ping", "-n", "-c", "1", "-W", "2", address, check=False).returncode == 0


@pytest.fixture(params=["bird", "frr"])
def rack(net, request):
    return Rack(net, request.param)


def test_pods_reach_each_other_and_the_nodes(rack):
    pods = [rack.add(0, "a1"), rack.add(0, "a2"), rack.add(1, "b1"), rack.add(1, "b2")]
    for pod in pods:
        for other in pods:
            assert reaches(pod, other.address), f"{pod.name} to {other.address}"
        for node in ("10.0.1.1", "10.0.2.1"):
            assert reaches(pod, node), f"{pod.name} to {node}"
    for node in rack.nodes:
        for pod in pods:
            assert reaches(node, pod.address), f"{node.name} to {pod.address}"
    assert [p[1] for p in rack.pods(0)] == ["test/a1", "test/a2"]
    rack.cni("CHECK", 0, "a1", pods[0])
    rack.cni("DEL", 0, "a1", pods[0])
    wait_until(lambda: [p[1] for p in rack.pods(0)] == ["test/a2"], 10, "the pod is forgotten", lambda: rack.pods(0))
    assert not reaches(pods[2], pods[0].address) and reaches(pods[2], pods[1].address)


@pytest.mark.essential
@pytest.mark.parametrize("how", ["kill", "term"])
def test_daemon_dies_under_traffic(rack, how):
    """Both nodes' daemons die at once and come back: no packet is lost, no route is touched, every pod is
    known; and a pod can come and go while there is no daemon."""
    a, b = rack.add(0, "a1"), rack.add(1, "b1")
    before = [(node.our_routes(), rack.pods(i)) for i, node in enumerate(rack.nodes)]
    watches = [rack.net.monitor(node) for node in (*rack.nodes, rack.tor)]
    ping = rack.net.add(Ping(a, rack.net.dir, "ping")).start(b.address)
    for daemon in rack.daemons:
        if how == "kill":
            daemon.kill()
        else:
            assert daemon.stop() == 0
    wait_until(lambda: not rack.switch.established(0) and not rack.switch.established(1), 20, "the switch has noticed")
    ping.more(50)
    assert [watch.changes() for watch in watches] == [[], [], []]
    c = rack.add(0, "a2")
    assert reaches(c, b.address)
    rack.cni("DEL", 0, "a2", c)
    for daemon in rack.daemons:
        daemon.start()
    for daemon in rack.daemons:
        daemon.wait_established("tor", timeout=60)
        wait_until(lambda d=daemon: d.peer("tor")["accepted"] >= 1, 20, "the other's route was told again")
    ping.more(50)
    assert ping.finish() == 0, "packets were lost"
    for i, node in enumerate(rack.nodes):
        assert (node.our_routes(), rack.pods(i)) == before[i]
    for watch in watches:
        assert [line for line in watch.changes() if f"{c.address} dev" not in line] == []


def test_packets_are_plain(rack):
    """On the wire: IP from pod address to pod address, and inside the other pod the same two addresses."""
    a, b = rack.add(0, "a1"), rack.add(1, "b1")
    captures = []
    for ns, device in ((rack.tor, "to-n1"), (rack.tor, "to-n2"), (b, "eth0")):
        capture = rack.net.add(Process(ns, rack.net.dir, f"capture-{device}"))
        capture.spawn("tcpdump", "-l", "-n", "-e", "--immediate-mode", "-i", device, "ip and not tcp port 179")
        capture.wait_log("listening on")
        captures.append(capture)
    assert reaches(a, b.address)
    for capture in captures:
        capture.wait_log("ICMP echo reply")
        packets = [line for line in capture.log().splitlines() if "ethertype" in line]
        wanted = rf"ethertype IPv4 \(0x0800\), length 98: ({a.address} > {b.address}: ICMP echo request|" \
                 rf"{b.address} > {a.address}: ICMP echo reply)"
        assert len(packets) >= 2 and all(re.search(wanted, p) for p in packets), packets
