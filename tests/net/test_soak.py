"""Nothing grows: sessions that flap and questions on the control socket, thousands of both at the same time, leave the
daemon's memory and its object counts where they were. SOAK=10000 for the long run; without it a short one."""
import contextlib
import os
import re
import socket
import struct
import threading
import time

import pytest

from control import Control
from harness import BUILD, ROOT, wait_until
from speaker import KEEPALIVE, NOTIFICATION, OPEN, UPDATE, Speaker, message, open_message, update

COUNT = int(os.environ.get("SOAK", "300"))
WARM_UP = 200
PEERS = 3
POD = "10.244.1.0/24"

# What is asked, for each command of src/base/commands.c; wrong arguments too. A command without a line here is asked bare.
ARGUMENTS = {
    "show-peers": [[], ["p0"], ["10.0.0.11"], ["nobody"]],
    "show-routes": [[], ["10.244.0.0/16"], [POD], ["for", "10.244.1.7"], ["10.0.0.0/99"]],
    "show-routes-why": [[POD], ["10.244.1.7"], ["192.0.2.0/24"], ["no-prefix"]],
    "policy-test": [["some", POD], ["some", POD, "med", "5"], ["nothing", POD], ["some"]],
    "peer": [["nobody", "restart"], ["p0", "sing"]],
}


def commands():
    ids = re.findall(r'\.id = "([^"]+)"', (ROOT / "src/base/commands.c").read_text())
    assert len(ids) >= 6
    return [(name, args) for name in ids for args in ARGUMENTS.get(name, [[]])]


def rss(node):
    with open(f"/proc/{node.pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def objects(control):
    return {row["kind"]: row["count"] for row in control.ask("show-memory")}


# --- flaps


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def say_goodbye(speaker):
    speaker.send(message(NOTIFICATION, bytes([6, 2])))
    speaker.closed()
    speaker.close()


def half_a_message(speaker):
    speaker.send(update(["10.244.77.0/24"])[:-3])
    speaker.close()


def fault(speaker):
    speaker.send(message(99))
    speaker.closed()
    speaker.close()


def silence(speaker):
    """The hold timer ends it; its 3 s make this a rare one."""
    assert speaker.notification()[:2] == (4, 0)
    speaker.close()


ENDS = [lambda s: s.close(), lambda s: reset(s.sock), say_goodbye, half_a_message, fault]


def flap(side, number, peer, end, hold=90):
    address = f"10.0.0.{11 + peer}"
    speaker = Speaker.connect(side, address, "10.0.0.1")
    speaker.send(open_message(64800 + peer, router_id=address, hold=hold))
    assert speaker.receive_until(OPEN, NOTIFICATION)[0] == OPEN
    speaker.send(message(KEEPALIVE) + update([f"10.244.{2 + (number + i) % 200}.0/24" for i in range(20)], address,
                                             [64800 + peer, 65000 + number % 100]))
    assert speaker.receive_until(UPDATE, NOTIFICATION)[0] == UPDATE  # our pods: it is established
    end(speaker)


def flaps(side, count, failures):
    try:
        for number in range(count):
            rare = number % 1000 == 500 or number == count // 2
            flap(side, number, number % PEERS, silence if rare else ENDS[number % len(ENDS)], 3 if rare else 90)
    except Exception as e:  # noqa: BLE001  the thread's failure is the test's
        failures.append(e)
        raise


# --- questions


def questions(node, count):
    asked = commands()
    control = Control(node.socket_path)
    for number in range(count):
        command, args = asked[number % len(asked)]
        control.ask(command, *args, errors_too=True)
        if number % 40 == 0:  # the client as well, as a table and in JSON
            words = command.split("-") + args
            node.client(*(["-j"] if number % 80 else []), *words)
        if number % 100 == 0:  # and one who does not wait for the answer
            impatient = Control(node.socket_path)
            impatient.file.write('{"command": "show-routes"}\n' * 3 + '{"comm')
            with contextlib.suppress(OSError):
                impatient.file.flush()
            impatient.file.detach()
            impatient.sock.close()
    control.sock.close()


def run_both(node, side, count):
    failures = []
    thread = threading.Thread(target=flaps, args=(side, count, failures))
    thread.start()
    questions(node, count)
    thread.join()
    assert not failures, failures


def quiet(control):
    return all(p["state"] != "Established" for p in control.ask("show-peers"))


@pytest.mark.soak
@pytest.mark.essential  # the sanitizers' memory says nothing of ours
def test_flaps_and_questions_leave_nothing(net):
    middle, side = net.ns("middle"), net.ns("side")
    net.link(middle, "eth0", "10.0.0.1/24", side, "eth0", "10.0.0.100/24")
    for i in range(PEERS):
        side.ip("address", "add", f"10.0.0.{11 + i}/24", "dev", "eth0")
    node = net.underlayd(middle, {
        "node": {"name": "n", "asn": 64701, "router-id": "10.0.0.1"},
        "pods": {"cidrs": [POD], "cluster-cidrs": ["10.244.0.0/16"]},
        "policies": [{"name": "some", "rules": [{"match": {"prefixes": ["10.244.0.0/16 le 32"]}, "action": "accept"}]}],
        "peers": [{"name": f"p{i}", "address": f"10.0.0.{11 + i}", "asn": 64800 + i, "passive": True, "hold-time": "90s",
                   "import": "some"} for i in range(PEERS)]}).start()
    control = Control(node.socket_path)
    run_both(node, side, WARM_UP)
    wait_until(lambda: quiet(control), 20, "all sessions are over")
    wait_until(lambda: middle.our_routes() == {POD: ["blackhole"]}, 20, "the kernel has our own route only", middle.our_routes)
    before, objects_before = rss(node), objects(control)
    control.sock.close()
    began = time.monotonic()
    run_both(node, side, COUNT)
    took = time.monotonic() - began
    control = Control(node.socket_path)
    wait_until(lambda: quiet(control), 20, "all sessions are over")
    wait_until(lambda: middle.our_routes() == {POD: ["blackhole"]}, 20, "the kernel has our own route only", middle.our_routes)
    wait_until(lambda: objects(control) == objects_before, 10, "as many objects as before",
               lambda: f"{objects(control)} instead of {objects_before}")
    peers = control.ask("show-peers")
    assert sum(p["established_count"] for p in peers) == WARM_UP + COUNT
    after = rss(node)
    print(f"{COUNT} flaps and {COUNT} questions in {took:.0f} s: RSS {before} KB -> {after} KB, objects {objects(control)}")
    if b"__asan_init" not in (BUILD / "underlayd").read_bytes():  # there the size says nothing
        assert abs(after - before) * 20 <= before, f"RSS {before} KB -> {after} KB"
    descriptors = len(os.listdir(f"/proc/{node.pid}/fd"))
    assert descriptors < 40, descriptors
