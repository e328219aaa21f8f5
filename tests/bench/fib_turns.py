"""How long underlayd's loop is busy in one go while routes come, the kernel is compared with the table, and a peer goes."""
import json
import subprocess

from beds import TwoLinks, bed
from daemons import Underlay
from fib_failover import PEERS

ROUTES, QUICK, SMOKE = 100000, 20000, 500
BAR_MS = 5
# what a phase consists of, in the words of src/daemon/turn.c
PHASES = {"load": ("events", "routes for the kernel", "next hops"), "audit": ("the comparison with the kernel",),
          "peer loss": ("routes of peers that left", "freeing prefixes", "routes for the kernel")}


def ask(place, build, *words):
    argv = [build / "underlayc", "-s", f"{place.dir}/run/control", "-j", *words]
    rows = json.loads(subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout)
    return rows[0] if isinstance(rows, list) else rows


def status(place, build):
    return ask(place, build, "show", "status")


def measure(build, prefixes):
    """The last status of a daemon that had routes by two peers, an audit, and lost one of them; None where it did not get there."""
    with bed(Underlay.name, [a for a, _ in PEERS], TwoLinks) as place:
        place.start(Underlay(place.dir).command(False, PEERS, build, kernel=True))
        last = {}

        def on_event(event, _values):
            if event == "converged":
                ask(place, build, "resync", "kernel")
            last.update(status(place, build))
        argv = [build / "tests/bench/failover", "-k", place.spaces.names[0], "-n", prefixes, "-e", "peer"]
        return last if place.play(argv, on_event) else None


def run(options):
    prefixes = SMOKE if options.smoke else QUICK if options.quick else ROUTES
    got = [g for g in (measure(options.build, prefixes) for _ in range(options.rounds)) if g]
    if not got:
        print("turns: did not get there")
        return False
    best = min(got, key=lambda g: g["busiest_turn_us"])
    parts = best["turn_parts_us"]
    work = {phase: max(parts[name] for name in names) / 1000 for phase, names in PHASES.items()}
    met = best["busiest_turn_us"] / 1000 <= BAR_MS
    print(f"{'own work in one turn':28} {'ms':>10}  bar: {BAR_MS} ms")
    for phase, ms in work.items():
        print(f"{f'{prefixes / 1000:g} k routes, {phase}':28} {ms:10.2f}")
    print(f"{'the most in any turn':28} {best['busiest_turn_us'] / 1000:10.2f}  {'met' if met else 'NOT MET'}; the longest turn, with "
          f"all that was waited for: {best['longest_turn']}", flush=True)
    return met or options.smoke
