"""The interface of a model: everything that a run may call.

A network of transformers, a file of vectors, ELMo, a served model, a model on workers of a cluster
and a user's own object all implement it. `unmask.check_model` checks an object against it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from unmask.errors import UnmaskError
from unmask.models.batches import Budget, Progress
from unmask.options import DTYPES
from unmask.queries import LogProbs, TextCodec
from unmask.support.registry import unknown
from unmask.support.store import Store
from unmask.text.contexts import VectorRequest
from unmask.types import Floats, Kind

NO_LIMIT = 10**9
STREAMS = ("own", "written", "untyped", "next", "rank", "gap", "top", "reply")


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model can do.

    `streams` are the ways to query it (see `Likelihood.stream`); without any, it has no
    log-probabilities. `pools` and `layers` are the word vectors that it offers; without pools there
    are none. `limit` is its longest row in tokens. A `precision` below float32 can be checked with
    the models of `finer`. `pipelined`: it computes in the background, and its engine has `begin`
    and `tend`. `remarks` are what a reader of its results must know.
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
    """A source of word vectors: a model's engine, or a stub in a test."""

    def has(self, words: Iterable[str]) -> set[str]:
        """Return the words that it has; static vectors lack some."""
        ...

    def embed(self, requests: Sequence[VectorRequest]) -> Floats:
        """Return one vector per request [n, d], NaN if its sentence is too long."""
        ...


class Model(Protocol):
    """The interface that a run uses. Models without log-probabilities need no codec."""

    @property
    def name(self) -> str:
        """The model's name in tables."""
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
        """What the model can do."""
        ...

    @property
    def codec(self) -> TextCodec:
        """The model's tokenizer: text to token ids with roles."""
        ...

    @property
    def provenance(self) -> Mapping[str, Any]:
        """The record of the model in results: weights, config, tokenizer, dtype, device."""
        ...

    def budget(self, tokens: int | str) -> Budget:
        """Return the limits of one forward pass."""
        ...

    def engine(
        self,
        stream: str = "own",
        *,
        budget: Budget | None = None,
        store: Store | None = None,
        progress: Progress = ...,
    ) -> LogProbs:
        """Return the engine that computes token probabilities."""
        ...

    def vectors(
        self,
        *,
        layer: int | None = None,
        budget: Budget | None = None,
        store: Store | None = None,
        progress: Progress = ...,
    ) -> Vectors:
        """Return the engine that embeds words in sentences."""
        ...

    def finer(self) -> "Sequence[Model]":
        """Return the model in finer precisions, float32 last; empty at full precision."""
        ...

    def close(self) -> None:
        """Release its resources; called for models that a run has loaded itself."""
        ...
