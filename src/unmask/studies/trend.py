"""Runs over time: checkpoints or releases in order, and where a score really changed.

For each bias type one measure is followed that counts in the answer of every run, on the items that
all runs have. A change point splits the runs into two parts whose mean scores differ: the place is
where they do most (CUSUM). Runs differ by their seeds even where nothing changed, so the test
permutes the order of the runs, with the maximum over bias types (Antoch and Huskova 2001; Westfall
and Young 1993); where a change is found both parts are searched again (binary segmentation; Scott
and Knott 1974), with a fifth of the error rate, divided by the searches of that depth. Fewer than
LEAST_RUNS runs have too few orders for any change to be significant.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from unmask.answer.answer import Answer, answers
from unmask.answer.evidence import Evidence
from unmask.answer.fitness import unproven_models
from unmask.answer.lab_status import UNFIT
from unmask.answer.scales import ORDER
from unmask.errors import DataError
from unmask.options import Resampling
from unmask.reports.results import gather
from unmask.stats.change_points import LEAST_RUNS, change_points
from unmask.stats.clustering import Variance
from unmask.stats.intervals import DEFAULTS, student
from unmask.studies.bias_type_differences import key
from unmask.studies.contrast import paired_runs
from unmask.types import Estimate, Floats, Results, ScaleName

FIRST = 0.8  # share of the error rate for the search of all runs; searches of parts have the rest


@dataclass(frozen=True, slots=True)
class Change:
    """A change point: the run from which on a score differs, by how much, and how sure that is.

    `before` and `after` are the mean scores of the runs on both sides; `p` is corrected.
    """

    bias_type: str
    measure: str
    data: str
    compared: ScaleName
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
    all_answers = answers(results)
    unfit = _unfit(results)
    names = [name for name in names if name not in unfit]
    if len(names) < 2:
        reasons = "; ".join(f"{name} is unfit: {reason}" for name, reason in unfit.items())
        raise DataError(f"a trend needs two runs that are fit for a verdict; {reasons}.")
    by_run = [[a for a in all_answers if a.model == name] for name in names]
    followed = list(_followed(by_run))
    if not followed:
        raise DataError(
            "the runs share no measure with a verdict; use the same measures and data in all runs."
        )
    scores = pd.DataFrame([r for c, evidence in followed for r in _rows(names, c, evidence)])
    series: dict[str, Floats] = {}
    untested = []
    for bias_type, evidence in followed:
        try:
            results_ = [e.result for e in evidence]
            paired = paired_runs(results_, evidence[0].category, resampling=resampling)
            series[bias_type] = np.array(paired.scores)
        except DataError:
            untested.append(bias_type)
    evidence_of = dict(followed)
    breaks = [
        _change(names, name, evidence_of[name], values, segment, place, p, resampling)
        for name, values, segment, place, p in changes(series, (0, len(names)), resampling)
    ]
    breaks.sort(key=lambda c: c.p)
    return Trend(tuple(names), scores, tuple(breaks), tuple(untested), unfit)


def _unfit(results: Results) -> dict[str, str]:
    """The runs without any result that a verdict may rest on, and why."""
    reasons = unproven_models(results)
    for name in results.models:
        with_verdict = [r for r in results if r.model == name and r.verdicts]
        if with_verdict and not any(r.fitness.fit for r in with_verdict):
            reasons[name] = "; ".join(with_verdict[0].fitness.reasons)
    return reasons


def _followed(by_run: Sequence[Sequence[Answer]]) -> Iterator[tuple[str, list[Evidence]]]:
    """For each bias type the evidence that counts in all runs, the first in the order of scales."""
    tables = [
        {(a.bias_type, key(r)): r for a in answers_ for r in a.evidence if r.trust != UNFIT}
        for answers_ in by_run
    ]
    shared = [k for k in tables[0] if all(k in t for t in tables)]
    names_used: set[str] = set()
    order = sorted(shared, key=lambda k: ORDER.index(tables[0][k].result.compared))
    for name in order:
        if name[0] not in names_used:  # one measure per bias type: the answer's main one
            names_used.add(name[0])
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


def changes(
    series: Mapping[str, Floats],
    segment: tuple[int, int],
    resampling: Resampling,
    searches: int = 1,
) -> Iterator[tuple[str, Floats, tuple[int, int], int, float]]:
    """Where scores change within a segment of runs: bias type, scores, segment, place and p.

    It is one of several `searches` at its depth, for all of which p is corrected.
    """
    start, end = segment
    if not series or end - start < LEAST_RUNS:
        return
    values = {name: v[start:end] for name, v in series.items()}
    points = change_points(values, resampling)
    error, share = 1 - resampling.level, FIRST if searches == 1 else 1 - FIRST
    tests = {name: (place, min(1.0, p * searches / share)) for name, (place, p) in points.items()}
    breaks = {name: (place, p) for name, (place, p) in tests.items() if p <= error}
    for name, (place, p) in breaks.items():
        yield name, series[name], segment, start + place, p
        single, more = {name: series[name]}, 2 * searches * len(breaks)
        yield from changes(single, (start, start + place), resampling, more)
        yield from changes(single, (start + place, end), resampling, more)


def _change(
    names: Sequence[str],
    bias_type: str,
    evidence: Sequence[Evidence],
    values: Floats,
    segment: tuple[int, int],
    place: int,
    p: float,
    resampling: Resampling,
) -> Change:
    result = evidence[place].result
    before, after = values[segment[0] : place], values[place : segment[1]]
    free = len(before) + len(after) - 2
    within = sum(float(np.sum((v - v.mean()) ** 2)) for v in (before, after)) / free
    variance = Variance(within * (1 / len(before) + 1 / len(after)), float(free))
    n = len(before) + len(after)
    difference = student(
        float(after.mean() - before.mean()),
        variance,
        n,
        n,
        ideal=0.0,
        resampling=resampling,
        method="t over runs",
    )
    means = float(before.mean()), float(after.mean())
    names_ = names[place - 1], names[place]
    where = (bias_type, result.measure, result.data, result.compared)
    return Change(*where, *names_, *means, difference, p)
