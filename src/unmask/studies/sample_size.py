"""What a study needs: items, clusters and words, from the design effects of the data at hand."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from unmask.errors import UnmaskError
from unmask.options import Threshold
from unmask.stats.power import Pilot, check, clusters_needed, pilot_of, words_needed
from unmask.types import Result

PLANNED = ("preference", "odds", "log-odds", "association")  # what more items or words narrow
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
    if "odds" in detect:
        raise UnmaskError(
            f"odds of {detect['odds']:g} cannot be planned for; give points or an effect size, "
            "such as 3 or 0.2d."
        )
    check(power)
    rows = []
    for r in results:
        if r.compared not in PLANNED or "statistic" in r.settings:
            continue  # no rule says how an index narrows with more items
        if r.compared == "odds":  # planned as the effect size of the same words
            r = replace(r, overall=r.extras["effect_size"])
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
    pilot = pilot_of(details, n)
    words, templates, both = pilot.needed(points, power=power, level=level)
    each = n / pilot.words.count
    return {
        "measure": r.measure,
        "data": r.data,
        "unit": "points",
        "detects": details.get("mde"),
        "items": n,
        "words": pilot.words.count,
        "templates": pilot.templates.count if pilot.templates else None,
        "items needed": None if words is None else math.ceil(words * each),
        "words needed": words,
        "templates needed": templates,
        "words and templates": None if both is None else f"{both[0]} in {both[1]}",
        "advice": _advice(pilot, points, words, templates, both),
    }


def _advice(
    pilot: Pilot,
    points: float,
    words: int | None,
    templates: int | None,
    both: tuple[int, int] | None,
) -> str:
    """What bounds the error, in a sentence."""
    have, n_templates = pilot.words.count, pilot.templates.count if pilot.templates else 0
    if words is not None and words <= have:
        return "these items are enough"
    if words is None and both is None and templates is None:
        return f"no number of words or templates shows {points:g} points"
    if words is None:
        missing = (templates if templates is not None else both[1] if both else 0) - n_templates
        return f"no number of words will do in {n_templates} templates: {missing} more templates"
    missing = words - have
    if templates is not None and templates - n_templates < missing / 4:
        return f"{templates - n_templates} more templates, not {missing} more words"
    return f"{missing} more words"


def _words(r: Result, d: float, power: float, level: float) -> dict[str, Any]:
    details = r.overall.more
    words = sum(details["words"]) / 2 if "words" in details else math.nan
    needed = words_needed(d, details.get("ratio", 1.0), power=power, level=level)
    if r.settings.get("random") == "attributes" and details.get("mde"):
        # All four sets are a sample, and grow together: the error falls with their root.
        needed = max(needed, math.ceil(words * (details["mde"] / d) ** 2))
    return {
        "measure": r.measure,
        "data": r.data,
        "unit": "d",
        "detects": details.get("mde"),
        "words a side": words,
        "words a side needed": needed,
    }


def _unknown(unit: str, size: float, power: float, level: float) -> dict[str, Any]:
    base = {"measure": "any", "data": NOTHING_KNOWN, "unit": unit}
    if unit == "d":
        return base | {"words a side needed": words_needed(size, power=power, level=level)}
    count = clusters_needed(size, 1.0, 1.0, power=power, level=level)
    return base | {"items needed": count, "words needed": count}
