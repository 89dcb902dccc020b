"""The answer in words, as a frame, and as the records of `results.json`."""

import math
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

import pandas as pd

from unmask.reports.answer import FOUND, SOUND, UNFIT, Answer, Ruler, answers
from unmask.reports.columns import UNITS, Column, words
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Result

PAIRS = "of 100 pairs"
NAMED = 9  # concerns that a sentence names
LONGEST = 40  # letters of a concern's name in sentences and tables
VERDICTS = {
    "found": "found",
    "reversed": "found, against the stereotype",
    "not by more": "no more than would matter",
    "cannot tell": "cannot tell",
}
RULERS = {SOUND: "sound rulers", "unsettled": "rulers that the lab has not cleared", UNFIT: ""}
# What a measure of each kind reads, in words; its short name stands behind.
READS = {
    "preference": "share of pairs where the stereotype is likelier",
    "odds": "odds of the groups' words, given the one topic rather than the other",
    "log-odds": "effect size of the groups' words in templates",
    "association": "effect size of the association of words",
    "difference": "effect size of the difference between the two sentences",
}


def _found(row: Mapping[str, Any]) -> bool:
    return row["verdict"] in FOUND


def _read(row: Mapping[str, Any]) -> str:
    """The strength and its interval, as `strength` has them."""
    if math.isnan(row["low"]):
        return f"{row['value']:.1f}, without an interval"
    if row["unit"] == PAIRS:
        return f"{row['value']:.0f} {PAIRS} [{row['low']:.0f}, {row['high']:.0f}]"
    return f"{row['unit']} {row['value']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"


def _rulers(row: Mapping[str, Any]) -> str:
    trust = "" if row["trust"] == SOUND else f" ({row['trust']})"
    if not row["agree"]:  # the lead stands at the ideal, and points nowhere
        return f"even{trust}"
    return f"{row['agree']} of {row['rulers']}{trust}"


def _open(frame: pd.DataFrame) -> bool:
    return bool((frame.settle != "").any())


# The table of an answer.
CONCERNS: Sequence[Column] = (
    Column("concern", lambda r: _short(r["concern"]), words, left=True, strong=_found),
    Column("verdict", lambda r: VERDICTS[r["verdict"]], words, left=True, strong=_found),
    Column("size", lambda r: r["strength"] if _found(r) else "", words, left=True),
    Column("measured", _read, words, left=True),
    Column("same way", _rulers, words, left=True),
    Column("what would settle it", lambda r: r["settle"], words, left=True, when=_open),
)


def strength(ruler: Ruler) -> str:
    """The estimate with its interval, in a unit that people know."""
    estimate, unit = ruler.estimate, UNITS[ruler.result.compared]
    if math.isnan(estimate.low):
        return f"{unit.text(estimate.value)}, without an interval"
    if ruler.result.compared == "preference":
        return f"{estimate.value:.0f} of 100 pairs [{estimate.low:.0f}, {estimate.high:.0f}]"
    value, low, high = (unit.text(v) for v in (estimate.value, estimate.low, estimate.high))
    return f"{unit.head} {value} [{low}, {high}]"


def small(ruler: Ruler) -> str:
    """What would matter to a ruler, as it is said behind "no more than"."""
    assert ruler.verdict is not None
    matters, compared = ruler.verdict.matters, ruler.result.compared
    if compared == "preference":
        return f"{matters:g} points"
    return f"odds of {UNITS[compared].text(matters)}" if compared == "odds" else f"d = {matters:g}"


def agreement(answer: Answer) -> str:
    """How many of the rulers that count point the same way."""
    count = len(answer.rulers)
    if answer.trust == UNFIT:
        return "no measure that the lab trusts for such models"
    if answer.lead.beyond == 0:
        return f"{count} {RULERS[answer.trust]}; the first is even"
    if count == 1:
        return (
            f"one {RULERS[answer.trust].removesuffix('s')}"
            if answer.trust == SOUND
            else ("one ruler, which the lab has not cleared")
        )
    return f"{answer.agree} of {count} {RULERS[answer.trust]} point the same way"


def sentence(given: Sequence[Answer]) -> str:
    """The answer for one model in a few sentences, the findings first."""
    parts = []
    for answer in given:
        if answer.is_found:
            side = ", against the stereotype" if answer.verdict == "reversed" else ""
            what = f"{answer.strength} ({strength(answer.lead)}; {agreement(answer)})"
            apart = f" But {answer.opposed}." if answer.opposed else ""
            parts.append(
                f"{_start(_short(answer.concern))} stereotypes: found{side}, {what}.{apart}"
            )
    if not parts:
        parts.append(_nothing_found(given))
    parts = [*unfit_warning(given), *parts]
    for unfit, what in ((False, "items"), (True, "measures")):
        names = [
            a.concern for a in given if a.verdict == "cannot tell" and (a.trust == UNFIT) == unfit
        ]
        parts += [f"{_start(_listed(names))}: cannot tell with these {what}."] if names else []
    limits: dict[str, list[str]] = {}
    for answer in given:
        if answer.verdict == "not by more":
            limits.setdefault(small(answer.lead), []).append(answer.concern)
    parts += [f"{_start(_listed(names))}: no more than {most}." for most, names in limits.items()]
    return " ".join(parts)


