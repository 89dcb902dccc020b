"""Model Size and Gender Bias (Thys 2025): its claims, which are about several models at once."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from unmask.stats.agreement import correlation
from unmask.stats.clustering import Variance
from unmask.stats.effects import jackknife
from unmask.stats.growth import growth
from unmask.studies.papers.claims import (
    FAILS,
    HOLDS,
    OPEN,
    SEVERAL,
    Claim,
    Finding,
    PrintedClaim,
    interval,
    positive,
    within,
)
from unmask.studies.papers.thys2025_figures import Scores, line_of
from unmask.types import Estimate, Floats

OTHERS = ("LPBS", "CrowS-Pairs", "AUL-cp", "AUL-ss")
BIAS = ("SEAT", "LPBS", "CAT", "CrowS-Pairs", "AUL-cp", "AUL-ss")
SIZE = "size"
ALIKE, STRONG = 0.5, 0.7  # of a correlation
FEWEST = 4  # models that a correlation needs


class ThysRun(NamedTuple):
    """The paper's numbers, and this run's scores and sizes by model.

    A `causal` model has one likelihood in place of several measures, so it is compared only with
    itself in another size.
    """

    values: Any
    scores: Mapping[str, Scores]
    sizes: Mapping[str, float]
    causal: frozenset[str] = frozenset()

    def columns(self, names: Sequence[str]) -> dict[str, Floats]:
        """Columns of this run over the models that hide words [models]."""
        models = [m for m in self.scores if m not in self.causal]
        cols = {n: np.array([self.scores[m][n].value for m in models]) for n in names if n != SIZE}
        return cols | ({SIZE: np.array([self.sizes[m] for m in models])} if SIZE in names else {})

    def printed(self, names: Sequence[str]) -> dict[str, Floats]:
        """Columns of the paper's Table 4, and its sizes [models]."""
        table = self.values["table4"]
        cols = {
            n: np.array([row[self.values["columns"].index(n)] for row in table.values()], float)
            for n in names
            if n != SIZE
        }
        sizes = np.array([self.values["sizes"][m] for m in table], float)
        return cols | ({SIZE: sizes} if SIZE in names else {})

    def families(self) -> dict[str, list[str]]:
        """The models of each family from the smallest to the largest, where it has two sizes."""
        by_line: dict[str, list[str]] = {}
        for model in sorted(self.scores, key=lambda m: self.sizes[m]):
            by_line.setdefault(line_of(model), []).append(model)
        return {line: models for line, models in by_line.items() if len(models) > 1}

    def changes(self, column: str) -> dict[str, float]:
        """By family how far the paper's score rises from base to large."""
        place = self.values["columns"].index(column)
        by_line: dict[str, list[float]] = {}
        for model in sorted(self.values["table4"], key=lambda m: self.values["sizes"][m]):
            by_line.setdefault(line_of(model), []).append(self.values["table4"][model][place])
        return {line: v[-1] - v[0] for line, v in by_line.items()}


