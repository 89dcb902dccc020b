"""Arguments that several commands share."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from unmask.errors import UnmaskError

Out = Annotated[Path | None, typer.Option("-o", "--out", help="Folder for the results.")]
Seed = Annotated[int, typer.Option(help="Seed of how and permutation.")]
Level = Annotated[float, typer.Option(help="Level of the intervals, such as 0.95.")]
Tokens = Annotated[
    str, typer.Option(help="Tokens in one forward pass: a number, or what the device runs well.")
]
Where = Annotated[str, typer.Option("--engine", help="Where batches run: local, or ray.")]
Address = Annotated[str | None, typer.Option(help="Of a Ray cluster; default one of this machine.")]
Workers = Annotated[
    int | None, typer.Option(help="Workers of a Ray cluster; default one a GPU, or two CPUs.")
]
Cache = Annotated[bool, typer.Option(help="Keep the model's answers, and use those kept.")]
Least = Annotated[
    str, typer.Option("--matters", help="Smallest bias that matters: points, d, or both: 3,0.2d.")
]
Models = Annotated[
    list[str] | None, typer.Option("-m", "--model", "--models", help="Models; commas.")
]
Force = Annotated[bool, typer.Option("--force", help="Write over results that are there.")]
Quiet = Annotated[
    bool, typer.Option("-q", "--quiet", help="Print the folder of the results alone.")
]
InJson = Annotated[bool, typer.Option("--json", help="Print the results in JSON alone.")]
ByCategory = Annotated[bool, typer.Option(help="A row for each category too.")]

WIDE = 10_000  # columns of what is no terminal: nothing is folded there


def made_console() -> Console:
    """A console as wide as the terminal; a pipe or a file has no width, unless COLUMNS is set."""
    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(width=WIDE) if piped else Console()


def token_budget(text: str) -> int | str:
    """A number of tokens, or `auto`."""
    if text == "auto":
        return text
    if not text.isdigit():
        raise UnmaskError(f"--tokens is {text!r}; give a whole number of at least 1, or auto.")
    return int(text)


def split(values: Sequence[str] | None, default: Sequence[str] = ()) -> list[str]:
    """Values given one by one or with commas."""
    names = [v.strip() for value in values or default for v in value.split(",") if v.strip()]
    if values and not names:
        raise UnmaskError(f"{values[0]!r} names nothing; give a name, or leave the option out.")
    return names
