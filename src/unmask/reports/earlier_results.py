"""Read results that earlier versions of unmask wrote.

Version 1 has no version number, names at the top of a result, and `se` among `more`. Version 2 uses
an earlier vocabulary: verdicts are "cannot tell" or "not by more", and items have a family, a side
and a frame.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from unmask.errors import DataError
from unmask.measures import MEASURES

SCHEMA = 3  # the current version of the format
WORDS = {"cannot tell": "inconclusive", "not by more": "negligible"}
GONE = ("shared", "shrunken")
DETAILS = {"detectable": "mde", "p_run": "p_corrected", "p_holm": "p_corrected"}
COLUMNS = {"family": "group_pair", "side": "group", "frame": "template", "pull": "influence"}


def upgraded(content: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Convert the content of an earlier `results.json` to the current version."""
    version = content.get("schema", 1)
    try:
        if version == 1:
            records = [_from_first(r) for r in content["results"]]
            content = {"schema": 2, "notes": [], "results": records}
        if version < SCHEMA:
            content = {k: v for k, v in content.items() if k != "answer"}  # it is recomputed
            records = [_from_second(r) for r in content["results"]]
            content = {**content, "schema": SCHEMA, "results": records}
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path} does not match the results schema (no {error}); run again."
        ) from error
    return dict(content)


def upgraded_items(frame: pd.DataFrame, content: Mapping[str, Any], version: int) -> pd.DataFrame:
    """Convert the items table of an earlier version to the current one."""
    if version == 1:
        frame = _numbered(frame, content)
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


def _from_first(record: Mapping[str, Any]) -> dict[str, Any]:
    row, settings = MEASURES.get(record["measure"]), dict(record["settings"])
    many = {k: {n: _with_error(e) for n, e in record[k].items()} for k in ("by_category", "extras")}
    spec = {k: record[k] for k in ("model", "measure", "data")}
    choices = dict.fromkeys(("pool", "layer", "contexts", "samples"))
    return {
        "spec": {**spec, **choices, "tags": {}},
        "compared": row.compared if row else "preference",
        **{k: record[k] and _with_error(record[k]) for k in ("overall", "accuracy")},
        **many,
        "coverage": record["coverage"],
        "notes": settings.pop("notes", []),
        "settings": settings,
        "provenance": record["provenance"],
        "shown": [],
    }


def _with_error(record: Mapping[str, Any]) -> dict[str, Any]:
    details = dict(record["more"])
    return {**record, "se": details.pop("se", None), "more": details}


def _numbered(frame: pd.DataFrame, content: Mapping[str, Any]) -> pd.DataFrame:
    """The items of version 1 by the names of their result."""
    names = ["model", "measure", "data"]
    if not {*names} <= set(frame.columns):
        return frame
    place = {tuple(r["spec"][k] for k in names): i for i, r in enumerate(content["results"])}
    number = [place.get(key, -1) for key in frame[names].itertuples(index=False, name=None)]
    return frame.assign(result=number).query("result >= 0")
