"""What changes: prefixes at a given rate, from a feeder to those who are told, and peers that go and come again."""
import peers
import table
from daemons import Underlay

P99_MS = 10  # the bar, from feeder to sink, at 10 k changes a second

# name, what is measured (table.py's loads with a sink, peers.py's nodes), does the bar hold?
ROWS = [
    ("10 k changes a second", table, dict(prefixes=100000, feeders=1, churn=10000), True),
    ("10 k changes a second, IPv6", table, dict(prefixes=100000, feeders=1, churn=10000, v6=True), True),
    ("10 k a second to 100 peers", peers, dict(nodes=100, more=("-c", 10000)), True),
    ("restart of a feeder, 100 k", table, dict(prefixes=100000, feeders=1, restart=True), False),
    ("restart of a feeder, 1 M", table, dict(prefixes=1000000, feeders=1, restart=True), False),
    ("restart of one of 1000 nodes", peers, dict(nodes=1000, internal=True, more=("-x",)), False),
]
QUICK = [
    ("2 k changes a second", table, dict(prefixes=50000, feeders=1, churn=2000), False),
    ("2 k changes a second, IPv6", table, dict(prefixes=50000, feeders=1, churn=2000, v6=True), False),
    ("restart of a feeder, 100 k", table, dict(prefixes=100000, feeders=1, restart=True), False),
]


def best_of(options, how, load):
    """The round with the least p99, or the quickest to come back."""
    best = {}
    for _ in range(options.rounds):
        for kind in options.kinds:
            got = how.measure(kind, options.build, **load)
            by = "churn p99" if got and "churn p99" in got else "back"
            if got and (kind.name not in best or got[by] < best[kind.name][by]):
                best[kind.name] = got
    return best


def field(got, key, width):
    return f"{got[key]:{width}.2f}" if key in got else f"{'':{width}}"


def run(options):
    met = True
    print(f"{'churn':30} {'daemon':10} {'p50 ms':>8} {'p99 ms':>8} {'max ms':>8} {'gone s':>8} {'back s':>8} {'MiB':>7} {'after':>7}  bar")
    for name, how, load, has_bar in QUICK if options.quick else ROWS:
        if options.only not in name:
            continue
        best = best_of(options, how, load)
        for kind in options.kinds:
            got, says = best.get(kind.name), ""
            if not got:
                print(f"{name:30} {kind.name:10} did not get there")
                met &= kind is not Underlay
                continue
            if kind is Underlay and has_bar:
                good = got["churn p99"] <= P99_MS
                says = f"p99 {P99_MS} ms: {'met' if good else 'NOT MET'}"
                met &= good
            print(f"{name:30} {kind.name:10} {field(got, 'churn p50', 8)} {field(got, 'churn p99', 8)} {field(got, 'churn max', 8)} "
                  f"{field(got, 'gone', 8)} {field(got, 'back', 8)} {got['rss']:7.1f} {field(got, 'rss at end', 7)}  {says}", flush=True)
    return met
