"""Association tests: s(w, A, B), effect size d, permutation test, and CEAT's random effects.

d = (mean s over X - mean s over Y) / standard deviation of s over X and Y together (ddof 1),
after Caliskan et al. (2017).
"""

import itertools
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, t

from unmask.errors import DataError
from unmask.options import Resampling
from unmask.stats.intervals import USUAL, codes
from unmask.types import Estimate, Floats

Sided = Literal["one", "two"]
TINY = 1e-12  # cosines and log-odds are of order 1: a smaller spread is rounding


def unit(vectors: Floats) -> Floats:
    """Vectors [n, d] scaled to length 1; a zero vector has no angle and is refused."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    if not np.all(length > 0):
        raise DataError("a vector of length zero has no angle; remove its word.")
    return vectors / length


def associations(words: Floats, a: Floats, b: Floats) -> Floats:
    """s(w, A, B) for each word: mean cosine with A less mean cosine with B.

    `words` [n, d], `a` [p, d], `b` [q, d]; the mean of cosines is the cosine-free product with
    the mean of unit vectors, so no n x p matrix is made.
    """
    return unit(words) @ (unit(a).mean(0) - unit(b).mean(0))


def effect_size(x: Floats, y: Floats) -> float:
    """d of the association scores of X and of Y."""
    spread = float(np.std(np.concatenate([x, y]), ddof=1))
    if spread < TINY:
        raise DataError("all words are associated alike, so the effect size is 0 / 0.")
    return float((x.mean() - y.mean()) / spread)


@dataclass(frozen=True, slots=True)
class Permutation:
    """A permutation test: p, how it was found, and how many splits were looked at."""

    p: float
    method: Literal["exact", "sampled"]
    splits: int


def permutation(
    x: Floats,
    y: Floats,
    *,
    sided: Sided = "one",
    how: Resampling = USUAL,
) -> Permutation:
    """Is the difference of means larger than under random splits of the same sizes?

    Exact when there are at most `how.splits` splits (the observed one is among them), else
    sampled with (hits + 1) / (splits + 1). Equal counts as hit.
    """
    scores = np.concatenate([x, y]).astype(float)
    n, m, draws = len(x), len(y), how.splits
    observed = float(np.sum(x))
    exact = math.comb(n + m, n) <= draws
    sums = _exact_sums(scores, n) if exact else sampled_sums(scores, n, draws, how.seed)
    # With the total fixed, the difference of means grows with the sum over X.
    centre = scores.sum() * n / (n + m)
    slack = 1e-12 * max(1.0, float(np.abs(scores).sum()))  # sums in another order are still ties
    if sided == "one":
        hits = int(np.count_nonzero(sums >= observed - slack))
    else:
        hits = int(np.count_nonzero(np.abs(sums - centre) >= abs(observed - centre) - slack))
    if exact:
        return Permutation(hits / len(sums), "exact", len(sums))
    return Permutation((hits + 1) / (draws + 1), "sampled", draws)


def _exact_sums(scores: Floats, n: int) -> Floats:
    """The sum over each of the splits' first halves."""
    chosen = itertools.chain.from_iterable(itertools.combinations(range(len(scores)), n))
    count = math.comb(len(scores), n)
    places = np.fromiter(chosen, dtype=np.int64, count=count * n).reshape(count, n)
    return scores[places].sum(1)


