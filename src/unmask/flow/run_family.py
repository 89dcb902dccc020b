"""A run as one family of tests: how often would a fair model be called biased at all?

Every verdict of a model in a run (measures, categories, word tests) is a test, and a fair model has
many chances to fail one. Their p-values are corrected together by the step-down procedure of
Westfall and Young (1993), which uses that measures on the same items go together: in at most 5 % of
runs is anything called biased where nothing is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unmask.options import Resampling, Threshold
from unmask.stats.cluster_pulls import Pulls, pulls_of
from unmask.stats.multiplicity import family_wise
from unmask.stats.verdict import judged, own_p, verdict
from unmask.types import Result


@dataclass(frozen=True, slots=True)
class Test:
    """A verdict's test: the result and category that it is of, its p, and what moves it."""

    place: int
    category: str
    p: float
    pulls: Pulls


def judged_as_one(
    results: Sequence[Result],
    matters: Threshold,
    resampling: Resampling,
    shares: int = 1,
    pulls: Sequence[Mapping[str, Pulls]] | None = None,
) -> list[Result]:
    """Results whose verdicts hold for the run as a whole, for each model apart.

    The corrected p stands as `p_run` in the details of the estimate that is judged, and `tests`
    says of how many it is one. The error rate is one of so many `shares`. `pulls` [results] are
    what moves them, where that is known.
    """
    pulls = [pulls_of(r) if r.verdicts else {} for r in results] if pulls is None else pulls
    out = list(results)
    models = {r.model: [i for i, s in enumerate(results) if s.model == r.model] for r in results}
    for places in models.values():
        tests = [t for i in places for t in _tests(i, results[i], pulls[i])]
        p = family_wise([t.p for t in tests], [t.pulls for t in tests], resampling)
        p = np.minimum(1.0, shares * p)
        for test, value in zip(tests, p.tolist(), strict=True):
            out[test.place] = _judged(out[test.place], test.category, value, len(tests), matters)
    return out


def _judged(result: Result, category: str, p: float, tests: int, matters: Threshold) -> Result:
    """A result with one verdict made anew under its corrected p."""
    name, estimate = judged(result, category)
    estimate = replace(estimate, more={**estimate.more, "p_run": p, "tests": tests})
    least = matters.of(result.compared)
    verdicts = {**result.verdicts, category: verdict(estimate, least, p)}
    if name in result.extras:
        return replace(result, extras={**result.extras, name: estimate}, verdicts=verdicts)
    if category:
        by_category = {**result.by_category, category: estimate}
        return replace(result, by_category=by_category, verdicts=verdicts)
    return replace(result, overall=estimate, verdicts=verdicts)


def _tests(place: int, result: Result, pulls: Mapping[str, Pulls]) -> list[Test]:
    """The tests behind the verdicts of a result; a baseline has none."""
    tests: list[Test] = []
    for category in result.verdicts if result.fitness.fit else ():
        p = own_p(judged(result, category)[1])
        if p is not None:
            tests.append(Test(place, category, p, pulls.get(category, {})))
    return tests
