"""How many items, clusters and words a study needs to find an effect of a given size."""

import math
from collections.abc import Callable

from unmask.errors import UnmaskError
from unmask.stats.effects import mixture, smallest_effect
from unmask.stats.student_t import quantile

LARGEST_STUDY = 100_000  # words or clusters that a study may be asked for


def likeness(design_effect: float, crowd: float) -> float:
    """The intraclass correlation behind a design effect, given the items per cluster."""
    return max(0.0, (design_effect - 1) / (crowd - 1)) if crowd > 1 else 0.0


def clusters_needed(
    points: float, design_effect: float, crowd: float, *, power: float = 0.8, level: float = 0.95
) -> int:
    """Clusters of `crowd` items that show a difference of `points` from 50 with this power."""
    check(power)

    def enough(count: int) -> bool:
        se, df = math.sqrt(0.25 * design_effect / (count * crowd)), count - 1
        return bool((quantile((1 + level) / 2, df) + quantile(power, df)) * se <= points / 100)

    return _smallest(enough, 3, f"clusters would be needed to show {points:g} points")


def _smallest(enough: Callable[[int], bool], least: int, what: str) -> int:
    """The smallest number that is enough, by bisection."""
    if not enough(LARGEST_STUDY):
        raise UnmaskError(f"more than {LARGEST_STUDY} {what}.")
    low, high = least - 1, LARGEST_STUDY
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def words_needed(d: float, ratio: float = 1.0, *, power: float = 0.8, level: float = 0.95) -> int:
    """Words a side that show an effect of `d` with this power; `ratio` as in `Words`."""
    check(power)

    def enough(words: int) -> bool:
        return mixture(ratio * smallest_effect(words, words, level, power), words, words) <= d

    return _smallest(enough, 2, f"words a side would be needed to show d = {d:g}")


def check(power: float) -> None:
    """Power is a probability, and more than a coin's."""
    if not 0.5 <= power < 1:
        raise UnmaskError(f"power is {power!r}; give a probability from 0.5 to below 1.")
