"""All tests of a run together: an unbiased model is rarely called biased about anyone."""

import numpy as np
import pandas as pd
import pytest

import unmask
from unmask.answer.answer import OVERALL, answers, with_verdicts
from unmask.answer.verdict import p_value, undecided
from unmask.data import catalogue
from unmask.flow.estimates import preferences
from unmask.flow.items_table import sentence_rows
from unmask.options import Resampling, Spec, Threshold
from unmask.types import Coverage, Result


def result(data, measure, leads):
    """A result of sentence scores in which item i leads by leads[i]."""
    scores = np.concatenate([[lead, 0.0] for lead in leads])
    rows = sentence_rows("m", measure, data, {"score": scores, "reason": [None] * len(scores)})
    found = preferences(rows, ties="strict", macro=False, resampling=Resampling())
    verdicts = undecided(found.by_category, "preference", Threshold())
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


def test_an_unbiased_model_is_rarely_called_biased(pairs):
    """Four measures, nine bias types and the whole, with strong word preferences."""
    rng = np.random.default_rng(2)
    alarms, runs = 0, 60
    for _ in range(runs):
        rows = [result(pairs, f"x{k}", v) for k, v in enumerate(fair(rng, pairs))]
        alarms += any(a.shows_bias for a in answers(rows))
    assert alarms <= 8  # 5 % of 60 is 3; more than 8 has probability .003


def test_what_is_there_is_found_and_named(pairs):
    """A bias of 2 logits in one bias type: that one is called biased, and hardly another."""
    rng = np.random.default_rng(3)
    about = np.array([i.category == "gender" for i in pairs.items])
    named = others = 0
    for _ in range(20):
        leads = [v + 2.0 * about for v in fair(rng, pairs, likes=1.0)]
        rows = [result(pairs, f"x{k}", v) for k, v in enumerate(leads)]
        biased = {a.bias_type for a in answers(rows) if a.shows_bias} - {OVERALL}
        named += "gender" in biased
        others += bool(biased - {"gender"})
    assert named >= 17
    assert others <= 3


def test_several_measures_are_one_test_of_each_bias_type(pairs):
    rows = [result(pairs, f"x{k}", v) for k, v in enumerate(fair(np.random.default_rng(4), pairs))]
    found = answers(rows)
    assert next(a.bias_type for a in found) == OVERALL
    assert {a.tests for a in found} == {10}  # nine bias types and the overall test
    assert all(len(a.evidence) == 4 and len(a.tested) == 1 for a in found)
    for row in with_verdicts(rows):
        assert row.overall.more["tests"] == 10
        assert row.overall.value == rows[0].overall.value or row.measure != "x0"


def test_measures_on_the_same_items_are_averaged(pairs):
    """The combined test of one measure is its own; of two equal ones it is the same."""
    leads = fair(np.random.default_rng(5), pairs)[0]
    alone = answers([result(pairs, "a", leads)])
    twice = answers([result(pairs, "a", leads), result(pairs, "b", 3 * leads)])
    assert [a.bias_type for a in alone] == [a.bias_type for a in twice]
    for one, two in zip(alone, twice, strict=True):
        assert two.p == pytest.approx(one.p, rel=1e-6)


def test_one_bias_type_is_the_overall_test(pairs):
    items = tuple(i for i in pairs.items if i.category == "gender")
    data = unmask.Dataset("one", "pairs", items, "word")
    found = answers([result(data, "a", fair(np.random.default_rng(6), data)[0])])
    assert [a.tests for a in found] == [1, 1]
    assert found[0].p == found[1].p


def test_swapping_the_sentences_turns_every_verdict(pairs):
    about = np.array([i.category == "gender" for i in pairs.items])
    leads = fair(np.random.default_rng(7), pairs, likes=1.0)[0] + 3.0 * about
    found = {a.bias_type: a for a in answers([result(pairs, "a", leads)])}
    turned = {a.bias_type: a for a in answers([result(pairs, "a", -leads)])}
    assert found["gender"].verdict == "biased"
    assert turned["gender"].verdict == "reversed"
    for name, answer in found.items():
        assert turned[name].p == pytest.approx(answer.p, rel=1e-6)
        assert turned[name].main.estimate.value == pytest.approx(100 - answer.main.estimate.value)


def test_the_verdict_is_about_the_stereotype_where_there_are_groups(pairs):
    """A model that likes "old" and sees nothing but stereotypes about the old is not biased."""
    group_pair = np.array([i.group_pair for i in pairs.items])
    first = {i.group_pair: i.group for i in reversed(pairs.items)}
    likes = np.array([1.0 if i.group == first[i.group_pair] else -1.0 for i in pairs.items])
    kept = [
        item for item, f, like in zip(pairs.items, group_pair, likes, strict=True)
        if like > 0 or item.id.endswith("/0")
    ]  # fmt: skip
    data = unmask.Dataset("uneven", "pairs", tuple(kept), "word")
    rng = np.random.default_rng(8)
    leads = [4 * (i.group == first[i.group_pair]) - 2 + 0.5 * rng.normal() for i in kept]
    found = result(data, "x", leads)
    assert found.overall.low > 50
    assert found.extras["adjusted"].value == pytest.approx(50, abs=6)
    assert not answers([found])[0].shows_bias
    assert found.extras["word_preference"].value > 90
    assert answers([found])[0].published == found.overall


def test_published_p_is_replaced_by_that_of_the_interval():
    made = unmask.Estimate(1.0, 0.2, 1.8, 0.95, "m", 16, 0.0, 1e-9, 0.4, {"published": "p"})
    assert p_value(made) == pytest.approx(0.0143, abs=1e-3)
    whole = unmask.Estimate(1.0, 0.2, 1.8, 0.95, "m", 16, 0.0, 1e-9, 0.4,
                            {"published": "interval and p"})  # fmt: skip
    assert p_value(whole) is None
    plain = unmask.Estimate(1.0, 0.2, 1.8, 0.95, "m", 16, 0.0, 0.02)
    assert p_value(plain) == 0.02
