"""Paired comparison of runs on the same items."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unmask.errors import DataError
from unmask.measures import LIKELIHOOD
from unmask.results import load
from unmask.stats.association import effect_size
from unmask.stats.comparison import equivalence, exact_mcnemar, paired_difference
from unmask.stats.intervals import RESAMPLES
from unmask.stats.preference import preferred
from unmask.stats.tests import corrected
from unmask.types import Estimate, Floats, Result


@dataclass(frozen=True, slots=True)
class Run:
    """The results of one model, under the name that a comparison shows."""

    name: str
    results: Mapping[tuple[str, str], Result]


def read_runs(folders: Sequence[Path]) -> list[Run]:
    """One run for each model of each folder; names are made unique by the folder."""
    found = []
    for folder in folders:
        by_model: dict[str, dict[tuple[str, str], Result]] = {}
        for result in load(folder):
            by_model.setdefault(result.model, {})[result.measure, result.data] = result
        found += [(model, folder, results) for model, results in by_model.items()]
    names = [model for model, _, _ in found]
    runs = [
        Run(model if names.count(model) == 1 else f"{model} ({folder})", results)
        for model, folder, results in found
    ]
    if len(runs) < 2:
        raise DataError("a comparison needs two runs; give two folders, or one with two models.")
    return runs


def compare(
    runs: Sequence[Run], *, margin: float | None = None, seed: int = 0
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All pairs of runs on all measures and data they share: differences, and items that changed.

    p is that of the paired test; `p_holm` and `p_bh` correct it over the whole table.
    """
    rows, changed = [], []
    for a, b in itertools.combinations(runs, 2):
        shared = [key for key in a.results if key in b.results]
        if not shared:
            raise DataError(
                f"{a.name} and {b.name} share no measure and data set; run the same on both."
            )
        for key in shared:
            row, items = _pair(a.name, b.name, a.results[key], b.results[key], margin, seed)
            rows.append(row)
            changed.append(items)
    frame = pd.DataFrame(rows)
    frame["p_holm"] = corrected(frame.p.tolist())
    frame["p_bh"] = corrected(frame.p.tolist(), "bh")
    return frame, pd.concat(changed, ignore_index=True)


def _pair(
    first: str, second: str, a: Result, b: Result, margin: float | None, seed: int
) -> tuple[dict[str, Any], pd.DataFrame]:
    words = "X" in set(a.items.label)
    logodds = not words and any(str(label).startswith("x:") for label in a.items.label)
    if words or logodds:
        found, items, more = _effects(a, b, seed)
    else:
        found, items, more = _preferences(a, b, seed)
    row = {
        "first": first,
        "second": second,
        "measure": a.measure,
        "data": a.data,
        "a": a.overall.value,
        "b": b.overall.value,
        "difference": found.value,
        "low": found.low,
        "high": found.high,
        "n": found.n,
        "p": found.p,
        **more,
    }
    if margin is not None:
        row["p_equivalent"] = equivalence(found, margin)
    items = items.assign(first=first, second=second, measure=a.measure, data=a.data)
    return row, items


def _common(a: pd.DataFrame, b: pd.DataFrame, where: str) -> tuple[pd.Index, dict[str, int]]:
    shared = a.index.intersection(b.index)
    if not len(shared):
        raise DataError(f"the two runs have no item of {where} in common; they cannot be paired.")
    return shared, {"only_first": len(a) - len(shared), "only_second": len(b) - len(shared)}


def wide(result: Result) -> pd.DataFrame:
    """Items as rows, labels as columns: scores as the measure compares them, and the cluster."""
    frame = result.items
    if "reason" in frame:
        frame = frame[frame.reason.isna()]
    scores = frame.pivot(index="item", columns="label", values="score")
    row = LIKELIHOOD.get(result.measure)
    if row is not None:
        scores = scores.apply(lambda c: row.rounded(c.to_numpy(float)))
    clusters = frame.drop_duplicates("item").set_index("item").cluster
    return scores.assign(cluster=clusters)


