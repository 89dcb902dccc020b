"""The preference for a group's word in each unit of a design, by partial pooling.

Empirical Bayes over the units; the variance between units is its posterior mean under a flat prior
on the standard deviation (Gelman 2006). See `crossed.py` for the model.
"""

import math

import numpy as np

from unmask.stats.clustering import Variance
from unmask.stats.crossed import Crossed, WordPreference
from unmask.types import Floats

POOLED_UNITS = 3  # fewer units of both groups are not pooled
GRID = 200  # standard deviations between units that the posterior is summed over


def word_preference(crossed: Crossed, scores: Floats) -> WordPreference:
    """The word preference of each unit, by partial pooling."""
    gaps = np.bincount(crossed.unit, weights=crossed.contrast * scores)
    noise = sampling_noise(crossed, scores)
    if crossed.both.sum() < POOLED_UNITS:
        shares = crossed.both.astype(float)
        pooled = np.zeros(len(gaps))
        return WordPreference(shares * gaps, shares, pooled, Variance(0.0, 1.0), noise)
    between = between_units(gaps[crossed.both], noise[crossed.both])
    shares, pooled = np.zeros(len(gaps)), np.zeros(len(gaps))
    shares[crossed.both] = between / (between + noise[crossed.both])
    pooled[crossed.both] = 1 / (between + noise[crossed.both])
    pooled /= pooled.sum()
    values = shares * gaps + (1 - shares) * float(pooled @ gaps)
    df = float(crossed.both.sum() - 1)
    return WordPreference(values, shares, pooled, Variance(between, df), noise)


def sampling_noise(crossed: Crossed, scores: Floats) -> Floats:
    """Sampling variance of each unit's own word preference; infinite without both groups.

    Items of a cluster are equally correlated. Where a writer has items about both groups, what
    they have in common cancels.
    """
    residuals = scores - crossed.means(scores)[crossed.cell]
    squares = float(np.sum(residuals**2))
    free = max(1, len(scores) - len(crossed.cell_size))
    sums = np.bincount(crossed.design.clusters, weights=residuals)
    neighbours = float(np.mean(crossed.cluster_size[crossed.design.clusters])) - 1
    correlation = 0.0
    if squares > 0 and neighbours > 0:
        correlation = min(1.0, max(0.0, (float(np.sum(sums**2)) / squares - 1) / neighbours))
    squares_by_unit = np.bincount(crossed.unit, weights=crossed.contrast**2)
    noise = (
        squares
        / free
        * ((1 - correlation) * squares_by_unit + correlation * crossed.contrast_by_cluster)
    )
    return np.where(crossed.both, noise, np.inf)


def between_units(gaps: Floats, noise: Floats) -> float:
    """The posterior mean of the variance between units under a flat prior on its root."""
    top = 4 * math.sqrt(float(np.var(gaps) + np.mean(noise))) + 1e-12
    spread = np.linspace(top / (2 * GRID), top, GRID)
    precision = 1 / (noise[None] + spread[:, None] ** 2)
    total = precision.sum(1)
    centre = (precision * gaps).sum(1) / total
    misfit = (precision * (gaps[None] - centre[:, None]) ** 2).sum(1)
    log_density = 0.5 * (np.log(precision).sum(1) - misfit - np.log(total))
    density = np.exp(log_density - log_density.max())
    return float(density @ spread**2 / density.sum())
