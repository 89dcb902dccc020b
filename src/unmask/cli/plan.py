"""The command `plan`: how much data does a study need? (Plans of queries are in flow/plan.)"""

from pathlib import Path
from typing import Annotated, Any

import typer

from unmask import options, types
from unmask.cli import terminal
from unmask.cli.options import made_console, takes
from unmask.data import catalogue
from unmask.data.check import design
from unmask.errors import UnmaskError
from unmask.reports import results
from unmask.studies import sample_size

console = made_console()


@takes("level")
def plan(
    folders: Annotated[
        list[Path] | None, typer.Argument(help="Results folders of pilot runs on similar data.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option("-d", "--data", help="Plan for a data set by name, without a pilot run."),
    ] = None,
    detect: Annotated[
        str, typer.Option(help="Effects to detect, in percentage points, d or as a factor.")
    ] = "10,0.5d,1.2x",
    power: Annotated[float, typer.Option(help="Probability of detecting the effect.")] = 0.8,
    **chosen: Any,
) -> None:
    """Estimate how many words and templates a study needs."""
    options.Resampling(**chosen)
    if data is not None:
        _print_expected(data, power, chosen["level"])
        return
    pilots = list(results.gather(folders or ()))
    amounts = options.amounts(detect, "detect")
    frame = sample_size.needs(pilots, amounts, power=power, **chosen)
    for unit, part in frame.groupby("unit", sort=False):
        size = options.amount_text(amounts[str(unit)], str(unit))
        head = f"To detect {size} with power {power:g}"
        table = part.dropna(axis=1, how="all").drop(columns="unit").convert_dtypes()
        terminal.print_frame(console, table.rename(columns={"detects": "MDE"}).astype(object), head)


def _print_expected(name: str, power: float, level: float) -> None:
    """What the pairs of a data set find with this power, as words and templates usually vary."""
    for dataset in catalogue.resolve(name):
        if not isinstance(dataset, types.Dataset) or dataset.shape not in types.LABELS:
            raise UnmaskError(f"{name!r} contains no pairs; give a data set of pairs.")
        frame = design.expected_power(dataset, power=power, level=level)
        head = f"Smallest bias that {dataset.name} detects with power {power:g}, by bias type"
        frame = frame.rename(columns={"points": "pp", "times": "factor"})
        terminal.print_frame(console, frame, head)
    console.print(
        "pp: percentage points from 50. factor: the equivalent for the measure trait. "
        "After a run, 'unmask plan FOLDER' estimates both for that model.",
        highlight=False,
    )
