"""Arguments that several commands share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

Out = Annotated[Path | None, typer.Option("-o", "--out", help="Folder for the results.")]
Seed = Annotated[int, typer.Option(help="Seed of resampling and permutation.")]
Level = Annotated[float, typer.Option(help="Level of the intervals, such as 0.95.")]
Tokens = Annotated[int, typer.Option(help="Tokens in one forward pass, at most.")]
ByCategory = Annotated[bool, typer.Option(help="A row for each category too.")]


def split(values: Sequence[str] | None, default: Sequence[str] = ()) -> list[str]:
    """Values given one by one or with commas."""
    return [v for value in values or default for v in value.split(",") if v]
