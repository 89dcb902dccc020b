"""Tests of stats/intervals."""

import math

import numpy as np
import pytest
from scipy.stats import t, ttest_1samp
from statsmodels.stats.proportion import proportion_confint

from unmask.stats import intervals
from unmask.stats.clustering import Design, Variance


def test_share_by_hand():
    found = intervals.share(np.array([1, 1, 1, 0.0]), list("abcd"), ideal=50)
    assert found.value == 75
    assert found.n == 4
    # The score equation: the share lies t standard errors of the bound from each bound.
    (variance, df, _), p = (
        intervals.over_clusters(
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
    assert high.more["mde"] == pytest.approx(even.more["mde"], rel=0.02)
    # 2.8 standard errors of 2.5 points
    assert even.more["mde"] == pytest.approx(2.8 * 2.5, rel=0.02)


def plain_parts(values, weight, clusters, trials, strata=None):
    """The variances behind a share, in plain loops: independent, over clusters, assumed."""
    n, count = len(values), trials.sum()
    share = sum(w * v for w, v in zip(weight, values, strict=True))
    groups = np.zeros(n, int) if strata is None else strata
    alone = 0.0
    for i in range(n):
        mine = groups == groups[i]
        smooth = (sum((trials * values)[mine]) + 0.5) / (sum(trials[mine]) + 1)
        alone += weight[i] ** 2 * smooth * (1 - smooth) / trials[i]
    over = Design(clusters, strata).variance(weight * (values - share), weight)
    sizes = np.array([np.sum(clusters == c) for c in range(clusters.max() + 1)])
    sums = np.array([values[clusters == c].sum() for c in range(clusters.max() + 1)])
    seen = min(np.sum(sums > 0), np.sum(sums < sizes))
    few = seen < 10
    parts = [(alone * (1.0 if few else 0.5), max(count - 1, 1))]
    if over.df >= 1 and over.value > 0:
        parts.append((over.value, over.df))
    if few and over.df >= 1:
        crowd = (sizes**2).sum() / sizes.sum()
        parts.append((alone * (1 + (crowd - 1) * 0.15 * (1 - seen / 10)), over.df))
    return share, parts


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.5, 0.97])
@pytest.mark.parametrize("clusters", [4, 9, 10, 30])
def test_what_a_share_rests_on_by_a_plain_loop(rate, clusters):
    rng = np.random.default_rng(clusters)
    number = np.sort(rng.integers(clusters, size=5 * clusters))
    number = np.unique(number, return_inverse=True)[1]
    values = (rng.random(len(number)) < rate).astype(float)
    values[0], values[-1] = 1 - values[0], values[-1]
    trials = rng.integers(1, 4, len(values)).astype(float)
    weight = np.full(len(values), 1 / len(values))
    found = intervals.over_clusters(values, weight, Design(number), trials)
    share, parts = plain_parts(values, weight, number, trials)
    assert found.share == pytest.approx(share)
    count = trials.sum()
    assert found.smooth == pytest.approx((share * count + 0.5) / (count + 1))
    assert [tuple(p)[:2] for p in found.parts] == [pytest.approx(p) for p in parts]


def test_wilson_its_test_and_what_it_detects_by_their_formulas():
    from unmask.stats.clustering import Variance
    from unmask.stats.intervals import ShareVariance

    of = ShareVariance(0.62, 0.6, (Variance(0.0021, 12.0), Variance(0.0016, 4.0)))
    z2 = max(t.ppf(0.975, 12) ** 2 * 0.0021, t.ppf(0.975, 4) ** 2 * 0.0016) / (0.6 * 0.4)
    middle = (0.62 + z2 / 2) / (1 + z2)
    reach = math.sqrt(z2) / (1 + z2) * math.sqrt(0.62 * 0.38 + z2 / 4)
    assert of.wilson(0.95) == pytest.approx((middle - reach, middle + reach))
    assert of.widest == Variance(0.0016, 4.0)
    scale = 0.25 / 0.24
    tails = [t.sf(0.12 / math.sqrt(v * scale), df) for v, df, _ in of.parts]
    assert of.tail(0.5) == pytest.approx(max(tails))
    se = math.sqrt(0.0016 * scale)
    assert of.mde(0.5, 0.95) == pytest.approx((t.ppf(0.975, 4) + t.ppf(0.8, 4)) * se)


