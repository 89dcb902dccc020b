"""Tests of stats/power: the numbers that a study needs, by looking at each."""

import math

import pytest
from scipy.stats import t

from unmask.errors import UnmaskError
from unmask.stats import power
from unmask.stats.effects import mixture, smallest_effect


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


def test_likeness_turns_the_design_effect_around():
    assert power.likeness(1 + 4 * 0.3, 5) == pytest.approx(0.3)
    assert power.likeness(0.5, 5) == 0
    assert power.likeness(3.0, 1) == 0


def test_what_no_study_reaches_and_no_power_is_refused():
    with pytest.raises(UnmaskError, match="more than 100000"):
        power.clusters_needed(0.01, 50.0, 1)
    for wrong in (0.49, 1.0):
        with pytest.raises(UnmaskError, match="power"):
            power.check(wrong)
    power.check(0.5)
