"""Every row of the list of malformed messages (tests/error_rows.txt) over real sessions. What keeps the session goes, several
rows each, over sessions that stay up from the first to the last; what ends one has a session of its own. Looked at each
time: the route, the fault in `show peers`, the NOTIFICATION as the sender sees it, the line in the log, what others are told.
"""
import re
import socket
import struct
import threading

import pytest

import error_rows
from control import Control
from error_rows import BY_TEST, ELSEWHERE, KINDS, LOCAL_AS, NEW_AS, OPENS, RESETS, UPDATES, Row
from harness import ROOT, wait_until
from speaker import KEEPALIVE, NOTIFICATION, OPEN, UPDATE, Speaker, attribute, capability, message, open_message, update

ROWS_A_PEER = 7  # more, and the log holds lines back
NODE = "10.0.0.1"


class Observer(threading.Thread):
    """A neighbour that is told everything: {prefix: {attribute: (flags, value)}}."""

    def __init__(self, speaker):
        super().__init__(daemon=True)
        self.speaker, self.told = speaker, {}
        speaker.sock.settimeout(None)

    def run(self):
        try:
            while (got := self.speaker.receive()) is not None:
                if got[0] == KEEPALIVE:
                    self.speaker.send(message(KEEPALIVE))
                elif got[0] == UPDATE:
                    self.take(got[1])
        except OSError:
            pass

    def take(self, body):
        size = struct.unpack("!H", body[:2])[0]
        for prefix in prefixes(body[2:2 + size], 4):
            self.told.pop(prefix, None)
        body = body[2 + size:]
        size = struct.unpack("!H", body[:2])[0]
        attributes = dict(attributes_of(body[2:2 + size]))
        for prefix in prefixes(body[2 + size:], 4):
            self.told[prefix] = attributes
        if 14 in attributes:
            value = attributes[14][1]
            for prefix in prefixes(value[5 + value[3]:], 16):
                self.told[prefix] = attributes
        if 15 in attributes:
            for prefix in prefixes(attributes[15][1][3:], 16):
                self.told.pop(prefix, None)

    def told_new(self, prefix):
        """Its attributes, once the path holds NEW_AS."""
        attributes = self.told.get(prefix)
        return attributes if attributes and NEW_AS.to_bytes(4, "big") in attributes[2][1] else None


def attributes_of(data):
    while data:
        head = 4 if data[0] & 0x10 else 3
        size = int.from_bytes(data[2:head], "big")
        yield data[1], (data[0], data[head:head + size])
        data = data[head + size:]


def prefixes(data, width):
    family = socket.AF_INET if width == 4 else socket.AF_INET6
    while data:
        size = (data[0] + 7) // 8
        yield f"{socket.inet_ntop(family, data[1:1 + size].ljust(width, bytes(1)))}/{data[0]}"
        data = data[1 + size:]


class Peer:
    """One neighbour of the node, with its rows."""

    def __init__(self, index, kind, rows):
        self.kind, self.rows = kind, rows
        self.name = f"p{index}"
        self.address = f"10.0.{1 + index // 200}.{2 + index % 200}"
        self.asn = LOCAL_AS if kind == "i4" else 64800 + index
        for row in rows:
            row.peer = self.name

    def config(self):
        return {"name": self.name, "address": self.address, "asn": self.asn, "passive": True, "hold-time": "90s",
                "families": ["ipv4", "ipv6"] if self.kind == "e4" else ["ipv4"], "import": "all", "export": "none"}

    def open(self):
        more = capability(2)
        if self.kind == "e4":
            more += capability(1, b"\0\2\0\1") + capability(6)
        return open_message(self.asn, router_id=self.address, hold=90, four_byte=self.kind != "e2", more=more)

    def connect(self, net):
        self.speaker = Speaker.connect(net.side, self.address, NODE)
        return self.speaker

    def establish(self, net):
        speaker = self.connect(net).send(self.open())
        assert speaker.receive_until(OPEN, NOTIFICATION)[0] == OPEN, self.name
        speaker.send(message(KEEPALIVE))
        assert speaker.receive_until(KEEPALIVE, NOTIFICATION)[0] == KEEPALIVE, self.name
        self.sent = 0  # since it is up; messages_in counts likewise
        wait_until(lambda: net.control.peer(self.name)["state"] == "Established", 10, f"{self.name} is established")
        return speaker


