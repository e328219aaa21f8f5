"""The table: feeders announce many prefixes, a sink counts until it has them all."""
from beds import bed, ratio
from daemons import SLOW_AS, V4, V6, Underlay, address_of, peer_list

# name, what is loaded, and the bar as ratios to BIRD: (seconds, memory)
TABLE = [
    ("1 feeder x 1 M, 200 k sets", dict(prefixes=1000000, feeders=1), (0.35, 0.5)),
    ("1 feeder x 1 M, pods", dict(prefixes=1000000, feeders=1, mix="pods"), (0.35, 0.5)),
    ("10 feeders x 100 k", dict(prefixes=100000, feeders=10), (0.35, 0.5)),
    ("1 feeder x 1 M IPv6", dict(prefixes=1000000, feeders=1, v6=True), (0.35, 0.5)),
]
QUICK = [(f"{name} / 10", {**load, "prefixes": load["prefixes"] // 10}, bar) for name, load, bar in TABLE[:4]]


def measure(kind, build, prefixes, feeders, mix="full", v6=False, churn=0, restart=False, slow=False):
    """{"converged": seconds, ...}; None with the reason on standard error where it did not get there."""
    peers = peer_list(v6, feeders)
    result = {}
    peers += [(address_of(v6, 2), SLOW_AS)] if slow else []
    with bed(kind.name, [a for a, _ in peers]) as place:
        place.start(kind(place.dir).command(v6, peers, build))

        def on_event(event, values):
            result[event] = values[0]
            if event == "churn":
                result["churn p50"], result["churn p99"], result["churn max"] = values[:3]
            result["rss at end"] = place.usage()[1]
            if event == "established":
                result["before"] = place.usage()[0]
            if event == "converged":
                cpu, result["rss"], result["peak"] = place.usage()
                result["cpu"] = cpu - result["before"]
        argv = [build / "tests/bench/load", "-d", V6 if v6 else V4, "-n", prefixes, "-F", feeders, "-m", mix, "-c", churn]
        argv += ["-r"] * restart + ["-s"] * slow
        return result if place.play(argv, on_event) else None


def best_of(rounds, kinds, build, load):
    """The best round of each daemon. Beside each other: a machine that is busy now is busy for all."""
    best = {}
    for _ in range(rounds):
        for kind in kinds:
            got = measure(kind, build, **load)
            if got and (kind.name not in best or got["converged"] < best[kind.name]["converged"]):
                best[kind.name] = got
    return best


def verdict(got, base, bar):
    good = got["converged"] <= bar[0] * base["converged"] and got["rss"] <= bar[1] * base["rss"]
    return good, f"{bar[0]} x time, {bar[1]} x memory: {'met' if good else 'NOT MET'}"


def show(name, kind, got, base, says):
    print(f"{name:28} {kind.name:10} {got['converged']:8.2f} {ratio(got['converged'], base.get('converged')):>5} "
          f"{got['cpu']:7.2f} {ratio(got['cpu'], base.get('cpu')):>5} {got['rss']:7.1f} "
          f"{ratio(got['rss'], base.get('rss')):>5} {got['withdrawn']:8.2f}  {says}", flush=True)


def run(options):
    met = True
    print(f"{'load':28} {'daemon':10} {'seconds':>8} {'x':>5} {'cpu s':>7} {'x':>5} {'MiB':>7} {'x':>5} {'withdraw':>8}  bar")
    for name, load, bar in QUICK if options.quick else TABLE:
        if options.only not in name:
            continue
        best = best_of(options.rounds, options.kinds, options.build, load)
        base = best.get("bird", {})
        for kind in options.kinds:
            got, says = best.get(kind.name), ""
            if not got:
                print(f"{name:28} {kind.name:10} did not get there")
                met &= kind is not Underlay
                continue
            if kind is Underlay and bar and base:
                good, says = verdict(got, base, bar)
                met &= good
            if got["load"] > 0.8 * (got["converged"] + got.get("withdrawn", 0)):
                says += " (the load is the limit)"
            show(name, kind, got, base, says)
    return met