def _preferences(a: Result, b: Result, seed: int) -> tuple[Estimate, pd.DataFrame, dict[str, Any]]:
    one, two = wide(a), wide(b)
    shared, left = _common(one, two, a.data)
    one, two = one.loc[shared], two.loc[shared]
    wins = [preferred(t["stereotype"], t["antistereotype"]) for t in (one, two)]
    macro = a.settings.get("average") == "macro"
    found = paired_difference(
        wins[0], wins[1], one.cluster.tolist(), macro=macro, scale=100.0, seed=seed
    )
    p, lost, won = exact_mcnemar(wins[0], wins[1])
    margins = [(t["stereotype"] - t["antistereotype"]).to_numpy(float) for t in (one, two)]
    ratio = paired_difference(
        np.nan_to_num(margins[0]), np.nan_to_num(margins[1]), one.cluster.tolist(), seed=seed
    )
    items = pd.DataFrame(
        {"item": shared, "before": wins[0], "after": wins[1], "moved": margins[1] - margins[0]}
    )
    items = items[items.before != items.after]
    items = items.reindex(items.moved.abs().sort_values(ascending=False).index)
    more = {"p_mcnemar": p, "lost": lost, "won": won, "log_ratio": ratio.value,
            "p_log_ratio": ratio.p, **left}  # fmt: skip
    return found, items, more


def word_scores(result: Result) -> pd.DataFrame:
    """Associations of target words, or log-odds of attribute words: score and side, 0 or 1."""
    frame = result.items
    if "X" in set(frame.label):
        chosen = frame[frame.label.isin(["X", "Y"])]
        return pd.DataFrame(
            {"score": chosen.score.to_numpy(), "side": (chosen.label == "Y").to_numpy(int)},
            index=chosen.item,
        )
    from unmask.sentences import log_odds

    values = {
        item: log_odds(rows.label.tolist(), rows.score.to_numpy(), rows.prior.to_numpy())
        for item, rows in frame[frame.reason.isna()].groupby("item", sort=False)
    }
    categories = frame.drop_duplicates("item").set_index("item").category
    names = list(dict.fromkeys(categories))
    return pd.DataFrame(
        {"score": pd.Series(values), "side": categories.map(names.index).loc[list(values)]}
    )


def _effects(a: Result, b: Result, seed: int) -> tuple[Estimate, pd.DataFrame, dict[str, Any]]:
    """Difference of effect sizes over the same words, words resampled within their sets.

    p: the two runs' standardised scores are exchanged word by word at random.
    """
    one, two = word_scores(a), word_scores(b)
    shared, left = _common(one, two, a.data)
    one, two = one.loc[shared], two.loc[shared]
    side = one.side.to_numpy()
    scores = np.stack([_standard(one.score), _standard(two.score)])
    value = _d(scores[1], side) - _d(scores[0], side)
    rng = np.random.default_rng(seed)
    draws, flips = [], []
    halves = [np.flatnonzero(side == k) for k in (0, 1)]
    for _ in range(RESAMPLES // 5):
        drawn = np.concatenate([rng.choice(h, len(h)) for h in halves])
        draws.append(_d(scores[1][drawn], side[drawn]) - _d(scores[0][drawn], side[drawn]))
        swap = rng.random(len(side)) < 0.5
        mixed = np.where(swap, scores[::-1], scores)
        flips.append(_d(mixed[1], side) - _d(mixed[0], side))
    finite = np.array(draws)[np.isfinite(draws)]
    low, high = np.quantile(finite, [0.025, 0.975])
    p = (np.sum(np.abs(flips) >= abs(value)) + 1) / (len(flips) + 1)
    more = {"se": float(finite.std(ddof=1))}
    found = Estimate(value, float(low), float(high), 0.95, "paired bootstrap over words",
                     len(shared), 0.0, float(p), more)  # fmt: skip
    moved = scores[1] - scores[0]
    items = pd.DataFrame({"item": shared, "before": scores[0], "after": scores[1], "moved": moved})
    items = items.reindex(items.moved.abs().sort_values(ascending=False).index)
    return found, items.head(20), left


def _standard(scores: pd.Series) -> Floats:
    values = scores.to_numpy(float)
    return (values - values.mean()) / values.std(ddof=1)


def _d(scores: Floats, side: Any) -> float:
    try:
        return effect_size(scores[side == 0], scores[side == 1])
    except DataError:
        return float("nan")
