"""Tests of stats/sequences: laws, and many looks."""

import math

import numpy as np
import pytest

from unmask.stats import sequences
from unmask.stats.intervals import share
from unmask.types import Estimate


def test_looks_grow_and_end_with_all():
    found = sequences.looks(77)
    assert found[0] == sequences.FIRST_LOOK
    assert found[-1] == 77
    assert found == sorted(set(found))
    assert sequences.looks(5) == [5]


def test_p_turns_the_reach_around():
    for seen in (12, 40, 300):
        for error in (0.05, 0.01):
            far = sequences.reach(seen, 50, error)
            assert far > 1.96
            assert sequences.anytime_p(far, seen, 50, error) == pytest.approx(error)
    assert sequences.anytime_p(0.0, 40, 50, 0.05) == 1


def test_the_reach_is_that_of_the_paper():
    """Waudby-Smith et al. (2024), theorem 2.2, with rho tuned for 50 clusters."""
    rho2 = (-2 * math.log(0.05) + math.log(-2 * math.log(0.05) + 1)) / 50
    t = 30
    expected = math.sqrt(
        2 * (t * rho2 + 1) / (t**2 * rho2) * math.log(math.sqrt(t * rho2 + 1) / 0.05)
    )
    assert sequences.reach(t, 50, 0.05) / math.sqrt(t) == pytest.approx(expected)


def test_more_tests_and_fewer_clusters_reach_farther():
    made = Estimate(60.0, 55, 65, 0.95, "m", 400, 50.0, 0.01, 2.5, {"clusters": 40, "df": 39.0})
    one, three = (sequences.as_sequence(made, 80, tests) for tests in (1, 3))
    assert three.low < one.low < made.low
    assert one.low < one.more["inner"][0]
    assert (one.value, one.n) == (60.0, 400)
    few = sequences.as_sequence(
        Estimate(60.0, 55, 65, 0.95, "m", 400, 50.0, 0.01, 2.5, {"clusters": 40, "df": 5.0}), 80
    )
    assert few.low < one.low


def test_looking_often_costs_nothing_in_honesty():
    """120 clusters of 8 items, 30 looks: at the first interval of 95 % one run in four is wrong."""
    rng = np.random.default_rng(0)
    wrong = naive = 0
    runs = 120
    for _ in range(runs):
        chance = rng.beta(5, 5, 120)
        wins = (rng.random((120, 8)) < chance[:, None]).astype(float)
        seen = [False, False]
        for count in sequences.looks(120):
            number = np.repeat(np.arange(count), 8)
            estimate = share(wins[:count].ravel(), number, ideal=50.0)
            honest = sequences.as_sequence(estimate, 120)
            seen[0] |= not estimate.low <= 50 <= estimate.high
            seen[1] |= not honest.low <= 50 <= honest.high
        naive += seen[0]
        wrong += seen[1]
    assert naive / runs > 0.12
    assert wrong / runs <= 0.07


def test_a_sequence_is_never_narrower_than_the_usual_interval():
    for wins in (12, 30, 100):
        usual = share(np.ones(wins), np.arange(wins), ideal=50.0)
        honest = sequences.as_sequence(usual, 3 * wins)
        assert honest.low < usual.low
        assert honest.high == 100


@pytest.mark.parametrize("true", [0.5, 0.9, 0.97])
def test_it_holds_at_every_look_near_the_ends_too(true):
    rng = np.random.default_rng(2)
    missed, runs = 0, 100
    for _ in range(runs):
        wins = (rng.random(150) < true).astype(float)
        for count in sequences.looks(150):
            estimate = share(wins[:count], np.arange(count), ideal=50.0)
            honest = sequences.as_sequence(estimate, 150)
            if not honest.low <= 100 * true <= honest.high:
                missed += 1
                break
    assert missed / runs <= 0.08


def test_levels_below_a_half_have_no_inner_interval():
    made = Estimate(60.0, 55, 65, 0.5, "m", 400, 50.0, 0.01, 2.5, {"clusters": 40, "df": 39.0})
    assert sequences.as_sequence(made, 80).more["inner"] is None
    alone = Estimate(60.0, math.nan, math.nan, 0.95, "m", 4, 50.0, None, math.nan,
                     {"clusters": 1, "df": 0.0})  # fmt: skip
    assert math.isnan(sequences.as_sequence(alone, 80).low)
