"""Does the kernel have what the Loc-RIB says? Route by route, next hops and weights, in both directions, and without asking
the daemon what it thinks that the kernel has: after each fault the two must agree.

    compare = Compare(namespace, underlayd)
    compare.wait_agree("the flush")          # polls; fails with the first differences

A route's next hops are {gateway: share}, where the largest share is 1; a blackhole has none.
"""
from control import Control
from harness import METRIC, PROTOCOL, wait_until
from rtnetlink import Kernel

SHOWN = 10
WEIGHT_MAX = 256


def shares(weights):
    most = max(weights.values(), default=1)
    return {gateway: weight / most for gateway, weight in weights.items()}


def same(wanted, found):
    """A share is as near as whole weights can come to it: within 1 %, and never less than 1 of WEIGHT_MAX."""
    return wanted.keys() == found.keys() and all(abs(share - found[gateway]) <= 0.011 * share or share < 2 / WEIGHT_MAX
                                                 for gateway, share in wanted.items())


class Compare:
    def __init__(self, ns, node, via=None):
        """via: {next hop: gateways} of next hops that are reached through others' routes."""
        self.ns, self.node, self.via = ns, node, via or {}
        self.kernel = Kernel(ns)

    # --- what is wanted

    def loc_rib(self):
        """({prefix: {gateway: share}}, [used rows that are not called installed])"""
        control, hops, not_installed = Control(self.node.socket_path), {}, []
        try:
            rows = control.ask("show-routes")
        finally:
            control.close()
        for row in rows:
            if row["mark"] not in ("*", "+"):
                continue
            if row["kernel"] != "installed":
                not_installed.append(row)
            hops.setdefault(row["prefix"], []).append((row["next_hop"], row.get("link_bandwidth", 0)))
        return {prefix: self._shares(paths) for prefix, paths in hops.items()}, not_installed

    def _shares(self, paths):
        weights = {}
        by_bandwidth = all(bandwidth for _, bandwidth in paths)
        for next_hop, bandwidth in paths:
            if next_hop == "blackhole":
                return {}
            for gateway in self.via.get(next_hop, [next_hop]):
                weights[gateway] = max(weights.get(gateway, 0), bandwidth if by_bandwidth else 1)
        return shares(weights)

    # --- what is there

    def in_kernel(self):
        """{prefix: {gateway: share}} of ours; what an object says counts more than what the kernel repeats of it."""
        routes = [r for r in self.kernel.routes(int(PROTOCOL)) if r.metric == METRIC]
        objects = self.kernel.next_hops() if any(r.nh_id for r in routes) else {}
        known = {number: self._object(objects, number) for number in {r.nh_id for r in routes} if number}
        return {r.prefix: known[r.nh_id] if r.nh_id else self._hops((gateway, weight) for gateway, _, weight, _ in r.hops)
                for r in routes}

    @staticmethod
    def _hops(hops):
        weights = {}
        for gateway, weight in hops:
            weights[gateway] = weights.get(gateway, 0) + weight
        return shares(weights)

    def _object(self, objects, number):
        value = objects.get(number, ())
        if value is None:
            return {}
        if isinstance(value, tuple):
            return {value[0] if value else "an object that is not there": 1.0}
        return self._hops((objects[i][0] if i in objects else "a member that is not there", weight) for i, weight in value)

    # --- both

    def differences(self, expected=None):
        """Sentences; none: they agree. expected: instead of the Loc-RIB, what a model says."""
        wanted, not_installed = (expected, []) if expected is not None else self.loc_rib()
        found = self.in_kernel()
        said = [f"{p}: wanted {wanted[p]}, the kernel has {found.get(p, 'no route')}"
                for p in wanted if p not in found or not same(wanted[p], found[p])]
        said += [f"{p}: the kernel has {found[p]}, and nobody wants it" for p in found if p not in wanted]
        return said + [f"{row['prefix']}: shown as {row['kernel']!r}" for row in not_installed]

    def wait_agree(self, what, timeout=20, routes=None):
        """routes: how many there must be at least, lest two empty tables agree."""
        last = []

        def agree():
            if routes is not None and self.node.status()["kernel_installed"] < routes:
                return False  # cheaper than a comparison
            last[:] = self.differences()
            return not last

        wait_until(agree, timeout, f"kernel and Loc-RIB agree after {what}",
                   lambda: f"{len(last)} differences: {last[:SHOWN]}; {self.node.status()}")

    def close(self):
        self.kernel.close()
