"""The choices of a design: lists of specs that differ in one or more of them."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from unmask.data.templates import from_sentences, from_stimuli
from unmask.data.wordsets import matching
from unmask.errors import DataError, NameUnknown
from unmask.measures import ASSOCIATION, LIKELIHOOD
from unmask.measures.reduce import (
    all_lowered,
    as_written,
    attended,
    attended_total,
    lowered,
    mean,
    total,
)
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
FACTORS = (
    "measure",
    "targets",
    "sets",
    "contexts",
    "pool",
    "layer",
    "attributes",
    "window",
    "sentences",
)
WHOLE, ALL = "whole", "all"  # sentences that are not cut; as many as there are
WINDOWS, COUNTS = (4, 9), (10, 100)  # words on either side, sentences a word
APART = (10, 18)  # words between a target and an attribute, at most
SAMPLES = 1000  # of CEAT, whose score hardly moves with their number
PREFERENCE_FACTORS = ("measure", "case", "normalisation", "ties")
# Choices of published papers, by factor; `last` is the last layer. The pooling for a sentence
# depends on the kind of model, and lower-casing on its family.
SENTENCE, RELEASED_CASE = "sentence", "as released"
_FULL = {"sets": "full", "contexts": "templates", "layer": "last"}
_RELEASED = {"case": "as written", "normalisation": "mean", "ties": "strict"}
PUBLISHED: Mapping[str, Sequence[Mapping[str, str]]] = {
    "may2019": ({"measure": "s-seat", "pool": SENTENCE, **_FULL},),
    "tan2019": ({"measure": "w-seat", "pool": "word-first", **_FULL},),
    "guo2021": (
        {"measure": "ceat", "pool": "word-last", "contexts": "natural", "layer": "last"}
        | {"window": "4", "sentences": ALL},
    ),
    "husse2022": (
        {"measure": "s-seat", "pool": SENTENCE, **_FULL},
        {"measure": "w-seat", "pool": "word-mean", **_FULL},
        {"measure": "ceat", "pool": "word-mean", "contexts": "natural", "layer": "last"}
        | {"window": "4", "sentences": ALL},
        {"measure": "lpbs@husse2022", "contexts": "templates"},
        {"measure": "lpbs@husse2022", "contexts": "natural", "window": "18"},
    ),
    "nangia2020": (
        {"measure": "cps@nangia2020", "case": RELEASED_CASE}
        | {"normalisation": "sum", "ties": "strict"},
    ),
    "kaneko2022": tuple({"measure": m, **_RELEASED} for m in ("aul", "aula", "sss@kaneko2022")),
    "salazar2020": ({"measure": "pll", "case": "as written", "normalisation": "sum"},),
}


def _tests(concept: str) -> list[Stimuli]:
    """The word tests of a concept: names or terms, with full, reduced and simplified sets."""
    concepts = {c.lower(): c for c in CONCEPTS}
    if concept.lower() not in concepts:
        raise NameUnknown(unknown("concept", concept, concepts))
    return matching(concept=concepts[concept.lower()], edition="")


def _tags(
    measure: str,
    test: Stimuli,
    context: str,
    *,
    pool: str = NONE,
    layer: str = NONE,
    attributes: str = NONE,
    window: str = NONE,
    sentences: str = NONE,
) -> dict[str, str]:
    options = pool, layer, attributes, window, sentences
    return dict(zip(FACTORS, (measure, test.named, test.size, context, *options), strict=True))


def by_cosine(
    model: Model,
    concept: str,
    *,
    layers: Sequence[int] | None = None,
    natural: contexts.Source | None = None,
) -> Iterator[Spec]:
    """Names or terms, size of the sets, contexts, measure, pooling and layer, all combined.

    `natural` sentences are also cut, and fewer are taken, for the last layer.
    """
    layer_list = layers or range(1, max(model.abilities.layers, default=0) + 1)
    for test in _tests(concept):
        for name, source in contexts.SOURCES.items():
            yield from _encoded(model, test, name, source, layer_list)
        if natural is not None:
            as_is = {"window": WHOLE, "sentences": ALL}
            yield from _encoded(model, test, "natural", natural, layer_list, **as_is)
            for facts, subset in _limited(natural):
                yield from _encoded(model, test, "natural", subset, layer_list[-1:], **facts)


def _encoded(
    model: Model,
    test: Stimuli,
    name: str,
    source: contexts.Source,
    layers: Sequence[int],
    **facts: str,
) -> Iterator[Spec]:
    """Specs for every pooling at every layer, and CEAT if words have several contexts."""
    data = WordTest(test)
    sampled = name != "bare" and min(map(len, test.targets.values())) > 1
    for (pool, usual), layer in itertools.product(POOLS.items(), layers):
        for measure in (usual, "ceat") if sampled and usual == "w-seat" else (usual,):
            tags = _tags(measure, test, name, pool=pool, layer=str(layer), **facts)
            samples = SAMPLES if measure == "ceat" else None
            row = ASSOCIATION[measure]
            yield Spec(model, row, data, pool, layer, source, samples=samples, tags=tags)


def _limited(natural: contexts.Source) -> Iterator[tuple[dict[str, str], contexts.Source]]:
    """Natural sentences cut to a window, or fewer sentences per word."""
    for words in WINDOWS:
        yield {"window": str(words), "sentences": ALL}, contexts.limited(natural, words=words)
    for most in COUNTS:
        yield {"window": WHOLE, "sentences": str(most)}, contexts.limited(natural, most=most)


def by_probability(
    model: Model, concept: str, natural: contexts.Source | None = None
) -> Iterator[Spec]:
    """Names or terms, size of the sets, nouns or adjectives, contexts, definition or variant."""
    rows = [m for m in (LIKELIHOOD["lpbs"], LIKELIHOOD["lpbs@husse2022"]) if model.kind in m.plans]
    for test in _tests(concept):
        for facts, data in _sentences(test, natural):
            for row in rows:
                yield Spec(model, row, data, tags=_tags(row.name, test, **facts))


def _sentences(
    test: Stimuli, natural: contexts.Source | None
) -> Iterator[tuple[dict[str, str], Dataset]]:
    """Templates with adjectives or nouns, and natural sentences with both words, near or far."""
    word = "adjectives" if test.adjectives else NONE
    yield {"context": "templates", "attributes": word}, from_stimuli(test)
    if test.adjectives:
        yield {"context": "templates", "attributes": "nouns"}, from_stimuli(test, nouns=True)
    if natural is None:
        return
    for distance in (None, *APART):
        try:
            data = from_sentences(test, natural.of(test), distance=distance)
        except DataError:
            continue  # a store may lack sentences in which the two meet
        yield {"context": "natural", "window": str(distance or WHOLE), "sentences": ALL}, data


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


def concept_specs(model: Model, concept: str, natural: contexts.Source | None = None) -> list[Spec]:
    """All specifications of one concept of husse2022, by cosine and by probability."""
    likely = model.kind in ("masked", "causal", "permutation")
    return [
        *by_cosine(model, concept, natural=natural),
        *(by_probability(model, concept, natural) if likely else ()),
    ]


def as_published(choices: Mapping[str, Any], model: Model, depth: int) -> str:
    """The papers that made these choices for a model of this kind and family."""
    meant = {
        ("layer", "last"): str(depth),
        ("pool", SENTENCE): ASSOCIATION["s-seat"].pool_for(model.kind),
        ("case", RELEASED_CASE): "lower" if lowered("A", model.family) == "a" else "as written",
    }
    return ", ".join(
        paper
        for paper, rows in PUBLISHED.items()
        if any(all(choices.get(k) == meant.get((k, v), v) for k, v in row.items()) for row in rows)
    )
