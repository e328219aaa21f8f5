"""kernel.vrf where there is no VRF. With one, which takes a kernel that has them: tests/uml/test_vrf.py."""
import json
import os
import subprocess

from harness import BUILD, SANITIZER_ENV, holds_for, wait_until
from switches import Bird, Neighbor

WAITS = "waiting for the VRF red: "


def status_of_plugin(ns, node):
    env = {**os.environ, **SANITIZER_ENV, "CNI_COMMAND": "STATUS", "CNI_PATH": str(BUILD)}
    text = json.dumps({"cniVersion": "1.1.0", "name": "underlay", "type": "underlay", "runDir": str(node.run_dir)})
    return json.loads(subprocess.run(ns.command(BUILD / "underlay"), input=text, env=env, capture_output=True, text=True,
                                     timeout=60, check=False).stdout)


def test_a_vrf_that_is_missing(net):
    """The peer could be reached outside of the VRF, and is not: no session, no route, no pod; each place says why."""
    ns, tor = net.ns("node", router=True), net.ns("tor", router=True)
    net.link(ns, "eth0", "10.0.0.1/30", tor, "eth0", "10.0.0.2/30")
    net.add(Bird(tor, net.subdir("bird"), "bird", "10.0.0.2", [Neighbor("10.0.0.2", 64512, "10.0.0.1", 64701)],
                 ["10.244.2.0/24"])).start()
    node = net.underlayd(ns, {
        "node": {"name": "node", "asn": 64701, "router-id": "10.0.0.1"}, "kernel": {"vrf": "red"},
        "pods": {"cidrs": ["10.244.1.0/24"], "cluster-cidrs": ["10.244.0.0/16"]},
        "peers": [{"name": "tor", "address": "10.0.0.2", "asn": 64512, "hold-time": "3s"}]}).start()
    missing = WAITS + "there is no such device"
    status = node.status()
    assert status["vrf"] == status["kernel"] == missing and missing in status["warnings"]
    for command in ("show", "kernel"), ("show", "kernel", "differences"), ("show", "nexthops"), ("resync", "kernel"):
        assert missing in node.client(*command).stderr, command
    assert "there is no device red" in node.peer("tor")["info"]
    answer = status_of_plugin(ns, node)
    assert answer["code"] == 50 and "the VRF red" in answer["msg"], answer
    ns.ip("link", "add", "red", "type", "veth", "peer", "name", "end")
    wait_until(lambda: node.status()["vrf"] == WAITS + "the device of that name is none (veth)", 10, "the veth is seen")
    assert node.log().count(missing) == 1 == node.log().count("(veth)")
    holds_for(lambda: not ns.our_routes() and node.peer("tor")["state"] != "Established", 2, "nothing outside of the VRF")
    ns.ip("link", "delete", "red")
    wait_until(lambda: node.status()["vrf"] == missing, 10, "it is seen to go")
