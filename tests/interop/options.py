"""What must be written into each peer's configuration for a feature, and what says that it has none.

An option with `lacks` is the keyword that it would be, in this or a later version: the run shows that the parser
refuses it. BY_HAND has what no parser and no OPEN message can tell.
"""
import dataclasses


@dataclasses.dataclass
class Option:
    more: tuple = ()     # lines for the session, in the peer's own language
    channel: tuple = ()  # and for each address family
    lacks: str = ""      # its parser refuses this: always, or for an internal peer


OPTIONS = {
    "bird": {
        "enhanced refresh": Option(), "unnumbered": Option(),  # Neighbor has them
        "reflect": Option(more=("rr client;",)),
        "extended messages": Option(more=("enable extended messages on;",)),
        "add-path": Option(channel=("add paths on;",)),
        "extended next hop": Option(channel=("extended next hop on;",)),
        "limit": Option(channel=("receive limit 2 action disable;",)),
        "asking again": Option(),
        "role": Option(more=("local role provider;",)),
    },
    "frr": {
        "enhanced refresh": Option(), "unnumbered": Option(),
        "reflect": Option(channel=("route-reflector-client",)),
        "add-path": Option(channel=("addpath-tx-all-paths",)),
        "extended next hop": Option(more=("capability extended-nexthop",)),
        "limit": Option(channel=("maximum-prefix 2",)),
        "asking again": Option(),
        "role": Option(more=("local-role provider",)),
    },
    "gobgp": {
        "enhanced refresh": Option(), "unnumbered": Option(),
        "reflect": Option(more=("route-reflector.config: route-reflector-client = true",
                                'route-reflector.config: route-reflector-cluster-id = "10.0.0.2"')),
        "add-path": Option(channel=("add-paths.config: receive = true\nsend-max = 8",)),
        "limit": Option(channel=("prefix-limit.config: max-prefixes = 2",)),
        "extended next hop": Option(),  # always
        "role": Option(more=('config: role = "provider"',), lacks="always"),
    },
    "openbgpd": {
        "enhanced refresh": Option(more=("announce enhanced refresh yes",)),
        "unnumbered": Option(more=('interface "eth3"',), lacks="always"),
        "reflect": Option(more=("route-reflector 10.0.0.2",)),
        "add-path": Option(more=("announce add-path recv yes", "announce add-path send all")),
        "extended messages": Option(more=("announce extended yes",), lacks="always"),
        "extended next hop": Option(more=("announce extended nexthop yes",), lacks="always"),
        "limit": Option(more=("max-prefix 2",)),
        "asking again": Option(),
        "role": Option(more=("announce policy provider",)),
    },
    "exabgp": {
        "enhanced refresh": Option(), "unnumbered": Option(more=("neighbor-interface eth3;",), lacks="always"),
        "reflect": Option(more=("route-reflector-client enable;",), lacks="always"),
        "extended messages": Option(more=("capability: extended-message enable;",)),
        "add-path": Option(more=("capability: add-path send/receive;",)),
        "extended next hop": Option(more=("capability: nexthop enable;", "nexthop { ipv4 unicast ipv6; }")),
        "limit": Option(more=("max-prefix 2;",), lacks="always"),
        "asking again": Option(),
        "role": Option(more=("role provider;",), lacks="always"),
    },
}

TITLES = {"bird": "BIRD", "frr": "FRR", "gobgp": "GoBGP", "openbgpd": "OpenBGPD", "exabgp": "ExaBGP"}

VERSIONS = {
    "bird": (["bird", "--version"], r"version (\S+)"), "frr": (["/usr/lib/frr/bgpd", "--version"], r"version (\S+)"),
    "gobgp": (["gobgpd", "--version"], r"version (\S+)"), "openbgpd": (["bgpd", "-V"], r"OpenBGPD (\S+)"),
    "exabgp": (["exabgp", "--version"], r"ExaBGP : (\S+)"),
}

# What a peer says, in its log or of the session, when it has announced a feature and cannot do it: (pattern, the reason).
CONFESSIONS = {
    ("openbgpd", "answering"): (
        "route refresh: AID .* not negotiated",
        "it announces it, and answers with `route refresh: AID IPv4 unicast not negotiated` in its log; to BIRD as well"),
    ("exabgp", "answering"): (
        "'RouteRefresh' object is not iterable",
        "it announces it, always with enhanced refresh; its answer ends with a TypeError in its log, and the session too"),
    ("exabgp", "showing words"): (
        "can not decode update message of type",
        "a NOTIFICATION with a text is for it `can not decode update message of type 3`"),
}

BY_HAND = {
    ("gobgp", "asking again"): "`gobgp neighbor softresetin` goes through what it has kept; nothing makes it send a ROUTE-REFRESH",
}
