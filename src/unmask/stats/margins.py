"""The mean margin: by how much the stereotype's sentence scores higher, not only how often.

A share forgets how strong a preference is, and saturates. Margins are differences of
log-probabilities, in nats; exp of their mean is a factor. A few are very large, so those beyond
FAR robust standard deviations of the median are drawn in to there: a robust mean, which tells of
the many; of skewed margins it is smaller than the plain one.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unmask.options import Resampling
from unmask.stats.clustering import Codes, Design
from unmask.stats.crossed import fitted
from unmask.stats.intervals import DEFAULTS, student, weights_of
from unmask.types import Estimate, Floats

FAR = 4.0  # robust standard deviations
NORMAL = 1.4826  # the standard deviation of a normal distribution over its median deviation


def of_scores(pro: Floats, anti: Floats, probabilities: bool = False) -> Floats:
    """By how much `pro` scores higher than `anti`, in nats: scores are logarithms, or not yet."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.log(pro) - np.log(anti) if probabilities else pro - anti)


def drawn_in(values: Floats) -> Floats:
    """Values with those far from the median drawn in to FAR robust standard deviations."""
    middle = float(np.median(values))
    if not np.isfinite(middle):
        return np.full(len(values), np.nan)
    away = np.abs(values - middle)
    # Where most values are alike, those that are not are what there is to go by.
    typical = float(np.median(away)) or float(np.median(away[away > 0])) if away.any() else 0.0
    reach = FAR * NORMAL * typical
    return np.clip(values, middle - reach, middle + reach) if 0 < reach < np.inf else values


class Margins:
    """Margins [n], NaN where there is none, in one model of all items: words and frames as samples.

    `cells` [n] are what the items' means may differ by where the design has no strata.
    """

    def __init__(
        self, values: Floats, design: Design, cells: Codes | None = None, macro: bool = False
    ) -> None:
        near = np.full(len(values), np.nan)
        known = ~np.isnan(values)  # an infinite one is drawn in like any other
        near[known] = drawn_in(values[known]) if known.any() else np.nan
        self.kept = np.isfinite(near)
        self.design = design if self.kept.all() else design.chosen(self.kept)
        self.values, self.macro = near[self.kept], macro
        self.moved = (near != values)[self.kept]
        given = None if cells is None else cells[self.kept]
        if self.kept.any():
            self.fit = fitted(self.values, self.design, given, answers=False)

    def estimate(
        self, chosen: NDArray[np.bool_], resampling: Resampling = DEFAULTS
    ) -> Estimate | None:
        """The mean margin of some items [n]; None where none of them has one."""
        some = chosen[self.kept]
        if not some.any():
            return None
        weight, clusters = weights_of(self.design, some, self.macro)
        estimate = student(
            float(weight @ self.values),
            self.fit.variance(weight),
            int(some.sum()),
            clusters,
            ideal=0.0,
            resampling=resampling,
            method="t, words and frames as samples; margins beyond 4 robust sd drawn in",
        )
        return replace(estimate, more={**estimate.more, "drawn_in": int(self.moved[some].sum())})
