"""A verdict in words on an estimate, against the smallest bias that would matter."""

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

MIN_WORDS_A_SIDE = 5  # words a side below which nothing is concluded


def judged(result: Result, category: str = "") -> tuple[str, Estimate]:
    """The estimate that a verdict is about, and its name among the extras.

    It is the stereotype where the data have two sides, so that it can be told from a liking of the
    groups' words; else it is the score.
    """
    name = f"stereotype:{category}" if category else "stereotype"
    score = result.by_category[category] if category else result.overall
    return name, result.extras.get(name, score)


def verdicts_of(
    overall: Estimate,
    by_category: Mapping[str, Estimate],
    compared: Compared,
    matters: Threshold,
    extras: Mapping[str, Estimate] = EMPTY,
) -> dict[str, Verdict]:
    """Verdicts by category, that of the whole under an empty name.

    They are about the stereotype where `extras` have it, else about the score. A category is
    biased only if it is so after Holm's correction over all of them.
    """
    least = matters.of(compared)
    verdicts = {"": verdict(extras.get("stereotype", overall), least)}
    for name, score in by_category.items():
        estimate = extras.get(f"stereotype:{name}", score)
        verdicts[name] = verdict(estimate, least, estimate.more.get("p_holm"))
    return verdicts


def corrected_verdicts(results: Sequence[Result], matters: Threshold) -> list[Result]:
    """Word tests of one model and measure, under the same choices, are one family.

    Their verdicts are those after Holm's correction over the family.
    """
    families: dict[tuple[Any, ...], list[int]] = {}
    for place, r in enumerate(results):
        if r.compared != "preference" and r.overall.p is not None and r.verdicts and r.fitness.fit:
            choices = (r.spec.pool, r.spec.layer, r.spec.contexts, r.spec.samples)
            families.setdefault((r.model, r.measure, *choices), []).append(place)
    out = list(results)
    for places in families.values():
        tests = {results[i].data: results[i].overall.p or 0.0 for i in places}  # each counts once
        p = dict(zip(tests, corrected(list(tests.values())), strict=True))
        for i in places:
            value = p[results[i].data]
            estimate = results[i].overall
            estimate = replace(estimate, more={**estimate.more, "p_holm": float(value)})
            mine = None if estimate.more.get("published") else float(value)
            verdicts = {
                **results[i].verdicts,
                "": verdict(estimate, matters.of(results[i].compared), mine),
            }
            out[i] = replace(results[i], overall=estimate, verdicts=verdicts)
    return out


def verdict(estimate: Estimate, matters: float, p: float | None = None) -> Verdict:
    """Biased, not by more than what matters, or neither can be told.

    `p` stands in for the estimate's own where it is corrected for others beside it.
    """
    if few := too_few(estimate):
        return Verdict("cannot tell", matters, few)
    whose = estimate.more.get("published", "")
    if "interval" in whose or estimate.ideal is None or math.isnan(estimate.low):
        return Verdict("cannot tell", matters, "no interval that holds for other words")
    if estimate.within(matters):
        return Verdict("not by more", matters, "the interval lies within what would matter")
    own = p if p is not None else (None if whose else estimate.p)
    sure = own is None or own <= 1 - estimate.level + 1e-12
    if estimate.excludes_ideal and sure:
        return Verdict("biased", matters, "the interval leaves out the ideal")
    if estimate.excludes_ideal:
        why = _corrected(estimate) if p is not None else "p disagrees"
        return Verdict("cannot tell", matters, why)
    return Verdict("cannot tell", matters, "the interval holds the ideal and what would matter")


def too_few(estimate: Estimate) -> str:
    """Why nothing is concluded from an estimate: it rests on too few clusters or words."""
    if estimate.more.get("clusters", MIN_CLUSTERS) < MIN_CLUSTERS:
        return f"only {estimate.more['clusters']} clusters"
    if min(estimate.more.get("words", [MIN_WORDS_A_SIDE])) < MIN_WORDS_A_SIDE:
        return f"fewer than {MIN_WORDS_A_SIDE} words a side"
    return ""


def own_p(estimate: Estimate) -> float | None:
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

    At most 5 % where the 95 % interval lies beyond the limit, on whichever side of the ideal.
    """
    if own_p(estimate) is None or estimate.ideal is None:
        return None
    away = estimate.value - estimate.ideal
    reach = estimate.value - estimate.low if away > 0 else estimate.high - estimate.value
    df = float(estimate.more.get("df") or math.inf)
    errors = quantile((1 + estimate.level) / 2, df) * (abs(away) - limit) / max(reach, 1e-12)
    return 1.0 if errors <= 0 else min(1.0, 2 * beyond(errors, df))


def _corrected(estimate: Estimate) -> str:
    count = estimate.more.get("tests")
    tests = f"{count} tests" if count else "the other tests"
    return f"the interval leaves out the ideal, but not after correction for {tests}"


def contradiction(estimate: Estimate) -> tuple[str, ...]:
    """A sentence where p and interval would be read apart, or where p is not ours."""
    whose, p = estimate.more.get("published", ""), estimate.p
    if "interval" in whose:
        return (
            "interval and p are as published: the Monte Carlo error of the draws, which says "
            "nothing of other words.",
        )
    if p is None or math.isnan(estimate.low):
        return ()
    apart = (p <= 1 - estimate.level) != estimate.excludes_ideal
    if whose:
        sided = f"{estimate.more.get('sided', 'two')}-sided"
        note = f"p is as published: {sided}, over sentences as if they were independent"
        return (f"{note}; the interval is over words.",) if apart else (f"{note}.",)
    if apart:
        return (
            "p (of words, which weigh alike) and the interval (of d over all sentences) fall on "
            "different sides of the line: the case is borderline.",
        )
    return ()
