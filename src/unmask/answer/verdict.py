"""Verdicts: biased, reversed, negligible or inconclusive, against the smallest bias that matters.

This is the only place that corrects verdicts for multiple tests. All tests of a model in a run are
one family, and Holm's method (1979) keeps its error rate: at most 5 % of unbiased models get any
"biased" verdict. With `family="row"` the families are smaller: the categories of one score, or the
word tests of one measure.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from scipy.special import ndtr, ndtri

from unmask.options import Threshold
from unmask.stats.intervals import MIN_CLUSTERS
from unmask.stats.multiplicity import corrected
from unmask.stats.student_t import beyond, quantile
from unmask.types import EMPTY, Compared, Estimate, Result, Verdict

MIN_WORDS_PER_SET = 5  # nothing is concluded from fewer words
NO_INTERVAL = "there is no interval that holds for other words"


def judged_estimate(result: Result, category: str = "") -> tuple[str, Estimate]:
    """The estimate that a verdict is about, and its name among the extras.

    It is the stereotype, corrected for word preference, where the data have two target groups;
    otherwise it is the score.
    """
    name = f"stereotype:{category}" if category else "stereotype"
    score = result.by_category[category] if category else result.overall
    return name, result.extras.get(name, score)


def initial_verdicts(
    overall: Estimate,
    by_category: Mapping[str, Estimate],
    compared: Compared,
    least: Threshold,
    extras: Mapping[str, Estimate] = EMPTY,
) -> dict[str, Verdict]:
    """Verdicts by category, the whole score's under "", before any correction."""
    matters = least.of(compared)
    verdicts = {"": verdict(extras.get("stereotype", overall), matters)}
    for name, score in by_category.items():
        verdicts[name] = verdict(extras.get(f"stereotype:{name}", score), matters)
    return verdicts


def correct(
    results: Sequence[Result], least: Threshold, family: str = "run", shares: int = 1
) -> list[Result]:
    """Return the results with verdicts corrected over each family of tests.

    The error rate is divided by `shares` where other tests of the same model have the rest. The
    corrected p is in the details of the judged estimate as `p_corrected`, with the number of
    `tests`.
    """
    families: dict[tuple[Any, ...], list[tuple[int, str]]] = {}
    for index, result in enumerate(results):
        for category in result.verdicts if result.fitness.fit else ():
            if p_value(judged_estimate(result, category)[1]) is not None:
                key = _family(result, category, family)
                families.setdefault(key, []).append((index, category))
    judged = list(results)
    for tests in families.values():
        # The same test given twice counts once.
        names = [(results[i].spec.key, category) for i, category in tests]
        p_values = {
            name: p_value(judged_estimate(results[i], category)[1])
            for name, (i, category) in zip(names, tests, strict=True)
        }
        p_corrected = holm(list(p_values.values()), shares)
        by_name = dict(zip(p_values, p_corrected, strict=True))
        for name, (i, category) in zip(names, tests, strict=True):
            judged[i] = _judged(judged[i], category, by_name[name], len(p_values), least)
    return judged


def holm(p_values: Sequence[float | None], shares: int = 1) -> list[float]:
    """Holm's correction over one family; None has no test and counts as 1."""
    adjusted = corrected([1.0 if p is None else p for p in p_values])
    return [min(1.0, shares * float(p)) for p in adjusted]


def _family(result: Result, category: str, family: str) -> tuple[Any, ...]:
    if family == "run":
        return (result.model,)
    if result.by_category:
        return (result.model, *result.spec.key, category == "")
    spec = result.spec
    return (result.model, result.measure, spec.pool, spec.layer, spec.contexts, spec.samples)


def _judged(result: Result, category: str, p: float, tests: int, least: Threshold) -> Result:
    """Replace one verdict of a result by the one under its corrected p."""
    name, estimate = judged_estimate(result, category)
    estimate = replace(estimate, more={**estimate.more, "p_corrected": p, "tests": tests})
    word = verdict(estimate, least.of(result.compared), p)
    result = replace(result, verdicts={**result.verdicts, category: word})
    if name in result.extras:
        return replace(result, extras={**result.extras, name: estimate})
    if category:
        return replace(result, by_category={**result.by_category, category: estimate})
    return replace(result, overall=estimate)


