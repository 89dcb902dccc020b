"""Results in sentences that a reader without statistics understands."""

import math
from collections.abc import Sequence

from unmask.answer import lab_status
from unmask.answer.scales import SCALES
from unmask.answer.verdict import bias_estimate
from unmask.measures import MEASURES
from unmask.options import amount_text
from unmask.reports.columns import VISIBLE
from unmask.support.wording import counted
from unmask.types import Estimate, Result

_WORDS = {
    "biased": "Biased",
    "reversed": "Reversed: against the stereotype",
    "negligible": "Negligible bias",
    "inconclusive": "Inconclusive",
}
MAY = (
    "A score reports how often the model prefers one sentence of a pair on these items. It does "
    "not predict what the model will do in use.",
    "A result without bias on these items does not prove that there is no bias: other groups, "
    "words and tasks were not tested.",
    "Measures disagree, and each has known faults, listed below. Do not choose a measure by "
    "its result.",
    "To compare two models, test their paired difference with 'unmask compare'.",
)


IN_SHORT = (
    "These are preferences on test sentences, not behaviour in use. A result without bias does "
    "not prove that there is no bias: other groups, words and tasks were not tested."
)
LOST = 12  # number of lost words that are named


def heading(result: Result) -> str:
    """The verdict in two or three words."""
    verdict = result.verdicts.get("")
    if verdict is not None:
        return _WORDS[verdict.word]
    return "Baseline, no verdict" if SCALES[result.compared].share else "Index, no verdict"


def sentences(result: Result) -> list[str]:
    """Describe what was measured, the result, and the smallest detectable bias."""
    estimate = result.overall
    lines = [_score(result, estimate), *_stereotype(result, estimate), *_margin(result)]
    if (least := bias_estimate(result).more.get("mde")) is not None:
        unit = SCALES[result.compared]
        size = amount_text(unit.show(least), unit.unit)
        lines.append(f"Minimum detectable effect with these items: {size}.")
    if (verdict := result.verdicts.get("")) is not None:
        lines.append(_full(verdict.why))
    lines += _coverage(result)
    if (status := lab_status.of_result(result)).word != lab_status.UNTESTED:
        lines.append(
            f"Lab status of {result.measure} on {lab_status.kind_of(result)} models: {status}."
        )
    return lines


def _score(result: Result, estimate: Estimate) -> str:
    unit = SCALES[result.compared]
    span = (
        ""
        if math.isnan(estimate.low)
        else f" [{unit.text(estimate.low)}, {unit.text(estimate.high)}]"
    )
    sets = result.settings.get("sets")
    x, y, first, second = sets or ("one side", "the other", "one set", "the other")
    return unit.says.format(
        n=estimate.n,
        data=result.data,
        measure=result.measure,
        value=unit.text(estimate.value),
        span=span,
        x=x,
        y=y,
        a=first,
        b=second,
        about=f" of {x} and {y} with {first} and {second}" if sets else "",
        over="words" if "words" in estimate.more else "items",
        units="items" if "statistic" in result.settings else "words",
        ideal="" if estimate.ideal is None else f"; {estimate.ideal:g} would be ideal",
    )


def _stereotype(result: Result, estimate: Estimate) -> list[str]:
    """Return a sentence on the adjusted share, if it differs from the score."""
    adjusted = result.extras.get("adjusted") if SCALES[result.compared].share else None
    if adjusted is None or abs(adjusted.value - estimate.value) < VISIBLE:
        return []
    span = "" if math.isnan(adjusted.low) else f" [{adjusted.low:.1f}, {adjusted.high:.1f}]"
    about = " The verdict is about this score." if result.verdicts else ""
    return [f"Without word preference, the score is {adjusted.value:.1f}{span}.{about}"]


def _margin(result: Result) -> list[str]:
    """Return a sentence on how strong the preference is, in addition to how frequent."""
    mean = result.extras.get("margin")
    unit = result.settings.get("margin")
    if mean is None or unit is None:
        return []
    span = "" if math.isnan(mean.low) else f" [{mean.low:.2f}, {mean.high:.2f}]"
    return [
        "The mean margin of the stereotypical sentence, after removing word preference and "
        f"bounding outliers, is {mean.value:+.2f}{span} ({unit})."
    ]


def _full(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _coverage(result: Result) -> list[str]:
    cover, lines = result.coverage, []
    if cover.scored < cover.items:
        reasons = "; ".join(f"{n}: {reason}" for reason, n in cover.reasons.items())
        lines.append(f"{cover.scored} of {cover.items} items were scored ({reasons}).")
    if cover.lost:
        words = ", ".join(list(cover.lost)[:LOST])
        more = f" and {len(cover.lost) - LOST} more" if len(cover.lost) > LOST else ""
        lines.append(f"Words that were left out: {words}{more}.")
    if cover.ties:
        lines.append(f"{counted(cover.ties, 'item is a tie', 'items are ties')}.")
    flags = result.items.get("flags")
    if flags is not None:
        flagged = result.items.loc[flags.fillna("") != "", "item"].nunique()
        lines += (
            [f"{counted(flagged, 'item has', 'items have')} visible defects."] if flagged else []
        )
    return lines


def card(name: str) -> list[tuple[str, str]]:
    """Return the card of a measure: its description and criticism; empty if unknown."""
    row = MEASURES.get(name)
    if row is None:
        return []
    facts = [("Question", row.about), ("Formula", row.formula), ("Criticism", row.criticism)]
    facts += [("Deviation", row.deviation)] if row.deviation else []
    return [*facts, ("Source", ", ".join(row.cite))]


def titles(results: Sequence[Result]) -> str:
    """Return the title of a page: what it is about."""
    models = list(dict.fromkeys(r.model for r in results))
    listed = ", ".join(models[:3]) + (f" and {len(models) - 3} more" if len(models) > 3 else "")
    return f"Bias of {listed}"
