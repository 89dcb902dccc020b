"""How items depend on each other, and the variance of a statistic that follows from it.

Every statistic here has an influence for each item: how far the item moves it. The influence of a
cluster's items is added up before it is squared (the linearised, cluster-robust variance; Liang and
Zeger 1986), so items that share a word or a writer do not count as independent.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from unmask.stats.student_t import quantile
from unmask.types import Floats

Codes = NDArray[np.int64]
Value = TypeVar("Value")
SMALL_TABLE = 1_000  # below this many codes, counting is always faster
COLUMNS = ("cluster", "category", "group_pair", "group", "template")  # of an items table
CUT = 0.5**0.5  # the error of a difference of mean squares around 0, if it is cut there
FEW_DF = 4.0  # below this, counting all of that error would cost more power than it saves errors
MOST_CACHED = 1_000_000  # numbers that are cached for a design, times a few


def codes(names: Sequence[Any] | NDArray[Any]) -> Codes:
    """Integer codes from 0 for names, in the order of the sorted names."""
    values = np.asarray(names)
    plain = values.dtype == np.int64 and values.ndim == 1 and values.size
    if plain and values.min() >= 0 and values.max() < max(SMALL_TABLE, 8 * values.size):
        present = np.bincount(values) > 0  # five times as fast as sorting them
        return (np.cumsum(present) - 1)[values]
    if values.dtype == object and values.ndim == 1:
        numbers = pd.factorize(values, sort=True)[0]  # sorts only the distinct values
        if not (numbers < 0).any():  # none is missing
            return numbers.astype(np.int64)
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


class Variance(NamedTuple):
    """A variance and the degrees of freedom that it was estimated with.

    `noise` was subtracted from a mean square to get the value, which is cut at 0: even a value of 0
    is uncertain.
    """

    value: float
    df: float
    noise: float = 0.0

    def scaled(self, factor: float) -> "Variance":
        """The variance of a statistic whose square is `factor` times as large."""
        return Variance(factor * self.value, self.df, factor * self.noise)


def added(parts: Iterable[Variance], otherwise: float = 0.0) -> Variance:
    """The sum of independent variances, with Satterthwaite's (1946) degrees of freedom.

    `otherwise` is the degrees of freedom if all parts are 0.
    """
    parts_list = list(parts)
    value = sum(v.value for v in parts_list)
    errors = [v.value + CUT * v.noise * min(1.0, v.df / FEW_DF) ** 0.5 for v in parts_list]
    squares = sum(e**2 / max(v.df, 1.0) for e, v in zip(errors, parts_list, strict=True))
    return Variance(value, max(1.0, value**2 / squares) if squares > 0 else otherwise)


def widest(variances: Iterable[Variance]) -> Variance:
    """The variance that gives the widest 95 % interval."""
    return max(variances, key=lambda v: quantile(0.975, v.df) ** 2 * v.value)


class Memo:
    """Values computed once and reused: many results rest on the same items.

    A memo `within` another one counts towards the same limit.
    """

    def __init__(self, within: "Memo | None" = None) -> None:
        self.root: Memo = self if within is None else within.root
        self.values: dict[Hashable, Any] = {}
        self.used = 0  # values cached by all memos of this root; counted in the root alone

    def get(self, key: Hashable, size: int, compute: Callable[[], Value]) -> Value:
        """Return the cached value of a key, or compute it; `size` is its number of items."""
        if key in self.values:
            cached: Value = self.values[key]
            return cached
        value = compute()
        if size > MOST_CACHED:
            return value
        if self.root.used + size > MOST_CACHED:
            self.values.clear()
            self.root.values.clear()
            self.root.used = 0
        self.values[key] = value
        self.root.used += size
        return value


@dataclass(frozen=True, slots=True)
class Design:
    """How items depend on each other, as codes [n].

    Args:
        clusters: What items share by construction: the word, the writer, the target term.
        strata: The target group within its group pair. Strata are fixed: other items would have
            the same. They count only if every cluster lies in one of them.
        templates: Sentence templates that many clusters share: a sample as well, within `pairs`.
        pairs: The group pair, within its category; the category where there is none.
        signs: +1 where the stereotype is about the first group of a pair, -1 where about the
            second, 0 where that is unknown.
        categories: The bias type of each item.
        memo: Values derived from the design.
    """

    clusters: Codes
    strata: Codes | None = None
    templates: Codes | None = None
    pairs: Codes | None = None
    signs: Codes | None = None
    categories: Codes | None = None
    memo: Memo = field(default_factory=Memo, compare=False, repr=False)

    @classmethod
    def of(cls, columns: Mapping[str, Any], memo: Memo | None = None) -> "Design":
        """The design of items from their columns: cluster, category, group pair, group, template.

        Groups are strata, and templates a sample, where every item names one.
        """
        names = {k: np.array([str(v) for v in columns[k]], object) for k in COLUMNS}
        cluster, category, pair, group, template = (codes(names[k]) for k in COLUMNS)
        pair = codes(category * (int(pair.max()) + 1) + pair)
        grouped = (names["group"] != "").all()
        shared = (names["template"] != "").all() and template.max() > 0
        return cls(
            cluster,
            codes(pair * (int(group.max()) + 1) + group) if grouped else None,
            template if shared else None,
            pair,
            _signs(pair, names["group"]),
            category,
            Memo() if memo is None else memo,
        )

    @property
    def count(self) -> int:
        """The number of clusters."""
        return int(self.clusters.max()) + 1

    def chosen(self, mask: NDArray[np.bool_]) -> "Design":
        """The design of some of the items."""
        key = ("chosen", mask.tobytes())
        return self.memo.get(key, len(mask), lambda: self._chosen(mask))

    def _chosen(self, mask: NDArray[np.bool_]) -> "Design":
        parts = (self.clusters, self.strata, self.templates, self.pairs, self.categories)
        clusters, strata, templates, pairs, categories = (
            None if p is None else codes(p[mask]) for p in parts
        )
        assert clusters is not None
        signs = None if self.signs is None else self.signs[mask]
        return Design(clusters, strata, templates, pairs, signs, categories, Memo(self.memo))

    def variance(self, influence: Floats, weight: Floats | None = None) -> Variance:
        """The variance of a statistic from the influence [n] of its items, which have weights [n].

        A large cluster pulls the mean towards itself, so its residual is too small: its influence
        is scaled up (CR2). Clusters of unequal weight count as fewer degrees of freedom.
        """
        weight = np.ones(len(influence)) if weight is None else weight
        by_cluster = _between(influence, weight, self.clusters, self.strata)
        if self.templates is None or by_cluster.df < 1:
            return by_cluster
        across = _between(influence, weight, self.templates, self.pairs)
        cells = codes(self.clusters * (int(self.templates.max()) + 1) + self.templates)
        inside = _between(influence, weight, cells, self.strata).value
        value = by_cluster.value + across.value - inside
        if across.df < 1:
            return by_cluster
        both = [by_cluster, across]
        if value > max(by_cluster.value, across.value):
            spread = by_cluster.value**2 / by_cluster.df + across.value**2 / across.df
            both.append(Variance(value, (by_cluster.value + across.value) ** 2 / spread))
        return widest(both)


def _signs(pair: Codes, group: NDArray[Any]) -> Codes:
    """+1 for the first group of each pair by name, -1 for the second; 0 where that is unknown.

    If the items of a pair name only one group, the order of the whole set is used, provided that
    it has two groups. Pairs of three or more groups have no sign.
    """
    order = sorted({*group.tolist()} - {""})
    present: dict[int, set[str]] = {}
    for number, name in zip(pair.tolist(), group.tolist(), strict=True):
        present.setdefault(number, set()).add(name)
    signs: dict[tuple[int, str], int] = {}
    for number, groups in present.items():
        names = sorted(groups - {""})
        names = order if len(names) == 1 and len(order) == 2 else names
        if len(names) < 3:
            signs |= {(number, name): s for name, s in zip(names, (1, -1), strict=False)}
    pairs = zip(pair.tolist(), group.tolist(), strict=True)
    return np.array([signs.get(key, 0) for key in pairs], np.int64)


def as_design(clusters: Design | Sequence[Any] | NDArray[Any]) -> Design:
    """Turn cluster names into a design; return a design unchanged."""
    return clusters if isinstance(clusters, Design) else Design(codes(clusters))


def _between(influence: Floats, weight: Floats, units: Codes, strata: Codes | None) -> Variance:
    """The variance of the sum of the units' influence, units drawn within their strata."""
    totals, weights = (np.bincount(units, weights=v) for v in (influence, weight))
    if len(totals) < 2:
        return Variance(float("nan"), 0)
    lies_in = stratum_of(units, strata)
    share = weights / np.bincount(lies_in, weights=weights)[lies_in]
    centre = np.bincount(lies_in, weights=totals)[lies_in] * share
    value = float(np.sum((totals - centre) ** 2 / (1 - share)))
    effective = 1 / np.bincount(lies_in, weights=share**2)  # as many clusters of equal weight
    free = float(np.sum(effective - 1))
    return Variance(value, max(free, 1.0) if len(totals) > len(effective) else 0.0)


def stratum_of(units: Codes, strata: Codes | None) -> Codes:
    """Return the stratum of each unit [units]; strata with a single unit are merged.

    All units share one stratum if there are no strata, or if a unit is in several.
    """
    count = int(units.max()) + 1
    everywhere = np.zeros(count, dtype=np.int64)
    if strata is None:
        return everywhere
    stratum = np.zeros(count, dtype=np.int64)
    stratum[units] = strata
    if np.any(stratum[units] != strata):
        return everywhere
    sizes = np.bincount(stratum)
    single = sizes[stratum] == 1
    if single.any():
        # A single unit has no spread: single units share a stratum, or join the largest one.
        stratum = np.where(single, -1, stratum)
        if single.sum() == 1:
            stratum[single] = int(np.argmax(sizes)) if sizes.max() > 1 else -1
    return codes(stratum)
