"""Ranks of models by their distance from the ideal, with intervals (Mogstad et al. 2024)."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from unmask.options import Resampling
from unmask.stats.intervals import DEFAULTS
from unmask.stats.multiplicity import moved_alike
from unmask.types import Floats

Ints = NDArray[np.int64]


def ranks(
    values: Floats,
    errors: Floats,
    pulls: Sequence[Mapping[str, float]],
    resampling: Resampling = DEFAULTS,
) -> tuple[Floats, Ints, Ints]:
    """Distances of models from 0, and the first and last rank that each may have.

    `values` [models, measures] are estimates less their ideal, `errors` their standard errors;
    `pulls`, in the order of both, how far each cluster moves an estimate, so that models on the
    same items move together. The square of a distance is the mean of value^2 - error^2: what noise
    alone adds is taken off. All pairs of models are compared at once (the largest of their
    studentised differences, by a multiplier bootstrap); a model's first rank counts those that are
    surely nearer, its last those that are not surely farther.
    """
    squares = (values**2 - errors**2).mean(axis=1)
    rng = np.random.default_rng(resampling.seed)
    noise = moved_alike(pulls) @ rng.normal(size=(values.size, resampling.draws))
    moved = errors[:, :, None] * noise.reshape(*values.shape, -1)
    drawn = (2 * values[:, :, None] * moved + moved**2 - errors[:, :, None] ** 2).mean(axis=1)
    apart = drawn[:, None] - drawn[None, :]
    spread = np.maximum(apart.std(axis=2), 1e-12)
    largest = np.abs(apart / spread[:, :, None]).max(axis=(0, 1))
    reach = float(np.quantile(largest, resampling.level)) * spread
    gap = squares[:, None] - squares[None, :]
    nearer, farther = (gap > reach).sum(axis=1), (gap < -reach).sum(axis=1)
    return np.sqrt(np.maximum(squares, 0.0)), 1 + nearer, len(values) - farther