def chunks(rows):
    for kind in KINDS:
        of_kind = [r for r in rows if r.kind == kind]
        for at in range(0, len(of_kind), ROWS_A_PEER):
            yield kind, of_kind[at:at + ROWS_A_PEER]


@pytest.fixture
def scene(net):
    """Builds a node with these peers, all of them in one other namespace, and an observer."""
    def build(*wanted, install=False):
        net.node, net.side = net.ns("node", router=True), net.ns("side")
        net.link(net.node, "eth0", NODE + "/16", net.side, "eth0", "10.0.250.2/16")
        net.node.ip("address", "add", "fd00:1::1/64", "dev", "eth0", "nodad")
        peers = [Peer(i, kind, rows) for i, (kind, rows) in enumerate(wanted)]
        for peer in peers:
            net.side.ip("address", "add", f"{peer.address}/16", "dev", "eth0")
        watcher = {"name": "observer", "address": "10.0.250.2", "asn": 64512, "passive": True, "hold-time": "90s",
                   "families": ["ipv4", "ipv6"], "import": "none", "export": "all"}
        net.daemon = net.underlayd(net.node, {
            "node": {"name": "node", "asn": LOCAL_AS, "router-id": "10.0.1.1"}, "kernel": {"install": install},
            "peers": [watcher, *[p.config() for p in peers]]}).start()
        net.control = Control(net.daemon.socket_path)
        net.observer = Observer(Speaker.connect(net.side, "10.0.250.2", NODE).establish(
            64512, router_id="10.0.250.2", hold=90, more=capability(1, b"\0\2\0\1")))
        net.observer.start()
        return peers

    return build


# --- the session goes on


def own_prefixes(number):
    return f"20.{number // 200}.{number % 200}.0", f"2001:db8:{number:x}::"


def announce_first(peer, row, number):
    """The version before: the path is the peer's AS alone."""
    prefix, prefix6 = own_prefixes(number)
    own = [] if peer.kind == "i4" else [peer.asn]
    width = 2 if peer.kind == "e2" else 4
    segment = bytes([2, len(own)]) + b"".join(a.to_bytes(width, "big") for a in own) if own else b""
    words = attribute(1, b"\0") + attribute(2, segment)
    if is_ipv6(row):
        value = bytes.fromhex("00020110" + error_rows.H6 + "0030") + socket.inet_pton(socket.AF_INET6, prefix6)[:6]
        peer.speaker.send(update(attributes=attribute(14, value, 0x80) + words))
    else:
        peer.speaker.send(update([prefix + "/24"], attributes=words + attribute(3, socket.inet_aton("10.0.1.2"))))
    peer.sent += 1


def is_ipv6(row):
    return "NET6" in row.attrs and row.kind == "e4"


def taken(net, peer):
    """The peer's row, once everything that was sent has been looked at."""
    return wait_until(lambda: (p := net.control.peer(peer.name))["messages_in"] >= peer.sent and p, 20,
                      f"{peer.name} has taken {peer.sent} messages", lambda: net.control.peer(peer.name))


def check_fault(net, row, fault):
    expect = row.expect
    assert fault["subject"] == f"peer {row.peer}" and fault["what"]
    assert fault["reaction"] == expect.reaction, fault
    assert fault["code"] == expect.code and expect.subcode in (None, fault["subcode"]), fault
    assert expect.attribute in (None, fault.get("attribute")), fault
    assert expect.data in (None, fault["bytes"]), fault
    line = re.escape(f"peer {row.peer}: ") + ".*" + re.escape(fault["name"]) + ".*" + re.escape(fault["bytes"])
    net.daemon.wait_log(line, 20)


def check_new_version(net, row, peer, prefix, path):
    own = "" if peer.kind == "i4" else f"{peer.asn} "
    shown = {"as_path": f"{own}{NEW_AS}"} if row.shown is None and not row.learned else row.shown or {}
    assert path, "the route is not there"
    for key, value in shown.items():
        value = value.replace("PEER", str(peer.asn)) if isinstance(value, str) else value
        assert path[key] == value, path
    if row.sent_on:
        told = wait_until(lambda: net.observer.told_new(prefix), 10, f"{prefix} is passed on", lambda: net.observer.told.get(prefix))
        for code, flags in row.sent_on.items():
            assert (told[code][0] if code in told else None) == flags, (code, told)


