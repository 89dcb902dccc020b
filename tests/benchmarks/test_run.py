"""Every benchmark and tool runs, on its smallest size."""

import importlib.util
import os
import subprocess
import sys

import pytest

from conftest import ROOT, SHARED

HELPERS = ("sizes", "recorded")
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


@pytest.mark.parametrize("path", TOOLS, ids=str)
def test_a_tool_can_be_imported(path, monkeypatch):
    monkeypatch.syspath_prepend(str((ROOT / path).parent))
    spec = importlib.util.spec_from_file_location(f"tool_{path.stem}", ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert callable(module.main)
