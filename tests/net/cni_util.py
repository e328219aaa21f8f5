"""Calling the CNI plugin as a container runtime does, in namespaces of the test's own, and looking at
what it left: `Host` is one node's namespace with a run directory, `Call` one run of the plugin.
"""
import ctypes
import ctypes.util
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLUGIN = (ROOT / os.environ.get("UNDERLAY_BUILD", ".")).resolve() / "underlay"
GATEWAY = "169.254.1.1"


def sh(*argv, check=True, text_in=None):
    done = subprocess.run([str(a) for a in argv], input=text_in, text=True, capture_output=True)
    assert not check or done.returncode == 0, f"{' '.join(map(str, argv))}: {done.stderr}"
    return done


def until(what_holds, what, timeout=20):
    deadline = time.monotonic() + timeout
    while not (answer := what_holds()):
        assert time.monotonic() < deadline, f"waited {timeout} s for {what}"
        time.sleep(0.02)
    return answer


class Call:
    """One run of the plugin, started at once; the properties wait for its end."""

    def __init__(self, argv, env, text):
        self.process = subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self._text = text.encode()
        self._done = None

    def feed(self):
        """Gives it its standard input without waiting for the end."""
        try:
            self.process.stdin.write(self._text)
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.stdin = None
        self._text = None
        return self

    def _wait(self):
        if self._done is None:
            out, err = self.process.communicate(self._text, timeout=120)
            self._done = (out.decode(), err.decode())
        return self._done

    @property
    def status(self):
        self._wait()
        return self.process.returncode

    @property
    def out(self):
        return self._wait()[0]

    @property
    def err(self):
        return self._wait()[1]

    @property
    def json(self):
        return json.loads(self.out)

    def ok(self):
        assert self.status == 0, f"status {self.status}: {self.out}{self.err}"
        return self

    def silent(self):
        self.ok()
        assert self.out == ""
        return self

    def fails(self, code, *words):
        """Exit status, and one JSON object with the code and the words in its message or details."""
        assert self.status == 1, f"status {self.status}: {self.out}{self.err}"
        answer = self.json
        assert answer["code"] == code, answer
        said = answer["msg"] + answer.get("details", "")
        for word in words:
            assert word in said, f"{word!r} is not in {said!r}"
        assert answer["cniVersion"]
        return self

    @property
    def address(self):
        return self.ok().json["ips"][0]["address"].split("/")[0]


