"""Intervals of shares and means: Wilson's with a design effect, and Student's, over clusters.

A mean is a sum of weighted values; the influence of an item is weight x (value - mean). A share has
the interval of Wilson (1927) with n divided by the design effect (Korn and Graubard 1998) and the
quantile of t for the clusters' degrees of freedom.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unmask.errors import DataError
from unmask.options import Resampling
from unmask.stats.clustering import Codes, Design, Variance, as_design, codes, widest
from unmask.stats.student_t import quantile, upper_tail
from unmask.types import Estimate, Floats

DEFAULTS = Resampling()
MIN_CLUSTERS = 10  # below this nothing is concluded from an interval
# The intra-cluster correlation that is assumed where too few clusters allow an estimate.
ASSUMED_CORRELATION = 0.15


def weights(clusters: Design, macro: bool = False) -> Floats:
    """Items' weights in a mean over items, or over clusters of their means; they add up to 1."""
    number = clusters.clusters
    if not macro:
        return np.full(len(number), 1 / len(number))
    sizes = np.bincount(number).astype(float)
    return 1 / sizes[number] / len(sizes)


def weights_of(design: Design, mask: NDArray[np.bool_], macro: bool = False) -> tuple[Floats, int]:
    """Return the weights [n] of the selected items, 0 for others, and their number of clusters."""

    def compute() -> tuple[Floats, int]:
        part = design if mask.all() else design.chosen(mask)
        weight = np.zeros(len(mask))
        weight[mask] = weights(part, macro)
        return weight, part.count

    return design.memo.get(("weights", macro, mask.tobytes()), len(mask), compute)


def mean_estimate(
    values: Floats,
    clusters: Design | Sequence[Any] | NDArray[Any],
    *,
    ideal: float | None = None,
    macro: bool = False,
    resampling: Resampling = DEFAULTS,
) -> Estimate:
    """A mean with Student's interval over clusters; NaN values do not count."""
    values, design = _counted(values, as_design(clusters))
    weight = weights(design, macro)
    middle = float(weight @ values)
    variance = design.variance(weight * (values - middle), weight)
    return student(middle, variance, len(values), design.count, ideal=ideal, resampling=resampling)


def student(
    value: float,
    variance: Variance,
    n: int,
    clusters: int,
    *,
    ideal: float | None = None,
    resampling: Resampling = DEFAULTS,
    method: str = "t over clusters",
) -> Estimate:
    """A value with Student's interval, and the p of the test against its ideal."""
    details: dict[str, Any] = {"clusters": clusters, "df": variance.df}
    if not variance.value > 0 or variance.df < 1:
        nan = float("nan")
        return Estimate(value, nan, nan, resampling.level, method, n, ideal, None, nan, details)
    se = math.sqrt(variance.value)
    reach = quantile(1 - resampling.tail, variance.df) * se
    inner = quantile(resampling.level, variance.df) * se
    details["inner"] = [value - inner, value + inner]
    p = None if ideal is None else 2 * upper_tail(abs(value - ideal) / se, variance.df)
    return Estimate(
        value, value - reach, value + reach, resampling.level, method, n, ideal, p, se, details
    )


ANYTHING = (-math.inf, math.inf)  # no limit: most statistics can have any value


def bounded(estimate: Estimate, within: tuple[float, float], tested: bool = True) -> Estimate:
    """Clip the interval of an estimate to its possible values.

    p is kept only if the ideal is `tested`: a value that unbiased models scatter around.
    """
    low, high = (min(max(v, within[0]), within[1]) for v in (estimate.low, estimate.high))
    return replace(estimate, low=low, high=high, p=estimate.p if tested else None)


def _counted(values: Floats, design: Design) -> tuple[Floats, Design]:
    values = np.asarray(values, float)
    mask = ~np.isnan(values)
    if not mask.any():
        raise DataError("no items are left to compute a score from.")
    return (values, design) if mask.all() else (values[mask], design.chosen(mask))


# ---------------------------------------------------------------- shares


def wilson(share: float, z2: float) -> tuple[float, float]:
    """Wilson's interval (1927); `z2` is the squared quantile over the number of items."""
    middle = (share + z2 / 2) / (1 + z2)
    reach = math.sqrt(z2) / (1 + z2) * math.sqrt(max(0.0, share * (1 - share)) + z2 / 4)
    return max(0.0, min(share, middle - reach)), min(1.0, max(share, middle + reach))


class ShareVariance(NamedTuple):
    """A share with its possible variances, each with its degrees of freedom.

    The interval uses the largest of them. `smooth` is the share with half an answer added to each
    side, so that its binomial variance is never 0.
    """

    share: float
    smooth: float
    parts: tuple[Variance, ...]

    def wilson(self, level: float) -> tuple[float, float]:
        """Wilson's interval with the effective sample size that the variances imply."""
        tail = (1 - level) / 2
        squares = [quantile(1 - tail, v.df) ** 2 * v.value for v in self.parts]
        return wilson(self.share, max(squares) / (self.smooth * (1 - self.smooth)))

    def tail(self, null: float) -> float:
        """The one-sided p of the score test that Wilson's interval inverts."""
        scale = null * (1 - null) / (self.smooth * (1 - self.smooth))
        away = abs(self.share - null)
        return max(upper_tail(away / math.sqrt(v.value * scale), v.df) for v in self.parts)

    @property
    def widest(self) -> Variance:
        """The variance that gives the widest 95 % interval."""
        return widest(self.parts)

    def mde(self, null: float, level: float, power: float = 0.8) -> float:
        """The minimum detectable difference from `null` at this power."""
        over = self.widest
        se = math.sqrt(over.value * null * (1 - null) / (self.smooth * (1 - self.smooth)))
        return (quantile(1 - (1 - level) / 2, over.df) + quantile(power, over.df)) * se


