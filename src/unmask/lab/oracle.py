"""The oracle: a language model that knows the world's exact conditional probabilities.

It answers the same questions as a trained model, so a measure can be evaluated without training
noise. It has no attention and no word vectors, and refuses what needs them. For a token in plain
sight it follows BERT's training, where a token to be predicted is left unchanged as often as it is
replaced by a random one: p(v | v seen) = p / (p + 1 / V), with p the probability of v if hidden.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from unmask.errors import NotApplicable
from unmask.lab.language import LONGEST, SIZE, tokenizer_of
from unmask.lab.patterns import OPEN, Pattern, Rows, patterns
from unmask.lab.world import PARTS, World
from unmask.measures import Association, Measure
from unmask.models.batches import Budget
from unmask.models.protocol import Abilities
from unmask.models.transformers.tokenizer import TokenizerCodec
from unmask.queries import Readings, RowQueries, row_queries_of
from unmask.types import Floats, Kind

DIGITS = 11
SLIP = 1e-9  # the least probability of any word: nothing is impossible


@dataclass(frozen=True)
class Oracle:
    """A model of the lab's world, with the same interface as any other."""

    world: World
    kind: Kind = "masked"
    family: str = "oracle"

    @property
    def name(self) -> str:
        """The model's name, with the world that it knows."""
        return f"oracle-{self.kind} {self.world.plant.name}"

    @cached_property
    def codec(self) -> TokenizerCodec:
        """The world's tokenizer."""
        return TokenizerCodec(tokenizer_of(self.world.plant.seed), self.kind, self.name)

    @property
    def provenance(self) -> Mapping[str, Any]:
        """The record of the model in results; it has no weights."""
        return {"kind": self.kind, "architecture": "exact probabilities", "device": "cpu"}

    def budget(self, tokens: int | str) -> Budget:
        """Return the default budget: it runs no forward pass."""
        return Budget()

    def vectors(self, **_: Any) -> Any:
        """Refused: probabilities have no vectors."""
        raise NotApplicable(
            "the oracle knows probabilities and has no word vectors: association measures are "
            "undefined for it; use trained models."
        )

    @property
    def abilities(self) -> Abilities:
        """Exact probabilities, and no vectors."""
        return Abilities(streams=("own", "written", "untyped"), limit=LONGEST)

    def finer(self) -> "list[Oracle]":
        """No finer precision: it is exact."""
        return []

    def close(self) -> None:
        """Do nothing: only memory is held."""

    def refuses(self, measure: Measure) -> str:
        """Return why a measure is undefined for it, or an empty string."""
        if isinstance(measure, Association):
            return "the oracle knows probabilities and has no word vectors"
        return "the oracle has no attention weights" if measure.attention else ""

    def engine(
        self, stream: str = "own", *, progress: Any = lambda rows, total: None, **_: Any
    ) -> "ExactProbabilities":
        """Return the engine that answers by the grammar."""
        if stream == "next":
            raise NotApplicable("the oracle has no next-sentence head; use 'cat-continue'.")
        return ExactProbabilities(self._lengths, self.kind == "causal", progress)

    @cached_property
    def _lengths(self) -> dict[int, tuple[Rows, list[Pattern]]]:
        """Patterns by length, with their tokens in one array."""
        by_length: dict[int, list[Pattern]] = {}
        for p in patterns(self.world, self.codec, PARTS):
            by_length.setdefault(len(p.tokens), []).append(p)
        return {n: (np.stack([p.tokens for p in ps]), ps) for n, ps in by_length.items()}


@dataclass(frozen=True)
class ExactProbabilities:
    """Answers the `LogProbs` protocol with conditional probabilities of the grammar."""

    lengths: Mapping[int, tuple[Rows, list[Pattern]]]
    causal: bool
    progress: Callable[[int, int], None] = lambda rows, total: None

    def ask(self, asks: Sequence[RowQueries], attention: Sequence[bool]) -> Readings:
        """Answer every question; one that needs attention is refused."""
        if any(attention):
            raise NotApplicable("the oracle has no attention weights; use 'aul' for 'aula'.")
        cache: dict[tuple[bytes, int, bool], Floats] = {}
        logs, hits = [], []
        for ask in row_queries_of(asks):
            row = np.array(ask.row, np.int64)
            for k, (at, gold) in enumerate(zip(ask.at, ask.gold, strict=True)):
                p = self._distribution(row, ask.hidden_at(k), at, cache)
                logs.append(np.log(p[gold]))
                hits.append(p[gold] >= p.max())
        self.progress(len(asks), len(asks))
        empty = np.full(len(logs), np.nan)
        exact = np.round(logs, DIGITS)  # equal probabilities stay equal in any order of sums
        return Readings(exact, np.array(hits, bool), empty, len(cache))

    def _distribution(self, row: Rows, hidden: Any, at: int, cache: Any) -> Floats:
        """Return p of each token at a place; in plain sight, as after BERT-style training."""
        visible = np.ones(len(row), bool)
        visible[list(hidden)] = False
        if self.causal:
            visible[at:] = False
        visible_here = bool(visible[at])
        visible[at] = False
        key = (np.where(visible, row, OPEN - 1).tobytes(), at, visible_here)
        if key not in cache:
            p = self._hidden(row, visible, at)
            cache[key] = _posterior(p, int(row[at])) if visible_here else p
        return cache[key]

    def _hidden(self, row: Rows, visible: Any, at: int) -> Floats:
        mass = np.zeros(SIZE)
        for length, (tokens, patterns_here) in self.lengths.items():
            if length != len(row) if not self.causal else length <= at:
                continue
            end = at if self.causal else len(row)
            agree = (tokens[:, :end] == row[:end]) | (tokens[:, :end] == OPEN) | ~visible[:end]
            for k in np.flatnonzero(agree.all(1)):
                _add(mass, patterns_here[k], row, visible, at, length)
        total = mass.sum()
        grammar = mass / total if total > 0 else np.full(SIZE, 1 / SIZE)
        return (1 - SLIP) * grammar + SLIP / SIZE


def _posterior(p: Floats, token: int) -> Floats:
    """p of each token given that one is shown, which is the true one or a random one."""
    likelihood = np.full(SIZE, 1 / SIZE)
    likelihood[token] += 1.0
    joint = p * likelihood
    return np.asarray(joint / joint.sum())


def _add(mass: Floats, pattern: Pattern, row: Rows, visible: Any, at: int, length: int) -> None:
    """Add a pattern's weight to the tokens that are possible at a place."""
    if length > len(row):  # a causal model does not know the rest of the sentence
        row = np.concatenate([row, np.zeros(length - len(row), np.int64)])
        visible = np.concatenate([visible, np.zeros(length - len(visible), bool)])
    weights = pattern.weights
    for axis, filling in enumerate(pattern.fillings):
        if filling is not None:
            fits = filling.fits(row, visible)
            weights = weights * (fits[:, None] if axis == 0 else fits[None])
    for axis, filling in enumerate(pattern.fillings):
        if filling is not None and filling.start <= at < filling.start + filling.pieces.shape[1]:
            np.add.at(mass, filling.pieces[:, at - filling.start], weights.sum(1 - axis))
            return
    mass[pattern.tokens[at]] += weights.sum()
