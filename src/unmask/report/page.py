"""Tables and figures of a study, and the pages they are written to."""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from unmask.errors import UnmaskError
from unmask.report import webpage
from unmask.report.columns import Cell, laid_out, plain
from unmask.report.files import atomically, put, put_csv
from unmask.report.rendering import rendered, safe
from unmask.types import Result


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a study: a frame under a title, numbers with so many digits."""

    name: str
    title: str
    frame: pd.DataFrame
    note: str = ""
    digits: int = 2

    @property
    def cells(self) -> tuple[list[Cell], list[list[Cell]]]:
        """Heads and rows as a person reads them."""
        return laid_out(self.frame, plain(self.frame, self.digits))


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: `draw(figure)` fills it; it is written as PNG and SVG."""

    name: str
    title: str
    draw: Callable[[Any], None]
    size: tuple[float, float] = (7.0, 4.5)
    note: str = ""


@dataclass(frozen=True, slots=True)
class Study:
    """What `unmask reproduce` and `unmask vary` write; `results` are those behind it."""

    title: str
    tables: Sequence[Table]
    figures: Sequence[Figure] = ()
    remarks: Sequence[str] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    results: Sequence[Result] = ()


def write(study: Study, folder: Path) -> None:
    """Tables as CSV and LaTeX, figures as PNG and SVG, one page in HTML, and one in Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in study.tables:
        put_csv(folder / f"{safe(table.name)}.csv", table.frame)
        put(folder / f"{safe(table.name)}.tex", rendered("table.tex.jinja", table=table))
    files = {figure.name: safe(figure.name) for figure in study.figures}
    for figure in study.figures:
        _draw(figure, folder / files[figure.name])
    put(folder / "index.md", rendered("study.md.jinja", study=study, files=files))
    webpage.write(webpage_of(study, folder), folder / webpage.PAGE)


def webpage_of(study: Study, folder: Path) -> webpage.Page:
    """The page of a study: its tables and figures first, then what its results say."""
    own = webpage.page(study.results, study.title) if study.results else None
    tables = [webpage.Numbers(f"{t.title}. {t.note}".strip(), *t.cells) for t in study.tables]
    drawn = [
        {
            "title": figure.title,
            "svg": "",
            "image": _data(folder / f"{safe(figure.name)}.svg"),
            "note": figure.note,
            "table": None,
        }
        for figure in study.figures
    ]
    left = [f"left out: {name}: {reason}" for name, reason in study.skipped.items()]
    notes = [*study.remarks, *left]
    if own is None:
        return webpage.Page(study.title, "", notes=notes, tables=tables, figures=drawn)
    return replace(own, notes=notes, tables=tables, figures=[*drawn, *own.figures], cards=())


def _data(path: Path) -> str:
    """A picture inside of the page."""
    return "data:image/svg+xml;base64," + base64.b64encode(path.read_bytes()).decode()


def _draw(figure: Figure, path: Path) -> None:
    try:
        import matplotlib
    except ImportError as error:
        raise UnmaskError("figures need: pip install 'unmask[plots]'.") from error
    matplotlib.use("Agg")
    matplotlib.rcParams["text.parse_math"] = False  # names may hold a dollar sign
    from matplotlib import pyplot

    made = pyplot.figure(figsize=figure.size, layout="constrained")
    figure.draw(made)
    for form in ("png", "svg"):
        save = partial(made.savefig, format=form, dpi=150)
        atomically(path.with_name(f"{path.name}.{form}"), save)
    pyplot.close(made)
