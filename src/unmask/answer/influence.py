"""The items with the most influence on a score."""

import pandas as pd

from unmask.answer.items import Items
from unmask.answer.scales import scale_of
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Result


def by_influence(result: Result, top: int | None = None) -> pd.DataFrame:
    """The items (or words) of a result, the most influential first.

    The `influence` of a pair is the stereotype's score less the antistereotype's; of a template how
    much the attribute favours x; of a word how much the effect size falls without it; of any other
    item its influence on the statistic.
    """
    items = _table(Items(result))
    order = items.influence.abs().sort_values(ascending=False, kind="stable").index
    ordered = items.loc[order].reset_index(drop=True)
    return ordered if top is None else ordered.head(top)


def _table(items: Items) -> pd.DataFrame:
    result = items.result
    if "statistic" in result.settings:
        return _statistic(items)
    scale = scale_of(result)
    if not (scale.paired or scale.templates):
        return _words(items)
    first = items.scored_first
    influence = items.margins()
    first = first.loc[influence.index]
    columns = {"item": influence.index, "category": first.category.to_numpy()}
    if scale.templates:
        columns |= {"word": first.cluster.to_numpy(), "influence": influence.to_numpy()}
        return pd.DataFrame({**columns, "sentence": first.sentence.to_numpy()})
    sentences = items.sentences().loc[influence.index]
    columns["influence"] = influence.to_numpy()
    return pd.DataFrame(
        {**columns, **{k: sentences[k].to_numpy() for k in (STEREOTYPE, ANTISTEREOTYPE)}}
    )


def _statistic(items: Items) -> pd.DataFrame:
    """The items of a statistic, with both sentences of a pair, or the first of many."""
    first = items.scored_first
    columns = {"item": first.index, "category": first.category.to_numpy()}
    columns |= {"influence": first.influence.to_numpy(), "value": first.value.to_numpy()}
    if {*items.scored.label} == {STEREOTYPE, ANTISTEREOTYPE}:
        sentences = items.sentences().loc[first.index]
        return pd.DataFrame({**columns, **{k: sentences[k].to_numpy() for k in sentences}})
    return pd.DataFrame({**columns, "sentence": first.sentence.to_numpy()})


def _words(items: Items) -> pd.DataFrame:
    words = items.frame[items.frame.score.notna()]
    return pd.DataFrame(
        {
            "item": words["item"].to_numpy(),
            "category": words.category.to_numpy(),
            "influence": (items.result.overall.value - words.without).to_numpy(),
            "association": words.score.to_numpy(),
            "sentence": words.sentence.to_numpy(),
        }
    )
