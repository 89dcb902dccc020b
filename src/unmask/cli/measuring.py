"""The commands `run` and `score`: measure, or take scores made elsewhere."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from unmask.cli import interrupts, reporting
from unmask.cli.arguments import (
    Address,
    ByCategory,
    Cache,
    Force,
    InJson,
    Least,
    Level,
    Out,
    Quiet,
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

api = later("unmask.api")
files = later("unmask.reports.files")
json = later("json")
measures = later("unmask.measures")
options = later("unmask.options")
recipes = later("unmask.studies.study_file")
results = later("unmask.reports.results")
scores = later("unmask.flow.external_scores")
terminal = later("unmask.cli.terminal")
types = later("unmask.types")

console = made_console()
NOW = "%Y-%m-%d-%H%M%S"  # how a folder of results is named
RESULTS = Path("unmask-results")


def run(
    context: typer.Context,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--model",
            "--models",
            help="Hub name, name@revision, folder, GGUF or vectors file, or 'bundled'.",
        ),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "-x", "--measure", help="Measure, or several with commas; default by kind of model."
        ),
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option("-d", "--data", help="Data set, group or CSV file; commas.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("-c", "--config", help="A study in TOML; options given here win.")
    ] = None,
    save_config: Annotated[
        Path | None, typer.Option(help="Write this study to a file, and run nothing.")
    ] = None,
    out: Out = None,
    force: Force = False,
    quiet: Quiet = False,
    in_json: InJson = False,
    by_category: ByCategory = False,
    limit: Annotated[
        int | None, typer.Option(help="So many items of each sentence set, evenly spread.")
    ] = None,
    dtype: Annotated[
        str, typer.Option(help="float32, tf32, float64, bfloat16 or float16.")
    ] = "float32",
    device: Annotated[
        str | None, typer.Option(help="cpu, cuda, cuda:1, ..., or auto: all GPUs and the CPU.")
    ] = None,
    load: Annotated[str | None, typer.Option(help="A large model in 8bit or 4bit.")] = None,
    engine: Where = "local",
    address: Address = None,
    workers: Workers = None,
    tokens: Tokens = "auto",
    pool: Annotated[
        str | None,
        typer.Option(help="Vector taken: cls, last, mean, word-mean, word-first or word-last."),
    ] = None,
    layer: Annotated[
        int | None, typer.Option(help="Layer of word vectors; -1 is the last (default).")
    ] = None,
    contexts: Annotated[
        str | None,
        typer.Option(help="Contexts of words: bare, templates, or a file or folder of sentences."),
    ] = None,
    samples: Annotated[int | None, typer.Option(help="Samples of CEAT.")] = None,
    exclude_flagged: Annotated[
        bool, typer.Option(help="Also run without the items that have visible defects.")
    ] = False,
    exclude: Annotated[
        Path | None, typer.Option(help="Table with a column 'item': ids of items to leave out.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Encoding of your own file, where it is not UTF-8.")
    ] = None,
    random: Annotated[
        str, typer.Option(help="Words of word tests that are a sample: targets, or attributes too.")
    ] = "targets",
    matters: Least = "3,0.2d",
    recheck: Annotated[
        bool, typer.Option(help="With a reduced dtype, decide close items in float32.")
    ] = True,
    cache: Cache = True,
    no_tokens: Annotated[
        bool, typer.Option("--no-tokens", help="Do not keep the score of every token.")
    ] = False,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Measure: without arguments the bundled model on the bundled data with the standard suite."""
    recipe = _recipe(context, config)
    if save_config is not None:
        _save(recipe, save_config, force)
        return
    asked = (recipe.models, recipe.measures or None, recipe.data or None)
    with files.target(out, RESULTS, force=force, timed=NOW) as folder:
        chosen = recipe.options
        keeps = interrupts.answering(chosen["cache"], chosen.get("device"), asked[0])
        with keeps, terminal.shown(console, quiet or in_json) as progress:
            found = api.run(*asked, **chosen, progress=progress)
        _finish(found, folder, recipe.toml(), quiet, in_json, by_category, show)


def _recipe(context: typer.Context, config: Path | None) -> Any:
    """What to run: the file's study, and what was given on the command line in place of it."""
    base = recipes.read(config) if config is not None else recipes.StudyFile()
    said = {k: context.get_parameter_source(k) for k in context.params}
    given = {k: v for k, v in context.params.items() if getattr(said[k], "name", "") != "DEFAULT"}
    chosen = {"seed": 0, "level": 0.95, "cache": True, "keep": ("tokens",), **base.options}
    chosen |= {k: v for k, v in given.items() if k in recipes.OPTIONS}
    if "tokens" in given:
        chosen["tokens"] = token_budget(given["tokens"])
    if given.get("no_tokens"):
        chosen["keep"] = ()
    if chosen.get("exclude") is not None:
        chosen["exclude"] = str(chosen["exclude"])
    lists = (
        split(given.get(one), getattr(base, many) or usual)
        for one, many, usual in (
            ("model", "models", ("bundled",)),
            ("measure", "measures", ()),
            ("data", "data", ()),
        )
    )
    return recipes.StudyFile(*map(tuple, lists), chosen)


def _save(recipe: Any, path: Path, force: bool) -> None:
    for name in recipe.measures:
        measures.find(name)
    if path.exists() and not force:
        raise UnmaskError(f"{str(path)!r} is there already; give another name, or --force.")
    files.put(path, recipe.toml())
    console.print(f"Study: [bold]{escape(str(path))}[/]", soft_wrap=True)


def _finish(
    found: Any,
    folder: Path,
    study: str,
    quiet: bool,
    in_json: bool,
    by_category: bool,
    show: bool = False,
) -> None:
    """Save results with the study that made them, and show them as was asked."""
    results.save(found, folder, results.command_line())
    if study:
        files.put(folder / recipes.NAME, study)
    if not quiet and not in_json:
        terminal.print_results(console, found, by_category)
    lost, several = found.lost, len({r.model for r in found}) > 1
    found, more = reporting.differences(found, [folder]) if several else (found, ())
    page = reporting.written(found, folder, show, extra=more)
    if in_json:
        content = json.loads((folder / results.RESULTS).read_text("utf-8"))
        print(json.dumps({"folder": str(folder), **content}, indent=1))
    elif quiet:
        print(folder)
    else:
        console.print(f"Results and all items: [bold]{escape(str(folder))}[/]", soft_wrap=True)
        console.print(f"Page: [bold]{escape(str(page))}[/]", soft_wrap=True)
    if lost:
        print(f"unmask: {len(lost)} models failed: {', '.join(lost)}.", file=sys.stderr)
        raise typer.Exit(1)


def score(
    file: Annotated[
        Path, typer.Argument(help="JSON, CSV, JSON lines or parquet: id, score; or a harness' log.")
    ],
    data: Annotated[str, typer.Option("-d", "--data", help="The data set that was scored.")],
    model: Annotated[
        str | None, typer.Option("-m", "--model", help="What to call the model; default the file.")
    ] = None,
    out: Out = None,
    force: Force = False,
    quiet: Quiet = False,
    in_json: InJson = False,
    by_category: ByCategory = True,
    matters: Least = "3,0.2d",
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Sentence scores made elsewhere: the same results and statistics."""
    how = options.Resampling(seed=seed, level=level)
    least = options.matters(matters)
    with files.target(out, RESULTS, force=force, timed=NOW) as folder:
        found = types.Results(
            [scores.score_file(file, data, name=model, resampling=how, least=least)]
        )
        _finish(found, folder, "", quiet, in_json, by_category, show)
