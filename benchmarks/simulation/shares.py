"""Shares over clusters: equal and unequal ones, and what triplets add."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from simulation.harness import FEW, Draw, Random, Row, repeated
from unmask.stats import intervals
from unmask.stats.clustering import Design
from unmask.stats.crossed import Crossed
from unmask.stats.crossed_fit import Fit
from unmask.stats.preference import Preferences
from unmask.stats.preference import deviation as deviation_of


def share_of(wins: Any, design: Design, ideal: float, macro: bool = False) -> Any:
    """A share as `run` makes it."""
    share, _ = Fit.of(Crossed.of(design), wins).share(intervals.weights(design, macro))
    return intervals.as_percentage(share, len(wins), design.count, ideal=ideal)


def tossed(rng: Random, clusters: int, size: int, p: float, alike: float) -> tuple[Any, Any]:
    """Wins [n] and clusters [n]; shares differ between clusters by `alike` (intraclass)."""
    sizes = np.maximum(1, rng.poisson(size, clusters)) if size > 2 else np.full(clusters, size)
    number = np.repeat(np.arange(clusters), sizes)
    scale = (1 - alike) / alike if alike else 0
    chance = rng.beta(p * scale, (1 - p) * scale, clusters) if alike else np.full(clusters, p)
    return (rng.random(len(number)) < chance[number]).astype(float), number


def shares(times: int) -> Iterator[Row]:
    """Preference scores, micro and macro."""
    for clusters, size in ((3, 26), (6, 10), (10, 20), (16, 2), (16, 10), (40, 5), (80, 20)):
        for p in (0.5, 0.7, 0.9, 0.97):
            for alike in (0.05, 0.2):
                for macro in (False, True):

                    def draw(rng: Random, seed: int) -> Any:
                        wins, number = tossed(rng, clusters, size, p, alike)
                        e = share_of(wins, Design(number), 100 * p, macro)
                        return Draw(e.low, 100 * p, e.high, e.p, e.value)

                    name = f"{clusters} x {size} at {100 * p:g} %, alike {alike:g}"
                    what = "share, over clusters" if macro else "share, over items"
                    yield repeated(what, name, clusters >= FEW, times, draw)


def unequal(times: int) -> Iterator[Row]:
    """Clusters of very different sizes, as writers have them."""
    for clusters, sizes in ((20, "lognormal"), (40, "lognormal"), (40, "zipf")):
        for p in (0.5, 0.8):

            def draw(rng: Random, seed: int) -> Any:
                if sizes == "zipf":
                    many = np.minimum(rng.zipf(1.7, clusters), 80)
                else:
                    many = np.maximum(1, np.exp(rng.normal(1.5, 1, clusters))).astype(int)
                number = np.repeat(np.arange(clusters), many)
                chance = rng.beta(p * 9, (1 - p) * 9, clusters)
                wins = (rng.random(len(number)) < chance[number]).astype(float)
                e = share_of(wins, Design(number), 100 * p)
                return Draw(e.low, 100 * p, e.high, e.p, e.value)

            name = f"{clusters} clusters, {sizes} sizes, at {100 * p:g} %, alike 0.1"
            yield repeated("share, unequal clusters", name, True, times, draw)


def triplets(times: int) -> Iterator[Row]:
    """lms near 99 %, |ss - 50|, and token accuracy, where items are clustered."""
    for clusters, size in ((3, 26), (12, 8), (60, 10)):

        def lms(rng: Random, seed: int) -> Any:
            number = np.repeat(np.arange(clusters), size)
            chance = rng.beta(0.99 * 30, 0.01 * 30, clusters)[number]
            pro, anti = np.where(rng.random((2, len(number))) < chance, 1.0, -1.0)
            scores = {"stereotype": pro, "antistereotype": anti, "unrelated": np.zeros(len(pro))}
            e = Preferences(scores, Design(number)).estimates()["lms"]
            return Draw(e.low, 99.0, e.high, None, e.value)

        def deviation(rng: Random, seed: int) -> Any:
            wins, number = tossed(rng, clusters, size, 0.5, 0.1)
            e = deviation_of(intervals.share(wins, number, ideal=50))
            return Draw(e.low, 0.0, e.high, e.p, e.value)

        def accuracy(rng: Random, seed: int) -> Any:
            number = np.repeat(np.arange(clusters), size)
            chance = rng.beta(6, 4, clusters)[number]
            tokens = rng.integers(5, 25, len(number))
            e = intervals.ratio(rng.binomial(tokens, chance), tokens.astype(float), number)
            return Draw(e.low, 60.0, e.high, None, e.value)

        name, enough = f"{clusters} x {size}", clusters >= FEW
        yield repeated("lms at 99 %", name, enough, times, lms)
        yield repeated("|ss - 50| at 0", name, enough, times, deviation)
        yield repeated("accuracy", name, enough, times, accuracy)
