"""Tests of extend/own_parts."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

import unmask
from conftest import TESTS, invoke, tiny
from unmask.data.packaged import bundled_pairs
from unmask.data.wordsets import stimuli
from unmask.measures import ASSOCIATION, LIKELIHOOD

MINE = replace(LIKELIHOOD["aul"], name="mine", cite=("doe2026",), bibtex="@misc{doe2026,\n}")


def test_a_row_made_in_a_script_is_a_measure(tmp_path):
    ours, theirs = (unmask.evaluate(tiny("bert"), m, "bundled-pairs") for m in ("aul", MINE))
    assert theirs.measure == "mine"
    assert theirs.overall == ours.overall
    unmask.check_measure(MINE)
    unmask.save([theirs], tmp_path)
    assert "@misc{doe2026," in invoke("cite", tmp_path)[1]
    with pytest.raises(unmask.UnmaskError, match="bibliography entry for 'doe2026'"):
        unmask.check_measure(replace(MINE, bibtex=""))
    with pytest.raises(unmask.UnmaskError, match="did you mean 'word-mean'"):
        replace(ASSOCIATION["w-seat"], name="w", pool={"*": "word-maen"})
    other = replace(MINE, reduce=LIKELIHOOD["pll"].reduce)
    with pytest.raises(unmask.UnmaskError, match="two measures are named 'mine'"):
        unmask.run(tiny("bert"), [MINE, other], "bundled-pairs")


def test_data_made_in_a_script_is_data():
    some = replace(bundled_pairs(), name="some", items=bundled_pairs().items[:6])
    assert unmask.evaluate(tiny("bert"), "aul", some).overall.n == 6
    test = replace(stimuli()["weat-6"], name="my words")
    assert unmask.evaluate(tiny("bert"), "w-seat", test).data == "my words"
    broken = replace(some, items=(*some.items, some.items[0]))
    with pytest.raises(unmask.UnmaskError, match="ids that are unique"):
        unmask.check_data(broken)


PLUGIN = """
from dataclasses import replace
from unmask import LIKELIHOOD, Contrast, Dataset, Text
measure = replace(LIKELIHOOD["aul"], name="aul-again")
wrong = "no row"
def data():
    texts = {"stereotype": Text("She was late."), "antistereotype": Text("He was late.")}
    return Dataset("late", "pairs", (Contrast("1", texts, "c", "c"),))
"""

PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "unmask-again"
version = "1"
[project.entry-points."unmask.measures"]
aul-again = "unmask_again:measure"
aul-wrong = "unmask_again:wrong"
aul-gone = "unmask_gone:measure"
[project.entry-points."unmask.data"]
late = "unmask_again:data"
"""


def test_a_package_may_offer_measures_and_data(tmp_path):
    """A package is installed for real, and its parts are found by name on the command line."""
    (tmp_path / "unmask_again.py").write_text(PLUGIN)
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    place = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run(
        [*install, "--no-build-isolation", "--target", str(place), str(tmp_path)], check=True
    )
    code = f"""
from conftest import invoke, tiny
from unmask import run
found = run(tiny("bert"), "aul-again", "late")
assert found[0].measure == "aul-again" and found[0].overall.n == 1
assert "aul-again" in invoke("list", "measures")[1]
for name, said in (("aul-agian", "did you mean 'aul-again'"), ("aul-wrong", "must be a Likelihood"),
                   ("aul-gone", "cannot be loaded (ModuleNotFoundError")):
    status, _, err = invoke("run", "-x", name, "-d", "late", "-o", {str(tmp_path / "o")!r})
    assert status == 2 and said in " ".join(err.split()), err
"""
    path = os.pathsep.join([str(place), str(TESTS)])
    environment = {**os.environ, "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
