"""What a study needs: items, words and templates, from the errors of the results that there are.

Each bias type is planned for the verdict that the run will give: its test is corrected for all
tests of the model, at worst as Bonferroni's method does.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
from scipy.special import ndtr

from unmask.answer.answer import ABILITY, OVERALL, Answer, answers
from unmask.answer.needed import cheapest_addition
from unmask.answer.verdict import Correction
from unmask.options import Threshold, amount_text
from unmask.stats.power import (
    Needed,
    Pilot,
    as_factor,
    check,
    clusters_needed,
    detects,
    pilot_of,
    words_needed,
)
from unmask.types import Result

NOTHING_KNOWN = "independent items"


def needs(
    results: Iterable[Result],
    detect: Mapping[str, float],
    *,
    power: float = 0.8,
    level: float = 0.95,
) -> pd.DataFrame:
    """What each bias type has, and what it needs to detect `points`, `d` or `times`.

    For a unit without results: what one test on independent items or words would need.
    """
    Threshold(**detect)
    check(power)
    rows = []
    found_answers = answers(list(results))
    overall = {a.model: a for a in found_answers if a.bias_type == OVERALL and a.p is not None}
    for answer in found_answers:
        if "statistic" in answer.main.result.settings:
            continue  # no rule says how it changes with more items
        unit = _unit(answer)
        if unit in detect and answer.main.scale.planned:
            plan = _words if unit == "d" else _pairs
            rows += plan(answer, detect[unit], power, _level(answer, overall, level))
    units = {row["unit"] for row in rows}
    missing = [unit for unit in ("points", "d") if unit in detect and unit not in units]
    rows += [_unknown(unit, detect[unit], power, level) for unit in missing]
    return pd.DataFrame(rows)


def _unit(answer: Answer) -> str:
    scale = answer.main.scale
    if not scale.paired:
        return "d"
    return "times" if scale.is_factor else "points"


def _level(answer: Answer, overall: Mapping[str, Answer], level: float) -> float:
    """The level at which the test of an answer is significant, whatever the other tests show."""
    all_types = overall.get(answer.model)
    found = None if all_types is None else all_types.shows_bias
    return Correction(answer.tests, found).level(level, answer.bias_type != OVERALL)


def _pairs(answer: Answer, amount: float, power: float, level: float) -> list[dict[str, Any]]:
    pilot, unit = pilot_of(answer.main.tested), _unit(answer)
    if pilot is None:
        return []
    spread, points = answer.main.tested.more["spread"], amount
    if unit == "times":
        points = 100 * float(ndtr(math.log(amount) / spread)) - 50
    needed = pilot.needed(points, power=power, level=level)
    sampled, effect = pilot.n_templates > 1, detects(pilot, power, level)
    return [
        {
            "bias type": answer.bias_type,
            "measure": answer.main.result.measure,
            "data": answer.main.result.data,
            "unit": unit,
            "detects": as_factor(effect, spread) if unit == "times" else effect,
            "pairs": answer.main.tested.n,
            "words": pilot.n_words,
            "templates": pilot.n_templates if sampled else None,
            "advice": _advice(answer, pilot, amount_text(amount, unit), needed),
        }
    ]


def _advice(answer: Answer, pilot: Pilot, amount: str, needed: Needed) -> str:
    """What to do, in a sentence."""
    if answer.needed == ABILITY:
        return f"{ABILITY.capitalize()}: the model fails the positive control."
    if needed[0] is not None and needed[0] <= pilot.n_words:
        return "These items are enough."
    addition = cheapest_addition(pilot, needed, "word")
    if addition:
        return f"Add about {addition}."
    return f"Adding words or templates will not be enough to detect {amount}."


def _words(answer: Answer, d: float, power: float, level: float) -> list[dict[str, Any]]:
    result, category = answer.main.result, answer.main.category
    estimate = result.extras.get("effect_size", answer.main.estimate)
    details = estimate.more
    words = sum(details["words"]) / 2 if "words" in details else math.nan
    needed = words_needed(d, details.get("ratio", 1.0), power=power, level=level)
    if result.settings.get("random") == "attributes" and details.get("mde"):
        # All four sets are a sample, and grow together: the error falls with their root.
        needed = max(needed, math.ceil(words * (details["mde"] / d) ** 2))
    missing = 0 if math.isnan(words) else max(0, needed - math.floor(words))
    return [
        {
            "bias type": answer.bias_type,
            "measure": result.measure,
            "data": f"{result.data}, {category}" if category else result.data,
            "unit": "d",
            "detects": details.get("mde"),
            "words per set": words,
            "words per set needed": needed,
            "advice": f"Add about {missing} words per set."
            if missing
            else "These words are enough.",
        }
    ]


def _unknown(unit: str, size: float, power: float, level: float) -> dict[str, Any]:
    base = {"bias type": "any", "measure": "any", "data": NOTHING_KNOWN, "unit": unit}
    if unit == "d":
        return base | {"words per set needed": words_needed(size, power=power, level=level)}
    count = clusters_needed(size, 1.0, 1.0, power=power, level=level)
    return base | {"pairs needed": count, "words needed": count}
