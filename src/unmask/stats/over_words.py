"""The interval of a statistic of word sets: a jackknife over the words of all of them.

Each word is left out in turn (Tukey 1958); the variances of the sets add up, and t has the degrees
of freedom of Satterthwaite (1946).
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unmask.errors import DataError
from unmask.options import Resampling
from unmask.stats.clustering import Variance, added
from unmask.stats.effects import jackknife
from unmask.stats.intervals import ANYTHING, DEFAULTS, bounded, student
from unmask.stats.word_statistics import Sets, Statistic
from unmask.types import Estimate, Floats


def without_each(
    statistic: Statistic, targets: Sets, attributes: Sets, paired: str = ""
) -> list[Floats]:
    """The statistic without each word, by set, targets first.

    `paired` (`targets` or `attributes`) names the sets whose words form pairs by position. Such a
    word is left out with its partner. The value without the only word of a set is NaN.
    """
    sets, split = [*targets, *attributes], len(targets)
    pairs = {"targets": range(split), "attributes": range(split, len(sets))}.get(paired, range(0))
    by_set: list[Floats] = []
    for place, words in enumerate(sets):
        if place in pairs and place > pairs[0]:
            by_set.append(by_set[pairs[0]])
            continue
        values = np.full(len(words), math.nan)
        for k in range(len(words) if len(words) > 1 else 0):
            gone = pairs if place in pairs else (place,)
            remaining = [np.delete(s, k, 0) if j in gone else s for j, s in enumerate(sets)]
            values[k] = statistic(remaining[:split], remaining[split:])
        by_set.append(values)
    return by_set


def over_words(
    value: float,
    without: Sequence[Floats],
    *,
    ideal: float,
    tested: bool = True,
    within: tuple[float, float] = ANYTHING,
    paired: range = range(0),
    resampling: Resampling = DEFAULTS,
) -> Estimate:
    """Estimate a statistic with its interval over words, from its leave-one-out values by set.

    `paired` are the indices of sets whose words form pairs; these count once. p tests the ideal if
    it is `tested`: a value that unbiased models scatter around, not a limit. The interval is
    clipped to `within`.
    """
    if not math.isfinite(value):
        raise DataError(
            "the sets are identical, so the statistic is undefined (0 / 0); give other words."
        )
    unpaired = [w for k, w in enumerate(without) if k not in paired[1:] and np.isfinite(w).all()]
    variance = added(Variance(jackknife([w]), len(w) - 1) for w in unpaired if len(w) > 1)
    n = sum(map(len, without))
    estimate = student(
        value, variance, n, n, ideal=ideal, resampling=resampling, method="jackknife over words"
    )
    more = {k: v for k, v in estimate.more.items() if k != "clusters"}
    more["words"] = [len(w) for w in without]
    return bounded(replace(estimate, more=more), within, tested)
