"""Change points of several series of runs, by permuting the order of the runs.

The statistic of a series is the largest standardised difference of means before and after a place
(CUSUM). Under the hypothesis that nothing changed every order of the runs is as likely; the same
orders are taken for all series, and p-values are those of the maximum over series (Antoch and
Huskova 2001; Westfall and Young 1993).
"""

from collections.abc import Mapping
from itertools import permutations
from math import factorial

import numpy as np
from numpy.typing import NDArray

from unmask.options import Resampling
from unmask.types import Floats

LEAST_RUNS = 8  # fewer runs have too few orders for a small p
MOST_ORDERS = 10_000


def change_points(
    series: Mapping[str, Floats], resampling: Resampling
) -> dict[str, tuple[int, float]]:
    """Return for each series the place after which it changes most, and its corrected p.

    Series that do not vary have no change.
    """
    varying = {k: v for k, v in series.items() if np.ptp(v) > 0}
    if not varying:
        return {}
    runs = len(next(iter(varying.values())))
    orders = _orders(runs, min(resampling.draws, MOST_ORDERS), resampling.seed)
    heights = {name: _heights(values[orders]) for name, values in varying.items()}
    observed = {name: _heights(values[None])[0] for name, values in varying.items()}
    standard = {}
    for name, drawn in heights.items():
        centre, spread = float(drawn.max(1).mean()), float(drawn.max(1).std()) or 1.0
        standard[name] = (
            (drawn.max(1) - centre) / spread,
            (observed[name].max() - centre) / spread,
        )
    largest = np.max([drawn for drawn, _ in standard.values()], axis=0)
    count = len(orders)
    return {
        name: (
            int(np.argmax(observed[name])) + 1,
            float((np.sum(largest >= height - 1e-9) + 1) / (count + 1)),
        )
        for name, (_, height) in standard.items()
    }


def _orders(runs: int, draws: int, seed: int) -> NDArray[np.int64]:
    """All orders of some runs, or random ones where there are more than can be drawn."""
    if factorial(runs) <= draws:
        return np.array(list(permutations(range(runs))))
    rng = np.random.default_rng(seed)
    return np.argsort(rng.random((draws, runs)), axis=1)


def _heights(values: Floats) -> Floats:
    """The standardised difference of means at each place [orders, runs - 1]."""
    runs = values.shape[1]
    before = np.arange(1, runs)
    sums = np.cumsum(values - values.mean(1, keepdims=True), axis=1)[:, :-1]
    return np.asarray(np.abs(sums) / np.sqrt(before * (runs - before) / runs))
