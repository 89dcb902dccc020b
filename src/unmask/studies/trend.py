"""Runs over time: checkpoints or releases in order, and where a score really changed.

For each bias type one measure is followed that counts in the answer of every run, on the items that
all runs have. A change point splits the runs into two parts whose mean scores differ: the place is
where they do most (CUSUM), the test is that of the items' mean answers before and after (paired, as
two runs are compared), with Bonferroni's correction over all places and bias types; where one is
found both parts are searched again (binary segmentation; Scott and Knott 1974).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from unmask.answer.answer import Answer, Evidence, answers
from unmask.answer.lab_status import UNFIT
from unmask.answer.scales import ORDER
from unmask.errors import DataError
from unmask.options import Resampling
from unmask.reports.results import gather
from unmask.stats.intervals import DEFAULTS
from unmask.studies.bias_type_differences import key
from unmask.studies.contrast import PairedRuns, paired_runs
from unmask.types import (
    Compared,
    Estimate,
    Results,
)


@dataclass(frozen=True, slots=True)
class Change:
    """A change point: the run from which on a score differs, by how much, and how sure that is.

    `before` and `after` are the mean scores of the runs on both sides; `p` is corrected.
    """

    bias_type: str
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
    """Runs in order: `scores` by run and bias type, and the changes that are real.

    Bias types whose items no two runs share are `untested`. Runs that are `unfit` for a verdict are
    not followed; the reason is by name.
    """

    runs: tuple[str, ...]
    scores: pd.DataFrame
    changes: tuple[Change, ...]
    untested: tuple[str, ...] = ()
    unfit: Mapping[str, str] = field(default_factory=dict)


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
    scores = pd.DataFrame([r for c, evidence in followed for r in _rows(names, c, evidence)])
    changes: list[Change] = []
    untested = []
    for bias_type, evidence in followed:
        try:
            series = paired_runs(
                [e.result for e in evidence], evidence[0].category, resampling=resampling
            )
        except DataError:
            untested.append(bias_type)
            continue
        error = (1 - resampling.level) / len(followed)
        places = _changes(series, list(range(len(names))), error)
        factor = len(followed)
        changes += [_change(names, bias_type, evidence, series, factor, *place) for place in places]
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


def _followed(by_run: Sequence[Sequence[Answer]]) -> Iterator[tuple[str, list[Evidence]]]:
    """For each bias type the evidence that counts in all runs, the first in the order of scales."""
    tables = [
        {(a.bias_type, key(r)): r for a in answers_ for r in a.evidence if r.trust != UNFIT}
        for answers_ in by_run
    ]
    shared = [k for k in tables[0] if all(k in t for t in tables)]
    taken: set[str] = set()
    order = sorted(shared, key=lambda k: ORDER.index(tables[0][k].result.compared))
    for name in order:
        if name[0] not in taken:  # one measure per bias type: the answer's main one
            taken.add(name[0])
            yield name[0], [t[name] for t in tables]


def _rows(
    names: Sequence[str], bias_type: str, evidence: Sequence[Evidence]
) -> Iterator[dict[str, Any]]:
    for place, (name, run) in enumerate(zip(names, evidence, strict=True), 1):
        scale, e = run.scale, run.estimate
        yield {
            "run": name,
            "place": place,
            "bias_type": bias_type,
            "measure": run.result.measure,
            "data": run.result.data,
            "category": run.category,
            "compared": run.result.compared,
            **{k: scale.show(getattr(e, v)) for k, v in SHOWN.items()},
            "n": e.n,
        }


SHOWN = {"score": "value", "low": "low", "high": "high"}


def _changes(
    series: PairedRuns, runs: Sequence[int], error: float
) -> Iterator[tuple[int, Estimate, float, list[int], list[int]]]:
    """Where a series changes within some runs: the place, the difference, and its p."""
    if len(runs) < 2:
        return
    splits = [(list(runs[:k]), list(runs[k:])) for k in range(1, len(runs))]
    contrasts = [series.difference(*s) for s in splits]
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
    bias_type: str,
    evidence: Sequence[Evidence],
    series: PairedRuns,
    factor: int,
    place: int,
    difference: Estimate,
    p: float,
    before: Sequence[int],
    after: Sequence[int],
) -> Change:
    result = evidence[place].result
    means = [float(np.mean([series.scores[k] for k in some])) for some in (before, after)]
    return Change(
        bias_type,
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
