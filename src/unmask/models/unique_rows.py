"""Distinct rows of tokens, the places queried in each, and the questions about them.

A plan gives one `RowQueries` per sentence; everything here is arrays. A row is a sentence with some
hidden places. Distinct rows are found by these two first, and only then by their tokens, which form
one flat buffer from which input tensors are filled by index.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.errors import NotApplicable
from unmask.models.batches import Budget, batches
from unmask.models.prefix_trees import TreeNumbers, tree_numbers
from unmask.queries import EACH, LATER, Hidden, Ints, RowQueries, ranges
from unmask.types import Kind

WORTH = 0.9  # trees pay if they leave at most this share of the tokens


@dataclass(frozen=True, slots=True)
class MaskingRule:
    """How a kind of model is given a row with hidden places.

    `mask`: the token written at hidden places, if any. `shift`: how many places before the queried
    one its answer is read. `apart`: rows with different hidden places are distinct even if their
    tokens are equal (XLNet's `perm_mask`). `trees`: rows with a common beginning are given
    together. `check` refuses queries that the kind cannot answer.
    """

    mask: int | None = None
    shift: int = 0
    apart: bool = False
    trees: bool = False
    check: Callable[[RowQueries], None] = lambda ask: None

    @property
    def decides(self) -> str:
        """All that determines the rows of some queries, as text."""
        return repr((self.mask, self.shift, self.apart, self.trees))


def causal_rule(trees: bool = False) -> MaskingRule:
    """Read from left to right: everything from the queried place on is hidden, and nothing else."""

    def check(ask: RowQueries) -> None:
        size = len(ask.row)
        left_to_right = ask.hidden == LATER or all(
            ask.hidden_at(k) == range(at, size) for k, at in enumerate(ask.at)
        )
        if not left_to_right or min(ask.at) < 1:
            raise NotApplicable(
                "a causal language model only predicts from left to right; "
                "use 'll', 'cat' or 'lpbs' with it."
            )

    return MaskingRule(shift=1, trees=trees, check=check)


def masking_rule(kind: Kind, stream: str, codec: Any, trees: bool = False) -> MaskingRule:
    """Return the rule for a kind of model and a stream; `trees` if a causal network reads them."""
    if kind == "causal":
        return causal_rule(trees)
    if kind == "permutation" and stream not in ("written", "untyped"):
        return MaskingRule(apart=True)
    return MaskingRule(mask=codec.mask_id)


@dataclass(frozen=True, slots=True)
class UniqueRows:
    """Distinct rows and the questions about them.

    `tokens` holds the rows' tokens one after the other, row r from `starts[r]` to `starts[r + 1]`;
    `hidden` the hidden places of each row, if its tokens do not show them. A slot is a queried
    place of a row: row r has the slots `slots[r]` to `slots[r + 1]`, at `places`. Question i asks
    for `gold[i]` at slot `slot[i]`; `order` sorts questions by slot. With `trees`, rows with a
    common beginning are in one batch.
    """

    tokens: Ints
    starts: Ints
    hidden: list[tuple[int, ...]] | None
    attended: NDArray[np.bool_]
    places: Ints
    slots: Ints
    slot: Ints
    gold: Ints
    order: Ints
    first: Ints  # row -> its first question in `order`; has one entry more than there are rows
    trees: TreeNumbers | None = None

    @property
    def lengths(self) -> Ints:
        """Tokens of each row."""
        return np.diff(self.starts)

    def of(self, group: Ints) -> Ints:
        """The numbers of the questions about some rows, row by row, sorted by slot."""
        return self.order[ranges(self.first[group], self.first[group + 1] - self.first[group])]

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(self.starts) - 1

    def jobs(self, budget: Budget, vocabulary: int) -> Iterator[tuple[Ints, bool]]:
        """Yield all batches, each with whether it needs attention weights."""
        for weighted in (True, False):
            for group in self.batches(budget, vocabulary, weighted):
                yield group, weighted

    def batches(self, budget: Budget, vocabulary: int, weighted: bool) -> Iterator[Ints]:
        """Yield batches of row numbers: rows that need attention weights, or the others."""
        rows = np.flatnonzero(self.attended == weighted)
        if self.trees is not None and not weighted:
            single = self.trees.alone[rows]
            yield from self._by_tree(self.trees, rows[~single], budget, vocabulary)
            rows = rows[single]
        places = np.diff(self.slots)[rows]
        for group in batches(self.lengths[rows], places, budget, vocabulary):
            yield rows[group]

    def _by_tree(
        self, trees: TreeNumbers, rows: Ints, budget: Budget, vocabulary: int
    ) -> Iterator[Ints]:
        """Batches of whole trees, as row numbers."""
        present, index = np.unique(trees.number[rows], return_inverse=True)
        places = np.bincount(index, weights=np.diff(self.slots)[rows]).astype(np.int64)
        order, counts = np.argsort(index, kind="stable"), np.bincount(index)
        starts = np.cumsum(counts) - counts
        for group in batches(trees.sizes[present], places, budget, vocabulary):
            yield rows[order[ranges(starts[group], counts[group])]]

    def part(self, group: Ints) -> "UniqueRows":
        """Return the questions about some rows; its question i is number `of(group)[i]` here."""
        lengths, numbers = self.lengths[group], self.of(group)
        counts = self.slots[group + 1] - self.slots[group]
        asked = self.first[group + 1] - self.first[group]
        slots = np.concatenate([[0], np.cumsum(counts)])
        return UniqueRows(
            tokens=self.tokens[ranges(self.starts[group], lengths)],
            starts=np.concatenate([[0], np.cumsum(lengths)]),
            hidden=None if self.hidden is None else [self.hidden[r] for r in group.tolist()],
            attended=self.attended[group],
            places=self.places[ranges(self.slots[group], counts)],
            slots=slots,
            slot=self.slot[numbers] + np.repeat(slots[:-1] - self.slots[group], asked),
            gold=self.gold[numbers],
            order=np.arange(len(numbers)),
            first=np.concatenate([[0], np.cumsum(asked)]),
            trees=None if self.trees is None else self.trees.of(group),
        )

    def in_trees(self) -> "UniqueRows":
        """Return it with rows in trees by their beginnings, or unchanged if trees would not pay."""
        numbers = tree_numbers(self.tokens, self.starts)
        saves_little = numbers.sizes.sum() > WORTH * self.lengths.sum()
        return self if saves_little else replace(self, trees=numbers)


def find_unique_rows(
    asks: Sequence[RowQueries], attention: Sequence[bool], show: MaskingRule
) -> UniqueRows:
    """Find the distinct rows and places of some queries."""
    counts = np.array([len(a.at) for a in asks], np.int64)
    at = _joined((a.at for a in asks), int(counts.sum()))
    sentences: dict[tuple[int, ...], int] = {}
    numbers = [sentences.setdefault(a.row, len(sentences)) for a in asks]
    hiding = _Hiding(max(map(len, sentences), default=0) + 1)
    code = hiding.codes(asks, counts, at, show)
    keys = np.repeat(np.array(numbers, np.int64), counts) * hiding.size + code
    pairs, row = np.unique(keys, return_inverse=True)
    row_index, code = np.divmod(pairs, hiding.size)
    tokens, starts = _flat(list(sentences), row_index, code, hiding, show)
    equal_rows = _first_equal(tokens, starts, show)
    indices, renumbered = np.unique(equal_rows, return_inverse=True)
    row, lengths = renumbered[row], np.diff(starts)[indices]
    weighted = np.repeat(np.asarray(attention, bool), counts)
    attended = np.zeros(len(indices), bool)
    attended[row[weighted]] = True
    width = hiding.width
    unique, slot = np.unique(row * width + (at - show.shift), return_inverse=True)
    order = np.argsort(slot, kind="stable")
    edges = np.arange(len(indices) + 1)
    rows = UniqueRows(
        tokens=tokens[ranges(starts[indices], lengths)],
        starts=np.concatenate([[0], np.cumsum(lengths)]),
        hidden=hiding.places(code[indices]) if show.apart else None,
        attended=attended,
        places=unique % width,
        slots=np.searchsorted(unique // width, edges),
        slot=slot,
        gold=_joined((a.gold for a in asks), len(at)),
        order=order,
        first=np.searchsorted(row[order], edges),
    )
    return rows.in_trees() if show.trees else rows


class _Hiding:
    """Sets of hidden places as codes: 0 for none, i + 1 for place i alone, larger for others."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.others: dict[frozenset[int], int] = {}

    @property
    def size(self) -> int:
        """A number greater than every code so far."""
        return self.width + len(self.others)

    def codes(self, asks: Sequence[RowQueries], counts: Ints, at: Ints, show: MaskingRule) -> Ints:
        """Return the code of the places that each question does not see."""
        if show.shift:  # a causal model sees one row, however far it has read
            for ask in asks:
                show.check(ask)
            return np.zeros(len(at), np.int64)
        code = at + 1  # the code if each place is hidden alone
        sets = [a.hidden for a in asks]
        singles = np.array([s != EACH and len(s) == 1 for s in sets], bool)
        several = np.array([s != EACH and len(s) != 1 for s in sets], bool)
        numbers = [self._number(s[0]) for s in compress(sets, singles)]  # type: ignore[arg-type]
        code[np.repeat(singles, counts)] = np.repeat(np.array(numbers, np.int64), counts[singles])
        several_rows = compress(asks, several)
        hidden_numbers = [
            self._number(a.hidden_at(k)) for a in several_rows for k in range(len(a.at))
        ]
        code[np.repeat(several, counts)] = hidden_numbers
        return code

    def _number(self, hidden: Hidden) -> int:
        if len(hidden) < 2:
            return max(hidden, default=-1) + 1
        return self.others.setdefault(frozenset(hidden), self.size)

    def places(self, codes: Ints) -> list[tuple[int, ...]]:
        """Return the places that some codes stand for."""
        by_code = [(), *((i,) for i in range(self.width - 1)), *map(sorted, self.others)]
        return [tuple(by_code[c]) for c in codes.tolist()]


def _joined(parts: Iterable[Sequence[int]], count: int) -> Ints:
    return np.fromiter(chain.from_iterable(parts), np.int64, count)


def _flat(
    sentences: Sequence[tuple[int, ...]],
    row: Ints,
    code: Ints,
    hiding: _Hiding,
    show: MaskingRule,
) -> tuple[Ints, Ints]:
    """The tokens of all rows, hidden places written as the mask token where there is one."""
    sizes = np.array([len(s) for s in sentences], np.int64)
    stream = _joined(sentences, int(sizes.sum()))
    lengths = sizes[row]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    tokens = stream[ranges((np.cumsum(sizes) - sizes)[row], lengths)]
    if show.mask is not None:
        single = (code > 0) & (code < hiding.width)
        tokens[starts[:-1][single] + code[single] - 1] = show.mask
        place_lists = [np.array(list(places), np.int64) for places in hiding.others]
        for r in np.flatnonzero(code >= hiding.width).tolist():
            tokens[starts[r] + place_lists[code[r] - hiding.width]] = show.mask
    return tokens, starts


def _first_equal(tokens: Ints, starts: Ints, show: MaskingRule) -> Ints:
    """Return for each row the first row with equal tokens, if the tokens alone identify a row."""
    if show.mask is None:
        return np.arange(len(starts) - 1)
    data, size = tokens.tobytes(), tokens.itemsize
    first_rows: dict[bytes, int] = {}
    bounds = (starts * size).tolist()
    return np.array(
        [first_rows.setdefault(data[a:b], i) for i, (a, b) in enumerate(pairwise(bounds))], np.int64
    )
