"""The association flow: words to contexts to vectors, vectors to effect sizes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd

from unmask.data.stimuli import check_sizes
from unmask.errors import DataError
from unmask.measures.association import Association
from unmask.stats.association import (
    associations,
    ceat_samples,
    draw_indices,
    effect_estimate,
    random_effects,
    unit,
)
from unmask.text.contexts import Contexts, Wanted, WordTest
from unmask.types import Estimate, Floats, Kind, Result

LEAST = 2  # words that a set must keep
SHOWN = 40  # letters of a sentence that stands for itself


class Vectors(Protocol):
    """Anything that makes vectors: a model's engine, or a fake in a test."""

    def embed(self, wanted: Sequence[Wanted]) -> Floats:
        """A vector for each wanted [n, d]; NaN where the sentence does not fit."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """One measure on one test: the vectors it needs, and the words that had to go."""

    measure: Association
    test: WordTest
    sets: dict[str, tuple[str, ...]]
    contexts: Contexts
    source: str
    lost: dict[str, str]
    pool: str
    layer: int | None = None

    def wanted(self) -> list[Wanted]:
        """What to embed, in the order of sets, words and contexts."""
        return [
            Wanted(mention, self.pool, self.measure.encode, self.layer)
            for words in self.sets.values()
            for w in words
            for mention in self.contexts[w]
        ]


def prepare(
    measure: Association,
    test: WordTest,
    kind: Kind,
    *,
    pool: str | None = None,
    seed: int = 0,
    known: Callable[[str], bool] = lambda word: True,
) -> Asked:
    """Choose the words that can be met; a set that falls below two words is an error.

    `known` says whether a model has a word at all (static vectors lack some).
    """
    taken = pool or measure.pool_for(kind)
    measure.pool_for(kind)
    met, source = test.met(measure.contexts)
    lost: dict[str, str] = {}
    sets = {}
    for label, words in test.stimuli.sets.items():
        for w in words:
            if w not in met:
                lost[w] = "no context"
            elif not known(w):
                lost[w] = "not in the vectors"
        sets[label] = tuple(w for w in words if w not in lost)
        if len(sets[label]) < LEAST:
            raise DataError(_too_few(test.name, label, words, lost))
    if measure.subsample:
        sets = _equal(sets, list(test.stimuli.targets), seed)
    else:
        check_sizes(test.stimuli)
    return Asked(measure, test, sets, met, source, lost, taken)


def _too_few(
    test: str, label: str, words: Sequence[str], lost: Mapping[str, str], shown: int = 5
) -> str:
    """Which words a set lacks, the first few by name."""
    gone = [w for w in words if w in lost]
    if not gone:
        return f"{test}: {label} has {len(words)} word; it needs {LEAST}."
    named = ", ".join(gone[:shown])
    named += f" and {len(gone) - shown} more" if len(gone) > shown else ""
    keeps = f"{len(words) - len(gone)} of its {len(words)} words (without {named})"
    return f"{test}: {label} keeps {keeps}; it needs {LEAST}."


def _equal(
    sets: dict[str, tuple[str, ...]], targets: Sequence[str], seed: int
) -> dict[str, tuple[str, ...]]:
    """Cut the larger target set to the size of the smaller, at random."""
    size = min(len(sets[t]) for t in targets)
    rng = np.random.default_rng(seed)
    out = dict(sets)
    for t in targets:
        keep = sorted(rng.choice(len(sets[t]), size, replace=False))
        out[t] = tuple(sets[t][i] for i in keep)
    return out


def embed_all(engine: Vectors, asked: Sequence[Asked]) -> Iterator[Floats]:
    """The vectors of each test; each distinct sentence of all tests is encoded once."""
    together = (w for a in asked for w in a.wanted())
    distinct = {w: i for i, w in enumerate(dict.fromkeys(together))}
    vectors = engine.embed(list(distinct))
    for a in asked:
        yield vectors[[distinct[w] for w in a.wanted()]]


def score(
    model: Any, asked: Asked, vectors: Floats, *, seed: int = 0, samples: int | None = None
) -> Result:
    """The effect size with its interval and test, and the association of every word."""
    by_word = _split(asked, vectors)
    run = _random_effects if asked.measure.test == "random-effects" else _permutation
    overall = run(asked, by_word, seed, samples or asked.measure.samples)
    total = sum(len(words) for words in asked.test.stimuli.sets.values())
    reasons = pd.Series(asked.lost, dtype=object).value_counts()
    coverage = {
        "items": total,
        "scored": sum(map(len, asked.sets.values())),
        "reasons": {str(k): int(v) for k, v in reasons.items()},
        "lost": dict(asked.lost),
    }
    settings = {
        "seed": seed,
        "contexts": asked.source,
        "pool": asked.pool,
        "encode": asked.measure.encode,
        "sentences": len(vectors),
    }
    settings |= {"samples": overall.n} if asked.measure.test == "random-effects" else {}
    settings |= {"deviation": asked.measure.deviation} if asked.measure.deviation else {}
    return Result(
        model=model.name,
        measure=asked.measure.name,
        data=asked.test.name,
        overall=overall,
        by_category={},
        extras={},
        accuracy=None,
        coverage=coverage,
        settings=settings,
        provenance={"model": dict(model.provenance), "data": dict(asked.test.about)},
        items=_frame(model, asked, by_word),
    )


def _split(asked: Asked, vectors: Floats) -> dict[str, dict[str, Floats]]:
    """Vectors by set and word [contexts, d]; sentences that could not be encoded are left out."""
    out: dict[str, dict[str, Floats]] = {}
    start = 0
    for label, words in asked.sets.items():
        out[label] = {}
        for w in words:
            count = len(asked.contexts[w])
            part = vectors[start : start + count]
            start += count
            part = part[np.isfinite(part).all(1)]
            if not len(part):
                raise DataError(
                    f"{asked.test.name}: no sentence with {w[:SHOWN]!r} fits into the model; "
                    "give shorter ones."
                )
            out[label][w] = part
    return out


def _stack(words: Mapping[str, Floats]) -> tuple[Floats, list[str]]:
    names = [w for w, v in words.items() for _ in v]
    return np.concatenate(list(words.values())), names


def effect(asked: Asked, vectors: Floats, *, seed: int = 0) -> Estimate:
    """The effect size with its interval only, for sweeps: p is that of a normal approximation."""
    return _permutation(asked, _split(asked, vectors), seed, 0, parametric=True)


def _permutation(
    asked: Asked,
    by_word: Mapping[str, Mapping[str, Floats]],
    seed: int,
    samples: int,
    parametric: bool = False,
) -> Estimate:
    (x, xs), (y, ys), (a, _), (b, _) = (_stack(words) for words in by_word.values())
    many = len(x) > len(set(xs)) or len(y) > len(set(ys))
    return effect_estimate(
        associations(x, a, b),
        associations(y, a, b),
        xs if many else None,
        ys if many else None,
        sided=asked.measure.sided,
        parametric=parametric,
        seed=seed,
    )


def _random_effects(
    asked: Asked, by_word: Mapping[str, Mapping[str, Floats]], seed: int, samples: int
) -> Estimate:
    rng = np.random.default_rng(seed)
    units = [[unit(v).astype(np.float32) for v in words.values()] for words in by_word.values()]
    draws = [
        draw_indices([len(v) for v in words], samples, rng, asked.measure.reuse) for words in units
    ]
    return random_effects(ceat_samples(units, draws), asked.measure.sided)


def _frame(model: Any, asked: Asked, by_word: Mapping[str, Mapping[str, Floats]]) -> pd.DataFrame:
    """One row for each word: its mean association with the two attribute sets."""
    labels = list(by_word)
    a, b = (_stack(by_word[k])[0] for k in labels[2:])
    axis = unit(a).mean(0) - unit(b).mean(0)
    rows = []
    for side, label in zip(("X", "Y", "A", "B"), labels, strict=True):
        for w, vectors in by_word[label].items():
            rows.append(
                {
                    "model": model.name,
                    "data": asked.test.name,
                    "measure": asked.measure.name,
                    "item": w,
                    "category": label,
                    "cluster": w,
                    "label": side,
                    "sentence": asked.contexts[w][0].text,
                    "score": float((unit(vectors) @ axis).mean()),
                    "contexts": len(vectors),
                }
            )
    return pd.DataFrame(rows)
