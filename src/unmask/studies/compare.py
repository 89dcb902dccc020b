"""Paired comparison of runs on the same items."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unmask.answer.items import Items
from unmask.answer.scales import SCALES, scale_of
from unmask.errors import DataError, UnmaskError
from unmask.options import UNITS, Resampling, Threshold, amount_text, amounts
from unmask.reports.results import gather
from unmask.stats.comparison import equivalence, exact_mcnemar, paired_difference
from unmask.stats.intervals import DEFAULTS
from unmask.stats.multiplicity import corrected
from unmask.stats.preference import Margins, preferred
from unmask.studies.contrast import PairedShares, paired_runs
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, UNRELATED, Result, Results

SUCH_AS = {"points": "3", "d": "0.2d", "times": "1.2x"}  # a margin in each unit
PAIR = (STEREOTYPE, ANTISTEREOTYPE)
MOVED = 20  # items of an effect size that are listed
NONE = "no margin is known in that unit; leave it out."


@dataclass(frozen=True, slots=True)
class ModelRun:
    """The results of one model, under the name that a comparison shows."""

    name: str
    results: Mapping[tuple[str, ...], Result]


def runs_of(value: Any) -> list[ModelRun]:
    """One run for each model of some folders or results in memory, with distinct names."""
    if isinstance(value, str | Path | Result):
        raise UnmaskError("a comparison needs a list of runs; give folders or results in a list.")
    if not isinstance(value, Iterable):
        raise UnmaskError(
            f"{value!r:.40} is not a list of runs; give folders or results in a list."
        )
    parts = value if isinstance(value, Results) else list(value)
    if parts and all(isinstance(g, ModelRun) for g in parts):
        return list(parts)
    results = gather(parts)
    runs = [ModelRun(name, _keyed(results.select(models=[name]))) for name in results.models]
    if len(runs) < 2:
        raise DataError("a comparison needs two runs; give two folders, or one with two models.")
    return runs


def _keyed(results: Sequence[Result]) -> dict[tuple[str, ...], Result]:
    """Results by measure, data and all choices; duplicates are numbered."""
    keyed: dict[tuple[str, ...], Result] = {}
    for r in results:
        key = r.spec.key
        while key in keyed:
            key = (*key, "again")
        keyed[key] = r
    return keyed


def matched(a: ModelRun, b: ModelRun) -> list[tuple[Result, Result, str]]:
    """Match the results of two runs, each pair with a description of its choices.

    If each run has a single result of a measure on a data set, these two are compared whatever
    their choices. Otherwise only results with the same choices are.
    """
    groups: dict[tuple[str, ...], list[list[tuple[str, ...]]]] = {}
    for side, run in enumerate((a, b)):
        for key, result in run.results.items():
            groups.setdefault(result.spec.comparable[:2], [[], []])[side].append(key)
    matches = []
    for ones, twos in groups.values():
        if len(ones) == len(twos) == 1:
            first, second = a.results[ones[0]], b.results[twos[0]]
            matches.append((first, second, _differing(first, second)))
            continue
        twin = {k[2:]: k for k in twos}
        shared = [(k, twin[k[2:]]) for k in ones if k[2:] in twin]
        matches += [(a.results[k], b.results[j], _choices(a.results[k])) for k, j in shared]
    return matches


CHOICES = ("pool", "layer", "contexts", "samples")


def _differing(a: Result, b: Result) -> str:
    """Describe the choices in which two results differ, because not only the models do."""
    pairs = {k: (a.settings.get(k), b.settings.get(k)) for k in CHOICES}
    return ", ".join(
        f"{k} {first} against {second}" for k, (first, second) in pairs.items() if first != second
    )


def _choices(result: Result) -> str:
    """The choices of a result in words."""
    choices = {k: getattr(result.spec, k) for k in CHOICES} | dict(result.spec.tags)
    plain = {"model", "measure", "data"}
    return ", ".join(f"{k} {v}" for k, v in choices.items() if v is not None and k not in plain)


def margins(thresholds: Any, results: Iterable[Result]) -> dict[str, float]:
    """Parse a margin into units (points, d, times); raise if no result has such a unit."""
    by_unit = (
        amounts(thresholds, "margin") if not isinstance(thresholds, Mapping) else dict(thresholds)
    )
    limits = Threshold(**by_unit).held()
    has = {SCALES[r.compared].unit: r.title for r in results}
    for unit, value in by_unit.items():
        if unit not in has:
            basis, title = next(iter(has.items()))
            raise DataError(
                f"a margin of {amount_text(value, unit)} does not apply to {title}, which is in "
                f"{UNITS.get(basis, basis)}; "
                + (f"give one such as {SUCH_AS[basis]}." if basis in SUCH_AS else NONE)
            )
    return {unit: limits[unit] for unit in by_unit}


def compare(
    runs: Sequence[Any], *, margin: Any = None, resampling: Resampling = DEFAULTS
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All pairs of runs on all measures and data they share: differences, and items that changed.

    Runs are folders of results or `Results` in memory (one, or several), each model with its own
    name. p is that of the paired test; `p_holm` and `p_bh` correct it over the whole table.
    `margin` is in points (a number, `3`), in d (`0.2d`), in times the odds (`1.1x`) or several
    (`3,0.2d`): rows in its unit are tested for equivalence.
    """
    if not isinstance(resampling, Resampling):
        raise DataError(f"resampling is {resampling!r:.40}; give an unmask.Resampling.")
    runs = runs_of(runs)
    results = [r for run in runs for r in run.results.values()]
    allowed = {} if margin is None else margins(margin, results)
    rows, changed = [], []
    for a, b in itertools.combinations(runs, 2):
        shared = matched(a, b)
        if not shared:
            raise DataError(
                f"{a.name} and {b.name} share no measure and data set; run the same on both."
            )
        for first, second, choices in shared:
            row, items = _pair(a.name, b.name, first, second, allowed, resampling)
            rows.append({**row, "choices": choices})
            changed.append(items)
    frame = pd.DataFrame(rows)
    frame["p_holm"] = corrected(frame.p.tolist())
    frame["p_bh"] = corrected(frame.p.tolist(), "bh")
    return frame, pd.concat(changed, ignore_index=True)


