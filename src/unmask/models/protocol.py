"""The contract of a model: all that a run may ask of whatever it measures.

A network of transformers, a file of vectors, ELMo, a served model, a model on workers of a cluster
and a user's own object keep it alike. `unmask.check_model` tries an object against it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from unmask.errors import UnmaskError
from unmask.models.answer_cache import Store
from unmask.models.batches import Budget, Progress
from unmask.options import DTYPES
from unmask.queries import LogProbs, TextCodec
from unmask.support.registry import unknown
from unmask.text.contexts import Wanted
from unmask.types import Floats, Kind

NO_LIMIT = 10**9
STREAMS = ("own", "written", "untyped", "next", "rank", "gap", "top", "reply")


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model can do.

    `streams` are the ways in which it answers queries (see `Likelihood.stream`); a model without
    any has no log-probabilities. `pools` and `layers` are the word vectors that it makes; without
    pools it makes none. `limit` is its longest row in tokens. A `precision` below float32 can be
    checked by the models that `finer` gives. `pipelined`: it computes while Python goes on, and
    its engine has `begin` and `tend`. `remarks` are what a reader of its results must know.
    """

    streams: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()
    layers: tuple[int, ...] = ()
    limit: int = NO_LIMIT
    precision: str = "float32"
    pipelined: bool = False
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, kind in (("streams", str), ("pools", str), ("layers", int), ("remarks", str)):
            value = getattr(self, name)
            if not isinstance(value, tuple) or not all(isinstance(v, kind) for v in value):
                raise UnmaskError(f"{name} is {value!r:.40}; give a tuple of {kind.__name__}.")
        for stream in self.streams:
            if stream not in STREAMS:
                raise UnmaskError(unknown("stream", stream, STREAMS))
        if not isinstance(self.limit, int) or self.limit < 1:
            raise UnmaskError(
                f"limit is {self.limit!r}; give the maximum length of a row, in tokens."
            )
        if self.precision not in DTYPES:
            raise UnmaskError(unknown("precision", str(self.precision), DTYPES))


class Vectors(Protocol):
    """Anything that embeds words: a model's engine, or a fake in a test."""

    def has(self, words: Iterable[str]) -> set[str]:
        """The words that it has at all; static vectors lack some."""
        ...

    def embed(self, wanted: Sequence[Wanted]) -> Floats:
        """A vector for each wanted [n, d]; NaN where the sentence does not fit."""
        ...


class Model(Protocol):
    """What a run asks of a model. Models without log-probabilities need no codec."""

    @property
    def name(self) -> str:
        """Its name in tables."""
        ...

    @property
    def kind(self) -> Kind:
        """Which measures apply: masked, causal, permutation, encoder, static or elmo."""
        ...

    @property
    def family(self) -> str:
        """The architecture's short name, such as `bert`; some released code depends on it."""
        ...

    @property
    def abilities(self) -> Abilities:
        """What it can do."""
        ...

    @property
    def codec(self) -> TextCodec:
        """Its tokenizer: text to token ids with roles."""
        ...

    @property
    def provenance(self) -> Mapping[str, Any]:
        """What it is, for the record: weights, config, tokenizer, dtype, device."""
        ...

    def budget(self, tokens: int | str) -> Budget:
        """What one forward pass may hold."""
        ...

    def engine(
        self,
        stream: str = "own",
        *,
        budget: Budget | None = None,
        store: Store | None = None,
        progress: Progress = ...,
    ) -> LogProbs:
        """What answers queries about token probabilities."""
        ...

    def vectors(
        self,
        *,
        layer: int | None = None,
        budget: Budget | None = None,
        store: Store | None = None,
        progress: Progress = ...,
    ) -> Vectors:
        """What embeds words in sentences."""
        ...

    def finer(self) -> "Sequence[Model]":
        """The same model in finer precisions, float32 last; none for one of full precision."""
        ...

    def close(self) -> None:
        """Release what it holds; called for models that a run has loaded itself."""
        ...
