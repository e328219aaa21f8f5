"""docs/interop.md: written from what the cells found out, and read to compare with it.

The versions in its head are for readers; they are not compared, so that another point release of a peer is no difference.
"""
import pathlib
import re
import subprocess

from harness import ROOT
from options import TITLES, VERSIONS

COMMITTED = ROOT / "docs" / "interop.md"
HOW_TO_UPDATE = "if the new answer is right: cp BUILD-DIRECTORY/interop.md docs/interop.md after a run of all of tests/interop"

HEAD = """# Interoperability

Written by `pytest tests/interop` ([testing](testing.md)), not by hand; a cell that no longer says what is here fails.
Each cell is a test with the real program: sessions over links in network namespaces, both sides' view of the routes, and
a capture of what was said.

`passed`, or which side lacks it; below the table stands how the run knows. In the role "underlayd is its client" the peer
is the route reflector, in "underlayd reflects" it is underlayd. Behind both sides stand further speakers, whose routes
with all their attributes go through both programs.

"""


def version(kind):
    argv, pattern = VERSIONS[kind]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
    except OSError:
        return "?"
    match = re.search(pattern, done.stdout + done.stderr)
    return match[1] if match else "?"


def write(found):
    """found: {(feature, role, kind): (text, how)}, in any order."""
    from test_matrix import CELLS  # the order of the rows is that of the tests
    kinds = list(TITLES)
    lines = [" | ".join(["| feature", "role", *(f"{TITLES[k]} {version(k)}" for k in kinds)]) + " |",
             "|" + "---|" * (2 + len(kinds))]
    reasons = {}
    for feature, roles in ((f, c.roles) for f, c in CELLS.items()):
        for role in roles:
            row = [found.get((feature, role, kind), ("not run", "")) for kind in kinds]
            lines.append("| " + " | ".join([feature, role, *(text for text, _ in row)]) + " |")
            for kind, (_, how) in zip(kinds, row):
                if how:
                    features, where = reasons.setdefault((TITLES[kind], how), ({}, {}))
                    features[feature], where[role] = True, True
    lines += ["", "How the run knows who lacks what:", "", "| peer | feature | role | |", "|---|---|---|---|"]
    for (title, how), (features, where) in sorted(reasons.items(), key=lambda item: item[0][0].lower()):
        which = ", ".join(features) if len(features) < 5 else "all"
        lines.append(f"| {title} | {which} | {', '.join(where) if len(where) < 4 else 'all'} | {how} |")
    return HEAD + "\n".join(lines) + "\n"


def read(path=COMMITTED):
    """{(feature, role, kind): text} of a file that write() made."""
    kinds, cells = list(TITLES), {}
    for line in pathlib.Path(path).read_text().splitlines() if pathlib.Path(path).exists() else ():
        row = [c.strip() for c in line.strip("|").split("|")]
        if line.startswith("| ") and len(row) == 2 + len(kinds) and row[0] != "feature":
            cells.update({(row[0], row[1], kind): text for kind, text in zip(kinds, row[2:])})
    return cells
