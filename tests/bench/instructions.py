"""instructions: what the whole way of a prefix through the daemon costs, in instructions. They are the same on a busy machine.

tests/bench/path goes the way in one process, under callgrind. The figures stand in tests/bench/instructions.txt; with --check
one that has grown by more than TOLERANCE ends the run with status 1, and one that has shrunk by more asks to be written down
(--write). Nothing here is random, so that the same compiler gives the same figures to the last digit; the tolerance is for
another version of the compiler or of libc. CNI is no part of this.
"""
import pathlib
import re
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RECORDED = HERE / "instructions.txt"
PREFIXES = 20000
TOLERANCE = 0.05
ROWS = [(mix, family) for mix in ("full", "pods") for family in ("4", "6")]


def count(build, mix, family):
    """{"new": instructions a prefix, "known": ...}"""
    with tempfile.TemporaryDirectory() as directory:
        out = f"{directory}/out"
        subprocess.run(["valgrind", "-q", "--tool=callgrind", "--toggle-collect=pass_*", f"--callgrind-out-file={out}",
                        str(build / "tests/bench/path"), "-n", str(PREFIXES), "-m", mix, "-f", family],
                       check=True, stdout=subprocess.DEVNULL)
        text = subprocess.run(["callgrind_annotate", "--inclusive=yes", out], check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^ *([\d,]+) \(.*:pass_(new|known) ", text, re.MULTILINE)
    return {which: int(number.replace(",", "")) // PREFIXES for number, which in found}


def recorded():
    rows = (line.split() for line in RECORDED.read_text().splitlines() if line and not line.startswith("#"))
    return {(mix, family, which): int(number) for mix, family, which, number in rows}


def judge(before, now):
    """(good, words)"""
    if before is None:
        return False, "not recorded: --write"
    if now > before * (1 + TOLERANCE):
        return False, f"WORSE than {before}"
    return True, f"better than {before}: --write" if now < before * (1 - TOLERANCE) else ""


def run(options):
    if not shutil.which("valgrind"):
        print("instructions: no valgrind here")
        return False
    before, lines, good = recorded(), [], True
    print(f"{'mix':6}{'family':8}{'sets':8}{'instructions a prefix':>22}")
    for mix, family in ROWS:
        for which, now in count(options.build, mix, family).items():
            lines.append(f"{mix} {family} {which} {now}\n")
            fine, words = judge(before.get((mix, family, which)), now)
            good &= fine
            print(f"{mix:6}IPv{family:5}{which:8}{now:22}  {words}", flush=True)
    if options.write:
        RECORDED.write_text("# mix, family, sets, instructions a prefix: tests/bench/run instructions --write\n" + "".join(lines))
    return good or not options.check
