"""How many items, clusters and words a study needs to find an effect of a given size."""

import math

from scipy.stats import t

from unmask.errors import UnmaskError
from unmask.stats.effects import mixture, smallest_effect

MOST = 100_000  # words or clusters that a study may be asked for


def likeness(design_effect: float, crowd: float) -> float:
    """The intraclass correlation behind a design effect with so many items a cluster."""
    return max(0.0, (design_effect - 1) / (crowd - 1)) if crowd > 1 else 0.0


def clusters_needed(
    points: float, design_effect: float, crowd: float, *, power: float = 0.8, level: float = 0.95
) -> int:
    """Clusters of `crowd` items that show a difference of `points` from 50 with this power."""
    check(power)
    count = 3
    while count <= MOST:
        se = math.sqrt(0.25 * design_effect / (count * crowd))
        df = count - 1
        if (t.ppf((1 + level) / 2, df) + t.ppf(power, df)) * se <= points / 100:
            return count
        count = max(count + 1, int(count * 1.01))
    raise UnmaskError(f"more than {MOST} clusters would be needed to show {points:g} points.")


def words_needed(d: float, ratio: float = 1.0, *, power: float = 0.8, level: float = 0.95) -> int:
    """Words a side that show an effect of `d` with this power; `ratio` as in `Words`."""
    check(power)
    words = 2
    while words <= MOST:
        if mixture(ratio * smallest_effect(words, words, level, power), words, words) <= d:
            return words
        words = max(words + 1, int(words * 1.01))
    raise UnmaskError(f"more than {MOST} words a side would be needed to show d = {d:g}.")


def check(power: float) -> None:
    """Power is a probability, and more than a coin's."""
    if not 0.5 <= power < 1:
        raise UnmaskError(f"power is {power!r}; give a probability from 0.5 to below 1.")
