"""Does a score grow with size? A slope within families, tested by the orders of their sizes.

The slope is that of scores on the logarithm of the sizes, both centred within each family, so that
families may differ. Under the hypothesis that size does not matter every order of a family's scores
is as likely: p is that of all orders, or of random ones where there are too many (Fisher's
permutation test). The interval is Student's from what is left of the line; fewer than two points
beyond the families and the slope leave none.
"""

import math
from collections.abc import Sequence
from itertools import permutations, product

import numpy as np

from unmask.options import Resampling
from unmask.stats.clustering import Variance, codes
from unmask.stats.intervals import DEFAULTS, student
from unmask.types import Estimate, Floats

MOST_ORDERS = 20_000
FEWEST = 3  # sizes in a family


def growth(
    sizes: Floats, scores: Floats, families: Sequence[str], resampling: Resampling = DEFAULTS
) -> Estimate:
    """The change of a score with each doubling of the size [models], its interval, and p."""
    return slope(np.log2(np.asarray(sizes, float)), scores, families, resampling)


def slope(
    x: Floats, scores: Floats, families: Sequence[str], resampling: Resampling = DEFAULTS
) -> Estimate:
    """The slope of scores on x [models] within families, its interval, and p.

    Families with a single model are ignored; if no family has two, the slope is NaN.
    """
    x, y, family = _within(np.asarray(x, float), np.asarray(scores, float), families)
    n, nan = len(x), float("nan")
    spread = float(x @ x)
    if not spread > 0:
        return Estimate(nan, nan, nan, resampling.level, "no family has two sizes", max(n, 1), 0.0)
    value = float(x @ y) / spread
    free = n - len(np.unique(family)) - 1
    p = _orders(x, y, family, resampling)
    if free < 1:
        return Estimate(value, nan, nan, resampling.level, "too few models", n, 0.0, p)
    residual = float(np.sum((y - value * x) ** 2)) / free
    e = student(
        value, Variance(residual / spread, float(free)), n, n, ideal=0.0, resampling=resampling
    )
    return Estimate(value, e.low, e.high, e.level, "t within families", n, 0.0, p, e.se)


def _within(
    x: Floats, y: Floats, families: Sequence[str]
) -> tuple[Floats, Floats, "np.ndarray[tuple[int], np.dtype[np.int64]]"]:
    """Values less their family's mean, of families with several sizes."""
    family = codes(np.array(list(families), object))
    count = np.bincount(family)
    mask = (count > 1)[family]
    family = codes(family[mask])
    x, y = x[mask], y[mask]
    size = np.bincount(family) if len(family) else np.ones(0)
    centred = [v - (np.bincount(family, weights=v) / size)[family] for v in (x, y)]
    return centred[0], centred[1], family


def _orders(x: Floats, y: Floats, family: "np.ndarray", resampling: Resampling) -> float:
    """Two-sided permutation p: the share of orders within families with as steep a slope."""
    groups = [np.flatnonzero(family == f) for f in np.unique(family)]
    observed = abs(float(x @ y)) - 1e-9
    if math.prod(math.factorial(len(g)) for g in groups) <= MOST_ORDERS:
        sums = [[float(x[g] @ y[g[list(o)]]) for o in permutations(range(len(g)))] for g in groups]
        slopes = np.array([sum(parts) for parts in product(*sums)])
        return float(np.mean(np.abs(slopes) >= observed))
    rng = np.random.default_rng(resampling.seed)
    total = np.zeros(MOST_ORDERS)
    for g in groups:
        total += y[g][np.argsort(rng.random((MOST_ORDERS, len(g))), axis=1)] @ x[g]
    return float((np.sum(np.abs(total) >= observed) + 1) / (MOST_ORDERS + 1))
