"""What of a host's settings can only be seen in its own network namespace, and so not in those of tests/net."""
import re
import subprocess

from harness import Namespace, wait_until


class Own(Namespace):
    """The machine's own namespace."""

    def __init__(self):
        self.name = "1"  # as ip calls where process 1 is

    def command(self, *argv):
        return list(map(str, argv))

    def ip(self, *argv, check=True):
        return self.run("ip", *argv, check=check).stdout

    def neighbours(self, first, count):
        """How many of them the kernel took."""
        return sum(subprocess.run(["ip", "neighbour", "replace", f"10.7.0.{n}", "lladdr", f"02:00:00:00:00:{n:02x}", "dev", "n0", "nud",
                                   "reachable"], capture_output=True, check=False).returncode == 0
                   for n in range(first, first + count))


def test_the_neighbour_table(net):
    """It is small, becomes nearly full, then full; and the line that is shown makes room."""
    own, far = Own(), net.ns("far")
    own.ip("link", "add", "n0", "type", "veth", "peer", "name", "f0", "netns", far.name)
    own.ip("address", "add", "10.7.0.1/24", "dev", "n0")
    for ns, dev in ((own, "n0"), (far, "f0")):
        ns.ip("link", "set", dev, "up")
    for n, value in ((1, 15), (2, 30), (3, 30)):
        own.run("sysctl", "-q", "-w", f"net.ipv4.neigh.default.gc_thresh{n}={value}")
    node = net.underlayd(own, {"node": {"name": "node", "asn": 64701, "router-id": "10.7.0.1"},
                               "peers": [{"name": "tor", "address": "10.7.0.2", "asn": 64512, "import": "all"}]}).start()

    def row():
        return next(r for r in node.ask("show", "host") if r["setting"] == "net.ipv4.neigh.default.gc_thresh3")

    assert row()["verdict"] == "fine", row()
    assert own.neighbours(100, 27) == 27
    assert row()["verdict"] == "wrong" and "nearly full" in row()["what"], row()
    assert own.neighbours(130, 10) < 10
    wait_until(lambda: "is full" in row()["what"], 10, "the table is full", row)
    own.run(*re.search(r": (sysctl -w .*)", row()["what"])[1].split())
    assert own.neighbours(140, 20) == 20
    assert row()["verdict"] == "fine" and row()["value"].startswith("4096 ("), row()
