"""./setup answers clearly to what it cannot do, and changes nothing then."""
import subprocess

import pytest

from harness import ROOT

NOBODY = ["unshare", "--user"]  # not root, and yet able to read a clone in /root


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["lab", "nonsense"], ["lab", "shell"], ["lab", "shell", "a", "b"],
                                       ["build", "x"], ["check", "x"]], ids=" ".join)
def test_usage(arguments):
    done = subprocess.run([ROOT / "setup", *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "usage: ./setup build" in done.stderr and done.stdout == "", done


@pytest.mark.skipif(subprocess.run([*NOBODY, "true"], capture_output=True).returncode != 0,
                    reason="this kernel lets nobody make a user namespace")
@pytest.mark.parametrize("arguments", [["lab"], ["lab", "down"], ["lab", "shell", "n1"], ["check"]], ids=" ".join)
def test_not_root(arguments):
    done = subprocess.run([*NOBODY, ROOT / "setup", *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and f"sudo ./setup {' '.join(arguments)}" in done.stderr, done


def test_shell_of_nobody():
    done = subprocess.run([ROOT / "setup", "lab", "shell", "no-such"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "no-such" in done.stderr, done
