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
    """For each result what it has, and what it needs to detect so many `points` or so large a `d`.

    Without a result in a unit, what independent items or words would need.
    """
    Threshold(**detect)
    check(power)
    rows = []
    for r in results:
        unit = "points" if r.compared == "preference" else "d"
        if unit in detect:
            made = _shares if unit == "points" else _words
            rows.append(made(r, detect[unit], power, level))
    seen = {row["unit"] for row in rows}
    missing = [unit for unit in ("points", "d") if unit in detect and unit not in seen]
    rows += [_unknown(unit, detect[unit], power, level) for unit in missing]
    return pd.DataFrame(rows)


def _shares(r: Result, points: float, power: float, level: float) -> dict[str, Any]:
    more, n = r.overall.more, r.overall.n
    clusters = more.get("clusters") or n
    crowd, inflated = n / clusters, more.get("design_effect") or 1.0
    count = clusters_needed(points, inflated, crowd, power=power, level=level)
    # Other items of the clusters at hand help only as far as they are not alike.
    alike = likeness(inflated, crowd)
    alone = clusters_needed(points, 1.0, 1.0, power=power, level=level)
    return {
        "measure": r.measure,
        "data": r.data,
        "unit": "points",
        "detects": more.get("detectable"),
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
    more = r.overall.more
    words = sum(more["words"]) / 2 if "words" in more else math.nan
    needed = words_needed(d, more.get("ratio", 1.0), power=power, level=level)
    if r.settings.get("random") == "attributes" and more.get("detectable"):
        # All four sets are a sample, and grow together: the error falls with their root.
        needed = max(needed, math.ceil(words * (more["detectable"] / d) ** 2))
    return {
        "measure": r.measure,
        "data": r.data,
        "unit": "d",
        "detects": more.get("detectable"),
        "words a side": words,
        "words a side needed": needed,
    }


def _unknown(unit: str, size: float, power: float, level: float) -> dict[str, Any]:
    base = {"measure": "any", "data": NOTHING_KNOWN, "unit": unit}
    if unit == "d":
        return base | {"words a side needed": words_needed(size, power=power, level=level)}
    count = clusters_needed(size, 1.0, 1.0, power=power, level=level)
    return base | {"items needed": count, "clusters needed": count, "one item a cluster": count}
