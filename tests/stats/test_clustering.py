"""Tests of stats/clustering."""

import numpy as np
import pytest
from scipy.stats import t
from statsmodels.regression.linear_model import OLS

from unmask.stats import clustering, intervals
from unmask.stats.clustering import Design, Variance, added, codes


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
    influence, share = (wins - wins.mean()) / 12, np.array([6, 2, 2, 2]) / 12
    sums = np.array([influence[clusters == c].sum() for c in range(4)])
    found = Design(clusters).variance(influence)
    assert found.value == pytest.approx(float((sums**2 / (1 - share)).sum()))
    assert found.df == pytest.approx(1 / (share**2).sum() - 1)
    assert 1 < found.df < 3


def test_two_ways_of_clustering_by_hand(rng):
    words, frames = np.repeat(np.arange(12), 5), np.tile(np.arange(5), 12)
    values = rng.normal(size=60) + rng.normal(size=12)[words] + 2 * rng.normal(size=5)[frames]
    influence = (values - values.mean()) / 60

    def one_way(units):
        sums = [influence[units == u].sum() for u in set(units)]
        return len(sums) / (len(sums) - 1) * sum(s**2 for s in sums)

    by_word, by_frame = one_way(words), one_way(frames)
    both = by_word + by_frame - one_way(words * 5 + frames)
    found = Design(words, templates=frames).variance(influence)
    # Frames differ by far the most: with their 4 degrees of freedom they reach farthest.
    reach = {
        (by_word, 11.0): t.ppf(0.975, 11) ** 2 * by_word,
        (by_frame, 4.0): t.ppf(0.975, 4) ** 2 * by_frame,
    }
    if both > max(by_word, by_frame):
        df = (by_word + by_frame) ** 2 / (by_word**2 / 11 + by_frame**2 / 4)
        reach[both, df] = t.ppf(0.975, df) ** 2 * both
    value, df = max(reach, key=reach.get)
    assert found.value == pytest.approx(value)
    assert found.df == pytest.approx(df)
    words_only = Design(words).variance(influence)
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
    influence = (wins - wins.mean()) / 80
    assert across.variance(influence) == Design(across.clusters).variance(influence)


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


@pytest.mark.parametrize("seed", range(6))
def test_the_two_way_variance_is_the_widest_of_three(seed):
    """Words, frames, and their sum less what both count (Cameron, Gelbach and Miller 2011)."""
    rng = np.random.default_rng(seed)
    words, frames = np.repeat(np.arange(9), 6), np.tile(np.arange(6), 9)
    spread = rng.choice([0.1, 1.0, 2.0], size=2)
    values = rng.normal(size=54) + spread[0] * rng.normal(size=9)[words]
    values = values + spread[1] * rng.normal(size=6)[frames]
    influence = (values - values.mean()) / 54

    def one_way(units, count):
        sums = np.array([influence[units == u].sum() for u in range(count)])
        return count / (count - 1) * float(((sums - sums.mean()) ** 2).sum())

    parts = [(one_way(words, 9), 8.0), (one_way(frames, 6), 5.0)]
    (a, m), (b, n) = parts
    inside = float((influence**2).sum()) * 54 / 53 - 54 / 53 * influence.sum() ** 2 / 54
    if a + b - inside > max(a, b):
        parts.append((a + b - inside, (a + b) ** 2 / (a**2 / m + b**2 / n)))
    value, df = max(parts, key=lambda part: t.ppf(0.975, part[1]) ** 2 * part[0])
    found = Design(words, templates=frames).variance(influence)
    assert (found.value, found.df) == (pytest.approx(value), pytest.approx(df))


def test_crossing_with_one_frame_changes_nothing(rng):
    words = np.repeat(np.arange(6), 3)
    influence = rng.normal(size=18)
    alone = Design(words).variance(influence)
    assert Design(words, templates=np.zeros(18, int)).variance(influence) == alone
    assert Design(np.zeros(18, int)).variance(influence).df == 0


def test_unequal_weights_by_the_formula(rng):
    """CR2 for a weighted mean: a cluster's pull over 1 - its share; df from the shares."""
    clusters = np.array([0] * 5 + [1] * 2 + [2] + [3] * 4)
    weight = rng.random(12)
    weight /= weight.sum()
    influence = rng.normal(size=12)
    share = np.array([weight[clusters == c].sum() for c in range(4)])
    totals = np.array([influence[clusters == c].sum() for c in range(4)])
    expected = float(((totals - totals.sum() * share) ** 2 / (1 - share)).sum())
    found = Design(clusters).variance(influence, weight)
    assert found.value == pytest.approx(expected)
    assert found.df == pytest.approx(max(1 / (share**2).sum() - 1, 1.0))


