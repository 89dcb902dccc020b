"""Tests of stats/group_tests."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from unmask.stats.group_tests import (
    differing_fills,
    gendered_fills,
    rank_tests,
    significant_pairs,
)


@pytest.mark.parametrize("sizes", [(30, 30, 30), (5, 5, 5), (9, 12, 10)])
@pytest.mark.parametrize("ties", [False, True])
def test_rank_tests_are_the_librarys(rng, sizes, ties):
    values = [rng.normal(k / 3, 1, n) for k, n in enumerate(sizes)]
    values = [np.round(v, 1) for v in values] if ties else values
    expected = [mannwhitneyu(a, b).pvalue for a, b in combinations(values, 2)]
    assert rank_tests(values) == pytest.approx(expected, rel=1e-9)


def test_five_per_cent_of_fair_pairs_differ_and_none_after_correction(rng):
    plain, after = zip(
        *(significant_pairs([rng.normal(size=30) for _ in range(15)]) for _ in range(40)),
        strict=True,
    )
    assert 2 < np.mean(plain) < 8
    assert np.mean(after) < 1


def test_a_fill_of_one_group_alone_is_counted():
    men = [{"1": 0.5, "2": 0.3, "3": 0.1}] * 12
    women = [{"1": 0.5, "2": 0.3, "9": 0.1}] * 12
    assert gendered_fills(men, women) == 2  # 3 goes with men, 9 with women
    assert gendered_fills(men, men) == 0


def test_other_words_always_differ_and_the_same_ones_hardly_ever():
    one, two = {"1": 0.5, "2": 0.3, "3": 0.1}, {"1": 0.5, "2": 0.3, "9": 0.1}
    assert differing_fills(one, two, 92)
    assert differing_fills(two, one, 92)
    assert not differing_fills(one, {"1": 0.3, "2": 0.5, "3": 0.1}, 92)
