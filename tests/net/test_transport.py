"""What protects a session: TCP-MD5, GTSM and the TTL, with BIRD and FRR at the other end.

Whether a session must not come up is never decided by waiting alone: the kernel's counters, or what we were
told, show that the other side has tried.
"""
import pathlib
import re
import signal
import socket
import struct

import pytest

from harness import Listener, holds_for, wait_until
from switches import KINDS, Neighbor

POD, OTHER = "10.244.1.0/24", "10.244.2.0/24"
RIGHT, WRONG = "s3cret-of-the-fabric", "0ther-s3cret"
TCP_MD5SIG, IP_MINTTL = 14, 21


class Pair:
    """A node and a switch on one link with both families, and a session between them over one."""

    def __init__(self, net, kind, over="ipv4"):
        self.net, self.kind = net, kind
        self.ns, self.tor = net.ns("node", router=True), net.ns("tor", router=True)
        net.link(self.ns, "eth0", "10.0.0.1/30", self.tor, "eth0", "10.0.0.2/30")
        for ns, address in ((self.ns, "fd00::1/64"), (self.tor, "fd00::2/64")):
            ns.ip("address", "add", address, "dev", "eth0", "nodad")
        self.ours, self.theirs = ("10.0.0.1", "10.0.0.2") if over == "ipv4" else ("fd00::1", "fd00::2")
        self.secret_file = net.dir / "secret"

    def switch(self, **neighbor):
        return self.net.add(KINDS[self.kind](
            self.tor, self.net.subdir("switch"), "switch", "10.0.0.2",
            [Neighbor(self.theirs, 64512, self.ours, 64701, **neighbor)], [OTHER])).start()

    def write_secret(self, text, mode=0o600):
        self.secret_file.write_text(text + "\n")
        self.secret_file.chmod(mode)

    def config(self, password=None, more_peers=(), **peer):
        if password:
            self.write_secret(password)
            peer["password-file"] = str(self.secret_file)
        return {"node": {"name": "node", "asn": 64701, "router-id": "10.0.0.1"},
                "pods": {"cidrs": [POD], "cluster-cidrs": ["10.244.0.0/16"]},
                "peers": [{"name": "tor", "address": self.theirs, "asn": 64512, "hold-time": "3s",
                           **{key.replace("_", "-"): value for key, value in peer.items()}}, *more_peers]}

    def daemon(self, **kw):
        return self.net.underlayd(self.ns, self.config(**kw), "underlayd").start()

    def counter(self, ns, name):
        lines = [line.split() for line in ns.run("cat", "/proc/net/netstat").stdout.splitlines() if line.startswith("TcpExt:")]
        return int(dict(zip(*lines))[name])


def reload(daemon, config=None):
    start = len(daemon.log())
    if config:
        daemon.configure(config)
    daemon.popen.send_signal(signal.SIGHUP)
    return daemon.wait_log(r"reload: .*(applied|nothing was changed)", 20, start).group(0)


def stays_down_with(daemon, *words):
    """The peer has no session, and both kinds of output say why."""
    def told():
        peer = daemon.peer("tor")
        return peer["state"] != "Established" and all(re.search(word, peer["info"]) for word in words)
    wait_until(told, 40, f"info has {words}", lambda: daemon.peer("tor"))
    assert daemon.peer("tor")["established_count"] == 0


def has_no_secret(daemon, *secrets):
    """Nothing that the daemon says, or that ps and core file names show, has a secret in it."""
    proc = pathlib.Path(f"/proc/{daemon.pid}")
    outputs = {"log": daemon.log(), "cmdline": (proc / "cmdline").read_text(), "environ": (proc / "environ").read_text(),
               "comm": (proc / "comm").read_text()}
    for words in (["show", "peers"], ["show", "peers", "tor"], ["show", "status"], ["show", "memory"], ["show", "routes"]):
        outputs[" ".join(words)] = daemon.client(*words).stdout + daemon.client(*words).stderr
        outputs["-j " + " ".join(words)] = daemon.client("-j", *words).stdout
    for run in daemon.run_dir.iterdir():
        if run.is_file():
            outputs[run.name] = run.read_text(errors="replace")
    assert len(outputs["show peers tor"]) > 100 and outputs["log"]
    for name, text in outputs.items():
        for secret in secrets:
            assert secret not in text, name


@pytest.mark.essential
@pytest.mark.parametrize("node_passive, switch_passive", [(False, False), (True, False), (False, True)],
                         ids=["both-active", "we-are-passive", "switch-is-passive"])
