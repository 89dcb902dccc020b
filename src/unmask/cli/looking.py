"""The commands `items`, `neighbours` and `leaderboard`: what drives a score, who has which."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from unmask.cli import reporting
from unmask.cli.arguments import made_console, split
from unmask.cli.lazy import later
from unmask.errors import UnmaskError
from unmask.support.registry import unknown

files = later("unmask.reports.files")
pulls = later("unmask.reports.influence")
published = later("unmask.studies.neighbours")
results = later("unmask.reports.results")
terminal = later("unmask.cli.terminal")

console = made_console()
Folders = Annotated[list[Path], typer.Argument(help="Folders that 'unmask run' wrote.")]


def items(
    folder: Annotated[Path, typer.Argument(help="A folder that 'unmask run' wrote.")],
    measure: Annotated[
        list[str] | None, typer.Option("-x", "--measure", help="Measures; default all.")
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option("-d", "--data", help="Data sets; default all.")
    ] = None,
    category: Annotated[str | None, typer.Option(help="One category only.")] = None,
    by_category: Annotated[
        bool, typer.Option("--by-category", help="So many of each category.")
    ] = False,
    top: Annotated[int, typer.Option(help="Items to show of each, those that pull most.")] = 5,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="CSV file with all items in place of these.")
    ] = None,
) -> None:
    """The items that drive each score, with their sentences."""
    if top < 1:
        raise UnmaskError(f"--top is {top}; give a whole number of at least 1.")
    found = list(results.load(folder))
    for name, asked in (("measure", split(measure)), ("data", split(data))):
        found = _chosen(found, name, asked)
    frames = [(r, pulls.by_influence(r)) for r in found]
    frames = [(r, f[f.category == category] if category else f) for r, f in frames]
    if category and all(f.empty for _, f in frames):
        names = sorted({str(c) for r in found for c in r.items.category})
        raise UnmaskError(unknown("category", category, names))
    if out is not None:
        parts = [f.assign(model=r.model, measure=r.measure, data=r.data) for r, f in frames]
        files.put_csv(out, pulls.pd.concat(parts, ignore_index=True))
        console.print(f"Items: [bold]{escape(str(out))}[/]", soft_wrap=True)
        return
    for result, frame in frames:
        console.print(f"\n[bold]{escape(f'{result.title}, {result.model}')}[/]")
        if by_category:
            frame = frame.groupby("category", sort=True).head(top).sort_values("category")
        terminal.print_pulls(console, frame if by_category else frame.head(top))


def _chosen(found: list[Any], name: str, asked: list[str]) -> list[Any]:
    """The results of some measures or data sets; a name that none has is answered."""
    have = list(dict.fromkeys(getattr(r, name) for r in found))
    for one in asked:
        if one not in have:
            raise UnmaskError(unknown(name, one, have))
    return [r for r in found if not asked or getattr(r, name) in asked]


def neighbours(
    folders: Folders,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="CSV file.")] = None,
) -> None:
    """Published scores of the same measures on the same data, with one's own among them."""
    found, _ = reporting.joined(folders)
    frame = published.neighbours(found)
    terminal.print_frame(console, frame.round(1))
    if out is not None:
        files.put_csv(out, frame)


def leaderboard(
    folders: Folders,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="CSV file.")] = None,
) -> None:
    """Models side by side on the measures and data that all have, the least biased first."""
    found, _ = reporting.joined(folders)
    board = pulls.leaderboard(found)
    turned = board.round(2).astype(object).set_index("model").T.rename_axis(None, axis=1)
    terminal.print_frame(console, turned.reset_index(names=""))
    said = "distance: mean distance from the ideal, in units of what matters; biased: verdicts."
    console.print(said, style="dim", soft_wrap=True)
    if out is not None:
        files.put_csv(out, board)
