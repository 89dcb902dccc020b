"""Does bias grow with size, or with what a model can do? For any models of any families.

Sizes are parameters as they were counted when the models were loaded. A family is declared in a
file, or is what models of one architecture and one tokenizer have in common. Scores are those on
the items that all models have; capability is the token accuracy or lms of each model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unmask.answer.scales import SCALES, scale_of
from unmask.errors import DataError
from unmask.options import Resampling
from unmask.reports.results import gather
from unmask.stats.growth import growth, slope
from unmask.stats.intervals import DEFAULTS
from unmask.stats.multiplicity import corrected
from unmask.studies.contrast import paired_runs
from unmask.support import toml
from unmask.types import Estimate, Result

GROWS, FALLS, OPEN = "grows", "falls", "not shown"


@dataclass(frozen=True, slots=True)
class Scaling:
    """`models` by size, with their scores; `slopes` a row for each measure on each data set.

    A slope is the change with each doubling of the parameters, within families.
    """

    models: pd.DataFrame
    slopes: pd.DataFrame

    @property
    def sentences(self) -> list[str]:
        """One sentence for each slope."""
        return [_sentence(row) for row in self.slopes.to_dict("records")]


def read_families(path: Path) -> dict[str, str]:
    """The family of each model from a file: `NAME = ["model", ...]` under `[families]`."""
    example = 'write [families] and bert = ["bert-base-cased", "bert-large-cased"]'
    table: Any = toml.read(path, ("families",), example).get("families")
    try:
        return {str(model): str(name) for name, models in table.items() for model in models}
    except (TypeError, AttributeError) as error:
        raise DataError(f"{path} does not define families; {example}.") from error


def scaling(
    runs: Any, families: Mapping[str, str] | None = None, resampling: Resampling = DEFAULTS
) -> Scaling:
    """Slopes over the models of some runs: folders of results, or `Results`."""
    results = gather(runs)
    by_key: dict[tuple[str, ...], list[Result]] = {}
    for result in results:
        if result.fitness.fit:
            by_key.setdefault(result.spec.comparable, []).append(result)
    facts = {r.model: _facts(r, families) for r in results}
    tables, slopes = [], []
    for members in by_key.values():
        group = list({r.model: r for r in members}.values())
        if len({facts[r.model][0] for r in group}) == len(group):
            continue  # no family has two sizes
        paired = paired_runs(group, adjusted=True, resampling=resampling)
        table = _table(group, paired.scores, facts)
        tables.append(table.assign(score=table.score.map(scale_of(group[0]).show)))
        slopes.append(_slopes(group[0], table, resampling))
    if not slopes:
        raise DataError(
            "no measure has two models of one family that are fit for a verdict; give models of "
            "several sizes, and group them with --families."
        )
    frame = pd.DataFrame(slopes)
    frame["p_holm"] = corrected(frame.p.tolist())
    error = 1 - resampling.level
    frame["verdict"] = [
        OPEN if not p <= error else GROWS if slope > 0 else FALLS
        for p, slope in zip(frame.p_holm, frame.slope, strict=True)
    ]
    return Scaling(pd.concat(tables, ignore_index=True), frame)


def _facts(result: Result, families: Mapping[str, str] | None) -> tuple[str, float]:
    """A model's family and its parameters."""
    model = result.provenance.get("model") or {}
    parameters = model.get("parameters")
    if not parameters:
        raise DataError(f"{result.model!r} has no count of parameters; leave it out.")
    if families is not None:
        if result.model not in families:
            raise DataError(
                f"{result.model!r} is in no family of the file; add it, or leave it out."
            )
        return families[result.model], float(parameters)
    tokenizer = (model.get("tokenizer") or {}).get("hash", "")
    return f"{model.get('architecture', '')} {tokenizer}"[:60].strip(), float(parameters)


def _table(
    results: Sequence[Result], scores: Sequence[float], facts: Mapping[str, tuple[str, float]]
) -> pd.DataFrame:
    rows = []
    for result, score in zip(results, scores, strict=True):
        lms = result.extras.get("lms")
        rows.append(
            {
                "model": result.model,
                "family": facts[result.model][0],
                "parameters": facts[result.model][1],
                "measure": result.measure,
                "data": result.data,
                "score": float(score),
                "accuracy": None if result.accuracy is None else result.accuracy.value,
                "lms": None if lms is None else lms.value,
            }
        )
    return pd.DataFrame(rows).sort_values(["family", "parameters"])


def _slopes(result: Result, table: pd.DataFrame, resampling: Resampling) -> dict[str, Any]:
    sizes, scores = table.parameters.to_numpy(float), table.score.to_numpy(float)
    estimate = growth(sizes, scores, table.family.tolist(), resampling)
    ability = _ability(table)
    row: dict[str, Any] = {
        "measure": result.measure,
        "data": result.data,
        "compared": result.compared,
        "models": estimate.n,
        "families": int(table.family.nunique()),
        **_as_row("", estimate),
    }
    if ability is not None:
        name, values = ability
        by_ability = slope(values, scores, table.family.tolist(), resampling)
        row |= {"capability": name, **_as_row("capability_", by_ability)}
    return row


def _ability(table: pd.DataFrame) -> tuple[str, Any] | None:
    """The capability score that all models have, with its name: lms, or else token accuracy."""
    for name in ("lms", "accuracy"):
        values = pd.to_numeric(table[name]).to_numpy(float)
        if np.isfinite(values).all() and np.ptp(values) > 0:
            return name, values
    return None


def _as_row(head: str, estimate: Estimate) -> dict[str, Any]:
    names = {"slope": "value", "low": "low", "high": "high", "p": "p"}
    return {f"{head}{k}": getattr(estimate, v) for k, v in names.items()}


def _sentence(row: Mapping[str, Any]) -> str:
    scale = SCALES[row["compared"]]
    value, low, high = (row[k] for k in ("slope", "low", "high"))
    change = scale.change(value, low, high, digits=2, unit="pp" if scale.share else "")
    if low != low:
        change = change.partition(" [")[0]
    head = f"{row['measure']} on {row['data']}: {_verdict_words(row['verdict'])}"
    return (
        f"{head} ({change} with each doubling, p = {row['p']:.3f}, {row['models']} models in "
        f"{row['families']} families)."
    )


def _verdict_words(verdict: str) -> str:
    """A verdict as the end of a sentence."""
    return {GROWS: "grows with size", FALLS: "falls with size"}.get(verdict, "no trend is shown")
