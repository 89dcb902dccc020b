"""Group-sequential tests: several looks at growing data, one error rate.

The error rate is spent over the looks as Lan and DeMets (1983) propose, with the spending function
that resembles O'Brien and Fleming's (1979) bounds: little at first, nearly all at the last look. A
sequential p-value is the smallest error rate at which the statistic of a look crosses its bound, so
that the corrections for multiple tests apply to it as to any other p-value.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from unmask.stats.student_t import quantile
from unmask.types import Estimate, Floats

FIVE = (0.2, 0.4, 0.6, 0.8, 1.0)  # the shares of the data at five even looks
LEAST = 1e-12  # smaller error rates, and shares of one, count as this
NODES, WEIGHTS = np.polynomial.legendre.leggauss(80)
NORMAL_DENSITY = 1 / math.sqrt(2 * math.pi)


def spent(error: float, fraction: float) -> float:
    """The part of a two-sided error rate that is spent at a share of the data."""
    return 4 * float(ndtr(ndtri(error / 4) / math.sqrt(fraction)))


@lru_cache(maxsize=4096)
def bounds(error: float, fractions: tuple[float, ...]) -> tuple[float, ...]:
    """The bounds of |z| at each look, for a two-sided error rate."""
    limits: list[float] = []
    nodes, density = np.zeros(1), np.ones(1)  # of the sum so far, while no bound was crossed
    before = last = 0.0
    for fraction in fractions:
        step = math.sqrt(fraction - last)
        increment = max(spent(error, fraction) - before, LEAST * error)
        bound = _bound(nodes, density, step, math.sqrt(fraction), increment)
        limits.append(bound / math.sqrt(fraction))
        places = bound * NODES
        distance = (places[:, None] - nodes[None]) / step
        density = bound * WEIGHTS * (np.exp(-0.5 * distance**2) @ density) * NORMAL_DENSITY / step
        nodes, last, before = places, fraction, before + increment
    return tuple(limits)


def _bound(nodes: Floats, density: Floats, step: float, scale: float, increment: float) -> float:
    """The bound of the sum that is crossed with a probability of `increment`."""

    def crossed(bound: float) -> float:
        upper, lower = ndtr((nodes - bound) / step), ndtr((-nodes - bound) / step)
        return float(density @ (upper + lower)) - increment

    high = 40.0 * scale
    return float(brentq(crossed, 0.0, high)) if crossed(high) < 0 < crossed(0.0) else high


def sequential_p(p: float, look: int, fractions: tuple[float, ...] = FIVE) -> float:
    """Correct the p-value of a look (counted from 0) for all looks."""
    if len(fractions) == 1 or math.isnan(p):
        return p
    z = -float(ndtri(max(p, 1e-300) / 2))

    def excess(log_error: float) -> float:
        return z - bounds(round(math.exp(log_error), 12), fractions)[look]

    low, high = math.log(1e-9), math.log(0.9999)
    if excess(high) <= 0:
        return 1.0
    return 1e-9 if excess(low) >= 0 else float(math.exp(brentq(excess, low, high, xtol=1e-6)))


def levels(level: float, look: int, fractions: Sequence[float]) -> tuple[float, float]:
    """Levels at which the intervals of one look are valid for all looks together.

    The first is for the interval itself, the second for the equivalence test, which has the whole
    error rate in each tail.
    """
    error = 1 - level
    outer, inner = (bounds(e, tuple(fractions))[look] for e in (error, min(2 * error, 0.999)))
    return 2 * float(ndtr(outer)) - 1, 2 * float(ndtr(inner)) - 1


def at_look(
    estimate: Estimate,
    outer: Estimate,
    inner: Estimate,
    look: int,
    fractions: Sequence[float] = FIVE,
) -> Estimate:
    """Return the estimate of a look with intervals and a p that are valid for all looks together.

    `outer` and `inner` are the same estimate at the two `levels` of the look.
    """
    if math.isnan(estimate.low):
        return estimate
    error, df = 1 - estimate.level, float(estimate.more.get("df") or math.inf)
    more = dict(estimate.more)
    if more.get("inner"):
        more["inner"] = [inner.low, inner.high]
    if more.get("mde"):
        wider = bounds(error, tuple(fractions))[look] / -float(ndtri(error / 2))
        planned = quantile(1 - error / 2, df) + quantile(0.8, df)
        more["mde"] *= (planned + (wider - 1) * quantile(1 - error / 2, df)) / planned
    p = None if estimate.p is None else sequential_p(estimate.p, look, tuple(fractions))
    return replace(estimate, low=outer.low, high=outer.high, p=p, more=more)
