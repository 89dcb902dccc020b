"""The model of crossed items with its variance put together: means, shares and their intervals.

The model is in `crossed.py`. A category may have few words, so its variance is moderated by those
of the others (Smyth 2004).
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, polygamma

from unmask.stats.clustering import Variance, added
from unmask.stats.crossed import ROUNDING, Crossed, WordPreference
from unmask.stats.intervals import DEFAULTS, ShareVariance, share_variance, student, weights_of
from unmask.stats.word_preference import word_preference
from unmask.types import Estimate, Floats

LEAST_CATEGORIES = 4  # fewest variances that give a common one
MOST_PRIOR = 30.0  # most degrees of freedom of the common design effect
MOST_PRIOR_SPREAD = 60.0  # most degrees of freedom of the common variance of items


class CrossedMean(NamedTuple):
    """A weighted mean, and the parts of its variance.

    `alone` is the part of `words` that items add independently of each other.
    """

    value: float
    words: Variance
    alone: float
    templates: Variance
    preference: Variance
    counts: tuple[int, int]

    @property
    def variance(self) -> Variance:
        """The sum of all parts."""
        return added((self.words, self.templates, self.preference))

    @property
    def parts(self) -> dict[str, Any]:
        """The parts of the variance from which a larger study is planned."""
        words, templates = self.counts
        return {
            "words": {"count": words, "variance": self.words.value, "df": self.words.df},
            "templates": {
                "count": templates,
                "variance": self.templates.value,
                "df": self.templates.df,
            },
            "alone": self.alone,
            "preference": self.preference.value,
        }


@dataclass(frozen=True)
class Fit:
    """A model of values [n]: the mean of any items, with its variance.

    The values of a `share` are answers (1, 0, a half), already adjusted for word preference. Their
    variance depends on the share, so that of one category says nothing about another.
    """

    crossed: Crossed
    values: Floats
    preference: WordPreference
    scale: float = 1.0
    is_share: bool = False

    @staticmethod
    def of(
        crossed: Crossed,
        values: Floats,
        preference: WordPreference | None = None,
        scale: float = 1.0,
        *,
        share: bool = False,
    ) -> "Fit":
        """The model of some values; `scale` turns the unit of the preference into theirs."""
        of_words = word_preference(crossed, values) if preference is None else preference
        return Fit(crossed, values, of_words, scale, share)

    @cached_property
    def _residuals(self) -> Floats:
        return self.crossed.residuals(self.values)

    @cached_property
    def _spreads(self) -> tuple[Floats, Floats, Floats]:
        """The variance of items in each category, moderated; its df; and the factor of moderation.

        Shrunk towards the common variance as far as the categories have one.
        """
        variance, df = self.crossed.spreads(self.values)
        positive = (variance > ROUNDING) & (df > 0)
        usual = usual_variance(variance[positive], df[positive], MOST_PRIOR_SPREAD)
        if self.is_share or usual.df <= 0:
            return variance, df, np.ones(len(variance))
        moderated = (df * variance + usual.df * usual.value) / (df + usual.df)
        factor = np.divide(moderated, variance, out=np.ones(len(variance)), where=positive)
        return variance * factor, df + usual.df, factor

    @cached_property
    def _templates(self) -> Variance:
        return self.crossed.template_variance(self.values, self.preference, self._spreads[0])

    @cached_property
    def _design_effect(self) -> Variance:
        """The common design effect: the variance of words over that of independent items."""
        crossed, weight = self.crossed, self.crossed.balanced(self.preference)
        effects, df = [], []
        for category in range(int(crossed.category.max()) + 1):
            category_weight = np.where(crossed.category == category, weight, 0.0)
            words, items = crossed.words(self._residuals, category_weight)
            if words.value > 0 and words.df >= 2:
                effects.append(words.value / items.value)
                df.append(words.df)
        return usual_variance(np.array(effects), np.array(df), MOST_PRIOR)

    def _moderated(self, words: Variance, items: Variance, model: Floats) -> Variance:
        """Shrink the variance of one category's words towards what is usual in all categories.

        The variance of its items and the design effect are shrunk apart: where categories differ in
        spread, they still have about the same design effect. Not that of writers, who have
        different numbers of items in each category.
        """
        usual = self._design_effect
        categories = np.unique(self.crossed.category[np.abs(model) > ROUNDING])
        if self.is_share or usual.df <= 0 or len(categories) != 1 or not self.crossed.nested:
            return words
        if not items.value > 0:  # nothing varies in this category
            return words
        _, df, factor = self._spreads
        weight = words.df / (words.df + usual.df)
        effect = weight * words.value / items.value + (1 - weight) * usual.value
        # What words add to the variance of their items is uncorrelated with it.
        error = 1 / max(1.0, df[categories[0]]) + weight**2 * max(0.0, 1 / words.df - 1 / items.df)
        return Variance(items.value * factor[categories[0]] * effect, 1 / error)

    def mean(self, weight: Floats, *, adjust: bool = True) -> CrossedMean:
        """The weighted mean, less word preference if `adjust`; weights [n] add up to 1."""
        crossed, model = self.crossed, weight
        pooling = 0.0
        if adjust:
            model, pooling = crossed.adjusted(weight, self.preference)
        words, items = crossed.words(self._residuals, model)
        words = self._moderated(words, items, model)
        alone = float(np.sum((model * crossed.within_words(self._residuals)) ** 2))
        templates, count = Variance(0.0, 1.0), 1
        if crossed.template is not None:
            shares = np.bincount(crossed.template, weights=model) ** 2
            size = shares * self._spreads[0][crossed.template_category]
            templates = self._templates.scaled(float(size.sum()))
            count = int(np.count_nonzero(shares > ROUNDING**2))
        preference = Variance(self.scale**2 * pooling, self.preference.between.df)
        value = math.fsum((weight if self.is_share else model) * self.values)
        clusters = len(np.unique(crossed.design.clusters[weight != 0]))
        return CrossedMean(value, words, alone, templates, preference, (clusters, count))

    def estimate(
        self, mask: Any, macro: bool = False, resampling: Any = DEFAULTS, unit: float = 1.0
    ) -> Estimate:
        """The mean of the chosen items [n] with Student's interval, times `unit`."""
        weight, clusters = weights_of(self.crossed.design, mask, macro)
        mean = self.mean(weight)
        variance = Variance(unit**2 * mean.variance.value, mean.variance.df)
        method = "t over words and templates" if mean.templates.value else "t over clusters"
        return student(
            unit * mean.value,
            variance,
            int(mask.sum()),
            clusters,
            ideal=0.0,
            resampling=resampling,
            method=method,
        )

    def share(self, weight: Floats, *, adjust: bool = False) -> tuple[ShareVariance, CrossedMean]:
        """The share of values (0 to 1) with its possible variances, and the mean behind it."""
        mean = self.mean(weight, adjust=adjust)
        clusters, cells = self.crossed.design.clusters, self.crossed.cell
        trials = np.ones(len(weight))
        return share_variance(self.values, weight, mean.variance, clusters, cells, trials), mean


def usual_variance(values: Floats, df: Floats, most_prior: float) -> Variance:
    """The common variance of several variances, with the degrees of freedom that it counts for.

    Estimated from the moments of their logarithms (Smyth 2004); 0 degrees of freedom if there are
    fewer than LEAST_CATEGORIES.
    """
    if len(values) < LEAST_CATEGORIES:
        return Variance(0.0, 0.0)
    logs = np.log(values) - digamma(df / 2) + np.log(df / 2)
    spread = float(np.var(logs, ddof=1) - np.mean(polygamma(1, df / 2)))
    prior = most_prior if spread <= 0 else min(most_prior, 2 * _trigamma_inverse(spread))
    centre = float(logs.mean() + digamma(prior / 2) - math.log(prior / 2))
    return Variance(math.exp(centre), prior)


def _trigamma_inverse(value: float) -> float:
    """The x whose trigamma is a value, by Newton's method."""
    x = 0.5 + 1 / value
    for _ in range(50):
        slope = float(polygamma(1, x))
        step = slope * (1 - slope / value) / float(polygamma(2, x))
        x += step
        if -step < 1e-8 * x:
            break
    return x
