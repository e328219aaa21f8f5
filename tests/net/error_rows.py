"""The list of malformed messages and common mistakes, as bytes that a neighbour sends over a real session: one table.

A row is (number, what, expected reaction, kind of session, bytes). Numbers are those of the project's list
(tests/error_rows.txt names them all, "m" before one means a common mistake); test_error_rows.py sends them. In hex text
O, P and N stand for a good ORIGIN, AS_PATH (the peer, then NEW_AS) and NEXT_HOP; the rest is hex digits.
"""
import dataclasses
import socket
import struct

from speaker import KEEPALIVE, NOTIFICATION, OPEN, ROUTE_REFRESH, UPDATE, capability, message, open_message

LOCAL_AS, NEW_AS = 64701, 65333
NET, NET6 = "NET", "NET6"  # in NLRI: the row's own prefix

# Kinds of sessions. E: external, I: internal; 4, 2: AS numbers of that many bytes; e4 has IPv6 as well, and extended
# messages.
KINDS = ("e4", "e2", "i4")


@dataclasses.dataclass
class Expect:
    reaction: str           # of the fault that show peers tells; None: no fault
    code: int = 3
    subcode: int = None
    attribute: int = None   # at fault
    data: str = None        # hex; None: not looked at


def W(subcode, attribute=None):
    return Expect("routes treated as withdrawn", 3, subcode, attribute)


def D(subcode, attribute=None):
    return Expect("attribute dropped", 3, subcode, attribute)


def R(code, subcode, data=None, attribute=None):
    return Expect("session reset", code, subcode, attribute, data)


OK = Expect(None)
# Nothing is to be learned, and nobody did wrong: the message is passed over.
IGNORED = Expect("ignored")
# No fault, but the earlier route is gone as well.
SILENT = Expect("silently withdrawn")


@dataclasses.dataclass
class Row:
    number: str
    what: str
    expect: Expect
    attrs: str = "O P N"
    kind: str = "e4"
    nlri: str = NET          # hex, or NET
    withdrawn: str = ""
    log: str = None          # a line that must be there
    sent_on: dict = None     # what an observer is told: {attribute: flags, or None: not there}
    shown: dict = None       # what show routes says of the new version; None: that its path holds NEW_AS
    learned: str = None      # the prefix that is learned, where it is not the row's own
    raw: bytes = None        # the whole message instead
    peer: str = None

    def body(self, asn, prefix, prefix6):
        if self.raw is not None:
            return self.raw
        put = lambda text: pack(text, self.kind, asn, prefix, prefix6)  # noqa: E731
        gone, attrs = put(self.withdrawn), put(self.attrs)
        return message(UPDATE, struct.pack("!H", len(gone)) + gone + struct.pack("!H", len(attrs)) + attrs + put(self.nlri))


def pack(text, kind, asn, prefix, prefix6):
    out = b""
    for word in text.split():
        if word == "O":
            out += bytes.fromhex("40010100")
        elif word == "P":
            out += path(kind, asn)
        elif word == "N":
            out += bytes.fromhex("400304") + socket.inet_aton("10.0.1.2")
        elif word == NET:
            out += bytes([24]) + socket.inet_aton(prefix)[:3]
        elif word == NET6:
            out += bytes([48]) + socket.inet_pton(socket.AF_INET6, prefix6)[:6]
        elif word == "ASN":
            out += asn.to_bytes(2 if kind == "e2" else 4, "big")
        else:
            out += bytes.fromhex(word)
    return out


def path(kind, asn):
    """Inside, it begins with the second."""
    numbers = [NEW_AS] if kind == "i4" else [asn, NEW_AS]
    width = 2 if kind == "e2" else 4
    value = bytes([2, len(numbers)]) + b"".join(n.to_bytes(width, "big") for n in numbers)
    return bytes([0x40, 2, len(value)]) + value


H6, L6, Z6 = "fd000001000000000000000000000002", "fe800000000000000000000000000002", "0" * 32
TWENTY = "000102030405060708090a0b0c0d0e0f10111213"
MP = "800e0d 0001 01 04 0a000102 00"   # ends before its one IPv4 prefix, of 4 bytes
MP6 = "800e1c 0002 01 10 " + H6 + " 00"  # likewise for IPv6, of 7

# --- the session goes on