def test_an_estimate_in_per_cent_says_what_it_rests_on():
    rng = np.random.default_rng(3)
    number = np.repeat(np.arange(15), 4)
    wins = (rng.random(60) < 0.7).astype(float)
    of = intervals.over_clusters(wins, np.full(60, 1 / 60), Design(number), np.ones(60))
    found = intervals.share(wins, number, ideal=50.0)
    assert found.value == pytest.approx(100 * wins.mean())
    assert (found.low, found.high) == pytest.approx(tuple(100 * b for b in of.wilson(0.95)))
    assert found.more["inner"] == pytest.approx([100 * b for b in of.wilson(0.9)])
    assert found.p == pytest.approx(min(1, 2 * of.tail(0.5)))
    assert found.se == pytest.approx(100 * math.sqrt(of.widest.value))
    inflated = of.widest.value * 60 / (of.smooth * (1 - of.smooth))
    assert found.more["design_effect"] == pytest.approx(inflated)
    assert found.more["mde"] == pytest.approx(min(50, 100 * of.mde(0.5, 0.95)))
    assert (found.more["clusters"], found.n, found.method) == (15, 60, "Wilson over clusters")
    assert intervals.share(wins, np.arange(60)).method == "Wilson"
    alone = intervals.share(wins, np.zeros(60, int), ideal=50.0)
    assert (alone.method, alone.p, alone.more["df"]) == ("one cluster", None, 0.0)
    assert math.isnan(alone.low)
    assert intervals.share(wins[:1], [0]).method == "one cluster"


def test_a_ratio_of_tries_is_the_weighted_share():
    hits, tries = np.array([1.0, 2.0, 0.0, 4.0]), np.array([2.0, 2.0, 3.0, 5.0])
    found = intervals.ratio(hits, tries, list("abcd"))
    assert found.value == pytest.approx(100 * 7 / 12)
    of = intervals.over_clusters(hits / tries, tries / 12, Design(np.arange(4)), tries)
    assert (found.low, found.high) == pytest.approx(tuple(100 * b for b in of.wilson(0.95)))
    assert (found.n, found.p, found.ideal) == (4, None, None)


def test_students_interval_and_its_inner_one():
    from unmask.stats.clustering import Variance

    found = intervals.student(1.5, Variance(0.09, 7.0), 20, 8, ideal=1.0)
    reach, inner = t.ppf(0.975, 7) * 0.3, t.ppf(0.95, 7) * 0.3
    assert (found.low, found.high) == pytest.approx((1.5 - reach, 1.5 + reach))
    assert found.more["inner"] == pytest.approx([1.5 - inner, 1.5 + inner])
    assert found.p == pytest.approx(2 * t.sf(0.5 / 0.3, 7))
    assert (found.se, found.n, found.more["clusters"]) == (pytest.approx(0.3), 20, 8)
    empty = intervals.student(1.5, Variance(0.0, 7.0), 20, 8, ideal=1.0)
    assert math.isnan(empty.low)
    assert empty.p is None
    assert math.isnan(intervals.student(1.5, Variance(0.09, 0.5), 20, 8).low)


def test_two_clusters_have_an_interval():
    found = intervals.share(np.array([1, 1, 0, 1.0]), [0, 0, 1, 1], ideal=50.0)
    assert found.method == "Wilson over clusters"
    assert found.low < 75 < found.high
    assert found.p is not None
    pair = intervals.share(np.array([1, 0.0]), [0, 1], ideal=50.0)
    assert (pair.method, pair.p) == ("Wilson", 1.0)


def test_a_mean_over_items_is_students(rng):
    """Each item its own cluster: the interval and p of the one-sample t test."""
    values = rng.normal(0.4, 1.3, 25)
    got = intervals.mean_estimate(values, [str(k) for k in range(25)], ideal=0.0)
    test = ttest_1samp(values, 0.0)
    low, high = test.confidence_interval(0.95)
    assert (got.low, got.high, got.p) == pytest.approx((low, high, test.pvalue), rel=1e-6)
    assert got.se == pytest.approx(values.std(ddof=1) / 5)


def test_one_and_a_half_degrees_of_freedom_are_enough_and_less_than_one_is_not():
    got = intervals.student(2.0, Variance(4.0, 1.5), 9, 3, ideal=0.0)
    reach = t.ppf(0.975, 1.5) * 2
    assert (got.low, got.high) == pytest.approx((2 - reach, 2 + reach))
    assert got.p == pytest.approx(2 * t.sf(1.0, 1.5))
    assert math.isnan(intervals.student(2.0, Variance(4.0, 0.9), 9, 3).low)
    assert math.isnan(intervals.student(2.0, Variance(0.0, 5.0), 9, 3).low)


def test_one_cluster_has_its_share_and_no_interval():
    got = intervals.share(np.array([1.0, 0.0, 0.0, 0.0]), ["a"] * 4, ideal=50.0)
    assert (got.value, got.n) == (25.0, 4)
    assert math.isnan(got.low)
