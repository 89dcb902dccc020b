"""How items hang together, and the variance of a statistic that follows from it.

Every statistic here has an influence for each item: how far the item moves it. The influence of a
cluster's items is added up before it is squared, so items that share a word or a writer count as
what they are.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from unmask.stats.student_t import quantile
from unmask.types import Floats

Codes = NDArray[np.int64]
Made = TypeVar("Made")
SMALL_TABLE = 1_000  # numbers of which a table is small
MOST_KNOWN = 1_000_000  # numbers that are kept for a design, times a few


def codes(names: Sequence[Any] | NDArray[Any]) -> Codes:
    """Names as numbers from 0, in the order of the names."""
    given = np.asarray(names)
    whole = given.dtype == np.int64 and given.ndim == 1 and given.size
    if whole and given.min() >= 0 and given.max() < max(SMALL_TABLE, 8 * given.size):
        there = np.bincount(given) > 0  # a fifth of the time of sorting them
        return (np.cumsum(there) - 1)[given]
    if given.dtype == object and given.ndim == 1:
        found = pd.factorize(given, sort=True)[0]  # which sorts the different ones alone
        if not (found < 0).any():  # none is missing
            return found.astype(np.int64)
    return np.unique(given, return_inverse=True)[1].astype(np.int64)


class Variance(NamedTuple):
    """A variance and the degrees of freedom that it was estimated with."""

    value: float
    df: float


def widest(some: Iterable[Variance]) -> Variance:
    """The variance that gives the widest 95 % interval."""
    return max(some, key=lambda v: quantile(0.975, v.df) ** 2 * v.value)


class Known:
    """What is made once and asked for again: of the same items there are many results.

    What is made of something known has a part in its room, so that there is a bound for all.
    """

    def __init__(self, within: "Known | None" = None) -> None:
        self.root: Known = self if within is None else within.root
        self.made: dict[Hashable, Any] = {}
        self.used = 0  # numbers that are kept, of all that share the room: counted in the root

    def once(self, key: Hashable, size: int, make: Callable[[], Made]) -> Made:
        """What is known by a key, or is made now, of `size` items; what has no room is not kept."""
        if key in self.made:
            known: Made = self.made[key]
            return known
        found = make()
        if size > MOST_KNOWN:
            return found
        if self.root.used + size > MOST_KNOWN:  # all is made anew
            self.made.clear()
            self.root.made.clear()
            self.root.used = 0
        self.made[key] = found
        self.root.used += size
        return found


@dataclass(frozen=True, slots=True)
class Design:
    """Clusters of items [n], the strata they lie in [n], and what they are crossed with [n].

    Strata (a family of words and its side) are fixed: other items would have the same. They count
    only if every cluster lies in one of them. `crossed` are templates that many clusters share;
    they are a sample as well, drawn within `families`. `known` is what was made of these.
    """

    clusters: Codes
    strata: Codes | None = None
    crossed: Codes | None = None
    families: Codes | None = None
    known: Known = field(default_factory=Known, compare=False, repr=False)

    @property
    def count(self) -> int:
        """The number of clusters."""
        return int(self.clusters.max()) + 1

    def chosen(self, kept: NDArray[np.bool_]) -> "Design":
        """The same for some of the items."""
        key = ("chosen", kept.tobytes())
        return self.known.once(key, len(kept), lambda: self._chosen(kept))

    def _chosen(self, kept: NDArray[np.bool_]) -> "Design":
        parts = (self.clusters, self.strata, self.crossed, self.families)
        some = Design(*(None if p is None else codes(p[kept]) for p in parts))  # type: ignore[arg-type]
        return replace(some, known=Known(self.known))

    def variance(self, influence: Floats, weight: Floats | None = None) -> Variance:
        """The variance of a statistic from the influence [n] of its items, which have weights [n].

        A large cluster draws the mean to itself and seems nearer to it than it is: its pull is
        scaled up (CR2), and clusters of unequal weight count as fewer degrees of freedom.
        """
        weight = np.ones(len(influence)) if weight is None else weight
        by_cluster = _between(influence, weight, self.clusters, self.strata)
        if self.crossed is None or by_cluster.df < 1:
            return by_cluster
        across = _between(influence, weight, self.crossed, self.families)
        cells = codes(self.clusters * (int(self.crossed.max()) + 1) + self.crossed)
        inside = _between(influence, weight, cells, self.strata).value
        value = by_cluster.value + across.value - inside
        if across.df < 1:
            return by_cluster
        both = [by_cluster, across]
        if value > max(by_cluster.value, across.value):
            spread = by_cluster.value**2 / by_cluster.df + across.value**2 / across.df
            both.append(Variance(value, (by_cluster.value + across.value) ** 2 / spread))
        return widest(both)


def as_design(clusters: Design | Sequence[Any] | NDArray[Any]) -> Design:
    """Clusters by name as a design; a design is taken as it is."""
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
    """The stratum of each unit [units]; units alone in theirs are put together.

    All lie in one where there are no strata, or where a unit lies in several.
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
    alone = sizes[stratum] == 1
    if alone.any():
        # One unit has no spread of its own: those alone share one, with the largest if need be.
        stratum = np.where(alone, -1, stratum)
        if alone.sum() == 1:
            stratum[alone] = int(np.argmax(sizes)) if sizes.max() > 1 else -1
    return codes(stratum)
