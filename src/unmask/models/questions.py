"""Questions sorted out: distinct rows, the places asked about in each, and who asked.

Plans give one `Ask` for a sentence; everything here is arrays. Tokens of all rows lie in one flat
buffer, and an input tensor is filled from it by index.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unmask.errors import NotApplicable
from unmask.types import NOTHING, Ask, Hidden

Ints: TypeAlias = NDArray[np.int64]


def ranges(starts: Ints, counts: Ints) -> Ints:
    """start, start + 1, ... for each start, so many as its count: one flat array."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - np.concatenate([[0], ends[:-1]]), counts)


@dataclass(frozen=True, slots=True)
class Show:
    """How one kind of model is shown a row with hidden places.

    `mask`: the token written at hidden places, if any. `shift`: how far before the asked place
    the state stands that answers. `apart`: rows with other hidden places are other rows even if
    their tokens are the same (XLNet's `perm_mask`). `check` refuses an ask that the kind cannot
    answer.
    """

    mask: int | None = None
    shift: int = 0
    apart: bool = False
    check: Callable[[Ask], None] = lambda ask: None


def masked_show(mask: int) -> Show:
    """Hidden places are written as the mask token."""
    return Show(mask=mask)


def causal_show() -> Show:
    """Left to right only: everything from the asked place on is hidden, nothing else."""

    def check(ask: Ask) -> None:
        size = len(ask.row)
        for k, at in enumerate(ask.at):
            if at < 1 or ask.hidden_at(k) != range(at, size):
                raise NotApplicable(
                    "a causal language model answers only questions that go left to right; "
                    "use 'll', 'cat' or 'lpbs' with it."
                )

    return Show(shift=1, check=check)


def permutation_show() -> Show:
    """Hidden places are shut off by `perm_mask`; `target_mapping` names the asked places."""
    return Show(apart=True)


@dataclass(frozen=True, slots=True)
class Questions:
    """Distinct rows and what is asked of them.

    `tokens` holds the rows' tokens one after the other, row r from `starts[r]` to `starts[r + 1]`;
    `hidden` the places that are shut off in each, where that is not written in the tokens. A slot
    is a place of a row that is asked about: those of row r are `slots[r]` to `slots[r + 1]`, at
    `places`. Question i asks for `gold[i]` at slot `slot[i]`; `order` sorts questions by slot.
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


def sort_out(asks: Sequence[Ask], attention: Sequence[bool], show: Show) -> Questions:
    """Find the distinct rows and places of some asks."""
    numbers: dict[tuple[Any, ...], int] = {}
    rows: list[tuple[tuple[int, ...], Hidden]] = []
    row_of: list[int] = []
    for ask in asks:
        show.check(ask)
        # A causal model sees one row, however far it has read.
        sets = (NOTHING,) if show.shift else ask.hidden
        for hidden in sets:
            key = (ask.row, hidden)
            number = numbers.setdefault(key, len(rows))
            if number == len(rows):
                rows.append(key)
            row_of += [number] * (len(ask.at) if len(sets) == 1 else 1)
    tokens, starts = _flat(rows, show)
    same = _same(tokens, starts, rows, show)
    kept = np.flatnonzero(same == np.arange(len(rows)))
    renumbered = np.empty(len(rows), np.int64)
    renumbered[kept] = np.arange(len(kept))
    row = renumbered[same[np.array(row_of, np.int64)]]
    counts = np.diff(starts)[kept]
    tokens = tokens[ranges(starts[kept], counts)]
    at = _joined([a.at for a in asks]) - show.shift
    weighted = np.repeat(np.asarray(attention, bool), [len(a.at) for a in asks])
    attended = np.zeros(len(kept), bool)
    attended[row[weighted]] = True
    width = int(counts.max()) + 1 if len(counts) else 1
    unique, slot = np.unique(row * width + at, return_inverse=True)
    order = np.argsort(slot, kind="stable")
    edges = np.arange(len(kept) + 1)
    return Questions(
        tokens=tokens,
        starts=np.concatenate([[0], np.cumsum(counts)]),
        hidden=[tuple(sorted(rows[k][1])) for k in kept] if show.apart else None,
        attended=attended,
        places=unique % width,
        slots=np.searchsorted(unique // width, edges),
        slot=slot,
        gold=_joined([a.gold for a in asks]),
        order=order,
        first=np.searchsorted(row[order], edges),
    )


def _joined(parts: Sequence[Sequence[int]]) -> Ints:
    flat = [v for part in parts for v in part]
    return np.array(flat, np.int64)


def _flat(rows: Sequence[tuple[tuple[int, ...], Hidden]], show: Show) -> tuple[Ints, Ints]:
    """The tokens of all rows, hidden places written as the mask token where there is one."""
    counts = np.array([len(r) for r, _ in rows], np.int64)
    starts = np.concatenate([[0], np.cumsum(counts)])
    tokens = np.fromiter((t for r, _ in rows for t in r), np.int64, int(starts[-1]))
    if show.mask is not None:
        places = [int(s) + i for s, (_, hidden) in zip(starts, rows, strict=False) for i in hidden]
        tokens[np.array(places, np.int64)] = show.mask
    return tokens, starts


def _same(
    tokens: Ints, starts: Ints, rows: Sequence[tuple[tuple[int, ...], Hidden]], show: Show
) -> Ints:
    """For each row the first one with the same tokens (and hidden places, where those count)."""
    if show.mask is None:
        return np.arange(len(rows))
    data, size = tokens.tobytes(), tokens.itemsize
    seen: dict[bytes, int] = {}
    bounds = (starts * size).tolist()
    return np.array(
        [seen.setdefault(data[a:b], i) for i, (a, b) in enumerate(pairwise(bounds))],
        np.int64,
    )
