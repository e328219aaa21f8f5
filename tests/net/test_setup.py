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


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["lab", "nonsense"], ["lab", "up", "x"],
                                       ["build", "x"], ["check", "x"]], ids=" ".join)
def test_usage(arguments):
    done = subprocess.run([ROOT / "setup", *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "usage: ./setup build" in done.stderr and done.stdout == "", done


@pytest.mark.parametrize("arguments", [["lab"], ["lab", "down"], ["check"]], ids=" ".join)
def test_not_root(arguments, copy):
    done = subprocess.run([copy / "setup", *arguments], capture_output=True, text=True, timeout=60,
                          **({"user": 65534, "group": 65534} if os.geteuid() == 0 else {}))
    assert done.returncode == 1 and f"sudo ./setup {' '.join(arguments)}" in done.stderr, done


@pytest.mark.parametrize("words", [["shell"], ["shell", "n1"], ["shell", "n1", "true"]], ids=" ".join)
def test_shell_without_a_lab(words):
    done = subprocess.run([ROOT / "setup", "lab", *words], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "UNDERLAY_LAB_PREFIX": "nolab-"})
    assert done.returncode == 1 and "the lab is not up" in done.stderr and done.stdout == "", done


@pytest.fixture
def half_a_lab():
    """Two namespaces with a lab's names: enough to enter."""
    prefix = f"ultlab{os.getpid()}-"
    for name in ("n1", "tor-a"):
        subprocess.run(["ip", "netns", "add", prefix + name], check=True)
        pathlib.Path(f"/run/underlay-lab-{prefix[:-1]}", name).mkdir(parents=True)
    yield lambda *words, top=ROOT, **more: subprocess.run(
        [top / "setup", "lab", "shell", *words], capture_output=True, text=True, timeout=60,
        env={**os.environ, "UNDERLAY_LAB_PREFIX": prefix}, **more)
    for name in ("n1", "tor-a"):
        subprocess.run(["ip", "netns", "delete", prefix + name], check=True)
    shutil.rmtree(f"/run/underlay-lab-{prefix[:-1]}")


def test_shell_not_root(half_a_lab, copy):
    done = half_a_lab("n1", top=copy, user=65534, group=65534)
    assert done.returncode == 1 and "sudo ./setup lab shell n1" in done.stderr, done


def test_shell(half_a_lab):
    done = half_a_lab()
    assert done.returncode == 0 and done.stdout.splitlines()[-1].split() == ["tor-a", "n1"], done
    done = half_a_lab("n1", "bash", "-c", 'echo "$LAB_NAME $1"', "-", "two  words")
    assert (done.returncode, done.stdout) == (0, "n1 two  words\n"), done
    assert half_a_lab("n1", "sh", "-c", "exit 7").returncode == 7
    done = half_a_lab("no-such")
    assert done.returncode == 1 and "there is no no-such in the lab; it has: tor-a n1" in done.stderr, done
    done = half_a_lab("tor-a", "underlayc", "show", "peers")
    assert done.returncode == 1 and "birdc show protocols" in done.stderr, done
