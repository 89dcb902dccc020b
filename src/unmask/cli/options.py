"""Options that several commands share; those of `Options` have their help from there."""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from unmask.cli.lazy import lazy
from unmask.errors import UnmaskError
from unmask.options import ABOUT

if TYPE_CHECKING:
    from unmask import measures as registries
    from unmask.data import catalogue
else:
    registries = lazy("unmask.measures")
    catalogue = lazy("unmask.data.catalogue")


WHAT, OUTPUT, MODEL = "What to measure", "Output", "How the model runs"
ITEMS, NUMBERS = "Items and words", "Statistics"
# By field of `Options`: the part of a command's help in which it stands.
PANELS = {
    **dict.fromkeys(("pool", "layer", "contexts", "samples"), "Choices of association measures"),
    **dict.fromkeys(("limit", "encoding", "cluster", "exclude", "exclude_flagged", "until"), ITEMS),
    **dict.fromkeys(("seed", "level", "random", "family", "matters", "splits"), NUMBERS),
}


def of_options(name: str, *flags: str) -> Any:
    """A command-line option that is a field of `Options`, with its help, in its part of it."""
    return typer.Option(*flags, help=ABOUT[name], rich_help_panel=PANELS.get(name, MODEL))


def _completing(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Completion of the last of some names with commas."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{n}" for n in names() if n.startswith(last)]

    return complete


def measure_names() -> list[str]:
    """All measures."""
    return list(registries.MEASURES)


def data_names() -> list[str]:
    """All data sets, word tests and groups of them, and files at hand."""
    files = (str(p) for p in Path().glob("*") if p.suffix in (".csv", ".tsv", ".jsonl", ".parquet"))
    return [*catalogue.known(), *sorted(files)]


def model_names() -> list[str]:
    """The bundled model, and folders that hold one."""
    return ["bundled", *sorted(str(p.parent) for p in Path().glob("*/config.json"))]


Seed = Annotated[int, of_options("seed")]
Level = Annotated[float, of_options("level")]
Dtype = Annotated[str, of_options("dtype")]
Device = Annotated[str | None, of_options("device")]
Load = Annotated[str | None, of_options("load")]
Engine = Annotated[str, of_options("engine", "--engine")]
Address = Annotated[str | None, of_options("address")]
Workers = Annotated[int | None, of_options("workers")]
Tokens = Annotated[str, of_options("tokens")]
Pool = Annotated[str | None, of_options("pool")]
Layer = Annotated[int | None, of_options("layer")]
Contexts = Annotated[str | None, of_options("contexts")]
Samples = Annotated[int | None, of_options("samples")]
Random = Annotated[str, of_options("random")]
Family = Annotated[str, of_options("family", "--family")]
Threshold = Annotated[str, of_options("matters", "--matters")]
ExcludeFlagged = Annotated[bool, of_options("exclude_flagged")]
Exclude = Annotated[Path | None, of_options("exclude")]
Until = Annotated[str | None, of_options("until")]
Limit = Annotated[int | None, of_options("limit")]
Encoding = Annotated[str | None, of_options("encoding")]
Cluster = Annotated[str | None, of_options("cluster", "--cluster")]
Recheck = Annotated[bool, of_options("recheck")]
Fast = Annotated[bool, of_options("fast")]
Cache = Annotated[bool, of_options("cache")]

Models = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--model",
        "--models",
        help="Hub name, name@revision, folder, GGUF or vectors file, ELMo's two files, address of "
        "a server, or 'bundled'; commas.",
        rich_help_panel=WHAT,
        autocompletion=_completing(model_names),
    ),
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "-x",
        "--measure",
        help="Measures, with commas.",
        rich_help_panel=WHAT,
        autocompletion=_completing(measure_names),
    ),
]
Data = Annotated[
    list[str] | None,
    typer.Option(
        "-d",
        "--data",
        help="Data sets, groups or CSV files; commas.",
        rich_help_panel=WHAT,
        autocompletion=_completing(data_names),
    ),
]
Out = Annotated[
    Path | None, typer.Option("-o", "--out", help="Folder for the results.", rich_help_panel=OUTPUT)
]
CsvOut = Annotated[
    Path | None, typer.Option("-o", "--out", help="CSV file.", rich_help_panel=OUTPUT)
]
Force = Annotated[
    bool, typer.Option("--force", help="Overwrite existing results.", rich_help_panel=OUTPUT)
]
Quiet = Annotated[
    bool,
    typer.Option("-q", "--quiet", help="Print only the results folder.", rich_help_panel=OUTPUT),
]
InJson = Annotated[
    bool, typer.Option("--json", help="Print only the results, as JSON.", rich_help_panel=OUTPUT)
]
ByCategory = Annotated[
    bool, typer.Option(help="Also print a row for each category.", rich_help_panel=OUTPUT)
]
Scale = Annotated[
    str | None,
    typer.Option(
        help="What tables show, where there is a choice: share, d or odds (times).",
        rich_help_panel=OUTPUT,
    ),
]
Open = Annotated[
    bool, typer.Option("--open", help="Open the page in a browser.", rich_help_panel=OUTPUT)
]
Folder = Annotated[Path, typer.Argument(help="A folder that 'unmask run' wrote.")]
Folders = Annotated[list[Path], typer.Argument(help="Folders that 'unmask run' wrote.")]

PIPE_WIDTH = 10_000  # columns of what is not a terminal: nothing is folded there
RESULTS = Path("unmask-results")


def made_console() -> Console:
    """A console as wide as the terminal; a pipe or a file has no width, unless COLUMNS is set."""
    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(width=PIPE_WIDTH if piped else None, emoji=False)


def starting(console: Console, silent: bool) -> None:
    """Say at once that something happens: libraries take seconds to load."""
    if console.is_terminal and not silent:
        console.print("loading ...", style="dim", end="\r")


def token_budget(text: str) -> int | str:
    """A number of tokens, or `auto`."""
    if text == "auto":
        return text
    if not text.isdecimal():
        raise UnmaskError(f"--tokens is {text!r}; give a whole number of at least 1, or auto.")
    return int(text)


def split(values: Sequence[str] | None, default: Sequence[str] = ()) -> list[str]:
    """Values given one by one or with commas."""
    names = [v.strip() for value in values or default for v in value.split(",") if v.strip()]
    if values and not names:
        raise UnmaskError(f"{values[0]!r} names nothing; give a name, or leave the option out.")
    return names
