"""Batches by token budget, the same for every engine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Progress: TypeAlias = Callable[[int, int], None]  # rows just done, rows in all


@dataclass(frozen=True, slots=True)
class Budget:
    """What one forward pass may hold: padded tokens, and places times vocabulary for the head.

    A single row is always allowed, whatever its length, so memory is bounded by the longest row
    and never by the number of rows.
    """

    tokens: int = 4096
    logits: int = 40_000_000

    def __post_init__(self) -> None:
        if self.tokens < 1 or self.logits < 1:
            raise ValueError("a budget must be at least 1")


ON_GPU = 65_536  # padded tokens that keep a large GPU busy
A_TOKEN = 200_000  # bytes that a token's states may take in a large network


def budget_for(tokens: int | str, free: int | None) -> Budget:
    """The budget of a device with so many `free` bytes (None: a CPU); a number fixes the tokens."""
    usual = Budget()
    if free is None:
        return usual if isinstance(tokens, str) else Budget(tokens)
    room = max(usual.logits, free // 32)  # logits in float32, and their sums, in an eighth
    if isinstance(tokens, str):
        tokens = max(usual.tokens, min(ON_GPU, free // (2 * A_TOKEN)))
    return Budget(tokens, room)


ENOUGH = 256  # padded tokens from which a pass runs at full speed
RAGGED = 0.8


def batches(
    lengths: "Sequence[int] | Ints", places: "Sequence[int] | Ints", budget: Budget, vocabulary: int
) -> list[list[int]]:
    """Rows grouped by length, longest first, each group within the budget and with little padding.

    `lengths[i]` are the tokens of row i and `places[i]` how many of its places go to the head.
    Longest first: if memory is too small for the budget, it shows at once.
    """
    lengths, places = np.asarray(lengths).tolist(), np.asarray(places).tolist()
    order = np.argsort(-np.asarray(lengths, np.int64), kind="stable").tolist()
    groups: list[list[int]] = []
    group: list[int] = []
    asked = 0
    for i in order:
        # The first of a group is its longest, which is what the others are padded to.
        tokens = (len(group) + 1) * (lengths[group[0]] if group else lengths[i])
        logits = (asked + places[i]) * vocabulary
        # A large group stops where rows become shorter: padding costs more than another pass.
        ragged = tokens > ENOUGH and lengths[i] < RAGGED * lengths[group[0] if group else i]
        if group and (tokens > budget.tokens or logits > budget.logits or ragged):
            groups.append(group)
            group, asked = [], 0
        group.append(i)
        asked += places[i]
    return [*groups, group] if group else groups
