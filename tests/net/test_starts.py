"""Two daemons that start at the same moment and call each other are Established within 10 s, every time: each judges the
collision for itself, and where both gave up a connection, the retry has to mend it. Every other time their link comes up
when both are there: both then call in the same instant, and the calls do cross. SOAK_STARTS=200 for the long run."""
import os
import random
import threading
import time

import pytest

from control import Control
from harness import wait_until

STARTS = int(os.environ.get("SOAK_STARTS", "12"))
AT_ONCE = 4
LIMIT_S = 10


class Pair:
    """Two namespaces, one link, a daemon on either side."""

    def __init__(self, net, number):
        self.random = random.Random(number)
        self.took, self.failed = [], None
        self.ends = ends = [net.ns(f"a{number}"), net.ns(f"b{number}")]
        net.link(ends[0], "eth0", "10.0.0.1/30", ends[1], "eth0", "10.0.0.2/30")
        self.daemons = [net.underlayd(ns, self.config(i + 1, 2 - i), f"{'ab'[i]}{number}") for i, ns in enumerate(ends)]

    @staticmethod
    def config(own, other):
        return {"node": {"name": f"n{own}", "asn": 64700 + own, "router-id": f"10.0.0.{own}"},
                "peers": [{"name": "peer", "address": f"10.0.0.{other}", "asn": 64700 + other, "import": "all", "export": "none"}]}

    def run(self, count):
        try:
            for number in range(count):
                self.start_together() if number % 2 else self.link_up_together()
                wait_until(lambda: all(map(established, self.daemons)), LIMIT_S, "both are established",
                           lambda: [d.log()[-2000:] for d in self.daemons])
                self.took.append(time.monotonic() - self.began)
                for daemon in self.daemons:
                    assert daemon.stop() == 0
        except BaseException as e:  # noqa: BLE001  the thread's failure is the test's
            self.failed = e

    def start_together(self):
        first, second = self.daemons[::self.random.choice((1, -1))]
        self.began = time.monotonic()
        first.start(wait=False)
        time.sleep(self.random.choice((0, 0, self.random.random() / 50)))  # not waiting: trying another moment
        second.start(wait=False)

    def link_up_together(self):
        self.ends[0].ip("link", "set", "eth0", "down")
        for daemon in self.daemons:
            daemon.start()
        self.began = time.monotonic()
        self.ends[0].ip("link", "set", "eth0", "up")


def established(daemon):
    control = Control(daemon.socket_path)
    try:
        return control.peer("peer")["state"] == "Established"
    finally:
        control.sock.close()


@pytest.mark.soak
def test_simultaneous_starts(net):
    pairs = [Pair(net, i) for i in range(AT_ONCE)]
    threads = [threading.Thread(target=p.run, args=(STARTS // AT_ONCE,)) for p in pairs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    took = sorted(t for p in pairs for t in p.took)
    failed = [p.failed for p in pairs if p.failed]
    assert not failed, failed[0]
    print(f"{len(took)} starts: half of them in {took[len(took) // 2]:.2f} s, {sum(t > 1 for t in took)} took a retry, "
          f"the last {took[-1]:.2f} s")
    assert len(took) == STARTS
