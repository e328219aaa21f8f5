"""Switch software that we did not write, as peers of underlayd: BIRD and FRR behind one face.

A Neighbor describes one session from the switch's side. Both classes can announce() and withdraw()
prefixes while running, tell what they learned with route(), and stop or drop a session with disable()
(a NOTIFICATION) or kill() (silence, or rather a closed socket).
"""
import dataclasses
import json
import re
import shutil
import subprocess

from harness import NotUp, Process, wait_until


@dataclasses.dataclass
class Neighbor:
    local: str        # the switch's address
    local_asn: int
    address: str      # underlayd's address
    asn: int          # the AS the switch expects there
    passive: bool = False
    hold: int = 3
    export: bool = True
    families: tuple = ("ipv4",)
    password: str = None
    ttl_security: int = None  # hops
    role: str = None          # the switch's own, RFC 9234
    multihop: int = None      # BIRD and FRR send eBGP with TTL 1 without it
    interface: str = None     # unnumbered: instead of both addresses
    next_hop_self: bool = True
    more: tuple = ()          # lines of the switch's own language for this session,
    channel: tuple = ()       # and for each of its address families


def family_of(prefix):
    return "ipv6" if ":" in prefix else "ipv4"


class Switch(Process):
    def __init__(self, ns, directory, name, router_id, neighbors, announce=(), text=None):
        """text, where given, is the whole configuration instead of what neighbors and announce say."""
        super().__init__(ns, directory, name)
        self.text = text
        self.tags = {}  # prefix -> "64512:100", a community that its own route is announced with
        self.router_id, self.neighbors, self.announced = router_id, list(neighbors), list(announce)

    def route(self, prefix):
        """Paths for prefix: dicts with as_path (a string), next_hop, best, local_pref, origin, med."""
        return self.routes().get(prefix, [])

    def paths(self, prefix, index=0):
        """What came over session index for prefix, in one shape for all kinds: dicts with as_path (a string), next_hop,
        communities, extended ("rt:64512:1") and large (sets of texts), originator, clusters (a list), local_pref, med."""
        raise NotImplementedError

    def wait_route(self, prefix, timeout=20):
        return wait_until(lambda: self.route(prefix), timeout, f"{self.name} has {prefix}",
                          lambda: f"it has {self.routes()}")

    def wait_no_route(self, prefix, timeout=20):
        wait_until(lambda: self.up() and not self.route(prefix), timeout, f"{self.name} no longer has {prefix}")


