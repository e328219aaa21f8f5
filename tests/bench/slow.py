"""A reader at 1 KB a second: the others are not told later, and nothing piles up for it."""
import peers
import table
from daemons import Underlay

GROWTH_MIB = 2.0  # the bound of docs/architecture.md, and the allocator
SLOWER = 1.5      # the others' time (or p99) beside a slow reader; more is no noise

# name, what is measured, its load, what makes a reader slow, what is compared
ROWS = [
    ("1 M prefixes, one slow reader", table, dict(prefixes=1000000, feeders=1), dict(slow=True), "converged"),
    ("1000 peers, one slow reader", peers, dict(nodes=1000, internal=True, more=("-c", 500)),
     dict(more=("-c", 500, "-s", 1)), "churn p99"),
]
QUICK = [
    ("100 k prefixes, one slow reader", table, dict(prefixes=100000, feeders=1), dict(slow=True), "converged"),
    ("100 peers, one slow reader", peers, dict(nodes=100, internal=True, more=("-c", 500)),
     dict(more=("-c", 500, "-s", 1)), "churn p99"),
]


def run(options):
    met = True
    print(f"{'slow readers':32} {'daemon':10} {'what':10} {'without':>8} {'with':>8} {'x':>5} {'MiB':>7} {'MiB':>7}  bar")
    for name, how, load, slow, what in QUICK if options.quick else ROWS:
        if options.only not in name:
            continue
        for kind in options.kinds:
            without = min((how.measure(kind, options.build, **load) for _ in range(options.rounds)),
                          key=lambda got: got[what] if got else float("inf"))
            beside = min((how.measure(kind, options.build, **{**load, **slow}) for _ in range(options.rounds)),
                         key=lambda got: got[what] if got else float("inf"))
            if not without or not beside:
                print(f"{name:32} {kind.name:10} did not get there")
                met &= kind is not Underlay
                continue
            slower, more = beside[what] / without[what], beside["rss at end"] - without["rss at end"]
            says = ""
            if kind is Underlay:
                good = slower <= SLOWER and more <= GROWTH_MIB
                says = f"{SLOWER} x, {GROWTH_MIB} MiB more: {'met' if good else 'NOT MET'}"
                met &= good
            print(f"{name:32} {kind.name:10} {what:10} {without[what]:8.2f} {beside[what]:8.2f} {slower:5.2f} "
                  f"{without['rss at end']:7.1f} {beside['rss at end']:7.1f}  {says}", flush=True)
    return met
