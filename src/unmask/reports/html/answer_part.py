"""The opening of a page: the answer by concern, as tiles, and the rulers behind it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from unmask.reports import answer_words
from unmask.reports.answer import SOUND, UNFIT, UNSETTLED, Answer, Ruler
from unmask.reports.columns import UNITS, Column, words
from unmask.reports.figures.drawing import Figure
from unmask.reports.figures.result_figures import DRAWN, intervals

# By verdict: the class of a tile, and its shape (points of a 20 by 20 drawing).
STATES = {
    "found": ("found", "10,2 19,18 1,18"),
    "reversed": ("reversed", "10,18 19,2 1,2"),
    "not by more": ("small", "2,10 8,17 18,3 8,12"),
    "cannot tell": ("open", "10,1 19,10 10,19 1,10"),
}


@dataclass(frozen=True, slots=True)
class Tile:
    """One concern: its state by colour, shape and word, and what stands below."""

    concern: str
    state: str
    shape: str
    word: str
    measured: str
    below: Sequence[str]
    shown_by: Sequence[str]


@dataclass(frozen=True, slots=True)
class Opening:
    """The answer for one model: the sentence, and a tile for each concern, strongest first."""

    model: str
    sentence: str
    tiles: Sequence[Tile]


def openings(every: Sequence[Answer]) -> list[Opening]:
    """The answer for each model that has one; of several models only what is known has a tile."""
    models = dict.fromkeys(a.model for a in every)
    out = []
    for model in models:
        mine = [a for a in every if a.model == model]
        known = [a for a in mine if len(models) == 1 or a.verdict != "cannot tell"]
        out.append(Opening(model, answer_words.sentence(mine), [_tile(a) for a in known]))
    return out


def _tile(answer: Answer) -> Tile:
    (state, shape), word = STATES[answer.verdict], answer_words.VERDICTS[answer.verdict]
    below = [answer_words.agreement(answer)] if answer.rulers else []
    if (liking := answer.word_preference) is not None and _sure(liking, answer.family):
        below.append(
            f"apart from the stereotype, one group's word is preferred: its pairs and the other's "
            f"differ by {liking.value:.0f} points"
        )
    below += [answer.contradiction] if answer.contradiction else []
    below += [f"To settle it: {answer.settle}"] if answer.settle else []
    return Tile(
        answer.concern,
        state,
        shape,
        f"{word}, {answer.strength}" if answer.is_found else word,
        f"{answer_words.strength(answer.lead)}, n = {answer.lead.estimate.n}",
        [text[:1].upper() + text[1:] + "." for text in below],
        answer_words.shown_by(answer),
    )


def _sure(liking: Any, tests: int) -> bool:
    """Whether a preference for a word is told: after Bonferroni's correction over the rulers."""
    return liking.p is not None and max(tests, 1) * liking.p <= 1 - liking.level


def figures(every: Sequence[Answer]) -> list[Figure]:
    """Concerns with the intervals of their lead, one figure for each unit."""
    rows = [
        {
            "model": a.model,
            "what": a.concern,
            "measure": a.lead.result.measure,
            "data": a.lead.result.data,
            "category": a.lead.category,
            "compared": a.lead.result.compared,
            **{k: getattr(a.lead.estimate, k) for k in ("value", "low", "high", "n")},
        }
        for a in every
    ]
    out = []
    frame = pd.DataFrame(rows).rename(columns={"value": "score"})
    for head, part in frame.groupby(frame.compared.map(lambda c: UNITS[c].head)) if rows else ():
        unit = UNITS[part.compared.iloc[0]]
        part = part.assign(**{k: part[k].map(unit.shown) for k in ("score", "low", "high")})
        what = DRAWN[str(head)][1]
        name, title = f"concerns-{head}", "Concerns with their intervals"
        out.append(intervals(part, name, title, what, unit.ideal, unit.digits))
    return out


COUNTS = {SOUND: "yes", UNSETTLED: "for want of a sound one", UNFIT: "no"}


def _ruler_row(answer: Answer, ruler: Ruler, counts: bool) -> dict[str, Any]:
    same = ruler.beyond * answer.lead.beyond > 0
    reads = answer_words.READS[ruler.result.compared]
    return {
        "model": answer.model,
        "concern": answer.concern,
        "what": f"{reads} ({ruler.result.measure}), {ruler.result.data}",
        "measured": answer_words.strength(ruler),
        "p": ruler.p,
        "lab": ruler.standing.short,
        "counts": COUNTS[ruler.trust] if counts else "no",
        "same": "yes" if same else "no",
    }


RULERS: Sequence[Column] = (
    Column("concern", lambda r: r["concern"], words, left=True),
    Column("what is read", lambda r: r["what"], words, left=True),
    Column("measured", lambda r: r["measured"], words, left=True),
    Column("counts", lambda r: r["counts"], words, left=True),
    Column("same way", lambda r: r["same"], words, left=True),
    Column("lab", lambda r: r["lab"], words, left=True),
)


def rulers(every: Sequence[Answer]) -> pd.DataFrame:
    """Every ruler of every concern: what it reads, how it stands in the lab, whether it counts."""
    rows = []
    for answer in every:
        rows += [_ruler_row(answer, r, True) for r in answer.rulers]
        rows += [_ruler_row(answer, r, False) for r in answer.others]
    return pd.DataFrame(rows)