class Bird(Switch):
    kind = "bird"

    def __init__(self, *args, **kw):
        super().__init__(*args, **kw)
        self.socket = self.dir / "bird.ctl"
        self.config = self.dir / "bird.conf"

    def write(self):
        lines = [f"router id {self.router_id};", "log stderr all;", "protocol device {}",
                 "protocol kernel { merge paths on; ipv4 { export where source = RTS_BGP; }; }",
                 "protocol kernel { merge paths on; ipv6 { export where source = RTS_BGP; }; }"]
        for family, name in (("ipv4", "announced"), ("ipv6", "announced6")):
            lines += [f"protocol static {name} {{ {family};"]
            lines += [f"  route {prefix} unreachable{self.tag(prefix)};" for prefix in self.announced
                      if family_of(prefix) == family] + ["}"]
        for i, n in enumerate(self.neighbors):
            channel = " ".join(["import all;", f"export {'all' if n.export else 'none'};",
                                "next hop self;" if n.next_hop_self else "", *n.channel])
            channels = "\n  ".join(f"{family} {{ {channel} }};" for family in n.families)
            more = "\n  ".join(n.more)
            ends = f"local {n.local} as {n.local_asn};\n  neighbor {n.address} as {n.asn};"
            if n.interface:  # a session with whoever calls; that is what the peer learns from our advertisements
                lines.append(f'protocol radv {{ interface "{n.interface}" {{ max ra interval 4; default lifetime 0; }}; }}')
                ends = (f"local as {n.local_asn};\n  neighbor range fe80::/10 as {n.asn}; "
                        f'interface "{n.interface}"; direct; dynamic name "b{i}d";')
            lines.append(f"""protocol bgp b{i} {{
  {ends}
  hold time {n.hold}; connect delay time 1; connect retry time 1; error wait time 1, 2;
  {"passive;" if n.passive else ""}
  {f'password "{n.password}";' if n.password else ""}
  {"ttl security on;" if n.ttl_security else ""}
  {f"multihop {n.multihop};" if n.multihop else ""}
  {f"local role {n.role.replace('-', '_')};" if n.role else ""}
  {more}
  {channels}
}}""")
        self.config.write_text(self.text or "\n".join(lines) + "\n")

    def tag(self, prefix):
        if prefix not in self.tags:
            return ""
        return " { bgp_community.add((" + self.tags[prefix].replace(":", ",") + ")); }"

    def communities(self, prefix):
        """Those of its first route to prefix, as a set of texts."""
        text = self.route(prefix)[0].get("community", "")
        return {f"{high}:{low}" for high, low in re.findall(r"\((\d+),(\d+)\)", text)}

    def start(self):
        self.write()
        self.spawn("bird", "-f", "-c", self.config, "-s", self.socket)
        wait_until(self.up, 10, f"{self.name} answers", self.log)
        return self

    def ctl(self, *words):
        done = subprocess.run(["birdc", "-s", self.socket, *words], capture_output=True, text=True, timeout=20)
        if done.returncode != 0:
            raise NotUp(done.stdout + done.stderr)
        return done.stdout

    def up(self):
        return "ready" in self.ctl("show", "status")

    def reconfigure(self):
        self.write()
        self.ctl("configure")

    def announce(self, *prefixes):
        self.announced += prefixes
        self.reconfigure()

    def withdraw(self, *prefixes):
        self.announced = [p for p in self.announced if p not in prefixes]
        self.reconfigure()

    def protocol(self, index):
        return f"b{index}d1" if self.neighbors[index].interface else f"b{index}"

    def established(self, index=0):
        return "Established" in self.ctl("show", "protocols", self.protocol(index))

    def disable(self, index=0, words=None):
        self.ctl("disable", f"b{index}", *([f'"{words}"'] if words else []))

    def refresh(self, index=0):
        """Asks the peer to send its routes again; the same for every kind."""
        self.ctl("reload", "in", f"b{index}")

    def enable(self, index=0):
        self.ctl("enable", f"b{index}")

    def restart_session(self, index=0):
        self.ctl("restart", f"b{index}")

    def session_text(self, index=0):
        return self.ctl("show", "protocols", "all", self.protocol(index))

    def paths(self, prefix, index=0):
        return [{**row, "communities": pairs(row.get("community")), "large": pairs(row.get("large_community")),
                 "extended": pairs(row.get("ext_community")), "originator": row.get("originator_id"),
                 "clusters": row.get("cluster_list", "").split(), "next_hop": row["next_hop"].removeprefix(":: ").split()[0]}
                for row in self.routes(prefix, "all", "protocol", self.protocol(index)).get(prefix, [])]

    def routes(self, *which):
        found, prefix, row = {}, None, None
        for line in self.ctl("show", "route", *which or ["all"]).splitlines():
            head = re.match(r"(\S+/\d+)?\s+(?:unicast|unreachable|blackhole) \[(\S+) [^\]]*\]( \*)?", line)
            if head:
                prefix = head[1] or prefix
                row = {"proto": head[2], "best": bool(head[3]), "as_path": "", "next_hop": None, "local_pref": None,
                       "origin": None, "med": None}
                if not head[2].startswith("announced"):
                    found.setdefault(prefix, []).append(row)
                continue
            attribute = re.match(r"\s+BGP\.(\w+): ?(.*)", line)
            if attribute and row is not None:
                key, value = attribute[1], attribute[2].strip()
                row[key] = int(value) if key in ("local_pref", "med") else value
        return found


