"""CEAT: effect sizes of samples of contexts, combined by random effects (Guo and Caliskan 2021).

Each sample draws one context for each word. The effect sizes of the samples are combined as
DerSimonian and Laird (1986) do; the published interval is that of this Monte Carlo error. Ours is
over words, by a jackknife, because more samples do not tell more about other words.
"""

import itertools
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.errors import DataError
from unmask.options import Resampling
from unmask.stats.clustering import Variance
from unmask.stats.effects import Words, effect_estimate
from unmask.stats.intervals import DEFAULTS
from unmask.stats.permutation import Sided
from unmask.stats.student_t import quantile, upper_tail
from unmask.types import Estimate, Floats


@dataclass(frozen=True, slots=True)
class Samples:
    """The effect sizes of CEAT's samples and the variance that each is weighted by [N].

    `words` [words of X and Y, 3]: 1, and the mean and mean square of each word's score over the
    samples, as `effects.Words` takes them.
    """

    effects: Floats
    variances: Floats
    words: Floats


def sampled(scores: Floats, n: int) -> Samples:
    """Compute `Samples` from word scores [samples, words]; the first n words are X's."""
    spread = scores.std(axis=1, ddof=1)
    effects = (scores[:, :n].mean(1) - scores[:, n:].mean(1)) / spread
    ones = np.ones(scores.shape[1])
    return Samples(effects, spread**2, np.column_stack([ones, scores.mean(0), (scores**2).mean(0)]))


def draw_indices(
    sizes: Sequence[int], samples: int, rng: np.random.Generator, reuse: bool
) -> NDArray[np.int64]:
    """Draw the index of a context for each sample and word [samples, words].

    With `reuse` all draws are independent. Without it, a word with at least `samples` contexts
    uses none of them twice.
    """
    columns = [
        rng.integers(size, size=samples)
        if reuse or size < samples
        else rng.permutation(size)[:samples]
        for size in sizes
    ]
    return np.stack(columns, axis=1)


def ceat_samples(
    vectors: Sequence[Sequence[NDArray[Any]]],
    indices: Sequence[NDArray[np.int64]],
    threads: int = 2,
) -> Samples:
    """Effect size and variance of s in each sample.

    `vectors` holds X, Y, A and B; each is a list of arrays [contexts, d], one a word, of unit
    length. `indices` are the four arrays of `draw_indices`. A block of samples is small enough
    that its running vectors stay in the cache: each drawn vector is read from memory once.
    """
    count = len(indices[0])
    scores = np.empty((count, len(vectors[0]) + len(vectors[1])))
    block = 128

    def work(start: int) -> None:
        part = slice(start, min(start + block, count))
        difference = _mean_drawn(vectors[2], indices[2][part])
        difference -= _mean_drawn(vectors[3], indices[3][part])
        words = itertools.chain(
            zip(vectors[0], indices[0][part].T, strict=True),
            zip(vectors[1], indices[1][part].T, strict=True),
        )
        for column, (stored, drawn) in enumerate(words):
            scores[part, column] = np.einsum("nd,nd->n", stored[drawn], difference)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(0, count, block)))
    return sampled(scores, len(vectors[0]))


def _mean_drawn(words: Sequence[NDArray[Any]], drawn: NDArray[np.int64]) -> NDArray[Any]:
    total = words[0][drawn[:, 0]].copy()
    for stored, column in zip(words[1:], drawn.T[1:], strict=True):
        total += stored[column]
    total /= len(words)
    return total


def random_effects(
    samples: Samples, sided: Sided = "two", resampling: Resampling = DEFAULTS
) -> Estimate:
    """The combined effect size of CEAT by DerSimonian and Laird (1986), as it was published.

    Interval and p are those of the Monte Carlo error: they shrink with N, whatever the words are.
    `combined` gives those over words. `more`: tau2, I2, Q, the prediction interval for a new
    sample, and the spread of the samples. The weights are 1 / variance of the association scores,
    as Guo and Caliskan (2021) have it; that is not the sampling variance of d, so `more` also has
    the plain mean.
    """
    e, v = samples.effects, samples.variances
    n = len(e)
    w = 1 / v
    fixed = float((w * e).sum() / w.sum())
    q = float((w * (e - fixed) ** 2).sum())
    scale = float(w.sum() - (w**2).sum() / w.sum())
    tau2 = max(0.0, (q - (n - 1)) / scale) if n > 1 else 0.0
    star = 1 / (v + tau2)
    value = float((star * e).sum() / star.sum())
    se = float(star.sum() ** -0.5)
    if not se > 0:
        raise DataError(
            "all words have the same association, so the effect size is undefined (0 / 0)."
        )
    z = value / se
    p = upper_tail(z, math.inf) if sided == "one" else 2 * upper_tail(abs(z), math.inf)
    reach = quantile(1 - resampling.tail, math.inf) * se
    prediction = quantile(1 - resampling.tail, max(n - 2, 1)) * math.sqrt(tau2 + se**2)
    details = {
        "tau2": tau2,
        "I2": max(0.0, 1 - (n - 1) / q) if q > 0 else 0.0,
        "Q": q,
        "prediction": [float(value - prediction), float(value + prediction)],
        "sd": float(np.sqrt(((e - value) ** 2).sum() / (n - 1))) if n > 1 else None,
        "mean": float(e.mean()),
        "quantiles": {str(k): float(np.quantile(e, k)) for k in (0.025, 0.25, 0.5, 0.75, 0.975)},
        "sided": sided,
    }
    low, high = float(value - reach), float(value + reach)
    return Estimate(value, low, high, resampling.level, "random effects", n, 0.0, p, se, details)


def combined(
    samples: Samples, n: int, attributes: Variance | None = None, resampling: Resampling = DEFAULTS
) -> Estimate:
    """CEAT's combined effect size with its interval and p over words; the first n words are X's.

    With `attributes`, the variance that other attribute words add, both are over all four sets. If
    a target set has a single word, there is no interval or p over words.
    """
    pooled = random_effects(samples, resampling=resampling)
    if min(n, len(samples.words) - n) < 2:
        return _of_one_word(pooled, n, len(samples.words) - n)
    words = Words(samples.words[:n], samples.words[n:], pooled.value)
    estimate = effect_estimate(words, attributes=attributes, resampling=resampling)
    return replace(estimate, more={**_published(pooled), **estimate.more})


def _published(pooled: Estimate) -> dict[str, Any]:
    """Details of the samples, with the interval and p as published."""
    interval = {"se": pooled.se, "p": pooled.p, "interval": [pooled.low, pooled.high]}
    return {**pooled.more, "samples": pooled.n, "monte_carlo": interval}


def _of_one_word(pooled: Estimate, n: int, m: int) -> Estimate:
    details = {**_published(pooled), "words": [n, m], "df": 0.0, "inner": None}
    nan = math.nan
    return Estimate(
        pooled.value, nan, nan, pooled.level, "one word per set", n + m, 0.0, None, nan, details
    )
