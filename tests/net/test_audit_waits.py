"""While thousands of routes wait to be written the audit is put off, and it comes when they are through, or when somebody asks."""
from concurrent.futures import ThreadPoolExecutor

import pytest

from fault_site import Site, prefixes4
from harness import wait_until
from shim import Shim

ROUTES = 8000  # some 32 writes
BUSY = 2500    # more than what counts as busy, as the queue moves on before an audit's end is told
SLOW_MS = 80


@pytest.fixture
def loading(net):
    """A site whose routes go in slowly, and what `show kernel` says; an address that came is a reason for an audit."""
    site = Site(net, links=1)
    shim = Shim(site.node)
    site.start()
    shim.slow_down(SLOW_MS)

    def look():
        return site.node.ask("show", "kernel")[0]

    site.connect(prefixes4(ROUTES))
    wait_until(lambda: look()["queued"] > BUSY, 20, "the routes wait", look)
    try:
        yield site, shim, look
    finally:
        site.close()


def test_an_audit_waits_and_comes(loading):
    site, _, look = loading
    site.kernel.set_address(site.ifindex[0], "10.0.7.1/24")
    before, looks = look()["audit"]["number"], []

    def is_through():
        looks.append(look())
        return looks[-1]["queued"] == 0

    wait_until(is_through, 30, "all are written", look)
    busy = [seen["audit"]["number"] for seen in looks if seen["queued"] > BUSY]
    assert len(busy) > 3 and set(busy) == {before}, (before, busy)
    wait_until(lambda: look()["audit"]["number"] > before, 20, "the audit comes", look)
    site.agree("the audit was put off", ROUTES + 1)


def test_an_audit_that_is_asked_for_does_not_wait(loading):
    site, shim, look = loading
    before = look()["audit"]["number"]
    with ThreadPoolExecutor() as pool:
        resync = pool.submit(site.node.client, "resync", "kernel")
        seen = {}

        def is_done():
            seen.update(look())
            return seen["audit"]["number"] > before

        wait_until(is_done, 20, "it is read", look)
        assert seen["queued"] > BUSY, "it waited"
        shim.slow_down(0)
        assert resync.result().returncode == 0, resync.result()
    site.agree("it was asked for", ROUTES + 1)
