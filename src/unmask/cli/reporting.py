"""The command `report`, and the page that other commands leave behind."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from unmask.cli.arguments import made_console
from unmask.cli.lazy import later
from unmask.errors import DataError, UnmaskError
from unmask.support.registry import unknown

comparing = later("unmask.studies.compare")
figures = later("unmask.reports.figures.result_figures")
files = later("unmask.reports.files")
formats = later("unmask.reports.formats")
results = later("unmask.reports.results")
types = later("unmask.types")
webbrowser = later("webbrowser")
webpage = later("unmask.reports.html.page")

FORMS = ("html", "md", "tex", "hub")
console = made_console()


def written(found: Any, folder: Path, show: bool = False, title: str = "", extra: Any = ()) -> Path:
    """The page of some results in a folder; `show` opens it."""
    path = folder / "report.html"
    webpage.write(webpage.page(found, title, extra), path)
    if show:
        webbrowser.open(path.resolve().as_uri())
    return path


def differences(found: Any, folders: list[Path]) -> tuple[Any, Any]:
    """Figures of the paired differences between runs; a note where they cannot be paired."""
    try:
        frame, _ = comparing.compare(comparing.read_runs(folders))
        return found, figures.differences(frame)
    except DataError as error:  # they stand side by side all the same
        return types.Results(found, [*found.notes, f"no paired differences: {error}"]), ()


def _from_files(found: Any, folder: Path, show: bool, extra: Any) -> Path:
    try:
        return written(found, folder, show, extra=extra)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise DataError(
            f"the files do not fit together ({type(error).__name__}: {error}); run again."
        ) from error


def joined(folders: list[Path]) -> tuple[Any, Any]:
    """The results of some folders, models told apart, and the differences between them if any."""
    runs = [(folder, results.load(folder)) for folder in folders]
    models = [m for _, found in runs for m in dict.fromkeys(r.model for r in found)]
    every, notes = [], []
    for folder, found in runs:
        notes += found.notes
        for r in found:
            name = r.model if models.count(r.model) == 1 else f"{r.model} ({folder.name})"
            every.append(replace(r, spec=replace(r.spec, model=name)))
    return types.Results(every, dict.fromkeys(notes)), len(set(models)) > 1 or len(folders) > 1


def report(
    folders: Annotated[list[Path], typer.Argument(help="Folders that 'unmask run' wrote.")],
    form: Annotated[
        str, typer.Option("--format", help="html, md (a model card's section), tex or hub.")
    ] = "html",
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Folder (html) or file (others).")
    ] = None,
    hub: Annotated[
        bool, typer.Option("--hub", help="The model hub's YAML; as --format hub.")
    ] = False,
    show: Annotated[bool, typer.Option("--open", help="Open the page.")] = False,
) -> None:
    """The page of one run or of several side by side; or the results in another form."""
    form = "hub" if hub else form
    if form not in FORMS:
        raise UnmaskError(unknown("format", form, FORMS))
    found, several = joined(folders)
    if form != "html":
        text = formats.FORMATS[form](found)
        if out is None:
            console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            files.put(out, text)
        return
    folder = out or folders[0]
    files.make_folder(folder)
    found, extra = differences(found, folders) if several else (found, ())
    path = _from_files(found, folder, show, extra)
    console.print(f"Page: [bold]{escape(str(path))}[/]")
