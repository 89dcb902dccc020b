"""Runs over time: checkpoints or releases, one behind the other, and where a score really changed.

For each concern a ruler is followed that counts in the answer of every run, on the items that all
runs have. A change point splits the runs in two parts whose mean scores differ: the place is where
they do most (CUSUM), the test is that of the items' mean answers before and after (paired, as two
runs are compared), with Bonferroni's correction over all places and rulers; where one is found both
parts are looked at again (binary segmentation; Scott and Knott 1974).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd

from unmask.errors import DataError
from unmask.flow.items import designed
from unmask.options import Resampling
from unmask.reports.answer import ORDER, UNFIT, Answer, Ruler, answers
from unmask.reports.columns import UNITS
from unmask.reports.results import gather
from unmask.stats.comparison import PairedAnswers, effect_difference
from unmask.stats.intervals import DEFAULTS
from unmask.stats.item_statistics import Pulled
from unmask.stats.preference import preferred
from unmask.studies.concern_differences import key, weight_of
from unmask.studies.paired_items import (
    OfItems,
    categories,
    effects_without,
    sentences_of,
    statistic_difference,
    statistics_of,
    wide,
)
from unmask.types import (
    ANTISTEREOTYPE,
    STEREOTYPE,
    Compared,
    Estimate,
    Floats,
    Result,
    Results,
)


@dataclass(frozen=True, slots=True)
class Change:
    """A change point: the run from which on a score differs, by how much, and how sure that is.

    `before` and `after` are the mean scores of the runs on both sides; `p` is corrected.
    """

    concern: str
    measure: str
    data: str
    compared: Compared
    last: str
    first: str
    before: float
    after: float
    difference: Estimate
    p: float


@dataclass(frozen=True, slots=True)
class Trend:
    """Runs in order: `scores` by run and concern, and the changes that are real.

    Concerns whose items no two runs share are `untested`. Runs that are `unfit` for a verdict are
    not followed; the reason is by name.
    """

    runs: tuple[str, ...]
    scores: pd.DataFrame
    changes: tuple[Change, ...]
    untested: tuple[str, ...] = ()
    unfit: Mapping[str, str] = field(default_factory=dict)


class _Series(Protocol):
    """A ruler over all runs: the difference of mean scores between two sets of runs.

    `scores` are those of the runs over what all of them have.
    """

    scores: list[float]

    def contrast(self, before: Sequence[int], after: Sequence[int]) -> Estimate: ...


def trend(runs: Any, resampling: Resampling = DEFAULTS) -> Trend:
    """Follow runs in the order in which they are given: folders of results, or `Results`."""
    results = gather(runs)
    names = results.models
    if len(names) < 2:
        raise DataError("a trend needs two runs or more; give their folders in order.")
    every = answers(results)
    unfit = _unfit(results)
    names = [name for name in names if name not in unfit]
    if len(names) < 2:
        told = "; ".join(f"{name} is unfit: {reason}" for name, reason in unfit.items())
        raise DataError(f"a trend needs two runs that are fit for a verdict; {told}.")
    by_run = [[a for a in every if a.model == name] for name in names]
    followed = list(_followed(by_run))
    if not followed:
        raise DataError("the runs share no measure with a verdict; run the same on all.")
    scores = pd.DataFrame([r for c, rulers in followed for r in _rows(names, c, rulers)])
    changes: list[Change] = []
    untested = []
    for concern, rulers in followed:
        series = _series(rulers, resampling)
        if series is None:
            untested.append(concern)
            continue
        error = (1 - resampling.level) / len(followed)
        places = _changes(series, list(range(len(names))), error)
        factor = len(followed)
        changes += [_change(names, concern, rulers, series, factor, *place) for place in places]
    changes.sort(key=lambda c: c.p)
    return Trend(tuple(names), scores, tuple(changes), tuple(untested), unfit)


def _unfit(results: Results) -> dict[str, str]:
    """The runs without any result that a verdict may rest on, and why."""
    reasons: dict[str, str] = {}
    for name in results.models:
        judged = [r for r in results if r.model == name and r.verdicts]
        if judged and not any(r.fitness.fit for r in judged):
            reasons[name] = "; ".join(judged[0].fitness.reasons)
    return reasons


def _followed(by_run: Sequence[Sequence[Answer]]) -> Iterator[tuple[str, list[Ruler]]]:
    """Of each concern the rulers that count in all runs; those of one unit, the first of ORDER."""
    tables = [
        {(a.concern, key(r)): r for a in answers_ for r in a.rulers if r.trust != UNFIT}
        for answers_ in by_run
    ]
    shared = [k for k in tables[0] if all(k in t for t in tables)]
    taken: set[str] = set()
    order = sorted(shared, key=lambda k: ORDER.index(tables[0][k].result.compared))
    for name in order:
        if name[0] not in taken:  # one ruler a concern: the one that the answer leads with
            taken.add(name[0])
            yield name[0], [t[name] for t in tables]


def _rows(names: Sequence[str], concern: str, rulers: Sequence[Ruler]) -> Iterator[dict[str, Any]]:
    for place, (name, ruler) in enumerate(zip(names, rulers, strict=True), 1):
        unit, e = UNITS[ruler.result.compared], ruler.estimate
        yield {
            "run": name,
            "place": place,
            "concern": concern,
            "measure": ruler.result.measure,
            "data": ruler.result.data,
            "category": ruler.category,
            "compared": ruler.result.compared,
            **{k: unit.shown(getattr(e, v)) for k, v in SHOWN.items()},
            "n": e.n,
        }


SHOWN = {"score": "value", "low": "low", "high": "high"}


def _changes(
    series: _Series, runs: Sequence[int], error: float
) -> Iterator[tuple[int, Estimate, float, list[int], list[int]]]:
    """Where a series changes within some runs: the place, the difference, and its p."""
    if len(runs) < 2:
        return
    splits = [(list(runs[:k]), list(runs[k:])) for k in range(1, len(runs))]
    contrasts = [series.contrast(*s) for s in splits]
    # Where it changes most, by CUSUM; runs are alike in what their items share, so the least p
    # would rather point at the split that mixes the two levels.
    heights = [
        abs(c.value) * math.sqrt(len(b) * len(a))
        for c, (b, a) in zip(contrasts, splits, strict=True)
    ]
    best = int(np.argmax(heights))
    p = contrasts[best].p
    corrected = 1.0 if p is None or math.isnan(p) else min(1.0, p * len(splits))
    if corrected > error:
        return
    before, after = splits[best]
    yield from _changes(series, before, error)
    yield after[0], contrasts[best], corrected, before, after
    yield from _changes(series, after, error)


def _change(
    names: Sequence[str],
    concern: str,
    rulers: Sequence[Ruler],
    series: _Series,
    factor: int,
    place: int,
    difference: Estimate,
    p: float,
    before: Sequence[int],
    after: Sequence[int],
) -> Change:
    result = rulers[place].result
    means = [float(np.mean([series.scores[k] for k in some])) for some in (before, after)]
    return Change(
        concern,
        result.measure,
        result.data,
        result.compared,
        names[place - 1],
        names[place],
        means[0],
        means[1],
        difference,
        min(1.0, factor * p),
    )


def _series(rulers: Sequence[Ruler], resampling: Resampling) -> _Series | None:
    try:
        if rulers[0].result.compared == "preference":
            return _Shares(rulers, resampling)
        if "statistic" in rulers[0].result.settings:
            return _Statistics(rulers, resampling)
        return _Effects(rulers, resampling)
    except DataError:
        return None


class _Shares:
    """Answers of all runs [runs, items] to the items that all of them have."""

    def __init__(self, rulers: Sequence[Ruler], resampling: Resampling) -> None:
        tables = [_by_sentences(r.result) for r in rulers]
        shared = tables[0].index
        for table in tables[1:]:
            shared = shared.intersection(table.index)
        first, category = rulers[0].result, rulers[0].category
        table = tables[0].loc[shared]
        chosen = (table.category.to_numpy() == category) | (category == "")
        if len(set(table.cluster[chosen])) < 2:
            raise DataError("too few items are in all runs.")
        self.answers = np.array(
            [
                preferred(t.loc[shared, STEREOTYPE], t.loc[shared, ANTISTEREOTYPE], "half")
                for t in tables
            ]
        )
        self.design, self.resampling = designed(table), resampling
        self.weight = np.zeros(len(shared))
        last = rulers[-1].result
        self.weight[chosen] = weight_of(first, last, table[chosen], category)
        self.scores = (100 * self.answers @ self.weight).tolist()

    def contrast(self, before: Sequence[int], after: Sequence[int]) -> Estimate:
        """The mean of the runs after, less that of the runs before, in points."""
        first, second = (self.answers[list(some)].mean(axis=0) for some in (before, after))
        paired = PairedAnswers(first, second, self.design)
        return paired.bias(self.weight, self.resampling).difference


def _by_sentences(result: Result) -> pd.DataFrame:
    """A result's items, known by their sentences: an id may mean another item in another run."""
    table = wide(result).assign(category=categories(result))
    names = sentences_of(result)
    table.index = pd.Index([names[str(i)] for i in table.index])
    return table[~table.index.duplicated()]


