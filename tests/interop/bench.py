"""One peer in one role, and all that is tried with it: a node with underlayd, a switch, and a network behind both.

Between node and switch there is one link with several sessions, one for each thing that would disturb the others (a
password, a limit that ends it). Behind both sides stand two feeders, scripted speakers whose routes have what the matrix
looks for; what comes out on the other side has gone through both programs. ExaBGP passes nothing on and says the
feeders' routes itself.

         feed 10.0.1.2, .3 --- node: underlayd 10.0.N.1 === 10.0.N.2 switch --- 10.0.2.2, .3 feed
"""
import dataclasses
import re
import signal
import socket
import struct
import subprocess

from capture import UPDATE, Capture, attributes, capabilities
from harness import Fabric, NotUp, wait_until
from more_switches import KINDS as MORE
from options import BY_HAND, CONFESSIONS, OPTIONS, TITLES, Option
from speaker import KEEPALIVE, NOTIFICATION, OPEN, Speaker, attribute, capability, message, open_message, update
from switches import KINDS, Neighbor

KINDS = {**KINDS, **MORE}
ROLES = ("eBGP", "iBGP", "underlayd is its client", "underlayd reflects")
OUR_AS, THEIR_AS, OUR_FEEDERS, THEIR_FEEDERS = 4200000001, 4200000002, (4200000011, 4200000012), (4200000021, 4200000022)
PASSWORD = "s3cret-of-the-fabric"
POD = {"ipv4": "10.244.1.0/24", "ipv6": "fd10:244:1::/64"}
# what each side's feeders bring: PLAIN with all kinds of communities, TWICE from both feeders, LONG with more communities
# than a message of 4096 bytes holds; PROBE is not let in by our policy before it is changed
PLAIN = {"ours": {"ipv4": "203.0.113.0/24", "ipv6": "2001:db8:1::/48"},
         "theirs": {"ipv4": "198.51.100.0/24", "ipv6": "2001:db8:2::/48"}}
TWICE = {"ours": "203.0.114.0/24", "theirs": "198.51.101.0/24"}
LONG = {"ours": "203.0.115.0/24", "theirs": "198.51.102.0/24"}
PROBE = "198.51.103.0/24"
COMMUNITIES, EXTENDED = {"64900:1", "64900:65535"}, {"rt:64900:7", "ro:64900:8"}
LARGE = {"64900:1:2", "4200000011:0:4294967295"}
MANY = 2000
EXTENDED_MESSAGE = 6
CHECKS = {"bird": ["bird", "-p", "-c"], "gobgp": ["gobgpd", "--dry-run", "-t", "toml", "-f"],
          "openbgpd": ["bgpd", "-n", "-f"], "exabgp": ["exabgp", "-t"]}


class Lacks(Exception):
    """Ends a cell: who lacks what it is about, and how the run has found out."""

    def __init__(self, who, how):
        super().__init__(f"{who} lacks it: {how}")
        self.who, self.how = who, how


@dataclasses.dataclass
class Session:
    name: str
    ours: str
    theirs: str
    families: tuple = ("ipv4",)
    options: tuple = ()          # what the peer's side would like to have, see options.py
    switch: dict = dataclasses.field(default_factory=dict)   # more of Neighbor
    keys: dict = dataclasses.field(default_factory=dict)     # more of peers[] on our side


SESSIONS = [
    Session("main", "10.0.0.1", "10.0.0.2", ("ipv4", "ipv6"), ("extended messages", "add-path", "enhanced refresh"),
            keys={"add-path": {"receive": True, "send": 4}}),
    Session("six", "fd00::1", "fd00::2", ("ipv4", "ipv6"), ("extended next hop",)),
    Session("unnumbered", None, "eth3", ("ipv4", "ipv6"), ("unnumbered", "extended next hop")),
    Session("md5", "10.0.3.1", "10.0.3.2", switch={"password": PASSWORD}),
    Session("gtsm", "10.0.4.1", "10.0.4.2", switch={"ttl_security": 1}, keys={"ttl-security": 1}),
    Session("our-limit", "10.0.5.1", "10.0.5.2", keys={"max-prefixes": 1}),
    Session("their-limit", "10.0.6.1", "10.0.6.2", options=("limit",)),
    Session("their-words", "10.0.7.1", "10.0.7.2"),
    Session("our-words", "10.0.8.1", "10.0.8.2"),
    Session("role", "10.0.9.1", "10.0.9.2", options=("role",), keys={"role": "customer"}),
]


