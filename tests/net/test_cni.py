"""The CNI plugin against a real kernel: one network namespace is the host, others are pods. Nothing here
needs the daemon: the tests publish plugin.json themselves.
"""
import json
import os
import pathlib
import random
import signal
import time

import pytest

from cni_util import GATEWAY, PLUGIN, Host, sh, until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for network namespaces")


@pytest.fixture
def host():
    assert PLUGIN.exists(), f"{PLUGIN} is not built"
    h = Host()
    yield h
    h.close()


def link_of(host, name, netns=None):
    return json.loads(host.ip("-j", "-d", "link", "show", "dev", name, netns=netns))[0]


# --- the usual life of a pod


def test_add_check_del(host):
    before = host.state()
    pod = host.pod("a")
    result = host.add("c1", pod, CNI_ARGS="K8S_POD_NAME=web;K8S_POD_NAMESPACE=shop").ok().json
    host_end, pod_end = result["interfaces"]
    assert result["cniVersion"] == "1.0.0"
    assert result["ips"] == [{"address": "10.244.7.1/32", "gateway": GATEWAY, "interface": 1}]
    assert result["routes"] == [{"dst": "0.0.0.0/0", "gw": GATEWAY}]
    assert pod_end["name"] == "eth0" and pod_end["sandbox"] == pod and "sandbox" not in host_end
    outer, inner = link_of(host, host_end["name"]), link_of(host, "eth0", pod)
    assert outer["address"] == host_end["mac"] and inner["address"] == pod_end["mac"]
    assert outer["ifalias"] == "underlay underlay/c1/eth0" and outer["mtu"] == inner["mtu"] == 1500
    assert "UP" in outer["flags"] and "UP" in inner["flags"]
    route = json.loads(host.ip("-j", "route", "show", "proto", "171"))
    assert [(r["dst"], r["dev"], r.get("metric", 0)) for r in route] == [("10.244.7.1", host_end["name"], 0)]
    assert host.leases() == [("c1", "eth0", "underlay")]
    assert host.pings("10.244.7.1"), "host to pod"
    assert host.pings("192.0.2.1", pod), "pod to host"
    assert host.pings("10.244.7.1", pod), "pod to itself"
    host.call("CHECK", "c1", pod, config=host.config(prevResult=result)).silent()
    host.delete("c1", pod).silent()
    assert host.state() == before
    assert "eth0" not in host.ip("link", netns=pod)


def test_pods_of_one_node_reach_each_other(host):
    a, b = host.pod("a"), host.pod("b")
    address_a, address_b = host.add("c1", a).address, host.add("c2", b).address
    assert address_a != address_b
    assert host.pings(address_b, a) and host.pings(address_a, b)


def test_nothing_answers_for_the_gateway(host):
    """The pod's way out needs no ARP at all."""
    pod = host.pod("a")
    result = host.add("c1", pod).ok().json
    host_mac = result["interfaces"][0]["mac"]
    neighbour = json.loads(host.ip("-j", "neigh", netns=pod))
    assert [(n["dst"], n["lladdr"], n["state"]) for n in neighbour] == [(GATEWAY, host_mac, ["PERMANENT"])]
    neighbour = json.loads(host.ip("-j", "neigh"))
    assert [(n["dst"], n["state"]) for n in neighbour] == [("10.244.7.1", ["PERMANENT"])]
    for netns in (None, pod):  # nobody answers ARP requests any more
        host.inside("sysctl", "-qw", "net.ipv4.conf.all.arp_ignore=8", netns=netns)
    assert host.pings("192.0.2.1", pod) and host.pings("10.244.7.1")


def test_both_families_in_one_lease(host):
    before = host.state()
    host.publish(cidrs=["10.244.7.0/24", "fd10:244:7::/64"])
    pod = host.pod("a")
    result = host.add("c1", pod).ok().json
    assert [i["address"] for i in result["ips"]] == ["10.244.7.1/32", "fd10:244:7::1/128"]
    addresses = json.loads(host.ip("-j", "-6", "addr", "show", "dev", "eth0", "scope", "global", netns=pod))
    assert not any(a.get("tentative") for a in addresses[0]["addr_info"])
    host.ip("addr", "add", "2001:db8::1/128", "dev", "lo")
    host.inside("sysctl", "-qw", "net.ipv6.conf.all.forwarding=1")
    assert host.pings("fd10:244:7::1")
    host.call("CHECK", "c1", pod, config=host.config(prevResult=result)).silent()
    host.ip("addr", "del", "2001:db8::1/128", "dev", "lo")
    host.delete("c1", pod).silent()
    after = host.state()
    assert (after["links"], after["leases"]) == (before["links"], [])
    assert not [r for r in after["routes6"] + after["routes"] if "244" in r]


