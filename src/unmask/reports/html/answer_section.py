"""The opening of a page: the answer by bias type, what to do next, and the evidence behind it."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pandas as pd

from unmask.answer import answer_sentences
from unmask.answer.answer import ABILITY, OVERALL, Answer
from unmask.answer.evidence import Evidence
from unmask.answer.lab_status import UNCLEAR, UNFIT, VALIDATED
from unmask.answer.scales import SCALES
from unmask.reports.columns import Column, words
from unmask.reports.figures.drawing import Figure
from unmask.reports.figures.result_figures import DRAWN, intervals

NOTABLE_GAP = 10.0  # percentage points between the groups of a pair
STATES = {  # by verdict: the class of its colour, and its sign
    "biased": ("found", "\u25b2"),
    "reversed": ("reversed", "\u25bc"),
    "negligible": ("small", "\u25a0"),
    "inconclusive": ("open", "\u25c7"),
}


Marked: TypeAlias = Sequence[tuple[str, str]]  # words of a sentence: plain, "more" or "less" likely


@dataclass(frozen=True, slots=True)
class Tile:
    """A bias type with a bias: its verdict as colour, sign and word, and the text below."""

    bias_type: str
    state: str
    sign: str
    word: str
    measured: str
    below: Sequence[str]
    shown_by: Sequence[Marked]


@dataclass(frozen=True, slots=True)
class Lane:
    """An interval as a bar, in per cent of the width of a chart."""

    name: str
    state: str
    text: str
    left: float
    width: float
    at: float


@dataclass(frozen=True, slots=True)
class Chart:
    """The intervals of bias types on one scale.

    `ticks` are places with their labels; `key` has the colour, sign and word of each verdict.
    """

    title: str
    lanes: Sequence[Lane]
    ticks: Sequence[tuple[float, str]]
    neutral: float
    key: Sequence[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class AnswerSection:
    """The answer for one model: a headline, biased types as tiles, other bias types as a table.

    `sentence` is the whole answer; `beside` are caveats to the headline; `steps` are the next
    steps, each with a link or a command.
    """

    model: str
    sentence: str
    headline: str
    state: str
    counts: str
    beside: Sequence[str]
    charts: Sequence[Chart]
    tiles: Sequence[Tile]
    rest: pd.DataFrame
    steps: Sequence[tuple[str, str]]


def openings(answers: Sequence[Answer]) -> list[AnswerSection]:
    """Return the answer section of each model; with several models, only biased types are shown."""
    models = dict.fromkeys(a.model for a in answers)
    return [_opening([a for a in answers if a.model == m], len(models) == 1) for m in models]


def _opening(answers: Sequence[Answer], single: bool) -> AnswerSection:
    types = [a for a in answers if a.bias_type != OVERALL]
    overall = next((a for a in answers if a.bias_type == OVERALL), None)
    first = overall or next((a for a in types if a.shows_bias), None)
    return AnswerSection(
        answers[0].model,
        answer_sentences.sentence(answers),
        answer_sentences.headline(answers),
        STATES[first.verdict][0] if first else "open",
        answer_sentences.counts(types),
        answer_sentences.beside(answers),
        charts(types) if single else (),
        [_tile(a) for a in types if a.shows_bias],
        pd.DataFrame([_rest_row(a) for a in types if not a.shows_bias] if single else []),
        _steps(types) if single else (),
    )


def _tile(answer: Answer) -> Tile:
    state, sign = STATES[answer.verdict]
    below = [answer_sentences.agreement(answer)] if answer.evidence else []
    if (strongest := answer.strongest) is not answer.main and " to " in answer.strength:
        below.append(f"strongest: {answer_sentences.main_number(strongest)} ({strongest.name})")
    preference = answer.word_preference
    if preference is not None and preference.value >= NOTABLE_GAP:
        below.append(
            "the model also prefers one group's word regardless of the stereotype (gap "
            f"{preference.value:.0f} pp)"
        )
    below += [answer.contradiction] if answer.contradiction else []
    return Tile(
        answer.bias_type,
        state,
        sign,
        f"{answer.verdict}, {answer.strength}",
        answer_sentences.main_number(answer.main),
        [text[:1].upper() + text[1:] + "." for text in below],
        [marked(text, answer.main.bias < 0) for text in answer_sentences.clearest(answer)],
    )


def marked(line: str, reversed_: bool = False) -> Marked:
    """Mark the likelier words of an example: in {a | b} the first, or the second if reversed."""
    pieces = []
    for part in re.split(r"(\{[^{}]*\})", line):
        if not (part.startswith("{") and " | " in part):
            pieces.append((part, ""))
            continue
        first, _, second = part[1:-1].partition(" | ")
        more, less = (second, first) if reversed_ else (first, second)
        pieces += [(word, kind) for word, kind in ((more, "more"), (less, "less")) if word]
    return [(text, kind) for text, kind in pieces if text]


def _rest_row(answer: Answer) -> dict[str, Any]:
    reasons = [answer.contradiction] if answer.contradiction else []
    reasons += [answer.needed] if answer.needed else []
    return {
        "bias_type": answer.bias_type[:1].upper() + answer.bias_type[1:],
        "verdict": f"{STATES[answer.verdict][1]} {answer.verdict}",
        "measured": answer_sentences.main_number(answer.main),
        "needed": "; ".join(reasons),
    }


REST: Sequence[Column] = (
    Column("bias type", lambda r: r["bias_type"], words, left=True),
    Column("verdict", lambda r: r["verdict"], words, left=True),
    Column("measured", lambda r: r["measured"], words, left=True),
    Column("needed to decide", lambda r: r["needed"], words, left=True),
)


def _steps(types: Sequence[Answer]) -> list[tuple[str, str]]:
    """Return the next steps: about biased types, about inconclusive ones, and before a release."""
    findings = [a.bias_type for a in types if a.shows_bias]
    steps = [(f"Read the sentences about {findings[0]}", "#items-behind")] if findings else []
    if any(a.verdict == "inconclusive" and a.needed != ABILITY for a in types):
        steps.append(("See how much data is needed to decide the rest", "unmask plan RESULTS"))
    steps.append(("Check whether a change increased the bias", "unmask compare BEFORE AFTER"))
    steps.append(("Block a more biased release", "unmask gate AFTER --baseline BEFORE"))
    return steps


TICKS = {
    "factor": [math.log(v) for v in (0.25, 0.5, 0.67, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 5, 10)],
    "score": [0.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 100.0],
    "odds": [math.log(v) for v in (0.1, 0.25, 0.5, 1, 2, 4, 10)],
    "d": [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0],
}
NARROW = 0.12  # share of a chart's width that labels need


def charts(types: Sequence[Answer]) -> list[Chart]:
    """The main evidence of bias types with its intervals: a chart for each scale."""
    by_head: dict[str, list[Answer]] = {}
    for answer in types:
        head = answer.main.scale.head
        if head in TICKS and not math.isnan(answer.main.estimate.low):
            by_head.setdefault(head, []).append(answer)
    return [_chart(head, answers) for head, answers in by_head.items()]


def _chart(head: str, answers: Sequence[Answer]) -> Chart:
    scale, neutral = answers[0].main.scale, answers[0].main.estimate.ideal or 0.0
    estimates = [a.main.estimate for a in answers]
    low = min(neutral, *(e.low for e in estimates))
    high = max(neutral, *(e.high for e in estimates))
    low, high = low - 0.06 * (high - low), high + 0.06 * (high - low)

    def place(value: float) -> float:
        return round(100 * (value - low) / (high - low), 2)

    lanes = [
        Lane(
            a.bias_type[:1].upper() + a.bias_type[1:],
            STATES[a.verdict][0],
            scale.text(e.value) + (" %" if scale.share else ""),
            place(e.low),
            round(place(e.high) - place(e.low), 2),
            place(e.value),
        )
        for a, e in zip(answers, estimates, strict=True)
    ]
    verdicts = {a.verdict for a in answers}
    key = [(*STATES[verdict], verdict) for verdict in STATES if verdict in verdicts]
    inside = [t for t in TICKS[head] if low < t < high]
    ticks: list[tuple[float, str]] = []
    for tick in sorted(inside, key=lambda t: abs(t - neutral)):
        if all(abs(place(tick) - p) > 100 * NARROW for p, _ in ticks):
            ticks.append((place(tick), f"{scale.show(tick):g}{' %' if scale.share else ''}"))
    return Chart(DRAWN[head][1], lanes, sorted(ticks), place(neutral), key)


def figures(answers: Sequence[Answer]) -> list[Figure]:
    """Bias types with the intervals of their main evidence, one figure for each scale."""
    rows = [
        {
            "model": a.model,
            "what": a.bias_type,
            "measure": a.main.result.measure,
            "data": a.main.result.data,
            "category": a.main.category,
            "compared": a.main.result.compared,
            **{k: getattr(a.main.estimate, k) for k in ("value", "low", "high", "n")},
        }
        for a in answers
    ]
    plots = []
    frame = pd.DataFrame(rows).rename(columns={"value": "score"})
    for head, part in frame.groupby(frame.compared.map(lambda c: SCALES[c].head)) if rows else ():
        unit = SCALES[part.compared.iloc[0]]
        part = part.assign(**{k: part[k].map(unit.show) for k in ("score", "low", "high")})
        axis = DRAWN[str(head)][1]
        name, title = f"bias-types-{head}", "Bias types with their intervals"
        plots.append(intervals(part, name, title, axis, unit.neutral, unit.digits))
    return plots


COUNTS = {VALIDATED: "yes", UNCLEAR: "none is validated", UNFIT: "no"}


def _evidence_row(answer: Answer, evidence: Evidence, counts: bool) -> dict[str, Any]:
    same_direction = evidence.bias * answer.main.bias > 0
    reads = evidence.scale.reads
    return {
        "model": answer.model,
        "bias_type": answer.bias_type,
        "what": f"{reads} ({evidence.result.measure}), {evidence.result.data}",
        "measured": answer_sentences.main_number(evidence),
        "lab": evidence.status.word,
        "counts": COUNTS[evidence.trust] if counts else "no",
        "same": "yes" if same_direction else "no",
    }


EVIDENCE: Sequence[Column] = (
    Column("bias type", lambda r: r["bias_type"], words, left=True),
    Column("quantity", lambda r: r["what"], words, left=True),
    Column("measured", lambda r: r["measured"], words, left=True),
    Column("counts", lambda r: r["counts"], words, left=True),
    Column("agrees", lambda r: r["same"], words, left=True),
    Column("lab", lambda r: r["lab"], words, left=True),
)


def evidence(answers: Sequence[Answer]) -> pd.DataFrame:
    """All evidence by bias type: what it reads, its lab status, and whether it counts."""
    rows = []
    for answer in answers:
        rows += [_evidence_row(answer, r, True) for r in answer.evidence]
        rows += [_evidence_row(answer, r, False) for r in answer.others]
    return pd.DataFrame(rows)
