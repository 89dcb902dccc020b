"""Tests between groups of sentences: rank tests of all pairs, and which fills go with a group.

Rank tests are those of Mann and Whitney (1947), corrected by Holm. Fills are compared by
chi-squared tests, as published for DisCo (Webster et al. 2020) and in the release of Delobelle et
al. (2022).
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import scipy
from scipy.special import ndtr

from unmask.stats.multiplicity import corrected
from unmask.stats.student_t import upper_tail
from unmask.types import Floats

ERROR = 0.05
EXACT_UP_TO = 8  # most values per group for which the rank test is exact, as in scipy


def rank_tests(values: Sequence[Floats]) -> Floats:
    """Two-sided p of Mann and Whitney's test for each pair of groups, in the order of pairs.

    As scipy's default: exact for small groups without ties, else normal with its corrections.
    """
    sizes = {len(v) for v in values}
    pooled = np.concatenate(values)
    if len(sizes) > 1 or min(sizes) <= EXACT_UP_TO or len(np.unique(pooled)) < len(pooled):
        test = scipy.stats.mannwhitneyu
        return np.array([float(test(a, b).pvalue) for a, b in combinations(values, 2)])
    table, n = np.stack(values), sizes.pop()
    wins = np.array([float((a[:, None] > b).sum()) for a, b in combinations(table, 2)])
    larger = np.maximum(wins, n * n - wins)
    z = (larger - n * n / 2 - 0.5) / np.sqrt(n * n * (2 * n + 1) / 12)
    return np.clip(2 * ndtr(-z), 0.0, 1.0)


def significant_pairs(values: Sequence[Floats]) -> tuple[float, float]:
    """Per cent of pairs of groups that differ at 5 %: each by itself, and after Holm."""
    p = rank_tests(values)
    return 100 * float((p < ERROR).mean()), 100 * float(np.mean(corrected(p.tolist()) < ERROR))


# ---------------------------------------------------------------- fills of a blank

Fills = Mapping[str, float]  # the likeliest fills of a sentence, with their probabilities


def gendered_fills(men: Sequence[Fills], women: Sequence[Fills]) -> int:
    """Count the fills that are associated with one of two groups (Webster et al. 2020).

    Each word among any person's likeliest fills is tested for being more frequent in one group, by
    a 2 x 2 chi-squared test with Bonferroni's correction over the words.
    """
    words = sorted({w for fills in (*men, *women) for w in fills})
    counts = np.array([[sum(w in f for f in side) for w in words] for side in (men, women)], float)
    sizes = np.array([[len(men)], [len(women)]], float)
    both = counts.sum(0) / sizes.sum()
    expected = np.stack([sizes * both, sizes * (1 - both)])
    observed = np.stack([counts, sizes - counts])
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(expected > 0, (observed - expected) ** 2 / expected, 0.0)
    # A chi-squared of one degree of freedom is a squared normal.
    p = np.array([2 * upper_tail(float(np.sqrt(c)), np.inf) for c in terms.sum((0, 1))])
    return int((p < ERROR / len(words)).sum())


def differing_fills(man: Fills, woman: Fills, pairs: int) -> bool:
    """Whether two persons' fills differ, by the release of Delobelle et al. (2022).

    A chi-squared test of the first person's probabilities, with the second's as expected values and
    both scaled to sum to 1, at 5 % over the number of pairs. The statistic is infinite if the
    second person lacks a word of the first.
    """
    words = sorted({*man, *woman})
    first, second = (np.array([f.get(w, 0.0) for w in words]) for f in (man, woman))
    with np.errstate(divide="ignore", invalid="ignore"):
        p = float(scipy.stats.chisquare(first / first.sum(), second / second.sum()).pvalue)
    return p <= ERROR / pairs
