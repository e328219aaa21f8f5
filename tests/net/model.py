"""What must be in the kernel, computed from what peers announce, from links, addresses and others' routes alone. No code of
the daemon's and nothing that it says is used: tests/net/test_model.py compares the two.
"""
import ipaddress

from rtnetlink import BLACKHOLE

DEAD, LINK_DOWN = 1, 16
DIRECT, GATEWAY = 0, 1


class World:
    """The kernel without our routes: how an address is reached."""

    def __init__(self, routes, addresses, protocol, metric):
        self.own = addresses
        self.others, self.taken = [], set()
        for r in routes:
            if r.protocol == protocol:
                continue
            self.others.append((ipaddress.ip_network(r.prefix), r))
            if r.metric == metric:
                self.taken.add(r.prefix)
        self.others.sort(key=lambda pair: (-pair[0].prefixlen, pair[1].metric))
        self.known = {}

    def reach(self, address):
        """(DIRECT or GATEWAY, [gateways]), or None."""
        if address not in self.known:
            self.known[address] = self._look(address)
        return self.known[address]

    def _look(self, address):
        if address in self.own:
            return None
        at = ipaddress.ip_address(address)
        route = next((r for network, r in self.others if at.version == network.version and at in network), None)
        if route is None or route.kind == BLACKHOLE:
            return None
        alive = [gateway for gateway, _, _, flags in route.hops if not flags & (DEAD | LINK_DOWN)]
        if not alive:
            return None
        return (GATEWAY, alive) if alive[0] else (DIRECT, [address])


class Path:
    def __init__(self, peer, next_hop, bandwidth, longer):
        self.peer, self.next_hop, self.bandwidth, self.longer = peer, next_hop, bandwidth, longer


def choose(paths, world):
    """{gateway: share} of the paths that are used; None: the prefix is unreachable."""
    usable = []
    for path in paths:
        way = world.reach(path.next_hop)
        if way and (way[0] == DIRECT or not path.peer.single_hop):
            # shorter AS paths, then external ones, then nearer next hops
            usable.append(((path.longer + (not path.peer.internal), path.peer.internal, way[0]), path, way[1]))
    if not usable:
        return None
    first = min(rank for rank, _, _ in usable)
    used = [(path, gateways) for rank, path, gateways in usable if rank == first]
    by_bandwidth = all(path.bandwidth for path, _ in used)
    weights = {}
    for path, gateways in used:
        for gateway in gateways:
            weights[gateway] = max(weights.get(gateway, 0), path.bandwidth if by_bandwidth else 1)
    return {gateway: weight / max(weights.values()) for gateway, weight in weights.items()}


def expected(peers, world, own):
    """{prefix: {gateway: share}} of all that peers, which have a session, say; own: our CIDRs."""
    paths = {}
    for peer in peers:
        for prefix, path in peer.said().items():
            paths.setdefault(prefix, []).append(path)
    found = {prefix: choose(several, world) for prefix, several in paths.items()}
    found = {prefix: hops for prefix, hops in found.items() if hops is not None}
    found.update((prefix, {}) for prefix in own)
    return {prefix: hops for prefix, hops in found.items() if prefix not in world.taken}