class Bench:
    def __init__(self, kind, role):
        self.kind, self.role, self.title = kind, role, TITLES[kind]
        self.internal = role != "eBGP"
        self.their_as = OUR_AS if self.internal else THEIR_AS
        self.net = Fabric(f"{kind}-{role}")
        left_out = {"role"} if self.internal else set()
        if OPTIONS[kind]["unnumbered"].lacks:
            left_out.add("unnumbered")
        self.sessions = {s.name: s for s in SESSIONS if s.name not in left_out}

    # --- putting it up

    def start_once(self):
        """A bench that could not start fails every cell in the same words."""
        if not hasattr(self, "started"):
            self.started = None
            try:
                self.start()
            except Exception as failure:
                self.started = failure
                raise
        elif self.started:
            raise AssertionError("the bench did not start; its first cell says why") from self.started

    def start(self):
        self.wires()
        self.capture = Capture(self.node)
        self.switch = self.make_switch().start()
        self.daemon = self.net.underlayd(self.node, self.config(), "underlayd").start()
        self.feeders = [*self.start_feeders("ours"), *self.start_feeders("theirs")]
        return self

    def wires(self):
        self.node, self.tor, self.feed = (self.net.ns(name, router=True) for name in ("node", "tor", "feed"))
        for ns in (self.node, self.tor):
            ns.run("sysctl", "-q", "-w", "net.ipv6.conf.all.forwarding=1")
        self.net.link(self.node, "eth0", "10.0.0.1/24", self.tor, "eth0", "10.0.0.2/24")
        self.net.link(self.node, "eth1", None, self.tor, "eth1", None)
        self.net.link(self.node, "eth3", None, self.tor, "eth3", None)
        self.net.link(self.node, "eth2", "10.0.1.1/24", self.feed, "eth0", "10.0.1.2/24")
        self.net.link(self.tor, "eth2", "10.0.2.1/24", self.feed, "eth1", "10.0.2.2/24")
        for ns, device, addresses in (
                (self.node, "eth0", ["fd01::1/64", *(f"10.0.{n}.1/24" for n in range(3, 10))]),
                (self.tor, "eth0", ["fd01::2/64", *(f"10.0.{n}.2/24" for n in range(3, 10))]),
                (self.node, "eth1", ["fd00::1/64"]), (self.tor, "eth1", ["fd00::2/64"]),
                (self.node, "eth2", ["fd00:1::1/64"]), (self.tor, "eth2", ["fd00:2::1/64"]),
                (self.feed, "eth0", ["10.0.1.3/24", "fd00:1::2/64"]),
                (self.feed, "eth1", ["10.0.2.3/24", "fd00:2::2/64"])):
            for address in addresses:
                ns.ip("address", "add", address, "dev", device, *(["nodad"] if ":" in address else []))
        for ns, theirs, gateway in ((self.node, 2, 2), (self.tor, 1, 1)):
            ns.ip("route", "add", f"10.0.{theirs}.0/24", "via", f"10.0.0.{gateway}")
            ns.ip("route", "add", f"fd00:{theirs}::/64", "via", f"fd01::{gateway}")

    def make_switch(self):
        reflects = self.role == "underlayd is its client"
        neighbors = [self.neighbor(s, reflects) for s in self.sessions.values()]
        more, channel = self.lines("extended messages", *(["reflect"] if reflects else []))
        feeders = [Neighbor("10.0.2.1", self.their_as, f"10.0.2.{i + 2}", self.their_as if reflects else asn, passive=True,
                            hold=240, families=("ipv4", "ipv6"), next_hop_self=False, more=more, channel=channel)
                   for i, asn in enumerate(THEIR_FEEDERS)]
        self.neighbor_index = {name: i for i, name in enumerate(self.sessions)}
        announced = self.routes_in_words() if self.kind == "exabgp" else []
        return self.net.add(KINDS[self.kind](self.tor, self.net.subdir("switch"), self.title, "10.0.0.2",
                                             neighbors + ([] if self.kind == "exabgp" else feeders), announced))

    def neighbor(self, session, reflects):
        more, channel = self.lines(*session.options, *(["reflect"] if reflects else []))
        interface = None if session.ours else session.theirs
        return Neighbor(session.theirs, self.their_as, session.ours or interface, OUR_AS, passive=not interface,
                        families=session.families, hold=9, interface=interface,
                        next_hop_self=not reflects, more=more, channel=channel, **session.switch)

    def lines(self, *names):
        """What options, as far as the peer has them, take in its configuration."""
        options = [o for o in map(OPTIONS[self.kind].get, names) if o and o.lacks != "always"]
        return tuple(line for o in options for line in o.more), tuple(line for o in options for line in o.channel)

    def config(self, let_in=False):
        everything = {"action": "accept"}
        take = [everything] if let_in else [{"match": {"prefixes": [PROBE]}, "action": "reject"}, everything]
        peers = [{"name": s.name, "address" if s.ours else "interface": s.theirs, "asn": self.their_as,
                  "families": list(s.families), "export": "all", "import": "take" if s.name == "main" else "all", **self.keys(s)} for s in self.sessions.values()]
        reflect = {"route-reflector-client": True} if self.role == "underlayd reflects" else {}
        peers += [{"name": f"feeder{i}", "address": f"10.0.1.{i + 2}", "asn": OUR_AS if reflect else asn, "passive": True,
                   "hold-time": "240s", "import": "all", "export": "none", **reflect}
                  for i, asn in enumerate(OUR_FEEDERS)]
        return {"node": {"name": "node", "asn": OUR_AS, "router-id": "10.0.0.1"},
                "pods": {"cidrs": list(POD.values())}, "peers": peers, "policies": [{"name": "take", "rules": take}]}

    def keys(self, session):
        keys = dict(session.keys)
        if "password" in session.switch:
            secret = self.net.dir / "secret"
            secret.write_text(PASSWORD + "\n")
            secret.chmod(0o600)
            keys["password-file"] = str(secret)
        if self.role == "underlayd reflects":
            keys["route-reflector-client"] = True
        if self.internal and not session.ours:
            keys["next-hop-self"] = True  # nothing else can be reached over a link without addresses
        return keys

    def routes_in_words(self):
        """The feeders' routes as ExaBGP says them itself."""
        extended = " ".join(sorted(EXTENDED)).replace("rt:", "target:").replace("ro:", "origin:")
        kinds = (f"community [ {' '.join(sorted(COMMUNITIES))} ] large-community [ {' '.join(sorted(LARGE))} ] "
                 f"extended-community [ {extended} ]")
        path, other = (f"origin igp as-path [ {'' if self.internal else THEIR_AS} {asn} ]" for asn in THEIR_FEEDERS)
        return [f"route {PLAIN['theirs']['ipv4']} next-hop self {path} {kinds}",
                f"route {PLAIN['theirs']['ipv6']} next-hop fd01::2 {path} {kinds}",
                f"route {TWICE['theirs']} next-hop self {path} path-information 0.0.0.1",
                f"route {TWICE['theirs']} next-hop self {other} path-information 0.0.0.2",
                f"route {LONG['theirs']} next-hop self {path} community [ {' '.join(many_communities())} ]",
                f"route {PROBE} next-hop self {path}"]

    def start_feeders(self, side):
        """Internal feeders are another's clients; their routes come with a path already."""
        if side == "theirs" and self.kind == "exabgp":
            return []
        net, asns = (1, OUR_FEEDERS) if side == "ours" else (2, THEIR_FEEDERS)
        internal = self.role == ("underlayd reflects" if side == "ours" else "underlayd is its client")
        speakers = []
        for i, asn in enumerate(asns):
            more = capability(1, struct.pack("!HBB", 2, 0, 1)) + capability(2) + capability(6)
            my_as = (OUR_AS if side == "ours" else self.their_as) if internal else asn
            speaker = wait_until(lambda: feeder(self.feed, f"10.0.{net}.{i + 2}", f"10.0.{net}.1", my_as, more),
                                 20, f"{side} feeder {i} has a session")
            hops = f"10.0.{net}.{i + 2}", f"fd00:{net}::2"
            for said in routes_on_the_wire(side, i, asn, hops, internal, speaker.long_ones):
                speaker.send(said)
            speakers.append(speaker)
        return speakers

    def close(self):
        for speaker in getattr(self, "feeders", []):
            speaker.close()
        if hasattr(self, "capture"):
            self.capture.close()

    # --- what cells ask

    def established(self, name="main"):
        self.daemon.wait_established(name, timeout=40)
        wait_until(lambda: self.switch.established(self.neighbor_index[name]), 20, f"{self.title} says so too",
                   lambda: self.switch.session_text(self.neighbor_index[name]))
        return self.sessions[name]

    def their_paths(self, prefix, name="main"):
        """What the peer has from us over a session, once it has something."""
        return wait_until(lambda: self.switch.paths(prefix, self.neighbor_index[name]), 20,
                          f"{self.title} has {prefix} from us over {name}", lambda: self.daemon.peer(name))

    def our_paths(self, prefix, name="main", wanted=bool):
        """What we have from the peer over a session, once wanted(rows) holds."""
        def rows():
            found = [r for r in self.daemon.routes(prefix) if r["source"] == name and r["prefix"] == prefix]
            return found if wanted(found) else []
        return wait_until(rows, 20, f"we have {prefix} from {self.title} over {name}",
                          lambda: (self.daemon.peer(name), self.daemon.routes()))

    def confesses(self, what, session):
        """Ends the cell when the peer itself says that it cannot do this."""
        pattern, why = CONFESSIONS.get((self.kind, what), ("$^", ""))
        if re.search(pattern, self.switch.session_text(self.neighbor_index[session]) + self.switch.log()):
            raise Lacks(self.title, why)

    def counter(self, ns, name):
        text = ns.run("cat", "/proc/net/netstat").stdout
        lines = [line.split() for line in text.splitlines() if line.startswith("TcpExt:")]
        return int(dict(zip(*lines))[name])

    def capabilities(self, name="main"):
        self.established(name)
        return self.capture.capabilities(self.sessions[name].theirs)

    def needs_capability(self, code, what, name="main"):
        if code not in self.capabilities(name):
            raise Lacks(self.title, f"its OPEN does not announce capability {code}, {what}")

    def needs_option(self, name):
        """Ends the cell when the peer has no such option: by the words of its parser."""
        option = OPTIONS[self.kind].get(name)
        if option is None:
            assert (self.kind, name) in BY_HAND, f"options.py has neither an option nor a reason for {self.title}, {name}"
            raise Lacks(self.title, BY_HAND[self.kind, name])
        if option.lacks == "always" or option.lacks == "internal" and self.internal:
            assert not self.refuses(), f"{self.title} refuses a session without options"
            assert self.refuses(option), f"{self.title} takes {option}: options.py says that it does not"
            raise Lacks(self.title, f"its parser refuses `{(option.more + option.channel)[0]}`"
                                    + (" for an internal peer" if option.lacks == "internal" else ""))

    def refuses(self, option=None):
        """What the peer's parser has to say against a session with an option."""
        if self.kind == "frr":
            lines = [f"neighbor 10.0.0.1 {line}" for line in (option.more if option else [])]
            said = subprocess.run(self.switch.vtysh("configure terminal", f"router bgp {self.their_as}", *lines),
                                  capture_output=True, text=True, check=False)
            return (said.stdout + said.stderr).strip()
        option = option or Option()
        neighbor = Neighbor("10.0.0.2", self.their_as, "10.0.0.1", OUR_AS, more=option.more, channel=option.channel)
        self.tried = getattr(self, "tried", 0) + 1
        trial = KINDS[self.kind](None, self.net.subdir(f"trial{self.tried}"), "trial", "10.0.0.2", [neighbor])
        trial.write()
        done = subprocess.run([*CHECKS[self.kind], str(trial.config)], capture_output=True, text=True, timeout=20,
                              check=False)
        return (done.stdout + done.stderr).strip() or "no reason" if done.returncode else None

    def let_probe_in(self):
        """Takes PROBE out of the routes that our policy rejects, for which the peer must be asked; after it was put there
        once more, where another cell has done the same."""
        for let_in in (False, True):
            self.reload(self.config(let_in))

    def updates(self, sender, prefix):
        """The attributes of the UPDATEs in which sender brought an IPv4 prefix as it is written without add-path."""
        address, length = prefix.split("/")
        name = bytes([int(length)]) + socket.inet_aton(address)[:(int(length) + 7) // 8]
        found = [attributes(m.body) for m in self.said(sender, UPDATE) if name in m.body]
        return [a for a in found if a]

    def said(self, sender, *kinds, since=0):
        return self.capture.messages(sender, *kinds)[since:]

    def reload(self, config):
        begin = len(self.daemon.log())
        self.daemon.configure(config)
        self.daemon.popen.send_signal(signal.SIGHUP)
        self.daemon.wait_log(r"reload: .*(applied|nothing was changed)", 20, begin)


def communities_of(row):
    """Those of one of our rows, sorted by kind."""
    found = {"communities": set(), "extended": set(), "large": set()}
    for one in row["communities"].split():
        found["extended" if one[0].isalpha() else "large" if one.count(":") == 2 else "communities"].add(one)
    return found


# --- feeders

def feeder(ns, source, destination, asn, more):
    speaker = Speaker.connect(ns, source, destination)
    got = speaker.send(open_message(asn, router_id=source, hold=240, more=more)).receive_until(OPEN, NOTIFICATION)
    if not got or got[0] != OPEN:
        speaker.close()
        raise NotUp(f"{destination} does not take a session: {got}")
    speaker.long_ones = EXTENDED_MESSAGE in capabilities(got[1])
    speaker.send(message(KEEPALIVE)).receive_until(KEEPALIVE)
    return speaker


def wide(code, value):
    """An optional transitive attribute of any length."""
    return struct.pack("!BBH", 0xd0, code, len(value)) + value


def community_attributes():
    standard = b"".join(struct.pack("!HH", *map(int, c.split(":"))) for c in sorted(COMMUNITIES))
    large = b"".join(struct.pack("!III", *map(int, c.split(":"))) for c in sorted(LARGE))
    extended = b"".join(struct.pack("!BBHI", 0, {"rt": 2, "ro": 3}[kind], int(asn), int(number))
                        for kind, asn, number in (c.split(":") for c in sorted(EXTENDED)))
    return wide(8, standard), wide(16, extended), wide(32, large)


def many_communities():
    return [f"64901:{n}" for n in range(MANY)]


def routes_on_the_wire(side, which, asn, hops, internal, long_ones):
    """The UPDATEs of feeder number `which` of a side. Attributes are in the order of their numbers."""
    path = attribute(1, b"\0") + attribute(2, struct.pack("!BBI", 2, 1, asn))
    hop, preference = attribute(3, socket.inet_aton(hops[0])), attribute(5, struct.pack("!I", 100)) if internal else b""
    standard, extended, large = community_attributes()
    if which == 1:
        return [update([TWICE[side]], attributes=path + hop + preference)]
    address, length = PLAIN[side]["ipv6"].split("/")
    reach = struct.pack("!HBB", 2, 1, 16) + socket.inet_pton(socket.AF_INET6, hops[1]) + b"\0" + \
        bytes([int(length)]) + socket.inet_pton(socket.AF_INET6, address)[:(int(length) + 7) // 8]
    many = wide(8, b"".join(struct.pack("!HH", *map(int, c.split(":"))) for c in many_communities()))
    return [update([PLAIN[side]["ipv4"]], attributes=path + hop + preference + standard + extended + large),
            update(attributes=path + preference + standard + attribute(14, reach, 0x80) + extended + large),
            update([TWICE[side], *([PROBE] if side == "theirs" else [])], attributes=path + hop + preference),
            *([update([LONG[side]], attributes=path + hop + preference + many)] if long_ones else [])]