UPDATES = [
    Row("1", "ORIGIN with Optional", W(4, 1), "c0010100 P N"),
    Row("1", "ORIGIN with Partial", W(4, 1), "60010100 P N"),
    Row("2", "ORIGIN length 0", W(6, 1), "400100 P N"),
    Row("2", "ORIGIN length 2", W(6, 1), "4001020000 P N"),
    Row("4", "AS_PATH segment type 0", W(11, 2), "O 4002060001 ASN N"),
    Row("4", "AS_PATH segment type 5", W(11, 2), "O 4002060501 ASN N"),
    Row("5", "AS_PATH segment without numbers", W(11, 2), "O 4002080201 ASN 0200 N"),
    Row("7", "AS_PATH with an octet behind its last segment", W(11, 2), "O 4002070201 ASN 02 N"),
    Row("7", "the same of 2-byte numbers", W(11, 2), "O 4002050201 ASN 02 N", "e2"),
    Row("9", "AS_SET", W(11, 2), "O 40020c0201 ASN 01010000fbf1 N"),
    Row("9", "AS_CONFED_SET", W(11, 2), "O 40020c04010000fbf10201 ASN N"),
    Row("10", "AS_CONFED_SEQUENCE", W(11, 2), "O 40020c03010000fbf10201 ASN N"),
    Row("11", "a path of AS_CONFED_SEQUENCE alone", W(11, 2), "O 4002060301 ASN N"),
    Row("11", "an empty path from outside", W(11), "O 400200 N"),
    Row("12", "first AS is not the peer's", W(11), "O 40020602010000fbf1 N"),
    Row("12", "the same of 2-byte numbers", W(11), "O 4002040201fbf1 N", "e2"),
    Row("14", "NEXT_HOP length 0", W(8, 3), "O P 400300"),
    Row("14", "NEXT_HOP length 3", W(8, 3), "O P 4003030a0001"),
    Row("14", "NEXT_HOP length 5", W(8, 3), "O P 4003050a00010200"),
    Row("15", "NEXT_HOP 0.0.0.0", W(8, 3), "O P 40030400000000"),
    Row("15", "NEXT_HOP 127.0.0.1", W(8, 3), "O P 4003047f000001"),
    Row("15", "NEXT_HOP 224.0.0.1", W(8, 3), "O P 400304e0000001"),
    Row("18", "MED length 0", W(5, 4), "O P N 800400"),
    Row("18", "MED length 3", W(5, 4), "O P N 800403000001"),
    Row("18", "MED length 5", W(5, 4), "O P N 8004050000000100"),
    Row("18", "MED with Transitive", W(4, 4), "O P N c00404 00000001"),
    Row("19", "LOCAL_PREF length 0 from inside", W(5, 5), "O P N 400500", "i4"),
    Row("19", "LOCAL_PREF length 3 from inside", W(5, 5), "O P N 400503000064", "i4"),
    Row("19", "LOCAL_PREF length 5 from inside", W(5, 5), "O P N 4005050000006400", "i4"),
    Row("20", "LOCAL_PREF from outside", OK, "O P N 400504000001f4", shown={"local_pref": 100}, sent_on={5: None}),
    Row("20", "broken LOCAL_PREF from outside", OK, "O P N 400503000064", shown={"local_pref": 100}),
    Row("21", "ATOMIC_AGGREGATE length 1", D(5, 6), "O P N 40060100", sent_on={6: None}),
    Row("23", "AGGREGATOR AS 0", D(9, 7), "O P N c00708000000000a000001", sent_on={7: None}),
    Row("23", "the same of 2 bytes", D(9, 7), "O P N c0070600000a000001", "e2", sent_on={7: None}),
    Row("24", "COMMUNITIES length 0", W(9, 8), "O P N c00800"),
    Row("24", "COMMUNITIES length 5", W(9, 8), "O P N c00805fbf0000100"),
    Row("25", "COMMUNITIES without Transitive", W(4, 8), "O P N 800804fbf00001"),
    Row("26", "ORIGINATOR_ID length 3 from inside", W(5, 9), "O P N 8009030a0000", "i4"),
    Row("26", "ORIGINATOR_ID length 5 from inside", W(5, 9), "O P N 8009050a00000100", "i4"),
    Row("26", "ORIGINATOR_ID length 3 from outside", OK, "O P N 8009030a0000", sent_on={9: None}),
    Row("28", "EXT_COMMUNITIES length 0", W(9, 16), "O P N c01000"),
    Row("28", "EXT_COMMUNITIES length 9", W(9, 16), "O P N c010090002fbf00000000100"),
    Row("29", "IPv6 EXT_COMMUNITIES length 0", W(9, 25), "O P N c01900"),
    Row("29", "IPv6 EXT_COMMUNITIES length 21", W(9, 25), "O P N c01915 " + TWENTY + " 14"),
    Row("30", "an IPv6 community of 20 bytes in attribute 16", W(9, 16), "O P N c01014 " + TWENTY),
    Row("30", "24 bytes there that look like it", OK, "O P N c01018 " + TWENTY + " 14151617", sent_on={16: 0xc0}),
    Row("31", "LARGE_COMMUNITIES length 0", W(9, 32), "O P N c02000"),
    Row("31", "LARGE_COMMUNITIES length 13", W(9, 32), "O P N c0200d000102030405060708090a0b0c"),
    Row("31", "LARGE_COMMUNITIES without Transitive", W(4, 32), "O P N 80200c000102030405060708090a0b"),
    Row("32", "OTC length 3", W(None, 35), "O P N c02303000001"),
    Row("32", "OTC length 5", W(None, 35), "O P N c023050000fbf000"),
    Row("32", "OTC 0", W(None, 35), "O P N c0230400000000"),
    Row("32", "OTC without Transitive", W(4, 35), "O P N 8023040000fbf0"),
    Row("34", "AS4_AGGREGATOR length 7", D(9, 18), "O P N c007065ba00a000001 c01207000100000a0000", "e2"),
    Row("34", "AS4_AGGREGATOR length 9", D(9, 18), "O P N c01209000100000a00000100"),
    Row("35", "AS4_PATH from an AS4 peer", D(9, 17), "O P N c01106020100010000", shown={"as_path": "PEER 65333"}),
    Row("36", "AS4_PATH longer than AS_PATH", OK, "O P N c0110e02030001000000010001 00010002", "e2",
        shown={"as_path": "PEER 65333"}),
    Row("38", "AIGP with Transitive", D(None, 26), "O P N c01a0b01000b0000000000000005", "i4", sent_on={26: None}),
    Row("38", "AIGP with a TLV that nobody knows", D(None, 26), "O P N 801a06 020006000000", "i4", sent_on={26: None}),
    Row("38", "AIGP TLV of length 10", D(None, 26), "O P N 801a0a01000a00000000000000", "i4", sent_on={26: None}),
    Row("38", "AIGP without a TLV", D(None, 26), "O P N 801a00", "i4", sent_on={26: None}),
    Row("39", "AIGP TLV past its attribute", D(None, 26), "O P N 801a0b01ffff0000000000000005", "i4", sent_on={26: None}),
    Row("40", "PREFIX_SID with half a TLV header", D(None, 40), "O P N c028020100", "i4", sent_on={40: None}),
    Row("40", "PREFIX_SID TLV past its attribute", D(None, 40), "O P N c0280a 0100ff00000000000001", "i4", sent_on={40: None}),
    Row("40", "PREFIX_SID label index of 6 bytes", D(None, 40), "O P N c02809010006000000000001", "i4", sent_on={40: None}),
    Row("41", "PREFIX_SID with a broken SRv6 service TLV", W(None, 40), "O P N c0280605000300ffff", "i4"),
    Row("43", "TUNNEL_ENCAP length 3", W(None, 23), "O P N c01703000800"),
    Row("43", "TUNNEL_ENCAP sub-TLV past its tunnel", W(None, 23), "O P N c01708000800040109aabb"),
    Row("43", "TUNNEL_ENCAP shorter than its TLV says", W(None, 23), "O P N c01706000800ff0100"),
    Row("45", "attribute 28 with junk", OK, "O P N c01c03abcdef", sent_on={28: 0xe0}),
    Row("45", "attribute 28 with junk, not transitive", OK, "O P N 801c03abcdef", sent_on={28: None}),
    Row("46", "unknown optional transitive with junk", OK, "O P N c0c8050102030405", sent_on={200: 0xe0}),
    Row("47", "unknown optional non-transitive", OK, "O P N 80c8050102030405", sent_on={200: None}),
    Row("50", "a malformed BGP-LS attribute", D(9, 29), "O P N 801d03040000", sent_on={29: None}),
    Row("51", "MED twice", OK, "O P N 80040400000007 80040400000008", shown={"med": 7}),
    Row("54", "3 bytes left with the extended-length flag", W(1), "O P N d0c800"),
    Row("55", "the last attribute's length exceeds the list", W(1), "O P N c0c80900"),
    Row("55", "the same from inside", W(1), "O P N c0c80900", "i4"),
    Row("58", "no attributes but NLRI", W(3), ""),
    Row("60", "no ORIGIN", W(3, 1), "P N"),
    Row("60", "no AS_PATH", W(3, 2), "O N"),
    Row("60", "no NEXT_HOP", W(3, 3), "O P"),
    Row("67", "MP_REACH with [global, ::]", OK, "O P 800e2c 0002 01 20 " + H6 + Z6 + " 00 NET6", nlri=""),
    Row("69", "MP_REACH reserved octet not 0", OK, "O P " + MP[:-2] + "ff NET", nlri=""),
    Row("74", "host bits are cut off", OK, "O P N", nlri="17 0a6401", learned="10.100.0.0/23"),
    Row("75", "prefixes that may not be routed", OK, "O P N", nlri="04 e0 08 7f 08 00 NET", log=r"\d+ prefixes ignored"),
    Row("76", "MP_REACH of a family that was not negotiated", IGNORED, "O P " + MP6 + " NET6", "e2", nlri="",
        log="was not negotiated"),
    Row("76", "MP_UNREACH of it", IGNORED, "800f0a 0002 01 ffffffffffffff", "e2", nlri="", log="was not negotiated"),
    Row("78", "a prefix twice in one UPDATE", OK, "O P N", nlri="NET NET"),
    Row("90", "flowspec NLRI of length 0", IGNORED, "O P 800e060001850000 00", nlri="", log="was not negotiated"),
    Row("90", "flowspec NLRI that is too long", IGNORED, "O P 800e0800018500 00 f0ff01", nlri="", log="was not negotiated"),
    Row("90", "labelled NLRI shorter than its label", IGNORED, "O P 800e0b 000104040a000102 00 0801", nlri="",
        log="was not negotiated"),

    Row("m1", "the low four flag bits mean nothing", OK, "4f010100 P N", sent_on={1: 0x40}),
    Row("m1", "Partial on a well-known one", W(4, 6), "O P N 600600"),
    Row("m2", "ORIGIN twice, the second is broken", OK, "O P N 40010109"),
    Row("m2", "ORIGIN twice, the first is broken", W(6, 1), "40010109 O P N"),
    Row("m3", "NEXT_HOP exceeds the list, inside too", W(1), "O P 4003050a000102", "i4"),
    Row("m5", "an empty list with NLRI is no End-of-RIB", W(3), "", "e2"),
    Row("m7", "MP_REACH needs no NEXT_HOP", OK, "O P " + MP + " NET", nlri=""),
    Row("m7", "classic NLRI beside it do", W(3, 3), "O P " + MP + " 18140000"),
    Row("m8", "an unknown attribute alone", W(3), "c0c800"),
    Row("m9", "CLUSTER_LIST from outside", OK, "O P N 800a060a0000010a00", sent_on={10: None}),
    Row("m10", "AS_PATH of 2-byte numbers from an AS4 peer", W(11, 2), "O 4002040201fbf0 N"),
    Row("m10", "AS_PATH of 4-byte numbers from an AS2 peer", W(11, 2), "O 40020602010000fbf0 N", "e2"),
    Row("m10", "AS4_PATH before AS_PATH", OK, "c01106020100010000 O P N", "e2", shown={"as_path": "PEER 65536"}),
    Row("m10", "a broken AS4_PATH", D(9, 17), "O P N c011050701000100", "e2", shown={"as_path": "PEER 65333"}),
    Row("m17", "IPv6 next hop [link-local]", OK, "O P 800e1c 0002 01 10 " + L6 + " 00 NET6", nlri=""),
    Row("m17", "[link-local, link-local]", OK, "O P 800e2c 0002 01 20 " + L6 + L6 + " 00 NET6", nlri=""),
    Row("m17", "[::, link-local]", OK, "O P 800e2c 0002 01 20 " + Z6 + L6 + " 00 NET6", nlri=""),
    Row("m17", "[global, link-local]", OK, "O P 800e2c 0002 01 20 " + H6 + L6 + " 00 NET6", nlri=""),
    Row("m20", "ROUTE-REFRESH with a subtype that nobody knows", IGNORED, raw=message(ROUTE_REFRESH, b"\0\1\x63\1")),
    Row("m20", "ROUTE-REFRESH of a family that nobody knows", IGNORED, raw=message(ROUTE_REFRESH, b"\x40\4\0\x47")),
    Row("m22", "extended length for a short attribute", OK, "50010001 00 P N", sent_on={1: 0x40}),
    Row("m22", "an attribute of 300 bytes", OK, "O P N d0c8012c" + "ab" * 300, sent_on={200: 0xf0}),
    Row("m23", "a 2-byte path of 900 numbers", OK, "O 50020710 02ff ASN " + "fbf1" * 254 + " 02ff" + "fbf1" * 255 + " 02ff" +
        "fbf1" * 255 + " 0287" + "fbf1" * 135 + " N", "e2", shown={}),
    Row("m24", "our own AS in the path", SILENT, "O 40020a0202 ASN 0000fcbd N"),
]

