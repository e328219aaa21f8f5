"""What a proper peer, operator or network would not do. Each time: a clear message, the right
NOTIFICATION where there is one, and nothing else harmed. "Nothing else" is a second, real neighbour."""
import socket
import struct
import subprocess
import sys

import pytest

from conftest import Wire
from harness import Listener, Process, wait_until
from speaker import (KEEPALIVE, MARKER, NOTIFICATION, OPEN, UPDATE, Speaker, attribute, message, open_message, update)

POD = "10.244.1.0/24"
OTHER = "10.244.2.0/24"
BAD = ("10.0.1.2", "10.0.1.1")  # the misbehaving neighbour's address, and ours on that link


class Scene:
    """A healthy BIRD on one link, on another a neighbour that is this test (passive for us)."""

    def __init__(self, net, **bad_peer):
        self.wire = Wire(net, "bird")
        self.evil = net.ns("evil")
        net.link(self.wire.node, "eth1", "10.0.1.1/29", self.evil, "eth0", "10.0.1.2/29")
        self.evil.ip("address", "add", "10.0.1.3/29", "dev", "eth0")
        self.bird = self.wire.switch(announce=[OTHER]).start()
        config = self.wire.config()
        config["peers"].append({"name": "bad", "address": "10.0.1.2", "asn": 64999, "passive": True,
                                "hold-time": "9s", **bad_peer})
        self.node = net.underlayd(self.wire.node, config, "underlayd").start()
        self.node.wait_established("tor")
        self.bird.wait_route(POD)
        self.healthy()

    def connect(self):
        return Speaker.connect(self.evil, *BAD)

    def bad(self):
        return self.node.peer("bad")

    def healthy(self):
        wait_until(lambda: self.wire.node.our_routes().get(OTHER) == ["10.0.0.2"], 20, "the healthy route is there")
        peer = self.node.peer("tor")
        assert peer["state"] == "Established" and peer["established_count"] == 1, peer
        assert self.bird.established()


@pytest.fixture
def scene(net):
    return Scene(net)


FAULTS_BEFORE_OPEN = [
    ("garbage", b"GET / HTTP/1.1\r\nHost: underlay\r\n\r\n", (1, 1)),
    ("marker-then-garbage", MARKER + b"\x00\x05\x01xxxxxxxx", (1, 2)),
    ("too-long", message(OPEN, b"", length=4097), (1, 2)),
    ("unknown-type", message(99), (1, 3)),
    ("keepalive-with-body", message(KEEPALIVE, b"x"), (1, 2)),
    ("keepalive-first", message(KEEPALIVE), (5, None)),
    ("update-first", update([POD], as_path=[64999]), (5, None)),
    ("short-open", message(OPEN, b"\x04\xfd\xe7"), (1, 2)),
    ("version-3", open_message(64999, version=3), (2, 1)),
    ("wrong-as", open_message(64998), (2, 2)),
    ("hold-time-1", open_message(64999, hold=1), (2, 6)),
    ("router-id-0", open_message(64999, router_id="0.0.0.0"), (2, 3)),
    ("broken-capability", message(OPEN, struct.pack("!BHH4sB", 4, 64999, 9, b"\x01\x02\x03\x04", 4) + b"\x02\x02\x41\x09"),
     (2, None)),
    ("parameters-past-the-end", message(OPEN, struct.pack("!BHH4sB", 4, 64999, 9, b"\x01\x02\x03\x04", 200) + b"\x02"),
     (2, None)),
]


@pytest.mark.parametrize("data, expected", [f[1:] for f in FAULTS_BEFORE_OPEN], ids=[f[0] for f in FAULTS_BEFORE_OPEN])
def test_fault_before_open(scene, data, expected):
    speaker = scene.connect().send(data)
    got = speaker.notification()
    assert got, "closed without a NOTIFICATION"
    assert got[0] == expected[0] and expected[1] in (None, got[1]), got
    assert speaker.closed()
    wait_until(lambda: scene.bad()["last_error"], 10, "the peer's last error says something", scene.bad)
    assert scene.bad()["state"] != "Established"
    scene.healthy()
    # and the neighbour may come back as if nothing had been
    scene_returns(scene)


def scene_returns(scene):
    def again():
        speaker = scene.connect()
        try:
            return speaker.establish(64999)
        except (AssertionError, TypeError, OSError):
            speaker.close()
            return None

    speaker = wait_until(again, 45, "the neighbour can come back", scene.bad)
    wait_until(lambda: scene.bad()["state"] == "Established", 10, "it is established")
    speaker.send(update(["10.244.9.0/24"], next_hop=BAD[0], as_path=[64999]))
    wait_until(lambda: scene.wire.node.our_routes().get("10.244.9.0/24") == [BAD[0]], 20, "its route is in the kernel")
    speaker.close()


