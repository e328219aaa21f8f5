"""A BGP peer that holds on: it has a table of routes, tells it whenever there is a session, and comes back when there is none.

Each is a thread. What the test changes while there is no session is told with the next one, which ends with End-of-RIB.
"""
import contextlib
import select
import socket
import struct
import threading
import time

from speaker import KEEPALIVE, NOTIFICATION, ROUTE_REFRESH, UPDATE, Speaker, attribute, message, open_message, prefix_bytes, capability

AT_ONCE = 250  # prefixes of 13 bytes at most, with their attributes below the 4096 of a message
MP_REACH, MP_UNREACH = 14, 15
IPV6 = struct.pack("!HB", 2, 1)


def prefix6_bytes(prefix):
    address, length = prefix.split("/")
    return bytes([int(length)]) + socket.inet_pton(socket.AF_INET6, address)[: (int(length) + 7) // 8]


def long_attribute(code, value, flags=0x80):
    return struct.pack("!BBH", flags | 0x10, code, len(value)) + value


def link_bandwidth(bytes_a_second):
    """The extended community that shares traffic out among next hops."""
    return attribute(16, struct.pack("!BBHf", 0x40, 4, 64512, bytes_a_second), 0xc0)


def words(asn, next_hop=None, internal=False, more=b"", longer=0):
    """The attributes of a route, without those of IPv6; longer: so many AS more in its path."""
    path = ([] if internal else [asn]) + list(range(65100, 65100 + longer))
    path = struct.pack("!BB", 2, len(path)) + b"".join(struct.pack("!I", a) for a in path) if path else b""
    return (attribute(1, b"\0") + attribute(2, path) + (attribute(3, socket.inet_aton(next_hop)) if next_hop else b"")
            + (attribute(5, struct.pack("!I", 100)) if internal else b"") + more)


def update_message(withdrawn, attributes, prefixes):
    return message(UPDATE, struct.pack("!H", len(withdrawn)) + withdrawn + struct.pack("!H", len(attributes)) + attributes + prefixes)


def slices(items):
    for first in range(0, len(items), AT_ONCE):
        yield items[first:first + AT_ONCE]


class SteadyPeer(threading.Thread):
    def __init__(self, ns, source, destination, asn, internal=False, hold=90):
        super().__init__(daemon=True)
        self.ns, self.source, self.destination, self.asn, self.internal, self.hold = ns, source, destination, asn, internal, hold
        self.table = {}  # prefix: (next hop, more attributes, AS more in the path)
        self.lock = threading.Lock()
        self.speaker, self.ending, self.wanted, self.sessions = None, False, True, 0
        self.start()

    # --- what the test does

    def announce(self, prefixes, next_hop, more=b"", longer=0):
        """next_hop: (IPv4, IPv6)"""
        with self.lock:
            for p in prefixes:
                self.table[p] = next_hop, more, longer
            self._tell(self._announcements({(next_hop, more, longer): list(prefixes)}))

    def withdraw(self, prefixes):
        with self.lock:
            for p in prefixes:
                self.table.pop(p, None)
            self._tell(self._withdrawals(list(prefixes)))

    def down(self):
        """Ends the session as a crash does, and stays away until up()."""
        with self.lock:
            self.wanted = False
            if self.speaker:
                with contextlib.suppress(OSError):  # the other end has just ended it
                    self.speaker.sock.shutdown(socket.SHUT_RDWR)

    def up(self):
        self.wanted = True

    def nudge(self):
        """Says something, so that a session that only this end believes in is found out."""
        with self.lock:
            self._tell([message(KEEPALIVE)])

    def end(self):
        self.ending = True
        self.down()
        self.join(20)

    # --- words

    def _announcements(self, by_words):
        for (next_hop, more, longer), prefixes in by_words.items():
            four, six = [p for p in prefixes if ":" not in p], [p for p in prefixes if ":" in p]
            own = words(self.asn, None, self.internal, more, longer)
            for some in slices(four):
                yield update_message(b"", words(self.asn, next_hop[0], self.internal, more, longer),
                                     b"".join(map(prefix_bytes, some)))
            for some in slices(six):
                hop = socket.inet_pton(socket.AF_INET6, next_hop[1])
                reach = IPV6 + bytes([16]) + hop + b"\0" + b"".join(map(prefix6_bytes, some))
                yield update_message(b"", long_attribute(MP_REACH, reach) + own, b"")

    def _withdrawals(self, prefixes):
        for some in slices([p for p in prefixes if ":" not in p]):
            yield update_message(b"".join(map(prefix_bytes, some)), b"", b"")
        for some in slices([p for p in prefixes if ":" in p]):
            yield update_message(b"", long_attribute(MP_UNREACH, IPV6 + b"".join(map(prefix6_bytes, some))), b"")

    def _everything(self):
        by_words = {}
        for p, w in self.table.items():
            by_words.setdefault(w, []).append(p)
        yield from self._announcements(by_words)
        yield update_message(b"", b"", b"")
        yield update_message(b"", attribute(MP_UNREACH, IPV6, 0x80), b"")

    def _tell(self, messages):
        if not self.speaker:
            return
        try:
            self.speaker.send(b"".join(messages))
        except OSError:
            self.speaker = None  # run() notices, and tells all of it the next time

    # --- the session

    def _connect(self):
        families = capability(1, IPV6[:2] + b"\0\1") + capability(2)
        sock = self.ns.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            sock.settimeout(2)
            sock.bind((self.source, 0))
            sock.connect((self.destination, 179))
            speaker = Speaker(sock)
            speaker.send(open_message(self.asn, self.source, self.hold, more=families))
            opened = speaker.receive()
            if opened is None or opened[0] == NOTIFICATION:
                raise OSError("no session")
            speaker.send(message(KEEPALIVE))
            if (speaker.receive() or (NOTIFICATION,))[0] == NOTIFICATION:
                raise OSError("no session")
            return speaker
        except BaseException:
            sock.close()
            raise

    def _serve(self, speaker):
        due = time.monotonic() + self.hold / 3
        while not self.ending:
            ready = bool(speaker.buffer) or select.select([speaker.sock], [], [], max(0, due - time.monotonic()))[0]
            got = speaker.receive() if ready else ()
            if got is None:
                return
            if got and got[0] == ROUTE_REFRESH:
                with self.lock:
                    speaker.send(b"".join(self._everything()))
            if time.monotonic() >= due:
                with self.lock:
                    speaker.send(message(KEEPALIVE))
                due = time.monotonic() + self.hold / 3

    def _one_session(self):
        speaker = self._connect()
        try:
            with self.lock:
                if not self.wanted:
                    return
                speaker.send(b"".join(self._everything()))
                self.speaker = speaker
                self.sessions += 1
            self._serve(speaker)
        finally:
            with self.lock:
                self.speaker = None
                speaker.close()

    def run(self):
        while not self.ending:
            if self.wanted:
                with contextlib.suppress(OSError):
                    self._one_session()
            time.sleep(0.05)
