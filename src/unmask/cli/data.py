"""The commands `data`: data sets by name."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from unmask.cli.lazy import lazy
from unmask.cli.options import CsvOut, made_console
from unmask.errors import UnmaskError

if TYPE_CHECKING:
    from unmask.cli import listings, terminal
    from unmask.corpus import count, harvest
    from unmask.data import catalogue, fetch
    from unmask.reports import results
    from unmask.studies import frequency
else:
    listings = lazy("unmask.cli.listings")
    terminal = lazy("unmask.cli.terminal")
    count = lazy("unmask.corpus.count")
    harvest = lazy("unmask.corpus.harvest")
    catalogue = lazy("unmask.data.catalogue")
    fetch = lazy("unmask.data.fetch")
    results = lazy("unmask.reports.results")
    frequency = lazy("unmask.studies.frequency")

console = made_console()
app = typer.Typer(help="Data sets by name: list, fetch, verify.", no_args_is_help=True)


@app.command("list")
def data_list() -> None:
    """All data sets."""

    listings.data_sets(console, None)


@app.command("fetch")
def data_fetch(names: Annotated[list[str], typer.Argument(help="Data sets.")]) -> None:
    """Fetch, verify and cache data sets; shows licence and citation."""

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
    """Check local files against their pinned checksums; names each that differs, exit 1."""

    bad = 0
    for card in catalogue.cards(names):
        for path, right in fetch.verify(card):
            state = "as pinned" if right else "DIFFERS  "
            console.print(f"{state}  {escape(str(path))}", highlight=False, soft_wrap=True)
            bad += not right
    if bad:
        raise typer.Exit(1)


@app.command("path")
def data_path(name: Annotated[str, typer.Argument(help="A data set.")]) -> None:
    """Where the file of a data set is."""

    path, _ = fetch.locate(catalogue.card(name))
    console.print(str(path), soft_wrap=True, highlight=False)


@app.command("frequencies")
def data_frequencies(
    corpus: Annotated[list[str], typer.Option("--corpus", help="Files or patterns.")],
    out: CsvOut = None,
    join: Annotated[
        Path | None,
        typer.Option(
            "--results", help="A folder of results: does the score follow the words' frequency?"
        ),
    ] = None,
) -> None:
    """Count the words of advantaged and disadvantaged groups: mean rank and order by group.

    With --results, count the words in which the sentences of each item differ instead.
    """

    paths = harvest.expand(corpus)
    if join is None:
        frame = shown = frequency.ranks(count.count(paths, frequency.group_words()))
    else:
        items = results.read_items(join)
        wanted = set().union(*frequency.own_words(items))
        frame = frequency.joined(items, count.count(paths, wanted))
        shown = frequency.follows(frame)
        if not len(shown):
            raise UnmaskError(
                f"{join} has no measure with at least 5 scored pairs of sentences; give results "
                "of a likelihood measure."
            )
    terminal.print_frame(console, shown)
    if out is not None:
        frame.to_csv(out, index=False)
