"""How often a corpus names advantaged and disadvantaged groups (kaneko2022, Table 2).

And whether a measure's preferences follow how frequent the words are that decide them.
"""

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from unmask.corpus.count import words_of
from unmask.data.packaged import packaged
from unmask.stats.agreement import correlation
from unmask.types import ANTISTEREOTYPE, STEREOTYPE


def word_groups() -> Mapping[str, Mapping[str, list[str]]]:
    """Words of the two groups by bias type, from kaneko2022's Table 2."""
    return packaged("groups.json")["categories"]


def group_words() -> list[str]:
    """The words of all groups."""
    return [w for sides in word_groups().values() for some in sides.values() for w in some]


def ranks(counts: Mapping[str, int]) -> pd.DataFrame:
    """For each bias type the mean rank of both groups and the words by frequency."""
    rows = []
    for category, sides in word_groups().items():
        side = {w: name for name, words in sides.items() for w in words}
        order = sorted(side, key=lambda w: (-counts.get(w, 0), w))
        rank = {w: i + 1 for i, w in enumerate(order)}
        means = {name: sum(rank[w] for w in words) / len(words) for name, words in sides.items()}
        rows.append({"category": category, **means, "words": " ".join(order)})
    return pd.DataFrame(rows)


def own_words(items: pd.DataFrame) -> pd.Series:
    """For each sentence of an items table its words less those that both of the pair have.

    The pair is stereotype and antistereotype; an unrelated sentence shares little with anything.
    """
    words = items.sentence.map(lambda s: {w.decode() for w in words_of(s.encode())})
    own = pd.Series(index=items.index, dtype=object)
    paired = items.label.isin([STEREOTYPE, ANTISTEREOTYPE])
    for _, some in words.groupby([items[k] for k in ("model", "data", "measure", "item")]):
        pair = some[paired[some.index]]
        shared = set.intersection(*pair) if len(pair) else set()
        for place, found in some.items():
            own[place] = found - shared
    return own


def joined(items: pd.DataFrame, counts: Mapping[str, int]) -> pd.DataFrame:
    """An items table with `frequency`: the mean of log10(1 + count) over a sentence's own words."""
    own = own_words(items)
    logs = [[math.log10(1 + counts.get(w, 0)) for w in some] for some in own]
    means = [np.mean(some) if some else np.nan for some in logs]
    return items.assign(frequency=means, words=[" ".join(sorted(w)) for w in own])


def follows(items: pd.DataFrame) -> pd.DataFrame:
    """By model, data and measure: does the score's difference follow the frequency's?

    Spearman's correlation over items between stereotype less antistereotype of both, with its
    Fisher interval.
    """
    rows = []
    for key, some in items.groupby(["model", "data", "measure"], sort=False):
        wide = some.pivot(index="item", columns="label", values=["score", "frequency"])
        if not {STEREOTYPE, ANTISTEREOTYPE} <= set(wide["score"].columns):
            continue
        gaps = {c: wide[c][STEREOTYPE] - wide[c][ANTISTEREOTYPE] for c in ("score", "frequency")}
        both = pd.DataFrame(gaps).dropna()
        if len(both) < 5:
            continue
        estimate = correlation(both.frequency.to_numpy(), both.score.to_numpy(), "spearman")
        rows.append(
            dict(zip(("model", "data", "measure"), key, strict=True))
            | {
                "correlation": estimate.value,
                "low": estimate.low,
                "high": estimate.high,
                "n": estimate.n,
            }
        )
    return pd.DataFrame(rows)
