"""kill -9 at any moment of a fault, and a new start: what the old life left in the kernel is put right."""
import random

from fault_site import number_of, prefixes4, prefixes6
from harness import wait_until
from test_fault_foreign import clean

V4, V6 = prefixes4(number_of("FAULT_ROUTES", 3000)), prefixes6(300)
ALL = len(V4) + len(V6) + 1


def faults(site, dice):
    yield "routes that came", lambda: None
    yield "a flush", lambda: site.kernel.delete_routes(dice.sample(site.ours(), len(site.ours()) // 2))
    yield "a cleaning", lambda: clean(site, True)
    yield "a link that went down", lambda: site.kernel.set_link(site.ifindex[0], False)
    yield "next hops that went", lambda: site.peers[1].withdraw(V4[::2])
    yield "next hops that came", lambda: site.peers[1].announce(V4, site.next_hop(1))


def test_killed_at_any_moment(site):
    dice = random.Random(number_of("FAULT_SEED", 3))
    site.node.start()
    site.connect(V4 + V6)
    for what, do in faults(site, dice):
        floor = dice.randrange(ALL // 2)
        wait_until(lambda: len(site.ours()) >= floor, 30, f"{floor} routes are there")
        do()
        site.node.kill()
        if dice.random() < 0.5:  # others go on meanwhile
            do()
        site.start()
        site.kernel.set_link(site.ifindex[0], True)  # without it nothing is taken back before the wait for its peer is over
        site.kernel.set_address(site.ifindex[0], "fd00:0::1/64")
        site.agree(f"a kill in the middle of {what}", ALL, 60)
