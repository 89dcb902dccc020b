"""The command line. Nothing but argument handling: the work is done elsewhere."""

import sys
import warnings
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from unmask.errors import UnmaskError
from unmask.registry import unknown

app = typer.Typer(
    name="unmask",
    help="Measure social bias in language models, and say how far each number can be trusted.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
console = Console()
errors = Console(stderr=True)

Models = Annotated[
    list[str] | None,
    typer.Option("-m", "--model", help="Hub name, name@revision, folder, GGUF file, or 'bundled'."),
]
Measures = Annotated[
    list[str] | None, typer.Option("-x", "--measure", help="Measure, or several with commas.")
]
Data = Annotated[
    list[str] | None, typer.Option("-d", "--data", help="Data set, group or CSV file; commas.")
]
Out = Annotated[Path | None, typer.Option("-o", "--out", help="Folder for the results.")]
Seed = Annotated[int, typer.Option(help="Seed of resampling and permutation.")]


def main() -> None:
    """Entry point: a user's mistake is one sentence on stderr and exit status 2."""
    warnings.filterwarnings("ignore", module="transformers")
    try:
        app()
    except UnmaskError as error:
        errors.print(f"[bold red]unmask:[/] {escape(str(error))}", soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        errors.print("unmask: stopped; the same command goes on where it was.")
        sys.exit(130)


def _split(values: list[str] | None, default: tuple[str, ...]) -> list[str]:
    return [v for value in values or default for v in value.split(",") if v]


@app.command()
def run(
    model: Models = None,
    measure: Measures = None,
    data: Data = None,
    out: Out = None,
    by_category: Annotated[bool, typer.Option(help="A row for each category too.")] = False,
    dtype: Annotated[str, typer.Option(help="float32, float64, bfloat16 or float16.")] = "float32",
    device: Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1, ...")] = None,
    tokens: Annotated[int, typer.Option(help="Tokens in one forward pass, at most.")] = 4096,
    pool: Annotated[
        str | None,
        typer.Option(help="Vector taken: cls, last, mean, word-mean, word-first or word-last."),
    ] = None,
    layer: Annotated[int, typer.Option(help="Layer of word vectors; -1 is the last.")] = -1,
    contexts: Annotated[
        str | None,
        typer.Option(help="Contexts of words: bare, templates, or a file or folder of sentences."),
    ] = None,
    samples: Annotated[int | None, typer.Option(help="Samples of CEAT.")] = None,
    exclude_flagged: Annotated[
        bool, typer.Option(help="Also run without the items that have visible defects.")
    ] = False,
    seed: Seed = 0,
) -> None:
    """Measure: without arguments the bundled model on the bundled data with the standard suite."""
    from unmask import results, show
    from unmask.evaluate import DTYPES
    from unmask.evaluate import run as run_all
    from unmask.measures.association import POOLS

    if dtype not in DTYPES:
        raise UnmaskError(unknown("dtype", dtype, DTYPES))
    if pool is not None and pool not in POOLS:
        raise UnmaskError(unknown("pool", pool, POOLS))
    folder = out or Path("unmask-results") / datetime.now().strftime("%Y-%m-%d-%H%M%S")
    results.make_folder(folder)
    journal = folder / ".answers"
    with show.progress(console) as progress:
        found = run_all(
            _split(model, ("bundled",)),
            _split(measure, ()) or None,
            _split(data, ()) or None,
            seed=seed,
            dtype=dtype,
            device=device,
            tokens=tokens,
            pool=pool,
            layer=layer,
            contexts=contexts,
            samples=samples,
            exclude_flagged=exclude_flagged,
            journal=journal,
            progress=progress,
        )
    results.save(found, folder)
    journal.unlink(missing_ok=True)
    show.print_table(console, found, by_category)
    console.print(f"Results and all items: [bold]{escape(str(folder))}[/]")


@app.command()
def score(
    file: Annotated[Path, typer.Argument(help="JSON, CSV, JSON lines or parquet: id, score.")],
    data: Annotated[str, typer.Option("-d", "--data", help="The data set that was scored.")],
    out: Out = None,
    by_category: Annotated[bool, typer.Option(help="A row for each category too.")] = True,
    seed: Seed = 0,
) -> None:
    """Sentence scores made elsewhere: the same results and statistics."""
    from unmask import own_scores, results, show

    found = [own_scores.score_file(file, data, seed=seed)]
    if out is not None:
        results.save(found, out)
    show.print_table(console, found, by_category)


@app.command()
def compare(
    folders: Annotated[list[Path], typer.Argument(help="Folders that 'unmask run' wrote.")],
    margin: Annotated[
        float | None, typer.Option(help="Test equivalence within plus or minus this much.")
    ] = None,
    top: Annotated[
        int, typer.Option(help="Items that changed side to show, most changed first.")
    ] = 5,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Folder for CSV files.")] = None,
    seed: Seed = 0,
) -> None:
    """Two or more runs on the same items: paired differences, tests, items that changed side."""
    from unmask import compare as comparing
    from unmask import results, show

    runs = comparing.read_runs(folders)
    frame, changed = comparing.compare(runs, margin=margin, seed=seed)
    show.print_comparison(console, frame, changed, top)
    if out is not None:
        results.make_folder(out)
        frame.to_csv(out / "comparison.csv", index=False)
        changed.to_csv(out / "changed.csv", index=False)


@app.command(name="list")
def list_(
    what: Annotated[str, typer.Argument(help="measures, data or models")],
    name: Annotated[str | None, typer.Argument(help="One of them: its whole card.")] = None,
) -> None:
    """What there is, one line each; with a name, its card."""
    from unmask import show

    views: dict[str, Any] = {
        "measures": show.measures,
        "data": show.data_sets,
        "models": show.models,
    }
    if what not in views:
        raise UnmaskError(unknown("list", what, views))
    views[what](console, name)


@app.command()
def reproduce(
    paper: Annotated[str, typer.Argument(help="kaneko2022, thys2025 or husse2022")],
    models: Annotated[
        list[str] | None, typer.Option("--models", "-m", help="Other models than the paper's.")
    ] = None,
    out: Out = None,
    quick: Annotated[bool, typer.Option(help="A declared sub-sample of the items.")] = False,
    corpus: Annotated[
        list[str] | None, typer.Option(help="Corpus files for word frequencies (kaneko2022).")
    ] = None,
    contexts: Annotated[
        str | None, typer.Option(help="Store of natural contexts (husse2022).")
    ] = None,
    tokens: Annotated[int, typer.Option(help="Tokens in one forward pass, at most.")] = 4096,
    seed: Seed = 0,
) -> None:
    """A paper's tables and figures, published and measured side by side."""
    from unmask import results, show
    from unmask.evaluate import Options
    from unmask.papers.reproduce import PAPERS
    from unmask.papers.reproduce import reproduce as run_paper

    _ = PAPERS[paper]
    folder = out or Path("unmask-results") / paper
    results.make_folder(folder)
    with show.progress(console) as progress:
        options = Options(seed=seed, tokens=tokens, progress=progress)
        made = run_paper(
            paper, _split(models, ()), folder, options, quick=quick, corpus=corpus or (),
            contexts=contexts,
        )  # fmt: skip
    show.print_study(console, made, folder)


@app.command()
def vary(
    model: Annotated[str, typer.Argument(help="A model.")] = "bundled",
    concept: Annotated[
        list[str] | None, typer.Option(help="Concepts of husse2022: c3, c6, occ, i1, i2.")
    ] = None,
    data: Annotated[list[str] | None, typer.Option("-d", "--data", help="Sentence sets.")] = None,
    contexts: Annotated[str | None, typer.Option(help="Store of natural contexts.")] = None,
    out: Out = None,
    tokens: Annotated[int, typer.Option(help="Tokens in one forward pass, at most.")] = 4096,
    seed: Seed = 0,
) -> None:
    """Design-choice sweep: how far does the score move, and what moves it?"""
    from unmask import results, show
    from unmask import vary as sweeps
    from unmask.evaluate import Options
    from unmask.models.load import load
    from unmask.papers.pages import write

    folder = out or Path("unmask-results") / "vary"
    results.make_folder(folder)
    with show.progress(console) as progress:
        options = Options(seed=seed, tokens=tokens, progress=progress)
        made = sweeps.study(
            load(model), options, concepts=_split(concept, ("c6",)),
            data=_split(data, ("bundled-pairs",)), store=contexts,
        )  # fmt: skip
    write(made, folder)
    for remark in made.remarks:
        console.print(remark, highlight=False)
    for title, frame in sweeps.summary(made).items():
        console.print(f"\n[bold]{escape(title)}[/]")
        console.print(frame.round(1).to_string(index=False), markup=False, highlight=False)
    console.print(f"Page: [bold]{escape(str(folder / 'index.html'))}[/]")


contexts_app = typer.Typer(help="Natural contexts of words from a corpus.", no_args_is_help=True)
app.add_typer(contexts_app, name="contexts")


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
    seed: Seed = 0,
) -> None:
    """Corpus to natural contexts: a uniform sample of sentences for each stimulus."""
    from unmask import results, show
    from unmask.corpus import harvest, store
    from unmask.data import stimuli as sets

    if engine not in {"local", "ray"}:
        raise UnmaskError(unknown("engine", engine, ["local", "ray"]))
    tests = [sets.stimuli()[name] for name in sets.expand(_split([stimuli], ()))]
    files = harvest.expand(corpus)
    results.make_folder(out)
    plan = harvest.plan_for(tests, keep=keep, seed=seed)
    with show.bytes_progress(console) as progress:
        report = store.build(
            files, plan, out, words=window, workers=workers, engine=engine, progress=progress
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
    from unmask.corpus.store import NEEDED, counts

    found = counts(folder)
    for name, count in sorted(found.items()):
        short = "" if count >= NEEDED else f"  [yellow]below {NEEDED}[/]"
        console.print(f"{count:7d}  {escape(name)}{short}", highlight=False)
    few = sum(c < NEEDED for c in found.values())
    console.print(f"{len(found)} stimuli, {few} with fewer than {NEEDED} contexts")


@contexts_app.command("merge")
def contexts_merge(
    folders: Annotated[list[Path], typer.Argument(help="Folders of stores.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder of the union's store.")],
    keep: Annotated[int, typer.Option(help="Sentences kept for each stimulus, at most.")] = 10_000,
) -> None:
    """The sample of the union of several stores."""
    from unmask.corpus.store import merge

    merge(folders, out, keep)


data_app = typer.Typer(help="Data sets by name: list, fetch, verify.", no_args_is_help=True)
app.add_typer(data_app, name="data")


@data_app.command("list")
def data_list() -> None:
    """All data sets."""
    from unmask import show

    show.data_sets(console, None)


@data_app.command("fetch")
def data_fetch(names: Annotated[list[str], typer.Argument(help="Data sets.")]) -> None:
    """Fetch, verify and cache data sets; shows licence and citation."""
    from unmask import show
    from unmask.data import catalogue

    for card in catalogue.cards(names):
        with show.bytes_progress(console) as progress:
            path, note = catalogue.locate(card, progress)
        where = str(path) if note["source"] != "packaged" else "in the package"
        console.print(f"{card.name}: {escape(where)}", highlight=False)
        console.print(f"licence: {card.licence}; cite: {', '.join(card.cite)}", style="dim")


@data_app.command("verify")
def data_verify(
    names: Annotated[list[str] | None, typer.Argument(help="Data sets; all by default.")] = None,
) -> None:
    """Check local files against their pinned checksums; names each that differs, exit 1."""
    from unmask.data import catalogue

    bad = 0
    for card in catalogue.cards(names):
        for path, right in catalogue.verify(card):
            console.print(f"{'as pinned' if right else 'DIFFERS  '}  {escape(str(path))}",
                          highlight=False, soft_wrap=True)  # fmt: skip
            bad += not right
    if bad:
        raise typer.Exit(1)


@data_app.command("path")
def data_path(name: Annotated[str, typer.Argument(help="A data set.")]) -> None:
    """Where the file of a data set is."""
    from unmask.data import catalogue

    path, _ = catalogue.locate(catalogue.cards([name])[0])
    console.print(str(path), soft_wrap=True, highlight=False)


@data_app.command("frequencies")
def data_frequencies(
    corpus: Annotated[list[str], typer.Option("--corpus", help="Files or patterns.")],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="CSV file.")] = None,
) -> None:
    """Count the words of advantaged and disadvantaged groups: mean rank and order by group."""
    from unmask.corpus import frequencies, harvest

    frame = frequencies.table(frequencies.count(harvest.expand(corpus)))
    console.print(frame.to_string(index=False), highlight=False, markup=False)
    if out is not None:
        frame.to_csv(out, index=False)


@app.command()
def cite(folder: Annotated[Path, typer.Argument(help="A folder that 'unmask run' wrote.")]) -> None:
    """BibTeX of what was run."""
    from unmask.cite import bibtex
    from unmask.evaluate import citations
    from unmask.results import load

    keys = [key for result in load(folder) for key in citations(result)]
    console.print(bibtex(["unmask", *keys]), markup=False, highlight=False)


if __name__ == "__main__":
    main()
