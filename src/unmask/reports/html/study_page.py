"""Tables and figures of a study, and the pages they are written to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from unmask.reports.columns import Cell, laid_out, plain
from unmask.reports.figures.drawing import FORMS, Figure, drawn
from unmask.reports.files import atomically, put, put_csv
from unmask.reports.html import page
from unmask.reports.templating import rendered, safe
from unmask.types import Result

MOST_NUMBERS = 300  # rows of a figure that a page shows


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a study: a frame under a title, numbers with `digits` decimals."""

    name: str
    title: str
    frame: pd.DataFrame
    note: str = ""
    digits: int = 2
    first: bool = False  # whether a page opens with it

    @property
    def cells(self) -> tuple[list[Cell], list[list[Cell]]]:
        """Heads and rows as a person reads them."""
        return laid_out(self.frame, plain(self.frame, self.digits))


@dataclass(frozen=True, slots=True)
class Study:
    """The output of `unmask reproduce` and `unmask vary`; `results` are the underlying results."""

    title: str
    tables: Sequence[Table]
    figures: Sequence[Figure] = ()
    remarks: Sequence[str] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    results: Sequence[Result] = ()
    answer: Sequence[str] = ()  # sentences that the page opens with


def write(study: Study, folder: Path) -> None:
    """Tables as CSV and LaTeX, figures as CSV and images, a page in HTML and one in Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in study.tables:
        put_csv(folder / f"{safe(table.name)}.csv", table.frame)
        put(folder / f"{safe(table.name)}.tex", rendered("table.tex.jinja", table=table))
    files = {figure.name: safe(figure.name) for figure in study.figures}
    for figure in study.figures:
        put_csv(folder / f"{files[figure.name]}-numbers.csv", figure.numbers)
        for form in FORMS:
            image = drawn(figure, form)
            path = folder / f"{files[figure.name]}.{form}"
            atomically(path, lambda part, image=image: part.write_bytes(image))  # type: ignore[misc]
    put(folder / "index.md", rendered("study.md.jinja", study=study, files=files))
    page.write(webpage_of(study), folder / page.PAGE)


def _caption(table: Table) -> str:
    stop = "" if table.title.endswith("?") else "."
    return f"{table.title}{stop} {table.note}".strip()


def _short(figure: Figure) -> Figure:
    """Limit a figure's numbers to those that the page has room for."""
    count = len(figure.numbers)
    if count <= MOST_NUMBERS:
        return figure
    more = f"All {count:,} numbers are in {safe(figure.name)}-numbers.csv."
    numbers = figure.numbers.iloc[:0]
    return replace(figure, numbers=numbers, note=f"{figure.note} {more}".strip())


def webpage_of(study: Study) -> page.Page:
    """The page of a study: its tables and figures first, then what its results say."""
    base = page.page(study.results, study.title) if study.results else None
    captioned = [(t, page.PageTable(_caption(t), *t.cells)) for t in study.tables]
    claims = [numbers for table, numbers in captioned if table.first]
    tables = [numbers for table, numbers in captioned if not table.first]
    drawn_ = [page.figure_data(_short(figure)) for figure in study.figures]
    skipped = [f"left out: {name}: {reason}" for name, reason in study.skipped.items()]
    notes = [*study.remarks, *skipped]
    if base is None:
        first, further = (drawn_, []) if study.answer else ([], drawn_)
        return page.Page(
            study.title,
            "",
            differences=study.answer,
            bias_types=first,
            notes=notes,
            tables=tables,
            figures=further,
            claims=claims,
        )
    return replace(
        base,
        notes=notes,
        claims=claims,
        differences=study.answer,
        tables=tables,
        figures=drawn_,
        openings=(),
        rest=(),
        bias_types=(),
        evidence=(),
        further=(),
        cards=(),
    )
