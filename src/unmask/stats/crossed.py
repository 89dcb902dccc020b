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

Here is the design, with the parts of a variance. `word_preference.py` estimates the preference,
`bounded_scores.py` makes margins robust, `crossed_fit.py` puts the parts together.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from unmask.stats.clustering import Codes, Design, Variance, codes
from unmask.types import Floats

ROUNDING = 1e-12  # of a variance of values that are all equal


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

    @cached_property
    def cluster_size(self) -> Floats:
        """The number of items of each cluster."""
        return np.bincount(self.design.clusters).astype(float)

    @cached_property
    def contrast_by_cluster(self) -> Floats:
        """The sum over clusters of their squared total contrast in each unit [units]."""
        count = int(self.unit.max()) + 1
        part, within = np.unique(self.design.clusters * count + self.unit, return_inverse=True)
        totals = np.bincount(within, weights=self.contrast)
        return np.bincount(part % count, weights=totals**2, minlength=count).astype(float)

    def means(self, values: Floats) -> Floats:
        """The mean of the values of each cell [cells]."""
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

    def residuals(self, values: Floats) -> Floats:
        """Values less the mean of their cell, scaled up by the leverage of their cluster."""
        deviations = values - self.means(values)[self.cell]
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
        residuals = values - self.means(values)[self.cell]
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
        squares = (values - self.means(values)[self.cell]) ** 2
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
