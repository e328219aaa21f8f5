"""kernel.vrf: sessions, learned routes and pods in a VRF, which may be late, go, and come back as another one."""
import json

from harness import holds_for, wait_until
from switches import Bird, Neighbor
from test_pods import call_plugin

OWN = ["10.244.1.0/24", "fd10:244:1::/64"]
FAR = ["10.244.2.0/24", "fd10:244:2::/64"]
FAR_HOSTS = ["10.244.2.1", "fd10:244:2::1"]


class Site:
    """A node with its uplink in the VRF red, and a switch; the same addresses are on a second link, which is in no VRF and
    leads to somebody else."""

    def __init__(self, net, vrf_table=100):
        self.net, self.node, self.tor, self.other = net, net.ns("node", router=True), net.ns("tor", router=True), net.ns("other")
        for ns in (self.node, self.tor):
            ns.run("sysctl", "-q", "-w", "net.ipv6.conf.all.forwarding=1")
        net.link(self.node, "eth9", "10.0.0.1/30", self.other, "eth0", "10.0.0.2/30")
        if vrf_table:
            self.make_vrf(vrf_table)
        net.link(self.node, "eth0", None, self.tor, "eth0", "10.0.0.2/30")
        self.tor.ip("address", "add", "fd00::2/64", "dev", "eth0", "nodad")
        for address in FAR_HOSTS:
            self.tor.ip("address", "add", address, "dev", "lo")
        if vrf_table:
            self.enter_vrf()
        self.pods = {}

    def make_vrf(self, table):
        self.node.ip("link", "add", "red", "type", "vrf", "table", table)
        self.node.ip("link", "set", "red", "up")

    def enter_vrf(self):
        """As an operator's network manager does it: being put into the VRF takes the IPv6 addresses."""
        self.node.ip("link", "set", "eth0", "master", "red")
        self.node.ip("address", "replace", "10.0.0.1/30", "dev", "eth0")
        self.node.ip("address", "replace", "fd00::1/64", "dev", "eth0", "nodad")

    def switch(self, **neighbor):
        neighbor = {"families": ("ipv4", "ipv6"), "hold": 9, **neighbor}
        return self.net.add(Bird(self.tor, self.net.subdir("bird"), "bird", "10.0.0.2",
                                 [Neighbor("10.0.0.2", 64512, "10.0.0.1", 64701, **neighbor)], FAR)).start()

    def daemon(self, peer=None, **kernel):
        self.underlayd = self.net.underlayd(self.node, {
            "node": {"name": "node", "asn": 64701, "router-id": "10.0.0.1"},
            "pods": {"cidrs": OWN, "cluster-cidrs": ["10.244.0.0/16", "fd10:244::/32"]},
            "kernel": {"vrf": "red", **kernel},
            "peers": [peer or {"name": "tor", "address": "10.0.0.2", "asn": 64512, "hold-time": "9s"}]})
        return self.underlayd.start()

    def plugin(self, verb, container, pod):
        return call_plugin(verb, self.node, container, pod, {
            "cniVersion": "1.0.0", "name": "underlay", "type": "underlay", "runDir": str(self.underlayd.run_dir),
            **({"prevResult": self.pods[container][1]} if verb == "CHECK" else {})})

    def add_pod(self, container):
        pod = self.net.ns(container)
        self.pods[container] = pod, self.plugin("ADD", container, pod)
        return pod

    def ours(self, table):
        """{prefix: gateway, device or blackhole} of our routes in the table, without the pods' own."""
        found = {}
        for family in ("-4", "-6"):
            text = self.node.ip(family, "-j", "route", "show", "table", table, "proto", "171", check=False)
            for row in json.loads(text or "[]"):
                found[row["dst"]] = row.get("gateway") or (row["type"] if row.get("type") == "blackhole" else row.get("dev"))
        return found

    def wait_routes(self, table):
        expected = {FAR[0]: "10.0.0.2", OWN[0]: "blackhole", OWN[1]: "blackhole"}

        def there():
            found = self.ours(table)
            return all(found.get(p) == via for p, via in expected.items()) and FAR[1] in found
        wait_until(there, 30, f"the routes are in table {table}", lambda: f"{self.ours(table)} {self.underlayd.routes()}")

    def wait_traffic(self, pod):
        for address in FAR_HOSTS:
            wait_until(lambda a=address: pod.run("ping", "-c1", "-W1", a, check=False).returncode == 0, 20,
                       f"{pod.name} reaches {address}", lambda: self.node.ip("route", "show", "vrf", "red", check=False))


