"""The lab's report: tables, figures and a summary in words, from the readings of a grid."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from unmask.answer.lab_status import WORDS
from unmask.flow.plan import plan
from unmask.lab import probe
from unmask.lab.grid import Grid
from unmask.lab.language import tokenizer_of
from unmask.lab.measure_quality import (
    ENOUGH,
    MAIN,
    TAUGHT,
    Assessment,
    MeasureUnderTest,
    least_of,
    measures_under_test,
    read,
)
from unmask.lab.measure_quality import assessments as assess_all
from unmask.lab.nets import network
from unmask.lab.scoring import Sets, correlation
from unmask.lab.world import NULL, Plant, World
from unmask.measures import MEASURES, Association, find
from unmask.models.transformers.model import TransformerModel, wrap
from unmask.models.unique_rows import find_unique_rows
from unmask.reports.figures import study_charts
from unmask.reports.figures.drawing import Figure
from unmask.reports.html.study_page import Study, Table
from unmask.text.contexts import SOURCES
from unmask.types import Estimate

LIMITS = (
    "This is a small synthetic world: sentences of about six words, words assigned to groups at "
    "random, and networks with a third of a million weights. A measure that fails here fails where "
    "the truth is simple and known. A measure that does well here may still fail elsewhere."
)
SHOWN = (
    "slope",
    "words",
    "smallest",
    "right",
    "alarms",
    "shift",
    "shift, 90 %",
    "kept",
    "frequent words",
    "sign errors",
    "reliability",
    "control",
)
CLAIM = "kaneko2022's claim that AUL and AULA withstand word frequency where CPS and SSS do not"
CLAIMED, DOUBTED = ("aul", "aula"), ("cps", "sss")  # kaneko2022: robust, and not robust


def study(
    grid: Grid, frame: pd.DataFrame, words: pd.DataFrame, refused: Mapping[str, str], seed: int = 0
) -> Study:
    """Return the study of a grid: its tables, figures and sentences."""
    by_measure = {subject: read(frame, subject, seed) for subject in measures_under_test(frame)}
    assessments = assess_all(by_measure)
    tables = [
        Table(
            "verdicts", "Which measures can be trusted", verdicts(by_measure, assessments), digits=2
        ),
        Table("ranks", "Ranks by the smallest detectable bias", ranks(frame, seed)),
        Table("learned", "Planted and learned", learned(words), "The manipulation check."),
        Table("readings", "All results with their intervals", long(by_measure)),
    ]
    remarks = [*_warnings(grid, words), *sentences_of(assessments), *claim(by_measure), LIMITS]
    if grid.tier == "tiny":
        remarks.append("rows: input sequences that a measure needs when run alone.")
    return Study(
        f"Lab report: {len(grid.kinds) * len(grid.plants())} models ({grid.tier})",
        tables,
        figures(frame),
        remarks,
        left_out(refused),
    )


def _warnings(grid: Grid, words: pd.DataFrame) -> list[str]:
    """Return warnings about a grid with models that did not learn, or with few seeds."""
    warnings = []
    taught = words[words.rho == 1].groupby("theta").apply(probe.theta, include_groups=False)
    if len(taught) and taught.max() - taught.min() < TAUGHT:
        warnings.append(
            "The models have not learned the planted bias (see the manipulation check), so the "
            "measures cannot be assessed. Train for more steps, or plant a stronger bias."
        )
    if grid.seeds < ENOUGH:
        warnings.append(
            f"Too few seeds ({grid.seeds}): intervals are too narrow, and verdicts are only "
            f"indicative. Use at least {ENOUGH} seeds."
        )
    return warnings


def left_out(refused: Mapping[str, str]) -> dict[str, str]:
    """Return why measures were refused; those with the same reason form one entry."""
    by: dict[str, list[str]] = {}
    for name, reason in refused.items():
        by.setdefault(reason, []).append(name)
    return {", ".join(names): reason for reason, names in by.items()}


# ---------------------------------------------------------------- tables


def formatted(estimate: Estimate | None, digits: int = 2) -> str:
    """A number with its interval, for a table that people read."""
    if estimate is None or not np.isfinite(estimate.value):
        return ""
    span = f" [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"
    return f"{estimate.value:.{digits}f}" + (span if np.isfinite(estimate.low) else "")


def verdicts(
    by_measure: Mapping[MeasureUnderTest, Mapping[str, Estimate]],
    assessments: Mapping[MeasureUnderTest, Assessment],
) -> pd.DataFrame:
    """One row a measure: the verdict, what it missed, and its readings."""
    rows = []
    for subject, readings in by_measure.items():
        row: dict[str, Any] = {
            "models": subject.kind,
            "measure": subject.name,
            "items": subject.data,
            "verdict": assessments[subject].word,
            "missed": "; ".join(assessments[subject].missed),
            "open": "; ".join(assessments[subject].open),
        }
        row |= {name: formatted(readings.get(name)) for name in SHOWN}
        rows.append(row | {"rows": cost(subject.kind, subject.measure, subject.data)})
    frame = pd.DataFrame(rows)
    order = frame.verdict.map(WORDS.index)
    return (
        frame.assign(order=order)
        .sort_values(["models", "order"], kind="stable", ascending=[False, True])
        .drop(columns="order")
    )


def long(by_measure: Mapping[MeasureUnderTest, Mapping[str, Estimate]]) -> pd.DataFrame:
    """Every reading as numbers."""
    return pd.DataFrame(
        [
            {
                "models": subject.kind,
                "measure": subject.name,
                "items": subject.data,
                "reading": name,
                "value": e.value,
                "low": e.low,
                "high": e.high,
                "n": e.n,
                "method": e.method,
            }
            for subject, readings in by_measure.items()
            for name, e in readings.items()
        ]
    )


def ranks(frame: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Rank measures by the smallest theta that they detect, in every resample."""
    rows = []
    for kind, part in frame.groupby("kind", sort=False):
        subjects = [r for r in measures_under_test(part) if r.data in MAIN and not r.choice]
        values = {r: v for r in subjects if (v := least_of(part, r, seed)) is not None}
        if not values:
            continue
        table = np.nan_to_num(np.stack(list(values.values())), nan=np.inf)
        order = rankdata(table, method="min", axis=0)
        low, high = np.quantile(order[:, 1:], [0.025, 0.975], axis=1)
        for k, subject in enumerate(values):
            rows.append(
                {
                    "models": kind,
                    "measure": subject.name,
                    "rank": int(order[k, 0]),
                    "low": int(low[k]),
                    "high": int(high[k]),
                    "smallest": float(table[k, 0]) if np.isfinite(table[k, 0]) else np.nan,
                }
            )
    if not rows:
        return pd.DataFrame(columns=["models", "measure", "rank", "low", "high"])
    return pd.DataFrame(rows).sort_values(["models", "rank"], ascending=[False, True])


