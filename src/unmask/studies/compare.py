"""Paired comparison of runs on the same items."""

import itertools
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unmask.errors import DataError, UnmaskError
from unmask.flow.items import designed
from unmask.options import Resampling, Threshold, amounts
from unmask.reports.columns import UNITS
from unmask.reports.results import gather
from unmask.stats.comparison import (
    effect_difference,
    equivalence,
    exact_mcnemar,
    paired_difference,
)
from unmask.stats.intervals import DEFAULTS
from unmask.stats.margins import drawn_in, of_scores
from unmask.stats.multiplicity import corrected
from unmask.stats.preference import Ties, preferred
from unmask.studies.paired_items import (
    common,
    in_order,
    over_words,
    same_items,
    statistic_difference,
    statistics_of,
    wide,
)
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, UNRELATED, Estimate, Floats, Result, Results

SUCH_AS = {"points": "3", "d": "0.2d", "odds": "1.1x"}  # a margin in each unit
NONE = "no margin is known in that unit; leave it out."


@dataclass(frozen=True, slots=True)
class Run:
    """The results of one model, under the name that a comparison shows."""

    name: str
    results: Mapping[tuple[str, ...], Result]


def runs_of(given: Any) -> list[Run]:
    """One run for each model of some folders or results in memory, which are told apart."""
    if isinstance(given, str | Path | Result):
        raise UnmaskError("a comparison needs a list of runs; give folders or results in a list.")
    if not isinstance(given, Iterable):
        raise UnmaskError(
            f"{given!r:.40} is not a list of runs; give folders or results in a list."
        )
    parts = given if isinstance(given, Results) else list(given)
    if parts and all(isinstance(g, Run) for g in parts):
        return list(parts)
    results = gather(parts)
    runs = [Run(name, _keyed(results.select(models=[name]))) for name in results.models]
    if len(runs) < 2:
        raise DataError("a comparison needs two runs; give two folders, or one with two models.")
    return runs


def read_runs(folders: Sequence[Path]) -> list[Run]:
    """The former name of `runs_of`; `compare` takes folders itself."""
    warnings.warn(
        "read_runs is now runs_of, and compare takes folders; the old name works until 0.3.",
        DeprecationWarning,
        stacklevel=2,
    )
    return runs_of(folders)


def _keyed(results: Sequence[Result]) -> dict[tuple[str, ...], Result]:
    """Results by measure, data and all that was chosen; equal ones are numbered."""
    keyed: dict[tuple[str, ...], Result] = {}
    for r in results:
        key = r.spec.key
        while key in keyed:
            key = (*key, "again")
        keyed[key] = r
    return keyed


def matched(a: Run, b: Run) -> list[tuple[Result, Result, str]]:
    """Results of two runs that belong together, and what tells them from others of the same name.

    Where a measure on a data set stands once in each run, the two are compared whatever their
    choices were; else those with the same choices.
    """
    groups: dict[tuple[str, ...], list[list[tuple[str, ...]]]] = {}
    for side, run in enumerate((a, b)):
        for key, result in run.results.items():
            groups.setdefault(result.spec.comparable[:2], [[], []])[side].append(key)
    out = []
    for ones, twos in groups.values():
        if len(ones) == len(twos) == 1:
            one, two = a.results[ones[0]], b.results[twos[0]]
            out.append((one, two, _differing(one, two)))
            continue
        twin = {k[2:]: k for k in twos}
        shared = [(k, twin[k[2:]]) for k in ones if k[2:] in twin]
        out += [(a.results[k], b.results[j], _choices(a.results[k])) for k, j in shared]
    return out


CHOICES = ("pool", "layer", "contexts", "samples")


def _differing(a: Result, b: Result) -> str:
    """The choices in which two results differ: what is compared is not the models alone."""
    pairs = {k: (a.settings.get(k), b.settings.get(k)) for k in CHOICES}
    return ", ".join(f"{k} {one} against {two}" for k, (one, two) in pairs.items() if one != two)


def _choices(result: Result) -> str:
    """The choices of a result in words."""
    chosen = {k: getattr(result.spec, k) for k in CHOICES} | dict(result.spec.tags)
    plain = {"model", "measure", "data"}
    return ", ".join(f"{k} {v}" for k, v in chosen.items() if v is not None and k not in plain)


def margins(given: Any, results: Iterable[Result]) -> dict[str, float]:
    """A margin by unit (points, d, odds); one in a unit that no result has is refused."""
    by_unit = amounts(given, "margin") if not isinstance(given, Mapping) else dict(given)
    allowed = Threshold(**by_unit)
    has = {UNITS[r.compared].name: r.title for r in results}
    for unit, value in by_unit.items():
        if unit not in has:
            other, title = next(iter(has.items()))
            raise DataError(
                f"a margin of {value:g} {unit} makes no sense for {title}, which is in {other}; "
                + (f"give one in {other}, such as {SUCH_AS[other]}." if other in SUCH_AS else NONE)
            )
    return {u: allowed.of("odds") if u == "odds" else v for u, v in by_unit.items()}


