"""How models differ, in sentences: the verdict of a comparison first, then what it rests on."""

import math
from typing import Any

import pandas as pd

from unmask.reports.columns import SURE, UNITS

NAMED = 3  # differences of a pair of models that are told in full
PAIRS = 6  # pairs of models that are told; the table has all


def sentences(frame: pd.DataFrame) -> list[str]:
    """One sentence for each two models, from the frame of `compare`: what differs, and by how much.

    A difference counts after Holm's correction over all that were tested.
    """
    out, alike = [], []
    for (first, second), part in frame.groupby(["first", "second"], sort=False):
        sure = part[part.p_holm <= SURE]
        if sure.empty:
            alike.append(
                f"No difference between the overall scores of {first} and {second} is shown "
                f"({_counted(len(part))} compared)."
            )
            continue
        strongest = sure.reindex(sure.p_holm.sort_values(kind="stable").index)
        named = [_difference(r) for r in strongest.head(NAMED).to_dict("records")]
        left = len(sure) - len(named)
        rest = f" and {left} more" if left > 0 else ""
        out.append(
            f"{second} differs from {first} in {_counted(len(sure), 'overall ')} of {len(part)}: "
            f"{'; '.join(named)}{rest}."
        )
    if len(out) > PAIRS:
        out = [*out[:PAIRS], f"{len(out) - PAIRS} more pairs of models differ: see the figure."]
    if len(out) + len(alike) > PAIRS:
        return [*out, f"No difference is shown between the models of {len(alike)} other pairs."]
    return out + alike


def _counted(count: int, what: str = "") -> str:
    return f"{count} {what}score{'s' if count != 1 else ''}"


def _difference(row: Any) -> str:
    unit = UNITS[row["compared"]]
    value, low, high = row["difference"], row["low"], row["high"]
    if row["compared"] == "odds":  # a difference of logarithms is a factor
        text = f"times {math.exp(value):.2f} [{math.exp(low):.2f}, {math.exp(high):.2f}]"
    else:
        digits = unit.digits
        text = f"{value:+.{digits}f} {unit.name} [{low:+.{digits}f}, {high:+.{digits}f}]"
    return f"{row['measure']} on {row['data']} {text}"
