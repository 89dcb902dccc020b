"""Association tests: s(w, A, B), and the effect size d with its interval.

d = (mean s over X - mean s over Y) / standard deviation of s over X and Y together (ddof 1),
after Caliskan et al. (2017). It is a rescaled point-biserial correlation, so its interval is that
of a noncentral t.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import nctdtr

from unmask.errors import DataError
from unmask.options import Resampling
from unmask.stats.clustering import Variance, added
from unmask.stats.intervals import DEFAULTS
from unmask.stats.permutation import Permutation, Sided, studentised
from unmask.stats.student_t import quantile, upper_tail
from unmask.stats.vectors import ROUNDING, unit
from unmask.types import Estimate, Floats


def associations(words: Floats, a: Floats, b: Floats) -> Floats:
    """s(w, A, B) for each word: mean cosine with A less mean cosine with B.

    `words` [n, d], `a` [p, d], `b` [q, d]; the mean of cosines is the cosine-free product with
    the mean of unit vectors, so no n x p matrix is made.
    """
    return unit(words) @ (unit(a).mean(0) - unit(b).mean(0))


def effect_size(x: Floats, y: Floats) -> float:
    """d of the association scores of X and of Y."""
    spread = float(np.std(np.concatenate([x, y]), ddof=1))
    if spread < ROUNDING:
        raise DataError(
            "all words have the same association, so the effect size is undefined (0 / 0)."
        )
    return float((x.mean() - y.mean()) / spread)


@dataclass(frozen=True, slots=True)
class Words:
    """The words of X and of Y: count, sum and sum of squares of each one's scores, [n, 3], [m, 3].

    A word has a score for each of its sentences. `value` is the measure's own number: d over all
    sentences, as the papers have it, or what CEAT makes of its samples.
    """

    x: Floats
    y: Floats
    value: float

    @property
    def means(self) -> tuple[Floats, Floats]:
        """The mean score of each word."""
        return self.x[:, 1] / self.x[:, 0], self.y[:, 1] / self.y[:, 0]

    @property
    def sizes(self) -> tuple[float, float]:
        """The number of scores of X and of Y: sentences, where a word has several."""
        return float(self.x[:, 0].sum()), float(self.y[:, 0].sum())

    @property
    def spread(self) -> float:
        """The standard deviation of all scores."""
        return math.sqrt(_variance(self.x.sum(0) + self.y.sum(0)))

    @property
    def ratio(self) -> float:
        """The spread of words within their sets over that of sentences."""
        words = sum(float(w.var() * len(w)) for w in self.means) / (len(self.x) + len(self.y) - 2)
        sums = self.x.sum(0), self.y.sum(0)
        inside = sum(_variance(s) * (s[0] - 1) for s in sums) / (sums[0][0] + sums[1][0] - 2)
        return math.sqrt(words / inside) if inside > 0 and words < inside else 1.0

    @property
    def tails(self) -> float:
        """The standard error that heavy tails add to d through its denominator.

        The spread of a sample has the relative variance (k - 1) / 4N with the kurtosis k; the
        noncentral t assumes k = 3. Samples underestimate a large k, so the excess counts twice.
        """
        residuals = np.concatenate([w - w.mean() for w in self.means])
        squares = float((residuals**2).sum())
        if squares < ROUNDING**2:
            return 0.0
        excess = len(residuals) * float((residuals**4).sum()) / squares**2 - 3
        return abs(self.value) / 2 * math.sqrt(2 * max(excess, 0.0) / len(residuals))

    def without(self) -> tuple[Floats, Floats]:
        """The value with each word of X, and of Y, left out: [n], [m]."""
        x, y = self.x.sum(0), self.y.sum(0)
        shift = self.value - _effect(x[None], y[None])[0]
        return _effect(x - self.x, y[None]) + shift, _effect(x[None], y - self.y) + shift


def _variance(sums: Floats) -> float:
    return float((sums[2] - sums[1] ** 2 / sums[0]) / (sums[0] - 1))


def _effect(x: Floats, y: Floats) -> Floats:
    """d from count, sum and sum of squares of X and of Y [k, 3]."""
    both = x + y
    variance = (both[:, 2] - both[:, 1] ** 2 / both[:, 0]) / (both[:, 0] - 1)
    variance = np.maximum(variance, ROUNDING**2)
    return np.asarray((x[:, 1] / x[:, 0] - y[:, 1] / y[:, 0]) / np.sqrt(variance))


def check_words(n: int, m: int) -> None:
    """Refuse sets in which words could not vary."""
    if min(n, m) < 2:
        raise DataError(
            f"an effect size needs at least two words per set, and the sets have {n} and {m}."
        )


def by_words(
    x: Floats,
    y: Floats,
    x_words: Sequence[str] | None = None,
    y_words: Sequence[str] | None = None,
) -> Words:
    """Scores of sentences by their words; without names every score is a word's."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise DataError("a word's score is not a finite number, so the effect size is undefined.")
    halves = [_moments(x, x_words), _moments(y, y_words)]
    check_words(*map(len, halves))
    return Words(halves[0], halves[1], effect_size(x, y))


