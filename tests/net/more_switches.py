"""GoBGP, OpenBGPD and ExaBGP as peers of underlayd, with the same face as the switches in switches.py.

None of the three touches the kernel's routes here. Each runs inside its namespace with its configuration, control
socket and everything else in the test's directory.
"""
import ipaddress
import json
import os
import pathlib
import subprocess

from harness import NotUp, wait_until
from switches import Switch, family_of


def answer(*argv, timeout=20):
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode != 0:
        raise NotUp(done.stdout + done.stderr)
    return done.stdout


class GoBgp(Switch):
    kind = "gobgp"

    def __init__(self, *args, **kw):
        super().__init__(*args, **kw)
        self.config = self.dir / "gobgpd.toml"
        self.api = f"unix://{self.dir}/gobgpd.sock"

    def neighbor_text(self, n):
        ends = [f'neighbor-interface = "{n.interface}"' if n.interface else f'neighbor-address = "{n.address}"']
        here = [] if n.interface else [f'local-address = "{n.local}"']
        tables = {"config": [*ends, f"peer-as = {n.asn}", f"local-as = {n.local_asn}"],
                  "transport.config": [*here, f"passive-mode = {str(n.passive).lower()}"],
                  "timers.config": [f"hold-time = {n.hold}", f"keepalive-interval = {max(n.hold // 3, 1)}",
                                    "connect-retry = 1", "idle-hold-time-after-reset = 1"]}
        if n.password:
            tables["config"].append(f'auth-password = "{n.password}"')
        if n.ttl_security:
            tables["ttl-security.config"] = ["enabled = true", f"ttl-min = {256 - n.ttl_security}"]
        if n.multihop:
            tables["ebgp-multihop.config"] = ["enabled = true", f"multihop-ttl = {n.multihop}"]
        for line in n.more:  # "table: key = value"
            table, text = line.split(": ", 1)
            tables.setdefault(table, []).append(text)
        lines = ["[[neighbors]]"]
        for table, content in tables.items():
            lines += [f"[neighbors.{table}]", *content]
        for family in n.families:
            lines += ["[[neighbors.afi-safis]]", "[neighbors.afi-safis.config]", f'afi-safi-name = "{family}-unicast"']
            for line in n.channel:
                table, text = line.split(": ", 1)
                lines += [f"[neighbors.afi-safis.{table}]", text]
        return lines

    def write(self):
        lines = ["[global.config]", f"as = {self.neighbors[0].local_asn}", f'router-id = "{self.router_id}"']
        for n in self.neighbors:
            lines += self.neighbor_text(n)
        self.config.write_text(self.text or "\n".join(lines) + "\n")

    def start(self):
        self.write()
        for n in self.neighbors:
            if n.interface:  # it takes the only neighbor that the kernel knows there when it starts
                wait_until(lambda: self.knows_neighbor(n.interface), 20, f"there is a neighbor on {n.interface}")
        self.spawn("gobgpd", "-f", self.config, "-t", "toml", "--api-hosts", self.api, "--pprof-disable", "--log-plain")
        wait_until(self.up, 20, f"{self.name} answers", self.log)
        for prefix in self.announced:
            self.originate(prefix)
        return self

    def knows_neighbor(self, interface):
        self.ns.run("ping", "-c", "1", "-W", "1", f"ff02::2%{interface}", check=False)
        return "fe80:" in self.ns.ip("-6", "neigh", "show", "dev", interface)

    def ctl(self, *words):
        return answer("gobgp", "--target", self.api, *words)

    def up(self):
        return "Router-ID" in self.ctl("global")

    def address(self, index):
        n = self.neighbors[index]
        if not n.interface:
            return n.address
        rows = json.loads(self.ctl("-j", "neighbor"))
        found = [row["state"]["neighbor_address"] for row in rows if row["conf"].get("neighbor_interface") == n.interface]
        if not found:
            raise NotUp(f"no neighbor on {n.interface}")
        return found[0]

    def established(self, index=0):
        return "BGP state = ESTABLISHED" in self.session_text(index)

    def session_text(self, index=0):
        return self.ctl("neighbor", self.address(index))

    def originate(self, prefix, *how):
        self.ctl("global", "rib", "add", prefix, *how, "-a", family_of(prefix))

    def disable(self, index=0, words=None):
        """With words it is its command shutdown: disable leaves them out."""
        self.ctl("neighbor", self.address(index), *(["shutdown", "--reason", words] if words else ["disable"]))

    def refresh(self, index=0):
        """Asks the peer to send its routes again."""
        self.ctl("neighbor", self.address(index), "softresetin")

    def paths(self, prefix, index=0):
        rows = json.loads(self.ctl("-j", "neighbor", self.address(index), "adj-in", prefix, "-a", family_of(prefix)))
        return [self.path({a["type"]: a for a in row["attrs"]}) for row in rows.get(prefix, [])]

    @staticmethod
    def path(by_type):
        def value(kind, key="value", default=None):
            return by_type.get(kind, {}).get(key, default)

        return {"as_path": " ".join(str(asn) for segment in value(2, "as_paths", []) for asn in segment["asns"]),
                "next_hop": value(3, "nexthop") or value(14, "nexthop"), "med": value(4, "metric"), "local_pref": value(5),
                "communities": {f"{c >> 16}:{c & 0xffff}" for c in value(8, "communities", [])},
                "originator": value(9), "clusters": value(10, default=[]),
                "extended": {GoBgp.extended(c) for c in value(16, default=[])},
                "large": {f"{c['ASN']}:{c['LocalData1']}:{c['LocalData2']}" for c in value(32, default=[])}}

    @staticmethod
    def extended(one):
        return f"{ {2: 'rt', 3: 'ro'}.get(one.get('subtype'), one.get('subtype')) }:{one.get('value')}"


