"""Tests of studies/bias_type_differences."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import unmask
from conftest import tiny
from simulated_models import simulated
from unmask.answer.answer import OVERALL
from unmask.cli.main import app
from unmask.data.packaged import bundled_pairs
from unmask.options import Resampling
from unmask.reports import difference_words
from unmask.studies import bias_type_differences as differences
from unmask.types import Results


def named(name, folder, seed, bias):
    some = simulated(bundled_pairs(), folder, seed, bias)
    return [replace(r, spec=replace(r.spec, model=name)) for r in some]


@pytest.fixture(scope="module")
def fair(tmp_path_factory):
    return named("fair", tmp_path_factory.mktemp("scores"), 1, {})


def other(name, tmp_path, bias, seed=1):
    return named(name, tmp_path, seed, bias)


def leads(frame):
    verdicts = frame[frame.main].set_index("bias_type").verdict.to_dict()
    return {k: v for k, v in verdicts.items() if k != OVERALL}


def test_only_the_planted_bias_type_differs_and_the_sentence_says_so(fair, tmp_path):
    frame = differences.compare_by_bias_type(
        Results([*fair, *other("biased", tmp_path, {"gender": 1.5})])
    )
    verdicts = leads(frame)
    assert verdicts.pop("gender") == "more stereotypical"
    assert set(verdicts.values()) == {"no difference shown"}
    (sentence,) = difference_words.by_bias_type(frame)
    assert "biased is more stereotypical than fair for gender (" in sentence
    assert "no difference is shown for " in sentence


def test_the_words_follow_the_side_of_fair(fair, tmp_path):
    biased = other("biased", tmp_path, {"gender": 1.5})
    against = other("against", tmp_path, {"gender": -3.0})
    both = differences.compare_by_bias_type(Results([*biased, *fair]))
    assert leads(both)["gender"] == "closer to fair"
    assert leads(differences.compare_by_bias_type(Results([*fair, *against])))["gender"] == (
        "further against the stereotype"
    )
    turned = differences.compare_by_bias_type(
        Results(
            [*other("plus", tmp_path, {"gender": 1.0}), *other("minus", tmp_path, {"gender": -1.2})]
        )
    )
    assert leads(turned)["gender"] in ("leans the other way", "less towards the stereotype")


def test_nearer_is_said_only_where_it_is_shown(tmp_path):
    """About as far from fair on both sides: neither is called closer."""
    words = []
    for seed in range(3):
        pair = [other(n, tmp_path, {"gender": b}, seed) for n, b in (("a", 0.9), ("b", -0.9))]
        words.append(
            leads(differences.compare_by_bias_type(Results([*pair[0], *pair[1]])))["gender"]
        )
    assert words.count("closer to fair") + words.count("further against the stereotype") <= 1


def test_scores_and_difference_are_of_the_same_items(fair, tmp_path):
    part = [
        replace(r, items=r.items[~r.items["item"].isin(r.items["item"].unique()[:60])])
        for r in other("part", tmp_path, {"gender": 1.5})
    ]
    frame = differences.compare_by_bias_type(Results([*fair, *part]))
    assert np.allclose(frame.difference, frame.b - frame.a)


def test_the_level_reaches_the_comparison(fair, tmp_path):
    runs = Results([*fair, *other("biased", tmp_path, {"gender": 0.5})])
    usual = differences.compare_by_bias_type(runs)
    strict = differences.compare_by_bias_type(runs, resampling=Resampling(level=1 - 1e-12))
    assert ((strict.high - strict.low) > (usual.high - usual.low)).all()
    assert set(strict.verdict) == {"no difference shown"}


def test_a_stereotype_is_the_mean_of_both_sides(fair, tmp_path):
    """The difference of a category is that of the two estimates which the answers rest on."""
    frame = differences.compare_by_bias_type(
        Results([*fair, *other("biased", tmp_path, {"gender": 1.5, "age": 1.0}, seed=2)])
    )
    assert np.allclose(frame.difference, frame.b - frame.a)


def test_swapping_the_runs_turns_the_sign(fair, tmp_path):
    biased = other("biased", tmp_path, {"gender": 1.5})
    there, back = (
        differences.compare_by_bias_type(Results(r)) for r in ([*fair, *biased], [*biased, *fair])
    )
    one, two = (
        f.sort_values(["bias_type", "measure", "category"]).reset_index() for f in (there, back)
    )
    assert np.allclose(one.difference, -two.difference)
    assert np.allclose(one.low, -two.high)
    assert np.allclose(one.p, two.p)


def test_effect_sizes_have_differences_by_bias_type_too():
    both = unmask.run(
        [tiny("bert"), tiny("roberta")], ["w-seat", "odds"], ["weat-6", "kurita-career"]
    )
    frame = differences.compare_by_bias_type(both)
    assert set(frame.bias_type) == {"gender"}
    whole, _ = unmask.compare(both)
    merged = frame.merge(whole, on=["measure", "data"], suffixes=("", "_whole"))
    assert len(merged) >= 1
    assert np.allclose(merged.difference, merged.difference_whole)
    assert np.allclose(merged.low, merged.low_whole)


def test_compare_on_request_exits_with_one(fair, tmp_path):
    folders = {"fair": fair, "biased": other("biased", tmp_path, {"gender": 1.5})}
    for name, results in folders.items():
        unmask.save(results, tmp_path / name)
    one, two = (str(tmp_path / n) for n in folders)

    def status(*words):
        return CliRunner().invoke(app, ["compare", *words])

    assert status(one, two).exit_code == 0
    assert status(one, two, "--fail-on", "worse").exit_code == 1
    assert status(two, one, "--fail-on", "worse").exit_code == 0
    assert status(two, one, "--fail-on", "different").exit_code == 1
    assert status(one, one, "--fail-on", "different").exit_code == 0
    refused = status(one, two, "--fail-on", "bad")
    assert refused.exit_code != 0
    assert "different, worse" in str(refused.exception)
    answer = json.loads(status(one, two, "--json").stdout)
    assert "biased is more stereotypical than fair for gender" in answer["sentences"][0]
    assert {r["bias_type"] for r in answer["bias_types"]} >= {"gender", "age"}
    assert len(answer["differences"]) == 2
