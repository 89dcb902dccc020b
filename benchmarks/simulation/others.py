"""Comparisons of runs, agreement with people, correlations."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import norm, spearmanr

from simulation.harness import FEW, Draw, Random, Row, repeated
from unmask.options import Resampling
from unmask.stats import agreement, comparison, effects
from unmask.stats.clustering import Design


def comparisons(times: int) -> Iterator[Row]:
    """Two runs on the same items, and on the same words."""
    for clusters, size in ((10, 20), (30, 5), (80, 20), (300, 1)):
        for alike in (False, True):

            def draw(rng: Random, seed: int) -> Any:
                number = np.repeat(np.arange(clusters), size)
                a = (rng.random(len(number)) < 0.5).astype(float)
                up = rng.random(clusters)[number] if alike else np.full(len(number), 0.5)
                b = np.where(rng.random(len(number)) < 0.3, rng.random(len(number)) < up, a)
                how = Resampling(draws=1000, seed=seed)
                e = comparison.paired_difference(a, b, number, scale=100, resampling=how)
                return Draw(e.low, 0.0, e.high, e.p, e.value)

            name = f"{clusters} x {size}, changes {'alike' if alike else 'apart'} within clusters"
            yield repeated("compare: score", name, clusters >= FEW, times, draw)
    for words, frames in ((30, 10), (60, 8)):

        def framed(rng: Random, seed: int) -> Any:
            word, frame = np.repeat(np.arange(words), frames), np.tile(np.arange(frames), words)
            up = norm.cdf(0.7 * rng.normal(size=frames)[frame] + 0.3 * rng.normal(size=words)[word])
            a = (rng.random(len(word)) < 0.5).astype(float)
            b = np.where(rng.random(len(word)) < 0.3, rng.random(len(word)) < up, a)
            design = Design(word, None, frame)
            e = comparison.paired_difference(a, b, design, scale=100)
            return Draw(e.low, 0.0, e.high, e.p, e.value)

        name = f"{words} words x {frames} templates that differ"
        yield repeated("compare: score, templates", name, True, times, framed)
    for clusters, size in ((10, 20), (30, 20)):

        def claimed(rng: Random, seed: int) -> Any:
            a = (rng.random(clusters * size) < 0.5).astype(float)
            b = np.maximum(a, rng.random(clusters * size) < 0.2)  # 10 points, all one way
            number = np.repeat(np.arange(clusters), size)
            how = Resampling(draws=50, seed=seed)
            e = comparison.paired_difference(a, b, number, scale=100, resampling=how)
            return Draw(e.low, 10.0, e.high, comparison.equivalence(e, 10.0), e.value)

        name = f"{clusters} x {size}, true difference at the margin, all one way"
        yield repeated("compare: equivalence", name, True, times, claimed)
    for n in (8, 25):
        for shift in (0.0, 1.0):
            for alike in (0.0, 0.7):

                def words(rng: Random, seed: int) -> Any:
                    def run(shared: Any, own: Any) -> Any:
                        return np.sqrt(alike) * shared + np.sqrt(1 - alike) * own

                    shared = rng.normal(size=2 * n)
                    pair = []
                    for scale in (1.0, 4.0):
                        s = run(shared, rng.normal(size=2 * n))
                        pair.append(effects.by_words(scale * (s[:n] + shift), scale * s[n:]))
                    a, b = pair
                    e = comparison.effect_difference((a.value, b.value), a.without(), b.without())
                    return Draw(e.low, 0.0, e.high, e.p, e.value)

                name = f"{n} words per set, d = {shift:g} in both, correlated {alike:g}"
                yield repeated("compare: d", name, True, times, words)


def agreements(times: int) -> Iterator[Row]:
    """ROC areas and correlations."""
    for m, n in ((10, 10), (20, 60), (100, 100)):
        for apart in (0.0, 1.2, 2.3):
            area = float(norm.cdf(apart / np.sqrt(2)))

            def draw(rng: Random, seed: int) -> Any:
                scores = np.concatenate([rng.normal(size=m) + apart, rng.normal(size=n)])
                e = agreement.auc(np.repeat([1.0, 0.0], [m, n]), scores)
                return Draw(
                    e.low, area, e.high, None if apart else e.p, e.value, e.p if apart else None
                )

            scenario = f"{m} and {n} items, area {area:.2f}"
            yield repeated("area under ROC", scenario, min(m, n) >= FEW, times, draw)
    for clusters, size in ((20, 10), (100, 5)):

        def clustered(rng: Random, seed: int) -> Any:
            number = np.repeat(np.arange(clusters), size)
            labels = (rng.random(clusters) < 0.5).astype(float)[number]
            labels[:size], labels[-size:] = 1.0, 0.0
            scores = 0.5 * rng.normal(size=clusters)[number] + rng.normal(size=len(number))
            e = agreement.auc(labels, scores, number)
            return Draw(e.low, 0.5, e.high, e.p, e.value)

        yield repeated("area under ROC, clusters", f"{clusters} x {size}", True, times, clustered)
    for kind, sizes in (("pearson", (4, 6, 8, 20)), ("spearman", (5, 10, 20, 60))):
        for n in sizes:
            for rho in (0.0, 0.8):
                big = np.random.default_rng(0).normal(size=(2, 300_000))
                big[1] = rho * big[0] + np.sqrt(1 - rho**2) * big[1]
                true = rho if kind == "pearson" else float(spearmanr(*big).statistic)

                def pair(rng: Random, seed: int) -> Any:
                    x, y = rng.normal(size=(2, n))
                    y = rho * x + np.sqrt(1 - rho**2) * y
                    e = agreement.correlation(x, y, kind)
                    return Draw(
                        e.low, true, e.high, None if rho else e.p, e.value, e.p if rho else None
                    )

                yield repeated(f"correlation, {kind}", f"{n} points, {rho:g}", n >= 6, times, pair)
