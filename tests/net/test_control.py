"""The control socket against clients that a shell script would write, and worse."""
import contextlib
import json
import os
import random
import signal
import socket
import subprocess

import pytest

from harness import BUILD, wait_until

CONFIG = {"node": {"name": "n", "asn": 64700, "router-id": "10.0.0.1"}, "kernel": {"install": False},
          "peers": [{"name": f"p{i}", "address": f"10.0.{i // 250}.{i % 250 + 2}", "asn": 64800, "passive": True,
                     "import": "all"} for i in range(600)]}


@pytest.fixture
def node(net):
    return net.underlayd(net.ns("n"), CONFIG).start()


def dial(node):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.settimeout(10)
    s.connect(str(node.socket_path))
    return s


def read_all(s):
    data = b""
    while more := s.recv(65536):
        data += more
    return [json.loads(line) for line in data.splitlines()]


def request(command, *args):
    return json.dumps({"command": command, "args": args}).encode() + b"\n"


@pytest.mark.parametrize("line", [
    b"\n", b"hello\n", b"{}\n", b"[]\n", b"{\"command\": 5}\n", b"{\"command\": \"show-peers\", \"args\": [null]}\n",
    b"{\"command\": \"show-routes\", \"args\": [null, {}]}\n", b"{\"command\": \"show-peers\", \"args\": \"x\"}\n",
    b"{\"command\": \"show-peers\", \"args\": [\"a\", \"b\", \"c\"]}\n", b"{\"command\": \"format-disk\"}\n", b"\xff\xfe\x00\n",
    b"{\"command\": \"show-routes\", \"args\": [\"10.0.0.0/99\"]}\n", b"{\"command\": \"show-routes\", \"args\": [\"for\", \"here\"]}\n",
    b"{\"command\": \"route-add\", \"args\": [\"192.0.2.1/32\", \"owner\", \"a\\u0000b\"]}\n",
    b"[" * 3000 + b"\n", b"x" * 10000 + b"\n", b"{\"command\": \"show-peers\", \"args\": [" + b"\"\"," * 900 + b"\"\"]}\n"], ids=lambda line: line[:40].decode("latin1"))
def test_bad_request(node, line):
    s = dial(node)
    s.sendall(line + request("show-status"))
    s.shutdown(socket.SHUT_WR)
    answers = read_all(s)
    assert answers and "error" in answers[0] and answers[0]["error"], answers
    assert answers[1]["row"]["node"] == "n" and answers[2:] == [{"done": True}], answers


def test_several_requests_at_once_and_half_closed(node):
    s = dial(node)
    s.sendall(request("show-peers") + request("show-status") + request("show-peers", "p7"))
    s.shutdown(socket.SHUT_WR)
    answers = read_all(s)
    assert [i for i, a in enumerate(answers) if a == {"done": True}] == [600, 602, 604]
    assert answers[603]["row"]["name"] == "p7"


def test_a_request_in_pieces_and_one_without_an_end(node):
    s = dial(node)
    for byte in request("show-status"):
        s.sendall(bytes([byte]))
    s.sendall(b"{\"command\":")
    s.shutdown(socket.SHUT_WR)
    answers = read_all(s)
    assert answers[0]["row"]["node"] == "n" and answers[1] == {"done": True}


def cpu_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def test_clients_that_do_not_read_cost_nothing(node):
    """Answers longer than any socket buffer, clients that ask again, say nothing, or close one way: no spinning, no
    growth, and others are served."""
    silent = []
    for _ in range(10):
        s = dial(node)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.sendall(request("show-peers") * 40)
        silent.append(s)
    silent[0].shutdown(socket.SHUT_WR)
    wait_until(lambda: node.status(), 10, "others are served")
    before, waited = cpu_ticks(node.pid), 0
    while waited < 20:  # answers of others, which take some time of their own
        assert node.status()["node"] == "n"
        waited += 1
    pace = cpu_ticks(node.pid) - before
    assert pace < 0.5 * waited * os.sysconf("SC_CLK_TCK"), f"{pace} ticks for {waited} answers: it spins"
    answers = read_all(silent[0])
    assert sum(a == {"done": True} for a in answers) == 40