# --- it ends

RESETS = [
    Row("48", "an unknown well-known attribute", R(3, 2, "40c80100", 200), "O P N 40c80100"),
    Row("52", "MP_REACH twice", R(3, 1, attribute=14), "O P N " + MP + " 18140001 " + MP + " 18140001"),
    Row("52", "MP_UNREACH twice", R(3, 1, attribute=15), "O P N 800f03000101 800f03000101"),
    Row("56", "attributes past the message", R(3, 1), raw=message(UPDATE, bytes.fromhex("0000000540010100"))),
    Row("57", "withdrawn routes past the message", R(3, 1), raw=message(UPDATE, bytes.fromhex("0005180af4080000"))),
    Row("61", "a broken attribute, no NLRI, no MP: no End-of-RIB", R(3, 6), "40010109", nlri=""),
    Row("63", "MP_REACH next hop of 9 bytes", R(3, 9, attribute=14), "O P 800e15000201 09 " + "fd" + "00" * 8 + " 00 NET6", nlri=""),
    Row("64", "MP_REACH next hop of 64 bytes, 17 left", R(3, 9, attribute=14), "O P 800e15 0002 01 40 " + H6 + " 00", nlri=""),
    Row("65", "MP_REACH ends within its next hop", R(3, 9, attribute=14), "O P 800e0c 0002 01 10 fd00000000000000", nlri=""),
    Row("70", "MP_REACH of 4 bytes", R(3, 9, attribute=14), "O P N 800e0400010100"),
    Row("72", "an IPv4 prefix of 33 bits", R(3, 10), nlri="21 0af4080000"),
    Row("73", "an IPv6 prefix of 129 bits", R(3, 9), "O P 800e27 0002 01 10 " + H6 + " 00 81 " + H6 + "00", nlri=""),
    Row("80", "the marker is not all ones", R(1, 1), raw=message(KEEPALIVE, marker=b"\xff" * 15 + b"\0")),
    Row("81", "a length of 18", R(1, 2, "0012"), raw=message(KEEPALIVE, length=18)),
    Row("81", "4097 without RFC 8654", R(1, 2, "1001"), "", "e2", raw=message(UPDATE, length=4097)),
    Row("81", "an OPEN of 28", R(1, 2, "001c"), raw=message(OPEN, b"x" * 9)),
    Row("81", "a KEEPALIVE of 20", R(1, 2, "0014"), raw=message(KEEPALIVE, b"x")),
    Row("81", "an UPDATE of 22", R(1, 2, "0016"), raw=message(UPDATE, b"\0\0\0")),
    Row("81", "a NOTIFICATION of 20", R(1, 2, "0014"), raw=message(NOTIFICATION, b"\6")),
    Row("82", "type 0", R(1, 3, "00"), raw=message(0)),
    Row("82", "type 6", R(1, 3, "06"), raw=message(6)),
    Row("88", "ROUTE-REFRESH with an ORF that is too long", R(7, 1), raw=message(ROUTE_REFRESH, bytes.fromhex("00010001 0140ff"))),
    Row("88", "ROUTE-REFRESH of 3 bytes", R(7, 1), raw=message(ROUTE_REFRESH, b"\0\1\0")),
    Row("88", "ROUTE-REFRESH of 1 byte", R(7, 1), raw=message(ROUTE_REFRESH, b"\0")),
    Row("m4", "malformed and only withdrawals", R(3, 6, attribute=1), "40010109 P N", nlri="", withdrawn=NET),
    Row("m15", "an OPEN above 4096 after RFC 8654 was agreed", R(1, 2, "1001"), raw=message(OPEN, length=4097)),
    Row("m15", "a KEEPALIVE above 4096", R(1, 2, "1001"), raw=message(KEEPALIVE, length=4097)),
    Row("m16", "a marker of zeroes", R(1, 1), raw=message(UPDATE, b"\0" * 4, marker=bytes(16))),
]

