"""The command `export`: results in the format of another tool."""

from pathlib import Path
from typing import Annotated

import typer

from unmask.cli.options import Folders, made_console
from unmask.errors import UnmaskError
from unmask.reports import files, formats, results
from unmask.support.printable import escape
from unmask.support.registry import unknown

console = made_console()


def export(
    folders: Folders,
    form: Annotated[
        str,
        typer.Option("--format", help="csv, csv-items, lm-eval, hub (model-index), md or tex."),
    ] = "",
    lm_eval: Annotated[bool, typer.Option("--lm-eval", help="Same as --format lm-eval.")] = False,
    in_csv: Annotated[
        bool, typer.Option("--csv", help="Same as --format csv, for R and Stata.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--out", help="File; default: standard output.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Export results in the format of another tool."""
    if lm_eval and form not in ("", "lm-eval"):
        raise UnmaskError(f"--lm-eval and --format {form} are both given; give only one.")
    if in_csv and (lm_eval or form not in ("", "csv")):
        raise UnmaskError("--csv and another format are both given; give only one.")
    form = "lm-eval" if lm_eval else "csv" if in_csv else form
    if not form:
        raise UnmaskError(f"no format was given; give --format {', '.join(formats.FORMATS)}.")
    if form not in formats.FORMATS:
        raise UnmaskError(unknown("format", form, formats.FORMATS))
    text = formats.FORMATS[form](results.gather(folders))
    if output is None:
        print(text)
        return
    if output.exists() and not force:
        raise UnmaskError(f"{str(output)!r} already exists; choose another file, or pass --force.")
    files.put(output, text)
    console.print(f"Written: [bold]{escape(str(output))}[/]", soft_wrap=True)
