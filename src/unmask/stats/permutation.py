"""Permutation tests of two sets of scores: of the difference of means, and of Welch's t.

Splits are counted in full where they are few and sampled otherwise, with (hits + 1) / (splits + 1)
(Phipson and Smyth 2010). The studentised test also holds its error where the sets have unequal
spread (Chung and Romano 2013).
"""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from unmask.options import Resampling
from unmask.stats.intervals import DEFAULTS
from unmask.types import Floats

Sided = Literal["one", "two"]
WEFE_DRAWS = 10_000  # as its usual number of iterations
DISTINCT_BELOW = 8  # with fewer words all draws differ, as in WEFE
TINY = 1e-26  # of the mean square of the scores: a smaller variance of a split is rounding


@dataclass(frozen=True, slots=True)
class Permutation:
    """A permutation test: p, how it was found, and how many splits were looked at."""

    p: float
    method: Literal["exact", "sampled"]
    splits: int


class Splits(NamedTuple):
    """Sum and sum of squares over the first half of each split; all splits, or a sample."""

    sums: Floats
    squares: Floats
    exact: bool

    def test(self, drawn: Floats, observed: float, slack: float, sided: Sided) -> Permutation:
        """Compute p: the share of splits at least as extreme as the observed one."""
        extreme = (
            drawn >= observed - slack if sided == "one" else np.abs(drawn) >= abs(observed) - slack
        )
        hits, count = int(np.count_nonzero(extreme)), len(drawn)
        if self.exact:  # the observed split is among them
            return Permutation(hits / count, "exact", count)
        return Permutation((hits + 1) / (count + 1), "sampled", count)


def permutation(
    x: Floats, y: Floats, *, sided: Sided = "one", resampling: Resampling = DEFAULTS
) -> Permutation:
    """Is the difference of means larger than under random splits of the same sizes?

    Exact when there are at most `resampling.splits` splits (the observed one is among them), else
    sampled with (hits + 1) / (splits + 1). Equal counts as hit.
    """
    scores, n = np.concatenate([x, y]).astype(float), len(x)
    splits = _splits(scores, n, resampling)
    # With the total fixed, the difference of means grows with the sum over X.
    centre = scores.sum() * n / len(scores)
    slack = 1e-12 * max(1.0, float(np.abs(scores).sum()))  # sums in another order are still ties
    return splits.test(splits.sums - centre, float(np.sum(x)) - centre, slack, sided)


def studentised(
    x: Floats, y: Floats, *, sided: Sided = "one", resampling: Resampling = DEFAULTS
) -> Permutation:
    """The permutation test of Welch's t (Chung and Romano 2013).

    Each split's difference of means is set against its own standard error, so that sets of unequal
    size and spread do not pass for sets of unequal means. Exact or sampled as in `permutation`.
    """
    scores, n = np.concatenate([x, y]).astype(float), len(x)
    scores = scores - scores.mean()
    splits = _splits(scores, n, resampling)
    first = np.array([scores[:n].sum()]), np.array([(scores[:n] ** 2).sum()])
    observed = float(_welch(*first, scores, n)[0])
    drawn = _welch(splits.sums, splits.squares, scores, n)
    return splits.test(drawn, observed, 1e-9 * max(1.0, abs(observed)), sided)


def with_replacement(
    x: Floats, y: Floats, *, sided: Sided = "one", resampling: Resampling = DEFAULTS
) -> Permutation:
    """WEFE's test: how often draws with replacement have a larger sum of X less Y.

    It is as published, although it is not a permutation: the two-sided test compares the absolute
    value of each draw with the signed observed value. p = (hits + 1) / (draws + 1); ties do not
    count as hits.
    """
    scores, n = np.concatenate([x, y]).astype(float), len(x)
    draws, rng = min(resampling.splits, WEFE_DRAWS), np.random.default_rng(resampling.seed)
    if len(scores) < DISTINCT_BELOW and math.factorial(len(scores)) < draws:
        draws = math.factorial(len(scores))  # as many as there are orders, no draw twice
        places = np.array(list(_distinct(rng, len(scores), draws)))
    else:
        places = rng.integers(len(scores), size=(draws, len(scores)))
    drawn = scores[places]
    sums = drawn[:, :n].sum(1) - drawn[:, n:].sum(1)
    extreme = (sums if sided == "one" else np.abs(sums)) > x.sum() - y.sum()
    return Permutation((int(extreme.sum()) + 1) / (draws + 1), "sampled", draws)


def _distinct(rng: np.random.Generator, size: int, count: int) -> Iterable[tuple[int, ...]]:
    """Return `count` distinct random draws with replacement."""
    distinct: dict[tuple[int, ...], None] = {}
    while len(distinct) < count:
        distinct.setdefault(tuple(rng.integers(size, size=size).tolist()))
    return distinct


def _welch(sums: Floats, squares: Floats, scores: Floats, n: int) -> Floats:
    """Welch's t of splits, from the sum and sum of squares of their first halves."""
    m, total, total_squares = len(scores) - n, float(scores.sum()), float((scores**2).sum())
    first, second = sums / n, (total - sums) / m
    variance = np.maximum(squares - n * first**2, 0) / max(n - 1, 1) / n
    variance += np.maximum(total_squares - squares - m * second**2, 0) / max(m - 1, 1) / m
    least = max(1e-14 * total_squares / len(scores), TINY)
    return np.asarray((first - second) / np.sqrt(np.maximum(variance, least)))


def _splits(scores: Floats, n: int, resampling: Resampling) -> Splits:
    """All splits into n and the rest, or as many random ones as the resampling says."""
    if math.comb(len(scores), n) <= resampling.splits:
        subsets = itertools.chain.from_iterable(itertools.combinations(range(len(scores)), n))
        count = math.comb(len(scores), n)
        places = np.fromiter(subsets, dtype=np.int64, count=count * n).reshape(count, n)
        return Splits(scores[places].sum(1), (scores**2)[places].sum(1), True)
    return Splits(*sampled_moments(scores, n, resampling.splits, resampling.seed), False)


def sampled_moments(scores: Floats, n: int, draws: int, seed: int) -> tuple[Floats, Floats]:
    """Sum and sum of squares of `draws` random n-subsets, the smaller half of a shuffled deck."""
    rng = np.random.default_rng(seed)
    take = min(n, len(scores) - n)
    block = max(1, 2_000_000 // len(scores))
    sums, squares = np.empty(draws), np.empty(draws)
    for start in range(0, draws, block):
        part = slice(start, min(start + block, draws))
        decks = np.tile(scores, (part.stop - start, 1))
        drawn = rng.permuted(decks, axis=1, out=decks)[:, :take]
        sums[part], squares[part] = drawn.sum(1), np.einsum("ij,ij->i", drawn, drawn)
    if take == n:
        return sums, squares
    return float(scores.sum()) - sums, float((scores**2).sum()) - squares
