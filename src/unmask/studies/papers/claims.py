"""A paper's claims, tested on a model: what it says, what this run shows, whether it holds."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from unmask.reports.html.study_page import Table
from unmask.stats.clustering import Variance
from unmask.stats.effects import jackknife
from unmask.stats.intervals import DEFAULTS, student
from unmask.studies.papers.paper_table import frame
from unmask.types import Estimate, Floats

HOLDS, FAILS, OPEN = "holds", "does not hold", "inconclusive"
SEVERAL, ABSENT = "needs several models", "does not apply"
MORE = "needs more data"  # the value is known, and how sure it is is not
WORDS = (HOLDS, FAILS, OPEN, SEVERAL, ABSENT)
NAME = "claims"
OPPOSITES = (
    ("higher by", "lower by"),
    ("lower by", "higher by"),
    ("smaller by", "larger by"),
    ("larger by", "smaller by"),
    ("greater by", "smaller by"),
    ("farther from 50 by", "nearer to 50 by"),
    ("nearer by", "farther by"),
    ("drops by", "rises by"),
)
SURE = 0.05
NOTE = (
    "Claims are paraphrased. A claim holds if the 95 % interval of its quantity lies entirely on "
    "the claimed side, and does not hold if it lies entirely on the other side. Each claim is "
    "judged alone, without a correction for their number. 'By its numbers' is the verdict from the "
    "paper's own table, without intervals."
)


class PrintedClaim(NamedTuple):
    """What a paper reports, and the word for its claim by these numbers alone."""

    text: str
    word: str = ""


def stated(text: str, amounts: Iterable[float]) -> PrintedClaim:
    """What a paper reports of a claim that each of some amounts is above 0."""
    return counted(text, [v > 0 for v in amounts])


def counted(text: str, outcomes: Sequence[bool]) -> PrintedClaim:
    """What a paper reports of a claim that holds, or not, in each of some cases."""
    count = sum(outcomes)
    tally = f"holds in {count} of {len(outcomes)}"
    return PrintedClaim(text, HOLDS if count == len(outcomes) else tally if count else FAILS)


@dataclass(frozen=True, slots=True)
class Finding:
    """What this run shows of a claim, and the word for it."""

    here: str
    word: str
    p: float | None = None

    def __post_init__(self) -> None:
        if self.word not in WORDS and not self.word.startswith("needs "):
            raise ValueError(f"a claim's word is one of {', '.join(WORDS)}; not {self.word!r}")


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of a paper, where it makes it, and how it is checked on a model of a run.

    `paper` gives what the paper reports. A claim about `several` models is judged once for all.
    """

    text: str
    where: str
    paper: Callable[[Any], PrintedClaim]
    check: Callable[[Any, str], Finding]
    several: bool = False


def table(claims: Iterable[Claim], run: Any, models: Sequence[str]) -> Table:
    """Every claim for every model, the claims in the paper's order."""
    all_models = models[0] if len(models) == 1 else f"all {len(models)} models"
    rows = []
    for claim in claims:
        paper = claim.paper(run)
        for model in [all_models] if claim.several else models:
            finding = _finding(claim, run, model)
            rows.append(
                {
                    "claim": claim.text,
                    "where": claim.where,
                    "the paper": paper.text,
                    "by its numbers": paper.word,
                    "model": model,
                    "this run": finding.here,
                    "p": finding.p,
                    "holds?": finding.word,
                }
            )
    return Table(NAME, "Do the paper's claims hold here?", frame(rows), NOTE, first=True)