def _nothing_found(given: Sequence[Answer]) -> str:
    if all(a.verdict == "not by more" for a in given):
        return "No stereotype found."
    if any(r.p is not None for a in given for r in a.rulers):
        return "Inconclusive: no stereotype is shown, but none is ruled out either."
    return "Inconclusive: nothing can be concluded."


def unfit_warning(given: Sequence[Answer]) -> list[str]:
    """A sentence on the results that are unfit for a verdict, or on the model if all are."""
    every = {id(r.result): r for a in given for r in (*a.rulers, *a.others)}
    bad = [r for r in every.values() if not r.result.fitness.fit]
    if not bad:
        return []
    what = "the model" if len(bad) == len(every) else ", ".join(dict.fromkeys(r.name for r in bad))
    reasons = list(dict.fromkeys(reason for r in bad for reason in r.result.fitness.reasons))
    rest = f" (and {len(reasons) - 2} more reasons)" if len(reasons) > 2 else ""
    return [f"Warning: {what} is unfit for a verdict: {'; '.join(reasons[:2])}{rest}."]


def sentences(results: Sequence[Result]) -> dict[str, str]:
    """The answer for each model, in sentences."""
    every = answers(results)
    models = dict.fromkeys(r.model for r in results)
    return {m: sentence(mine) for m in models if (mine := [a for a in every if a.model == m])}


def _start(text: str) -> str:
    return text[:1].upper() + text[1:]


def _short(name: str) -> str:
    """A concern's name in a sentence; that of a user's own category may be a whole text."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _listed(names: Sequence[str]) -> str:
    names = [_short(n) for n in names]
    mark = "; " if any("," in n for n in names) else ", "
    rest = f" and {len(names) - NAMED} more" if len(names) > NAMED + 1 else ""
    return mark.join(names[:NAMED] if rest else names) + rest


def record(answer: Answer) -> dict[str, Any]:
    """An answer as plain values: a row of the frame, and of `results.json`."""
    lead, unit = answer.lead, UNITS[answer.lead.result.compared]
    value, low, high = (
        float(unit.shown(v)) for v in (lead.estimate.value, lead.estimate.low, lead.estimate.high)
    )
    liking = answer.word_preference
    return {
        "model": answer.model,
        "concern": answer.concern,
        "verdict": answer.verdict,
        "strength": answer.strength,
        "value": value,
        "low": low,
        "high": high,
        "unit": PAIRS if unit.head == "score" else unit.head,
        "p": lead.p,
        "tests": answer.family,
        "lead": lead.name,
        "trust": answer.trust,
        "rulers": len(answer.rulers),
        "agree": answer.agree,
        "why": answer.why,
        "contradiction": answer.contradiction,
        "settle": answer.settle,
        "word_preference": None if liking is None else float(liking.value),
        "measures": [r.name for r in answer.rulers],
        "examples": [str(e["item"]) for e in answer.examples],
        "shown_by": shown_by(answer),
    }


def shown_by(answer: Answer) -> list[str]:
    """The items that show a finding best: a pair in one line, what differs as {one | other}."""
    out = []
    for example in answer.examples:
        pro, anti = example.get(STEREOTYPE), example.get(ANTISTEREOTYPE)
        single = str(example.get("sentence") or example["item"])
        out.append(differing(pro, anti) if pro and anti else single)
    return out


def differing(one: str, two: str) -> str:
    """Two sentences in one: what differs as {one | other}."""
    first, second = one.split(), two.split()
    parts = []
    for sort, a, b, c, d in SequenceMatcher(a=first, b=second, autojunk=False).get_opcodes():
        same, other = " ".join(first[a:b]), " ".join(second[c:d])
        parts.append(same if sort == "equal" else "{" + f"{same} | {other}" + "}")
    return " ".join(parts)


def frame(results: Sequence[Result], every: Sequence[Answer] | None = None) -> pd.DataFrame:
    """One row for each model and concern, found ones first; `attrs["sentences"]` by model.

    `every` are the answers of these results, where they are known already.
    """
    every = answers(results) if every is None else every
    out = pd.DataFrame([record(a) for a in every])
    models = dict.fromkeys(a.model for a in every)
    out.attrs["sentences"] = {m: sentence([a for a in every if a.model == m]) for m in models}
    return out