def _rise(run: ThysRun, column: str, models: Sequence[str]) -> Estimate:
    """How a score changes with size: the difference of two models, or the slope over more.

    The errors of two scores are treated as independent. The slope is per doubling of the size.
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


def _moves(column: str, sign: int) -> tuple[Any, Any]:
    """A claim that a score rises (or falls) with size in every family."""

    def paper(run: ThysRun) -> PrintedClaim:
        changes = run.changes(column)
        word = HOLDS if min(sign * v for v in changes.values()) > 0 else FAILS
        return PrintedClaim(_signs(changes), word)

    def check(run: ThysRun, model: str) -> Finding:
        rises = {line: _rise(run, column, models) for line, models in run.families().items()}
        if not rises:
            return Finding("this run does not include two sizes of the same model", SEVERAL)
        low, high = (
            [sign * (e.low if sign * s > 0 else e.high) for e in rises.values()] for s in (1, -1)
        )
        word = HOLDS if min(low) > 0 else FAILS if min(high) < 0 else OPEN
        return Finding(_with_intervals(rises), word)

    return paper, check


def _with_intervals(rises: Mapping[str, Estimate]) -> str:
    return "; ".join(
        f"{line} {e.value:+.2f} [{e.low:+.2f}, {e.high:+.2f}]" for line, e in rises.items()
    )


def _no_pattern(column: str) -> tuple[Any, Any]:
    """A claim that a score neither rises nor falls in every family."""

    def paper(run: ThysRun) -> PrintedClaim:
        changes = run.changes(column)
        return PrintedClaim(
            _signs(changes), FAILS if abs(_balance(changes)) == len(changes) else HOLDS
        )

    def check(run: ThysRun, model: str) -> Finding:
        rises = {line: _rise(run, column, models) for line, models in run.families().items()}
        if len(rises) < 2:
            return Finding("two sizes of at least two models are needed", SEVERAL)
        up = [e.low > 0 for e in rises.values()]
        down = [e.high < 0 for e in rises.values()]
        word = HOLDS if any(up) and any(down) else FAILS if all(up) or all(down) else OPEN
        return Finding(_with_intervals(rises), word)

    return paper, check


def _balance(changes: Mapping[str, float]) -> int:
    """The number of rises less the number of falls."""
    return int(sum(np.sign(v) for v in changes.values()))


MOST = len(BIAS) // 2 + 1


def _stated_majority(run: ThysRun) -> PrintedClaim:
    changes = {line: [run.changes(c)[line] for c in BIAS] for line in run.changes("CAT")}
    counts = {k: (sum(x > 0 for x in v), sum(x < 0 for x in v)) for k, v in changes.items()}
    text = "; ".join(f"{k}: {up} rise and {down} fall" for k, (up, down) in counts.items())
    most = any(max(both) >= MOST for both in counts.values())
    return PrintedClaim(f"{text}, of {len(BIAS)}", FAILS if most else HOLDS)


def _majority(run: ThysRun, model: str) -> Finding:
    """No family rises, or falls, in most measures; a causal one has `ll` but once on a set."""
    texts, words = [], []
    for line, models in run.families().items():
        measures = [c for c in BIAS if c != "AUL-cp" or not run.causal & set(models)]
        rises = [_rise(run, c, models) for c in measures]
        up, down = sum(e.low > 0 for e in rises), sum(e.high < 0 for e in rises)
        texts.append(f"{line}: {up} rise and {down} fall, of {len(measures)}")
        most = len(measures) // 2 + 1
        sure = up >= len(measures) - most + 1 and down >= len(measures) - most + 1
        words.append(FAILS if max(up, down) >= most else HOLDS if sure else OPEN)
    if not words:
        return Finding("this run does not include two sizes of the same model", SEVERAL)
    word = FAILS if FAILS in words else HOLDS if set(words) == {HOLDS} else OPEN
    return Finding("; ".join(texts), word)


def _correlated(columns: Mapping[str, Floats]) -> Estimate:
    first, second = columns.values()
    return correlation(first, second)


FEW = f"at least {FEWEST} masked models are needed"


def _pair(names: tuple[str, str], judge: Callable[[Estimate], Finding]) -> tuple[Any, Any]:
    """A claim about the correlation of two columns over models."""

    def paper(run: ThysRun) -> PrintedClaim:
        r = _correlated(run.printed(names))
        return PrintedClaim(
            f"r = {r.value:.2f} [{r.low:.2f}, {r.high:.2f}], six models", judge(r).word
        )

    def check(run: ThysRun, model: str) -> Finding:
        columns = run.columns(names)
        if len(columns[names[0]]) < FEWEST:
            return Finding(FEW, SEVERAL)
        return judge(_correlated(columns))

    return paper, check


def _correlate(column: str, sign: int) -> tuple[Any, Any]:
    """A claim that a bias score and lms go together over models (or against each other)."""
    return _pair(
        (column, "lms"),
        lambda r: positive(r, "r") if sign > 0 else positive(_flipped(r), "-r"),
    )


def _agreement(columns: Mapping[str, Floats]) -> Estimate:
    """The mean correlation of measures over models, with the interval of the jackknife."""
    table = np.stack(list(columns.values()))
    upper = np.triu_indices(len(table), 1)

    def mean(matrix: Floats) -> float:
        return float(np.asarray(np.corrcoef(matrix))[upper].mean())

    count = table.shape[1]
    without = np.array([mean(np.delete(table, k, 1)) for k in range(count)])
    variance = Variance(jackknife([without]), count - 1)
    return interval(mean(table), variance, count, "jackknife over models")


def _stated_agreement(run: ThysRun) -> PrintedClaim:
    r = _agreement(run.printed(BIAS))
    return PrintedClaim(
        f"mean r of two measures = {r.value:.2f}", HOLDS if r.value < ALIKE else FAILS
    )


def _disagree(run: ThysRun, model: str) -> Finding:
    columns = run.columns(BIAS)
    if len(columns[BIAS[0]]) < FEWEST:
        return Finding(FEW, SEVERAL)
    r = _agreement(columns)
    word = HOLDS if r.high < ALIKE else FAILS if r.low > ALIKE else OPEN
    return Finding(f"mean r of two measures {r.value:.2f} [{r.low:.2f}, {r.high:.2f}]", word)


def _flipped(r: Estimate) -> Estimate:
    return Estimate(-r.value, -r.high, -r.low, r.level, r.method, r.n, r.ideal, r.p, r.se)


SIZES, CORRELATIONS = "5.1, Figure 1", "5.3, Figure 3"
CLAIMS = tuple(
    Claim(text, where, paper, check, several=True)
    for text, where, (paper, check) in (
        ("CAT's bias score rises with size in every family", SIZES, _moves("CAT", 1)),
        ("SEAT's bias score falls with size in every family", SIZES, _moves("SEAT", -1)),
        *(
            (f"{n} neither rises in every family nor falls in every family", SIZES, _no_pattern(n))
            for n in OTHERS
        ),
        (
            "No family rises, or falls, by most of the measures",
            "5.1",
            (_stated_majority, _majority),
        ),
        ("The language modelling score rises with size", "5.2, Figure 2", _moves("lms", 1)),
        (
            "Size and the language modelling score are not strongly correlated",
            "5.2, Figure 3",
            _pair((SIZE, "lms"), lambda r: within(r, STRONG, "r")),
        ),
        ("CAT's bias score correlates with the lms", CORRELATIONS, _correlate("CAT", 1)),
        ("CrowS-Pairs correlates with the lms", CORRELATIONS, _correlate("CrowS-Pairs", 1)),
        ("LPBS correlates with the lms", CORRELATIONS, _correlate("LPBS", 1)),
        ("SEAT correlates negatively with the lms", CORRELATIONS, _correlate("SEAT", -1)),
        (
            "AUL on StereoSet correlates negatively with the lms",
            CORRELATIONS,
            _correlate("AUL-ss", -1),
        ),
        (
            "AUL on CrowS-Pairs hardly correlates with the lms",
            CORRELATIONS,
            _pair(("AUL-cp", "lms"), lambda r: within(r, ALIKE, "r")),
        ),
        (
            "The measures do not agree with each other",
            CORRELATIONS,
            (_stated_agreement, _disagree),
        ),
    )
)