def pairs(text):
    """BIRD's "(64512,1) (rt,64512,2)" as a set of "64512:1" and "rt:64512:2"."""
    return {re.sub(", *", ":", one) for one in re.findall(r"\(([^()]*)\)", text or "")}


class Frr(Switch):
    kind = "frr"

    def __init__(self, *args, **kw):
        super().__init__(*args, **kw)
        self.zebra = Process(self.ns, self.dir, f"{self.name}-zebra")

    def write(self):
        asn = self.neighbors[0].local_asn if self.neighbors else 0
        lines = ["hostname switch", f"router bgp {asn}", f" bgp router-id {self.router_id}",
                 " no bgp ebgp-requires-policy", " no bgp network import-check", " bgp log-neighbor-changes"]
        for n in self.neighbors:
            lines += [f" neighbor {n.address}{' interface' if n.interface else ''} remote-as {n.asn}",
                      f" neighbor {n.address} timers {max(n.hold // 3, 1) if n.hold else 0} {n.hold}",
                      f" neighbor {n.address} timers connect 1",
                      f" neighbor {n.address} advertisement-interval 0"]
            if n.passive:
                lines.append(f" neighbor {n.address} passive")
            if n.password:
                lines.append(f" neighbor {n.address} password {n.password}")
            if n.role:
                lines.append(f" neighbor {n.address} local-role {n.role}")
            if n.ttl_security:
                lines.append(f" neighbor {n.address} ttl-security hops {n.ttl_security}")
            if n.multihop:
                lines.append(f" neighbor {n.address} ebgp-multihop {n.multihop}")
            lines += [f" neighbor {n.address} {line}" for line in n.more]
        for family in ("ipv4", "ipv6"):
            lines.append(f" address-family {family} unicast")
            lines += [f"  network {prefix}{self.tag(prefix)}" for prefix in self.announced if family_of(prefix) == family]
            for n in self.neighbors:
                if family not in n.families:
                    lines.append(f"  no neighbor {n.address} activate")
                    continue
                lines.append(f"  neighbor {n.address} activate")
                lines += [f"  neighbor {n.address} {line}" for line in n.channel]
                if n.next_hop_self:
                    lines.append(f"  neighbor {n.address} next-hop-self")
                if not n.export:
                    lines.append(f"  neighbor {n.address} prefix-list nothing out")
            lines.append(" exit-address-family")
        for community in self.tags.values():
            lines += [f"route-map tag-{community.replace(':', '-')} permit 10", f" set community {community}"]
        lines += ["ip prefix-list nothing seq 5 deny any", "ipv6 prefix-list nothing seq 5 deny any"]
        (self.dir / "bgpd.conf").write_text(self.text or "\n".join(lines) + "\n")
        (self.dir / "zebra.conf").write_text("hostname switch\n")
        for path in (self.dir, *self.dir.iterdir()):
            shutil.chown(path, "frr", "frr")

    def tag(self, prefix):
        return f" route-map tag-{self.tags[prefix].replace(':', '-')}" if prefix in self.tags else ""

    def communities(self, prefix):
        """Those of its first route to prefix, as a set of texts."""
        paths = json.loads(self.ctl(f"show bgp {family_of(prefix)} unicast {prefix} json")).get("paths", [])
        return set(paths[0].get("community", {}).get("list", [])) if paths else set()

    def start(self):
        self.write()
        (self.dir / "bgpd.vty").unlink(missing_ok=True)
        common = ["-P", "0", "-z", self.dir / "zserv.api", "--vty_socket", self.dir, "--log", "stdout",
                  "--log-level", "info"]
        if not self.zebra.running():
            self.zebra.spawn("/usr/lib/frr/zebra", *common, "-f", self.dir / "zebra.conf", "-i", self.dir / "zebra.pid")
            wait_until(lambda: (self.dir / "zserv.api").exists(), 10, "zebra answers", self.zebra.log)
        self.spawn("/usr/lib/frr/bgpd", *common, "-f", self.dir / "bgpd.conf", "-i", self.dir / "bgpd.pid")
        wait_until(self.up, 10, f"{self.name} answers", self.log)
        return self

    def close(self):
        return super().close() + self.zebra.close()

    def vtysh(self, *commands):
        return ["vtysh", "--vty_socket", str(self.dir), "-d", "bgpd", *(word for c in commands for word in ("-c", c))]

    def ctl(self, *commands):
        done = subprocess.run(self.vtysh(*commands), capture_output=True, text=True, timeout=20)
        if done.returncode != 0:
            raise NotUp(done.stdout + done.stderr)
        return done.stdout

    def up(self):
        return "BGP" in self.ctl("show bgp summary") or "{" in self.ctl("show bgp summary json")

    def in_bgp(self, *commands):
        self.ctl("configure terminal", f"router bgp {self.neighbors[0].local_asn}", *commands)

    def announce(self, *prefixes):
        self.announced += prefixes
        for p in prefixes:
            self.in_bgp(f"address-family {family_of(p)} unicast", f"network {p}")

    def withdraw(self, *prefixes):
        self.announced = [p for p in self.announced if p not in prefixes]
        for p in prefixes:
            self.in_bgp(f"address-family {family_of(p)} unicast", f"no network {p}")

    def neighbor(self, index=0):
        address = self.neighbors[index].address
        return json.loads(self.ctl(f"show bgp neighbors {address} json"))[address]

    def established(self, index=0):
        return self.neighbor(index)["bgpState"] == "Established"

    def disable(self, index=0, words=None):
        self.in_bgp(f"neighbor {self.neighbors[index].address} shutdown{f' message {words}' if words else ''}")

    def refresh(self, index=0):
        self.ctl(f"clear bgp {self.neighbors[index].address} soft in")

    def enable(self, index=0):
        self.in_bgp(f"no neighbor {self.neighbors[index].address} shutdown")

    def restart_session(self, index=0):
        self.ctl(f"clear bgp {self.neighbors[index].address}")

    def session_text(self, index=0):
        return json.dumps(self.neighbor(index))

    def paths(self, prefix, index=0):
        peer = self.neighbors[index].address
        rows = json.loads(self.ctl(f"show bgp {family_of(prefix)} unicast {prefix} json") or "{}").get("paths", [])
        return [{"as_path": row["aspath"]["string"].replace("Local", ""), "med": row.get("metric"),
                 "next_hop": min(row["nexthops"], key=lambda hop: hop.get("scope") != "global")["ip"],
                 "local_pref": row.get("locPrf"), "originator": row.get("originatorId"),
                 "clusters": row.get("clusterList", {}).get("list", []),
                 "communities": set(row.get("community", {}).get("list", [])),
                 "large": set(row.get("largeCommunity", {}).get("list", [])),
                 "extended": set(row.get("extendedCommunity", {}).get("string", "").lower().replace("soo", "ro").split())}
                for row in rows if peer in (row["peer"]["peerId"], row["peer"].get("interface"))]

    def routes(self):
        found = {}
        tables = [json.loads(self.ctl(f"show bgp {family} unicast json") or "{}") for family in ("ipv4", "ipv6")]
        for prefix, rows in [item for table in tables for item in table.get("routes", {}).items()]:
            for row in rows:
                if row.get("path") == "" and row.get("weight"):
                    continue  # its own
                found.setdefault(prefix, []).append({
                    "best": bool(row.get("bestpath")), "as_path": row.get("path", ""), "med": row.get("metric"),
                    "next_hop": row["nexthops"][0]["ip"], "local_pref": row.get("locPrf"), "origin": row.get("origin")})
        return found


KINDS = {"bird": Bird, "frr": Frr}
