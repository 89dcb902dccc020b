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
    and never by the number of rows. A pass of more than `enough` tokens runs at full speed: it
    takes no row shorter than `ragged` times its longest, since padding costs more than another.
    """

    tokens: int = 2048
    logits: int = 40_000_000
    enough: int = 256
    ragged: float = 0.95

    def __post_init__(self) -> None:
        if self.tokens < 1 or self.logits < 1:
            raise ValueError("a budget must be at least 1")


GPU_TOKENS = 65_536  # padded tokens that keep a large GPU busy
GPU_FULL_SPEED = 16_384  # tokens of a pass, where nothing is known of the network
FEWEST, MOST = 2_048, 32_768  # tokens of a pass at full speed, of any network
# A layer is launched in half a millisecond: in tokens times weights, what a GPU does meanwhile in
# half precision and half as much again. Other precisions take so many times as long, but float32,
# which is launched in many parts.
LAUNCHED = 2.25e11
LONGER = {"float32": 0.75, "float64": 16.0, "tf32": 2.0}
BYTES_A_TOKEN = 200_000  # bytes that a token's states may take in a large network


def full_speed(weights: int, layers: int, precision: str) -> int:
    """Tokens of a pass in which a GPU is at work for longer than Python takes to launch it.

    A network of more weights needs fewer, and pads less with them.
    """
    wanted = LAUNCHED * layers / (max(weights, 1) * LONGER.get(precision, 1.0))
    return int(min(max(wanted, FEWEST), MOST))


def budget_for(tokens: int | str, free: int | None, enough: int = GPU_FULL_SPEED) -> Budget:
    """The budget of a device with `free` bytes (None: a CPU); a number fixes the tokens.

    A pass of `enough` tokens keeps a GPU busy.
    """
    usual = Budget()
    if free is None:
        return usual if isinstance(tokens, str) else Budget(tokens)
    room = max(usual.logits, free // 32)  # logits in float32, and their sums, in an eighth
    if isinstance(tokens, str):
        tokens = max(usual.tokens, min(GPU_TOKENS, free // (2 * BYTES_A_TOKEN)))
    return Budget(tokens, room, enough, 1.0)


def batches(
    lengths: "Sequence[int] | Ints", places: "Sequence[int] | Ints", budget: Budget, vocabulary: int
) -> list[Ints]:
    """Rows grouped by length, longest first, each group within the budget and with little padding.

    `lengths[i]` are the tokens of row i and `places[i]` how many of its places go to the head.
    Longest first: if memory is too small for the budget, it shows at once.
    """
    lengths, places = np.asarray(lengths, np.int64), np.asarray(places, np.int64)
    order = np.argsort(-lengths, kind="stable")
    falling, asked = -lengths[order], np.concatenate([[0], np.cumsum(places[order])])
    groups: list[Ints] = []
    start, count = 0, len(order)
    while start < count:
        # The first of a group is its longest, which is what the others are padded to.
        longest = max(int(-falling[start]), 1)
        full = start + budget.tokens // longest
        room = asked[start] + budget.logits // vocabulary
        head = int(np.searchsorted(asked, room, side="right")) - 1
        shorter = int(np.searchsorted(falling, -budget.ragged * longest, side="right"))
        ragged = max(shorter, start + budget.enough // longest)
        end = max(min(full, head, ragged, count), start + 1)
        groups.append(order[start:end])
        start = end
    return groups


def padded(rows: Sequence[Sequence[int]], pad: int) -> tuple[Ints, Ints]:
    """Ids [rows, width] filled up with `pad`, and 1 where a token is real."""
    lengths = np.array([len(row) for row in rows])
    real = np.arange(int(lengths.max())) < lengths[:, None]
    ids = np.full(real.shape, pad, np.int64)
    ids[real] = np.concatenate([np.asarray(row, np.int64) for row in rows])
    return ids, real.astype(np.int64)
