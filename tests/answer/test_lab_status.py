"""How measures stand in the lab, where people look at them."""

import json
import math

import pytest

import unmask
from unmask.answer import lab_status
from unmask.answer.scales import SCALES
from unmask.data.packaged import published
from unmask.errors import UnmaskError
from unmask.reports.columns import table
from unmask.reports.formats import FORMATS
from unmask.reports.html.page import page


@pytest.fixture(scope="module")
def results():
    return unmask.run("bundled", ["cps", "pmi", "all-masked", "odds", "lpbs", "w-seat"], limit=40)


def test_every_status_of_the_package_has_a_word_and_a_clause():
    for row in published("lab"):
        found = lab_status.lab_status(row["measure"], row["models"])
        assert found.word == row["status"]
        assert found.word in lab_status.WORDS
        assert found.clause
    assert lab_status.lab_status("cps", "elmo").word == lab_status.UNTESTED


def test_a_table_and_a_page_say_how_a_measure_stands(results):
    frame = table(results)
    by = dict(zip(frame.measure, frame.lab, strict=True))
    assert by["cps"] == lab_status.lab_status("cps", "masked").word == "validated"
    assert by["all-masked"] == "baseline"
    assert by["pmi"] == "validated"  # its test is that of the mean margin
    shown = dict(page(results).measures)
    for name in by:
        assert any(k == "In the lab" and v.startswith(by[name]) for k, v in shown[name])


def test_a_scale_is_another_estimate_of_the_same_result(results):
    plain = table(results).drop_duplicates("measure").set_index("measure")
    odds = table(results, scale="odds").drop_duplicates("measure").set_index("measure")
    d = table(results, scale="d").drop_duplicates("measure").set_index("measure")
    first = {r.measure: r for r in reversed(list(results))}
    assert odds.score["cps"] == first["cps"].extras["margin"].value
    assert odds.score["lpbs"] == pytest.approx(odds.score["odds"])
    assert odds.compared["w-seat"] == "association"
    assert d.score["odds"] == first["odds"].extras["effect_size"].value
    assert d.score["cps"] == plain.score["cps"]
    assert odds.adjusted[["cps", "pmi"]].isna().all()
    other = ["cps", "pmi", "lpbs"]  # the verdict is about the measure's own scale
    assert odds.verdict[other].isna().all()
    assert odds.p_corrected[other].isna().all()
    assert odds.verdict["odds"] == plain.verdict["odds"]
    assert odds.lab["pmi"] == lab_status.lab_status("pmi (mean margin)", "masked").word
    assert odds.compared["all-masked"] == "preference"  # a mean of tokens is no factor
    with pytest.raises(UnmaskError, match="odds"):
        table(results, scale="oods")


def test_odds_are_shown_as_a_ratio_and_kept_as_a_logarithm(results):
    result = next(r for r in results if r.measure == "odds")
    unit = SCALES["odds"]
    assert unit.text(0.0) == "1.00"
    assert unit.text(result.overall.value) in next(iter(page(results).cards[3]["sentences"]))
    assert result.overall.ideal == 0.0
    assert json.loads(json.dumps(result.settings["sets"])) == result.settings["sets"]


def test_a_choice_has_a_standing_of_its_own():
    plain, pooled, deep = (
        unmask.evaluate("bundled", "w-seat", "weat-6", **more)
        for more in ({}, {"pool": "mean"}, {"layer": 1})
    )
    assert lab_status.of_result(plain) == lab_status.lab_status("w-seat", "masked")
    assert lab_status.of_result(pooled).word == "validated"
    assert lab_status.of_result(deep).word == lab_status.UNTESTED


def test_the_hub_has_the_ratio_and_not_its_logarithm(results):
    odds = unmask.types.Results([r for r in results if r.measure == "odds"][:1])
    text = FORMATS["hub"](odds)
    assert f"{math.exp(odds[0].overall.value):.4f}".rstrip("0") in text
    assert "ideal: 1.0" in text
