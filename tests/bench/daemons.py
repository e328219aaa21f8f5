"""The programs that are measured, with the configuration that makes them comparable: passive sessions, everything let in.
Either everything goes out and nothing into the kernel, or the reverse."""
import pathlib
import shlex
import shutil

ASN, SINK_AS, SLOW_AS, FEEDER_AS = 64500, 64599, 64598, 64600
V4, V6 = "10.9.0.1", "fd09::1"


def address_of(v6, number):
    """Of the load's: so many behind the daemon's."""
    return f"fd09::{1 + number:x}" if v6 else f"10.9.{(1 + number) >> 8}.{(1 + number) & 255}"


def peer_list(v6, feeders):
    """Address and AS of the sink and the feeders, as load.c has them."""
    return [(address_of(v6, 1), SINK_AS)] + [(address_of(v6, 10 + i), FEEDER_AS + i) for i in range(feeders)]


class Daemon:
    """One program under load: files it needs, how it is started. command() gets the peers as (address, AS); those of AS
    ASN are internal and, with clients, clients of a reflector. own is a prefix that it announces itself. With
    policies each peer has an export policy of its own, which lets everything out."""
    ready_after_s = 0  # before that it turns sessions away

    def __init__(self, directory):
        self.dir = pathlib.Path(directory)

    def write(self, name, text):
        path = self.dir / name
        path.write_text(text)
        return path


class Underlay(Daemon):
    name = "underlayd"

    def command(self, v6, peers, build, kernel=False, clients=False, own=None, policies=False):
        client = ", route-reflector-client: true" if clients else ""
        rows = "".join(f"  - {{name: p{i}, address: '{a}', asn: {asn}, passive: true, hold-time: 180s, import: all, "
                       f"export: {'none' if kernel else f'e{i}' if policies else 'all'}, families: [{'ipv6' if v6 else 'ipv4'}]"
                       f"{client if asn == ASN else ''}}}\n" for i, (a, asn) in enumerate(peers))
        pods = f"pods: {{cidrs: ['{own}']}}\n" if own else ""
        if policies:
            pods += "policies:\n" + "".join(f"  - {{name: e{i}, rules: [{{action: accept}}]}}\n" for i in range(len(peers)))
        conf = self.write("underlay.yaml", f"node: {{name: bench, asn: {ASN}, router-id: 10.9.0.1}}\npeers:\n{rows}{pods}"
                          f"kernel: {{install: {str(kernel).lower()}}}\n"
                          f"paths: {{run: {self.dir}/run, state: {self.dir}/state}}\n")
        (self.dir / "run").mkdir()
        return [build / "underlayd", "-f", "-c", conf]


class Bird(Daemon):
    name = "bird"

    def command(self, v6, peers, _build, kernel=False, clients=False, own=None, policies=False):
        family = "ipv6" if v6 else "ipv4"
        client = "rr client; " if clients else ""
        filters = "".join(f"filter e{i} {{ accept; }}\n" for i in range(len(peers))) if policies else ""
        rows = filters + "".join(f"protocol bgp p{i} {{ local as {ASN}; neighbor {a} as {asn}; passive; hold time 180; "
                       f"{client if asn == ASN else ''}{family} {{ import all; "
                       f"export {'none' if kernel else f'filter e{i}' if policies else 'all'}; "
                       f"{'' if asn == ASN else 'next hop self; '}}}; }}\n" for i, (a, asn) in enumerate(peers))
        if kernel:
            rows += f"protocol direct {{ {family}; }}\n"
            rows += f"protocol kernel {{ scan time 3600; merge paths on; {family} {{ import none; export where source = RTS_BGP; }}; }}\n"
        static = f"protocol static {{ {family}; route {own} blackhole; }}\n" if own else ""
        conf = self.write("bird.conf", f"router id 10.9.0.1;\nprotocol device {{}}\nlog stderr {{ fatal, bug }};\n{static}{rows}")
        return ["bird", "-f", "-c", conf, "-s", self.dir / "bird.ctl"]