def _pair(
    first: str,
    second: str,
    a: Result,
    b: Result,
    margin: Mapping[str, float],
    resampling: Resampling,
) -> tuple[dict[str, Any], pd.DataFrame]:
    runs = paired_runs([a, b], adjusted=False, resampling=resampling)
    estimate = runs.difference([0], [1])
    row = {
        "first": first,
        "second": second,
        "measure": a.measure,
        "data": a.data,
        "compared": a.compared,
        "a": a.overall.value,
        "b": b.overall.value,
        "difference": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "level": estimate.level,
        "n": estimate.n,
        "p": estimate.p,
        "borderline": estimate.p is not None
        and (estimate.p <= 1 - estimate.level) != estimate.excludes_ideal,
        "only_first": runs.unpaired[0],
        "only_second": runs.unpaired[1],
    }
    before, after = runs.values
    items = pd.DataFrame(
        {"item": runs.names, "before": before, "after": after, "moved": after - before}
    )
    if isinstance(runs, PairedShares):
        row |= _of_shares(a, b, runs, resampling)
        items = items.assign(moved=runs.pairs.margins()[1] - runs.pairs.margins()[0])
        items = _most_moved(items[items.before != items.after])
    else:
        items = _most_moved(items).head(MOVED)
    if margin:
        least = margin.get(scale_of(a).unit)
        row["p_equivalent"] = math.nan if least is None else equivalence(estimate, least)
    items = items.merge(_readable(b), on="item", how="left")
    return row, items.assign(first=first, second=second, measure=a.measure, data=a.data)


def _of_shares(a: Result, b: Result, runs: PairedShares, resampling: Resampling) -> dict[str, Any]:
    """Further columns of a comparison of shares: McNemar's test, the mean margin, lms and icat."""
    p, lost, won = exact_mcnemar(*runs.values)
    independent = runs.design.count == len(runs.names)  # McNemar's test takes items as such
    details: dict[str, Any] = {"p_mcnemar": p if independent else math.nan}
    details |= {"lost": lost, "won": won}
    macro = a.settings.get("average") == "macro"
    margins = runs.pairs.margins()
    finite = np.isfinite(margins[1] - margins[0])
    if all("word_preference" in r.extras for r in (a, b)):
        before, after = (r.extras["word_preference"].value for r in (a, b))
        details |= {"word_preference_before": before, "word_preference": after}
    if finite.any():
        design = runs.design.chosen(finite)
        change = Margins(margins[1][finite] - margins[0][finite], design)
        mask = np.ones(len(change.values), bool)
        mean = change.fit.estimate(mask, macro, resampling, change.unit)
        details |= {"margin": mean.value, "p_margin": mean.p}
    if all(UNRELATED in t for t in runs.pairs.tables):
        lms = [
            np.mean([preferred(t[k], t[UNRELATED], "half") for k in PAIR], axis=0)
            for t in runs.pairs.tables
        ]
        e = paired_difference(
            lms[0], lms[1], runs.design, macro=macro, scale=100.0, resampling=resampling
        )
        details |= {"lms": e.value, "lms_low": e.low, "lms_high": e.high, "lms_p": e.p}
        details["lms_before"] = a.extras["lms"].value if "lms" in a.extras else math.nan
        if "icat" in a.extras and "icat" in b.extras:
            details["icat"] = b.extras["icat"].value - a.extras["icat"].value
    return details


def _readable(result: Result) -> pd.DataFrame:
    """Category and sentences of each item, for a reader."""
    items = Items(result)
    facts = items.first[["category"]]
    if items.has_reasons and {*PAIR} <= {*items.frame.label}:
        facts = facts.join(items.sentences()[list(PAIR)])
    elif "sentence" in items.frame and "statistic" in result.settings:
        facts = facts.join(items.first[["sentence"]])
    return facts.reset_index() if items.has_reasons else facts.iloc[:0].reset_index()[["item"]]


def _most_moved(items: pd.DataFrame) -> pd.DataFrame:
    return items.reindex(items.moved.abs().sort_values(ascending=False).index)
