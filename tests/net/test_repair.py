"""What others break is put back, and what a link takes with it is noticed: routes, pod routes, sessions."""
import json
import subprocess

from harness import BUILD, holds_for, wait_until

POD = "10.244.1.0/24"
OTHERS = ["10.244.2.0/24", "10.244.3.0/24"]
EXPECTED = {POD: ["blackhole"], OTHERS[0]: ["10.0.0.2"], OTHERS[1]: ["10.0.0.2"]}


def running(wire):
    switch = wire.switch(announce=OTHERS).start()
    node = wire.underlayd(hold_time="90s").start()
    wait_until(lambda: wire.node.our_routes() == EXPECTED, 30, "the kernel has the routes", wire.node.our_routes)
    switch.wait_route(POD)
    return switch, node


def test_routes_taken_away_come_back(wire):
    _, node = running(wire)
    # not with `ip route flush`: it sends back what it has read, next hops beside the object, which the kernel refuses
    for prefix in EXPECTED:
        wire.node.ip("route", "delete", prefix, "metric", "32")
    wait_until(lambda: wire.node.our_routes() == EXPECTED, 20, "all are back", wire.node.our_routes)
    wire.node.ip("route", "delete", OTHERS[0], "metric", "32")
    wait_until(lambda: wire.node.our_routes() == EXPECTED, 20, "it is back", wire.node.our_routes)
    assert node.log().count("repairing") == 1  # one burst, told once
    kernel = node.ask("show", "kernel")[0]
    assert kernel["repaired"]["taken"] == 4 and kernel["wanted"] == kernel["installed"] == 3, kernel
    assert node.ask("show", "kernel", "differences") == []
    assert all(r["kernel"] == "installed" for r in node.routes())


def test_a_route_bent_by_others_is_straightened(wire):
    _, node = running(wire)
    wire.node.ip("route", "replace", "blackhole", OTHERS[0], "proto", "171", "metric", "32")
    wait_until(lambda: wire.node.our_routes() == EXPECTED, 20, "it leads to the switch again", wire.node.our_routes)
    # under another's name it is another's: reported, not overwritten
    wire.node.ip("route", "replace", "blackhole", OTHERS[0], "proto", "static", "metric", "32")
    wait_until(lambda: "File exists" in node.routes(OTHERS[0])[0]["kernel"], 10, "the conflict is shown", node.routes)
    assert "static" in wire.node.ip("route", "show", OTHERS[0])
    wire.node.ip("route", "delete", OTHERS[0], "metric", "32")
    wait_until(lambda: wire.node.our_routes() == EXPECTED, 70, "ours comes when the other goes", wire.node.our_routes)


def test_others_routes_cost_nothing(wire):
    """Foreign routes come and go without a look at the table."""
    _, node = running(wire)
    for i in range(50):
        wire.node.ip("route", "add", f"192.0.2.{i}/32", "via", "10.0.0.2", "proto", "static")
        wire.node.ip("route", "delete", f"192.0.2.{i}/32")
    assert "repairing" not in node.log() and wire.node.our_routes() == EXPECTED


def test_carrier_loss_ends_the_session_at_once(wire):
    switch, node = running(wire)
    wire.tor.ip("link", "set", "eth0", "down")
    wait_until(lambda: node.peer("tor")["state"] != "Established", 20, "the session is gone long before its hold time of 90 s")
    assert "the link eth0 went down" in node.peer("tor")["last_error"]
    wait_until(lambda: wire.node.our_routes() == {POD: ["blackhole"]}, 20, "and its routes", wire.node.our_routes)
    switch.kill()  # it would hold on to the old session for its own hold time
    wire.tor.ip("link", "set", "eth0", "up")
    switch.start()
    node.wait_established("tor")
    wait_until(lambda: wire.node.our_routes() == EXPECTED, 20, "all is back", wire.node.our_routes)


def cni(wire, node, command, netns):
    return subprocess.run(["ip", "netns", "exec", wire.node.name, "env", f"CNI_COMMAND={command}", "CNI_CONTAINERID=c1",
                           f"CNI_NETNS=/run/netns/{netns.name}", "CNI_IFNAME=eth0", "CNI_PATH=/nowhere",
                           str(BUILD / "underlay")], input=json.dumps({"cniVersion": "1.0.0", "name": "underlay", "type": "underlay",
                                                                "runDir": str(node.run_dir)}),
                          text=True, capture_output=True, timeout=30, check=True)


def test_a_pods_route_comes_back(wire):
    _, node = running(wire)
    pod = wire.net.ns("pod")
    answer = json.loads(cni(wire, node, "ADD", pod).stdout)
    address = answer["ips"][0]["address"]
    link = answer["interfaces"][0]["name"]

    def there():
        return link in wire.node.ip("route", "show", address)

    assert there() and node.ask("show", "pods")[0]["state"] == "up"
    assert node.routes("for", address.split("/")[0])[0]["next_hop"] == link
    wire.node.ip("route", "delete", address)
    wait_until(there, 20, "the deleted route is back")
    wire.node.ip("link", "set", link, "down")
    wait_until(lambda: node.ask("show", "pods")[0]["state"] == "link down", 20, "show pods tells")
    assert not there()
    wire.node.ip("link", "set", link, "up")
    wait_until(there, 20, "the route is back with the link")
    wait_until(lambda: node.ask("show", "pods")[0]["state"] == "up", 20, "show pods tells")
    cni(wire, node, "DEL", pod)
    holds_for(lambda: not there(), 1, "a removed pod's route stays away")
    assert node.ask("show", "pods") == []
