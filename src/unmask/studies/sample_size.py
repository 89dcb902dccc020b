"""What a study needs: items, clusters and words, from the design effects of the data at hand."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from unmask.options import Threshold
from unmask.stats.power import check, clusters_needed, likeness, words_needed
from unmask.types import Result

NOTHING_KNOWN = "items as if independent"


def needs(
    results: Iterable[Result],
    detect: Mapping[str, float],
    *,
    power: float = 0.8,
    level: float = 0.95,
) -> pd.DataFrame:
    """For each result what it has, and what it needs to detect `points` or an effect of `d`.

    Without a result in a unit, what independent items or words would need.
    """
    Threshold(**detect)
    check(power)
    rows = []
    for r in results:
        unit = "points" if r.compared == "preference" else "d"
        if unit in detect:
            reader = _shares if unit == "points" else _words
            rows.append(reader(r, detect[unit], power, level))
    seen = {row["unit"] for row in rows}
    missing = [unit for unit in ("points", "d") if unit in detect and unit not in seen]
    rows += [_unknown(unit, detect[unit], power, level) for unit in missing]
    return pd.DataFrame(rows)


def _shares(r: Result, points: float, power: float, level: float) -> dict[str, Any]:
    details, n = r.overall.more, r.overall.n
    clusters = details.get("clusters") or n
    crowd, inflated = n / clusters, details.get("design_effect") or 1.0
    count = clusters_needed(points, inflated, crowd, power=power, level=level)
    # Other items of the clusters at hand help only as far as they are not alike.
    alike = likeness(inflated, crowd)
    alone = clusters_needed(points, 1.0, 1.0, power=power, level=level)
    return {
        "measure": r.measure,
        "data": r.data,
        "unit": "points",
        "detects": details.get("detectable"),
        "items": n,
        "clusters": clusters,
        "design effect": inflated,
        "likeness": alike,
        "items needed": math.ceil(count * crowd),
        "clusters needed": count,
        "one item a cluster": alone,
        "words a side needed": None,
    }


def _words(r: Result, d: float, power: float, level: float) -> dict[str, Any]:
    details = r.overall.more
    words = sum(details["words"]) / 2 if "words" in details else math.nan
    needed = words_needed(d, details.get("ratio", 1.0), power=power, level=level)
    if r.settings.get("random") == "attributes" and details.get("detectable"):
        # All four sets are a sample, and grow together: the error falls with their root.
        needed = max(needed, math.ceil(words * (details["detectable"] / d) ** 2))
    return {
        "measure": r.measure,
        "data": r.data,
        "unit": "d",
        "detects": details.get("detectable"),
        "words a side": words,
        "words a side needed": needed,
    }


def _unknown(unit: str, size: float, power: float, level: float) -> dict[str, Any]:
    base = {"measure": "any", "data": NOTHING_KNOWN, "unit": unit}
    if unit == "d":
        return base | {"words a side needed": words_needed(size, power=power, level=level)}
    count = clusters_needed(size, 1.0, 1.0, power=power, level=level)
    return base | {"items needed": count, "clusters needed": count, "one item a cluster": count}
