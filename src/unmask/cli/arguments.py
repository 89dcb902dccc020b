"""Arguments that several commands share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from unmask.errors import UnmaskError

Out = Annotated[Path | None, typer.Option("-o", "--out", help="Folder for the results.")]
Seed = Annotated[int, typer.Option(help="Seed of resampling and permutation.")]
Level = Annotated[float, typer.Option(help="Level of the intervals, such as 0.95.")]
Tokens = Annotated[int, typer.Option(help="Tokens in one forward pass, at most.")]
Least = Annotated[
    str, typer.Option("--matters", help="Smallest bias that matters: points, d, or both: 3,0.2d.")
]
ByCategory = Annotated[bool, typer.Option(help="A row for each category too.")]


def split(values: Sequence[str] | None, default: Sequence[str] = ()) -> list[str]:
    """Values given one by one or with commas."""
    found = [v.strip() for value in values or default for v in value.split(",") if v.strip()]
    if values and not found:
        raise UnmaskError(f"{values[0]!r} names nothing; give a name, or leave the option out.")
    return found
