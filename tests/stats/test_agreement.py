"""Tests of stats/agreement."""

import math

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, norm, pearsonr, rankdata, spearmanr, t

from unmask.errors import DataError
from unmask.stats import agreement
from unmask.stats.intervals import DEFAULTS


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
    with pytest.raises(DataError):
        agreement.split_half(models[:, :2])


def plain_delong(labels, scores):
    """The area and DeLong's variance, pair by pair."""
    positive, negative = scores[labels > 0], scores[labels <= 0]
    wins = np.array([[(p > n) + 0.5 * (p == n) for n in negative] for p in positive])
    m, n = wins.shape
    rows, columns = wins.mean(1), wins.mean(0)
    return wins.mean(), rows.var(ddof=1) / m + columns.var(ddof=1) / n, rows, columns


def test_the_interval_of_an_area_is_delongs_on_the_logit_scale(rng):
    labels = (rng.random(60) < 0.4).astype(float)
    scores = rng.normal(size=60) + labels
    area, variance, _, _ = plain_delong(labels, scores)
    found = agreement.auc(labels, scores)
    assert found.value == pytest.approx(area)
    assert found.se == pytest.approx(math.sqrt(variance))
    reach = norm.ppf(0.975) * math.sqrt(variance) / (area * (1 - area))
    bounds = [1 / (1 + math.exp(-(math.log(area / (1 - area)) + s * reach))) for s in (-1, 1)]
    assert (found.low, found.high) == pytest.approx(tuple(bounds))
    assert found.n == 60
    assert found.more["positives"] == labels.sum()
    rank = mannwhitneyu(scores[labels > 0], scores[labels <= 0])
    assert found.p == pytest.approx(rank.pvalue)


def test_an_area_over_clusters_adds_up_what_they_pull(rng):
    labels = (rng.random(48) < 0.5).astype(float)
    scores = rng.normal(size=48) + 0.8 * labels
    clusters = np.repeat(np.arange(12), 4)
    area, _, rows, columns = plain_delong(labels, scores)
    influence = np.zeros(48)
    m, n = len(rows), len(columns)
    influence[labels > 0] = (rows - rows.mean()) / math.sqrt(m * (m - 1))
    influence[labels <= 0] = (columns - columns.mean()) / math.sqrt(n * (n - 1))
    sums = np.array([influence[clusters == c].sum() for c in range(12)])
    variance = float((sums**2).sum()) * 12 / 11
    found = agreement.auc(labels, scores, clusters)
    assert found.se == pytest.approx(math.sqrt(variance))
    assert found.p == pytest.approx(2 * t.sf(abs(area - 0.5) / math.sqrt(variance), 11))
    reach = t.ppf(0.975, 11) * math.sqrt(variance) / (area * (1 - area))
    low = 1 / (1 + math.exp(-(math.log(area / (1 - area)) - reach)))
    assert found.low == pytest.approx(low)
    few = agreement.auc(labels, scores, np.zeros(48))
    assert few.p is None
    assert math.isnan(few.low)


def test_the_difference_of_two_areas_is_paired(rng):
    labels = (rng.random(50) < 0.5).astype(float)
    one, two = rng.normal(size=50) + labels, rng.normal(size=50) + 0.3 * labels
    first, second = plain_delong(labels, one), plain_delong(labels, two)
    rows, columns = second[2] - first[2], second[3] - first[3]
    variance = rows.var(ddof=1) / len(rows) + columns.var(ddof=1) / len(columns)
    found = agreement.auc_difference(labels, one, two)
    value = second[0] - first[0]
    assert found.value == pytest.approx(value)
    assert found.se == pytest.approx(math.sqrt(variance))
    assert found.p == pytest.approx(2 * norm.sf(abs(value) / math.sqrt(variance)))
    reach = norm.ppf(0.975) * math.sqrt(variance)
    assert (found.low, found.high) == pytest.approx((value - reach, value + reach))
    same = agreement.auc_difference(labels, one, one)
    assert (same.value, same.p) == (0.0, 1.0)


@pytest.mark.parametrize("value", [0.8, 1.0])
def test_newcombes_bounds_solve_his_equation(value):
    labels = np.array([1.0] * 6 + [0.0] * 8)
    scores = np.arange(14.0)[::-1].copy()
    found = agreement.auc(labels, scores)
    assert found.value == 1.0
    low = found.low
    more = (1 - low) / (2 - low) + low / (1 + low)
    variance = low * (1 - low) * (1 + (7 - 1) * more) / 48
    assert (1 - low) ** 2 == pytest.approx(norm.ppf(0.975) ** 2 * variance)
    assert found.high == 1.0
    assert found.method == "Newcombe"


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_the_interval_of_a_correlation_is_fishers(kind, rng):
    x = rng.normal(size=30)
    y = x + rng.normal(size=30)
    a, b = (x, y) if kind == "pearson" else (rankdata(x), rankdata(y))
    r = np.corrcoef(a, b)[0, 1]
    se = math.sqrt((1 + r**2 / 2 if kind == "spearman" else 1) / 27)
    found = agreement.correlation(x, y, kind)
    bounds = [math.tanh(math.atanh(r) + s * norm.ppf(0.975) * se) for s in (-1, 1)]
    assert found.value == pytest.approx(r)
    assert (found.low, found.high) == pytest.approx(tuple(bounds))
    assert found.p == pytest.approx(pearsonr(a, b).pvalue)


