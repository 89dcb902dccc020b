"""Runs on the same items: the difference between them, paired by items or by words.

`paired_runs` is what compare, gate and trend rest on. Shares are paired by items under
one model of words and templates, statistics of items by their influence, effect sizes by the
jackknife over words. Items are paired by id; where an id has other sentences in another run, by
their sentences.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Protocol

import numpy as np
import pandas as pd

from unmask.answer.items import DESIGN_COLUMNS, Items
from unmask.answer.scales import scale_of
from unmask.errors import DataError
from unmask.flow.item_comparisons import design_of
from unmask.options import Resampling
from unmask.stats import log_odds
from unmask.stats.clustering import Design
from unmask.stats.comparison import Bias, PairedValues, effect_difference
from unmask.stats.effects import Words, by_words
from unmask.stats.intervals import DEFAULTS, weights_of
from unmask.stats.item_statistics import STATISTICS, ItemStatistic, over_items
from unmask.stats.preference import Margins, Ties, preferred
from unmask.text.inflection import lexemes
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Estimate, Floats, Result

SECOND_SETS = {"targets": ("Y", "X2"), "attributes": ("B", "A2")}  # words with a partner
ByWord = dict[str, dict[str, float]]  # set, word: the effect size without it
PRECISION = 1e-4  # of margins in nats and of d: differences due to other batch shapes are below it


class PairedRuns(Protocol):
    """Some runs on the items, or words, that all of them have.

    `scores` has each run's score over these items, `names` the items, `values` [runs, items] the
    value of each item in each run, and `unpaired` the number of further items of each run.
    """

    scores: list[float]
    names: list[str]
    values: Floats
    unpaired: tuple[int, ...]

    def difference(self, before: Sequence[int], after: Sequence[int]) -> Estimate:
        """The mean of the runs `after` less the mean of the runs `before`."""
        ...

    def bias(self) -> Bias:
        """The biases of the first two runs, for tests of one against the other."""
        ...


def paired_runs(
    results: Sequence[Result],
    category: str = "",
    *,
    adjusted: bool = True,
    resampling: Resampling = DEFAULTS,
) -> PairedRuns:
    """Pair the results of several runs by one measure on one data set, or a category of it.

    With `adjusted`, word preference is subtracted from the margins if the verdicts are about the
    rest. Raises DataError if the runs have nothing in common.
    """
    first = results[0]
    if any(r.compared != first.compared for r in results):
        kinds = " and ".join(dict.fromkeys(r.compared for r in results))
        raise DataError(
            f"{first.title} is on different scales ({kinds}); run all with one version of unmask."
        )
    if all("statistic" in r.settings for r in results):
        return _Statistics(results, category, resampling)
    scale = scale_of(first)
    if scale.paired and scale.is_factor:
        return _PairedFactors(results, category, resampling)
    if scale.paired:
        return PairedShares(results, category, adjusted, resampling)
    return _Effects(results, resampling)


def same_items(results: Sequence[Result]) -> list[Result]:
    """Return the results with ids that mean the same item in all of them."""
    texts = [Items(r).texts() for r in results]
    differ = [i for i in texts[0] for twin in texts[1:] if i in twin and twin[i] != texts[0][i]]
    if not differ:
        return list(results)
    if any(len(set(t.values())) < len(t) for t in texts):
        raise DataError(
            f"{len(differ)} items of {results[0].data} have the same id in both runs but different "
            f"sentences (such as {differ[0]!r}), and some sentences appear twice; run both on "
            "one file."
        )
    return [
        replace(r, items=r.items.assign(item=r.items["item"].map(t)))
        for r, t in zip(results, texts, strict=True)
    ]


def _common(tables: Sequence[pd.DataFrame], data: str) -> pd.Index:
    """The items that all tables have."""
    shared: pd.Index = reduce(lambda a, b: a.intersection(b), (t.index for t in tables))
    if not len(shared):
        raise DataError(f"the two runs have no item of {data} in common; they cannot be paired.")
    return shared


class _SharedPairs:
    """The pairs that all runs have: their scores in each run, their design, and the chosen ones."""

    def __init__(self, results: Sequence[Result], category: str) -> None:
        self.results = same_items(results)
        first = self.results[0]
        tables = [Items(r).scores() for r in self.results]
        shared = _common(tables, first.data)
        self.tables = [t.loc[shared] for t in tables]
        self.unpaired = tuple(len(t) - len(shared) for t in tables)
        self.names = [str(name) for name in shared]
        table = self.tables[0]
        self.chosen = np.ones(len(shared), bool)
        if category:
            self.chosen = Items(first).first.category.loc[shared].to_numpy() == category
            if len(set(table.cluster[self.chosen])) < 2:
                raise DataError("the runs share too few items; run all on the same items.")
        self.design = Design.of(table)
        self.macro = first.settings.get("average") == "macro"

    def margins(self) -> list[Floats]:
        """The margins of each run, in nats where the measure has probabilities."""
        return [Items(r).nats(t) for r, t in zip(self.results, self.tables, strict=True)]


class PairedShares:
    """Preferences of all runs [runs, items]."""

    def __init__(
        self, results: Sequence[Result], category: str, adjusted: bool, resampling: Resampling
    ) -> None:
        self.pairs, self.resampling = _SharedPairs(results, category), resampling
        pairs = self.pairs
        self.names, self.unpaired, self.design = pairs.names, pairs.unpaired, pairs.design
        self.adjusted = adjusted and all(_adjusted_name(category) in r.extras for r in results)
        self.values = np.array(
            [self._wins(r, t) for r, t in zip(pairs.results, pairs.tables, strict=True)]
        )
        self.weight, _ = weights_of(self.design, pairs.chosen, pairs.macro)
        self.scores = (100 * self.values @ self.weight).tolist()

    def _wins(self, result: Result, table: pd.DataFrame) -> Floats:
        """Which items prefer the stereotype: 1, 0, or a half for a tie."""
        if self.adjusted:
            margins = Margins(Items(result).nats(table), self.design)
            if margins.has_margin.all():
                return margins.wins.values
        strict = not self.adjusted and result.settings.get("ties", "strict") == "strict"
        ties: Ties = "strict" if strict else "half"
        return preferred(table[STEREOTYPE], table[ANTISTEREOTYPE], ties)

    def difference(self, before: Sequence[int], after: Sequence[int]) -> Estimate:
        """The difference in percentage points."""
        return self._bias(before, after).difference

    def bias(self) -> Bias:
        """The biases in percentage points from 50."""
        return self._bias([0], [1])

    def _bias(self, before: Sequence[int], after: Sequence[int]) -> Bias:
        first, second = (self.values[list(runs)].mean(axis=0) for runs in (before, after))
        paired = PairedValues(first, second, self.design, self.adjusted)
        return paired.bias(self.weight, self.resampling)


class _PairedFactors:
    """Margins of all runs [runs, items]: how much likelier a group's word makes a trait."""

    def __init__(self, results: Sequence[Result], category: str, resampling: Resampling) -> None:
        self.pairs, self.resampling = _SharedPairs(results, category), resampling
        self.names, self.unpaired = self.pairs.names, self.pairs.unpaired
        self.values = _resolved(np.array(self.pairs.margins()))
        self.scores = [self._mean(v).value for v in self.values]

    def difference(self, before: Sequence[int], after: Sequence[int]) -> Estimate:
        """The difference in the logarithm of the factor."""
        first, second = (self.values[list(runs)].mean(axis=0) for runs in (before, after))
        return self._mean(second - first)

    def bias(self) -> Bias:
        """The biases in the logarithm of the factor."""
        first, second = self.values[:2]
        return Bias(self._mean(second - first), self._mean(second + first))

    def _mean(self, values: Floats) -> Estimate:
        margins = Margins(values, self.pairs.design)
        pairs = self.pairs.chosen[margins.has_margin]
        estimate = margins.fit.estimate(pairs, self.pairs.macro, self.resampling, margins.unit)
        if values[margins.has_margin].any():
            return estimate
        return replace(estimate, low=0.0, high=0.0, p=1.0)  # the same in both runs


