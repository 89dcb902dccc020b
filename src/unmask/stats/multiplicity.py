"""Families of estimates: corrected p-values, and values shrunken to their common mean."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from unmask.types import Estimate, Floats


def corrected(p: Sequence[float], method: Literal["holm", "bh"] = "holm") -> Floats:
    """Corrected p-values of one family, in the given order; NaN marks a missing test and stays NaN.

    By hand: statsmodels collects garbage at every call, which costs a third of a second.
    """
    raw = np.asarray(p, float)
    out = np.full(len(raw), np.nan)
    tested = np.flatnonzero(np.isfinite(raw))
    order = tested[np.argsort(raw[tested], kind="stable")]
    size = len(order)
    if method == "holm":
        out[order] = np.maximum.accumulate(raw[order] * (size - np.arange(size)))
    else:
        scaled = raw[order] * size / (1 + np.arange(size))
        out[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    return np.minimum(out, 1.0)


def with_shrunken(estimates: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """The categories of one score, each with its `shrunken` value in the details."""
    values = np.array([e.value for e in estimates.values()])
    means = shrunken(values, _variances(list(estimates.values())))
    return {
        name: replace(e, more={**e.more, "shrunken": float(mean)})
        for (name, e), mean in zip(estimates.items(), means, strict=True)
    }


def _variances(estimates: Sequence[Estimate]) -> Floats:
    """The variance that each would have by its number of items alone, [k].

    Its own would weigh most a category that stands at 50.0 because one side is at 100 and the
    other at 0: that has hardly any variance, and says the least.
    """
    n = np.array([e.n for e in estimates], float)
    own = np.array([e.se for e in estimates]) ** 2
    known = np.isfinite(own) & (own > 0)
    if not known.any():
        return own
    return np.where(known, float(np.mean(own[known] * n[known])) / n, np.nan)


def shrunken(values: Floats, variances: Floats) -> Floats:
    """Empirical Bayes: each value drawn to the common mean as far as it is noise.

    The variance between categories is DerSimonian and Laird's; a category without a variance of
    its own is left as it is.
    """
    known = np.isfinite(variances) & (variances > 0)
    if known.sum() < 3:
        return values
    v, w = variances[known], 1 / variances[known]
    mean = float(w @ values[known] / w.sum())
    q = float(w @ (values[known] - mean) ** 2)
    between = max(0.0, (q - (len(v) - 1)) / (w.sum() - (w**2).sum() / w.sum()))
    star = 1 / (v + between)
    centre = float(star @ values[known] / star.sum())
    out = values.astype(float).copy()
    out[known] = centre + between / (between + v) * (values[known] - centre)
    return out