def test_stepping_up_is_spearman_and_browns():
    assert agreement.stepped_up([0.5, 0.7], 10).value == pytest.approx(2 * 0.6 / 1.6)
    assert agreement.stepped_up([-0.5, -0.7], 10).value == pytest.approx(-2 * 0.6 / 1.6)
    assert agreement.stepped_up([0.5, 0.7], 10).more["splits"] == 2


def test_alpha_by_hand(rng):
    scores = rng.normal(size=(12, 4)) + rng.normal(size=(12, 1))
    variances = [scores[:, k].var(ddof=1) for k in range(4)]
    expected = 4 / 3 * (1 - sum(variances) / scores.sum(1).var(ddof=1))
    assert agreement.cronbach(scores) == pytest.approx(expected)


def test_the_points_of_a_roc_curve_by_hand():
    found = agreement.roc(np.array([1, 0, 1, 0, 0]), np.array([3.0, 2.0, 2.0, 1.0, 0.0]))
    assert found.false.tolist() == pytest.approx([0, 0, 1 / 3, 2 / 3, 1])
    assert found.true.tolist() == pytest.approx([0, 0.5, 1, 1, 1])
    assert found.threshold.tolist()[1:] == [3, 2, 1, 0]


def test_scores_that_are_all_equal_have_newcombes_interval():
    found = agreement.auc(np.array([1.0, 0, 1, 0, 1]), np.zeros(5))
    assert (found.value, found.method) == (0.5, "Newcombe")
    assert math.isnan(found.se)
    assert 0 < found.low < 0.5 < found.high < 1


def test_two_clusters_have_one_degree_of_freedom(rng):
    labels = np.array([1.0, 0, 1, 0, 1, 0, 1, 0])
    scores = rng.normal(size=8)
    area, _, rows, columns = plain_delong(labels, scores)
    influence = np.zeros(8)
    influence[labels > 0] = (rows - rows.mean()) / math.sqrt(12)
    influence[labels <= 0] = (columns - columns.mean()) / math.sqrt(12)
    halves = influence[:3].sum(), influence[3:].sum()
    variance = 2 * (halves[0] ** 2 + halves[1] ** 2)
    found = agreement.auc(labels, scores, [0] * 3 + [1] * 5)
    assert found.se == pytest.approx(math.sqrt(variance))
    assert found.p == pytest.approx(2 * t.sf(abs(area - 0.5) / math.sqrt(variance), 1))


@pytest.mark.parametrize(("n", "least"), [(8, 2 / 40320), (9, 2 / 362880)])
def test_a_perfect_order_is_one_of_two_among_all(n, least):
    x = np.arange(float(n))
    assert agreement.correlation(x, 2 * x).p == pytest.approx(least)


def test_a_small_area_has_a_bound_near_0():
    """The bound solves Newcombe's equation also where it lies in the last tenth."""
    low, high = agreement._newcombe(0.04, 60, 60, DEFAULTS)
    assert 0 < low < 0.04 < high < 0.15
    mirrored = agreement._newcombe(0.96, 60, 60, DEFAULTS)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-6)


def test_clusters_of_very_unlike_size_have_one_degree_of_freedom():
    variance, df = agreement._over_clusters(np.arange(10.0), np.array([0] * 9 + [1]))
    assert df == 1.0
    assert variance == pytest.approx(2 * (36.0**2 + 9.0**2))


def test_a_roc_curve_with_one_negative_still_ends_at_one():
    points = agreement.roc(np.array([1, 0, 1]), np.array([0.9, 0.5, 0.1]))
    assert points.false.tolist() == [0, 0, 1, 1]
    assert points.true.tolist() == [0, 0.5, 0.5, 1]
    only = agreement.roc(np.array([1, 1]), np.array([0.9, 0.5]))
    assert only.false.tolist() == [0, 0, 0]


def test_agreement_with_graded_ratings_is_spearmans_and_its_interval_leaves_out_clusters(rng):
    ratings = rng.integers(0, 6, 60).astype(float)
    scores = ratings + rng.normal(size=60)
    other = rng.normal(size=60)
    clusters = np.repeat(np.arange(20), 3)
    found = agreement.rank_agreement(ratings, scores, clusters)
    assert found.value == pytest.approx(spearmanr(ratings, scores).statistic)
    left = [spearmanr(ratings[clusters != k], scores[clusters != k]).statistic for k in range(20)]
    assert found.se == pytest.approx(np.sqrt(19 / 20 * np.sum((left - np.mean(left)) ** 2)))
    assert found.low > 0
    gap = agreement.rank_agreement(ratings, scores, clusters, beside=other)
    alone = agreement.rank_agreement(ratings, other, clusters)
    assert gap.value == pytest.approx(found.value - alone.value)
    turned = agreement.rank_agreement(ratings, other, clusters, beside=scores)
    assert (turned.low, turned.high) == pytest.approx((-gap.high, -gap.low))
    assert agreement.rank_agreement(ratings, scores, clusters, beside=scores).value == 0