def test_same_router_id(net):
    """RFC 6286: an external peer may have our router ID, an internal one may not."""
    scene = Scene(net)
    speaker = scene.connect().establish(64999, router_id="10.0.0.1")
    wait_until(lambda: scene.bad()["state"] == "Established", 10, "the external peer is let in")
    speaker.close()


def test_same_router_id_internal(net):
    scene = Scene(net, asn=64701)
    speaker = scene.connect().send(open_message(64701, router_id="10.0.0.1"))
    assert speaker.notification()[:2] == (2, 3)
    assert speaker.closed()
    scene.healthy()


@pytest.mark.parametrize("half", [b"", MARKER[:7], message(OPEN, b"\x04" * 10)[:-3], open_message(64999)[:-1]],
                         ids=["nothing", "half-a-marker", "half-a-header", "half-an-open"])
def test_half_a_message_and_silence(scene, half):
    """Closed by a timer, not kept for ever. (The speaker's own patience of 20 s is the limit.)"""
    speaker = scene.connect().send(half)
    assert speaker.closed()
    wait_until(lambda: scene.bad()["last_error"], 10, "the last error says something", scene.bad)
    scene.healthy()


def test_silence_after_established(scene):
    """Half an UPDATE and then nothing: the hold timer ends it, with the right NOTIFICATION."""
    speaker = scene.connect().establish(64999, hold=3)
    wait_until(lambda: scene.bad()["state"] == "Established", 10, "it is established")
    speaker.send(update(["10.244.9.0/24"], next_hop=BAD[0], as_path=[64999]))
    wait_until(lambda: scene.wire.node.our_routes().get("10.244.9.0/24") == [BAD[0]], 10, "its route is in the kernel")
    speaker.send(update(["10.244.10.0/24"], next_hop=BAD[0], as_path=[64999])[:-2])
    assert speaker.notification()[:2] == (4, 0)
    assert speaker.closed()
    wait_until(lambda: "10.244.9.0/24" not in scene.wire.node.our_routes(), 10, "its route is gone")
    assert "hold" in scene.bad()["last_error"].lower()
    scene.healthy()


def established_with_route(scene):
    speaker = scene.connect().establish(64999)
    speaker.send(update(["10.244.9.0/24"], next_hop=BAD[0], as_path=[64999]))
    wait_until(lambda: scene.wire.node.our_routes().get("10.244.9.0/24") == [BAD[0]], 20, "its route is in the kernel")
    return speaker


RESETS = [
    ("garbage", b"\x00" * 40, 1),
    ("second-open", open_message(64999), 5),
    ("withdrawn-past-the-end", message(UPDATE, b"\xff\xff\x00\x00"), 3),
    ("attributes-past-the-end", message(UPDATE, b"\x00\x00\xff\xff"), 3),
    ("nlri-length-33", message(UPDATE, b"\x00\x00\x00\x00\x21\x0a\x0a\x0a\x0a\x80"), 3),
    ("notification", message(NOTIFICATION, b"\x06\x09hello"), None),
    ("notification-without-body", message(NOTIFICATION), 1),
]


@pytest.mark.parametrize("data, code", [r[1:] for r in RESETS], ids=[r[0] for r in RESETS])
def test_reset_while_established(scene, data, code):
    speaker = established_with_route(scene)
    speaker.send(data)
    got = speaker.notification()
    assert (got and got[0]) == code, got
    assert speaker.closed()
    wait_until(lambda: "10.244.9.0/24" not in scene.wire.node.our_routes(), 10, "its route is gone")
    assert scene.bad()["last_error"]
    scene.healthy()


GOOD = attribute(1, b"\0") + attribute(2, struct.pack("!BBI", 2, 1, 64999)) + attribute(3, socket.inet_aton(BAD[0]))
WITHDRAWS = [
    ("no-attributes", b""),
    ("no-next-hop", GOOD[:-7]),
    ("bad-origin", attribute(1, b"\x09") + GOOD[4:]),
    ("origin-of-two-bytes", attribute(1, b"\0\0") + GOOD[4:]),
    ("broken-as-path", attribute(1, b"\0") + attribute(2, b"\x02\x09\0\0") + GOOD[-7:]),
    ("next-hop-0", GOOD[:-7] + attribute(3, b"\0\0\0\0")),
    ("med-of-one-byte", GOOD + attribute(4, b"\x01", flags=0x80)),
    ("attribute-past-the-end", GOOD + b"\x80\x08\xf0\x01"),
]


