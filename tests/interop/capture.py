"""What two speakers really said to each other: every packet of a namespace, put together to BGP messages.

A view of either side can be wrong about itself; this one is neither's. Also the source of what only the wire
shows: TTLs, TCP-MD5 signatures, whether a capability was announced, the words of a NOTIFICATION.
"""
import dataclasses
import ipaddress
import socket
import struct
import threading

OPEN, UPDATE, NOTIFICATION, KEEPALIVE, REFRESH = 1, 2, 3, 4, 5
TCP_MD5 = 19
ETH_P_ALL, ETH_P_IP, ETH_P_IPV6 = 3, 0x0800, 0x86dd


@dataclasses.dataclass
class Message:
    sender: str
    receiver: str
    kind: int
    body: bytes


class Stream:
    """One direction of one TCP connection, from its SYN on."""

    def __init__(self, sequence):
        self.next, self.early, self.buffer = sequence, {}, b""

    def add(self, sequence, data):
        self.early[sequence] = data
        while self.next in self.early:
            data = self.early.pop(self.next)
            self.buffer += data
            self.next = (self.next + len(data)) & 0xffffffff
            if not data:
                break

    def messages(self):
        while len(self.buffer) >= 19:
            length, kind = struct.unpack("!HB", self.buffer[16:19])
            if len(self.buffer) < length or length < 19:
                return
            body, self.buffer = self.buffer[19:length], self.buffer[length:]
            yield kind, body


def has_option(options, kind):
    while options and options[0] != 0:
        if options[0] == kind:
            return True
        options = options[1:] if options[0] == 1 else options[max(options[1], 2):] if len(options) > 1 else b""
    return False


class Capture(threading.Thread):
    """Listens from its construction on until close()."""

    def __init__(self, ns):
        super().__init__(daemon=True)
        self.socket = ns.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.lock = threading.Lock()
        self.streams, self.said = {}, []
        self.ttls, self.signed = {}, {}   # of every TCP packet: sender -> set of TTLs; sender -> set of True, False
        self.start()

    def run(self):
        while True:
            try:
                packet, (_, protocol, *_) = self.socket.recvfrom(1 << 17)
            except OSError:
                return
            with self.lock:
                self.packet(packet, protocol)

    def packet(self, p, protocol):
        if protocol == ETH_P_IP and p[9] == socket.IPPROTO_TCP:
            header, end, ttl, ends = (p[0] & 15) * 4, struct.unpack("!H", p[2:4])[0], p[8], (p[12:16], p[16:20])
        elif protocol == ETH_P_IPV6 and p[6] == socket.IPPROTO_TCP:
            header, end, ttl, ends = 40, 40 + struct.unpack("!H", p[4:6])[0], p[7], (p[8:24], p[24:40])
        else:
            return
        sender, receiver = (str(ipaddress.ip_address(e)) for e in ends)
        tcp = p[header:end]
        sport, dport, sequence = struct.unpack("!HHI", tcp[:8])
        data_at, flags = (tcp[12] >> 4) * 4, tcp[13]
        if 179 not in (sport, dport):
            return
        if not flags & 4:  # a RST for a connection that is not there cannot be signed, and has a TTL of its own
            self.ttls.setdefault(sender, set()).add(ttl)
            self.signed.setdefault(sender, set()).add(has_option(tcp[20:data_at], TCP_MD5))
        key = (sender, sport, receiver, dport)
        if flags & 2:
            self.streams[key] = Stream((sequence + 1) & 0xffffffff)
        elif key in self.streams:
            self.streams[key].add(sequence, tcp[data_at:])
            for kind, body in self.streams[key].messages():
                self.said.append(Message(sender, receiver, kind, body))

    def messages(self, sender, *kinds):
        """All that sender said so far, of these kinds, oldest first."""
        with self.lock:
            return [m for m in self.said if m.sender == sender and (not kinds or m.kind in kinds)]

    def capabilities(self, sender):
        """{code: [values]} of its last OPEN; None where it sent none."""
        opens = self.messages(sender, OPEN)
        return capabilities(opens[-1].body) if opens else None

    def close(self):
        self.socket.close()


def capabilities(body):
    found, at, width = {}, 10, 1
    if len(body) > 12 and body[9] == 255 and body[10] == 255:  # RFC 9072
        at, width = 13, 2
    while at + 1 + width <= len(body):
        kind, length = body[at], int.from_bytes(body[at + 1:at + 1 + width], "big")
        value, at = body[at + 1 + width:at + 1 + width + length], at + 1 + width + length
        while kind == 2 and len(value) >= 2:
            found.setdefault(value[0], []).append(value[2:2 + value[1]])
            value = value[2 + value[1]:]
    return found


def attributes(body):
    """{type: value} of an UPDATE."""
    at = 2 + struct.unpack("!H", body[:2])[0]
    end, found = at + 2 + struct.unpack("!H", body[at:at + 2])[0], {}
    at += 2
    while at + 3 <= end:
        flags, kind = body[at], body[at + 1]
        wide = bool(flags & 0x10)
        length = int.from_bytes(body[at + 2:at + 3 + wide], "big")
        found[kind] = body[at + 3 + wide:at + 3 + wide + length]
        at += 3 + wide + length
    return found
