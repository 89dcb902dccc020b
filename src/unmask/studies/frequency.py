"""How often a corpus names advantaged and disadvantaged groups (kaneko2022, Table 2).

Also whether a measure's preferences follow the frequency of the words that decide them.
"""

import math
from collections import Counter
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from unmask.corpus.count import words_of
from unmask.data.packaged import packaged, published
from unmask.data.readers.pairs import DIRECTIONS
from unmask.stats.agreement import correlation
from unmask.stats.comparison import rank_sum
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Dataset, Floats

Groups: TypeAlias = Mapping[str, Mapping[str, list[str]]]  # bias type, side: words
Strata: TypeAlias = Mapping[str, list[Floats]]  # bias type: the ranks of either side's words
SIDES = ("advantaged", "disadvantaged")
MIN_PAIRS = 3
MIN_SHARE = 0.75  # of a word's pairs, in which it is on the same side
# The paper leaves out words with a second sense, and names the colours; the rest names no group.
NO_GROUP = {"black", "white", "a", "an", "no", "not", "with", "without", "could", "couldn't",
            "weren't"}  # fmt: skip


def word_groups() -> Groups:
    """Words of the two groups by bias type, from kaneko2022's Table 2."""
    return packaged("groups.json")["categories"]


def group_words() -> list[str]:
    """The words of all groups."""
    return [w for sides in word_groups().values() for group in sides.values() for w in group]


def strata(counts: Mapping[str, int], groups: Groups | None = None) -> Strata:
    """Frequency ranks of both groups' words, by bias type; ties share their mean rank."""
    rankings = {}
    for category, sides in (word_groups() if groups is None else groups).items():
        rank = rankdata([-counts.get(w, 0) for name in SIDES for w in sides[name]])
        rankings[category] = [*np.split(rank, [len(sides[SIDES[0]])])]
    return rankings


def printed_strata() -> Strata:
    """The same for the order that the paper prints; each bias type has an order of its own."""
    words = {c: order.split() for c, order in published("kaneko2022")["table2_words"].items()}
    return {
        category: strata({w: -i for i, w in enumerate(row)}, {category: word_groups()[category]})[
            category
        ]
        for category, row in words.items()
    }


def overall_p(ranked: Strata) -> float:
    """The exact p of the ranks over all bias types at once; ranks are dealt within each."""
    return rank_sum(list(ranked.values()))


def ranks(counts: Mapping[str, int], groups: Groups | None = None) -> pd.DataFrame:
    """For each bias type the mean rank of both groups and the words by frequency.

    `p` is the exact probability of ranks as unequal as these if the words were dealt to the groups
    at random.
    """
    word_sets = word_groups() if groups is None else groups
    rows = []
    for category, both in strata(counts, word_sets).items():
        words = [w for group in word_sets[category].values() for w in group]
        order = sorted(words, key=lambda w: (-counts.get(w, 0), w))
        means = dict(zip(SIDES, (float(r.mean()) for r in both), strict=True))
        p = rank_sum([both])
        rows.append({"category": category, **means, "words": " ".join(order), "p": p})
    return pd.DataFrame(rows)


def groups_of(data: Dataset) -> Groups:
    """The words that name either group in a set of pairs, by bias type.

    A group's words are those that occur only in its sentence of a pair. A word counts if it occurs
    so in at least MIN_PAIRS pairs, and in at least MIN_SHARE of them for the same group. Colours
    and function words do not count.
    """
    by_set: dict[str, dict[str, Counter[str]]] = {}
    for item in data.items:
        words = {k: _words(t.string) for k, t in item.texts.items()}
        stereotyped = SIDES.index(DIRECTIONS[item.meta["direction"]])
        about = {STEREOTYPE: SIDES[stereotyped], ANTISTEREOTYPE: SIDES[1 - stereotyped]}
        sides = by_set.setdefault(item.category, {name: Counter() for name in SIDES})
        for label, side in about.items():
            twin_words = words[ANTISTEREOTYPE if label == STEREOTYPE else STEREOTYPE]
            sides[side].update(words[label] - twin_words)
    return {category: _told_apart(sides) for category, sides in by_set.items()}


def _told_apart(sides: Mapping[str, Counter[str]]) -> dict[str, list[str]]:
    total = sum(sides.values(), Counter())
    return {
        name: sorted(
            w
            for w, n in counts.items()
            if w not in NO_GROUP and total[w] >= MIN_PAIRS and n >= MIN_SHARE * total[w]
        )
        for name, counts in sides.items()
    }


def most_frequent(groups: Groups, counts: Mapping[str, int], most: int = 4) -> Groups:
    """The words of each group that a corpus has most often, of bias types that have both."""
    top_words = {
        category: {
            name: sorted((w for w in words if counts.get(w)), key=lambda w: (-counts[w], w))[:most]
            for name, words in sides.items()
        }
        for category, sides in groups.items()
    }
    return {category: sides for category, sides in top_words.items() if all(sides.values())}


def _words(sentence: str) -> set[str]:
    return {w.decode() for w in words_of(sentence.encode())}


def own_words(items: pd.DataFrame) -> pd.Series:
    """The words of each sentence without those that both sentences of its pair have.

    The pair is stereotype and antistereotype. An unrelated sentence loses the same words.
    """
    words = items.sentence.map(_words)
    terms = pd.Series(index=items.index, dtype=object)
    paired = items.label.isin([STEREOTYPE, ANTISTEREOTYPE])
    for _, part in words.groupby([items[k] for k in ("model", "data", "measure", "item")]):
        pair = part[paired[part.index]]
        shared = set.intersection(*pair) if len(pair) else set()
        for place, bag in part.items():
            terms[place] = bag - shared
    return terms


def joined(items: pd.DataFrame, counts: Mapping[str, int]) -> pd.DataFrame:
    """An items table with `frequency`: the mean of log10(1 + count) over a sentence's own words."""
    terms = own_words(items)
    logs = [[math.log10(1 + counts.get(w, 0)) for w in row] for row in terms]
    means = [np.mean(row) if row else np.nan for row in logs]
    return items.assign(frequency=means, words=[" ".join(sorted(w)) for w in terms])


def follows(items: pd.DataFrame) -> pd.DataFrame:
    """Correlate the difference in score with the difference in frequency.

    By model, data and measure: Spearman's correlation over items, with its interval. Both
    differences are stereotype less antistereotype.
    """
    rows = []
    for key, part in items.groupby(["model", "data", "measure"], sort=False):
        by_label = part.pivot(index="item", columns="label", values=["score", "frequency"])
        if not {STEREOTYPE, ANTISTEREOTYPE} <= set(by_label["score"].columns):
            continue
        gaps = {
            c: by_label[c][STEREOTYPE] - by_label[c][ANTISTEREOTYPE] for c in ("score", "frequency")
        }
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
