"""Mind Your Bias (Husse and Spitz 2022): scores under two choices, and what may be said of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from unmask.data.packaged import published
from unmask.studies.papers.claims import FAILS, HOLDS, OPEN, Finding, over, positive
from unmask.studies.papers.husse2022_appendix import FEWER
from unmask.studies.papers.husse2022_tables import (
    COLUMNS,
    CONTEXTS,
    NAMED,
    SIGNIFICANT,
    HusseRun,
    is_sure,
)
from unmask.types import Floats

SMALL = 0.2  # an effect size below which a move is none
Choice = Mapping[str, str]
Choices = Choice | Sequence[Choice]
COLUMNS_HERE = [
    "model",
    "method",
    "metric",
    "test",
    "targets",
    "level",
    "context",
    "sets",
    "d",
    "sure",
]


class Pair(NamedTuple):
    """Two choices on the same tests: effect sizes and significance of both, [tests]."""

    d: tuple[Floats, Floats]
    sure: tuple[Floats, Floats]


@cache
def released() -> pd.DataFrame:
    """The release's scores, in the words of this package."""
    scores = published("husse2022.csv")
    scores = scores[(scores.note == "") & scores.d.notna()]
    return scores.assign(
        model=scores.model.map(COLUMNS),
        context=scores.context.replace(CONTEXTS),
        sure=scores.p < SIGNIFICANT,
    )


