"""A run as one family of tests: how often would a fair model be called biased at all?

Every verdict of a model in a run (measures, categories, word tests) is a test, and a fair model has
many chances to fail one. Their p-values are corrected together by the step-down procedure of
Westfall and Young (1993), which uses that measures on the same items go together: in at most 5 % of
runs is anything called biased where nothing is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from unmask.flow.items import DESIGN_COLUMNS
from unmask.options import Resampling, Threshold
from unmask.stats import log_odds
from unmask.stats.clustering import codes
from unmask.stats.crossed import even_sides
from unmask.stats.multiplicity import family_wise
from unmask.stats.preference import preferred
from unmask.stats.verdict import judged, verdict
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Estimate, Floats, Result

Pulls = Mapping[str, float]  # by cluster or word: how far it moves an estimate


@dataclass(frozen=True, slots=True)
class Test:
    """A verdict's test: the result and category that it is of, its p, and what moves it."""

    place: int
    category: str
    p: float
    pulls: Pulls


def judged_as_one(
    results: Sequence[Result], matters: Threshold, resampling: Resampling
) -> list[Result]:
    """Results whose verdicts hold for the run as a whole, for each model apart.

    The corrected p stands as `p_run` in the details of the estimate that is judged, and `tests`
    says of how many it is one.
    """
    out = list(results)
    models = {r.model: [i for i, s in enumerate(results) if s.model == r.model] for r in results}
    for places in models.values():
        tests = [t for i in places for t in _tests(i, results[i])]
        p = family_wise([t.p for t in tests], [t.pulls for t in tests], resampling)
        for test, value in zip(tests, p.tolist(), strict=True):
            out[test.place] = _judged(out[test.place], test.category, value, len(tests), matters)
    return out


def _judged(result: Result, category: str, p: float, tests: int, matters: Threshold) -> Result:
    """A result with one verdict made anew under its corrected p."""
    name, estimate = judged(result, category)
    estimate = replace(estimate, more={**estimate.more, "p_run": p, "tests": tests})
    least = matters.points if result.compared == "preference" else matters.d
    verdicts = {**result.verdicts, category: verdict(estimate, least, p)}
    if name in result.extras:
        return replace(result, extras={**result.extras, name: estimate}, verdicts=verdicts)
    if category:
        by_category = {**result.by_category, category: estimate}
        return replace(result, by_category=by_category, verdicts=verdicts)
    return replace(result, overall=estimate, verdicts=verdicts)


def _tests(place: int, result: Result) -> list[Test]:
    """The tests behind the verdicts of a result; a baseline has none."""
    pulls = pulls_of(result) if result.verdicts else {}
    tests = []
    for category in result.verdicts:
        p = _own_p(judged(result, category)[1])
        if p is not None:
            tests.append(Test(place, category, p, pulls.get(category, {})))
    return tests


def _own_p(estimate: Estimate) -> float | None:
    """The estimate's p; where that is a published one, the p that its interval implies."""
    if "interval" in estimate.more.get("published", "") or np.isnan(estimate.low):
        return None
    if not estimate.more.get("published"):
        return estimate.p
    ideal = estimate.ideal or 0.0
    reach = (
        estimate.value - estimate.low if estimate.value > ideal else estimate.high - estimate.value
    )
    errors = ndtri((1 + estimate.level) / 2) * abs(estimate.value - ideal) / max(reach, 1e-12)
    return float(2 * ndtr(-errors))


# ---------------------------------------------------------------- what moves a score


def pulls_of(result: Result) -> dict[str, Pulls]:
    """How far each cluster, or word, moves the estimates that the verdicts are about."""
    return dict(_PULLS[result.compared](result))


def _of_items(result: Result) -> dict[str, Pulls]:
    """Of a preference: answers less the mean of their cell, weighted, by cluster of the data."""
    frame = result.items[result.items.reason.isna()]
    pro, anti = (frame[frame.label == k].set_index("item") for k in (STEREOTYPE, ANTISTEREOTYPE))
    wins = preferred(pro.score.to_numpy(), anti.score.loc[pro.index].to_numpy(), "half")
    facts = pro[["category", "cluster", *DESIGN_COLUMNS]].fillna("").astype(str)
    facts = facts.assign(cluster=result.data.split(":")[0] + "/" + facts.cluster)
    return stereotype_pulls(facts, wins, list(result.verdicts))


def stereotype_pulls(
    facts: pd.DataFrame, wins: Floats, categories: Sequence[str]
) -> dict[str, Pulls]:
    """How far each cluster moves the stereotype of each category, and of the whole ("")."""
    clusters = facts.cluster.to_numpy(str)
    sided = bool((facts.side != "").all())
    family, side = (facts.family, facts.side) if sided else (facts.category, facts.category)
    family_codes, side_codes = codes(family.to_numpy(str)), codes(side.to_numpy(str))
    cell = codes(family_codes * (side_codes.max() + 1) + side_codes)
    apart = wins - (np.bincount(cell, weights=wins) / np.bincount(cell))[cell]
    out: dict[str, Pulls] = {}
    for name in categories:
        chosen = np.ones(len(facts), bool) if name == "" else (facts.category == name).to_numpy()
        weight = even_sides(codes(family_codes[chosen]), codes(side_codes[chosen]))
        out[name] = _summed(clusters[chosen], weight * apart[chosen])
    return out


def _of_words(result: Result) -> dict[str, Pulls]:
    """Of an association: words' scores less the mean of their set."""
    frame = result.items[result.items.label.isin(["X", "Y"])]
    return {"": _by_word(frame["item"], frame.score.to_numpy(float), frame.label == "X")}


def _of_templates(result: Result) -> dict[str, Pulls]:
    """Of log-odds: attribute words' scores less the mean of their set."""
    values = pd.Series(log_odds.by_item(result.items))
    facts = result.items.drop_duplicates("item").set_index("item").loc[values.index]
    first = facts.category == facts.category.iloc[0]
    return {"": _by_word(facts.cluster, values.to_numpy(float), first)}


def _by_word(words: Any, scores: Floats, first: Any) -> Pulls:
    sign = np.where(first, 1.0, -1.0)
    parts = np.zeros(len(scores))
    for half in (1.0, -1.0):
        mine = sign == half
        parts[mine] = half * (scores[mine] - scores[mine].mean()) / mine.sum()
    return _summed(np.asarray(words, str), parts)


def _summed(names: Any, values: Floats) -> Pulls:
    totals = pd.Series(values).groupby(np.asarray(names, str)).sum()
    return dict(zip(totals.index, totals.to_list(), strict=True))


_PULLS: Mapping[str, Any] = {
    "preference": _of_items,
    "association": _of_words,
    "log-odds": _of_templates,
}
