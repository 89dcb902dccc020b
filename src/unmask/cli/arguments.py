"""Arguments that several commands share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from unmask.errors import UnmaskError

Out = Annotated[Path | None, typer.Option("-o", "--out", help="Folder for the results.")]
Seed = Annotated[int, typer.Option(help="Seed of resampling and permutation.")]
Level = Annotated[float, typer.Option(help="Level of the intervals, such as 0.95.")]
Tokens = Annotated[
    str, typer.Option(help="Tokens in one forward pass: a number, or what the device runs well.")
]
Cache = Annotated[bool, typer.Option(help="Keep the model's answers, and use those kept.")]
Least = Annotated[
    str, typer.Option("--matters", help="Smallest bias that matters: points, d, or both: 3,0.2d.")
]
ByCategory = Annotated[bool, typer.Option(help="A row for each category too.")]


def token_budget(text: str) -> int | str:
    """A number of tokens, or `auto`."""
    if text == "auto":
        return text
    if not text.isdigit():
        raise UnmaskError(f"--tokens is {text!r}; give a whole number of at least 1, or auto.")
    return int(text)


def split(values: Sequence[str] | None, default: Sequence[str] = ()) -> list[str]:
    """Values given one by one or with commas."""
    found = [v.strip() for value in values or default for v in value.split(",") if v.strip()]
    if values and not found:
        raise UnmaskError(f"{values[0]!r} names nothing; give a name, or leave the option out.")
    return found
