"""Options that several commands share; options from `Options` take their help from there."""

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import Field, fields
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console

from unmask import measures as registries
from unmask.data import catalogue
from unmask.errors import UnmaskError
from unmask.options import Options

WHAT, OUTPUT = "What to measure", "Output"
C = TypeVar("C", bound=Callable[..., None])
ON_COMMAND_LINE = tuple(f.name for f in fields(Options) if f.metadata["panel"])


def takes(*names: str) -> Callable[[C], C]:
    """Add some fields of `Options` as flags to a command that accepts `**chosen`."""

    def decorate(command: C) -> C:
        signature = inspect.signature(command)
        params = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        flags = [_flag(f) for f in fields(Options) if f.name in names]
        command.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[p.replace(kind=p.KEYWORD_ONLY) for p in (*params, *flags)]
        )
        command.__annotations__ = {
            **{k: v for k, v in command.__annotations__.items() if k != "chosen"},
            **{f.name: f.annotation for f in flags},
        }
        return command

    return decorate


def _flag(option: Field[Any]) -> inspect.Parameter:
    about = option.metadata
    flag = typer.Option(help=about["about"], rich_help_panel=about["panel"])
    typed: Any = about.get("type", option.type)
    annotation: Any = Annotated[typed, flag]  # type: ignore[valid-type]
    default = about.get("usual", option.default)
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(option.name, kind, default=default, annotation=annotation)


def _completing(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Complete the last of several names separated by commas."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{n}" for n in names() if n.startswith(last)]

    return complete


def measure_names() -> list[str]:
    """All measures."""
    return list(registries.MEASURES)


def data_names() -> list[str]:
    """All data sets, word tests and groups of them, and files."""
    files = (str(p) for p in Path().glob("*") if p.suffix in (".csv", ".tsv", ".jsonl", ".parquet"))
    return [*catalogue.names(), *sorted(files)]


def model_names() -> list[str]:
    """The bundled model, and folders that hold one."""
    return ["bundled", *sorted(str(p.parent) for p in Path().glob("*/config.json"))]


Models = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--model",
        "--models",
        help="Hub name, name@revision, folder, GGUF or vectors file, ELMo's two files, server "
        "address, or 'bundled'. Separate several with commas.",
        rich_help_panel=WHAT,
        autocompletion=_completing(model_names),
    ),
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "-x",
        "--measure",
        help="Measures, separated by commas.",
        rich_help_panel=WHAT,
        autocompletion=_completing(measure_names),
    ),
]
Data = Annotated[
    list[str] | None,
    typer.Option(
        "-d",
        "--data",
        help="Data sets, groups or CSV files, separated by commas.",
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
        help="Scale of the tables, for measures that support it: share, d or odds.",
        rich_help_panel=OUTPUT,
    ),
]
Open = Annotated[
    bool, typer.Option("--open", help="Open the page in a browser.", rich_help_panel=OUTPUT)
]
Folder = Annotated[Path, typer.Argument(help="A folder that 'unmask run' wrote.")]
Folders = Annotated[list[Path], typer.Argument(help="Folders that 'unmask run' wrote.")]

PIPE_WIDTH = 10_000  # width of output that is not a terminal: nothing is wrapped there
RESULTS = Path("unmask-results")


def made_console() -> Console:
    """A console as wide as the terminal; a pipe or a file has no width, unless COLUMNS is set."""
    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(width=PIPE_WIDTH if piped else None, emoji=False)


def starting(console: Console, silent: bool) -> None:
    """Report at once that the command is working: libraries take seconds to load."""
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
        raise UnmaskError(f"{values[0]!r} contains no name; give one, or leave the option out.")
    return names
