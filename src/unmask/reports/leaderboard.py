"""Compare models on the measures and data that they share: a table, and a page of it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from unmask.answer.fitness import unproven_models
from unmask.answer.scales import SCALES
from unmask.answer.verdict import judged_estimate
from unmask.errors import DataError
from unmask.reports.columns import table
from unmask.reports.results import gather
from unmask.reports.templating import rendered
from unmask.stats.ranks import ranks
from unmask.support.printable import visible
from unmask.types import Result, Results

ABILITIES = {"lms": "lms", "accuracy": "accuracy"}  # and their headings
FIXED = ("model", "rank", "rank_high", "distance", "biased", "measures", "unranked", *ABILITIES)
NOTES = (
    "Ranks: the possible ranks of a model, at 95 % confidence for all models together; "
    "indistinguishable models share ranks.",
    "Distance: root mean square over measures of the distance from fair, in units of the smallest "
    "relevant bias (5 percentage points, d = 0.2, a factor of 1.2, unless the run set another), "
    "corrected for noise.",
    "Biased: the number of measures with a biased verdict.",
    "lms and accuracy, in %: how often a model prefers a meaningful sentence, and predicts the "
    "actual word. A model that knows little can show little bias.",
)


def _check_same_data(results: Results, shared: Sequence[str]) -> None:
    """Refuse data sets that share only the name: their scores are not comparable."""
    digests: dict[str, dict[str, str]] = {}
    for r in results:
        digest = r.provenance.get("data", {}).get("digest")
        if r.title in shared and digest:
            digests.setdefault(r.data, {}).setdefault(str(digest), r.model)
    for data, owners in digests.items():
        if len(owners) > 1:
            raise DataError(
                f"{data!r} is not the same data for {' and '.join(list(owners.values())[:2])}: its "
                "items differ; run all models on one file, or give the files different names."
            )


def leaderboard(results: Any) -> pd.DataFrame:
    """Rank models on the measures and data that they share, the least biased first.

    `distance` is the root mean square over measures of the distance from the ideal, in units of the
    negligible effect (5 points, or 0.2 d, unless the run says otherwise), minus the part that a
    fair model would have by noise alone. `rank` is one plus the number of significantly nearer
    models, so indistinguishable models share a rank; `rank_high` is the worst possible rank
    (simultaneous 95 % intervals). `biased` counts the verdicts. `lms` and `accuracy` measure what a
    model can do. Only measures and data that all models have are used. A model that is unfit for a
    verdict, or has none, comes last without a rank; `unranked` gives the reason.
    """
    results = gather(results)
    frame = table(results)
    if frame.empty:
        raise DataError("there are no results; give some folders that 'unmask run' wrote.")
    with_verdict = {
        (r.model, r.measure, r.data) for r in results if r.verdicts
    }  # baselines have none
    keys = zip(frame.model, frame.measure, frame.data, strict=True)
    frame = frame[[key in with_verdict for key in keys]]
    models = list(dict.fromkeys(frame.model))
    without = [m for m in results.models if m not in models]
    label = frame.measure + " on " + frame.data
    shared = _shared(frame[frame.verdict.notna()], models) or _shared(frame, models)
    if not shared:
        raise DataError(
            f"{', '.join(models[:3])} share no measure with a verdict on the same data; run "
            "the same measures on the same data for all models (indices have no verdict: see "
            "'unmask compare')."
        )
    _check_same_data(results, shared)
    twice = frame.assign(what=label).duplicated(["model", "what"])
    if twice.any():
        row = frame[twice].iloc[0]
        raise DataError(
            f"{row.model} was measured twice by {row.measure} on {row.data}; give one run for "
            "each model."
        )
    rows = frame.assign(what=label, biased=frame.verdict == "biased")[label.isin(shared)]
    scores = rows.pivot(index="model", columns="what", values="score").loc[models, shared]
    reasons = (
        unproven_models(results, words=True)
        | rows[rows.unfit != ""].groupby("model").unfit.first().to_dict()
    )
    reasons = {m: reason for m, reason in reasons.items() if m in models}
    fit = [m for m in models if m not in reasons]
    ranked = _ranked(results, fit, shared).set_index("model").reindex([*models, *without])
    joined = ranked.assign(
        biased=rows.groupby("model").biased.sum(),
        measures=len(shared),
        unranked=pd.Series(reasons | dict.fromkeys(without, "it has no measure with a verdict")),
        **{name: _ability(results, models, name) for name in ABILITIES},
    ).join(scores)
    joined = joined.drop(columns=[name for name in ABILITIES if joined[name].isna().all()])
    joined["unranked"] = joined.unranked.fillna("")
    counts = ["rank", "rank_high", "biased"]
    order = np.lexsort((joined.distance.to_numpy(), joined["rank"].to_numpy()))
    joined[counts] = joined[counts].astype("Int64")
    return joined.rename_axis("model").reset_index().iloc[order].reset_index(drop=True)


def _ability(results: Results, models: Sequence[str], name: str) -> pd.Series:
    """The mean lms or token accuracy of each model, over what all of them have it for."""
    rows = [
        (r.title, r.model, e.value)
        for r in results
        if (e := r.accuracy if name == "accuracy" else r.extras.get(name)) is not None
    ]
    frame = pd.DataFrame(rows, columns=["what", "model", "value"])
    by_model = frame.pivot_table(index="what", columns="model", values="value").reindex(
        columns=models
    )
    return by_model.dropna().mean()


def _shared(frame: pd.DataFrame, models: Sequence[str]) -> list[str]:
    """The measures on data that all models have."""
    label = frame.measure + " on " + frame.data
    return [w for w, part in frame.groupby(label, sort=False) if set(part.model) == {*models}]


def _ranked(results: Results, models: Sequence[str], shared: Sequence[str]) -> pd.DataFrame:
    """Distance and ranks of each model."""
    if not models:
        return pd.DataFrame(columns=["model", "rank", "rank_high", "distance"], dtype=float)
    by_key = {(r.model, r.title): r for r in results}
    estimates = [[_in_units(by_key[m, w]) for w in shared] for m in models]
    values, errors = (np.array([[e[k] for e in row] for row in estimates]) for k in (0, 1))
    finite = np.isfinite(errors).all(axis=0)  # a measure without an error ranks nobody
    if not finite.any():
        distance = np.sqrt((values**2).mean(axis=1))
        low, high = np.ones(len(models), int), np.full(len(models), len(models))
    else:
        distance, low, high = ranks(values[:, finite], errors[:, finite])
    return pd.DataFrame({"model": models, "rank": low, "rank_high": high, "distance": distance})


def _in_units(result: Result) -> tuple[float, float]:
    """Return the distance from the ideal and its error, in units of the negligible effect."""
    estimate = judged_estimate(result)
    verdict = result.verdicts.get("")
    least = verdict.matters if verdict else SCALES[result.compared].coarse
    return (estimate.value - (estimate.ideal or 0.0)) / least, estimate.se / least


def terminal_table(board: pd.DataFrame) -> pd.DataFrame:
    """A board as a terminal shows it: a model in each row, its possible ranks in one column."""
    ranks = ["unfit" if row.unranked else _ranks_text(row) for row in board.itertuples(index=False)]
    table = board.drop(columns=["rank", "rank_high", "unranked", "measures"])
    table.insert(1, "rank", ranks)
    return table


def _ranks_text(row: Any) -> str:
    low, high = int(row.rank), int(row.rank_high)
    return str(low) if low == high else f"{low} to {high}"


@dataclass(frozen=True, slots=True)
class _Cell:
    text: str
    value: str
    bar: tuple[float, ...] | None = None


def board_page(board: pd.DataFrame) -> str:
    """Return the HTML page of a board: one sortable file with the possible ranks of each model."""
    scores = [str(c) for c in board.columns if c not in FIXED]
    abilities = [name for name in ABILITIES if name in board]
    last = max(int(board.rank_high.fillna(0).max()), 2)
    rows = [
        {
            "unfit": bool(record["unranked"]),
            "cells": [
                *_standing(record, last),
                *(_numeric(record[c]) for c in (*abilities, *scores)),
            ],
        }
        for record in board.to_dict("records")
    ]
    heads = [ABILITIES[name] for name in abilities] + scores
    return rendered(
        "board.html.jinja",
        title="Models side by side",
        subtitle=f"{len(board)} models, {len(scores)} shared measures",
        sentence=sentence(board),
        heads=["model", "ranks", "distance", "biased", *heads],
        rows=rows,
        notes=[*unranked(board), *NOTES],
    )


def _standing(record: Mapping[str, Any], last: int) -> list[_Cell]:
    """A model with its ranks, distance and verdicts."""
    name = visible(str(record["model"]))
    if record["unranked"]:
        return [_Cell(name, name), _Cell("not ranked", "inf"), _Cell("", "inf"), _Cell("", "inf")]
    low, high = int(record["rank"]), int(record["rank_high"])
    ranks = str(low) if low == high else f"{low} to {high}"
    bar = tuple(4 + 92 * (r - 1) / (last - 1) for r in (low, high))
    return [
        _Cell(name, name),
        _Cell(ranks, str(low + high / 1000), bar),
        _numeric(record["distance"]),
        _Cell(f"{record['biased']:.0f} of {record['measures']:.0f}", str(record["biased"])),
    ]


def _numeric(value: float) -> _Cell:
    return _Cell("" if math.isnan(value) else f"{value:.2f}", str(value))


def unranked(board: pd.DataFrame) -> list[str]:
    """Why each model without a rank has none."""
    return [
        f"{visible(str(r['model']))} is not ranked: {visible(str(r['unranked']))}."
        for r in board[board.unranked != ""].to_dict("records")
    ]


def sentence(board: pd.DataFrame) -> str:
    """Return a sentence on which models are nearest to fair, as far as that is known."""
    first = [visible(str(m)) for m in board.model[board["rank"] == 1]]
    if not first:
        return "No model can be ranked; see the reasons below."
    if len(first) == int((board.unranked == "").sum()) > 1:
        return f"The {len(first)} ranked models cannot be distinguished from one another."
    if len(first) == 1:
        return f"{first[0]} is nearest to fair on these measures."
    named = ", ".join(first[:5]) + (f" and {len(first) - 5} more" if len(first) > 5 else "")
    return f"Nearest to fair and statistically indistinguishable: {named}."
