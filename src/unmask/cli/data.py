"""The commands `data`: data sets by name."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from unmask import api, types
from unmask.cli import listings, terminal
from unmask.cli.options import CsvOut, InJson, made_console, takes
from unmask.corpus import count, harvest
from unmask.data import catalogue, fetch, starter
from unmask.data.check import file as file_check
from unmask.errors import UnmaskError
from unmask.reports import files, results
from unmask.studies import data_check, frequency
from unmask.support.printable import escape

console = made_console()
app = typer.Typer(
    help="List and fetch named data sets; create and check your own files.",
    no_args_is_help=True,
)


@app.command("list")
def data_list() -> None:
    """List all data sets."""

    listings.data_sets(console, None)


@app.command("fetch")
def data_fetch(names: Annotated[list[str], typer.Argument(help="Data sets.")]) -> None:
    """Fetch, verify and cache data sets; show licence and citation."""

    for card in catalogue.cards(names):
        with terminal.bytes_progress(console) as progress:
            path, note = fetch.locate(card, progress)
        where = str(path) if note["source"] != "packaged" else "in the package"
        console.print(f"{card.name}: {escape(where)}", highlight=False)
        console.print(f"licence: {card.licence}; cite: {', '.join(card.cite)}", style="dim")


@app.command("verify")
def data_verify(
    names: Annotated[list[str] | None, typer.Argument(help="Data sets; all by default.")] = None,
) -> None:
    """Check local files against their pinned checksums; exit with 1 if any differs."""

    bad = 0
    for card in catalogue.cards(names):
        for path, right in fetch.verify(card):
            state = "as pinned" if right else "DIFFERS  "
            console.print(f"{state}  {escape(str(path))}", highlight=False, soft_wrap=True)
            bad += not right
    if bad:
        raise typer.Exit(1)


@app.command("check")
@takes("encoding")
def check_file(
    file: Annotated[
        str, typer.Argument(help="Your file (CSV, TSV, JSON lines, parquet), or a data set's name.")
    ],
    model: Annotated[
        str | None,
        typer.Option("-m", "--model", help="Also use this model to flag implausible swaps."),
    ] = None,
    write: Annotated[
        Path | None, typer.Option(help="Write a repaired CSV file, with derived columns.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 on any problem.")] = False,
    in_json: InJson = False,
    **options: Any,
) -> None:
    """Check pairs before they are used: columns, words, balance, defects, power."""
    if write is not None and write.exists():
        raise UnmaskError(f"{str(write)!r} already exists; give another name.")
    if write is not None and write.suffix != ".csv":
        raise UnmaskError(f"--write {str(write)!r} is not a CSV file; give a name ending in .csv.")
    checked = _checked(file, options["encoding"])
    if model is not None:
        data = checked.data
        with terminal.progress_bars(console, in_json) as progress:
            checked = data_check.with_model(
                checked, lambda name: api.run([model], [name], [data], progress=progress)[0]
            )
    if in_json:
        print(json.dumps([asdict(f) for f in checked.findings], indent=1))
    else:
        terminal.print_findings(console, checked)
    if write is not None:
        repaired = files.Frame(file_check.repaired(checked))
        if repaired.empty:
            raise UnmaskError("no rows left to write: every pair has two identical sentences.")
        files.put(write, repaired.to_csv(index=False))  # sentences as they are, whatever they are
        if not in_json:
            text = f"{len(repaired)} of {checked.read} rows"
            if len(repaired) < checked.read:
                text += "; left out: rows that cannot be used, or repeat another"
            console.print(f"Repaired: [bold]{escape(str(write))}[/] ({text})", soft_wrap=True)
    if strict and any(f.state == "problem" for f in checked.findings):
        raise typer.Exit(1)


def _checked(name: str, encoding: str | None) -> "file_check.CheckedFile":
    """The check of a file, or of a data set by its name."""
    if Path(name).is_file():
        return file_check.check(Path(name), encoding)
    if "/" in name or Path(name).suffix:
        raise UnmaskError(f"{name!r} is not a file; 'unmask data template' writes one.")
    (dataset, *_) = catalogue.resolve(name)
    if not isinstance(dataset, types.Dataset) or dataset.shape not in types.LABELS:
        raise UnmaskError(f"{name!r} contains no pairs; give a data set of pairs, or a file.")
    return file_check.check_set(dataset)


@app.command("template")
def template(
    file: Annotated[Path, typer.Argument(help="Where to write it.")] = Path("my-pairs.csv"),
) -> None:
    """Write a starter file of pairs, with the right columns, examples and instructions."""
    if file.exists():
        raise UnmaskError(f"{str(file)!r} already exists; give another name.")
    files.put_csv(file, files.Frame(starter.ROWS, columns=list(starter.HEADS)))
    console.print(f"Starter file: [bold]{escape(str(file))}[/]", soft_wrap=True)
    console.print(
        "Replace the examples with your pairs, then run: "
        f"unmask data check {escape(str(file))}, and unmask run -d {escape(str(file))}",
        soft_wrap=True,
        highlight=False,
    )


@app.command("path")
def data_path(name: Annotated[str, typer.Argument(help="A data set.")]) -> None:
    """Print the path of a data set's file."""
    card = catalogue.card(name)
    if card.packaged:
        raise UnmaskError(f"{name!r} is part of unmask and has no file; use it by its name.")
    path, _ = fetch.locate(card)
    console.print(str(path), soft_wrap=True, highlight=False)


@app.command("frequencies")
def data_frequencies(
    corpus: Annotated[list[str], typer.Option("--corpus", help="Files or patterns.")],
    output: CsvOut = None,
    join: Annotated[
        Path | None,
        typer.Option(
            "--results", help="Results folder: test whether its scores depend on word frequency."
        ),
    ] = None,
) -> None:
    """Rank the words of advantaged and disadvantaged groups by their frequency in a corpus.

    With --results, count the words in which the sentences of each item differ instead.
    """

    paths = harvest.expand(corpus)
    if join is None:
        frame = table = frequency.ranks(count.count(paths, frequency.group_words()))
    else:
        items = results.read_items(join)
        words = set().union(*frequency.own_words(items))
        frame = frequency.joined(items, count.count(paths, words))
        table = frequency.follows(frame)
        if not len(table):
            raise UnmaskError(
                f"{join} has no measure with at least 5 scored pairs of sentences; give results "
                "of a likelihood measure."
            )
    terminal.print_frame(console, table)
    if output is not None:
        frame.to_csv(output, index=False)
