"""Families of estimates: corrected p-values, and values shrunken to their common mean."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from scipy.special import ndtri

from unmask.options import Resampling
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


DRAWS_AT_A_TIME = 1_000


def family_wise(
    p: Sequence[float],
    pulls: Sequence[Mapping[str, float]],
    resampling: Resampling = Resampling(),
) -> Floats:
    """p-values of tests that may go together, corrected so that any false alarm is rare.

    The step-down procedure of Westfall and Young (1993): a p counts by how often the smallest p of
    all tests that are no surer would be as small if nothing were there. `pulls` has for each test
    how far each cluster (or word) moves it; the clusters are given random normal factors, the same
    in all tests, so that tests which lean on the same clusters move together (a multiplier
    bootstrap, Hothorn et al. 2008). A test without pulls moves alone.
    """
    raw = np.asarray(p, float)
    if not len(raw):
        return raw
    order = np.argsort(raw, kind="stable")
    rows, far = moved_alike(pulls)[order], -ndtri(raw[order] / 2)  # |z| that has such a p
    rng, hits, draws = np.random.default_rng(resampling.seed), np.zeros(len(raw)), 0
    while draws < resampling.draws:
        errors = np.abs(rows @ rng.normal(size=(len(raw), DRAWS_AT_A_TIME)))
        largest = np.maximum.accumulate(errors[::-1])[::-1]
        hits += np.count_nonzero(largest >= far[:, None], axis=1)
        draws += DRAWS_AT_A_TIME
    out = np.empty(len(raw))
    out[order] = np.maximum.accumulate(np.maximum((hits + 1) / (draws + 1), raw[order]))
    return np.minimum(out, 1.0)


def moved_alike(pulls: Sequence[Mapping[str, float]]) -> Floats:
    """A root of the correlations of what is moved by clusters, [k, k]: normal draws times it."""
    rows = _directions(pulls)
    values, vectors = np.linalg.eigh(rows @ rows.T)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _directions(pulls: Sequence[Mapping[str, float]]) -> Floats:
    """Pulls as rows of length 1, a column for each cluster; a row of zeros has its own column."""
    names = {n: i for i, n in enumerate(dict.fromkeys(n for row in pulls for n in row))}
    rows = np.zeros((len(pulls), len(names) + len(pulls)))
    for i, row in enumerate(pulls):
        rows[i, [names[n] for n in row]] = list(row.values())
        if np.linalg.norm(rows[i]) < 1e-12:
            rows[i, len(names) + i] = 1.0
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def together(estimates: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Categories of one score, each with `p_holm` over all of them and its `shrunken` value."""
    names = list(estimates)
    p = corrected([np.nan if e.p is None else e.p for e in estimates.values()])
    values = np.array([e.value for e in estimates.values()])
    pulled = shrunken(values, _variances(list(estimates.values())))
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
