"""What moves a score: how far each choice does, alone and together with another.

The variance of the scores of many specifications is divided among their factors: the part between
the means of a factor's options, and the part that remains when all other factors are fixed. These
are the first-order and total sensitivity indices of Homma and Saltelli (1996).
"""

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from unmask.errors import DataError


def effects_of_choices(frame: pd.DataFrame, factors: Sequence[str]) -> pd.DataFrame:
    """How much of the variance of `score` each factor explains, whatever their order.

    `alone`: per cent of the variance that is between the means of its options. `total`: the mean
    variance among specifications that differ in this factor alone, in per cent of the whole.
    `moves by`: the root mean square difference between two of these. `twins`: the number of
    specifications with such a partner. If the options of one factor determine those of another (the
    pooling its measure), `total` of the first covers both, and the second has only `alone`.
    """
    total = float(frame.score.var(ddof=0))
    if not total > 0:
        raise DataError("all specifications give the same score; there is nothing to explain.")
    rows = []
    varied = _varied(frame, factors)
    for factor in varied:
        other_factors = [f for f in varied if f != factor and not _fixed_by(frame, factor, f)]
        groups = frame.groupby(other_factors or (lambda place: "all")).score
        twins = groups.transform("size") > 1
        spread = groups.transform("var", ddof=0)[twins]
        pairs = groups.transform("var", ddof=1)[twins]
        main_effect = _between(frame, [factor]) / total
        line = {"choice": factor, "options": frame[factor].nunique(), "alone": 100 * main_effect}
        line |= {"total": 100 * spread.mean() / total, "moves by": np.sqrt(2 * pairs.mean())}
        rows.append(line | {"twins": int(twins.sum())})
    return pd.DataFrame(rows)


def pairs_of_choices(frame: pd.DataFrame, factors: Sequence[str], most: int = 5) -> pd.DataFrame:
    """The largest interactions of two factors, in per cent of the variance."""
    total = float(frame.score.var(ddof=0))
    rows = []
    for a, b in itertools.combinations(_varied(frame, factors), 2):
        both = _between(frame, [a, b]) - _between(frame, [a]) - _between(frame, [b])
        rows.append({"choices": f"{a} x {b}", "share": 100 * max(both, 0.0) / total})
    table = pd.DataFrame(rows, columns=["choices", "share"])
    return table.sort_values("share", ascending=False).head(most)


NONE = "-"  # a choice that does not apply


def _fixed_by(frame: pd.DataFrame, factor: str, target: str) -> bool:
    """Whether the option of `factor` fixes that of `target`: then they cannot be separated."""
    arises = frame[frame[factor] != NONE]
    return bool((arises.groupby(factor)[target].nunique() <= 1).all())


def _varied(frame: pd.DataFrame, factors: Sequence[str]) -> list[str]:
    return [f for f in factors if frame[f].nunique() > 1]


def _between(frame: pd.DataFrame, factors: list[str]) -> float:
    """The variance of the means of the options, each weighing as many specifications as it has."""
    means = frame.groupby(factors).score.transform("mean")
    return float(means.var(ddof=0))