@pytest.mark.parametrize("version", ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0", None])
def test_results_of_every_version(host, version):
    pod = host.pod("a")
    config = host.config(cniVersion=version)
    result = host.add("c1", pod, config=config).ok().json
    assert result["cniVersion"] == (version or "0.1.0")
    if version in (None, "0.1.0", "0.2.0"):
        assert result["ip4"] == {"ip": "10.244.7.1/32", "gateway": GATEWAY,
                                 "routes": [{"dst": "0.0.0.0/0", "gw": GATEWAY}]}
        assert "interfaces" not in result and "ips" not in result
    else:
        assert ("version" in result["ips"][0]) == (version not in ("1.0.0", "1.1.0"))
        assert [i["name"] for i in result["interfaces"]][1] == "eth0"
    if version in ("0.4.0", "1.0.0", "1.1.0"):
        host.call("CHECK", "c1", pod, config={**config, "prevResult": result}).silent()
    else:
        host.call("CHECK", "c1", pod, config={**config, "prevResult": result}).fails(1)
    host.delete("c1", pod, config=config).silent()
    assert host.leases() == []


def test_version_needs_nothing(host):
    os.unlink(os.path.join(host.run_dir, "plugin.json"))
    answer = host.call("VERSION", config='{"cniVersion": "0.4.0"}', ifname=None).ok().json
    assert answer == {"cniVersion": "0.4.0",
                      "supportedVersions": ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"]}
    host.call("VERSION", "dummy", "dummy", config="").ok()


def test_run_by_a_person(host):
    call = host.call(None, ifname=None, config="")
    assert call.status == 0 and call.out == "" and "1.0.0" in call.err and "underlay" in call.err


def test_mtu(host):
    host.publish(mtu=1400)
    pod = host.pod("a")
    outer = host.add("c1", pod).ok().json["interfaces"][0]["name"]
    assert link_of(host, outer)["mtu"] == link_of(host, "eth0", pod)["mtu"] == 1400


def test_another_table_and_protocol(host):
    host.publish(table=1000, protocol=200)
    pod = host.pod("a")
    result = host.add("c1", pod).ok().json
    assert "10.244.7.1" in host.ip("route", "show", "table", "1000", "proto", "200")
    assert "10.244.7.1" not in host.ip("route", "show")
    host.call("CHECK", "c1", pod, config=host.config(prevResult=result)).silent()


# --- what is asked wrongly


@pytest.mark.parametrize("command", ["ADD", "CHECK"])
@pytest.mark.parametrize("missing", ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"])
def test_missing_variables(host, command, missing):
    before = host.state()
    variables = {"CNI_CONTAINERID": "c1", "CNI_NETNS": host.pod("a"), "CNI_IFNAME": "eth0"}
    for absent in (None, ""):
        variables[missing] = absent
        host.call(command, **variables).fails(4, missing)
    assert host.state() == before


def test_del_with_missing_variables(host):
    host.call("DEL", None, "").fails(4, "CNI_CONTAINERID")
    host.call("DEL", "c1", "", ifname=None).fails(4, "CNI_IFNAME")
    host.call("DEL", "", "", ifname="").fails(4, "CNI_CONTAINERID, CNI_IFNAME")


def test_unknown_commands(host):
    for command in ("", "add", "status"):
        host.call(command, "c1", host.pod(f"x{command}")).fails(4, "CNI_COMMAND")


def test_bad_configurations(host):
    pod = host.pod("a")
    before = host.state()
    for code, config in [(6, '{"cniVersion": "1.0.0", '), (6, "no"), (6, "[]"), (6, ""), (6, "[" * 5000),
                         (6, " " * (2 << 20)), (1, host.config(cniVersion="7.0.0")), (7, host.config(name=None)),
                         (7, host.config(name="../x")), (7, host.config(runDir="x")),
                         (7, host.config(prevResult={"ips": []}))]:
        host.add("c1", pod, config=config).fails(code)
    assert host.state() == before


def test_no_settings(host):
    pod = host.pod("a")
    before = host.state()
    os.unlink(os.path.join(host.run_dir, "plugin.json"))
    host.add("c1", pod).fails(11, "underlayd has not published", host.run_dir, "paths.run", "runDir")
    host.add("c1", pod, config=host.config(runDir=host.run_dir + "/nowhere")).fails(11, "underlayd")
    with open(os.path.join(host.run_dir, "plugin.json"), "w") as f:
        f.write('{"version": 1, "cidrs": ["10.244.7.0/99"]}')
    host.add("c1", pod).fails(11, "cidrs[0]", "plugin.json")
    assert host.state() == before
    host.delete("c1", pod).silent()


def test_bad_namespaces(host):
    before = host.state()
    plain = os.path.join(host.run_dir, "plain")
    open(plain, "w").close()
    host.add("c1", "/run/netns/not-there-at-all").fails(4, "CNI_NETNS", "No such file")
    host.add("c1", plain).fails(4, "not a network namespace")
    host.add("c1", "/proc/self/ns/uts").fails(4, "not a network namespace")
    host.add("c1", f"/run/netns/{host.name}").fails(8)
    assert host.state() == before
    host.delete("c1", plain).silent()


# --- DEL, however it comes


def test_del_of_what_never_was(host):
    before = host.state()
    host.delete("c1", "").silent()
    host.delete("c1", "/run/netns/not-there-at-all").silent()
    assert not os.path.exists(os.path.join(host.run_dir, "leases"))
    host.delete("c1", config=host.config(runDir=host.run_dir + "/nowhere")).silent()
    assert host.state() == before


@pytest.mark.parametrize("netns", ["the pod's", "", None])
def test_del_twice(host, netns):
    before = host.state()
    pod = host.pod("a")
    host.add("c1", pod).ok()
    for _ in range(2):
        host.delete("c1", pod if netns else netns).silent()
        assert host.state() == before


def test_del_when_the_namespace_is_gone(host):
    before = host.state()
    pod = host.pod("a")
    host.add("c1", pod).ok()
    host.remove_pod(pod)
    host.delete("c1", pod).silent()
    assert host.leases() == []
    assert host.state() == before


def test_del_without_settings_and_under_another_name(host):
    before = host.state()
    pod = host.pod("a")
    host.add("c1", pod).ok()
    os.unlink(os.path.join(host.run_dir, "plugin.json"))
    host.delete("c1", config=host.config(name="renamed")).silent()
    host.publish()
    assert host.state() == before
    host.add("c1", pod).ok()
    host.delete("c1", config=host.config(name=None, cniVersion="99.0.0")).silent()
    assert host.state() == before


def test_del_with_unreadable_configuration(host):
    """Then the default run directory is used: here, this host's own in a mount namespace."""
    before = host.state()
    host.add("c1", host.pod("a")).ok()
    script = 'mount -t tmpfs none /run && mkdir /run/underlay && mount --bind "$1" /run/underlay && exec "$2"'
    wrap = ["unshare", "-m", "sh", "-c", script, "sh", host.run_dir]
    host.call("DEL", "c1", "", config="{ broken", wrap=wrap).silent()
    assert host.state() == before


def test_del_at_the_same_time(host):
    before = host.state()
    host.add("c1", host.pod("a")).ok()
    for call in [host.start("DEL", "c1", "").feed() for _ in range(8)]:
        call.silent()
    assert host.state() == before


def test_del_does_not_touch_another_pod(host):
    """A StatefulSet's pod is replaced: the same namespace path, the same pod name, DEL of the old comes late."""
    args = {"CNI_ARGS": "K8S_POD_NAMESPACE=shop;K8S_POD_NAME=db-0"}
    pod = host.pod("a")
    host.add("old", pod, **args).ok()
    host.remove_pod(pod)
    assert host.pod("a") == pod
    address = host.add("new", pod, **args).address
    host.delete("old", pod, **args).silent()
    assert host.pings(address)
    assert host.leases() == [("new", "eth0", "underlay")]


def test_del_that_cannot_free_says_so(host):
    host.add("c1", host.pod("a")).ok()
    script = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && exec "$2"'
    wrap = ["unshare", "-m", "sh", "-c", script, "sh", host.run_dir]
    host.call("DEL", "c1", "", wrap=wrap).fails(5, "Read-only", "leases")
    assert host.leases() == [("c1", "eth0", "underlay")]
    host.delete("c1").silent()
    assert host.leases() == []


def test_a_full_disk(host):
    """ADD fails as a whole; DEL frees or says why not; afterwards all is well."""
    sh("mount", "-t", "tmpfs", "-o", "size=256k", "none", host.run_dir)
    try:
        host.publish()
        before = host.state()
        host.add("c1", host.pod("a")).ok()
        with pytest.raises(OSError), open(os.path.join(host.run_dir, "filler"), "wb", buffering=0) as f:
            while True:
                f.write(bytes(4096))
        failed = None
        for i in range(40):
            call = host.add(f"full{i}", host.pod(f"full{i}"))
            if call.status != 0:
                failed = call
                break
        assert failed, "the disk was not full"
        failed.fails(5)
        call = host.delete("c1")
        if call.status != 0:
            call.fails(5)
        os.unlink(os.path.join(host.run_dir, "filler"))
        for name in ["c1"] + [f"full{n}" for n in range(i + 1)]:
            host.delete(name).silent()
        assert host.state() == before
    finally:
        sh("umount", host.run_dir)


# --- ADD that must not be


def test_second_add(host):
    pod = host.pod("a")
    address = host.add("c1", pod).address
    before = host.state()
    host.add("c1", pod).fails(100, "c1", "eth0", address, "DEL")
    host.add("c1", host.pod("b")).fails(100, address)
    assert host.state() == before
    assert host.pings(address)


def test_second_add_of_an_orphan(host):
    """The runtime lost the first one, namespace and all, without a DEL."""
    before = host.state()
    pod = host.pod("a")
    address = host.add("c1", pod).address
    host.remove_pod(pod)
    other = host.pod("b")
    assert host.add("c1", other).address == address
    assert host.leases() == [("c1", "eth0", "underlay")]
    until(lambda: host.pings(address), "the new pod answers: the kernel takes the old one's devices apart in its own time")
    host.delete("c1").silent()
    assert host.state() == before


def test_same_add_many_times_at_once(host):
    before = host.state()
    pod = host.pod("a")
    calls = [host.start("ADD", "c1", pod).feed() for _ in range(8)]
    assert sorted(c.status for c in calls) == [0] + [1] * 7
    for c in calls:
        if c.status:
            c.fails(100)
    (good,) = [c for c in calls if c.status == 0]
    assert host.pings(good.address) and len(host.leases()) == 1
    host.delete("c1").silent()
    assert host.state() == before


def test_existing_interface_stays(host):
    pod = host.pod("a")
    host.ip("link", "add", "eth0", "address", "02:00:00:00:00:77", "type", "veth", "peer", "name", "x0", netns=pod)
    host.ip("addr", "add", "198.51.100.1/24", "dev", "eth0", netns=pod)
    before, inside = host.state(), host.ip("addr", netns=pod)
    host.add("c1", pod).fails(100, "eth0", "left as it is")
    assert host.state() == before and host.ip("addr", netns=pod) == inside
    host.delete("c1", pod).silent()
    assert host.ip("addr", netns=pod) == inside


def test_two_interfaces_of_one_container(host):
    before = host.state()
    pod = host.pod("a")
    first = host.add("c1", pod).address
    # a pod has one way out: a second interface would need the same routes, so it is refused, and undone
    host.add("c1", pod, ifname="net1").fails(100, f"{GATEWAY}/32", "net1")
    assert host.pings(first) and host.leases() == [("c1", "eth0", "underlay")]
    host.delete("c1", pod, ifname="net1").silent()
    assert host.pings(first)
    host.delete("c1", pod).silent()
    assert host.state() == before


# --- what fails half-way


def test_a_route_in_the_way(host):
    """The last step fails: everything is undone, the route in the way stays, the next ADD goes on."""
    host.ip("route", "add", "10.244.7.1/32", "dev", "lo", "proto", "static")
    before = host.state()
    pod = host.pod("a")
    host.add("c1", pod).fails(11, "10.244.7.1/32", "there already")
    assert host.state() == before
    assert "eth0" not in host.ip("link", netns=pod)
    assert host.add("c1", pod).address == "10.244.7.2"
    host.delete("c1").silent()
    assert host.state() == before


def test_a_result_that_nobody_reads(host):
    before = host.state()
    pod = host.pod("a")
    script = 'exec "$1" >/dev/full'
    call = host.call("ADD", "c1", pod, wrap=["sh", "-c", script, "sh"])
    assert call.status == 1 and "No space left" in call.err
    assert host.state() == before


def test_exhaustion(host):
    host.publish(cidrs=["10.244.7.0/29"], reuse_delay_s=3600)
    before = host.state()
    pods = [host.pod(f"p{i}") for i in range(7)]
    addresses = [host.add(f"c{i}", pods[i]).address for i in range(6)]
    assert len(set(addresses)) == 6
    host.delete("c5").silent()
    full = host.state()
    host.add("c6", pods[6]).fails(11, "10.244.7.0/29", "5 of 6 used", "1 resting", "try again")
    assert host.state() == full
    host.publish(cidrs=["10.244.7.0/29"], reuse_delay_s=0)
    assert host.add("c6", pods[6]).address == addresses[5]
    for i in range(7):
        host.delete(f"c{i}").silent()
    assert host.state() == before


def test_full_disk_leaves_nothing_damaged(host):
    """The run directory on a file system with too little room, for every amount of too little: an error, and once
    there is room, all is well."""
    pod = host.pod("a")
    leases = pathlib.Path(host.run_dir, "leases")
    for kib in range(4, 220, 12):
        leases.mkdir(exist_ok=True)
        sh("mount", "-t", "tmpfs", "-o", f"size={kib}k", "none", leases)
        try:
            call = host.add("c1", pod)
            gone = call.status == 0 and host.delete("c1")
            for failed in [c for c in (call, gone) if c and c.status != 0]:
                assert failed.json["code"] in (5, 11), failed.json
                sh("mount", "-o", "remount,size=4m", leases)
            if gone and gone.status != 0:
                host.delete("c1").silent()
            if call.status != 0:
                host.add("c1", pod).ok()
                host.delete("c1").silent()
        finally:
            sh("umount", leases)
    assert call.status == 0 and gone.status == 0  # the last amount was enough


def test_failing_sandboxes_eat_no_addresses(host):
    host.publish(cidrs=["10.244.7.0/30"], reuse_delay_s=3600, mtu=10)  # no veth is that small
    pod = host.pod("a")
    for _ in range(10):
        host.add("c1", pod).fails(102, "eth0")
    host.publish(cidrs=["10.244.7.0/30"], reuse_delay_s=3600)
    host.add("c1", pod).ok()


def test_a_foreign_device_with_our_name(host):
    pod = host.pod("a")
    name = host.add("c1", pod).ok().json["interfaces"][0]["name"]
    host.delete("c1").silent()
    host.ip("link", "add", name, "type", "veth", "peer", "name", "x0")
    before = host.state()
    result = host.add("c1", pod).ok().json
    assert result["interfaces"][0]["name"] != name
    assert host.pings(result["ips"][0]["address"].split("/")[0])
    host.delete("c1").silent()
    assert host.state() == before


def test_ids_that_start_alike(host):
    a, b = host.pod("a"), host.pod("b")
    stem = "0123456789ab"
    address_a = host.add(stem + "c" * 52, a).address
    address_b = host.add(stem + "d" * 52, b).address
    assert address_a != address_b and host.pings(address_a) and host.pings(address_b)
    host.delete(stem + "c" * 52).silent()
    assert host.pings(address_b)


# --- CHECK finds what is broken


BREAK = {
    "address": (["addr", "del", "10.244.7.1/32", "dev", "eth0"], True, "10.244.7.1"),
    "pod route": (["route", "del", "default"], True, "0.0.0.0/0"),
    "pod link": (["link", "set", "dev", "eth0", "down"], True, "down"),
    "mac": (["link", "set", "dev", "eth0", "address", "02:00:00:00:00:99"], True, "02:00:00:00:00:99"),
    "gateway": (["neigh", "del", GATEWAY, "dev", "eth0"], True, "neighbour"),
    "host route": (["route", "del", "10.244.7.1/32"], False, "10.244.7.1/32"),
    "host neighbour": (["neigh", "del", "10.244.7.1", "dev", "HOST"], False, "neighbour"),
    "host link": (["link", "set", "dev", "HOST", "down"], False, "down"),
    "host link gone": (["link", "del", "dev", "HOST"], False, "eth0"),
}


@pytest.mark.parametrize("what", BREAK)
def test_check_finds(host, what):
    argv, in_pod, word = BREAK[what]
    pod = host.pod("a")
    result = host.add("c1", pod).ok().json
    config = host.config(prevResult=result)
    # what others add does not matter
    host.ip("addr", "add", "198.51.100.1/24", "dev", "eth0", netns=pod)
    host.ip("route", "add", "203.0.113.0/24", "via", GATEWAY, "dev", "eth0", netns=pod)
    host.call("CHECK", "c1", pod, config=config).silent()
    outer = result["interfaces"][0]["name"]
    host.ip(*[outer if a == "HOST" else a for a in argv], netns=pod if in_pod else None)
    host.call("CHECK", "c1", pod, config=config).fails(101, word)


def test_check_of_a_route_that_points_elsewhere(host):
    pod, other = host.pod("a"), host.pod("b")
    result = host.add("c1", pod).ok().json
    elsewhere = host.add("c2", other).ok().json["interfaces"][0]["name"]
    host.ip("route", "replace", "10.244.7.1/32", "dev", elsewhere, "proto", "171", "scope", "link")
    host.call("CHECK", "c1", pod, config=host.config(prevResult=result)).fails(101, "10.244.7.1/32")


def test_check_of_what_never_was(host):
    pod = host.pod("a")
    result = host.add("c1", pod).ok().json
    host.call("CHECK", "c2", pod, config=host.config(prevResult=result)).fails(101, "no lease")
    host.call("CHECK", "c1", pod).fails(7, "prevResult")
    host.call("CHECK", "c1", pod, config=host.config(prevResult=7)).fails(6)
    host.delete("c1").silent()
    host.call("CHECK", "c1", pod, config=host.config(prevResult=result)).fails(101)


# --- many, and killed


def test_a_hundred_at_once(host):
    before = host.state()
    pods = [host.pod(f"p{i}") for i in range(100)]
    calls = [host.start("ADD", f"c{i}", pods[i]).feed() for i in range(100)]
    addresses = [c.address for c in calls]
    assert len(set(addresses)) == 100
    assert len(host.leases()) == 100
    for i in range(0, 100, 9):
        assert host.pings(addresses[i]), f"pod {i}"
    for call in [host.start("DEL", f"c{i}", "").feed() for i in range(100)]:
        call.silent()
    assert host.state() == before


def test_killed_anywhere(host):
    """kill -9 at random moments of ADD and DEL; one DEL more, and nothing is left. Meanwhile other pods
    come and go undisturbed."""
    seed = int.from_bytes(os.urandom(4), "big")
    dice = random.Random(seed)
    before = host.state()
    pod = host.pod("a")
    started = time.monotonic()
    host.add("probe", pod).ok()
    whole = time.monotonic() - started
    host.delete("probe").silent()
    killed = 0
    for i in range(60):
        command = dice.choice(["ADD", "ADD", "DEL"])
        if command == "DEL":
            host.add("victim", pod).ok()
        call = host.start(command, "victim", pod).feed()
        time.sleep(dice.uniform(0, whole))  # not waiting for anything: choosing the moment
        call.process.send_signal(signal.SIGKILL)
        killed += call.process.wait() == -signal.SIGKILL
        call._wait()
        if i % 10 == 0:
            other = host.pod(f"o{i}")
            assert host.pings(host.add(f"other{i}", other).address), f"seed {seed}"
            host.delete(f"other{i}").silent()
        host.delete("victim", dice.choice([pod, ""])).silent()
        assert host.state() == before, f"seed {seed}, round {i}, {command}"
        assert "eth0" not in host.ip("link", netns=pod), f"seed {seed}, round {i}"
    assert killed > 10, f"only {killed} of 60 were hit: the moments were chosen badly"


def test_killed_then_added_again(host):
    """A runtime that tries again with a new id leaves the old one for later."""
    before = host.state()
    pod = host.pod("a")
    call = host.start("ADD", "first", pod).feed()
    until(lambda: host.leases() or call.process.poll() is not None, "the lease of the first ADD")
    call.process.send_signal(signal.SIGKILL)
    call._wait()
    second = host.pod("b")
    assert host.pings(host.add("second", second).address)
    host.delete("first").silent()
    host.delete("second").silent()
    assert host.state() == before