def test_facts_for_the_plugin_are_written_when_there_is_room_again(net):
    """A full run directory at a reload: the pods keep the old settings, and get the new ones by themselves later."""
    node = net.underlayd(net.ns("n"), {**CONFIG, "pods": {"cidrs": ["10.244.1.0/24"]}})
    node.run_dir.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", node.run_dir], check=True)
    try:
        node.start()

        def cidrs():
            return json.loads((node.run_dir / "plugin.json").read_text())["cidrs"]

        assert cidrs() == ["10.244.1.0/24"]
        with open(node.run_dir / "ballast", "wb", buffering=0) as f:
            with contextlib.suppress(OSError):
                while True:
                    f.write(bytes(4096))
        node.configure({**CONFIG, "pods": {"cidrs": ["10.244.2.0/24"]}})
        node.popen.send_signal(signal.SIGHUP)
        node.wait_log("plugin facts: .*No space left")
        assert cidrs() == ["10.244.1.0/24"]
        assert any("plugin.json" in w for w in node.status()["warnings"])
        (node.run_dir / "ballast").unlink()
        wait_until(lambda: cidrs() == ["10.244.2.0/24"], 20, "the new settings are there", cidrs)
    finally:
        node.stop()
        subprocess.run(["umount", "-l", node.run_dir], check=True)


def test_silent_clients_keep_nobody_out(node):
    many = [dial(node) for _ in range(100)]
    assert node.status()["node"] == "n"
    # the one that was silent longest went, the newest stay
    assert many[0].recv(1) == b""
    many[-1].sendall(request("show-status"))
    assert many[-1].recv(10)


def test_too_many_clients_that_are_answered(node):
    """Nobody is cut off in the middle of an answer: the next one is turned away."""
    many = []
    for _ in range(70):
        s = dial(node)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with contextlib.suppress(OSError):
            s.sendall(request("show-peers") * 40)
        many.append(s)
    node.wait_log("more than 64 clients at once")
    assert sum(a == {"done": True} for a in read_some(many[0])) == 40
    for s in many[1:20]:
        s.close()
    wait_until(lambda: node.status(), 10, "there is room again")


def read_some(s):
    s.shutdown(socket.SHUT_WR)
    return read_all(s)


def test_a_host_that_does_not_forward_is_told_so(net):
    node = net.underlayd(net.ns("n"), {**CONFIG, "pods": {"cidrs": ["10.244.1.0/24"]}})
    node.ns.sysctl(ip_forward=0)
    node.start()
    assert any("ip_forward=1" in w for w in node.status()["warnings"]) and "ip_forward=1" in node.log()
    node.ns.sysctl(ip_forward=1)
    assert not any("ip_forward=1" in w for w in node.status()["warnings"])


def test_damaged_leases_are_reported_and_harm_nothing(wire):
    """Any page of the store overwritten with anything: the daemon says so, and lives."""
    rnd = random.Random(7)
    node = wire.underlayd().start()
    pod = wire.net.ns("pod")
    done = subprocess.run(["ip", "netns", "exec", wire.node.name, "env", "CNI_COMMAND=ADD", "CNI_CONTAINERID=c1",
                           f"CNI_NETNS=/run/netns/{pod.name}", "CNI_IFNAME=eth0", "CNI_PATH=/x", BUILD / "underlay"],
                          input=json.dumps({"cniVersion": "1.0.0", "name": "underlay", "type": "underlay",
                                            "runDir": str(node.run_dir)}), text=True, capture_output=True, timeout=30, check=True)
    assert len(node.ask("show", "pods")) == 1, done.stdout
    data = node.run_dir / "leases" / "data.mdb"
    good, reported = data.read_bytes(), 0
    for _ in range(40):
        page = rnd.randrange(len(good) // 4096) * 4096
        filler = rnd.choice([bytes(4096), b"\xff" * 4096, rnd.randbytes(4096)])
        data.write_bytes(good[:page] + filler + good[page + 4096:])
        answer = node.client("show", "pods")
        reported += answer.returncode != 0
        assert "no daemon" not in answer.stderr and node.running(), answer.stderr
        assert node.status()["node"] == "node"
    data.write_bytes(good)
    assert reported > 0 and len(node.ask("show", "pods")) == 1
