"""What two results have in common: the same items, or the same words, in one order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from unmask.errors import DataError
from unmask.flow.item_comparisons import design_of
from unmask.flow.items import DESIGN_COLUMNS
from unmask.options import Resampling
from unmask.stats import log_odds
from unmask.stats.clustering import Design
from unmask.stats.effects import Words, by_words
from unmask.stats.intervals import DEFAULTS
from unmask.stats.item_statistics import STATISTICS, Pulled, over_items
from unmask.text.inflection import lexemes
from unmask.types import Estimate, Floats, Result

TEMPLATES = ("odds", "log-odds")  # what is compared on templates
PARTNERS = {"targets": ("Y", "X2"), "attributes": ("B", "A2")}  # sets whose words are partners
ByWord = dict[str, dict[str, float]]  # set, word: the effect size without it


def same_items(a: Result, b: Result) -> tuple[Result, Result]:
    """The two results with items that mean the same under one id.

    Where an id has other sentences in the two runs, items are paired by their sentences.
    """
    one, two = sentences_of(a), sentences_of(b)
    differ = [i for i in one.keys() & two.keys() if one[i] != two[i]]
    if not differ:
        return a, b
    if len(set(one.values())) < len(one) or len(set(two.values())) < len(two):
        raise DataError(
            f"{len(differ)} items of {a.data} have other sentences in the two runs under the same "
            f"id (such as {differ[0]!r}), and sentences that stand twice; run both on one file."
        )
    return tuple(  # type: ignore[return-value]
        replace(r, items=r.items.assign(item=r.items["item"].map(names)))
        for r, names in ((a, one), (b, two))
    )


def sentences_of(result: Result) -> dict[str, str]:
    """The sentences of each item, as one text."""
    frame = result.items[["item", "label", "sentence"]].sort_values(["item", "label"])
    return {str(k): " | ".join(v) for k, v in frame.groupby("item").sentence}


def categories(result: Result) -> "pd.Series[str]":
    """The category of each item."""
    return result.items.drop_duplicates("item").set_index("item").category


def common(a: pd.DataFrame, b: pd.DataFrame, where: str) -> tuple[pd.Index, dict[str, int]]:
    """The items that two tables share, and how many only one of them has."""
    shared = a.index.intersection(b.index)
    if not len(shared):
        raise DataError(f"the two runs have no item of {where} in common; they cannot be paired.")
    return shared, {"only_first": len(a) - len(shared), "only_second": len(b) - len(shared)}


def wide(result: Result) -> pd.DataFrame:
    """Items as rows, labels as columns: scores as the measure compares them, and their kin."""
    frame = result.items
    frame = frame[frame.reason.isna()]
    scores = frame.pivot(index="item", columns="label", values="score")
    decimals = result.settings.get("decimals")
    if decimals is not None:
        scores = scores.apply(lambda c: np.round(c.to_numpy(float), decimals))
    facts = frame.drop_duplicates("item").set_index("item")
    known = {name: facts.get(name, "") for name in ("cluster", *DESIGN_COLUMNS)}
    return scores.assign(**known)


def effects_without(a: Result, b: Result) -> tuple[tuple[float, float], list[Floats], list[Floats]]:
    """The effect sizes of two results over the same words, and those without each word, by set."""
    values, kept, left = over_words(a, b)
    return values, *in_order(kept, left)


def in_order(kept: ByWord, left: ByWord) -> tuple[list[Floats], list[Floats]]:
    """The effect sizes without each word of both runs, by set, in the order of the first."""
    before = [np.array(list(v.values())) for v in kept.values()]
    return before, [np.array([left[k][w] for w in v]) for k, v in kept.items()]


def over_words(a: Result, b: Result) -> tuple[tuple[float, float], ByWord, ByWord]:
    """Two effect sizes over the same words, and what they are without each of them."""
    every = all(r.settings.get("random") == "attributes" for r in (a, b))
    one, two = (_without(r, every) for r in (a, b))
    if a.compared in TEMPLATES:
        return _shared_words(a, b)
    if not one or {k: set(v) for k, v in one.items()} != {k: set(v) for k, v in two.items()}:
        apart = sorted({w for v in one.values() for w in v} ^ {w for v in two.values() for w in v})
        raise DataError(
            f"{a.title}: the runs kept other words ({', '.join(apart[:5])}), so that their effect "
            "sizes are not of the same thing; leave these words out of the test in both."
        )
    return (a.overall.value, b.overall.value), one, two


@dataclass(frozen=True, slots=True)
class OfItems:
    """A statistic of items that two runs share: the items' values, their facts, and itself."""

    values: Floats
    found: Pulled
    design: Design


