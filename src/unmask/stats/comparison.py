"""Two runs on the same items: is the difference real?"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from statsmodels.stats.contingency_tables import mcnemar

from unmask.errors import DataError
from unmask.stats.intervals import LEVEL, RESAMPLES, resampled
from unmask.types import Estimate, Floats


def paired_difference(
    first: Floats,
    second: Floats,
    clusters: Sequence[Any] | NDArray[Any],
    *,
    macro: bool = False,
    scale: float = 1.0,
    draws: int = RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """The mean of `second - first` over the same items, with its paired cluster bootstrap.

    p is two-sided from the same clusters: their differences' signs are flipped at random, which
    is exact under the null that neither run is ahead in any cluster.
    """
    first, second = np.asarray(first, float), np.asarray(second, float)
    if len(first) != len(second):
        raise DataError(f"paired items are needed; here are {len(first)} and {len(second)}.")
    difference = scale * (second - first)
    found = resampled(difference, clusters, macro=macro, draws=draws, seed=seed)
    estimate = found.estimate(lambda means: means[:, 0], ideal=0.0)
    p = sign_flip(difference, clusters, macro=macro, draws=draws, seed=seed)
    return Estimate(
        estimate.value,
        estimate.low,
        estimate.high,
        estimate.level,
        "paired " + estimate.method,
        len(first),
        0.0,
        p,
        estimate.more,
    )


def sign_flip(
    difference: Floats,
    clusters: Sequence[Any] | NDArray[Any],
    *,
    macro: bool = False,
    draws: int = RESAMPLES,
    seed: int = 0,
) -> float:
    """Paired permutation test: signs flipped by cluster; exact when there are few clusters."""
    number = np.unique(np.asarray(clusters), return_inverse=True)[1]
    sums = np.bincount(number, weights=difference)
    if macro:
        sums = sums / np.bincount(number).astype(float)
    observed = abs(float(sums.sum()))
    slack = 1e-12 * max(1.0, float(np.abs(sums).sum()))
    count = len(sums)
    if 2**count <= draws:
        every = 1.0 - 2.0 * ((np.arange(2**count)[:, None] >> np.arange(count)) & 1)
        return float(np.mean(np.abs(every @ sums) >= observed - slack))
    rng = np.random.default_rng(seed)
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
    se = difference.more.get("se")
    if not se or math.isnan(se):
        return 1.0 if abs(difference.value) >= margin else 0.0
    below = norm.sf((difference.value + margin) / se)
    above = norm.sf((margin - difference.value) / se)
    return float(max(below, above))


def unpaired_p(first: Estimate, second: Estimate) -> float:
    """The z-test that ignores the pairing, to be shown beside the right one."""
    spread = math.hypot(first.more["se"], second.more["se"])
    return float(2 * norm.sf(abs(first.value - second.value) / spread)) if spread else 1.0


__all__ = [
    "LEVEL", "equivalence", "exact_mcnemar", "paired_difference", "sign_flip", "unpaired_p",
]  # fmt: skip
