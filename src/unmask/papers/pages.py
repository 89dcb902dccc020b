"""Tables and figures of a study, and the pages they are written to."""

import html
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd

from unmask.errors import UnmaskError
from unmask.types import Estimate

STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 1em;
color:#222}table{border-collapse:collapse;font-size:14px;margin:1em 0}th,td{padding:.25em .7em;
border-bottom:1px solid #ddd;text-align:right}th{border-bottom:2px solid #888}td:first-child,
th:first-child{text-align:left}img{max-width:100%}.note{color:#555}td.text{text-align:left}"""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a paper: rows with `published`, `measured`, interval and difference."""

    name: str
    title: str
    frame: pd.DataFrame
    note: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: `draw(axes)` fills it; it is written as PNG and SVG."""

    name: str
    title: str
    draw: Callable[[Any], None]
    size: tuple[float, float] = (7.0, 4.5)
    note: str = ""


@dataclass(frozen=True, slots=True)
class Study:
    """What `unmask reproduce` and `unmask vary` write."""

    title: str
    tables: Sequence[Table]
    figures: Sequence[Figure] = ()
    remarks: Sequence[str] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)


def published(name: str) -> Any:
    """The published values of a paper."""
    folder = resources.files("unmask.data").joinpath("published")
    if name.endswith(".csv"):
        text = folder.joinpath(name).read_text("utf-8")
        # Only numbers may be missing; an empty note or level is a value.
        missing = {"d": ["nan", ""], "p": ["nan", ""]}
        return pd.read_csv(StringIO(text), keep_default_na=False, na_values=missing)
    return json.loads(folder.joinpath(f"{name}.json").read_text("utf-8"))


def row(
    keys: Mapping[str, Any], value: float | None, found: Estimate | None, *, same: bool = True
) -> dict[str, Any]:
    """A line of a table: published, measured, interval, difference, and whether it is inside.

    `agrees`: `exact` to the digits printed, `inside` our interval, or `outside`. Two models that
    are not the `same` neither agree nor disagree, whatever their numbers.
    """
    out = {**keys, "published": value}
    if found is None:
        return out
    out |= {"measured": found.value, "low": found.low, "high": found.high, "n": found.n}
    if value is None or not same:
        return out
    exact = round(found.value, 2) == round(value, 2)
    inside = found.low <= value <= found.high
    agrees = "exact" if exact else "inside" if inside else "outside"
    return out | {"difference": found.value - value, "agrees": agrees}


def frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as a frame with the usual columns, empty ones dropped."""
    made = pd.DataFrame(list(rows)).dropna(axis=1, how="all")
    return made.astype({"n": "Int64"}) if "n" in made else made


def _shown(value: Any) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and pd.isna(value)):
        return ""
    return (
        f"{value:.3g}"
        if isinstance(value, float) and abs(value) < 1e-3 and value
        else (f"{value:.2f}" if isinstance(value, float) else str(value))
    )


def markdown(data: pd.DataFrame) -> str:
    """A frame as a Markdown table."""
    lines = ["| " + " | ".join(map(str, data.columns)) + " |", "|---" * len(data.columns) + "|"]
    lines += ["| " + " | ".join(map(_shown, r)) + " |" for r in data.itertuples(index=False)]
    return "\n".join(lines)


def latex(data: pd.DataFrame) -> str:
    """A frame as a LaTeX tabular."""

    def clean(text: str) -> str:
        for mark in "&%#_":
            text = text.replace(mark, "\\" + mark)
        return text

    lines = ["\\begin{tabular}{l" + "r" * (len(data.columns) - 1) + "}", "\\hline"]
    lines.append(" & ".join(clean(str(c)) for c in data.columns) + " \\\\ \\hline")
    lines += [" & ".join(clean(_shown(v)) for v in r) + " \\\\"
              for r in data.itertuples(index=False)]  # fmt: skip
    return "\n".join([*lines, "\\hline", "\\end{tabular}"])


def write(study: Study, folder: Path) -> None:
    """Tables as Markdown, CSV and LaTeX, figures as PNG and SVG, and one page of each kind."""
    folder.mkdir(parents=True, exist_ok=True)
    page = [f"# {study.title}", ""]
    body = [f"<h1>{html.escape(study.title)}</h1>"]
    for remark in study.remarks:
        page += [remark, ""]
        body.append(f"<p>{html.escape(remark)}</p>")
    for table in study.tables:
        table.frame.to_csv(folder / f"{table.name}.csv", index=False)
        (folder / f"{table.name}.tex").write_text(latex(table.frame))
        page += [f"## {table.title}", "", table.note, "", markdown(table.frame), ""]
        body.append(f"<h2>{html.escape(table.title)}</h2>")
        body.append(f"<p class=note>{html.escape(table.note)}</p>" + _html_table(table.frame))
    for figure in study.figures:
        _draw(figure, folder)
        page += [f"## {figure.title}", "", figure.note, "", f"![]({figure.name}.png)", ""]
        body += [f"<h2>{html.escape(figure.title)}</h2>",
                 f"<p class=note>{html.escape(figure.note)}</p>",
                 f'<img src="{figure.name}.svg" alt="{html.escape(figure.title)}">']  # fmt: skip
    if study.skipped:
        page += ["## Left out", "", *(f"- {k}: {v}" for k, v in study.skipped.items()), ""]
        listed = "".join(f"<li>{html.escape(f'{k}: {v}')}</li>" for k, v in study.skipped.items())
        body += ["<h2>Left out</h2>", f"<ul>{listed}</ul>"]
    (folder / "index.md").write_text("\n".join(page))
    head = f"<!doctype html><meta charset=utf-8><title>{html.escape(study.title)}</title>"
    view = '<meta name=viewport content="width=device-width">'
    (folder / "index.html").write_text(
        f"{head}{view}<style>{STYLE}</style><body>" + "\n".join(body)
    )


def _side(value: Any) -> str:
    return " class=text" if isinstance(value, str) else ""


def _html_table(data: pd.DataFrame) -> str:
    head = "".join(f"<th>{html.escape(str(c))}</th>" for c in data.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td{_side(v)}>{html.escape(_shown(v))}</td>" for v in r) + "</tr>"
        for r in data.itertuples(index=False)
    )
    return f"<table><tr>{head}</tr>{rows}</table>"


def _draw(figure: Figure, folder: Path) -> None:
    try:
        import matplotlib
    except ImportError as error:
        raise UnmaskError("figures need: pip install 'unmask[plots]'.") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    made = pyplot.figure(figsize=figure.size, layout="constrained")
    figure.draw(made)
    made.savefig(folder / f"{figure.name}.png", dpi=150)
    made.savefig(folder / f"{figure.name}.svg")
    pyplot.close(made)
