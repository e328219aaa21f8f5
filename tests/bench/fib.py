"""Routes into the kernel and out again, against a bare netlink writer; what the loss of a next hop costs, and how long the loop is held up."""
import statistics
import subprocess

import fib_failover
import fib_turns
from beds import Namespaces, bed
from daemons import V4, V6, GoBgp, OpenBgpd, Underlay, peer_list

LOADS = [("200 k routes", dict(prefixes=200000)), ("1 M routes", dict(prefixes=1000000)),
         ("200 k IPv6 routes", dict(prefixes=200000, v6=True))]
QUICK = [("50 k routes", dict(prefixes=50000)), ("200 k routes", dict(prefixes=200000))]
SMOKE = [("2 k routes", dict(prefixes=2000))]
BARE_BAR, BIRD_BAR = 0.8, 3.5   # of the writer's speed; times BIRD's
WAYS = ("added", "deleted")


def bare(build, prefixes, v6, objects):
    """{"added": seconds, "deleted": seconds} of the bare writer."""
    peers = [a for a, _ in peer_list(v6, 1)]
    spaces = Namespaces(peers)
    try:
        argv = [build / "tests/bench/bare_routes", "-n", prefixes, "-g", peers[1], "-d", "d0", *(["-o"] if objects else [])]
        said = subprocess.run(["ip", "netns", "exec", spaces.names[0], "nice", "-n", "-10", *map(str, argv)], stdout=subprocess.PIPE, text=True, check=True)
        return {event: float(value) for event, value in map(str.split, said.stdout.splitlines())}
    finally:
        spaces.delete()


def measure(kind, build, prefixes, v6=False):
    """The same of a daemon, from the first UPDATE to the last route in the kernel, with its memory and, in milliseconds, the longest
    turn of its loop and the most of own work in one; None where it did not get there."""
    peers = peer_list(v6, 1)
    result = {}
    with bed(kind.name, [a for a, _ in peers]) as place:
        place.start(kind(place.dir).command(v6, peers, build, kernel=True), kind.ready_after_s)

        def on_event(event, values):
            result[{"converged": "added", "withdrawn": "deleted"}.get(event, event)] = values[0]
            if event == "established":
                result["before"] = place.usage()[0]
            if event == "converged":
                cpu, result["rss"], _ = place.usage()
                result["cpu"] = cpu - result["before"]
            if event in ("converged", "withdrawn") and kind is Underlay:
                got = fib_turns.status(place, build)
                result["longest"], result["work"] = got["longest_turn_us"] / 1000, got["busiest_turn_us"] / 1000
        argv = [build / "tests/bench/load", "-d", V6 if v6 else V4, "-n", prefixes, "-k", place.spaces.names[0]]
        return result if place.play(argv, on_event) else None


def rounds_of(options, load):
    """name -> the rounds' results. Beside each other: a machine that is busy now is busy for all."""
    got = {}
    v6 = load.get("v6", False)
    for _ in range(options.rounds):
        for name, objects in (("bare", False), ("bare, objects", True)):
            got.setdefault(name, []).append(bare(options.build, load["prefixes"], v6, objects))
        for kind in options.kinds:
            if kind not in (GoBgp, OpenBgpd):   # which write no routes here
                got.setdefault(kind.name, []).append(measure(kind, options.build, **load))
    return got


def median(rounds, key):
    values = [r[key] for r in rounds if r and key in r]
    return statistics.median(values) if values else None


def verdict(got, way):
    """Is the bar met, and in what words."""
    ours, bird = median(got[Underlay.name], way), median(got.get("bird", []), way)
    limit = min(median(got[name], way) for name in got if name.startswith("bare"))
    if not ours:
        return False, "did not get there"
    good = limit / ours >= BARE_BAR and (not bird or bird / ours >= BIRD_BAR)
    return good, f"{way}: {limit / ours:.2f} of the limit" + (f", {bird / ours:.1f} x BIRD" if bird else "") + (
        "" if good else " (NOT MET)")


def number(value, width, digits):
    return f"{'-':>{width}}" if value is None else f"{value:{width}.{digits}f}"


def run_writers(options):
    met = True
    print(f"{'routes':18} {'writer':14} {'added':>8} {'k/s':>5} {'deleted':>8} {'k/s':>5} {'cpu s':>7} {'MiB':>7} {'longest':>8} "
          f"{'work ms':>7}  "
          f"bar: {BARE_BAR} of the bare writer's speed, {BIRD_BAR} x BIRD's")
    for name, load in SMOKE if options.smoke else QUICK if options.quick else LOADS:
        if options.only not in name and options.only != "writers":
            continue
        got = rounds_of(options, load)
        for writer, rounds in got.items():
            columns = [median(rounds, way) for way in WAYS]
            words = " ".join(f"{s:8.2f} {load['prefixes'] / s / 1000:5.0f}" if s else f"{'-':>8} {'-':>5}" for s in columns)
            says = ""
            if writer == Underlay.name:
                verdicts = [verdict(got, way) for way in WAYS]
                met &= all(good or options.smoke and columns[i] for i, (good, _) in enumerate(verdicts))
                says = "; ".join(text for _, text in verdicts)
            rest = " ".join(number(median(rounds, key), width, digits) for key, width, digits in
                            (("cpu", 7, 2), ("rss", 7, 1), ("longest", 8, 1), ("work", 7, 1)))
            print(f"{name:18} {writer:14} {words} {rest}  {says}", flush=True)
    return met


def run(options):
    parts = {"writers": run_writers, "failover": fib_failover.run, "turns": fib_turns.run}
    chosen = [part for name, part in parts.items() if name == options.only] or parts.values()
    return all([part(options) for part in chosen])
