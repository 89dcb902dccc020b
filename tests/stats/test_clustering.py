"""Tests of stats/clustering."""

import numpy as np
import pytest
from statsmodels.regression.linear_model import OLS

from unmask.stats import intervals
from unmask.stats.clustering import Design, codes


def test_clustered_variance_is_that_of_statsmodels(rng):
    """A mean is a regression on a constant with clustered errors."""
    clusters = np.repeat(np.arange(25), 6)
    wins = (rng.random(len(clusters)) < rng.random(25)[clusters]).astype(float)
    groups = {"groups": clusters, "use_correction": True}
    fitted = OLS(wins, np.ones(len(wins))).fit(cov_type="cluster", cov_kwds=groups)
    weight = intervals.weights(Design(clusters))
    variance = Design(clusters).variance(weight * (wins - wins.mean()), weight)
    assert variance.value == pytest.approx(float(fitted.bse[0]) ** 2)
    assert variance.df == pytest.approx(24)


def test_unequal_clusters_count_as_fewer():
    """CR2 by hand: one cluster with half of the weight."""
    clusters = np.repeat([0, 1, 2, 3], [6, 2, 2, 2])
    wins = np.array([1, 1, 1, 1, 0, 0, 1, 0, 1, 1, 0, 0.0])
    pulls, share = (wins - wins.mean()) / 12, np.array([6, 2, 2, 2]) / 12
    sums = np.array([pulls[clusters == c].sum() for c in range(4)])
    found = Design(clusters).variance(pulls)
    assert found.value == pytest.approx(float((sums**2 / (1 - share)).sum()))
    assert found.df == pytest.approx(1 / (share**2).sum() - 1)
    assert 1 < found.df < 3


def test_two_ways_of_clustering_by_hand(rng):
    words, frames = np.repeat(np.arange(12), 5), np.tile(np.arange(5), 12)
    values = rng.normal(size=60) + rng.normal(size=12)[words] + 2 * rng.normal(size=5)[frames]
    pulls = (values - values.mean()) / 60

    def one_way(units):
        sums = [pulls[units == u].sum() for u in set(units)]
        return len(sums) / (len(sums) - 1) * sum(s**2 for s in sums)

    expected = one_way(words) + one_way(frames) - one_way(words * 5 + frames)
    found = Design(words, crossed=frames).variance(pulls)
    # frames that differ more than words alone do are what decides, with their 4 degrees of freedom
    assert found.value == pytest.approx(expected) or found.value == pytest.approx(one_way(frames))
    assert found.df >= 4 - 1e-9
    words_only = Design(words).variance(pulls)
    assert found.value > words_only.value


def test_strata_take_out_what_is_fixed(rng):
    """Words within a side: the difference between the sides is no error."""
    side = np.repeat([0, 1], 40)
    wins = np.where(side == 0, rng.random(80) < 0.95, rng.random(80) < 0.1).astype(float)
    plain = intervals.share(wins, np.arange(80), ideal=50)
    fixed = intervals.share(wins, Design(np.arange(80), strata=side), ideal=50)
    assert fixed.value == plain.value
    assert fixed.se < 0.6 * plain.se
    # A cluster that lies in two strata cannot be drawn within one: they are ignored.
    across = Design(np.tile(np.arange(40), 2), strata=side)
    pulls = (wins - wins.mean()) / 80
    assert across.variance(pulls) == Design(across.clusters).variance(pulls)


@pytest.mark.parametrize(
    "names",
    [
        [3, 1, 1, 7],
        [-1, 5, -1],
        [10**12, 5, 5],
        [True, False],
        ["b", "a", "b"],
        [[0, 1], [1, 0]],
        np.array([4, 4, 2], np.uint8),
        np.arange(3000)[::-1] // 7,
        [],
    ],
)
def test_names_become_numbers_in_their_order(names):
    found = codes(names)
    assert found.dtype == np.int64
    assert np.array_equal(found, np.unique(np.asarray(names), return_inverse=True)[1])
