"""What plans ask and engines answer: a sentence in tokens, questions about it, readings."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from unmask.errors import ModelError
from unmask.types import Floats, Span, Text

Hidden: TypeAlias = frozenset[int] | range
Ints: TypeAlias = NDArray[np.int64]
NOTHING: frozenset[int] = frozenset()
# Shorthands for what a question does not see: its own place, or that and all later places.
EACH: Literal["each"] = "each"
LATER: Literal["later"] = "later"
HiddenSets: TypeAlias = tuple[Hidden, ...] | Literal["each", "later"]
LOGP_TOLERANCE = 1e-3  # what rounding may leave above 0


@dataclass(frozen=True, slots=True)
class Encoded:
    """What plans see: token ids, the places of special tokens, places by role, word of a place.

    `words[i]` numbers the word that place i belongs to (-1 for specials), `offsets[i]` are its
    characters. `text` is the sentence
    itself; `focus` is the text before, of, and after the word that it is about (the target or the
    fill word). Both are for plans that repeat how published code tokenised it. `prompts` are the
    requests that ask a chat model for this text: the tokens of each, and those of its label.
    """

    ids: tuple[int, ...]
    specials: frozenset[int]
    roles: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    words: tuple[int, ...] = ()
    focus: tuple[str, str, str] = ("", "", "")
    text: Text | None = None
    offsets: tuple[Span, ...] = ()
    prompts: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()

    @property
    def content(self) -> tuple[int, ...]:
        """The places that are not special tokens."""
        last = len(self.ids) - 1
        # Most sentences have one at each end, or a start: no need to look at each.
        if last > 0 and self.specials == {0, last}:
            return tuple(range(1, last))
        if self.specials == {0}:
            return tuple(range(1, last + 1))
        return tuple(i for i in range(last + 1) if i not in self.specials)


@dataclass(frozen=True, slots=True)
class Query:
    """log p(`gold` at place `at` | the tokens of `row`, the places in `hidden` not shown)."""

    row: tuple[int, ...]
    hidden: Hidden
    at: int
    gold: int


@dataclass(frozen=True, slots=True)
class RowQueries:
    """Questions about one row: log p(`gold[k]` at `at[k]` | `row`, the places in hidden not shown).

    `hidden` has one set for all questions, or one for each; `EACH` means sets that hold just
    the place asked about, `LATER` for that place and all behind it.
    """

    row: tuple[int, ...]
    at: tuple[int, ...]
    gold: tuple[int, ...]
    hidden: HiddenSets

    def hidden_at(self, k: int) -> Hidden:
        """The places that question k does not see."""
        if self.hidden == EACH:
            return frozenset((self.at[k],))
        if self.hidden == LATER:
            return range(self.at[k], len(self.row))
        return self.hidden[0] if len(self.hidden) == 1 else self.hidden[k]  # type: ignore[return-value]

    @property
    def fits(self) -> bool:
        """Whether places lie in the row, and golds and hidden sets are as many as they must be."""
        size, count = len(self.row), len(self.at)
        inside = count and 0 <= min(self.at) <= max(self.at) < size and min(self.gold) >= 0
        sets = isinstance(self.hidden, str) or len(self.hidden) in (1, count)
        return bool(inside) and len(self.gold) == count and sets

    @property
    def queries(self) -> list[Query]:
        """The questions one by one."""
        places = zip(self.at, self.gold, strict=True)
        return [Query(self.row, self.hidden_at(k), i, g) for k, (i, g) in enumerate(places)]


def row_queries_of(questions: Iterable[RowQueries | Query]) -> list[RowQueries]:
    """Questions by row; a single query becomes a `RowQueries` of one."""
    return [
        q if isinstance(q, RowQueries) else RowQueries(q.row, (q.at,), (q.gold,), (q.hidden,))
        for q in questions
    ]


def all_fit(asks: Sequence[RowQueries]) -> bool:
    """Whether all of many `RowQueries` fit; whole numbers are compared together, for speed."""
    counts = [len(a.at) for a in asks]
    if 0 in counts or counts != [len(a.gold) for a in asks]:
        return False
    places, golds = (
        np.array(list(chain.from_iterable(part)))
        for part in ((a.at for a in asks), (a.gold for a in asks))
    )
    if not asks or {places.dtype.kind, golds.dtype.kind} != {"i"}:
        return all(a.fits for a in asks)
    ends = np.repeat([len(a.row) for a in asks], counts)
    inside = (places >= 0) & (places < ends) & (golds >= 0)
    several = zip((a.hidden for a in asks), counts, strict=True)
    sets = all(isinstance(s, str) or len(s) in (1, count) for s, count in several)
    return sets and bool(inside.all())


def ranges(starts: Ints, counts: Ints) -> Ints:
    """start, start + 1, ... for each start, as many as its count: one flat array."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - np.concatenate([[0], ends[:-1]]), counts)


def sums(values: NDArray[Any], counts: Ints) -> Any:
    """Sum consecutive groups of values, of the sizes in `counts`; 0 for an empty group."""
    totals = np.zeros(len(counts), np.asarray(values).dtype)
    positives = counts > 0
    if positives.any():
        totals[positives] = np.add.reduceat(values, (np.cumsum(counts) - counts)[positives])
    return totals