def test_units_alone_in_their_stratum_share_one(rng):
    clusters, strata = np.arange(5), np.array([0, 0, 0, 1, 2])
    influence = rng.normal(size=5)
    first = influence[:3] - influence[:3].mean()
    alone = influence[3:] - influence[3:].mean()
    expected = 3 / 2 * float((first**2).sum()) + 2 * float((alone**2).sum())
    found = Design(clusters, strata).variance(influence)
    assert found.value == pytest.approx(expected)
    assert found.df == pytest.approx(3)
    # One alone joins the largest.
    joined = Design(np.arange(4), np.array([0, 0, 0, 1])).variance(influence[:4])
    middle = influence[:4] - influence[:4].mean()
    assert joined.value == pytest.approx(4 / 3 * float((middle**2).sum()))


def test_a_cluster_in_two_strata_counts_without_strata(rng):
    clusters, strata = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 0, 1, 1])
    influence = rng.normal(size=6)
    assert Design(clusters, strata).variance(influence) == Design(clusters).variance(influence)


def test_two_clusters_have_a_variance_and_one_has_none(rng):
    influence = rng.normal(size=6)
    found = Design(np.repeat([0, 1], 3)).variance(influence)
    halves = influence[:3].sum(), influence[3:].sum()
    assert found.value == pytest.approx((halves[0] - halves[1]) ** 2)
    assert found.df == 1
    assert np.isnan(Design(np.zeros(6, int)).variance(influence).value)


def test_what_is_known_is_made_once_and_not_without_end(monkeypatch):
    monkeypatch.setattr(clustering, "MOST_CACHED", 30)
    known, made = clustering.Memo(), []

    def of(key, size):
        return known.get(key, size, lambda: made.append(key) or len(made))

    assert [of("a", 10), of("a", 10), of("b", 10), of("c", 10)] == [1, 1, 2, 3]
    assert of("d", 10) == 4  # there is too much: all others are let go
    assert of("a", 10) == 5
    assert (of("large", 31), of("large", 31)) == (6, 7)  # never kept
    assert len(known.values) <= 3


def test_what_is_known_of_what_is_known_has_the_same_room(monkeypatch):
    monkeypatch.setattr(clustering, "MOST_CACHED", 100)
    root = clustering.Memo()
    for n in range(50):  # each holds things of its own
        child = root.get(n, 10, lambda: clustering.Memo(root))
        for k in range(4):
            assert child.get(k, 10, lambda k=k: k) == k
        assert clustering.Memo(child).root is root
        held = [root, *root.values.values()]
        assert sum(10 * len(k.values) for k in held) <= root.used <= 100


def test_a_choice_of_items_is_made_once_and_is_that_of_a_new_design():
    rng = np.random.default_rng(3)
    parts = [clustering.codes(rng.integers(0, 9, 60)) for _ in range(4)]
    design = clustering.Design(*parts)
    for _ in range(5):
        kept = rng.random(60) < 0.5
        one, two = design.chosen(kept), clustering.Design(*parts).chosen(kept)
        assert one is design.chosen(kept.copy())
        for name in ("clusters", "strata", "templates", "pairs"):
            assert np.array_equal(getattr(one, name), getattr(two, name))


def test_variances_are_added_with_satterthwaites_degrees_of_freedom():
    total = added([Variance(0.2, 5.0), Variance(0.1, 3.0)])
    assert total == (pytest.approx(0.3), pytest.approx(0.3**2 / (0.2**2 / 5 + 0.1**2 / 3)), 0.0)
    assert added([Variance(0.2, 5.0)]).df == pytest.approx(5)
    assert added([Variance(0.0, 5.0)], 7.0) == (0.0, 7.0, 0.0)


def test_what_was_subtracted_from_a_variance_leaves_its_error():
    words, scale = Variance(0.2, 40.0), 4.0
    plain = added([words, Variance(0.0, 2.0)])
    seen = added([words, Variance(0.0, 2.0, noise=0.1)])
    assert seen.value == plain.value
    assert seen.df == pytest.approx(0.2**2 / (0.2**2 / 40 + 0.5 * 0.1**2 / 4))  # as of 4
    enough = added([words, Variance(0.0, 8.0, noise=0.1)])
    assert enough.df == pytest.approx(0.2**2 / (0.2**2 / 40 + 0.5 * 0.1**2 / 8))
    assert added([v.scaled(scale) for v in (words, Variance(0.0, 2.0, 0.1))]) == (
        pytest.approx(scale * 0.2),
        pytest.approx(seen.df),
        0.0,
    )
    assert added([Variance(0.01, 40.0), Variance(0.0, 1.0, noise=1.0)]).df == 1.0
