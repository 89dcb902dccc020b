"""Agreement: with people (ROC), between measures (correlation), of a measure with itself.

The area under the ROC curve has DeLong's (1988) interval on the logit scale, over clusters as in
Obuchowski (1997). Correlations have Fisher's interval, ranks that of Bonett and Wright (2000); with
few points p is exact, over all orders. Reliability is split-half, stepped up by Spearman and Brown.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import mannwhitneyu, norm, pearsonr, rankdata, t

from unmask.errors import DataError
from unmask.options import Resampling
from unmask.stats.clustering import Variance, codes
from unmask.stats.effects import jackknife
from unmask.stats.intervals import DEFAULTS, student
from unmask.types import Estimate, Floats


def _placements(labels: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """DeLong's structural components: one for each positive and each negative."""
    positive, negative = scores[labels > 0], scores[labels <= 0]
    m, n = len(positive), len(negative)
    joint = rankdata(np.concatenate([positive, negative]))
    for_positive = (joint[:m] - rankdata(positive)) / n
    for_negative = 1 - (joint[m:] - rankdata(negative)) / m
    return for_positive, for_negative


def auc(
    labels: Floats,
    scores: Floats,
    clusters: Sequence[Any] | NDArray[Any] | None = None,
    resampling: Resampling = DEFAULTS,
) -> Estimate:
    """Area under the ROC curve; 0.5 is chance.

    `labels` are 1 where people find the item biased, else 0; `scores` are those of a measure. The
    interval is DeLong's on the logit scale, with `clusters` as in Obuchowski (1997). If the scores
    separate both classes perfectly, it is Newcombe's (2006), or NaN for clustered items. p is from
    the Mann-Whitney test, or from a t test over clusters.
    """
    labels, scores = np.asarray(labels, float), np.asarray(scores, float)
    finite = np.isfinite(scores)
    labels, scores = labels[finite], scores[finite]
    if len(set(labels > 0)) < 2:
        raise DataError("an ROC curve needs items of both kinds; all have the same label.")
    units = np.arange(len(finite)) if clusters is None else np.asarray(clusters)
    positive, negative = _placements(labels, scores)
    value, m, n = float(positive.mean()), len(positive), len(negative)
    unit = codes(units[finite])
    clustered = int(unit.max()) + 1 < len(labels)
    influence = _pulls(labels, positive, negative)
    variance, df = _over_clusters(influence, unit)
    told_apart = not 0 < value < 1 or not variance > 0
    bounds = (
        _newcombe(value, m, n, resampling)
        if told_apart
        else _logit(value, variance, df, resampling)
    )
    method = "Newcombe" if told_apart else "DeLong, logit"
    p: float | None = float(mannwhitneyu(scores[labels > 0], scores[labels <= 0]).pvalue)
    if clustered:  # Mann and Whitney take items as independent
        usable = not told_apart and df > 0
        p = float(2 * t.sf(abs(value - 0.5) / np.sqrt(variance), df)) if usable else None
        bounds = bounds if usable else (float("nan"), float("nan"))
    se = float(np.sqrt(variance)) if variance > 0 else float("nan")
    return Estimate(value, *bounds, resampling.level, method, m + n, 0.5, p, se, {"positives": m})


def _pulls(labels: Floats, positive: Floats, negative: Floats) -> Floats:
    """How far each item moves the area."""
    influence = np.empty(len(labels))
    for part, mask in ((positive, labels > 0), (negative, labels <= 0)):
        influence[mask] = (part - part.mean()) / np.sqrt(len(part) * max(len(part) - 1, 1))
    return influence


def _over_clusters(influence: Floats, clusters: NDArray[np.int64]) -> tuple[float, float]:
    """The variance of a sum of influence, added up by cluster, and its degrees of freedom."""
    sums = np.bincount(clusters, weights=influence)
    count = len(sums)
    if count == len(influence):
        return float((sums**2).sum()), np.inf
    if count < 2:
        return float("nan"), 0.0
    weights = np.bincount(clusters).astype(float)
    effective = float(weights.sum() ** 2 / (weights**2).sum())
    return float((sums**2).sum()) * count / (count - 1), max(effective - 1, 1.0)


def _logit(value: float, variance: float, df: float, resampling: Resampling) -> tuple[float, float]:
    reach = t.ppf(1 - resampling.tail, df) * np.sqrt(variance) / (value * (1 - value))
    return float(expit(logit(value) - reach)), float(expit(logit(value) + reach))


