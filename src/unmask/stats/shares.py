"""What share of the spread of many scores each choice explains."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from unmask.errors import DataError
from unmask.types import Floats


def decompose(frame: pd.DataFrame, factors: Sequence[str]) -> pd.DataFrame:
    """Shares of the spread of `score` by factor, in order, and what is left to their interplay.

    Sequential sums of squares: they add up to the whole.
    """
    y = frame.score.to_numpy(float)
    y = y - y.mean()
    whole = float(y @ y)
    if whole == 0:
        raise DataError("all specifications give the same score; there is nothing to explain.")
    columns, before, rows = np.ones((len(y), 1)), 0.0, []
    for factor in factors:
        dummies = pd.get_dummies(frame[factor].astype(str)).to_numpy(float)
        columns = np.column_stack([columns, dummies])
        explained = _explained(columns, y)
        share = 100 * (explained - before) / whole
        rows.append({"choice": factor, "options": dummies.shape[1], "share": share})
        before = explained
    rows.append({"choice": "interplay", "options": None, "share": 100 * (whole - before) / whole})
    return pd.DataFrame(rows)


def _explained(columns: Floats, y: Floats) -> float:
    fitted = columns @ np.linalg.lstsq(columns, y, rcond=None)[0]
    return float(fitted @ fitted)