@pytest.mark.parametrize("over", ["ipv4", "ipv6"])
@pytest.mark.parametrize("kind", ["bird", "frr"])
def test_password(net, kind, over, node_passive, switch_passive):
    pair = Pair(net, kind, over)
    switch = pair.switch(password=RIGHT, passive=switch_passive)
    daemon = pair.daemon(password=RIGHT, passive=node_passive).wait_established("tor", timeout=60)
    switch.wait_route(POD)
    wait_until(lambda: OTHER in pair.ns.our_routes(), 20, "the switch's route is in the kernel")
    peer = daemon.peer("tor")
    assert peer["password"] is True and [key for key in peer if "pass" in key] == ["password"]
    has_no_secret(daemon, RIGHT)


@pytest.mark.parametrize("ours, theirs, node_passive, said", [
    (WRONG, RIGHT, False, "wrong TCP-MD5 signature: is the password the same"),
    (WRONG, RIGHT, True, "wrong TCP-MD5 signature: is the password the same"),
    (RIGHT, None, False, "without a TCP-MD5 signature: has the other side"),
    (RIGHT, None, True, "without a TCP-MD5 signature: has the other side"),
    (None, RIGHT, False, "has the other side a password"),
    (None, RIGHT, True, "has the other side a password"),
], ids=["wrong", "wrong-passive", "only-ours", "only-ours-passive", "only-theirs", "only-theirs-passive"])
@pytest.mark.parametrize("kind, over", [("bird", "ipv4"), ("frr", "ipv6"), ("frr", "ipv4"), ("bird", "ipv6")])
def test_passwords_that_do_not_fit(net, kind, over, ours, theirs, node_passive, said):
    pair = Pair(net, kind, over)
    switch = pair.switch(password=theirs)
    daemon = pair.daemon(password=ours, passive=node_passive)
    stays_down_with(daemon, said)
    daemon.wait_log(rf"peer tor: .*{said}")
    assert not switch.established()
    has_no_secret(daemon, RIGHT, WRONG)
    # and it is the password alone: the right one on our side brings the session up
    assert "2 changes applied" in reload(daemon, pair.config(password=theirs, passive=node_passive))
    daemon.wait_established("tor", timeout=60)
    has_no_secret(daemon, RIGHT, WRONG)


def test_wrong_password_of_a_switch_that_never_calls(net):
    """Nothing arrives that the kernel could count: what is left is to say what silence can mean."""
    pair = Pair(net, "bird")
    pair.switch(password=RIGHT, passive=True)
    daemon = pair.daemon(password=WRONG)
    stays_down_with(daemon, "no answer to our TCP connection", "a wrong password looks like this")
    assert pair.counter(pair.tor, "TCPMD5Failure") > 0


def test_a_changed_secret_restarts_only_its_peer(net):
    pair = Pair(net, "bird")
    other = net.ns("other", router=True)
    net.link(pair.ns, "eth1", "10.0.1.1/30", other, "eth0", "10.0.1.2/30")
    quiet = net.add(KINDS["frr"](other, net.subdir("quiet"), "quiet", "10.0.1.2",
                                 [Neighbor("10.0.1.2", 64513, "10.0.1.1", 64701)], ["10.244.3.0/24"])).start()
    more = [{"name": "quiet", "address": "10.0.1.2", "asn": 64513, "hold-time": "3s"}]
    switch = pair.switch(password=RIGHT)
    daemon = pair.daemon(password=RIGHT, more_peers=more).wait_established("tor", "quiet", timeout=60)
    assert daemon.peer("quiet")["password"] is False

    assert "0 changes applied" in reload(daemon)  # the same secret
    switch.neighbors[0].password = WRONG
    switch.reconfigure()
    pair.write_secret(WRONG)
    assert "2 changes applied" in reload(daemon)
    daemon.wait_established("tor", "quiet", timeout=60)
    switch.wait_route(POD)
    assert daemon.peer("quiet")["established_count"] == 1

    pair.write_secret(RIGHT, 0o644)  # a mistake: nothing changes
    assert "nothing was changed" in reload(daemon)
    assert re.search(r"underlayd\.yaml:\d+:\d+: peers\[0\]\.password-file: .*secret: .*chmod 600", daemon.log())
    assert daemon.established("tor", "quiet")

    no_password = pair.config(more_peers=more)
    switch.neighbors[0].password = None
    switch.reconfigure()
    assert "2 changes applied" in reload(daemon, no_password)
    daemon.wait_established("tor", "quiet", timeout=60)
    assert daemon.peer("tor")["password"] is False and quiet.established()
    assert daemon.peer("quiet")["established_count"] == 1
    has_no_secret(daemon, RIGHT, WRONG)


def sign(s, address, key):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    packed = socket.inet_pton(family, address)
    sa = struct.pack("=HH4s", family, 0, packed) if family == socket.AF_INET else struct.pack("=HHI16sI", family, 0, 0, packed, 0)
    s.setsockopt(socket.IPPROTO_TCP, TCP_MD5SIG, sa.ljust(128, b"\0") + struct.pack("=BBHi80s", 0, 0, len(key), 0, key))