@pytest.mark.parametrize("attributes", [w[1] for w in WITHDRAWS], ids=[w[0] for w in WITHDRAWS])
def test_treat_as_withdraw(scene, attributes):
    """RFC 7606: a broken announcement costs its own prefix, not the session."""
    speaker = established_with_route(scene)
    speaker.send(update(["10.244.10.0/24"], next_hop=BAD[0], as_path=[64999]))
    wait_until(lambda: "10.244.10.0/24" in scene.wire.node.our_routes(), 10, "the second prefix is there")
    speaker.send(update(["10.244.9.0/24"], attributes=attributes))
    wait_until(lambda: "10.244.9.0/24" not in scene.wire.node.our_routes(), 10, "the prefix is withdrawn")
    assert scene.bad()["state"] == "Established" and "10.244.10.0/24" in scene.wire.node.our_routes()
    scene.node.wait_log(r"bad.*(withdraw|attribute|UPDATE)")
    scene.healthy()
    speaker.close()


def test_harmless_attributes(scene):
    """An unknown optional attribute is no reason for anything."""
    speaker = scene.connect().establish(64999)
    speaker.send(update(["10.244.9.0/24"], attributes=GOOD + attribute(231, b"whatever", flags=0xc0)))
    wait_until(lambda: "10.244.9.0/24" in scene.wire.node.our_routes(), 10, "the route is taken")
    speaker.close()


@pytest.mark.parametrize("as_path", [[64999, 64701], [64701]], ids=["behind", "first"])
def test_our_own_as_in_the_path(scene, as_path):
    speaker = established_with_route(scene)
    speaker.send(update(["10.244.9.0/24", "10.244.11.0/24"], next_hop=BAD[0], as_path=as_path))
    wait_until(lambda: "10.244.9.0/24" not in scene.wire.node.our_routes(), 10, "the loop is not taken")
    assert scene.bad()["state"] == "Established" and "10.244.11.0/24" not in scene.wire.node.our_routes()
    speaker.close()


def test_connection_from_an_unknown_address(scene):
    """Not a neighbour of ours: closed, one line in the log, and no OPEN told to a stranger."""
    stranger = Speaker.connect(scene.evil, "10.0.1.3", BAD[1])
    got = None
    try:
        stranger.send(open_message(64999))
        got = stranger.receive_until(OPEN, NOTIFICATION)
    except OSError:
        pass  # closed before we could say anything
    assert got is None or got[0] == NOTIFICATION, got
    scene.node.wait_log(r"10\.0\.1\.3")
    scene.healthy()


def test_a_storm_of_connections(scene):
    """A hundred connections, from a neighbour and from a stranger: few lines in the log, nobody else notices."""
    before = len(scene.node.log())
    for i in range(100):
        s = Speaker.connect(scene.evil, ("10.0.1.2", "10.0.1.3")[i % 2], BAD[1])
        s.sock.setblocking(False)
        try:
            s.sock.send(b"x" * 100)
        except OSError:
            pass
        s.close()
    scene.healthy()
    assert scene.node.log()[before:].count("\n") < 80
    scene_returns(scene)


def test_two_connections_from_a_neighbour(scene):
    """While a session is up a second connection does not take it down."""
    first = established_with_route(scene)
    second = scene.connect()
    try:
        second.send(open_message(64999))
        second.closed()
    except OSError:
        pass
    first.send(message(KEEPALIVE))
    assert first.receive_until(KEEPALIVE), "the first connection lives"
    assert scene.bad()["state"] == "Established" and scene.bad()["established_count"] == 1
    first.close()
    scene.healthy()


def test_peer_that_accepts_and_says_nothing(net):
    """We call, it accepts, and is silent: given up after a while, tried again, others not affected."""
    scene = Scene(net, passive=False)
    listener = Listener(scene.evil, "10.0.1.2")
    listener.start()
    wait_until(lambda: listener.accepted, 30, "we call")
    wait_until(lambda: len(listener.accepted) >= 2, 60, "we give up, and call again", scene.bad)
    assert scene.bad()["last_error"] and scene.bad()["state"] != "Established"
    listener.close()
    scene.healthy()


def test_port_in_use(wire):
    """Somebody has port 179: it is said who, with name and pid; sessions that we open work all the same."""
    squatter = wire.net.add(Process(wire.node, wire.net.dir, "squatter"))
    squatter.spawn(sys.executable, "-c", "import socket, time\ns = socket.socket()\ns.bind(('0.0.0.0', 179))\n"
                   "s.listen(1)\nprint('listening', flush=True)\ntime.sleep(1000)")
    squatter.wait_log("listening")
    switch = wire.switch(announce=[OTHER]).start()
    node = wire.underlayd().start(wait=False)
    node.wait_log(r"179")
    line = next(line for line in node.log().splitlines() if "179" in line)
    assert str(squatter.pid) in line and "python" in line, line
    node.wait_established("tor")
    assert any("179" in str(value) for value in node.status().values()), "show status mentions it"
    switch.wait_route(POD)


