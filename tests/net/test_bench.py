"""The benchmarks still run. What they measure is not looked at here: docs/performance.md tells how."""
import os
import subprocess
import sys

from harness import BUILD, ROOT


def test_routes_into_the_kernel_can_be_measured():
    argv = [sys.executable, ROOT / "tests/bench/run", "fib", "--smoke", "--rounds", "1", "--with", "", "--build", BUILD]
    # its programs end without freeing anything
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    ran = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=180, env=environment, check=False)
    assert ran.returncode == 0, ran.stdout
    for row in ("bare, objects", "underlayd", "0.5 k routes, carrier", "0.5 k routes, peer loss"):
        assert row in ran.stdout, f"no row {row}:\n{ran.stdout}"