def try_port(pair, key):
    """A TCP connection from the switch's address to port 179 of the node: "open" or "no answer"."""
    with pair.tor.socket(socket.AF_INET6 if ":" in pair.ours else socket.AF_INET, socket.SOCK_STREAM) as s:
        s.settimeout(2.5)
        if key:
            sign(s, pair.ours, key.encode())
        try:
            s.connect((pair.ours, 179))
        except TimeoutError:
            return "no answer"
        return "open"


@pytest.mark.parametrize("over", ["ipv4", "ipv6"])
def test_the_listener_has_exactly_the_passwords_of_its_peers(net, over):
    """Whoever connects: signed right is answered, anything else is not; a peer that goes takes its password along."""
    pair = Pair(net, "bird", over)
    daemon = pair.daemon(password=RIGHT, passive=True)
    assert [try_port(pair, key) for key in (RIGHT, WRONG, None)] == ["open", "no answer", "no answer"]
    assert "2 changes applied" in reload(daemon, pair.config(password=WRONG, passive=True))
    assert [try_port(pair, key) for key in (RIGHT, WRONG)] == ["no answer", "open"]
    without = pair.config()
    without["peers"] = []
    assert "1 changes applied" in reload(daemon, without)
    assert [try_port(pair, key) for key in (WRONG, None)] == ["no answer", "open"]  # open: to be turned away


def test_passwords_on_a_port_that_was_taken(net):
    """The listener comes later than the peers: it has their passwords from its first moment."""
    pair = Pair(net, "bird")
    holder = Listener(pair.ns, "10.0.0.1")
    holder.start()
    daemon = pair.daemon(password=RIGHT, passive=True)
    daemon.wait_log("listener: .*in use")
    holder.close()
    wait_until(lambda: daemon.status()["listen"] == "port 179", 30, "the port is ours")
    assert [try_port(pair, key) for key in (RIGHT, None)] == ["open", "no answer"]


def test_a_password_that_the_kernel_does_not_take(net):
    """No memory for it on the socket: the peer stays down in both directions and says why, others do not mind."""
    pair = Pair(net, "bird")
    other = net.ns("other", router=True)
    net.link(pair.ns, "eth1", "10.0.1.1/30", other, "eth0", "10.0.1.2/30")
    net.add(KINDS["bird"](other, net.subdir("quiet"), "quiet", "10.0.1.2",
                          [Neighbor("10.0.1.2", 64513, "10.0.1.1", 64701)])).start()
    limit = pair.ns.run("sysctl", "-n", "net.core.optmem_max", check=False)
    if limit.returncode != 0:
        pytest.skip("net.core.optmem_max is not a namespace's own on this kernel")
    switch = pair.switch(password=RIGHT)
    whole = pair.config(password=RIGHT, more_peers=[{"name": "quiet", "address": "10.0.1.2", "asn": 64513}])
    daemon = net.underlayd(pair.ns, {**whole, "peers": whole["peers"][1:]}, "underlayd").start().wait_established("quiet")
    # only now: netlink sockets need some of that memory too, once, at the start
    pair.ns.run("sysctl", "-q", "-w", "net.core.optmem_max=64")
    assert "1 changes applied" in reload(daemon, whole)
    stays_down_with(daemon, "the password cannot be set: Cannot allocate memory", "optmem_max")
    assert "optmem_max" in daemon.client("show", "peers").stdout and not switch.established()
    daemon.wait_log("peer tor: .*the password cannot be set")
    pair.ns.run("sysctl", "-q", "-w", f"net.core.optmem_max={limit.stdout.strip()}")
    daemon.wait_established("tor", timeout=60)
    assert daemon.peer("quiet")["established_count"] == 1


@pytest.mark.essential
@pytest.mark.parametrize("node_passive, switch_passive", [(False, False), (True, False), (False, True)],
                         ids=["both-active", "we-are-passive", "switch-is-passive"])
@pytest.mark.parametrize("over", ["ipv4", "ipv6"])
@pytest.mark.parametrize("kind", ["bird", "frr"])
def test_ttl_security(net, kind, over, node_passive, switch_passive):
    pair = Pair(net, kind, over)
    switch = pair.switch(ttl_security=1, passive=switch_passive, password=RIGHT)
    daemon = pair.daemon(ttl_security=1, passive=node_passive, password=RIGHT).wait_established("tor", timeout=60)
    switch.wait_route(POD)
    assert daemon.peer("tor")["ttl_security"] == 1
    holds_for(lambda: daemon.established("tor"), 4, "a session longer than its hold time")  # every packet counts


