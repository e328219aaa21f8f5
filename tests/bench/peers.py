"""Many peers: all call at once, each brings a prefix, each is told of all."""
from beds import bed, ratio
from daemons import ASN, SINK_AS, V4, V6, Underlay, address_of

NODE_AS = 64600
BAR = (0.25, 0.5)  # of BIRD's time and memory

# name, what tests/bench/many.c plays, does the bar hold for it?
ROWS = [
    ("reflector, 1000 nodes", dict(nodes=1000, internal=True), True),
    ("switch, 1000 external nodes", dict(nodes=1000), True),
    ("mesh of 500, ours is one", dict(nodes=499, internal=True, mesh=True), True),
    ("1000 export policies", dict(nodes=1000, policies=True), False),
    ("reflector, 1000 nodes, IPv6", dict(nodes=1000, internal=True, v6=True), True),
]
SMOKE = [("reflector, 20 nodes", dict(nodes=20, internal=True), False), ("mesh of 20, ours is one", dict(nodes=19, internal=True, mesh=True), False)]
QUICK = [
    ("reflector, 300 nodes", dict(nodes=300, internal=True), True),
    ("mesh of 150, ours is one", dict(nodes=149, internal=True, mesh=True), True),
]


def peers_of(nodes, v6, internal, mesh):
    """Address and AS of each, as many.c has them."""
    rows = [(address_of(v6, 1 + i), ASN if internal else NODE_AS + i) for i in range(nodes)]
    return rows + ([(address_of(v6, 1 + nodes), SINK_AS)] if mesh else [])


def own_prefix(number, v6):
    """feed.c's prefix of that number."""
    return f"2001:{number >> 16:x}:{number & 0xffff:x}::/48" if v6 else f"20.{number >> 8}.{number & 255}.0/24"


def measure(kind, build, nodes, prefixes=1, internal=False, mesh=False, v6=False, policies=False, more=()):
    """What many.c said, with the daemon's "cpu" until all was told, "rss", "peak"; None where it did not get there."""
    peers = peers_of(nodes, v6, internal, mesh)
    own = own_prefix(nodes * prefixes, v6) if mesh else None
    result = {}
    with bed(kind.name, [a for a, _ in peers]) as place:
        def on_event(event, values):
            result[event] = values[0]
            if event in ("change", "churn"):
                result[f"{event} p50"], result[f"{event} p99"], result[f"{event} max"] = values[:3]
            cpu, result["rss at end"], result["peak"] = place.usage()
            if event == "converged":
                result["cpu"], result["rss"] = cpu, result["rss at end"]
            result[f"cpu at {event}"] = cpu
        place.start(kind(place.dir).command(v6, peers, build, clients=internal and not mesh, own=own,
                                              policies=policies))
        argv = [build / "tests/bench/many", "-d", V6 if v6 else V4, "-n", nodes, "-P", prefixes, *more]
        argv += ["-a", ASN] if internal else []
        argv += ["-m"] if mesh else []
        return result if place.play(argv, on_event) else None


def best_of(options, load):
    best = {}
    for _ in range(options.rounds):
        for kind in options.kinds:
            got = measure(kind, options.build, **load)
            if got and (kind.name not in best or got["converged"] < best[kind.name]["converged"]):
                best[kind.name] = got
    return best


def show(name, kind, got, base, says):
    print(f"{name:30} {kind.name:10} {got['listening']:8.2f} {got['established']:8.2f} {got['converged']:8.2f} "
          f"{ratio(got['converged'], base.get('converged')):>5} {got['cpu']:7.2f} {got['rss']:7.1f} "
          f"{ratio(got['rss'], base.get('rss')):>5} {got['change p50']:8.2f} {got['change p99']:8.2f}  {says}", flush=True)


def run(options):
    met = True
    print(f"{'many peers':30} {'daemon':10} {'start s':>8} {'up s':>8} {'all s':>8} {'x':>5} {'cpu s':>7} {'MiB':>7} {'x':>5} "
          f"{'p50 ms':>8} {'p99 ms':>8}  bar")
    for name, load, has_bar in SMOKE if options.smoke else QUICK if options.quick else ROWS:
        if options.only not in name:
            continue
        best = best_of(options, load)
        base = best.get("bird", {})
        for kind in options.kinds:
            got, says = best.get(kind.name), ""
            if not got:
                print(f"{name:30} {kind.name:10} did not get there")
                met &= kind is not Underlay
                continue
            if kind is Underlay and has_bar and base:
                good = got["converged"] <= BAR[0] * base["converged"] and got["rss"] <= BAR[1] * base["rss"]
                says = f"{BAR[0]} x time, {BAR[1]} x memory: {'met' if good else 'NOT MET'}"
                met &= good
            if got["load"] > got["cpu"]:
                says += f" (the load took {got['load']:.2f} s of processor, more than the daemon)"
            show(name, kind, got, base, says)
    return met
