"""The commands `export` and `log`: results in the forms and the trackers of other tools."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from unmask.cli import reporting
from unmask.cli.arguments import made_console
from unmask.cli.lazy import later
from unmask.errors import UnmaskError
from unmask.support.registry import unknown

files = later("unmask.reports.files")
formats = later("unmask.reports.formats")
results = later("unmask.reports.results")
tracking = later("unmask.reports.tracking")

console = made_console()
Folders = Annotated[list[Path], typer.Argument(help="Folders that 'unmask run' wrote.")]


def export(
    folders: Folders,
    form: Annotated[
        str, typer.Option("--format", help="lm-eval, hub (model-index), md or tex.")
    ] = "",
    lm_eval: Annotated[
        bool, typer.Option("--lm-eval", help="As lm-evaluation-harness' results; its format.")
    ] = False,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="File; default stdout.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over the file.")] = False,
) -> None:
    """Results in the form of another tool."""
    if lm_eval and form not in ("", "lm-eval"):
        raise UnmaskError(f"--lm-eval and --format {form} were given; give one of them.")
    form = "lm-eval" if lm_eval else form
    if not form:
        raise UnmaskError(f"no format was given; give --format {', '.join(formats.FORMATS)}.")
    if form not in formats.FORMATS:
        raise UnmaskError(unknown("format", form, formats.FORMATS))
    found, _ = reporting.joined(folders)
    text = formats.FORMATS[form](found)
    if out is None:
        print(text)
        return
    if out.exists() and not force:
        raise UnmaskError(f"{str(out)!r} is there already; name another file, or give --force.")
    files.put(out, text)
    console.print(f"Written: [bold]{escape(str(out))}[/]", soft_wrap=True)


def log(
    folder: Annotated[Path, typer.Argument(help="A folder that 'unmask run' wrote.")],
    to: Annotated[str, typer.Option(help="mlflow or wandb.")],
    project: Annotated[str, typer.Option(help="The experiment or project there.")] = "unmask",
) -> None:
    """Results to an experiment tracker: an MLflow run, a Weights & Biases table."""
    send = tracking.TRACKERS[to]
    found = list(results.load(folder))
    console.print(escape(send(found, folder, project)), soft_wrap=True)