def measured(run: HusseRun) -> pd.DataFrame:
    """The scores of this run in the same columns."""
    rows = []
    for key, result in run.results.items():
        model, method, _, level, context = key
        name, _, size = method.partition(" ")
        tags = result.spec.tags
        if tags["edition"] or context not in ("template", "natural", FEWER) or size == "nouns":
            continue
        likely = "LPBS" in name
        rows.append(
            {
                "model": model,
                "method": "CEAT" if name == "CEAT-LPBS" else name,
                "metric": "probability" if likely else "cosine",
                "test": tags["concept"],
                "targets": tags["named"],
                "level": "" if likely else level,
                "context": context,
                "sets": level if likely else size or "full",
                "d": result.overall.value,
                "sure": is_sure(run.tested[key]),
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS_HERE)


def scores_under(frame: pd.DataFrame, model: str, choice: Choice) -> pd.DataFrame:
    """The scores of a model under a choice, by test (and sets, where these are not chosen).

    Each test uses names or terms as in the paper's tables (NAMED), or the other kind if the choice
    has no such set.
    """
    scores = frame[frame.model == model]
    for name, value in choice.items():
        scores = scores[scores[name] == value]
    main = scores.targets == scores.test.map(NAMED)
    scores = scores.assign(main=main).sort_values("main", ascending=False, kind="stable")
    return scores.drop_duplicates(["test", "sets"]).set_index(["test", "sets"]).drop(columns="main")


def paired(frame: pd.DataFrame, model: str, left: Choices, right: Choices) -> Pair | None:
    """Two choices on the tests that have both; None where there are fewer than two.

    Of several choices each is paired with its own counterpart, and all tests are taken together.
    """
    ones, twos = ([c] if isinstance(c, Mapping) else [*c] for c in (left, right))
    parts = [_shared(frame, model, a, b) for a, b in zip(ones, twos, strict=True)]
    first, second = (pd.concat([part[k] for part in parts]) for k in (0, 1))
    return _as_pair(first, second) if len(first) > 1 else None


def _shared(
    frame: pd.DataFrame, model: str, left: Choice, right: Choice
) -> tuple[pd.DataFrame, pd.DataFrame]:
    a, b = scores_under(frame, model, left), scores_under(frame, model, right)
    if left.get("sets") != right.get("sets"):
        a, b = (part.reset_index("sets", drop=True) for part in (a, b))
    shared = a.index.intersection(b.index)
    return a.loc[shared], b.loc[shared]


def _as_pair(a: pd.DataFrame, b: pd.DataFrame) -> Pair:
    return Pair(
        (a.d.to_numpy(float), b.d.to_numpy(float)),
        (a.sure.to_numpy(float), b.sure.to_numpy(float)),
    )


class Criterion(NamedTuple):
    """The criterion for a claim about two choices.

    `amount` is above 0 if the scores alone support the claim, `judge` also uses their intervals,
    and `read` formats the scores.
    """

    read: Callable[[Pair], str]
    amount: Callable[[Pair], float]
    judge: Callable[[Pair], Finding]


def moved(pair: Pair) -> float:
    """How far scores are apart under the two choices, on average."""
    return float(np.mean(np.abs(pair.d[0] - pair.d[1])))


def _larger_by(pair: Pair) -> float:
    """How much larger the second choice's effect sizes are."""
    return float(np.mean(np.abs(pair.d[1])) - np.mean(np.abs(pair.d[0])))


def _describe(pair: Pair) -> str:
    return f"{moved(pair):.2f}"


def _count_changed(pair: Pair) -> int:
    return int(np.sum(pair.sure[0] != pair.sure[1]))


def _changed(pair: Pair) -> str:
    return f"{_count_changed(pair)} of {len(pair.sure[0])} change"


def _same_biases(pair: Pair) -> Finding:
    """No score becomes significant, or ceases to be: a count over these tests, not an estimate."""
    gap = over(np.abs(pair.d[0] - pair.d[1]))
    text = f"{_changed(pair)} in significance; d moves by {gap.value:.2f} "
    text += f"[{gap.low:.2f}, {gap.high:.2f}]"
    if not np.any(pair.sure):
        return Finding(f"no score is significant either way; {text}", OPEN)
    return Finding(text, FAILS if _count_changed(pair) else HOLDS)


def _same_scores(pair: Pair) -> Finding:
    """The two choices move scores by less than a small effect."""
    estimate = over(np.abs(pair.d[0] - pair.d[1]))
    word = HOLDS if estimate.high < SMALL else FAILS if estimate.low > SMALL else OPEN
    text = f"scores move by {estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"
    return Finding(text, word)


def _matters(pair: Pair) -> Finding:
    """The two choices move scores by more than a small effect."""
    finding = _same_scores(pair)
    return replace(finding, word={HOLDS: FAILS, FAILS: HOLDS, OPEN: OPEN}[finding.word])


ALIKE = Criterion(_describe, lambda pair: SMALL - moved(pair), _same_scores)
MATTERS = Criterion(_describe, lambda pair: moved(pair) - SMALL, _matters)
SAME_BIASES = Criterion(_changed, lambda pair: 0.5 - _count_changed(pair), _same_biases)


def larger(*names: str) -> Criterion:
    """The second of two choices of these names has larger effect sizes."""
    read = partial(_sizes, names)

    def judge(pair: Pair) -> Finding:
        finding = positive(over(np.abs(pair.d[1]) - np.abs(pair.d[0])), "larger by")
        return replace(finding, here=f"mean |d| {read(pair)}; {finding.here}")

    return Criterion(read, _larger_by, judge)


def neither(*names: str) -> Criterion:
    """Neither choice has larger effect sizes than the other, to within a small effect."""
    read = partial(_sizes, names)

    def judge(pair: Pair) -> Finding:
        estimate = over(np.abs(pair.d[1]) - np.abs(pair.d[0]))
        inside = estimate.low > -SMALL and estimate.high < SMALL
        word = HOLDS if inside else FAILS if estimate.low > 0 or estimate.high < 0 else OPEN
        text = f"mean |d| {read(pair)}; difference [{estimate.low:+.2f}, {estimate.high:+.2f}]"
        return Finding(text, word, estimate.p)

    return Criterion(read, lambda pair: SMALL - abs(_larger_by(pair)), judge)


def _sizes(names: Sequence[str], pair: Pair) -> str:
    means = (float(np.mean(np.abs(d))) for d in pair.d)
    return ", ".join(f"{mean:.2f} {name}" for mean, name in zip(means, names, strict=True))
