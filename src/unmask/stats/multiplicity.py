"""Corrected p-values of a family of tests: Holm (1979), and Benjamini and Hochberg (1995)."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from unmask.types import Floats


def corrected(p: Sequence[float], method: Literal["holm", "bh"] = "holm") -> Floats:
    """Corrected p-values of one family, in the given order; NaN marks a missing test and stays NaN.

    By hand: statsmodels collects garbage at every call, which costs a third of a second.
    """
    raw = np.asarray(p, float)
    p_values = np.full(len(raw), np.nan)
    tested = np.flatnonzero(np.isfinite(raw))
    order = tested[np.argsort(raw[tested], kind="stable")]
    size = len(order)
    if method == "holm":
        p_values[order] = np.maximum.accumulate(raw[order] * (size - np.arange(size)))
    else:
        scaled = raw[order] * size / (1 + np.arange(size))
        p_values[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    return np.minimum(p_values, 1.0)
