"""The default `unmask run` of this tree beside that of an earlier commit, and what the cache costs.

    python benchmarks/side_by_side.py COMMIT [rounds]

A git worktree of the commit is run with the same Python, in turns with this one: with the answer
cache (empty at first), without it, and again from the cache. Medians, and their ratios.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sizes import SMALL

ROOT = Path(__file__).parents[1]
FEWER = ["-x", "aul", "-d", "bundled-pairs", "--limit", "4"] if SMALL else []


def seconds(source, out, *options, **environment):
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "unmask", "run", "--out", str(out), *FEWER, *options],
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(source), **environment},
    )
    return time.perf_counter() - start


def main():
    commit = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 1 if SMALL else 3
    times = {"then": [], "now, no cache": [], "now, empty cache": [], "now, from the cache": []}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        tree = place / "tree"
        subprocess.run(
            ["git", "worktree", "add", "--detach", str(tree), commit],
            cwd=ROOT,
            check=True,
            capture_output=True,
        )
        try:
            for n in range(rounds):
                cache = {"UNMASK_CACHE": str(place / f"cache-{n}")}
                src, out = ROOT / "src", [place / f"{n}-{k}" for k in range(4)]
                times["then"].append(seconds(tree / "src", out[0]))
                times["now, no cache"].append(seconds(src, out[1], "--no-cache"))
                times["now, empty cache"].append(seconds(src, out[2], **cache))
                times["now, from the cache"].append(seconds(src, out[3], **cache))
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT)
    middle = {k: statistics.median(v) for k, v in times.items()}
    for name, value in middle.items():
        ratio = value / middle["then"]
        print(f"{name:20} {value:7.1f} s   {ratio:.2f} of {commit}   {times[name]}")
    cost = middle["now, empty cache"] / middle["now, no cache"] - 1
    print(f"the cache costs {100 * cost:.1f} %")


if __name__ == "__main__":
    main()
