"""./setup answers clearly to what it cannot do, and changes nothing then."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from harness import ROOT


@pytest.fixture
def copy():
    """The scripts where everybody can read them: a clone in /root is nobody else's to read."""
    directory = pathlib.Path(tempfile.mkdtemp())
    directory.chmod(0o755)
    shutil.copy(ROOT / "setup", directory)
    shutil.copytree(ROOT / "lab", directory / "lab")
    (directory / "tests").mkdir()
    shutil.copy(ROOT / "tests/check_all.sh", directory / "tests")
    yield directory
    shutil.rmtree(directory)


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["lab", "nonsense"], ["lab", "shell"], ["lab", "shell", "a", "b"],
                                       ["build", "x"], ["check", "x"]], ids=" ".join)
def test_usage(arguments):
    done = subprocess.run([ROOT / "setup", *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "usage: ./setup build" in done.stderr and done.stdout == "", done


@pytest.mark.parametrize("arguments", [["lab"], ["lab", "down"], ["lab", "shell", "n1"], ["check"]], ids=" ".join)
def test_not_root(arguments, copy):
    done = subprocess.run([copy / "setup", *arguments], capture_output=True, text=True, timeout=60,
                          **({"user": 65534, "group": 65534} if os.geteuid() == 0 else {}))
    assert done.returncode == 1 and f"sudo ./setup {' '.join(arguments)}" in done.stderr, done


def test_shell_of_nobody():
    done = subprocess.run([ROOT / "setup", "lab", "shell", "no-such"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "no-such" in done.stderr, done
