"""Stands between underlayd and the kernel, for what no namespace can be brought to do: tests/net/netlink_shim.c says what."""
import os
import pathlib
import signal
import struct
import subprocess

SOURCE = pathlib.Path(__file__).with_name("netlink_shim.c")
WRITES, EVENTS, QUERIES = 1, 2, 4  # its sockets


class Shim:
    def __init__(self, node):
        self.node, self.control, library = node, node.dir / "shim", node.dir / "shim.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
        self.control.write_bytes(struct.pack("=iiiiii", -1, 0, 0, 0, 0, 0))
        # a sanitizer wants to be the first library, and can do without
        node.env.update(LD_PRELOAD=str(library), UNDERLAY_SHIM=str(self.control),
                        ASAN_OPTIONS=node.env["ASAN_OPTIONS"] + ":verify_asan_link_order=0")

    def _set(self, at, value):
        with open(self.control, "r+b") as f:
            f.seek(4 * at)
            f.write(struct.pack("=i", value))

    def _get(self, at):
        return struct.unpack_from("=i", self.control.read_bytes(), 4 * at)[0]

    def set_room(self, routes):
        """So many may still be made; None: as many as you like."""
        self._set(0, -1 if routes is None else routes)

    def refused(self):
        return self._get(2)

    def interrupt(self, dumps):
        """So many dumps more end with the word that a change interrupted them."""
        self._set(4, dumps)

    def interrupts_left(self):
        return self._get(4)

    def slow_down(self, ms):
        """Each write of routes takes so much longer."""
        self._set(5, ms)

    def close_sockets(self, which):
        self._set(1, which)
        before = self._get(3)
        os.kill(self.node.pid, signal.SIGUSR2)
        return lambda: self._get(3) > before
