"""Rows of the list of malformed messages as ExaBGP sends them, from a configuration with attributes in bytes: the same
reactions to a speaker that is not ours. (tests/net/test_error_rows.py sends all of them.)"""
import os
import shutil

import pytest

from control import Control
from harness import Process, wait_until

# row, attribute, flags, value, what becomes of the route; the prefix is 20.0.ROW.0/24
ROWS = [
    (1, 0x01, 0xc0, "00", "withdrawn"),
    (18, 0x04, 0x80, "000001", "withdrawn"),
    (21, 0x06, 0x40, "00", "dropped"),
    (24, 0x08, 0xc0, "fbf0000100", "withdrawn"),
    (28, 0x10, 0xc0, "0002fbf00000000100", "withdrawn"),
    (31, 0x20, 0xc0, "000102030405060708090a0b0c", "withdrawn"),
    (45, 0x1c, 0xc0, "abcdef", "fine"),
    (46, 0xc8, 0xc0, "0102030405", "fine"),
    (47, 0xc8, 0x80, "0102030405", "fine"),
]
RESET = [(48, 0xc9, 0x40, "00", "reset")]


class ExaBgp(Process):
    def start(self, neighbours):
        """neighbours: (address, AS, rows)"""
        text = ""
        for address, asn, rows in neighbours:
            routes = "\n".join(f"    route 20.0.{row}.0/24 next-hop {address} attribute [ {code:#04x} {flags:#04x} 0x{value} ];"
                               for row, code, flags, value, _ in rows)
            text += f"""neighbor 10.0.0.1 {{
  router-id {address}; local-address {address}; local-as {asn}; peer-as 64701; hold-time 90;
  family {{ ipv4 unicast; }}
  static {{
{routes}
    route 20.0.0.0/24 next-hop {address};
  }}
}}
"""
        path = self.dir / "exabgp.conf"
        path.write_text(text)
        return self.spawn("exabgp", path, env={**os.environ, "exabgp.daemon.user": "root", "exabgp.api.cli": "false",
                                               "exabgp.log.destination": "stdout", "exabgp.log.packets": "true"})


@pytest.mark.skipif(not shutil.which("exabgp"), reason="not installed: exabgp")
def test_rows_from_exabgp(net):
    node, side = net.ns("node", router=True), net.ns("side")
    net.link(node, "eth0", "10.0.0.1/24", side, "eth0", "10.0.0.2/24")
    side.ip("address", "add", "10.0.0.3/24", "dev", "eth0")
    daemon = net.underlayd(node, {
        "node": {"name": "node", "asn": 64701, "router-id": "10.0.0.1"}, "kernel": {"install": False},
        "peers": [{"name": name, "address": f"10.0.0.{2 + i}", "asn": 64800 + i, "passive": True, "hold-time": "90s",
                   "import": "all", "export": "none"} for i, name in enumerate(("keeps", "ends"))]}).start()
    net.add(ExaBgp(side, net.dir, "exabgp")).start([("10.0.0.2", 64800, ROWS), ("10.0.0.3", 64801, RESET)])
    control = Control(daemon.socket_path)
    wait_until(lambda: control.path("20.0.0.0/24"), 30, "the good route is there", lambda: control.ask("show-peers"))
    faulty = [row for row in ROWS if row[4] != "fine"]
    wait_until(lambda: control.peer("keeps")["faults"] == len(faulty), 10, "every fault is told", lambda: control.peer("keeps"))
    learned = {row["prefix"] for row in control.ask("show-routes") if row["source"] == "keeps"}
    assert learned == {"20.0.0.0/24"} | {f"20.0.{row}.0/24" for row, *_, end in ROWS if end != "withdrawn"}
    peer = control.peer("keeps")
    assert peer["state"] == "Established" and peer["established_count"] == 1
    for _, code, flags, value, end in faulty:
        daemon.wait_log(f"peer keeps: .*({end}).*bytes {flags:02x}{code:02x}{len(value) // 2:02x}{value}", 20)
    wait_until(lambda: control.peer("ends").get("last_fault"), 10, "the other one is reset", lambda: control.peer("ends"))
    fault = control.peer("ends")["last_fault"]
    assert (fault["code"], fault["subcode"], fault["attribute"], fault["bytes"]) == (3, 2, 0xc9, "40c90100"), fault
