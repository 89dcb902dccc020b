"""Models side by side on what all of them were measured by."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from unmask.errors import DataError
from unmask.reports.columns import UNITS, table
from unmask.reports.results import gather
from unmask.types import Results


def _check_same_data(results: Results, shared: Sequence[str]) -> None:
    """Refuse data that only have the name in common: their scores are not of the same thing."""
    digests: dict[str, dict[str, str]] = {}
    for r in results:
        known = r.provenance.get("data", {}).get("digest")
        if r.title in shared and known:
            digests.setdefault(r.data, {}).setdefault(str(known), r.model)
    for data, owners in digests.items():
        if len(owners) > 1:
            raise DataError(
                f"{data!r} is not the same data for {' and '.join(list(owners.values())[:2])}: its "
                "items differ; run all models on one file, or give the files different names."
            )


def leaderboard(results: Any) -> pd.DataFrame:
    """Models side by side on what all of them were measured by, the least biased first.

    `distance` is the mean over measures of the distance from the ideal, in units of what matters
    (3 points, or 0.2 d, unless the run says otherwise); `biased` counts the verdicts. Only
    measures and data that every model has count: others would compare unlike things.
    """
    results = gather(results)
    frame = table(results)
    if frame.empty:
        raise DataError("there are no results; give some folders that 'unmask run' wrote.")
    frame = frame[frame.verdict.notna()]  # baselines have none
    models = list(dict.fromkeys(frame.model))
    what = frame.measure + " on " + frame.data
    shared = [w for w, part in frame.groupby(what, sort=False) if set(part.model) == {*models}]
    if not shared:
        raise DataError(
            f"{', '.join(models[:3])} have no measure and data in common; run the same for all."
        )
    _check_same_data(results, shared)
    twice = frame.assign(what=what).duplicated(["model", "what"])
    if twice.any():
        row = frame[twice].iloc[0]
        raise DataError(
            f"{row.model} was measured twice by {row.measure} on {row.data}; give one run for "
            "each model."
        )
    matters = {(r.model, r.title): v.matters for r in results if (v := r.verdicts.get(""))}
    kept = frame.assign(what=what)[what.isin(shared)]
    far = [
        abs(r.score - r.ideal) / matters.get((r.model, r.what), UNITS[r.compared].coarse)
        for r in kept.itertuples()
    ]
    kept = kept.assign(far=far, biased=kept.verdict == "biased")
    scores = kept.pivot(index="model", columns="what", values="score")[shared]
    totals = kept.groupby("model").agg(distance=("far", "mean"), biased=("biased", "sum"))
    joined = totals.assign(measures=len(shared)).join(scores).reset_index()
    order = np.argsort(joined.distance.to_numpy(), kind="stable")
    return joined.iloc[order].reset_index(drop=True)
