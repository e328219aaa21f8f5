"""The interop matrix: each cell of docs/interop.md is one test here.

A cell either proves its feature with both sides' view (and the wire, where the views cannot tell), or raises Lacks with what
shows that one side does not have it. Cells of one peer in one role share a Bench; those that end a session have one of
their own there.
"""
import dataclasses
import re

import pytest

import table
from bench import (COMMUNITIES, EXTENDED, LARGE, LONG, MANY, OUR_AS, OUR_FEEDERS, PLAIN, POD, PROBE, ROLES, THEIR_FEEDERS, TWICE,
                   Lacks, communities_of, many_communities)
from capture import NOTIFICATION, OPEN, REFRESH, UPDATE, attributes
from harness import wait_until
from options import TITLES

EBGP, IBGP, CLIENT, REFLECTOR = ROLES
CELLS = {}


@dataclasses.dataclass
class Cell:
    check: callable
    roles: tuple


def cell(feature, *roles):
    def add(check):
        CELLS[feature] = Cell(check, roles or ROLES)
        return check
    return add


def path_from_them(bench, *rest):
    """The AS path of a route that their feeder told and they told us."""
    return " ".join(map(str, ([] if bench.internal else [bench.their_as]) + list(rest or [THEIR_FEEDERS[0]])))


def path_from_us(bench, *rest):
    return " ".join(map(str, ([] if bench.internal else [OUR_AS]) + list(rest or [OUR_FEEDERS[0]])))


def both_ways(bench, family, session):
    """Our own route and the feeders' routes, each as the other side has it."""
    s = bench.established(session)
    own, = bench.their_paths(POD[family], session)
    assert own["as_path"] == ("" if bench.internal else str(OUR_AS)), own
    passed_on, = bench.their_paths(PLAIN["ours"][family], session)
    assert passed_on["as_path"] == path_from_us(bench), passed_on
    learned, = bench.our_paths(PLAIN["theirs"][family], session)
    assert learned["as_path"] == path_from_them(bench), learned
    return s, own, passed_on, learned


@cell("IPv4 unicast")
def ipv4(bench):
    s, own, passed_on, learned = both_ways(bench, "ipv4", "main")
    assert own["next_hop"] == s.ours and learned["next_hop"] in (s.theirs, "10.0.2.2")


@cell("IPv6 unicast")
def ipv6(bench):
    s, own, passed_on, learned = both_ways(bench, "ipv6", "six")
    assert own["next_hop"] == s.ours and learned["next_hop"] in (s.theirs, "fd00:2::2", "fd01::2")


@cell("IPv6 unicast over an IPv4 session")
def ipv6_over_ipv4(bench):
    s = bench.established()
    bench.their_paths(POD["ipv6"])
    reached = [attributes(m.body).get(14, b"") for m in bench.said(s.theirs, UPDATE)]
    hops = [r[4:20] for r in reached if r[:3] == b"\0\2\1"]
    if hops and all(hop == bytes(15) + b"\1" for hop in hops):
        raise Lacks(bench.title, "it gives ::1 as the next hop")
    both_ways(bench, "ipv6", "main")


@cell("4-byte AS numbers")
def four_byte_as(bench):
    bench.needs_capability(65, "4-byte AS number")
    s = bench.established()
    for sender, asn in ((s.ours, OUR_AS), (s.theirs, bench.their_as)):
        assert bench.capture.capabilities(sender)[65] == [asn.to_bytes(4, "big")]
        assert bench.said(sender, OPEN)[-1].body[1:3] == (23456).to_bytes(2, "big")
    assert bench.their_paths(PLAIN["ours"]["ipv4"])[0]["as_path"] == path_from_us(bench)
    assert bench.our_paths(PLAIN["theirs"]["ipv4"])[0]["as_path"] == path_from_them(bench)


