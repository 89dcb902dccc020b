"""Break the code on purpose: which changes do the tests notice?

    python tools/mutants.py [stats measures flow] [--sample 60] [--seed 0]

Each mutant changes one operator, comparison, number or condition of a file and runs the tests that
are where the file is (`tests/stats` for `stats`, and so on). A mutant that no test notices is
printed with its line. Mutants are drawn at random, the same with the same seed; 60 of a room take
about 20 minutes on two cores. Nothing is changed in the working tree: a copy is.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared" / "data"  # else tests on real data are skipped in the copy
DATA = {"UNMASK_DATA": str(SHARED)} if SHARED.is_dir() else {}
SWAPS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
# What the tests of a room are; `measures` and `flow` are also tested by one another.
TESTS = {
    "stats": ["tests/stats"],
    "measures": ["tests/measures", "tests/flow", "tests/models/transformers"],
    "flow": ["tests/flow", "tests/measures", "tests/stats/test_verdict.py", "tests/test_api.py"],
}
# Mutants that no test can notice: file, line of code, and what was changed; with the reason.
EQUIVALENT = {
    ("stats/clustering.py", "whole and given.min()"): "how large a table is made: speed alone",
    ("stats/clustering.py", "SMALL_TABLE ="): "how large a table is made: speed alone",
    ("stats/effects.py", "needed = brentq("): "the far end of a bracket",
    ("stats/effects.py", "reach = 10 +"): "the far end of a bracket",
    ("stats/effects.py", "block = max("): "how many draws are made at a time: the same draws",
    ("stats/agreement.py", 'return float("nan"), 0.0'): "NaN decides before df does",
    ("measures/plans.py", '"target", (0,)'): "the token at a hidden place is not seen",
    ("stats/word_preference.py", "cell = codes(family *"): "other numbers for the same cells",
    ("stats/ceat.py", "block = 128"): "how many samples are computed at a time",
    ("flow/run_likelihood.py", "GPU_PACE ="): "how far a GPU is kept ahead: speed alone",
    ("flow/estimates.py", "share = 100 * scored.unknown"): "a guard against dividing by none",
    ("flow/precision.py", "SAMPLE = 100"): "how many items show the error of a format: a choice",
}


@dataclass(frozen=True)
class Mutant:
    """A change: the file, the line, what it was and what it is now."""

    path: Path
    line: int
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.before!r} -> {self.after!r}"


class _Mutate(ast.NodeTransformer):
    """Changes the n-th place that can be changed."""

    def __init__(self, wanted: int) -> None:
        self.wanted, self.count = wanted, -1
        self.changed: tuple[int, str, str] | None = None

    def _here(self) -> bool:
        self.count += 1
        return self.count == self.wanted

    def _note(self, old: ast.AST, new: ast.AST) -> ast.AST:
        self.changed = (old.lineno, ast.unparse(old), ast.unparse(new))  # type: ignore[attr-defined]
        return ast.copy_location(new, old)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Another operator."""
        if type(node.op) in SWAPS and self._here():
            return self._note(node, ast.BinOp(node.left, SWAPS[type(node.op)](), node.right))
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """The comparison turned around."""
        if len(node.ops) == 1 and type(node.ops[0]) in SWAPS and self._here():
            swapped = [SWAPS[type(node.ops[0])]()]
            return self._note(node, ast.Compare(node.left, swapped, node.comparators))
        return self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """And for or, or the other way round."""
        if self._here():
            return self._note(node, ast.BoolOp(SWAPS[type(node.op)](), node.values))
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """A number that is one more, or twice as large."""
        number = isinstance(node.value, int | float) and not isinstance(node.value, bool)
        if not number or not self._here():
            return node
        value = node.value + 1 if isinstance(node.value, int) else node.value * 2 + 0.1  # type: ignore[operator]
        return self._note(node, ast.Constant(value))

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """The other branch."""
        if self._here():
            return self._note(node, ast.IfExp(node.test, node.orelse, node.body))
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Bodies alone: defaults and annotations are not changed."""
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """Words of messages are not changed."""
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        """Nor what is said of errors."""
        return node


def mutants(path: Path) -> Iterator[Mutant]:
    """All changes of a file, one at a time."""
    text = path.read_text()
    wanted = 0
    while True:
        change = _Mutate(wanted)
        tree = change.visit(ast.parse(text))
        if change.changed is None:
            return
        line, before, after = change.changed
        source = ast.unparse(ast.fix_missing_locations(tree))
        yield Mutant(path.relative_to(ROOT), line, before, after, source)
        wanted += 1


def survives(mutant: Mutant, tree: Path, room: str) -> bool:
    """Whether the tests of its room pass with a mutant in a copy of the project."""
    target = tree / mutant.path
    before = target.read_text()
    target.write_text(mutant.source)
    try:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-m", "not slow"]
        done = subprocess.run(
            [*command, *TESTS[room]],
            cwd=tree,
            env={**os.environ, **DATA, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            timeout=900,
        )
        return done.returncode == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        target.write_text(before)


def main() -> None:
    """Draw mutants of each room, try them, and print those that survive."""
    parser = argparse.ArgumentParser()
    parser.add_argument("rooms", nargs="*", default=list(TESTS))
    parser.add_argument("--sample", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trees = [Path(folder) / str(k) for k in range(2)]
        for tree in trees:
            for name in ("src", "tests", "benchmarks", "docs", "pyproject.toml"):
                source = ROOT / name
                copy = shutil.copytree if source.is_dir() else shutil.copy
                tree.mkdir(exist_ok=True)
                copy(source, tree / name)
        for room in asked.rooms:
            every = [
                m for p in sorted((ROOT / "src/unmask" / room).glob("*.py")) for m in mutants(p)
            ]
            chosen = random.Random(asked.seed).sample(every, min(asked.sample, len(every)))
            left = [m for m in chosen if not _equivalent(m)]
            with ThreadPoolExecutor(len(trees)) as pool:
                halves = [left[k :: len(trees)] for k in range(len(trees))]
                alive = [
                    m for part in pool.map(_tried, halves, trees, [room] * len(trees)) for m in part
                ]
            killed = len(left) - len(alive)
            share = 100 * killed / max(len(left), 1)
            print(f"{room}: {killed} of {len(left)} mutants noticed ({share:.0f} %)", flush=True)
            for mutant in sorted(alive, key=str):
                print(f"  {mutant}", flush=True)


def _equivalent(mutant: Mutant) -> bool:
    line = (ROOT / mutant.path).read_text().split("\n")[mutant.line - 1]
    return any(str(mutant.path).endswith(file) and text in line for file, text in EQUIVALENT)


def _tried(some: list[Mutant], tree: Path, room: str) -> list[Mutant]:
    return [m for m in some if survives(m, tree, room)]


if __name__ == "__main__":
    main()
