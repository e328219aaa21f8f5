"""underlayc against a stand-in for the daemon: good, wrong, half and no answers. Needs no root."""
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading

import pytest

BUILD = os.environ.get("UNDERLAY_BUILD", os.path.join(os.path.dirname(__file__), "..", ".."))
CLIENT = os.path.abspath(os.path.join(BUILD, "underlayc"))
DONE = b'{"done": true}\n'


class Daemon:
    """Answers one caller: reads its line, sends answer, and closes unless silent."""

    def __init__(self, path, answer=b"", silent=False):
        self.request = None
        self.answer = answer
        self.silent = silent
        self.enough = threading.Event()
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(path)
        self.listener.listen(1)
        self.listener.settimeout(30)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        try:
            caller, _ = self.listener.accept()
        except OSError:
            return
        with caller:
            caller.settimeout(30)
            self.request = caller.makefile("rb").readline()
            try:
                caller.sendall(self.answer)
            except OSError:
                return
            if self.silent:
                self.enough.wait(60)

    def close(self):
        self.enough.set()
        try:
            self.listener.shutdown(socket.SHUT_RDWR)  # wakes accept(), where nobody called
        except OSError:
            pass
        self.listener.close()
        self.thread.join(60)
        assert not self.thread.is_alive()


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "control")


@pytest.fixture
def daemon(path):
    started = []

    def start(answer=b"", silent=False):
        started.append(Daemon(path, answer, silent))
        return started[-1]

    yield start
    for d in started:
        d.close()


def run(path, *words, stdout=subprocess.PIPE):
    return subprocess.run([CLIENT, "-s", path, *words], stdout=stdout, stderr=subprocess.PIPE,
                          text=True, timeout=60, check=False)


ROWS = (b'{"row": {"name": "tor-a", "address": "10.0.7.254", "asn": 64512, "state": "Established", "secret": "x"}}\n'
        b'{"row": {"name": "b", "address": "10.0.7.253", "asn": 5, "state": "Idle", "received": 12}}\n')


def test_table(path, daemon):
    d = daemon(ROWS + DONE)
    r = run(path, "sh", "pe")
    assert (r.returncode, r.stderr) == (0, "")
    lines = r.stdout.splitlines()
    assert lines[0].split() == ["Name", "Address", "AS", "State", "Since", "Received", "Accepted", "Advertised", "Info"]
    assert lines[1].split() == ["tor-a", "10.0.7.254", "64512", "Established", "-", "-", "-", "-", "-"]
    assert lines[2].split() == ["b", "10.0.7.253", "5", "Idle", "-", "12", "-", "-", "-"]
    assert lines[0].index("AS") + 2 == lines[1].index("64512") + 5, "numbers stand to the right"
    assert json.loads(d.request) == {"command": "show-peers", "args": []}


def test_json(path, daemon):
    daemon(ROWS + DONE)
    r = run(path, "-j", "show", "peers")
    assert (r.returncode, r.stderr) == (0, "")
    assert [row["name"] for row in json.loads(r.stdout)] == ["tor-a", "b"]
    assert json.loads(r.stdout)[0]["secret"] == "x", "-j prints what the table leaves out"


def test_record(path, daemon):
    d = daemon(ROWS.splitlines(keepends=True)[0] + DONE)
    r = run(path, "show", "peers", "tor-a")
    assert r.returncode == 0
    assert r.stdout.splitlines()[2].split() == ["Remote", "AS:", "64512"]
    assert json.loads(d.request) == {"command": "show-peers", "args": ["tor-a"]}


def test_record_in_json(path, daemon):
    daemon(ROWS.splitlines(keepends=True)[0] + DONE)
    assert json.loads(run(path, "-j", "show", "peers", "tor-a").stdout)["name"] == "tor-a"


@pytest.mark.parametrize("words", [["-j", "show", "peers", "tor-a"], ["show", "-j", "peers", "tor-a"],
                                   ["show", "peers", "tor-a", "--json"], ["show", "peers", "-j", "--", "tor-a"]],
                         ids=" ".join)
def test_options_anywhere(path, daemon, words):
    d = daemon(ROWS.splitlines(keepends=True)[0] + DONE)
    assert json.loads(run(path, *words).stdout)["name"] == "tor-a"
    assert json.loads(d.request) == {"command": "show-peers", "args": ["tor-a"]}


def test_options_end(path, daemon):
    d = daemon(DONE)
    assert run(path, "show", "peers", "--", "-j").returncode == 0
    assert json.loads(d.request) == {"command": "show-peers", "args": ["-j"]}


def test_socket_behind_the_command(path, daemon):
    d = daemon(ROWS + DONE)
    r = subprocess.run([CLIENT, "show", "peers", "-s", path], capture_output=True, text=True, timeout=60, check=False)
    assert (r.returncode, r.stderr) == (0, "")
    assert json.loads(d.request) == {"command": "show-peers", "args": []}


@pytest.mark.parametrize("word", ["neighbors", "neighbours", "protocols"])
def test_other_names(path, daemon, word):
    d = daemon(ROWS + DONE)
    assert run(path, "show", word).stdout.startswith("Name")
    assert json.loads(d.request) == {"command": "show-peers", "args": []}


