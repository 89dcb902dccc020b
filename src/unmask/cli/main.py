"""The entry point, and the commands `run`, `score`, `list` and `cite`."""

import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from unmask.cli import cached, corpus, lab, looking, reporting, studies
from unmask.cli.arguments import (
    ByCategory,
    Cache,
    Least,
    Level,
    Out,
    Seed,
    Tokens,
    split,
    token_budget,
)
from unmask.cli.later import later
from unmask.errors import Said, UnmaskError

api = later("unmask.api")
cite_ = later("unmask.reports.cite")
listing = later("unmask.cli.listing")
options = later("unmask.options")
package = later("unmask")
files = later("unmask.reports.files")
results = later("unmask.reports.results")
scores = later("unmask.flow.scores")
terminal = later("unmask.cli.terminal")
types = later("unmask.types")

app = typer.Typer(
    name="unmask",
    help="Measure social bias in language models, and say how far each number can be trusted.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(corpus.contexts_app, name="contexts")
app.add_typer(cached.app, name="cache")
app.add_typer(corpus.data_app, name="data")
studies.add_to(app)
app.command()(reporting.report)
app.command()(lab.validate)
app.command()(looking.items)
app.command()(looking.leaderboard)
console = Console()
NOW = "%Y-%m-%d-%H%M%S"  # how a folder of results is named
STOPPED = 130  # the exit status of a command that was interrupted


def main() -> None:
    """Entry point: a user's mistake is one sentence on stderr and exit status 2."""
    warnings.filterwarnings("ignore", module="transformers")
    warnings.showwarning = _said
    try:
        status = app(standalone_mode=False)
    except UnmaskError as error:
        _complain(str(error))
    except OSError as error:
        _complain(f"{error.filename or 'a file'}: {error.strerror or error}; mend that and go on.")
    except (KeyboardInterrupt, typer.Abort):
        status = STOPPED
    except Exception as error:
        if not hasattr(error, "show"):  # not a wrong use of the command line
            raise
        error.show()
        sys.exit(getattr(error, "exit_code", 2))
    if status == STOPPED:
        _complain(
            "stopped; what the model has answered is kept, and the same command goes on.",
            STOPPED,
        )
    sys.exit(status if isinstance(status, int) else 0)


def _said(message: object, category: type[Warning], *_: object, **__: object) -> None:
    """Our own warnings are one sentence each; those of libraries are not the user's."""
    if category is Said:
        Console(stderr=True).print(escape(f"unmask: {message}"), style="yellow", soft_wrap=True)


def _complain(said: str, status: int = 2) -> None:
    """One sentence on stderr, on one line, and the exit status."""
    line = files.visible(" ".join(said.split()))
    Console(stderr=True).print(f"[bold red]unmask:[/] {escape(line)}", soft_wrap=True)
    sys.exit(status)


def _version(asked: bool) -> None:
    if asked:
        print(f"unmask {package.__version__}")
        raise typer.Exit


@app.callback()
def about(
    shown: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="The version.")
    ] = False,
) -> None:
    """Measure social bias in language models, and say how far each number can be trusted."""


@app.command()
def run(
    model: Annotated[
        list[str] | None,
        typer.Option(
            "-m", "--model", help="Hub name, name@revision, folder, GGUF file, or 'bundled'."
        ),
    ] = None,
    measure: Annotated[
        list[str] | None, typer.Option("-x", "--measure", help="Measure, or several with commas.")
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option("-d", "--data", help="Data set, group or CSV file; commas.")
    ] = None,
    out: Out = None,
    by_category: ByCategory = False,
    dtype: Annotated[
        str, typer.Option(help="float32, tf32, float64, bfloat16 or float16.")
    ] = "float32",
    device: Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1, ...")] = None,
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
    chosen = {
        "seed": seed,
        "level": level,
        "dtype": dtype,
        "device": device,
        "tokens": token_budget(tokens),
        "pool": pool,
        "layer": layer,
        "contexts": contexts,
        "samples": samples,
        "exclude_flagged": exclude_flagged,
        "encoding": encoding,
        "exclude": exclude,
        "random": random,
        "cache": cache,
        "recheck": recheck,
        "matters": matters,
        "keep": () if no_tokens else ("tokens",),
    }
    options.Options(**chosen)  # checked before a folder is made
    folder = files.make_folder(out) if out else files.new_folder(Path("unmask-results"), NOW)
    names = (split(model, ("bundled",)), split(measure) or None, split(data) or None)
    with terminal.progress(console) as progress:
        found = api.run(*names, **chosen, progress=progress)
    results.save(found, folder)
    terminal.print_results(console, found, by_category)
    several = len({r.model for r in found}) > 1
    found, more = reporting.differences(found, [folder]) if several else (found, ())
    page = reporting.written(found, folder, show, more=more)
    console.print(f"Results and all items: [bold]{escape(str(folder))}[/]")
    console.print(f"Page: [bold]{escape(str(page))}[/]", soft_wrap=True)


@app.command()
def score(
    file: Annotated[Path, typer.Argument(help="JSON, CSV, JSON lines or parquet: id, score.")],
    data: Annotated[str, typer.Option("-d", "--data", help="The data set that was scored.")],
    out: Out = None,
    by_category: ByCategory = True,
    matters: Least = "3,0.2d",
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Sentence scores made elsewhere: the same results and statistics."""
    how = options.Resampling(seed=seed, level=level)
    least = options.matters(matters)
    found = types.Results([scores.score_file(file, data, how=how, least=least)])
    terminal.print_results(console, found, by_category)
    if out is not None:
        results.save(found, out)
        console.print(f"Page: [bold]{escape(str(reporting.written(found, out)))}[/]")


@app.command(name="list")
def list_(
    what: Annotated[str, typer.Argument(help="measures, data or models")],
    name: Annotated[str | None, typer.Argument(help="One of them: its whole card.")] = None,
) -> None:
    """What there is, one line each; with a name, its card."""
    listing.VIEWS[what](console, name)


@app.command()
def cite(folder: Annotated[Path, typer.Argument(help="A folder that 'unmask run' wrote.")]) -> None:
    """BibTeX of what was run."""
    text = cite_.cited(results.load(folder))
    console.print(text, markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
