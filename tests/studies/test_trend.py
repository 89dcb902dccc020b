"""Tests of studies/trend: changes that are there are found, where they are; others are not."""

from dataclasses import replace

import numpy as np
import pytest

import unmask
from conftest import invoke, tiny
from made_groups import pairs
from simulated_models import simulated
from unmask.data.packaged import bundled_pairs
from unmask.errors import DataError
from unmask.studies.trend import trend
from unmask.studies.trend_page import sentences, study
from unmask.types import Results


def series(folder, biases, seed=1):
    """Runs of one model over time: the same noise, another bias about gender."""
    data, out = bundled_pairs(), []
    for place, bias in enumerate(biases):
        some = simulated(data, folder, seed, {"gender": bias}, ("cps",))
        out += [replace(r, spec=replace(r.spec, model=f"step {place}")) for r in some]
    return Results(out)


def test_a_change_is_found_where_it_is(tmp_path):
    found = trend(series(tmp_path, [0] * 4 + [2.5] * 4))
    change = next(c for c in found.changes if c.bias_type == "gender")
    assert (change.last, change.first) == ("step 3", "step 4")
    assert change.difference.value > 0
    assert change.p <= 0.05
    text = sentences(found)
    assert any(t.startswith("Gender rose between step 3 and step 4: ") for t in text)
    assert any(t.startswith("No change is shown over the 8 runs for ") for t in text)


def test_two_changes_are_found_one_within_the_other(tmp_path):
    found = trend(series(tmp_path, [-3] * 8 + [0] * 8 + [3] * 8))
    by_place = {c.first: c.difference.value > 0 for c in found.changes if c.bias_type == "gender"}
    assert by_place == {"step 8": True, "step 16": True}


def test_the_other_way_round_the_signs_turn(tmp_path):
    there = trend(series(tmp_path, [0] * 4 + [2] * 4))
    back = trend(series(tmp_path, [2] * 4 + [0] * 4))
    assert there.changes[0].difference.value == pytest.approx(-back.changes[0].difference.value)


def test_few_runs_show_no_change_and_the_page_says_why(tmp_path):
    found = trend(series(tmp_path, [0, 0, 0, 2, 2, 2]))
    assert found.changes == ()
    assert "At least 8 runs are needed to show a change." in " ".join(sentences(found))


@pytest.mark.slow
def test_unbiased_models_with_seeds_of_their_own_rarely_change(tmp_path):
    alarms = 0
    for seed in range(20):
        runs = []
        for place in range(10):
            some = simulated(bundled_pairs(), tmp_path, 100 * seed + place, {}, ("cps",))
            runs += [replace(r, spec=replace(r.spec, model=f"{place}")) for r in some]
        alarms += bool(trend(Results(runs)).changes)
    assert alarms <= 4  # 5 % of 20 is 1; more than 4 has probability .003


def test_scores_are_those_of_the_runs(tmp_path):
    runs = series(tmp_path, [0, 1])
    frame = trend(runs).scores
    gender = frame[(frame.bias_type == "gender") & (frame.run == "step 1")].iloc[0]
    own = next(r for r in runs if r.model == "step 1" and r.measure == gender.measure)
    assert gender.score == own.extras["adjusted:gender"].value
    assert set(frame.run) == {"step 0", "step 1"}


def test_effect_sizes_are_followed_too():
    runs = unmask.run([tiny(f) for f in ("bert", "roberta", "albert")], ["odds"], ["kurita-career"])
    found = trend(runs)
    assert set(found.scores.compared) == {"odds"}
    assert np.allclose(found.scores.score, [np.exp(r.overall.value) for r in runs])


def test_statistics_of_items_are_followed_too():
    """Three runs of one network and three of another: paired differences, and the gap of sides."""
    runs = []
    for k in range(6):
        model = replace(tiny("gpt2" if k < 3 else "opt"), name=f"run {k}")
        runs.append(unmask.run(model, ["lmb", "gest"], [pairs()]))
    found = trend(runs)
    assert set(found.scores.measure) <= {"lmb", "gest"}
    assert len(found.scores) == 6
    assert not found.untested


def test_the_command_writes_a_page(tmp_path):
    runs = series(tmp_path, [0] * 4 + [2.5] * 4)
    folders = []
    for name in runs.models:
        folders.append(tmp_path / name.replace(" ", "-"))
        unmask.save(runs.select(models=[name]), folders[-1])
    status, shown, _ = invoke("trend", *folders, "-o", tmp_path / "out")
    assert status == 0
    assert "Gender rose between step 3 and step 4" in " ".join(shown.split())
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Significant changes" in page
    assert (tmp_path / "out" / "changes.csv").is_file()
    assert invoke("trend", folders[0])[0] == 2
    assert study(trend(runs)).figures[0].numbers.changed.sum() >= 1
    with pytest.raises(DataError, match="two runs or more"):
        trend([folders[0]])


def test_an_id_that_means_another_item_is_not_followed(tmp_path):
    """Two runs whose sentences differ under the same ids have nothing to compare."""
    runs = list(series(tmp_path, [0, 3]))
    late = [
        replace(r, items=r.items.assign(sentence="other " + r.items.sentence))
        for r in runs
        if r.model == "step 1"
    ]
    found = trend(Results([*(r for r in runs if r.model == "step 0"), *late]))
    assert found.changes == ()
    assert "gender" in found.untested
    assert sentences(found)[-1].startswith("Not tested")
