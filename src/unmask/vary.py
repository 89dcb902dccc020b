"""The multiverse: how far do design choices move a score?"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unmask import sentences, words
from unmask.data.stimuli import stimuli
from unmask.data.templates import from_stimuli
from unmask.errors import DataError, NameUnknown
from unmask.evaluate import Options, resolve
from unmask.measures import ASSOCIATION, LIKELIHOOD
from unmask.measures.likelihood import Likelihood, all_lowered, as_written, mean, total
from unmask.models.batches import Budget
from unmask.papers.pages import Figure, Study, Table
from unmask.registry import unknown
from unmask.stats.preference import Ties
from unmask.text import contexts
from unmask.text.contexts import Contexts, WordTest
from unmask.types import Dataset, Floats, Stimuli

POOLS = ("cls", "last", "mean", "word-mean", "word-first", "word-last")
CONCEPTS = ("c3", "c6", "occ", "i1", "i2")
TIES: tuple[Ties, ...] = ("strict", "half", "drop")
LIKELIHOODS = ("pll", "pll-l2r", "cps", "cps@nangia2020", "sss", "sss@kaneko2022", "aul",
               "all-masked")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sweep:
    """Specifications with their scores, and the number of rows that went through the model."""

    frame: pd.DataFrame
    factors: tuple[str, ...]
    rows: int
    ideal: float


FACTORS = ("metric", "targets", "sets", "contexts", "level", "pool", "layer", "variant")
NONE = "-"  # a choice that does not arise: probabilities have no pooling
_SETS = {"full": "", "reduced": "-reduced", "simplified": "-simplified"}


def _tests(concept: str) -> Iterator[tuple[str, str, Stimuli]]:
    """The word tests of a concept: names or terms, with full, reduced and simplified sets."""
    if concept.lower() not in CONCEPTS:
        raise NameUnknown(unknown("concept", concept, CONCEPTS))
    for targets, (sets, ending) in itertools.product(("name", "term"), _SETS.items()):
        name = f"husse-{concept.lower()}-{targets}{ending}"
        if name in stimuli():
            yield targets, sets, stimuli()[name]


def associations(
    model: Any, concept: str, options: Options, *, layers: Sequence[int] | None = None,
    store: str | None = None,
) -> Sweep:  # fmt: skip
    """Names or terms, size of the sets, contexts, pooling and layer, all combined, by cosine."""
    tests = list(_tests(concept))
    depth = int(model.net.config.num_hidden_layers)
    chosen = list(layers or range(1, depth + 1))
    sources: dict[str, Callable[[Stimuli], Contexts]] = dict(contexts.SOURCES)
    if store is not None:
        sources["natural"] = contexts.stored(Path(store))
    specs, asked = [], []
    for (targets, sets, words_of), (name, source) in itertools.product(tests, sources.items()):
        test = WordTest(words_of, source, name)
        for pool, layer in itertools.product(POOLS, chosen):
            level = "sentence" if pool in ("cls", "last", "mean") else "word"
            try:
                one = words.prepare(ASSOCIATION["w-seat"], test, model.kind, pool=pool)
            except DataError:
                continue  # a natural store may lack the words; some sets have one word a side
            asked.append(replace(one, layer=layer))
            choices = ("cosine", targets, sets, name, level, pool, str(layer), "w-seat")
            specs.append(dict(zip(FACTORS, choices, strict=True)))
    count = _Count(model.name, options)
    engine = model.vectors(budget=Budget(options.tokens), progress=count)
    rows = []
    for spec, one, vectors in zip(specs, asked, words.embed_all(engine, asked), strict=True):
        try:
            found = words.effect(one, vectors, seed=options.seed)
        except DataError:
            continue  # no spread at all: [CLS] is the same everywhere before the first layer
        rows.append({**spec, "score": found.value, "low": found.low, "high": found.high})
    return Sweep(pd.DataFrame(rows), FACTORS, count.rows, 0.0)


class _Count:
    """Counts the rows that go through a model, and shows them."""

    def __init__(self, name: str, options: Options) -> None:
        self.name, self.options, self.rows = name, options, 0

    def __call__(self, rows: int, total: int) -> None:
        self.rows += rows
        self.options.progress(self.name, self.rows, total)


def probabilities(model: Any, concept: str, options: Options) -> Sweep:
    """Names or terms, size of the sets, definition or published variant, by probability (LPBS)."""
    specs, planned = [], []
    cache: sentences.Cache = {}
    names = [n for n in ("lpbs", "lpbs@husse2022") if model.kind in LIKELIHOOD[n].plans]
    for (targets, sets, test), name in itertools.product(_tests(concept), names):
        try:
            planned.append(sentences.plan(model, LIKELIHOOD[name], from_stimuli(test), cache))
        except DataError:
            continue  # no template fits the words
        choices = ("probability", targets, sets, "templates", NONE, NONE, NONE, name)
        specs.append(dict(zip(FACTORS, choices, strict=True)))
    count = _Count(model.name, options)
    engine = {"own": model.engine("own", budget=Budget(options.tokens), progress=count)}
    rows = []
    for spec, one, readings in zip(specs, planned, sentences.ask(engine, planned), strict=True):
        try:
            found = sentences.score(model, one, readings, options.seed).overall
        except DataError:
            continue
        rows.append({**spec, "score": found.value, "low": found.low, "high": found.high})
    return Sweep(pd.DataFrame(rows), FACTORS, count.rows, 0.0)


def concept_sweep(model: Any, concept: str, options: Options, store: str | None = None) -> Sweep:
    """All specifications of one concept of husse2022, by cosine and by probability."""
    made = [associations(model, concept, options, store=store)]
    if model.kind in ("masked", "causal", "permutation"):
        made.append(probabilities(model, concept, options))
    frame = pd.concat([m.frame for m in made], ignore_index=True)
    return Sweep(frame, FACTORS, sum(m.rows for m in made), 0.0)


def _normalised(row: Likelihood, how: str) -> Likelihood:
    return replace(row, reduce={"sum": total, "mean": mean}[how])


def preferences(model: Any, data: Dataset, options: Options) -> Sweep:
    """Measure, normalisation, letter case and tie rule, all combined, on one data set."""
    casing = {"as written": as_written, "lower": all_lowered}
    names = [m for m in LIKELIHOODS if model.kind in LIKELIHOOD[m].plans]
    planned, keys = [], []
    cache: sentences.Cache = {}
    for name, (case, text) in itertools.product(names, casing.items()):
        row = replace(LIKELIHOOD[name], text=text)
        planned.append(sentences.plan(model, row, data, cache))
        keys.append((name, case))
    engine = {"own": model.engine("own", budget=Budget(options.tokens))}
    answers = sentences.ask(engine, planned)
    rows = []
    for (name, case), one, readings in zip(keys, planned, answers, strict=True):
        for norm, ties in itertools.product(("sum", "mean"), TIES):
            measure = _normalised(one.measure, norm)
            scored = replace(one, measure=measure)
            frame = sentences.sentence_frame(model, scored, readings)
            frame = frame.assign(score=measure.rounded(frame.score.to_numpy(float)))
            try:
                found = sentences.preferences(frame, ties=ties, macro=False, seed=options.seed)[0]
            except DataError:
                continue  # every item is a tie, and ties are dropped
            rows.append({"measure": name.partition("@")[0], "variant": name, "case": case,
                         "normalisation": norm, "ties": ties, "score": found.value,
                         "low": found.low, "high": found.high})  # fmt: skip
    factors = ("measure", "variant", "case", "normalisation", "ties")
    return Sweep(pd.DataFrame(rows), factors, answers[0].rows, 50.0)


def decompose(sweep: Sweep) -> pd.DataFrame:
    """What share of the spread each choice explains, in order, and what is left to their interplay.

    Sequential sums of squares: they add up to the whole.
    """
    y = sweep.frame.score.to_numpy(float)
    y = y - y.mean()
    whole = float(y @ y)
    if whole == 0:
        raise DataError("all specifications give the same score; there is nothing to explain.")
    columns, before, rows = np.ones((len(y), 1)), 0.0, []
    for factor in sweep.factors:
        dummies = pd.get_dummies(sweep.frame[factor].astype(str)).to_numpy(float)
        columns = np.column_stack([columns, dummies])
        explained = _explained(columns, y)
        rows.append({"choice": factor, "options": dummies.shape[1],
                     "share": 100 * (explained - before) / whole})  # fmt: skip
        before = explained
    rows.append({"choice": "interplay", "options": None, "share": 100 * (whole - before) / whole})
    return pd.DataFrame(rows)


def _explained(columns: Floats, y: Floats) -> float:
    fitted = columns @ np.linalg.lstsq(columns, y, rcond=None)[0]
    return float(fitted @ fitted)


def _natural(value: Any) -> tuple[int, str]:
    """Layers in the order of numbers, other options by name."""
    return (int(value), "") if str(value).isdigit() else (-1, str(value))


def curve(sweep: Sweep, title: str) -> Figure:
    """The specification curve: sorted scores with intervals, and the choices below."""
    data = sweep.frame.sort_values("score").reset_index(drop=True)
    lines = [(f, v) for f in sweep.factors for v in sorted(data[f].unique(), key=_natural)
             if v != NONE]  # fmt: skip

    def draw(figure: Any) -> None:
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[1, max(1, len(lines) / 14)])
        places = np.arange(len(data))
        top.vlines(places, data.low, data.high, color="#b8c4d6", linewidth=0.8)
        top.scatter(places, data.score, s=5, color="#1f3b63", zorder=3)
        top.axhline(sweep.ideal, color="#b03030", linewidth=0.8)
        top.set(ylabel="score", title=title)
        for k, (factor, value) in enumerate(lines):
            at = np.flatnonzero((data[factor] == value).to_numpy())
            bottom.scatter(at, np.full(len(at), k), s=3, marker="|", color="#1f3b63")
        bottom.set_yticks(range(len(lines)), [f"{f}: {v}" for f, v in lines], fontsize=6)
        bottom.invert_yaxis()
        bottom.set(xlabel="specifications, sorted by score")

    name = title.lower().replace(" ", "-").replace(":", "")
    return Figure(name, f"Specification curve: {title}", draw, (9, 4 + 0.13 * len(lines)))


def study(
    model: Any, options: Options, *, concepts: Sequence[str], data: Sequence[str],
    store: str | None = None,
) -> Study:  # fmt: skip
    """All sweeps of a model: tables, decompositions and specification curves."""
    tables, figures, remarks = [], [], []
    sweeps: dict[str, Sweep] = {}
    for concept in concepts:
        sweeps[f"{concept} by association"] = concept_sweep(model, concept, options, store)
    for name in data:
        found = next(d for d in resolve(name, options) if isinstance(d, Dataset))
        sweeps[f"{found.name} by likelihood"] = preferences(model, found, options)
    for title, sweep in sweeps.items():
        scores = sweep.frame.score
        sure = ((sweep.frame.low > sweep.ideal) | (sweep.frame.high < sweep.ideal)).mean()
        remarks.append(
            f"{title}: {len(scores)} specifications from {sweep.rows} rows through the model; "
            f"scores from {scores.min():.2f} to {scores.max():.2f}, median {scores.median():.2f}; "
            f"{100 * sure:.0f} % have an interval without {sweep.ideal:g}."
        )
        key = title.replace(" ", "-").replace(":", "-")
        tables.append(Table(f"share-{key}", f"What moves {title}", decompose(sweep),
                            "Share of the spread in per cent."))  # fmt: skip
        tables.append(Table(f"specifications-{key}", f"All specifications: {title}",
                            sweep.frame.sort_values("score")))  # fmt: skip
        figures.append(curve(sweep, title))
    return Study(f"Design choices: {model.name}", tables, figures, remarks)


def summary(made: Study) -> Mapping[str, pd.DataFrame]:
    """The decompositions by title, for the terminal."""
    return {t.title: t.frame for t in made.tables if t.name.startswith("share-")}
