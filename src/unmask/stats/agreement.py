"""Agreement: with people (ROC), between measures (correlation), of a measure with itself."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.stats import norm, rankdata, spearmanr

from unmask.errors import DataError
from unmask.options import Resampling
from unmask.stats.intervals import USUAL
from unmask.types import Estimate, Floats


def _placements(labels: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """DeLong's structural components: one for each positive and each negative."""
    positive, negative = scores[labels > 0], scores[labels <= 0]
    m, n = len(positive), len(negative)
    joint = rankdata(np.concatenate([positive, negative]))
    for_positive = (joint[:m] - rankdata(positive)) / n
    for_negative = 1 - (joint[m:] - rankdata(negative)) / m
    return for_positive, for_negative


def auc(labels: Floats, scores: Floats, how: Resampling = USUAL) -> Estimate:
    """Area under the ROC curve with DeLong's interval; 0.5 is chance.

    `labels` are 0 or 1 (people find the item biased), `scores` a measure's.
    """
    labels, scores = np.asarray(labels, float), np.asarray(scores, float)
    kept = np.isfinite(scores)
    labels, scores = labels[kept], scores[kept]
    if len(set(labels > 0)) < 2:
        raise DataError("an ROC curve needs items of both kinds; all have the same label.")
    positive, negative = _placements(labels, scores)
    value = float(positive.mean())
    variance = positive.var(ddof=1) / len(positive) + negative.var(ddof=1) / len(negative)
    reach = float(norm.ppf(1 - how.tail) * np.sqrt(variance))
    p = float(2 * norm.sf(abs(value - 0.5) / np.sqrt(variance))) if variance > 0 else 1.0
    low, high = max(0.0, value - reach), min(1.0, value + reach)
    se, more = float(np.sqrt(variance)), {"positives": len(positive)}
    return Estimate(value, low, high, how.level, "DeLong", len(labels), 0.5, p, se, more)


def auc_difference(
    labels: Floats, first: Floats, second: Floats, how: Resampling = USUAL
) -> Estimate:
    """AUC of `second` less that of `first` on the same items, by DeLong's paired test."""
    labels = np.asarray(labels, float)
    one, two = _placements(labels, np.asarray(first)), _placements(labels, np.asarray(second))
    value = float(two[0].mean() - one[0].mean())
    parts = [np.var(b - a, ddof=1) / len(a) for a, b in zip(one, two, strict=True)]
    se = float(np.sqrt(sum(parts)))
    reach = float(norm.ppf(1 - how.tail) * se)
    p = float(2 * norm.sf(abs(value) / se)) if se > 0 else 1.0
    low, high = value - reach, value + reach
    return Estimate(value, low, high, how.level, "paired DeLong", len(labels), 0.0, p, se)


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


def correlation(x: Floats, y: Floats, kind: str = "pearson", how: Resampling = USUAL) -> Estimate:
    """Correlation with Fisher's interval (Bonett and Wright's for ranks); n says how little.

    With fewer than 4 pairs there is no interval.
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    kept = np.isfinite(x) & np.isfinite(y)
    x, y, n = x[kept], y[kept], int(kept.sum())
    if n < 2 or x.std() == 0 or y.std() == 0:
        return Estimate(float("nan"), float("nan"), float("nan"), how.level, kind, max(n, 1), 0.0)
    if kind == "spearman":
        value = float(spearmanr(x, y).statistic)
        se = np.sqrt((1 + value**2 / 2) / (n - 3)) if n > 3 else np.nan
    else:
        value = float(np.corrcoef(x, y)[0, 1])
        se = 1 / np.sqrt(n - 3) if n > 3 else np.nan
    z = np.arctanh(np.clip(value, -0.9999999, 0.9999999))
    reach = norm.ppf(1 - how.tail) * se
    p = float(2 * norm.sf(abs(z) / se)) if n > 3 else None
    low, high = float(np.tanh(z - reach)), float(np.tanh(z + reach))
    return Estimate(value, low, high, how.level, kind, n, 0.0, p)


def correlations(columns: Mapping[str, Floats], kind: str = "pearson") -> pd.DataFrame:
    """All pairs of columns: value, interval, n and p, one row a pair."""
    names = list(columns)
    rows = []
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            found = correlation(columns[a], columns[b], kind)
            line = {"a": a, "b": b, "r": found.value, "low": found.low, "high": found.high}
            rows.append(line | {"n": found.n, "p": found.p})
    return pd.DataFrame(rows)


def split_half(scores: Floats, splits: int = 200, how: Resampling = USUAL) -> Estimate:
    """Split-half reliability with Spearman-Brown: items [n, k] scored under k conditions.

    Items are split at random; the k means of the halves are correlated. The interval is that of
    the splits.
    """
    scores = np.asarray(scores, float)
    if scores.ndim != 2 or scores.shape[1] < 3:
        raise DataError("split-half reliability needs at least 3 conditions (models or seeds).")
    rng = np.random.default_rng(how.seed)
    values = []
    for _ in range(splits):
        order = rng.permutation(len(scores))
        half = len(scores) // 2
        one, two = scores[order[:half]].mean(0), scores[order[half:]].mean(0)
        r = np.corrcoef(one, two)[0, 1]
        values.append(2 * r / (1 + r))
    low, high = (float(v) for v in np.quantile(values, [how.tail, 1 - how.tail]))
    value = float(np.mean(values))
    return Estimate(value, low, high, how.level, "split half", len(scores), 1.0)


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


def test_retest(scores: Sequence[Floats]) -> float:
    """Mean correlation of item scores between repetitions (seeds or checkpoints)."""
    found = [np.corrcoef(a, b)[0, 1] for i, a in enumerate(scores) for b in list(scores)[i + 1 :]]
    if not found:
        raise DataError("test-retest reliability needs at least two repetitions.")
    return float(np.mean(found))