CONFIG = """node: {name: n1, asn: 64701}
pods:
  cidrs: [10.244.1.0/24]
  cluster-cidrs: [10.244.0.0/16]
peers:
  - {name: tor, address: 10.0.0.2, asn: 64512}
"""
CONFIG_ERRORS = [
    ("unknown-key", "asn: 64512}", "asn: 64512, bgp-timers: 3}", r":6:\d+: .*bgp-timers"),
    ("typo", "cidrs: [10.244.1.0/24]", "cidr: [10.244.1.0/24]", r":3:3: .*cidr.*cidrs"),
    ("wrong-type", "asn: 64701", "asn: lots", r":1:\d+: .*node\.asn.*lots"),
    ("bad-prefix", "10.244.1.0/24", "10.244.1.0/33", r":3:\d+: .*10\.244\.1\.0/33"),
    ("duplicate-peer", "peers:\n", "peers:\n  - {name: tor, address: 10.0.0.3, asn: 64513}\n", r":7:\d+: .*tor"),
    ("not-yaml", "cidrs: [10.244.1.0/24]", "cidrs: [10.244.1.0/24", r":\d+:\d+: "),
    ("not-supported-yet", "peers:\n", "mesh: {enabled: true}\npeers:\n", r":5:1: .*not supported yet"),
    ("tabs", "  cidrs", "\tcidrs", r":3:1: "),
]


@pytest.mark.parametrize("old, new, expected", [e[1:] for e in CONFIG_ERRORS], ids=[e[0] for e in CONFIG_ERRORS])
def test_bad_configuration(wire, old, new, expected):
    """--check and a start both refuse with status 2 and file:line:column; the kernel is not touched."""
    assert old in CONFIG
    paths = f"paths: {{run: {wire.net.dir}/run, state: {wire.net.dir}/state}}\n"
    node = wire.net.underlayd(wire.node, CONFIG + paths, "underlayd")
    assert node.check().returncode == 0, node.check()
    node.configure(CONFIG.replace(old, new) + paths)
    done = node.check()
    assert done.returncode == 2
    wait_until(lambda: __import__("re").search(str(node.config_path) + expected, done.stdout + done.stderr), 0,
               f"the message is right: {done.stdout + done.stderr}")
    node.start(wait=False)
    assert node.wait(20) == 2
    node.wait_log(str(node.config_path) + expected, timeout=1)
    assert wire.node.our_routes() == {} and not (wire.net.dir / "run").exists()


def test_all_errors_in_one_run(wire):
    node = wire.net.underlayd(wire.node, CONFIG.replace("64701", "none").replace("/24", "/99")
                              .replace("10.0.0.2", "tor.example"), "underlayd")
    done = node.check()
    assert done.returncode == 2
    text = done.stdout + done.stderr
    for line in (1, 3, 6):
        assert f"{node.config_path}:{line}:" in text, text


@pytest.mark.parametrize("arguments, status", [(["--nonsense"], 2), (["-c", "/nonexistent/underlay.yaml"], 2),
                                               (["--check", "-c", "/nonexistent/underlay.yaml"], 2),
                                               (["-c", "/tmp"], 2)], ids=str)
def test_bad_command_line(wire, arguments, status):
    from harness import BUILD, SANITIZER_ENV
    done = wire.node.run(BUILD / "underlayd", *arguments, check=False, env={**__import__("os").environ, **SANITIZER_ENV})
    assert done.returncode == status and done.stderr.strip(), done
    assert "Sanitizer" not in done.stderr


def test_garbage_on_the_control_socket(wire):
    node = wire.underlayd().start()
    for data in (b"\n", b"garbage\n", b"{}\n", b"[1,2]\n", b'{"command": 7}\n', b'{"command": "show-peers", "args": 3}\n',
                 b'{"command": "show-routes", "args": ["10.0.0.0/99"]}\n', b'{"command": "no-such"}\n',
                 b'{"command": "show-peers", "args": ["\xff\xfe"]}\n', b'{"command": "sho', b"[" * 100000 + b"\n",
                 b"x" * (1 << 20)):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.settimeout(10)
            s.connect(str(node.socket_path))
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
                while s.recv(65536):
                    pass
            except (BrokenPipeError, ConnectionResetError):
                pass
        assert node.status()
    # somebody who asks and never reads, and somebody who connects and says nothing, stop nobody
    held = []
    for _ in range(20):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.connect(str(node.socket_path))
        s.send(b'{"command": "show-routes"}\n')
        held.append(s)
    assert node.status()
    for s in held:
        s.close()
    done = node.client("show", "peers", "nobody")
    assert done.returncode == 1 and "nobody" in done.stderr, done
    assert subprocess.run(["kill", "-0", str(node.pid)], check=False).returncode == 0