def share_variance(
    values: Floats,
    weight: Floats,
    over: Variance,
    clusters: Codes,
    strata: Codes,
    trials: Floats,
) -> ShareVariance:
    """The share of weighted values in 0 to 1, with its possible variances.

    Those of independent trials, `over` clusters, and with the correlation that is assumed where few
    clusters have the rarer answer.

    `trials` [n] are the yes-no answers behind a value, such as tokens for accuracy. Where fewer
    than MIN_CLUSTERS clusters hold the rarer answer their correlation cannot be estimated, so
    ASSUMED_CORRELATION is used.
    """
    mask = weight != 0
    values, weight, trials = values[mask], weight[mask], trials[mask]
    clusters, strata = codes(clusters[mask]), codes(strata[mask])
    share = min(1.0, max(0.0, round(math.fsum(weight * values), 14)))
    count = float(trials.sum())
    smooth = (share * count + 0.5) / (count + 1)
    independent = _independent(values, weight, strata, trials)
    sums, sizes = (np.bincount(clusters, weights=w) for w in (values, np.ones(len(values))))
    rarer = int(min(np.count_nonzero(sums > 0), np.count_nonzero(sums < sizes)))
    parts = [Variance(independent * (1.0 if rarer < MIN_CLUSTERS else 0.5), max(count - 1, 1))]
    if over.df >= 1 and over.value > 0:
        parts.append(over)
    if rarer < MIN_CLUSTERS and over.df >= 1:
        mean_size = float((sizes**2).sum() / sizes.sum())
        assumed_effect = 1 + (mean_size - 1) * ASSUMED_CORRELATION * (1 - rarer / MIN_CLUSTERS)
        parts.append(Variance(independent * assumed_effect, over.df))
    return ShareVariance(share, smooth, tuple(parts))


def _independent(values: Floats, weight: Floats, strata: Codes, trials: Floats) -> float:
    """The variance if all trials were independent within strata.

    A half is added to each side of the whole, and spread over the strata by their weight.
    """
    count = np.bincount(strata, weights=trials)
    part = np.bincount(strata, weights=np.abs(weight)) / np.abs(weight).sum()
    smooth = (np.bincount(strata, weights=trials * values) + part / 2) / (count + part)
    return float(np.sum(weight**2 * (smooth * (1 - smooth))[strata] / trials))


def over_clusters(values: Floats, weight: Floats, design: Design, trials: Floats) -> ShareVariance:
    """The share of weighted values, with its variance over the clusters of a design."""
    over = design.variance(weight * (values - float(weight @ values)), weight)
    strata = np.zeros(len(values), np.int64) if design.strata is None else design.strata
    return share_variance(values, weight, over, design.clusters, strata, trials)


def share(
    wins: Floats,
    clusters: Design | Sequence[Any] | NDArray[Any],
    *,
    ideal: float | None = None,
    macro: bool = False,
    resampling: Resampling = DEFAULTS,
) -> Estimate:
    """The percentage of `wins` (1, 0, or a half for a tie) with all that belongs to it.

    Wilson's interval with n over the design effect and t with the clusters' degrees of freedom;
    p against the ideal inverts the same interval. `more`: clusters, df, design effect, and
    the smallest difference from the ideal that the items could have detected.
    """
    wins, design = _counted(wins, as_design(clusters))
    uncertainty = over_clusters(wins, weights(design, macro), design, np.ones(len(wins)))
    return as_percentage(uncertainty, len(wins), design.count, ideal=ideal, resampling=resampling)


def ratio(
    hits: Floats, tries: Floats, clusters: Any, resampling: Resampling = DEFAULTS
) -> Estimate:
    """The percentage of tries that are hits; an item can have several tries."""
    design = as_design(clusters)
    uncertainty = over_clusters(hits / tries, tries / tries.sum(), design, tries)
    return as_percentage(uncertainty, len(hits), design.count, resampling=resampling)


def as_percentage(
    uncertainty: ShareVariance,
    n: int,
    clusters: int,
    *,
    ideal: float | None = None,
    resampling: Resampling = DEFAULTS,
) -> Estimate:
    """A share as an estimate in per cent."""
    if clusters < 2 <= n or n < 2:
        nan, only = float("nan"), {"clusters": clusters, "df": 0.0, "design_effect": None}
        return Estimate(
            100 * uncertainty.share,
            nan,
            nan,
            resampling.level,
            "one cluster",
            n,
            ideal,
            None,
            nan,
            only,
        )
    low, high = uncertainty.wilson(resampling.level)
    variance = uncertainty.widest
    inflated = variance.value * n / (uncertainty.smooth * (1 - uncertainty.smooth))
    details: dict[str, Any] = {"clusters": clusters, "df": variance.df, "design_effect": inflated}
    details["inner"] = (
        [100 * v for v in uncertainty.wilson(2 * resampling.level - 1)]
        if resampling.level > 0.5
        else None
    )
    p = None
    if ideal is not None and 0 < ideal < 100:
        p = min(1.0, 2 * uncertainty.tail(ideal / 100))
        most = max(ideal, 100 - ideal)  # no difference is larger
        details["mde"] = min(most, 100 * uncertainty.mde(ideal / 100, resampling.level))
    value, se = 100 * uncertainty.share, 100 * math.sqrt(variance.value)
    method = "Wilson over clusters" if clusters < n else "Wilson"
    return Estimate(
        value, 100 * low, 100 * high, resampling.level, method, n, ideal, p, se, details
    )