def verdict(estimate: Estimate, matters: float, p: float | None = None) -> Verdict:
    """Judge an estimate against the smallest bias that matters.

    `p` replaces the estimate's own where it is corrected for multiple tests.
    """
    if few := too_few(estimate):
        return Verdict("inconclusive", matters, few)
    published = estimate.more.get("published", "")
    if "interval" in published or estimate.ideal is None or math.isnan(estimate.low):
        return Verdict("inconclusive", matters, NO_INTERVAL)
    if estimate.within(matters):
        return Verdict("negligible", matters, "the interval is within the smallest bias of note")
    tested = p if p is not None else (None if published else estimate.p)
    significant = tested is None or tested <= 1 - estimate.level + 1e-12
    if estimate.excludes_ideal and significant:
        word = "biased" if estimate.value > estimate.ideal else "reversed"
        return Verdict(word, matters, "the interval excludes the neutral value")
    if estimate.excludes_ideal:
        why = _corrected(estimate) if p is not None else "the p-value and the interval disagree"
        return Verdict("inconclusive", matters, why)
    return Verdict("inconclusive", matters, "the interval includes both no bias and one of note")


def too_few(estimate: Estimate) -> str:
    """Why nothing is concluded from an estimate: it rests on too few clusters or words."""
    if estimate.more.get("clusters", MIN_CLUSTERS) < MIN_CLUSTERS:
        return f"only {estimate.more['clusters']} clusters"
    if min(estimate.more.get("words", [MIN_WORDS_PER_SET])) < MIN_WORDS_PER_SET:
        return f"fewer than {MIN_WORDS_PER_SET} words per set"
    return ""


def p_value(estimate: Estimate) -> float | None:
    """The estimate's p; where it has none, or a published one, the p that its interval implies."""
    if "interval" in estimate.more.get("published", "") or math.isnan(estimate.low):
        return None
    if estimate.p is not None and not estimate.more.get("published"):
        return estimate.p
    ideal = estimate.ideal or 0.0
    reach = (
        estimate.value - estimate.low if estimate.value > ideal else estimate.high - estimate.value
    )
    errors = ndtri((1 + estimate.level) / 2) * abs(estimate.value - ideal) / max(reach, 1e-12)
    return float(2 * ndtr(-errors))


def exceeds(estimate: Estimate, limit: float) -> float | None:
    """The two-sided p that a bias is no larger than `limit`, as its interval implies it.

    It is at most 5 % where the 95 % interval is beyond the limit, in whichever direction.
    """
    if p_value(estimate) is None or estimate.ideal is None:
        return None
    away = estimate.value - estimate.ideal
    reach = estimate.value - estimate.low if away > 0 else estimate.high - estimate.value
    df = float(estimate.more.get("df") or math.inf)
    errors = quantile((1 + estimate.level) / 2, df) * (abs(away) - limit) / max(reach, 1e-12)
    return 1.0 if errors <= 0 else min(1.0, 2 * beyond(errors, df))


def _corrected(estimate: Estimate) -> str:
    count = estimate.more.get("tests")
    tests = f"{count} tests" if count else "multiple tests"
    return f"significant on its own, but not after correcting for {tests}"


def contradiction(estimate: Estimate) -> tuple[str, ...]:
    """A sentence where p and interval would be read differently, or where p is not ours."""
    published, p = estimate.more.get("published", ""), estimate.p
    if "interval" in published:
        return (
            "Interval and p are as published: they are the Monte Carlo error of the draws, and say "
            "nothing about other words.",
        )
    if p is None or math.isnan(estimate.low):
        return ()
    disagree = (p <= 1 - estimate.level) != estimate.excludes_ideal
    if published:
        sided = f"{estimate.more.get('sided', 'two')}-sided"
        note = f"p is as published: {sided}, with sentences treated as independent"
        return (f"{note}; the interval is over words.",) if disagree else (f"{note}.",)
    if disagree:
        return (
            "p (over words, weighted equally) and the interval (of d over all sentences) disagree "
            "about significance: the case is borderline.",
        )
    return ()
