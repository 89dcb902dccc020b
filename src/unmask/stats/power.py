"""How many items, clusters and words a study needs to find an effect of a given size."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from scipy.special import chdtri

from unmask.errors import UnmaskError
from unmask.stats.effects import mixture, smallest_effect
from unmask.stats.student_t import quantile

LARGEST_STUDY = 100_000  # words or clusters that a study may be asked for
# How sure a plan is that the pilot's variance is not larger (upper limit; Browne 1995).
ASSURANCE = 0.6
TEMPLATE_STEPS = tuple(1.25**k for k in range(45))  # times the templates at hand


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


@dataclass(frozen=True, slots=True)
class Kind:
    """Words or templates of a pilot: their number, how alike their items are, and how sure that is.

    `df` are the degrees of freedom of the correlation's estimate.
    """

    count: int
    correlation: float
    df: float

    def feared(self, crowd: float) -> float:
        """The upper limit of the correlation (Browne 1995), units having `crowd` items each."""
        if crowd <= 1:
            return self.correlation
        ratio = 1 + (crowd - 1) * self.correlation
        worse = ratio * self.df / float(chdtri(self.df, ASSURANCE))
        return min(1.0, (worse - 1) / (crowd - 1))


@dataclass(frozen=True, slots=True)
class Pilot:
    """What a run shows of the error of a share: words, templates, and items of each word.

    `spread` is the variance of one answer.
    """

    items: int
    spread: float
    words: Kind
    templates: Kind | None = None

    def reaches(
        self, points: float, words: int, templates: int, *, power: float, level: float
    ) -> bool:
        """Whether so many words and templates show a difference of `points` with this power."""
        each = self.items / self.words.count
        grown = templates / self.templates.count if self.templates else 1.0
        items = words * each * grown
        alone = self.spread / items
        kinds = [(self.words, words)] + ([(self.templates, templates)] if self.templates else [])
        value, noise = alone, 0.0
        for kind, count in kinds:
            own = alone + self.spread * kind.feared(self.items / kind.count) * (
                1 / count - 1 / items
            )
            value += own - alone
            noise += own**2 / max(1.0, kind.df * count / kind.count)
        df = value**2 / noise
        needed = quantile((1 + level) / 2, df) + quantile(power, df)
        return bool(needed * math.sqrt(value) <= points / 100)

    def needed(
        self, points: float, *, power: float = 0.8, level: float = 0.95
    ) -> tuple[int | None, int | None, tuple[int, int] | None]:
        """Words with these templates, templates with these words, and the fewest items with both.

        None where no number is enough: other words do not make templates more.
        """
        check(power)
        templates, words = (self.templates.count if self.templates else 1), self.words.count

        def enough(w: int, f: int) -> bool:
            return self.reaches(points, w, f, power=power, level=level)

        by_words = _first(lambda w: enough(w, templates), 3)
        by_templates = _first(lambda f: enough(words, f), templates) if self.templates else None
        both = None
        if self.templates:
            for times in TEMPLATE_STEPS:
                f = math.ceil(templates * times)
                w = _first(lambda count, f=f: enough(count, f), 3)  # type: ignore[misc]
                if w is not None and (both is None or w * f < both[0] * both[1]):
                    both = w, f
        return by_words, by_templates, both


def pilot_of(details: Mapping[str, Any], n: int) -> Pilot:
    """What a result shows of its error; one of an earlier version has only its design effect."""
    shared = details.get("shared")
    if shared is None:
        clusters = int(details.get("clusters") or n)
        alike = likeness(details.get("design_effect") or 1.0, n / clusters)
        return Pilot(n, 0.25, Kind(clusters, alike, max(clusters - 1.0, 1.0)))
    kinds = {k: Kind(**shared[k]) for k in ("words", "templates") if k in shared}
    return Pilot(n, shared["spread"], **kinds)


def _first(enough: Callable[[int], bool], least: int) -> int | None:
    """The smallest number that is enough, or None if the largest study is not."""
    try:
        return _smallest(enough, least, "")
    except UnmaskError:
        return None


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
