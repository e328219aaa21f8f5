"""What User-Mode Linux is there for: devices, and a daemon and a switch that run in it as they do elsewhere."""
import json

import pytest

from harness import wait_until
from switches import Bird, Neighbor


@pytest.mark.parametrize("kind", ["vrf table 100", "ipip remote 192.0.2.1 local 192.0.2.2", "vxlan id 4096 dstport 4789", "dummy"])
def test_devices(net, kind):
    """Its modules are found, and loaded when they are asked for."""
    ns = net.ns("node")
    ns.ip("link", "add", "test0", "type", *kind.split())
    link = json.loads(ns.ip("-j", "-d", "link", "show", "test0"))[0]
    assert link["linkinfo"]["info_kind"] == kind.split()[0]


def test_a_node_and_a_switch(net):
    node, tor = net.ns("node", router=True), net.ns("tor", router=True)
    net.link(node, "eth0", "10.0.0.1/30", tor, "eth0", "10.0.0.2/30")
    net.add(Bird(tor, net.subdir("bird"), "bird", "10.0.0.2", [Neighbor("10.0.0.2", 64512, "10.0.0.1", 64701)],
                 ["10.244.2.0/24"])).start()
    daemon = net.underlayd(node, {
        "node": {"name": "node", "asn": 64701, "router-id": "10.0.0.1"},
        "pods": {"cidrs": ["10.244.1.0/24"], "cluster-cidrs": ["10.244.0.0/16"]},
        "peers": [{"name": "tor", "address": "10.0.0.2", "asn": 64512}]}).start().wait_established("tor")
    wait_until(lambda: node.our_routes().get("10.244.2.0/24") == ["10.0.0.2"], 20, "its route is in the kernel", daemon.routes)
