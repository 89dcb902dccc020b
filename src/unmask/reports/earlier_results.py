"""Read results that unmask 0.2 wrote, in version 2 of the format.

Its vocabulary differs: verdicts are "cannot tell" or "not by more", and items have a family, a side
and a frame.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from unmask.errors import DataError

OLDEST, SCHEMA = 2, 3  # the versions of the format that are read; the last is the current one
WORDS = {"cannot tell": "inconclusive", "not by more": "negligible"}
GONE = ("shared", "shrunken")
DETAILS = {"detectable": "mde", "p_run": "p_corrected", "p_holm": "p_corrected"}
COLUMNS = {"family": "group_pair", "side": "group", "frame": "template", "pull": "influence"}


def upgraded(content: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Convert the content of an earlier `results.json` to the current version."""
    if content["schema"] == SCHEMA:
        return dict(content)
    try:
        records = [_from_second(r) for r in content["results"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path} does not match the results schema (no {error}); run again."
        ) from error
    former = {k: v for k, v in content.items() if k != "answer"}  # it is recomputed
    return {**former, "schema": SCHEMA, "results": records}


def upgraded_items(frame: pd.DataFrame, version: int) -> pd.DataFrame:
    """Convert the items table of an earlier version to the current one."""
    return frame.rename(columns=COLUMNS) if version < SCHEMA else frame


def _from_second(record: Mapping[str, Any]) -> dict[str, Any]:
    estimates = {
        k: {n: _estimate(e) for n, e in record[k].items()} for k in ("by_category", "extras")
    }
    single = {k: record[k] and _estimate(record[k]) for k in ("overall", "accuracy")}
    verdicts = {
        category: _verdict(v, category, {**record, **estimates, **single})
        for category, v in record.get("verdicts", {}).items()
    }
    extras = {_extra(name): e for name, e in estimates["extras"].items()}
    return {**record, **estimates, "extras": extras, **single, "verdicts": verdicts}


def _extra(name: str) -> str:
    """The name of an extra: the share without word preference was called the stereotype."""
    kind, mark, category = name.partition(":")
    return f"adjusted{mark}{category}" if kind == "stereotype" else name


def _estimate(record: Mapping[str, Any]) -> dict[str, Any]:
    details = {DETAILS.get(k, k): v for k, v in record["more"].items()}
    return {**record, "more": {k: v for k, v in details.items() if k not in GONE}}


def _verdict(result: Mapping[str, Any], category: str, record: Mapping[str, Any]) -> dict[str, Any]:
    word = WORDS.get(result["word"], result["word"])
    name = f"stereotype:{category}" if category else "stereotype"
    score = record["by_category"].get(category) if category else record["overall"]
    estimate = record["extras"].get(name) or score
    if word == "biased" and estimate and estimate["value"] < (estimate["ideal"] or 0.0):
        word = "reversed"
    return {**result, "word": word}