class OpenBgpd(Switch):
    kind = "openbgpd"

    def __init__(self, *args, **kw):
        super().__init__(*args, **kw)
        self.config = self.dir / "bgpd.conf"
        self.socket = self.dir / "bgpd.sock"

    def neighbor_text(self, n):
        lines = [f"neighbor {n.address} {{", f"remote-as {n.asn}", f"local-address {n.local}", f"holdtime {n.hold}",
                 "announce IPv4 " + ("unicast" if "ipv4" in n.families else "none"),
                 "announce IPv6 " + ("unicast" if "ipv6" in n.families else "none")]
        if n.passive:
            lines.append("passive")
        if n.password:
            lines.append(f"tcp md5sig password {n.password}")
        if n.ttl_security:
            lines.append("ttl-security yes")
        if n.multihop:
            lines.append(f"multihop {n.multihop}")
        if n.next_hop_self:
            lines.append("set nexthop self")
        return lines + [*n.more, *n.channel, "}"]

    def write(self):
        lines = [f"AS {self.neighbors[0].local_asn}", f"router-id {self.router_id}", f'socket "{self.socket}"',
                 "fib-update no", "allow from any", "allow to any", *(f"network {prefix}" for prefix in self.announced)]
        for n in self.neighbors:
            lines += self.neighbor_text(n)
        self.config.write_text(self.text or "\n".join(lines) + "\n")
        self.config.chmod(0o600)

    def start(self):
        """Its two unprivileged processes live in /run/openbgpd, which exists while a service of the machine runs: it
        gets one of its own, seen by it alone."""
        self.write()
        script = 'mount -t tmpfs -o mode=755 tmpfs /run && mkdir /run/openbgpd && exec bgpd -d -v -f "$0"'
        self.spawn("sh", "-c", script, self.config)
        wait_until(self.up, 20, f"{self.name} answers", self.log)
        return self

    def ctl(self, *words):
        return answer("bgpctl", "-s", self.socket, *words)

    def up(self):
        return "neighbors" in self.ctl("-j", "show", "neighbor")

    def neighbor(self, index=0):
        return json.loads(self.ctl("-j", "show", "neighbor", self.neighbors[index].address))["neighbors"][0]

    def established(self, index=0):
        return self.neighbor(index)["state"] == "Established"

    def session_text(self, index=0):
        return self.ctl("show", "neighbor", self.neighbors[index].address)

    def disable(self, index=0, words=None):
        self.ctl("neighbor", self.neighbors[index].address, "down", *([words] if words else []))

    def refresh(self, index=0):
        self.ctl("neighbor", self.neighbors[index].address, "refresh")

    def paths(self, prefix, index=0):
        rows = json.loads(self.ctl("-j", "show", "rib", "detail", "neighbor", self.neighbors[index].address, "in", prefix))
        return [self.path(row) for row in rows.get("rib", [])]

    @staticmethod
    def path(row):
        attributes = {a["type"]: a for a in row.get("attributes", [])}
        return {"as_path": row.get("aspath", ""), "next_hop": row.get("exit_nexthop"), "med": row.get("metric"),
                "local_pref": row.get("localpref"), "communities": set(row.get("communities", [])),
                "large": set(row.get("large_communities", [])),
                "extended": {one.replace(" ", ":").replace("soo", "ro") for one in row.get("extended_communities", [])},
                "originator": attributes.get("Originator Id", {}).get("originator"),
                "clusters": attributes.get("Cluster Id List", {}).get("cluster_list", [])}


