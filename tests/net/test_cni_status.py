"""STATUS and GC of CNI 1.1.0: what a runtime asks of a network, not of a container."""
import json
import os

import pytest

from cni_util import Host, until


@pytest.fixture
def host():
    h = Host()
    yield h
    h.close()


def ask(host, command, **changes):
    """As libcni does: the container's variables are there and empty."""
    return host.call(command, "", "", ifname="", config=host.config(cniVersion="1.1.0", **changes))


def gc(host, *valid, **changes):
    entries = [{"containerID": c, "ifname": i} for c, i in valid]
    return ask(host, "GC", **{"cni.dev/valid-attachments": entries, **changes})


def test_status_follows_what_an_add_would_find(host):
    before = host.state()
    for _ in range(3):
        ask(host, "STATUS").silent()
    assert host.state() == before, "asking takes nothing"
    host.publish(cidrs=["10.244.7.0/30"], reuse_delay_s=3600)
    for i in range(2):
        ask(host, "STATUS").silent()
        host.add(f"c{i}", host.pod(f"p{i}")).ok()
    ask(host, "STATUS").fails(50, "10.244.7.0/30", "2 of 2 used")
    host.publish(cidrs=["10.244.7.0/24", "fd00::/120"])
    ask(host, "STATUS").silent()
    for i in range(2):
        host.delete(f"c{i}").silent()


def test_status_without_settings(host):
    path = os.path.join(host.run_dir, "plugin.json")
    host.publish(cidrs=[])
    ask(host, "STATUS").fails(50, "no pod CIDR")
    os.unlink(path)
    ask(host, "STATUS").fails(50, "has not published")
    os.mkfifo(path)
    ask(host, "STATUS").fails(50, path, "regular file")
    host.add("c1", host.pod("a")).fails(5, path, "regular file")


def test_only_from_1_1_0(host):
    for command in ("STATUS", "GC"):
        host.call(command, "", "", ifname="").fails(1, command, "1.1.0")


def test_gc_removes_what_nobody_knows(host):
    before = host.state()
    kept = host.add("kept", host.pod("a")).address
    host.add("stale", host.pod("b"))
    host.add("kept", host.pod("d"), ifname="eth1").ok()
    host.add("other", host.pod("c"), config=host.config(name="podman")).ok()
    # what is of the same second as the call may be newer than the list, so it is asked again
    def gone():
        gc(host, ("kept", "eth0")).silent()
        return len(host.leases()) == 2
    until(gone, "GC to remove what is stale")
    assert sorted(host.leases()) == [("kept", "eth0", "underlay"), ("other", "eth0", "podman")]
    assert len([name for name, _ in host.state()["links"] if name.startswith("ul")]) == 2
    assert host.pings(kept)
    for container in ("kept", "other"):
        host.delete(container).silent()
    assert host.state() == before


@pytest.mark.parametrize("entries", ["all", [{}]])
def test_gc_with_a_bad_list_removes_nothing(host, entries):
    host.add("c1", host.pod("a")).ok()
    state = host.state()
    gc(host, **{"cni.dev/valid-attachments": entries}).fails(7, "cni.dev/valid-attachments")
    ask(host, "GC").fails(7, "cni.dev/valid-attachments", "nothing was removed")
    assert host.state() == state
    config = json.dumps({**host.config(cniVersion="1.1.0"), "cni.dev/valid-attachments": None})
    until(lambda: host.call("GC", "", "", ifname="", config=config).silent() and not host.leases(), "null to mean none")


def test_gc_of_a_node_that_never_had_a_pod(host):
    gc(host).silent()
    assert host.leases() == []
