"""The mean margin: by how much the stereotype's sentence scores higher, not only how often.

A share forgets how strong a preference is, and saturates. Margins are differences of
log-probabilities, in nats; exp of their mean is a factor. A few are very large, so those beyond
FAR robust standard deviations of the median are drawn in to there.
"""

import numpy as np
from numpy.typing import NDArray

from unmask.options import Resampling
from unmask.stats.clustering import Codes, Design
from unmask.stats.crossed import fitted
from unmask.stats.intervals import DEFAULTS, student, weights
from unmask.types import Estimate, Floats

FAR = 4.0  # robust standard deviations
NORMAL = 1.4826  # the standard deviation of a normal distribution over its median deviation


def drawn_in(values: Floats) -> Floats:
    """Values with those far from the median drawn in to FAR robust standard deviations."""
    middle = float(np.median(values))
    reach = FAR * NORMAL * float(np.median(np.abs(values - middle)))
    return np.clip(values, middle - reach, middle + reach) if reach > 0 else values


class Margins:
    """Margins [n], NaN where there is none, in one model of all items: words and frames as samples.

    `cells` [n] are what the items' means may differ by where the design has no strata.
    """

    def __init__(
        self, values: Floats, design: Design, cells: Codes | None = None, macro: bool = False
    ) -> None:
        self.kept = np.isfinite(values)
        self.design = design if self.kept.all() else design.chosen(self.kept)
        self.values, self.macro = drawn_in(values[self.kept]), macro
        given = None if cells is None else cells[self.kept]
        self.fit = fitted(self.values, self.design, given, answers=False)

    def estimate(
        self, chosen: NDArray[np.bool_], resampling: Resampling = DEFAULTS
    ) -> Estimate | None:
        """The mean margin of some items [n]; None where none of them has one."""
        some = chosen[self.kept]
        if not some.any():
            return None
        design = self.design if some.all() else self.design.chosen(some)
        weight = np.zeros(len(some))
        weight[some] = weights(design, self.macro)
        return student(
            float(weight @ self.values),
            self.fit.variance(weight),
            int(some.sum()),
            design.count,
            ideal=0.0,
            resampling=resampling,
            method="t, words and frames as samples; margins beyond 4 robust sd drawn in",
        )