@cell("TCP-MD5")
def md5(bench):
    unsigned = lambda: bench.counter(bench.tor, "TCPMD5Unexpected") > 0
    wait_until(lambda: unsigned() or bench.daemon.established("md5"), 40, "there is a session or a reason",
               lambda: bench.daemon.peer("md5"))
    if unsigned():
        raise Lacks(bench.title, "it takes the password, but gives its kernel no key: that counts our segments in "
                                 "TCPMD5Unexpected")
    s = bench.established("md5")
    assert bench.capture.signed[s.ours] == bench.capture.signed[s.theirs] == {True}
    bench.their_paths(POD["ipv4"], "md5")


@cell("GTSM")
def gtsm(bench):
    s = bench.established("gtsm")
    assert bench.capture.ttls[s.ours] == bench.capture.ttls[s.theirs] == {255}
    bench.their_paths(POD["ipv4"], "gtsm")


def asked_again(bench):
    """We have asked, and the route that is let in only now is there; or the peer says why not."""
    bench.let_probe_in()

    def there():
        bench.confesses("answering", "main")
        return [row for row in bench.daemon.routes(PROBE) if row["source"] == "main"]

    wait_until(there, 20, "what we asked for is there", lambda: bench.daemon.peer("main"))


@cell("route refresh, we ask")
def our_refresh(bench):
    bench.needs_capability(2, "route refresh")
    s = bench.established()
    bench.our_paths(PLAIN["theirs"]["ipv4"])
    sessions = bench.daemon.peer("main")["established_count"]
    asked_again(bench)
    assert bench.said(s.ours, REFRESH)
    assert bench.daemon.peer("main")["established_count"] == sessions


@cell("route refresh, they ask")
def their_refresh(bench):
    bench.needs_capability(2, "route refresh")
    bench.needs_option("asking again")
    s = bench.established()
    bench.their_paths(PLAIN["ours"]["ipv4"])
    sessions = bench.daemon.peer("main")["established_count"]
    updates, asked = len(bench.said(s.ours, UPDATE)), len(bench.said(s.theirs, REFRESH))
    bench.switch.refresh(bench.neighbor_index["main"])
    wait_until(lambda: len(bench.said(s.theirs, REFRESH)) > asked, 10, f"{bench.title} has asked")
    wait_until(lambda: any(attributes(m.body) for m in bench.said(s.ours, UPDATE, since=updates)), 10,
               "we have told it all again")
    assert bench.daemon.peer("main")["established_count"] == sessions
    bench.their_paths(PLAIN["ours"]["ipv4"])


@cell("enhanced route refresh")
def enhanced_refresh(bench):
    """Both sides say where an answer begins and where it ends."""
    bench.needs_option("enhanced refresh")
    bench.needs_capability(70, "enhanced route refresh")
    s = bench.established()
    asked_again(bench)
    subtypes = lambda sender: {m.body[2] for m in bench.said(sender, REFRESH)}
    wait_until(lambda: {1, 2} <= subtypes(s.theirs), 10, f"{bench.title} has framed its answer",
               lambda: bench.said(s.theirs, REFRESH))
    bench.needs_option("asking again")
    bench.switch.refresh(bench.neighbor_index["main"])
    wait_until(lambda: {1, 2} <= subtypes(s.ours), 10, "we have framed ours", lambda: bench.said(s.ours, REFRESH))
    bench.our_paths(PLAIN["theirs"]["ipv4"])
    bench.their_paths(PLAIN["ours"]["ipv4"])


@cell("extended messages")
def extended_messages(bench):
    bench.needs_capability(6, "extended messages")
    s = bench.established()
    path, = bench.their_paths(LONG["ours"])
    shown = path["communities"]  # BIRD's own tool cuts long lists short
    assert shown <= set(many_communities()) and (len(shown) == MANY or bench.kind == "bird" and shown)
    bench.our_paths(LONG["theirs"])
    for sender in (s.ours, s.theirs):
        assert max(len(m.body) for m in bench.said(sender, UPDATE)) > 4096


def unchanged(bench, row):
    """A reflector leaves the next hop as the feeder has said it, and so does GoBGP for every internal peer."""
    keeps = bench.role == CLIENT or bench.internal and bench.kind == "gobgp"
    return keeps and row["next_hop"] in ("10.0.2.2", "fd00:2::2")


