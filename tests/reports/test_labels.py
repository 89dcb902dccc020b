"""Runs are told apart in one place, alike for every command."""

from pathlib import Path

import pytest

import unmask
from conftest import invoke, tiny
from unmask.reports.results import gather


@pytest.fixture
def runs(tmp_path):
    """One model in `a/mine`, `b/mine`, `c/other`, and another in `d/mine`."""
    folders = [tmp_path / name for name in ("a/mine", "b/mine", "c/other", "d/mine")]
    for folder, family in zip(folders, ("bert", "bert", "bert", "roberta"), strict=True):
        found = unmask.run(tiny(family), ["aul"], ["bundled-pairs"], limit=12, seed=3)
        unmask.save(found, folder)
    return folders


def names(folders):
    return gather(folders).models


def test_the_shortest_name_that_tells_a_run_apart(runs):
    a, b, c, d = runs
    assert names([a, d]) == ["tiny-bert", "tiny-roberta"]
    assert names([a, c]) == ["tiny-bert (mine)", "tiny-bert (other)"]
    assert names([a, b]) == [f"tiny-bert ({a})", f"tiny-bert ({b})"]
    assert names([a, a]) == ["tiny-bert (run 1)", "tiny-bert (run 2)"]
    assert names([a, c, d]) == ["tiny-bert (mine)", "tiny-bert (other)", "tiny-roberta"]


def test_every_command_uses_these_names(runs, tmp_path):
    a, b, *_ = runs
    frame, _ = unmask.compare([a, b])
    expected = [f"tiny-bert ({a})", f"tiny-bert ({b})"]
    assert [frame["first"][0], frame["second"][0]] == expected
    assert list(unmask.leaderboard([a, b]).model) == expected
    status, out, err = invoke("leaderboard", a, b)
    assert status == 0, err
    for name in (str(Path(a)), str(Path(b))):
        assert name in out
    status, out, err = invoke("items", a, b, "--top", "1")
    assert status == 0, err
    assert all(name in out for name in expected)
    status, out, err = invoke("report", a, b, "-o", tmp_path / "page")
    assert status == 0, err
    page = (tmp_path / "page" / "report.html").read_text()
    assert all(name in page for name in expected)


def test_results_in_memory_are_numbered(runs):
    one, two = unmask.load(runs[0]), unmask.load(runs[1])
    assert gather([one, two]).models == ["tiny-bert (run 1)", "tiny-bert (run 2)"]
    assert gather([*one, *unmask.load(runs[3])]).models == ["tiny-bert", "tiny-roberta"]


def test_results_are_selected_by_name(runs):
    every = gather(runs)
    assert {r.model for r in every.select(models=["tiny-roberta"])} == {"tiny-roberta"}
    assert len(every.select(measures=["aul"])) == len(every)
    with pytest.raises(unmask.NameUnknown, match="did you mean 'aul'"):
        every.select(measures=["aulx"])


def test_a_command_reads_a_folder_once(runs, tmp_path, monkeypatch):
    from unmask.reports import results

    read = []
    original = results.load
    monkeypatch.setattr(results, "load", lambda folder: read.append(folder) or original(folder))
    status, _, err = invoke("compare", runs[0], runs[3], "-o", tmp_path / "out")
    assert status == 0, err
    assert read == [runs[0], runs[3]]
    status, _, err = invoke("run", "-x", "aul", "-d", "bundled-pairs", "--limit", "4")
    assert status == 0, err
    assert len(read) == 2  # what was just measured is not read back
