"""A paper's claims, held against a model: what it says, what this run shows, whether it holds."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unmask.reports.html.study_page import Table
from unmask.stats.clustering import Variance
from unmask.stats.intervals import DEFAULTS, student
from unmask.studies.papers.paper_table import frame
from unmask.types import Estimate, Floats

HOLDS, FAILS, OPEN = "holds", "does not hold", "inconclusive"
SEVERAL, ABSENT = "needs several models", "does not apply"
MORE = "needs more data"  # the value is known, and how sure it is is not
WORDS = (HOLDS, FAILS, OPEN, SEVERAL, ABSENT)
NAME = "claims"
SURE = 0.05
NOTE = (
    "A claim is in our words. It holds, or does not, where the 95 % interval of what it says lies "
    "wholly on the one side or the other; each claim is judged alone, and the intervals are not "
    "corrected for their number."
)


@dataclass(frozen=True, slots=True)
class Finding:
    """What the paper reports, what this run shows, and the word for it."""

    paper: str
    here: str
    word: str
    p: float | None = None

    def __post_init__(self) -> None:
        if self.word not in WORDS and not self.word.startswith("needs "):
            raise ValueError(f"a claim's word is one of {', '.join(WORDS)}; not {self.word!r}")


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of a paper, where it makes it, and how it is checked on a model of a run."""

    text: str
    where: str
    check: Callable[[Any, str], Finding]


def table(claims: Iterable[Claim], run: Any, models: Sequence[str]) -> Table:
    """Every claim for every model, the claims in the paper's order."""
    rows = []
    for claim in claims:
        for model in models:
            finding = claim.check(run, model)
            rows.append(
                {
                    "claim": claim.text,
                    "where": claim.where,
                    "the paper": finding.paper,
                    "model": model,
                    "this run": finding.here,
                    "p": finding.p,
                    "holds?": finding.word,
                }
            )
    return Table(NAME, "Do the paper's claims hold here?", frame(rows), NOTE, first=True)


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many claims hold, in a sentence for each model."""
    out = []
    for model in dict.fromkeys(r["model"] for r in rows):
        words = [r["holds?"] for r in rows if r["model"] == model]
        counts = {w: words.count(w) for w in dict.fromkeys((HOLDS, FAILS, OPEN, *words))}
        parts = [f"{counts[HOLDS]} of {len(words)} claims hold"]
        parts += [f"not holding: {counts[FAILS]}"] if counts[FAILS] else []
        parts += [f"open: {counts[OPEN]}"] if counts[OPEN] else []
        absent = words.count(ABSENT)
        parts += [f"not about such a model: {absent}"] if absent else []
        rest = len(words) - absent - sum(counts[w] for w in (HOLDS, FAILS, OPEN))
        parts += [f"in need of more than this run: {rest}"] if rest else []
        out.append(f"{model}: {'; '.join(parts)}.")
    return " ".join(out)


def positive(paper: str, estimate: Estimate | None, shown: str = "", unit: str = "") -> Finding:
    """A claim that something is above 0, from its estimate."""
    if estimate is None or math.isnan(estimate.value):
        return Finding(paper, "", ABSENT)
    if math.isnan(estimate.low):
        text = f"{shown or 'value'} = {estimate.value:.2f}, without an interval"
        return Finding(paper, text, MORE, estimate.p)
    word = HOLDS if estimate.low > 0 else FAILS if estimate.high < 0 else OPEN
    digits = 1 if unit else 2
    plain = "" if shown.endswith(" by") or shown == "r" else "+"
    value, low, high = (
        f"{v:{plain}.{digits}f}" for v in (estimate.value, estimate.low, estimate.high)
    )
    text = f"{shown + ' ' if shown else ''}{value}{' ' + unit if unit else ''} [{low}, {high}]"
    return Finding(paper, text, word, estimate.p)


def jackknifed(sums: Floats, statistic: Callable[[Floats], Floats]) -> Estimate:
    """A function of sums over clusters [clusters, k], with the interval of the jackknife.

    `statistic` takes sums [..., k] and gives [...]; a cluster at a time is left out (Student's t).
    """
    total = sums.sum(0)
    count = len(sums)
    value = float(statistic(total))
    others = statistic(total - sums)
    variance = (count - 1) / count * float(((others - others.mean()) ** 2).sum())
    return interval(value, Variance(variance, count - 1), count, "jackknife over clusters")


def over(differences: Floats) -> Estimate:
    """The mean of differences [n], by Student's t."""
    count = len(differences)
    if count < 2:
        return interval(math.nan, Variance(math.nan, 1), 1, "t over tests")
    variance = Variance(float(np.var(differences, ddof=1)) / count, count - 1)
    return interval(float(np.mean(differences)), variance, count, "t over tests")


def interval(value: float, variance: Variance, n: int, method: str) -> Estimate:
    """An estimate of something that would be 0; without any variance it is what it is."""
    if variance.value == 0:
        return Estimate(value, value, value, DEFAULTS.level, method, n, 0.0, float(value == 0), 0.0)
    return student(value, variance, n, n, ideal=0.0, method=method)