@cell("extended next hop")
def extended_next_hop(bench):
    """IPv4 routes over the IPv6 session, by next hops of IPv6."""
    bench.needs_option("extended next hop")
    bench.needs_capability(5, "extended next hop", "six")
    s, own, passed_on, learned = both_ways(bench, "ipv4", "six")
    assert own["next_hop"] == s.ours and (":" in learned["next_hop"] or unchanged(bench, learned)), (own, learned)


@cell("unnumbered")
def unnumbered(bench):
    """Neither side knows more than the name of an interface; routes of both families go by link-local addresses."""
    bench.needs_option("unnumbered")
    for family in ("ipv6", "ipv4"):
        s, own, passed_on, learned = both_ways(bench, family, "unnumbered")
        assert own["next_hop"].startswith("fe80:"), own
        assert learned["next_hop"].startswith("fe80:") or unchanged(bench, learned), learned


@cell("add-path, they send")
def their_add_path(bench):
    bench.needs_option("add-path")
    bench.needs_capability(69, "add-path")
    rows = bench.our_paths(TWICE["theirs"], wanted=lambda rows: len(rows) == 2)
    assert {row["as_path"] for row in rows} == {path_from_them(bench, asn) for asn in THEIR_FEEDERS}, rows
    assert len({row["path_id"] for row in rows}) == 2


@cell("add-path, we send")
def our_add_path(bench):
    bench.needs_option("add-path")
    bench.needs_capability(69, "add-path")
    wait_until(lambda: len(bench.their_paths(TWICE["ours"])) == 2, 20, "both paths are there")
    paths = bench.their_paths(TWICE["ours"])
    assert {path["as_path"] for path in paths} == {path_from_us(bench, asn) for asn in OUR_FEEDERS}, paths


def communities(kind, values):
    def check(bench):
        """The feeders' communities of one kind, after their way through both programs."""
        assert bench.their_paths(PLAIN["ours"]["ipv4"])[0][kind] == values
        assert communities_of(bench.our_paths(PLAIN["theirs"]["ipv4"])[0])[kind] == values
    return check


cell("standard communities")(communities("communities", COMMUNITIES))
cell("extended communities")(communities("extended", EXTENDED))
cell("large communities")(communities("large", LARGE))


def ceases(bench, sender):
    return [m.body for m in bench.said(sender, NOTIFICATION) if m.body[0] == 6]


@cell("shutdown text, from them")
def their_words(bench):
    s = bench.established("their-words")
    words = "new line cards, back at six"
    bench.switch.disable(bench.neighbor_index[s.name], words)
    end = wait_until(lambda: ceases(bench, s.theirs), 10, f"{bench.title} has said goodbye")[-1]
    assert end[1] == 2
    if bench.kind == "exabgp":
        words = end[3:].decode()  # always the same ones
    assert end[3:].decode() == words and end[2] == len(words)
    wait_until(lambda: words in (bench.daemon.peer(s.name)["last_error"] or ""), 10, "we show the words",
               lambda: bench.daemon.peer(s.name))


@cell("shutdown text, from us")
def our_words(bench):
    s = bench.established("our-words")
    words = "moved to row 7"
    assert bench.daemon.client("peer", s.name, "stop", words).returncode == 0
    wait_until(lambda: ceases(bench, s.ours), 10, "we have said goodbye")
    assert ceases(bench, s.ours)[-1] == bytes([6, 2, len(words)]) + words.encode()
    wait_until(lambda: not bench.switch.established(bench.neighbor_index[s.name]), 10, f"{bench.title} has understood")

    def shown():
        bench.confesses("showing words", s.name)
        return words in bench.switch.session_text(bench.neighbor_index[s.name]) + bench.switch.log()

    wait_until(shown, 10, f"{bench.title} shows the words", lambda: bench.switch.session_text(bench.neighbor_index[s.name]))