def check_row(net, peer, row, number):
    before = net.control.peer(peer.name)
    prefix, prefix6 = own_prefixes(number)
    peer.speaker.send(row.body(peer.asn, prefix, prefix6))
    peer.sent += 1
    after = taken(net, peer)
    assert after["state"] == "Established" and after["established_count"] == 1
    reaction = row.expect.reaction
    faulty = reaction in ("routes treated as withdrawn", "attribute dropped")
    assert after["faults"] == before["faults"] + faulty, after
    if faulty:
        check_fault(net, row, after["last_fault"])
    if row.log:
        net.daemon.wait_log(f"peer {peer.name}: .*{row.log}", 20)
    own = f"{prefix6}/48" if is_ipv6(row) else f"{prefix}/24"
    path = net.control.path(row.learned or own)
    if reaction in ("routes treated as withdrawn", "silently withdrawn"):
        assert path is None, path
    elif reaction == "ignored":
        assert path and str(NEW_AS) not in path["as_path"], path
    else:
        check_new_version(net, row, peer, own, path)


def test_rows_that_keep_the_session(net, scene):
    failures, number = [], 0
    for peer in scene(*chunks(UPDATES)):
        peer.establish(net)
        for at, row in enumerate(peer.rows):
            announce_first(peer, row, number + at)
        taken(net, peer)
        for row in peer.rows:
            try:
                check_row(net, peer, row, number)
            except AssertionError as e:
                failures.append(f"row {row.number}, {row.what}: {str(e)[:400]}")
            number += 1
    assert not failures, f"{len(failures)} rows:\n" + "\n".join(failures)


# --- it ends


def gone(net, peer):
    return wait_until(lambda: (p := net.control.peer(peer.name))["state"] != "Established" and p, 10, f"{peer.name} is down")


def check_reset(net, peer, row, number):
    prefix, prefix6 = own_prefixes(number)
    peer.establish(net)
    announce_first(peer, row, number)
    peer.speaker.send(row.body(peer.asn, prefix, prefix6))
    got = peer.speaker.notification()
    assert got, "closed without a NOTIFICATION"
    expect = row.expect
    assert got[0] == expect.code and expect.subcode in (None, got[1]), got
    assert expect.data in (None, got[2].hex()), got
    fault = gone(net, peer)["last_fault"]
    check_fault(net, row, fault)
    assert fault["bytes"] == got[2].hex()
    wait_until(lambda: not net.control.ask("show-routes", prefix + "/24"), 20, "its routes are gone")


def test_rows_that_end_the_session(net, scene):
    failures = []
    for number, peer in enumerate(scene(*[(row.kind, [row]) for row in RESETS])):
        row = peer.rows[0]
        try:
            check_reset(net, peer, row, number)
        except AssertionError as e:
            failures.append(f"row {row.number}, {row.what}: {str(e)[:400]}")
    assert net.control.peer("observer")["state"] == "Established"
    assert not failures, f"{len(failures)} rows:\n" + "\n".join(failures)


def check_open(net, peer, row):
    speaker = peer.connect(net).send(row.make(peer.asn))
    if row.expect.reaction is None:
        assert speaker.receive_until(OPEN, NOTIFICATION)[0] == OPEN
        speaker.send(message(KEEPALIVE))
        got = speaker.receive_until(KEEPALIVE, NOTIFICATION)
        assert got[0] == KEEPALIVE, got
        wait_until(lambda: net.control.peer(peer.name)["state"] == "Established", 10, "it is established")
        assert net.control.peer(peer.name)["faults"] == 0
        return
    got = speaker.notification()
    assert got and got[:2] == (row.expect.code, row.expect.subcode), got
    assert row.expect.data in (None, got[2].hex()), got
    fault = wait_until(lambda: net.control.peer(peer.name).get("last_fault"), 10, "the fault is told")
    check_fault(net, row, fault)
    assert fault["bytes"] == got[2].hex()


def test_opens(net, scene):
    failures = []
    for peer in scene(*[(row.kind, [row]) for row in OPENS]):
        row = peer.rows[0]
        try:
            check_open(net, peer, row)
        except AssertionError as e:
            failures.append(f"row {row.number}, {row.what}: {str(e)[:400]}")
    assert not failures, f"{len(failures)} rows:\n" + "\n".join(failures)


# --- rows that are more than one message