def test_empty(path, daemon):
    daemon(DONE)
    r = run(path, "show", "pods")
    assert (r.returncode, r.stdout) == (0, "no pod has an address here\n")


def test_large(path, daemon):
    n = 20000
    daemon(b"".join(b'{"row": {"mark": "*", "prefix": "10.%d.%d.0/24"}}\n' % (i // 256, i % 256) for i in range(n)) + DONE)
    r = run(path, "show", "routes")
    assert r.returncode == 0
    assert len(r.stdout.splitlines()) == n + 1


def test_error(path, daemon):
    daemon(b'{"error": "there is no peer foo\\u001b[31m", "hint": "show peers lists them"}\n')
    r = run(path, "show", "peers", "foo")
    assert (r.returncode, r.stdout) == (1, "")
    assert r.stderr == "underlayc: there is no peer foo\\x1b[31m\nunderlayc: show peers lists them\n"


@pytest.mark.parametrize("answer", [b"", b'{"row": {"na', ROWS, DONE[:-1]],
                         ids=["nothing", "half a row", "rows only", "no end of line"])
def test_half(path, daemon, answer):
    daemon(answer)
    r = run(path, "show", "peers")
    assert (r.returncode, r.stdout) == (1, "")
    assert r.stderr == "underlayc: the daemon closed the connection in the middle of its answer\n"


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x00\xff\xfe\n", b"[]\n", b"x" * (3 << 20)],
                         ids=["http", "binary", "list", "endless line"])
def test_garbage(path, daemon, answer):
    daemon(answer)
    r = run(path, "show", "status")
    assert (r.returncode, r.stdout) == (1, "")
    assert "does not speak the control protocol" in r.stderr
    assert len(r.stderr) < 400


@pytest.mark.parametrize("answer", [b"", ROWS, b'{"row": {'], ids=["nothing", "rows only", "half a row"])
def test_silence(path, daemon, answer):
    daemon(answer, silent=True)
    r = run(path, "-t", "1", "show", "peers")
    assert (r.returncode, r.stdout) == (1, "")
    assert "the daemon said nothing for 1 s" in r.stderr


def test_nobody_there(path):
    r = run(path, "show", "status")
    assert (r.returncode, r.stdout) == (1, "")
    assert r.stderr == f"underlayc: no daemon answers at {path}: is underlayd running? (systemctl status underlayd)\n"


def test_stale_socket(path):
    left = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    left.bind(path)
    left.close()
    r = run(path, "show", "status")
    assert (r.returncode, r.stdout) == (1, "")
    assert "left over from one that is gone" in r.stderr


def test_not_allowed(path):
    """As another user where this is root, since root may open everything. The program is copied to where that
    user can get at it: a clone in /root is not."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.bind(path)
        s.listen(1)
        os.chmod(path, 0)
        open_to_all = tempfile.mkdtemp()
        os.chmod(open_to_all, 0o755)
        client = shutil.copy(CLIENT, open_to_all)
        command = [client, "-s", f"/proc/self/fd/3/{os.path.basename(path)}", "show", "status"]
        as_user = {"user": 65534} if os.geteuid() == 0 else {}
        directory = os.open(os.path.dirname(path), os.O_PATH)
        os.chmod(os.path.dirname(path), 0o755)

        def keep():
            os.dup2(directory, 3)
        r = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False,
                           pass_fds=(3,), preexec_fn=keep, **as_user)
        os.close(directory)
        shutil.rmtree(open_to_all)
    assert (r.returncode, r.stdout) == (1, "")
    assert "be root or a member of the group underlay" in r.stderr


def test_path_too_long():
    r = run("/tmp/" + "x" * 200, "show", "status")
    assert r.returncode == 1
    assert "too long for a socket" in r.stderr


def test_full_disk(path, daemon):
    daemon(ROWS + DONE)
    with open("/dev/full", "w", encoding="ascii") as full:
        r = run(path, "show", "peers", stdout=full)
    assert (r.returncode, r.stderr) == (1, "underlayc: cannot write the answer\n")


@pytest.mark.parametrize("words, part", [
    (["fly"], 'unknown command "fly"; the commands are:'),
    (["show", "p"], '"show p" can be:'),
    (["show"], '"show" can be:'),
    (["show", "status", "now"], "too many words"),
    ([], "usage: underlayc"),
    (["-x"], "usage: underlayc"),
    (["-t", "0", "show", "status"], "-t wants seconds"),
    (["-t", "x", "show", "status"], "-t wants seconds"),
])
def test_usage_errors(path, words, part):
    r = run(path, *words)
    assert (r.returncode, r.stdout) == (2, "")
    assert part in r.stderr


@pytest.mark.parametrize("word", ["-h", "--help", "help"])
def test_help(path, word):
    r = run(path, word)
    assert (r.returncode, r.stderr) == (0, "")
    assert "show routes [PREFIX | for ADDRESS]" in r.stdout
    assert "neighbo" not in r.stdout, "help has one name for one thing"
