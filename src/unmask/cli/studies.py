"""The commands `compare`, `reproduce`, `vary`, `reliability` and `plan`."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from unmask.cli import interrupts, reporting
from unmask.cli.arguments import (
    Address,
    Cache,
    Force,
    Level,
    Models,
    Out,
    Seed,
    Tokens,
    Where,
    Workers,
    made_console,
    split,
    token_budget,
)
from unmask.cli.lazy import later
from unmask.errors import UnmaskError

figures = later("unmask.reports.figures.result_figures")
comparing = later("unmask.studies.compare")
evaluating = later("unmask.flow.evaluate")
multiverse = later("unmask.studies.multiverse.sweep")
options = later("unmask.options")
page = later("unmask.reports.html.study_page")
papers = later("unmask.studies.papers.reproduce")
planning = later("unmask.studies.sample_size")
relying = later("unmask.studies.reliability")
request = later("unmask.studies.papers.request")
files = later("unmask.reports.files")
results = later("unmask.reports.results")
terminal = later("unmask.cli.terminal")

console = made_console()


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command in (compare, reproduce, vary, reliability, plan):
        app.command()(command)


# Parameters of a study's command that are fields of `Options`.
SHARED = ("seed", "level", "cache", "engine", "address", "workers")


def _options(context: typer.Context, progress: Any) -> Any:
    """The options of a study, from the parameters of its command."""
    given = {k: v for k, v in context.params.items() if k in SHARED}
    tokens = token_budget(context.params["tokens"])
    return options.Options(tokens=tokens, progress=progress, **given)


def _named(option: list[str] | None, given: list[str] | None) -> list[str]:
    """The models of a command, as an option or behind it; each is looked for at once."""
    names = split([*(option or ()), *(given or ())] or None, ("bundled",))
    evaluating.look_up(names)
    return names


def compare(
    folders: Annotated[list[Path], typer.Argument(help="Folders that 'unmask run' wrote.")],
    margin: Annotated[
        str | None, typer.Option(help="Test equivalence within so much: points, d or both: 3,0.2d.")
    ] = None,
    top: Annotated[
        int, typer.Option(help="Items that changed side to show, most changed first.")
    ] = 5,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Folder for a page and CSV files.")
    ] = None,
    force: Force = False,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Two or more runs on the same items: paired differences, tests, items that changed side."""
    how = options.Resampling(seed=seed, level=level)
    frame, changed = comparing.compare(comparing.read_runs(folders), margin=margin, resampling=how)
    terminal.print_comparison(console, frame, changed, top)
    if out is not None:
        with files.target(out, out, force=force):
            files.put_csv(out / "comparison.csv", frame)
            files.put_csv(out / "changed.csv", changed)
            found, _ = reporting.joined(folders)
            path = reporting.written(found, out, extra=figures.differences(frame))
        console.print(f"Page: [bold]{escape(str(path))}[/]", soft_wrap=True)


