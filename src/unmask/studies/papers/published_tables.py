"""Published values beside measured ones: the lines of a paper's tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from unmask.reports.html.study_page import Table
from unmask.types import Estimate, Result

Found = dict[tuple[Any, ...], Result]


def by_tags(results: Iterable[Result], *tags: str) -> Found:
    """Results by the values of some of their tags."""
    return {tuple(r.spec.tags[t] for t in tags): r for r in results}


def row(
    keys: Mapping[str, Any],
    value: float | None,
    estimate: Estimate | None,
    *,
    same: bool = True,
    digits: int = 2,
) -> dict[str, Any]:
    """A line of a table: published, measured, interval, difference, and whether it is inside.

    `agrees`: `exact` to the `digits` printed, `inside` our interval, or `outside`. Two models, or
    two sets of items, that are not the `same` neither agree nor disagree, whatever their numbers.
    """
    out = {**keys, "published": value}
    if estimate is None:
        return out
    out |= {"measured": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n}
    if value is None or not same:
        return out
    exact = round(estimate.value, digits) == round(value, digits)
    inside = estimate.low <= value <= estimate.high
    agrees = "exact" if exact else "inside" if inside else "outside"
    return out | {"difference": estimate.value - value, "agrees": agrees}


def frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as a frame with the usual columns, empty ones dropped."""
    table = pd.DataFrame(list(rows)).dropna(axis=1, how="all")
    return table.astype({"n": "Int64"}) if "n" in table else table


def deviation(a: Result, b: Result, keys: Mapping[str, Any]) -> dict[str, Any]:
    """What a published variant `b` does to the score of the definition `a`, and why."""
    return {
        **keys,
        "definition": a.measure,
        "score": a.overall.value,
        "variant": b.measure,
        "variant score": b.overall.value,
        "moves by": b.overall.value - a.overall.value,
        "why": b.settings["deviation"],
    }


def signed(value: float | None, significant: bool | None = None, digits: int = 2) -> str:
    """A number as a paper prints it, with a star where it is significant."""
    if value is None or value != value:
        return ""
    return f"{value:.{digits}f}" + ("*" if significant else "")


def in_shape(table: Table, index: str, columns: Sequence[str]) -> Table:
    """A long table in the paper's shape: the published value where there is one, else ours."""
    long = table.frame
    value = long.published.astype(float)
    if "measured" in long:
        value = value.fillna(long.measured)
    heads = long[list(columns)].astype(str).agg(", ".join, axis=1)
    wide = pd.DataFrame({index: long[index], "head": heads, "value": value})
    table_wide = wide.pivot_table(index=index, columns="head", values="value", sort=False)
    title = f"{table.title}, in the paper's shape"
    return Table(f"{table.name}-printed", title, table_wide.reset_index().rename_axis(columns=None))
