"""Tests of stats/change_points: an exact count, laws, and error rates with seed noise."""

import itertools

import numpy as np
import pytest

from unmask.options import Resampling
from unmask.stats.change_points import LEAST_RUNS, change_points

HOW = Resampling(draws=50_000)


def test_the_p_of_a_short_series_by_counting_all_orders():
    values = np.array([0.0, 0.3, 0.1, 5.0, 5.2, 4.9])

    def height(series):
        away = np.cumsum(series - np.mean(series))[:-1]
        places = np.arange(1, 6)
        return np.abs(away / np.sqrt(places * (6 - places) / 6))

    orders = [height(np.array(o)) for o in itertools.permutations(values)]
    as_large = sum(h.max() >= height(values).max() - 1e-9 for h in orders)
    place, p = change_points({"age": values}, HOW)["age"]
    assert place == 3
    assert p == pytest.approx((as_large + 1) / (720 + 1))


def test_a_clear_change_of_eight_runs_is_shown_and_of_seven_is_not():
    assert change_points({"a": np.array([0, 0.1, 0, 0.1, 9, 9.1, 9, 9.1])}, HOW)["a"][1] < 0.05
    assert change_points({"a": np.array([0, 0.1, 0, 9, 9.1, 9, 9.1])}, HOW)["a"][1] > 0.05
    assert LEAST_RUNS == 8


def test_turning_and_shifting_change_nothing():
    values = np.random.default_rng(0).normal(size=10)
    one = change_points({"a": values}, HOW)["a"]
    assert change_points({"a": 3 - 7 * values}, HOW)["a"] == one
    assert change_points({"a": np.ones(10)}, HOW) == {}


def test_seed_noise_alone_is_no_change():
    rng, found = np.random.default_rng(1), []
    for _ in range(300):
        series = {name: rng.normal(size=10) for name in "abcdefghi"}
        found.append(
            min(p for _, p in change_points(series, Resampling(draws=400)).values()) <= 0.05
        )
    assert np.mean(found) < 0.08


def test_one_bias_type_that_changes_is_found_among_others():
    rng, found = np.random.default_rng(2), []
    for _ in range(60):
        series = {name: rng.normal(size=12) for name in "abcdefghi"}
        series["a"][6:] += 4.0
        points = change_points(series, Resampling(draws=400))
        found.append(points["a"][1] <= 0.05 and abs(points["a"][0] - 6) <= 1)
    assert np.mean(found) > 0.8
