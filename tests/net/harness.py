"""Network namespaces, links and processes for the tests in this directory.

Everything a test makes is owned by its Fabric (the `net` fixture of conftest.py), which ends every
process by its pid and deletes every namespace when the test is over, however it ended. Names carry
the pid of the test run, so several runs, and the lab, can share a machine. Nothing here waits for a
fixed time: wait_until() polls.
"""
import contextlib
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = (ROOT / os.environ.get("UNDERLAY_BUILD", ".")).resolve()
PROTOCOL = "171"  # our mark on kernel routes
METRIC = 32

SANITIZER_SAYS = re.compile(r"ERROR: (Address|Leak)Sanitizer|runtime error:|SUMMARY: \w+Sanitizer")
SANITIZER_ENV = {
    "ASAN_OPTIONS": "detect_leaks=1:exitcode=99:abort_on_error=0",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1:exitcode=99",
}


def wait_until(what_holds, timeout=20.0, what="it", detail=None):
    """Calls what_holds() until it answers something true, and returns that. Exceptions of a program
    that is not up yet count as "no". On timeout the last answer, and detail(), are in the message."""
    deadline = time.monotonic() + timeout
    answer = None
    while True:
        try:
            answer = what_holds()
        except (subprocess.SubprocessError, OSError, ValueError, KeyError, NotUp) as e:
            answer, failed = e, True
        else:
            failed = False
        if answer and not failed:
            return answer
        if time.monotonic() > deadline:
            more = f"; {detail()}" if detail else ""
            raise AssertionError(f"waited {timeout} s until {what}; last answer: {answer!r}{more}")
        time.sleep(0.05)


