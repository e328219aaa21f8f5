"""Raw rtnetlink for tests: where ip would take seconds (100 000 routes) or a process a change (thousands of changes).

A Kernel is one socket in one namespace. Dumps answer plain values; changes raise OSError with the kernel's errno, or go out
many at once with batch(), which answers how many the kernel refused.
"""
import errno
import os
import socket
import struct

NEWLINK, DELLINK, GETLINK = 16, 17, 18
NEWADDR, DELADDR, GETADDR = 20, 21, 22
NEWROUTE, DELROUTE, GETROUTE = 24, 25, 26
NEWNEXTHOP, DELNEXTHOP, GETNEXTHOP = 104, 105, 106
REQUEST, ACK, DUMP_INTERRUPTED, REPLACE, DUMP, EXCL, CREATE = 1, 4, 16, 0x100, 0x300, 0x200, 0x400
ERROR, DONE = 2, 3
RTA_DST, RTA_OIF, RTA_GATEWAY, RTA_PRIORITY, RTA_MULTIPATH, RTA_TABLE, RTA_VIA, RTA_NH_ID = 1, 4, 5, 6, 9, 15, 18, 30
NHA_ID, NHA_GROUP, NHA_BLACKHOLE, NHA_OIF, NHA_GATEWAY = 1, 2, 4, 5, 6
UNICAST, BLACKHOLE = 1, 6
MAIN = 254
IFF_UP = 1


def attribute(kind, value):
    size = 4 + len(value)
    return struct.pack("=HH", size, kind) + value + bytes(-size % 4)


def u32(kind, value):
    return attribute(kind, struct.pack("=I", value))


def attributes(data, at, end):
    """{kind: value}; of what is there twice, the last."""
    found = {}
    while at + 4 <= end:
        size, kind = struct.unpack_from("=HH", data, at)
        found[kind & 0x3fff] = data[at + 4:at + size]
        at += size + 3 & ~3
    return found


