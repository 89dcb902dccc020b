"""The commands `contexts`: natural contexts of words from a corpus."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from unmask.cli import terminal
from unmask.cli.options import made_console, split
from unmask.corpus import harvest, store
from unmask.data import catalogue
from unmask.errors import UnmaskError
from unmask.reports import files
from unmask.support.printable import escape
from unmask.support.registry import unknown

console = made_console()
errors = Console(stderr=True)
GIGABYTE = 1 << 30

app = typer.Typer(help="Collect natural contexts of words from a corpus.", no_args_is_help=True)


@app.command("build")
def contexts_build(
    corpus: Annotated[
        list[str],
        typer.Option(
            "--corpus", help="Files or patterns: text or JSON lines, plain or zst, gz, bz2, xz."
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--out", help="Folder of the store.")],
    stimuli: Annotated[
        str, typer.Option("--stimuli", help="Word tests or groups, separated by commas.")
    ] = "weat,husse2022",
    keep: Annotated[int, typer.Option(help="Maximum sentences per stimulus.")] = 10_000,
    window: Annotated[
        int | None, typer.Option(help="Words on each side; default: the whole sentence.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; all cores by default.")] = None,
    engine: Annotated[str, typer.Option(help="local or ray.")] = "local",
    max_size: Annotated[
        float, typer.Option(help="Maximum unpacked size of one corpus file, in gigabytes.")
    ] = 1024,
    seed: Annotated[int, typer.Option(help="Seed of the sampling hash.")] = 0,
) -> None:
    """Sample natural contexts from a corpus, uniformly for each stimulus."""

    for name, value in (("keep", keep), ("workers", workers), ("window", window)):
        if value is not None and value < 1:
            raise UnmaskError(f"--{name} is {value}; give a whole number of at least 1.")
    if not 0 < max_size < 1e6:
        raise UnmaskError(f"--max-size is {max_size}; give a number of gigabytes above 0.")
    if engine not in {"local", "ray"}:
        raise UnmaskError(unknown("engine", engine, ["local", "ray"]))
    tests = catalogue.word_sets(split([stimuli]))
    paths = harvest.expand(corpus)
    files.make_folder(output)
    plan = harvest.plan_for(tests, keep=keep, seed=seed, most=int(max_size * GIGABYTE))
    with terminal.bytes_progress(console) as progress:
        report = store.build(
            paths, plan, output, words=window, workers=workers, engine=engine, progress=progress
        )
    for line in report.broken:
        errors.print(f"[yellow]unmask: {escape(line)}; the part that was read is used[/]")
    console.print(
        f"{report.sentences} sentences for {report.stimuli} of {len(plan.stimuli)} stimuli from "
        f"{report.files} files: [bold]{escape(str(output))}[/]"
    )


@app.command("info")
def contexts_info(
    folder: Annotated[Path, typer.Argument(help="Folder of a store.")],
) -> None:
    """Show how many contexts each stimulus has, and which have too few."""

    counts = store.counts(folder)
    for name, count in sorted(counts.items()):
        short = (
            "" if count >= store.ENOUGH_CONTEXTS else f"  [yellow]below {store.ENOUGH_CONTEXTS}[/]"
        )
        console.print(f"{count:7d}  {escape(name)}{short}", highlight=False)
    few = sum(c < store.ENOUGH_CONTEXTS for c in counts.values())
    console.print(f"{len(counts)} stimuli, {few} with fewer than {store.ENOUGH_CONTEXTS} contexts")


@app.command("merge")
def contexts_merge(
    folders: Annotated[list[Path], typer.Argument(help="Folders of stores.")],
    output: Annotated[Path, typer.Option("-o", "--out", help="Folder for the merged store.")],
    keep: Annotated[int, typer.Option(help="Maximum sentences per stimulus.")] = 10_000,
) -> None:
    """Merge several stores into a uniform sample of their union."""

    store.merge(folders, output, keep)