class Host:
    count = 0

    def __init__(self):
        Host.count += 1
        self.prefix = f"cni{os.getpid()}-{Host.count}"
        self.names = []
        self.run_dir = tempfile.mkdtemp(prefix="underlay-cni-")
        self.name = self.netns("host")
        self.ip("link", "set", "lo", "up")
        self.ip("addr", "add", "192.0.2.1/32", "dev", "lo")
        self.inside("sysctl", "-qw", "net.ipv4.ip_forward=1")
        self.publish()

    def close(self):
        for name in self.names:
            sh("ip", "netns", "del", name, check=False)
        shutil.rmtree(self.run_dir)

    def netns(self, name):
        full = f"{self.prefix}-{name}"
        sh("ip", "netns", "add", full)
        if full not in self.names:
            self.names.append(full)
        return full

    def pod(self, name):
        """A fresh namespace; answers its path, as runtimes give it."""
        return f"/run/netns/{self.netns(name)}"

    def remove_pod(self, path):
        sh("ip", "netns", "del", os.path.basename(path))

    def publish(self, **changes):
        """Writes plugin.json as the daemon does."""
        settings = {"version": 1, "node": "n1", "cidrs": ["10.244.7.0/24"], "mtu": 1500, "reuse_delay_s": 60,
                    "table": 254, "protocol": 171}
        settings.update(changes)
        path = pathlib.Path(self.run_dir, "plugin.json")
        temp = path.with_suffix(".new")
        temp.write_text(json.dumps(settings))
        temp.rename(path)

    def inside(self, *argv, netns=None, check=True, text_in=None):
        path = netns or f"/run/netns/{self.name}"
        return sh("nsenter", f"--net={path}", *argv, check=check, text_in=text_in)

    def ip(self, *argv, netns=None, check=True):
        return self.inside("ip", *argv, netns=netns, check=check).stdout

    def pings(self, address, netns=None):
        return self.inside("ping", "-c1", "-W5", address, netns=netns, check=False).returncode == 0

    def config(self, **changes):
        c = {"cniVersion": "1.0.0", "name": "underlay", "type": "underlay", "runDir": self.run_dir}
        c.update(changes)
        return {k: v for k, v in c.items() if v is not None}

    def start(self, command, container=None, netns=None, ifname="eth0", config=None, wrap=(), **env):
        variables = {"PATH": os.environ["PATH"], "CNI_COMMAND": command, "CNI_CONTAINERID": container,
                     "CNI_NETNS": netns, "CNI_IFNAME": ifname, "CNI_PATH": "/opt/cni/bin", **env}
        variables.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
        text = config if isinstance(config, str) else json.dumps(config or self.config())
        return Call(["nsenter", f"--net=/run/netns/{self.name}", *wrap, str(PLUGIN)],
                    {k: v for k, v in variables.items() if v is not None}, text)

    def call(self, *args, **kwargs):
        call = self.start(*args, **kwargs)
        call._wait()
        return call

    def add(self, container, netns, **kwargs):
        return self.call("ADD", container, netns, **kwargs)

    def delete(self, container, netns="", **kwargs):
        return self.call("DEL", container, netns, **kwargs)

    def leases(self):
        return leases(os.path.join(self.run_dir, "leases"))

    def state(self):
        """All that the plugin may leave behind on the host."""
        links = [(l["ifname"], l.get("ifalias")) for l in json.loads(self.ip("-j", "link"))]
        return {
            "links": sorted(links),
            "routes": sorted(self.ip("route", "show", "table", "all").splitlines()),
            "routes6": sorted(self.ip("-6", "route", "show", "table", "all").splitlines()),
            "neighbours": sorted(line for line in self.ip("neigh", "show", "nud", "all").splitlines()
                                 if "NOARP" not in line),  # multicast: the kernel's own, they come and go
            "leases": self.leases(),
        }


def leases(directory):
    """The owners of all leases, read with liblmdb: (container, ifname, network)."""
    data = os.path.join(directory, "data.mdb")
    if not os.path.exists(data) or os.path.getsize(data) == 0:  # empty: another process is making it
        return []
    lmdb = ctypes.CDLL("liblmdb.so.0")

    class Val(ctypes.Structure):
        _fields_ = [("size", ctypes.c_size_t), ("data", ctypes.c_void_p)]

    rdonly, nolock, first, next_ = 0x20000, 0x400000, 0, 8
    env, txn, cursor = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    dbi = ctypes.c_uint()
    key, value = Val(), Val()
    found = []

    def do(name, *args):
        rc = getattr(lmdb, name)(*args)
        assert rc == 0, f"{name}: {rc}"

    do("mdb_env_create", ctypes.byref(env))
    try:
        do("mdb_env_set_maxdbs", env, 8)
        do("mdb_env_set_mapsize", env, ctypes.c_size_t(256 << 20))
        do("mdb_env_open", env, directory.encode(), rdonly | nolock, 0o600)
        do("mdb_txn_begin", env, None, rdonly, ctypes.byref(txn))
        if lmdb.mdb_dbi_open(txn, b"leases", 0, ctypes.byref(dbi)) == 0:
            do("mdb_cursor_open", txn, dbi, ctypes.byref(cursor))
            op = first
            while lmdb.mdb_cursor_get(cursor, ctypes.byref(key), ctypes.byref(value), op) == 0:
                found.append(tuple(ctypes.string_at(key.data, key.size).decode().rstrip("\0").split("\0")))
                op = next_
            lmdb.mdb_cursor_close(cursor)
        lmdb.mdb_txn_abort(txn)
    finally:
        lmdb.mdb_env_close(env)
    return found
