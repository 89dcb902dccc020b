"""Check a user's pairs with a model: sentences and swaps that it finds unlikely."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from unmask.data.check.file import CheckedFile
from unmask.data.check.records import NOTE, PROBLEM, Remark
from unmask.data.check.rows import of_rows
from unmask.errors import NotApplicable
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Floats, Result

LIKELIHOOD = ("pll", "ll")  # of a sentence, for masked and for causal models
ODD = 4.0  # robust standard deviations from which a sentence or a swap is odd
TURNED = 40.0  # of 100 pairs, below which the columns may have been exchanged


def with_model(checked: CheckedFile, scored: Callable[[str], Result]) -> CheckedFile:
    """Add a model's remarks to a check: unlikely sentences and swaps, or exchanged columns.

    `scored` returns the model's result of a measure on the file's data.
    """
    result = _likelihood(scored)
    table = result.items.pivot(index="item", columns="label", values="score")
    table = table.reindex([i.id for i in checked.data.items])
    tokens = result.items.pivot(index="item", columns="label", values="tokens").reindex(table.index)
    pro, anti = STEREOTYPE, ANTISTEREOTYPE
    per_token = [table[k] / tokens[k].clip(lower=1) for k in (pro, anti)]
    unlikely = np.zeros(len(table), bool)
    stacked = pd.concat(per_token).to_numpy(float)
    for half in per_token:
        unlikely |= _robust_distance(half.to_numpy(float), stacked) < -ODD
    margins = (table[pro] - table[anti]).to_numpy(float)
    swaps = np.abs(_robust_distance(margins, margins)) > ODD
    findings = [
        *of_rows(
            NOTE,
            f"a sentence that {result.model} finds very unlikely",
            "check for a typo, or a word that does not fit",
            _rows(unlikely),
        ),
        *of_rows(
            NOTE,
            f"a swap that {result.model} finds very odd",
            "check that the sentence still reads well with the other word",
            _rows(swaps & ~unlikely),
        ),
        *_exchanged_columns(result),
    ]
    return checked.but(*findings)


def _likelihood(scored: Callable[[str], Result]) -> Result:
    masked, causal = LIKELIHOOD
    try:
        return scored(masked)
    except NotApplicable:
        return scored(causal)


def _robust_distance(values: Floats, others_values: Floats) -> Floats:
    """How many robust standard deviations values lie from the median of some."""
    middle = np.nanmedian(others_values)
    spread = 1.4826 * np.nanmedian(np.abs(others_values - middle))
    return (values - middle) / spread if spread > 0 else np.zeros(len(values))


def _rows(mask: Any) -> list[int]:
    return [int(n) + 1 for n in np.flatnonzero(mask)]


def _exchanged_columns(result: Result) -> list[Remark]:
    """A remark if the model prefers the antistereotype so often that columns may be exchanged."""
    score = result.overall
    if not score.high < TURNED:
        return []
    return [
        Remark(
            PROBLEM,
            "columns",
            f"{result.model} prefers the sentence in 'antistereotype' in {100 - score.value:.0f} % "
            "of the pairs.",
            advice="check whether the two columns are swapped",
        )
    ]
