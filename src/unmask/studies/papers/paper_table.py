"""A paper's table: published values beside measured ones, as lines and in the shape of print."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from unmask.errors import UnmaskError
from unmask.options import Spec
from unmask.reports.html.study_page import Table
from unmask.types import Estimate, Result

SOURCES = {"published": "the paper", "measured": "this run"}
Found = dict[tuple[Any, ...], Result]


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table of a paper.

    `rows` are its lines, made by `row`: published, measured, interval, agreement. With `index` and
    `columns`, which identify its rows and columns in print, the table is also shown in the paper's
    shape, with the paper's `heads`. It then has a row for each of `sources` (a column of the lines
    and its label), in cells that `cell` formats from a line and that column. `in_print` replaces
    this shape if the paper's is a different one. `star` says which test gives a star.
    """

    name: str
    title: str
    rows: Sequence[Mapping[str, Any]]
    note: str = ""
    digits: int = 2
    index: str = ""
    columns: tuple[str, ...] = ()
    heads: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=lambda: dict(SOURCES))
    cell: Callable[[Mapping[str, Any], str], Any] = lambda line, column: line.get(column)
    in_print: pd.DataFrame | None = None
    star: str = ""

    @property
    def tables(self) -> list[Table]:
        """The lines, and the table in the paper's layout where that is another."""
        lines = Table(self.name, self.title, frame(self.rows), self.note, self.digits)
        table = self._wide() if self.index else self.in_print
        if table is None:
            return [lines]
        title = f"{self.title}, in the paper's layout"
        return [lines, Table(f"{self.name}-printed", title, table, self.star, self.digits)]

    def _wide(self) -> pd.DataFrame:
        """A row for each of the paper's and one for each of ours, with the columns of print."""
        rows: dict[tuple[str, str], dict[str, Any]] = {}
        for column, of in self.sources.items():
            for line in self.rows:
                if line.get(column) is None:
                    continue
                key = (line[self.index], of)
                head = ", ".join(str(line[k]) for k in self.columns)
                row = rows.setdefault(key, {self.index: key[0], "of": of})
                row[self.heads.get(head, head)] = self.cell(line, column)
        return pd.DataFrame(list(rows.values()))


def by_tags(results: Iterable[Result], *tags: str) -> Found:
    """Results by the values of some of their tags."""
    return {tuple(r.spec.tags[t] for t in tags): r for r in results}


def reported(*tags: str) -> tuple[dict[str, str], Callable[[Spec, UnmaskError], None]]:
    """An empty table of failures, by the values of some tags, and the function that fills it."""
    skipped: dict[str, str] = {}

    def failed(spec: Spec, error: UnmaskError) -> None:
        skipped[", ".join(str(spec.tags[k]) for k in tags)] = str(error)

    return skipped, failed


def row(
    keys: Mapping[str, Any],
    value: float | None,
    estimate: Estimate | None,
    *,
    comparable: bool = True,
    digits: int = 2,
) -> dict[str, Any]:
    """A line of a table: published, measured, interval, difference, and whether it is inside.

    `agrees`: `exact` to the `digits` printed, `inside` our interval, or `outside`. Two models, or
    two sets of items, that are not `comparable` neither agree nor disagree, whatever their numbers.
    """
    line = {**keys, "published": value}
    if estimate is None:
        return line
    line |= {"measured": estimate.value, "low": estimate.low, "high": estimate.high}
    line |= {"n": estimate.n}
    if value is None or not comparable or math.isnan(estimate.low):
        return line
    exact = round(estimate.value, digits) == round(value, digits)
    inside = estimate.low <= value <= estimate.high
    agrees = "exact" if exact else "inside" if inside else "outside"
    return line | {"difference": estimate.value - value, "agrees": agrees}


def frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as a frame with the usual columns, empty ones dropped; counts stay whole numbers."""
    table = pd.DataFrame(list(rows)).dropna(axis=1, how="all")
    integer = {c: "Int64" for c in table if all(_is_count(r.get(c)) for r in rows)}
    return table.astype(integer)


def _is_count(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


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
