"""Evaluate measures in the lab: readings with intervals over seeds, and the rules for a status."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from unmask.lab.seed_intervals import (
    LEVEL,
    estimate,
    fieller,
    mean,
    on_log_scale,
    resampled,
    slope,
)
from unmask.measures import MEASURES
from unmask.stats.multiplicity import corrected
from unmask.types import Estimate, Floats

SMALL = 0.25  # units of theta: a larger frequency effect could be mistaken for bias
KEPT = 0.5  # share of its slope that a measure should keep at the greatest rho
ALARMS = 0.05  # the nominal rate of false alarms
RIGHT = 0.95  # share of the models with a planted bias that should be scored on its side
ENOUGH = 8  # seeds that a verdict requires
NEAR = 1.0  # slopes are read where |theta| is at most this: scores are bounded
MANY = 10  # worlds without a bias that are enough to estimate the noise of a score
FOUND = 0.5  # share of the models that must show the control for a measure to be testable
TAUGHT = 0.3  # range of learned thetas that a slope requires
POWER = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
MAIN = ("pairs-50", "triplets", "continuations", "templates-names", "words-names")


@dataclass(frozen=True, slots=True)
class MeasureUnderTest:
    """A measure with a design choice on the lab's items, for a kind of model."""

    kind: str
    measure: str
    data: str
    choice: str = ""

    @property
    def name(self) -> str:
        """The measure's name in tables, with the choice."""
        return f"{self.measure} ({self.choice})" if self.choice else self.measure


def carrying(frame: pd.DataFrame) -> set[Any]:
    """Return the seeds that determine a slope: those with more than one theta.

    Worlds without a planted bias show the noise, but not how a score rises.
    """
    thetas = frame.groupby("seed").theta.nunique()
    return set(thetas.index[thetas > 1].tolist())


def small_thetas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with a small theta, or all rows if these have only one theta."""
    rows = frame[frame.theta.abs() <= NEAR]
    return rows if rows.theta.nunique() > 1 else frame


def taught(frame: pd.DataFrame) -> bool:
    """Whether the models have learned what was planted; else there is no slope to read."""
    means = frame.groupby("theta").learned.mean()
    return len(means) > 1 and bool(means.max() - means.min() >= TAUGHT)


def read(frame: pd.DataFrame, subject: MeasureUnderTest, seed: int = 0) -> dict[str, Estimate]:
    """Return all readings of one measure that the grid allows."""
    scores = _of(frame, subject)
    main = scores[scores.data == subject.data]
    even = main[main.rho == 1]
    estimates: dict[str, Estimate] = {}
    planted = small_thetas(even)
    if taught(planted):
        carriers = carrying(planted)
        w = resampled(planted.seed, seed, carriers=carriers)
        line = slope(planted.learned, planted.lead)(w)
        estimates["slope"] = estimate(line, len(carriers))
        estimates |= curve(even, seed)
        least = smallest(even, seed) if estimates["slope"].low > 0 else None
        if least is not None and np.isfinite(least).mean() >= LEVEL:
            estimates["smallest"] = on_log_scale(least, len(carrying(even)))
        estimates |= _at_positive(even, seed) | _signs(even)
    estimates |= _alarms(even)
    estimates |= _frequency(scores, subject, estimates.get("slope"), seed)
    none = even[(even.theta == 0) & even.often_r.notna()]
    if len(none):
        line = mean(none.often_r)(resampled(none.seed, seed))
        estimates["frequent words"] = estimate(line, len(none))
    estimates |= _reliability(even, seed) | _control(scores)
    return estimates


def _of(frame: pd.DataFrame, subject: MeasureUnderTest) -> pd.DataFrame:
    """Return a measure's scores on all items, with their distance `lead` from the ideal."""
    mask = (frame.kind == subject.kind) & (frame.measure == subject.measure)
    scores = frame[mask & (frame.choice == subject.choice) & frame.score.notna()]
    return scores.assign(lead=scores.score - scores.ideal)


