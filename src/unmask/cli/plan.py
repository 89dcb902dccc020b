"""The command `plan`: how much data does a study need?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli.lazy import lazy
from unmask.cli.options import made_console, takes
from unmask.support.printable import escape

if TYPE_CHECKING:
    from unmask import options
    from unmask.cli import terminal
    from unmask.reports import results
    from unmask.studies import sample_size
else:
    options = lazy("unmask.options")
    terminal = lazy("unmask.cli.terminal")
    results = lazy("unmask.reports.results")
    sample_size = lazy("unmask.studies.sample_size")

console = made_console()


@takes("level")
def plan(
    folders: Annotated[
        list[Path] | None, typer.Argument(help="Folders that 'unmask run' wrote, of such data.")
    ] = None,
    detect: Annotated[
        str, typer.Option(help="Effect to be found: points, d, or both: 3,0.5d.")
    ] = "3,0.5d",
    power: Annotated[float, typer.Option(help="Probability of finding it.")] = 0.8,
    **chosen: Any,
) -> None:
    """How many items, clusters and words does a study need?"""
    pilots = list(results.gather(folders or ()))
    options.Resampling(**chosen)
    amounts = options.amounts(detect, "detect")
    frame = sample_size.needs(pilots, amounts, power=power, **chosen)
    for unit, part in frame.groupby("unit", sort=False):
        head = f"To detect {amounts[str(unit)]:g} {unit} with power {power:g}"
        console.print(f"\n[bold]{escape(head)}[/]")
        shown = part.dropna(axis=1, how="all").drop(columns="unit").round(2).convert_dtypes()
        shown = shown.astype(object)
        terminal.print_frame(console, shown.where(shown.notna(), ""))