def _resolved(values: Floats) -> Floats:
    """Remove differences between runs [runs, n] that are below numerical precision.

    Values within PRECISION of the first run's are set to the first run's.
    """
    return np.where(np.abs(values - values[0]) < PRECISION, values[0], values)


def _adjusted_name(category: str) -> str:
    return f"adjusted:{category}" if category else "adjusted"


@dataclass(frozen=True, slots=True)
class _ItemsStatistic:
    """A statistic of items with its influence, the items' values, and their design."""

    values: Floats
    statistic: ItemStatistic
    design: Design


class _Statistics:
    """A statistic of items of all runs, with their influence, which adds up over runs."""

    def __init__(self, results: Sequence[Result], category: str, resampling: Resampling) -> None:
        results = same_items(results)
        self.resampling, name = resampling, str(results[0].settings["statistic"])
        tables = [Items(r).scored_first for r in results]
        shared = _common(tables, results[0].data)
        self.unpaired = tuple(len(t) - len(shared) for t in tables)
        tables = [t.loc[shared] for t in tables]
        if category:
            tables = [t[t.category == category] for t in tables]
        self.names = [str(item) for item in tables[0].index]
        self.runs = [_of_items(t, name) for t in tables]
        self.values = np.array([run.values for run in self.runs])
        self.scores = [run.statistic.value for run in self.runs]

    def difference(self, before: Sequence[int], after: Sequence[int]) -> Estimate:
        """The difference in units of the statistic."""
        return self._estimate(self._mean(before), self._mean(after))

    def bias(self) -> Bias:
        """The biases in units of the statistic."""
        first, second = (run.statistic for run in self.runs[:2])
        return Bias(self._estimate(first, second), self._estimate(first.negated, second))

    def _mean(self, runs: Sequence[int]) -> ItemStatistic:
        stats = [self.runs[k].statistic for k in runs]
        influence = np.mean([s.influence for s in stats], axis=0)
        return ItemStatistic(float(np.mean([s.value for s in stats])), influence, stats[0].weight)

    def _estimate(self, first: ItemStatistic, second: ItemStatistic) -> Estimate:
        gap = ItemStatistic(
            second.value - first.value, second.influence - first.influence, second.weight
        )
        design = self.runs[1].design
        estimate = over_items(gap, design, ideal=0.0, resampling=self.resampling)
        return replace(estimate, p=1.0) if estimate.p is None and gap.value == 0 else estimate