def _moments(scores: Floats, words: Sequence[str] | None) -> Floats:
    """Count, sum and sum of squares by word, in the order in which words first stand."""
    places = {w: i for i, w in enumerate(dict.fromkeys(words or range(len(scores))))}
    number = np.array([places[w] for w in words or range(len(scores))])
    columns = (np.ones(len(scores)), scores, scores**2)
    return np.column_stack([np.bincount(number, weights=c) for c in columns])


def effect_estimate(
    words: Words,
    *,
    sided: Sided = "two",
    attributes: Variance | None = None,
    templates: Variance | None = None,
    test: Permutation | None = None,
    resampling: Resampling = DEFAULTS,
) -> Estimate:
    """d with its interval over words, and p by a studentised permutation of words.

    The interval is the noncentral t's, or the jackknife's if that is wider (skewed scores). With
    `attributes` and `templates`, the variances that other attribute words and templates would add
    to the difference of means, it covers these too, and p is from a t test with all variances.
    `test` is a published test that replaces ours. If `resampling.splits` is 0, there is no test.
    """
    n, m = len(words.x), len(words.y)
    base = jackknife(words.without())
    samples = {"the words of four sets": attributes, "words and templates": templates}
    drawn = [v for v in samples.values() if v is not None]
    extra = [v.scaled(1 / words.spread**2) for v in drawn]
    low, high = _bounds(words, base, extra, resampling.level)
    details: dict[str, Any] = {"words": [n, m], "df": float(n + m - 2), "ratio": words.ratio}
    details["inner"] = (
        _bounds(words, base, extra, 2 * resampling.level - 1) if resampling.level > 0.5 else None
    )
    details["mde"] = _detectable(words, extra, resampling.level)
    p = None
    over = " and ".join(k for k, v in samples.items() if v is not None)
    if over and test is None and resampling.splits:
        details |= {"p_method": f"t over {over}", "sided": "two"}
        p = _both_random(words, drawn)
    elif resampling.splits:
        test = test or studentised(*words.means, sided=sided, resampling=resampling)
        p, details = (
            test.p,
            details | {"p_method": test.method, "splits": test.splits, "sided": sided},
        )
    method = f"noncentral t over {over or 'words'}"
    se = math.sqrt(base + sum(v.value for v in extra))
    return Estimate(words.value, low, high, resampling.level, method, n + m, 0.0, p, se, details)


def _detectable(words: Words, extra: Sequence[Variance], level: float, power: float = 0.8) -> float:
    """The minimum detectable effect at this power."""
    parts = added((v._replace(noise=0.0) for v in extra), 1.0)
    size = mixture(words.ratio * smallest_effect(len(words.x), len(words.y), level), *words.sizes)
    reach = quantile((1 + level) / 2, parts.df) + quantile(power, parts.df)
    return min(_largest(words), math.hypot(size, reach * math.sqrt(parts.value)))


def _largest(words: Words) -> float:
    """The largest d that is possible with these sizes of X and Y."""
    n, m = words.sizes
    return max(abs(words.value), (n + m) / math.sqrt(n * m))


def _bounds(words: Words, base: float, extra: Sequence[Variance], level: float) -> list[float]:
    """The interval over target words, widened for attribute words and templates."""
    tail, free = (1 + level) / 2, float(len(words.x) + len(words.y) - 2)
    usual = quantile(tail, free)
    low, high = _rescaled(words, level)
    reach = quantile(tail, _welch_df(words)) * math.sqrt(base)
    low, high = min(low, words.value - reach), max(high, words.value + reach)
    # With more variances the quantile is that of the degrees of freedom of all together.
    total = added([Variance(base, free), *extra])
    wider = quantile(tail, total.df) if total.value else usual
    further = wider * math.sqrt(sum(v.value for v in extra) + words.tails**2)
    value, most = words.value, _largest(words)
    below, above = ((wider / usual) * v for v in (value - low, high - value))
    return [
        max(value - math.hypot(below, further), -most),
        min(value + math.hypot(above, further), most),
    ]


def _welch_df(words: Words) -> float:
    """Degrees of freedom of the jackknife's variance, whose two sets may spread unequally."""
    parts = [Variance(jackknife([v]), len(v) - 1) for v in words.without()]
    return added(parts, sum(v.df for v in parts)).df


def _both_random(words: Words, extra: Sequence[Variance]) -> float:
    """p of the t test in which target and attribute words are both a sample; words weigh alike."""
    x, y = words.means
    base = float(x.var(ddof=1) / len(x) + y.var(ddof=1) / len(y))
    variance = added([Variance(base, len(x) + len(y) - 2), *extra])
    gap = abs(float(x.mean() - y.mean()))
    if variance.value < ROUNDING**2:
        return 1.0 if gap < ROUNDING else 0.0
    return 2 * upper_tail(gap / math.sqrt(variance.value), variance.df)


def jackknife(without: Sequence[Floats]) -> float:
    """The variance of a statistic from its values without each word (or cluster), by set."""
    return sum(float(v.var() * (len(v) - 1)) for v in without)