def statistics_of(
    a: Result, b: Result, category: str = ""
) -> tuple[OfItems, OfItems, pd.Index, dict[str, int]]:
    """A statistic of the items that two runs share, in one order; which, and how many not."""
    a, b = same_items(a, b)
    tables = [
        r.items[r.items.reason.isna()].drop_duplicates("item").set_index("item") for r in (a, b)
    ]
    shared, left = common(tables[0], tables[1], a.data)
    tables = [t.loc[shared] for t in tables]
    if category:
        tables = [t[t.category == category] for t in tables]
    name, out = str(a.settings["statistic"]), []
    for table in tables:
        facts = statistic_facts(table)
        values = table.value.to_numpy(float)
        out.append(OfItems(values, STATISTICS[name](values, facts), design_of(facts, name)))
    return out[0], out[1], tables[0].index, left


def statistic_facts(items: pd.DataFrame) -> pd.DataFrame:
    """The facts of items [n] that a statistic of them takes."""
    return items[["category", "cluster", *DESIGN_COLUMNS]].fillna("").astype(str)


def statistic_difference(
    before: OfItems, after: OfItems, resampling: Resampling = DEFAULTS
) -> Estimate:
    """The second run's statistic less the first's, paired by items, over clusters."""
    one, two = before.found, after.found
    apart = Pulled(two.value - one.value, two.pulls - one.pulls, two.weight)
    estimate = over_items(apart, after.design, ideal=0.0, resampling=resampling)
    return replace(estimate, p=1.0) if estimate.p is None and apart.value == 0 else estimate


def _without(result: Result, every: bool) -> ByWord:
    """The effect size without each word, of all sets, or of the targets' alone.

    Sets of which it does not depend, or of one word, are left out; pairs count once.
    """
    if result.compared in TEMPLATES:
        return {}
    frame = result.items
    if "without" not in frame:
        raise DataError(f"{result.title} was run by an earlier version; run it again to compare.")
    frame = frame[frame.without.notna()]
    by_set = {
        str(k): dict(zip(part["item"], part.without, strict=True))
        for k, part in frame.groupby("label", sort=False)
        if every or k in ("X", "Y")
    }
    paired = result.settings.get("paired")
    return {k: v for k, v in by_set.items() if k not in PARTNERS.get(str(paired), ())}


def item_facts(result: Result) -> pd.DataFrame:
    """What is known of each item, by its id."""
    return result.items.drop_duplicates("item").set_index("item")


def template_halves(
    facts: pd.DataFrame, scores: Mapping[str, float], chosen: Sequence[str]
) -> list[log_odds.Half]:
    """The log-odds of the chosen items of a template test, and their words, by attribute set."""
    halves: list[log_odds.Half] = []
    for name in dict.fromkeys(facts.category):
        items = [i for i in chosen if facts.category[i] == name]
        of = lexemes(facts.cluster[i] for i in items)
        values = np.array([scores[i] for i in items])
        halves.append((values, [of[facts.cluster[i]] for i in items]))
    return halves


def _shared_words(a: Result, b: Result) -> tuple[tuple[float, float], ByWord, ByWord]:
    """Effect sizes of log-odds over the items that both runs have, and those without each word."""
    odds = [log_odds.of_result(r) for r in (a, b)]
    shared = [i for i in odds[0] if i in odds[1]]
    facts = item_facts(a)
    names = list(dict.fromkeys(facts.category))
    out, values = [], []
    for result, scores in zip((a, b), odds, strict=True):
        halves = template_halves(facts, scores, shared)
        words = by_words(halves[0][0], halves[1][0], halves[0][1], halves[1][1])
        if result.compared == "odds":
            ratio = log_odds.odds_ratio(words).value
            words, left = Words(words.x, words.y, ratio), log_odds.without(words)
        else:
            if len(shared) == len(scores):
                words = Words(words.x, words.y, result.overall.value)
            left = words.without()
        by_set = zip(names, halves, left, strict=True)
        out.append(
            {n: dict(zip(dict.fromkeys(h[1]), w.tolist(), strict=True)) for n, h, w in by_set}
        )
        values.append(words.value)
    return (values[0], values[1]), out[0], out[1]
