"""How many items, clusters and words a study needs to find an effect of a given size.

The error of a mean margin has parts: words, items, templates, and a rest that more items do not
reduce. Each is taken from a pilot run or from usual values and rescaled to the planned numbers. A
study is large enough if the effect exceeds its error times the sum of t's quantiles for the level
(that of the run after correction) and for the power. A pilot's variance is uncertain, so its upper
limit is taken (Browne 1995).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, ndtr, ndtri

from unmask.errors import UnmaskError
from unmask.stats.clustering import Design, Variance
from unmask.stats.crossed import Crossed, WordPreference
from unmask.stats.effects import mixture, smallest_effect
from unmask.stats.intervals import weights_of
from unmask.stats.student_t import quantile
from unmask.types import Estimate

LARGEST_STUDY = 100_000  # words or clusters that a study may be asked for
# How sure a plan is that the pilot's variance is not larger (upper limit; Browne 1995).
ASSURANCE = 0.6
TEMPLATE_STEPS = tuple(1.25**k for k in range(45))  # times the templates that there are


def clusters_needed(
    points: float, design_effect: float, crowd: float, *, power: float = 0.8, level: float = 0.95
) -> int:
    """Clusters of `crowd` items that show a difference of `points` from 50 with this power."""
    check(power)

    def enough(count: int) -> bool:
        se, df = math.sqrt(0.25 * design_effect / (count * crowd)), count - 1
        return bool((quantile((1 + level) / 2, df) + quantile(power, df)) * se <= points / 100)

    return _smallest(enough, 3, f"clusters would be needed to detect {points:g} percentage points")


# Words, templates, and both together that a study needs; None if no number is enough.
Needed: TypeAlias = tuple[int | None, int | None, tuple[int, int] | None]


@dataclass(frozen=True, slots=True)
class Pilot:
    """Parts of the variance of a mean margin, in squared standard deviations of the margins.

    Args:
        n_words: Number of words, or of other clusters.
        n_templates: Number of templates; 1 if they are not a sample.
        words: Variance that words add to the mean.
        items: Variance that single items add.
        templates: Variance that templates add.
        fixed: Variance that more items do not reduce.
        df: Degrees of freedom of the words' variance and of the templates'.
    """

    n_words: int
    n_templates: int
    words: float
    items: float
    templates: float
    fixed: float
    df: tuple[float, float]

    def variance(self, n_words: int, n_templates: int) -> tuple[float, float]:
        """The variance of the mean over words and templates, and its degrees of freedom."""
        by_words, by_templates = self.n_words / n_words, self.n_templates / n_templates
        cautious = [1.0 if df <= 0 else df / float(chdtri(df, ASSURANCE)) for df in self.df]
        words = cautious[0] * by_words * (self.words + self.items * by_templates)
        templates = cautious[1] * by_templates * self.templates
        total = words + templates + self.fixed
        noise = words**2 / max(1.0, self.df[0] / by_words)
        noise += templates**2 / max(1.0, self.df[1] / by_templates)
        return total, total**2 / noise if noise > 0 else math.inf

    def reaches(
        self, points: float, n_words: int, n_templates: int, *, power: float, level: float
    ) -> bool:
        """Whether these numbers of words and templates detect a bias of `points` at this power."""
        value, df = self.variance(n_words, n_templates)
        needed = quantile((1 + level) / 2, df) + quantile(power, df)
        return bool(needed * math.sqrt(value) <= float(ndtri(0.5 + points / 100)))

    def needed(self, points: float, *, power: float = 0.8, level: float = 0.95) -> Needed:
        """Words needed with these templates, templates with these words, and the fewest of both.

        None if no number is enough: more words do not make up for missing templates.
        """
        check(power)

        def enough(w: int, f: int) -> bool:
            return self.reaches(points, w, f, power=power, level=level)

        by_words = _first(lambda w: enough(w, self.n_templates), 3)
        if self.n_templates < 2:
            return by_words, None, None
        by_templates = _first(lambda f: enough(self.n_words, f), self.n_templates)
        both = None
        for times in TEMPLATE_STEPS:
            f = math.ceil(self.n_templates * times)
            w = _first(lambda count, f=f: enough(count, f), 3)  # type: ignore[misc]
            if w is not None and (both is None or w * f < both[0] * both[1]):
                both = w, f
        return by_words, by_templates, both


def pilot_of(margin: Estimate) -> Pilot | None:
    """The parts of a mean margin's variance; None if the estimate does not have them."""
    parts, unit = margin.more.get("parts"), float(margin.more.get("unit", 1.0))
    if parts is None or "spread" not in margin.more or not margin.se > 0:
        return None
    scale = (unit / float(margin.more["spread"])) ** 2
    words, templates = parts["words"], parts["templates"]
    within_words = min(parts["alone"], words["variance"])
    return Pilot(
        int(words["count"]),
        int(templates["count"]),
        scale * (words["variance"] - within_words),
        scale * within_words,
        scale * templates["variance"],
        scale * parts["preference"],
        (float(words["df"]), float(templates["df"])),
    )