class _Statistics:
    """A statistic of items of all runs, on those that the first shares with each, with its pulls.

    Items are taken where all runs have them; pulls add up, so that means of runs do.
    """

    def __init__(self, rulers: Sequence[Ruler], resampling: Resampling) -> None:
        first, category = rulers[0].result, rulers[0].category
        each = [statistics_of(first, r.result, category) for r in rulers]
        if len({tuple(shared) for _, _, shared, _ in each}) > 1:
            raise DataError("the runs do not have the same items.")
        self.runs, self.resampling = [run for _, run, _, _ in each], resampling
        self.scores = [run.found.value for run in self.runs]

    def contrast(self, before: Sequence[int], after: Sequence[int]) -> Estimate:
        """The mean of the runs after, less that of the runs before."""
        one, two = (self._mean(some) for some in (before, after))
        return statistic_difference(one, two, self.resampling)

    def _mean(self, runs: Sequence[int]) -> OfItems:
        some = [self.runs[k].found for k in runs]
        value = float(np.mean([f.value for f in some]))
        pulls = np.mean([f.pulls for f in some], axis=0)
        return replace(self.runs[runs[0]], found=Pulled(value, pulls, some[0].weight))


class _Effects:
    """Effect sizes of all runs over the same words, with those without each word."""

    def __init__(self, rulers: Sequence[Ruler], resampling: Resampling) -> None:
        first = rulers[0].result
        each = [effects_without(first, r.result) for r in rulers]
        self.values = self.scores = [e[0][1] for e in each]
        self.without: list[list[Floats]] = [e[2] for e in each]
        self.resampling = resampling

    def contrast(self, before: Sequence[int], after: Sequence[int]) -> Estimate:
        """The mean of the runs after, less that of the runs before."""
        values = [float(np.mean([self.values[k] for k in some])) for some in (before, after)]
        first, second = (
            [self._mean(some, s) for s in range(len(self.without[0]))] for some in (before, after)
        )
        return effect_difference((values[0], values[1]), first, second, self.resampling)

    def _mean(self, runs: Sequence[int], which: int) -> Floats:
        return np.asarray(np.mean([self.without[k][which] for k in runs], axis=0))
