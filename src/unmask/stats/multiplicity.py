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


def together(estimates: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Categories of one score, each with `p_holm` over all of them and its `shrunken` value."""
    names = list(estimates)
    p = corrected([np.nan if e.p is None else e.p for e in estimates.values()])
    values = np.array([e.value for e in estimates.values()])
    pulled = shrunken(values, np.array([e.se for e in estimates.values()]) ** 2)
    return {
        name: replace(
            estimates[name],
            more={
                **estimates[name].more,
                "p_holm": None if np.isnan(p[i]) else float(p[i]),
                "shrunken": float(pulled[i]),
            },
        )
        for i, name in enumerate(names)
    }


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
