"""Runs are told apart in one place, alike for every command."""

from dataclasses import replace
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
        found = unmask.run(tiny(family), ["aul"], ["bundled-pairs"], limit=13, seed=3)
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


def turned(result):
    """The same result with the scores of its sentences turned around."""
    return replace(result, items=result.items.assign(score=-result.items.score))


def test_runs_keep_the_order_in_which_they_are_given(runs, tmp_path):
    (one,) = unmask.load(runs[0])
    other = turned(one)
    for given in ([runs[0], other], [runs[0], [other]], [one, other], [[one], [other]]):
        frame, _ = unmask.compare(given)
        back, _ = unmask.compare(given[::-1])
        assert frame.difference[0] == -back.difference[0] != 0
        assert frame.a[0] == one.overall.value


def test_results_of_one_model_given_twice_are_two_runs(runs):
    (one,) = unmask.load(runs[0])
    assert gather([one, turned(one)]).models == ["tiny-bert (run 1)", "tiny-bert (run 2)"]
    assert gather(unmask.Results([one, turned(one)])).models == (
        ["tiny-bert (run 1)", "tiny-bert (run 2)"]
    )


def test_folders_keep_their_names_beside_results_in_memory(runs):
    (one,) = unmask.load(runs[0])
    assert gather([one, runs[1], runs[2]]).models == (
        ["tiny-bert (run 1)", "tiny-bert (mine)", "tiny-bert (other)"]
    )


def test_a_label_is_no_other_models_name(runs, tmp_path):
    (one,) = unmask.load(runs[0])
    named = replace(one, spec=replace(one.spec, model="tiny-bert (mine)"))
    unmask.save(named, tmp_path / "odd")
    found = gather([runs[0], runs[2], tmp_path / "odd"]).models
    assert len(set(found)) == 3
    assert found[2] == "tiny-bert (mine)"


def test_a_page_is_made_of_whatever_is_gathered(runs, tmp_path):
    for number, given in enumerate((runs[0], [runs[0], runs[1]], unmask.load(runs[0])[0])):
        page = unmask.report(given, tmp_path / f"{number}.html")
        assert page.stat().st_size > 10_000
    for wrong in (5, None, [3]):
        with pytest.raises(unmask.DataError, match="is not a result"):
            unmask.report(wrong, tmp_path / "x.html")
