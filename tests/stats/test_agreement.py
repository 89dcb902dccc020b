"""Tests of stats/agreement."""

import math

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from unmask.errors import DataError
from unmask.stats import agreement


def test_auc_by_hand_and_constant_scores():
    labels, scores = np.array([1, 1, 0, 0]), np.array([3.0, 1.0, 2.0, 0.0])
    # pairs: (3 > 2), (3 > 0), (1 < 2), (1 > 0): 3 of 4
    assert agreement.auc(labels, scores).value == pytest.approx(0.75)
    flat = agreement.auc(labels, np.ones(4))
    assert flat.value == 0.5
    assert flat.low <= 0.5 <= flat.high
    with pytest.raises(DataError, match="both kinds"):
        agreement.auc(np.ones(4), scores)
    curve = agreement.roc(labels, scores)
    assert np.trapezoid(curve["true"], curve["false"]) == pytest.approx(0.75)


def test_delong_agrees_with_the_bootstrap(rng):
    labels = (rng.random(300) < 0.4).astype(float)
    one, two = labels + rng.normal(0, 1.5, 300), labels + rng.normal(0, 0.8, 300)
    found, gap = agreement.auc(labels, one), agreement.auc_difference(labels, one, two)
    values, gaps = [], []
    for _ in range(500):
        i = rng.integers(300, size=300)
        values.append(agreement.auc(labels[i], one[i]).value)
        gaps.append(agreement.auc(labels[i], two[i]).value - values[-1])
    assert found.se == pytest.approx(np.std(values), rel=0.15)
    assert gap.se == pytest.approx(np.std(gaps), rel=0.15)
    assert gap.value == pytest.approx(agreement.auc(labels, two).value - found.value)


def test_perfect_separation_is_not_certain():
    labels, scores = np.repeat([1.0, 0.0], [6, 7]), np.arange(13.0)[::-1]
    found = agreement.auc(labels, scores)
    assert (found.value, found.high) == (1, 1)
    assert 0.6 < found.low < 0.95
    assert found.p == pytest.approx(2 / math.comb(13, 6))
    worst = agreement.auc(labels, -scores)
    assert (worst.value, worst.low) == (0, 0)
    assert worst.high == pytest.approx(1 - found.low)


def test_correlation_says_how_little_n_is():
    """thys2025: six models; r = 0.743 has an interval from below 0 to near 1."""
    x = np.array([82.503, 71.750, 69.385, 83.102, 75.816, 74.159])
    y = np.array([7.63, 4.96, 0.38, 9.16, 8.40, -0.38])
    found = agreement.correlation(x, y)
    assert found.value == pytest.approx(0.743, abs=0.001)
    assert found.n == 6
    assert found.low < 0 < found.high
    z, se = math.atanh(found.value), 1 / math.sqrt(3)
    assert found.low == pytest.approx(math.tanh(z - 1.959964 * se))
    ranks = agreement.correlation(x, x**3, "spearman")
    assert ranks.value == pytest.approx(1)
    assert math.isnan(agreement.correlation(x, np.ones(6)).value)
    frame = agreement.correlations({"x": x, "y": y, "z": x + y})
    assert len(frame) == 3


def test_correlations_of_a_few_points_have_no_interval(rng):
    x, y = rng.normal(size=(2, 5))
    for kind, theirs in (("pearson", pearsonr), ("spearman", spearmanr)):
        found = agreement.correlation(x, y, kind)
        assert found.value == pytest.approx(theirs(x, y).statistic)
        assert math.isnan(found.low)
        assert found.p >= 1 / 120  # of all orders
    long = rng.normal(size=(2, 30))
    assert agreement.correlation(*long).p == pytest.approx(pearsonr(*long).pvalue)
    ranks = agreement.correlation(*long, "spearman")
    assert ranks.p == pytest.approx(spearmanr(*long).pvalue)


def test_split_half_is_bounded():
    """Halves that go against each other: no -391."""
    rng = np.random.default_rng(2)
    for seed in range(30):
        noise = np.random.default_rng(seed).normal(size=(12, 4))
        assert -1 <= agreement.split_half(noise).value <= 1
    with pytest.raises(DataError, match="4 items"):
        agreement.split_half(rng.normal(size=(3, 4)))
    with pytest.raises(DataError, match="0 / 0"):
        agreement.split_half(np.ones((8, 4)))


def test_reliability_by_hand(rng):
    trait = rng.normal(size=200)[:, None]
    parallel = trait + rng.normal(0, 1, (200, 4))
    # four parallel items with reliability 1/2 each: 4 x .5 / (1 + 3 x .5) = .8
    assert agreement.cronbach(parallel) == pytest.approx(0.8, abs=0.06)
    models = rng.normal(0, 1, 6) + rng.normal(0, 1, (400, 6))
    assert agreement.split_half(models).value > 0.9
    assert agreement.test_retest([np.arange(5), np.arange(5) * 2.0]) == pytest.approx(1)
    with pytest.raises(DataError):
        agreement.split_half(models[:, :2])
