"""Items to questions: what a measure asks of a model about each sentence of a data set."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TypeAlias

import numpy as np

from unmask.errors import DataError, UnmaskError
from unmask.flow.encoding import EncodedItems, encode_items
from unmask.measures.likelihood import Likelihood
from unmask.measures.plans import Plan
from unmask.models.protocol import Model
from unmask.queries import Codec, Encoded, Ints, Query, RowQueries, all_fit, row_queries_of
from unmask.types import Dataset

# Items in tokens by data and what decides its tokens: measures that agree share them.
Cache: TypeAlias = dict[tuple[object, ...], EncodedItems]


@dataclass(frozen=True, slots=True)
class Planned:
    """What one measure asks on one data set, and where each sentence's answers will be.

    Sentences are in the order of the items and of their labels. `values[s]` and `priors[s]` say
    how many questions of the value, and then of the prior, are sentence s's; an item that cannot
    be asked has none, and a reason. `unknown` of `content` tokens are not known to the tokenizer.
    `read` returns the questions as arrays, on demand. A plan read from disk has no `asks`.
    """

    measure: Likelihood
    data: Dataset
    asks: list[RowQueries]
    values: Ints
    priors: Ints
    reasons: dict[str, str]
    unknown: int
    content: int
    load_questions: Callable[[], "Questions"]

    @property
    def questions(self) -> "Questions":
        """The questions of all asks, as arrays."""
        return self.load_questions()

    @property
    def count(self) -> int:
        """The number of questions."""
        return int(self.values.sum() + self.priors.sum())

    @property
    def starts(self) -> Ints:
        """Where the questions of each sentence begin."""
        both = self.values + self.priors
        return np.asarray(np.cumsum(both) - both)

    @property
    def queries(self) -> list[Query]:
        """The questions one by one, in the order of their answers."""
        return [q for ask in self.asks for q in ask.queries]


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions of a plan, in their order: place, gold token, and its characters [n, 2].

    The characters are -1 where the question is about another row than the sentence itself.
    """

    at: Ints
    gold: Ints
    spans: Ints


def _questions(asks: Sequence[RowQueries], counts: Ints, encoded_items: EncodedItems) -> Questions:
    total = sum(len(a.at) for a in asks)
    at = np.fromiter(chain.from_iterable(a.at for a in asks), np.int64, total)
    gold = np.fromiter(chain.from_iterable(a.gold for a in asks), np.int64, total)
    return Questions(at, gold, _spans(asks, counts, encoded_items))


def _spans(asks: Sequence[RowQueries], counts: Ints, encoded_items: EncodedItems) -> Ints:
    """The characters of every question's token, in the order of the questions [n, 2]."""
    spans: list[tuple[int, int]] = []
    remaining = iter(asks)
    sentences = (e for by_label in encoded_items.sentences for e in by_label.values())
    for sentence, count in zip(sentences, counts.tolist(), strict=True):
        while count > 0:
            ask = next(remaining)
            same_row = sentence.offsets and ask.row == sentence.ids
            spans += [sentence.offsets[i] if same_row else (-1, -1) for i in ask.at]
            count -= len(ask.at)
    return np.array(spans, np.int64).reshape(-1, 2)


GROWTH = 8  # a slice may be so much larger than the one before


