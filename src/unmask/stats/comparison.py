"""Two runs on the same items: is the difference real?"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from statsmodels.stats.contingency_tables import mcnemar

from unmask.errors import DataError
from unmask.options import Resampling
from unmask.stats.effects import effect_size
from unmask.stats.intervals import USUAL, bootstrap, codes
from unmask.types import Estimate, Floats


def paired_difference(
    first: Floats,
    second: Floats,
    clusters: Sequence[Any] | NDArray[Any],
    *,
    macro: bool = False,
    scale: float = 1.0,
    how: Resampling = USUAL,
) -> Estimate:
    """The mean of `second - first` over the same items, with its paired cluster bootstrap.

    p is two-sided from the same clusters: their differences' signs are flipped at random, which
    is exact under the null that neither run is ahead in any cluster.
    """
    first, second = np.asarray(first, float), np.asarray(second, float)
    if len(first) != len(second):
        raise DataError(f"paired items are needed; here are {len(first)} and {len(second)}.")
    difference = scale * (second - first)
    estimate = bootstrap(difference, clusters, ideal=0.0, macro=macro, how=how)
    p = sign_flip(difference, clusters, macro=macro, how=how)
    return replace(estimate, method="paired " + estimate.method, p=p)


def sign_flip(
    difference: Floats,
    clusters: Sequence[Any] | NDArray[Any],
    *,
    macro: bool = False,
    how: Resampling = USUAL,
) -> float:
    """Paired permutation test: signs flipped by cluster; exact when there are few clusters."""
    number, draws = codes(clusters), how.draws
    sums = np.bincount(number, weights=difference)
    if macro:
        sums = sums / np.bincount(number).astype(float)
    observed = abs(float(sums.sum()))
    slack = 1e-12 * max(1.0, float(np.abs(sums).sum()))
    count = len(sums)
    if 2**count <= draws:
        every = 1.0 - 2.0 * ((np.arange(2**count)[:, None] >> np.arange(count)) & 1)
        return float(np.mean(np.abs(every @ sums) >= observed - slack))
    rng = np.random.default_rng(how.seed)
    signs = rng.choice(np.array([-1.0, 1.0]), size=(draws, count))
    hits = int(np.count_nonzero(np.abs(signs @ sums) >= observed - slack))
    return (hits + 1) / (draws + 1)


def exact_mcnemar(first: Floats, second: Floats) -> tuple[float, int, int]:
    """Exact McNemar p of two yes-no answers to the same items, and the two discordant counts."""
    a, b = np.asarray(first, bool), np.asarray(second, bool)
    lost, won = int(np.sum(a & ~b)), int(np.sum(~a & b))
    if lost + won == 0:
        return 1.0, 0, 0
    table = [[int(np.sum(a & b)), lost], [won, int(np.sum(~a & ~b))]]
    return float(mcnemar(table, exact=True).pvalue), lost, won


def equivalence(difference: Estimate, margin: float) -> float:
    """TOST: p that the true difference lies outside of plus or minus `margin`."""
    se = difference.se
    if not se > 0:
        return 1.0 if abs(difference.value) >= margin else 0.0
    below = norm.sf((difference.value + margin) / se)
    above = norm.sf((margin - difference.value) / se)
    return float(max(below, above))


def unpaired_p(first: Estimate, second: Estimate) -> float:
    """The z-test that ignores the pairing, to be shown beside the right one."""
    spread = math.hypot(first.se, second.se)
    return float(2 * norm.sf(abs(first.value - second.value) / spread)) if spread else 1.0


def effect_difference(
    first: Floats, second: Floats, side: NDArray[np.int64], how: Resampling = USUAL
) -> Estimate:
    """Effect size of `second` less that of `first`, both over the same words.

    `side` is 0 for a word of X and 1 for one of Y; scores should be standardised, so that two
    models can exchange theirs. The interval resamples words within their sets; p exchanges the
    two runs' scores word by word at random.
    """
    scores = np.stack([first, second])
    value = _d(scores[1], side) - _d(scores[0], side)
    rng = np.random.default_rng(how.seed)
    draws, flips = [], []
    halves = [np.flatnonzero(side == k) for k in (0, 1)]
    for _ in range(how.draws // 5):
        drawn = np.concatenate([rng.choice(h, len(h)) for h in halves])
        draws.append(_d(scores[1][drawn], side[drawn]) - _d(scores[0][drawn], side[drawn]))
        swap = rng.random(len(side)) < 0.5
        mixed = np.where(swap, scores[::-1], scores)
        flips.append(_d(mixed[1], side) - _d(mixed[0], side))
    finite = np.array(draws)[np.isfinite(draws)]
    low, high = (float(v) for v in np.quantile(finite, [how.tail, 1 - how.tail]))
    p = float((np.sum(np.abs(flips) >= abs(value)) + 1) / (len(flips) + 1))
    method, se = "paired bootstrap over words", float(finite.std(ddof=1))
    return Estimate(value, low, high, how.level, method, len(side), 0.0, p, se)


def standardised(scores: Floats) -> Floats:
    """Scores with mean 0 and standard deviation 1."""
    values = np.asarray(scores, float)
    return (values - values.mean()) / values.std(ddof=1)


def _d(scores: Floats, side: NDArray[np.int64]) -> float:
    try:
        return effect_size(scores[side == 0], scores[side == 1])
    except DataError:
        return float("nan")
