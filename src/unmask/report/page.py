"""Tables and figures of a study, and the pages they are written to."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from unmask.errors import UnmaskError
from unmask.report.columns import Cell, laid_out, plain
from unmask.report.files import atomically, put, put_csv
from unmask.types import Result

_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{mark: "\\" + mark for mark in "&%$#_{}"},
}


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


def safe(name: str) -> str:
    """A file name from any text: letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "figure"


def latex(text: str) -> str:
    """Text as LaTeX shows it."""
    return "".join(_TEX.get(mark, mark) for mark in text)


def markdown(text: str) -> str:
    """Text in a cell of a Markdown table: no mark of it is taken for markup."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", " ".join(text.split()))


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("unmask.report"),
        autoescape=lambda name: bool(name) and ".html" in str(name),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {"tex": latex, "md": markdown}
    return made


def rendered(template: str, **values: Any) -> str:
    """A template of the package, filled in."""
    return _templates().get_template(template).render(**values)


def write(study: Study, folder: Path) -> None:
    """Tables as CSV and LaTeX, figures as PNG and SVG, and one page in Markdown and HTML."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in study.tables:
        put_csv(folder / f"{safe(table.name)}.csv", table.frame)
        put(folder / f"{safe(table.name)}.tex", rendered("table.tex.jinja", table=table))
    files = {figure.name: safe(figure.name) for figure in study.figures}
    for figure in study.figures:
        _draw(figure, folder / files[figure.name])
    for name in ("index.html", "index.md"):
        put(folder / name, rendered(f"study.{name.split('.')[1]}.jinja", study=study, files=files))


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
