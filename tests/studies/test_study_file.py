"""Tests of studies/study_file."""

import pytest

from conftest import invoke
from unmask.reports.results import load
from unmask.studies.study_file import StudyFile, read

RUN = ("run", "-x", "sss", "-d", "bundled-pairs", "--limit", "12")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_study_is_run_from_its_file_and_kept_with_its_results(here):
    status, out, _ = invoke(*RUN, "--save-config", "s.toml", "--seed", "3")
    assert (status, list(here.iterdir())) == (0, [here / "s.toml"])
    assert "s.toml" in out
    assert invoke("run", "-c", "s.toml", "-o", "a")[0] == 0
    assert read(here / "a" / "study.toml") == read(here / "s.toml")
    assert invoke(*RUN, "-o", "b", "--seed", "3")[0] == 0
    one, two = load(here / "a"), load(here / "b")
    assert one.frame().equals(two.frame())
    # what is said on the command line wins
    assert invoke("run", "-c", "s.toml", "-o", "c", "-x", "aul", "--seed", "4")[0] == 0
    (found,) = load(here / "c")
    assert (found.measure, found.settings["seed"]) == ("aul", 4)
    assert invoke(*RUN, "--save-config", "s.toml")[0] == 2


def test_a_recipe_comes_back_from_its_text(tmp_path):
    odd = 'a "b" \\ ü \x7f.csv'
    given = StudyFile(
        ("bundled",), ("aul",), (odd,), {"limit": 3, "level": 0.9, "keep": ("tokens",)}
    )
    (tmp_path / "s.toml").write_text(given.toml(), "utf-8")
    assert read(tmp_path / "s.toml") == given


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("models = 3", "give a list of names"),
        ("model = ['a']", "did you mean 'models'"),
        ("[options]\nsede = 1", "did you mean 'seed'"),
        ("[options]\nseed = 'x'", "whole number"),
        ("options = 1", "[options]"),
        ("models = [", "not TOML"),
        ("[options]\nprogress = 1", "unknown option"),
    ],
)
def test_a_study_file_that_is_wrong_is_one_sentence(here, text, said):
    (here / "s.toml").write_text(text)
    status, _, err = invoke("run", "-c", "s.toml")
    assert status == 2
    assert "s.toml" in err
    assert said in err
    assert err.count("\n") == 1