def learned(words: pd.DataFrame) -> pd.DataFrame:
    """Mean learned theta by what was planted, its spread over seeds, and the words' correlation."""
    rows = []
    for (kind, theta, rho), part in words.groupby(["kind", "theta", "rho"], sort=True):
        per_seed = part.groupby("seed").apply(_one_world, include_groups=False)
        rows.append(
            {
                "models": kind,
                "theta": theta,
                "rho": rho,
                "learned": per_seed.learned.mean(),
                "sd over seeds": per_seed.learned.std(),
                "correlation over words": per_seed.r.mean(),
                "seeds": len(per_seed),
            }
        )
    return pd.DataFrame(rows)


def _one_world(part: pd.DataFrame) -> pd.Series:
    r = correlation(part.planted, part.learned)
    return pd.Series({"learned": probe.theta(part), "r": r})


@cache
def cost(kind: Any, measure: str, data: str) -> int:
    """Count the distinct rows that a measure sends through a model for the items of one world."""
    if measure not in MEASURES:  # one of the user's own, known to the run alone
        return 0
    row = find(measure)
    sets = _sets()
    dataset = next(d for d in sets.data if d.name == data)
    if isinstance(row, Association):
        source = sets.natural if row.samples else SOURCES[row.contexts]
        return sum(map(len, source.of(dataset.stimuli).values()))
    model = _untrained(kind)
    asks = plan(model, row, dataset).asks
    show = model.engine(row.stream).show  # type: ignore[union-attr]
    return int(find_unique_rows(asks, [row.attention] * len(asks), show).count)


@cache
def _sets() -> Sets:
    return Sets.of(World(Plant(0.0)))


@cache
def _untrained(kind: Any) -> TransformerModel:
    return wrap(network(kind, 0), tokenizer_of(0), kind, "untrained")


# ---------------------------------------------------------------- words


def sentences_of(assessments: Mapping[MeasureUnderTest, Assessment]) -> list[str]:
    """The verdict in words, a sentence for each kind of model and status."""
    sentences = []
    for kind in dict.fromkeys(r.kind for r in assessments):
        statuses = {r: s for r, s in assessments.items() if r.kind == kind and r.data in MAIN}
        for word in WORDS:
            names = [r.name for r, s in statuses.items() if s.word == word]
            if names:
                sentences.append(f"{kind} models, {word}: {', '.join(dict.fromkeys(names))}.")
    return sentences


