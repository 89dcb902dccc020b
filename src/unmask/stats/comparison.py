"""Two runs on the same items: is the difference real?

Items are paired, and differences are tested over clusters: by flipping the signs of whole clusters
(exact where there are few), by Student's t, or by exact McNemar where items are independent. Two
runs are equivalent if two one-sided tests (TOST, Schuirmann 1987) exclude the margin on both sides.
The variance of few changed answers has a floor, after Bonett and Price (2012).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from statsmodels.stats.contingency_tables import mcnemar

from unmask.errors import DataError
from unmask.options import Resampling
from unmask.stats.clustering import Design, Variance, as_design
from unmask.stats.crossed import Crossed
from unmask.stats.crossed_fit import Fit
from unmask.stats.effects import jackknife
from unmask.stats.intervals import DEFAULTS, MIN_CLUSTERS, student, weights, wilson
from unmask.stats.student_t import quantile, upper_tail
from unmask.types import Estimate, Floats


def paired_difference(
    first: Floats,
    second: Floats,
    clusters: Design | Sequence[Any] | NDArray[Any],
    *,
    macro: bool = False,
    weight: Floats | None = None,
    scale: float = 1.0,
    resampling: Resampling = DEFAULTS,
) -> Estimate:
    """The mean of `second - first` over the same items, with Student's interval over clusters.

    `weight` [n] adds up to 1; without it all items weigh the same, or all clusters (`macro`). The
    two-sided p flips the signs of the clusters' differences at random, which is exact if neither
    run is ahead in any cluster. If templates are crossed with clusters, p is from the t test.
    """
    first, second = np.asarray(first, float), np.asarray(second, float)
    if len(first) != len(second):
        raise DataError(f"paired items are needed, and {len(first)} and {len(second)} were given.")
    if not np.isfinite(second - first).all():
        raise DataError("a score is not a finite number, so the difference is undefined.")
    design, difference = as_design(clusters), second - first
    weight = weights(design, macro) if weight is None else weight
    value = float(weight @ difference)
    over = design.variance(weight * (difference - value), weight)
    details: dict[str, Any] = {}
    if _yes_or_no(first, second):
        over = Variance(max(over.value, _least(difference, weight, design)), over.df)
        details["changed"] = float(weight @ np.abs(difference)), scale
    variance = Variance(scale**2 * over.value, over.df)
    estimate = student(
        scale * value, variance, len(first), design.count, ideal=0.0, resampling=resampling
    )
    if _shares(first, second):
        estimate = _within_range(estimate, scale, resampling)
    p = estimate.p
    if design.templates is None:  # signs of words alone ignore that templates are a sample
        p = sign_flip(weight * difference, design.clusters, resampling=resampling)
    return replace(
        estimate, method="paired " + estimate.method, p=p, more={**estimate.more, **details}
    )


def _shares(first: Floats, second: Floats) -> bool:
    """Whether values are answers or means of them, so that a difference is from -1 to 1."""
    both = np.concatenate([first, second])
    return bool((both >= 0).all() and (both <= 1).all())


def _within_range(estimate: Estimate, scale: float, resampling: Resampling) -> Estimate:
    """The difference of two shares with an interval within -1 and 1 (times `scale`).

    (difference + 1) / 2 is a mean of values from 0 to 1: Wilson's interval of it, with the variance
    that was estimated, ends there. With many items it is Student's.
    """
    if math.isnan(estimate.low):
        return estimate
    share = (estimate.value / scale + 1) / 2
    smooth = (share * estimate.n + 0.5) / (estimate.n + 1)
    unit = (estimate.se / scale / 2) ** 2 / (smooth * (1 - smooth))

    def bounds(probability: float) -> list[float]:
        z2 = quantile(probability, estimate.more["df"]) ** 2 * unit
        return [scale * (2 * v - 1) for v in wilson(share, z2)]

    low, high = bounds(1 - resampling.tail)
    more = {**estimate.more, "inner": bounds(resampling.level)}
    method = estimate.method.replace("t over", "Wilson over")
    return replace(estimate, low=low, high=high, method=method, more=more)


def _yes_or_no(first: Floats, second: Floats) -> bool:
    return bool(np.isin(np.concatenate([first, second]), (0.0, 0.5, 1.0)).all())


def _least(difference: Floats, weight: Floats, design: Design) -> float:
    """The least variance of a difference of shares, with two changed items added.

    One is added to each kind of change (Bonett and Price 2012), because two runs that agree on
    these items may differ on others. It is halved if at least MIN_CLUSTERS clusters have a change,
    since their own spread can then be estimated.
    """
    n = len(difference)
    lost, won = (np.count_nonzero(difference < 0) + 1, np.count_nonzero(difference > 0) + 1)
    changed, gap = (lost + won) / (n + 2), (won - lost) / (n + 2)
    clusters = len(np.unique(design.clusters[difference != 0]))
    return float((changed - gap**2) * (weight**2).sum()) / (1 if clusters < MIN_CLUSTERS else 2)


def sign_flip(
    difference: Floats,
    clusters: Sequence[Any] | NDArray[Any],
    *,
    resampling: Resampling = DEFAULTS,
) -> float:
    """Paired permutation test: signs flipped by cluster.

    Exact when there are few clusters. Otherwise flips are sampled and ties count a half (mid-p),
    because counts of changed items often tie, which would make the test conservative.
    """
    number, draws = as_design(clusters).clusters, resampling.draws
    sums = np.bincount(number, weights=difference)
    sums = sums[sums != 0]  # a flip changes nothing there
    observed = abs(float(sums.sum()))
    slack = 1e-12 * max(1.0, float(np.abs(sums).sum()))
    count = len(sums)
    if 2**count <= draws:
        flips = 1.0 - 2.0 * ((np.arange(2**count)[:, None] >> np.arange(count)) & 1)
        return float(np.mean(np.abs(flips @ sums) >= observed - slack))
    rng = np.random.default_rng(resampling.seed)
    signs = rng.choice(np.array([-1.0, 1.0]), size=(draws, count))
    flipped = np.abs(signs @ sums)
    above, ties = np.sum(flipped > observed + slack), np.sum(np.abs(flipped - observed) <= slack)
    return float(above + ties / 2 + 1) / (draws + 1)


def exact_mcnemar(first: Floats, second: Floats) -> tuple[float, int, int]:
    """Exact McNemar p of two yes-no answers to the same items, and the two discordant counts.

    It takes items as independent: for those that come in clusters `sign_flip` is the test.
    """
    a, b = np.asarray(first, float), np.asarray(second, float)
    lost, won = int(np.sum(b < a)), int(np.sum(b > a))
    if lost + won == 0:
        return 1.0, 0, 0
    return float(mcnemar([[0, lost], [won, 0]], exact=True).pvalue), lost, won


def rank_sum(strata: Sequence[Sequence[Sequence[float] | Floats]]) -> float:
    """Exact two-sided p that two groups have ranks dealt at random, within each stratum.

    A stratum is the ranks of both groups, ties as their mean rank. One stratum is the rank-sum
    test of Wilcoxon (1945) and Mann and Whitney; several are summed, as van Elteren (1960) does
    for strata of one size. The distribution is counted, not approximated.
    """
    ways = np.ones(1)  # how many ways lead to each sum; ranks are doubled to be whole
    observed = centre = 0.0
    for first, second in strata:
        doubled = np.rint(2 * np.concatenate([first, second])).astype(int)
        ways = np.convolve(ways, _ways(doubled.tolist(), len(first)))
        observed += doubled[: len(first)].sum()
        centre += len(first) * doubled.mean()
    away = np.abs(np.arange(len(ways)) - centre)
    return float(ways[away >= abs(observed - centre) - 1e-9].sum() / ways.sum())


def _ways(ranks: Sequence[int], count: int) -> Floats:
    """Count the ways in which `count` of the ranks give each sum."""
    ways = np.zeros((count + 1, sum(ranks) + 1))
    ways[0, 0] = 1
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank].copy()
    return ways[count]


def equivalence(difference: Estimate, margin: float) -> float:
    """TOST: p that the true difference lies outside plus or minus `margin`."""
    return max(reaches(difference, margin), reaches(negated(difference), margin))


def reaches(difference: Estimate, margin: float) -> float:
    """The one-sided p that the true difference is at least `margin`.

    From t with the degrees of freedom of the difference; NaN without a standard error. For yes-no
    answers, a difference of `margin` needs at least that many changed answers, so the standard
    error is the one with these changes. For identical runs p is 0.
    """
    if not difference.se > 0:
        return 0.0 if difference.value == 0 < margin and difference.p == 1 else math.nan
    df, se = difference.more["df"], difference.se
    if "changed" in difference.more:
        changed, scale = difference.more["changed"]
        gap, least = difference.value / scale, margin / scale
        spread = max(changed - gap**2, 1 / difference.n)
        se *= math.sqrt(max(1.0, (max(changed, least) - least**2) / spread))
    return upper_tail((margin - difference.value) / se, df)


def negated(difference: Estimate) -> Estimate:
    """The difference with its sign reversed."""
    value, low, high = -difference.value, -difference.high, -difference.low
    return replace(difference, value=value, low=low, high=high)


CLEARLY = 3.0  # standard errors from fair beyond which the direction is certain


class Bias(NamedTuple):
    """The biases a and b of two runs on the same items, as `b - a` and `b + a` (0 is fair).

    |b| - |a| is not smooth where a run is fair; but |b| is at most |a| + m if b and -b are, and
    |a| is the larger of a and -a, so that these two are enough to test it.
    """

    difference: Estimate
    total: Estimate

    @property
    def first(self) -> float:
        """a."""
        return (self.total.value - self.difference.value) / 2

    @property
    def second(self) -> float:
        """b."""
        return (self.total.value + self.difference.value) / 2

    def no_worse(self, margin: float) -> float:
        """p that |b| is larger than |a| by at least `margin`: a test of non-inferiority.

        In each direction one of two tests has to be significant, with Bonferroni's correction: if
        the first run is fair, both can be at their margin. If it is clearly biased, only one can,
        and there is no correction.
        """
        clear = abs(self.first) > CLEARLY * (self.difference.se + self.total.se) / 2
        factor = 1 if clear else 2
        sides = ((self.difference, self.total), (negated(self.total), negated(self.difference)))
        return max(min(1.0, factor * min(reaches(e, margin) for e in side)) for side in sides)

    @property
    def turned(self) -> "Bias":
        """The same with the runs exchanged."""
        return Bias(negated(self.difference), self.total)

    def worse(self, margin: float) -> float:
        """p that |b| is larger than |a| by no more than `margin`."""
        both = (self.difference, self.total)
        both = both if self.second >= 0 else (negated(both[0]), negated(both[1]))
        return max(reaches(negated(e), -margin) for e in both)


class PairedValues:
    """Yes-no answers of two runs to the same items [n], under one model of words and templates.

    With `adjusted`, the word preference of each run was subtracted from its margins, and its
    uncertainty is part of the variance.
    """

    def __init__(
        self, first: Floats, second: Floats, design: Design, adjusted: bool = False
    ) -> None:
        self.design, self.adjusted = design, adjusted
        self.values = (second - first, second + first - 1)
        self.fits = [Fit.of(Crossed.of(design), v, share=True) for v in self.values]

    def bias(self, weight: Floats, resampling: Resampling = DEFAULTS) -> Bias:
        """Difference and total in percentage points; `weight` [n] adds up to 1."""
        difference, total = (self._estimate(k, weight, resampling) for k in range(2))
        return Bias(difference, total)

    def _estimate(self, k: int, weight: Floats, resampling: Resampling) -> Estimate:
        values, mask = self.values[k], weight > 0
        over = self.fits[k].mean(weight, adjust=self.adjusted).variance
        part = self.design.chosen(mask)
        least = _least(values[mask], weight[mask], part)
        if least > over.value:  # too little has changed for its spread to be seen
            over = Variance(least, float(part.count - 1))
        value, scale = float(weight @ values), 100.0
        variance = Variance(scale**2 * over.value, max(over.df, 1.0))
        estimate = student(
            scale * value,
            variance,
            int(mask.sum()),
            part.count,
            ideal=0.0,
            resampling=resampling,
            method="paired t over words and templates",
        )
        estimate = _within_range(estimate, scale, resampling)
        changed = {"changed": (float(weight @ np.abs(values)), scale)}
        return replace(estimate, more={**estimate.more, **changed})


def effect_difference(
    values: tuple[float, float],
    first: Sequence[Floats],
    second: Sequence[Floats],
    resampling: Resampling = DEFAULTS,
) -> Estimate:
    """The second run's effect size less the first's, both by the measure's own statistic.

    `first` and `second` hold, for each sampled set of words, the effect size without each word, in
    the same order. The jackknife of the difference gives its standard error. Interval and p are
    from t, with the number of words less the number of sets as degrees of freedom.
    """
    changes = [b - a for a, b in zip(first, second, strict=True)]
    df, words = sum(len(c) - 1 for c in changes), sum(map(len, changes))
    variance = Variance(jackknife(changes), float(df))
    method = "paired jackknife over words"
    value = values[1] - values[0]
    estimate = student(
        value, variance, words, words, ideal=0.0, resampling=resampling, method=method
    )
    return replace(estimate, p=1.0) if estimate.p is None and value == 0 else estimate
