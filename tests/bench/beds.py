"""Where a program is measured: a namespace for it and one for the load, with a link between them, and what /proc says."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from daemons import V4, V6


class Namespaces:
    """Two with a link between them: the daemon's and the load's. addresses are the load's."""

    def __init__(self, addresses):
        self.names = [f"ulb{os.getpid()}-{side}" for side in ("d", "l")]
        for name in self.names:
            self.ip("netns", "add", name)
            self.ip("-n", name, "link", "set", "lo", "up")
        daemon, load = self.names
        self.ip("link", "add", "d0", "netns", daemon, "type", "veth", "peer", "name", "l0", "netns", load)
        self.ip("-n", daemon, "addr", "add", f"{V4}/16", "dev", "d0")
        self.ip("-n", daemon, "addr", "add", f"{V6}/64", "dev", "d0", "nodad")
        batch = "".join(f"addr add {a}{'/64' if ':' in a else '/16'} dev l0{' nodad' if ':' in a else ''}\n" for a in addresses)
        subprocess.run(["ip", "-n", load, "-batch", "-"], input=batch, text=True, check=True)
        for name, link in ((daemon, "d0"), (load, "l0")):
            self.ip("-n", name, "link", "set", link, "up")

    @staticmethod
    def ip(*argv):
        subprocess.run(["ip", *argv], check=True)

    def delete(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "delete", name], check=False)


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

    def start(self, argv):
        self.process = subprocess.Popen(["ip", "netns", "exec", self.spaces.names[0], *map(str, argv)], stdout=self.log,
                                        stderr=self.log, start_new_session=True)

    def usage(self):
        return usage(self.process.pid)

    def play(self, argv, on_event):
        """Runs a load, calls on_event(name, values) for each line that it says. False where it did not get to its end."""
        load = subprocess.Popen(["ip", "netns", "exec", self.spaces.names[1], *map(str, argv)], stdout=subprocess.PIPE,
                                text=True)
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
def bed(name, addresses):
    """A Bed; nothing is left of it at the end."""
    spaces = Namespaces(addresses)
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
