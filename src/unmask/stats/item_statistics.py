"""Statistics of item values, each with the influence of every item.

An item has one value, such as the difference of its two sentences' scores, or the variance over its
groups. The influence of the items sums to 0; it gives the interval over clusters, the comparison of
two models on the same items, and what each item does to the score.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from unmask.errors import DataError
from unmask.options import Resampling
from unmask.stats.clustering import Design, codes
from unmask.stats.intervals import ANYTHING, DEFAULTS, bounded, student
from unmask.types import Estimate, Floats

POSITIVE, PER_CENT = (0.0, np.inf), (0.0, 100.0)  # ranges of some statistics


class ItemStatistic(NamedTuple):
    """A statistic, the influence of each item [n], and the items' weights [n]."""

    value: float
    influence: Floats
    weight: Floats

    @property
    def negated(self) -> "ItemStatistic":
        """The statistic with its sign reversed."""
        return ItemStatistic(-self.value, -self.influence, self.weight)


# Values [n], and the items' facts: category, cluster, group pair, group, template.
Estimator: TypeAlias = Callable[[Floats, pd.DataFrame], ItemStatistic]


def mean(values: Floats, facts: pd.DataFrame) -> ItemStatistic:
    """The mean over items."""
    middle = float(values.mean())
    return ItemStatistic(middle, (values - middle) / len(values), _even(len(values)))


def standardised(values: Floats, facts: pd.DataFrame) -> ItemStatistic:
    """Cohen's d_z: the mean over the standard deviation (ddof 1), as of paired differences."""
    if len(values) < 2:
        raise DataError("an effect size needs at least two items; give more items.")
    if not np.isfinite(values.std()) or not values.std() > 0:
        raise DataError("the differences are all equal or infinite: the effect size is 0 / 0.")
    middle, spread = float(values.mean()), float(values.std(ddof=1))
    scores = (values - middle) / spread
    influence = scores - middle / spread * (scores**2 - (scores**2).mean()) / 2
    return ItemStatistic(middle / spread, influence / len(values), _even(len(values)))


def gap_of_sides(values: Floats, facts: pd.DataFrame) -> ItemStatistic:
    """The mean over one group's stereotypes less that over the other's; all weigh the same.

    The groups are in alphabetical order: `A` before `B`, `men` before `women`. The stereotype is
    the part of the cluster's name before the slash.
    """
    sides, category = facts.group.to_numpy(str), codes(stereotypes(facts))
    names = sorted(set(sides))
    if len(names) != 2:
        raise DataError(f"two groups are needed, and there are {len(names)}: {', '.join(names)}.")
    counts = np.bincount(category)
    means = np.bincount(category, weights=values) / counts
    first = np.zeros(len(counts), bool)
    first[category] = sides == names[0]
    weight = 1 / (counts * np.where(first, first.sum(), (~first).sum()))[category]
    sign = np.where(first[category], 1.0, -1.0)
    value = float(means[first].mean() - means[~first].mean())
    return ItemStatistic(value, sign * weight * (values - means[category]), weight)


def strongest_lean(values: Floats, facts: pd.DataFrame) -> ItemStatistic:
    """UnQover's mu: the mean over subjects of the largest |gamma| over attributes.

    gamma(x, a) is the mean over partners and templates of the comparative score, which counts for
    the first subject of the `group_pair` (`ONE/OTHER`) and against the second; `cluster` is the
    attribute. The influence is that of a jackknife over templates.
    """
    return _over_frames(values, facts, lambda table: float(table.abs().max(axis=1).mean()))


def lean_count(values: Floats, facts: pd.DataFrame) -> ItemStatistic:
    """UnQover's eta: the mean over subjects and attributes of |mean sign of the score|."""
    return _over_frames(np.sign(values), facts, lambda table: float(table.abs().mean(axis=None)))


def stereotypes(facts: pd.DataFrame) -> NDArray[Any]:
    """The stereotype of each item: the part of its cluster's name before the slash."""
    return np.array([c.partition("/")[0] for c in facts.cluster], object)


def _over_frames(
    values: Floats, facts: pd.DataFrame, reduce: Callable[[pd.DataFrame], float]
) -> ItemStatistic:
    pair = facts.group_pair.str.split("/", n=1, expand=True)
    rows = pd.DataFrame(
        {
            "subject": [*pair[0], *pair[1]],
            "attribute": [*facts.cluster] * 2,
            "template": [*facts.template] * 2,
            "score": [*values, *-values],
        }
    )
    sums = rows.groupby(["subject", "attribute", "template"]).score.agg(["sum", "count"])
    total = sums.groupby(level=[0, 1]).sum()
    value = reduce((total["sum"] / total["count"]).unstack())
    frames = list(dict.fromkeys(facts.template))
    influence = np.zeros(len(values))
    for frame in frames if len(frames) > 1 else ():
        gone = sums.xs(frame, level=2).reindex(total.index, fill_value=0)
        remaining = total - gone
        remaining = remaining[remaining["count"] > 0]
        mask = (facts.template == frame).to_numpy()
        without = reduce((remaining["sum"] / remaining["count"]).unstack())
        influence[mask] = (value - without) * (len(frames) - 1) / len(frames) / mask.sum()
    return ItemStatistic(value, influence - influence.mean(), _even(len(values)))


def _even(count: int) -> Floats:
    return np.full(count, 1 / count)


def rise(values: Floats, facts: pd.DataFrame) -> ItemStatistic:
    """The mean of group B less that of group A; clusters are a sample within their group."""
    first = facts.group.to_numpy(str) == "A"
    if not 0 < first.sum() < len(first):
        raise DataError("items of both groups, A and B, are needed.")
    means = np.where(first, values[first].mean(), values[~first].mean())
    weight = 1 / np.where(first, first.sum(), (~first).sum())
    value = float(values[~first].mean() - values[first].mean())
    return ItemStatistic(value, np.where(first, -1.0, 1.0) * weight * (values - means), weight)


STATISTICS: Mapping[str, Estimator] = {
    "mean": mean,
    "d_z": standardised,
    "gap": gap_of_sides,
    "rise": rise,
    "mu": strongest_lean,
    "eta": lean_count,
}


def over_items(
    statistic: ItemStatistic,
    design: Design,
    *,
    ideal: float | None = None,
    tested: bool = True,
    within: tuple[float, float] = ANYTHING,
    resampling: Resampling = DEFAULTS,
) -> Estimate:
    """A statistic with Student's interval over clusters; its p only where the ideal is `tested`.

    No bound lies beyond `within`: the values that are possible.
    """
    variance = design.variance(statistic.influence, statistic.weight)
    estimate = student(
        statistic.value,
        variance,
        len(statistic.influence),
        design.count,
        ideal=ideal,
        resampling=resampling,
    )
    return bounded(estimate, within, tested)
