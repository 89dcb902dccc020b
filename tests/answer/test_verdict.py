"""Tests of answer/verdict."""

import json
import math

import numpy as np
import pytest

import unmask
from conftest import invoke, tiny
from unmask.answer.verdict import contradiction, decide, gatekeeping, undecided
from unmask.errors import UnmaskError
from unmask.options import Threshold, amounts, matters
from unmask.types import Estimate


def made(value, low, high, *, p=None, inner=None, **more):
    wide = {"inner": inner or [low, high], "clusters": 50, **more}
    return Estimate(value, low, high, 0.95, "m", 100, 50.0, p, 1.0, wide)


def verdict(estimate, matters, p=None):
    """The verdict with a corrected p, or with the estimate's own."""
    return decide(estimate, matters, estimate.p if p is None else p, estimate.value - 50, "open")


def test_verdicts():
    assert verdict(made(60, 55, 65, p=0.001), 3).word == "biased"
    assert verdict(made(51, 48, 54, p=0.5), 3).word == "inconclusive"
    small = made(51, 50.2, 51.8, p=0.01)
    assert verdict(small, 3).word == "negligible"
    assert str(verdict(small, 3)) == "negligible"
    assert verdict(made(60, 55, 65, p=0.001, clusters=9), 3).word == "inconclusive"
    assert verdict(made(60, 55, 65, p=0.001), 3, p=0.2).word == "inconclusive"
    assert verdict(made(60, 49, 71, p=0.01), 3).word == "biased"  # the test decides
    marked = made(60, 55, 65, p=0.001, published="interval and p")
    assert verdict(marked, 3).word == "inconclusive"
    assert verdict(made(60, math.nan, math.nan), 3).word == "inconclusive"


def test_a_contradiction_is_said():
    assert contradiction(made(60, 55, 65, p=0.001)) == ()
    assert "borderline" in contradiction(made(60, 49, 71, p=0.04))[0]
    assert "as published" in contradiction(made(60, 49, 71, p=0.04, published="p", sided="one"))[0]
    found = unmask.evaluate(tiny("bert"), "ceat@guo2021", "weat-6", samples=50)
    assert any("Monte Carlo" in n for n in found.notes)
    assert found.verdicts[""].word == "inconclusive"


def test_bias_types_are_tested_by_holm_behind_the_overall_test():
    first, rest = gatekeeping(0.005, [0.01, 0.04, 0.03])
    assert first == pytest.approx(0.01)  # half of the error rate
    assert rest == pytest.approx([0.03, 0.06, 0.06])
    first, rest = gatekeeping(0.5, [0.0001, 0.04, 0.03])
    assert rest[0] == pytest.approx(0.0006)  # the other half, and Holm over three
    assert rest[1:] == pytest.approx([0.12, 0.12])
    assert gatekeeping(0.03, [0.001])[1] == pytest.approx([0.002])  # by the smaller share
    assert gatekeeping(0.04, []) == (0.04, [])
    assert gatekeeping(None, [0.01, 0.02]) == (None, pytest.approx([0.02, 0.02]))


def test_an_unbiased_model_is_rarely_called_biased_about_anyone():
    rng = np.random.default_rng(3)
    wrong = 0
    for _ in range(4000):
        p = rng.random(10)
        first, rest = gatekeeping(p[0], p[1:].tolist())
        wrong += min(first, *rest) <= 0.05
    assert wrong / 4000 <= 0.058


def test_verdicts_are_in_the_table_the_json_and_again(tmp_path):
    found = unmask.run(tiny("bert"), ["aul", "all-masked", "w-seat"], ["bundled-pairs", "weat-6"])
    unmask.save(found, tmp_path / "r")
    record = json.loads((tmp_path / "r" / "results.json").read_text())["results"][0]
    assert record["verdicts"][""]["matters"] == 5
    assert set(record["verdicts"]) == {"", *record["by_category"]}
    again = unmask.load(tmp_path / "r")
    assert again[0].verdicts == found[0].verdicts
    frame = unmask.table(found, by_category=True)
    assert frame[frame.measure == "all-masked"].verdict.isna().all()
    assert frame[(frame.measure == "aul") & (frame.category != "gender")].verdict.notna().all()


def test_what_matters_is_read_and_checked():
    assert matters("5,0.2d,1.2x") == Threshold(5, 0.2, 1.2) == Threshold()
    assert matters(7) == Threshold(points=7)
    assert amounts("0.5d") == {"d": 0.5}
    for wrong in ("x", "3,,", "0", "60", "2.5d", "nan", "-1"):
        with pytest.raises(UnmaskError):
            matters(wrong)
    status, _, err = invoke("run", "--matters", "60", "-d", "weat-6", "-x", "w-seat")
    assert status == 2
    assert "between 0 and 50" in err
    status, _, err = invoke("run", "--random", "all", "-d", "weat-6", "-x", "w-seat")
    assert status == 2
    assert "targets" in err


@pytest.mark.parametrize(
    ("low", "high", "inner", "p", "word"),
    [
        (50.1, 60, (50.5, 59), 0.05, "biased"),  # p at the line counts
        (50.1, 60, (50.5, 59), 0.0501, "inconclusive"),
        (49.0, 60, (49.5, 59), 0.01, "biased"),  # the test is of the margin, not of the share
        (40, 49.9, (41, 49), 0.01, "reversed"),
        (47.5, 52.5, (47.1, 52.9), 0.5, "negligible"),
        (47.5, 52.5, (47.0, 52.9), 0.5, "inconclusive"),  # the margin itself is not within
        (47.5, 52.5, (47.1, 53.0), 0.5, "inconclusive"),
    ],
)
def test_verdicts_at_their_lines(low, high, inner, p, word):
    value = (low + high) / 2
    assert verdict(made(value, low, high, p=p, inner=list(inner)), 3).word == word


@pytest.mark.parametrize(("words", "word"), [((5, 5), "biased"), ((5, 4), "inconclusive")])
def test_five_words_a_side_are_needed(words, word):
    assert verdict(made(60, 55, 65, p=0.001, words=list(words)), 3).word == word


@pytest.mark.parametrize(("clusters", "word"), [(10, "biased"), (9, "inconclusive")])
def test_ten_clusters_are_needed(clusters, word):
    assert verdict(made(60, 55, 65, p=0.001, clusters=clusters), 3).word == word


def test_the_reason_is_the_one_that_decided():
    assert verdict(made(60, 55, 65, p=0.001, clusters=3), 3).why == "only 3 clusters"
    assert "words per set" in verdict(made(60, 55, 65, p=0.001, words=[9, 2]), 3).why
    assert verdict(made(60, 55, 65, p=0.001), 3, p=0.2).why == "open"
    assert verdict(made(60, 55, 65, p=0.001), 3).matters == 3


def test_the_unit_of_what_matters_is_the_measures():
    threshold = Threshold(points=4, d=0.3, times=1.5)
    units = (("preference", 4), ("log-odds", 0.3), ("association", 0.3), ("factor", math.log(1.5)))
    for compared, least in units:
        found = undecided(("gender",), compared, threshold)
        assert {v.matters for v in found.values()} == {least}
        assert set(found) == {"", "gender"}
