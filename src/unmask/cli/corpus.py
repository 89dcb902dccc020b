"""The commands `unmask contexts` and `unmask data`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from unmask.cli.arguments import made_console, split
from unmask.cli.lazy import later
from unmask.errors import UnmaskError
from unmask.support.registry import unknown

catalogue = later("unmask.data.catalogue")
count = later("unmask.corpus.count")
fetch = later("unmask.data.fetch")
frequency = later("unmask.studies.frequency")
harvest = later("unmask.corpus.harvest")
listing = later("unmask.cli.listing")
files = later("unmask.reports.files")
results = later("unmask.reports.results")
store = later("unmask.corpus.store")
terminal = later("unmask.cli.terminal")

console = made_console()
errors = Console(stderr=True)

GIGABYTE = 1 << 30

contexts_app = typer.Typer(help="Natural contexts of words from a corpus.", no_args_is_help=True)


@contexts_app.command("build")
def contexts_build(
    corpus: Annotated[
        list[str],
        typer.Option(
            "--corpus", help="Files or patterns: text or JSON lines, plain or zst, gz, bz2, xz."
        ),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder of the store.")],
    stimuli: Annotated[
        str, typer.Option("--stimuli", help="Word tests or groups, with commas.")
    ] = "weat,husse2022",
    keep: Annotated[int, typer.Option(help="Sentences kept for each stimulus, at most.")] = 10_000,
    window: Annotated[
        int | None, typer.Option(help="Words on each side; without, the whole sentence.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; all cores by default.")] = None,
    engine: Annotated[str, typer.Option(help="local or ray.")] = "local",
    max_size: Annotated[
        float, typer.Option(help="Gigabytes that one corpus file may unpack to, at most.")
    ] = 1024,
    seed: Annotated[int, typer.Option(help="Key of the hash that samples.")] = 0,
) -> None:
    """Corpus to natural contexts: a uniform sample of sentences for each stimulus."""

    for name, value in (("keep", keep), ("workers", workers), ("window", window)):
        if value is not None and value < 1:
            raise UnmaskError(f"--{name} is {value}; give a whole number of at least 1.")
    if not 0 < max_size < 1e6:
        raise UnmaskError(f"--max-size is {max_size}; give gigabytes, more than 0.")
    if engine not in {"local", "ray"}:
        raise UnmaskError(unknown("engine", engine, ["local", "ray"]))
    tests = catalogue.word_sets(split([stimuli]))
    paths = harvest.expand(corpus)
    files.make_folder(out)
    plan = harvest.plan_for(tests, keep=keep, seed=seed, most=int(max_size * GIGABYTE))
    with terminal.bytes_progress(console) as progress:
        report = store.build(
            paths, plan, out, words=window, workers=workers, engine=engine, progress=progress
        )
    for line in report.broken:
        errors.print(f"[yellow]unmask: {escape(line)}; what was read is kept[/]")
    console.print(
        f"{report.sentences} sentences for {report.stimuli} of {len(plan.stimuli)} stimuli from "
        f"{report.files} files: [bold]{escape(str(out))}[/]"
    )


@contexts_app.command("info")
def contexts_info(
    folder: Annotated[Path, typer.Argument(help="Folder of a store.")],
) -> None:
    """How many contexts each stimulus has, and which fall short."""

    counts = store.counts(folder)
    for name, count in sorted(counts.items()):
        short = "" if count >= store.NEEDED else f"  [yellow]below {store.NEEDED}[/]"
        console.print(f"{count:7d}  {escape(name)}{short}", highlight=False)
    few = sum(c < store.NEEDED for c in counts.values())
    console.print(f"{len(counts)} stimuli, {few} with fewer than {store.NEEDED} contexts")


@contexts_app.command("merge")
def contexts_merge(
    folders: Annotated[list[Path], typer.Argument(help="Folders of stores.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder of the union's store.")],
    keep: Annotated[int, typer.Option(help="Sentences kept for each stimulus, at most.")] = 10_000,
) -> None:
    """The sample of the union of several stores."""

    store.merge(folders, out, keep)


data_app = typer.Typer(help="Data sets by name: list, fetch, verify.", no_args_is_help=True)


@data_app.command("list")
def data_list() -> None:
    """All data sets."""

    listing.data_sets(console, None)


@data_app.command("fetch")
def data_fetch(names: Annotated[list[str], typer.Argument(help="Data sets.")]) -> None:
    """Fetch, verify and cache data sets; shows licence and citation."""

    for card in catalogue.cards(names):
        with terminal.bytes_progress(console) as progress:
            path, note = fetch.locate(card, progress)
        where = str(path) if note["source"] != "packaged" else "in the package"
        console.print(f"{card.name}: {escape(where)}", highlight=False)
        console.print(f"licence: {card.licence}; cite: {', '.join(card.cite)}", style="dim")


@data_app.command("verify")
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


@data_app.command("path")
def data_path(name: Annotated[str, typer.Argument(help="A data set.")]) -> None:
    """Where the file of a data set is."""

    path, _ = fetch.locate(catalogue.card(name))
    console.print(str(path), soft_wrap=True, highlight=False)


@data_app.command("frequencies")
def data_frequencies(
    corpus: Annotated[list[str], typer.Option("--corpus", help="Files or patterns.")],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="CSV file.")] = None,
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