def _rescaled(words: Words, level: float) -> tuple[float, float]:
    """The noncentral-t interval over words, in units of the spread of sentences."""
    n, m = len(words.x), len(words.y)
    observed = effect_size(*words.means)
    points = (within(observed, n, m), *noncentral(observed, n, m, level))
    middle, low, high = (mixture(words.ratio * v, *words.sizes) for v in points)
    return low + words.value - middle, high + words.value - middle


def within(effect: float, n: int, m: int) -> float:
    """Convert an effect in standard deviations of both sets to standard deviations within sets.

    r = d sqrt(nm / (N (N - 1))) is a correlation, and t = r sqrt((N - 2) / (1 - r^2)).
    """
    total = n + m
    r = min(0.999999, max(-0.999999, effect * math.sqrt(n * m / (total * (total - 1)))))
    return r * math.sqrt((total - 2) / (1 - r * r) * total / (n * m))


def noncentral(effect: float, n: int, m: int, level: float = DEFAULTS.level) -> tuple[float, float]:
    """The interval of the population's effect in units of the spread within sets.

    The t of two samples is noncentral, and its noncentrality is that effect times
    sqrt(nm / (n + m)).
    """
    scale, df = math.sqrt((n + m) / (n * m)), n + m - 2
    observed = within(effect, n, m) / scale
    low, high = (_noncentrality(observed, df, tail) for tail in ((1 + level) / 2, (1 - level) / 2))
    return scale * low, scale * high


def _noncentrality(observed: float, df: float, tail: float) -> float:
    """The noncentrality under which `observed` is the `tail` quantile of t."""
    reach = 10 + 0.5 * abs(observed) + 6 * math.sqrt(1 + observed**2 / (2 * df))

    return float(
        brentq(lambda v: _below(observed, df, v) - tail, observed - reach, observed + reach)
    )


def _below(bound: float, df: float, centre: float) -> float:
    """The noncentral t's distribution function, also far from its centre, where scipy gives NaN."""
    probability = float(nctdtr(df, centre, bound))
    return float(bound > centre) if math.isnan(probability) else probability


def mixture(within: float, n: float, m: float) -> float:
    """Convert an effect in standard deviations within sets to standard deviations of both sets."""
    share = n * m / (n + m) ** 2
    return within / math.sqrt(1 + share * within**2)


@cache
def smallest_effect(n: int, m: int, level: float = DEFAULTS.level, power: float = 0.8) -> float:
    """The smallest effect, in units of the spread within sets, that n and m words detect."""
    df = n + m - 2
    bound = quantile((1 + level) / 2, df)

    def missed(value: float) -> float:
        return _below(bound, df, value) - _below(-bound, df, value) - (1 - power)

    if missed(0) <= 0:
        return 0.0  # at this level even no effect is detected
    needed = brentq(missed, 0, 10 + 4 * bound)
    return float(needed) * math.sqrt((n + m) / (n * m))


# ---------------------------------------------------------------- attribute words


def attribute_variance(cells: Floats, sizes: tuple[int, int, int, int]) -> Variance:
    """The variance that other attribute words would add to the difference of means.

    `cells` [words of X and Y, words of A and B] are mean cosines of two words; the difference of
    means is bilinear in the two kinds of words, so its variance is that of the target words (the
    attributes fixed), plus that of the attribute words (the targets fixed), less what both count:
    their interplay. Its noise is not counted: intervals hold without it, and with it CEAT would
    lose half of its power.
    """
    n, m, p, q = sizes
    halves = [slice(0, n), slice(n, n + m)], [slice(0, p), slice(p, p + q)]
    by_attribute = cells[halves[0][0]].mean(0) - cells[halves[0][1]].mean(0)
    over = sum(float(by_attribute[c].var(ddof=1)) / len(by_attribute[c]) for c in halves[1])
    both = sum(_interplay(cells[r, c]) for r in halves[0] for c in halves[1])
    return Variance(max(over - both, 0.0), float(p + q - 2))


MIN_TEMPLATES = 3  # fewer templates are treated as fixed


def template_variance(x: Floats, y: Floats, *, paired: bool) -> Variance | None:
    """The variance that other templates would add to the difference of means.

    `x` and `y` [words, templates] are the scores of each word in each template; `paired` says that
    both have the same templates. None below MIN_TEMPLATES.
    """
    if min(x.shape[1], y.shape[1]) < MIN_TEMPLATES:
        return None
    means = (x.mean(0) - y.mean(0),) if paired else (x.mean(0), y.mean(0))
    over = sum(float(v.var(ddof=1)) / len(v) for v in means)
    both = _interplay(x) + _interplay(y)
    return Variance(max(over - both, 0.0), float(sum(len(v) - 1 for v in means)), both)


def _interplay(block: Floats) -> float:
    """The variance of a block's mean that is due to the interaction of rows and columns."""
    rows, columns = block.shape
    interaction = block - block.mean(0) - block.mean(1)[:, None] + block.mean()
    return float((interaction**2).sum()) / ((rows - 1) * (columns - 1)) / (rows * columns)
