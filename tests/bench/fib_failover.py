"""One of two next hops goes under traffic: the time from the event to the last packet that was lost (tests/bench/failover.c)."""
import statistics

from beds import TwoLinks, bed
from daemons import GoBgp, OpenBgpd, Underlay

PEERS = [("10.9.1.11", 64601), ("10.9.2.11", 64602)]
ROUTES = (1000, 100000)
QUICK = (1000, 20000)
SMOKE = (500,)
EVENTS = {"carrier": "its link loses the carrier", "peer": "its session is reset"}
BAR_MS = 10


def measure(kind, build, prefixes, event):
    """{"outage": ms, "lost": packets, ...}; None where it did not get there."""
    result = {}
    with bed(kind.name, [a for a, _ in PEERS], TwoLinks) as place:
        place.start(kind(place.dir).command(False, PEERS, build, kernel=True), kind.ready_after_s)
        argv = [build / "tests/bench/failover", "-k", place.spaces.names[0], "-n", prefixes, "-e", event]
        return result if place.play(argv, lambda name, values: result.update({name: values[0]})) else None


def show(kind, prefixes, event, rounds, bar):
    """Is the bar met? No bar: it is run to see that it runs."""
    name = f"{prefixes / 1000:g} k routes, {event}"
    got = [r for r in rounds if r]
    if not got:
        print(f"{name:28} {kind.name:10} did not get there", flush=True)
        return kind is not Underlay
    outage, lost, late = (statistics.median(r[key] for r in got) for key in ("outage", "lost", "late"))
    says = "" if kind is not Underlay or bar is None else "met" if outage <= bar else "NOT MET"
    print(f"{name:28} {kind.name:10} {outage:10.2f} {lost:8.0f} {late:8.2f}  {says}", flush=True)
    return kind is not Underlay or bar is None or outage <= bar


def run(options):
    met = True
    print(f"{'one of two next hops goes':28} {'daemon':10} {'outage ms':>10} {'packets':>8} {'blind ms':>8}  bar: {BAR_MS} ms, "
          "20 packets lost a ms")
    for prefixes in SMOKE if options.smoke else QUICK if options.quick else ROUTES:
        for event in EVENTS:
            kinds = [kind for kind in options.kinds if kind not in (GoBgp, OpenBgpd)]
            got = [[measure(kind, options.build, prefixes, event) for kind in kinds] for _ in range(options.rounds)]
            for i, kind in enumerate(kinds):
                met &= show(kind, prefixes, event, [rounds[i] for rounds in got], None if options.smoke else BAR_MS)
    return met
