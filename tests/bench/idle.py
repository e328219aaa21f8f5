"""A node with 100 peers and 5000 routes, in which nothing happens."""
import peers
from daemons import Underlay

BAR_MIB, BAR_PERCENT = 8.0, 0.1
ROW = dict(nodes=100, prefixes=50, internal=True, mesh=True)


def run(options):
    met = True
    seconds = 20 if options.quick else 60
    print(f"{'idle, 100 peers, 5 k routes':30} {'daemon':10} {'MiB':>7} {'% of a core':>11}  bar")
    for kind in options.kinds:
        got = peers.measure(kind, options.build, **ROW, more=("-w", seconds))
        if not got:
            print(f"{'':30} {kind.name:10} did not get there")
            met &= kind is not Underlay
            continue
        percent = (got["cpu at waited"] - got["cpu at converged"]) / seconds * 100
        says = ""
        if kind is Underlay:
            good = got["rss"] <= BAR_MIB and percent <= BAR_PERCENT
            says = f"{BAR_MIB} MiB, {BAR_PERCENT} %: {'met' if good else 'NOT MET'}"
            met &= good
        print(f"over {seconds} s{'':22} {kind.name:10} {got['rss']:7.1f} {percent:11.3f}  {says}", flush=True)
    return met