@dataclass(frozen=True, slots=True)
class Readings:
    """Answers to a list of queries, in its order.

    `hit`: the gold token is likelier than every other. `attention`: what place `at` receives,
    averaged over layers, heads and the row's real places; NaN where it was not asked for. A stream
    may read something else than log p: `rank` gives - ln of the gold token's rank, `gap` its log p
    less the likeliest token's, `top` the log p of the token that `gold` many are likelier than, and
    its id in place of the attention; `reply` has 1 there where log p is an upper bound. `rows`
    counts the distinct rows that went through the model. The answers are about one sentence, or
    about many: then `counts` says how many each has, and `sum` and `mean` give a number for each.
    `gold` are the tokens that were asked for; the run adds them, an engine need not.
    """

    logp: Floats
    hit: NDArray[np.bool_]
    attention: Floats
    rows: int
    counts: Ints | None = None
    gold: Ints | None = None

    def __getitem__(self, places: "slice | Ints") -> "Readings":
        gold = None if self.gold is None else self.gold[places]
        answers = (self.logp[places], self.hit[places], self.attention[places])
        return Readings(*answers, self.rows, gold=gold)

    def sum(self, values: Floats) -> Any:
        """The sum of some values over each sentence's answers."""
        return values.sum() if self.counts is None else sums(values, self.counts)

    def mean(self, values: Floats) -> Any:
        """The mean of some values over each sentence's answers; NaN where nothing was asked."""
        size = np.asarray(len(self.logp) if self.counts is None else self.counts, float)
        return self.sum(values) / np.where(size > 0, size, np.nan)


def readings(answers: Floats, rows: int) -> Readings:
    """Answers [3, questions] as readings; those that are not numbers are refused."""
    if not np.isfinite(answers[0]).all():
        raise ModelError(
            "the model returns probabilities that are not numbers; try --dtype float32, or check "
            "the weights."
        )
    return Readings(answers[0], answers[1].astype(bool), answers[2], rows)


def check_readings(readings: Readings, count: int) -> None:
    """Refuse answers that are not one log-probability, hit and attention for each query."""
    if not isinstance(readings, Readings):
        raise ModelError(
            f"the model's 'ask' returns {readings!r:.40}; it must return unmask's Readings."
        )
    columns = (readings.logp, readings.hit, readings.attention)
    if not all(isinstance(v, np.ndarray) for v in columns):
        raise ModelError(
            "the model's outputs are not numpy arrays; return logp, hit and attention as arrays."
        )
    shapes = {np.shape(v) for v in columns}
    if shapes != {(count,)}:
        raise ModelError(
            f"the model returns {np.size(readings.logp)} results for {count} queries; it must "
            "return one per query, in the same order."
        )
    if count and not np.max(readings.logp) <= LOGP_TOLERANCE:
        raise ModelError("the model gives log-probabilities that are not numbers of at most 0.")


class LogProbs(Protocol):
    """Anything that answers queries: a model's engine, or a fake in a test."""

    def ask(self, asks: Sequence[RowQueries], attention: Sequence[bool]) -> Readings:
        """Answer every question; `attention[i]` says whether `asks[i]` needs attention weights."""
        ...


@runtime_checkable
class PipelinedLogProbs(LogProbs, Protocol):
    """An engine whose device works while Python goes on; `products` says how it multiplies."""

    @property
    def products(self) -> str:
        """How its layers multiply, if not in the standard way."""
        ...

    def begin(
        self, asks: Sequence[RowQueries], attention: Sequence[bool]
    ) -> Callable[[], Readings]:
        """Submit all questions; return a function that waits for the answers."""
        ...

    def tend(self) -> None:
        """Let the device go on; called now and then in longer work between questions."""
        ...

    def start_all(self) -> None:
        """Start all that was sent off: what is left is to wait for the answers."""
        ...


@runtime_checkable
class RowLogProbs(LogProbs, Protocol):
    """An engine that takes distinct rows, which may come from a cache.

    `shows` distinguishes engines that derive other rows from the same questions.
    """

    @property
    def shows(self) -> str:
        """What determines its rows, apart from the questions."""
        ...

    def rows(self, asks: Sequence[RowQueries], attention: Sequence[bool]) -> Any:
        """The distinct rows of some questions."""
        ...

    def begin_rows(self, rows: Any) -> Callable[[], Readings]:
        """Submit the questions about some rows; return a function that waits for the answers."""
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

    def spelt(self, ids: Iterable[int]) -> list[str]:
        """Each token as the vocabulary spells it."""
        ...

    @property
    def mask(self) -> str:
        """The mask token as text."""
        ...

    adds_start: bool  # whether the tokenizer puts a start token before a sentence by itself
    unknown: int | None  # the id of the unknown token, if there is one
    reserved: frozenset[int]  # the ids of special tokens, which text should not hold

    def encode_after_paragraph(self, string: str) -> Encoded:
        """Ids of the string as a second segment behind a long paragraph (XLNet)."""
        ...


@runtime_checkable
class ChatCodec(Protocol):
    """A codec of a model that can be asked to choose, in the stream `reply`."""

    @property
    def chat(self) -> Any:
        """How a message is put: its `record`, and `notes` that a reader must know."""
        ...

    def chat_prompts(self, messages: Sequence[str]) -> list[tuple[int, ...]]:
        """The ids of the prompt of each message, up to where the reply begins."""
        ...

    def label_ids(self, labels: Sequence[str]) -> Mapping[str, tuple[int, ...]]:
        """The ids that a reply of just this label may begin with; as many for each label."""
        ...


class TextCodec(Codec, Protocol):
    """A codec that also turns character spans into roles.

    `refused` has the sentences that could not be encoded, with the reason.
    """

    @property
    def refused(self) -> Mapping[str, str]:
        """Why some sentences could not be encoded."""
        ...

    def encode_texts(
        self, texts: Sequence[Text], focuses: Sequence[tuple[str, str, str]]
    ) -> list[Encoded]:
        """Ids with a role for each span."""
        ...

    def encode_two(self, first: str, second: str) -> Encoded:
        """Ids of two segments, the places of the second under the role `second`."""
        ...
