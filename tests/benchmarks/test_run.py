"""Every benchmark and tool runs, on its smallest size."""

import importlib.util
import os
import subprocess
import sys

import pytest

from conftest import ROOT, SHARED

HELPERS = ("all", "sizes", "recorded")
BENCHMARKS = sorted(p.stem for p in (ROOT / "benchmarks").glob("*.py") if p.stem not in HELPERS)
# More than a few seconds, or another commit: in `make test-all`.
LONG = (
    "cache",
    "checkpoints",
    "cluster",
    "families",
    "growth",
    "lab",
    "likelihood",
    "peers",
    "side_by_side",
    "table5",
    "planted_sizes",
    "planted_choices",
    "debiased",
    "questionnaire",
)
TOOLS = sorted(p.relative_to(ROOT) for p in (ROOT / "tools").rglob("*.py"))


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LONG)) for n in BENCHMARKS]
)
def test_a_benchmark_runs(name, tmp_path):
    data = {"UNMASK_DATA": str(SHARED)} if SHARED.is_dir() else {}
    place = {"PYTHONPATH": str(ROOT / "src"), "UNMASK_CACHE": str(tmp_path), **data}
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / f"{name}.py"), "--small"],
        env={**os.environ, **place}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip()


def test_all_of_them_in_one_command_make_a_page(tmp_path):
    """A few of them, on their smallest size: rows with command, machine and date, in tables."""
    script = str(ROOT / "benchmarks" / "all.py")
    place = {"PYTHONPATH": str(ROOT / "src"), "UNMASK_CACHE": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, script, "--small", "startup", "ceat"],
        env={**os.environ, **place}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    page = done.stdout[done.stdout.index("# What was measured") :]
    assert "## The command's own start" in page
    assert "1. `python benchmarks/ceat.py`, " in page
    assert page.count("|---|") >= 2


def test_a_row_that_is_measured_anew_takes_the_place_of_the_old_one(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    spec = importlib.util.spec_from_file_location("all_of_them", ROOT / "benchmarks" / "all.py")
    every = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(every)

    def row(value, day, machine="here", **facts):
        known = {"table": "ceat", "command": "benchmarks/ceat.py", "machine": machine}
        return {**known, "commit": "c", "date": day, "facts": {**facts, "times": value}}

    rows = [row(1, "d1"), row(2, "d1"), row(7, "d1", "there"), row(3, "d2"), row(4, "d2")]
    assert [r["facts"]["times"] for r in every.newest(rows)] == [3, 4, 7]
    page = every.page(every.newest(rows))
    assert "here:\n\n| times | run |\n|---|---|\n| 3 | 1 |\n| 4 | 1 |" in page
    assert "there:\n\n| times | run |\n|---|---|\n| 7 | 1 |" in page
    assert "1. `python benchmarks/ceat.py`, d1, commit c" in page
    # Of things with names each is kept; a size within a name is not what it is.
    first = [row(1, "d1", what="masked, 20 items"), row(2, "d1", what="causal, 20 items")]
    rows = [*first, row(3, "d2", what="masked, 600 items")]
    assert [r["facts"]["times"] for r in every.newest(rows)] == [3, 2]
    first, second = row(1, "d1", family="opt-2.7b"), row(2, "d1", family="opt-6.7b")
    assert every.newest([first, second]) == [first, second]
    of_sizes = [{**row(n, "d1"), "command": f"benchmarks/growth.py {n}"} for n in (1, 2)]
    assert every.newest(of_sizes) == of_sizes
    of_runs = every.page(every.newest(rows))
    assert "| masked, 600 items | 3 | 1 |\n| causal, 20 items | 2 | 2 |" in of_runs


@pytest.mark.parametrize("path", TOOLS, ids=str)
def test_a_tool_can_be_imported(path, monkeypatch):
    monkeypatch.syspath_prepend(str((ROOT / path).parent))
    spec = importlib.util.spec_from_file_location(f"tool_{path.stem}", ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert callable(module.main)
