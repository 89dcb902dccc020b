"""The opening of a page: the answer by bias type, as tiles, and the evidence behind it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from unmask.answer import words as answer_words
from unmask.answer.answer import OVERALL, Answer, Evidence
from unmask.answer.lab_status import UNCLEAR, UNFIT, VALIDATED
from unmask.answer.scales import SCALES
from unmask.reports.columns import Column, words
from unmask.reports.figures.drawing import Figure
from unmask.reports.figures.result_figures import DRAWN, intervals

# By verdict: the class of a tile, and its shape (points of a 20 by 20 drawing).
NOTABLE_GAP = 10.0  # percentage points between the groups of a pair
STATES = {
    "biased": ("found", "10,2 19,18 1,18"),
    "reversed": ("reversed", "10,18 19,2 1,2"),
    "negligible": ("small", "2,10 8,17 18,3 8,12"),
    "inconclusive": ("open", "10,1 19,10 10,19 1,10"),
}


@dataclass(frozen=True, slots=True)
class Tile:
    """One bias type: its verdict by colour, shape and word, and the text below."""

    bias_type: str
    state: str
    shape: str
    word: str
    measured: str
    below: Sequence[str]
    shown_by: Sequence[str]


@dataclass(frozen=True, slots=True)
class Opening:
    """The answer for one model: the sentence, and a tile for each bias type, strongest first."""

    model: str
    sentence: str
    tiles: Sequence[Tile]


def openings(every: Sequence[Answer]) -> list[Opening]:
    """The answer for each model that has one; of several models only what is known has a tile."""
    models = dict.fromkeys(a.model for a in every)
    out = []
    for model in models:
        mine = [a for a in every if a.model == model]
        types = [a for a in mine if a.bias_type != OVERALL]
        known = [a for a in types if len(models) == 1 or a.verdict != "inconclusive"]
        out.append(Opening(model, answer_words.sentence(mine), [_tile(a) for a in known]))
    return out


def _tile(answer: Answer) -> Tile:
    state, shape = STATES[answer.verdict]
    below = [answer_words.agreement(answer)] if answer.evidence else []
    preference = answer.word_preference
    if preference is not None and preference.value >= NOTABLE_GAP:
        below.append(
            "the model also prefers one group's word regardless of the stereotype (gap "
            f"{preference.value:.0f} pp)"
        )
    below += [answer.contradiction] if answer.contradiction else []
    below += [f"To decide: {answer.needed}"] if answer.needed else []
    return Tile(
        answer.bias_type,
        state,
        shape,
        f"{answer.verdict}, {answer.strength}" if answer.found else answer.verdict,
        answer_words.strength(answer.main),
        [text[:1].upper() + text[1:] + "." for text in below],
        answer_words.clearest(answer),
    )


def figures(every: Sequence[Answer]) -> list[Figure]:
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
        for a in every
    ]
    out = []
    frame = pd.DataFrame(rows).rename(columns={"value": "score"})
    for head, part in frame.groupby(frame.compared.map(lambda c: SCALES[c].head)) if rows else ():
        unit = SCALES[part.compared.iloc[0]]
        part = part.assign(**{k: part[k].map(unit.show) for k in ("score", "low", "high")})
        what = DRAWN[str(head)][1]
        name, title = f"bias-types-{head}", "Bias types with their intervals"
        out.append(intervals(part, name, title, what, unit.neutral, unit.digits))
    return out


COUNTS = {VALIDATED: "yes", UNCLEAR: "none is validated", UNFIT: "no"}


def _evidence_row(answer: Answer, evidence: Evidence, counts: bool) -> dict[str, Any]:
    same = evidence.bias * answer.main.bias > 0
    reads = evidence.scale.reads
    return {
        "model": answer.model,
        "bias_type": answer.bias_type,
        "what": f"{reads} ({evidence.result.measure}), {evidence.result.data}",
        "measured": answer_words.strength(evidence),
        "lab": evidence.status.short,
        "counts": COUNTS[evidence.trust] if counts else "no",
        "same": "yes" if same else "no",
    }


EVIDENCE: Sequence[Column] = (
    Column("bias type", lambda r: r["bias_type"], words, left=True),
    Column("what is read", lambda r: r["what"], words, left=True),
    Column("measured", lambda r: r["measured"], words, left=True),
    Column("counts", lambda r: r["counts"], words, left=True),
    Column("agrees", lambda r: r["same"], words, left=True),
    Column("lab", lambda r: r["lab"], words, left=True),
)


def evidence(every: Sequence[Answer]) -> pd.DataFrame:
    """All evidence by bias type: what it reads, its lab status, and whether it counts."""
    rows = []
    for answer in every:
        rows += [_evidence_row(answer, r, True) for r in answer.evidence]
        rows += [_evidence_row(answer, r, False) for r in answer.others]
    return pd.DataFrame(rows)