def holds_for(what_holds, seconds, what="it"):
    """The opposite of wait_until, for things that must not happen: checks again and again."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert what_holds(), f"{what} was expected to hold all the time"
        time.sleep(0.05)


class NotUp(Exception):
    """A program does not answer (yet)."""


_libc = ctypes.CDLL(None, use_errno=True)


class Namespace:
    def __init__(self, name):
        self.name = name
        subprocess.run(["ip", "netns", "add", name], check=True)
        self.ip("link", "set", "lo", "up")

    def delete(self):
        subprocess.run(["ip", "netns", "delete", self.name], check=False, stderr=subprocess.DEVNULL)

    def command(self, *argv):
        return ["ip", "netns", "exec", self.name, *map(str, argv)]

    def run(self, *argv, check=True, timeout=30, **kw):
        done = subprocess.run(self.command(*argv), capture_output=True, text=True, timeout=timeout, **kw)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, argv))} in {self.name}: status {done.returncode}\n"
                                 f"{done.stdout}{done.stderr}")
        return done

    def ip(self, *argv, check=True):
        done = subprocess.run(["ip", "-n", self.name, *map(str, argv)], capture_output=True, text=True, timeout=30)
        if check and done.returncode != 0:
            raise AssertionError(f"ip {' '.join(map(str, argv))} in {self.name}: {done.stderr}")
        return done.stdout

    def sysctl(self, **values):
        for key, value in values.items():
            self.run("sysctl", "-q", "-w", f"net.ipv4.{key.replace('__', '.')}={value}")

    def route_rows(self, *selector):
        return json.loads(self.ip("-j", "-d", "route", "show", *selector) or "[]")

    def our_routes(self):
        """{prefix: sorted gateways} of the routes with our mark; "blackhole" or the device where
        there is no gateway."""
        found = {}
        for row in self.route_rows("proto", PROTOCOL):
            gateways = [h["gateway"] for h in row.get("nexthops", [])]
            if "gateway" in row:
                gateways.append(row["gateway"])
            if not gateways:
                gateways = ["blackhole" if row.get("type") == "blackhole" else row.get("dev", "?")]
            found[row["dst"]] = sorted(gateways)
        return found

    @contextlib.contextmanager
    def inside(self):
        """This thread is in the namespace; sockets made meanwhile stay there."""
        before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        there = os.open(f"/run/netns/{self.name}", os.O_RDONLY)
        try:
            if _libc.setns(there, 0x40000000) != 0:
                raise OSError(ctypes.get_errno(), "setns")
            yield
        finally:
            _libc.setns(before, 0x40000000)
            os.close(before)
            os.close(there)

    def socket(self, *args):
        with self.inside():
            return socket.socket(*args)


def remove_leftovers():
    """Namespaces ultPID-... of test runs that are no more, and what still runs inside them."""
    for name in os.listdir("/run/netns") if os.path.isdir("/run/netns") else ():
        owner = re.match(r"ult(\d+)-", name)
        if not owner or os.path.exists(f"/proc/{owner[1]}"):
            continue
        inside = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False).stdout.split()
        for pid in inside:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        subprocess.run(["ip", "netns", "delete", name], check=False, stderr=subprocess.DEVNULL)


class Process:
    """One program in a namespace, its output in a file. Subclasses say what to run."""

    must_end_well = False  # status 0 on SIGTERM, and no sanitizer report, or the test fails

    def __init__(self, ns, directory, name):
        self.ns, self.dir, self.name = ns, pathlib.Path(directory), name
        self.log_path = self.dir / f"{name}.log"
        self.popen = None
        self.complaints = []

    def spawn(self, *argv, env=None):
        with open(self.log_path, "ab") as log:
            self.popen = subprocess.Popen(self.ns.command(*argv), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                          env={**os.environ, **(env or {})}, start_new_session=True)
        return self

    @property
    def pid(self):
        return self.popen.pid

    def running(self):
        return self.popen is not None and self.popen.poll() is None

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def wait_log(self, pattern, timeout=20.0, start=0):
        """Waits for a line of the log, after offset start, and returns the match."""
        return wait_until(lambda: re.search(pattern, self.log()[start:]), timeout,
                          f"the log of {self.name} has /{pattern}/")

    def kill(self):
        """kill -9: no goodbye to anyone."""
        self.popen.kill()
        self.popen.wait()

    def wait(self, timeout=10):
        try:
            return self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
            raise AssertionError(f"{self.name} did not end within {timeout} s\n{self.log()[-2000:]}")

    def stop(self, timeout=15):
        """SIGTERM, and its exit status."""
        self.popen.send_signal(signal.SIGTERM)
        return self.wait(timeout)

    def close(self):
        """The end of the test: stop it, and complain about what should not be."""
        if self.running():
            try:
                status = self.stop()
            except AssertionError as e:
                self.complaints.append(str(e))
            else:
                if status != 0 and self.must_end_well:
                    self.complaints.append(f"{self.name} ended with status {status} on SIGTERM")
        if self.must_end_well and SANITIZER_SAYS.search(self.log()):
            self.complaints.append(f"{self.name} has a sanitizer report:\n{self.log()[-6000:]}")
        return self.complaints


class Underlayd(Process):
    must_end_well = True

    def __init__(self, ns, directory, name, config):
        super().__init__(ns, directory, name)
        self.run_dir = self.dir / f"{name}.run"
        self.state_dir = self.dir / f"{name}.state"
        self.config_path = self.dir / f"{name}.yaml"
        self.socket_path = self.run_dir / "control"
        self.env = dict(SANITIZER_ENV)
        self.configure(config)

    def configure(self, config):
        """config is YAML text, or a dict (JSON is YAML too) that gets the paths of this instance."""
        if isinstance(config, dict):
            config = {**config, "paths": {"run": str(self.run_dir), "state": str(self.state_dir)}}
            config = json.dumps(config, indent=1) + "\n"
        self.config_path.write_text(config)

    def start(self, wait=True, *arguments):
        self.spawn(BUILD / "underlayd", "-f", "-c", self.config_path, *arguments, env=self.env)
        if wait:
            wait_until(lambda: self.status(), 20, f"{self.name} answers", lambda: self.log()[-2000:])
        return self

    def check(self):
        return subprocess.run([BUILD / "underlayd", "--check", "-c", self.config_path], capture_output=True, text=True,
                              timeout=30, env={**os.environ, **SANITIZER_ENV})

    def client(self, *words):
        return subprocess.run([BUILD / "underlayc", "-s", self.socket_path, *words], capture_output=True, text=True,
                              timeout=30, env={**os.environ, **SANITIZER_ENV})

    def ask(self, *words):
        """The rows of an answer."""
        done = self.client("-j", *words)
        if done.returncode != 0:
            raise NotUp(f"underlayc {' '.join(words)}: {done.stderr.strip()}")
        return _json_rows(done.stdout)

    def status(self):
        return self.ask("show", "status")[0]

    def peer(self, name):
        return self.ask("show", "peers", name)[0]

    def peers(self):
        return {p["name"]: p for p in self.ask("show", "peers")}

    def established(self, *names):
        peers = self.peers()
        return all(peers[n]["state"] == "Established" for n in names or peers)

    def wait_established(self, *names, timeout=30):
        wait_until(lambda: self.established(*names), timeout, f"{self.name}'s sessions {names or ''} are established",
                   lambda: f"{list(self.peers().values())}")
        return self

    def routes(self, *args):
        return self.ask("show", "routes", *args)

    def used(self):
        """{prefix: sorted next hops of the paths marked best or also used}"""
        found = {}
        for row in self.routes():
            if row["mark"] in ("*", "+"):
                found.setdefault(row["prefix"], []).append(row["next_hop"])
        return {prefix: sorted(hops, key=str) for prefix, hops in found.items()}


def _json_rows(text):
    """One object a line, or one array: both are rows."""
    decoder, rows, at = json.JSONDecoder(), [], 0
    text = text.strip()
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        rows += value if isinstance(value, list) else [value]
        while at < len(text) and text[at].isspace():
            at += 1
    return rows


class RouteMonitor(Process):
    """Every change of a route in a namespace, from the moment start() returns."""

    def start(self):
        self.spawn("stdbuf", "-oL", "ip", "-4", "-o", "monitor", "route")
        probe = "198.51.100.255/32"  # a change of ours shows that it listens

        def listening():
            self.ns.ip("route", "replace", "blackhole", probe, "proto", "99")
            self.ns.ip("route", "delete", "blackhole", probe, "proto", "99")
            return "198.51.100.255" in self.log()

        wait_until(listening, 10, "ip monitor listens")
        return self

    def changes(self, *parts):
        """Lines with all of parts (the probe aside), after everything up to now has been printed."""
        mark = "198.51.100.254/32"
        before = self.log().count(mark[:-3])
        self.ns.ip("route", "replace", "blackhole", mark, "proto", "99")
        self.ns.ip("route", "delete", "blackhole", mark, "proto", "99")
        wait_until(lambda: self.log().count(mark[:-3]) >= before + 2, 10, "ip monitor has printed everything")
        # at its start ip looks at every namespace by name, and another test's may be gone in that moment
        return [line for line in self.log().splitlines()
                if "198.51.100.25" not in line and line != "Error: Peer netns reference is invalid."
                and all(part in line for part in parts)]


class Fabric:
    """All that one test made."""

    def __init__(self, label):
        self.label = label
        # not pytest's own directory: FRR runs as user frr, who must be able to get in
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="ul-test-"))
        self.dir.chmod(0o755)
        self.namespaces, self.processes = [], []

    def ns(self, name, router=False):
        ns = Namespace(f"ult{os.getpid()}-{len(self.namespaces)}-{name}")
        self.namespaces.append(ns)
        if router:
            ns.sysctl(ip_forward=1, conf__all__rp_filter=0, conf__default__rp_filter=0)
        return ns

    def link(self, a, a_dev, a_address, b, b_dev, b_address):
        """A veth pair; addresses with their length, for example "10.0.0.1/30"."""
        a.ip("link", "add", a_dev, "type", "veth", "peer", "name", b_dev, "netns", b.name)
        for ns, dev, address in ((a, a_dev, a_address), (b, b_dev, b_address)):
            if address:
                ns.ip("address", "add", address, "dev", dev)
            ns.ip("link", "set", dev, "up")

    def add(self, process):
        self.processes.append(process)
        return process

    def subdir(self, name):
        path = self.dir / name
        path.mkdir()
        return path

    def underlayd(self, ns, config, name=None):
        return self.add(Underlayd(ns, self.dir, name or f"underlayd{len(self.processes)}", config))

    def monitor(self, ns):
        return self.add(RouteMonitor(ns, self.dir, f"monitor{len(self.processes)}")).start()

    def logs(self):
        return [(p.name, p.log()[-8000:]) for p in self.processes if p.log()]

    def close(self):
        complaints = []
        for process in reversed(self.processes):
            complaints += process.close()
        for ns in self.namespaces:
            ns.delete()
        shutil.rmtree(self.dir, ignore_errors=True)
        return complaints


class Listener(threading.Thread):
    """Accepts connections at an address in a namespace and keeps them; says nothing."""

    def __init__(self, ns, address, port=179):
        super().__init__(daemon=True)
        self.server = ns.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.server.bind((address, port))
        self.server.listen(8)
        self.accepted = []

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                self.accepted.append(self.server.accept()[0])

    def close(self):
        with contextlib.suppress(OSError):
            self.server.shutdown(socket.SHUT_RDWR)
        for s in [self.server, *self.accepted]:
            s.close()