def _of_items(table: pd.DataFrame, name: str) -> _ItemsStatistic:
    facts = statistic_facts(table)
    values = table.value.to_numpy(float)
    return _ItemsStatistic(values, STATISTICS[name](values, facts), design_of(facts, name))


def statistic_facts(items: pd.DataFrame) -> pd.DataFrame:
    """The facts of items [n] that a statistic of them takes."""
    return items[["category", "cluster", *DESIGN_COLUMNS]].fillna("").astype(str)


class _Effects:
    """Effect sizes of all runs over the same words, and those without each word."""

    def __init__(self, results: Sequence[Result], resampling: Resampling) -> None:
        self.resampling, self.unpaired = resampling, tuple(0 for _ in results)
        pairs = [_over_words(results[0], r) for r in results]
        scores = np.array([values[1] for values, _, _ in pairs])
        self.scores: list[float] = _resolved(scores).tolist()
        base = pairs[0][1]
        self.names = [word for words in base.values() for word in words]
        by_set = [
            _resolved(np.array([[twin[k][w] for w in words] for _, _, twin in pairs]))
            for k, words in base.items()
        ]
        self.without = [[words[run] for words in by_set] for run in range(len(pairs))]
        self.values = np.array(
            [
                score - np.concatenate(without)
                for score, without in zip(self.scores, self.without, strict=True)
            ]
        )

    def difference(self, before: Sequence[int], after: Sequence[int]) -> Estimate:
        """The difference in d, or in the logarithm of the odds."""
        values = [float(np.mean([self.scores[k] for k in runs])) for runs in (before, after)]
        first, second = (
            [self._mean(runs, s) for s in range(len(self.without[0]))] for runs in (before, after)
        )
        return effect_difference((values[0], values[1]), first, second, self.resampling)

    def bias(self) -> Bias:
        """The biases in d, or in the logarithm of the odds."""
        (first, second), (a, b) = self.scores[:2], self.without[:2]
        return Bias(
            effect_difference((first, second), a, b, self.resampling),
            effect_difference((-first, second), [-w for w in a], b, self.resampling),
        )

    def _mean(self, runs: Sequence[int], side: int) -> Floats:
        return np.asarray(np.mean([self.without[k][side] for k in runs], axis=0))