class ExaBgp(Switch):
    """Not a router: it says what it is told to and shows what it hears, so a route of its own is a text like
    "route 10.1.0.0/16 next-hop self community [64512:1]", and nothing is passed on."""
    kind = "exabgp"

    def __init__(self, *args, **kw):
        super().__init__(*args, **kw)
        self.config = self.dir / "exabgp.conf"
        self.messages, self.commands = self.dir / "messages", self.dir / "commands"
        self.environment = {
            "exabgp_daemon_user": "root", "exabgp_daemon_drop": "false", "exabgp_api_cli": "false", "exabgp_api_ack": "false",
            "exabgp_log_level": "DEBUG",  # what ends a session is told at this level only
            "exabgp_log_network": "false", "exabgp_log_processes": "false",
            "exabgp_tcp_bind": " ".join(n.local for n in self.neighbors if n.passive)}

    def neighbor_text(self, n):
        lines = [f"neighbor {n.address} {{", f"router-id {self.router_id};", f"local-address {n.local};",
                 f"local-as {n.local_asn};", f"peer-as {n.asn};", f"hold-time {n.hold};", f"passive {str(n.passive).lower()};"]
        if n.passive:
            lines.append("listen 179;")
        if n.password:
            lines.append(f"md5-password '{n.password}';")
        if n.ttl_security:
            lines += ["outgoing-ttl 255;", f"incoming-ttl {256 - n.ttl_security};"]
        capabilities = [line.removeprefix("capability: ") for line in n.more if line.startswith("capability: ")]
        lines += ["capability {", "route-refresh enable;", *capabilities, "}"]
        lines += [line for line in n.more if not line.startswith("capability: ")]
        lines += ["family {", *(f"{family} unicast;" for family in n.families), "}"]
        lines += ["api {", "processes [ view ];", "neighbor-changes;", "receive {", "parsed;", "update;", "notification;",
                  "open;", "refresh;", "}", "}"]
        routes = [route for route in self.announced if family_of(route.split()[1]) in n.families]
        routes = [route.replace("next-hop self", f"next-hop {n.local}") for route in routes]
        lines += ["static {", *(f"{route};" for route in routes), "}", "}"]
        return "\n".join(lines).replace("{", "{\n")

    def write(self):
        pipe = pathlib.Path(__file__).with_name("exabgp_pipe.py")
        lines = ["process view {", f"run /usr/bin/python3 {pipe} {self.messages} {self.commands};", "encoder json;", "}"]
        lines += [self.neighbor_text(n) for n in self.neighbors]
        self.config.write_text(self.text or "\n".join(lines) + "\n")

    def start(self):
        self.write()
        if not self.commands.exists():
            os.mkfifo(self.commands)
        self.messages.write_text("")
        self.spawn("exabgp", self.config, env=self.environment)
        wait_until(self.up, 20, f"{self.name} has read its configuration", self.log)
        return self

    def up(self):
        return self.running() and "loaded new configuration successfully" in self.log()

    def ctl(self, *words):
        with open(self.commands, "w", encoding="ascii") as pipe:
            pipe.write(" ".join(words) + "\n")

    def said(self, *kinds, index=0):
        """The messages of these kinds about a neighbor, oldest first."""
        lines = (line for line in self.messages.read_text().splitlines()
                 if line.endswith("}") and '"type": "refresh"' not in line)  # which it writes with ""two"" quotation marks
        address = self.neighbors[index].address
        messages = (json.loads(line, strict=False) for line in lines)  # the words of a NOTIFICATION begin with their length
        return [m for m in messages
                if m["type"] in kinds and m.get("neighbor", {}).get("address", {}).get("peer") == address]

    def established(self, index=0):
        states = [m["neighbor"]["state"] for m in self.said("state", index=index)]
        return bool(states) and states[-1] == "up"

    def session_text(self, index=0):
        return json.dumps(self.said("state", "notification", index=index))

    def disable(self, index=0, words=None):
        """Sends an Administrative Shutdown; the words are its own."""
        self.ctl("neighbor", self.neighbors[index].address, "teardown", "2")

    def refresh(self, index=0):
        for family in self.neighbors[index].families:
            self.ctl("neighbor", self.neighbors[index].address, "announce", "route-refresh", family, "unicast")

    def announce(self, *routes):
        for route in routes:
            self.ctl("announce", route)

    def paths(self, prefix, index=0):
        found = {}
        for message in self.said("update", "state", index=index):
            if message["type"] == "state":
                found.clear()
                continue
            update = message["neighbor"]["message"].get("update", {})
            for rows in update.get("withdraw", {}).values():
                for row in rows:
                    found.pop((row.get("nlri"), row.get("path-information")), None)
            for hops in update.get("announce", {}).values():
                for hop, rows in hops.items():
                    for row in rows:
                        key = row.get("nlri"), row.get("path-information")
                        if not hop.startswith("fe80:") or len(hops) == 1:  # of two next hops the global one
                            found[key] = self.path(hop, update["attribute"])
        return [path for (nlri, _), path in found.items() if nlri == prefix]

    @staticmethod
    def path(hop, a):
        return {"as_path": " ".join(map(str, a.get("as-path", []))), "next_hop": hop, "med": a.get("med"),
                "local_pref": a.get("local-preference"), "originator": a.get("originator-id"),
                "clusters": a.get("cluster-list", []), "communities": {f"{c[0]}:{c[1]}" for c in a.get("community", [])},
                "large": {":".join(map(str, c)) for c in a.get("large-community", [])},
                "extended": {ExaBgp.extended(c["string"]) for c in a.get("extended-community", [])}}

    @staticmethod
    def extended(text):
        kind, asn, number = text.split(":")  # the number may be written as an address
        number = int(ipaddress.ip_address(number)) if "." in number else number
        return f"{ {'target': 'rt', 'origin': 'ro'}.get(kind, kind) }:{asn}:{number}"


KINDS = {"gobgp": GoBgp, "openbgpd": OpenBgpd, "exabgp": ExaBgp}