def slices(
    sets: Iterable[Dataset], size: int, first: int | None = None, single: int | None = None
) -> Iterator[list[tuple[Dataset, Dataset, int]]]:
    """Split data sets into slices of about `size` sentences: the whole set, the part, its start.

    Consecutive sets share a slice until it is full, so that the rows they share are run once and
    memory does not grow with the data. With a smaller `first`, slices grow from it to `size`. A set
    of more than `single` sentences has its own slices, so it is answered before the next one.
    """
    part: list[tuple[Dataset, Dataset, int]] = []
    full = room = size if first is None else first
    for data in sets:
        labels, start = len(data.items[0].texts), 0
        long = single is not None and len(data.items) * labels > single
        while start < len(data.items):
            if part and (room < labels or (long and start == 0)):
                yield part
                full = min(GROWTH * full, size)
                part, room = [], full
            items = data.items[start : start + max(room // labels, 1)]
            complete = len(items) == len(data.items)
            part.append((data, data if complete else replace(data, items=items), start))
            start, room = start + len(items), room - len(items) * labels
        room = 0 if long else room
    if part:
        yield part


def arranged(data: Dataset) -> tuple[Dataset, Ints]:
    """The data set with its longest items first, and the numbers that its items had."""
    lengths = [-max(len(text.string) for text in item.texts.values()) for item in data.items]
    order = np.argsort(lengths, kind="stable")
    return replace(data, items=tuple(data.items[i] for i in order.tolist())), order


def plan(model: Model, measure: Likelihood, data: Dataset, cache: Cache | None = None) -> Planned:
    """All questions of a measure on a data set; measures that share a `cache` encode it once."""
    cache = {} if cache is None else cache
    wording = (measure.question, measure.request)
    key = (id(data), measure.text, measure.segments, measure.fills, measure.aligned, *wording)
    if key not in cache:
        cache[key] = encode_items(model, measure, data.items)
    tokens = cache[key]
    ask, prior = measure.plans[model.kind], measure.prior.get(model.kind)
    asks: list[RowQueries] = []
    counts: list[tuple[int, int]] = []
    reasons: dict[str, str] = {}
    candidates: list[RowQueries] = []
    read_items = zip(data.items, tokens.sentences, tokens.obstacles, tokens.oddities, strict=True)
    for item, encoded, obstacle, oddity in read_items:
        reason = obstacle or ("" if measure.scores_odd else oddity)
        reason = reason or _unmarked(encoded.values(), measure.needs)
        new: list[RowQueries] = []
        question_counts: list[tuple[int, int]] = []
        for sentence in encoded.values() if not reason else ():
            value = _put(measure, ask, sentence, model.codec, new)
            before = _put(measure, prior, sentence, model.codec, new) if prior else 0
            question_counts.append((value, before))
        candidates += new
        if not reason and model.kind == "causal" and any(0 in a.at for a in new):
            reason = "its first token has no probability, because nothing precedes it"
        if not reason and measure.empty == "unscored" and not all(v for v, _ in question_counts):
            reason = measure.nothing_for(model.kind)
        if reason:
            reasons[item.id] = reason
            new, question_counts = [], [(0, 0)] * len(encoded)
        asks += new
        counts += question_counts
    _check_fit(measure, candidates)
    value_counts, prior_counts = np.array(counts, np.int64).T
    questions = partial(_questions, asks, value_counts + prior_counts, tokens)
    facts = (tokens.unknown, tokens.tokens, questions)
    return Planned(measure, data, asks, value_counts, prior_counts, reasons, *facts)


def _put(
    measure: Likelihood, plan: Plan, sentence: Encoded, codec: Codec, into: list[RowQueries]
) -> int:
    """Append the queries of a plan to `into`; return the number of questions."""
    try:
        count = 0
        for query in plan(sentence, codec):
            queries = query if isinstance(query, RowQueries) else row_queries_of([query])[0]
            into.append(queries)
            count += len(queries.at)
        return count
    except UnmaskError:
        raise
    except Exception as error:
        raise _failure(measure, error) from error


def _check_fit(measure: Likelihood, asks: Sequence[RowQueries]) -> None:
    """Refuse a plan that asks for what its rows do not have."""
    try:
        too_long = None if all_fit(asks) else next(a for a in asks if not a.fits)
    except Exception as error:
        raise _failure(measure, error) from error
    if too_long is not None:
        problem = f"{too_long!r:.80} queries positions outside its row"
        raise _failure(measure, ValueError(problem))


def _failure(measure: Likelihood, error: Exception) -> DataError:
    """Whatever a user's plan does wrong, in one sentence."""
    problem = f"{type(error).__name__}: {error}"
    return DataError(f"the plan of {measure.name!r} fails ({problem}); fix it.")


def _unmarked(sentences: Iterable[Encoded], needs: tuple[str, ...]) -> str:
    """Describe the needed role that is unmarked or in several places; empty if there is none."""
    for role in needs:
        places_of = [e.roles.get(role, ()) for e in sentences]
        if not all(places_of):
            return f"the place of its {role} is not marked"
        if not all(places == tuple(range(places[0], places[-1] + 1)) for places in places_of):
            return f"its {role} is in more than one place"
    return ""