def sampled_sums(scores: Floats, n: int, draws: int, seed: int) -> Floats:
    """Sums of `draws` random n-subsets, drawn as the smaller half of a shuffled deck."""
    rng = np.random.default_rng(seed)
    take = min(n, len(scores) - n)
    block = max(1, 2_000_000 // len(scores))
    out = np.empty(draws)
    for start in range(0, draws, block):
        part = out[start : start + block]
        decks = np.tile(scores, (len(part), 1))
        part[:] = rng.permuted(decks, axis=1, out=decks)[:, :take].sum(1)
    return out if take == n else float(scores.sum()) - out


def effect_estimate(
    x: Floats,
    y: Floats,
    x_clusters: Sequence[str] | None = None,
    y_clusters: Sequence[str] | None = None,
    *,
    sided: Sided = "one",
    how: Resampling = USUAL,
) -> Estimate:
    """d with its bootstrap interval and permutation p (none where `how.splits` is 0).

    `x` and `y` are association scores, one for each word, or several for a word in several
    contexts; then `x_clusters` and `y_clusters` name the words, and words are resampled within
    X and within Y.
    """
    if len(x) < 2 or len(y) < 2:
        raise DataError(
            f"an effect size needs at least two words a side; here are {len(x)} and {len(y)}."
        )
    value = effect_size(x, y)
    test = permutation(x, y, sided=sided, how=how) if how.splits else None
    rng = np.random.default_rng(how.seed)
    halves = [_moments(s, c, how.draws, rng) for s, c in ((x, x_clusters), (y, y_clusters))]
    with np.errstate(invalid="ignore", divide="ignore"):
        values = _effect_from_moments(*halves)
    values = values[np.isfinite(values)]
    low, high = (float(v) for v in np.quantile(values, [how.tail, 1 - how.tail]))
    more: dict[str, Any] = {
        "words": [len(set(x_clusters or range(len(x)))), len(set(y_clusters or range(len(y))))]
    }
    if test is not None:
        more |= {"p_method": test.method, "splits": test.splits, "sided": sided}
    n, p, se = len(x) + len(y), test.p if test else None, float(values.std(ddof=1))
    return Estimate(value, low, high, how.level, "bootstrap over words", n, 0.0, p, se, more)


def _moments(
    scores: Floats, clusters: Sequence[str] | None, draws: int, rng: np.random.Generator
) -> Floats:
    """Count, sum and sum of squares of resampled words: [draws, 3]."""
    columns = np.column_stack([np.ones(len(scores)), scores, scores**2])
    if clusters is not None:
        number = codes(clusters)
        sums = np.zeros((number.max() + 1, 3))
        np.add.at(sums, number, columns)
        columns = sums
    count = len(columns)
    return rng.multinomial(count, np.full(count, 1 / count), size=draws).astype(float) @ columns


def _effect_from_moments(x: Floats, y: Floats) -> Floats:
    both = x + y
    variance = (both[:, 2] - both[:, 1] ** 2 / both[:, 0]) / (both[:, 0] - 1)
    # Rounding leaves about 1e-16 where all resampled scores are equal: there d is 0 / 0.
    variance[variance < 1e-12 * both[:, 2]] = np.nan
    return (x[:, 1] / x[:, 0] - y[:, 1] / y[:, 0]) / np.sqrt(variance)


# ---------------------------------------------------------------- CEAT


@dataclass(frozen=True, slots=True)
class Samples:
    """The effect sizes of CEAT's samples and the variance that each is weighted by."""

    effects: Floats
    variances: Floats


def draw_indices(
    sizes: Sequence[int], samples: int, rng: np.random.Generator, reuse: bool
) -> NDArray[np.int64]:
    """For each sample and word the number of the context drawn: [samples, words].

    With `reuse` each draw is independent; without, a word that has at least `samples` contexts
    shows none of them twice.
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
    n = len(vectors[0])
    spread = scores.std(axis=1, ddof=1)
    effects = (scores[:, :n].mean(1) - scores[:, n:].mean(1)) / spread
    return Samples(effects, spread**2)


def _mean_drawn(words: Sequence[NDArray[Any]], drawn: NDArray[np.int64]) -> NDArray[Any]:
    total = words[0][drawn[:, 0]].copy()
    for stored, column in zip(words[1:], drawn.T[1:], strict=True):
        total += stored[column]
    total /= len(words)
    return total


def random_effects(samples: Samples, sided: Sided = "two", how: Resampling = USUAL) -> Estimate:
    """The combined effect size of CEAT by DerSimonian and Laird (1986).

    `more`: tau2, I2, Q, the prediction interval for a new sample, and the spread of the
    samples. The weights are 1 / variance of the association scores, as Guo and Caliskan (2021)
    have it; that is not the sampling variance of d, so `more` also has the plain mean.
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
    z = value / se
    p = float(norm.sf(z) if sided == "one" else 2 * norm.sf(abs(z)))
    reach = norm.ppf(1 - how.tail) * se
    ahead = t.ppf(1 - how.tail, max(n - 2, 1)) * math.sqrt(tau2 + se**2)
    more = {
        "tau2": tau2,
        "I2": max(0.0, 1 - (n - 1) / q) if q > 0 else 0.0,
        "Q": q,
        "prediction": [value - ahead, value + ahead],
        "sd": float(np.sqrt(((e - value) ** 2).sum() / (n - 1))) if n > 1 else None,
        "mean": float(e.mean()),
        "quantiles": {str(k): float(np.quantile(e, k)) for k in (0.025, 0.25, 0.5, 0.75, 0.975)},
        "sided": sided,
    }
    low, high = value - reach, value + reach
    return Estimate(value, low, high, how.level, "random effects", n, 0.0, p, se, more)
