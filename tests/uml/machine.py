"""User-Mode Linux: another kernel as a process, for what this machine's own kernel may lack.

A Machine boots once (two or three seconds), with the host's files as its root, read-only, and runs pytest inside, which
writes its reports as it goes. Outside they are handed on one by one, as if the tests had run here. A machine that
panics, hangs or cannot be started fails every test that has no report yet, with the end of its console.
"""
import contextlib
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

KERNEL = "linux.uml"
MEMORY = "768M"
SILENCE_S = 180  # without a report from inside: it hangs
CONSOLE_TAIL = 6000


class Machine:
    def __init__(self, build, root, nodeids):
        self.build, self.root, self.nodeids = build, root, nodeids
        self.share = pathlib.Path(tempfile.mkdtemp(prefix="ul-uml-"))
        self.console_path, self.reports_path = self.share / "console", self.share / "reports"
        self.found = {}  # nodeid -> reports
        self.heard_at = time.monotonic()
        self.read = 0
        self.popen = None
        self.failure = self.unfit() or self.boot()

    def unfit(self):
        """Why no test can run, or None."""
        if not shutil.which(KERNEL):
            return f"{KERNEL} is not installed (Debian's user-mode-linux; ./setup check installs it)"
        if not shutil.which("modprobe", path="/sbin:/usr/sbin"):
            return "modprobe is not installed (Debian's kmod; ./setup check installs it)"
        if b"__asan_init" in (self.build / "underlayd").read_bytes():
            return (f"the programs in {self.build} are built with AddressSanitizer, which finds no room in the address space "
                    "that User-Mode Linux gives: name another build in UNDERLAY_BUILD")
        return None

    def boot(self):
        init = self.share / "init"
        exports = {"UNDERLAY_BUILD": self.build, "UML_SHARE": self.share, "UML_ROOT": self.root}
        init.write_text("#!/bin/bash\n" + "".join(f"export {k}={shlex.quote(str(v))}\n" for k, v in exports.items()) +
                        shlex.join(["exec", str(pathlib.Path(__file__).parent / "init"), *self.nodeids]) + "\n")
        init.chmod(0o755)
        self.reports_path.touch()
        with open(self.console_path, "wb") as console:
            self.popen = subprocess.Popen(
                [KERNEL, "rootfstype=hostfs", "root=/dev/root", "ro", f"mem={MEMORY}", f"init={init}", "con=null",
                 "con0=fd:0,fd:1", f"uml_dir={self.share}/", "umid=machine"],
                stdin=subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True)

    def console(self):
        return self.console_path.read_text(errors="replace")[-CONSOLE_TAIL:] if self.console_path.exists() else ""

    def listen(self):
        """Takes in the lines that were written since."""
        with open(self.reports_path, "rb") as f:
            f.seek(self.read)
            lines = f.read()
        whole = lines[:lines.rfind(b"\n") + 1]
        self.read += len(whole)
        for line in whole.splitlines():
            self.heard_at = time.monotonic()
            data = json.loads(line)
            self.found.setdefault(data["nodeid"], []).append(data)

    def reports(self, nodeid):
        """What pytest reported of one test, as data; waits for it. [] when the machine cannot tell: failure says why."""
        while not self.failure:
            ended = self.popen.poll() is not None
            self.listen()
            reports = self.found.get(nodeid, [])
            if reports and reports[-1]["when"] == "teardown":
                return reports
            if ended:
                self.failure = f"User-Mode Linux ended (status {self.popen.returncode}) without a result of this test"
            elif time.monotonic() - self.heard_at > SILENCE_S:
                self.failure = f"User-Mode Linux hangs: nothing was heard of it for {SILENCE_S} s"
            time.sleep(0.05)
        return []

    def close(self):
        if self.popen:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.popen.wait(0 if self.failure else 10)  # it is about to switch itself off
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.popen.pid, signal.SIGKILL)  # the machine's processes are the host's too
            self.popen.wait()
        shutil.rmtree(self.share, ignore_errors=True)