def claim(readings: Mapping[MeasureUnderTest, Mapping[str, Estimate]]) -> list[str]:
    """Test kaneko2022's claim: AUL and AULA are robust to word frequency, CPS and SSS are not."""
    by = {
        r.measure: f
        for r, f in readings.items()
        if (r.kind, r.data, r.choice) == ("masked", "pairs-50", "")
    }
    if not {*CLAIMED, *DOUBTED} <= by.keys() or "shift, 90 %" not in by["aul"]:
        return []
    sentences = [_settled(by)]
    for name, items in (("shift", "balanced"), ("shift, 90 %", "unbalanced")):
        parts = [f"{m} {formatted(by[m].get(name), 1)}" for m in (*CLAIMED, *DOUBTED)]
        sentences.append(
            f"On {items} items without a planted bias, the largest rho moves the scores by the "
            f"following percentage points: {', '.join(parts)}."
        )
    shares = [
        f"{m} {formatted(by[m].get('kept'))}" for m in (*CLAIMED, *DOUBTED) if "kept" in by[m]
    ]
    if shares:
        sentences.append(
            f"Share of its slope per unit of learned theta that a measure keeps at that rho: "
            f"{', '.join(shares)}."
        )
    return sentences


def _settled(by: Mapping[str, Mapping[str, Estimate]]) -> str:
    """Decide the claim: it holds if shifts are small for the one pair and large for the other."""
    size = {m: by[m]["shift, 90 %"] for m in (*CLAIMED, *DOUBTED)}
    least = {
        m: 0.0 if e.low <= 0 <= e.high else min(abs(e.low), abs(e.high)) for m, e in size.items()
    }
    most = {m: max(abs(e.low), abs(e.high)) for m, e in size.items()}
    refuted = [d for d in DOUBTED if all(most[d] < least[c] for c in CLAIMED)]
    right = [d for d in DOUBTED if all(most[c] < least[d] for c in CLAIMED)]
    if len(right) == len(DOUBTED):
        return f"{CLAIM}: supported here."
    if refuted:
        return (
            f"{CLAIM}: contradicted here, because on unbalanced items {' and '.join(refuted)} "
            f"move{'' if len(refuted) > 1 else 's'} less than each of {' and '.join(CLAIMED)}."
        )
    return f"{CLAIM}: inconclusive here, because the intervals overlap."


# ---------------------------------------------------------------- figures


def cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean scores with their spread over seeds, by measure, items, theta and rho."""
    grid = frame[frame.seed < NULL]
    keys = ["kind", "measure", "data", "choice", "theta", "rho"]
    table = grid.groupby(keys, sort=False).agg(
        learned=("learned", "mean"),
        score=("score", "mean"),
        sd=("score", "std"),
        n=("score", "size"),
    )
    half = 1.96 * table.sd.fillna(0) / np.sqrt(table.n)
    return table.assign(low=table.score - half, high=table.score + half).reset_index()


def figures(frame: pd.DataFrame) -> list[Figure]:
    """Score against learned theta for each rho, one panel a measure; the items of 90 % apart."""
    charts = []
    table = cells(frame)
    table = table[(table.choice == "") & ~table.measure.str.contains("@")]
    for kind in dict.fromkeys(table.kind):
        for name, sets, kind_of_words in (
            ("balanced", MAIN, "balanced items"),
            ("unbalanced", ("pairs-90",), "nine in ten items about the rare group"),
        ):
            part = table[(table.kind == kind) & table.data.isin(sets)].sort_values(
                ["measure", "theta"]
            )
            if part.empty:
                continue
            measures_drawn = dict.fromkeys(part.measure)
            order = [
                *(m for m in MEASURES if m in measures_drawn),
                *(m for m in measures_drawn if m not in MEASURES),
            ]
            part = part.set_index("measure").loc[order].reset_index().round(4)
            shown_ = part[["measure", "rho", "theta", "learned", "score", "low", "high", "n"]]
            title_ = f"Score against learned theta, {kind} models, {kind_of_words}"
            charts.append(
                study_charts.curves(
                    f"theta-{kind}-{name}",
                    title_,
                    shown_.assign(rho=shown_.rho.map("{:g}:1".format)),
                    ("learned", "learned theta"),
                    ("score", "score"),
                    "rho",
                    panel="measure",
                    band=True,
                    size=(190, 140),
                    note="Bands are 1.96 standard errors over seeds.",
                )
            )
    return charts


def packaged(assessments: Mapping[MeasureUnderTest, Assessment]) -> Sequence[dict[str, Any]]:
    """The status of each measure, and choice, on its main items, as the package keeps it."""
    return [
        {
            "measure": r.name,
            "models": r.kind,
            "status": s.word,
            "missed": list(s.missed),
            "open": list(s.open),
        }
        for r, s in assessments.items()
        if r.data in MAIN
    ]
