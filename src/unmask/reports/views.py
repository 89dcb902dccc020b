"""The display of results in a notebook: a table, and figures that can be saved."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.answer import answer_sentences
from unmask.answer.influence import by_influence as by_influence
from unmask.answer.scales import SCALES
from unmask.errors import UnmaskError
from unmask.reports.columns import RUN, table
from unmask.reports.figures import drawing, result_figures
from unmask.reports.files import atomically
from unmask.reports.formats import as_latex as as_latex
from unmask.reports.formats import as_markdown as as_markdown
from unmask.reports.html.page import numbers
from unmask.reports.templating import rendered
from unmask.support.registry import unknown
from unmask.types import Result


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure that a notebook shows and that `save` writes as SVG, PNG or PDF."""

    figure: drawing.Figure

    def _repr_html_(self) -> str:
        return drawing.drawn(self.figure, "svg").decode()

    def save(self, path: Path | str) -> Path:
        """Write the figure in the format of the file's ending."""
        target = Path(path)
        image = drawing.drawn(self.figure, target.suffix.removeprefix(".").lower())
        atomically(target, lambda part: part.write_bytes(image))
        return target


def plot(results: Sequence[Result], what: str | None = None) -> Drawing:
    """The figure of some results under a name such as `scores`; the first without one."""
    figures = (
        {figure.name: figure for figure in result_figures.all_figures(results)}
        if len(results)
        else {}
    )
    if not figures:
        raise UnmaskError("there is nothing to draw for these results.")
    if what is not None and what not in figures:
        raise UnmaskError(unknown("figure", what, figures))
    return Drawing(figures[what] if what is not None else next(iter(figures.values())))


answer = answer_sentences.frame


def table_html(results: Sequence[Result]) -> str:
    """A table for each sort of score."""
    if not len(results):
        return "<p>no results</p>"
    frame: Any = table(results)
    heads = frame.compared.map(lambda c: SCALES[c].head)
    parts = [numbers(part, RUN, str(m)) for (m, _), part in frame.groupby(["model", heads])]
    return rendered("numbers.html.jinja", tables=parts)