def family_of(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def packed(address):
    return socket.inet_pton(family_of(address), address)


def text(address):
    return socket.inet_ntop(socket.AF_INET if len(address) == 4 else socket.AF_INET6, address)


def gateway_of(found):
    """The gateway of a route or a next hop, of either family (RTA_VIA has its family before it); None: none."""
    if RTA_GATEWAY in found:
        return text(found[RTA_GATEWAY])
    return text(found[RTA_VIA][2:]) if RTA_VIA in found else None


def route_body(prefix, gateway=None, oif=None, protocol=4, metric=None, table=MAIN, kind=None, scope=0):
    """A route for NEWROUTE or DELROUTE. No gateway and no oif: a blackhole when it is made, any when it is deleted."""
    address, length = prefix.split("/")
    kind = kind if kind is not None else UNICAST if gateway or oif else BLACKHOLE
    body = struct.pack("=BBBBBBBBI", family_of(address), int(length), 0, 0, MAIN if table == MAIN else 0, protocol, scope, kind, 0)
    body += attribute(RTA_DST, packed(address)) + u32(RTA_TABLE, table)
    if gateway:
        body += attribute(RTA_GATEWAY, packed(gateway))
    if oif:
        body += u32(RTA_OIF, oif)
    return body + (u32(RTA_PRIORITY, metric) if metric is not None else b"")


class Route:
    """hops is [(gateway or None, ifindex, weight, flags)], empty for a blackhole; nh_id is 0 without a next-hop object."""
    __slots__ = ("prefix", "protocol", "table", "metric", "kind", "hops", "nh_id")

    def key(self):
        return self.prefix, self.table, self.metric, self.protocol


def multipath(data):
    hops, at = [], 0
    while at + 8 <= len(data):
        size, flags, weight, oif = struct.unpack_from("=HBBI", data, at)
        hops.append((gateway_of(attributes(data, at + 8, at + size)), oif, weight + 1, flags))
        at += size + 3 & ~3
    return hops


def read_route(data, at, end):
    family, length, _, _, table, protocol, _, kind, flags = struct.unpack_from("=BBBBBBBBI", data, at)
    found = attributes(data, at + 12, end)
    r = Route()
    r.prefix = f"{text(found.get(RTA_DST, bytes(4 if family == socket.AF_INET else 16)))}/{length}"
    r.protocol, r.kind = protocol, kind
    r.table = struct.unpack("=I", found[RTA_TABLE])[0] if RTA_TABLE in found else table
    r.metric = struct.unpack("=I", found[RTA_PRIORITY])[0] if RTA_PRIORITY in found else 0
    r.nh_id = struct.unpack("=I", found[RTA_NH_ID])[0] if RTA_NH_ID in found else 0
    if RTA_MULTIPATH in found:
        r.hops = multipath(found[RTA_MULTIPATH])
    elif kind == UNICAST:
        r.hops = [(gateway_of(found), struct.unpack("=I", found.get(RTA_OIF, bytes(4)))[0], 1, flags & 0xff)]
    else:
        r.hops = []
    return r


def read_next_hop(data, at, end):
    """(id, value): a list of (id, weight) for a group, (gateway or None, ifindex) for one, None for a blackhole."""
    protocol, found = data[at + 2], attributes(data, at + 8, end)
    number = struct.unpack("=I", found[NHA_ID])[0]
    if NHA_GROUP in found:
        value = [(i, (low | high << 8) + 1) for i, low, high, _ in struct.iter_unpack("=IBBH", found[NHA_GROUP])]
    elif NHA_BLACKHOLE in found:
        value = None
    else:
        value = (text(found[NHA_GATEWAY]) if NHA_GATEWAY in found else None,
                 struct.unpack("=I", found.get(NHA_OIF, bytes(4)))[0])
    return number, value, protocol


class Kernel:
    def __init__(self, ns):
        self.sock = ns.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        self.sock.bind((0, 0))
        self.sock.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)  # SO_RCVBUFFORCE
        self.sock.setsockopt(270, 12, 1)  # NETLINK_GET_STRICT_CHK
        self.sock.settimeout(20)
        self.seq = 0

    def close(self):
        self.sock.close()

    # --- dumps

    def _dump_once(self, kind, body, take):
        self.seq += 1
        self.sock.send(struct.pack("=IHHII", 16 + len(body), kind, REQUEST | DUMP, self.seq, 0) + body)
        rows, whole = [], True
        while True:
            data, at = self.sock.recv(1 << 17), 0
            while at < len(data):
                size, what, flags, seq, _ = struct.unpack_from("=IHHII", data, at)
                whole &= not flags & DUMP_INTERRUPTED
                if what in (DONE, ERROR):
                    code = -struct.unpack_from("=i", data, at + 16)[0]
                    if code not in (0, errno.ENOENT, errno.EOPNOTSUPP):
                        raise OSError(code, os.strerror(code))
                    return rows if whole else None
                if seq == self.seq:
                    rows.append(take(data, at + 16, at + size))
                at += size + 3 & ~3

    def dump(self, kind, body, take):
        """All rows of a dump that no change interrupted."""
        while True:
            rows = self._dump_once(kind, body, take)
            if rows is not None:
                return rows

    def routes(self, protocol=0, table=MAIN):
        """Of both families; protocol 0: everybody's."""
        return [r for family in (socket.AF_INET, socket.AF_INET6)
                for r in self.dump(GETROUTE, struct.pack("=BBBBBBBBI", family, 0, 0, 0, table, protocol, 0, 0, 0), read_route)
                if r.kind in (UNICAST, BLACKHOLE) and r.table == table]

    def next_hops(self):
        """{id: value} of the objects, whosoever they are, see read_next_hop()."""
        return {number: value for number, value, _ in self.dump(GETNEXTHOP, bytes(8), read_next_hop)}

    def addresses(self):
        """{address}, of all links."""
        return set(self.dump(GETADDR, bytes(8), lambda data, at, end: text(
            (found := attributes(data, at + 8, end)).get(2, found.get(1)))))

    # --- changes

    def batch(self, messages):
        """[(type, flags, body)]: all of them, some hundred at once. Answers {errno: how many}, without 0."""
        refused = {}
        for first in range(0, len(messages), 200):
            part = messages[first:first + 200]
            data = b""
            for kind, flags, body in part:
                self.seq += 1
                data += struct.pack("=IHHII", 16 + len(body), kind, REQUEST | ACK | flags, self.seq, 0) + body
                data += bytes(-len(data) % 4)
            self.sock.send(data)
            self._collect(len(part), refused)
        return refused

    def _collect(self, count, refused):
        while count:
            data, at = self.sock.recv(1 << 17), 0
            while at < len(data):
                size, what, _, _, _ = struct.unpack_from("=IHHII", data, at)
                code = -struct.unpack_from("=i", data, at + 16)[0] if what == ERROR else 0
                if code:
                    refused[code] = refused.get(code, 0) + 1
                count -= what == ERROR
                at += size + 3 & ~3

    def attempt(self, kind, flags, body):
        """A change that may be refused. True: it was made."""
        return not self.batch([(kind, flags, body)])

    def change(self, kind, flags, body):
        for code in self.batch([(kind, flags, body)]):
            raise OSError(code, os.strerror(code))

    def add_route(self, prefix, gateway=None, replace=False, **kw):
        self.change(NEWROUTE, CREATE | (REPLACE if replace else EXCL), route_body(prefix, gateway, **kw))

    def delete_route(self, prefix, **kw):
        self.change(DELROUTE, 0, route_body(prefix, kind=0, scope=255, **kw))

    def delete_routes(self, routes):
        """Routes as dumped, all at once; some may be gone by now."""
        self.batch([(DELROUTE, 0, route_body(r.prefix, kind=0, scope=255, protocol=r.protocol, metric=r.metric, table=r.table))
                    for r in routes])

    def set_link(self, ifindex, up):
        self.change(NEWLINK, 0, struct.pack("=BBHiII", 0, 0, 0, ifindex, IFF_UP if up else 0, IFF_UP))

    def set_address(self, ifindex, address, there=True):
        """address with its length; IPv6 without duplicate address detection."""
        host, length = address.split("/")
        body = struct.pack("=BBBBI", family_of(host), int(length), 0x02 if ":" in host else 0, 0, ifindex)
        body += attribute(2, packed(host)) + attribute(1, packed(host))  # IFA_LOCAL, IFA_ADDRESS
        self.change(NEWADDR if there else DELADDR, CREATE | REPLACE if there else 0, body)
