"""Tests of stats/power: the numbers that a study needs, by looking at each."""

import math

import numpy as np
import pytest
from scipy.stats import t

from unmask.errors import UnmaskError
from unmask.stats import power
from unmask.stats.clustering import Design
from unmask.stats.crossed import fitted
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


def pilot(words=0.1, frames=0.05, df=(30, 12)):
    """176 words in 22 frames, each word in two of them."""
    return power.Pilot(352, 0.25, power.Kind(176, words, df[0]), power.Kind(22, frames, df[1]))


def test_frames_bound_what_words_can_do():
    few = pilot(frames=0.2)
    words, frames, both = few.needed(6.0)
    assert words is None  # 22 frames of correlation .2 leave an error of 4.8 points
    assert frames is not None
    assert both is not None
    assert both[1] > 22
    assert few.reaches(6.0, 176, frames, power=0.8, level=0.95)
    assert not few.reaches(6.0, 176, frames - 1, power=0.8, level=0.95)
    assert not few.reaches(6.0, 100_000, 22, power=0.8, level=0.95)
    assert pilot(frames=0.0, df=(30, 200)).needed(6.0)[0] is not None


def test_a_pilot_that_knows_little_asks_for_more():
    sure, unsure = (pilot(df=df).needed(8.0)[1] for df in ((300, 300), (30, 5)))
    assert sure < unsure
    kind = power.Kind(22, 0.1, 1e9)
    assert kind.feared(16) == pytest.approx(0.1, abs=1e-3)
    assert power.Kind(22, 0.1, 10).feared(16) > 0.1
    assert power.Kind(22, 0.1, 10).feared(1) == 0.1


def test_without_frames_only_words_are_asked_for():
    alone = power.Pilot(300, 0.25, power.Kind(15, 0.05, 14))
    words, frames, both = alone.needed(5.0)
    assert words > 15
    assert (frames, both) == (None, None)


def test_promised_power_is_delivered():
    """15 writers of 20 items as a pilot; the studies that it plans find what they are made for."""
    rng = np.random.default_rng(0)

    def drawn(writers, share, scale=9.5):  # a correlation of .095
        number = np.repeat(np.arange(writers), 20)
        chance = rng.beta(share * scale, (1 - share) * scale, writers)
        return (rng.random(len(number)) < chance[number]).astype(float), Design(number)

    found = []
    for _ in range(40):
        wins, design = drawn(15, 0.5)
        even = np.full(len(wins), 1 / len(wins))
        fit = fitted(wins, design)
        seen = fit.described(even, fit.share(even))
        needed = power.Pilot(len(wins), seen["spread"], power.Kind(**seen["words"])).needed(6.0)[0]
        for _ in range(5):
            wins, design = drawn(needed, 0.56)
            share = fitted(wins, design).share(np.full(len(wins), 1 / len(wins)))
            found.append(2 * share.tail(0.5) <= 0.05)
    assert 0.72 < np.mean(found) < 0.9


def test_what_frames_can_do_is_found_by_both_ways():
    few = power.Pilot(400, 0.25, power.Kind(100, 0.02, 99.0), power.Kind(4, 0.05, 3.0))
    words, frames, both = few.needed(3.0)
    assert words is None
    assert frames is not None
    assert both is not None