@cell("maximum of prefixes, ours")
def our_limit(bench):
    s = bench.sessions["our-limit"]
    end = wait_until(lambda: ceases(bench, s.ours), 20, "we have said that it is too much", lambda: bench.daemon.peer(s.name))
    assert end[0][1] == 1
    wait_until(lambda: "max-prefixes" in (bench.daemon.peer(s.name)["last_error"] or ""), 10, "we show why")
    wait_until(lambda: not bench.switch.established(bench.neighbor_index[s.name]), 10, f"{bench.title} has understood")


@cell("maximum of prefixes, theirs")
def their_limit(bench):
    bench.needs_option("limit")
    s = bench.sessions["their-limit"]
    end = wait_until(lambda: ceases(bench, s.theirs), 20, f"{bench.title} has said that it is too much",
                     lambda: bench.switch.session_text(bench.neighbor_index[s.name]))
    assert end[0][1] == 1
    wait_until(lambda: re.search("received.*Maximum Number of Prefixes", bench.daemon.peer(s.name)["last_error"] or ""), 10,
               "we show why", lambda: bench.daemon.peer(s.name))


@cell("reflection", CLIENT, REFLECTOR)
def reflection(bench):
    """A client's route arrives with its originator and with the reflector's cluster."""
    s = bench.established()
    if bench.role == REFLECTOR:
        path, = bench.their_paths(PLAIN["ours"]["ipv4"])
        assert (path["originator"], path["clusters"]) == ("10.0.1.2", ["10.0.0.1"]), path
        return
    bench.our_paths(PLAIN["theirs"]["ipv4"])
    sent = bench.updates(s.theirs, PLAIN["theirs"]["ipv4"])[-1]
    assert (sent[9], sent[10]) == (bytes([10, 0, 2, 2]), bytes([10, 0, 0, 2])), sent


@cell("roles and OTC", EBGP)
def role(bench):
    """The peer is our provider; what it tells a customer is marked, and a wrong role would be refused."""
    bench.needs_option("role")
    bench.needs_capability(9, "role", "role")
    s = bench.established("role")
    assert bench.capture.capabilities(s.ours)[9] == [bytes([3])]
    assert bench.capture.capabilities(s.theirs)[9] == [bytes([0])]
    bench.our_paths(PLAIN["theirs"]["ipv4"], "role")
    assert bench.updates(s.theirs, PLAIN["theirs"]["ipv4"])[-1][35] == bench.their_as.to_bytes(4, "big")


PAIRS = [(kind, role) for kind in TITLES for role in ROLES if any(role in c.roles for c in CELLS.values())]


def cases():
    """All cells of a pair, and behind them the end of its programs, which must be a good one."""
    for kind, role in PAIRS:
        group = pytest.mark.xdist_group(f"{kind}-{role}")
        features = [f for f, c in CELLS.items() if role in c.roles]
        for feature in [*features, None]:
            name = f"{TITLES[kind]}, {role}: {feature or 'all ends well'}"
            yield pytest.param((kind, role), feature, marks=group, id=name)


@pytest.mark.parametrize("pair, feature", cases())
def test_cell(benches, pair, feature, request):
    bench = benches.get(pair)
    request.node.fabric = bench.net
    if not feature:
        benches.close()
        return
    answer, how = "passed", ""
    try:
        if bench.role == CLIENT:
            bench.needs_option("reflect")
        bench.start_once()
        CELLS[feature].check(bench)
    except Lacks as lack:
        answer, how = f"{lack.who} lacks it", lack.how
    record = (feature, bench.role, bench.kind, answer, how)
    request.node.user_properties.append(("cell", record))
    written = table.read().get(record[:3])
    assert written == answer, f"docs/interop.md says {written!r}, the run says {answer!r}; {table.HOW_TO_UPDATE}"


def test_the_table_has_no_other_cells():
    tested = {(feature, role, kind) for kind, role in PAIRS for feature, c in CELLS.items() if role in c.roles}
    assert set(table.read()) == tested, table.HOW_TO_UPDATE