@pytest.mark.parametrize("node_passive", [False, True], ids=["active", "passive"])
@pytest.mark.parametrize("kind, over", [("bird", "ipv4"), ("bird", "ipv6"), ("frr", "ipv4")])
def test_low_ttl_is_not_taken(net, kind, over, node_passive):
    """The switch sends with TTL 1, as its eBGP does without ttl security."""
    pair = Pair(net, kind, over)
    switch = pair.switch()
    daemon = pair.daemon(ttl_security=1, passive=node_passive)
    stays_down_with(daemon, "(too low a TTL|arrive with TTL 1, ttl-security: 1 needs 255 or more)")
    daemon.wait_log("peer tor: .*TTL")
    assert not switch.established()
    assert "2 changes applied" in reload(daemon, pair.config(passive=node_passive))
    daemon.wait_established("tor", timeout=60)


def behind_a_router(net, hops, ttl_security=None, multihop=None):
    """The node, a router, the switch: packets arrive with one hop less than they left with."""
    ns, router, tor = net.ns("node", router=True), net.ns("router", router=True), net.ns("tor", router=True)
    net.link(ns, "eth0", "10.0.0.1/30", router, "eth0", "10.0.0.2/30")
    net.link(router, "eth1", "10.0.9.1/30", tor, "eth0", "10.0.9.2/30")
    ns.ip("route", "add", "10.0.9.0/30", "via", "10.0.0.2")
    tor.ip("route", "add", "10.0.0.0/30", "via", "10.0.9.1")
    switch = net.add(KINDS["frr"](tor, net.subdir("switch"), "switch", "10.0.9.2",
                                  [Neighbor("10.0.9.2", 64512, "10.0.0.1", 64701, **hops)], [OTHER])).start()
    keys = {"ttl-security": ttl_security, "multihop": multihop}
    daemon = net.underlayd(ns, {
        "node": {"name": "node", "asn": 64701, "router-id": "10.0.0.1"},
        "pods": {"cidrs": [POD], "cluster-cidrs": ["10.244.0.0/16"]},
        "peers": [{"name": "tor", "address": "10.0.9.2", "asn": 64512, "hold-time": "3s",
                   **{key: value for key, value in keys.items() if value}}]}).start()
    return daemon, switch


@pytest.mark.parametrize("hops, up", [(1, False), (2, True)])
def test_ttl_security_counts_hops(net, hops, up):
    daemon, switch = behind_a_router(net, {"ttl_security": 2}, ttl_security=hops)
    if up:
        daemon.wait_established("tor", timeout=60)
        switch.wait_route(POD)
    else:
        stays_down_with(daemon, "TTL")
        assert not switch.established()


@pytest.mark.parametrize("hops, up", [(1, False), (2, True)])
def test_multihop_is_the_ttl_of_what_we_send(net, hops, up):
    daemon, switch = behind_a_router(net, {"multihop": 5, "passive": True}, multihop=hops)
    if up:
        daemon.wait_established("tor", timeout=60)
        switch.wait_route(POD)
        assert daemon.peer("tor")["multihop"] == 2
    else:
        wait_until(lambda: re.search("No route to host|no answer", daemon.peer("tor")["info"]), 30, "the router sends it back",
                   lambda: daemon.peer("tor"))
        assert daemon.peer("tor")["established_count"] == 0 and not switch.established()


def test_data_before_the_filter_is_set(net):
    """A stranger far away that says all at once, before we accept: OPEN, KEEPALIVE and a route. Judged by its first packet."""
    pair = Pair(net, "bird")
    daemon = pair.daemon(ttl_security=1, passive=True)
    message = lambda kind, body=b"": b"\xff" * 16 + struct.pack("!HB", 19 + len(body), kind) + body
    open_ = message(1, struct.pack("!BHHIB", 4, 64512, 3, 0x0a000002, 0))
    daemon.popen.send_signal(signal.SIGSTOP)
    try:
        s = pair.tor.socket(socket.AF_INET, socket.SOCK_STREAM)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 200)
        s.settimeout(5)
        s.connect((pair.ours, 179))
        s.sendall(open_ + message(4))
    finally:
        daemon.popen.send_signal(signal.SIGCONT)
    stays_down_with(daemon, "arrive with TTL 200, ttl-security: 1 needs 255")
    try:
        assert s.recv(1) == b""  # nothing was said to it
    except ConnectionResetError:
        pass
    s.close()
    # the same words from next door do open a session
    s = pair.tor.socket(socket.AF_INET, socket.SOCK_STREAM)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 255)
    s.connect((pair.ours, 179))
    s.sendall(open_ + message(4))
    wait_until(lambda: daemon.peer("tor")["established_count"] == 1, 20, "it is up", lambda: daemon.peer("tor"))
    s.close()
