"""The multiverse: how far do design choices move a score?"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from unmask.data import catalogue
from unmask.data.templates import from_stimuli
from unmask.data.wordsets import chosen
from unmask.errors import NameUnknown
from unmask.flow.evaluate import evaluate
from unmask.measures import ASSOCIATION, LIKELIHOOD
from unmask.measures.reduce import all_lowered, as_written, mean, total
from unmask.options import Options, Spec
from unmask.registry import unknown
from unmask.report.page import Figure, Study, Table, safe
from unmask.stats.preference import Ties
from unmask.stats.shares import decompose
from unmask.text import contexts
from unmask.text.contexts import WordTest
from unmask.types import Dataset, Result, Stimuli

SENTENCE_POOLS, WORD_POOLS = ("cls", "last", "mean"), ("word-mean", "word-first", "word-last")
CONCEPTS = ("C3", "C6", "Occ", "I1", "I2")
TIES: tuple[Ties, ...] = ("strict", "half", "drop")
LIKELIHOODS = (
    "pll",
    "pll-l2r",
    "cps",
    "cps@nangia2020",
    "sss",
    "sss@kaneko2022",
    "aul",
    "all-masked",
)
FACTORS = ("metric", "targets", "sets", "contexts", "level", "pool", "layer", "variant")
PREFERENCE_FACTORS = ("measure", "variant", "case", "normalisation", "ties")
NONE = "-"  # a choice that does not arise: probabilities have no pooling


@dataclass(frozen=True, slots=True)
class Sweep:
    """Specifications with their scores, and the number of rows that went through the model."""

    frame: pd.DataFrame
    factors: tuple[str, ...]
    rows: int
    ideal: float


def _tests(concept: str) -> list[Stimuli]:
    """The word tests of a concept: names or terms, with full, reduced and simplified sets."""
    known = {c.lower(): c for c in CONCEPTS}
    if concept.lower() not in known:
        raise NameUnknown(unknown("concept", concept, known))
    return chosen(concept=known[concept.lower()], edition="")


def _tags(*choices: str) -> dict[str, str]:
    return dict(zip(FACTORS, choices, strict=True))


def by_cosine(
    model: Any, concept: str, *, layers: Sequence[int] | None = None, store: str | None = None
) -> Iterator[Spec]:
    """Names or terms, size of the sets, contexts, pooling and layer, all combined."""
    depth = int(model.net.config.num_hidden_layers)
    sources = dict(contexts.SOURCES) | ({"natural": contexts.source(store)} if store else {})
    levels = {"sentence": SENTENCE_POOLS, "word": WORD_POOLS}
    pools = [(level, pool) for level, some in levels.items() for pool in some]
    wanted = layers or range(1, depth + 1)
    for test, (name, source) in itertools.product(_tests(concept), sources.items()):
        data = WordTest(test)
        for (level, pool), layer in itertools.product(pools, wanted):
            tags = _tags("cosine", test.named, test.size, name, level, pool, str(layer), "w-seat")
            yield Spec(model, ASSOCIATION["w-seat"], data, pool, layer, source, tags=tags)


def by_probability(model: Any, concept: str) -> Iterator[Spec]:
    """Names or terms, size of the sets, definition or published variant (LPBS)."""
    rows = [m for m in (LIKELIHOOD["lpbs"], LIKELIHOOD["lpbs@husse2022"]) if model.kind in m.plans]
    for test in _tests(concept):
        data = from_stimuli(test)
        for row in rows:
            choices = (test.named, test.size, "templates", NONE, NONE, NONE, row.name)
            yield Spec(model, row, data, tags=_tags("probability", *choices))


def by_likelihood(model: Any, data: Dataset) -> Iterator[Spec]:
    """Measure, normalisation, letter case and tie rule, all combined, on one data set."""
    rows = [LIKELIHOOD[m] for m in LIKELIHOODS if model.kind in LIKELIHOOD[m].plans]
    casing = {"as written": as_written, "lower": all_lowered}
    norms = {"sum": total, "mean": mean}
    for row, case, norm, ties in itertools.product(rows, casing, norms, TIES):
        tags = (row.name.partition("@")[0], row.name, case, norm, ties)
        varied = replace(row, text=casing[case], reduce=norms[norm], ties=ties, average="micro")
        yield Spec(model, varied, data, tags=dict(zip(PREFERENCE_FACTORS, tags, strict=True)))


class _Count:
    """Counts the rows that go through a model, and shows them."""

    def __init__(self, options: Options) -> None:
        self.options, self.rows, self.last = options, 0, 0

    def __call__(self, name: str, done: int, total: int) -> None:
        self.rows += done - self.last if done > self.last else done
        self.last = 0 if done >= total else done
        self.options.progress(name, done, total)


def sweep(specs: Sequence[Spec], options: Options) -> Sweep:
    """Run specifications; those that no word, template or item fits are left out.

    No permutation test is made: a sweep shows no p.
    """
    count = _Count(options)
    settings = replace(options, splits=0, progress=count)
    found = evaluate(specs, settings, lambda spec, error: None)
    frame = pd.DataFrame([{**r.spec.tags, **_numbers(r)} for r in found])
    factors = tuple(specs[0].tags)
    return Sweep(frame, factors, count.rows, float(specs[0].measure.ideal))


def _numbers(result: Result) -> dict[str, float]:
    found = result.overall
    return {"score": found.value, "low": found.low, "high": found.high}


def concept_specs(model: Any, concept: str, store: str | None = None) -> list[Spec]:
    """All specifications of one concept of husse2022, by cosine and by probability."""
    likely = model.kind in ("masked", "causal", "permutation")
    return [
        *by_cosine(model, concept, store=store),
        *(by_probability(model, concept) if likely else ()),
    ]


def _natural(value: Any) -> tuple[int, str]:
    """Layers in the order of numbers, other options by name."""
    return (int(value), "") if str(value).isdigit() else (-1, str(value))


def curve(made: Sweep, title: str) -> Figure:
    """The specification curve: sorted scores with intervals, and the choices below."""
    data = made.frame.sort_values("score").reset_index(drop=True)
    values = {f: sorted(data[f].unique(), key=_natural) for f in made.factors}
    lines = [(f, v) for f, some in values.items() for v in some if v != NONE]

    def draw(figure: Any) -> None:
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[1, max(1, len(lines) / 14)])
        places = np.arange(len(data))
        top.vlines(places, data.low, data.high, color="#b8c4d6", linewidth=0.8)
        top.scatter(places, data.score, s=5, color="#1f3b63", zorder=3)
        top.axhline(made.ideal, color="#b03030", linewidth=0.8)
        top.set(ylabel="score", title=title)
        for k, (factor, value) in enumerate(lines):
            at = np.flatnonzero((data[factor] == value).to_numpy())
            bottom.scatter(at, np.full(len(at), k), s=3, marker="|", color="#1f3b63")
        bottom.set_yticks(range(len(lines)), [f"{f}: {v}" for f, v in lines], fontsize=6)
        bottom.invert_yaxis()
        bottom.set(xlabel="specifications, sorted by score")

    size = (9, 4 + 0.13 * len(lines))
    return Figure(safe(title), f"Specification curve: {title}", draw, size)


def study(
    model: Any,
    options: Options,
    *,
    concepts: Sequence[str],
    data: Sequence[str],
    store: str | None = None,
) -> Study:
    """All sweeps of a model: tables, decompositions and specification curves."""
    plans = {f"{c} by association": concept_specs(model, c, store) for c in concepts}
    for name in data:
        found = next(d for d in catalogue.resolve(name) if isinstance(d, Dataset))
        plans[f"{found.name} by likelihood"] = list(by_likelihood(model, found))
    tables, figures, remarks = [], [], []
    for title, specs in plans.items():
        made = sweep(specs, options)
        remarks.append(_remark(title, made))
        key, shares = safe(title), decompose(made.frame, made.factors)
        ordered = made.frame.sort_values("score")
        note = "Share of the spread in per cent."
        tables += [
            Table(f"share-{key}", f"What moves {title}", shares, note),
            Table(f"specifications-{key}", f"All specifications: {title}", ordered),
        ]
        figures.append(curve(made, title))
    return Study(f"Design choices: {model.name}", tables, figures, remarks)


def _remark(title: str, made: Sweep) -> str:
    frame, scores = made.frame, made.frame.score
    sure = ((frame.low > made.ideal) | (frame.high < made.ideal)).mean()
    return (
        f"{title}: {len(scores)} specifications from {made.rows} rows through the model; "
        f"scores from {scores.min():.2f} to {scores.max():.2f}, median {scores.median():.2f}; "
        f"{100 * sure:.0f} % have an interval without {made.ideal:g}."
    )


def summary(made: Study) -> Mapping[str, pd.DataFrame]:
    """The decompositions by title, for the terminal."""
    return {t.title: t.frame for t in made.tables if t.name.startswith("share-")}
