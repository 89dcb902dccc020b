"""Which items drive a score."""

import pandas as pd

from unmask.reports.figures.result_figures import margins
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Result


def by_influence(result: Result, top: int | None = None) -> pd.DataFrame:
    """The items (or words) of a result, those that pull most first.

    Of pairs `pull` is the stereotype's score less the antistereotype's, with both sentences; of a
    template test how much the attribute speaks for x; of a word test how much the effect size
    would fall without the word; else how far the item pulls the number.
    """
    readers = {"preference": _pairs, "association": _words, "index": _words}
    readers |= dict.fromkeys(("odds", "log-odds"), _templates)
    statistic = "statistic" in result.settings
    frame = _items(result) if statistic else readers[result.compared](result)
    order = frame.pull.abs().sort_values(ascending=False, kind="stable").index
    shown = frame.loc[order].reset_index(drop=True)
    return shown if top is None else shown.head(top)


def _pairs(result: Result) -> pd.DataFrame:
    frame = result.items[result.items.reason.isna()]
    wide = frame.pivot(index="item", columns="label", values="sentence")
    first = frame.drop_duplicates("item").set_index("item")
    return pd.DataFrame(
        {
            "item": wide.index,
            "category": first.category.loc[wide.index].to_numpy(),
            "pull": margins(result).loc[wide.index].to_numpy(),
            STEREOTYPE: wide[STEREOTYPE].to_numpy(),
            ANTISTEREOTYPE: wide[ANTISTEREOTYPE].to_numpy(),
        }
    )


def _items(result: Result) -> pd.DataFrame:
    """The items of a statistic, with both sentences of a pair, or the first of many."""
    frame = result.items[result.items.reason.isna()]
    first = frame.drop_duplicates("item").set_index("item")
    out = {"item": first.index, "category": first.category.to_numpy()}
    out |= {"pull": first.pull.to_numpy(), "value": first.value.to_numpy()}
    if {*frame.label} == {STEREOTYPE, ANTISTEREOTYPE}:
        wide = frame.pivot(index="item", columns="label", values="sentence").loc[first.index]
        return pd.DataFrame({**out, **{k: wide[k].to_numpy() for k in wide}})
    return pd.DataFrame({**out, "sentence": first.sentence.to_numpy()})


def _templates(result: Result) -> pd.DataFrame:
    frame = result.items[result.items.reason.isna()]
    pull = margins(result)
    first = frame.drop_duplicates("item").set_index("item").loc[pull.index]
    facts = {"category": first.category.to_numpy(), "word": first.cluster.to_numpy()}
    return pd.DataFrame(
        {
            "item": pull.index,
            **facts,
            "pull": pull.to_numpy(),
            "sentence": first.sentence.to_numpy(),
        }
    )


def _words(result: Result) -> pd.DataFrame:
    frame = result.items[result.items.score.notna()]
    return pd.DataFrame(
        {
            "item": frame["item"].to_numpy(),
            "category": frame.category.to_numpy(),
            "pull": (result.overall.value - frame.without).to_numpy(),
            "association": frame.score.to_numpy(),
            "sentence": frame.sentence.to_numpy(),
        }
    )