def compare(
    runs: Sequence[Any], *, margin: Any = None, resampling: Resampling = DEFAULTS
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All pairs of runs on all measures and data they share: differences, and items that changed.

    Runs are folders of results, or `Results` in memory (one, or several); models are told apart.
    p is that of the paired test; `p_holm` and `p_bh` correct it over the whole table. `margin` is
    in points (a number, `3`), in d (`0.2d`), in times the odds (`1.1x`) or several (`3,0.2d`): rows
    in its unit are tested for equivalence.
    """
    runs = runs_of(runs)
    every = [r for run in runs for r in run.results.values()]
    allowed = {} if margin is None else margins(margin, every)
    rows, changed = [], []
    for a, b in itertools.combinations(runs, 2):
        shared = matched(a, b)
        if not shared:
            raise DataError(
                f"{a.name} and {b.name} share no measure and data set; run the same on both."
            )
        for one, two, choices in shared:
            row, items = _pair(a.name, b.name, one, two, allowed, resampling)
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
    if a.compared != b.compared:
        raise DataError(f"{a.title} was scored in two ways ({a.compared} and {b.compared}).")
    paired = _preferences if a.compared == "preference" else effects
    if "statistic" in a.settings and "statistic" in b.settings:
        paired = _statistics
    estimate, items, details = paired(a, b, resampling)
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
        **details,
    }
    if margin:
        least = margin.get(UNITS[a.compared].name)
        row["p_equivalent"] = math.nan if least is None else equivalence(estimate, least)
    items = items.assign(first=first, second=second, measure=a.measure, data=a.data)
    return row, items


_Paired = tuple[Estimate, pd.DataFrame, dict[str, Any]]


def _preferences(a: Result, b: Result, resampling: Resampling) -> _Paired:
    a, b = same_items(a, b)
    one, two = wide(a), wide(b)
    shared, left = common(one, two, a.data)
    one, two = one.loc[shared], two.loc[shared]
    kin = designed(one)
    # A tie that is dropped in one run may be none in the other: here it counts a half.
    ties: Ties = "strict" if a.settings.get("ties", "strict") == "strict" else "half"
    wins = [preferred(t["stereotype"], t["antistereotype"], ties) for t in (one, two)]
    macro = a.settings.get("average") == "macro"
    estimate = paired_difference(
        wins[0], wins[1], kin, macro=macro, scale=100.0, resampling=resampling
    )
    p, lost, won = exact_mcnemar(wins[0], wins[1])
    p = p if kin.count == len(one) else math.nan  # it takes items as independent
    margins = [_margins(r, t) for r, t in ((a, one), (b, two))]
    finite = np.isfinite(margins[1] - margins[0])
    ratio = None
    if finite.any():
        one_, two_ = (drawn_in(m[finite]) for m in margins)
        some = kin.chosen(finite)
        ratio = paired_difference(one_, two_, some, macro=macro, resampling=resampling)
    items = pd.DataFrame(
        {"item": shared, "before": wins[0], "after": wins[1], "moved": margins[1] - margins[0]}
    )
    items = _most_moved(items[items.before != items.after]).merge(_shown(b), on="item", how="left")
    details: dict[str, Any] = {"p_mcnemar": p, "lost": lost, "won": won}
    if UNRELATED in one and UNRELATED in two:
        details |= _meaning(a, b, (one, two), kin, resampling)
    details |= {"margin": ratio.value, "p_margin": ratio.p} if ratio else {}
    return estimate, items, details | left


def _statistics(a: Result, b: Result, resampling: Resampling) -> _Paired:
    """Difference of a statistic of items, on those that both runs have."""
    before, after, shared, left = statistics_of(a, b)
    estimate = statistic_difference(before, after, resampling)
    items = pd.DataFrame(
        {
            "item": shared,
            "before": before.values,
            "after": after.values,
            "moved": after.values - before.values,
        }
    )
    shown = b.items.drop_duplicates("item")[["item", "category", "sentence"]]
    return estimate, _most_moved(items).head(20).merge(shown, on="item", how="left"), dict(left)


def _margins(result: Result, table: pd.DataFrame) -> Floats:
    """By how much the stereotype scores higher, as the result's own margins have it."""
    pro, anti = (table[k].to_numpy(float) for k in (STEREOTYPE, ANTISTEREOTYPE))
    return of_scores(pro, anti, bool(result.settings.get("probabilities")))


def _shown(result: Result) -> pd.DataFrame:
    """Category and sentences of each item, for a reader."""
    frame = result.items
    sentences = frame.pivot(index="item", columns="label", values="sentence")
    facts = frame.drop_duplicates("item").set_index("item")[["category"]]
    return facts.join(sentences[[STEREOTYPE, ANTISTEREOTYPE]]).reset_index()


def _meaning(
    a: Result, b: Result, tables: Sequence[pd.DataFrame], kin: Any, resampling: Resampling
) -> dict[str, Any]:
    """Paired difference of lms, and that of icat, which has no interval."""
    sides = [
        np.mean([preferred(t[k], t[UNRELATED], "half") for k in (STEREOTYPE, ANTISTEREOTYPE)], 0)
        for t in tables
    ]
    macro = a.settings.get("average") == "macro"
    estimate = paired_difference(
        sides[0], sides[1], kin, macro=macro, scale=100.0, resampling=resampling
    )
    out = {
        "lms": estimate.value,
        "lms_low": estimate.low,
        "lms_high": estimate.high,
        "lms_p": estimate.p,
    }
    if "icat" in a.extras and "icat" in b.extras:
        out["icat"] = b.extras["icat"].value - a.extras["icat"].value
    return out


def _most_moved(items: pd.DataFrame) -> pd.DataFrame:
    return items.reindex(items.moved.abs().sort_values(ascending=False).index)


def effects(a: Result, b: Result, resampling: Resampling) -> _Paired:
    """Difference of effect sizes over the same words, each by the measure's own statistic."""
    values, kept, left = over_words(a, b)
    before, after = in_order(kept, left)
    estimate = effect_difference(values, before, after, resampling)
    words = [w for v in kept.values() for w in v]
    pulls = [v - np.concatenate(w) for v, w in zip(values, (before, after), strict=True)]
    items = pd.DataFrame(
        {"item": words, "before": pulls[0], "after": pulls[1], "moved": pulls[1] - pulls[0]}
    )
    return estimate, _most_moved(items).head(20), {"only_first": 0, "only_second": 0}
