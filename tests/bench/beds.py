"""Where a program is measured: a namespace for it and one for the load, with a link between them, and what /proc says."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from daemons import V4, V6


class Namespaces:
    """Two, the daemon's and the load's, with a link between them. addresses are the load's."""

    def __init__(self, addresses):
        self.names = [f"ulb{os.getpid()}-{side}" for side in ("d", "l")]
        for name in self.names:
            self.ip("netns", "add", name)
            self.ip("-n", name, "link", "set", "lo", "up")
        self.connect(addresses)

    def connect(self, addresses):
        self.link("0", [f"{V4}/16", f"{V6}/64"], [f"{a}/{64 if ':' in a else 16}" for a in addresses])

    def link(self, number, ours, theirs):
        # for a pair whose ends have one index the kernel tells of a lost carrier up to a second later
        self.ip("link", "add", f"d{number}", "index", f"10{number}", "netns", self.names[0], "type", "veth", "peer", "name",
                f"l{number}", "netns", self.names[1])
        for name, link, addresses in zip(self.names, (f"d{number}", f"l{number}"), (ours, theirs)):
            batch = "".join(f"addr add {a} dev {link}{' nodad' if ':' in a else ''}\n" for a in addresses)
            subprocess.run(["ip", "-n", name, "-batch", "-"], input=f"{batch}link set {link} up\n", text=True, check=True)

    @staticmethod
    def ip(*argv):
        subprocess.run(["ip", *argv], check=True)

    def delete(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "delete", name], check=False)


class TwoLinks(Namespaces):
    """With a link of its own for each of the load's addresses, numbered from 1; the load's end takes whatever comes."""

    def connect(self, addresses):
        for i, address in enumerate(addresses, 1):
            self.link(i, [f"10.9.{i}.1/24"], [f"{address}/24"])
        load = self.names[1]
        self.ip("-n", load, "route", "add", "local", "20.0.0.0/6", "dev", "lo")
        for name in ("all", *(f"l{i}" for i in range(1, len(addresses) + 1))):
            self.ip("netns", "exec", load, "sysctl", "-qw", f"net.ipv4.conf.{name}.rp_filter=0")


def family_of(pid):
    """The process and its children: OpenBGPD is three."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *map(int, children)]


def usage(pid):
    """Processor seconds, resident and peak MiB."""
    cpu, resident, peak = 0.0, 0, 0
    for one in family_of(pid):
        fields = pathlib.Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()
        cpu += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        for line in pathlib.Path(f"/proc/{one}/status").read_text().splitlines():
            key, _, value = line.partition(":")
            resident += int(value.split()[0]) if key == "VmRSS" else 0
            peak += int(value.split()[0]) if key == "VmHWM" else 0
    return cpu, resident / 1024, peak / 1024


class Bed:
    """A program that runs in its namespace, with a directory for its files."""

    def __init__(self, spaces, directory, name):
        self.spaces, self.dir, self.name, self.process = spaces, directory, name, None
        self.log = open(os.path.join(directory, "log"), "w+")

    def start(self, argv, ready_after_s=0):
        """Both program and load go before what else the machine does, the load first: it must not miss anything."""
        self.process = subprocess.Popen(["ip", "netns", "exec", self.spaces.names[0], "nice", "-n", "-10", *map(str, argv)],
                                        stdout=self.log, stderr=self.log, start_new_session=True)
        time.sleep(ready_after_s)

    def usage(self):
        return usage(self.process.pid)

    def play(self, argv, on_event):
        """Runs a load, calls on_event(name, values) for each line that it says. False where it did not get to its end."""
        load = subprocess.Popen(["ip", "netns", "exec", self.spaces.names[1], "nice", "-n", "-15", *map(str, argv)],
                                stdout=subprocess.PIPE, text=True)
        for line in load.stdout:
            event, *values = line.split()
            on_event(event, [float(v) for v in values])
        if load.wait() == 0:
            return True
        self.log.seek(0)
        sys.stderr.write(f"{self.name}: the load ended with status {load.returncode}; its log ends:\n{self.log.read()[-500:]}\n")
        return False

    def end(self):
        if self.process:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.log.close()


@contextlib.contextmanager
def bed(name, addresses, links=Namespaces):
    """A Bed; nothing is left of it at the end."""
    spaces = links(addresses)
    directory = tempfile.mkdtemp(prefix=f"ulbench-{name}-")
    os.chmod(directory, 0o755)
    it = Bed(spaces, directory, name)
    try:
        yield it
    finally:
        it.end()
        spaces.delete()
        shutil.rmtree(directory, ignore_errors=True)


def ratio(ours, theirs):
    return f"{ours / theirs:.2f}" if theirs else "-"
