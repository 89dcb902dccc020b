"""Intervals: cluster bootstrap, Wilson, and the smallest difference a sample could detect."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint

from unmask.errors import DataError
from unmask.options import Resampling
from unmask.types import Estimate, Floats

USUAL = Resampling()


def codes(clusters: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
    """Clusters as numbers from 0, in the order of their names."""
    return np.unique(np.asarray(clusters), return_inverse=True)[1].astype(np.int64)


def resample(sums: Floats, how: Resampling) -> Floats:
    """Bootstrap over rows: the column sums of `how.draws` resamples [draws, k] of `sums` [c, k].

    Only how often each row came is needed, so all resamples together are one matrix product.
    """
    rng = np.random.default_rng(how.seed)
    count, draws = len(sums), how.draws
    out = np.empty((draws, sums.shape[1]))
    block = max(1, 2_000_000 // count)
    lanes = np.arange(block)[:, None] * count
    for start in range(0, draws, block):
        size = min(block, draws - start)
        drawn = rng.integers(count, size=(size, count)) + lanes[:size]
        weights = np.bincount(drawn.ravel(), minlength=size * count).reshape(size, count)
        out[start : start + size] = weights.astype(float) @ sums
    return out


@dataclass(frozen=True, slots=True)
class Resampled:
    """Means of some columns, as observed [k] and in each resample [draws, k].

    `spread` is the variance of each mean if the items were independent.
    """

    point: Floats
    draws: Floats
    items: int
    clusters: int
    spread: Floats
    level: float

    def estimate(
        self, statistic: Callable[[Floats], Floats], *, ideal: float | None = None
    ) -> Estimate:
        """A statistic of the means [draws, k] -> [draws], with its percentile interval."""
        value = float(statistic(self.point[None])[0])
        values = statistic(self.draws)
        values = values[np.isfinite(values)]
        low = high = se = float("nan")
        if self.clusters > 1 and len(values) > 1:
            tail = (1 - self.level) / 2
            low, high = (float(v) for v in np.quantile(values, [tail, 1 - tail]))
            se = float(values.std(ddof=1))
        method = "cluster bootstrap" if self.clusters < self.items else "bootstrap"
        more = {"clusters": self.clusters}
        return Estimate(value, low, high, self.level, method, self.items, ideal, None, se, more)


def resampled(
    columns: Floats,
    clusters: Sequence[Any] | NDArray[Any],
    *,
    macro: bool = False,
    how: Resampling = USUAL,
) -> Resampled:
    """Resample clusters of items. `columns` [n, k]; NaN means that a column does not count there.

    `macro`: the mean over clusters of the cluster means, else the mean over items.
    """
    if not len(columns):
        raise DataError("no items are left to compute a score from.")
    columns = np.asarray(columns, float).reshape(len(columns), -1)
    counted = ~np.isnan(columns)
    width = columns.shape[1]
    number = codes(clusters)
    units = np.zeros((int(number.max()) + 1, 2 * width))
    np.add.at(units, number, np.column_stack([np.nan_to_num(columns), counted]))
    if macro:
        some = units[:, width:] > 0
        means = np.divide(units[:, :width], units[:, width:], where=some, out=np.zeros(some.shape))
        units = np.column_stack([means, some])
    with np.errstate(invalid="ignore", divide="ignore"):
        point = units[:, :width].sum(0) / units[:, width:].sum(0)
        sums = resample(units, how)
        drawn = sums[:, :width] / sums[:, width:]
    filled = np.where(counted, columns, np.nan)
    n = counted.sum(0)
    spread = np.array([np.nanvar(c) if k else np.nan for c, k in zip(filled.T, n, strict=True)])
    return Resampled(point, drawn, len(columns), len(units), spread / np.maximum(n, 1), how.level)


def first(means: Floats) -> Floats:
    """The mean of the first column."""
    return means[:, 0]


def bootstrap(
    columns: Floats,
    clusters: Sequence[Any] | NDArray[Any],
    statistic: Callable[[Floats], Floats] = first,
    *,
    ideal: float | None = None,
    macro: bool = False,
    how: Resampling = USUAL,
) -> Estimate:
    """A statistic of column means with its percentile cluster-bootstrap interval."""
    found = resampled(columns, clusters, macro=macro, how=how)
    return found.estimate(statistic, ideal=ideal)


def wilson(wins: float, n: int, level: float = USUAL.level) -> tuple[float, float]:
    """Wilson's score interval of a percentage, items taken as independent."""
    low, high = proportion_confint(wins, n, alpha=1 - level, method="wilson")
    return 100 * float(low), 100 * float(high)


def as_share(found: Resampled, column: int, wins: Floats, ideal: float | None = None) -> Estimate:
    """A column of wins (1, 0, or a half for a tie) as a percentage with all that belongs to it.

    `more`: Wilson's interval, the design effect (how much the clusters inflate the variance) and
    the smallest difference from the ideal that the items could have detected. Where resampling
    cannot say anything (one cluster, or all wins alike), Wilson's interval is taken.
    """
    estimate = found.estimate(lambda means: 100 * means[:, column], ideal=ideal)
    wins = wins[~np.isnan(wins)]
    low, high = wilson(float(wins.sum()), len(wins), found.level)
    se, spread = estimate.se, float(found.spread[column])
    known = se > 0  # neither NaN nor a spread of 0
    more = {
        **estimate.more,
        "wilson": [low, high],
        "design_effect": (se / 100) ** 2 / spread if known and spread else None,
        "detectable": detectable(se, estimate.level) if known else None,
    }
    estimate = replace(estimate, n=len(wins), more=more)
    if np.isnan(estimate.low) or wins.min() == wins.max():
        return replace(estimate, low=low, high=high, method="wilson")
    return estimate


def share(
    wins: Floats,
    clusters: Sequence[Any] | NDArray[Any],
    *,
    ideal: float | None = None,
    macro: bool = False,
    how: Resampling = USUAL,
) -> Estimate:
    """The percentage of `wins`, clustered."""
    wins = np.asarray(wins, float)
    return as_share(resampled(wins, clusters, macro=macro, how=how), 0, wins, ideal)


def detectable(se: float, level: float = USUAL.level, power: float = 0.8) -> float:
    """The smallest difference from a fixed value found with this power at this level."""
    return float((norm.ppf(1 - (1 - level) / 2) + norm.ppf(power)) * se)
