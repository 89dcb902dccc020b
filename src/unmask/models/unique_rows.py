"""Distinct rows of tokens, the places asked about in each, and the queries behind them.

Plans give one `RowQueries` for a sentence; everything here is arrays. A row is a sentence with some
places hidden: distinct rows are found by these two, and only then by their tokens, which lie in
one flat buffer that input tensors are filled from by index.
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
from unmask.queries import EACH, LATER, Hidden, Ints, RowQueries, ranges, sums
from unmask.types import Kind

WORTH = 0.9  # of the tokens may be left for trees to be worth it
FEW_ROWS = 200  # rows that are found the same one by one as fast as together


@dataclass(frozen=True, slots=True)
class MaskingRule:
    """How one kind of model is shown a row with hidden places.

    `mask`: the token written at hidden places, if any. `shift`: how far before the asked place
    the state stands that answers. `apart`: rows with other hidden places are other rows even if
    their tokens are the same (XLNet's `perm_mask`). `trees`: rows that begin alike are shown
    together. `check` refuses an ask that the kind cannot answer.
    """

    mask: int | None = None
    shift: int = 0
    apart: bool = False
    trees: bool = False
    check: Callable[[RowQueries], None] = lambda ask: None

    @property
    def decides(self) -> str:
        """All that decides the rows of some asks, in words."""
        return repr((self.mask, self.shift, self.apart, self.trees))


def masked_rule(mask: int) -> MaskingRule:
    """Hidden places are written as the mask token."""
    return MaskingRule(mask=mask)


def causal_rule(trees: bool = False) -> MaskingRule:
    """Left to right only: everything from the asked place on is hidden, nothing else."""

    def check(ask: RowQueries) -> None:
        size = len(ask.row)
        later = ask.hidden == LATER or all(
            ask.hidden_at(k) == range(at, size) for k, at in enumerate(ask.at)
        )
        if not later or min(ask.at) < 1:
            raise NotApplicable(
                "a causal language model only predicts from left to right; "
                "use 'll', 'cat' or 'lpbs' with it."
            )

    return MaskingRule(shift=1, trees=trees, check=check)


def permutation_rule() -> MaskingRule:
    """Hidden places are shut off by `perm_mask`; `target_mapping` names the asked places."""
    return MaskingRule(apart=True)


def masking_rule(kind: Kind, stream: str, codec: Any, trees: bool = False) -> MaskingRule:
    """How a kind of model is shown rows under a stream; `trees`, where a causal one reads them."""
    if kind == "causal":
        return causal_rule(trees)
    if kind == "permutation" and stream not in ("written", "untyped"):
        return permutation_rule()
    return masked_rule(codec.mask_id)


@dataclass(frozen=True, slots=True)
class UniqueRows:
    """Distinct rows and what is asked of them.

    `tokens` holds the rows' tokens one after the other, row r from `starts[r]` to `starts[r + 1]`;
    `hidden` the places that are shut off in each, where that is not written in the tokens. A slot
    is a place of a row that is asked about: those of row r are `slots[r]` to `slots[r + 1]`, at
    `places`. Question i asks for `gold[i]` at slot `slot[i]`; `order` sorts questions by slot.
    `trees`, where there are some: rows that begin alike are in one batch.
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
    first: Ints  # row -> its first question in `order`; one more than rows
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

    def batches(self, budget: Budget, vocabulary: int, weighted: bool) -> Iterator[Ints]:
        """Batches of row numbers: those that need attention weights, or the rest."""
        chosen = np.flatnonzero(self.attended == weighted)
        if self.trees is not None and not weighted:
            alone = self.trees.alone[chosen]
            yield from self._by_tree(self.trees, chosen[~alone], budget, vocabulary)
            chosen = chosen[alone]
        places = np.diff(self.slots)[chosen]
        for group in batches(self.lengths[chosen], places, budget, vocabulary):
            yield chosen[group]

    def _by_tree(
        self, trees: TreeNumbers, chosen: Ints, budget: Budget, vocabulary: int
    ) -> Iterator[Ints]:
        """Batches of whole trees, as row numbers."""
        present, which = np.unique(trees.number[chosen], return_inverse=True)
        places = np.bincount(which, weights=np.diff(self.slots)[chosen]).astype(np.int64)
        order, counts = np.argsort(which, kind="stable"), np.bincount(which)
        starts = np.cumsum(counts) - counts
        for group in batches(trees.sizes[present], places, budget, vocabulary):
            yield chosen[order[ranges(starts[group], counts[group])]]

    def part(self, group: Ints) -> "UniqueRows":
        """The questions about some rows alone; its question i is number `of(group)[i]` here."""
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
        """The same, with rows that begin alike in one tree; as it is where few do."""
        numbers = tree_numbers(self.tokens, self.starts)
        few = numbers.sizes.sum() > WORTH * self.lengths.sum()
        return self if few else replace(self, trees=numbers)


def find_unique_rows(
    asks: Sequence[RowQueries], attention: Sequence[bool], show: MaskingRule
) -> UniqueRows:
    """Find the distinct rows and places of some asks."""
    counts = np.array([len(a.at) for a in asks], np.int64)
    at = _joined((a.at for a in asks), int(counts.sum()))
    sentences: dict[tuple[int, ...], int] = {}
    numbers = [sentences.setdefault(a.row, len(sentences)) for a in asks]
    hiding = _Hiding(max(map(len, sentences), default=0) + 1)
    code = hiding.codes(asks, counts, at, show)
    keys = np.repeat(np.array(numbers, np.int64), counts) * hiding.size + code
    pairs, row = np.unique(keys, return_inverse=True)
    whose, code = np.divmod(pairs, hiding.size)
    tokens, starts = _flat(list(sentences), whose, code, hiding, show)
    same = _same(tokens, starts, show)
    indices, renumbered = np.unique(same, return_inverse=True)
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
    """Sets of hidden places as numbers: 0 for none, i + 1 for place i alone, then the others."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.others: dict[frozenset[int], int] = {}

    @property
    def size(self) -> int:
        """More than any number of a set."""
        return self.width + len(self.others)

    def codes(self, asks: Sequence[RowQueries], counts: Ints, at: Ints, show: MaskingRule) -> Ints:
        """The number of what each question does not see."""
        if show.shift:  # a causal model sees one row, however far it has read
            for ask in asks:
                show.check(ask)
            return np.zeros(len(at), np.int64)
        code = at + 1  # what it is where each place is hidden alone
        sets = [a.hidden for a in asks]
        singles = np.array([s != EACH and len(s) == 1 for s in sets], bool)
        several = np.array([s != EACH and len(s) != 1 for s in sets], bool)
        numbers = [self._number(s[0]) for s in compress(sets, singles)]  # type: ignore[arg-type]
        code[np.repeat(singles, counts)] = np.repeat(np.array(numbers, np.int64), counts[singles])
        rest = compress(asks, several)
        each = [self._number(a.hidden_at(k)) for a in rest for k in range(len(a.at))]
        code[np.repeat(several, counts)] = each
        return code

    def _number(self, hidden: Hidden) -> int:
        if len(hidden) < 2:
            return max(hidden, default=-1) + 1
        return self.others.setdefault(frozenset(hidden), self.size)

    def places(self, codes: Ints) -> list[tuple[int, ...]]:
        """The places that some numbers encode."""
        by_code = [(), *((i,) for i in range(self.width - 1)), *map(sorted, self.others)]
        return [tuple(by_code[c]) for c in codes.tolist()]


def _joined(parts: Iterable[Sequence[int]], count: int) -> Ints:
    return np.fromiter(chain.from_iterable(parts), np.int64, count)


def _flat(
    sentences: Sequence[tuple[int, ...]],
    whose: Ints,
    code: Ints,
    hiding: _Hiding,
    show: MaskingRule,
) -> tuple[Ints, Ints]:
    """The tokens of all rows, hidden places written as the mask token where there is one."""
    sizes = np.array([len(s) for s in sentences], np.int64)
    stream = _joined(sentences, int(sizes.sum()))
    lengths = sizes[whose]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    tokens = stream[ranges((np.cumsum(sizes) - sizes)[whose], lengths)]
    if show.mask is not None:
        alone = (code > 0) & (code < hiding.width)
        tokens[starts[:-1][alone] + code[alone] - 1] = show.mask
        others = [np.array(list(places), np.int64) for places in hiding.others]
        for r in np.flatnonzero(code >= hiding.width).tolist():
            tokens[starts[r] + others[code[r] - hiding.width]] = show.mask
    return tokens, starts


def _same(tokens: Ints, starts: Ints, show: MaskingRule) -> Ints:
    """For each row the first one with the same tokens, where those alone tell rows apart."""
    if show.mask is None:
        return np.arange(len(starts) - 1)
    if len(starts) > FEW_ROWS:
        mixed = _mixed(tokens, np.diff(starts))
        _, first, which = np.unique(mixed, return_index=True, return_inverse=True)
        same = np.asarray(first[which])
        if _equal(tokens, starts, same):  # else two rows mixed alike, and each is looked at
            return same
    data, size = tokens.tobytes(), tokens.itemsize
    seen: dict[bytes, int] = {}
    bounds = (starts * size).tolist()
    return np.array(
        [seen.setdefault(data[a:b], i) for i, (a, b) in enumerate(pairwise(bounds))], np.int64
    )


def _mixed(tokens: Ints, lengths: Ints) -> NDArray[np.uint64]:
    """A number for each row [rows]: rows of the same tokens have the same one, others hardly."""
    places = ranges(np.zeros(len(lengths), np.int64), lengths)
    factors = np.random.default_rng(0).integers(1, 2**63, int(lengths.max(initial=0)), np.uint64)
    with np.errstate(over="ignore"):
        spread = (tokens.astype(np.uint64) + np.uint64(1)) * factors[places]
        spread ^= spread >> np.uint64(29)
        return sums(spread * np.uint64(0x9E3779B97F4A7C15), lengths) + lengths.astype(np.uint64)


def _equal(tokens: Ints, starts: Ints, same: Ints) -> bool:
    """Whether each row has the tokens of the row that it is taken for."""
    lengths = np.diff(starts)
    if (lengths != lengths[same]).any():
        return False
    return bool((tokens == tokens[ranges(starts[:-1][same], lengths)]).all())
