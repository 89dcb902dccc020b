"""Tests of stats/power: the numbers that a study needs, by looking at each."""

import math

import numpy as np
import pytest
from scipy.stats import norm, t

from unmask.errors import UnmaskError
from unmask.stats import power
from unmask.stats.clustering import Design
from unmask.stats.effects import mixture, smallest_effect
from unmask.stats.preference import Preferences


@pytest.mark.parametrize(
    ("points", "effect", "crowd"), [(3, 1.0, 1), (5, 2.5, 4), (10, 1.3, 2), (20, 3.0, 8)]
)
def test_clusters_needed_by_counting_up(points, effect, crowd):
    def enough(count):
        se = math.sqrt(0.25 * effect / (count * crowd))
        return (t.ppf(0.975, count - 1) + t.ppf(0.8, count - 1)) * se <= points / 100

    expected = next(n for n in range(3, 20_000) if enough(n))
    assert power.clusters_needed(points, effect, crowd) == expected


def test_a_stricter_study_needs_more():
    usual = power.clusters_needed(5, 2.0, 3)
    assert power.clusters_needed(5, 2.0, 3, power=0.9) > usual
    assert power.clusters_needed(5, 2.0, 3, level=0.99) > usual


@pytest.mark.parametrize(("d", "ratio"), [(0.5, 1.0), (1.2, 1.0), (0.8, 0.6)])
def test_words_needed_by_counting_up(d, ratio):
    def enough(words):
        return mixture(ratio * smallest_effect(words, words), words, words) <= d

    assert power.words_needed(d, ratio) == next(n for n in range(2, 5_000) if enough(n))


def test_what_no_study_reaches_and_no_power_is_refused():
    with pytest.raises(UnmaskError, match="more than 100000"):
        power.clusters_needed(0.01, 50.0, 1)
    for wrong in (0.49, 1.0):
        with pytest.raises(UnmaskError, match="power"):
            power.check(wrong)
    power.check(0.5)


def pilot(words=0.002, templates=0.001, df=(30.0, 12.0), n=(176, 22)):
    """176 words in 22 templates; variances of the mean of margins with a spread of 1."""
    return power.Pilot(n[0], n[1], words, 0.001, templates, 0.0, df)


def test_templates_bound_what_words_can_do():
    few = pilot(templates=0.005)
    words, templates, both = few.needed(6.0)
    assert words is None
    assert templates is not None
    assert both is not None
    assert both[1] > 22
    assert few.reaches(6.0, 176, templates, power=0.8, level=0.95)
    assert not few.reaches(6.0, 176, templates - 1, power=0.8, level=0.95)
    assert not few.reaches(6.0, 100_000, 22, power=0.8, level=0.95)
    assert pilot(templates=0.0, df=(30, 200)).needed(6.0)[0] is not None


def test_a_pilot_that_knows_little_asks_for_more():
    sure, unsure = (pilot(df=df).needed(8.0)[1] for df in ((300.0, 300.0), (30.0, 5.0)))
    assert sure <= unsure
    assert pilot(df=(300.0, 300.0)).variance(176, 22)[0] < pilot(df=(5.0, 5.0)).variance(176, 22)[0]


def test_without_templates_only_words_are_asked_for():
    alone = power.Pilot(15, 1, 0.02, 0.0, 0.0, 0.0, (14.0, 1.0))
    words, templates, both = alone.needed(5.0)
    assert words > 15
    assert (templates, both) == (None, None)


def test_promised_power_is_delivered():
    """16 words in 3 templates as a pilot; the studies that it plans find what they are made for."""
    rng = np.random.default_rng(0)

    def drawn(words, bias):
        facts = [(f"{g}{w}", g, t) for g in "ab" for w in range(words // 2) for t in range(3)]
        design = Design.of({
            "cluster": [c for c, *_ in facts], "category": ["c"] * len(facts),
            "group_pair": ["p"] * len(facts), "group": [g for _, g, _ in facts],
            "template": [""] * len(facts),
        })  # fmt: skip
        values = bias + 0.6 * rng.normal(size=design.count)[design.clusters]
        values += design.signs * 2.0 + 0.8 * rng.normal(size=len(facts))
        scores = {"stereotype": values, "antistereotype": np.zeros(len(facts))}
        return Preferences(scores, design).estimates()["margin"]

    found = []
    for _ in range(40):
        needed = power.pilot_of(drawn(16, 0.0)).needed(10.0)[0]
        found += [drawn(needed + needed % 2, norm.ppf(0.6)).p <= 0.05 for _ in range(5)]
    assert 0.7 < np.mean(found) < 0.93


def test_a_set_that_no_model_was_asked_about_has_usual_parts():
    facts = [(f"{g}{w}", g, t) for g in "ab" for w in range(24) for t in range(4)]
    columns = {
        "cluster": [c for c, *_ in facts], "category": ["c"] * len(facts),
        "group_pair": ["p"] * len(facts), "group": [g for _, g, _ in facts],
        "template": [f"t{t}" for *_, t in facts],
    }  # fmt: skip
    design = Design.of(columns)
    every = np.ones(len(facts), bool)
    whole = power.expected_pilot(design, every)
    assert (whole.n_words, whole.n_templates) == (48, 4)
    assert whole.words == pytest.approx(power.USUAL_WORDS / 48)
    assert whole.items == pytest.approx((1 - power.USUAL_WORDS) / 192)
    assert whole.templates == pytest.approx(power.USUAL_TEMPLATES / 4)
    half = power.expected_pilot(design, np.arange(len(facts)) % 8 < 4)
    assert power.detects(half) > power.detects(whole)
