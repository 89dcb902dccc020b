"""One model of a measure's answers: items share words (or writers) and frames.

An answer y (the stereotype is preferred: 1, 0, or a half) has the mean m of its cell (a family of
words and its side) and the variance v = m(1 - m). Two items of one word are correlated, and so are
two of one frame; both correlations are estimated once from all items, by the method of moments,
so that a category with two frames borrows what frames do elsewhere. From them follows the variance
of any weighted share, with Satterthwaite's degrees of freedom.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.sparse import coo_array

from unmask.stats.clustering import Codes, Design, Known, Variance, codes, stratum_of
from unmask.stats.intervals import ASSUMED_CORRELATION, MIN_CLUSTERS, wilson
from unmask.stats.student_t import beyond, quantile
from unmask.types import Floats

# What frames are assumed to do until they are seen: their correlation, and as how many degrees of
# freedom this counts. Frames that differ by .5 logits have 0.06; the bundled model's, 0 to 0.015.
ASSUMED_FRAMES = 0.05
FRAMES_WEIGH = 4.0
MIN_CELL = 4  # items of a cell that has a mean of its own
DENSE = 100_000  # numbers of a table that is written out
MOST_ERRORS = 1e9  # standard errors beyond which p is 0


class Weighted(NamedTuple):
    """What weights of items make of cells and units, whatever the answers are.

    `some` are the items that weigh, `which` [some] their cell among those `present` [k]; `sizes`,
    `by_cell` and `alone` [k] are its items, weight and squared weights; `shared` [k, k] are the
    products of weights over pairs of one unit, and `counts` the units, of each kind.
    """

    some: Codes
    present: Codes
    which: Codes
    weight: Floats
    sizes: Floats
    by_cell: Floats
    alone: Floats
    shared: tuple[Floats, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, weight: Floats, cells: Codes, units: tuple[Codes, ...]) -> "Weighted":
        """Of weights [n], cells [n] and units [n] of each kind."""
        some = np.flatnonzero(weight)
        present, which = np.unique(cells[some], return_inverse=True)
        weight = weight[some]
        sizes = np.bincount(which).astype(float)
        by_cell, alone = (np.bincount(which, weights=w).astype(float) for w in (weight, weight**2))
        numbers = [codes(u[some]) for u in units]
        shared = tuple(_by_cell(weight, which, u) for u in numbers)
        counts = tuple(int(u.max()) + 1 for u in numbers)
        return cls(some, present, which, weight, sizes, by_cell, np.diag(alone), shared, counts)


@dataclass(frozen=True)
class Crossed:
    """Answers `values` [n], their `cells` [n], and the units that they share: words, then frames.

    `correlations` has one for each kind of unit, `df` the degrees of freedom of its estimate;
    `seen` are those of the data alone, without what is assumed of frames. `known` is what was made
    of cells and units before, and may be shared by fits of the same units.
    """

    values: Floats
    cells: Codes
    units: tuple[Codes, ...]
    correlations: tuple[float, ...]
    df: tuple[float, ...]
    seen: tuple[float, ...]
    known: Known = field(default_factory=Known, compare=False, repr=False)

    def weighted(self, weight: Floats) -> Weighted:
        """What weights [n] make of the cells and units."""
        key = ("weighted", self._cells_key, weight.tobytes())
        make = partial(Weighted.of, weight, self.cells, self.units)
        return self.known.once(key, len(weight), make)

    @cached_property
    def _cells_key(self) -> bytes:
        return self.cells.tobytes()

    def share(self, weight: Floats) -> "StratifiedShare":
        """The weighted share and its variance; weights [n] add up to 1."""
        given = self.weighted(weight)
        parts = given.weight * self.values[given.some]
        return StratifiedShare(
            math.fsum(parts),
            given.by_cell,
            np.bincount(given.which, weights=parts) / given.by_cell,
            given.sizes,
            given.alone,
            tuple(r * s for r, s in zip(self.correlations, given.shared, strict=True)),
            self.df,
            (self._whole[0][given.present], self._whole[1][given.present]),
        )

    def variance(self, weight: Floats) -> Variance:
        """The variance of a weighted mean of values other than yes or no; weights add up to 1."""
        return self.share(weight).variance(self._spread[self.weighted(weight).present])

    @cached_property
    def _spread(self) -> Floats:
        """The variance of a value in every cell, over all items."""
        means, sizes = self._whole
        squares = np.bincount(self.cells, weights=(self.values - means[self.cells]) ** 2)
        return np.asarray(squares / np.maximum(sizes - 1, 1))

    @cached_property
    def _whole(self) -> tuple[Floats, Floats]:
        """Mean and size of every cell, over all items: what the variance of an answer is from."""
        sizes = np.bincount(self.cells).astype(float)
        return np.bincount(self.cells, weights=self.values) / sizes, sizes

    def described(self, weight: Floats, share: "StratifiedShare") -> dict[str, Any]:
        """What a plan needs to know of a share: the variance of an answer, and words and frames.

        For both their number, their correlation, and the degrees of freedom of its estimate.
        """
        alone = np.diag(share.alone)
        out: dict[str, Any] = {"spread": float(alone @ share.spread / alone.sum())}
        counts = self.weighted(weight).counts
        kinds = zip(("words", "templates"), counts, self.correlations, self.seen, strict=False)
        return out | {k: {"count": n, "correlation": r, "df": df} for k, n, r, df in kinds}


def _by_cell(weight: Floats, cells: Codes, units: Codes) -> Floats:
    """Over pairs of items of one unit, the products of their weights, summed by their cells."""
    width, height = int(cells.max()) + 1, int(units.max()) + 1
    if width * height <= DENSE:  # a table of its own is faster than one that leaves out zeros
        flat = np.bincount(units * width + cells, weights=weight, minlength=width * height)
        dense = flat.reshape(height, width)
        product = dense.T @ dense
    else:
        table = _crossed(units, cells, weight)
        product = (table.T @ table).toarray()
    return np.asarray(product - np.diag(np.bincount(cells, weights=weight**2)))


def _crossed(rows: Codes, columns: Codes, weight: Floats) -> Any:
    """Weights summed by row and column, as a sparse table."""
    shape = int(rows.max()) + 1, int(columns.max()) + 1
    return coo_array((weight, (rows, columns)), shape=shape).tocsr()


@dataclass(frozen=True)
class StratifiedShare:
    """A share, its `value`, over cells [k], each with its weight, mean and size.

    The variance is a quadratic form in the standard deviations of an answer in each cell: `alone`
    [k, k] for independent items, and `shared` for what words, and frames, add, with degrees of
    freedom `df`. `whole` has the mean and size of each cell over all items, from which the variance
    of an answer is taken: a part may have one item of a cell. The interval is Wilson's with as many
    items as that variance leaves. Of two cells (the sides of one family) it is made of theirs (Zou
    and Donner 2008): a side at 100 % can only be lower, and the interval of the whole has to know.
    """

    value: float
    weight: Floats
    means: Floats
    sizes: Floats
    alone: Floats
    shared: tuple[Floats, ...]
    df: tuple[float, ...]
    whole: tuple[Floats, Floats]

    @cached_property
    def share(self) -> float:
        """The share itself."""
        value = self.value
        return value if 1e-12 < value < 1 - 1e-12 else float(round(value))  # all alike: no rounding

    @cached_property
    def smooth(self) -> float:
        """The share with a half added to each side."""
        count = float(self.sizes.sum())
        return (self.share * count + 0.5) / (count + 1)

    @cached_property
    def widest(self) -> Variance:
        """The variance, with a half added to each side and spread over the cells by weight."""
        return self.variance(self.spread)

    def variance(self, spread: Floats) -> Variance:
        """The variance, where that of an answer in each cell is `spread` [k]."""
        root = np.sqrt(spread)
        alone = float(root @ self.alone @ root)
        kinds = [alone + float(root @ shared @ root) for shared in self.shared]
        value = sum(kinds) - (len(kinds) - 1) * alone
        noise = sum(v**2 / f for v, f in zip(kinds, self.df, strict=True))
        return Variance(value, value**2 / noise if noise > 0 else 1.0)

    def wilson(self, level: float) -> tuple[float, float]:
        """The interval at this level."""
        return self._within(quantile((1 + level) / 2, self.widest.df))

    def tail(self, null: float) -> float:
        """The one-sided p of the test that the interval inverts."""
        if self.share == null:
            return 0.5
        value, df = self.widest
        if len(self.means) != 2:
            scale = null * (1 - null) / (self.smooth * (1 - self.smooth))
            return beyond(abs(self.share - null) / math.sqrt(value * scale), df)
        return beyond(self._reaches(null), df)

    def _reaches(self, null: float) -> float:
        """The fewest standard errors whose interval holds a value."""
        end, sign = (0, 1) if null < self.share else (1, -1)

        def short(errors: float) -> float:
            return sign * (self._within(errors)[end] - null)

        low, high = 0.0, 1.0
        while short(high) > 0:
            low, high = high, 2 * high
            if high >= MOST_ERRORS:
                return high
        return float(brentq(short, low, high, xtol=1e-12)) if short(high) < 0 else high

    def mde(self, null: float, level: float, power: float = 0.8) -> float:
        """The smallest difference from `null` found with this power, were the share `null`."""
        value, df = self.widest
        scale = null * (1 - null) / (self.smooth * (1 - self.smooth))
        return (quantile((1 + level) / 2, df) + quantile(power, df)) * math.sqrt(value * scale)

    def _within(self, errors: float) -> tuple[float, float]:
        if len(self.means) == 2:
            low, high = self._of_two(errors)
        else:
            z2 = errors**2 * self.widest.value / (self.smooth * (1 - self.smooth))
            low, high = wilson(self.share, z2)
        return max(0.0, min(self.share, low)), min(1.0, max(self.share, high))

    def _of_two(self, errors: float) -> tuple[float, float]:
        cells, alike = self._by_side
        below, above = [], []
        for weight, mean, variance in cells:
            low, high = wilson(mean, errors**2 * variance)
            below.append(weight * (mean - low))
            above.append(weight * (high - mean))
        reaches = [math.sqrt(a * a + b * b + 2 * alike * a * b) for a, b in (below, above)]
        return self.share - reaches[0], self.share + reaches[1]

    @cached_property
    def _by_side(self) -> tuple[list[tuple[float, float, float]], float]:
        """Of two cells: weight, mean, and the variance of the mean over that of one answer.

        And the correlation of their means.
        """
        covariance = self.alone + sum(self.shared)
        root = np.sqrt(np.diag(covariance))
        cells = zip(self.weight, self.means, (root / self.weight) ** 2, strict=True)
        alike = float(covariance[0, 1] / (root[0] * root[1]))
        return [(float(w), float(m), float(v)) for w, m, v in cells], alike

    @property
    def spread(self) -> Floats:
        """The variance of an answer in each cell."""
        return self._spread(self.weight / 2)

    def _spread(self, part: Floats) -> Floats:
        """The variance of an answer in each cell, with `part` of an item added to each side."""
        means, sizes = self.whole
        smooth = (means * sizes + part) / (sizes + 2 * part)
        unbiased = sizes / np.maximum(sizes - 1, 1)
        return np.asarray(np.minimum(0.25, smooth * (1 - smooth) * unbiased))


def _shared(parts: Floats, units: Codes) -> float:
    """The sum over pairs of different items of one unit of the products of their parts."""
    return float(np.sum(np.bincount(units, weights=parts) ** 2) - np.sum(parts**2))


def fitted(
    values: Floats, design: Design, cells: Codes | None = None, *, answers: bool = True
) -> Crossed:
    """The model of answers [n] under a design; `cells` [n] stand in where it has no strata.

    Where fewer than MIN_CLUSTERS clusters hold the rarer answer, ASSUMED_CORRELATION stands in for
    what cannot be seen. The values may be other than `answers` of yes or no.
    """
    fixed = design.strata if design.strata is not None else cells
    fixed = np.zeros(len(values), np.int64) if fixed is None else _large(codes(fixed))
    units = [design.clusters] + ([design.crossed] if design.crossed is not None else [])
    moments = _Moments(values, fixed, units)
    correlations = moments.correlations()
    strata = (design.strata, design.families)
    df = [moments.freedom(k, r, strata[k]) for k, r in enumerate(correlations)]
    alone = tuple(df)
    if len(units) > 1:
        whole = df[1] + FRAMES_WEIGH
        correlations[1] = (df[1] * correlations[1] + FRAMES_WEIGH * ASSUMED_FRAMES) / whole
        df[1] = whole**2 / df[1]  # an estimate that is drawn to a constant varies less
    seen = _seen(values, design.clusters) if answers else MIN_CLUSTERS
    if seen < MIN_CLUSTERS:
        assumed = ASSUMED_CORRELATION * (1 - seen / MIN_CLUSTERS)
        correlations[0] = max(correlations[0], assumed)
    found = (tuple(correlations), tuple(df), alone)
    return Crossed(values, fixed, tuple(units), *found, design.known)


def _large(cells: Codes) -> Codes:
    """Cells of fewer than MIN_CELL items put together: one item has no spread of its own."""
    small = np.bincount(cells)[cells] < MIN_CELL
    return codes(np.where(small, -1, cells) + 1)


def _seen(values: Floats, clusters: Codes) -> int:
    """Clusters that hold the rarer answer."""
    sums, sizes = (np.bincount(clusters, weights=w) for w in (values, np.ones(len(values))))
    return int(min(np.count_nonzero(sums > 0), np.count_nonzero(sums < sizes)))


class _Moments:
    """Sums over pairs of items of one unit, and what they are expected to be.

    Answers less their cell's mean, u = P y, are correlated by that alone. Over the pairs of units
    of a kind k, sum u_i u_j = sum over kinds l of r_l tr(B_k P G_l P) + tr(B_k P V P), where B_k
    marks the pairs of a unit, V = diag(v) and G_l = sqrt(V) B_l sqrt(V); solved for the r.
    """

    def __init__(self, values: Floats, cells: Codes, units: list[Codes]) -> None:
        self.cells, self.units = cells, units
        self.sizes = np.bincount(cells).astype(float)
        mean = np.bincount(cells, weights=values) / self.sizes
        self.apart = values - mean[cells]
        squares = np.bincount(cells, weights=self.apart**2)
        self.spread = squares / np.maximum(self.sizes - 1, 1)
        self.tables = [self._table(u) for u in units]

    def _table(self, units: Codes) -> Any:
        """Items of each unit in each cell."""
        width, height = len(self.sizes), int(units.max()) + 1
        if width * height > DENSE:
            return _crossed(units, self.cells, np.ones(len(units)))
        flat = np.bincount(units * width + self.cells, minlength=width * height)
        return flat.reshape(height, width).astype(float)

    def correlations(self) -> list[float]:
        """The correlation of two items of one unit, for each kind; none is below 0."""
        kinds = range(len(self.units))
        expected = np.array([[self._pairs(k, m) for m in kinds] for k in kinds])
        observed = np.array([self._observed(k) for k in kinds])
        known = [k for k in kinds if expected[k, k] > 1e-12]
        out = np.zeros(len(self.units))
        while known:  # a negative one is none, and the others are found without it
            table = expected[np.ix_(known, known)]
            solved = np.linalg.lstsq(table, observed[known], rcond=None)[0]
            if (solved >= 0).all():
                out[known] = solved
                break
            known = [k for k, r in zip(known, solved, strict=True) if r >= 0]
        return [float(min(r, 1.0)) for r in out]

    def _observed(self, k: int) -> float:
        """The sum over pairs, less what centring makes of it."""
        pairs = _shared(self.apart, self.units[k])
        return pairs - (self._trace(k, self.spread) - self._alone(self.spread))

    def _trace(self, k: int, value: Floats) -> float:
        """tr(Z' P diag(value of the cell) P Z)."""
        table = self.tables[k]
        squares = np.asarray(_times(table, table).sum(axis=0)).ravel()
        return float(self.sizes @ value - squares @ (value / self.sizes))

    def _alone(self, value: Floats) -> float:
        """tr(P diag(value of the cell) P)."""
        return float(np.sum(value * (self.sizes - 1)))

    def _pairs(self, k: int, m: int) -> float:
        """tr(B_k P G_m P); G scales by sqrt(v), which is one number in a cell."""
        whole = self._cross(k, m)
        return (
            whole
            - self._trace(m, self.spread)
            - self._trace(k, self.spread)
            + self._alone(self.spread)
        )

    def _cross(self, k: int, m: int) -> float:
        """|| Z_k' P sqrt(V) Z_m ||^2, without the matrix itself."""
        root = np.sqrt(self.spread)
        scale, one, two = root / self.sizes, self.tables[k], self.tables[m]
        width = int(self.units[m].max()) + 1
        both, where = np.unique(self.units[k] * width + self.units[m], return_inverse=True)
        direct = np.bincount(where, weights=root[self.cells])
        through = _times(one[both // width], two[both % width]) @ scale
        inner = _times(one.T @ one, (two.T @ two).T)
        around = scale @ (inner @ scale)  # tr(D A D B) for diagonal D and symmetric A, B
        return float(direct @ direct - 2 * direct @ np.asarray(through).ravel() + around)

    def freedom(self, k: int, correlation: float, strata: Codes | None) -> float:
        """Degrees of freedom of the spread between units, which lie in strata (Satterthwaite)."""
        units, spread = self.units[k], self.spread[self.cells]
        sizes = np.bincount(units, weights=spread)
        crowd = np.bincount(units, weights=np.sqrt(spread)) ** 2
        lam = sizes + correlation * (crowd - sizes)
        within = stratum_of(units, strata)
        return (
            max(1.0, _freedom(lam, within))
            if lam.any()
            else max(1.0, _freedom(np.bincount(units).astype(float), within))
        )


def _times(one: Any, two: Any) -> Any:
    """The products of the numbers of two tables, as they stand; a sparse one has its own way."""
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        return one * two
    return (coo_array(one) if isinstance(one, np.ndarray) else one).multiply(two)


def _freedom(spread: Floats, strata: Codes) -> float:
    """Of a sum of squares about the means of strata, of values with these variances [units]."""
    once, twice, thrice = (np.bincount(strata, weights=spread**k) for k in (1, 2, 3))
    once = np.maximum(once, 1e-300)
    mean = float(np.sum(once - twice / once))
    variance = float(np.sum(twice - 2 * thrice / once + (twice / once) ** 2))
    return mean**2 / variance if variance > 0 else 0.0


def even_sides(families: Codes, sides: Codes, clusters: Codes | None = None) -> Floats:
    """Weights [n] under which a family weighs as many items as it has, and its sides alike.

    With `clusters` a family weighs as many of them as it has, and they weigh alike in their side.
    """
    cell = codes(families * (int(sides.max()) + 1) + sides)
    family_of = np.zeros(int(cell.max()) + 1, np.int64)
    family_of[cell] = families
    count = np.bincount(family_of).astype(float)  # sides of each family
    own = np.ones(len(cell))
    if clusters is not None:  # an item is as much as its cluster has of it in this side
        both = codes(cell * (int(clusters.max()) + 1) + clusters)
        own = 1 / np.bincount(both)[both]
    whole = np.bincount(families, weights=own)[families] / own.sum()
    return np.asarray(whole / count[families] * own / np.bincount(cell, weights=own)[cell])
