"""Model Size and Gender Bias (Thys 2025): its claims, which are about several models at once."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from unmask.stats.agreement import correlation
from unmask.stats.clustering import Variance
from unmask.stats.growth import growth
from unmask.studies.papers.claims import (
    FAILS,
    HOLDS,
    OPEN,
    SEVERAL,
    Claim,
    Finding,
    interval,
    positive,
)
from unmask.studies.papers.thys2025_figures import Scores, line_of
from unmask.types import Estimate

OTHERS = ("LPBS", "CrowS-Pairs", "AUL-cp", "AUL-ss")
BIAS = ("SEAT", "LPBS", "CAT", "CrowS-Pairs", "AUL-cp", "AUL-ss")
FEWEST = 4  # models that a correlation needs


class Run(NamedTuple):
    """The paper's numbers, and of this run scores and sizes by model."""

    values: Any
    scores: Mapping[str, Scores]
    sizes: Mapping[str, float]

    def families(self) -> dict[str, list[str]]:
        """The models of each family from the smallest to the largest, where it has two sizes."""
        by_line: dict[str, list[str]] = {}
        for model in sorted(self.scores, key=lambda m: self.sizes[m]):
            by_line.setdefault(line_of(model), []).append(model)
        return {line: models for line, models in by_line.items() if len(models) > 1}

    def stated(self, column: str) -> dict[str, float]:
        """By family how far the paper's score rises from base to large."""
        place = self.values["columns"].index(column)
        by_line: dict[str, list[float]] = {}
        for model in sorted(self.values["table4"], key=lambda m: self.values["sizes"][m]):
            by_line.setdefault(line_of(model), []).append(self.values["table4"][model][place])
        return {line: v[-1] - v[0] for line, v in by_line.items()}


def _rise(run: Run, column: str, models: Sequence[str]) -> Estimate:
    """How a score changes with size: of two models their difference, of more the slope.

    The errors of two scores count as if they were independent. The slope is that of all sizes, with
    each doubling.
    """
    scores = [run.scores[m][column] for m in models]
    if len(models) > 2:
        sizes = np.array([run.sizes[m] for m in models], float)
        return growth(sizes, np.array([s.value for s in scores]), [""] * len(models))
    a, b = scores
    variance = Variance(a.se**2 + b.se**2, np.inf)
    return interval(b.value - a.value, variance, b.n, "difference of two scores")


def _signs(changes: Mapping[str, float]) -> str:
    return "; ".join(f"{line} {v:+.2f}" for line, v in changes.items())


def _moves(column: str, sign: int) -> Any:
    """A claim that a score rises (or falls) with size in every family."""

    def check(run: Run, model: str) -> Finding:
        paper = _signs(run.stated(column))
        rises = {line: _rise(run, column, models) for line, models in run.families().items()}
        if not rises:
            return Finding(paper, "no two sizes of one model are in this run", SEVERAL)
        low, high = (
            [sign * (e.low if sign * s > 0 else e.high) for e in rises.values()] for s in (1, -1)
        )
        word = HOLDS if min(low) > 0 else FAILS if min(high) < 0 else OPEN
        return Finding(paper, _with_intervals(rises), word)

    return check


def _with_intervals(rises: Mapping[str, Estimate]) -> str:
    return "; ".join(
        f"{line} {e.value:+.2f} [{e.low:+.2f}, {e.high:+.2f}]" for line, e in rises.items()
    )


def _no_pattern(column: str) -> Any:
    """A claim that a score neither rises nor falls in every family."""

    def check(run: Run, model: str) -> Finding:
        paper = _signs(run.stated(column))
        rises = {line: _rise(run, column, models) for line, models in run.families().items()}
        if len(rises) < 2:
            return Finding(paper, "two sizes of at least two models are needed", SEVERAL)
        up = [e.low > 0 for e in rises.values()]
        down = [e.high < 0 for e in rises.values()]
        word = HOLDS if any(up) and any(down) else FAILS if all(up) or all(down) else OPEN
        return Finding(paper, _with_intervals(rises), word)

    return check


def _majority(run: Run, model: str) -> Finding:
    """No family rises, or falls, in most measures."""
    counts = {line: sum(run.stated(c)[line] > 0 for c in BIAS) for line in run.stated("CAT")}
    paper = "; ".join(f"{line}: {n} of {len(BIAS)} rise" for line, n in counts.items())
    here, words = [], []
    for line, models in run.families().items():
        rises = [_rise(run, c, models) for c in BIAS]
        up, down = sum(e.low > 0 for e in rises), sum(e.high < 0 for e in rises)
        here.append(f"{line}: {up} rise and {down} fall, of {len(BIAS)}")
        most = len(BIAS) // 2 + 1
        sure = up >= len(BIAS) - most + 1 and down >= len(BIAS) - most + 1
        words.append(FAILS if max(up, down) >= most else HOLDS if sure else OPEN)
    if not words:
        return Finding(paper, "no two sizes of one model are in this run", SEVERAL)
    word = FAILS if FAILS in words else HOLDS if set(words) == {HOLDS} else OPEN
    return Finding(paper, "; ".join(here), word)


def _together(column: str, sign: int) -> Any:
    """A claim that a bias score and lms go together over models (or against each other)."""

    def check(run: Run, model: str) -> Finding:
        table = np.array([run.values["table4"][m] for m in run.values["table4"]], float)
        place = [run.values["columns"].index(c) for c in (column, "lms")]
        paper = f"r = {np.corrcoef(table[:, place[0]], table[:, place[1]])[0, 1]:.2f}, six models"
        if len(run.scores) < FEWEST:
            return Finding(paper, f"at least {FEWEST} models are needed", SEVERAL)
        one, two = ([s[c].value for s in run.scores.values()] for c in (column, "lms"))
        r = correlation(np.array(one), np.array(two))
        turned = r if sign > 0 else _turned(r)
        return positive(paper, turned, "r" if sign > 0 else "-r")

    return check


def _turned(r: Estimate) -> Estimate:
    return Estimate(-r.value, -r.high, -r.low, r.level, r.method, r.n, r.ideal, r.p, r.se)


def _columns(names: Sequence[str]) -> tuple[Claim, ...]:
    return tuple(
        Claim(
            f"{n} neither rises in every family nor falls in every family",
            "5.1, Figure 1",
            _no_pattern(n),
        )
        for n in names
    )


CLAIMS = (
    Claim("CAT's bias score rises with size in every family", "5.1, Figure 1", _moves("CAT", 1)),
    Claim("SEAT's bias score falls with size in every family", "5.1, Figure 1", _moves("SEAT", -1)),
    *_columns(OTHERS),
    Claim("No family rises, or falls, by most of the measures", "5.1", _majority),
    Claim("The language modelling score rises with size", "5.2, Figure 2", _moves("lms", 1)),
    Claim("CAT's bias and language modelling scores go together", "5.3", _together("CAT", 1)),
    Claim("CrowS-Pairs and it go together", "5.3", _together("CrowS-Pairs", 1)),
    Claim("LPBS and it go together", "5.3", _together("LPBS", 1)),
    Claim("SEAT goes against the language modelling score", "5.3", _together("SEAT", -1)),
    Claim("AUL on StereoSet goes against it", "5.3", _together("AUL-ss", -1)),
)
