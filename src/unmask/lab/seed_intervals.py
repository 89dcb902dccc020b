"""Intervals over seeds: the variation between worlds of the same kind.

Seeds are blocks: all cells of a grid share a seed's world, so every interval resamples whole seeds.
A statistic is a function of weights, with one row of weights per resample; the first row is all
ones.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy import stats

from unmask.types import Estimate, Floats

Weighted: TypeAlias = Callable[[Floats], Floats]  # weights [draws, rows] to values [draws]
DRAWS = 2000
LEVEL = 0.95


def resampled(
    seeds: Any, seed: int = 0, draws: int = DRAWS, carriers: set[Any] | None = None
) -> Floats:
    """Return weights of rows [1 + draws, rows]: all ones, then whole seeds drawn with replacement.

    `carriers` are resampled among themselves, and the other seeds among themselves.
    """
    names, index = np.unique(np.asarray(seeds), return_inverse=True)
    rng = np.random.default_rng(seed)
    kind = np.array([carriers is not None and n in carriers for n in names.tolist()])
    counts = np.zeros((draws, len(names)))
    for stratum in (kind, ~kind):
        if size := int(stratum.sum()):
            counts[:, stratum] = rng.multinomial(size, np.full(size, 1 / size), size=draws)
    return np.vstack([np.ones(len(names)), counts])[:, index].astype(float)


def estimate(values: Floats, n: int, method: str = "bootstrap over seeds, t") -> Estimate:
    """Return the first value, with the spread of the others and Student's quantile for n seeds.

    Quantiles of so few resampled seeds would be too narrow. One seed gives no interval.
    """
    value, replicates = float(values[0]), values[1:][np.isfinite(values[1:])]
    if n < 2 or len(replicates) < 10 or not np.isfinite(value):
        return Estimate(value, np.nan, np.nan, LEVEL, method, n)
    spread = float(replicates.std()) * np.sqrt(n / (n - 1))
    half = float(stats.t.ppf((1 + LEVEL) / 2, n - 1)) * spread
    return Estimate(value, value - half, value + half, LEVEL, method, n)


def on_log_scale(values: Floats, n: int) -> Estimate:
    """As `estimate` for positive values, with an interval on the log scale."""
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = estimate(np.log(values), n, "bootstrap over seeds, t, of the logarithm")
    value, low, high = (float(np.exp(v)) for v in (logs.value, logs.low, logs.high))
    return Estimate(value, low, high, LEVEL, logs.method, n)


def fieller(over: Floats, under: Floats, n: int) -> Estimate:
    """Return a ratio with Fieller's interval (1954), from resamples and Student's t for n seeds.

    If the denominator could be 0, the ratio is unbounded, and there is no interval.
    """
    a, b = float(over[0]), float(under[0])
    method = "Fieller, bootstrap over seeds"
    finite = np.isfinite(over[1:]) & np.isfinite(under[1:])
    if n < 2 or finite.sum() < 10 or not np.isfinite(a) or not b:
        return Estimate(a / b if b else np.nan, np.nan, np.nan, LEVEL, method, n)
    table = np.cov(over[1:][finite], under[1:][finite]) * n / (n - 1)
    t2 = float(stats.t.ppf((1 + LEVEL) / 2, n - 1)) ** 2
    square, line, constant = (
        b * b - t2 * table[1, 1],
        a * b - t2 * table[0, 1],
        a * a - t2 * table[0, 0],
    )
    inside = line**2 - square * constant
    if square <= 0 or inside < 0:
        return Estimate(a / b, np.nan, np.nan, LEVEL, method, n)
    ends = sorted((line + s * np.sqrt(inside)) / square for s in (-1, 1))
    return Estimate(a / b, float(ends[0]), float(ends[1]), LEVEL, method, n)


def mean(x: Any) -> Weighted:
    """The weighted mean of a column."""
    column = np.asarray(x, float)
    return lambda w: (w @ column) / w.sum(1)


def slope(x: Any, y: Any) -> Weighted:
    """The least-squares slope of y on x; NaN where a resample has one x only."""
    a, b = np.asarray(x, float), np.asarray(y, float)

    def of(w: Floats) -> Floats:
        total = np.maximum(w.sum(1), 1e-9)  # a resample may have none of these rows
        mx, my = (w @ a) / total, (w @ b) / total
        over = (w @ (a * b)) / total - mx * my
        under = (w @ (a * a)) / total - mx**2
        return np.asarray(np.where(under > 1e-9, over / np.where(under > 1e-9, under, 1), np.nan))

    return of
