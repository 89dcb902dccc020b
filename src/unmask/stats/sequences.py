"""Confidence sequences: intervals that hold at every look, so that looking often costs nothing.

An interval of 95 % that is looked at after every batch, until it leaves out the ideal, does so by
chance far more often than in 5 % of the runs. A confidence sequence is wider by what the looking
costs: with probability 95 % it holds the truth at all looks together (Robbins 1970; Howard et al.
2021). Here it is the asymptotic one of Waudby-Smith et al. (2024), over clusters drawn in random
order, with Student's quantile in place of the normal one for few of them.
"""

import math
from dataclasses import replace

from unmask.stats.intervals import wilson
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
    planned = max(FIRST_LOOK, clusters / 3)
    if seen < 2 or not estimate.se > 0:
        return replace(estimate, low=math.nan, high=math.nan, p=None, method="one cluster")
    low, high = _ends(estimate, reach(seen, planned, error), error)
    inner = None
    if 2 * error < 1:
        inner = list(_ends(estimate, reach(seen, planned, 2 * error), error))
    p = anytime_p(_errors(estimate, error), seen, planned, error)
    return replace(
        estimate,
        low=low,
        high=high,
        p=min(1.0, tests * p),
        method="confidence sequence over clusters",
        more={**estimate.more, "inner": inner},
    )


def _ends(estimate: Estimate, errors: float, error: float) -> tuple[float, float]:
    """The interval that reaches so many standard errors, or as far again as the usual one does.

    It is Wilson's, so that answers that are all alike leave doubt; and never narrower than the
    usual interval, stretched: that one knows of sides at 0 and 100 %.
    """
    value, z2 = estimate.value / 100, (errors * _small(estimate, error)) ** 2 / _items(estimate)
    below, above = wilson(value, z2)
    stretch = errors / quantile((1 + estimate.level) / 2, math.inf)
    low = min(100 * below, estimate.value - stretch * (estimate.value - estimate.low))
    high = max(100 * above, estimate.value + stretch * (estimate.high - estimate.value))
    return max(0.0, min(low, estimate.value)), min(100.0, max(high, estimate.value))


def _errors(estimate: Estimate, error: float) -> float:
    """How many standard errors the ideal is away, by the shorter of the two reckonings."""
    ideal = estimate.ideal or 0.0
    away = abs(estimate.value - ideal)
    null = ideal / 100 * (1 - ideal / 100)
    by_score = away / 100 / math.sqrt(null / _items(estimate)) / _small(estimate, error)
    side = (
        estimate.value - estimate.low if estimate.value > ideal else estimate.high - estimate.value
    )
    usual = quantile((1 + estimate.level) / 2, math.inf)
    return min(by_score, usual * away / side) if side > 0 else by_score


def _items(estimate: Estimate) -> float:
    """As many independent items as the standard error leaves."""
    smooth = (estimate.value / 100 * estimate.n + 0.5) / (estimate.n + 1)
    return smooth * (1 - smooth) / (estimate.se / 100) ** 2


def _small(estimate: Estimate, error: float) -> float:
    """Student's quantile over the normal one: few clusters know their spread less well."""
    df = estimate.more["df"]
    return quantile(1 - error / 2, df) / quantile(1 - error / 2, math.inf)
