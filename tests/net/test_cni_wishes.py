"""Addresses and MACs that a runtime asks for."""
import os
import shutil

import pytest

from cni_util import Host


@pytest.fixture
def host():
    h = Host()
    yield h
    h.close()


def wish(host, *ips, **more):
    return host.config(runtimeConfig={"ips": list(ips), **more})


def test_gets_what_it_asks_for(host):
    host.ip("addr", "add", "fd00:1::1/128", "dev", "lo")
    before = host.state()
    host.publish(cidrs=["10.244.7.0/24", "fd00:7::/120"])
    pod = host.pod("a")
    result = host.add("c1", pod, config=wish(host, "10.244.7.99/24", "fd00:7::63", mac="02:00:00:00:00:99")).ok().json
    assert [ip["address"] for ip in result["ips"]] == ["10.244.7.99/32", "fd00:7::63/128"]
    assert result["interfaces"][1]["mac"] == "02:00:00:00:00:99"
    assert host.pings("10.244.7.99") and host.pings("fd00:7::63")
    host.call("CHECK", "c1", pod, config=host.config(prevResult=result)).silent()
    # the others get what is next, and never that
    assert host.add("c2", host.pod("b")).address == "10.244.7.1"
    host.add("c3", host.pod("c"), config=wish(host, "10.244.7.99")).fails(11, "10.244.7.99", "another pod's")
    # the MAC is known after the store was lost, too
    shutil.rmtree(os.path.join(host.run_dir, "leases"))
    host.add("c3", host.pod("d")).ok()
    host.call("CHECK", "c1", pod, config=host.config(prevResult=result)).silent()
    for i in range(1, 4):
        host.delete(f"c{i}").silent()
    assert host.state() == before


def test_the_same_address_again_at_once(host):
    """A pod that is replaced under its old address does not wait for the rest of that."""
    for _ in range(2):
        assert host.add("c1", host.pod("a"), config=wish(host, "10.244.7.50")).address == "10.244.7.50"
        host.delete("c1").silent()
        host.remove_pod("/run/netns/" + host.names[-1])
    assert host.add("c2", host.pod("b"), CNI_ARGS="IgnoreUnknown=1;IP=10.244.7.50").address == "10.244.7.50"


def test_what_cannot_be_had(host):
    before = host.state()
    pod = host.pod("a")
    for address in ("10.245.0.1", "10.244.7.0", "10.244.7.255", "fd00::1"):
        host.add("c1", pod, config=wish(host, address)).fails(7, address, "pods.cidrs")
    host.add("c1", pod, config=wish(host, "10.244.7.300")).fails(7, "10.244.7.300", "runtimeConfig.ips")
    host.add("c1", pod, CNI_ARGS="IP=x").fails(4, "CNI_ARGS")
    assert host.state() == before
