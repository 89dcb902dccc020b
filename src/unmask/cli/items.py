"""The command `items`: what drives each score."""

from typing import Annotated

import typer

from unmask.answer import influence
from unmask.cli import options as shared
from unmask.cli import terminal
from unmask.errors import UnmaskError
from unmask.reports import files, results
from unmask.support.printable import escape
from unmask.support.registry import unknown

console = shared.made_console()


def items(
    folders: shared.Folders,
    measure: shared.Measures = None,
    data: Annotated[
        list[str] | None, typer.Option("-d", "--data", help="Data sets, separated by commas.")
    ] = None,
    category: Annotated[str | None, typer.Option(help="One category only.")] = None,
    by_category: Annotated[
        bool, typer.Option("--by-category", help="Show the top items of each category.")
    ] = False,
    top: Annotated[int, typer.Option(help="How many of the most influential items to show.")] = 5,
    output: shared.CsvOut = None,
) -> None:
    """Show the items that drive each score, with their sentences."""
    if top < 1:
        raise UnmaskError(f"--top is {top}; give a whole number of at least 1.")
    loaded = results.gather(folders).select(measures=shared.split(measure), data=shared.split(data))
    frames = [(r, influence.by_influence(r)) for r in loaded]
    frames = [(r, f[f.category == category] if category else f) for r, f in frames]
    if category and all(f.empty for _, f in frames):
        names = sorted({str(c) for r in loaded for c in r.items.category})
        raise UnmaskError(unknown("category", category, names))
    if output is not None:
        parts = [f.assign(model=r.model, measure=r.measure, data=r.data) for r, f in frames]
        files.put_csv(output, *parts)
        console.print(f"Items: [bold]{escape(str(output))}[/]", soft_wrap=True)
        return
    for result, frame in frames:
        title = escape(f"{result.title}, {result.model}")
        console.print(f"\n[bold]{title}[/]", soft_wrap=True)
        if by_category:
            frame = frame.groupby("category", sort=True).head(top).sort_values("category")
        terminal.print_influences(console, frame if by_category else frame.head(top))