def reproduce(
    context: typer.Context,
    paper: Annotated[str, typer.Argument(help="kaneko2022, thys2025 or husse2022")],
    model: Annotated[
        list[str] | None,
        typer.Option("-m", "--model", "--models", help="Other models than the paper's."),
    ] = None,
    out: Out = None,
    force: Force = False,
    quick: Annotated[bool, typer.Option(help="A declared sub-sample of the items.")] = False,
    corpus: Annotated[
        list[str] | None, typer.Option(help="Corpus files for word frequencies (kaneko2022).")
    ] = None,
    contexts: Annotated[
        str | None, typer.Option(help="Store of natural contexts (husse2022).")
    ] = None,
    engine: Where = "local",
    address: Address = None,
    workers: Workers = None,
    tokens: Tokens = "auto",
    cache: Cache = True,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """A paper's tables and figures, published and measured side by side."""
    _ = papers.PAPERS[paper]
    with files.target(out, Path("unmask-results") / paper, force=force) as folder:
        keeps = interrupts.answering(cache, models=model or ())
        with keeps, terminal.progress(console) as progress:
            chosen = _options(context, progress)
            asked = request.Request(chosen, quick, corpus or (), contexts, results.command_line())
            made = papers.reproduce(paper, split(model), folder, asked)
        terminal.print_study(console, made, folder)


def vary(
    context: typer.Context,
    given: Annotated[str | None, typer.Argument(metavar="MODEL", help="A model.")] = None,
    model: Models = None,
    concept: Annotated[
        list[str] | None,
        typer.Option(help="Concepts of husse2022: c1, c3, c6, c9, dis, occ, i1, i2."),
    ] = None,
    data: Annotated[list[str] | None, typer.Option("-d", "--data", help="Sentence sets.")] = None,
    contexts: Annotated[str | None, typer.Option(help="Store of natural contexts.")] = None,
    out: Out = None,
    force: Force = False,
    engine: Where = "local",
    address: Address = None,
    workers: Workers = None,
    tokens: Tokens = "auto",
    cache: Cache = True,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Design-choice sweep: how far does the score move, and what moves it?"""
    name, *more = _named(model, [given] if given else None)
    if more:
        raise UnmaskError(f"one model is varied at a time, and {1 + len(more)} were given.")
    with files.target(out, Path("unmask-results") / "vary", force=force) as folder:
        keeps = interrupts.answering(cache, models=[name])
        with keeps, terminal.progress(console) as progress:
            chosen = _options(context, progress)
            concepts, sets = split(concept, ("c6",)), split(data, ("bundled-pairs",))
            loaded = evaluating.loaded(name, chosen)
            made = multiverse.study(loaded, chosen, concepts=concepts, data=sets, store=contexts)
        page.write(made, folder)
    for remark in made.remarks:
        console.print(remark, highlight=False, markup=False)
    for title, frame in multiverse.summary(made).items():
        console.print(f"\n[bold]{escape(title)}[/]")
        terminal.print_frame(console, frame.round(1))
    console.print(f"Page: [bold]{escape(str(folder / 'report.html'))}[/]")


def reliability(
    context: typer.Context,
    given: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MODEL]...", help="Models, or checkpoints of one."),
    ] = None,
    model: Models = None,
    measure: Annotated[
        list[str] | None, typer.Option("-x", "--measure", help="Measures; commas.")
    ] = None,
    data: Annotated[
        str, typer.Option("-d", "--data", help="A set of sentence pairs.")
    ] = "bundled-pairs",
    out: Out = None,
    force: Force = False,
    tokens: Tokens = "auto",
    cache: Cache = True,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Can the score be relied on: over items, measures, other wordings, layers, checkpoints?"""
    names, measures = _named(model, given), split(measure, relying.MEASURES)
    with files.target(out, Path("unmask-results") / "reliability", force=force) as folder:
        keeps = interrupts.answering(cache, models=names)
        with keeps, terminal.progress(console) as progress:
            chosen = _options(context, progress)
            loaded = [evaluating.loaded(m, chosen) for m in names]
            made, apart = relying.reliability(loaded, chosen, measures=measures, data=data)
        page.write(made, folder)
        files.put_csv(folder / "disagree.csv", apart.assign(data=data))
    shown = page.Study(made.title, [t for t in made.tables if t.name != "items-all"])
    terminal.print_study(console, shown, folder)
    said = f"{len(apart)} items disagree with the rest; leave them out with --exclude"
    console.print(escape(f"{said} {folder / 'disagree.csv'}"), soft_wrap=True)


def plan(
    folders: Annotated[
        list[Path] | None, typer.Argument(help="Folders that 'unmask run' wrote, of such data.")
    ] = None,
    detect: Annotated[
        str, typer.Option(help="Effect to be found: points, d, or both: 3,0.5d.")
    ] = "3,0.5d",
    power: Annotated[float, typer.Option(help="Probability of finding it.")] = 0.8,
    level: Level = 0.95,
) -> None:
    """How many items, clusters and words a study needs."""
    found = [r for folder in folders or () for r in results.load(folder)]
    options.Resampling(level=level)
    frame = planning.needs(found, options.amounts(detect, "detect"), power=power, level=level)
    for unit, part in frame.groupby("unit", sort=False):
        size = options.amounts(detect, "detect")[unit]
        head = f"To detect {size:g} {unit} with power {power:g}"
        console.print(f"\n[bold]{escape(head)}[/]")
        terminal.print_frame(console, part.dropna(axis=1, how="all").drop(columns="unit").round(2))
