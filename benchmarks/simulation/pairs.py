"""Designs of sentence pairs, and models that answer them: margins in nats.

A margin is the bias, plus or minus what the model likes the one group's word (which turns with the
group that the stereotype is about), what the word and the template add, and noise.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np

from simulation.harness import Random
from unmask.data.packaged import bundled_pairs
from unmask.stats.clustering import COLUMNS, Design

# Items of CrowS-Pairs (Nangia et al. 2020) by bias type: about the disadvantaged group, and about
# the other one.
CROWS = {
    "age": (73, 14),
    "disability": (57, 3),
    "gender": (159, 103),
    "nationality": (148, 11),
    "physical-appearance": (52, 11),
    "race-color": (473, 43),
    "religion": (99, 6),
    "sexual-orientation": (72, 12),
    "socioeconomic": (157, 15),
}
WRITERS = 77


class Liking(NamedTuple):
    """Standard deviations of what a model has beside a bias, in nats."""

    pair: float = 1.0  # of a group pair's word
    cell: float = 0.5  # of the same in a template
    word: float = 0.5
    template: float = 0.1
    noise: float = 0.8
    common: float = 0.0  # of all pairs: the mean preference for the second group's word
    spread: float = 0.0  # of the logarithm of the factor by which a bias type's margins vary more


def bundled() -> dict[str, list[str]]:
    """The columns of the bundled pairs."""
    return {name: [getattr(i, name) for i in bundled_pairs().items] for name in COLUMNS}


def grid(types: int, pairs: int, words: int, templates: int) -> dict[str, list[str]]:
    """Bias types with their number of group pairs, words per group, and templates."""
    rows = list(itertools.product(range(types), range(pairs), "ab", range(words), range(templates)))
    return {
        "cluster": [f"{t}/{p}/{g}/{w}" for t, p, g, w, _ in rows],
        "category": [f"type {t}" for t, *_ in rows],
        "group_pair": [f"{t}/{p}" for t, p, *_ in rows],
        "group": [g for _, _, g, *_ in rows],
        "template": [f"{t}/{f}" if templates > 1 else "" for t, *_, f in rows],
    }


def crows(seed: int = 0) -> dict[str, list[str]]:
    """The numbers of CrowS-Pairs, with writers of unequal productivity."""
    rng = np.random.default_rng(seed)
    share = np.exp(rng.normal(0, 1.1, WRITERS))
    rows = [(c, g) for c, counts in CROWS.items() for g, n in zip("ba", counts, strict=True)
            for _ in range(n)]  # fmt: skip
    writer = rng.choice(WRITERS, len(rows), p=share / share.sum())
    return {
        "cluster": [f"w{w}" for w in writer],
        "category": [c for c, _ in rows],
        "group_pair": [c for c, _ in rows],
        "group": [g for _, g in rows],
        "template": [""] * len(rows),
    }


def margins(rng: Random, columns: Any, liking: Liking, bias: Any = 0.0) -> Any:
    """The margins of one model; `bias` by category, or of all."""
    design = Design.of(columns)
    assert design.pairs is not None
    assert design.signs is not None
    sign = design.signs
    templates = design.templates if design.templates is not None else np.zeros(len(sign), int)
    cell = np.unique(np.column_stack([design.pairs, templates]), axis=0, return_inverse=True)[1]
    one = design.templates is None  # an effect of all items would be a bias
    kinds = ((design.pairs, liking.pair, sign), (cell, liking.cell, sign),
             (design.clusters, liking.word, 1),
             (templates, 0.0 if one else liking.template, 1))  # fmt: skip
    out = liking.noise * rng.standard_t(5, len(sign)) * np.sqrt(3 / 5) + liking.common * sign
    for codes, spread, turn in kinds:
        out = out + turn * spread * rng.normal(size=int(codes.max()) + 1)[codes.ravel()]
    if liking.spread:
        types = np.unique(columns["category"], return_inverse=True)[1]
        out = out * np.exp(liking.spread * rng.normal(size=int(types.max()) + 1))[types]
    if isinstance(bias, dict):
        out = out + np.array([bias.get(c, 0.0) for c in columns["category"]])
        return out
    return out + bias


def share(design: Design, liking: Liking, bias: float) -> float:
    """The percentage of positive margins, word preference apart, over words and templates."""
    if bias == 0:
        return 50.0
    rng = np.random.default_rng(0)
    values = liking.noise * rng.standard_t(5, 1_000_000) * np.sqrt(3 / 5)
    template = 0.0 if design.templates is None else liking.template
    values += np.hypot(liking.word, template) * rng.normal(size=len(values))
    return 100 * float(np.mean(values + bias > 0))
