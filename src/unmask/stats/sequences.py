"""Confidence sequences: intervals that hold at every look, so that looking often costs nothing.

An interval of 95 % that is looked at after every batch, until it leaves out the ideal, does so by
chance far more often than in 5 % of the runs. A confidence sequence is wider by what the looking
costs: with probability 95 % it holds the truth at all looks together (Robbins 1970; Howard et al.
2021). Here it is the asymptotic one of Waudby-Smith et al. (2024), over clusters drawn in random
order, with Student's quantile in place of the normal one for few of them.
"""

import math
from dataclasses import replace

from unmask.stats.student_t import quantile
from unmask.types import Estimate

FIRST_LOOK = 12  # clusters before which nothing is decided
GROWTH = 1.1  # of the clusters from one look to the next


def looks(clusters: int) -> list[int]:
    """The numbers of clusters after which the result is looked at; the last are all."""
    out, count = [], FIRST_LOOK
    while count < clusters:
        out.append(count)
        count = max(count + 2, math.ceil(count * GROWTH))
    return [*out, clusters]


def reach(seen: int, planned: float, error: float) -> float:
    """Standard errors that a sequence reaches after `seen` clusters, at the error rate `error`.

    It is narrowest about `planned` clusters.
    """
    scale = _scale(seen, planned, error)
    return math.sqrt(2 * (scale + 1) / scale * math.log(math.sqrt(scale + 1) / error))


def anytime_p(errors: float, seen: int, planned: float, level_error: float) -> float:
    """The smallest error rate at which the sequence leaves out a value so many errors away."""
    scale = _scale(seen, planned, level_error)
    return min(1.0, math.sqrt(scale + 1) * math.exp(-(errors**2) * scale / (2 * (scale + 1))))


def _scale(seen: int, planned: float, error: float) -> float:
    """t rho^2 of the mixture, tuned to be narrowest about `planned` clusters."""
    return seen * (-2 * math.log(error) + math.log(-2 * math.log(error) + 1)) / planned


def as_sequence(estimate: Estimate, clusters: int, tests: int = 1) -> Estimate:
    """A share after some of its `clusters`, with the interval that holds at every look.

    The error rate is divided among `tests` that stop apart. p is valid at every look too.
    """
    seen = int(estimate.more["clusters"])
    error = (1 - estimate.level) / tests
    planned, df = max(FIRST_LOOK, clusters / 3), estimate.more["df"]
    small = quantile(1 - error / 2, df) / quantile(1 - error / 2, math.inf)
    half = reach(seen, planned, error) * small * estimate.se
    inner = reach(seen, planned, 2 * error) * small * estimate.se
    low, high = max(0.0, estimate.value - half), min(100.0, estimate.value + half)
    ideal = estimate.ideal or 0.0
    p = anytime_p(abs(estimate.value - ideal) / (small * estimate.se), seen, planned, error)
    return replace(
        estimate,
        low=min(low, estimate.value),
        high=max(high, estimate.value),
        p=min(1.0, tests * p),
        method="confidence sequence over clusters",
        more={**estimate.more, "inner": [estimate.value - inner, estimate.value + inner]},
    )
