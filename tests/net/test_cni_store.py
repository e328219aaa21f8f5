"""The lease store lost or damaged while pods run: made anew from the kernel before anything else, and no address is
given twice."""
import os
import random
import shutil

import pytest

from cni_util import Host

BOTH = ["10.244.7.0/24", "fd00:7::/120"]


@pytest.fixture
def host():
    h = Host()
    yield h
    h.close()


def lose(directory):
    shutil.rmtree(directory)


def lose_data(directory):
    os.unlink(os.path.join(directory, "data.mdb"))


def overwrite(directory):
    with open(os.path.join(directory, "data.mdb"), "r+b") as f:
        f.write(b"garbage" * 3000)


def empty(directory):
    os.truncate(os.path.join(directory, "data.mdb"), 0)


def cut(directory):
    os.truncate(os.path.join(directory, "data.mdb"), 8192 + 100)


def mark(directory):
    open(os.path.join(directory, "damaged"), "w").close()


@pytest.mark.parametrize("damage", [lose, lose_data, overwrite, empty, cut, mark])
@pytest.mark.parametrize("first", ["ADD", "DEL", "CHECK"])
def test_made_anew_from_the_kernel(host, damage, first):
    before = host.state()
    host.publish(cidrs=BOTH, reuse_delay_s=0)
    pods = [host.pod(f"p{i}") for i in range(4)]
    results = [host.add(f"c{i}", pods[i]).ok().json for i in range(3)]
    addresses = {ip["address"] for r in results for ip in r["ips"]}
    directory = os.path.join(host.run_dir, "leases")
    leases = host.leases()
    damage(directory)
    if first == "ADD":
        new = {ip["address"] for ip in host.add("c3", pods[3]).ok().json["ips"]}
        assert len(new) == 2 and not new & addresses
        assert sorted(host.leases()) == sorted(leases + [("c3", "eth0", "underlay")])
        host.call("CHECK", "c0", pods[0], config=host.config(prevResult=results[0])).silent()
        assert host.add("c1", pods[1]).fails(100, "eth0")
        host.delete("c3").silent()
    if first == "CHECK":
        host.call("CHECK", "c0", pods[0], config=host.config(prevResult=results[0])).silent()
        assert sorted(host.leases()) == sorted(leases)
    if damage not in (lose, lose_data, empty):
        host.delete("c0").silent()
        assert os.path.exists(os.path.join(directory, "data.mdb.damaged"))
        assert not os.path.exists(os.path.join(directory, "damaged"))
        assert len(host.leases()) == 2
    for i in range(3):
        host.delete(f"c{i}").silent()
    # an address that was freed after all is free again
    host.publish(cidrs=["10.244.7.0/30"], reuse_delay_s=0)
    assert {host.add(f"c{i}", pods[i]).address for i in range(2)} == {"10.244.7.1", "10.244.7.2"}
    for i in range(2):
        host.delete(f"c{i}").silent()
    assert host.state() == before


def test_an_interface_without_neighbours_is_known_by_its_route(host):
    address = host.add("c1", host.pod("a")).address
    link = next(name for name, _ in host.state()["links"] if name.startswith("ul"))
    host.ip("link", "set", "dev", link, "down")
    host.ip("link", "set", "dev", link, "up")
    host.ip("route", "add", f"{address}/32", "dev", link, "proto", "171")
    lose(os.path.join(host.run_dir, "leases"))
    assert host.add("c2", host.pod("b")).address != address
    assert ("c1", "eth0", "underlay") in host.leases()


def test_many_find_the_damage_at_once(host):
    host.publish(cidrs=BOTH)
    for i in range(5):
        host.add(f"c{i}", host.pod(f"p{i}")).ok()
    overwrite(os.path.join(host.run_dir, "leases"))
    pods = [host.pod(f"q{i}") for i in range(20)]
    calls = [host.start("ADD", f"d{i}", pods[i]).feed() for i in range(20)]
    answers = [c.ok().json for c in calls]
    assert len({ip["address"] for a in answers for ip in a["ips"]}) == 40
    assert len(host.leases()) == 25
    for call in [host.start("DEL", f"{x}{i}", "").feed() for x, n in (("c", 5), ("d", 20)) for i in range(n)]:
        call.silent()
    assert host.leases() == []


def attempt(host, command, netns):
    """One call on a store that may be damaged anywhere."""
    call = host.call(command, "x", netns)
    if call.status and call.out:
        taken = call.json["code"] == 11 and "a route" in call.json["msg"]  # the kernel knew better than the store
        assert taken or call.fails(5)
    elif call.status:  # with sanitizers a crash is theirs to report, and nobody marks the store
        mark(os.path.join(host.run_dir, "leases"))
    return call


def settle(host):
    for _ in range(3):
        if attempt(host, "DEL", "").status == 0:
            return
    host.delete("x").ok()


def test_bits_that_flip(host):
    """Wherever the damage is: no address is given twice, and after an error at most the store is whole again."""
    seed = int.from_bytes(os.urandom(4), "big")
    dice = random.Random(seed)
    pods = [host.pod(f"p{i}") for i in range(4)]
    kept = [host.add(f"k{i}", pods[i]).address for i in range(2)]
    data = os.path.join(host.run_dir, "leases", "data.mdb")
    for i in range(40):
        with open(data, "r+b") as f:
            size = f.seek(0, os.SEEK_END)
            for _ in range(dice.choice([1, 8, 64])):
                at = dice.randrange(size)
                f.seek(at)
                byte = f.read(1)[0]
                f.seek(at)
                f.write(bytes([byte ^ 1 << dice.randrange(8)]))
        while (call := attempt(host, "ADD", pods[2])).status:
            settle(host)  # as runtimes do after an ADD that failed
        assert call.address not in kept, f"seed {seed}, round {i}"
        settle(host)
        assert all(host.pings(a) for a in kept)
