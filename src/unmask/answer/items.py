"""Views of an items table: one place that knows how its rows make items."""

from typing import Any

import numpy as np
import pandas as pd

from unmask.answer.scales import scale_of
from unmask.stats import log_odds
from unmask.stats.clustering import COLUMNS
from unmask.stats.preference import in_nats
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Floats, Result

DESIGN_COLUMNS = ("group_pair", "group", "template")


class Items:
    """The items of a result: a row for each sentence, or for each word of a word test."""

    def __init__(self, result: Result) -> None:
        self.result, self.frame = result, result.items

    @property
    def has_reasons(self) -> bool:
        """Whether items may lack a score; words of a word test do not."""
        return "reason" in self.frame

    @property
    def scored(self) -> pd.DataFrame:
        """The rows of items that have a score."""
        return self.frame[self.frame.reason.isna()] if self.has_reasons else self.frame

    @property
    def first(self) -> pd.DataFrame:
        """One row for each item, by its id: its category, cluster, group pair, group, template."""
        return self.frame.drop_duplicates("item").set_index("item")

    @property
    def scored_first(self) -> pd.DataFrame:
        """One row for each scored item, by its id."""
        return self.scored.drop_duplicates("item").set_index("item")

    def by_label(self, values: str = "score") -> pd.DataFrame:
        """Scored items as rows, labels (stereotype, antistereotype, ...) as columns."""
        return self.scored.pivot(index="item", columns="label", values=values)

    def scores(self) -> pd.DataFrame:
        """Scores by label, rounded as the measure compares them, with the items' design."""
        scores = self.by_label()
        decimals = self.result.settings.get("decimals")
        if decimals is not None:
            scores = scores.apply(lambda c: np.round(c.to_numpy(float), decimals))
        first = self.scored_first
        design = {name: first.get(name, "") for name in COLUMNS}
        return scores.assign(**design).fillna(dict.fromkeys(COLUMNS, ""))

    def sentences(self) -> pd.DataFrame:
        """The sentences of scored items by label."""
        return self.by_label("sentence")

    def texts(self) -> dict[str, str]:
        """All sentences of each item as one text, which identifies it across files."""
        rows = self.frame[["item", "label", "sentence"]].sort_values(["item", "label"])
        return {str(k): " | ".join(v) for k, v in rows.groupby("item").sentence}

    def margins(self) -> "pd.Series[Any]":
        """The margin of each item: the stereotype's score less the antistereotype's.

        For a template test, how much the attribute favours x over y beyond the prior; for a word
        test, the association of each target word.
        """
        if not self.has_reasons:
            return self.frame[self.frame.label.isin(["X", "Y"])].set_index("item").score
        rows = self.scored
        if scale_of(self.result).templates:
            gain = rows.score - (rows.prior.fillna(0.0) if "prior" in rows else 0.0)
            halves = rows.assign(gain=gain, half=rows.label.str[0])
            by_half = halves.pivot_table("gain", "item", "half")
            return by_half["x"] - by_half["y"]
        scores = self.by_label()
        return scores[STEREOTYPE] - scores[ANTISTEREOTYPE]

    def log_odds(self) -> dict[str, float]:
        """The log-odds of each item of a template test, as its measure takes them."""
        by_pieces = bool(self.result.settings.get("by_pieces"))
        return (log_odds.by_pieces if by_pieces else log_odds.by_item)(self.frame)

    def nats(self, scores: pd.DataFrame) -> Floats:
        """The margins of a table of `scores`, in nats where the measure has probabilities."""
        pro, anti = (scores[k].to_numpy(float) for k in (STEREOTYPE, ANTISTEREOTYPE))
        return in_nats(pro, anti, bool(self.result.settings.get("probabilities")))
