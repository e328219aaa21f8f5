"""The benchmarks still run. What they measure is not looked at here: docs/performance.md tells how."""
import os
import subprocess
import sys

from harness import BUILD, ROOT


def run(name, rows):
    argv = [sys.executable, ROOT / "tests/bench/run", name, "--smoke", "--rounds", "1", "--with", "", "--build", BUILD]
    # its programs end without freeing anything
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    ran = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=180, env=environment, check=False)
    assert ran.returncode == 0, ran.stdout
    for row in rows:
        assert row in ran.stdout, f"no row {row}:\n{ran.stdout}"


def test_routes_into_the_kernel_can_be_measured():
    run("fib", ("bare, objects", "underlayd", "0.5 k routes, carrier", "0.5 k routes, peer loss"))


def test_many_peers_can_be_measured():
    run("peers", ("reflector, 20 nodes", "mesh of 20, ours is one", "underlayd"))