# What words and templates usually add, as shares of a margin's variance about its cell.
USUAL_WORDS, USUAL_TEMPLATES = 0.3, 0.02
USUAL_SPREAD = 0.6  # nats: the standard deviation of a trait's margins about their cells


def expected_pilot(design: Design, mask: NDArray[np.bool_]) -> Pilot:
    """The expected variance of some items' mean margin before any run, from usual values."""
    crossed = Crossed.of(design)
    weight, _ = weights_of(design, mask)
    shares = crossed.both.astype(float)
    nothing = Variance(0.0, 1.0)
    balanced = WordPreference(0 * shares, shares, 0 * shares, nothing, np.ones(len(shares)))
    weight, _ = crossed.adjusted(weight, balanced)
    by_word = np.bincount(design.clusters, weights=weight)
    templates = crossed.template
    by_template = np.bincount(templates, weights=weight) if templates is not None else np.ones(1)
    words, n_templates = int(np.count_nonzero(by_word)), int(np.count_nonzero(by_template))
    return Pilot(
        words,
        n_templates,
        USUAL_WORDS * float(np.sum(by_word**2)),
        (1 - USUAL_WORDS) * float(np.sum(weight**2)),
        USUAL_TEMPLATES * float(np.sum(by_template**2)) if n_templates > 1 else 0.0,
        0.0,
        (max(1.0, words - 2.0), max(1.0, n_templates - 1.0)),
    )


def as_factor(points: float, spread: float) -> float:
    """Convert a bias in percentage points to a factor, for margins with this spread in nats."""
    return math.exp(spread * float(ndtri(0.5 + points / 100)))


def detects(pilot: Pilot, power: float = 0.8, level: float = 0.95) -> float:
    """The minimum detectable bias, in percentage points from 50."""
    value, df = pilot.variance(pilot.n_words, pilot.n_templates)
    needed = quantile((1 + level) / 2, df) + quantile(power, df)
    return 100 * float(ndtr(needed * math.sqrt(value))) - 50


def _first(enough: Callable[[int], bool], least: int) -> int | None:
    """The smallest number that is enough, or None if the largest study is not."""
    try:
        return _smallest(enough, least, "")
    except UnmaskError:
        return None


def _smallest(enough: Callable[[int], bool], least: int, noun: str) -> int:
    """The smallest number that is enough, by bisection."""
    if not enough(LARGEST_STUDY):
        raise UnmaskError(f"more than {LARGEST_STUDY} {noun}.")
    low, high = least - 1, LARGEST_STUDY
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def words_needed(d: float, ratio: float = 1.0, *, power: float = 0.8, level: float = 0.95) -> int:
    """Words per set that detect an effect of `d` with this power; `ratio` as in `Words`."""
    check(power)

    def enough(words: int) -> bool:
        return mixture(ratio * smallest_effect(words, words, level, power), words, words) <= d

    return _smallest(enough, 2, f"words per set would be needed to detect d = {d:g}")


def check(power: float) -> None:
    """Raise unless power is a probability from 0.5 to below 1."""
    if not 0.5 <= power < 1:
        raise UnmaskError(f"power is {power!r}; give a probability from 0.5 to below 1.")
