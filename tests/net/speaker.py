"""A BGP speaker of a few lines, for saying what no proper implementation would say."""
import socket
import struct

OPEN, UPDATE, NOTIFICATION, KEEPALIVE, ROUTE_REFRESH = 1, 2, 3, 4, 5
MARKER = b"\xff" * 16


def message(kind, body=b"", length=None, marker=MARKER):
    return marker + struct.pack("!HB", 19 + len(body) if length is None else length, kind) + body


def capability(code, value=b""):
    return bytes([2, 2 + len(value), code, len(value)]) + value


def open_message(asn, router_id="192.0.2.99", hold=9, version=4, four_byte=True, ipv4=True, more=b""):
    parameters = more
    if ipv4:
        parameters += capability(1, struct.pack("!HBB", 1, 0, 1))
    if four_byte:
        parameters += capability(65, struct.pack("!I", asn))
    return message(OPEN, struct.pack("!BHH4sB", version, asn if asn < 65536 else 23456, hold,
                                     socket.inet_aton(router_id), len(parameters)) + parameters)


def prefix_bytes(prefix):
    address, length = prefix.split("/")
    return bytes([int(length)]) + socket.inet_aton(address)[: (int(length) + 7) // 8]


def attribute(code, value, flags=0x40):
    return struct.pack("!BBB", flags, code, len(value)) + value


def update(prefixes=(), next_hop="192.0.2.1", as_path=(), withdrawn=(), attributes=None):
    """as_path is one AS_SEQUENCE of 4-byte numbers; attributes, where given, replace all of them."""
    if attributes is None:
        segment = struct.pack("!BB", 2, len(as_path)) + b"".join(struct.pack("!I", a) for a in as_path) if as_path else b""
        attributes = (attribute(1, b"\0") + attribute(2, segment) + attribute(3, socket.inet_aton(next_hop))
                      if prefixes else b"")
    gone = b"".join(map(prefix_bytes, withdrawn))
    return message(UPDATE, struct.pack("!H", len(gone)) + gone + struct.pack("!H", len(attributes)) + attributes
                   + b"".join(map(prefix_bytes, prefixes)))


class Speaker:
    """One connection. Messages come back as (type, body); None when the other side has closed."""

    def __init__(self, sock):
        self.sock = sock
        self.sock.settimeout(20)
        self.buffer = b""

    @classmethod
    def connect(cls, ns, source, destination, port=179):
        sock = ns.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.settimeout(20)
        sock.bind((source, 0))
        sock.connect((destination, port))
        return cls(sock)

    def send(self, data):
        self.sock.sendall(data)
        return self

    def receive(self):
        while len(self.buffer) < 19 or len(self.buffer) < struct.unpack("!H", self.buffer[16:18])[0]:
            try:
                more = self.sock.recv(65536)
            except ConnectionResetError:
                more = b""
            if not more:
                return None
            self.buffer += more
        length = struct.unpack("!H", self.buffer[16:18])[0]
        kind, body = self.buffer[18], self.buffer[19:length]
        self.buffer = self.buffer[length:]
        return kind, body

    def receive_until(self, *kinds):
        """Skips messages of other types; None when the connection ends first."""
        while True:
            got = self.receive()
            if got is None or got[0] in kinds:
                return got

    def establish(self, asn, **kw):
        """OPEN and KEEPALIVE both ways."""
        self.send(open_message(asn, **kw))
        assert self.receive_until(OPEN, NOTIFICATION)[0] == OPEN
        self.send(message(KEEPALIVE))
        assert self.receive_until(KEEPALIVE, NOTIFICATION)[0] == KEEPALIVE
        return self

    def notification(self):
        """(code, subcode, data) of the next NOTIFICATION; None when the connection ends without one."""
        got = self.receive_until(NOTIFICATION)
        return got and (got[1][0], got[1][1], got[1][2:])

    def closed(self):
        """Reads to the end; the socket's timeout makes this fail when there is no end."""
        while self.receive() is not None:
            pass
        return True

    def close(self):
        self.sock.close()
