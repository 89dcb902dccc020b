"""Tests of stats/permutation."""

import itertools
import math

import numpy as np
import pytest

from unmask.options import Resampling
from unmask.stats import permutation


def sampled_sums(*given, **named):
    """The sums of random subsets."""
    return permutation.sampled_moments(*given, **named)[0]


def test_perfect_separation_has_p_one_in_12870():
    x, y = np.arange(8) + 10.0, np.arange(8.0)
    found = permutation.permutation(x, y)
    assert found.method == "exact"
    assert found.p == 1 / 12870
    assert permutation.permutation(x, y, sided="two").p == 2 / 12870


def test_exact_permutation_equals_itertools(rng):
    x, y = rng.normal(size=5) + 0.5, rng.normal(size=6)
    pool = np.concatenate([x, y])
    hits = [sum(pool[list(c)]) >= x.sum() - 1e-12 for c in itertools.combinations(range(11), 5)]
    assert permutation.permutation(x, y).p == pytest.approx(np.mean(hits))


def test_sampled_permutation_is_near_the_exact_one(rng):
    x, y = rng.normal(size=7) + 0.6, rng.normal(size=7)
    exact = permutation.permutation(x, y)
    sums = sampled_sums(np.concatenate([x, y]), 7, 50_000, seed=1)
    assert np.mean(sums >= x.sum() - 1e-12) == pytest.approx(exact.p, abs=0.006)


def test_sampled_subsets_are_uniform():
    """Each of the C(5, 2) subsets of distinct powers of two comes a tenth of the time."""
    sums = sampled_sums(2.0 ** np.arange(5), 2, 50_000, seed=0)
    _, counts = np.unique(sums, return_counts=True)
    assert len(counts) == 10
    assert np.abs(counts / 50_000 - 0.1).max() < 0.006
    large = sampled_sums(2.0 ** np.arange(5), 3, 100, seed=0)
    assert set(large) <= {31 - s for s in sums}


def test_null_p_values_are_uniform():
    """Permuted labels: 500 null data sets, exact and one-sided."""
    rng = np.random.default_rng(11)
    p = []
    for _ in range(500):
        scores = rng.normal(size=12)
        p.append(permutation.permutation(scores[:6], scores[6:]).p)
    for level in (0.05, 0.25, 0.5, 0.75):
        assert np.mean(np.array(p) <= level) == pytest.approx(level, abs=0.06)


@pytest.mark.parametrize("sided", ["one", "two"])
def test_a_sampled_test_counts_the_observed_split_once(sided, rng):
    """(hits + 1) / (splits + 1), the hits counted in a plain loop over the same draws."""
    x, y = rng.normal(0.3, 1, 9), rng.normal(0, 1, 14)
    resampling = Resampling(splits=500, seed=3)
    got = permutation.permutation(x, y, sided=sided, resampling=resampling)
    sums = sampled_sums(np.concatenate([x, y]), 9, 500, 3)
    centre = np.concatenate([x, y]).mean() * 9
    hits = 0
    for drawn in sums:
        far = drawn >= x.sum() - 1e-9
        if sided == "two":
            far = abs(drawn - centre) >= abs(x.sum() - centre) - 1e-9
        hits += bool(far)
    assert (got.p, got.method, got.splits) == ((hits + 1) / 501, "sampled", 500)
    assert 0 < hits < 500


def test_the_studentised_permutation_by_a_plain_loop():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=4), 3 * rng.normal(size=3) + 1
    scores = np.concatenate([x, y])

    def welch(chosen):
        rest = [k for k in range(7) if k not in chosen]
        a, b = scores[list(chosen)], scores[rest]
        return (a.mean() - b.mean()) / math.sqrt(a.var(ddof=1) / 4 + b.var(ddof=1) / 3)

    splits = list(itertools.combinations(range(7), 4))
    seen = welch(range(4))
    two = np.mean([abs(welch(s)) >= abs(seen) - 1e-9 for s in splits])
    one = np.mean([welch(s) >= seen - 1e-9 for s in splits])
    assert permutation.studentised(x, y, sided="two").p == pytest.approx(two)
    assert permutation.studentised(x, y, sided="one").p == pytest.approx(one)
    sampled = permutation.studentised(
        np.tile(x, 5), np.tile(y, 5), sided="two", resampling=Resampling(splits=2000)
    )
    assert (sampled.method, sampled.splits) == ("sampled", 2000)
    swapped = permutation.studentised(y, x, sided="two")
    assert swapped.p == pytest.approx(two)


def test_unequal_spread_is_no_unequal_mean():
    """25 words against 8 that spread three times as far: the plain test is wrong in one of five."""
    rng = np.random.default_rng(1)
    plain, ours = [], []
    for seed in range(150):
        x, y = rng.normal(size=25), 3 * rng.normal(size=8)
        how = Resampling(splits=500, seed=seed)
        plain.append(permutation.permutation(x, y, sided="two", resampling=how).p <= 0.05)
        ours.append(permutation.studentised(x, y, sided="two", resampling=how).p <= 0.05)
    assert np.mean(plain) > 0.14
    assert np.mean(ours) < 0.11
