"""Do two commits give the same numbers? Runs the main jobs in a worktree of each and compares.

    python tools/same_numbers.py BASE [NEW] [--data FOLDER] [--only run,vary]

Compares every estimate of `run`, `score` (of the run's CPS) and `compare`, every item's score, and
every cell of the tables of `vary` and of the three papers (quick, bundled model). Prints each
number that differs.
`results.json` may be of any version. Takes about ten minutes a commit on two cores.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

ASSOCIATION = "w-seat,aul,lpbs,ceat,s-seat@may2019"
SETS = "weat-6,kurita-career,bundled-pairs"
JOBS = {
    "run": ["run", "--by-category"],
    "layer5": ["run", "-x", ASSOCIATION, "-d", SETS, "--layer", "5"],
    "pooled": ["run", "-x", ASSOCIATION, "-d", SETS, "--pool", "word-first"],
    "score": ["score", "{run}/scores.csv", "-d", "bundled-pairs"],
    "compare": ["compare", "{layer5}", "{pooled}", "--margin", "2"],
    "vary": ["vary", "bundled"],
    "kaneko2022": ["reproduce", "kaneko2022", "-m", "bundled", "--quick"],
    "thys2025": ["reproduce", "thys2025", "-m", "bundled", "--quick"],
    "husse2022": ["reproduce", "husse2022", "-m", "bundled", "--quick"],
}


def run_jobs(commit: str, folder: Path, data: str, jobs: list[str]) -> None:
    """All jobs of a commit, in a worktree of its own."""
    tree = folder / "tree"
    subprocess.run(["git", "worktree", "add", "--detach", "--force", tree, commit], check=True)
    settings = {"PYTHONPATH": str(tree / "src"), "UNMASK_DATA": data, "HF_HUB_OFFLINE": "1"}
    try:
        for name in jobs:
            if name == "score":
                write_scores(folder / "run")
            words = [w.format(**{j: folder / j for j in JOBS}) for w in JOBS[name]]
            command = [sys.executable, "-m", "unmask", *words, "-o", str(folder / name)]
            subprocess.run(command, check=True, env={**os.environ, **settings}, cwd=folder,
                           stdout=subprocess.DEVNULL)  # fmt: skip
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", tree], check=True)


def write_scores(run: Path) -> None:
    """The sentence scores of a run's AUL as a file that `score` reads."""
    items = pd.read_parquet(run / "items.parquet")
    mine = items[(items.measure == "cps") & (items.data == "bundled-pairs")]
    names = mine["item"] + "/" + mine["label"]
    pd.DataFrame({"id": names, "score": mine.score}).to_csv(run / "scores.csv", index=False)


def leaves(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    """Every number of a nested record, with its path; `se` follows the value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{where}/{key}".replace("/more/se", "/se"))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from leaves(inner, f"{where}/{place}")
    elif isinstance(value, int | float):
        yield where, value


def numbers(folder: Path) -> dict[str, Any]:
    """Every number that a job wrote, by its place."""
    found: dict[str, Any] = {}
    if (folder / "results.json").is_file():
        for record in json.loads((folder / "results.json").read_text())["results"]:
            spec = record.get("spec", record)
            name = "/".join(str(spec[k]) for k in ("model", "measure", "data"))
            parts = {k: record[k] for k in ("overall", "by_category", "extras", "accuracy")}
            found |= dict(leaves(parts, name))
    if (folder / "items.parquet").is_file():
        items = pd.read_parquet(folder / "items.parquet")
        keys = items[["measure", "data", "item", "label"]].agg("/".join, axis=1)
        found |= {f"items/{k}/{n}": s for n, (k, s) in enumerate(zip(keys, items.score))}  # noqa: B905
    for path in sorted(folder.glob("*.csv")):
        frame = pd.read_csv(path)
        text = frame.select_dtypes("object").columns
        for place, row in enumerate(frame.to_dict("records")):
            name = f"{path.stem}/{'/'.join(str(row[c]) for c in text) or place}"
            found |= {f"{name}/{c}": row[c] for c in frame.columns if c not in text}
    return {k: v for k, v in found.items() if v == v}


def main() -> None:
    """Compare two commits; exit status 1 if a number differs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("base")
    parser.add_argument("new", nargs="?", default="HEAD")
    parser.add_argument("--data", default=os.environ.get("UNMASK_DATA", ""))
    parser.add_argument("--only", default=",".join(JOBS))
    asked = parser.parse_args()
    jobs = asked.only.split(",")
    with tempfile.TemporaryDirectory() as name:
        folders = {c: Path(name) / c for c in ("base", "new")}
        for side, commit in (("base", asked.base), ("new", asked.new)):
            folders[side].mkdir()
            run_jobs(commit, folders[side], asked.data, jobs)
        different = 0
        for job in jobs:
            one, two = (numbers(f / job) for f in folders.values())
            shared = one.keys() & two.keys()
            changed = sorted(k for k in shared if one[k] != two[k])
            different += len(changed)
            apart = len(one.keys() ^ two.keys())
            print(f"{job}: {len(shared)} numbers, {len(changed)} differ, {apart} in one only")
            for key in changed[:10]:
                print(f"  {key}: {one[key]!r} {two[key]!r}")
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
