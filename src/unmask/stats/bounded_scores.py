"""Margins as bounded scores: robust to outliers, with the mean and variance of a location.

See `crossed.py` for cells and target groups. Bounding about a location is Huber's (1964).
"""

import numpy as np

from unmask.stats.clustering import Codes, codes
from unmask.stats.crossed import Crossed
from unmask.types import Floats

MOST_TIED = 0.1  # most items with one and the same margin; a yes or no has two values
LEAST_SPREAD = 8  # fewest items whose spread is estimated apart from others
INNER = 0.7  # share of the distances from a cell's location that lie within the bound
NORMAL_BOUND = 1.0364  # that quantile of normal distances, in standard deviations
STEPS = 40  # of the iteration that finds the locations


def bounded_scores(crossed: Crossed, margins: Floats) -> tuple[Floats, float]:
    """Margins as bounded scores in robust standard deviations, and that unit.

    Each cell has Huber's (1964) location, whose bound is the INNER quantile of the distances
    within its target group. A score is the location plus the bounded distance over the share of
    distances within the bound: the mean of the scores of a cell is its location, and their
    variance is that of the location. Margins of few values, such as yes and no, are kept as
    they are.
    """
    counts = np.unique(margins, return_counts=True)[1]
    if counts.max() > max(2, MOST_TIED * len(margins)):  # a quantile of few values says nothing
        unit = float(np.std(margins - crossed.means(margins)[crossed.cell])) or 1.0
        return margins / unit, unit
    spread = _spread_groups(crossed)
    size = np.bincount(spread)
    middle, bound = crossed.means(margins), np.zeros(len(size))
    for step in range(STEPS):
        away = margins - middle[crossed.cell]
        if step < STEPS // 2:
            bound = _quantiles(np.abs(away), spread, size)
        bounded = np.clip(away, -bound[spread], bound[spread])
        middle = middle + np.bincount(crossed.cell, weights=bounded) / crossed.cell_size
    away = margins - middle[crossed.cell]
    limit = bound[spread]
    unit = float(np.median(limit)) / NORMAL_BOUND or float(np.std(away)) or 1.0
    within = np.abs(away) <= limit * (1 + 1e-9)
    inside = np.maximum(np.bincount(spread, weights=within) / size, 0.1)[spread]
    return (middle[crossed.cell] + np.clip(away, -limit, limit) / inside) / unit, unit


def _spread_groups(crossed: Crossed) -> Codes:
    """Items whose spread is estimated together: a target group, or the rest of a category."""
    size = np.bincount(crossed.stratum)[crossed.stratum]
    rest = int(crossed.stratum.max()) + 1 + crossed.category
    return codes(np.where(size >= LEAST_SPREAD, crossed.stratum, rest))


def _quantiles(distances: Floats, group: Codes, size: Codes) -> Floats:
    """The INNER quantile of the distances in each group, interpolated linearly."""
    ordered = distances[np.lexsort((distances, group))]
    place = INNER * (size - 1)
    below = np.floor(place).astype(np.int64)
    first = np.cumsum(size) - size + below
    after = np.minimum(first + 1, np.cumsum(size) - 1)
    return np.asarray(ordered[first] + (place - below) * (ordered[after] - ordered[first]))
