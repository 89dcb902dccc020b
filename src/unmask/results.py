"""Results to files and back, and many results to one table."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unmask.errors import DataError
from unmask.stats.tests import corrected
from unmask.types import Estimate, Result

RESULTS, ITEMS = "results.json", "items.parquet"


def save(results: Sequence[Result], folder: Path) -> None:
    """Write `results.json` and `items.parquet`; each appears only when whole."""
    make_folder(folder)
    records = [to_record(r) for r in results]
    text = json.dumps({"results": records}, indent=1, allow_nan=False)
    _atomically(folder / RESULTS, lambda path: path.write_text(text, encoding="utf-8"))
    frame = pd.concat([r.items for r in results], ignore_index=True)
    _atomically(folder / ITEMS, lambda path: frame.to_parquet(path, index=False))


def read_items(folder: Path) -> pd.DataFrame:
    """The items table of a folder of results."""
    path = folder / ITEMS
    if not path.is_file():
        raise DataError(f"{str(folder)!r} holds no {ITEMS}; give a folder that 'run' wrote.")
    return pd.read_parquet(path)


def make_folder(folder: Path) -> None:
    """Make sure that results can be written, before anything long begins."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(13, "no permission to write")
    except OSError as error:
        raise DataError(
            f"cannot write to {str(folder)!r} ({error.strerror}); name another folder with -o."
        ) from error


def _atomically(path: Path, write: Any) -> None:
    part = path.with_name(f".{path.name}.part")
    write(part)
    part.replace(path)


def load(folder: Path) -> list[Result]:
    """Results of an earlier run."""
    path = folder / RESULTS
    if not path.is_file():
        raise DataError(
            f"{str(folder)!r} holds no {RESULTS}; give a folder that 'unmask run -o' wrote."
        )
    records = json.loads(path.read_text(encoding="utf-8"))["results"]
    frame = pd.read_parquet(folder / ITEMS)
    groups = dict(tuple(frame.groupby(["model", "measure", "data"], sort=False)))
    return [from_record(r, groups[r["model"], r["measure"], r["data"]]) for r in records]


def to_record(result: Result) -> dict[str, Any]:
    """A result without its items, as plain JSON values; NaN becomes null."""
    record = {f.name: getattr(result, f.name) for f in fields(result) if f.name != "items"}
    return {k: _plain(v) for k, v in record.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Estimate):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def from_record(record: Mapping[str, Any], items: pd.DataFrame) -> Result:
    """A result from its record and its items."""
    many: dict[str, Any] = {
        key: {name: _estimate(value) for name, value in record[key].items()}
        for key in ("by_category", "extras")
    }
    accuracy = record["accuracy"] and _estimate(record["accuracy"])
    rest = {
        k: record[k] for k in ("model", "measure", "data", "coverage", "settings", "provenance")
    }
    return Result(
        overall=_estimate(record["overall"]), accuracy=accuracy, items=items, **many, **rest
    )


def _estimate(record: Mapping[str, Any]) -> Estimate:
    numbers = {
        k: float("nan") if record[k] is None else record[k] for k in ("value", "low", "high")
    }
    return Estimate(**{**record, **numbers})


def table(results: Sequence[Result], by_category: bool = False) -> pd.DataFrame:
    """One row for each result (and category): score, interval, ideal, n, coverage, accuracy.

    Where results carry p-values, `p_holm` corrects those of one model and measure as a family.
    """
    rows = []
    for result in results:
        parts = {"": result.overall} | (dict(result.by_category) if by_category else {})
        for category, estimate in parts.items():
            rows.append(_row(result, category, estimate))
    frame = pd.DataFrame(rows)
    if frame.p.notna().any():
        family = frame.groupby(["model", "measure", "category"])["p"]
        frame["p_holm"] = family.transform(lambda p: corrected(p.to_numpy(float)))
    return frame


def _row(result: Result, category: str, estimate: Estimate) -> dict[str, Any]:
    coverage = result.coverage
    whole = category == ""
    return {
        "model": result.model,
        "data": result.data,
        "measure": result.measure,
        "category": category,
        "score": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "ideal": estimate.ideal,
        "n": estimate.n,
        "coverage": 100 * coverage["scored"] / coverage["items"] if whole else np.nan,
        "accuracy": result.accuracy.value if result.accuracy and whole else np.nan,
        "se": estimate.more.get("se"),
        "p": np.nan if estimate.p is None else estimate.p,
        "detectable": estimate.more.get("detectable"),
        "method": estimate.method,
    }
