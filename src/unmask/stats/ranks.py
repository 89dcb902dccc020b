"""Ranks of models by their distance from the ideal, with intervals (Mogstad et al. 2024).

Differences of all pairs of models are tested at once; a rank's interval counts the models that are
significantly nearer and farther.
"""

import numpy as np
from numpy.typing import NDArray

from unmask.options import Resampling
from unmask.stats.intervals import DEFAULTS
from unmask.types import Floats

Ints = NDArray[np.int64]


def ranks(
    values: Floats, errors: Floats, resampling: Resampling = DEFAULTS
) -> tuple[Floats, Ints, Ints]:
    """Distances of models from 0, and the first and last rank that each may have.

    `values` [models, measures] are estimates less their ideal, `errors` their standard errors. The
    errors of one model's measures are treated as fully correlated, those of two models as
    independent; both make the ranks' intervals wider than the true correlations would. A squared
    distance is the mean of value^2 - error^2, which removes the part due to noise. All pairs of
    models are compared at once, by simulating the largest of their studentised differences. A
    model's first rank counts the models that are surely nearer, its last those not surely farther.
    """
    squares = (values**2 - errors**2).mean(axis=1)
    rng = np.random.default_rng(resampling.seed)
    noise = rng.normal(size=(len(values), 1, resampling.draws))
    moved = errors[:, :, None] * noise
    drawn = (2 * values[:, :, None] * moved + moved**2 - errors[:, :, None] ** 2).mean(axis=1)
    gaps = drawn[:, None] - drawn[None, :]
    spread = np.maximum(gaps.std(axis=2), 1e-12)
    largest = np.abs(gaps / spread[:, :, None]).max(axis=(0, 1))
    reach = float(np.quantile(largest, resampling.level)) * spread
    gap = squares[:, None] - squares[None, :]
    nearer, farther = (gap > reach).sum(axis=1), (gap < -reach).sum(axis=1)
    return np.sqrt(np.maximum(squares, 0.0)), 1 + nearer, len(values) - farther
