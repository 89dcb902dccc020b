"""Tests of flow/group_comparisons and flow/item_comparisons: through the whole of a run."""

import json

import numpy as np
import pytest

import unmask
from conftest import tiny
from made_groups import PERSONS, groups, pairs
from unmask.data.readers.groups import disco
from unmask.data.readers.lists import read_lists
from unmask.options import Options
from unmask.reports import formats
from unmask.reports.html.page import report
from unmask.reports.results import load, save
from unmask.studies.reliability import reliability
from unmask.studies.sample_size import needs
from unmask.support.store import Store
from unmask.types import Dataset, Stimuli

WORDS = Stimuli(
    "words",
    {"x": ("algebra", "number", "logic", "sum"), "y": ("dance", "song", "poem", "play")},
    {"men": ("man", "boy", "he", "king"), "women": ("woman", "girl", "she", "queen")},
)


def lists(folder):
    (folder / "women.txt").write_text("She is kind.\nThe woman won.\nA girl ran.\n")
    (folder / "men.txt").write_text("He is kind.\nThe man won.\nA boy ran home.\n")
    return read_lists(folder / "women.txt", folder / "men.txt")


def every(family, folder, **options):
    """All further sorts of numbers on one tiny model."""
    model = tiny(family)
    causal = ["lmb", "lmb@barikeri2021"] if model.kind == "causal" else []
    masked = ["crr", "delta-p", "disco", "mbe"] if model.kind == "masked" else []
    measures = ["cbs", "gest", "rnd", "mac", "ripa", *causal, *masked]
    data = [groups(), pairs(), WORDS, disco(PERSONS, "persons"), lists(folder)]
    return unmask.run([model], measures, data, cache=False, **options)


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_batch_size_and_the_cache_change_nothing(family, tmp_path):
    whole = every(family, tmp_path)
    small = every(family, tmp_path, tokens=60)
    store = Store(tmp_path / "answers.sqlite")
    first = every(family, tmp_path, store=store)
    again = every(family, tmp_path, store=store)
    store.close()
    assert len(whole) == len(small) == len(again) >= 6
    for one in whole:
        for others in (small, first, again):
            other = next(r for r in others if r.title == one.title)
            assert other.overall.value == pytest.approx(one.overall.value, abs=1e-9), one.title
            assert other.overall.low == pytest.approx(one.overall.low, abs=1e-7, nan_ok=True)


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_the_order_of_items_changes_nothing(family):
    model = tiny(family)
    for name, data in (("cbs", groups()), ("gest", pairs())):
        turned = Dataset(data.name, data.shape, data.items[::-1])
        one, two = (unmask.evaluate(model, name, d).overall for d in (data, turned))
        assert one.value == pytest.approx(two.value)
        assert one.low == pytest.approx(two.low)


def test_two_models_are_compared_by_items_or_words(tmp_path):
    one = every("bert", tmp_path)
    two = unmask.run(
        [tiny("electra")],
        ["cbs", "gest", "rnd", "mac", "ripa", "crr", "disco", "mbe"],
        [groups(), pairs(), WORDS, disco(PERSONS, "persons"), lists(tmp_path)],
    )
    found, _ = unmask.compare([one, two])
    measured = set(found.measure)
    assert measured >= {"cbs", "gest", "rnd", "mac", "ripa", "crr", "disco", "mbe"}
    for row in found.to_dict("records"):
        if row["compared"] != "preference":
            assert row["difference"] == pytest.approx(row["b"] - row["a"]), row["measure"]
    turned = unmask.compare([two, one])[0].set_index("measure").difference
    same = found.set_index("measure").difference
    for name in measured:
        assert np.ravel(turned[name])[0] == pytest.approx(-np.ravel(same[name])[0], abs=1e-9)


def test_a_model_against_itself_differs_by_nothing(tmp_path):
    one = every("bert", tmp_path)
    found, _ = unmask.compare([one, one])
    assert (found.difference.abs() < 1e-12).all()
    assert (found.p.fillna(1.0) >= 0.99).all()


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_saved_and_loaded_they_are_the_same_and_every_format_has_them(family, tmp_path):
    results = every(family, tmp_path)
    save(results, tmp_path / "r")
    again = load(tmp_path / "r")
    for one, two in zip(results, again, strict=True):
        assert two.overall.value == pytest.approx(one.overall.value)
        assert two.compared == one.compared
        assert len(two.items_by_influence(2)) == 2
    for name, made in formats.FORMATS.items():
        assert made(again), name
    page = report(again, tmp_path / "page.html").read_text()
    for result in results:
        assert result.measure in page
    harness = json.loads(formats.as_lm_eval(again))["results"]
    assert any("index,none" in v for v in harness.values())


def test_what_a_fair_model_does_not_scatter_around_has_no_verdict(tmp_path):
    for result in every("bert", tmp_path):
        judged = result.measure in {"gest", "crr", "delta-p"}
        assert bool(result.verdicts) == judged, result.measure


def test_shapes_that_do_not_fit_are_refused_with_those_that_do():
    with pytest.raises(unmask.UnmaskError, match="cannot be used with 'cbs'; give groups"):
        unmask.evaluate(tiny("bert"), "cbs", pairs())
    with pytest.raises(unmask.UnmaskError, match="measures that fit: cbs"):
        unmask.evaluate(tiny("bert"), "aul", groups())
    with pytest.raises(unmask.UnmaskError, match="does not apply to a causal"):
        unmask.evaluate(tiny("gpt2"), "disco", disco(PERSONS, "persons"))


def test_plans_leave_out_what_no_rule_narrows_and_reliability_refuses_it(tmp_path):
    results = every("gpt2", tmp_path)
    assert set(needs(results, {"points": 3.0, "d": 0.2}).measure) == {"any"}
    with pytest.raises(unmask.UnmaskError, match="'lmb' is not one"):
        reliability([tiny("gpt2")], Options(), measures=["lmb"])
