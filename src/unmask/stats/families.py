"""Families of tests: Holm and Benjamini-Hochberg corrected p-values."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from statsmodels.stats.multitest import multipletests

from unmask.types import Floats


def corrected(p: Sequence[float], method: Literal["holm", "bh"] = "holm") -> Floats:
    """Corrected p-values of one family, in the given order; NaN is no test and stays NaN."""
    raw = np.asarray(p, float)
    out = np.full(len(raw), np.nan)
    tested = np.isfinite(raw)
    if tested.any():
        name = {"holm": "holm", "bh": "fdr_bh"}[method]
        out[tested] = multipletests(raw[tested], method=name)[1]
    return out
