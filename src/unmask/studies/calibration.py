"""How often would this very table call a fair model biased, and one with a known bias?

A parametric bootstrap on the design at hand: answers are drawn with the words, frames, sides and
categories of the data, the liking for words and the correlations that were seen, measures that go
together as they did, and a stereotype of known size; the verdicts are made as `run` makes them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from unmask.answer.verdict import holm, verdict
from unmask.flow.items import ItemDesign
from unmask.options import Resampling, Threshold
from unmask.stats.clustering import codes
from unmask.stats.preference import Preferences
from unmask.stats.word_preference import Sides
from unmask.types import Floats

POINTS = (0.0, 3.0, 5.0, 10.0)  # biases that are planted
DRAWS = 100


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of one measure: the share of each cell [k], and two correlations."""

    shares: Floats
    words: float
    frames: float


def calibrate(
    tables: Sequence[pd.DataFrame],
    *,
    matters: Threshold = Threshold(),
    points: Sequence[float] = POINTS,
    draws: int = DRAWS,
    seed: int = 0,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> pd.DataFrame:
    """For each planted bias how often a table of these measures calls anything biased.

    `tables` are the margins of the measures on the same items (`reliability.margins`). Columns, in
    per cent of `draws` runs: `any` (some verdict is biased), `overall` (a measure's whole score,
    mean over measures), `category` (one of its categories, mean over both).
    """
    both = tables[0].index
    for t in tables[1:]:
        both = both.intersection(t.index)
    tables = [t.loc[both] for t in tables]
    world = _World(tables)
    rows = []
    for number, size in enumerate(points):
        counts = np.zeros(3)
        for k in range(draws):
            progress("calibrating", number * draws + k, len(points) * draws)
            rng = np.random.default_rng([seed, number, k])
            counts += world.verdicts(rng, size, matters)
        rows.append([size, *(100 * counts / draws), draws])
    progress("calibrating", len(points) * draws, len(points) * draws)
    return pd.DataFrame(rows, columns=["points", "any", "overall", "category", "runs"])


class _World:
    """The design of some items, and what measures made of it."""

    def __init__(self, tables: Sequence[pd.DataFrame]) -> None:
        self.facts = tables[0]
        facts = {k: self.facts[k] for k in ("cluster", "group_pair", "group", "template")}
        self.design = ItemDesign(facts).design()
        self.sides = Sides(self.facts.group_pair.tolist(), self.facts.group.tolist())
        self.category = self.facts.category.to_numpy(str)
        group = self.facts.group_pair + "/" + self.facts.group
        self.cell = codes(group.to_numpy(str) if self.sides.known else self.category)
        self.group_pair = (
            codes(self.facts.group_pair.to_numpy(str)) if self.sides.known else self.cell
        )
        self.seen = [self._seen(t.win.to_numpy(float)) for t in tables]
        self.alike = self._alike([t.win.to_numpy(float) for t in tables])

    def _seen(self, wins: Floats) -> Seen:
        fit = self._preferences(wins).fit
        sums, sizes = np.bincount(self.cell, weights=wins), np.bincount(self.cell)
        shares = (sums + 0.5) / (sizes + 1)
        r = (*fit.correlations, 0.0)
        return Seen(shares, r[0], r[1])

    def _preferences(self, wins: Floats, resampling: Resampling = Resampling()) -> Preferences:
        scores = {"stereotype": wins, "antistereotype": np.full(len(wins), 0.5)}
        return Preferences(
            scores,
            self.design,
            ties="half",
            sides=self.sides,
            cells=self.cell,
            resampling=resampling,
        )

    def _alike(self, wins: Sequence[Floats]) -> float:
        """The latent correlation of two measures' answers within a cell, mean over pairs."""
        if len(wins) < 2:
            return 0.0
        sizes = np.bincount(self.cell)
        apart = [w - (np.bincount(self.cell, weights=w) / sizes)[self.cell] for w in wins]
        table = np.corrcoef(np.stack([a + 1e-9 * np.arange(len(a)) for a in apart]))
        r = float(np.mean(table[np.triu_indices(len(wins), 1)]))
        return float(np.clip(np.sin(np.pi / 2 * r), 0.0, 0.99))

    def verdicts(self, rng: np.random.Generator, size: float, matters: Threshold) -> Floats:
        """One run: whether anything is biased, and the shares of whole scores and categories."""
        groups = ["", *sorted(set(self.category))]
        estimates = []
        common = self._latent(rng, self.seen[0])
        for seen in self.seen:
            own = self._latent(rng, seen)
            z = np.sqrt(self.alike) * common + np.sqrt(1 - self.alike) * own
            wins = (z < ndtri(self._shares(seen, size))[self.cell]).astype(float)
            model = self._preferences(wins)
            for name in groups:
                chosen = np.ones(len(wins), bool) if name == "" else self.category == name
                estimates.append(model.judged(chosen))
        p = holm([e.p for e in estimates])
        biased = [verdict(e, matters.points, v).found for e, v in zip(estimates, p, strict=True)]
        table = np.array(biased).reshape(len(self.seen), len(groups))
        return np.array([table.any(), table[:, 0].mean(), table[:, 1:].mean()], float)

    def _latent(self, rng: np.random.Generator, seen: Seen) -> Floats:
        """Normal values whose signs are correlated within words and frames as was seen."""
        words, frames = (np.sin(np.pi / 2 * min(r, 0.6)) for r in (seen.words, seen.frames))
        frames = min(frames, 0.95 - words) if self.design.crossed is not None else 0.0
        z = np.sqrt(words) * rng.normal(size=self.design.count)[self.design.clusters]
        if self.design.crossed is not None:
            z += (
                np.sqrt(frames)
                * rng.normal(size=self.design.crossed.max() + 1)[self.design.crossed]
            )
        return np.asarray(z + np.sqrt(1 - words - frames) * rng.normal(size=len(z)))

    def _shares(self, seen: Seen, size: float) -> Floats:
        """The cells' shares with the stereotype at 50 + size: the liking for words stays."""
        family = np.zeros(len(seen.shares), np.int64)
        family[self.cell] = self.group_pair
        latent = ndtri(seen.shares)
        out = np.empty_like(latent)
        for f in np.unique(family):
            mine = family == f
            away = latent[mine] - latent[mine].mean()
            shift = brentq(lambda s, a=away: ndtr(a + s).mean() - 0.5 - size / 100, -9, 9)
            out[mine] = ndtr(away + shift)
        return np.clip(out, 1e-4, 1 - 1e-4)