def _newcombe(value: float, m: int, n: int, resampling: Resampling) -> tuple[float, float]:
    """Newcombe's interval: the areas from which `value` is just z standard errors away."""
    z2, half = norm.ppf(1 - resampling.tail) ** 2, (m + n) / 2

    def beyond(area: float) -> float:
        correction = (1 - area) / (2 - area) + area / (1 + area)
        return (value - area) ** 2 - z2 * area * (1 - area) * (1 + (half - 1) * correction) / (
            m * n
        )

    edges = [value, value]
    for k, end in enumerate((1e-9, 1 - 1e-9)):
        start = value + (1e-9 if k else -1e-9)
        if not 0 < start < 1:
            continue  # nothing lies beyond 0 or 1
        edges[k] = (
            float(brentq(beyond, start, end)) if beyond(start) * beyond(end) < 0 else float(k)
        )
    return edges[0], edges[1]


def auc_difference(
    labels: Floats,
    first: Floats,
    second: Floats,
    clusters: Sequence[Any] | NDArray[Any] | None = None,
    resampling: Resampling = DEFAULTS,
) -> Estimate:
    """AUC of `second` less that of `first` on the same items, by DeLong's paired test."""
    labels = np.asarray(labels, float)
    left, right = _placements(labels, np.asarray(first)), _placements(labels, np.asarray(second))
    value = float(right[0].mean() - left[0].mean())
    units = codes(np.arange(len(labels)) if clusters is None else np.asarray(clusters))
    variance, df = _over_clusters(_pulls(labels, *right) - _pulls(labels, *left), units)
    se = float(np.sqrt(variance)) if variance > 0 else 0.0
    reach = float(t.ppf(1 - resampling.tail, df) * se) if se > 0 else float("nan")
    p = float(2 * t.sf(abs(value) / se, df)) if se > 0 else (1.0 if value == 0 else None)
    low, high = value - reach, value + reach
    return Estimate(value, low, high, resampling.level, "paired DeLong", len(labels), 0.0, p, se)


def roc(labels: Floats, scores: Floats) -> pd.DataFrame:
    """The points of an ROC curve: false and true positive rates by threshold."""
    positive, scores = np.asarray(labels) > 0, np.asarray(scores, float)
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)  # ends of ties
    hits = np.cumsum(positive[order])[last]
    misses = last + 1 - hits
    return pd.DataFrame(
        {
            "false": np.append(0, misses / max(misses[-1], 1)),
            "true": np.append(0, hits / max(hits[-1], 1)),
            "threshold": np.append(np.inf, scores[order][last]),
        }
    )


MIN_POINTS = {"pearson": 6, "spearman": 10}  # with fewer points intervals undercover
ALL_ORDERS_UP_TO = 7  # most points for which p is exact


