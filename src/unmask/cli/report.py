"""The command `report`: the page of one run or of several."""

from pathlib import Path
from typing import Annotated

import typer

from unmask import options
from unmask.cli import pages
from unmask.cli.options import Folders, Open, Scale, made_console
from unmask.errors import UnmaskError
from unmask.reports import files, formats, results
from unmask.support.printable import escape
from unmask.support.registry import unknown

console = made_console()
FORMS = ("html", "md", "tex", "hub")


def report(
    folders: Folders,
    form: Annotated[
        str, typer.Option("--format", help="html, md (a model card's section), tex or hub.")
    ] = "html",
    output: Annotated[
        Path | None, typer.Option("-o", "--out", help="Folder (html) or file (other formats).")
    ] = None,
    hub: Annotated[
        bool, typer.Option("--hub", help="YAML for the model hub; same as --format hub.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite an existing file (md, tex, hub).")
    ] = False,
    scale: Scale = None,
    show: Open = False,
) -> None:
    """Write the HTML report of one or several runs, or export the results in another format."""
    form = "hub" if hub else form
    if form not in FORMS:
        raise UnmaskError(unknown("format", form, FORMS))
    options.check_scale(scale)
    if scale is not None and form != "html":
        raise UnmaskError(f"--scale applies only to html, not to {form}; leave it out.")
    loaded = results.gather(folders)
    if form != "html":
        text = formats.FORMATS[form](loaded)
        if output is None:
            console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            if output.is_file() and not force:
                raise UnmaskError(
                    f"{str(output)!r} already exists; choose another file, or pass --force."
                )
            files.put(output, text)
        return
    folder = output or folders[0]
    files.make_folder(folder)
    path = pages.write(pages.with_differences(loaded), folder, show, scale)
    console.print(f"Report: [bold]{escape(str(path))}[/]")