def _finding(claim: Claim, run: Any, model: str) -> Finding:
    """What a run shows of a claim; one of its results may be missing."""
    try:
        return claim.check(run, model)
    except KeyError as missing:
        names = missing.args[0] if missing.args else ""
        title = " on ".join(map(str, names[1:])) if isinstance(names, tuple) else str(names)
        return Finding(f"{title} could not be scored", "needs all results")


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many claims hold, in a sentence for each model."""
    sentences = []
    for model in dict.fromkeys(r["model"] for r in rows):
        words = [r["holds?"] for r in rows if r["model"] == model]
        decided = [w for w in words if w in (HOLDS, FAILS, OPEN)]
        parts = [f"{decided.count(HOLDS)} of {len(decided)} claims hold"] if decided else []
        parts += [
            f"{name}: {decided.count(word)}"
            for word, name in ((FAILS, "not holding"), (OPEN, "inconclusive"))
            if word in decided
        ]
        undecided = [w for w in words if w not in (HOLDS, FAILS, OPEN)]
        for word in dict.fromkeys(undecided):
            count = undecided.count(word)
            claims = "1 claim" if count == 1 else f"{count} claims"
            phrase = word if count == 1 else word.replace("needs ", "need ", 1)
            if word == ABSENT:
                phrase = "is not about such a model" if count == 1 else "are not about such a model"
            parts.append(f"{claims} {phrase}")
        sentences.append(f"{model}: {'; '.join(parts)}.")
    return " ".join(sentences)


def positive(estimate: Estimate | None, display: str = "", unit: str = "") -> Finding:
    """A claim that something is above 0, from its estimate."""
    if estimate is None or math.isnan(estimate.value):
        return Finding("", ABSENT)
    if math.isnan(estimate.low):
        text = f"{display or 'value'} = {estimate.value:.2f}, without an interval"
        return Finding(text, MORE, estimate.p)
    word = HOLDS if estimate.low > 0 else FAILS if estimate.high < 0 else OPEN
    numbers = [estimate.value, estimate.low, estimate.high]
    for adjective, back in OPPOSITES:  # never "higher by -2"
        if estimate.value < 0 and display.endswith(adjective):
            display = display.removesuffix(adjective) + back
            numbers = [-estimate.value, -estimate.high, -estimate.low]
            break
    sign = "+" if min(numbers) < 0 and not display.endswith(" by") else ""
    value, low, high = (f"{v:{sign}.{1 if unit else 2}f}" for v in numbers)
    text = f"{display + ' ' if display else ''}{value}{' ' + unit if unit else ''} [{low}, {high}]"
    return Finding(text, word, estimate.p)


def within(estimate: Estimate, limit: float, display: str) -> Finding:
    """A claim that something is no larger than a limit, either way."""
    if math.isnan(estimate.low):
        return Finding(f"{display} = {estimate.value:.2f}, without an interval", MORE, estimate.p)
    inside = estimate.low > -limit and estimate.high < limit
    outside = estimate.low > limit or estimate.high < -limit
    text = f"{display} = {estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"
    return Finding(text, HOLDS if inside else FAILS if outside else OPEN, estimate.p)


def jackknifed(sums: Floats, statistic: Callable[[Floats], Floats]) -> Estimate:
    """A function of sums over clusters [clusters, k], with the interval of the jackknife.

    `statistic` takes sums [..., k] and gives [...]; a cluster at a time is left out (Student's t).
    """
    total = sums.sum(0)
    count = len(sums)
    value = float(statistic(total))
    variance = Variance(jackknife([statistic(total - sums)]), count - 1)
    return interval(value, variance, count, "jackknife over clusters")


def over(differences: Floats) -> Estimate:
    """The mean of differences [n], by Student's t."""
    count = len(differences)
    if count < 2:
        return interval(math.nan, Variance(math.nan, 1), 1, "t over tests")
    variance = Variance(float(np.var(differences, ddof=1)) / count, count - 1)
    return interval(float(np.mean(differences)), variance, count, "t over tests")


def interval(value: float, variance: Variance, n: int, method: str) -> Estimate:
    """An estimate with ideal 0 and Student's interval; without variance the interval is a point."""
    if variance.value == 0:
        return Estimate(value, value, value, DEFAULTS.level, method, n, 0.0, float(value == 0), 0.0)
    return student(value, variance, n, n, ideal=0.0, method=method)
