"""Means over items that share words (or writers), group pairs and sentence templates.

The value of an item is modelled as

    value = stereotype + sign * word preference + word + template + noise

where the sign says which group of a pair the stereotype is about. A word preference belongs to a
unit: a group pair, or a template of it where every template has stereotypes about both groups. It
cancels where both groups have equally many items. Elsewhere it is estimated, by partial pooling
over the units (empirical Bayes; the variance between units is its posterior mean under a flat prior
on the standard deviation, Gelman 2006), and subtracted with its uncertainty.

The variance of a mean has three parts: words, from the residuals about the cells (unit and group),
added up by word before they are squared and corrected for leverage (Bell and McCaffrey 2002);
templates, from the spread of their balanced means within a category, pooled over all categories in
units of each category's spread; and what partial pooling leaves of the word preference. A category
may have few words, so its variance is moderated by those of the others (Smyth 2004): the variance
of its items as far as categories have the same spread, and the design effect of its words. Degrees
of freedom are Satterthwaite's (1946). The part of templates is a difference of two mean squares:
even where it is 0 it is as uncertain as the first.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import digamma, polygamma

from unmask.stats.clustering import Codes, Design, Variance, added, codes
from unmask.stats.intervals import DEFAULTS, ShareVariance, share_variance, student, weights_of
from unmask.types import Estimate, Floats

POOLED_UNITS = 3  # fewer units of both groups are not pooled
GRID = 200  # standard deviations between units that the posterior is summed over
MOST_TIED = 0.1  # most items with one and the same margin; a yes or no has two values
LEAST_SPREAD = 8  # fewest items whose spread is estimated apart from others
INNER = 0.7  # share of the distances from a cell's location that lie within the bound
NORMAL_BOUND = 1.0364  # that quantile of normal distances, in standard deviations
LEAST_CATEGORIES = 4  # fewest variances that give a common one
MOST_PRIOR = 30.0  # most degrees of freedom of the common design effect
MOST_PRIOR_SPREAD = 60.0  # most degrees of freedom of the common variance of items
ROUNDING = 1e-12  # of a variance of values that are all equal
STEPS = 40  # of the iteration that finds the locations


class WordPreference(NamedTuple):
    """The preference for the first group's word in each unit [units], in the unit of the values.

    `unit_weight` is the share of a unit's own estimate in it, `pooled` the weight of a unit in the
    common mean; `between` is the variance between units with its degrees of freedom. `noise` is the
    sampling variance of each unit's own estimate.
    """

    values: Floats
    unit_weight: Floats
    pooled: Floats
    between: Variance
    noise: Floats

    @property
    def size(self) -> float:
        """Root mean square of the preference over the units that have both groups."""
        finite = np.isfinite(self.noise)
        if not finite.any():
            return 0.0
        return float(np.sqrt(np.mean(self.values[finite] ** 2)))


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
class Crossed:
    """The design of items [n] as a model takes it; `of` caches it with the design."""

    design: Design

    @staticmethod
    def of(design: Design) -> "Crossed":
        """The model of a design, built once."""
        return design.memo.get("crossed", len(design.clusters), lambda: Crossed(design))

    @cached_property
    def pair(self) -> Codes:
        """The group pair of each item."""
        pairs = self.design.pairs
        return np.zeros(len(self.design.clusters), np.int64) if pairs is None else pairs

    @cached_property
    def sign(self) -> Codes:
        """Which group of its pair the stereotype is about: +1, -1, or 0 where that is unknown."""
        signs = self.design.signs
        return np.zeros(len(self.pair), np.int64) if signs is None else signs

    @cached_property
    def unit(self) -> Codes:
        """What a word preference belongs to: a group pair, or a template of it."""
        templates = self.design.templates
        if templates is None:
            return codes(self.pair)
        unit = codes(self.pair * (int(templates.max()) + 1) + templates)
        groups = ((self.sign == s).astype(float) for s in (1, -1))
        both = np.minimum(*(np.bincount(unit, weights=g) for g in groups))
        paired = np.ones(int(self.pair.max()) + 1, bool)
        np.logical_and.at(paired, self.pair, both[unit] > 1)
        return codes(np.where(paired[self.pair], unit, int(unit.max()) + 1 + self.pair))

    @cached_property
    def stratum(self) -> Codes:
        """The target group of each item within its group pair."""
        strata = self.design.strata
        group = self.sign + 1 if strata is None else strata
        return codes(self.pair * (int(group.max()) + 1) + group)

    @cached_property
    def cell(self) -> Codes:
        """Unit and target group: items of one cell differ by word and noise alone."""
        return codes(self.unit * (int(self.stratum.max()) + 1) + self.stratum)

    @cached_property
    def cell_size(self) -> Floats:
        """The number of items of each cell."""
        return np.bincount(self.cell).astype(float)

    @cached_property
    def leverage(self) -> Floats:
        """The share of an item's cluster in its cell [n]."""
        cluster = self.design.clusters
        part = codes(self.cell * (int(cluster.max()) + 1) + cluster)
        return np.asarray(np.bincount(part)[part] / self.cell_size[self.cell])

    @cached_property
    def nested(self) -> bool:
        """Whether every cluster lies in one stratum."""
        cluster = self.design.clusters
        return len(np.unique(self.stratum * self.design.count + cluster)) == self.design.count

    @cached_property
    def contrast(self) -> Floats:
        """Weights [n] that give each unit's own word preference as a sum; 0 without both groups."""
        first, second = self._by_group
        with np.errstate(divide="ignore"):
            halves = np.where(self.sign > 0, 0.5 / first[self.unit], -0.5 / second[self.unit])
        return np.where((self.sign != 0) & self.both[self.unit], halves, 0.0)

    @cached_property
    def both(self) -> Any:
        """Whether a unit has stereotypes about both groups [units]."""
        return np.minimum(*self._by_group) > 0

    @cached_property
    def _by_group(self) -> tuple[Floats, Floats]:
        first, second = ((self.sign == s).astype(float) for s in (1, -1))
        return (
            np.bincount(self.unit, weights=first).astype(float),
            np.bincount(self.unit, weights=second).astype(float),
        )

    # ---------------------------------------------------------------- scores

    def robust(self, margins: Floats) -> tuple[Floats, float]:
        """Margins as bounded scores in robust standard deviations, and that unit.

        Each cell has Huber's (1964) location, whose bound is the INNER quantile of the distances
        within its target group. A score is the location plus the bounded distance over the share of
        distances within the bound: the mean of the scores of a cell is its location, and their
        variance is that of the location. Margins of few values, such as yes and no, are kept as
        they are.
        """
        counts = np.unique(margins, return_counts=True)[1]
        if counts.max() > max(2, MOST_TIED * len(margins)):  # a quantile of few values says nothing
            unit = float(np.std(margins - self._means(margins)[self.cell])) or 1.0
            return margins / unit, unit
        spread, size = self._spread_group, np.bincount(self._spread_group)
        middle, bound = self._means(margins), np.zeros(len(size))
        for step in range(STEPS):
            away = margins - middle[self.cell]
            if step < STEPS // 2:
                bound = _quantiles(np.abs(away), spread, size)
            bounded = np.clip(away, -bound[spread], bound[spread])
            middle = middle + np.bincount(self.cell, weights=bounded) / self.cell_size
        away = margins - middle[self.cell]
        limit = bound[spread]
        unit = float(np.median(limit)) / NORMAL_BOUND or float(np.std(away)) or 1.0
        within = np.abs(away) <= limit * (1 + 1e-9)
        inside = np.maximum(np.bincount(spread, weights=within) / size, 0.1)[spread]
        return (middle[self.cell] + np.clip(away, -limit, limit) / inside) / unit, unit

    @cached_property
    def _spread_group(self) -> Codes:
        """Items whose spread is estimated together: a target group, or the rest of a category."""
        size = np.bincount(self.stratum)[self.stratum]
        rest = int(self.stratum.max()) + 1 + self.category
        return codes(np.where(size >= LEAST_SPREAD, self.stratum, rest))

    # ---------------------------------------------------------------- word preference

    def preference(self, scores: Floats) -> WordPreference:
        """The word preference of each unit, by partial pooling."""
        gaps = np.bincount(self.unit, weights=self.contrast * scores)
        noise = self._noise(scores)
        if self.both.sum() < POOLED_UNITS:
            shares = self.both.astype(float)
            pooled = np.zeros(len(gaps))
            return WordPreference(shares * gaps, shares, pooled, Variance(0.0, 1.0), noise)
        between = _between_units(gaps[self.both], noise[self.both])
        shares, pooled = np.zeros(len(gaps)), np.zeros(len(gaps))
        shares[self.both] = between / (between + noise[self.both])
        pooled[self.both] = 1 / (between + noise[self.both])
        pooled /= pooled.sum()
        values = shares * gaps + (1 - shares) * float(pooled @ gaps)
        df = float(self.both.sum() - 1)
        return WordPreference(values, shares, pooled, Variance(between, df), noise)

    def _noise(self, scores: Floats) -> Floats:
        """Sampling variance of each unit's own word preference; infinite without both groups.

        Items of a cluster are equally correlated. Where a writer has items about both groups, what
        they have in common cancels.
        """
        residuals = scores - self._means(scores)[self.cell]
        squares = float(np.sum(residuals**2))
        free = max(1, len(scores) - len(self.cell_size))
        sums = np.bincount(self.design.clusters, weights=residuals)
        neighbours = float(np.mean(self._cluster_size[self.design.clusters])) - 1
        correlation = 0.0
        if squares > 0 and neighbours > 0:
            correlation = min(1.0, max(0.0, (float(np.sum(sums**2)) / squares - 1) / neighbours))
        squares_by_unit = np.bincount(self.unit, weights=self.contrast**2)
        noise = (
            squares
            / free
            * ((1 - correlation) * squares_by_unit + correlation * self._contrast_by_cluster)
        )
        return np.where(self.both, noise, np.inf)

    @cached_property
    def _cluster_size(self) -> Floats:
        return np.bincount(self.design.clusters).astype(float)

    @cached_property
    def _contrast_by_cluster(self) -> Floats:
        """The sum over clusters of their squared total contrast in each unit [units]."""
        count = int(self.unit.max()) + 1
        part, within = np.unique(self.design.clusters * count + self.unit, return_inverse=True)
        totals = np.bincount(within, weights=self.contrast)
        return np.bincount(part % count, weights=totals**2, minlength=count).astype(float)

    def _means(self, values: Floats) -> Floats:
        return np.bincount(self.cell, weights=values) / self.cell_size

    def adjusted(self, weight: Floats, preference: WordPreference) -> tuple[Floats, float]:
        """Weights [n] of the mean without word preference, and the variance that pooling leaves.

        The mean of `value - sign * word preference` is a weighted sum over all items, because each
        word preference is one. The variance is that of the error of pooling, in the squared unit of
        the preference.
        """
        imbalance = np.bincount(self.unit, weights=weight * self.sign)
        if not preference.pooled.any():
            imbalance = np.where(self.both, imbalance, 0.0)
        borrowed = float(np.sum(imbalance * (1 - preference.unit_weight)))
        used = imbalance * preference.unit_weight + borrowed * preference.pooled
        error = borrowed * preference.pooled - imbalance * (1 - preference.unit_weight)
        pooling = float(np.sum(error**2)) * preference.between.value
        return weight - used[self.unit] * self.contrast, pooling

    # ---------------------------------------------------------------- variance

    def residuals(self, values: Floats) -> Floats:
        """Values less the mean of their cell, scaled up by the leverage of their cluster."""
        deviations = values - self._means(values)[self.cell]
        free = max(1, len(values) - len(self.cell_size))
        usual = math.sqrt(float(np.sum(deviations**2)) / free)
        return np.where(
            self.leverage < 1, deviations / np.sqrt(np.maximum(1 - self.leverage, 1e-9)), usual
        )

    def words(self, residuals: Floats, weight: Floats) -> tuple[Variance, Variance]:
        """The variance that words (or writers) add, and what it were if all items were words."""
        cluster = self.design.clusters
        sums = np.bincount(cluster, weights=weight * residuals)
        sizes = np.bincount(cluster, weights=weight**2)
        used = np.abs(weight) > 1e-12
        lost = len(np.unique(self.stratum[used])) if self.nested else 1
        effective = float(np.sum(sizes) ** 2 / np.sum(sizes**2))
        items = float(np.sum(weight**2) ** 2 / np.sum(weight**4)) - len(np.unique(self.cell[used]))
        return (
            Variance(float(np.sum(sums**2)), max(1.0, effective - lost)),
            Variance(float(np.sum((weight * residuals) ** 2)), max(1.0, items)),
        )

    def within_words(self, residuals: Floats) -> Floats:
        """Residuals less the mean of their word; unchanged for words with a single item."""
        cluster = self.design.clusters
        word = codes(self.stratum * (int(cluster.max()) + 1) + cluster)
        size = np.bincount(word)[word]
        means = np.bincount(word, weights=residuals)[word] / size
        scaled = (residuals - means) * np.sqrt(size / np.maximum(size - 1, 1))
        return np.where(size > 1, scaled, residuals)

    @cached_property
    def template(self) -> Codes | None:
        """The template of each item within its category, where categories have several."""
        templates = self.design.templates
        if templates is None:
            return None
        return codes(self.category * (int(templates.max()) + 1) + templates)

    @cached_property
    def category(self) -> Codes:
        """The category (bias type) of each item."""
        categories = self.design.categories
        return np.zeros(len(self.pair), np.int64) if categories is None else categories

    @cached_property
    def _block(self) -> Codes:
        """The block of each template [templates]: templates that shared group pairs link."""
        assert self.template is not None
        count = int(self.template.max()) + 1
        links = np.unique(np.column_stack([self.template, count + self.pair]), axis=0)
        size = count + int(self.pair.max()) + 1
        graph = coo_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(size, size))
        return codes(connected_components(graph, directed=False)[1][:count].astype(np.int64))

    def template_variance(
        self, values: Floats, preference: WordPreference, spread: Floats
    ) -> Variance:
        """The variance between templates over the `spread` of their category, pooled over blocks.

        From balanced means of the templates less the noise of items in them.
        """
        if self.template is None:
            return Variance(0.0, 1.0)
        template, block, unit = self.template, self._block, spread[self.template_category]
        several = (np.bincount(block)[block] > 1) & (unit > ROUNDING)
        if not several.any():
            return Variance(0.0, 1.0)
        weight = self.balanced(preference)
        total = np.bincount(template, weights=weight)
        centre = np.bincount(self._centred, weights=values) / np.bincount(self._centred)
        mean = np.bincount(template, weights=weight * (values - centre[self._centred])) / total
        residuals = values - self._means(values)[self.cell]
        within_words = (weight * self.within_words(residuals)) ** 2
        noise = np.bincount(template, weights=within_words) / total**2
        count = np.bincount(block)[block].astype(float)
        middle = np.bincount(block, weights=mean / count)
        squares = ((mean - middle[block]) ** 2)[several] / unit[several]
        free = (1 - 1 / count)[several]
        df = float(free.sum())
        usual = float(np.sum(noise[several] / unit[several] * free)) / df
        return Variance(max(0.0, float(np.sum(squares)) / df - usual), df, usual)

    @cached_property
    def _centred(self) -> Codes:
        """Items that have a mean in common apart from templates: a target group, or its pair.

        Where each group of a pair has its own templates, their difference may be an effect of the
        templates, so it counts as one.
        """
        assert self.template is not None
        seen = np.unique(np.column_stack([self.pair, self.template, self.stratum]), axis=0)
        shared = np.unique(seen[:, :2], axis=0, return_counts=True)
        crossed = np.zeros(int(self.pair.max()) + 1, bool)
        np.logical_or.at(crossed, shared[0][:, 0], shared[1] > 1)
        single = np.bincount(np.unique(seen[:, [0, 2]], axis=0)[:, 0]) < 2
        strata = (crossed | single)[self.pair]
        return codes(np.where(strata, self.stratum, int(self.stratum.max()) + 1 + self.pair))

    @cached_property
    def template_category(self) -> Codes:
        """The category of each template [templates]."""
        assert self.template is not None
        categories = np.zeros(int(self.template.max()) + 1, np.int64)
        categories[self.template] = self.category
        return categories

    def spreads(self, values: Floats) -> tuple[Floats, Floats]:
        """The variance of items about their cells in each category, and its degrees of freedom."""
        squares = (values - self._means(values)[self.cell]) ** 2
        cells = np.unique(np.column_stack([self.category, self.cell]), axis=0)[:, 0]
        df = (np.bincount(self.category) - np.bincount(cells)).astype(float)
        return np.bincount(self.category, weights=squares) / np.maximum(df, 1.0), df

    def balanced(self, preference: WordPreference) -> Floats:
        """The adjusted weight of each item in the mean of its own category."""
        weights = np.zeros(len(self.pair))
        for category in range(int(self.category.max()) + 1):
            members = self.category == category
            weight, _ = self.adjusted(members / members.sum(), preference)
            weights[members] = weight[members]
        return weights

    def fit(
        self,
        values: Floats,
        preference: WordPreference | None = None,
        scale: float = 1.0,
        *,
        share: bool = False,
    ) -> "Fit":
        """The model of some values; `scale` turns the unit of the preference into theirs."""
        word_preference = self.preference(values) if preference is None else preference
        return Fit(self, values, word_preference, scale, share)


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


def _quantiles(distances: Floats, group: Codes, size: Any) -> Floats:
    """The INNER quantile of the distances in each group, interpolated linearly."""
    ordered = distances[np.lexsort((distances, group))]
    place = INNER * (size - 1)
    below = np.floor(place).astype(np.int64)
    first = np.cumsum(size) - size + below
    after = np.minimum(first + 1, np.cumsum(size) - 1)
    return np.asarray(ordered[first] + (place - below) * (ordered[after] - ordered[first]))


def _between_units(gaps: Floats, noise: Floats) -> float:
    """The posterior mean of the variance between units under a flat prior on its root."""
    top = 4 * math.sqrt(float(np.var(gaps) + np.mean(noise))) + 1e-12
    spread = np.linspace(top / (2 * GRID), top, GRID)
    precision = 1 / (noise[None] + spread[:, None] ** 2)
    total = precision.sum(1)
    centre = (precision * gaps).sum(1) / total
    misfit = (precision * (gaps[None] - centre[:, None]) ** 2).sum(1)
    log_density = 0.5 * (np.log(precision).sum(1) - misfit - np.log(total))
    density = np.exp(log_density - log_density.max())
    return float(density @ spread**2 / density.sum())
