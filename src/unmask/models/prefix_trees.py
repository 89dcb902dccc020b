"""Rows with a common beginning as trees: a causal network reads that beginning once.

The sentences of an item mostly differ in one word. Sorted alphabetically, their rows form a tree:
each row adds the tokens after those that it shares with the row before. To the network a tree is
one row, in which each token keeps its position in its sentence and sees only its own beginning.
Without it a whole run of Llama takes 1.5 times as long (H200).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unmask.queries import Ints, ranges

LEAST_SHARED = 0.25  # minimum share of a row's tokens in common with the row before
LARGEST = 64  # maximum tokens of a tree: each sees only some of them, but is compared with all


def padded_rows(tokens: Ints, starts: Ints) -> Ints:
    """Return rows as a table [rows, width], padded with -1."""
    lengths = np.diff(starts)
    table = np.full((len(lengths), int(lengths.max(initial=0))), -1, np.int64)
    table[np.arange(table.shape[1]) < lengths[:, None]] = tokens
    return table


def shared_beginnings(rows: Ints) -> Ints:
    """Count the leading tokens that each row [rows, width] shares with the row before."""
    shared = (rows[1:] == rows[:-1]) & (rows[1:] >= 0)
    return np.concatenate([[0], np.cumprod(shared, axis=1).sum(1)]).astype(np.int64)


@dataclass(frozen=True, slots=True)
class TreeNumbers:
    """The tree that each row belongs to [rows], and the number of tokens of each tree."""

    number: Ints
    sizes: Ints

    @property
    def alone(self) -> NDArray[np.bool_]:
        """Whether each row is the only one of its tree [rows]."""
        return np.asarray(np.bincount(self.number)[self.number] == 1)

    def of(self, rows: Ints) -> "TreeNumbers":
        """Return the tree numbers of some rows."""
        return TreeNumbers(self.number[rows], self.sizes)


def tree_numbers(tokens: Ints, starts: Ints) -> TreeNumbers:
    """Assign rows with a common beginning to trees; row r is `tokens[starts[r]:starts[r + 1]]`."""
    if len(starts) < 2:
        return TreeNumbers(np.empty(0, np.int64), np.empty(0, np.int64))
    table = padded_rows(tokens, starts)
    order = np.lexsort(table.T[::-1]) if table.size else np.arange(len(table))
    lengths = np.diff(starts)[order]
    shared = shared_beginnings(table[order])
    number = np.zeros(len(order), np.int64)
    sizes: list[int] = []
    close = shared >= np.maximum(LEAST_SHARED * lengths, 1)
    steps = zip(close.tolist(), shared.tolist(), lengths.tolist(), strict=True)
    for place, (joins, common, length) in enumerate(steps):
        if joins and sizes and sizes[-1] + length - common <= LARGEST:
            sizes[-1] += length - common
        else:
            sizes.append(length)
        number[place] = len(sizes) - 1
    numbers = np.empty(len(order), np.int64)
    numbers[order] = number
    return TreeNumbers(numbers, np.array(sizes, np.int64))


@dataclass(frozen=True, slots=True)
class Trees:
    """Rows as trees, the input of a network.

    `ids` and `places` [trees, width]: tokens, and the position of each in its sentence. `sees`
    [trees, width, width]: whether one token sees another. `tree` [rows]: the tree of each row.
    `node` [rows, longest]: the position of each of the row's tokens in its tree.
    """

    ids: Ints
    places: Ints
    sees: NDArray[np.bool_]
    tree: Ints
    node: Ints


def grown(rows: Ints, lengths: Ints, number: Ints, pad: int) -> Trees:
    """Build the trees of rows [rows, width]; rows with the same `number` share a tree."""
    order = np.lexsort((*rows.T[::-1], number))
    table, sizes, of = rows[order], lengths[order], number[order]
    first = np.concatenate([[True], of[1:] != of[:-1]])
    shared = np.where(first, 0, np.minimum(shared_beginnings(table), sizes))
    tree = np.cumsum(first) - 1
    new = sizes - shared
    ends = np.cumsum(new)
    base = ends - new - (ends - new)[first][tree]  # new tokens of the tree before this row
    node = _nodes(table.shape[1], shared, base)
    width = int((base + new).max(initial=0))
    count = int(tree[-1]) + 1 if len(tree) else 0
    ids, places = np.full((count, width), pad, np.int64), np.zeros((count, width), np.int64)
    row, place = np.repeat(np.arange(len(table)), new), ranges(shared, new)
    at = (tree[row], node[row, place])
    ids[at], places[at] = table[row, place], place
    sees = np.zeros((count, width, width), bool)
    sees[:, np.arange(width), np.arange(width)] = True  # padding sees only itself
    path = np.repeat(np.arange(len(row)), place + 1)
    before = ranges(np.zeros(len(row), np.int64), place + 1)
    sees[tree[row][path], node[row, place][path], node[row[path], before]] = True
    back = np.argsort(order)
    return Trees(ids, places, sees, tree[back], node[back])


def _nodes(width: int, shared: Ints, base: Ints) -> Ints:
    """Return the position of each token of a row in its tree [rows, width].

    Each token was added by the last row, up to its own, that shares fewer tokens than the token's
    place with the row before it.
    """
    place = np.arange(width)
    brought = np.where(place >= shared[:, None], np.arange(len(shared))[:, None], -1)
    owner = np.maximum.accumulate(brought, axis=0)
    return np.asarray(base[owner] + place - shared[owner])