def test_peers_routes_and_pods_are_in_the_vrf(net):
    """The switch calls us. What is learned, our own blackholes and the pods are in the VRF's table, nothing of it in
    main; pods reach the far side and are reached, although main has another link with the very same addresses."""
    site = Site(net)
    site.switch()
    node = site.daemon({"name": "tor", "address": "10.0.0.2", "asn": 64512, "hold-time": "9s", "passive": True}).wait_established("tor", timeout=60)
    assert node.status()["vrf"] == "red, table 100"
    assert node.peer("tor")["device"] == "red"
    site.wait_routes("100")
    pod = site.add_pod("c1")
    site.wait_traffic(pod)
    site.plugin("CHECK", "c1", pod)
    assert site.ours("main") == {}
    link = node.ask("show", "pods")[0]["host_interface"]
    assert json.loads(site.node.ip("-j", "link", "show", link))[0]["master"] == "red"
    address = node.ask("show", "pods")[0]["address"].split()[0]
    site.node.ip("route", "delete", address, "table", "100")  # what others break in there is mended in there
    site.wait_traffic(pod)
    assert node.status()["warnings"] == [] == [r for r in node.ask("show", "host") if r["verdict"] == "wrong"]


def test_a_vrf_that_comes_goes_and_comes_back(net):
    """It is late; then it is deleted under traffic; then it is back with another table. Each time routes, session and pods
    follow, nothing of ours is left where we were, and main never sees any of it."""
    site = Site(net, vrf_table=None)
    site.switch(passive=True)
    node = site.daemon()
    waits = "waiting for the VRF red: there is no such device"
    assert waits in node.log() and node.status()["vrf"] == waits in node.status()["warnings"] and node.status()["kernel"] == waits
    holds_for(lambda: node.peer("tor")["state"] != "Established" and not site.ours("main"), 1, "nothing happens outside of the VRF")
    site.make_vrf("100")
    site.enter_vrf()
    node.wait_established("tor", timeout=60)
    site.wait_routes("100")
    pod = site.add_pod("c1")
    site.wait_traffic(pod)

    site.node.ip("link", "delete", "red")
    wait_until(lambda: node.peer("tor")["state"] != "Established", 10, "the session is over")
    assert "the VRF red is gone" in node.peer("tor")["last_error"]
    wait_until(lambda: site.ours("100") == {}, 10, "nothing of ours stays in its table", lambda: site.ours("100"))
    assert site.ours("main") == {} and node.status()["vrf"] == waits

    site.make_vrf("200")
    site.enter_vrf()
    node.wait_established("tor", timeout=60)
    site.wait_routes("200")
    site.wait_traffic(pod)
    site.plugin("CHECK", "c1", pod)
    assert site.ours("100") == {} == site.ours("main") and node.status()["vrf"] == "red, table 200"
    node.kill()  # a new life finds the VRF as it is, and takes the routes over
    node.start().wait_established("tor", timeout=60)
    site.wait_routes("200")
    site.wait_traffic(pod)


def test_a_next_hop_that_only_main_knows_is_none(net):
    """The kernel goes on in main with what the VRF does not know, and our route would lead out of it."""
    site = Site(net)
    site.node.ip("address", "add", "10.9.0.1/24", "dev", "eth9")
    site.switch(next_hop_self=False, channel=("export filter { bgp_next_hop = 10.9.0.7; accept; };",), families=("ipv4",))
    node = site.daemon({"name": "tor", "address": "10.0.0.2", "asn": 64512, "multihop": 2}).wait_established("tor", timeout=60)
    wait_until(lambda: node.routes(FAR[0]), 20, "the route is known", node.peers)
    assert node.routes(FAR[0])[0]["kernel"] == "next hop unreachable", node.routes()
    site.node.ip("route", "add", "10.9.0.0/24", "via", "10.0.0.2", "vrf", "red")
    wait_until(lambda: site.ours("100").get(FAR[0]) == "10.0.0.2", 20, "now the VRF knows it", node.routes)


def test_a_device_of_that_name_that_is_no_vrf(net):
    site = Site(net, vrf_table=None)
    site.node.ip("link", "add", "red", "type", "dummy")
    node = site.daemon()
    assert node.status()["vrf"] == "waiting for the VRF red: the device of that name is none (dummy)"
    site.node.ip("link", "delete", "red")
    wait_until(lambda: "no such device" in node.status()["vrf"], 10, "it is seen to go")
    site.make_vrf("300")
    wait_until(lambda: site.ours("300") == dict.fromkeys(OWN, "blackhole"), 10, "it is seen to come", node.status)
    site.node.ip("link", "set", "red", "down")
    wait_until(lambda: "is down" in node.status()["vrf"], 10, "and to go down")


def test_an_unnumbered_peer_in_the_vrf(net):
    """Whom we hear on eth0 is called, and routes of both families go over its link-local address."""
    site = Site(net)
    site.switch(interface="eth0", channel=("extended next hop on;",))
    node = site.daemon({"name": "tor", "interface": "eth0", "asn": "external", "hold-time": "9s"}).wait_established("tor", timeout=60)
    assert node.peer("tor")["device"] == "red"
    wait_until(lambda: set(FAR) <= set(site.ours("100")), 20, "the routes are in the VRF's table", node.routes)
    site.wait_traffic(site.add_pod("c1"))