def _over_words(a: Result, b: Result) -> tuple[tuple[float, float], ByWord, ByWord]:
    """Two effect sizes over the same words, and what they are without each of them."""
    if scale_of(a).templates:
        return _over_shared_words(a, b)
    all_sets = all(r.settings.get("random") == "attributes" for r in (a, b))
    base, twin = (_without(r, all_sets) for r in (a, b))
    if not base or {k: set(v) for k, v in base.items()} != {k: set(v) for k, v in twin.items()}:
        differing = sorted(
            {w for v in base.values() for w in v} ^ {w for v in twin.values() for w in v}
        )
        raise DataError(
            f"{a.title}: the runs used different words ({', '.join(differing[:5])}), so their "
            "effect sizes are not comparable; leave these words out of the test in both."
        )
    return (a.overall.value, b.overall.value), base, twin


def _without(result: Result, all_sets: bool) -> ByWord:
    """The effect size without each word of all sets, or of the target sets alone.

    Sets with one word, or on which it does not depend, are left out; pairs count once.
    """
    frame = result.items
    if "without" not in frame:
        raise DataError(f"{result.title} was run by an earlier version; run it again to compare.")
    frame = frame[frame.without.notna()]
    by_set = {
        str(k): dict(zip(part["item"], part.without, strict=True))
        for k, part in frame.groupby("label", sort=False)
        if all_sets or k in ("X", "Y")
    }
    paired = result.settings.get("paired")
    return {k: v for k, v in by_set.items() if k not in SECOND_SETS.get(str(paired), ())}


def template_halves(
    facts: pd.DataFrame, scores: Mapping[str, float], templates: Sequence[str]
) -> list[log_odds.Half]:
    """The log-odds of the chosen items of a template test, and their words, by attribute set."""
    halves: list[log_odds.Half] = []
    for name in dict.fromkeys(facts.category):
        items = [i for i in templates if facts.category[i] == name]
        of = lexemes(facts.cluster[i] for i in items)
        values = np.array([scores[i] for i in items])
        halves.append((values, [of[facts.cluster[i]] for i in items]))
    return halves


def _over_shared_words(a: Result, b: Result) -> tuple[tuple[float, float], ByWord, ByWord]:
    """Effect sizes of log-odds over the items that both runs have, and those without each word."""
    odds = [Items(r).log_odds() for r in (a, b)]
    shared = [i for i in odds[0] if i in odds[1]]
    facts = Items(a).first
    names = list(dict.fromkeys(facts.category))
    by_run, values = [], []
    for result, scores in zip((a, b), odds, strict=True):
        halves = template_halves(facts, scores, shared)
        words = by_words(halves[0][0], halves[1][0], halves[0][1], halves[1][1])
        if scale_of(result).is_factor:
            ratio = log_odds.odds_ratio(words).value
            words, remaining = Words(words.x, words.y, ratio), log_odds.without(words)
        else:
            if len(shared) == len(scores):
                words = Words(words.x, words.y, result.overall.value)
            remaining = words.without()
        by_set = zip(names, halves, remaining, strict=True)
        by_run.append(
            {n: dict(zip(dict.fromkeys(h[1]), w.tolist(), strict=True)) for n, h, w in by_set}
        )
        values.append(words.value)
    return (values[0], values[1]), by_run[0], by_run[1]
