"""The choices of a design: lists of specs that differ in one or more of them."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from unmask.data.templates import from_stimuli
from unmask.data.wordsets import chosen
from unmask.errors import NameUnknown
from unmask.measures import ASSOCIATION, LIKELIHOOD
from unmask.measures.reduce import all_lowered, as_written, attended, attended_total, mean, total
from unmask.models.protocol import Model
from unmask.options import Spec
from unmask.stats.choice_effects import NONE
from unmask.stats.preference import Ties
from unmask.support.registry import unknown
from unmask.text import contexts
from unmask.text.contexts import WordTest
from unmask.types import Dataset, Stimuli

POOLS = {
    **dict.fromkeys(("cls", "last", "mean"), "s-seat"),
    **dict.fromkeys(("word-mean", "word-first", "word-last"), "w-seat"),
}
CONCEPTS = ("C1", "C3", "C6", "C9", "Dis", "Occ", "I1", "I2")
TIES: tuple[Ties, ...] = ("strict", "half", "drop")
LIKELIHOODS = (
    "pll",
    "pll-l2r",
    "cps",
    "cps@nangia2020",
    "sss",
    "sss@kaneko2022",
    "aul",
    "aula",
)
FACTORS = ("measure", "targets", "sets", "contexts", "pool", "layer")
PREFERENCE_FACTORS = ("measure", "case", "normalisation", "ties")
# The choices that papers made, as far as a factor is named; `last` is the last layer.
_FULL = {"sets": "full", "contexts": "templates", "layer": "last"}
_RELEASED = {"case": "as written", "normalisation": "mean", "ties": "strict"}
PUBLISHED: Mapping[str, Sequence[Mapping[str, str]]] = {
    "may2019": ({"measure": "s-seat", "pool": "cls", **_FULL},),
    "tan2019": ({"measure": "w-seat", "pool": "word-first", **_FULL},),
    "husse2022": (
        {"pool": "cls", "contexts": "templates", "layer": "last"},
        {"pool": "word-mean", "contexts": "templates", "layer": "last"},
        {"measure": "lpbs@husse2022"},
    ),
    "nangia2020": (
        {"measure": "cps@nangia2020", "case": "lower", "normalisation": "sum", "ties": "strict"},
    ),
    "kaneko2022": tuple({"measure": m, **_RELEASED} for m in ("aul", "aula", "sss@kaneko2022")),
    "salazar2020": ({"measure": "pll", "case": "as written", "normalisation": "sum"},),
}


def _tests(concept: str) -> list[Stimuli]:
    """The word tests of a concept: names or terms, with full, reduced and simplified sets."""
    known = {c.lower(): c for c in CONCEPTS}
    if concept.lower() not in known:
        raise NameUnknown(unknown("concept", concept, known))
    return chosen(concept=known[concept.lower()], edition="")


def _tags(*choices: str) -> dict[str, str]:
    return dict(zip(FACTORS, choices, strict=True))


def by_cosine(
    model: Model, concept: str, *, layers: Sequence[int] | None = None, store: str | None = None
) -> Iterator[Spec]:
    """Names or terms, size of the sets, contexts, pooling and layer, all combined."""
    depth = max(model.abilities.layers, default=0)
    sources = dict(contexts.SOURCES) | ({"natural": contexts.source(store)} if store else {})
    wanted = layers or range(1, depth + 1)
    for test, (name, source) in itertools.product(_tests(concept), sources.items()):
        data = WordTest(test)
        for (pool, measure), layer in itertools.product(POOLS.items(), wanted):
            tags = _tags(measure, test.named, test.size, name, pool, str(layer))
            yield Spec(model, ASSOCIATION[measure], data, pool, layer, source, tags=tags)


def by_probability(model: Model, concept: str) -> Iterator[Spec]:
    """Names or terms, size of the sets, definition or published variant (LPBS)."""
    rows = [m for m in (LIKELIHOOD["lpbs"], LIKELIHOOD["lpbs@husse2022"]) if model.kind in m.plans]
    for test in _tests(concept):
        data = from_stimuli(test)
        for row in rows:
            tags = _tags(row.name, test.named, test.size, "templates", NONE, NONE)
            yield Spec(model, row, data, tags=tags)


def by_likelihood(model: Model, data: Dataset) -> Iterator[Spec]:
    """Measure, normalisation, letter case and tie rule, all combined, on one data set."""
    rows = [LIKELIHOOD[m] for m in LIKELIHOODS if model.kind in LIKELIHOOD[m].plans]
    casing = {"as written": as_written, "lower": all_lowered}
    norms = {"sum": (total, attended_total), "mean": (mean, attended)}
    for row, case, norm, ties in itertools.product(rows, casing, norms, TIES):
        tags = dict(zip(PREFERENCE_FACTORS, (row.name, case, norm, ties), strict=True))
        reduce = norms[norm][row.attention]
        varied = replace(row, text=casing[case], reduce=reduce, ties=ties, average="micro")
        yield Spec(model, varied, data, tags=tags)


def concept_specs(model: Model, concept: str, store: str | None = None) -> list[Spec]:
    """All specifications of one concept of husse2022, by cosine and by probability."""
    likely = model.kind in ("masked", "causal", "permutation")
    return [
        *by_cosine(model, concept, store=store),
        *(by_probability(model, concept) if likely else ()),
    ]


def as_published(choices: Mapping[str, Any], depth: int) -> str:
    """The papers that made these choices."""
    layer = "last" if choices.get("layer") == str(depth) else choices.get("layer")
    options = {**choices, "layer": layer}
    return ", ".join(
        paper
        for paper, some in PUBLISHED.items()
        if any(all(options.get(k) == v for k, v in one.items()) for one in some)
    )
