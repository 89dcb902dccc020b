"""Tests of reports/formats."""

import io
import math
from dataclasses import replace

import pandas as pd
import pytest

import unmask
from conftest import invoke, tiny
from simulated_models import simulated
from unmask.answer import answer_sentences
from unmask.data.packaged import bundled_pairs
from unmask.reports import formats
from unmask.reports.templating import markdown

RUN = ("run", "-x", "sss", "-d", "bundled-pairs", "--limit", "12")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("done") / "r"
    assert invoke(*RUN, "-o", folder)[0] == 0
    return folder


def test_several_models_are_named_in_every_form(done, tmp_path):
    other = tmp_path / "other"
    assert invoke(*RUN, "-o", other, "--seed", "9")[0] == 0
    for form in ("md", "tex"):
        text = invoke("export", done, other, "--format", form)[1]
        assert "(r)" in text
        assert "(other)" in text


def simulated_run(folder, bias, name="model"):
    some = simulated(bundled_pairs(), folder, 1, bias)
    return [replace(r, spec=replace(r.spec, model=name)) for r in some]


def test_a_table_for_statisticians_has_every_estimate(tmp_path):
    results = simulated_run(tmp_path, {"gender": 1.5}, "=cmd|' /C calc'!A0")
    frame = pd.read_csv(io.StringIO(formats.as_csv(results)))
    whole = frame[(frame.estimate == "score") & frame.category.isna()]
    assert whole.value.tolist() == pytest.approx([r.overall.value for r in results])
    gender = frame[(frame.estimate == "adjusted") & (frame.category == "gender")]
    assert gender.low.tolist() == pytest.approx([r.extras["adjusted:gender"].low for r in results])
    assert all(name.isidentifier() and len(name) <= 32 for name in frame.columns)  # as Stata's
    assert frame.model.str.startswith("'=").all()  # no formula for a spreadsheet
    items = pd.read_csv(io.StringIO(formats.as_items_csv(results)))
    assert len(items) == sum(len(r.items) for r in results)


def test_odds_stand_as_odds():
    (result,) = unmask.run([tiny("bert")], ["odds"], ["kurita-career"])
    row = pd.read_csv(io.StringIO(formats.as_csv([result]))).iloc[0]
    assert row.value == pytest.approx(math.exp(result.overall.value))
    assert row.ideal == 1


def test_a_card_is_short_and_says_what_the_answer_says(tmp_path):
    results = simulated_run(tmp_path, {"gender": 1.5})
    text = formats.as_markdown(results)
    (sentence,) = answer_sentences.sentences(results).values()
    assert markdown(sentence) in text
    assert "| **gender** | **biased** |" in text
    assert len(text) < 2200


def test_one_format_at_a_time(done):
    assert invoke("export", done, "--csv")[1].startswith("model,measure,data,category,")
    assert invoke("export", done, "--csv", "--format", "md")[0] == 2
    assert invoke("export", done, "--csv", "--lm-eval")[0] == 2
