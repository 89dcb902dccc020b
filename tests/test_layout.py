"""Tests of test_layout."""

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import unmask
from conftest import ROOT, TESTS, invoke

SOURCE = Path(unmask.__file__).parent

# From the ground up; what stands in one group may not import another of it.
FLOORS = (
    {"errors"},
    {"support"},
    {"options"},
    {"types"},
    {"queries"},
    {"text", "stats"},
    {"measures"},
    {"data", "models"},
    {"answer"},
    {"flow", "reports", "corpus"},
    {"studies", "lab", "api"},
    {"extend", "serve"},
    {"cli"},
    {"__init__", "__main__"},
)

FLOOR = {room: n for n, rooms in enumerate(FLOORS) for room in rooms}

LATE = ("unmask.models",)  # torch, Triton

HEAVY = {
    "vl_convert",
    "mlflow",
    "wandb",
    "torch",
    "transformers",
    "h5py",
    "ray",
    "zstandard",
    "ahocorasick_rs",
}


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        yield path, ".".join(("unmask", *parts)).removesuffix(".__init__"), parts[0]


def imported(tree):
    """Names of modules that a file imports, and whether it does so inside a function."""
    inner = {
        id(n)
        for f in ast.walk(tree)
        if isinstance(f, ast.FunctionDef)
        for n in ast.walk(f)
        if n is not f
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((a.name, id(node) in inner) for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((f"{node.module}.{a.name}", id(node) in inner) for a in node.names)


def test_imports_point_one_way_and_late_ones_are_heavy():
    edges = {}
    for path, name, room in modules():
        tree = ast.parse(path.read_text())
        for target, late in imported(tree):
            first, *rest = target.split(".")
            if first != "unmask":
                assert not late or first in HEAVY, f"{path}: late import of {target}"
                continue
            if late:
                assert target.startswith(LATE), f"{path}: late {target}"
            other = rest[0] if rest else "__init__"
            if other in FLOOR and other != room:
                assert FLOOR[other] < FLOOR[room], f"{name} imports {target}"
            edges.setdefault(name, set()).add(target)
    names = {n for _, n, _ in modules()}
    graph = {
        n: {t if t in names else t.rpartition(".")[0] for t in ts} & names - {n}
        for n, ts in edges.items()
    }
    while graph:  # peel off what imports nothing that is left; a circle would stay
        free = {n for n, ts in graph.items() if not ts & graph.keys()}
        assert free, f"a circle among {sorted(graph)}"
        graph = {n: ts for n, ts in graph.items() if n not in free}


@pytest.mark.parametrize("part", ["lab", "studies.papers"])
def test_papers_and_lab_use_documented_modules_and_public_names(part):
    allowed = {f"unmask.{name}" for name in " ".join(unmask.MODULES).split()}
    known = {name for _, name, _ in modules()}
    for path, name, _ in modules():
        if not f"{name}.".startswith(f"unmask.{part}."):
            continue
        for target, _ in imported(ast.parse(path.read_text())):
            if not target.startswith("unmask.") or f"{target}.".startswith(f"unmask.{part}."):
                continue
            module = target if target in known else target.rpartition(".")[0]
            assert module in allowed, f"{name} imports {module}"
            assert not target.rpartition(".")[2].startswith("_"), f"{name} imports {target}"


def test_a_class_has_its_name_for_itself():
    names = [
        node.name
        for path in SOURCE.rglob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef)
    ]
    assert sorted(n for n in set(names) if names.count(n) > 1) == []


def test_tests_leave_the_checkout_as_it_is():
    """Commands write into the working directory by default: here that is a temporary one."""
    assert not Path.cwd().is_relative_to(ROOT)
    status, out, _ = invoke("run", "-x", "cps", "--limit", "4", "-q")
    assert status == 0
    assert (Path.cwd() / out.strip() / "results.json").is_file()


def test_files_are_laid_out_by_the_formatter():
    skipped = sum(path.read_text().count("fmt: skip") for path, _, _ in modules())
    assert skipped <= 5


def test_importing_changes_nothing_outside():
    """Neither the environment nor what is loaded."""
    code = (
        "import os, sys; before = dict(os.environ); import unmask; from unmask import Options; "
        "assert dict(os.environ) == before; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_results_show_themselves_whatever_was_imported(tmp_path):
    """`load` alone is enough for tables and figures."""
    unmask.save(unmask.run(measures=["aul"], data=["bundled-pairs"], limit=8), tmp_path / "run")
    code = (
        "import sys; from unmask.reports.results import load; found = load(sys.argv[1]); "
        "found[0].plot().save(sys.argv[2]); assert '<table' in found._repr_html_(); "
        "assert len(found[0].items_by_influence(3)) == 3; assert found[0].to_markdown()"
    )
    words = [str(tmp_path / "run"), str(tmp_path / "figure.svg")]
    subprocess.run([sys.executable, "-c", code, *words], check=True)
    assert (tmp_path / "figure.svg").stat().st_size > 1000


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text()
    released = re.findall(r"^## (\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)$", changelog, re.M)
    citation = (ROOT / "CITATION.cff").read_text()
    cited = re.search(r"^version: (\S+)$", citation, re.M)[1]
    status, out, _ = invoke("--version")
    assert status == 0
    assert project == unmask.__version__ == released[0][0] == cited == out.split()[1]
    assert f"date-released: {released[0][1]}" in citation


def test_the_top_floor_is_small():
    """Seven files."""
    assert len({p.name for p in SOURCE.glob("*.py")}) <= 7


def test_tests_stand_where_their_code_stands():
    folders = {p.relative_to(TESTS) for p in TESTS.rglob("*") if p.is_dir()}
    own = {Path(name) for name in ("benchmarks", "docs", "fuzz", "slow", "tools")}
    cached = {f for f in folders if "__pycache__" in f.parts}
    for folder in folders - own - cached:
        assert (SOURCE / folder).is_dir(), f"tests/{folder} has no counterpart"


def test_the_wheel_holds_its_notice_and_its_templates(tmp_path):
    build = [sys.executable, "-m", "build", "--wheel", "-n", "-o", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    names = zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist()
    licences = {Path(n).name for n in names if "/licenses/" in n}
    assert licences == {"LICENSE", "NOTICE"}
    own = {p.relative_to(SOURCE.parent).as_posix() for p in SOURCE.rglob("*.jinja*")}
    assert own <= set(names)


def test_the_notice_names_every_file_of_the_weights():
    notice = (ROOT / "NOTICE").read_text()
    folder = SOURCE / "models" / "bundled_model"
    for path in folder.iterdir():
        if path.suffix != ".md":
            assert path.name in notice
    assert "CC BY-NC-SA" in notice
    assert "NOTICE" in (folder / "README.md").read_text()
