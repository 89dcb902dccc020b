"""Every benchmark and tool runs, on its smallest size."""

import importlib.util
import os
import subprocess
import sys

import pytest

from conftest import ROOT, SHARED

HELPERS = ("all", "sizes", "recorded")
BENCHMARKS = sorted(p.stem for p in (ROOT / "benchmarks").glob("*.py") if p.stem not in HELPERS)
# Minutes, or another commit: in `make test-all`.
LONG = ("likelihood", "lab", "side_by_side", "cluster")
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
    assert "`python benchmarks/ceat.py`; " in page
    assert page.count("|---|") >= 2


def test_a_row_that_is_measured_anew_takes_the_place_of_the_old_one(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    spec = importlib.util.spec_from_file_location("all_of_them", ROOT / "benchmarks" / "all.py")
    every = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(every)

    def row(value, day, machine="here"):
        known = {"table": "ceat", "command": "benchmarks/ceat.py", "machine": machine}
        return {**known, "commit": "c", "date": day, "facts": {"times": value}}

    rows = [row(1, "d1"), row(2, "d1"), row(7, "d1", "there"), row(3, "d2"), row(4, "d2")]
    assert [r["facts"]["times"] for r in every.newest(rows)] == [3, 4, 7]
    page = every.page(every.newest(rows))
    assert "| times |\n|---|\n| 3 |\n| 4 |" in page
    assert "`python benchmarks/ceat.py`; there; d1, commit c" in page


@pytest.mark.parametrize("path", TOOLS, ids=str)
def test_a_tool_can_be_imported(path, monkeypatch):
    monkeypatch.syspath_prepend(str((ROOT / path).parent))
    spec = importlib.util.spec_from_file_location(f"tool_{path.stem}", ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert callable(module.main)