# --- OPENs: the NOTIFICATION's (code, subcode, data), or None where the session comes up


@dataclasses.dataclass
class Open:
    number: str
    what: str
    expect: Expect
    make: object  # of the peer's AS: the message
    capabilities: str = None
    kind: str = "e4"
    peer: str = None


def with_parameters(asn, parameters, length=None):
    return message(OPEN, struct.pack("!BHH4sB", 4, asn, 90, bytes([10, 0, 9, 9]),
                                     len(parameters) if length is None else length) + parameters)


def with_capability(code, value):
    return lambda asn: with_parameters(asn, capability(1, b"\0\1\0\1") + capability(65, struct.pack("!I", asn)) + capability(code, value))


OPENS = [
    Open("83", "a parameter cut right after its type", R(2, 0), lambda asn: with_parameters(asn, b"\2")),
    Open("83", "a parameter cut after its length", R(2, 0), lambda asn: with_parameters(asn, b"\2\6")),
    Open("85", "a capability past its parameter", R(2, 0), lambda asn: with_parameters(asn, bytes.fromhex("0205410400 00fc"))),
    Open("85", "4-byte AS of length 3", OK, lambda asn: with_parameters(asn, bytes.fromhex("02054103000100"))),
    Open("85", "4-byte AS of length 5", OK, lambda asn: with_parameters(asn, bytes.fromhex("020741050001000000"))),
    Open("85", "graceful restart of length 1", OK, with_capability(64, b"\0")),
    Open("85", "graceful restart of length 7", OK, with_capability(64, bytes.fromhex("00780001018000"))),
    Open("85", "role of length 0", OK, with_capability(9, b"")),
    Open("85", "role of length 2", OK, with_capability(9, b"\0\0")),
    Open("85", "long-lived graceful restart of length 5", OK, with_capability(71, bytes.fromhex("0001018000"))),
    Open("85", "multiprotocol of length 3", OK, with_capability(1, bytes.fromhex("000200"))),
    Open("86", "a host name longer than its capability", OK, with_capability(73, b"\xffa")),
    Open("86", "a software version longer than its capability", OK, with_capability(75, b"\xffa")),
    Open("m14", "hold time 1", R(2, 6), lambda asn: open_message(asn, hold=1)),
    Open("m14", "hold time 2", R(2, 6), lambda asn: open_message(asn, hold=2)),
    Open("m14", "version 3", R(2, 1, "0004"), lambda asn: open_message(asn, version=3)),
    Open("m14", "router ID 0", R(2, 3), lambda asn: open_message(asn, router_id="0.0.0.0")),
    Open("m14", "our router ID inside", R(2, 3), lambda asn: open_message(asn, router_id="10.0.1.1"), kind="i4"),
    Open("m13", "hold time 0", OK, lambda asn: open_message(asn, hold=0)),
]

# What the two tables above cannot hold has a test of its own in test_error_rows.py, which names its rows.
BY_TEST = {"17", "m6", "m12", "m13", "m21"}
# Not about bytes that a neighbour sends: (where it is proven instead).
ELSEWHERE = {
    "m11": "rows 10 and 11: we are no member of a confederation",
    "m18": "tests/net/test_unnumbered.py: a route leaves with the next hop of the session's family",
    "m19": "tests/net/test_restart.py, tests/unit/test_bgp_session.c: graceful restart",
    "m25": "tests/unit: the link-bandwidth community",
}
