"""A run is one family of tests: a fair model is rarely called biased at all."""

import numpy as np
import pandas as pd
import pytest

import unmask
from unmask.answer.verdict import correct, initial_verdicts, judged_estimate, p_value
from unmask.data import catalogue
from unmask.flow.items import sentence_rows
from unmask.flow.results import preferences
from unmask.options import Options, Resampling, Spec, Threshold
from unmask.types import Coverage, Result


def result(data, measure, leads):
    """A result of sentence scores in which item i leads by leads[i]."""
    scores = np.concatenate([[lead, 0.0] for lead in leads])
    rows = sentence_rows("m", measure, data, {"score": scores, "reason": [None] * len(scores)})
    found = preferences(rows, ties="strict", macro=False, resampling=Resampling())
    verdicts = initial_verdicts(
        found.overall, found.by_category, "preference", Threshold(), found.extras
    )
    return Result(
        spec=Spec("m", measure, data.name), compared="preference", overall=found.overall,
        by_category=found.by_category, extras=found.extras, accuracy=None,
        coverage=Coverage(len(data.items), len(data.items)), settings={}, provenance={}, items=rows,
        verdicts=verdicts,
    )  # fmt: skip


@pytest.fixture(scope="module")
def pairs():
    """The bundled pairs, without their fillers."""
    whole = catalogue.resolve("bundled-pairs")[0]
    items = tuple(
        unmask.Contrast(
            i.id, {k: i.texts[k] for k in ("stereotype", "antistereotype")}, i.category, i.cluster,
            group_pair=i.group_pair, group=i.group, template=i.template,
        )
        for i in whole.items
    )  # fmt: skip
    return unmask.Dataset("pairs", "pairs", items, "word")


def fair(rng, data, measures=4, likes=2.0):
    """Leads of a model that likes words and knows words and frames, but no stereotype."""
    names = [
        np.array([getattr(i, k) for i in data.items]) for k in ("cluster", "template", "group_pair")
    ]
    word, frame, family = (pd.factorize(n)[0] for n in names)
    side = np.array([i.group for i in data.items])
    first = {i.group_pair: i.group for i in reversed(data.items)}
    sign = np.where(np.array([first[i.group_pair] for i in data.items]) == side, 1.0, -1.0)
    base = likes * rng.normal(size=family.max() + 1)[family] * sign
    base = base + 0.8 * rng.normal(size=word.max() + 1)[word]
    base = base + 0.4 * rng.normal(size=frame.max() + 1)[frame]
    return [base + rng.logistic(size=len(base)) for _ in range(measures)]


@pytest.mark.slow
def test_a_fair_model_is_rarely_called_biased_at_all(pairs):
    """Four measures, nine categories and the whole: with rows alone more runs have an alarm."""
    rng = np.random.default_rng(2)
    alarms = alone = 0
    runs = 40
    for _ in range(runs):
        rows = [result(pairs, f"x{k}", v) for k, v in enumerate(fair(rng, pairs))]
        alone += any(v.word == "biased" for r in rows for v in r.verdicts.values())
        whole = correct(rows, Threshold())
        alarms += any(v.word == "biased" for r in whole for v in r.verdicts.values())
    assert alarms <= 6  # 5 % of 40 is 2; more than 6 has probability .003
    assert alone > alarms


def test_what_is_there_is_found_and_named(pairs):
    """A stereotype of 2 logits in one category: that one is called biased, and hardly another."""
    rng = np.random.default_rng(3)
    about = np.array([i.category == "gender" for i in pairs.items])
    named = others = 0
    for _ in range(20):
        leads = [v + 2.0 * about for v in fair(rng, pairs, likes=1.0)]
        rows = [result(pairs, f"x{k}", v) for k, v in enumerate(leads)]
        whole = correct(rows, Threshold())
        biased = {c for r in whole for c, v in r.verdicts.items() if v.word == "biased" and c}
        named += "gender" in biased
        others += bool(biased - {"gender"})
    assert named >= 16
    assert others <= 3


def test_details_say_of_how_many_tests_it_is_one(pairs):
    rows = [result(pairs, "a", fair(np.random.default_rng(4), pairs)[0])]
    (whole,) = correct(rows, Threshold())
    for category in whole.verdicts:
        _, estimate = judged_estimate(whole, category)
        assert estimate.more["tests"] == 10
        assert estimate.p <= estimate.more["p_corrected"] <= 1
    assert whole.overall == rows[0].overall  # the paper's number stays as it is


def test_the_verdict_is_about_the_stereotype_where_there_are_sides(pairs):
    """A model that likes "old" and sees nothing but stereotypes about the old is not biased."""
    family = np.array([i.group_pair for i in pairs.items])
    first = {i.group_pair: i.group for i in reversed(pairs.items)}
    likes = np.array([1.0 if i.group == first[i.group_pair] else -1.0 for i in pairs.items])
    kept = [
        item for item, f, like in zip(pairs.items, family, likes, strict=True)
        if like > 0 or item.id.endswith("/0")
    ]  # fmt: skip
    data = unmask.Dataset("uneven", "pairs", tuple(kept), "word")
    leads = [1.0 if i.group == first[i.group_pair] else -1.0 for i in kept]
    found = result(data, "x", leads)
    assert found.overall.value > 60
    assert found.overall.low > 50
    assert found.extras["stereotype"].value == pytest.approx(50)
    assert found.verdicts[""].word != "biased"
    assert found.extras["word_preference"].value > 90


def test_published_p_is_replaced_by_that_of_the_interval():
    made = unmask.Estimate(1.0, 0.2, 1.8, 0.95, "m", 16, 0.0, 1e-9, 0.4, {"published": "p"})
    assert p_value(made) == pytest.approx(0.0143, abs=1e-3)
    whole = unmask.Estimate(1.0, 0.2, 1.8, 0.95, "m", 16, 0.0, 1e-9, 0.4,
                            {"published": "interval and p"})  # fmt: skip
    assert p_value(whole) is None
    plain = unmask.Estimate(1.0, 0.2, 1.8, 0.95, "m", 16, 0.0, 0.02)
    assert p_value(plain) == 0.02


def test_family_row_keeps_the_rows_apart():
    results = {
        k: unmask.run("bundled", ["aul", "lpbs"], ["bundled-pairs", "kurita-career"], family=k)
        for k in ("run", "row")
    }
    assert [judged_estimate(r)[1].more["tests"] for r in results["row"]] == [1, 1]
    assert [judged_estimate(r)[1].more["tests"] for r in results["run"]] == [11, 11]
    assert any("corrected for all 11 tests" in n for n in results["run"].notes)
    with pytest.raises(unmask.UnmaskError, match="family"):
        Options(family="all")
