"""The frozen records that pass between the parts. Nothing here computes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unmask.errors import DataError

Span: TypeAlias = tuple[int, int]
Kind: TypeAlias = Literal["masked", "causal", "permutation", "encoder", "static", "elmo"]
Hidden: TypeAlias = frozenset[int] | range
Floats: TypeAlias = NDArray[np.float64]

STEREOTYPE, ANTISTEREOTYPE, UNRELATED = "stereotype", "antistereotype", "unrelated"
NOTHING: frozenset[int] = frozenset()
EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Text:
    """A sentence with named character spans, such as `target` or `fill`."""

    string: str
    spans: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.string.strip():
            raise DataError("a sentence is empty; remove it or fill it in.")
        for name, spans in self.spans.items():
            if any(not 0 <= a < b <= len(self.string) for a, b in spans):
                raise DataError(f"the span {name!r} lies outside of {self.string!r}.")


@dataclass(frozen=True, slots=True)
class Contrast:
    """Sentences to be compared: a pair, a triplet, or a template with each target filled in.

    Labels are `stereotype`, `antistereotype` and `unrelated`; in a template test `x:WORD` and
    `y:WORD` for the targets of the two sides. `cluster` is what items have in common by
    construction (target term, writer, template) and is the unit of resampling.
    """

    id: str
    texts: Mapping[str, Text]
    category: str
    cluster: str
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.texts:
            raise DataError(f"item {self.id!r} has no sentences.")


@dataclass(frozen=True, slots=True)
class Stimuli:
    """Two target sets X, Y and two attribute sets A, B of words, each with its label."""

    name: str
    targets: Mapping[str, tuple[str, ...]]
    attributes: Mapping[str, tuple[str, ...]]
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for side in (self.targets, self.attributes):
            if len(side) != 2:
                raise DataError(
                    f"{self.name} has {len(side)} sets ({', '.join(side)}); two are needed."
                )
            for label, words in side.items():
                if len(set(words)) != len(words):
                    twice = sorted({w for w in words if list(words).count(w) > 1})
                    raise DataError(f"{self.name}: {label} has {', '.join(twice)} more than once.")

    @property
    def sets(self) -> dict[str, tuple[str, ...]]:
        """The four sets by label, in the order X, Y, A, B."""
        return {**self.targets, **self.attributes}


@dataclass(frozen=True, slots=True)
class Dataset:
    """Contrasts under a name. `shape` says which measures apply.

    `pairs` and `triplets` of sentences, `continuations` of a context, or filled `templates`.
    """

    name: str
    shape: Literal["pairs", "triplets", "continuations", "templates"]
    items: tuple[Contrast, ...]
    cluster: str = "item"
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.items:
            raise DataError(f"the data set {self.name!r} has no items; give a file with some.")


@dataclass(frozen=True, slots=True)
class Encoded:
    """What plans see: token ids, the places of special tokens, places by role, word of a place.

    `words[i]` numbers the word that place i belongs to (-1 for specials). `focus` is the text
    before, of, and after the word that the sentence is about (the target or the fill word), for
    plans that repeat how published code tokenised it.
    """

    ids: tuple[int, ...]
    specials: frozenset[int]
    roles: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    words: tuple[int, ...] = ()
    focus: tuple[str, str, str] = ("", "", "")

    @property
    def content(self) -> tuple[int, ...]:
        """The places that are not special tokens."""
        return tuple(i for i in range(len(self.ids)) if i not in self.specials)


@dataclass(frozen=True, slots=True)
class Query:
    """log p(`gold` at place `at` | the tokens of `row`, the places in `hidden` not shown)."""

    row: tuple[int, ...]
    hidden: Hidden
    at: int
    gold: int


@dataclass(frozen=True, slots=True)
class Readings:
    """Answers to a list of queries, in its order.

    `hit`: the gold token is the arg-max. `attention`: what place `at` receives, averaged over
    layers, heads and the row's real places; NaN where it was not asked for. `rows` counts the
    distinct rows that went through the model.
    """

    logp: Floats
    hit: NDArray[np.bool_]
    attention: Floats
    rows: int

    def __getitem__(self, places: slice) -> "Readings":
        return Readings(self.logp[places], self.hit[places], self.attention[places], self.rows)


class LogProbs(Protocol):
    """Anything that answers queries: a model's engine, or a fake in a test."""

    def ask(self, queries: Sequence[Query], attention: Sequence[bool]) -> Readings:
        """Answer every query; `attention[i]` says whether query i needs its attention weight."""
        ...


class Codec(Protocol):
    """What plans may ask of a tokenizer."""

    def encode(self, string: str) -> Encoded:
        """Token ids with specials, as the model is used to them."""
        ...

    def pieces(self, word: str) -> tuple[int, ...]:
        """The ids of a word on its own: no specials, no leading space."""
        ...

    def token(self, word: str) -> int:
        """The id of the token spelt exactly so, or the unknown token's."""
        ...

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some ids."""
        ...

    @property
    def mask(self) -> str:
        """The mask token as text."""
        ...


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval, its method and its n. `ideal` is the value without bias."""

    value: float
    low: float
    high: float
    level: float
    method: str
    n: int
    ideal: float | None = None
    p: float | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.n < 1:
            raise DataError("an estimate needs at least one item; none could be scored.")
        if not math.isnan(self.low) and self.low > self.high:
            raise ValueError(f"interval [{self.low}, {self.high}] is upside down")

    @property
    def excludes_ideal(self) -> bool:
        """Whether the interval leaves out the value without bias."""
        return self.ideal is not None and not self.low <= self.ideal <= self.high


@dataclass(frozen=True, slots=True)
class Result:
    """One measure on one data set for one model: the score and all that explains it.

    `items` has one row for each sentence (or each word of an association test).
    """

    model: str
    measure: str
    data: str
    overall: Estimate
    by_category: Mapping[str, Estimate]
    extras: Mapping[str, Estimate]
    accuracy: Estimate | None
    coverage: Mapping[str, Any]
    settings: Mapping[str, Any]
    provenance: Mapping[str, Any]
    items: Any