def test_end_of_rib_and_its_lookalikes(net, scene):
    """m6"""
    lookalikes = [update(attributes=attribute(1, b"\0") + attribute(2, b"") + attribute(3, b"\n\0\1\2")),
                  message(UPDATE, bytes.fromhex("0000 0006 800f03 0001 02")), update(withdrawn=["20.0.0.0/24"])]
    peer = scene(("e4", []))[0]
    peer.establish(net)
    for data in lookalikes:
        peer.speaker.send(data)
        peer.sent += 1
        assert taken(net, peer)["state"] == "Established"
        assert not net.control.peer(peer.name)["end_of_rib_received"], data.hex()
    peer.speaker.send(update() + message(UPDATE, bytes.fromhex("0000 0006 800f03 0002 01")))
    peer.sent += 2
    assert taken(net, peer)["end_of_rib_received"]


def test_a_next_hop_of_no_shared_subnet_is_not_used(net, scene):
    """17: not even where there is a way to it; a neighbour on our link has to name one on the link."""
    peer = scene(("e4", []), install=True)[0]
    net.node.ip("route", "add", "198.51.100.0/24", "via", "10.0.250.2")
    peer.establish(net)
    prefix = own_prefixes(0)[0] + "/24"
    for next_hop, mark in (("10.0.1.2", "*"), ("198.51.100.1", ""), ("10.0.250.2", "*")):
        peer.speaker.send(update([prefix], next_hop, [peer.asn]))
        wait_until(lambda: (p := net.control.path(prefix)) and (p["next_hop"], p["mark"]) == (next_hop, mark), 10,
                   f"{next_hop} is {'used' if mark else 'not used'}", lambda: net.control.path(prefix))
    assert net.control.peer(peer.name)["faults"] == 0


def test_the_established_session_stays(net, scene):
    """m12: the newcomer gets a Cease, Connection Collision Resolution."""
    peer = scene(("e4", []))[0]
    first = peer.establish(net)
    second = Speaker.connect(net.side, peer.address, NODE).send(peer.open())
    assert second.notification()[:2] == (6, 7) and second.closed()
    first.send(message(KEEPALIVE))
    peer.sent += 1
    assert taken(net, peer)["established_count"] == 1


def test_the_hold_timer_runs_before_the_session_is_up(net, scene):
    """m13: a neighbour that says OPEN and then nothing."""
    peer = scene(("e4", []))[0]
    speaker = peer.connect(net).send(open_message(peer.asn, hold=3))
    assert speaker.notification()[:2] == (4, 0) and speaker.closed()


def test_a_route_that_fits_no_message_is_withdrawn(net, scene):
    """m21: with our AS added it is too long; the version before must not stay with others."""
    peer = scene(("e4", []))[0]
    peer.establish(net)
    row, (prefix, prefix6) = Row("m21", "", None, "O P N"), own_prefixes(0)
    peer.speaker.send(row.body(peer.asn, prefix, prefix6))
    wait_until(lambda: net.observer.told_new(prefix + "/24"), 10, "the short version is told")
    room = 4096 - len(row.body(peer.asn, prefix, prefix6)) - 4
    row.attrs = f"O P N d0c8 {room:04x} " + "ab" * room
    peer.speaker.send(row.body(peer.asn, prefix, prefix6))
    wait_until(lambda: prefix + "/24" not in net.observer.told, 10, "it is withdrawn", lambda: net.observer.told)
    net.daemon.wait_log("too long for a message", 20)


# --- the log, and the list


def test_a_flood_of_faults_is_a_few_lines(net, scene):
    peer = scene(("e4", []))[0]
    peer.establish(net)
    row = Row("18", "", None, "O P N 800400")
    before = len(net.daemon.log())
    peer.speaker.send(row.body(peer.asn, *own_prefixes(0)) * 2000)
    peer.sent += 2000
    assert taken(net, peer)["faults"] == 2000
    lines = net.daemon.log()[before:].count("\n")
    assert 1 <= lines < 40, lines


def test_every_row_is_here():
    listed = {word for line in (ROOT / "tests/error_rows.txt").read_text().splitlines() if not line.startswith("#")
              for word in line.split()}
    sent = {row.number for row in UPDATES + RESETS + OPENS}
    assert len(listed) == 92 and sent | BY_TEST | set(ELSEWHERE) == listed, sorted(listed ^ (sent | BY_TEST | set(ELSEWHERE)))
    assert not sent & set(ELSEWHERE)
