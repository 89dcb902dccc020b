"""From sentence scores to preferences: share preferred, sides, lms, icat, mean log-ratio."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np

from unmask.errors import DataError
from unmask.options import Resampling
from unmask.stats.clustering import Design, as_design
from unmask.stats.intervals import DEFAULTS, mean_estimate, share
from unmask.stats.word_preference import Sides, by_side
from unmask.types import Estimate, Floats

Ties: TypeAlias = Literal["strict", "half", "drop"]


def preferred(pro: Floats, anti: Floats, ties: Ties = "strict") -> Floats:
    """1 where `pro` scores higher than `anti`, else 0; NaN counts as not higher.

    A tie counts as 0 (`strict`, as most papers have it), as a half, or is NaN, to be dropped.
    """
    pro, anti = np.asarray(pro, float), np.asarray(anti, float)
    wins = (pro > anti).astype(float)
    wins[pro == anti] = {"strict": 0.0, "half": 0.5, "drop": np.nan}[ties]
    return wins


def icat(ss: Floats, lms: Floats) -> Floats:
    """lms x min(ss, 100 - ss) / 50 (Nadeem et al. 2021)."""
    return lms * np.minimum(ss, 100 - ss) / 50


def summarise(
    scores: Mapping[str, Floats],
    clusters: Design | Sequence[str],
    *,
    ties: Ties = "strict",
    macro: bool = False,
    sides: Sides | None = None,
    resampling: Resampling = DEFAULTS,
) -> dict[str, Estimate]:
    """All estimates of a set of items: `score`, `log_ratio`, and what else the items allow.

    `scores` has an array [n] for each of `stereotype`, `antistereotype` and perhaps `unrelated`:
    then there are `lms` (the share of meaningful sentences that score above the unrelated one),
    `deviation` (|ss - 50|) and `icat`, which has no interval: at ss = 50 none is honest. With
    `sides` come those of `by_side`.
    """
    design = as_design(clusters)
    pro, anti = scores["stereotype"], scores["antistereotype"]
    wins = preferred(pro, anti, ties)
    if np.isnan(wins).all():
        raise DataError("all items are ties, so that none is left to compute a score from.")
    out = {"score": share(wins, design, ideal=50.0, macro=macro, resampling=resampling)}
    with np.errstate(invalid="ignore"):
        ratio = pro - anti
    if np.isfinite(ratio).any():
        finite = np.where(np.isfinite(ratio), ratio, np.nan)
        out["log_ratio"] = mean_estimate(
            finite, design, ideal=0.0, macro=macro, resampling=resampling
        )
    if "unrelated" in scores:
        other = scores["unrelated"]
        rule: Ties = "half" if ties == "drop" else ties
        meaning = (preferred(pro, other, rule) + preferred(anti, other, rule)) / 2
        lms = share(meaning, design, ideal=100.0, macro=macro, resampling=resampling, trials=2)
        ss = share(
            preferred(pro, anti, rule), design, ideal=50.0, macro=macro, resampling=resampling
        )
        out |= {"lms": lms, "deviation": deviation(ss), "icat": icat_estimate(ss, lms)}
    if sides is not None and sides.known:
        out |= by_side(wins, sides, design, resampling)
    return out


def deviation(ss: Estimate) -> Estimate:
    """|ss - 50| with the interval that that of ss leaves it."""
    low, high = ss.low - 50, ss.high - 50
    least = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    most = max(abs(low), abs(high))
    value, method = abs(ss.value - 50), f"from {ss.method}"
    return Estimate(value, least, most, ss.level, method, ss.n, 0.0, ss.p, ss.se)


def icat_estimate(ss: Estimate, lms: Estimate) -> Estimate:
    """icat without an interval: see those of lms and of |ss - 50|."""
    value, nan = float(icat(np.array(ss.value), np.array(lms.value))), float("nan")
    return Estimate(value, nan, nan, ss.level, "no interval", ss.n, 100.0)