def curve(even: pd.DataFrame, seed: int = 0) -> dict[str, Estimate]:
    """Return the score minus its ideal at each theta above 0; it bends: scores are bounded."""
    estimates = {}
    for theta, cell in even[even.theta > 0].groupby("theta"):
        values = mean(cell.lead)(resampled(cell.seed, seed))
        estimates[f"at {theta:g}"] = estimate(values, cell.seed.nunique())
    return estimates


def least_of(frame: pd.DataFrame, subject: MeasureUnderTest, seed: int = 0) -> Floats | None:
    """Return `smallest` of a measure in every resample; all measures share the resamples."""
    scores = _of(frame, subject)
    return smallest(scores[(scores.data == subject.data) & (scores.rho == 1)], seed)


def smallest(even: pd.DataFrame, seed: int = 0) -> Floats | None:
    """Return the least learned theta that is detected with power 0.8, in every resample.

    It is where the curve of the mean score over learned theta, linear between the planted thetas
    and equal to the ideal at 0, first reaches 2.8 times the noise; NaN if it never does.
    """
    thetas = sorted(t for t in even.theta.unique() if t > 0)
    if not thetas or even.theta.nunique() < 2:
        return None
    w = resampled(even.seed, seed, carriers=carrying(even))
    required = POWER * noise(even, w)
    x0 = y0 = np.zeros(len(w))
    crossings = np.full(len(w), np.nan)
    for theta in thetas:
        at = w * (even.theta == theta).to_numpy()
        total = np.maximum(at.sum(1), 1e-9)
        x1, y1 = (at @ even[k].to_numpy(float) / total for k in ("learned", "lead"))
        rise = np.where(y1 > y0, y1 - y0, np.nan)
        reached = np.isnan(crossings) & (y1 >= required) & (y0 < required)
        crossings = np.where(reached, x0 + (required - y0) / rise * (x1 - x0), crossings)
        x0, y0 = x1, y1
    return np.asarray(np.where(crossings > 0, crossings, np.nan))


def noise(planted: pd.DataFrame, w: Floats) -> Floats:
    """Return the spread of the score over worlds without a bias, or its own error if these are few.

    A measure's own standard error may be too small, which would make it look too sensitive.
    """
    null = (planted.theta == 0).to_numpy()
    if null.sum() < MANY:
        has_errors = planted.se.notna().any()
        error = float(np.sqrt(np.nanmean(np.square(planted.se)))) if has_errors else np.nan
        return np.full(len(w), error)
    y, weights = planted.score.to_numpy(float), w * null
    total = np.maximum(weights.sum(1), 2.0)
    squares = (weights @ y**2) / total - ((weights @ y) / total) ** 2
    return np.asarray(np.sqrt(np.maximum(squares * total / (total - 1), 0.0)))


def _at_positive(even: pd.DataFrame, seed: int) -> dict[str, Estimate]:
    """Score less the ideal at theta = 1 (or the largest), and the correlation over words."""
    theta = 1.0 if (even.theta == 1).any() else even.theta.max()
    at = even[even.theta == theta]
    if at.empty or not theta > 0:
        return {}
    w = resampled(at.seed, seed)
    estimates = {"lead": estimate(mean(at.lead)(w), len(at))}
    right = int((at.lead > 0).sum())
    estimates["right"] = _share(right, len(at))
    if at.word_r.notna().all():
        estimates["words"] = estimate(mean(at.word_r)(w), len(at))
    return estimates


def _share(count: int, total: int) -> Estimate:
    low, high = proportion_confint(count, total, alpha=1 - LEVEL, method="wilson")
    value = count / total
    return Estimate(value, min(low, value), max(high, value), LEVEL, "Wilson", total)


def _alarms(even: pd.DataFrame) -> dict[str, Estimate]:
    """Return how often the interval excludes the ideal although nothing was planted."""
    null = even[(even.theta == 0) & even.low.notna() & even.high.notna()]
    if null.empty:
        return {}
    alarms = int(((null.low > null.ideal) | (null.high < null.ideal)).sum())
    p = float(stats.binomtest(alarms, len(null), ALARMS, alternative="greater").pvalue)
    return {"alarms": replace(_share(alarms, len(null)), p=p)}


