"""Batches by token budget, the same for every engine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Progress: TypeAlias = Callable[[int, int], None]  # rows just done, rows in total


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of one forward pass: padded tokens, and places times vocabulary for the head.

    A single row is always allowed, whatever its length, so the longest row bounds the memory, not
    the number of rows. A pass of at least `enough` tokens already runs at full speed: beyond that
    it takes no row shorter than `ragged` times its longest, because padding would cost more than
    another pass.
    """

    tokens: int = 2048
    logits: int = 40_000_000
    enough: int = 256
    ragged: float = 0.95

    def __post_init__(self) -> None:
        if self.tokens < 1 or self.logits < 1:
            raise ValueError("a budget must be at least 1")


GPU_TOKENS = 65_536  # padded tokens that keep a large GPU busy
GPU_FULL_SPEED = 16_384  # tokens for full speed if the network's size is unknown
FEWEST, MOST = 2_048, 32_768  # tokens for full speed, at least and at most, for any network
# Launching a layer takes half a millisecond. In tokens times weights, a GPU computes this much
# meanwhile in half precision, plus a half. LONGER has the factors of other precisions; float32 is
# launched in many parts, hence its factor below 1.
LAUNCHED = 2.25e11
LONGER = {"float32": 0.75, "float64": 16.0, "tf32": 2.0}
BYTES_A_TOKEN = 200_000  # bytes that the states of a token may take in a large network


def full_speed(weights: int, layers: int, precision: str) -> int:
    """Return the tokens per pass that keep a GPU busy for longer than Python needs to launch it.

    A larger network needs fewer tokens, and so less padding.
    """
    tokens_needed = LAUNCHED * layers / (max(weights, 1) * LONGER.get(precision, 1.0))
    return int(min(max(tokens_needed, FEWEST), MOST))


def budget_for(tokens: int | str, free: int | None, enough: int = GPU_FULL_SPEED) -> Budget:
    """Return the budget of a device with `free` bytes (None: a CPU).

    A number for `tokens` sets the limit directly; a pass of `enough` tokens keeps a GPU busy.
    """
    usual = Budget()
    if free is None:
        return usual if isinstance(tokens, str) else Budget(tokens)
    room = max(usual.logits, free // 32)  # float32 logits and their sums, in an eighth
    if isinstance(tokens, str):
        tokens = max(usual.tokens, min(GPU_TOKENS, free // (2 * BYTES_A_TOKEN)))
    return Budget(tokens, room, enough, 1.0)


def batches(
    lengths: "Sequence[int] | Ints", places: "Sequence[int] | Ints", budget: Budget, vocabulary: int
) -> list[Ints]:
    """Group rows by length, longest first, each group within the budget and with little padding.

    `lengths[i]` is the number of tokens of row i, `places[i]` the number of its places that the
    head reads. The longest come first so that a lack of memory shows at once.
    """
    lengths, places = np.asarray(lengths, np.int64), np.asarray(places, np.int64)
    order = np.argsort(-lengths, kind="stable")
    falling, cumulative = -lengths[order], np.concatenate([[0], np.cumsum(places[order])])
    groups: list[Ints] = []
    start, count = 0, len(order)
    while start < count:
        # The first row of a group is its longest; the others are padded to it.
        longest = max(int(-falling[start]), 1)
        full = start + budget.tokens // longest
        room = cumulative[start] + budget.logits // vocabulary
        head = int(np.searchsorted(cumulative, room, side="right")) - 1
        shorter = int(np.searchsorted(falling, -budget.ragged * longest, side="right"))
        ragged = max(shorter, start + budget.enough // longest)
        end = max(min(full, head, ragged, count), start + 1)
        groups.append(order[start:end])
        start = end
    return groups


def padded(rows: Sequence[Sequence[int]], pad: int) -> tuple[Ints, Ints]:
    """Pad rows to ids [rows, width], and return them with a mask that is 1 for real tokens."""
    lengths = np.array([len(row) for row in rows])
    real = np.arange(int(lengths.max())) < lengths[:, None]
    ids = np.full(real.shape, pad, np.int64)
    ids[real] = np.concatenate([np.asarray(row, np.int64) for row in rows])
    return ids, real.astype(np.int64)
