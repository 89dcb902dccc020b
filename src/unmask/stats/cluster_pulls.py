"""What moves a score: how far each cluster, or word, pulls the estimate that a verdict is about."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from unmask.errors import DataError
from unmask.stats import log_odds
from unmask.stats.clustering import codes
from unmask.stats.crossed import even_sides
from unmask.stats.item_statistics import STATISTICS
from unmask.stats.preference import preferred
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Floats, Result

Pulls: TypeAlias = Mapping[str, float]  # by cluster or word
OF_PAIRS = ("category", "cluster", "family", "side")
FACTS = (*OF_PAIRS, "frame")


def pulls_of(result: Result) -> dict[str, Pulls]:
    """How far each cluster, or word, moves the estimates that the verdicts are about."""
    if "statistic" in result.settings:
        return _of_statistic(result)
    return dict(_PULLS[result.compared](result))


def _of_statistic(result: Result) -> dict[str, Pulls]:
    """Of a statistic of items: the items' pulls, by cluster of the data."""
    items = result.items[result.items.reason.isna()].drop_duplicates("item")
    statistic = STATISTICS[result.settings["statistic"]]
    out: dict[str, Pulls] = {}
    for name in result.verdicts:
        part = items if name == "" else items[items.category == name]
        facts = part[list(FACTS)].fillna("").astype(str)
        found = statistic(part.value.to_numpy(float), facts)
        clusters = result.data.split(":")[0] + "/" + facts.cluster
        out[name] = _summed(clusters, found.pulls)
    return out


def _of_items(result: Result) -> dict[str, Pulls]:
    """Of a preference: answers less the mean of their cell, weighted, by cluster of the data."""
    frame = result.items
    kept = frame["reason"].isna().to_numpy()
    label, item = frame["label"], pd.factorize(frame["item"])[0]
    pro, anti = (
        np.flatnonzero(kept & (label == k).to_numpy(bool)) for k in (STEREOTYPE, ANTISTEREOTYPE)
    )
    if not np.array_equal(item[pro], item[anti]):
        partner = pd.Index(item[anti]).get_indexer(item[pro])
        if (partner < 0).any():
            raise DataError(f"an item of {result.data!r} has no antistereotype; score both.")
        anti = anti[partner]
    score = frame["score"].to_numpy(float)
    wins = preferred(score[pro], score[anti], "half")
    facts = {k: _strings(frame[k].to_numpy(object)[pro]) for k in OF_PAIRS}
    of_data = result.data.split(":")[0] + "/"
    facts["cluster"] = [of_data + name for name in facts["cluster"]]
    return stereotype_pulls(facts, wins, list(result.verdicts))


def _strings(values: NDArray[Any]) -> list[str]:
    """Values as strings, those that are missing as an empty one."""
    missing = pd.isna(values)
    if missing.any():
        values = np.where(missing, "", values)
    strings = values.tolist()
    return strings if {*map(type, strings)} <= {str} else [str(v) for v in strings]


def stereotype_pulls(
    facts: Mapping[str, Sequence[str]], wins: Floats, categories: Sequence[str]
) -> dict[str, Pulls]:
    """How far each cluster moves the stereotype of each category, and of the whole ("").

    `facts` has for each item [n] its category, cluster, family and side.
    """
    cluster, names = pd.factorize(np.asarray(facts["cluster"], object), sort=True)
    sided = all(facts["side"])
    category = np.asarray(facts["category"], object)
    family = codes(np.asarray(facts["family"], object) if sided else category)
    side = codes(np.asarray(facts["side"], object) if sided else category)
    cell = codes(family * (side.max() + 1) + side)
    apart = wins - (np.bincount(cell, weights=wins) / np.bincount(cell))[cell]
    out: dict[str, Pulls] = {}
    for name in categories:
        chosen = np.ones(len(wins), bool) if name == "" else category == name
        weight = even_sides(codes(family[chosen]), codes(side[chosen]))
        totals = np.bincount(cluster[chosen], weights=weight * apart[chosen])
        there = np.unique(cluster[chosen])
        out[name] = dict(zip(names[there].tolist(), totals[there].tolist(), strict=True))
    return out


def _of_words(result: Result) -> dict[str, Pulls]:
    """Of an association: words' scores less the mean of their set."""
    frame = result.items[result.items.label.isin(["X", "Y"])]
    return {"": _by_word(frame["item"], frame.score.to_numpy(float), frame.label == "X")}


def _of_templates(result: Result) -> dict[str, Pulls]:
    """Of log-odds: attribute words' scores less the mean of their set."""
    values = pd.Series(log_odds.of_result(result))
    facts = result.items.drop_duplicates("item").set_index("item").loc[values.index]
    first = facts.category == facts.category.iloc[0]
    return {"": _by_word(facts.cluster, values.to_numpy(float), first)}


def _by_word(words: Any, scores: Floats, first: Any) -> Pulls:
    sign = np.where(first, 1.0, -1.0)
    parts = np.zeros(len(scores))
    for half in (1.0, -1.0):
        mine = sign == half
        parts[mine] = half * (scores[mine] - scores[mine].mean()) / mine.sum()
    return _summed(np.asarray(words, str), parts)


def _summed(names: Any, values: Floats) -> Pulls:
    totals = pd.Series(values).groupby(np.asarray(names, str)).sum()
    return dict(zip(totals.index, totals.to_list(), strict=True))


_PULLS: Mapping[str, Any] = {
    "preference": _of_items,
    "association": _of_words,
    "odds": _of_templates,
    "log-odds": _of_templates,
}