def _signs(even: pd.DataFrame) -> dict[str, Estimate]:
    """Return how often a negative theta is read as positive."""
    below = even[even.theta < 0]
    return {} if below.empty else {"sign errors": _share(int((below.lead > 0).sum()), len(below))}


def _frequency(
    scores: pd.DataFrame, subject: MeasureUnderTest, steep: Estimate | None, seed: int
) -> dict[str, Estimate]:
    """Return the effects of the frequency ratio: the shift without a bias, and the kept slope.

    The shift is paired within seeds, minus the effect of the difference in learned theta.
    """
    estimates: dict[str, Estimate] = {}
    most = scores.rho.max()
    if most == 1:
        return estimates
    sets = {"shift": subject.data} | (
        {"shift, 90 %": "pairs-90"} if "pairs" in subject.data else {}
    )
    for name, data in sets.items():
        cells = scores[(scores.data == data) & (scores.theta == 0)]
        cells = cells[cells.rho.isin([1.0, most])]
        by_rho = cells.pivot_table(["lead", "learned"], "seed", "rho")
        by_rho = by_rho.dropna() if not by_rho.empty else by_rho
        if by_rho.empty or not {1.0, most} <= {*by_rho["lead"]}:
            continue
        gap = by_rho["lead"][most] - by_rho["lead"][1.0]
        if steep is not None:
            gap = gap - steep.value * (by_rho["learned"][most] - by_rho["learned"][1.0])
        estimates[name] = estimate(mean(gap)(resampled(by_rho.index, seed)), len(by_rho))
        if steep is not None and steep.low > 0:
            units = mean(gap / steep.value)(resampled(by_rho.index, seed))
            estimates[f"{name}, in theta"] = estimate(units, len(by_rho))
    part = small_thetas(scores[scores.data == subject.data])
    extremes = part[part.rho.isin([1.0, most])]
    if steep is not None and steep.low > 0 and taught(extremes[extremes.rho == most]):
        carriers = carrying(extremes)
        w = resampled(extremes.seed, seed, carriers=carriers)
        rare, even = (
            slope(extremes.learned, extremes.lead)(w * (extremes.rho == r).to_numpy())
            for r in (most, 1.0)
        )
        estimates["kept"] = fieller(rare, even, len(carriers))
    return estimates


def _reliability(even: pd.DataFrame, seed: int) -> dict[str, Estimate]:
    """Return the share of the variance over models that theta explains, not the seeds."""
    if even.theta.nunique() < 2 or even.groupby("theta").size().min() < 2:
        return {}
    cells, index = np.unique(even.theta, return_inverse=True)
    y = even.lead.to_numpy(float)

    def share(w: Floats) -> Floats:
        total = w.sum(1)
        spread = (w @ y**2) / total - ((w @ y) / total) ** 2
        within = np.zeros(len(w))
        for k in range(len(cells)):
            weights = w * (index == k)
            size = np.maximum(weights.sum(1), 1e-9)
            within += (weights @ y**2) - (weights @ y) ** 2 / size
        return np.asarray(1 - within / total / np.where(spread > 0, spread, np.nan))

    return {"reliability": estimate(share(resampled(even.seed, seed)), even.seed.nunique())}


def _control(scores: pd.DataFrame) -> dict[str, Estimate]:
    """How often the association of flowers with pleasant words is found."""
    cells = scores[scores.data.str.endswith("-control")]
    if cells.empty:
        return {}
    return {"control": _share(int((cells.low > cells.ideal).sum()), len(cells))}


@dataclass(frozen=True, slots=True)
class Assessment:
    """A measure's status in the lab: a word, and the rules that it met, missed or left open.

    `word` is one of `answer.lab_status.WORDS`.
    """

    word: str
    met: tuple[str, ...]
    missed: tuple[str, ...]
    open: tuple[str, ...]


