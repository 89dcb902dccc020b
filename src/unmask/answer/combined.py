"""One test of the pairs of a bias type over all measures that count.

Each measure's margins become bounded scores in its own unit (`Crossed.robust`), the scores of an
item are averaged over the measures that have it (O'Brien 1984), and the mean of these is tested.
Measures on the same sentences are not independent; their average says more than the best of them
does after a correction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from unmask.answer.items import Items
from unmask.options import Resampling
from unmask.stats.clustering import COLUMNS, Design
from unmask.stats.crossed import Crossed
from unmask.stats.crossed_fit import Fit
from unmask.stats.preference import Margins
from unmask.types import Estimate, Result


@dataclass(frozen=True)
class CombinedPairs:
    """The pairs of some results, each item with its mean score over their measures."""

    results: tuple[Result, ...]

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for each item: its design, and its mean `score`."""
        parts = []
        for data in dict.fromkeys(r.data for r in self.results):
            tables = [_scored(r) for r in self.results if r.data == data]
            tables = [t for t in tables if len(t)]
            if not tables:
                continue
            scores = pd.concat([t.standard for t in tables], axis=1).mean(axis=1)
            facts = pd.concat([t[list(COLUMNS)] for t in tables])
            facts = facts[~facts.index.duplicated()].loc[scores.index]
            named = [k for k in COLUMNS if k != "category"]
            within_data = facts[named].where(facts[named] == "", f"{data}: " + facts[named])
            part = facts.assign(**within_data, data=data, score=scores, bias_type=facts.category)
            parts.append(part.assign(category=f"{data}: " + facts.category))
        return pd.concat(parts) if parts else pd.DataFrame(columns=[*COLUMNS, "score", "data"])

    @cached_property
    def _fit(self) -> Fit:
        return Fit.of(Crossed.of(Design.of(self.table)), self.table.score.to_numpy(float))

    def estimate(
        self, parts: Sequence[tuple[str, str]] | None = None, level: float = 0.95
    ) -> Estimate | None:
        """The mean score of some categories, as (data, category), or of all items.

        In robust standard deviations of a margin; None where no item has a margin.
        """
        table = self.table
        mask = np.ones(len(table), bool)
        if parts is not None:
            keys = zip(table.data, table.bias_type, strict=True)
            mask = np.array([key in parts for key in keys], bool)
        if not mask.any():
            return None
        return self._fit.estimate(mask, resampling=Resampling(level=level))


def _scored(result: Result) -> pd.DataFrame:
    """The scored items of a result with their `standard` scores and their design."""
    items = Items(result)
    table = items.scores()
    nats = items.nats(table)
    table = table[~np.isnan(nats)]
    if not len(table):
        return table.assign(standard=[])
    margins = Margins(nats[~np.isnan(nats)], Design.of(table))
    return table.assign(standard=margins.scores)
