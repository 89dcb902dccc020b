"""Tests of stats/intervals."""

import math

import numpy as np
import pytest
from scipy.stats import t, ttest_1samp
from statsmodels.stats.proportion import proportion_confint

from unmask.stats import intervals
from unmask.stats.clustering import Design


def test_share_by_hand():
    found = intervals.share(np.array([1, 1, 1, 0.0]), list("abcd"), ideal=50)
    assert found.value == 75
    assert found.n == 4
    # The score equation: the share lies t standard errors of the bound from each bound.
    (variance, df), p = (
        intervals.uncertain(
            np.array([1, 1, 1, 0.0]), np.full(4, 0.25), Design(np.arange(4)), np.ones(4)
        ).widest,
        0.75,
    )
    smooth = 3.5 / 5
    for bound in (found.low / 100, found.high / 100):
        scale = bound * (1 - bound) / (smooth * (1 - smooth))
        assert abs(p - bound) == pytest.approx(t.ppf(0.975, df) * math.sqrt(variance * scale))


def test_wilson_of_many_independent_items_is_that_of_statsmodels():
    wins = np.repeat([1.0, 0.0], [1300, 700])
    found = intervals.share(wins, np.arange(2000), ideal=50)
    low, high = proportion_confint(1300, 2000, method="wilson")
    assert (found.low, found.high) == pytest.approx((100 * low, 100 * high), abs=0.01)
    assert found.method == "Wilson"


def test_p_turns_the_interval_around(rng):
    for seed in range(200):
        draw = np.random.default_rng(seed)
        clusters = np.repeat(np.arange(12), draw.integers(1, 6, 12))
        wins = (draw.random(len(clusters)) < draw.choice([0.5, 0.7, 0.95])).astype(float)
        found = intervals.share(wins, clusters, ideal=50)
        assert found.excludes_ideal == (found.p < 0.05)


def test_mean_is_the_t_interval_of_scipy(rng):
    x = rng.normal(0.3, 1, 40)
    found, theirs = intervals.mean_estimate(x, np.arange(40), ideal=0.0), ttest_1samp(x, 0)
    bounds = theirs.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((bounds.low, bounds.high))
    assert found.p == pytest.approx(theirs.pvalue)
    clusters = np.repeat(np.arange(8), 5)
    means = ttest_1samp([x[clusters == c].mean() for c in range(8)], 0)
    macro = intervals.mean_estimate(x, clusters, ideal=0.0, macro=True)
    assert macro.p == pytest.approx(means.pvalue)


def test_macro_is_the_mean_of_cluster_means():
    wins = np.array([1, 1, 1, 0, 0.0])
    clusters = ["a", "a", "a", "a", "b"]
    assert intervals.share(wins, clusters).value == pytest.approx(60)
    assert intervals.share(wins, clusters, macro=True).value == pytest.approx((75 + 0) / 2)


def test_whole_clusters_are_resampled(rng):
    """Items that repeat their cluster's value carry no more information than the clusters."""
    value = rng.integers(0, 2, 30).astype(float)
    wins, clusters = np.repeat(value, 10), np.repeat(np.arange(30), 10)
    clustered = intervals.share(wins, clusters)
    alone = intervals.share(value, np.arange(30))
    assert clustered.se == pytest.approx(alone.se, rel=0.05)
    assert clustered.more["design_effect"] == pytest.approx(10, rel=0.1)


def test_nothing_has_zero_width():
    """All alike, or all ties: Wilson's interval says how little that is; one cluster has none."""
    for wins, clusters in (
        (np.ones(20), np.arange(20)),
        (np.full(16, 0.5), np.arange(16)),
        (np.ones(30), np.repeat(np.arange(3), 10)),
    ):
        found = intervals.share(wins, clusters, ideal=50)
        assert found.high - found.low > 10
        assert found.low <= found.value <= found.high
    alone = intervals.share(np.array([1, 0.0, 1]), ["a", "a", "a"], ideal=50)
    assert math.isnan(alone.low)
    assert alone.p is None


def test_detectable_is_of_the_null():
    """The same items detect the same, whatever the score."""
    even = intervals.share(np.repeat([1.0, 0.0], [200, 200]), np.arange(400), ideal=50)
    high = intervals.share(np.repeat([1.0, 0.0], [360, 40]), np.arange(400), ideal=50)
    assert high.more["detectable"] == pytest.approx(even.more["detectable"], rel=0.02)
    # 2.8 standard errors of 2.5 points
    assert even.more["detectable"] == pytest.approx(2.8 * 2.5, rel=0.02)
