"""The default `unmask run` of this tree beside that of an earlier commit, and what the cache costs.

    python benchmarks/side_by_side.py COMMIT [rounds]

A git worktree of the commit is run with the same Python, in turns with this one: with the answer
cache (empty at first), without it, and again from the cache. Medians, their ratios, and how long it
took until the first line.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from recorded import record
from sizes import SMALL

ROOT = Path(__file__).parents[1]
FEWER = ["-x", "aul", "-d", "bundled-pairs", "--limit", "4"] if SMALL else []


def seconds(source, out, *options, **environment):
    """Seconds of a run, and until its first line."""
    start, first = time.perf_counter(), None
    with subprocess.Popen(
        [sys.executable, "-m", "unmask", "run", "--out", str(out), *FEWER, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(source), **environment},
    ) as running:
        for _ in running.stdout:
            first = first or time.perf_counter() - start
    assert running.returncode == 0
    return time.perf_counter() - start, first


def main():
    commit = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 1 if SMALL else 3
    times = {"then": [], "now, no cache": [], "now, empty cache": [], "now, from the cache": []}
    first = {}

    def noted(name, took):
        times[name].append(took[0])
        first[name] = took[1]

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
                other = {"UNMASK_CACHE": str(place / f"other-{n}")}
                noted("then", seconds(tree / "src", out[0], **other))
                noted("now, no cache", seconds(src, out[1], "--no-cache"))
                noted("now, empty cache", seconds(src, out[2], **cache))
                noted("now, from the cache", seconds(src, out[3], **cache))
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT)
    middle = {k: statistics.median(v) for k, v in times.items()}
    for name, value in middle.items():
        facts = {"run": name, "seconds": round(value, 1), "first score, s": round(first[name], 1)}
        record("side_by_side", facts | {f"of {commit}": round(value / middle["then"], 2)})


if __name__ == "__main__":
    main()
