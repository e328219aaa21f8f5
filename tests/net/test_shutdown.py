"""Ends that were announced: shutdown text (RFC 9003) and the GRACEFUL_SHUTDOWN community (RFC 8326)."""
import socket
import struct

from harness import wait_until
from speaker import NOTIFICATION, Speaker, attribute, message, update

PREFIX = "10.244.2.0/24"


def test_the_words_of_a_shutdown_are_shown(wire):
    switch = wire.switch().start()
    node = wire.underlayd().start().wait_established("tor")
    switch.ctl("disable", "b0", '"new line cards, back at six"')
    wait_until(lambda: "new line cards, back at six" in (node.peer("tor")["last_error"] or ""), 10, "the words are shown",
               lambda: node.peer("tor")["last_error"])
    assert "Administrative Shutdown" in node.peer("tor")["last_error"]


def test_words_that_are_none(wire):
    """Lengths that lie, control characters, bytes that are no text: shown as far as they go, and harmless."""
    node = wire.underlayd(passive=True, hold_time="90s").start()
    for data in (b"", b"\xff", b"\xffabc", b"\x05ab", b"\x03a\nb", b"\x02\xff\xfe", bytes([128]) + b"x" * 128):
        peer = Speaker.connect(wire.tor, "10.0.0.2", "10.0.0.1").establish(64512, hold=90)
        node.wait_established("tor")
        peer.send(message(NOTIFICATION, bytes([6, 2]) + data))
        wait_until(lambda: node.peer("tor")["state"] != "Established", 10, "the session is over")
        assert "Administrative Shutdown" in node.peer("tor")["last_error"]
        peer.close()
    assert "x" * 100 in node.peer("tor")["last_error"]


def test_graceful_shutdown_makes_a_path_the_last_choice(wire):
    wire.tor.ip("address", "add", "10.0.0.5/29", "dev", "eth0")
    wire.node.ip("address", "add", "10.0.0.1/29", "dev", "eth0")
    config = wire.config(passive=True, hold_time="90s")
    config["peers"].append({**config["peers"][0], "name": "other", "address": "10.0.0.5", "asn": 64513})
    node = wire.net.underlayd(wire.node, config).start()
    first = Speaker.connect(wire.tor, "10.0.0.2", "10.0.0.1").establish(64512, hold=90, router_id="10.0.0.2")
    other = Speaker.connect(wire.tor, "10.0.0.5", "10.0.0.1").establish(64513, hold=90, router_id="10.0.0.5")
    first.send(update([PREFIX], "10.0.0.2", [64512]))
    other.send(update([PREFIX], "10.0.0.5", [64513, 65000]))
    wait_until(lambda: node.used().get(PREFIX) == ["10.0.0.2"], 10, "the shorter path is used", node.used)
    leaving = (attribute(1, b"\0") + attribute(2, struct.pack("!BBI", 2, 1, 64512)) + attribute(3, socket.inet_aton("10.0.0.2")) +
               attribute(8, b"\xff\xff\0\0", 0xc0))
    first.send(update([PREFIX], attributes=leaving))
    wait_until(lambda: node.used().get(PREFIX) == ["10.0.0.5"], 10, "the longer one now", node.used)
    assert [r["local_pref"] for r in node.routes(PREFIX) if r["source"] == "tor"] == [0]