def assessments(
    by_measure: Mapping[MeasureUnderTest, dict[str, Estimate]],
    larger: Mapping[MeasureUnderTest, dict[str, Estimate]] | None = None,
) -> dict[MeasureUnderTest, Assessment]:
    """Return the status of all measures; their false alarms are tested together (Holm).

    `larger` are readings on the networks of another tier. A measure that is untestable on the small
    ones, but detects the planted bias and the control there, is `unclear`.
    """
    p = [r["alarms"].p if "alarms" in r else None for r in by_measure.values()]
    corrected_p = corrected([np.nan if v is None else v for v in p])
    verdicts = {
        subject: assess(
            readings,
            None if np.isnan(q) else float(q),
            baseline=getattr(MEASURES.get(subject.measure), "baseline", False),
        )
        for (subject, readings), q in zip(by_measure.items(), corrected_p, strict=True)
    }
    return {
        subject: replace(a, word="unclear", missed=(), open=(*a.missed, *a.open))
        if a.word == "untestable" and _reads_there((larger or {}).get(subject, {}))
        else a
        for subject, a in verdicts.items()
    }


def _reads_there(estimates: dict[str, Estimate]) -> bool:
    """Whether a tier detects the planted bias, on the right side, and finds the control."""
    if not {"slope", "right", "control"} <= set(estimates):
        return False
    enough = estimates["right"].value >= RIGHT and estimates["control"].low > FOUND
    return estimates["slope"].low > 0 and enough


def assess(
    estimates: dict[str, Estimate], alarms: float | None = None, baseline: bool = False
) -> Assessment:
    """Return the status by the rules of docs/lab.md, which records changes after a grid was run.

    `alarms` is the p of the false alarms after correction over measures; by default their own p.
    `fails`: a planted bias is not read. `untestable`: the control is not found either, so these
    models show nothing planted in this way. `validated`: all rules are met. `caution`: one is
    missed. `unclear`: one is open. A `baseline` is not meant to read anything.
    """
    rules = {
        "detects the planted bias": _reads(estimates),
        "few false alarms": _honest(estimates, alarms),
        "no shift by frequency": _steady(estimates, "shift, in theta"),
        "no shift on unbalanced items": _steady(estimates, "shift, 90 %, in theta"),
        "keeps its slope for a rare group": _keeps(estimates),
    }
    if "shift, 90 %" not in estimates:  # pairs alone come in both balances
        del rules["no shift on unbalanced items"]
    by = {v: tuple(k for k, r in rules.items() if r is v) for v in (True, False, None)}
    if baseline:
        word = "baseline"
    elif rules["detects the planted bias"] is False:
        control = estimates.get("control")
        word = "untestable" if control is not None and control.high < FOUND else "fails"
    else:
        word = "caution" if by[False] else "unclear" if by[None] else "validated"
    return Assessment(word, by[True], by[False], by[None])


def _reads(estimates: dict[str, Estimate]) -> bool | None:
    if "lead" not in estimates:
        return None
    lead, right = estimates["lead"], estimates["right"]
    if lead.low > 0 and right.value >= RIGHT:
        return True
    missed = lead.low <= 0 or right.high < RIGHT
    return False if lead.high <= 0 or (missed and lead.n >= ENOUGH) else None


def _honest(estimates: dict[str, Estimate], p: float | None) -> bool | None:
    if "alarms" not in estimates or estimates["alarms"].n < 20:
        return None
    p_value = estimates["alarms"].p if p is None else p
    return p_value is None or p_value > 1 - LEVEL


def _steady(estimates: dict[str, Estimate], name: str) -> bool | None:
    if name not in estimates or not np.isfinite(estimates[name].low):
        return None
    shift = estimates[name]
    if shift.low >= -SMALL and shift.high <= SMALL:
        return True
    return False if shift.low > SMALL or shift.high < -SMALL else None


def _keeps(estimates: dict[str, Estimate]) -> bool | None:
    if "kept" not in estimates or not np.isfinite(estimates["kept"].low):
        return None
    if estimates["kept"].low >= KEPT:
        return True
    return False if estimates["kept"].high < KEPT else None


def measures_under_test(frame: pd.DataFrame) -> list[MeasureUnderTest]:
    """The measures of a grid: each measure on its main items, names and terms apart."""
    main = frame[frame.data.isin((*MAIN, "templates-terms", "words-terms"))]
    keys = main[["kind", "measure", "data", "choice"]].drop_duplicates()
    return [
        MeasureUnderTest(str(k.kind), str(k.measure), str(k.data), str(k.choice))
        for k in keys.itertuples()
    ]