def correlation(
    x: Floats, y: Floats, kind: str = "pearson", resampling: Resampling = DEFAULTS
) -> Estimate:
    """Correlation with Fisher's interval, or Bonett and Wright's for ranks.

    There is no interval below 6 points (10 for ranks), or if all points lie on a line. For up to 7
    points p is exact: it counts all orders of `y`.
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    finite = np.isfinite(x) & np.isfinite(y)
    x, y, n = x[finite], y[finite], int(finite.sum())
    nan = float("nan")
    if n < 3 or x.std() == 0 or y.std() == 0:
        return Estimate(nan, nan, nan, resampling.level, kind, max(n, 1), 0.0)
    if kind == "spearman":
        x, y = rankdata(x), rankdata(y)
    value = float(np.corrcoef(x, y)[0, 1])
    p = _all_orders(x, y) if n <= ALL_ORDERS_UP_TO else float(pearsonr(x, y).pvalue)
    p = max(p, 2 / math.factorial(min(n, 170)))  # of all orders at least two are as extreme
    if n < MIN_POINTS[kind] or abs(value) > 1 - 1e-12:
        return Estimate(value, nan, nan, resampling.level, f"{kind}, no interval", n, 0.0, p)
    se = np.sqrt((1 + value**2 / 2 if kind == "spearman" else 1) / (n - 3))
    z = np.arctanh(np.clip(value, -0.9999999, 0.9999999))
    reach = norm.ppf(1 - resampling.tail) * se
    low, high = float(np.tanh(z - reach)), float(np.tanh(z + reach))
    return Estimate(value, low, high, resampling.level, kind, n, 0.0, p)


def rank_agreement(
    ratings: Floats,
    scores: Floats,
    clusters: Sequence[Any] | NDArray[Any],
    beside: Floats | None = None,
    resampling: Resampling = DEFAULTS,
) -> Estimate:
    """Spearman's correlation of scores with graded ratings [n], or how much it exceeds another's.

    The interval leaves out each cluster in turn (jackknife, Student's t).
    """
    cluster = codes(np.asarray(clusters))

    def value(mask: NDArray[Any]) -> float:
        def rho(values: Floats) -> float:
            ranks = rankdata(ratings[mask]), rankdata(np.asarray(values, float)[mask])
            return float(np.corrcoef(*ranks)[0, 1])

        return rho(scores) - (0.0 if beside is None else rho(beside))

    count = int(cluster.max()) + 1
    without = np.array([value(cluster != k) for k in range(count)])
    variance = Variance(jackknife([without]), count - 1)
    overall, n = value(np.ones(len(cluster), bool)), len(cluster)
    return student(
        overall,
        variance,
        n,
        count,
        ideal=0.0,
        resampling=resampling,
        method="jackknife over clusters",
    )


def _all_orders(x: Floats, y: Floats) -> float:
    """Return the exact p of a correlation, from all orders of `y`."""
    orders = np.array(list(itertools.permutations(range(len(y)))))
    centred = x - x.mean()
    sums = np.abs((y - y.mean())[orders] @ centred)
    return float(np.mean(sums >= abs(float((y - y.mean()) @ centred)) - 1e-12))


def correlations(columns: Mapping[str, Floats], kind: str = "pearson") -> pd.DataFrame:
    """All pairs of columns: value, interval, n and p, one row a pair."""
    names = list(columns)
    rows = []
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            estimate = correlation(columns[a], columns[b], kind)
            line = {"a": a, "b": b, "r": estimate.value, "low": estimate.low, "high": estimate.high}
            rows.append(line | {"n": estimate.n, "p": estimate.p})
    return pd.DataFrame(rows)


def split_half(scores: Floats, splits: int = 200, resampling: Resampling = DEFAULTS) -> Estimate:
    """Split-half reliability with Spearman-Brown: items [n, k] scored under k conditions.

    Items are split at random, the k condition means of both halves are correlated, and the mean
    correlation is stepped up to the full length. A negative mean is stepped up by its absolute
    value, so the result lies between -1 and 1. There is no interval, because the spread over splits
    says nothing about other items.
    """
    scores = np.asarray(scores, float)
    if scores.ndim != 2 or scores.shape[1] < 3:
        raise DataError("split-half reliability needs at least 3 conditions (models or seeds).")
    if len(scores) < 4:
        raise DataError(
            f"split-half reliability needs at least 4 items, and {len(scores)} were given."
        )
    rng = np.random.default_rng(resampling.seed)
    halves = []
    for _ in range(splits):
        order, half = rng.permutation(len(scores)), len(scores) // 2
        left, right = scores[order[:half]].mean(0), scores[order[half:]].mean(0)
        if left.std() > 0 and right.std() > 0:
            halves.append(float(np.corrcoef(left, right)[0, 1]))
    if not halves:
        raise DataError("split-half reliability is 0 / 0: all conditions have the same score.")
    return stepped_up(halves, len(scores), resampling)


def stepped_up(halves: Sequence[float], n: int, resampling: Resampling = DEFAULTS) -> Estimate:
    """Correlations of halves, averaged and stepped up to the whole length (Spearman-Brown)."""
    r, nan = float(np.mean(halves)), float("nan")
    value = float(np.sign(r) * 2 * abs(r) / (1 + abs(r)))
    details = {
        "splits": len(halves),
        "quantiles": [float(v) for v in np.quantile(halves, (0.025, 0.975))],
    }
    return Estimate(value, nan, nan, resampling.level, "split half", n, 1.0, None, nan, details)


def cronbach(scores: Floats) -> float:
    """Cronbach's alpha: `scores` [cases, items]; how far the items measure one thing."""
    scores = np.asarray(scores, float)
    k = scores.shape[1]
    if k < 2:
        raise DataError("Cronbach's alpha needs at least two items.")
    total = scores.sum(1).var(ddof=1)
    if total == 0:
        raise DataError("Cronbach's alpha is 0 / 0: all cases have the same total.")
    return float(k / (k - 1) * (1 - scores.var(axis=0, ddof=1).sum() / total))
