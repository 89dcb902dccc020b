"""Is 63.2 bad? Published scores of known models beside one's own number."""

import re
from typing import Any

import pandas as pd

from unmask.data.packaged import published
from unmask.errors import UnmaskError
from unmask.measures import MEASURES
from unmask.reports.results import gather
from unmask.studies.papers.kaneko2022_tables import TABLE5
from unmask.types import Result

# thys2025 prints scores less 50, of the items on gender.
_THYS = {
    "CAT": ("cat", "stereoset"),
    "CrowS-Pairs": ("cps", "crows-pairs"),
    "AUL-cp": ("aul", "crows-pairs"),
    "AUL-ss": ("aul", "stereoset"),
}
COLUMNS = ("model", "measure", "data", "category", "score", "low", "high", "source")


def scores() -> pd.DataFrame:
    """Preference scores in the papers' tables: model, measure, data, category, score, source."""
    rows = []
    kaneko, thys = published("kaneko2022"), published("thys2025")
    places = [(m, d) for d, some in TABLE5.items() for m in some]
    for label, stated in kaneko["table5"].items():
        for (measure, data), score in zip(places, stated, strict=True):
            rows.append((kaneko["models"][label], measure, data, "", score, "kaneko2022, Table 5"))
    for model, stated in thys["table4"].items():
        for column, value in zip(thys["columns"], stated, strict=True):
            if column in _THYS:
                where = (*_THYS[column], "gender", round(50 + value, 3))
                rows.append((model, *where, "thys2025, Table 4"))
    return pd.DataFrame(rows, columns=[c for c in COLUMNS if c not in ("low", "high")])


def neighbours(results: Any) -> pd.DataFrame:
    """Published scores of the same measure on the same data, with one's own among them, sorted.

    The measure's plain name stands for its variants. Scores differ with the version of a model,
    of the data and of the code: near is near, and the interval says how near.
    """
    known, parts = scores(), []
    for result in gather(results):
        measure, data = _plain(result.measure), _whole(result.data)
        if not _published(result):
            continue
        near = known[(known.measure == measure) & (known.data == data)]
        own = {"": result.overall, **result.by_category}
        for category, part in near.groupby("category"):
            if category in own:
                parts.append(pd.concat([part, _row(result, str(category), own[category])]))
    if not parts:
        names = sorted({f"{m} on {d}" for m, d in zip(known.measure, known.data, strict=True)})
        raise UnmaskError(
            "no published score is known for these (your own files have none); there are: "
            f"{', '.join(names)}."
        )
    order = ["measure", "data", "category", "score"]
    return pd.concat(parts).sort_values(order, ignore_index=True)[list(COLUMNS)]


def _published(result: Result) -> bool:
    """Whether a result is on the published data, and not on a user's own of the same name."""
    about = result.provenance.get("data", {})
    return about.get("source") not in ("file", "frame") and about.get("as_pinned") is not False


def _plain(measure: str) -> str:
    """The measure that a row is a variant of, or itself."""
    row = MEASURES.get(measure)
    return (row.variant_of or measure) if row else measure.partition("@")[0]


def _whole(data: str) -> str:
    """The name of the set that a sample, or a set without flagged items, is of."""
    return re.sub(r"(:unflagged)?(:\d+-of-\d+)?$", "", data)


def _row(result: Result, category: str, estimate: Any) -> pd.DataFrame:
    names = (result.model, _plain(result.measure), _whole(result.data))
    values = (category, estimate.value, estimate.low, estimate.high, f"here: {result.title}")
    return pd.DataFrame([(*names, *values)], columns=list(COLUMNS))
