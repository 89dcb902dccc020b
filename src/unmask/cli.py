"""The command line. Nothing but argument handling: the work is done elsewhere."""

import sys
import warnings
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from unmask.cli_corpus import contexts_app, data_app
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
app.add_typer(contexts_app, name="contexts")
app.add_typer(data_app, name="data")
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
    journal = folder / ".answers"
    with show.progress(console) as progress:
        options = Options(seed=seed, tokens=tokens, progress=progress, journal=journal)
        made = run_paper(
            paper, _split(models, ()), folder, options, quick=quick, corpus=corpus or (),
            contexts=contexts,
        )  # fmt: skip
    journal.unlink(missing_ok=True)
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