class Frr(Daemon):
    name = "frr"
    ready_after_s = 1  # bgpd does not know the links before

    def command(self, v6, peers, _build, kernel=False, clients=False, own=None, policies=False):
        family = "ipv6" if v6 else "ipv4"
        rows = "".join(f" neighbor {a} remote-as {asn}\n neighbor {a} passive\n neighbor {a} timers 60 180\n"
                       f" neighbor {a} advertisement-interval 0\n neighbor {a} disable-connected-check\n" for a, asn in peers)
        active = "".join(f"  neighbor {a} activate\n" for a, _ in peers)
        active += "".join(f"  neighbor {a} route-reflector-client\n" for a, asn in peers if clients and asn == ASN)
        active += f"  network {own}\n" if own else ""
        deny = "".join(f"  neighbor {a} route-map none out\n" for a, _ in peers) if kernel else ""
        relax = " bgp bestpath as-path multipath-relax\n" if kernel else ""
        conf = self.write("bgpd.conf", f"router bgp {ASN}\n bgp router-id 10.9.0.1\n no bgp ebgp-requires-policy\n"
                          f"{relax} no bgp default ipv4-unicast\n no bgp network import-check\n{rows}"
                          f" address-family {family} unicast\n{active}{deny} exit-address-family\nroute-map none deny 10\n")
        shutil.chown(self.dir, "frr", "frr")
        shutil.chown(conf, "frr", "frr")
        common = ["--vty_socket", self.dir, "--log", "stdout", "--log-level", "errors"]
        bgpd = ["/usr/lib/frr/bgpd", "-P", "0", "-f", conf, "-i", self.dir / "bgpd.pid", *common]
        if not kernel:
            return [*bgpd, "-Z"]
        zebra = ["/usr/lib/frr/zebra", "-P", "0", "-f", self.write("zebra.conf", ""), "-i", self.dir / "zebra.pid", *common]
        api = ["-z", self.dir / "zserv.api"]
        shutil.chown(self.dir / "zebra.conf", "frr", "frr")
        return ["sh", "-c", " & exec ".join(shlex.join(map(str, [*argv, *api])) for argv in (zebra, bgpd))]


class GoBgp(Daemon):
    name = "gobgp"

    def command(self, v6, peers, _build, clients=False, own=None, policies=False):
        family = "ipv6-unicast" if v6 else "ipv4-unicast"
        rows = "".join(f'[[neighbors]]\n[neighbors.config]\nneighbor-address = "{a}"\npeer-as = {asn}\n'
                       f'[neighbors.transport.config]\npassive-mode = true\n[neighbors.timers.config]\nhold-time = 180\n'
                       f'[[neighbors.afi-safis]]\n[neighbors.afi-safis.config]\nafi-safi-name = "{family}"\n'
                       + ('[neighbors.route-reflector.config]\nroute-reflector-client = true\n'
                          'route-reflector-cluster-id = "10.9.0.1"\n' if clients and asn == ASN else "")
                       for a, asn in peers)
        conf = self.write("gobgpd.conf", f'[global.config]\nas = {ASN}\nrouter-id = "10.9.0.1"\n{rows}')
        return ["gobgpd", "-f", conf, "--log-level", "error", "--api-hosts", f"unix://{self.dir}/gobgp.sock"]


class OpenBgpd(Daemon):
    name = "openbgpd"

    def command(self, v6, peers, _build, clients=False, own=None, policies=False):
        rows = "".join(f"neighbor {a} {{\n remote-as {asn}\n{' route-reflector' if clients and asn == ASN else ''}\n passive\n holdtime 180\n announce {'IPv6' if v6 else 'IPv4'} unicast\n"
                       f"}}\n" for a, asn in peers)
        conf = self.write("bgpd.conf", f"AS {ASN}\nrouter-id 10.9.0.1\nfib-update no\nsocket \"{self.dir}/bgpd.sock\"\n"
                          f"{f'network {own}' if own else ''}\n{rows}allow from any\nallow to any\n")
        conf.chmod(0o600)
        # its chroot is there only while the machine's own service runs; "ip netns exec" gives a mount namespace
        return ["sh", "-c", 'mount -t tmpfs -o mode=755 tmpfs /run && mkdir /run/openbgpd && exec bgpd -d -f "$0"', conf]


DAEMONS = {d.name: d for d in (Underlay, Bird, Frr, GoBgp, OpenBgpd)}
